"""Edits that people make of Claude Code's rules: which changes are told, and whether that is all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policy.compare.tables import differences, told
from policy.tables.chain import Chain
from policy.tables.table import Table
from tests.compare.test_witness import settings

# Rules before, rules after, and what is told: a row each.
ROWS = [
    [cell.strip() for cell in re.split(r"=>| \| ", line)]
    for line in (Path(__file__).parent / "edits.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# Tools that are decided by the rules of another.
_LIKE_OTHERS = {"Monitor", "Glob", "Grep", "LSP", "Write", "NotebookEdit"}


def _table(rules: str) -> Table:
    (project,) = settings(rules).projects
    return Chain.start("main", project.enforced).table


@pytest.mark.parametrize(("before", "after", "expected"), ROWS)
def test_an_ordinary_edit_is_told_by_its_changes(before: str, after: str, expected: str) -> None:
    sides = _table(before), _table(after)
    comparison = differences(*sides)
    found: dict[str, set[str]] = {}
    for each in told(comparison.differences, *sides):
        was, now = (decision.effect.value for decision in (each.before, each.after))
        found.setdefault(each.tool, set()).add(f"{was}>{now}")
        assert sides[0].decide(each.tool, each.call).effect is each.before.effect
        assert sides[1].decide(each.tool, each.call).effect is each.after.effect
    shown = "; ".join(
        f"{tool} {' '.join(sorted(changes))}"
        for tool, changes in sorted(found.items())
        if tool not in _LIKE_OTHERS
    )
    assert (shown or "nothing") + " ?" * (not comparison.exact) == expected
