"""Rule sets and ceilings out of the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from policy import limits
from policy.codec.shape import Origin, Rules
from policy.codec.strict import Wrong
from policy.dialect import Dialect
from policy.ruleset import Entry, RuleSet
from policy.table import Ceiling, Part

__all__ = ["at", "ceiling", "ruleset"]

_T = TypeVar("_T")


def ruleset(
    rules: Rules, origins: Sequence[Origin], dialects: Sequence[Dialect], path: str
) -> RuleSet:
    """Return the rule set at *path*; raise `Wrong` where a part of it is not there."""
    if len(rules.entries) > limits.RULES:
        msg = f"expected at most {limits.RULES:,} lines at {path}"
        raise Wrong(msg)
    if len(origins) != len(rules.entries):
        msg = f"expected the source of every line of {path}"
        raise Wrong(msg)
    entries = (
        Entry(
            line.tool,
            line.effect,
            line.pattern,
            line.field,
            line.reason,
            o.rule,
            o.place,
            line.form,
        )
        for line, o in zip(rules.entries, origins, strict=True)
    )
    dialect = at(dialects, rules.dialect, f"{path}.dialect")
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


def ceiling(
    numbers: Sequence[int],
    links: Sequence[tuple[str, ...]],
    sets: Sequence[RuleSet],
    path: str,
    links_path: str,
) -> Ceiling:
    """Return the ceiling at *path*; raise `Wrong` where a part of it is not there."""
    if len(numbers) != len(links):
        msg = f"expected the links of every part at {links_path}"
        raise Wrong(msg)
    return Ceiling.of(
        Part(at(sets, number, path), of) for number, of in zip(numbers, links, strict=True)
    )


def at(values: Sequence[_T], number: int, path: str) -> _T:
    """Return what has *number*; raise `Wrong` where nothing has."""
    if not 0 <= number < len(values):
        msg = f"there is no number {number} at {path}"
        raise Wrong(msg)
    return values[number]
