"""Rules about other arguments than the one that a tool is about, servers, and reads kept inside.

All of 2.1.329, observed.
"""

from __future__ import annotations

import json

import pytest

from policy.compare.tables import differences
from policy.core import values
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain

_OPTIONS = ClaudeOptions(cwd="/srv/app", home="/home/me")


def told(options: ClaudeOptions, tool: str, call: dict[str, object]) -> str:
    (found,) = load(Memory({".claude/agents/a.md": "---\nname: a\n---\n"}), options)
    return str(Chain.start("main", found.enforced).decide(tool, call).effect)


def saying(scope: str, **permissions: object) -> ClaudeOptions:
    text = json.dumps({"permissions": permissions})
    return values.evolve(_OPTIONS, **{scope: Source("<settings>", text)})


_READ = {"file_path": "/srv/app/a", "limit": 5}


@pytest.mark.parametrize(
    ("scope", "rule", "call", "effect"),
    [
        ("command_line", "Read(limit:*)", _READ, "deny"),
        ("user", "Read(limit:*)", _READ, "allow"),
        ("flag", "Read(limit:*)", _READ, "allow"),
        ("user", "Read(limit:5)", _READ, "deny"),
        ("user", "Read(limit:5)", {"file_path": "/srv/app/limit:5"}, "deny"),
        ("command_line", "Read(src:*)", {"file_path": "/srv/app/src:x"}, "deny"),
        ("user", "Read(src:*)", {"file_path": "/srv/app/src:x"}, "allow"),
        ("user", "Read(src/a:*b)", {"file_path": "/srv/app/src/a:b"}, "allow"),
    ],
)
def test_settings_have_no_rule_about_files_with_a_colon_and_a_star_and_flags_have(
    scope: str, rule: str, call: dict[str, object], effect: str
) -> None:
    assert told(saying(scope, deny=[rule]), "Read", call) == effect


@pytest.mark.parametrize("scope", ["user", "command_line"])
@pytest.mark.parametrize(
    ("call", "effect"),
    [
        ({"command": "timeout 5 ls"}, "deny"),
        ({"command": "ls", "timeout": 5000}, "deny"),
        ({"command": "ls"}, "allow"),
    ],
)
def test_a_rule_about_an_argument_applies_to_the_program_of_that_name_too(
    scope: str, call: dict[str, object], effect: str
) -> None:
    assert told(saying(scope, deny=["Bash(timeout:*)"]), "Bash", call) == effect


def test_a_rule_about_an_argument_does_not_apply_to_unchecked_commands() -> None:
    options = saying("user", deny=["Bash(timeout:*)"], ask=["Bash(gh pr *)"])

    for command in ("gh pr view 1; ls $X", "gh pr view 1; exec ls"):
        assert told(options, "Bash", {"command": command}) == "ask"
        assert told(options, "Bash", {"command": command, "timeout": 5}) == "deny"


def test_a_rule_that_allows_applies_to_the_program_and_to_no_argument() -> None:
    options = saying("user", allow=["Bash(timeout:*)"])

    assert told(options, "Bash", {"command": "timeout 5 make"}) == "allow"
    assert told(options, "Bash", {"command": "make", "timeout": 5}) == "ask"


@pytest.mark.parametrize(
    ("rule", "beside", "effect"),
    [
        ("Edit(replace_all:false)", {}, "deny"),
        ("Edit(replace_all:false)", {"replace_all": False}, "deny"),
        ("Edit(replace_all:true)", {}, "ask"),
        ("Edit(replace_all:true)", {"replace_all": True}, "deny"),
    ],
)
def test_an_edit_that_does_not_say_so_replaces_one_text(
    rule: str, beside: dict[str, object], effect: str
) -> None:
    call = {"file_path": "/srv/app/a", "old_string": "x", "new_string": "y", **beside}

    assert told(saying("user", deny=[rule]), "Edit", call) == effect


def test_settings_have_no_rule_about_searches_with_a_star() -> None:
    call: dict[str, object] = {"query": "news"}

    assert told(saying("user", deny=["WebSearch(query:n*)"]), "WebSearch", call) == "ask"
    assert told(saying("user", deny=["WebSearch(query:news)"]), "WebSearch", call) == "deny"
    assert told(saying("command_line", deny=["WebSearch(query:n*)"]), "WebSearch", call) == "deny"


def test_a_flag_denies_fetches_by_what_is_asked_about_them() -> None:
    call: dict[str, object] = {"url": "https://docs.python.org", "prompt": "p"}

    assert told(saying("command_line", deny=["WebFetch(prompt:*)"]), "WebFetch", call) == "deny"
    assert told(saying("user", deny=["WebFetch(prompt:*)"]), "WebFetch", call) == "allow"


