"""What a suite is, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

__all__ = ["Case", "Failure", "Outcome", "Suite", "run"]

Case = Mapping[str, Any]

# Takes a case; returns what it must get and what it gets.
Suite = Callable[[Case], tuple[str, str]]


@attrs.frozen
class Failure:
    """A case that did not get what it must."""

    id: str
    expected: str
    got: str


@attrs.frozen
class Outcome:
    """What came of one suite.

    Attributes:
        suite: its name.
        passed: cases that got what they must.
        failures: the others.
        absent: why there is nothing to run, or "".
    """

    suite: str
    passed: int = 0
    failures: tuple[Failure, ...] = ()
    absent: str = ""


def run(name: str, suite: Suite | None, files: list[Path]) -> Outcome:
    """Return what comes of the cases in *files*. A case that raises has failed."""
    if suite is None:
        return Outcome(name, absent="no adapter")
    if not files:
        return Outcome(name, absent="no files")
    failures: list[Failure] = []
    passed = 0
    for file in files:
        try:
            cases = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            return Outcome(name, passed, tuple(failures), absent=f"{file.name}: {error}")
        if not isinstance(cases, list):
            return Outcome(name, passed, tuple(failures), absent=f"{file.name}: not a list")
        for case in cases:
            try:
                expected, got = suite(case)
            except Exception as error:  # noqa: BLE001 - whatever it is, the case has failed
                expected, got = str(case.get("expected")), f"{type(error).__name__}: {error}"
            if expected == got:
                passed += 1
            else:
                failures.append(Failure(str(case.get("id")), expected, got))
    return Outcome(name, passed, tuple(failures))
