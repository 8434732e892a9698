"""A3S: the compiled policy agrees with a reference written for obviousness, in every version."""

from __future__ import annotations

import json
import re

from hypothesis import assume, given
from hypothesis import strategies as st

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts import a3s
from policy.hosts.a3s.agents import Provider, read_agent, read_session
from policy.hosts.a3s.gate import delegate
from policy.hosts.a3s.rules import QUERIES, A3sProfile, PermissionPolicy, managed
from policy.hosts.workspace import load_tree
from policy.tables.chain import SpawnDenied

# --- the reference -------------------------------------------------------------


def matches_glob(pattern: str, text: str) -> bool:
    if pattern.endswith(":*"):
        return text.startswith(pattern[:-2])
    parts = re.findall(r"\*\*/?|.", pattern, re.DOTALL)
    kinds = {"**": ".*", "*": r"[^/\\]*", "?": r"[^/\\]"}
    expression = "".join(
        kinds.get(part.removesuffix("/") or "/", re.escape(part)) for part in parts
    )
    return re.fullmatch(expression, text.replace("\\", "/")) is not None


def matches_tool(rule: str, tool: str) -> bool:
    if "*" in rule or "?" in rule:
        return matches_glob(rule, tool)
    return (rule.startswith("mcp__") and tool.startswith(rule)) or rule.lower() == tool.lower()


def text_of(tool: str, args: dict, version: A3sProfile) -> str:
    def text(key: str) -> str:
        return args[key] if isinstance(args.get(key), str) else ""

    match tool.lower():
        case "bash":
            return text("command")
        case "read" if not isinstance(args.get("file_path"), str) and "files" in args:
            return "\n".join(entry["path"] for entry in args["files"])
        case "read" | "write" | "edit" | "download":
            return text("file_path")
        case "ls":
            return text("path")
        case "search" if version.numbers >= (6, 8):
            return f"{text('mode')} {text('query')} {text('path')}"
        case "grep" if not version.numbers >= (6, 8):
            return f"{text('pattern')} {text('path')}"
        case "glob" if not version.numbers >= (6, 8):
            return text("pattern")
        case _:
            return json.dumps(args, sort_keys=True, separators=(",", ":"))


def parsed(rule: str, version: A3sProfile) -> tuple[str, str | None]:
    tool, pattern = rule, None
    if "(" in rule and rule.endswith(")"):
        tool, _, pattern = rule[:-1].partition("(")
    if version.numbers >= (6, 8) and tool.lower() in {"grep", "glob", "bm25"}:
        pattern = f"{tool.lower()} {'**' if pattern in (None, '*') else pattern}"
        tool = "search"
    return tool, pattern


def matches(rule: str, tool: str, args: dict, version: A3sProfile) -> bool:
    named, pattern = parsed(rule, version)
    if not matches_tool(named, tool):
        return False
    return pattern in (None, "*") or matches_glob(pattern, text_of(tool, args, version))


def in_lane(rule: str, tool: str, version: A3sProfile) -> bool:
    lane = "query" if tool in QUERIES else "execute"
    return version.numbers >= (9,) and rule == f"lane:{lane}"


def decided(policy: dict, tool: str, args: dict, version: A3sProfile) -> Effect:
    if not policy["enabled"]:
        return Effect.ALLOW
    if any(matches(rule, tool, args, version) for rule in policy["deny"]):
        return Effect.DENY
    if any(
        matches(rule, tool, args, version) or in_lane(rule, tool, version)
        for rule in policy["allow"]
    ):
        return Effect.ALLOW
    if any(matches(rule, tool, args, version) for rule in policy["ask"]):
        return Effect.ASK
    return policy["default"]


def shown(policy: dict, tool: str, version: A3sProfile) -> bool:
    if not policy["enabled"] or not version.numbers >= (5, 2, 8):
        return True
    rules = [parsed(rule, version) for rule in policy["deny"]]
    if any(matches_tool(named, tool) and pattern in (None, "*") for named, pattern in rules):
        return False
    rules = [parsed(rule, version) for rule in (*policy["allow"], *policy["ask"])]
    return policy["default"] is not Effect.DENY or any(matches_tool(n, tool) for n, _ in rules)


# --- what is tried ---------------------------------------------------------------

