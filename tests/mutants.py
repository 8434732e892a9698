"""Whether the tests of a room notice a fault: ``python -m tests.mutants --number 20 --seed 1``.

A mutant is the package with one small change: a comparison turned round, a condition negated, a
constant moved by one, `and` for `or`. It is killed if a test of its room fails. Mutants that live
are printed, with the line before and after: some decide alike, others show a test that is missing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("tables", "patterns", "commands", "compare")

_TURNED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the changes of one node, each as a node that takes its place."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _TURNED:
            yield ast.Compare(node.left, [_TURNED[type(op)]()], node.comparators)
        case ast.BoolOp(op=ast.And()):
            yield ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            yield ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.If():
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=("min" | "max") as name)):
            other = {"min": "max", "max": "min"}[name]
            yield ast.Call(ast.Name(other, ast.Load()), node.args, node.keywords)
        case ast.Continue():
            yield ast.Break()


def candidates(tree: ast.Module) -> list[int]:
    """Return which nodes of a walk have a change: those of functions, but for their defaults."""
    found = []
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in ast.walk(statement)
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in inside and any(True for _ in changes(node)):
            found.append(number)
    return found


def mutant(text: str, dice: random.Random) -> tuple[str, str] | None:
    """Return *text* with one change, and a line that says which; None where there is none."""
    tree = ast.parse(text)
    numbers = candidates(tree)
    if not numbers:
        return None
    chosen = dice.choice(numbers)
    target = list(ast.walk(tree))[chosen]
    new = next(changes(copy.deepcopy(target)))
    before = ast.get_source_segment(text, target) or ""
    at = getattr(target, "lineno", 0)

    class _Change(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            return ast.copy_location(new, node) if node is target else super().generic_visit(node)

        visit = generic_visit

    changed = ast.unparse(ast.fix_missing_locations(_Change().visit(tree)))
    told = (
        f"{at}: {before.splitlines()[0] if before else ''}  ->  {ast.unparse(new).splitlines()[0]}"
    )
    return changed, told


def killed(folder: Path, path: Path, text: str, tests: list[str]) -> bool:
    """Return whether a test fails with *text* in the place of a module."""
    file = folder / path
    old = file.read_text()
    file.write_text(text)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
            cwd=folder,
            capture_output=True,
            timeout=900,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(old)
    return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--room", choices=ROOMS, action="append")
    options = parser.parse_args()
    dice = random.Random(options.seed)
    modules = [
        path.relative_to(ROOT)
        for room in options.room or ROOMS
        for path in sorted((ROOT / "policy" / room).rglob("*.py"))
    ]
    weights = [len((ROOT / path).read_text()) for path in modules]
    work = []
    while len(work) < options.number:
        (path,) = dice.choices(modules, weights)
        made = mutant((ROOT / path).read_text(), dice)
        if made is not None:
            work.append((path, *made))
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.at_once) as pool:
        folders = []
        for number in range(options.at_once):
            folder = Path(name, str(number))
            for part in ("policy", "tests", "grammar", "fixtures", "docs"):
                shutil.copytree(ROOT / part, folder / part)
            for part in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
                shutil.copy(ROOT / part, folder / part)
            folders.append(folder)

        def run(job: tuple[Path, str, str]) -> bool:
            path, text, told = job
            folder = folders.pop()
            try:
                room = path.parts[1]
                found = killed(folder, path, text, [f"tests/{room}", "tests/law"])
            finally:
                folders.append(folder)
            print(f"{'killed' if found else 'LIVES '}  {path}:{told}", flush=True)
            return found

        results = list(pool.map(run, work))
    print(f"{sum(results)} of {len(results)} mutants killed")


if __name__ == "__main__":
    main()
