"""Records: written, kept from showing secrets, and read again with the calls of other logs."""

from __future__ import annotations

import json
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from policy.analysis.records.logs import LogProblem, log_files, read_log
from policy.analysis.records.record import Record, Recorder, line, redacted
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve

DENIED = Decision(
    Effect.DENY,
    Reason.RULE,
    (Because("Bash(git push *)", Effect.DENY, "main"),),
    ("main",),
    "sha256:0",
)
KEY = "ghp_" + "a1" * 20


def write(
    recorder: Recorder, tool: str, call: dict[str, object], *chain: str, cwd: str = ""
) -> None:
    record = Record.of(chain or ("main",), tool, call, DENIED)
    recorder.append(evolve(record, cwd=cwd))


def records(file: Path) -> list[Record | LogProblem]:
    return list(read_log(file, file.name))


def test_a_record_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "calls.jsonl"
    call = {"command": "git push \N{SNOWMAN}\n", "timeout": 5}
    write(Recorder(file), "Bash", call, "main", "worker", cwd="/srv/app")
    (read,) = records(file)
    assert isinstance(read, Record)
    assert (read.chain, read.tool, read.call) == (("main", "worker"), "Bash", call)
    assert (read.effect, read.cwd, read.source) == (Effect.DENY, "/srv/app", "calls.jsonl:1")
    said = json.loads(file.read_text())
    assert (said["policy.reason"], said["policy.rules"]) == ("rule", ["Bash(git push *)"])
    assert said["policy.table"] == "sha256:0"
    assert said["time"].endswith("Z")


def test_a_line_has_the_names_of_the_conventions(tmp_path):
    said = json.loads(line(Record.of(("main", "worker"), "Bash", {"command": "ls"}, DENIED)))
    assert said["gen_ai.operation.name"] == "execute_tool"
    assert said["gen_ai.tool.name"] == "Bash"
    assert said["gen_ai.agent.name"] == "worker"
    assert said["gen_ai.tool.call.arguments"] == {"command": "ls"}


def test_a_call_of_an_unknown_agent_is_not_taken_for_one_of_a_root(tmp_path):
    file = tmp_path / "calls.jsonl"
    Recorder(file).append(Record((), "Bash", {}, Effect.DENY, agent="worker"))
    said = json.loads(file.read_text())
    assert (said["gen_ai.agent.name"], said["policy.chain"]) == ("worker", [])
    (read,) = records(file)
    assert (read.chain, read.agent) == ((), "worker")


