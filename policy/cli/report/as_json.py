"""The JSON shape of every answer. Keys are a contract: add, never rename."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from policy.core.decision import Because, Decision
from policy.core.finding import Finding
from policy.core.source import Place

if TYPE_CHECKING:  # decisions do without comparisons
    from policy.compare.compare import Difference

__all__ = [
    "Object",
    "because_json",
    "decision_json",
    "difference_json",
    "dumps",
    "finding_json",
    "place_json",
]

Object = dict[str, object]


def dumps(value: object, *, indent: int | None = 2) -> str:
    """Return *value* as JSON text of one line, or indented."""
    return json.dumps(value, ensure_ascii=False, default=str, indent=indent)


def place_json(place: Place | None) -> Object:
    """Return a place; all values are null for None."""
    if place is None:
        return {"file": None, "line": None, "column": None}
    return {"file": place.file, "line": place.line, "column": place.column}


def because_json(because: Iterable[Because]) -> list[Object]:
    """Return the determining rules."""
    return [
        {
            "rule": one.rule,
            "effect": one.effect.value,
            "link": one.link,
            **place_json(one.place),
        }
        for one in because
    ]


def decision_json(
    chain: Iterable[str], tool: str, call: Mapping[str, object], decision: Decision
) -> Object:
    """Return the answer to one call."""
    return {
        "chain": list(chain),
        "call": {"tool": tool, "input": dict(call)},
        "effect": decision.effect.value,
        "reason": decision.reason.value,
        "because": because_json(decision.because),
        "links": list(decision.links),
        "table": decision.table,
    }


def finding_json(finding: Finding) -> Object:
    """Return a finding."""
    place = finding.place
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "file": place.file,
        "line": place.line if finding.span else None,
        "column": place.column if finding.span else None,
        "help": finding.help,
    }


def difference_json(difference: Difference) -> Object:
    """Return a difference of decisions with its witness."""
    return {
        "tool": difference.tool,
        "from": difference.before.effect.value,
        "to": difference.after.effect.value,
        "witness": {"tool": difference.tool, "input": dict(difference.call)},
        "because": because_json(difference.after.because),
        "before": because_json(difference.before.because),
        "reasons": [difference.before.reason.value, difference.after.reason.value],
    }
