"""What says it returns a bool does, in comparisons of all kinds."""

from __future__ import annotations

from policy.compare.tables import differences
from tests.compare.test_edits import _rows, met, project_table
from tests.contracts import check_bools
from tests.standings import shadowing


def test_what_says_it_returns_a_bool_does(monkeypatch) -> None:
    checked = check_bools(monkeypatch, "policy.compare")
    assert {"may_run", "is_idle", "contains", "denies_all", "is_inside", "holds"} <= {*checked}
    for make, file in ((project_table, "edits.txt"), (met, "lists.txt")):
        for before, after, _ in _rows(file)[::6]:
            assert differences(make(before), make(after)) is not None
            shadowing(make(after))
