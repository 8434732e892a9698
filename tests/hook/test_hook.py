"""The hook as a process: one answer a call, and a block on every failure."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import policy
from policy.adapters.hook import entry, handover, sources
from policy.adapters.hook.deciding import HookDecider
from policy.adapters.hook.sources import Places, read_sources
from policy.adapters.hook.store import Store
from policy.analysis.records.logs import read_log
from policy.analysis.records.replay import RecordDecider as Replayer
from policy.analysis.records.replay import replay
from policy.core.errors import PolicyError
from policy.tables.compiled import compiled_to_json
from tests.hook.session import CLIENT, POLICY, WIDER, Session, said

# --- what it answers -------------------------------------------------------------


def test_each_effect_is_answered_and_a_denial_names_the_rule_and_what_remains(session) -> None:
    assert session.answer("Bash", {"command": "git status"}) == ("allow", "")
    effect, why = session.answer("Bash", {"command": "git push x"})
    assert effect == "ask"
    assert "`Bash(git push *)`" in why
    effect, why = session.answer("Bash", {"command": "git push --force x"})
    assert effect == "deny"
    assert why == (
        "This call of `Bash` is denied: rule `Bash(git push --force *)` of `main`."
        " Of this tool, allowed `Bash(git *)`; after approval `Bash(git push *)`."
    )
    assert session.effect("NoSuchTool", {}) == "deny"
    assert session.effect("mcp__db__query", {"sql": "select 1"}) == "allow"


def test_a_denial_lists_what_remains_unless_that_is_thousands_of_tools(session) -> None:
    for count, told in ((3, "`tool_0`, `tool_1`, `tool_2`"), (2_000, "no rule grants it")):
        tools = ", ".join(f"tool_{number}" for number in range(count))
        session.write("team.policy", f"agent main {{\n    allow {tools}\n}}\n")
        effect, why = session.answer("Bash", {"command": "ls"})
        assert effect == "deny"
        assert why.removesuffix(".").endswith(told)


def test_files_are_those_of_the_project_whatever_they_are_called(session) -> None:
    src = session.project / "src"
    (src / "secret").mkdir(parents=True)
    (session.project / "elsewhere").symlink_to("/etc")
    (src / "link").symlink_to("secret/k")
    edit = {"old_string": "a", "new_string": "b"}
    for path, effect in {
        str(src / "a.py"): "allow",
        "src/a.py": "allow",
        str(src / ".." / "src" / "secret" / "k"): "deny",
        str(src / "link"): "deny",  # which leads to a file that a rule denies
        str(session.project / "elsewhere" / "passwd"): "deny",
        "/etc/passwd": "deny",
        "\0": "deny",
        "": "deny",
    }.items():
        assert session.effect("Edit", {"file_path": path, **edit}) == effect, path


def test_relative_names_start_from_the_folder_the_call_is_made_in(session) -> None:
    (session.project / "src" / "secret").mkdir(parents=True)
    below = str(session.project / "src")
    edit = {"old_string": "a", "new_string": "b"}
    assert session.effect("Edit", {"file_path": "secret/k", **edit}, cwd=below) == "deny"
    assert session.effect("Edit", {"file_path": "a.py", **edit}, cwd=below) == "allow"


def test_a_call_that_the_files_of_the_host_ask_for_is_left_to_the_host(session) -> None:
    session.write(".claude/settings.json", '{"permissions": {"ask": ["Bash(git log *)"]}}')
    assert session.bash("git log x") == ""
    assert session.bash("git status") == "allow"
    assert session.bash("git push x") == "ask"
    session.write(".claude/settings.json", '{"permissions": {"deny": ["Bash(git log *)"]}}')
    assert session.bash("git log x") == "deny"


@pytest.mark.parametrize("mode", ["plan", "auto", "bypassPermissions", "a mode of tomorrow"])
def test_nothing_is_allowed_in_a_mode_that_judges_calls_itself(session, mode) -> None:
    assert session.bash("git status", permission_mode=mode) == ""
    assert session.bash("git push --force x", permission_mode=mode) == "deny"


def test_without_a_policy_of_ours_only_the_lists_of_agents_are_enforced(session) -> None:
    (session.project / "team.policy").unlink()
    session.write(".claude/settings.json", '{"permissions": {"allow": ["Bash(git *)"]}}')
    session.write(
        ".claude/agents/lead.md", "---\nname: lead\ndescription: d\ntools: Agent, Read\n---\n"
    )
    session.write(
        ".claude/agents/deployer.md", "---\nname: deployer\ndescription: d\ntools: Bash\n---\n"
    )
    session.note("a1", "lead", None, 1)
    session.note("a2", "deployer", "a1", 2)
    session.note("a3", "deployer", None, 1)
    assert session.bash("git status") == ""
    assert session.bash("git status", agent_id="a3", agent_type="deployer") == ""
    # Its lead has no Bash, so it hands none on, which the host itself does not look at.
    assert session.bash("git status", agent_id="a2", agent_type="deployer") == "deny"
    # An agent that no file here defines has no more than whoever started it.
    session.note("a4", "plugin:other", "a1", 2)
    assert session.bash("git status", agent_id="a4", agent_type="plugin:other") == "deny"


# --- the chain -------------------------------------------------------------------


def test_an_agent_gets_what_the_whole_chain_grants(session) -> None:
    session.note("a1", "lead", None, 1)
    session.note("a2", "worker", "a1", 2)
    session.note("b1", "helper", None, 1)
    session.note("b2", "worker", "b1", 2)
    lead, below = (
        {"agent_id": "a2", "agent_type": "worker"},
        {"agent_id": "b2", "agent_type": "worker"},
    )
    assert session.bash("git status", **lead) == "allow"
    assert session.bash("git log x", **lead) == "deny"
    assert session.bash("git log x", **below) == "allow"
    assert session.bash("git status", **below) == "deny"
    assert session.bash("ls", **below) == "deny"
    assert (
        session.effect("Agent", {"subagent_type": "worker"}, agent_id="a1", agent_type="lead")
        == "allow"
    )
    assert (
        session.effect("Agent", {"subagent_type": "helper"}, agent_id="a1", agent_type="lead")
        == "deny"
    )


def spoiled_notes(session: Session):
    """Yield a name and what makes the notes on `a2` say nothing for certain."""
    good = session.note("a2", "worker", "b1", 2).read_text()
    file = session.notes / "agent-a2.meta.json"
    yield "missing", file.unlink
    yield "garbage", lambda: file.write_text("{")
    yield "a list", lambda: file.write_text("[]")
    yield "deep", lambda: file.write_text("[" * 50_000)
    yield "huge", lambda: file.write_text(good + " " * 100_000)
    yield "another type", lambda: session.note("a2", "lead", "b1", 2)
    yield "another depth", lambda: session.note("a2", "worker", "b1", 3)
    yield "depth that is true", lambda: session.note("a2", "worker", None, True)
    yield "a circle", lambda: session.note("a2", "worker", "a2", 2)
    yield "a parent without a note", lambda: session.note("a2", "worker", "nobody", 2)
    yield "a parent that is a path", lambda: session.note("a2", "worker", "../agent-b1", 2)
    yield "the parent left out", lambda: session.note("a2", "worker", None, 2)

    def linked() -> None:
        other = session.notes / "elsewhere"
        other.write_text(good)
        file.unlink()
        file.symlink_to(other)

    yield "a link", linked


def test_where_the_chain_is_not_certain_a_call_needs_every_chain_that_is_possible(session) -> None:
    session.note("b1", "helper", None, 1)
    who = {"agent_id": "a2", "agent_type": "worker"}
    session.note("a2", "worker", "b1", 2)
    assert session.bash("git log x", **who) == "allow"
    for name, spoil in spoiled_notes(session):
        spoil()
        # One chain grants `git log`, the other `git status`, both of them reading.
        assert session.bash("git log x", **who) == "deny", name
        assert session.bash("git status", **who) == "deny", name
        assert session.effect("Read", {"file_path": "a"}, **who) == "allow", name
        (session.notes / "agent-a2.meta.json").unlink(missing_ok=True)
        session.note("a2", "worker", "b1", 2)
    for path in ("", "/nowhere/x.jsonl", "relative.jsonl", "/etc/passwd", "\0"):
        assert session.bash("git log x", **who, transcript_path=path) == "deny"
        assert session.effect("Read", {"file_path": "a"}, **who, transcript_path=path) == "allow"


def test_an_agent_that_no_chain_leads_to_makes_no_call(session) -> None:
    session.write("team.policy", POLICY + "agent idle {\n    allow Read\n}\n")
    for kind in ("idle", "stranger"):
        who = {"agent_id": "a1", "agent_type": kind}
        session.note("a1", kind, None, 1)
        effect, why = session.answer("Read", {"file_path": "a"}, **who)
        assert effect == "deny"
        assert kind in why


def test_a_fork_has_the_rights_of_its_parent(session) -> None:
    session.note("f1", "fork", None, 1)
    who = {"agent_id": "f1", "agent_type": "fork"}
    assert session.bash("git status", **who) == "allow"
    assert session.bash("ls", **who) == "deny"
    (session.notes / "agent-f1.meta.json").unlink()
    # It may also continue an agent below.
    assert session.bash("git log x", **who) == "deny"


def test_agents_are_started_by_the_names_that_the_host_understands(session) -> None:
    assert session.effect("Agent", {"subagent_type": "lead"}) == "allow"
    assert session.effect("Task", {"subagent_type": "lead"}) == "allow"
    for name in ("general-purpose", "stranger", "", None, 7, ["lead"]):
        assert session.effect("Agent", {"subagent_type": name}) == "deny", name
    assert session.effect("Agent", {"description": "d", "prompt": "p"}) == "deny"


def test_a_session_started_as_an_agent_is_that_agent(session) -> None:
    assert session.bash("git status", agent_type="lead") == "allow"
    assert session.bash("git log x", agent_type="lead") == "deny"
    assert session.bash("git status", agent_type="stranger") == "deny"
    session.write("team.policy", POLICY.replace("root main\n", ""))  # any agent starts chains
    assert session.bash("git log x", agent_type="worker") == "allow"
    assert session.bash("git log x", agent_type="lead") == "deny"
    assert session.bash("git log x", "--root", "lead") == "deny"
    assert session.bash("git log x") == "allow"


# --- what blocks -----------------------------------------------------------------


def garbage(session: Session) -> dict[str, bytes]:
    event = session.event("Bash", {"command": "git status"})

    def but(**changes) -> bytes:
        return json.dumps({**event, **changes}).encode()

    whole = json.dumps(event).encode()
    return {
        "nothing": b"",
        "blank": b"\n",
        "text": b"hello",
        "a list": b"[]",
        "null": b"null",
        "cut off": whole[:-2],
        "two": whole + whole,
        "not UTF-8": whole.replace(b"git", b"\xff"),
        "NUL": b"\0" * 100,
        "deep": b'{"a":' * 100_000,
        "key twice": whole[:-1] + b', "tool_name": "Read"}',
        "not a number": whole[:-1] + b', "x": NaN}',
        "a number too long": whole[:-1] + b', "x": ' + b"1" * 5000 + b"}",
        "no event": json.dumps({k: v for k, v in event.items() if k != "hook_event_name"}).encode(),
        "another event": but(hook_event_name="PostToolUse"),
        "no tool": but(tool_name=None),
        "an empty tool": but(tool_name=""),
        "a tool that is a list": but(tool_name=["Bash"]),
        "input that is text": but(tool_input="git status"),
        "input that is a list": but(tool_input=[]),
        "no folder": but(cwd=None),
        "a relative folder": but(cwd="a"),
        "a folder with NUL": but(cwd="/a\0b"),
        "a mode that is a number": but(permission_mode=1),
        "an agent that is a path": but(agent_id="../x", agent_type="lead"),
        "an agent that is a number": but(agent_id=1, agent_type="lead"),
        "an agent of no type": but(agent_id="a1"),
        "a transcript that is a list": but(transcript_path=[]),
        "escapes": b"\x1b[2J\xe2\x80\xae",
    }


def test_an_invalid_event_blocks(session) -> None:
    for data in garbage(session).values():
        session.blocked(data)


def test_the_process_blocks_on_every_failure(session) -> None:
    assert session.new_process("git status") == "allow"
    found = garbage(session)
    for name in ("nothing", "deep", "NUL", "escapes"):
        session.blocked_process(found[name])
    session.blocked_process(session.good(), "--no-such")
    session.write("team.policy", "agent main {\n    alow Read\n}\n")
    assert session.blocked_process(session.good()).startswith("team.policy:2:")


def test_a_huge_command_is_denied_and_one_beyond_all_bounds_blocks(session) -> None:
    assert session.bash("rm " + "x" * 1_000_000) == "deny"
    assert session.bash("git status " + "; git status" * 5_000 + "; rm x") == "deny"
    assert "at most" in session.blocked(b" " * (entry._LONGEST + 1))


@pytest.mark.parametrize(
    "options", [["--no-such"], ["--hash"], ["--hash", "x"], ["--deadline", "x"], ["missing.json"], ["."]]
)  # fmt: skip
def test_wrong_options_block(session, options) -> None:
    session.blocked(session.good(), *options)


@pytest.mark.parametrize("options", [["--help"], ["--resident", "-h"], ["--deadline", "5", "-h"]])
def test_help_is_printed_with_other_options_too(session, options) -> None:
    for _ in range(2):
        done = session.run(b"", *options)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(b"usage: policy hook")
    session.blocked_process(b"", "--deadline", "x", *options)
    session.blocked_process(b"", "--", *options)


@pytest.mark.parametrize("deadline", ["x", "0", "nan", "-1", "1e9"])
def test_an_invalid_deadline_blocks(session, deadline) -> None:
    session.blocked_process(session.good(), "--deadline", deadline)


def test_an_unreadable_policy_blocks_with_its_place(session) -> None:
    session.write("team.policy", "agent main {\n    alow Read\n}\n")
    assert session.blocked(session.good()).startswith("team.policy:2:")
    session.write("team.policy", POLICY)
    session.write(".claude/settings.json", "{")
    assert session.blocked(session.good()).startswith(".claude/settings.json:1:")
    (session.project / ".claude" / "settings.json").unlink()
    (session.project / "team.policy").unlink()
    (session.project / "team.policy").symlink_to("nothing")
    session.blocked(session.good())
    (session.project / "team.policy").unlink()
    (session.project / "team.policy").mkdir()
    session.blocked(session.good())


def test_without_a_project_folder_calls_are_blocked(session) -> None:
    for project in (None, "", "here"):
        session.environment.pop("CLAUDE_PROJECT_DIR", None)
        if project is not None:
            session.environment["CLAUDE_PROJECT_DIR"] = project
        assert "CLAUDE_PROJECT_DIR" in session.blocked(session.good())


def test_without_a_policy_calls_are_blocked(session) -> None:
    (session.project / "team.policy").unlink()
    assert "start the session in the folder of the `*.policy` files" in session.blocked(
        session.good()
    )


def test_a_deadline_blocks(session) -> None:
    done = session.run(session.good(), "--deadline", "0.001")
    # Before the interpreter can say so, the signal itself ends the process.
    assert done.returncode in (2, -signal.SIGALRM)
    assert done.stdout == b""


def test_an_answer_that_cannot_be_written_blocks(session) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", CLIENT],
        input=session.good(),
        stdout=os.open("/dev/full", os.O_WRONLY),
        stderr=subprocess.PIPE,
        env=session.environment,
        check=False,
    )
    assert done.returncode == 2


# --- edits and the cache ---------------------------------------------------------


def test_an_edited_policy_is_in_force_at_the_next_call(session) -> None:
    file = session.project / "team.policy"
    before = file.stat()
    assert session.bash("git push --force x") == "deny"
    session.write("team.policy", WIDER)
    assert session.bash("git push --force x") == "allow"
    session.write("team.policy", POLICY)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # content counts, not times
    assert session.bash("git push --force x") == "deny"


def kept(alone: Session) -> list[Path]:
    """Return the entries that are policies: what they leave to a caller is far smaller."""
    entries = (alone.home / ".cache" / "agent-policy").iterdir()
    return [path for path in entries if path.is_file() and path.stat().st_size > 4096]


def test_an_altered_entry_of_the_store_is_not_used(alone) -> None:
    assert alone.new_process("git push --force x") == "deny"
    (narrow,) = kept(alone)
    data = narrow.read_bytes()
    alone.write("team.policy", WIDER)
    assert alone.bash("git push --force x") == "allow"
    (wide,) = set(kept(alone)) - {narrow}
    alone.write("team.policy", POLICY)
    wider = wide.read_bytes()[32:]
    elsewhere = alone.home / "elsewhere"
    elsewhere.write_bytes(data)
    for spoiled in (
        wide.read_bytes(),  # another policy, with its own hash
        data[:32] + wider,
        b"\0" * 32 + wider,
        data[:-10],
        data[:32],
        b"",
        data.replace(b"deny", b"allo"),
        elsewhere,
    ):
        narrow.unlink(missing_ok=True)
        alone.decider = HookDecider()
        if isinstance(spoiled, Path):
            narrow.symlink_to(spoiled)
        else:
            narrow.write_bytes(spoiled)
            narrow.chmod(0o600)
        assert alone.bash("git push --force x") == "deny"
        assert not narrow.is_symlink()


def test_a_store_that_others_can_write_is_not_used(alone) -> None:
    folder = alone.home / ".cache" / "agent-policy"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert alone.bash("git push --force x") == "deny"
    assert not list(folder.iterdir())
    assert Store.of({"HOME": str(alone.home)}) is None
    folder.chmod(0o700)
    cache = Store.of({"HOME": str(alone.home)})
    assert cache is not None
    cache.put("d", b"text")
    assert cache.get("d") == b"text"
    (folder / "d").chmod(0o620)
    assert cache.get("d") is None


@pytest.mark.parametrize(
    "name", ["no home", "an empty home", "a relative home", "a file for a folder", "nowhere"]
)
def test_without_a_place_for_a_store_calls_are_decided(alone, name) -> None:
    if name == "a file for a folder":
        (alone.home / ".cache").write_text("")
    home = {
        "no home": None,
        "an empty home": "",
        "a relative home": "home",
        "nowhere": "/proc/nowhere",
    }
    value = home.get(name, str(alone.home))
    environment = {"CLAUDE_PROJECT_DIR": str(alone.project)}
    if value is not None:
        environment["HOME"] = value
    alone.environment = environment
    if name == "a relative home":
        alone.blocked(alone.good())
    else:
        assert alone.bash("git push --force x") == "deny"


def test_without_a_home_folder_a_process_answers(alone) -> None:
    assert (
        alone.new_process(
            "git push --force x",
            "--resident",
            environment={"CLAUDE_PROJECT_DIR": str(alone.project)},
        )
        == "deny"
    )


def test_many_hooks_at_once_agree(alone) -> None:
    data = json.dumps(alone.event("Bash", {"command": "git push --force x"})).encode()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(alone.run(data).stdout)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert b'"deny"' in found[0]
    assert len(kept(alone)) == 1


@pytest.mark.parametrize("ahead", [0, 5_000_000_000])
def test_a_change_within_a_tick_is_seen_where_clocks_differ(tmp_path, monkeypatch, ahead) -> None:
    """The clock of the files stands still between its ticks, and may be ahead of this one."""
    (tmp_path / "a.policy").touch()
    changed = time.time_ns() + ahead
    ticks: list[float] = []

    def content(file: str, path: str) -> tuple[bytes, int]:
        return b"after the tick" if ticks else b"within it", changed

    monkeypatch.setattr(sources, "content", content)
    monkeypatch.setattr(time, "sleep", ticks.append)
    found = read_sources(Places(str(tmp_path), managed="/nowhere/x"))
    assert found.files == {"a.policy": b"after the tick"}


def test_files_are_read_as_they_were_at_one_moment(tmp_path) -> None:
    """One of two files denies at every moment, and no reading finds both without it."""
    (tmp_path / ".claude").mkdir()
    files = [tmp_path / "a.policy", tmp_path / ".claude" / "b.policy"]
    for file in files:
        file.write_text("denies")
    ended = threading.Event()
    pauses = itertools.cycle([0] * 200 + [0.06])

    def edit() -> None:
        while not ended.is_set():
            for one, other in (files, files[::-1]):
                for file, text in ((one, "denies"), (other, "grants")):
                    made = file.with_suffix(".new")
                    made.write_text(text)
                    made.replace(file)
            ended.wait(next(pauses))

    editing = threading.Thread(target=edit)
    editing.start()
    read = 0
    try:
        for _ in range(2000):
            try:
                found = read_sources(Places(str(tmp_path), managed="/nowhere/x"))
            except PolicyError as error:
                assert "change while they are read" in error.message
                continue
            read += 1
            assert b"denies" in found.files.values()
    finally:
        ended.set()
        editing.join()
    assert read
    found = read_sources(Places(str(tmp_path), managed="/nowhere/x"))
    assert sorted(found.files) == [".claude/b.policy", "a.policy"]


def test_a_call_that_both_states_deny_is_denied_throughout_an_edit(session) -> None:
    """One of two policies denies at every moment, and many threads ask meanwhile."""
    (session.project / "team.policy").unlink()
    files = [session.project / "a.policy", session.project / ".claude" / "b.policy"]
    for file in files:
        file.write_text(POLICY)
    ended = threading.Event()
    found = set()
    pauses = itertools.cycle([0.001] * 20 + [0.1])

    def edit() -> None:
        while not ended.is_set():
            for one, other in (files, files[::-1]):
                for file, text in ((one, POLICY), (other, WIDER)):
                    made = file.with_suffix(".new")
                    made.write_text(text)
                    made.replace(file)
                    ended.wait(next(pauses))

    def ask() -> None:
        for _ in range(20):
            try:
                found.add(session.bash("git push --force x"))
            except PolicyError as error:
                found.add(error.message)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    editing = threading.Thread(target=edit)
    for thread in (editing, *asking):
        thread.start()
    for thread in asking:
        thread.join()
    ended.set()
    editing.join()
    assert found - {"the files of the policy change while they are read"} == {"deny"}


def test_writing_a_file_of_the_policy_needs_approval(session) -> None:
    session.write("team.policy", "agent main {\n    allow Edit, Write, Read, Bash\n}\n")
    text = compiled_to_json(policy.load(session.project))
    file = session.home / "elsewhere" / "policy.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    edit = {"old_string": "a", "new_string": "b"}
    for options in ((), (str(file),)):
        for name, effect in {
            "a.py": "allow",
            "team.policy": "ask",
            "TEAM.policy": "ask",
            ".claude/settings.json": "ask",
            str(session.home / ".claude" / "b.policy"): "ask",
            str(session.home / ".config" / "agent-policy" / "cache.key"): "ask",
            str(file): "ask" if options else "allow",
        }.items():
            path = str(session.project / name)
            found = session.effect("Edit", {"file_path": path, **edit}, *options)
            # Where the host guards a file too, it is left to the host.
            assert found == effect or (effect == "allow" and found == ""), name
        assert session.bash("echo x > team.policy", *options) == "ask"
        assert session.bash("echo x > a.py", *options) in ("allow", "")
        assert (
            session.effect("Read", {"file_path": str(session.project / "team.policy")}) == "allow"
        )


# --- records ---------------------------------------------------------------------


def test_every_answer_is_recorded_and_can_be_replayed(session) -> None:
    file = session.project / "log" / "calls.jsonl"
    file.parent.mkdir()
    options = ("--record", "log/calls.jsonl")
    session.note("a1", "lead", None, 1)
    for command in ("git status", "git push x", "git push --force x"):
        session.bash(command, *options)
    session.bash("git status", *options, agent_id="a1", agent_type="lead")
    session.bash("git log", *options, agent_id="a2", agent_type="worker")  # whose chain is unknown
    session.effect("Task", {"subagent_type": "nobody"}, *options)
    session.bash("git status", *options, permission_mode="plan")  # which is left to the host
    read = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["policy.chain"], one.get("policy.effect")) for one in read] == [
        (["main"], "allow"),
        (["main"], "ask"),
        (["main"], "deny"),
        (["main", "lead"], "allow"),
        ([], "deny"),
        (["main"], "deny"),
        (["main"], None),
    ]
    assert read[2]["policy.rules"] == ["Bash(git push --force *)"]
    assert read[4]["gen_ai.agent.name"] == "worker"
    assert {one["policy.cwd"] for one in read} == {str(session.project)}
    again = replay(read_log(file, file.name), Replayer(policy.load(session.project), "attenuated"))
    assert not again.changes
    assert {why: count for why, (count, _) in again.undecided.items()} == {
        "the log does not say which agent called": 1
    }


def test_records_name_the_project_where_several_have_such_a_root(session) -> None:
    session.write(".claude/agents/a.md", "---\nname: a\ndescription: d\n---\n")
    session.note("a1", "lead", None, 1)
    session.bash("git push --force x", "--record", "calls.jsonl")
    session.bash("git log", "--record", "calls.jsonl", agent_id="a1", agent_type="lead")
    workspace = policy.load(session.project)
    assert [project.starts for project in workspace.projects] == [("main",), ("main",)]
    file = session.project / "calls.jsonl"
    read = list(read_log(file, file.name))
    assert [(one.project, one.chain) for one in read] == [
        ("policy", ("main",)),
        ("policy", ("main", "lead")),
    ]
    again = replay(read, Replayer(workspace, "attenuated"))
    assert (again.changes, again.undecided, again.distinct) == ((), {}, 2)
    session.write("other.policy", POLICY)
    session.bash("git push --force x", "--record", "more.jsonl")
    (one,) = read_log(session.project / "more.jsonl", "more.jsonl")
    assert one.project == "policy@other.policy"
    again = replay([one], Replayer(policy.load(session.project), "attenuated"))
    assert (again.changes, again.undecided) == ((), {})


def test_records_keep_no_credentials(session) -> None:
    key = "ghp_" + "a1" * 20
    session.bash(f"git push https://x:{key}@host", "--record", "a")
    session.bash(f"git push {key}", "--record", "b", "--redact", "all")
    session.bash(f"git push {key}", "--record", "c", "--redact", "none")
    holds = [key in (session.project / name).read_text() for name in "abc"]
    assert holds == [False, False, True]


def test_a_call_that_cannot_be_recorded_is_blocked(session) -> None:
    (session.project / "folder").mkdir()
    for name in ("folder", "no/such/folder/calls.jsonl", "/dev/full"):
        assert name in session.blocked(session.good(), "--record", name)
        assert name in session.blocked_process(session.good(), "--record", name)
    assert session.new_process("git status", "--resident") == "allow"
    session.blocked_process(session.good(), "--resident", "--record", "folder")


def test_the_resident_process_records_below_the_project(session) -> None:
    for _ in range(2):
        assert session.new_process("git status", "--resident", "--record", "calls.jsonl") == "allow"
    assert len((session.project / "calls.jsonl").read_text().splitlines()) == 2


def test_writing_the_record_needs_approval(session) -> None:
    session.write("team.policy", "agent main {\n    allow Edit, Write\n}\n")
    for name, effect in (("calls.jsonl", "ask"), ("other.jsonl", "allow")):
        call = {"file_path": str(session.project / name), "content": ""}
        assert session.effect("Write", call, "--record", "calls.jsonl") == effect


# --- compiled policies -----------------------------------------------------------


def test_a_compiled_policy_decides_alone(session) -> None:
    text = compiled_to_json(policy.load(session.project))
    file = session.project / "policy.json"
    file.write_text(text)
    session.write("team.policy", WIDER)
    assert session.bash("git push --force x", "policy.json") == "deny"
    digest = json.loads(text)["hash"]
    assert session.bash("git push --force x", str(file), "--hash", digest) == "deny"
    file.write_text(compiled_to_json(policy.load(session.project)))
    assert session.bash("git push --force x", str(file)) == "allow"
    # Whoever writes the file can write its hash, and not the one in the settings.
    assert "expected the policy" in session.blocked(session.good(), str(file), "--hash", digest)
    file.write_text(text.replace('"deny"', '"allow"', 1))
    assert "it was changed after it was compiled" in session.blocked(session.good(), str(file))


# --- the resident process --------------------------------------------------------


def test_the_resident_process_answers_as_a_new_process_does(session) -> None:
    assert session.new_process("git status", "--resident") == "allow"
    path = Path(handover.socket_path(session.environment))
    while not path.exists():
        os.sched_yield()
    pid = Path(f"{path}.lock").read_text()
    for command in ("git status", "git push x", "git push --force x", "ls"):
        assert session.new_process(command, "--resident") == session.bash(command)
    session.write("team.policy", WIDER)
    assert session.new_process("git push --force x", "--resident") == "allow"
    session.write("team.policy", POLICY)
    assert session.new_process("git push --force x", "--resident") == "deny"
    for data in garbage(session).values():
        session.blocked_process(data, "--resident")
    session.write("team.policy", "agent")
    session.blocked_process(session.good(), "--resident")
    assert Path(f"{path}.lock").read_text() == pid
    # It is no more needed than it is there: one that was killed is replaced.
    session.write("team.policy", POLICY)
    os.kill(int(pid), signal.SIGKILL)
    assert session.new_process("git push --force x", "--resident") == "deny"
    while Path(f"{path}.lock").read_text() in ("", pid):
        os.sched_yield()


def test_the_script_that_shared_settings_name_is_the_hook_and_imports_no_more(session) -> None:
    script = str(Path(__file__).parents[2] / "scripts" / "policy-hook")

    def run(data: bytes, *flags: str):
        environment = {**session.environment, "PYTHONPATH": str(Path(policy.__file__).parents[1])}
        return subprocess.run(
            [sys.executable, *flags, script, "--resident"],
            input=data,
            capture_output=True,
            env=environment,
            check=False,
        )

    assert run(b"{}").returncode == 2
    assert said(run(session.good()).stdout) == ("allow", "")
    path = Path(handover.socket_path(session.environment))
    while not path.exists():
        os.sched_yield()
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"], capture_output=True, check=True
    )
    modules = [
        {line.rpartition(b"|")[2].strip() for line in done.stderr.splitlines()}
        for done in (run(session.good(), "-X", "importtime"), bare)
    ]
    more = {name.decode() for name in modules[0] - modules[1]}
    assert more & {"re", "json", "argparse", "typing", "policy.cli"} == set()
    assert {"policy.adapters.hook.entry", "_socket"} <= more


def listening(session: Session, reply):
    """Put a process that is none of ours where the resident one would be."""
    path = Path(handover.socket_path(session.environment))
    path.parent.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()

    def serve() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.sendall(b"r")
            reply(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener, thread


REPLIES = {
    "nothing": b"",
    "garbage": b"hello",
    "cut off": b"0" + (99).to_bytes(8, "big") + b"{}\n",
    "too long": b"0" + (2).to_bytes(8, "big") + b"{}\n",
    "an empty answer": b"0" + bytes(8),
    "another status": b"1" + (3).to_bytes(8, "big") + b"{}\n",
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_resident_process_that_gives_no_whole_answer_blocks(session, name) -> None:
    def reply(connection) -> None:
        connection.recv(1 << 20)
        connection.sendall(REPLIES[name])

    listener, thread = listening(session, reply)
    session.blocked_process(session.good(), "--resident")
    thread.join()
    listener.close()


def test_a_resident_process_that_is_slow_blocks(session) -> None:
    done = threading.Event()
    listener, thread = listening(session, lambda _: done.wait())
    said = session.blocked_process(session.good(), "--resident", "--deadline", "0.5")
    assert said == "the policy gave no answer in time"
    done.set()
    thread.join()
    listener.close()


def test_a_socket_in_a_folder_that_others_can_write_is_not_used(session) -> None:
    listener, thread = listening(session, lambda connection: None)
    folder = Path(handover.socket_path(session.environment)).parent
    folder.chmod(0o777)
    assert session.new_process("git push --force x", "--resident") == "deny"
    folder.chmod(0o700)
    listener.shutdown(socket.SHUT_RDWR)
    thread.join()
    listener.close()  # a name without a process
    assert session.new_process("git push --force x", "--resident") == "deny"
