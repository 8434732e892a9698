"""What forges run: the script of the action, and the hooks, on a real repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from policy.cli import main

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOKS = {
    hook["id"]: hook
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
}
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}

BEFORE = "root main\n\nagent main {\n    allow Read\n}\n"
AFTER = "root main\n\nagent main {\n    allow Read, Bash(git *)\n}\n"


def test_what_forges_install_reads_whole_commands_of_shells() -> None:
    assert '"$ACTION[bash]"' in STEPS["Install"]["run"]
    assert {*map(str, (hook["additional_dependencies"] for hook in HOOKS.values()))} == {
        "['.[bash]']"
    }


@pytest.fixture
def repository(tmp_path) -> Path:
    """Return a repository whose second commit widens, and whose third changes a file nobody reads."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    for number, text in enumerate((BEFORE, AFTER)):
        (folder / "team.policy").write_text(text)
        git("add", "-A", cwd=folder)
        git("commit", "-q", "-m", str(number), cwd=folder)
    (folder / "opencode.json").write_text("{}")
    git("add", "-A", cwd=folder)
    git("commit", "-q", "-m", "2", cwd=folder)
    return folder


def git(*arguments: str, cwd: Path) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(
        command, cwd=cwd, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def compare(tmp_path, repository):
    """Run the step that compares; return its status, what it printed, and the folder of its files."""
    program = tmp_path / "runner/agent-policy/bin/policy"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m policy "$@"\n')
    program.chmod(0o755)

    def running(base: str, fail_on: str = "widened", lint: str = "false", cwd: Path = repository):
        temporary = tmp_path / "runner"
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
            "RUNNER_TEMP": str(temporary),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "BASE": base,
            "FAIL_ON": fail_on,
            "LINT": lint,
        }
        done = subprocess.run(
            ["bash", "-c", STEPS["Compare"]["run"]],
            cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr, temporary / "agent-policy-output"

    return running


def test_the_action_fails_on_a_change_that_grants_more_and_reports_it_in_every_format(
    compare, repository, tmp_path
) -> None:
    status, printed, out = compare(git("rev-parse", "HEAD~2", cwd=repository), lint="true")
    assert status == 1
    assert "::warning file=team.policy,line=4," in printed
    assert "denied -> allowed" in printed
    assert "title=rule-runs-anything" in printed
    answer = json.loads((out / "diff.json").read_text())
    assert answer["widened"] == 1
    assert [file["path"] for file in answer["files"]] == ["opencode.json", "team.policy"]
    assert json.loads((out / "diff.sarif").read_text())["version"] == "2.1.0"
    assert "1 edit: widens" in (out / "diff.markdown").read_text()
    assert (tmp_path / "summary").read_text() == (out / "diff.markdown").read_text()
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert {name: Path(path).exists() for name, path in outputs.items()} == dict.fromkeys(
        ("markdown", "sarif", "json"), True
    )


def test_the_action_passes_a_change_that_grants_no_more(compare, repository) -> None:
    status, printed, _ = compare(git("rev-parse", "HEAD~1", cwd=repository))
    assert status == 0
    assert "is not read" in printed
    assert compare("HEAD~2", "none")[0] == 0


def test_a_branch_that_is_new_is_compared_with_nothing(compare) -> None:
    # A first policy only restricts what nothing restricted.
    status, printed, _ = compare("0" * 40, "any")
    assert status == 1
    assert "allowed -> denied" in printed
    assert compare("")[0] == 0


def test_a_shallow_checkout_fetches_what_it_is_compared_with(compare, repository, tmp_path) -> None:
    base = git("rev-parse", "HEAD~2", cwd=repository)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=repository)
    shallow = tmp_path / "shallow"
    git("clone", "-q", "--depth=1", f"file://{repository}", str(shallow), cwd=tmp_path)
    status, printed, _ = compare(base, cwd=shallow)
    assert (status, "denied -> allowed" in printed) == (1, True)


@pytest.mark.parametrize(
    "base", ["--output=x", "no-such-revision", "$(touch pwned)", "a;touch pwned"]
)
def test_what_is_no_revision_fails_and_is_never_run(base, compare, repository) -> None:
    status, _, _ = compare(base)
    assert status != 0
    assert not (repository / "pwned").exists()


def test_a_policy_that_cannot_be_read_fails_the_action(compare, repository) -> None:
    (repository / "team.policy").write_text("agent main {\n")
    git("commit", "-q", "-a", "-m", "broken", cwd=repository)
    assert compare("HEAD~1", "none")[0] == 2


def test_no_script_of_the_action_holds_an_expression() -> None:
    for step in STEPS.values():
        assert "${{" not in step["run"]
        assert step["run"].startswith("set -euo pipefail\n")


# `git *` runs anything, no test is in the file, and its columns are not aligned.
STATUS = {"policy-diff": 0, "policy-lint": 1, "policy-test": 2, "policy-fmt": 1}


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_runs_a_command_that_there_is(name, repository, monkeypatch, capsys) -> None:
    monkeypatch.chdir(repository)
    program, *arguments = shlex.split(HOOKS[name]["entry"])
    files = [] if HOOKS[name].get("pass_filenames") is False else ["team.policy"]
    assert program == "policy"
    assert main([*arguments, *files]) == STATUS[name]
    assert "usage" not in capsys.readouterr().err


def test_the_hook_on_decisions_fails_on_what_is_not_committed_yet(
    repository, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(repository)
    (repository / "team.policy").write_text(AFTER.replace("git *", "*"))
    assert main(shlex.split(HOOKS["policy-diff"]["entry"])[1:]) == 1
    capsys.readouterr()


def test_a_format_without_a_file_is_bad_usage(repository, monkeypatch, capsys) -> None:
    monkeypatch.chdir(repository)
    for output in ("sarif", "sarif=", "nonsense=x", "json=/no/such/folder/x"):
        assert main(["diff", "HEAD", "--output", output]) == 2
    assert re.search("FORMAT=FILE", capsys.readouterr().err)
