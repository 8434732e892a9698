"""Witnesses that people would type: of pairs of rules, the call that shows the change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from policy.analysis.attribution import EditEffect
from policy.analysis.diff import Change, diff_workspaces
from policy.cli.report.changes import change_rows
from policy.cli.report.words import call_text
from policy.compare.witness import CallShape, is_ordinary
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.dialect import Argument, ArgumentKind, Dialect

# Rules before, rules after, and what shows the change: a row each.
ROWS = [
    [cell.strip() for cell in re.split(r"=>|\|", line)]
    for line in (Path(__file__).parent / "witnesses.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def settings(rules: str) -> Workspace:
    """Return the workspace of some rules, in a mode if they begin as `in plan`."""
    mode = re.match(r"in (\w+)", rules)
    lists: dict[str, list[str] | str] = {"defaultMode": mode[1]} if mode else {}
    for effect, rule in re.findall(r"(allow|ask|deny) ([^ (]+(?:\([^)]*\))?)", rules):
        lists.setdefault(effect, []).append(rule)
    return load_tree(Memory({".claude/settings.json": json.dumps({"permissions": lists})}))


def shown(before: str, after: str) -> list[tuple[str, Change]]:
    """Return the witnesses of a change in the order in which they are told."""
    old, new = settings(before), settings(after)
    diff = diff_workspaces(old, new, readings=("enforced",))
    changes = tuple(change for change in diff.changes if change.chain == ("main",))
    classes = {project.title: project.tool_classes for project in new.projects}
    rows = change_rows(EditEffect((), changes), classes)
    return [(call_text(*call), row.changes[0]) for row in rows for call in row.calls]


def test_there_are_sixty_pairs_of_rules() -> None:
    assert len(ROWS) >= 60


@pytest.mark.parametrize(("before", "after", "witness"), ROWS)
def test_a_change_is_shown_by_the_call_that_people_think_of(before, after, witness) -> None:
    found = shown(before, after)
    assert found[0][0] == witness
    assert is_ordinary({"": found[0][0].partition("(")[2].rstrip(")")})


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/w/a/x", "x"),
        ("/w/a", "."),
        ("/w/a/ x", "./ x"),  # else its blank could be trimmed
        ("/h/x", "~/x"),
        ("/h", "~"),
        ("/hx", "/hx"),
        ("/w/ab", "/w/ab"),
        ("", "/"),
    ],
)
def test_a_path_is_shown_as_people_type_it(path: str, typed: str) -> None:
    shape = CallShape(Dialect("test", cwd="/w/a", home="/h"), Argument(ArgumentKind.PATH, ("p",)))
    assert shape.call(path) == {"p": typed}