def test_only_the_owner_can_read_records(tmp_path):
    file = tmp_path / "calls.jsonl"
    write(Recorder(file), "Bash", {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_writers_share_a_file(tmp_path):
    file = tmp_path / "calls.jsonl"
    with ThreadPoolExecutor(8) as pool:
        for number in range(400):
            pool.submit(write, Recorder(file), "T", {"n": "x" * number})
    assert sorted(len(r.call["n"]) for r in records(file)) == list(range(400))


def test_a_line_that_a_full_disk_cut_off_spoils_no_other(tmp_path):
    resource = pytest.importorskip("resource")
    file = tmp_path / "calls.jsonl"
    recorder = Recorder(file)
    write(recorder, "T", {"n": 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 20, limits[1]))
    try:
        with pytest.raises(PolicyError, match="cannot be written"):
            write(recorder, "T", {"n": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    write(recorder, "T", {"n": 3})
    write(recorder, "T", {"n": 4})
    one, cut_off, *others = records(file)
    assert isinstance(cut_off, LogProblem)
    assert [read.call for read in (one, *others)] == [{"n": 1}, {"n": 3}, {"n": 4}]


def test_a_file_that_may_be_written_only_is_written(tmp_path):
    file = tmp_path / "calls.jsonl"
    recorder = Recorder(file)
    for _ in range(2):
        write(recorder, "T", {})
        file.chmod(0o200)
    file.chmod(0o600)
    assert len(records(file)) == 2


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(PolicyError, match="cannot be written: is a directory"):
        write(Recorder(tmp_path), "Bash", {})


def test_credentials_are_kept_from_records_wherever_they_are(tmp_path):
    call = {"command": f"curl -u x:{KEY}", "env": {"deep": [KEY, 1]}, KEY: "x", "path": "a"}
    for redact in ("credentials", "all"):
        file = tmp_path / f"{redact}.jsonl"
        write(Recorder(file, redact), "Bash", call)
        assert KEY not in file.read_text()
    (read,) = records(tmp_path / "credentials.jsonl")
    assert read.call["path"] == "a"
    assert set(read.redacted) >= {"command", "env"}


def test_a_name_shows_that_a_value_is_a_credential():
    call = {"password": "hunter22", "env": {"API_KEY": "a8f3c2b1d0"}, "token": "two words"}
    kept = redacted(Record(("main",), "T", call), "credentials").call
    shown = {"password": "*" * 8, "env": {"API_KEY": "*" * 10}, "token": "two words"}
    assert kept == shown


def test_all_leaves_the_names_of_arguments():
    record = redacted(Record(("main",), "Bash", {"command": "ls", "n": 1}), "all")
    assert record.call == {"command": None, "n": None}
    assert record.redacted == ("command", "n")


def test_a_name_that_is_a_credential_is_reported_as_changed():
    assert redacted(Record(("main",), "T", {KEY: "x"}), "credentials").redacted


def test_arguments_that_are_no_json_are_named_by_their_type(tmp_path):
    file = tmp_path / "calls.jsonl"
    write(Recorder(file, "none"), "T", {"a": {1, 2}})
    assert records(file)[0].call == {"a": "<set>"}


def test_lines_of_check_are_read(tmp_path):
    file = tmp_path / "calls.jsonl"
    file.write_text(
        '\n{"tool": "Bash", "input": {"command": "ls"}, "chain": "main>a", "effect": "ask"}\n\n'
        '{"tool": "Read"}\n'
    )
    first, second = records(file)
    assert (first.chain, first.effect, first.source) == (("main", "a"), Effect.ASK, "calls.jsonl:2")
    assert (second.call, second.chain, second.effect, second.source) == (
        {},
        (),
        None,
        "calls.jsonl:4",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
        ("5", "expected a JSON object"),
        ("{}", "expected the name of a tool"),
        ('{"tool": 5}', "expected the name of a tool"),
        ('{"tool": "T", "input": []}', "expected an object"),
        (
            '{"tool": "T", "arguments": {"a": "x"}}',
            "expected the arguments as `input`, found an object as `arguments`",
        ),
        ('{"gen_ai.tool.name": "T", "gen_ai.tool.call.arguments": "["}', "expected an object"),
        ('{"tool": "T", "chain": [5]}', "expected names of agents"),
        ('{"tool": "T", "effect": "maybe"}', "expected `allow`"),
        ('{"tool": "T", "effect": ["allow"]}', "expected `allow`"),
    ],
)
def test_a_line_that_is_no_call_is_a_problem_with_its_place(tmp_path, text, message):
    file = tmp_path / "calls.jsonl"
    file.write_text('{"tool": "T"}\n' + text + '\n{"tool": "U"}\n')
    before, problem, after = records(file)
    assert isinstance(problem, LogProblem)
    assert problem.source == "calls.jsonl:2"
    assert problem.message.startswith(message)
    assert (before.tool, after.tool) == ("T", "U")


def test_bytes_that_are_no_text_are_a_problem(tmp_path):
    file = tmp_path / "calls.jsonl"
    file.write_bytes(b'{"tool": "\xff"}\n')
    assert isinstance(records(file)[0], LogProblem)


def test_attributes_that_are_texts_are_read(tmp_path):
    file = tmp_path / "calls.jsonl"
    said = {
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.call.arguments": '{"command": "ls"}',
        "gen_ai.agent.name": "main",
    }
    file.write_text(json.dumps(said))
    (read,) = records(file)
    assert (read.chain, read.call) == (("main",), {"command": "ls"})


# --- transcripts ------------------------------------------------------------------------------


def session(folder: Path, *, parent: str | None = "one") -> Path:
    """Write a session whose agent `explore` started `worker`."""
    file = folder / "session.jsonl"
    below = folder / "session" / "subagents"
    below.mkdir(parents=True)
    file.write_text(lines(use("m1", "Read", {"file_path": "/srv/app/a"}), got("m1", "accept")))
    (below / "agent-one.jsonl").write_text(
        lines(use("o1", "Bash", {"command": "ls"}), got("o1", "reject", "config"))
    )
    (below / "agent-one.meta.json").write_text('{"agentType": "explore", "spawnDepth": 1}')
    (below / "agent-two.jsonl").write_text(
        lines(
            use("t1", "Bash", {"command": "npm publish"}),
            use("t2", "Edit", {"file_path": "b"}),
            use("t3", "Edit", {"file_path": "c"}),
            got("t2", "accept", "hook"),
            got("t1", "reject", "user_reject"),
        )
    )
    meta = {"agentType": "worker", "spawnDepth": 2} | ({"parentAgentId": parent} if parent else {})
    (below / "agent-two.meta.json").write_text(json.dumps(meta))
    return file


def lines(*said: dict[str, object]) -> str:
    first = {"type": "queue-operation", "sessionId": "s"}
    return "".join(json.dumps(each) + "\n" for each in (first, *said))


def use(key: str, tool: str, call: dict[str, object]) -> dict[str, object]:
    block = {"type": "tool_use", "id": key, "name": tool, "input": call}
    return {
        "type": "assistant",
        "sessionId": "s",
        "cwd": "/srv/app",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "x"}, block]},
    }