@pytest.mark.parametrize(
    ("rule", "of_x", "of_x_y"),
    [  # the program allows the tools of one of both by all but the third and the fourth
        ("mcp__x", "ask", "ask"),
        ("mcp__x__*", "ask", "ask"),
        ("mcp__x__y*", "ask", "ask"),
        ("mcp__x__y", "ask", "ask"),
        ("mcp__x__y__*", "ask", "ask"),
        ("mcp__x__y__t", "ask", "ask"),
    ],
)
def test_what_allows_a_server_allows_none_whose_name_only_begins_so(
    rule: str, of_x: str, of_x_y: str
) -> None:
    servers = {"x": ("t",), "x__y": ("t",)}
    options = values.evolve(saying("user", allow=[rule]), servers=servers)

    assert told(options, "mcp__x__t", {}) == of_x
    assert told(options, "mcp__x__y__t", {}) == of_x_y


_FENCE = "blockFileToolReadsOutsideWorkingDirectories"


@pytest.mark.parametrize(
    ("tool", "call", "effect"),
    [
        ("Read", {"file_path": "/opt/x"}, "deny"),
        ("Read", {"file_path": "/srv/app/x"}, "allow"),
        ("Write", {"file_path": "/opt/x", "content": ""}, "deny"),
        ("Bash", {"command": "cat /opt/x"}, "ask"),
    ],
)
def test_a_file_given_as_a_flag_keeps_tools_for_files_inside(
    tool: str, call: dict[str, object], effect: str
) -> None:
    rules = {"allow": ["Read", "Edit(//**)", "Bash"]}

    assert told(saying("flag", **{_FENCE: True}, **rules), tool, call) == effect
    assert told(saying("user", **{_FENCE: True}, **rules), tool, call) == "allow"


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
@pytest.mark.parametrize("rules", [{}, {"allow": ["Agent"]}, {"ask": ["Agent(model:*)"]}])
@pytest.mark.parametrize(
    "given",
    [
        *({"model": value} for value in ("gpt", "Opus", " opus", "inherit", "", None, 5)),
        {"isolation": "x"},
        {"mode": "x"},
        {"effort": "x"},
        *({"name": value} for value in ("x y", "", "-x", "x\n", "a" * 65, "Main", "user", 5)),
        *({"name": value} for value in ("a1234567890abcdef", "session_01" + "a" * 22)),
        *({"run_in_background": value} for value in ("yes", "TRUE", "1", 1, None)),
        *({name: value} for name in ("prompt", "description", "team_name") for value in (5, None)),
    ],
)
def test_an_agent_is_started_with_no_argument_that_the_host_does_not_read(
    mode: str, rules: dict[str, object], given: dict[str, object]
) -> None:
    options = values.evolve(saying("user", **rules), mode=mode)

    assert told(options, "Agent", {"subagent_type": "Explore", **given}) == "deny"
    assert told(options, "Agent", {"subagent_type": "Explore"}) == "allow"
    assert told(options, "Task", {"subagent_type": "Explore", **given}) == "deny"


def test_an_agent_is_denied_for_such_an_argument_where_nothing_else_depends_on_one() -> None:
    options = values.evolve(saying("user"), mode="auto")
    usual = {"subagent_type": "Explore", "run_in_background": "false", "name": "x-1", "more": 5}

    assert told(options, "Agent", {"subagent_type": "Explore", "model": "gpt"}) == "deny"
    assert told(options, "Agent", usual) == "ask"


