"""Compiled policies on disk: those of the files as they are, or compiled again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import policy
from policy.adapters.hook import deciding
from policy.adapters.hook.deciding import HookDecider, options_of
from policy.adapters.hook.sources import Sources
from policy.adapters.hook.store import Store
from tests.hook.session import CLIENT, Session, said

OURS = """\
root main
agent main {
    allow Read, Bash(git *), Bash(npm test), Task(lead, helper), mcp__db__*, Edit(src/**), Grep
    ask   Bash(git push *), Edit(src/**/*.sql), WebSearch
    deny  Bash(git push --force *), Edit(src/secret/**), Read(**/.env)
}
agent lead {
    allow Read, Bash(git status), Task(helper)
}
agent helper {
    allow Read(docs/**), Bash(git log *)
}
"""
SETTINGS = {
    "permissions": {
        "allow": ["Bash(npm run *)", "Read(./docs/**)"],
        "ask": ["Bash(npm publish *)"],
        "deny": ["Read(./private/**)", "Bash(curl *)", "mcp__db__drop"],
    }
}
SECRET = ("Edit", {"file_path": "src/secret/a"})


def data_of(session: Session, tool: str, call: dict[str, object], **more: object) -> bytes:
    return json.dumps(session.event(tool, call, **more)).encode()


def entries(session: Session) -> list[Path]:
    return sorted((session.home / ".cache" / "agent-policy").iterdir())


@pytest.fixture
def project(alone):
    alone.write("team.policy", OURS)
    for name in ("src/secret", "private", "docs"):
        (alone.project / name).mkdir(parents=True)
    return alone


@pytest.fixture
def compiled(monkeypatch):
    """Return what was compiled since the test began."""
    found = []
    real = Sources.compiled

    def compile_sources(sources):
        found.append(sources)
        return real(sources)

    monkeypatch.setattr(Sources, "compiled", compile_sources)
    return found


def answer(session: Session, data: bytes) -> bytes:
    """Return the answer of a decider that remembers nothing."""
    return HookDecider().answer(options_of([]), session.environment, data)


def test_a_policy_is_compiled_once(project, compiled) -> None:
    first = answer(project, data_of(project, *SECRET))
    assert answer(project, data_of(project, *SECRET)) == first
    assert answer(project, data_of(project, "Bash", {"command": "git status"})) != first
    assert len(compiled) == 1


def _edited(session: Session) -> None:
    file = session.project / "team.policy"
    before = file.stat()
    session.write(
        "team.policy",
        OURS.replace("deny  Bash(git push --force *)", "deny  Bash(git push --xorce *)"),
    )
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {
    "an edit": _edited,
    "another policy": lambda session: session.write("more.policy", "agent main { deny Bash, Edit }"),
    "settings": lambda session: session.write(".claude/settings.json", json.dumps(SETTINGS)),
    "settings of the user": lambda session: Path(session.home, ".claude").mkdir()
    or Path(session.home, ".claude", "settings.json").write_text(json.dumps(SETTINGS)),
    "an agent": lambda session: session.write(
        ".claude/agents/x.md", "---\nname: x\ndescription: d\ntools: Read\n---\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_compiled_policy_does_not_outlive_its_sources(project, compiled, name) -> None:
    answer(project, data_of(project, *SECRET))
    CHANGES[name](project)
    answer(project, data_of(project, *SECRET))
    assert len(compiled) == 2


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "HOME"])
def test_a_compiled_policy_is_for_the_same_folders_of_the_same_user(
    project, compiled, tmp_path, variable
) -> None:
    answer(project, data_of(project, *SECRET))
    if variable != "HOME":
        project.environment["XDG_CACHE_HOME"] = str(project.home / ".cache")
    project.environment[variable] = str(tmp_path)
    answer(project, data_of(project, *SECRET))
    assert len(compiled) == 2


def test_a_compiled_policy_of_other_code_is_not_used(project, compiled, monkeypatch) -> None:
    answer(project, data_of(project, *SECRET))
    monkeypatch.setattr(deciding, "package_digest", lambda: "other")
    answer(project, data_of(project, *SECRET))
    assert len(compiled) == 2


def test_a_call_is_decided_anew_once_its_file_is_a_link(project) -> None:
    data = data_of(project, "Edit", {"file_path": "src/a.py"})
    assert said(answer(project, data))[0] == "allow"
    (project.project / "src" / "a.py").symlink_to("secret/a")
    assert said(answer(project, data))[0] == "deny"


def test_an_altered_entry_is_not_used(project) -> None:
    expected = answer(project, data_of(project, *SECRET))
    entry = max(entries(project), key=lambda path: path.stat().st_size)  # the policy
    store = Store.of(project.environment)
    kept, name = entry.read_bytes(), entry.name
    elsewhere = project.home / "elsewhere"
    elsewhere.write_bytes(kept)
    elsewhere.chmod(0o600)
    store.put("other", b"other")
    flipped = [
        kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :] for at in range(0, len(kept), 997)
    ]
    for spoiled in (
        entry.with_name("other").read_bytes(), b"", kept[:31], kept[:32], kept[:-1], kept + b"\0",
        bytes(32) + kept[32:], *flipped,
    ):  # fmt: skip
        entry.write_bytes(spoiled)
        assert store.get(name) is None
    entry.unlink()
    entry.symlink_to(elsewhere)
    assert store.get(name) is None
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert store.get(name) is None
    entry.unlink()
    entry.write_bytes(kept)
    entry.chmod(0o622)
    assert store.get(name) is None
    entry.chmod(0o600)
    assert store.get(name) == kept[32:]
    key = project.home / ".config" / "agent-policy" / "cache.key"
    key.write_bytes(bytes(32))
    assert Store.of(project.environment).get(name) is None
    assert answer(project, data_of(project, *SECRET)) == expected


def test_records_are_written_of_every_call(project) -> None:
    data = data_of(project, "Read", {"file_path": "x"})
    for _ in range(2):
        assert project.run(data, "--record", "log.jsonl").returncode == 0
    assert len((project.project / "log.jsonl").read_text().splitlines()) == 2


def test_a_python_without_the_compiled_part_of_json_answers_the_same(project) -> None:
    """Some builds have none: then the library reads and writes the same text."""
    start = (
        "import runpy, sys; sys.modules['_json'] = None; runpy.run_path({!r}, run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", start.format(CLIENT)]
    for data in (
        data_of(project, "WebSearch", {"query": "\u4e2d\u6587", "more": [1.5, None, {"a": True}]}),
        b'{"hook_event_name": "PreToolUse", "tool_name": "a", "tool_name": "b"}',
        b'{"hook_event_name": "PreToolUse", "tool_name": NaN}',
    ):
        known = project.run(data)
        found = subprocess.run(
            command, input=data, capture_output=True, env=project.environment, check=False
        )
        assert (found.returncode, found.stdout, found.stderr) == (
            known.returncode,
            known.stdout,
            known.stderr,
        )


def test_the_room_of_the_store_is_bounded(project) -> None:
    store = Store.of(project.environment)
    store.room = 1000
    for number in range(5):
        store.put(f"large{number}", bytes(400))
    assert [path.name for path in entries(project)] == ["large3", "large4"]
    store.put("larger than all", bytes(2000))
    assert [path.name for path in entries(project)] == ["larger than all"]


def test_a_process_killed_while_it_writes_the_store_spoils_nothing(project) -> None:
    data = data_of(project, *SECRET)
    environment = {**project.environment, "PYTHONPATH": str(Path(policy.__file__).parents[1])}
    for moment in ("before", "while", "behind"):
        shutil.rmtree(project.home / ".cache" / "agent-policy", ignore_errors=True)
        # It is killed where it puts the entry into its place.
        done = subprocess.run(
            [sys.executable, "-c", KILLED, moment],
            input=data, capture_output=True, env=environment, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (-9, b"")
        assert said(project.run(data).stdout)[0] == "deny"


KILLED = """
import os, signal, sys
from policy.adapters.hook import entry, store

def end(): os.kill(os.getpid(), signal.SIGKILL)

write, moment = store._write, sys.argv.pop()

def killed(folder, name, data):
    if moment == "while":
        handle, _ = store._temporary(folder)
        os.write(handle, data[: len(data) // 2])
    if moment == "behind":
        write(folder, name, data)
    end()

store._write = killed
sys.exit(entry.main([]))
"""


def test_a_store_that_became_read_only_changes_no_answer(project) -> None:
    every = [data_of(project, *SECRET), data_of(project, "Read", {"file_path": ".env"})]
    answers = [answer(project, data) for data in every]
    folders = [project.home / ".cache" / "agent-policy", project.home / ".config" / "agent-policy"]
    for folder in folders:
        folder.chmod(0o500)
    assert [project.run(each).stdout for each in every] == answers
    for folder in folders:
        folder.chmod(0o700)


def test_no_code_of_the_project_or_the_environment_is_imported(project, tmp_path) -> None:
    traps = tmp_path / "traps"
    for folder in (project.project, traps):
        (folder / "policy" / "adapters" / "hook").mkdir(parents=True)
        for name in (
            "policy/__init__", "policy/adapters/__init__", "policy/adapters/hook/__init__", "policy/adapters/hook/entry", "sitecustomize",
            "usercustomize", "os", "marshal", "stat", "_json", "json", "re", "attr",
        ):  # fmt: skip
            (folder / f"{name}.py").write_text("raise SystemExit(0)\n")
    environment = {
        **project.environment,
        "PYTHONPATH": str(traps),
        "PYTHONHOME": str(traps),
        "PYTHONSTARTUP": str(traps / "os.py"),
        "PYTHONUSERBASE": str(traps),
    }
    data = data_of(project, *SECRET)
    for _ in range(2):
        done = project.run(data, environment=environment)
        assert said(done.stdout)[0] == "deny"
    moved = tmp_path / "elsewhere" / "client.py"
    moved.parent.mkdir()
    shutil.copy(CLIENT, moved)
    done = subprocess.run(
        [sys.executable, "-I", "-S", moved],
        input=data, capture_output=True, cwd=project.project, env=environment, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"blocked" in done.stderr
