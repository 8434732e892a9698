"""Compiled policies decide as the files they come from, and are refused when they do not hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import policy
from policy.analysis.inputs import Hosts, compiled_at
from policy.core import limits
from policy.core.errors import PolicyError
from policy.hosts.workspace import Workspace
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.codec import sealed
from policy.tables.compiled import compiled_from_json, compiled_to_json, load_compiled
from tests.conftest import FIXTURES

SLOW = pytest.mark.slow
# One of every host and way of chains; the others behind the mark.
SHOWN = {
    "a3s-directory-script", "a3s-script-starts-agents", "chain-of-three", "claude-child-modes",
    "claude-nested-pools", "delegate-beyond-use", "pikuri-two-pools", "spawn-list", "zeph-skills",
}  # fmt: skip
FOLDERS = [
    pytest.param(path.name, marks=[] if path.name in SHOWN else SLOW, id=path.name)
    for path in sorted(FIXTURES.iterdir())
    if path.is_dir() and path.name not in {"command", "errors", "documents", "nine-changes"}
]
CALLS = [
    ("Bash", {"command": "git status && git push origin main"}),
    ("Bash", {"command": "rm -rf /"}),
    ("Edit", {"file_path": "src/a.py"}),
    ("Read", {"file_path": ".env"}),
    ("bash", {"command": "ls"}),
    ("mcp__github__list", {}),
    ("WebFetch", {"url": "https://example.com/a"}),
]


def team() -> str:
    return compiled_to_json(policy.load(FIXTURES / "command" / "team"))


def walked(chain, agents, depth):
    yield chain
    if depth:
        for agent in agents:
            try:
                following = chain.spawn(agent)
            except SpawnDenied as denied:
                yield denied
            else:
                yield from walked(following, agents, depth - 1)


def started(reading, agent, depth):
    try:
        chain = Chain.start(agent, reading)
    except SpawnDenied as denied:
        return [denied]
    return list(walked(chain, sorted(reading.agents), depth))


def said(found):
    """Return all that a chain says, or why it goes no further."""
    if isinstance(found, SpawnDenied):
        return str(found), found.reason, found.agent, found.link
    decisions = [found.decide(*call) for call in CALLS]
    return found.names, found.table.hash, found.links[-1].confirm, decisions


@pytest.mark.parametrize("name", FOLDERS)
def test_it_decides_as_the_files_do(name) -> None:
    workspace = policy.load(FIXTURES / name)
    compiled = compiled_from_json(compiled_to_json(workspace))
    assert len(compiled.projects) == len(workspace.projects)
    for project, twin in zip(workspace.projects, compiled.projects, strict=True):
        assert (twin.title, twin.profile, twin.starts) == (
            project.title, project.profile, project.starts,
        )  # fmt: skip
        for reading in ("attenuated", "enforced") if twin.enforces else ("attenuated",):
            one, other = project.reading(reading), twin.reading(reading)
            assert sorted(one.agents) == sorted(other.agents)
            depth = 2 if len(one.agents) < 12 else 1
            for agent in one.agents:
                expected = list(map(said, started(one, agent, depth)))
                assert list(map(said, started(other, agent, depth))) == expected


def test_what_a_host_does_beside_what_is_declared_is_not_compiled() -> None:
    ours = compiled_from_json(team().encode())
    assert ours.chain("main", "explore", reading="enforced").names == ("main", "explore")
    text = compiled_to_json(policy.load(FIXTURES / "claude-nested-pools"))
    compiled = compiled_from_json(text.encode())
    assert compiled.chain("main", "general-purpose").names == ("main", "general-purpose")
    with pytest.raises(PolicyError, match="does not hold what `claude-code` does"):
        compiled.chain("main", "general-purpose", reading="enforced")
    (project,) = compiled.projects
    with pytest.raises(KeyError):
        project.reading("declared")


def test_equal_policies_give_equal_text() -> None:
    assert team() == team()


def test_chains_are_found_by_name_as_in_a_workspace() -> None:
    compiled = compiled_from_json(team().encode())
    assert compiled.chain("main", "reviewer").names == ("main", "reviewer")
    with pytest.raises(SpawnDenied):
        compiled.chain("explore", "main")
    with pytest.raises(PolicyError, match="there is no agent"):
        compiled.chain("nobody")


def test_loading_needs_no_parser(tmp_path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(team())
    code = (
        "import sys, policy\n"
        "chain = policy.load_compiled(sys.argv[1]).chain('main')\n"
        "print(chain.decide('Bash', {'command': 'git push'}).effect)\n"
        "print([m for m in ('yaml', 'policy.language.syntax', 'policy.hosts')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, file], capture_output=True, text=True, check=True
    )
    assert done.stdout == "ask\n[]\n"


# --- what is refused -------------------------------------------------------------


def resealed(change) -> bytes:
    """Return a compiled policy whose content was changed by one who knows how to hash."""
    value = json.loads(team())["content"]
    change(value)
    return sealed(json.dumps(value, separators=(",", ":"))).encode()


def put(path, new):
    def change(value):
        *way, last = path
        for key in way:
            value = value[key]
        value[last] = new

    return change


MAIN = ["projects", 0, "attenuated", "tables", "main"]
HOSTILE = {
    "nothing": b"",
    "no-object": b"[]\n",
    "not-utf-8": team().encode() + b"\xff",
    "hidden": "{\u202e\x1b[2J".encode(),
    "another-form": team().replace('"compiled":5', '"compiled":2', 1).encode(),
    "form-that-goes-on": team().replace('"compiled":5', '"compiled":54', 1).encode(),
    "another-version": team().replace(policy.__version__, "0.0.1", 1).encode(),
    "cut-off": team()[:-40].encode(),
    "cut-off-by-one": team()[:-1].encode(),
    "blank-behind": team().encode() + b" ",
    "effect-changed": team().replace('"deny"', '"allow"', 1).encode(),
    "hash-changed": team().replace('"hash":"sha256:', '"hash":"sha256:0', 1).encode(),
    "key-twice": sealed('{"rules":[],"rules":[]}').encode(),
    "unknown-key": resealed(put(["code"], "import os")),
    "missing-key": resealed(lambda value: value.pop("rules")),
    "effect-unknown": resealed(put(["rules", 0, "default"], "permit")),
    "table-that-is-a-number": resealed(put(MAIN, 99)),
    "set-out-of-range": resealed(put([*MAIN, "use", 0, "rules"], 99)),
    "set-below-range": resealed(put([*MAIN, "use", 0, "rules"], -1)),
    "set-left-out": resealed(put([*MAIN, "use"], [{}])),
    "start-unknown": resealed(put(["projects", 0, "starts"], ["nobody"])),
    "text-for-sets": resealed(put([*MAIN, "use"], "0")),
    "nested-too-deep": sealed("[" * 100_000).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_hold_is_refused(name, tmp_path) -> None:
    file = tmp_path / "policy.json"
    file.write_bytes(HOSTILE[name])
    with pytest.raises(PolicyError) as refused:
        load_compiled(file)
    assert refused.value.file == str(file)
    assert not {"\x1b", "\u202e"} & set(str(refused.value))
    assert len(refused.value.message) < 500


def test_no_byte_can_be_changed_or_left_out() -> None:
    data = team().encode()
    for at in range(len(data)):
        for spoiled in (data[:at], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]):
            with pytest.raises(PolicyError):
                compiled_from_json(spoiled)


def ways(value, way=()):
    """Yield where each value of a JSON document stands."""
    found = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in found:
        yield (*way, key)
        if isinstance(each, (dict, list)):
            yield from ways(each, (*way, key))


@SLOW
@pytest.mark.parametrize("new", [None, True, -1, 10**30, 1.5, "", "*", "allow", [], ["x"], {}])
def test_a_value_changed_by_one_who_knows_how_to_hash_is_refused_or_decides(new) -> None:
    """Who can write the hash can write any policy; but nothing breaks the reader or what it made."""
    for way in ways(json.loads(team())["content"]):
        try:
            compiled = compiled_from_json(resealed(put(way, new)))
        except PolicyError:
            continue
        for project in compiled.projects:
            for agent in project.attenuated.agents:
                for found in started(project.attenuated, agent, 1):
                    said(found)


def test_why_it_is_refused(text) -> None:
    told = []
    for name, hostile in HOSTILE.items():
        with pytest.raises(PolicyError) as refused:
            compiled_from_json(hostile)
        message = refused.value.message.split("sha256:")[0]
        told.append(f"{name}: {message}\n    = help: {refused.value.help}\n")
    assert "".join(told) == text


def test_as_many_lines_as_the_limit_are_read_and_more_are_refused(monkeypatch) -> None:
    most = max(len(rules["entries"]) for rules in json.loads(team())["content"]["rules"])
    monkeypatch.setattr(limits, "RULES", most)
    assert compiled_from_json(team().encode()).projects
    monkeypatch.setattr(limits, "RULES", most - 1)
    with pytest.raises(PolicyError, match=f"at most {most - 1} lines"):
        compiled_from_json(team().encode())


def test_of_several_unknown_starts_the_first_by_name_is_reported() -> None:
    data = resealed(put(["projects", 0, "starts"], ["zoe", "nobody", "main"]))
    with pytest.raises(PolicyError, match='there is no agent `"nobody"`'):
        compiled_from_json(data)


def test_more_bytes_than_the_limit_are_refused(monkeypatch, tmp_path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(team())
    monkeypatch.setattr(limits, "COMPILED_BYTES", 100)
    with pytest.raises(PolicyError, match="at most 100 bytes"):
        load_compiled(file)


def test_what_is_no_policy_path_or_content_is_said_to_be_none() -> None:
    with pytest.raises(TypeError, match=r"expected the path .* as `path`, found `5`"):
        load_compiled(5)  # type: ignore[arg-type]  # is refused
    with pytest.raises(TypeError, match="expected a compiled policy as `data`"):
        compiled_from_json(5)  # type: ignore[arg-type]  # is refused
    with pytest.raises(TypeError, match="expected a workspace"):
        compiled_to_json({})  # type: ignore[arg-type]  # is refused


def test_as_many_bytes_as_the_limit_are_read(monkeypatch, tmp_path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(team())
    size = file.stat().st_size
    monkeypatch.setattr(limits, "COMPILED_BYTES", size)
    assert load_compiled(file).projects
    assert compiled_from_json(team().encode()).projects
    monkeypatch.setattr(limits, "COMPILED_BYTES", size - 1)
    for load in (lambda: load_compiled(file), lambda: compiled_from_json(team().encode())):
        with pytest.raises(PolicyError, match=f"at most {size - 1:,} bytes"):
            load()


def test_what_is_no_file_is_refused(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "none", "\0"):
        with pytest.raises(PolicyError):
            load_compiled(path)


def test_a_workspace_of_nothing_has_no_chain() -> None:
    compiled = compiled_from_json(compiled_to_json(Workspace("x", ())).encode())
    with pytest.raises(PolicyError):
        compiled.chain("main")


# --- the command -----------------------------------------------------------------


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "policy", "compile", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_the_command_writes_what_the_files_come_to(tmp_path) -> None:
    file = tmp_path / "policy.json"
    done = command(FIXTURES / "command" / "team", "-o", file)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_text() == team()
    assert load_compiled(file).hash in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["policy.json"]


def test_check_decides_by_it_and_imports_no_parser(tmp_path) -> None:
    assert command(FIXTURES / "command" / "team", "-o", tmp_path / "policy.json").returncode == 0
    given = [
        {"chain": chain, "tool": tool, "input": call}
        for chain in ("main", "main>explore", "main>nobody")
        for tool, call in CALLS
    ]
    said = []
    python = [sys.executable, "-X", "importtime"]
    for subject in (FIXTURES / "command" / "team", tmp_path / "policy.json"):
        done = subprocess.run(
            [*python, "-m", "policy", "check", subject, "--calls", "-", "--format", "json"],
            input="".join(json.dumps(each) + "\n" for each in given),
            capture_output=True,
            text=True,
            check=False,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        # Rules are told by the file that they stand in, as it was called when it was read.
        said.append([(a["effect"], a["reason"], a["message"], a["table"]) for a in answers])
        modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert len(said[0]) == len(given)
    assert said[0] == said[1]
    assert "policy.tables.codec" in modules
    parsers = (
        "lark",
        "yaml",
        "policy.hosts",
        "policy.hosts.workspace",
        "policy.files.json_nodes",
        "policy.files.yaml_nodes",
    )
    assert not [name for name in modules if name.startswith(parsers)]


@pytest.mark.parametrize("verb", ["--help", "--version"])
def test_the_command_tells_of_itself_without_its_engine(verb) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "policy", verb],
        capture_output=True,
        text=True,
        check=True,
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    ours = {name for name in modules if name.partition(".")[0] in ("policy", "attr", "attrs")}
    assert ours == {"policy", "policy.cli"}


def test_a_compiled_policy_has_its_folders(tmp_path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(team())
    with pytest.raises(PolicyError, match="the folders that it was compiled with"):
        compiled_at(str(file), Hosts("~/.claude"))
    assert compiled_at(str(tmp_path)) is None


def test_the_command_writes_nothing_where_a_file_cannot_be_read(tmp_path) -> None:
    file = tmp_path / "policy.json"
    done = command(FIXTURES / "command" / "malformed-team", "-o", file)
    assert done.returncode == 2
    assert "error" in done.stderr
    assert not file.exists()


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PolicyError, match="cannot be read: it is a named pipe"):
        load_compiled(tmp_path / "pipe")