_RUN = {"command": "make"}
_OPEN = {"file_path": "/srv/app/a"}


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
@pytest.mark.parametrize(
    ("tool", "call", "beside"),
    [
        *(("Bash", _RUN, {"timeout": v}) for v in ("x", "", "true", True, None, [], {})),
        *(("Bash", _RUN, {"run_in_background": v}) for v in ("yes", " true ", 1, None)),
        *(("Bash", _RUN, {"command": v}) for v in (5, None, ["x"], {})),
        ("Bash", _RUN, {"description": 5}),
        ("Bash", _RUN, {"cwd": "src"}),
        *(("Monitor", _RUN, {"timeout_ms": v}) for v in (999, 3_600_001, "5", True)),
        ("Monitor", _RUN, {"ws": {"url": "ws://a"}}),
        *(("Read", _OPEN, {"limit": v}) for v in ("x", 5.5, "5.5", True, None)),
        *(("Read", _OPEN, b) for b in ({"pages": 5}, {"path": "/srv/app/a"}, {"file_path": 5})),
        *(("Edit", _OPEN, b) for b in ({"replace_all": "yes"}, {"old_string": 5}, {"x": 1})),
        *(("Write", _OPEN, b) for b in ({"content": None}, {"command": "create"})),
        ("NotebookEdit", {"notebook_path": "/srv/app/n.ipynb"}, {"edit_mode": "x"}),
        ("Grep", {"pattern": "x"}, {"output_mode": "x"}),
        ("Grep", {"pattern": "x"}, {"file_path": "/srv/app/a"}),
        *(("WebFetch", {"url": "https://a.b"}, {"offset": v}) for v in (-1, 5.5, "x")),
        ("WebFetch", {"url": "https://a.b"}, {"url": "x"}),
        *(("WebSearch", {"query": "news"}, {"allowed_domains": v}) for v in ("x", [5], {}, None)),
        ("Skill", {"skill": "x"}, {"args": ["x"]}),
        ("CronList", {}, {"x": 1}),
        ("ExitWorktree", {"action": "keep"}, {"action": "x"}),
        ("ReportFindings", {"findings": []}, {"findings": ["x"]}),
        ("KillShell", {"task_id": "1"}, {"task_id": 1}),
    ],
)
def test_a_call_is_denied_for_an_argument_that_the_host_does_not_read(
    mode: str, tool: str, call: dict[str, object], beside: dict[str, object]
) -> None:
    rules = ["Bash", "Monitor", "Read", "Edit(**)", "WebFetch", "WebSearch", "Skill"]
    options = values.evolve(saying("user", allow=rules), mode=mode)

    assert told(options, tool, call) == "allow"
    assert told(options, tool, {**call, **beside}) == "deny"


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        *(("Bash", {**_RUN, "timeout": v}) for v in (5, 5.5, -1, "5", " 5.5 ")),
        *(("Bash", {**_RUN, "run_in_background": v}) for v in (True, "true")),
        ("Bash", {**_RUN, "description": "5"}),
        ("Monitor", {**_RUN, "persistent": "x", "timeout_ms": 3000}),
        *(("Read", {**_OPEN, "limit": v}) for v in (5, 0, -1, "5")),
        ("Read", {**_OPEN, "description": 5}),
        ("WebSearch", {"query": "news", "allowed_domains": '["a.b"]'}),
        ("Skill", {"skill": "x", "more": 5}),
        ("mcp__a__b", {"x": 1}),
    ],
)
def test_what_the_host_takes_for_such_an_argument_or_leaves_out_is_read(
    tool: str, call: dict[str, object]
) -> None:
    rules = ["Bash", "Monitor", "Read", "WebSearch", "Skill", "mcp__a"]
    options = values.evolve(saying("user", allow=rules), servers={"a": ("b",)})

    assert told(options, tool, call) == "allow"


def test_a_call_that_was_read_is_not_denied_for_an_argument_of_another_version() -> None:
    (found,) = load(Memory({}), saying("user", allow=["Bash"]))
    table = Chain.start("main", found.enforced).table

    for call in ({"command": "make"}, {"command": "make", "more": 1}, {"command": "make"}):
        assert str(table.decide("Bash", call, checked=True).effect) == "allow"
        assert str(table.decide("Bash", call).effect) == ("deny" if "more" in call else "allow")


def test_a_text_that_is_refused_stays_so_after_a_call_of_it_was_read() -> None:
    (found,) = load(Memory({}), saying("user", allow=["WebFetch"], deny=["WebFetch(domain:a.b)"]))
    table, call = Chain.start("main", found.enforced).table, {"url": "no address"}

    before = table.decide("WebFetch", call)
    table.decide("WebFetch", call, checked=True)

    assert str(before.effect) == "deny"
    assert table.decide("WebFetch", call) == before


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("Agent(run_in_background:*)", {"run_in_background": "true"}),
        ("Monitor(timeout_ms:5*)", {"timeout_ms": "5000"}),
        ("NotebookEdit(edit_mode:del*)", {"edit_mode": "delete"}),
        ("Read(limit:5)", {"limit": "5"}),
        ("WebSearch(query:news)", {"query": "news"}),
        ("Agent(model:gpt)", None),
        ("Bash(run_in_background:x)", None),
    ],
)
def test_a_rule_about_an_argument_is_shown_by_a_call_that_the_host_reads(
    rule: str, call: dict[str, object] | None
) -> None:
    (before,), (after,) = (load(Memory({}), saying("user", deny=rules)) for rules in ([], [rule]))
    tables = [Chain.start("main", each.enforced).table for each in (after, before)]
    found = differences(tables[0], tables[1])
    field = rule.partition("(")[2].partition(":")[0]
    shown = [each.call for each in found.differences if field in each.call]

    assert bool(shown) == bool(call)
    assert all(call is not None and call.items() <= each.items() for each in shown)
