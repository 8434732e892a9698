"""Comparisons that share their results answer as each does alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from policy.compare.compare import Known
from policy.compare.tables import differences
from policy.tables.table import Table
from tests.compare.test_edits import met, project_table

# Tables with equal lines for commands, whose other lines, modes and defaults differ.
PROJECTS = [
    "", "in acceptEdits", "allow Bash", "in dontAsk allow Bash", "allow Bash deny Read(.env)",
    "allow Bash(cat *) deny Read(.env)",
]  # fmt: skip
LISTS = [
    "", "else ask", "else allow", "allow Bash(a *)", "allow Bash(a *) else ask",
    "allow Bash(a *) & deny Bash(sudo *) else allow", "deny Bash(sudo *) else allow",
    "ask Bash(timeout:5) allow Bash(a *)", "ask Bash(timeout:6) allow Bash(a *)",
    "allow m__a(x)", "allow m__a(k:x)", "allow m__a(k:x) else ask", "ask m__a(k:x) & else ask",
    "allow m__* deny m__a(x)", "allow * & deny m__a(x) else ask", "allow Read(src/**)",
]  # fmt: skip


@pytest.mark.parametrize(("make", "rules"), [(project_table, PROJECTS), (met, LISTS)])
def test_earlier_results_change_no_answer(make: Callable[[str], Table], rules: list[str]) -> None:
    tables, known = [make(each) for each in rules], Known()
    for before, after in permutations(tables, 2):
        alone, shared = differences(before, after), differences(before, after, known)
        assert shared.why == alone.why
        assert {*shared.differences} == {*alone.differences}
