"""The standing of every rule of a table."""

from __future__ import annotations

from policy.compare.dead_rules import Effort, RuleStanding, Trials, written_rules
from policy.tables.table import Table


def shadowing(table: Table, *, effort: Effort | None = None) -> tuple[RuleStanding, ...]:
    """Return the standing of each rule that a file has, in order, within an *effort*."""
    trials = Trials(table, effort or Effort(), {})
    return tuple(map(trials.standing, written_rules(trials.parts)))
