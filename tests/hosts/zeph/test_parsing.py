"""Text to definitions: rows 0.1 to 0.20, B.3 and B.24, with the place of every mistake."""

from __future__ import annotations

import pytest

from policy.hosts.fields import HostError
from policy.hosts.zeph.definition import (
    MemoryScope,
    PermissionMode,
    Permissions,
    SkillFilter,
    ToolPolicy,
    parse,
    upstream_text,
)
from tests.underline import assert_underlines

HEAD = "name: a\ndescription: b\n"


def _yaml(keys: str = "") -> str:
    return f"---\n{HEAD}{keys}---\n\nbody\n"


def _refused(text: str) -> HostError:
    with pytest.raises(HostError) as caught:
        parse(text)
    return caught.value


def test_a_whole_definition_is_read() -> None:
    definition = parse(
        "---\nname: code-reviewer\ndescription: Reviews\nmodel: inherit\nmemory: local\n"
        "tools:\n  allow: [Read]\n  except: [write]\npermissions:\n  secrets: [token]\n"
        "  max_turns: 1\n  background: true\n  timeout_secs: 2\n  ttl_secs: 3\n"
        "  permission_mode: plan\n  max_history_messages: 0\n  worktree: true\n"
        "skills:\n  include: [git-*]\n  exclude: [git-push]\n"
        "hooks:\n  PostToolUse:\n  - matcher: write\n    hooks:\n    - type: mcp_tool\n"
        "      server: s\n      tool: t\n      args: {a: [1]}\n      if: tool:write\n---\n\n  Prompt.\n\n"
    )

    assert (definition.name, definition.description, definition.model) == (
        "code-reviewer",
        "Reviews",
        "inherit",
    )
    assert definition.tools == ToolPolicy(("Read",))
    assert definition.disallowed_tools == ("write",)
    assert definition.memory is MemoryScope.LOCAL
    assert definition.permissions == Permissions(
        ("token",), 1, True, 2, 3, PermissionMode.PLAN, 0, True
    )
    assert definition.skills == SkillFilter(("git-*",), ("git-push",))
    assert definition.system_prompt == "Prompt."
    assert "PreToolUse" not in definition.hooks
    (matcher,) = definition.hooks["PostToolUse"]
    assert (matcher.matcher, matcher.hooks[0].server, matcher.hooks[0].condition) == (
        "write",
        "s",
        "tool:write",
    )


def test_presence_decides_and_not_emptiness() -> None:
    assert parse(_yaml("tools: {}\n")).tools == ToolPolicy()
    assert parse(_yaml("tools:\n  allow: null\n  deny: ~\n")).tools == ToolPolicy()
    assert parse(_yaml("tools:\n  allow: []\n")).tools == ToolPolicy(allow=())
    assert parse(_yaml("tools:\n  deny: []\n")).tools == ToolPolicy(deny=())


@pytest.mark.parametrize(
    ("text", "message", "underlined"),
    [
        ("\n---\nname: a\n---\n", "missing frontmatter delimiters", ""),
        ("\ufeff---\nname: a\n---\n", "missing frontmatter delimiters", "\ufeff"),
        ("--- \nname: a\n---\n", "missing frontmatter delimiters", "--- "),
        ("---\n---\nbody\n", "missing closing `---` delimiter", "---"),
        ("+++\nname = 'a'\n---\n", "missing closing `+++` delimiter", "+++"),
        ("---\ndescription: b\n---\n", "missing field `name`", "d"),
        (_yaml("tool: x\n"), "unknown field `tool`", "tool"),
        (_yaml("tools:\n  alow: [x]\n"), "unknown field `alow`", "alow"),
        (_yaml("permissions:\n  max_turn: 5\n"), "unknown field `max_turn`", "max_turn"),
        (_yaml("tools:\n  allow: shell\n"), "expected a list", "shell"),
        (_yaml("tools:\n  allow: [[x]]\n"), "expected a string", "[x]"),
        (_yaml("permissions:\n  max_turns: -1\n"), "expected a whole number", "-1"),
        (_yaml("permissions:\n  max_turns: 4294967296\n"), "from 0 to 4294967295", "4294967296"),
        (_yaml("permissions:\n  max_turns: '5'\n"), "expected a whole number", "'5'"),
        (_yaml("permissions:\n  background: yes\n"), "expected `true` or `false`", "yes"),
        (
            _yaml("permissions:\n  permission_mode: DontAsk\n"),
            "unknown variant `DontAsk`",
            "DontAsk",
        ),
        (_yaml("memory: global\n"), "unknown variant `global`", "global"),
        (_yaml("hooks:\n  PreToolUse: x\n"), "expected a list", "x"),
        (
            _yaml("hooks:\n  PreToolUse:\n  - hooks: []\n"),
            "missing field `hooks.PreToolUse[0].matcher`",
            "h",
        ),
        (
            _yaml("hooks:\n  PreToolUse:\n  - matcher: a\n"),
            "missing field `hooks.PreToolUse[0].hooks`",
            "m",
        ),
        (_yaml("name: again\n"), "the key `name` is there twice", "name"),
        ("---\n- a\n---\n", "expected keys and values", "---"),
        ("+++\nname = 5\ndescription = 'b'\n+++\n", "expected a string", "5"),
        ("+++\nname = \n+++\n", "invalid value", ""),
        ("+++\nname = 1979-05-27\n+++\n", "found a date", "1979-05-27"),
    ],
)
def test_what_cannot_be_read_is_a_parse_error_with_its_place(
    text: str, message: str, underlined: str
) -> None:
    error = _refused(text)

    assert error.kind == "Parse"
    assert message in error.message
    assert upstream_text(error).startswith("parse error in <unknown>: ")
    if underlined:
        assert_underlines(error, underlined)