def got(key: str, decision: str, source: str = "config") -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": key, "content": "x"}
    return {
        "type": "user",
        "sessionId": "s",
        "message": {"role": "user", "content": [block]},
        "permissionDecision": {"decision": decision, "source": source},
    }


def test_a_transcript_tells_who_called_and_what_it_got(tmp_path):
    session(tmp_path)
    found = [r for file, name in log_files([tmp_path]).items() for r in read_log(file, name)]
    told = {(">".join(r.chain), r.tool, next(iter(r.call.values())), r.effect) for r in found}
    assert told == {
        ("main", "Read", "/srv/app/a", Effect.ALLOW),
        ("main>explore", "Bash", "ls", Effect.DENY),
        ("main>explore>worker", "Bash", "npm publish", Effect.ASK),  # whatever the user answered
        ("main>explore>worker", "Edit", "b", None),  # a hook decided, not the rules
        ("main>explore>worker", "Edit", "c", None),  # it never came to that
    }
    assert {r.cwd for r in found} == {"/srv/app"}


@pytest.mark.parametrize("parent", [None, "nobody", "two", "../one"])
def test_calls_of_unknown_agents_are_a_problem(tmp_path, parent):
    session(tmp_path, parent=parent)
    (problem,) = records(tmp_path / "session" / "subagents" / "agent-two.jsonl")
    assert isinstance(problem, LogProblem)


def test_a_line_that_is_written_in_part_is_a_problem_beside_the_rest(tmp_path):
    file = session(tmp_path)
    file.write_text(file.read_text() + '{"type": "assist')
    found = records(file)
    assert [type(each) for each in found] == [Record, LogProblem]
    assert found[1].source == "session.jsonl:4"


# --- by DuckDB ---------------------------------------------------------------------------------


def key(each: Record | LogProblem) -> object:
    if isinstance(each, LogProblem):
        return each.message
    return each.chain, each.tool, json.dumps(each.call), each.effect


def test_a_line_that_is_no_json_is_reported_with_its_place(tmp_path):
    file = tmp_path / "calls.jsonl"
    file.write_text('{"tool": "T"}\nx\n{"tool": "U"}\n')
    assert [each.source for each in records(file)] == [f"calls.jsonl:{n}" for n in (1, 2, 3)]


def test_parquet_is_read(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    lines_, file = tmp_path / "calls.jsonl", tmp_path / "calls.parquet"
    lines_.write_text(
        '{"tool": "Bash", "input": {"command": "ls"}, "chain": ["main"]}\n'
        '{"tool": "Bash", "input": {"command": "ls"}, "chain": ["main"]}\n'
        '{"tool": "Read", "input": {"file_path": "a"}, "chain": ["main", "b"]}\n'
    )
    duckdb.read_json(str(lines_)).write_parquet(str(file))
    counted = records(file)
    assert {key(each) for each in counted} == {key(each) for each in records(lines_)}
    assert sorted(each.times for each in counted) == [1, 2]


def test_what_is_no_parquet_is_refused(tmp_path):
    file = tmp_path / "calls.parquet"
    file.write_text("x")
    with pytest.raises(PolicyError, match="cannot be read"):
        records(file)


def test_without_duckdb_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    file = tmp_path / "calls.parquet"
    file.write_text("x")
    with pytest.raises(PolicyError) as caught:
        records(file)
    assert ".[replay]" in str(caught.value.help)


def test_a_folder_without_logs_is_refused(tmp_path):
    with pytest.raises(PolicyError, match="no log lies in it"):
        log_files([tmp_path])
    with pytest.raises(PolicyError, match="no such file"):
        log_files([tmp_path / "x"])
