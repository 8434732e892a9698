"""A3S: the session file, what a version makes of a project, and every refusal with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts import a3s
from policy.hosts.a3s.agents import AutoDelegation, load_agent_dir, read_agent, read_session
from policy.hosts.a3s.rules import A3sProfile
from policy.hosts.fields import HostError, HostErrors
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.chain import SpawnDenied

README = Path(__file__).resolve().parents[3] / "policy/hosts/a3s/README.md"


def session(text: str):
    return read_session(Source("a3s.session.yaml", text))


def workspace(files: dict[str, str]) -> Workspace:
    return load_tree(Memory(files), front_ends=(a3s,))


def codes(files: dict[str, str]) -> list[str]:
    return [finding.code for finding in workspace(files).findings]


# --- the file ----------------------------------------------------------------


def test_the_session_file_of_the_documentation_can_be_read() -> None:
    (text,) = re.findall(
        r"^```yaml\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    found = session(text)

    assert found.profile == A3sProfile.of("9.0")
    assert found.permissions is not None
    assert found.permissions.check("bash", {"command": "rm x"}).effect is Effect.DENY
    assert found.style is not None
    assert found.auto_delegation == AutoDelegation(min_confidence=0.7, max_tasks=4)


def test_every_mistake_of_a_session_is_reported_at_its_place() -> None:
    text = (
        "version: soon\npermissions:\n  denny: [bash]\n  allow: [5, bash, {a: b}]\n"
        "  default_decision: Deny\nconfirmation: nobody\nstyle: [a]\n"
        "auto_delegation:\n  enabled: 7\n  min_confidence: 3\n  max_tasks: -1\n  on: true\nfoo: 1\n"
    )
    with pytest.raises(HostErrors) as caught:
        session(text)

    marked = [error.span.text for error in caught.value.errors if error.span]
    assert marked == [
        *("soon", "denny", "5", "{a: b}", "Deny", "nobody", "[a]"),
        *("7", "3", "-1", "on", "foo"),
    ]
    assert caught.value.kind == "policy_parse"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "expected keys and values, found a list"),
        ("permissions: 3\n", "expected keys and values, found the number `3`"),
        ("permissions: {deny: bash}\n", "expected a list, found a string"),
        ("permissions: {default_decision: }\n", "expected a string, found null"),
        ("permissions: {enabled: sometimes}\n", "expected `true` or `false`, found a string"),
        ("permissions: {deny: [bash], deny: []}\n", "deny"),
        ("version: [9]\n", "expected a version"),
    ],
)
def test_a_mistake_of_a_session_has_a_place(text: str, message: str) -> None:
    with pytest.raises(HostError, match=re.escape(message)) as caught:
        session(text)

    assert caught.value.span is not None


# --- agents that are started unasked (A43) -------------------------------------


def test_a_rule_that_is_too_long_is_reported() -> None:
    rule = f"Bash({'x' * 9_000})"
    messages = [
        found
        for found in workspace(
            {"a3s.session.yaml": f"permissions: {{deny: ['{rule}']}}\n"}
        ).findings
        if found.code == "a3s-rule-too-long"
    ]

    assert [found.message for found in messages] == [
        "a rule of 9,006 characters is not read, and denies every call of its tool here"
    ]


def test_a43_hiding_the_tools_that_start_agents_denies_nothing() -> None:
    text = "permissions: {allow: [task]}\nauto_delegation: {allow_manual_delegation: false}\n"
    found = session(text)

    assert not found.visible("task")
    assert found.visible("read")
    assert workspace({"a3s.session.yaml": text}).chain("main", "explore").names
    assert codes({"a3s.session.yaml": text}) == ["a3s-delegation-only-hidden"]
    denied = text.replace("allow: [task]", "deny: [task]")
    assert codes({"a3s.session.yaml": denied}) == []


# --- versions (A9, A40, A63) ------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "rule", "starts"),
    [
        ("6.7", '{"agent":"explore"}', False),
        ("6.7", '{"tasks":[{"agent":"explore"}]}', True),
        ("6.8", '{"agent":"explore"}', True),
        ("6.8", '{"tasks":[{"agent":"explore"}]}', False),
    ],
)
def test_a63_an_agent_is_started_by_the_call_of_its_version(
    version: str, rule: str, starts: bool
) -> None:
    text = f"version: '{version}'\npermissions:\n  deny: ['Task({rule})']\n"
    found = workspace({"a3s.session.yaml": text})

    if starts:
        assert found.chain("main", "explore").names == ("main", "explore")
    else:
        with pytest.raises(SpawnDenied):
            found.chain("main", "explore")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("9", (9, 0, 0)),
        ("6.8", (6, 8, 0)),
        ("a3s@5.3.1", (5, 3, 1)),
        ("zeph@1.0", None),
        ("9.0.0.1", None),
        ("", None),
        ("9.x", None),
    ],
)
def test_a63_a_version_is_one_to_three_numbers_of_this_host(
    text: str, version: tuple[int, int, int] | None
) -> None:
    if version is not None:
        assert A3sProfile.of(text).numbers == version
        return
    with pytest.raises(ValueError, match="expected a version such as `9`"):
        A3sProfile.of(text)


def test_a11_before_5_2_8_every_tool_was_shown() -> None:
    for version, shown in (("5.2.7", True), ("5.2.8", False)):
        text = f"version: '{version}'\npermissions: {{deny: [bash]}}\n"
        assert session(text).visible("bash") is shown


def test_a22_an_agent_is_started_by_its_other_names_too() -> None:
    found = workspace({"a3s.session.yaml": "permissions: {allow: [task]}\n"})

    for reading in ("attenuated", "enforced"):
        assert found.chain("main", "reviewer", reading=reading).names == ("main", "review")
        with pytest.raises(SpawnDenied):
            found.chain("main", "Reviewer", reading=reading)


def test_a22_a_file_may_have_the_other_name_of_an_agent_and_is_meant_then() -> None:
    files = {".a3s/agents/r.yaml": "name: reviewer\ndescription: d\ntools: [read]\n"}

    assert workspace(files).chain("main", "reviewer").names == ("main", "reviewer")


# --- scripts that start something (S16, A58) ---------------------------------------

STARTING = {
    "instructions.md": "role",
    "a3s.session.yaml": "permissions: {allow: [a, b, task, read, bash]}\n",
    "tools/a.md": "---\nkind: script\npath: a.js\nallowed_tools: [task, read, b]\n---\n",
    "tools/b.md": "---\nkind: script\npath: b.js\nallowed_tools: [bash]\n---\n",
}


def test_a58_a_script_may_start_an_agent_which_its_list_does_not_bound() -> None:
    found = workspace(STARTING)
    bash = ("bash", {"command": "ls"})

    chain = ("main", "script:a", "verification")
    assert found.chain(*chain).decide(*bash).effect is Effect.DENY
    assert found.chain(*chain, reading="enforced").decide(*bash).effect is Effect.ALLOW
    assert "a3s-script-starts-agents" in codes(STARTING)
    with pytest.raises(SpawnDenied):
        found.chain("main", "script:b", "verification")
    with pytest.raises(SpawnDenied):
        found.chain(*chain, "plan")


def test_a58_a_script_starts_one_agent_a_call() -> None:
    one, two = {"agent": "a", "description": "},{", "prompt": '},{"'}, {"agent": "b"}

    for reading in ("attenuated", "enforced"):
        script = workspace(STARTING).chain("main", "script:a", reading=reading)
        assert script.decide("task", {"tasks": [one]}).effect is Effect.ALLOW
        assert script.decide("task", {"tasks": [one, two]}).effect is Effect.DENY


def test_a_name_that_is_too_long_in_the_list_of_a_script_grants_nothing() -> None:
    listed = f"---\nkind: script\npath: a.js\nallowed_tools: [{'x' * 9_000}, read]\n---\n"

    for reading in ("attenuated", "enforced"):
        files = {**STARTING, "tools/a.md": listed}
        script = workspace(files).chain("main", "script:a", reading=reading)
        assert script.decide("x" * 9_000, {}).effect is Effect.DENY
        assert script.decide("read", {"file_path": "a"}).effect is Effect.ALLOW


def test_s16_a_script_by_its_name_is_started_by_the_host_alone() -> None:
    found = workspace(STARTING)

    assert found.chain("main", "script:a", "script:b", reading="enforced").names[-1] == "script:b"
    with pytest.raises(SpawnDenied):
        found.chain("main", "script:a", "script:b")
    assert "a3s-script-starts-script" in codes(STARTING)


# --- who takes the place of whom (A31, A62) ------------------------------------------


@pytest.mark.parametrize(
    ("text", "widens"),
    [
        ("tools: [read]", False),
        ("tools: [read, bash]", True),
        ("", True),
        ("tool_free: true", False),
        ("permissions: {deny: [bash, write]}", True),
    ],
)
def test_a62_a_file_that_replaces_an_agent_may_only_narrow(text: str, widens: bool) -> None:
    files = {".a3s/agents/plan.yaml": f"name: plan\ndescription: d\n{text}\n"}

    assert ("a3s-override-widens" in codes(files)) is widens
    assert "a3s-agent-overridden" in codes(files)


# --- refusals ---------------------------------------------------------------------------


def tool(header: str) -> dict[str, str]:
    return {"instructions.md": "role", "tools/x.md": f"---\n{header}\n---\n"}


@pytest.mark.parametrize(
    ("files", "kind", "message", "marked"),
    [
        ({}, "agent_dir_not_found", "agent directory not found: .", None),
        (
            {"tools/x.md": ""},
            "missing_instructions",
            "agent dir . is missing required instructions.md: instructions.md",
            None,
        ),
        (
            {"instructions.md": "", "tools/x.md": "kind: script"},
            "no_frontmatter",
            "tool tools/x.md has no YAML frontmatter (need `kind:`)",
            "kind: script",
        ),
        (
            tool("name: x"),
            "bad_frontmatter",
            "tool tools/x.md frontmatter: missing field `kind`",
            "name: x",
        ),
        (
            tool("kind: script"),
            "bad_frontmatter",
            "tool tools/x.md (kind=script) frontmatter: missing field `path`",
            "kind: script",
        ),
        (
            tool("kind: script\npath: a.js\nallowed_tools: read"),
            "bad_frontmatter",
            (
                "tool tools/x.md (kind=script) frontmatter: invalid type at `allowed_tools`:"
                " expected a list, found a string"
            ),
            "read",
        ),
        (
            tool("kind: mcp\nname: g"),
            "mcp_config",
            (
                "tool tools/x.md (kind=mcp) is not a valid MCP server config:"
                " missing field `transport`"
            ),
            "kind: mcp\nname: g",
        ),
        (
            tool("kind: script\npath: a.py"),
            "script_path_extension",
            "tool tools/x.md (kind=script) path `a.py` must point to a .js or .mjs file",
            "a.py",
        ),
        (
            tool("kind: script\npath: /a.js"),
            "script_path_absolute",
            "tool tools/x.md (kind=script): script path must be relative to the workspace",
            "/a.js",
        ),
        (
            tool("kind: script\npath: a/../b.js"),
            "script_path_escape",
            (
                "tool tools/x.md (kind=script): script path must not contain parent directory"
                " traversal"
            ),
            "a/../b.js",
        ),
        (
            tool("kind: script\npath: a.js\nlimits: {timeoutMs: 0}"),
            "limit_out_of_range",
            "tool tools/x.md (kind=script): limit timeoutMs=0 is out of range [1, 600000]",
            "0",
        ),
        (
            tool("kind: wasm"),
            "unknown_kind",
            "tool tools/x.md has unsupported kind `wasm` (supported: `mcp`, `script`)",
            "wasm",
        ),
        (
            {
                "instructions.md": "",
                "tools/a.md": "---\nkind: mcp\nname: g\ntransport: stdio\n---\n",
                "tools/b.md": "---\nkind: script\nname: g\npath: a.js\n---\n",
            },
            "duplicate_tool_name",
            "duplicate tool name `g` in tools/b.md",
            "g",
        ),
        (
            {"instructions.md": "", "schedules/n.md": "---\nname: n\n---\n"},
            "schedule_cron_required",
            "schedule schedules/n.md frontmatter: missing field `cron`",
            "name: n",
        ),
    ],
)
def test_s25_a_directory_is_refused_in_the_words_of_the_host(
    files: dict[str, str], kind: str, message: str, marked: str | None
) -> None:
    with pytest.raises(HostError) as caught:
        load_agent_dir(Memory(files))

    assert (caught.value.kind, caught.value.message) == (kind, message)
    assert (caught.value.span.text if caught.value.span else None) == marked


def test_s10_the_header_of_a_tool_ends_at_a_line_of_dashes() -> None:
    text = "\n---\nkind: script\ndescription: reads --- and writes\npath: a.js\n---\r\nbody\n"
    (script,) = load_agent_dir(Memory({"instructions.md": "", "tools/x.md": text})).scripts

    assert (script.path, script.description) == ("a.js", "reads --- and writes")


def test_s3_a_description_of_blanks_is_none() -> None:
    files = tool("kind: script\npath: a.js\ndescription: ' '")
    files["tools/x.md"] += "what it does\n"

    assert load_agent_dir(Memory(files)).scripts[0].description == "what it does"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.md", "---\nname: [\n---\n", "Failed to parse agent frontmatter: "),
        ("a.md", "---\nname: a\n---\n", "Failed to parse agent frontmatter: missing field"),
        ("a.md", "---\nname: a\ndescription: d\nkind: x\n---\n", "Failed to parse worker front"),
        ("a.yaml", "name: a\ndescription: d\nkind: x\n", "Failed to parse worker agent YAML: "),
        ("a.yaml", "name: a\ndescription: d\nmodel: opus\n", "invalid type at `model`"),
        ("a.yaml", "name: a\ndescription: d\npermissions: {default_decision: }\n", "default_de"),
    ],
)
def test_a32_an_agent_file_is_refused_by_what_it_is_written_in(
    name: str, text: str, message: str
) -> None:
    with pytest.raises(HostError) as caught:
        read_agent(Source(name, text))

    assert caught.value.kind == "agent_parse"
    assert message in caught.value.message
    assert caught.value.span is not None


def test_a32_every_item_that_is_not_a_rule_is_reported() -> None:
    with pytest.raises(HostErrors) as caught:
        read_agent(Source("a.yaml", "name: a\ndescription: d\npermissions: {allow: [5, [x]]}\n"))

    assert [error.span.text for error in caught.value.errors if error.span] == ["5", "[x]"]


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        ("Parallel-Task", "parallel_task(*)"),
        ("READ", "read(*)"),
        ("*", "*"),
        ("Bash(rm:*)", "Bash(rm:*)"),
        ("mcp__x", "mcp__x(*)"),
    ],
)
def test_a28_an_item_becomes_a_rule(item: str, rule: str) -> None:
    found = read_agent(Source("a.yaml", f"name: a\ndescription: d\ntools: ['{item}']\n"))

    assert [allowed.text for allowed in found.permissions.allow] == [rule]
