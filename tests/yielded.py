"""The codes of all findings that the package can yield, read from its sources.

A code is what a call gives for the parameter ``code``: of `Finding`, of
`Finding.of`, or of a function or method that hands it on. Where a source does
not say which codes these are, that is an error, so that none is overlooked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import policy
from policy.hosts.data import host_table
from policy.hosts.front_ends import FRONT_ENDS

ROOT = Path(policy.__file__).parent

# Codes that are no literals: the expression that is given, and what it can be.
COMPUTED = {
    "name.partition('.')[0]": {name.partition(".")[0] for name in host_table("a3s", "traps")},
}


# Where changes and claims become results, which are no findings and have no page.
RESULTS = {Path("cli", f"{verb}.py") for verb in ("audit", "diff", "test")}

# Package of a front end -> its host; our notation keeps its findings beside the checks.
HOSTS = {
    front_end.module.partition(".")[0]: front_end.HOST
    for front_end in FRONT_ENDS
    if front_end.HOST != "policy"
}


class _Module:
    def __init__(self, path: Path) -> None:
        self.path = path.relative_to(ROOT)
        self.tree = ast.parse(path.read_text("utf-8"))
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    @property
    def host(self) -> str:
        """The host whose front end it belongs to, or ""."""
        parts = self.path.parts
        return HOSTS.get(parts[1], "") if parts[0] == "hosts" else ""

    def makers(self) -> dict[str, int]:
        """Return what takes a code, methods with a dot before, and which argument that is."""
        found = {}
        for node in ast.walk(self.tree):
            names = _parameters(node) if isinstance(node, ast.FunctionDef) else []
            if isinstance(node, ast.FunctionDef) and "code" in names:
                method = names[0] in ("self", "cls")
                found["." * method + node.name] = names.index("code") - method
            elif isinstance(node, ast.AnnAssign) and _makes_findings(node.value):
                found[ast.unparse(node.target)] = 0
        return found

    def given(self, makers: dict[str, int]) -> Iterator[ast.expr]:
        """Yield what calls of *makers* give for a code."""
        last = {name.rpartition(".")[2] for name in makers}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _last(node.func) in last:
                name = ast.unparse(node.func)
                if isinstance(node.func, ast.Attribute) and name not in makers:
                    name = f".{node.func.attr}"
                if name in makers:
                    named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                    yield from named or [node.args[makers[name]]]

    def codes(self, node: ast.expr) -> set[str]:
        """Return what the expression can be."""
        match node:
            case ast.Constant(value=str(code)):
                return {code}
            case ast.IfExp(body=body, orelse=orelse):
                return self.codes(body) | self.codes(orelse)
            case ast.Name(id=name):
                return self._named(name, node)
        text = ast.unparse(node)
        assert text in COMPUTED, f"{self.path}:{node.lineno}: which codes is `{text}`?"
        return COMPUTED[text]

    def _named(self, name: str, at: ast.expr) -> set[str]:
        within = self._function(at)
        if within is not None and name in _parameters(within):
            assert name == "code", f"{self.path}:{at.lineno}: call the parameter `code`"
            return set()  # whoever calls the function says it
        values = [
            value
            for node in ast.walk(within or self.tree)
            if isinstance(node, ast.Assign)
            for target, value in _pairs(node)
            if ast.unparse(target) == name
        ]
        assert values, f"{self.path}:{at.lineno}: which codes is `{name}`?"
        return set().union(*map(self.codes, values))

    def _function(self, node: ast.AST) -> ast.FunctionDef | None:
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef):
                return node
        return None


def _parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _makes_findings(value: ast.expr | None) -> bool:
    """Return whether *value* makes findings of the texts of a host."""
    return isinstance(value, ast.Call) and _last(value.func) == "FindingTexts"


def _last(function: ast.expr) -> str:
    """Return the last part of the name of a function; "" where it has none."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


@cache
def yielded() -> dict[str, set[str]]:
    """Return every code, and the hosts whose front ends yield it; "" is any other module."""
    modules = [_Module(path) for path in ROOT.rglob("*.py") if "catalogue" not in path.parts]
    shared = {
        name: at
        for module in modules
        for name, at in module.makers().items()
        if not name.lstrip(".").startswith("_")
    }
    # Others have methods of this name.
    shared |= {"Finding": 0, "Finding.of": shared.pop(".of")}
    found: dict[str, set[str]] = {}
    for module in modules:
        if module.path in RESULTS:
            continue
        for given in module.given(shared | module.makers()):
            for code in module.codes(given):
                found.setdefault(code, set()).add(module.host)
    return found
