"""A3S: agent files, agents that are shipped, what a parent and a child may do together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts import a3s
from policy.hosts.a3s.agents import (
    AgentDefinition,
    AgentRegistry,
    ConfirmationInheritance,
    Provider,
    SessionSettings,
    built_in_agents,
    read_agent,
)
from policy.hosts.a3s.gate import child_visible, delegate
from policy.hosts.a3s.rules import A3sProfile, PermissionPolicy
from policy.hosts.fields import HostError, Presence
from policy.hosts.workspace import load_tree
from tests.underline import assert_underlines


def agent(lines: str, name: str = "a.yaml") -> AgentDefinition:
    return read_agent(Source(name, f"name: a\ndescription: d\n{lines}\n"))


def said(definition: AgentDefinition, tool: str, **args: object) -> str:
    return str(definition.permissions.check(tool, args).effect)


# --- files (A18, A24 to A32) -----------------------------------------------------------


def test_a18_all_fields_of_a_definition_are_read() -> None:
    found = agent(
        "hidden: true\nmodel: {provider: p, model: m}\nprompt: p\nmax_steps: 3\ntool_free: true\nnative: false\n"
        "confirmation_inheritance: inherit_parent\ncolor: red"
    )

    assert (found.name, found.description, found.hidden, found.model) == ("a", "d", True, "p/m")
    assert (found.prompt, found.max_steps, found.tool_free) == ("p", 3, True)
    assert found.confirms is ConfirmationInheritance.INHERIT_PARENT
    assert [one.span.text for one in found.unapplied] == ["color"]


def test_a20_a_kind_brings_a_policy_and_steps_which_permissions_replace() -> None:
    preset = agent("kind: implementation")
    replaced = agent("kind: planner\npermissions: {allow: [bash]}")

    assert (said(preset, "write"), said(preset, "task"), preset.max_steps) == ("allow", "deny", 50)
    assert (said(replaced, "bash"), said(replaced, "write")) == ("allow", "ask")


def test_a24_the_first_name_of_a_list_that_is_there_counts_even_empty() -> None:
    found = agent("allowed_tools: [bash]\ntools: []")

    assert found.tools.presence is Presence.EMPTY
    assert said(found, "bash") == "ask"


def test_a25_a_list_replaces_permissions_and_the_attenuated_reading_keeps_both() -> None:
    found = agent("tools: [write]\npermissions: {deny: [write]}")

    assert said(found, "write") == "allow"
    assert min(rules.row("write").outcome({}).effect for rules in found.declared) is Effect.DENY


@pytest.mark.parametrize("value", ["[]", "''", "[5]", "{read: true}", "7", ""])
def test_a26_no_list_is_no_restriction_to_the_host_and_no_tool_to_us(value: str) -> None:
    found = agent(f"tools: {value}")

    assert said(found, "bash") == "ask"
    assert found.confirms is ConfirmationInheritance.DENY_ON_ASK
    assert min(rules.row("bash").outcome({}).effect for rules in found.declared) is Effect.DENY


def test_a27_a_text_is_split_at_every_comma() -> None:
    found = agent("tools: Bash(git log, git diff), Read")

    assert [text for text, _ in found.tools.items] == ["Bash(git log", "git diff)", "Read"]
    assert said(found, "bash", command="git log") == "deny"
    assert said(found, "read", file_path="x") == "allow"


def test_a28_names_of_other_hosts_are_not_translated() -> None:
    found = agent("tools: [WebFetch, Grep, '*']")

    assert said(agent("tools: WebFetch"), "web_fetch") == "deny"
    assert said(found, "anything") == "allow"
    assert said(agent("tools: Grep"), "search", mode="grep", query="x") == "allow"


def test_a30_the_header_ends_at_the_second_fence_wherever_it_stands() -> None:
    text = "---\nname: a\ndescription: uses --- inside\ntools: Read\n---\nx\n"

    assert read_agent(Source("a.md", text)).tools.presence is Presence.ABSENT


def test_a31_a_later_file_replaces_an_earlier_one_and_a_bad_one_is_skipped() -> None:
    files = {
        ".claude/agents/a.md": "---\nname: a\ndescription: d\ntools: Read\n---\n",
        ".a3s/agents/a.yaml": "name: a\ndescription: d\ntools: [Write]\n",
        ".a3s/agents/deep/b.yaml": "name: [b]\ndescription: d\n",
    }
    workspace = load_tree(Memory(files), front_ends=(a3s,))
    codes = {finding.code for finding in workspace.findings}

    chain = workspace.chain("main", "a", reading="enforced")
    assert chain.decide("write", {}).effect is Effect.ALLOW
    assert {"a3s-agent-overridden", "a3s-agent-skipped"} <= codes


@pytest.mark.parametrize(
    ("text", "kind", "message", "underlined"),
    [
        (
            "description: d\n",
            "agent_parse",
            "Failed to parse agent YAML: missing field `name`",
            None,
        ),
        ("name: a\n", "agent_parse", "missing field `description`", None),
        (
            "name: ' '\ndescription: d\n",
            "agent_name_required",
            "Agent name is required",
            "' '",
        ),
        (
            "name: a\ndescription: d\nkind: overlord\n",
            "agent_parse",
            "unknown worker agent kind 'overlord'",
            "overlord",
        ),
        (
            "name: a\ndescription: d\npermissions:\n  allow: [5]\n",
            "agent_parse",
            "did not match any variant",
            "5",
        ),
        (
            "name: a\ndescription: d\npermissions:\n  default_decision: Deny\n",
            "agent_parse",
            "unknown variant `Deny`",
            "Deny",
        ),
        ("name: a\nname: b\n", "agent_parse", "Failed to parse agent YAML", None),
    ],
)
def test_a32_a_bad_file_has_the_kind_and_words_of_the_host(
    text: str, kind: str, message: str, underlined: str | None
) -> None:
    with pytest.raises(HostError) as caught:
        read_agent(Source("a.yaml", text))

    assert caught.value.kind == kind
    assert message in caught.value.message
    assert caught.value.span is not None
    if underlined:
        assert_underlines(caught.value, underlined)


def test_a32_markdown_without_a_header_is_refused() -> None:
    with pytest.raises(HostError, match="missing YAML frontmatter") as caught:
        read_agent(Source("a.md", "no header"))

    assert caught.value.kind == "no_frontmatter"


# --- agents that are shipped (A21 to A23) -----------------------------------------------


def test_a21_there_are_eight_agents_and_their_plan_tool_came_later() -> None:
    now, before = built_in_agents(), built_in_agents(A3sProfile.of("8.3"))

    assert len(now) == 8
    assert said(now["plan"], "update_plan") == "allow"
    assert said(before["plan"], "update_plan") == "deny"
    assert said(now["general"], "mcp__x__y") == "ask"


def test_a22_a23_other_names_are_known_by_case_and_cannot_be_projected() -> None:
    registry = AgentRegistry(built_in_agents())

    assert registry.find("code_reviewer").name == "review"
    with pytest.raises(HostError, match="Unknown agent type: 'Verifier'"):
        registry.find("Verifier")
    with pytest.raises(HostError, match="projected agent name 'verifier' conflicts"):
        registry.project(AgentDefinition("verifier", ""))
    assert registry.project(AgentDefinition("new", "")).find("new").name == "new"


# --- parent and child (A19, A33 to A41, A62) ----------------------------------------------

ALLOW = PermissionPolicy.of(default=Effect.ALLOW)
ASK = PermissionPolicy.of(allow=["zz"])


def delegated(parent: PermissionPolicy | None, provider: Provider, *call, **more) -> Effect:
    """Return the effect of a call of an agent below a session with these permissions."""
    return delegate(SessionSettings(permissions=parent, provider=provider), *call, **more)


def test_a34_a_definition_that_only_asks_is_dropped() -> None:
    for lines in ("permissions: {ask: [bash]}", "permissions: {default_decision: deny}"):
        assert delegated(ALLOW, Provider.MANAGER, agent(lines), "bash", {}) is Effect.ALLOW


@pytest.mark.parametrize(
    ("confirmation", "provider", "effect"),
    [
        ("auto_approve", Provider.NONE, "allow"),
        ("deny_on_ask", Provider.MANAGER, "deny"),
        ("inherit_parent", Provider.MANAGER, "ask"),
        ("inherit_parent", Provider.NONE, "deny"),
    ],
)
def test_a35_what_a_child_asks_goes_to_whom_it_says(
    confirmation: str, provider: Provider, effect: str
) -> None:
    child = agent(f"permissions: {{allow: [zz]}}\nconfirmation_inheritance: {confirmation}")

    assert str(delegated(ALLOW, provider, child, "bash", {})) == effect


def test_a36_what_the_parent_asks_is_asked_of_the_parent() -> None:
    assert delegated(ASK, Provider.MANAGER, agent("tools: [bash]"), "bash", {}) is Effect.ASK
    assert delegated(ASK, Provider.NONE, agent("tools: [bash]"), "bash", {}) is Effect.DENY


def test_a37_what_a_tool_wants_confirmed_goes_to_the_parent() -> None:
    child = agent("tools: [bash]")

    for provider, effect in ((Provider.MANAGER, Effect.ASK), (Provider.NONE, Effect.DENY)):
        got = delegated(ALLOW, provider, child, "bash", {}, needs_confirmation=True)
        assert got is effect


def test_a38_without_any_permissions_everything_is_asked() -> None:
    nothing = agent("confirmation_inheritance: inherit_parent")

    assert delegated(None, Provider.MANAGER, nothing, "bash", {}) is Effect.ASK
    assert delegated(None, Provider.MANAGER, agent(""), "bash", {}) is Effect.DENY


def test_a39_a40_an_agent_without_tools_and_one_that_would_start_another_are_denied() -> None:
    assert delegated(ALLOW, Provider.AUTO, agent("tool_free: true"), "read", {}) is Effect.DENY
    assert delegated(ALLOW, Provider.AUTO, agent("tools: ['*']"), "task", {}) is Effect.DENY


def test_a11_a_child_sees_what_it_names_though_the_host_hides_it() -> None:
    names, not_names = agent("tools: ['mcp__use_*']"), agent("")

    session = SessionSettings(permissions=ASK)
    denying = SessionSettings(permissions=PermissionPolicy.of(deny=["mcp__use_*"]))
    assert child_visible(session, names, "mcp__use_x", ("mcp__use_*",))
    assert not child_visible(session, not_names, "mcp__use_x", ("mcp__use_*",))
    assert not child_visible(denying, names, "mcp__use_x")


def test_a44_a_style_bounds_the_session_since_8_3() -> None:
    for version, effect in (("9.0", "deny"), ("8.2", "allow")):
        text = f"version: '{version}'\nstyle: plan\npermissions: {{default_decision: allow}}\n"
        workspace = load_tree(Memory({"a3s.session.yaml": text}), front_ends=(a3s,))
        assert str(workspace.chain("main").decide("bash", {}).effect) == effect


def test_history_a_child_was_not_bound_by_its_parent_before_5_3_1() -> None:
    files = {
        "a3s.session.yaml": "version: '5.2'\npermissions: {deny: [bash]}\n",
        ".a3s/agents/a.yaml": "name: a\ndescription: d\ntools: [bash]\n",
    }
    chain = load_tree(Memory(files), front_ends=(a3s,)).chain("main", "a", reading="enforced")

    assert chain.decide("bash", {}).effect is Effect.ALLOW


lines = st.lists(
    st.sampled_from(
        [
            "tools: [read, 'Bash(git:*)']",
            "disallowedTools: [bash]",
            "permissions: {ask: [bash], default_decision: deny}",
            "permissions: {allow: [bash], deny: [read]}",
            "tool_free: true",
            "kind: reviewer",
            "confirmation_inheritance: inherit_parent",
        ]
    ),
    max_size=3,
    unique_by=lambda line: line.split(":")[0],
).map("\n".join)
sessions = st.sampled_from(
    [
        "",
        "permissions: {allow: [read], deny: ['Bash(rm:*)']}",
        "permissions: {ask: [bash], default_decision: allow}",
    ]
)


@given(sessions, lines)
def test_a19_a62_a_child_never_gains_in_the_attenuated_reading(session: str, text: str) -> None:
    files = {
        "a3s.session.yaml": session or "version: '9.0'",
        ".a3s/agents/a.yaml": f"name: a\ndescription: d\n{text}\n",
    }
    chain = load_tree(Memory(files), front_ends=(a3s,)).chain("main")
    child = chain.spawn("a")

    for tool, args in (
        ("bash", {"command": "git x"}),
        ("bash", {"command": "rm x"}),
        ("read", {"file_path": "x"}),
        ("task", {}),
    ):
        above = min(
            (p.rules.row(tool).outcome(args).effect for p in chain.table.delegated.parts),
            default=Effect.ALLOW,
        )
        assert child.decide(tool, args).effect <= above


# --- findings -------------------------------------------------------------------------------


def test_a_session_that_cannot_be_read_denies() -> None:
    files = {"a3s.session.yaml": "permissions: {allow: [bash]}\nunknown: 1\n"}
    workspace = load_tree(Memory(files), front_ends=(a3s,))

    assert workspace.chain("main").decide("bash", {}).effect is Effect.DENY
    assert [finding.code for finding in workspace.findings] == ["a3s-bad-session"]
