"""Results with the paths that a forge knows, in the formats that machines read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import attrs

from policy.cli.report.as_json import dumps
from policy.cli.report.results import Result, ResultRule, github, junit, sarif
from policy.files.trees import Folder, SingleFile, Tree

__all__ = ["machine_text"]


def machine_text(
    form: str,
    results: Iterable[Result],
    tree: Tree,
    name: str,
    *,
    rules: Iterable[ResultRule] | None = None,
    exact: bool = True,
) -> str:
    """Return *results* in the format *form*, one of `MACHINE`.

    Args:
        form: the format.
        results: with paths relative to *tree*.
        tree: where the files are; paths are told relative to the working folder.
        name: of the report.
        rules: what codes mean that the catalogue does not know.
        exact: whether these are all.

    """
    located = [_located(result, _prefix(tree)) for result in results]
    match form:
        case "sarif":
            return dumps(sarif(located, rules, exact=exact)) + "\n"
        case "github":
            return github(located)
        case _:
            return junit(located, name)


def _prefix(tree: Tree) -> str:
    """Return what stands before the paths of *tree* in the working folder, or ""."""
    if not isinstance(tree, Folder | SingleFile):
        return ""
    folder = tree.path if isinstance(tree, Folder) else tree.path.parent
    try:
        relative = Path(os.path.relpath(folder)).as_posix()
    except ValueError:  # on another drive
        return ""
    return "" if relative == "." or relative.startswith("..") else f"{relative}/"


def _located(result: Result, prefix: str) -> Result:
    if result.place is None or not prefix:
        return result
    place = attrs.evolve(result.place, file=prefix + result.place.file)
    return attrs.evolve(result, place=place)
