"""Cached answers: equal to the full decision, or missing."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import policy
from policy.adapters.hook import cached_answers, entry, handover
from policy.adapters.hook.decider import HookDecider, options_of
from policy.tables.codec.writing import compiled_to_json
from policy.tables.walk import Walk
from tests.hook.session import CLIENT, POLICY, WIDER, Session, said

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
CALLS = [
    *(
        ("Bash", {"command": command})
        for command in (
            "git status", "git push x", "git push --force x", "git", "npm test", "npm run x", "ls",
            "npm publish y", "curl x", "git status && ls", "git log > src/a", "cat private/a",
            "cat link", "git push --force x | cat", "frob", "", " git status", "x=1 git push z",
        )
    ),
    *(
        (tool, {"file_path": path})
        for tool in ("Read", "Edit", "Write")
        for path in (
            "src/a.py", "src/a.sql", "src/secret/a", "link", "src/../src/secret/a", "private/a",
            "docs/a", ".env", ".claude/settings.json", "team.policy", "~/.claude/x", "/etc/passwd",
            "{project}/src/a.py", "{project}/src/secret/a", "{project}/link", "{project}/.env", "",
            "{project}/src/linked/a",
        )
    ),
    *(("Task", {"subagent_type": name}) for name in ("lead", "helper", "nobody", "LEAD", 3)),
    ("Task", {"agent": "helper"}),
    ("Task", {}),
    ("Agent", {"subagent_type": "lead", "prompt": "p\u202e"}),
    ("Grep", {"pattern": "x"}),
    ("Grep", {"pattern": "x", "path": "private"}),
    ("WebSearch", {"query": "\u4e2d\u6587", "more": [1.5, None, {"a": True}]}),
    ("WebSearch", {"query": "x" * 3000}),
    ("WebFetch", {"url": "https://a.b"}),
    ("mcp__db__read", {"q": 1}),
    ("mcp__db__drop", {}),
    ("mcp__other", {}),
    ("Bash", {"command": "git status", "run_in_background": True}),
    ("Bash", {"command": 7}),
    ("Bash", {}),
]  # fmt: skip


def known(session: Session) -> dict[str, str]:
    return {
        name: value for name, value in session.environment.items() if name in handover.VARIABLES
    }


def data_of(session: Session, tool: str, call: dict[str, object], **more: object) -> bytes:
    text = json.dumps(session.event(tool, call, **more))
    return text.replace("{project}", str(session.project)).encode()


def cached(session: Session, data: bytes, *options: str) -> bytes | None:
    """Return the cached answer."""
    return cached_answers.cached_answer(list(options), known(session), data)


def in_full(session: Session, data: bytes, *options: str) -> bytes:
    """Return the answer of a full decision, and cache it."""
    found = session.decider.decide(options_of(options), known(session), data)
    answer = found.answer(options_of(options))
    found.store(list(options), known(session))
    return answer


@pytest.fixture
def project(alone):
    alone.write("team.policy", OURS)
    for name in ("src/secret", "private", "docs"):
        (alone.project / name).mkdir(parents=True)
    (alone.project / "link").symlink_to("private/a")
    (alone.project / "src" / "linked").symlink_to("secret")
    return alone


@pytest.mark.parametrize("settings", [None, SETTINGS], ids=["ours", "both"])
@pytest.mark.parametrize(
    "step",
    [3, *(pytest.param(step, marks=pytest.mark.slow) for step in (1, -1))],
    ids=["some", "there", "back"],
)
def test_a_cached_answer_equals_the_full_decision(project, settings, step) -> None:
    if settings:
        project.write(".claude/settings.json", json.dumps(settings))
    agents = [
        {},
        {"agent_id": "a1", "agent_type": "helper"},
        {"permission_mode": "plan", "cwd": str(project.project / "docs")},
    ]
    answered, answers = 0, {}
    for (tool, call), more in itertools.product(CALLS[::step], agents):
        data = data_of(project, tool, call, **more)
        early = cached(project, data)
        answer = in_full(project, data)
        assert early in (None, answer), (tool, call, more)
        answered += early is not None
        answers[data] = answer
    again = 0
    for data, answer in answers.items():
        late = cached(project, data)
        assert late in (None, answer), data
        again += late is not None
    number = len(answers)
    assert answered > number // 4  # by a cached answer of another call
    assert again > number * 2 // 3


@pytest.mark.parametrize(
    ("tool", "first", "calls"),
    [
        ("Edit", "src/a", ["src/b", "src/c.sql", "src/secret/d"]),
        ("Read", "x", ["y", "{project}/y/z", "y/.env"]),
    ],
)
def test_one_call_of_a_tool_caches_answers_for_the_next(project, tool, first, calls) -> None:
    denied = data_of(project, tool, {"file_path": "src/secret/a" if tool == "Edit" else ".env"})
    for data in (denied, data_of(project, tool, {"file_path": first})):
        in_full(project, data)
    for path in calls:
        data = data_of(project, tool, {"file_path": path})
        assert cached(project, data) == HookDecider().answer(options_of([]), known(project), data)


def test_a_compiled_policy_caches_walks_for_commands_too(project) -> None:
    text = compiled_to_json(policy.load(project.project))
    file = project.project / "policy.json"
    file.write_text(text)
    for name in ("policy.json", str(file)):
        for command in ("git push --force x", "git log"):
            in_full(project, data_of(project, "Bash", {"command": command}), name)
        for command, effect in (
            ("git diff", "allow"), ("git push y", "ask"), ("git push --force z", "deny"),
            ("rm x", "deny"),
        ):  # fmt: skip
            answer = cached(project, data_of(project, "Bash", {"command": command}), name)
            assert answer is not None
            assert said(answer)[0] == effect
    data = data_of(project, "Bash", {"command": "git diff"})
    for other in (("policy.json", "--root", "lead"), ("policy.json", str(file)), ()):
        assert cached(project, data, *other) is None
    file.write_text(text.replace('"deny"', '"allow"', 1))
    assert cached(project, data, "policy.json") is None


def _edited(session: Session) -> None:
    file = session.project / "team.policy"
    before = file.stat()
    session.write(
        "team.policy",
        OURS.replace("deny  Bash(git push --force *)", "deny  Bash(git push --xorce *)"),
    )
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _linked(session: Session) -> None:
    (session.project / "src" / "a.py").symlink_to("secret/a")


CHANGES = {
    "an edit": _edited,
    "another policy": lambda session: session.write("more.policy", "agent main { deny Bash, Edit }"),
    "settings": lambda session: session.write(".claude/settings.json", json.dumps(SETTINGS)),
    "settings of the user": lambda session: Path(session.home, ".claude").mkdir()
    or Path(session.home, ".claude", "settings.json").write_text(json.dumps(SETTINGS)),
    "an agent": lambda session: session.write(
        ".claude/agents/x.md", "---\nname: x\ndescription: d\ntools: Read\n---\n"
    ),
    "a link": _linked,
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_cached_answers_do_not_outlive_their_sources(project, name) -> None:
    calls = [("Bash", {"command": "git push --force x"}), ("Edit", {"file_path": "src/a.py"})]
    every = [data_of(project, tool, call) for tool, call in calls]
    for data in every:
        in_full(project, data)
        assert cached(project, data) is not None
    CHANGES[name](project)
    for data in every:
        answer = HookDecider().answer(options_of([]), known(project), data)
        assert cached(project, data) in (None, answer)
        in_full(project, data)
        assert cached(project, data) in (None, answer)


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "HOME"])
def test_cached_answers_are_for_the_same_folders_of_the_same_user(
    project, tmp_path, variable
) -> None:
    data = data_of(project, "Bash", {"command": "git push --force x"})
    in_full(project, data)
    project.environment[variable] = str(tmp_path)
    assert cached(project, data) is None


def test_a_cached_url_is_found_whatever_the_other_arguments_are(project) -> None:
    project.write("team.policy", "agent main { allow WebFetch(docs.x), Read }\n")
    project.write(
        ".claude/settings.json", json.dumps({"permissions": {"deny": ["WebFetch(domain:a.b)"]}})
    )
    for url, effect in (("https://docs.x/a", "allow"), ("https://a.b", "deny"), ("no url", "deny")):
        data = data_of(project, "WebFetch", {"url": url, "prompt": "one"})
        first = in_full(project, data)
        assert said(first)[0] == effect
        assert cached(project, data_of(project, "WebFetch", {"url": url, "prompt": "two"})) == first
        assert (
            cached(project, data_of(project, "WebFetch", {"url": url + "/", "prompt": "one"}))
            is None
        )


def test_a_command_is_decided_in_full_once_its_files_are_links(project) -> None:
    project.write(".claude/settings.json", json.dumps(SETTINGS))
    project.write("docs/a", "")
    data = data_of(project, "Bash", {"command": "git log > src/a"})
    first = in_full(project, data)
    assert cached(project, data) == first
    (project.project / "src" / "a").symlink_to("secret/a")
    assert cached(project, data) is None
    assert said(in_full(project, data))[0] == "deny"
    assert cached(project, data) is None


def entries(session: Session) -> list[Path]:
    return sorted((session.home / ".cache" / "agent-policy" / "calls").iterdir())


def test_an_altered_cached_answer_is_not_used(project) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    wide = data_of(project, "Edit", {"file_path": "src/a"}, cwd="/")
    answer = in_full(project, data)
    (entry,) = entries(project)
    in_full(project, wide)
    (other,) = set(entries(project)) - {entry}
    kept = entry.read_bytes()
    elsewhere = project.home / "elsewhere"
    elsewhere.write_bytes(kept)
    elsewhere.chmod(0o600)
    flipped = [kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :] for at in range(0, len(kept), 97)]
    for spoiled in (
        other.read_bytes(), b"", kept[:31], kept[:32], kept[:-1], kept + b"\0", bytes(32) + kept[32:],
        *flipped,
    ):  # fmt: skip
        entry.write_bytes(spoiled)
        assert cached(project, data) is None
    entry.unlink()
    entry.symlink_to(elsewhere)
    assert cached(project, data) is None
    entry.unlink()
    os.mkfifo(entry, 0o600)
    assert cached(project, data) is None
    entry.unlink()
    entry.write_bytes(kept)
    entry.chmod(0o622)
    assert cached(project, data) is None
    entry.chmod(0o600)
    assert cached(project, data) == answer
    key = project.home / ".config" / "agent-policy" / "cache.key"
    key.write_bytes(bytes(32))
    assert cached(project, data) is None


def test_cached_answers_of_other_code_or_another_python_are_not_used(project, monkeypatch) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    in_full(project, data)
    assert cached(project, data) is not None
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version", sys.version + "+")
        assert cached(project, data) is None
    monkeypatch.setattr(cached_answers, "package_digest", lambda: "other")
    assert cached(project, data) is None


def test_a_call_is_decided_whatever_fails_with_cached_answers(project, monkeypatch, capfd) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    answer = in_full(project, data)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    for error in (ValueError, EOFError, MemoryError, RecursionError):

        def fails(*_: object, error: type[Exception] = error) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(Walk, "of", fails)
            patch.setattr(entry, "_set_deadline", lambda _: None)
            read, write = os.pipe()
            os.write(write, data)
            os.close(write)
            stdin = os.dup(0)
            os.dup2(read, 0)
            try:
                assert entry.main([]) == 0
            finally:
                os.dup2(stdin, 0)
                os.close(read)
        assert capfd.readouterr().out.encode() == answer


def test_records_are_written_of_every_call(project) -> None:
    data = data_of(project, "Read", {"file_path": "x"})
    for _ in range(2):
        assert project.run(data, "--record", "log.jsonl").returncode == 0
    assert len((project.project / "log.jsonl").read_text().splitlines()) == 2
    assert not entries(project) if (project.home / ".cache/agent-policy/calls").exists() else True


def test_a_process_with_a_cached_answer_imports_almost_nothing(project) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})

    def modules() -> tuple[bytes, set[str]]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "importtime", CLIENT],
            input=data, capture_output=True, env=project.environment, check=True,
        )  # fmt: skip
        lines = done.stderr.decode().splitlines()
        return done.stdout, {line.rpartition("|")[2].strip() for line in lines}

    first, slow = modules()
    second, quick = modules()
    assert first == second
    assert {"attr", "re", "json", "policy.tables.table"} <= slow
    heavy = {"attr", "attrs", "re", "json", "enum", "typing", "collections", "functools", "site"}
    heavy |= {"argparse", "pathlib", "hashlib", "contextlib", "tempfile", "lark", "yaml", "cattrs"}
    assert not heavy & quick
    assert len({name for name in quick if name.startswith("policy")}) < 25


def test_a_python_without_the_compiled_part_of_json_answers_the_same(project) -> None:
    """Some builds have none: then the library reads and writes the same text."""
    start = (
        "import runpy, sys; sys.modules['_json'] = None; runpy.run_path({!r}, run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", start.format(CLIENT)]
    events = [
        data_of(project, "WebSearch", {"query": "\u4e2d\u6587", "more": [1.5, None, {"a": True}]}),
        data_of(project, "Edit", {"file_path": "src/secret/a"}),
        b'{"hook_event_name": "PreToolUse", "tool_name": "a", "tool_name": "b"}',
        b'{"hook_event_name": "PreToolUse", "tool_name": NaN}',
    ]
    for data in events:
        for _ in ("in full", "from the cache"):
            known = project.run(data)
            found = subprocess.run(
                command, input=data, capture_output=True, env=project.environment, check=False
            )
            assert (found.returncode, found.stdout, found.stderr) == (
                known.returncode,
                known.stdout,
                known.stderr,
            )


def test_the_number_of_cached_answers_is_bounded(project) -> None:
    cache = cached_answers.answers_store(known(project))
    assert cache is not None
    for number in range(cache.most + 10):
        cache.put(f"{number}", b"")
    assert len(entries(project)) == cache.most
    cache.room = 1000
    for number in range(5):
        cache.put(f"large{number}", bytes(400))
    assert [path.name for path in entries(project)] == ["large3", "large4"]
    cache.put("larger than all", bytes(2000))
    assert [path.name for path in entries(project)] == ["larger than all"]


def test_an_edit_is_in_force_at_the_next_process(project) -> None:
    project.write("team.policy", POLICY)
    for _ in range(2):
        assert project.new_process("git push --force x") == "deny"
    project.write("team.policy", WIDER)
    for _ in range(2):
        assert project.new_process("git push --force x") == "allow"
    project.write("team.policy", "agent")
    for _ in range(2):
        project.blocked_process(project.good())


def test_a_process_killed_while_it_writes_the_store_spoils_nothing(project) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    answer = HookDecider().answer(options_of([]), known(project), data)
    environment = {**project.environment, "PYTHONPATH": ROOT}
    for moment in ("before", "while", "behind"):
        shutil.rmtree(project.home / ".cache" / "agent-policy" / "calls", ignore_errors=True)
        # It is killed where it puts the entry into its place.
        done = subprocess.run(
            [sys.executable, "-c", KILLED, moment],
            input=data, capture_output=True, env=environment, check=False,
        )  # fmt: skip
        assert done.returncode == -9
        assert done.stdout == answer
        assert cached(project, data) in (None, answer)
        assert project.run(data).stdout == answer
    assert cached(project, data) == answer


ROOT = str(Path(policy.__file__).parents[1])
KILLED = """
import os, signal, sys
from policy.adapters.hook import entry, store

