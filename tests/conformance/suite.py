"""What a suite is, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from policy.core import values

__all__ = ["Case", "Failure", "Outcome", "Suite", "run"]

Case = Mapping[str, Any]

# Takes a case; returns what it must get and what it gets.
Suite = Callable[[Case], tuple[str, str]]


# Effects, by what they grant.
_GRANTED = ("unavailable", "deny", "ask", "allow")


@values.frozen
class Failure:
    """A case that did not get what it must."""

    id: str
    expected: str
    got: str

    @property
    def direction(self) -> str:
        """`looser` or `stricter` than expected, or `other` where effects cannot be compared."""
        sides = self.expected, self.got
        if not all(side in _GRANTED for side in sides):
            return "other"
        wanted, got = map(_GRANTED.index, sides)
        return "looser" if got > wanted else "stricter"


@values.frozen
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
    cases: list[Case] = []
    for file in files:
        try:
            found = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            return Outcome(name, absent=f"{file.name}: {error}")
        if not isinstance(found, list):
            return Outcome(name, absent=f"{file.name}: not a list")
        cases += found
    failures = tuple(failure for failure in _judged(suite, cases) if failure is not None)
    return Outcome(name, len(cases) - len(failures), failures)


def _judged(suite: Suite, cases: list[Case]) -> Iterable[Failure | None]:
    judge = partial(_failure, suite)
    if len(cases) < _FOR_ONE:
        return map(judge, cases)
    with ProcessPoolExecutor() as processes:
        return list(processes.map(judge, cases, chunksize=_FOR_ONE // 10))


# So many cases one process is done with before others have started.
_FOR_ONE = 500


def _failure(suite: Suite, case: Case) -> Failure | None:
    try:
        expected, got = suite(case)
    except Exception as error:  # noqa: BLE001 - whatever it is, the case has failed
        expected, got = str(case.get("expected")), f"{type(error).__name__}: {error}"
    return None if expected == got else Failure(str(case.get("id")), expected, got)