TOOLS = (
    *("bash", "Bash", "BASH", "read", "Read", "write", "ls", "search", "grep", "glob", "git"),
    *("task", "web_fetch", "mcp__a__b", "mcp__ab__c", "MCP__a__b", "mcp__a", "x/y"),
)
PATTERNS = (
    *("*", "**", "", ":*", "git:*", "git *", "git **", "src/*", "src/**", "**/x", "src/**/x.rs"),
    *("?", "a?c", "src/:*", "grep *", "glob **", "grep x src", "(a)", "a(b", '**"agent":"e"**'),
    *('{"url":"u"}', "a\nb", "src\\x", "{a,b}", "[ab]", "."),
)
names = st.sampled_from(
    (*TOOLS, "*", "**", "mcp__*", "mcp__?__*", "Web_*", "web_*", "gre?", "bm25", "rea?", "mcp__a:*")
)
rules = st.one_of(
    names,
    st.builds("{}({})".format, names, st.sampled_from(PATTERNS)),
    st.sampled_from(("lane:query", "lane:execute", "lane:control", "Bash(rm:*", "Bash (x)", "")),
)
lists = st.lists(rules, max_size=3)
policies = st.fixed_dictionaries(
    {
        "deny": lists,
        "allow": lists,
        "ask": lists,
        "default": st.sampled_from(list(Effect)),
        "enabled": st.sampled_from((True, True, True, False)),
    }
)
texts = st.sampled_from(
    (
        *("", "git", "git status", "git add src/x", "git a\nb", "src/x", "src\\x", "src/a/x.rs"),
        *("x", "../x", "abc", "grep", "(a)", "a(b", "{a,b}", "a", "."),
    )
)
arguments = st.one_of(
    st.just({}),
    st.builds(lambda text: {"command": text, "file_path": text, "path": text}, texts),
    st.builds(
        lambda m, q, p: {"mode": m, "query": q, "path": p, "pattern": q}, texts, texts, texts
    ),
    st.builds(lambda a, b: {"files": [{"path": a}, {"path": b}]}, texts, texts),
    st.sampled_from(({"url": "u"}, {"tasks": [{"agent": "e"}]}, {"command": 7}, {"path": None})),
)
versions = st.sampled_from(
    [A3sProfile.of(text) for text in ("4.9", "5.0", "5.2.8", "6.7", "6.8", "8.3", "8.4", "9.0")]
)


@given(policies, st.sampled_from(TOOLS), arguments, versions)
def test_a1_to_a17_the_compiled_policy_decides_as_the_reference_does(
    policy: dict, tool: str, args: dict, version: A3sProfile
) -> None:
    compiled = PermissionPolicy.of(**policy, profile=version)

    assert compiled.check(tool, args).effect is decided(policy, tool, args, version)
    assert compiled.visible(tool) is shown(policy, tool, version)


@given(policies, policies, st.sampled_from(TOOLS), arguments, versions)
def test_a15_a_manager_decides_as_the_reference_does(
    everyone: dict, session: dict, tool: str, args: dict, version: A3sProfile
) -> None:
    both, one = ({**policy, "enabled": True} for policy in (everyone, session))
    merged = {**one, "deny": [*one["deny"], *both["deny"]]}
    compiled = managed(
        PermissionPolicy.of(**everyone, profile=version),
        PermissionPolicy.of(**session, profile=version),
    )

    assert compiled.check(tool, args).effect is decided(merged, tool, args, version)


# --- chains and single calls ---------------------------------------------------------

sessions = st.sampled_from(
    (
        "",
        "permissions: {allow: [read, task], deny: ['Bash(rm:*)']}\n",
        "permissions: {ask: [bash], default_decision: allow}\n",
        "permissions: {default_decision: deny, allow: [task, bash]}\n",
    )
)
agents = st.sampled_from(
    (
        "",
        "tools: [read, 'Bash(git:*)']\n",
        "disallowedTools: [read]\n",
        "permissions: {ask: [bash], default_decision: deny}\n",
        "permissions: {allow: [read], default_decision: ask}\n",
        "tool_free: true\n",
        "kind: reviewer\n",
        "tools: []\npermissions: {deny: [write]}\n",
    )
)
said = st.sampled_from(("", "auto_approve", "deny_on_ask", "inherit_parent"))


@given(
    sessions,
    agents,
    said,
    st.sampled_from(list(Provider)),
    st.sampled_from(("2.4", "4.2", "5.3", "5.3.1", "9.0")),
    st.sampled_from(("bash", "read", "write", "task", "mcp__a__b")),
    texts,
)
def test_a35_the_enforced_chain_decides_as_the_gate_does(  # noqa: PLR0917
    session: str, text: str, said: str, provider: Provider, version: str, tool: str, command: str
) -> None:
    text = f"name: a\ndescription: d\n{text}"
    text += f"confirmation_inheritance: {said}\n" if said else ""
    files = {
        "a3s.session.yaml": f"version: '{version}'\nconfirmation: {provider.value}\n{session}",
        ".a3s/agents/a.yaml": text,
    }
    args = {"command": command, "file_path": command}
    agent = read_agent(Source("a.yaml", text), A3sProfile.of(version))
    started_by = read_session(Source("a3s.session.yaml", files["a3s.session.yaml"]))
    try:
        chain = load_tree(Memory(files), front_ends=(a3s,)).chain("main", "a", reading="enforced")
    except SpawnDenied:
        return  # the session may not start it

    decision = chain.decide(tool, args)
    assume(decision.reason is not Reason.NO_ROOT)  # the gate reads no paths
    assert decision.effect is delegate(started_by, agent, tool, args)
