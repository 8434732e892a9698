"""``python -m tests.conformance [SUITE...] [--cases FILE...] [--json]``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections import Counter
from pathlib import Path

from tests.conformance.suite import Outcome, Suite, run

SUITES = ("claude", "zeph", "pikuri", "a3s")
CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"


def suite_of(name: str) -> Suite | None:
    """Return the adapter of a suite, the module of this package that has its name."""
    if not name.isidentifier() or name in {"suite", "__main__"}:
        return None
    module = f"{__package__}.{name}"
    try:
        found: Suite = importlib.import_module(module).decide
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run suites; return 0 if all passed, 1 after a failure, 2 where something is absent."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="default: all")
    parser.add_argument(
        "--cases", nargs="+", type=Path, metavar="FILE", help="files of the one suite"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    names = options.suites or list(SUITES)
    if options.cases and len(names) != 1:
        parser.error("--cases needs exactly one suite")
    outcomes = [
        run(name, suite_of(name), options.cases or sorted(CASES.glob(f"{name}*.json")))
        for name in names
    ]
    (_print_json if options.json else _print_text)(outcomes)
    if any(outcome.absent for outcome in outcomes):
        return 2
    return 1 if any(outcome.failures for outcome in outcomes) else 0


def _print_text(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"{failure.id}, {failure.expected}, {failure.got}")
        if outcome.absent:
            print(f"{outcome.suite}: absent ({outcome.absent})")
    passed = sum(outcome.passed for outcome in outcomes)
    directions = Counter(each.direction for outcome in outcomes for each in outcome.failures)
    if directions:
        print(", ".join(f"{directions[way]} {way}" for way in ("looser", "stricter", "other")))
    print(f"{passed} passed, {directions.total()} failed")


def _print_json(outcomes: list[Outcome]) -> None:
    suites = [
        {
            "suite": outcome.suite,
            "passed": outcome.passed,
            "failed": len(outcome.failures),
            "absent": bool(outcome.absent),
            "failures": [
                {"id": failure.id, "expected": failure.expected, "got": failure.got}
                for failure in outcome.failures
            ],
        }
        for outcome in outcomes
    ]
    print(json.dumps({"suites": suites}, indent=2))


if __name__ == "__main__":
    sys.exit(main())
