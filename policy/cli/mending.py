"""Edits of findings, shown or made in place."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from policy.cli.console import Console
from policy.cli.inputs import Input, Watched
from policy.cli.writing import replace_files
from policy.documents.text import decode
from policy.files.disk import File, Folder
from policy.files.tree import Tree
from policy.finding import Finding
from policy.lint import Mended, mend
from policy.render.layout import Page
from policy.render.lint_report import LintReport
from policy.render.words import count
from policy.source import visible
from policy.workspace import load_tree

__all__ = ["mend_files", "show_mending"]

# Edits that overlap are made one after the other, each in a run of its own.
_MOST_RUNS = 8


def mend_files(
    found: Input,
    report: LintReport,
    look: Callable[[Tree], tuple[Input, LintReport]],
    console: Console,
) -> tuple[Input, LintReport]:
    """Make the edits of *report* in place, and return what is left.

    Raises:
        PolicyError: a file cannot be written.

    """
    made, files, last = 0, set[str](), Mended({}, (), ())
    for _ in range(_MOST_RUNS):
        last = _mended(found, report.findings)
        if not last.contents:
            break
        replace_files({_path(found.tree, path): both for path, both in last.contents.items()})
        made += len(last.made)
        files |= last.contents.keys()
        found, report = look(_fresh(found.tree))
    _complain(last, console)
    console.complain([f"{count(made, 'finding')} mended in {count(len(files), 'file')}"])
    return found, report


def show_mending(found: Input, findings: Iterable[Finding], console: Console) -> int:
    """Show what `mend_files` would do; return 1 if that is anything."""
    mended = _mended(found, findings)
    for path, (old, new) in sorted(mended.contents.items()):
        _show(path, decode(path, old).text, decode(path, new).text, console)
    _complain(mended, console)
    told = f"{count(len(mended.made), 'finding')} would be mended"
    console.complain([f"{told} in {count(len(mended.contents), 'file')}"])
    return int(bool(mended.contents))


def _mended(found: Input, findings: Iterable[Finding]) -> Mended:
    load = partial(load_tree, front_ends=found.front_ends)
    return mend(found.tree, found.workspace, findings, load=load)


def _complain(mended: Mended, console: Console) -> None:
    for refused in mended.refused:
        files = ", ".join(map(visible, refused.files))
        console.complain(console.errors.prose(f"{files}: not mended: {refused.why}", indent=4))


def _fresh(tree: Tree) -> Tree:
    """Return the tree as it is now: what was read of it is forgotten."""
    inner = tree.tree if isinstance(tree, Watched) else tree
    return type(inner)(inner.path) if isinstance(inner, Folder | File) else inner


def _path(tree: Tree, path: str) -> Path:
    inner = tree.tree if isinstance(tree, Watched) else tree
    if isinstance(inner, File):
        return inner.path
    if isinstance(inner, Folder):
        return inner.path / path
    raise TypeError(f"nothing is written to {inner!r}")


def _show(path: str, before: str, after: str, console: Console) -> None:
    name = visible(path)
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), name, f"{name} (mended)", lineterm=""
    )
    for line in lines:
        console.line(_painted(visible(line.replace("\t", "    ")), console.page))


def _painted(line: str, page: Page) -> str:
    if line.startswith(("+++", "---")):
        return page.paint(line, "bold")
    styles = {"+": "good", "-": "deny", "@": "dim"}
    return page.paint(line, styles.get(line[:1], ""))
