"""Logged calls decided again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.friction import friction
from policy.analysis.records.logs import LogProblem, read_log
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, replay
from policy.analysis.suggest import propose
from policy.cli import main
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

OLD = """\
agent main {
    allow Read, Task, Bash(git *)
    ask Bash(git push *)
    deny Read(.env)
}
agent worker {
    allow Read, Bash(git diff *)
}
"""
NEW = OLD.replace("Bash(git *)", "Bash(git log *), Bash(git push *)").replace(
    "    ask Bash(git push *)\n", ""
)


def decider(text: str) -> RecordDecider:
    return RecordDecider(load_tree(Memory({"team.policy": text})), "attenuated", "/home/alice")


def call(command: str, *chain: str, effect: Effect | None = None, times: int = 1) -> Record:
    return Record(chain or ("main",), "Bash", {"command": command}, effect, times=times)


def test_changes_are_counted_and_the_widened_come_first():
    log = [
        call("git push x"),
        call("git status"),
        call("git push x"),
        call("git push y"),
        call("git log -1"),
        call("git diff a", "main", "worker"),
    ]
    found = replay(log, decider(NEW), decider(OLD))
    told = [
        (str(e.before), str(e.after.effect), ">".join(e.chain), e.calls, e.distinct)
        for e in found.outcomes
    ]
    assert told == [
        ("ask", "allow", "main", 3, 2),
        ("allow", "deny", "main", 1, 1),
        ("allow", "deny", "main>worker", 1, 1),
        ("allow", "allow", "main", 1, 1),
    ]
    assert (found.widened, found.narrowed, found.lines, found.distinct) == (3, 2, 6, 5)


def test_what_a_log_says_stands_in_place_of_a_policy():
    log = [call("git status", effect=Effect.ASK), call("git status", effect=Effect.ALLOW)]
    found = replay(log, decider(OLD))
    assert [(e.before, e.widened) for e in found.outcomes] == [
        (Effect.ASK, True),
        (Effect.ALLOW, False),
    ]


def test_what_a_log_does_not_say_is_no_change():
    found = replay([call("git status")], decider(OLD))
    assert not found.changes
    assert found.outcomes[0].after.effect is Effect.ALLOW


def test_what_cannot_be_decided_is_counted_with_its_first_place():
    log = [
        LogProblem("a:1", "this is not JSON"),
        LogProblem("a:2", "this is not JSON"),
        Record(("main",), "Bash", {"command": "*"}, redacted=("command",), source="a:3", times=4),
        Record((), "Bash", {"command": "ls"}, source="a:4", agent="worker"),
        Record(("nobody",), "Bash", {"command": "ls"}, source="a:5"),
    ]
    found = replay(log, decider(OLD))
    assert found.undecided == {
        "this is not JSON": (2, ("a:1", "a:2")),
        "arguments were kept from the log": (4, ("a:3",)),
        "the log does not say which agent called": (1, ("a:4",)),
        "there is no agent `nobody`": (1, ("a:5",)),
    }
    assert found.lines == 8


@pytest.mark.parametrize(("root", "decided"), [("root main\n", True), ("", False)])
def test_a_call_of_nobody_is_one_of_the_one_agent_that_starts_chains(root, decided):
    policy = decider(root + OLD)
    log = [Record((), "Bash", {"command": "ls"}, source="a:1")]
    assert bool(replay(log, policy).outcomes) is decided
    assert bool(friction(log, policy).undecided) is not decided
    with pytest.raises(PolicyError) as raised:
        propose(log, policy)
    assert ("the log does not say which agent called" in str(raised.value)) is not decided


def test_the_root_of_the_logs_may_be_another_agent():
    log = [Record((), "Bash", {"command": "git status"}), call("git diff a", "lead", "worker")]
    found = replay(log, decider(OLD), root="main")
    assert [e.chain for e in found.outcomes] == [("main",), ("main", "worker")]


def test_a_chain_that_cannot_come_about_is_denied():
    (each,) = replay([call("git diff a", "main", "nobody")], decider(OLD)).outcomes
    assert each.after.effect is Effect.DENY


def test_files_are_those_of_the_folder_of_the_log():
    def read(path: str, cwd: str) -> Record:
        return Record(("main",), "Read", {"file_path": path}, cwd=cwd)

    log = [read("/srv/app/.env", "/srv/app"), read("/srv/app/.env", "/srv/other")]
    found = replay(log, decider(OLD))
    assert {(e.example.cwd, str(e.after.effect)) for e in found.outcomes} == {
        ("/srv/app", "deny"),
        ("/srv/other", "allow"),
    }


def test_a_folder_that_is_none_is_not_decided():
    found = replay([Record(("main",), "Read", {"file_path": "a"}, cwd="app")], decider(OLD))
    assert not found.outcomes


COMMANDS = st.sampled_from(["git push x", "git status", "git log a", "git diff a", "ls", ""])
CHAINS = st.sampled_from([("main",), ("main", "worker")])
CALLS = st.builds(lambda c, chain, n: call(c, *chain, times=n), COMMANDS, CHAINS, st.integers(1, 3))


@given(st.lists(CALLS, max_size=30))
def test_replay_counts_what_deciding_each_call_says(log):
    old, new = decider(OLD), decider(NEW)
    found = replay(log, new, old)
    widened = narrowed = 0
    for each in log:
        before, after = old.decide(each).effect, new.decide(each).effect
        widened += each.times * (after > before)
        narrowed += each.times * (after < before)
    assert (found.widened, found.narrowed) == (widened, narrowed)
    assert sum(each.calls for each in found.outcomes) == sum(each.times for each in log)


# --- the command -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "team.policy").write_text(text)
    said = [
        {"tool": "Bash", "input": {"command": command}, "chain": ["main"], "effect": effect}
        for command, effect in (("git push x", "ask"), ("git status", "allow"), ("git log", "deny"))
    ]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    return tmp_path


def test_the_command_tells_what_changes(folder, capsys, snapshot, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["replay", "calls.jsonl", "--policy", "new"]) == 0
    assert capsys.readouterr().out == snapshot


def test_markdown_and_json_tell_the_same(folder, capsys, snapshot, monkeypatch):
    monkeypatch.chdir(folder)
    arguments = ["replay", "calls.jsonl", "--policy", "new", "--format"]
    assert main([*arguments, "markdown"]) == 0
    assert capsys.readouterr().out == snapshot
    assert main([*arguments, "json"]) == 0
    shape = json.loads(capsys.readouterr().out)
    assert (shape["widened"], shape["narrowed"], shape["lines"]) == (2, 1, 3)
    assert [each["direction"] for each in shape["changes"]] == ["widened", "widened", "narrowed"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--fail-on", "widened"], 1),
        (["--against", "OLD", "--policy", "OLD", "--fail-on", "any"], 0),
        (["--root", "nobody"], 2),
        (["--policy", "nowhere"], 2),
    ],
)
def test_the_exit_status_says_whether_it_may_pass(folder, capsys, arguments, status):
    arguments = [str(folder / "old") if each == "OLD" else each for each in arguments]
    policy = [] if "--policy" in arguments else ["--policy", str(folder / "new")]
    assert main(["replay", str(folder / "calls.jsonl"), *policy, *arguments]) == status


def test_lines_that_are_not_decided_fail_too(folder, capsys):
    log = folder / "calls.jsonl"
    log.write_text(log.read_text().splitlines()[1] + "\nx\n")
    arguments = ["replay", str(log), "--policy", str(folder / "old")]
    assert main(arguments) == 0
    assert "not decided: this is not JSON" in capsys.readouterr().out
    assert main([*arguments, "--fail-on", "widened"]) == 1


def test_check_writes_what_replay_reads(folder, capsys):
    record = folder / "record.jsonl"
    policy = str(folder / "old")
    assert (
        main(
            [
                "check",
                policy,
                "--chain",
                "main",
                "Bash(git status)",
                "Bash(git push x)",
                "--record",
                str(record),
            ]
        )
        == 1
    )
    assert main(["replay", str(record), "--policy", policy, "--fail-on", "any"]) == 0
    assert "2 calls (2 distinct) in 1 log" in " ".join(capsys.readouterr().out.split())


def test_check_writes_whose_agents_they_are_where_several_have_such_a_root(tmp_path, capsys):
    for name, rule in (("one", "allow"), ("two", "deny")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "team.policy").write_text(f"root main\nagent main {{ {rule} Bash(ls *) }}\n")
    record = tmp_path / "record.jsonl"
    policy = str(tmp_path)
    for name, status in (("one", 0), ("two", 1)):
        chain = f"policy@{name}/team.policy:main"
        asked = ["check", policy, "--chain", chain, "Bash(ls x)", "--record", str(record)]
        assert main(asked) == status
    assert [each.project for each in read_log(record, record.name)] == [
        "policy@one/team.policy",
        "policy@two/team.policy",
    ]
    assert main(["replay", str(record), "--policy", policy, "--fail-on", "any"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "2 calls (2 distinct) in 1 log" in told
    assert "not decided" not in told
    # One of its kind needs no name, so that a record holds for a policy elsewhere too.
    alone = tmp_path / "alone.jsonl"
    main(["check", f"{policy}/one", "--chain", "main", "Bash(ls x)", "--record", str(alone)])
    assert [each.project for each in read_log(alone, alone.name)] == [""]


def test_a_decider_says_which_agent_there_is_none_of():
    with pytest.raises(PolicyError, match="there is no agent `x`"):
        decider(OLD).decide(call("ls", "x"))


def test_a_row_shows_the_calls_that_differ_and_all_of_them_on_request(tmp_path, capsys):
    record, policy = tmp_path / "calls.jsonl", tmp_path / "t.policy"
    policy.write_text("root main\nagent main {\n    allow Read\n}\n")
    commands = [f"git push {place}" for place in "abcdef"]
    record.write_text(
        "".join(
            json.dumps({"tool": "Bash", "input": {"command": one}, "effect": "allow"}) + "\n"
            for one in commands
        )
    )
    main(["replay", str(record), "--policy", str(policy)])
    out = " ".join(capsys.readouterr().out.split())
    assert all(f"Bash({one})" in out for one in commands[:3])
    assert "3 more" in out
    main(["replay", str(record), "--policy", str(policy), "--all", "--format", "markdown"])
    out = capsys.readouterr().out
    assert all(f"Bash({one})" in out for one in commands)