@pytest.mark.parametrize(
    ("keys", "message", "underlined"),
    [
        ("name: ''\ndescription: b\n", "name must not be empty", "''"),
        ("name: a\ndescription: '  '\n", "description must not be empty", "'  '"),
        ("name: a b\ndescription: b\n", "name 'a b' is invalid: must match", "a b"),
        ('name: "bot\\n"\ndescription: b\n', "is invalid: must match", '"bot\\n"'),
        ("name: ä\ndescription: b\n", "ASCII only", "ä"),
        ('name: a\ndescription: "x\\x7f"\n', "must not contain control characters", '"x\\x7f"'),
        (f"{HEAD}tools: {{allow: [], deny: []}}\n", "are mutually exclusive", "deny"),
    ],
)
def test_what_may_not_be_is_invalid_with_its_place(
    keys: str, message: str, underlined: str
) -> None:
    error = _refused(f"---\n{keys}---\n")

    assert error.kind == "Invalid"
    assert message in error.message
    assert upstream_text(error) == f"invalid definition: {error.message}"
    assert_underlines(error, underlined)


def test_the_name_is_asked_for_before_the_description_and_the_lists_last() -> None:
    keys = "tools: {allow: [], deny: []}\n"
    assert "name must" in _refused(f"---\nname: ''\ndescription: ''\n{keys}---\n").message
    assert (
        "description must not be empty"
        in _refused(f"---\nname: a b\ndescription: ''\n{keys}---\n").message
    )
    assert "is invalid" in _refused(f'---\nname: a b\ndescription: "\\n x"\n{keys}---\n').message
    assert "control" in _refused(f'---\nname: a\ndescription: "\\n x"\n{keys}---\n').message


def test_tabs_and_the_second_row_of_controls_may_be_in_a_description() -> None:
    assert parse('---\nname: a\ndescription: "x\\ty\\x85"\n---\n').description == "x\ty\x85"


def test_every_mistake_of_types_is_reported_at_once() -> None:
    error = _refused("---\ndescription: [b]\nmax_turns: 5\ntools: x\n---\n")

    assert len(error.errors) == 4
    assert error.kind == "Parse"


def test_what_closes_the_header_is_the_first_line_that_starts_so() -> None:
    assert parse(f"---\n{HEAD}----\nbody\n---\nmore").system_prompt == "-\nbody\n---\nmore"
    assert parse(f"---\n{HEAD}---").system_prompt == ""
    assert parse("---\r\nname: a\r\ndescription: b\r\n---\r\nx\r\n").system_prompt == "x"


def test_plain_words_are_text_where_text_is_wanted() -> None:
    definition = parse("---\nname: 5\ndescription: yes\ntools:\n  allow: [null, true]\n---\n")

    assert (definition.name, definition.description) == ("5", "yes")
    assert definition.tools == ToolPolicy(("null", "true"))


def test_toml_has_the_same_fields_with_their_places() -> None:
    definition = parse(
        '+++\r\nname = "a"\r\ndescription = \'b\'\r\n[tools]\r\nallow = ["Read", "Bash(x *)"]\r\n'
        'except = [\r\n  "write",\r\n]\r\n[permissions]\r\npermission_mode = "plan"\r\n'
        '[[hooks.PreToolUse]]\r\nmatcher = "bash"\r\n[[hooks.PreToolUse.hooks]]\r\n'
        'type = "command"\r\ncommand = "x"\r\n+++\r\nPrompt.\r\n'
    )

    assert definition.tools == ToolPolicy(("Read", "Bash(x *)"))
    assert definition.spans["tools.allow[1]"].text == '"Bash(x *)"'
    assert definition.spans["tools.except[0]"].text == '"write"'
    assert definition.permissions.permission_mode is PermissionMode.PLAN
    assert definition.hooks["PreToolUse"][0].hooks[0].command == "x"
    assert definition.system_prompt == "Prompt."


def test_definitions_are_equal_by_what_they_say() -> None:
    one, other = parse(_yaml("memory: user\n")), parse(_yaml("memory:   user\n"))

    assert one == other
    assert hash(one) == hash(other)
