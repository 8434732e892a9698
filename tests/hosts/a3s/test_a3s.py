"""A3S: the rule language and `PermissionPolicy`; the rows that a test is for are in its name or body."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.compare.tables import differences
from policy.core import limits, values
from policy.core.effect import Effect
from policy.core.source import Source
from policy.hosts.a3s.agents import read_session
from policy.hosts.a3s.rules import (
    NEWEST,
    A3sProfile,
    Lane,
    PermissionPolicy,
    PermissionRule,
    lane_of,
    managed,
)
from policy.patterns.notations import Unusable, slashed
from policy.tables.codec import table_from_json, table_to_json
from policy.tables.table import Table

OLD = A3sProfile.of("6.7")


def said(tool: str, args: dict, profile: A3sProfile = NEWEST, **lists) -> Effect:
    return PermissionPolicy.of(profile=profile, **lists).check(tool, args).effect


# --- the glob (A8) ---------------------------------------------------------------

_GLOB = {"**": ".*", "*": r"[^/\\]*", "?": r"[^/\\]"}


def oracle(pattern: str, text: str) -> bool:
    """The glob as a regular expression, as plainly as it can be said."""
    if pattern.endswith(":*"):
        return text.startswith(pattern[:-2])
    parts = re.findall(r"\*\*/?|.", pattern, re.DOTALL)
    expression = "".join(
        _GLOB.get(part[:2] if part.startswith("**") else part) or re.escape(part) for part in parts
    )
    return re.fullmatch(expression, text.replace("\\", "/")) is not None


@given(st.text("ab/*?:", max_size=7), st.text("ab/\\\n:", max_size=7))
def test_a8_a_glob_matches_what_its_expression_matches(pattern: str, text: str) -> None:
    assert slashed(pattern).matches(text) is oracle(pattern, text)


def test_a8_a_hostile_glob_takes_no_time() -> None:
    pattern = slashed("**a" * 30 + "b")

    assert not pattern.matches("a" * 3000)


def test_a8_a_backslash_in_a_glob_matches_nothing() -> None:
    with pytest.raises(Unusable):
        slashed("src\\*.rs")


def test_a8_inclusion_of_globs_is_decided() -> None:
    assert slashed("src/**.rs") <= slashed("src/**")
    assert not slashed("src/*.rs") <= slashed("src/**")  # a name may hold a line break
    assert not slashed("src/**") <= slashed("src/*")
    assert not slashed("git *") <= slashed("git **")  # a line break rides on one star alone


def test_a_table_with_globs_survives_json() -> None:
    table = PermissionPolicy.of(
        allow=["Bash(git **)", "mcp__x", "Read(src/?*)"], deny=["web_*"]
    ).table

    assert table_from_json(table_to_json(table)) == table


# --- rules (A2, A5, A6) ------------------------------------------------------------


@pytest.mark.parametrize("text", ["Bash(rm:*", "Bash(ls:*) ", "Bash (ls:*)", ""])
def test_a5_what_is_malformed_does_nothing(text: str) -> None:
    rule = PermissionRule.of(text)

    assert rule.problem
    assert rule.entries(Effect.DENY) == ()


LONG = "x" * limits.PATTERN_CHARACTERS


@pytest.mark.parametrize("text", [f"Bash(rm {LONG}*)", f"bash({LONG}:*)", f"b?sh({LONG})"])
def test_a_rule_that_is_too_long_grants_nothing_and_denies_its_tool(text: str) -> None:
    listed, other = {"command": f"rm {LONG}"}, {"command": "ls"}

    assert said("bash", listed, deny=[text], allow=["bash"]) is Effect.DENY
    assert said("bash", other, deny=[text], allow=["bash"]) is Effect.DENY
    assert said("bash", other, ask=[text], default=Effect.ALLOW) is Effect.DENY
    assert said("bash", listed, allow=[text], default=Effect.DENY) is Effect.DENY
    assert said("read", {"file_path": "a"}, deny=[text], allow=["read"]) is Effect.ALLOW


@pytest.mark.parametrize("tool", [f"mcp__{LONG}", f"*{LONG}"])
def test_a_tool_that_is_too_long_may_be_any(tool: str) -> None:
    assert said("bash", {}, deny=[tool], allow=["bash"]) is Effect.DENY
    assert said("bash", {}, allow=[tool]) is Effect.ASK


def test_the_longest_rule_is_read() -> None:
    name = "mcp__" + "x" * (limits.PATTERN_CHARACTERS - 7)
    longest = f"Bash({'x' * (limits.PATTERN_CHARACTERS - 8)})"

    assert said(f"{name}y", {}, deny=[name], allow=["*"]) is Effect.DENY
    assert said("bash", {"command": "ls"}, deny=[longest], allow=["bash"]) is Effect.ALLOW
    assert said("bash", {"command": longest[5:-1]}, deny=[longest]) is Effect.DENY


def test_a2_a_rule_has_a_tool_and_everything_between_the_outer_parentheses() -> None:
    rule = PermissionRule.of("Bash(echo (a) (b))")

    assert (rule.tool, rule.pattern) == ("Bash", "echo (a) (b)")


@pytest.mark.parametrize(
    ("rule", "tool", "effect"),
    [
        ("READ", "read", "allow"),
        ("web_*", "web_fetch", "allow"),
        ("Web_*", "web_fetch", "ask"),
        ("*", "a/b", "ask"),
        ("**", "a/b", "allow"),
        ("rea?", "read", "allow"),
        ("mcp__pencil", "mcp__pencil2__wipe", "allow"),
        ("mcp__pencil", "MCP__pencil", "allow"),
        ("mcp__pencil", "MCP__pencil__x", "ask"),
        ("read", "reads", "ask"),
    ],
)
def test_a6_names_are_equal_but_for_case_or_a_glob_or_a_prefix(
    rule: str, tool: str, effect: str
) -> None:
    assert str(said(tool, {}, allow=[rule])) == effect


# --- arguments (A7, A9) ------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "tool", "args", "matches"),
    [
        ("read(a.txt\nb.txt)", "read", {"files": [{"path": "a.txt"}, {"path": "b.txt"}]}, True),
        ("read(a)", "read", {"file_path": "a", "files": [{"path": "b"}]}, True),
        ("search(grep x )", "search", {"mode": "grep", "query": "x"}, True),
        ("search( x )", "search", {"query": "x"}, True),
        ('git({"command":"status"})', "git", {"command": "status"}, True),
        ("git(**b**)", "git", {"z": 1, "a": "b"}, True),
        ("bash()", "bash", {"command": None}, True),
        ("ls(src)", "ls", {"path": "src"}, True),
        ("edit(x)", "edit", {"path": "x"}, False),
    ],
)
def test_a7_each_tool_has_its_own_text(rule: str, tool: str, args: dict, matches: bool) -> None:
    assert said(tool, args, allow=[rule]) is (Effect.ALLOW if matches else Effect.ASK)


def test_a9_before_6_8_grep_and_glob_are_tools_of_their_own() -> None:
    assert said("grep", {"pattern": "a", "path": "src"}, OLD, allow=["Grep(a src)"]) is Effect.ALLOW
    assert said("glob", {"pattern": "*.rs"}, OLD, allow=["Glob(x.rs)"]) is Effect.ASK
    assert said("grep", {"pattern": "a"}, allow=["Grep(a*)"]) is Effect.ASK
    assert said("search", {"mode": "grep", "query": "a"}, allow=["Grep(a*)"]) is Effect.ALLOW


def test_a29_the_agent_of_a_task_rule_is_compared_with_json() -> None:
    call = {"tasks": [{"agent": "explore", "description": "d", "prompt": "p"}]}

    assert said("task", call, allow=["Task(explore)"]) is Effect.ASK
    assert said("task", call, allow=['Task(**"explore"**)']) is Effect.ALLOW


# --- policies (A1, A3, A4, A10 to A15, A17) -------------------------------------------


def test_a1_the_order_is_disabled_then_deny_allow_ask_and_the_default() -> None:
    lists = {"deny": ["bash(a)"], "allow": ["bash(b)", "bash(a)"], "ask": ["bash(c)", "bash(b)"]}

    got = [said("bash", {"command": c}, default=Effect.DENY, **lists) for c in "abcd"]

    assert got == [Effect.DENY, Effect.ALLOW, Effect.ASK, Effect.DENY]
    assert said("bash", {"command": "a"}, enabled=False, **lists) is Effect.ALLOW


def test_a10_a17_a_lane_is_every_tool_of_it_and_only_where_something_is_allowed() -> None:
    lane = {"allow": ["lane:execute"], "ask": ["read(secret)"], "deny": ["bash"]}

    assert said("write", {}, **lane) is Effect.ALLOW
    assert said("mcp__x__y", {}, **lane) is Effect.ALLOW
    assert said("READ", {}, **lane) is Effect.ALLOW  # lanes go by the exact name
    assert said("bash", {}, **lane) is Effect.DENY
    assert said("ls", {}, **lane) is Effect.ASK
    assert said("ls", {}, default=Effect.DENY, **lane) is Effect.DENY
    assert said("read", {"file_path": "secret"}, default=Effect.DENY, **lane) is Effect.ASK
    assert said("write", {}, A3sProfile.of("8.4"), **lane) is Effect.ASK
    assert lane_of("web_search") is Lane.QUERY
    assert lane_of("Read") is Lane.EXECUTE


def test_a11_a_tool_may_be_allowed_and_hidden() -> None:
    policy = PermissionPolicy.of(allow=["lane:query"], default=Effect.DENY)

    assert policy.check("read", {}).effect is Effect.ALLOW
    assert not policy.visible("read")
    assert not policy.declares("read")


def test_a12_every_matching_rule_is_listed_with_its_place() -> None:
    text = "permissions:\n  deny: ['bash(rm:*)']\n  allow: [bash, read, 'lane:execute']\n  ask: ['*']\n"
    policy = read_session(Source("a3s.session.yaml", text)).permissions

    found = policy.matching_rules("bash", {"command": "rm x"})
    because = policy.check("bash", {"command": "rm x"}).because[0]

    assert {effect.value: [rule.text for rule in rules] for effect, rules in found.items()} == {
        "deny": ["bash(rm:*)"],
        "allow": ["bash"],
        "ask": ["*"],
    }
    assert [rules[0].span.place.line for rules in found.values()] == [2, 3, 4]
    assert (because.rule, because.place) == ("bash(rm:*)", found[Effect.DENY][0].span.place)


def test_a12_a_policy_that_is_not_in_force_lists_its_matches_too() -> None:
    policy = PermissionPolicy.of(deny=["bash"], allow=["Bash (ls)"], enabled=False)

    assert [len(rules) for rules in policy.matching_rules("bash", {}).values()] == [1, 0, 0]


def test_a13_an_ask_is_not_allowed() -> None:
    policy = PermissionPolicy.of(ask=["bash"])

    assert policy.check("bash", {}).effect is Effect.ASK


def test_a14_a_policy_without_rules_asks() -> None:
    assert PermissionPolicy.of() == PermissionPolicy()
    assert PermissionPolicy().check("bash", {}).effect is Effect.ASK


def test_a15_a_session_replaces_all_but_the_denies_of_everyone() -> None:
    everyone = PermissionPolicy.of(deny=["bash(rm:*)"], allow=["read"], enabled=False)
    manager = managed(everyone, PermissionPolicy.of(allow=["bash"], default=Effect.DENY))

    assert manager.check("bash", {"command": "rm x"}).effect is Effect.DENY
    assert manager.check("bash", {"command": "ls"}).effect is Effect.ALLOW
    assert manager.check("read", {}).effect is Effect.DENY
    assert managed(everyone).check("read", {}).effect is Effect.ALLOW
    assert managed(everyone).check("bash", {"command": "rm x"}).effect is Effect.DENY


def test_a16_s20_a_policy_is_one_value_for_every_thread() -> None:
    policy = PermissionPolicy.of(allow=["Bash(git **)"], deny=["Bash(git push:*)"])
    calls = [{"command": f"git log a/{number}"} for number in range(200)]

    with ThreadPoolExecutor(8) as pool:
        got = set(pool.map(lambda call: policy.check("bash", call).effect, calls))

    assert got == {Effect.ALLOW}


def test_a63_the_version_is_part_of_the_table() -> None:
    new, old = (
        PermissionPolicy.of(allow=["lane:query"], profile=A3sProfile.of(version))
        for version in ("9.0", "8.4")
    )

    assert new.table.hash != old.table.hash


texts = st.sampled_from(
    [
        "bash",
        "*",
        "Bash(git:*)",
        "Bash(git *)",
        "Bash(**x)",
        "read",
        "Read(src/**)",
        "mcp__a",
        "web_?*",
        "lane:query",
        "grep",
        "**",
        'git({"command":"status"})',
        "git(**push**)",
        "search(grep x src)",
        "Read(a\nb)",
    ]
)
policies = st.builds(
    PermissionPolicy.of,
    deny=st.lists(texts, max_size=2),
    allow=st.lists(texts, max_size=2),
    ask=st.lists(texts, max_size=2),
    default=st.sampled_from(list(Effect)),
)
calls = st.sampled_from(
    [("bash", {"command": c}) for c in ("git", "git a/b", "git a\nb", "x")]
    + [("read", {"file_path": p}) for p in ("src/a", "a", "src\\a")]
    + [("mcp__ab__c", {}), ("web_f", {}), ("search", {"mode": "grep", "query": "x"})]
    + [("search", {"mode": "grep", "query": "x", "path": "src"}), ("a/b", {})]
    + [("git", {"command": "status"}), ("git", {"z": [1], "a": "push"})]
    + [("read", {"files": [{"path": "a"}, {"path": "b"}]})]
)


@given(policies, policies, calls)
def test_a3_a33_composition_is_the_stricter_of_two(
    one: PermissionPolicy, two: PermissionPolicy, call: tuple
) -> None:
    both = one.table & two.table

    assert both == two.table & one.table
    assert both & both == both
    assert both.decide(*call).effect is min(one.check(*call).effect, two.check(*call).effect)


@given(policies, policies, calls)
def test_a64_a_difference_is_exact(
    one: PermissionPolicy, two: PermissionPolicy, call: tuple
) -> None:
    found = differences(one.table, two.table)

    for difference in found.differences:
        assert one.table.decide(difference.tool, difference.call).effect is difference.before.effect
        assert two.table.decide(difference.tool, difference.call).effect is difference.after.effect
    if one.check(*call).effect is not two.check(*call).effect:
        assert found.differences or not found.exact


@pytest.mark.parametrize(
    ("rule", "witness"),
    [
        ('git({"command":"status"})', {"command": "status"}),
        ("search(grep x src)", {"mode": "grep", "query": "x", "path": "src"}),
        ("read(a\nb)", {"file_path": "a\nb"}),
    ],
)
def test_a64_a_rule_for_one_call_of_several_arguments_is_not_overlooked(
    rule: str, witness: dict
) -> None:
    (difference,) = differences(
        PermissionPolicy().table, PermissionPolicy.of(allow=[rule]).table
    ).differences

    assert difference.call == witness


def test_a64_a_pattern_for_names_with_slashes_is_wider_than_one_without() -> None:
    one, two = (PermissionPolicy.of(allow=[glob]).table for glob in ("*", "**"))

    assert not two <= one
    assert any("/" in d.tool and d.widened for d in differences(one, two).differences)


def test_the_decision_of_a_table_says_where_its_rule_is() -> None:
    rule = values.evolve(PermissionRule.of("bash"), span=None)

    assert (
        Table.of(PermissionPolicy(allow=(rule,)).rules).decide("bash", {}).because[0].rule == "bash"
    )
