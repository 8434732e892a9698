"""Fixtures every test module may use."""

from __future__ import annotations

import gc
import os
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.effort import DRAWN

_QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile(
    "default", max_examples=DRAWN, deadline=None, derandomize=True, suppress_health_check=_QUIET
)
settings.register_profile(
    "thorough", max_examples=5_000, deadline=None, suppress_health_check=_QUIET
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_finish() -> None:
    """Keep what was collected out of garbage collection: every full one would walk all of it."""
    gc.collect()
    gc.freeze()


# Tests that one dot stands for, where all of them run on every core.
_A_DOT = 50
_passed = count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Keep the output of `-q -n auto` to one screen: few dots, and all that did not pass."""
    together = config.get_verbosity() < 0 and config.getoption("numprocesses", None)
    if together and report.passed and report.when == "call" and next(_passed) % _A_DOT:
        return "passed", "", ""
    return None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what a run leaves out by default."""
    asked = config.getoption("markexpr")
    marks = re.findall(r"not (\w+)", asked)
    if marks and " or " not in asked and config.get_verbosity() <= 0:
        said = f"not run: {', '.join(marks)}; tests/README.md says what each needs"
        terminalreporter.write_line(f"{said}: `python -m pytest -m {marks[0]}`, …")


FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


class TextFile(SingleFileSnapshotExtension):
    """A snapshot a person can read: one text file a case."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def text(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compare with a text file of its own."""
    return snapshot.use_extension(TextFile)


def cases(folder: str) -> list[Any]:
    """Return the folders in ``fixtures/<folder>``, each as a parameter named like it."""
    paths = sorted((FIXTURES / folder).iterdir())
    return [pytest.param(path, id=path.name) for path in paths if path.is_dir()]
