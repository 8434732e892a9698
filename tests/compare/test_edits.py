"""Edits of rules, those of Claude Code and of the notation: which changes are told, and if all."""

from __future__ import annotations

import re
from functools import reduce
from operator import and_
from pathlib import Path

import pytest

from policy.compare.tables import differences, reported
from policy.core.effect import Effect
from policy.tables.chain import Chain
from policy.tables.table import Table
from tests.compare.test_witness import settings
from tests.strategies import table


def _rows(file: str) -> list[list[str]]:
    """Return rules before, rules after, and what is told: a row each."""
    return [
        [cell.strip() for cell in re.split(r"=>| \| ", line)]
        for line in Path(__file__).with_name(file).read_text().splitlines()
        if line and not line.startswith("#")
    ]


# Tools that are decided by the rules of another.
_LIKE_OTHERS = {"Monitor", "Glob", "Grep", "LSP", "Write", "NotebookEdit"}


def project_table(rules: str) -> Table:
    (project,) = settings(rules).projects
    return Chain.start("main", project.enforced).table


def met(lists: str) -> Table:
    tables = []
    for each in lists.split("&"):
        rules, _, default = f" {each.strip()}".partition(" else ")
        written = re.findall(r"(?:allow|ask|deny) [^ (]+(?:\([^)]*\))?", rules)
        tables.append(table(*written, default=Effect(default or "deny")))
    return reduce(and_, tables)


@pytest.mark.parametrize(("before", "after", "expected"), _rows("edits.txt"))
def test_an_ordinary_edit_is_told_by_its_changes(before: str, after: str, expected: str) -> None:
    assert _changes(project_table(before), project_table(after)) == expected


@pytest.mark.parametrize(("before", "after", "expected"), _rows("lists.txt"))
def test_an_edit_of_lists_that_are_met_is_told_by_its_changes(
    before: str, after: str, expected: str
) -> None:
    assert _changes(met(before), met(after)) == expected


@pytest.mark.parametrize(("before", "after", "expected"), _rows("modes.txt"))
def test_an_edit_of_agents_in_other_modes_is_told_by_its_changes(
    before: str, after: str, expected: str
) -> None:
    sides = (reduce(and_, map(project_table, each.split("&"))) for each in (before, after))
    assert _changes(*sides) == expected


def _changes(*sides: Table) -> str:
    """Return what is told of two tables, each decision asked for again."""
    comparison = differences(*sides)
    found: dict[str, set[str]] = {}
    for each in reported(comparison.differences, *sides):
        was, now = (decision.effect.value for decision in (each.before, each.after))
        found.setdefault(each.tool, set()).add(f"{was}>{now}")
        assert sides[0].decide(each.tool, each.call).effect is each.before.effect
        assert sides[1].decide(each.tool, each.call).effect is each.after.effect
    shown = "; ".join(
        f"{tool} {' '.join(sorted(changes))}"
        for tool, changes in sorted(found.items())
        if tool not in _LIKE_OTHERS
    )
    return (shown or "nothing") + " ?" * (not comparison.exact)
