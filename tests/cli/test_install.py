"""The entry of the hook in settings: added once, shown first, and removed without a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import policy
from policy.adapters.hook.settings import command, entry, silencing, with_hook, without_hook
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.writing import replace_files
from policy.tables.compiled import compiled_to_json
from tests.conftest import FIXTURES

GROUP = entry(command(["--resident"]))
SETTINGS = {
    "nothing": "",
    "an empty object": "{}",
    "an empty object and a line": "{}\n",
    "one line": '{"model": "opus", "permissions": {"deny": ["Read(.env)"]}}\n',
    "two blanks": '{\n  "model": "opus",\n  "permissions": {\n    "deny": []\n  }\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "odd layout": '{ "model" :"opus"\n ,\n      "x":[1,\n2]}',
    "hooks of others": json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "lint.sh"}]}], "Stop": []}, "model": "opus"},
        indent=4,
    ),
    "hooks of others on one line": '{"hooks": {"PreToolUse": [{"hooks": []}]}}',
    "carriage returns": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "escapes": '{\n  "env": {"A": "\\u00e9\\/"}\n}\n',
}  # fmt: skip


def put(text: str, group=GROUP) -> str:
    return with_hook(Source("settings.json", text), group)


def taken(text: str) -> str:
    return without_hook(Source("settings.json", text))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_hook_is_added_once_and_removed_without_a_trace(name) -> None:
    text = SETTINGS[name]
    once = put(text)
    before, after = json.loads(text or "{}"), json.loads(once)
    assert after["hooks"]["PreToolUse"].pop() == GROUP
    assert before.get("hooks", {}).get("PreToolUse", []) == after["hooks"].pop("PreToolUse")
    before.setdefault("hooks", {}).pop("PreToolUse", None)
    assert after == before
    assert put(once) == once
    assert taken(once) == (text or "{}\n")
    assert taken(text) == text


@pytest.mark.parametrize("name", SETTINGS)
def test_another_command_replaces_the_earlier_one(name) -> None:
    other = entry(command(["--root", "a b"], portable=True))
    changed = put(put(SETTINGS[name]), other)
    assert changed == put(put(changed, GROUP), other)
    assert [g for g in json.loads(changed)["hooks"]["PreToolUse"] if "policy" in str(g)] == [other]
    assert taken(changed) == (SETTINGS[name] or "{}\n")


def test_of_several_entries_one_stays() -> None:
    several = json.dumps({"hooks": {"PreToolUse": [GROUP, {"hooks": []}, GROUP]}}, indent=2)
    assert json.loads(put(several))["hooks"]["PreToolUse"] == [{"hooks": []}, GROUP]


def test_the_entry_fires_for_every_tool_and_blocks_on_failure() -> None:
    (hook,) = GROUP["hooks"]
    assert "matcher" not in GROUP
    assert hook["onFailure"] == "block"
    assert hook["command"].endswith(" || exit 2")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": {}}}',
        '{"hooks": {}, "hooks": {}}',
        "nul",
    ],
)
def test_invalid_settings_stay_unchanged(text) -> None:
    for change in (put, taken):
        with pytest.raises(PolicyError):
            change(text)


# --- the command -----------------------------------------------------------------


def install(folder, *options, **more):
    return subprocess.run(
        [sys.executable, "-m", "policy", "install", "claude-code", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def test_the_command_shows_the_change_and_writes_it_when_it_may(tmp_path) -> None:
    file = tmp_path / ".claude" / "settings.local.json"
    shown = install(tmp_path, "--dry-run")
    assert shown.returncode == 0
    assert '+            "onFailure": "block"' in shown.stdout
    asked = install(tmp_path, stdin=subprocess.DEVNULL)
    assert (asked.returncode, file.exists()) == (1, False)
    assert install(tmp_path, "--yes").returncode == 0
    text = file.read_text()
    again = install(tmp_path, "--yes")
    assert (again.returncode, file.read_text()) == (0, text)
    assert "nothing to change" in again.stdout
    assert install(tmp_path, "--undo", "--dry-run").returncode == 0
    assert file.read_text() == text
    assert install(tmp_path, "--undo", "--yes").returncode == 0
    assert not file.parent.exists()
    assert install(tmp_path, "--undo", "--yes").returncode == 0
    file.parent.mkdir()
    file.write_text('{"model": "x"}\n')
    for options in ((), ("--undo",)):
        assert install(tmp_path, "--yes", *options).returncode == 0
    assert json.loads(file.read_text()) == {"model": "x"}


def test_the_command_says_where_no_policy_is_that_the_settings_decide(tmp_path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path / "home")}
    said = "no `*.policy` file is here"
    assert said in install(tmp_path, "--dry-run", env=environment).stdout
    assert said not in install(tmp_path, "--dry-run", "--user", env=environment).stdout
    for folder in (tmp_path / "home" / ".claude", tmp_path / ".claude", tmp_path):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "team.policy"
        file.write_text("agent main {\n    allow Read\n}\n")
        assert said not in install(tmp_path, "--dry-run", env=environment).stdout
        file.unlink()


def test_a_byte_order_mark_is_kept(tmp_path) -> None:
    file = tmp_path / ".claude" / "settings.local.json"
    file.parent.mkdir()
    text = b'\xef\xbb\xbf{\r\n  "model": "opus"\r\n}'
    file.write_bytes(text)
    assert install(tmp_path, "--yes").returncode == 0
    assert file.read_bytes().startswith(b"\xef\xbb\xbf{")
    assert install(tmp_path, "--undo", "--yes").returncode == 0
    assert file.read_bytes() == text


def test_a_file_that_changes_while_it_is_shown_is_not_written(tmp_path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"deny": 1}')
    with pytest.raises(PolicyError, match="has changed since it was read"):
        replace_files({file: (b"{}", b'{"hooks": {}}')})
    assert file.read_text() == '{"deny": 1}'
    assert list(tmp_path.iterdir()) == [file]


OFF, ON = {"disableAllHooks": True}, {"disableAllHooks": False}
ONLY = {"allowManagedHooksOnly": True}
# What each scope says, and whether the hook in the local settings is run.
SILENCING = {
    "nothing": ({}, True),
    "the file itself": ({"local": OFF}, False),
    "the project": ({"project": OFF}, False),
    "the user": ({"user": OFF}, False),
    "overruled": ({"project": OFF, "user": OFF, "local": ON}, True),
    "overruled in vain": ({"local": ON, "managed": OFF}, False),
    "an administrator": ({"managed": ONLY}, False),
    "no administrator": ({"project": ONLY, "user": ONLY}, True),
    "a value of the file is wrong": ({"local": {"disableAllHooks": "true"}}, False),
    "a value of another file is wrong": ({"project": {**OFF, "model": 5}}, True),
}


@pytest.mark.parametrize("name", SILENCING)
def test_settings_that_disable_the_hook_are_reported(name) -> None:
    said, runs = SILENCING[name]
    said = {"local": {}, **said}
    sources = {scope: Source(f"{scope}.json", json.dumps(text)) for scope, text in said.items()}
    reasons = list(silencing(sources, "local"))
    assert (not reasons) == runs, reasons


def test_the_command_reports_settings_that_disable_the_hook(tmp_path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{\n  "disableAllHooks": true\n}\n')
    for done in (install(tmp_path, "--yes"), install(tmp_path, "--yes")):  # and where it is in
        assert done.returncode == 1
        assert ".claude/settings.json:2:3: error: the hook is not run" in done.stderr
    assert install(tmp_path, "--undo", "--yes").returncode == 0


def test_settings_that_a_project_shares_name_nothing_of_this_machine(tmp_path) -> None:
    options = ["--project", "--dry-run", "--record", "log/calls.jsonl", "--redact", "all"]
    done = install(tmp_path, *options)
    assert (
        '"command": "policy-hook --resident --record log/calls.jsonl --redact all || exit 2"'
        in done.stdout
    )
    done = install(tmp_path, "--dry-run", "--record", "calls.jsonl")
    assert f"--record {tmp_path}/calls.jsonl" in done.stdout


def test_what_is_installed_blocks_and_answers(tmp_path) -> None:
    (tmp_path / "team.policy").write_text("agent main {\n    allow Read\n}\n")
    compiled = tmp_path / "policy.json"
    compiled.write_text(compiled_to_json(policy.load(FIXTURES / "command" / "team")))
    assert install(tmp_path, "--yes", "--no-resident", "--policy", "policy.json").returncode == 0
    settings = json.loads((tmp_path / ".claude" / "settings.local.json").read_text())
    text = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": str(tmp_path),
             "tool_input": {"command": "git push --force"}}  # fmt: skip
    environment = {
        "CLAUDE_PROJECT_DIR": str(tmp_path),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }

    def run(command):
        return subprocess.run(
            ["sh", "-c", command], input=json.dumps(event).encode(), capture_output=True,
            env=environment, check=False,
        )  # fmt: skip

    done = run(text)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"deny"' in done.stdout
    compiled.write_text(compiled.read_text().replace('"deny"', '"allow"', 1))
    assert run(text).returncode == 2
    assert run(text.replace(sys.executable, "/no/such/python")).returncode == 2
    assert run(command([], portable=True)).returncode == 2  # nothing of that name is there