def end(): os.kill(os.getpid(), signal.SIGKILL)

write, moment = store._write, sys.argv.pop()

def killed(folder, name, data):
    if not folder.endswith("/calls"):
        return write(folder, name, data)
    if moment == "while":
        handle, _ = store._temporary(folder)
        os.write(handle, data[: len(data) // 2])
    if moment == "behind":
        write(folder, name, data)
    end()

store._write = killed
sys.exit(entry.main([]))
"""


def test_a_call_that_both_states_deny_is_denied_throughout_an_edit(project) -> None:
    """One of two policies denies at every moment; the cached answer of a state, or none."""
    (project.project / "team.policy").unlink()
    files = [project.project / "a.policy", project.project / "b.policy"]
    grants = OURS.replace("deny  Bash(git push --force *), Edit(src/secret/**)", "deny  WebFetch")
    assert grants != OURS
    texts = {"denies": OURS, "grants": grants}
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    states = [("denies", "grants"), ("denies", "denies"), ("grants", "denies")]
    for state in states:
        for file, text in zip(files, state, strict=True):
            file.write_text(texts[text])
        assert said(in_full(project, data))[0] == "deny"
        assert cached(project, data) is not None
    ended, pauses = threading.Event(), itertools.cycle([0, 0, 0, 0.08])

    def edit() -> None:
        while not ended.is_set():
            for one, other in (files, files[::-1]):
                for file, text in ((one, "denies"), (other, "grants")):
                    made = file.with_suffix(".new")
                    made.write_text(texts[text])
                    made.replace(file)
                ended.wait(next(pauses))

    editing = threading.Thread(target=edit)
    editing.start()
    answers = 0
    try:
        for _ in range(60):
            try:
                answer = cached(project, data)
            except policy.PolicyError as error:
                assert "change while they are read" in error.message
                continue
            answers += answer is not None
            assert answer is None or said(answer)[0] == "deny"
    finally:
        ended.set()
        editing.join()
    assert answers


def test_many_processes_at_once_agree_and_cache_the_answer(project) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(project.run(data).stdout)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {said(answer)[0] for answer in found} == {"deny"}
    assert {cached(project, data)} == set(found)
    assert len(entries(project)) == 1


def test_a_store_that_became_read_only_changes_no_answer(project) -> None:
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
    other = data_of(project, "Read", {"file_path": ".env"})
    answers = [
        in_full(project, data),
        HookDecider().answer(options_of([]), known(project), other),
    ]
    folders = [Path(entries(project)[0]).parent, project.home / ".config" / "agent-policy"]
    for folder in folders:
        folder.chmod(0o500)
    assert [project.run(each).stdout for each in (data, other)] == answers
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
    data = data_of(project, "Edit", {"file_path": "src/secret/a"})
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
