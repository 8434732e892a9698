"""The conformance runner itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.__main__ import main

CASE = {
    "id": "ONE-1",
    "settings": {"project": {"permissions": {"deny": ["Bash(curl *)"]}}},
    "mode": "default",
    "cwd": "/srv/app",
    "call": {"tool": "Bash", "input": {"command": "curl x"}},
    "expected": "deny",
}


def cases(folder: Path, *found: object) -> str:
    file = folder / "cases.json"
    file.write_text(json.dumps(found))
    return str(file)


def test_a_case_that_gets_what_it_must_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claude", "--cases", cases(tmp_path, CASE)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_a_failure_is_one_line_and_exit_status_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["claude", "--cases", cases(tmp_path, {**CASE, "expected": "allow"})]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "ONE-1, allow, deny",
        "0 looser, 1 stricter, 0 other",
        "0 passed, 1 failed",
    ]


def test_what_was_observed_beats_what_was_expected(tmp_path: Path) -> None:
    case = {**CASE, "expected": "allow", "observed": {"version": "2.1.329", "result": "deny"}}

    assert main(["claude", "--cases", cases(tmp_path, case)]) == 0


def test_a_suite_without_an_adapter_is_absent_and_never_passed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["nosuchsuite", "--json"]) == 2
    (suite,) = json.loads(capsys.readouterr().out)["suites"]
    assert suite == {
        "suite": "nosuchsuite",
        "passed": 0,
        "failed": 0,
        "absent": True,
        "failures": [],
    }


def test_a_file_that_is_not_there_is_absent(tmp_path: Path) -> None:
    assert main(["claude", "--cases", str(tmp_path / "none.json")]) == 2
