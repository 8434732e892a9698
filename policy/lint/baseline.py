"""Findings that are known and left for later: a file that says which.

A finding is known again by its file, its code, its message and the line that it
is about, not by the number of that line, so that it stays known when the file
changes above it, and is new when its own line changes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

import attrs

from policy.errors import PolicyError
from policy.files.unread import is_unreadable
from policy.finding import Finding
from policy.source import Source

__all__ = ["Compared", "baseline_text", "compare_with_baseline"]

_VERSION: Final = 1
_KEYS: Final = ("file", "code", "message", "line")

_Key = tuple[str, str, str, str]


@attrs.frozen
class Compared:
    """Findings beside a baseline.

    Attributes:
        new: those that it does not know.
        known: those that it knows.
        gone: how many it knows that are there no longer.

    """

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    gone: int


def baseline_text(findings: Iterable[Finding]) -> str:
    """Return the baseline of *findings*, in an order of its own; of no file that is unreadable."""
    counted = Counter(_key(finding) for finding in findings if not is_unreadable(finding))
    rows = [
        dict(zip(_KEYS, key, strict=True)) | {"count": count}
        for key, count in sorted(counted.items())
    ]
    return json.dumps({"version": _VERSION, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def compare_with_baseline(findings: Iterable[Finding], baseline: Source) -> Compared:
    """Return which findings *baseline* knows, each as often as it says.

    Raises:
        PolicyError: it is no baseline.

    """
    left = _read(baseline)
    new: list[Finding] = []
    known: list[Finding] = []
    for finding in findings:
        key = _key(finding)
        if left[key] > 0 and not is_unreadable(finding):
            left[key] -= 1
            known.append(finding)
        else:
            new.append(finding)
    return Compared(tuple(new), tuple(known), left.total())


def _key(finding: Finding) -> _Key:
    line = ""
    if finding.span is not None:
        line = finding.span.source.line(finding.place.line).strip()
    return finding.place.file, finding.code, finding.message, line


def _read(source: Source) -> Counter[_Key]:
    try:
        value = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise _wrong(source, f"this is not JSON: {str(error)[:100]}") from None
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        raise _wrong(source, f'expected an object with `"version": {_VERSION}`')
    rows = value.get("findings")
    counted: Counter[_Key] = Counter()
    for row in rows if isinstance(rows, list) else [None]:
        count = row.get("count") if isinstance(row, dict) else None
        if not isinstance(row, dict) or type(count) is not int or count < 1:
            raise _wrong(source, "expected a list of findings, each with its `count`")
        file, code, message, line = (str(row.get(key, "")) for key in _KEYS)
        counted[file, code, message, line] += count
    return counted


def _wrong(source: Source, message: str) -> PolicyError:
    return PolicyError(
        message,
        file=source.name,
        help="`policy lint --write-baseline FILE` writes one",
    )
