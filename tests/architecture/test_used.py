"""What the hosts define is used: what only tests call is a model, and is in `tests/models`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import policy
from policy.core.values import frozen

ROOT = Path(policy.__file__).parent

# What nothing in `policy` uses by name, and why it is there.
KEPT = {
    "hosts/fields.py: HostVersion.of": "called on the newest version, whatever its class",
    "hosts/zeph/session.py: ToolScope.of": "programs give it to `ZephSession`; no file has a scope",
}


@frozen
class Defined:
    """A public function, class or method of a host."""

    node: ast.FunctionDef | ast.ClassDef
    words: frozenset[str]  # one of these, somewhere else, is a use
    owner: str = ""  # of a method


@cache
def trees() -> dict[str, ast.Module]:
    """Return the path of each module below `policy/`, and its tree."""
    paths = sorted(ROOT.rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def subclasses() -> dict[str, set[str]]:
    """Return the names of classes, and of those below each."""
    found: dict[str, set[str]] = {}
    for tree in trees().values():
        for node in tree.body:
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                found.setdefault(ast.unparse(base), set()).add(node.name)
    return found


def defined() -> Iterator[tuple[str, Defined]]:
    """Yield what hosts define. A class method is called by the name of a class."""
    below = subclasses()
    for path, tree in trees().items():
        for node in tree.body if path.startswith("hosts/") else ():
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            name = f"{path}: {node.name}"
            yield name, Defined(node, frozenset({node.name}))
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    made = "classmethod" in map(ast.unparse, inner.decorator_list)
                    owners = {node.name, *below.get(node.name, ())} if made else {""}
                    words = frozenset(f"{owner}.{inner.name}" for owner in owners)
                    yield f"{name}.{inner.name}", Defined(inner, words, name)


def words_of(node: ast.AST) -> Counter[str]:
    """Return the names that a piece of code uses; not those that it imports or defines."""
    found: Counter[str] = Counter()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found[each.id] += 1
        elif isinstance(each, ast.Attribute):
            before = each.value.attr if isinstance(each.value, ast.Attribute) else ""
            before = each.value.id if isinstance(each.value, ast.Name) else before
            found.update({each.attr, f".{each.attr}", f"{before}.{each.attr}"})
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found[f".{each.value}"] += 1  # what is put into JSON, or loaded late
    return found


def unused(kept: Collection[str] = ()) -> set[str]:
    """Return what no code of `policy` uses, or only unused code."""
    total = sum(map(words_of, trees().values()), Counter[str]())
    left = {name: (each, words_of(each.node)) for name, each in defined() if name not in kept}
    dead: set[str] = set()
    while True:
        more = {
            name
            for name, (each, own) in left.items()
            if not any(total[word] > own[word] for word in each.words)
        }
        if not more:
            return dead
        dead |= more
        for name in sorted(more):
            each, own = left.pop(name)
            if each.owner in dead:
                continue  # its words went with those of its class
            total.subtract(own)
            if each.owner in left:
                left[each.owner][1].subtract(own)


def test_what_a_host_defines_is_used() -> None:
    assert unused(KEPT) == set()


def test_what_is_used_by_now_leaves_the_list() -> None:
    assert KEPT.keys() - unused() == set()
