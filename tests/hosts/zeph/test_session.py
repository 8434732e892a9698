"""The gates of a session: rows B.2, B.5 to B.9, B.11 and B.18 to B.23."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.core.effect import Effect
from policy.hosts import zeph
from policy.hosts.fields import HostError
from policy.hosts.zeph.definition import (
    SkillFilter,
    normalize,
    parse,
)
from policy.hosts.zeph.findings import blocked_fence, condition_holds, matches
from policy.hosts.zeph.session import (
    RAW,
    Autonomy,
    PermissionGrants,
    PolicyEnforcer,
    PolicyRule,
    SessionPermissions,
    SessionRule,
    ToolScope,
    TrustLevel,
    ZephSession,
    check_secret,
    glob,
    read_policy_file,
)
from policy.hosts.zeph.spawning import (
    ZephOptions,
    network_rules,
    sees,
)
from policy.patterns.notations import Unusable
from policy.tables.chain import Chain
from policy.tables.table import Table
from tests.conformance.zeph import rules_of

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def _policy(*rules: tuple[str, Effect], tool: str = "bash") -> SessionPermissions:
    return SessionPermissions(rules={tool: [SessionRule(*rule) for rule in rules]})


def _refused(kind: str, call: object) -> None:
    with pytest.raises(HostError) as caught:
        call()
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("Bash(cargo *)", "bash"),
        (" Read ", "read"),
        ("(x)", ""),
        ("MCP__a__B", "mcp__a__b"),
        ("*", "*"),
    ],
)
def test_a_name_ends_before_its_parenthesis_and_case_does_not_count(name: str, tool: str) -> None:
    assert normalize(name) == tool


# --- autonomy -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "tool", "text", "effect"),
    [
        (_policy(("echo *", ALLOW)), "bash", "echo a; rm b", ALLOW),
        (_policy(("*rm -rf*", DENY)), "bash", "rm -rf /tmp", DENY),
        (_policy(("*Sudo*", DENY)), "bash", "SUDO x", DENY),
        (_policy(("*safe*", ALLOW), ("*", DENY)), "bash", "safe or not", ALLOW),
        (_policy(("*", DENY)), "BASH", "x", ASK),
        (_policy(("[", DENY), ("a**b", DENY), ("?", ALLOW)), "bash", "x", ALLOW),
        (_policy(), "bash", "x", ASK),
        (SessionPermissions(Autonomy.READ_ONLY), "read", "x", ALLOW),
        (SessionPermissions(Autonomy.READ_ONLY), "bash", "x", DENY),
        (SessionPermissions(Autonomy.FULL, {"bash": [SessionRule("*", DENY)]}), "bash", "x", ALLOW),
        (SessionPermissions.from_legacy(["rm"], ["git"]), "bash", "rm x", DENY),
        (SessionPermissions.from_legacy(["rm"], ["git"]), "bash", "git x", ASK),
        (SessionPermissions.from_legacy(["rm"], ["git"]), "bash", "ls", ALLOW),
    ],
)
def test_the_first_rule_decides_and_the_rest_is_asked_for(
    policy: SessionPermissions, tool: str, text: str, effect: Effect
) -> None:
    assert policy.check(tool, text).effect is effect


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ((), None),
        ((("*", DENY),), ("read",)),
        ((("**", DENY),), ("read",)),
        ((("", DENY),), ("read",)),
        ((("*rm*", DENY), ("*", DENY)), ("read",)),
        ((("[", ALLOW), ("*", DENY)), ("read",)),
        ((("x", ASK), ("*", DENY)), None),
        ((("*rm*", DENY),), None),
    ],
)
def test_rules_take_a_tool_away_where_they_deny_all_of_it(
    rules: tuple[tuple[str, Effect], ...], left: tuple[str, ...] | None
) -> None:
    policy = _policy(*rules, tool="Bash(x)")
    assert policy.effective_tool_allowlist(["bash", "read"]) == left


def test_a_rule_that_is_no_glob_is_reported() -> None:
    assert [f.code for f in _policy(("[", DENY), ("a", DENY)).findings()] == ["rule-is-no-glob"]


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("a*", ["a", "a/b"], ["b"]),
        ("/etc/**", ["/etc/", "/etc/a/b"], ["/etc"]),
        ("**/x", ["x", "a/b/x"], ["ax"]),
        ("a/**/b", ["a/b", "a/c/d/b"], ["ab"]),
        ("[!a-c]?", ["dx"], ["ax", "d"]),
    ],
)
def test_globs(text: str, matching: list[str], other: list[str]) -> None:
    patterns = glob(text)
    assert all(any(p.matches(one) for p in patterns) for one in matching)
    assert not any(p.matches(one) for p in patterns for one in other)


@pytest.mark.parametrize("text", ["[", "a**", "***", "**/" * 9 + "x"])
def test_what_is_no_glob(text: str) -> None:
    with pytest.raises(Unusable):
        glob(text)


# --- trust ------------------------------------------------------------------------------


def _session(reading: str = "enforced", **fields: object) -> Chain:
    return Chain.start(
        zeph.MAIN, zeph.project({}, ZephOptions(session=ZephSession(**fields))).reading(reading)
    )


@pytest.mark.parametrize(
    ("level", "tool", "effect"),
    [
        ("trusted", "bash", ALLOW),
        ("verified", "bash", ALLOW),
        ("quarantined", "bash", DENY),
        ("quarantined", "read", ALLOW),
        ("quarantined", "web_search", ALLOW),
        ("quarantined", "filesystem_write", DENY),
        ("quarantined", "filesystem_write_file", ALLOW),
        ("quarantined", "any_tool", DENY),
        ("quarantined", "BASH", ALLOW),
        ("blocked", "read", DENY),
    ],
)
def test_quarantine_denies_its_list_by_names_as_written(
    level: str, tool: str, effect: Effect
) -> None:
    fields = {"trust": TrustLevel(level), "servers": ("any_tool",)}
    assert _session(**fields).decide(tool, {}).effect is effect
    if tool == "BASH":
        # Declared, a name is a name in any case.
        assert _session("attenuated", **fields).decide(tool, {}).effect is DENY


def test_behind_the_gate_a_tool_without_rules_is_let_through() -> None:
    chain = _session(policy=_policy(("ls", ALLOW)), trust=TrustLevel.TRUSTED)
    assert chain.decide("read", {}).effect is ALLOW
    assert chain.decide("bash", {"command": "ls"}).effect is ALLOW
    assert chain.decide("bash", {"command": "rm"}).effect is ASK


# --- policy rules -----------------------------------------------------------------------


def _enforcer(*rules: dict, default: str = "deny") -> PolicyEnforcer:
    return PolicyEnforcer.of(*rules_of({"rules": list(rules), "default_effect": default}))


@pytest.mark.parametrize(
    ("rules", "params", "trust", "effect"),
    [
        ([], {}, "trusted", "deny"),
        ([{"effect": "allow", "tool": "sh"}], {}, "trusted", "allow"),
        ([{"effect": "allow", "tool": "ba*"}], {}, "trusted", "deny"),
        (
            [{"effect": "allow", "tool": "*"}, {"effect": "deny", "tool": "shell"}],
            {},
            "trusted",
            "deny",
        ),
        (
            [{"effect": "allow", "tool": "shell", "paths": ["/etc/*"]}],
            {"command": "cat /tmp/../etc/x"},
            "trusted",
            "allow",
        ),
        (
            [{"effect": "allow", "tool": "shell", "paths": ["/etc/*"]}],
            {"uri": "/etc/../x"},
            "trusted",
            "deny",
        ),
        (
            [{"effect": "allow", "tool": "shell", "trust_level": "verified"}],
            {},
            "verified",
            "allow",
        ),
        (
            [{"effect": "allow", "tool": "shell", "trust_level": "verified"}],
            {},
            "quarantined",
            "deny",
        ),
        ([{"effect": "allow", "tool": "shell", "env": ["CI", "HOME"]}], {}, "trusted", "deny"),
        ([{"effect": "allow", "tool": "shell", "env": ["CI"]}], {}, "trusted", "allow"),
        (
            [{"effect": "allow", "tool": "shell", "args_match": "^ls"}],
            {"command": "ls -l"},
            "trusted",
            "allow",
        ),
        (
            [{"effect": "allow", "tool": "shell", "args_match": "^ls"}],
            {"command": "rm"},
            "trusted",
            "deny",
        ),
        (
            [{"effect": "allow", "tool": "shell", "args_match": "l"}],
            {"command": "l" * 5000},
            "trusted",
            "deny",
        ),
    ],
)
def test_every_condition_of_a_rule_must_hold_and_denials_come_first(
    rules: list[dict], params: dict, trust: str, effect: str
) -> None:
    verdict = _enforcer(*rules).decide(" Bash ", params, TrustLevel(trust), ["CI"])
    assert str(verdict.effect) == effect


def test_an_answer_has_a_trace() -> None:
    rules = _enforcer(
        {"effect": "allow", "tool": "x"}, {"effect": "deny", "tool": "shell", "paths": ["/etc/*"]}
    )
    verdict = rules.decide("bash", {"path": "/etc/a"}, TrustLevel.TRUSTED)
    assert (verdict.rule, verdict.trace) == (1, "rule[1] deny: tool=bash matched shell")
    trace = rules.decide("y", {}, TrustLevel.TRUSTED).trace
    assert trace == "default: deny (no matching rules)"


def test_a_denial_that_exempts_the_least_trusted_is_reported() -> None:
    rules = PolicyEnforcer.of([PolicyRule(DENY, "x", trust_level=TrustLevel.VERIFIED)], ALLOW)
    assert rules.decide("x", {}, TrustLevel.QUARANTINED).effect is ALLOW
    assert [f.code for f in rules.findings()] == ["trust-exempts-from-deny"]


def test_the_limits_of_policy_rules(tmp_path: Path) -> None:
    rule = PolicyRule(DENY)
    assert len(PolicyEnforcer.of([rule] * 256).rules) == 256
    _refused("TooManyRules", lambda: PolicyEnforcer.of([rule] * 257))
    for text, kind in (
        ("x" * 1025, "RegexTooLong"),
        ("(", "InvalidRegex"),
        ("(a*)*", "InvalidRegex"),
    ):
        _refused(kind, lambda text=text: PolicyEnforcer.of([PolicyRule(DENY, args_match=text)]))
    _refused("InvalidGlob", lambda: PolicyEnforcer.of([PolicyRule(DENY, "[")]))
    _refused("FileParse", lambda: _enforcer({"effect": "deny"}))
    _refused("FileParse", lambda: _enforcer({"effect": "ask", "tool": "x"}))
    _refused("FileParse", lambda: _enforcer({"tool": "x"}))

    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "out.toml").write_text("")
    (work / "link.toml").symlink_to(tmp_path / "out.toml")
    (work / "bad.toml").write_text("[")
    (work / "big.toml").write_text("#" * (256 * 1024 + 1))
    (work / "good.toml").write_text("[[rules]]\neffect = 'allow'\ntool = 'read'\n")
    for name, kind in (
        ("link.toml", "FileEscapesRoot"), ("../out.toml", "FileEscapesRoot"),
        ("bad.toml", "FileParse"), ("big.toml", "FileTooLarge"), ("none.toml", "FileLoad"),
    ):  # fmt: skip
        _refused(kind, lambda name=name: PolicyEnforcer.of(read_policy_file(name, work)))
    assert (
        PolicyEnforcer.of(read_policy_file("good.toml", work))
        .decide("read", {}, TrustLevel.TRUSTED)
        .effect
        is ALLOW
    )


# --- scopes, grants, hooks, skills, network ---------------------------------------------

REGISTRY = ["builtin:bash", "builtin:read", "skill:a/b", "mcp:gh/create"]


def test_a_scope_is_expanded_once_and_looked_up() -> None:
    scope = ToolScope.of(["builtin:read", "mcp:gh/*", "mcp:no/*"], REGISTRY)
    assert scope.tools == {"builtin:read", "mcp:gh/create"}
    assert (scope.holds("read"), scope.holds("bash")) == (True, False)
    assert [f.code for f in scope.findings] == ["dead-scope-pattern"]
    for patterns, kind in (
        (["["], "InvalidPattern"), (["builtin:x"], "DeadPattern"),
        (["*"], "AccidentallyFull"),
    ):  # fmt: skip
        _refused(kind, lambda patterns=patterns: ToolScope.of(patterns, REGISTRY))
    _refused("UnqualifiedId", lambda: ToolScope.of(["read"], ["read"]))
    for reading in ("enforced", "attenuated"):
        chain = _session(reading, scope=scope)
        assert [chain.decide(t, {}).effect for t in ("read", "mcp:gh/create", "bash")] == [
            ALLOW,
            ALLOW,
            DENY,
        ]


def test_patterns_of_a_scope_are_taken_one_by_one() -> None:
    both = ToolScope.of(["builtin:*", "mcp:**", "skill:{a,b}/b"], REGISTRY)
    assert both.tools == frozenset(REGISTRY)
    assert ToolScope.of(["*"], REGISTRY, general=True).tools == frozenset(REGISTRY)
    bare = ToolScope.of(["read"], REGISTRY)
    assert (bare.tools, [f.help for f in bare.findings]) == (frozenset(), ["`builtin:read`?"])
    for patterns, kind in (
        (["builtin:bash"], "AccidentallyFull"), (["skill:{a"], "InvalidPattern"),
        (["builtin:{a,b}" * 9], "InvalidPattern"),
    ):  # fmt: skip
        _refused(kind, lambda patterns=patterns: ToolScope.of(patterns, REGISTRY[:1]))


def test_rules_under_a_name_that_no_tool_has_are_reported() -> None:
    policy = _policy(("*", DENY), tool="Bash")
    assert policy.check("bash", "x").effect is ASK
    assert [f.code for f in policy.findings()] == ["rule-of-no-tool"]
    options = ZephOptions(session=ZephSession(policy=policy))
    assert [f.code for f in zeph.project({}, options).findings] == ["rule-of-no-tool"]


def test_a_rule_matches_what_zeph_makes_small_letters_of() -> None:
    policy = _policy(("kill*", DENY), ("µ*", ALLOW))
    assert policy.check("bash", "\u212aILL 1").effect is DENY
    assert policy.check("bash", "\u039c").effect is ASK  # its small letter is another one


def test_a_gate_looks_at_one_argument_and_not_at_a_path() -> None:
    chain = _session(policy=_policy(("/etc/*", DENY), ("*", ALLOW), tool="write"))
    assert chain.decide("write", {"file_path": "/etc/x"}).effect is DENY
    assert chain.decide("write", {"path": "/etc/x"}).effect is ALLOW


def test_a_grant_ends_what_it_names_until_there_is_a_new_one() -> None:
    for records, effect in (
        ((), ALLOW), ((("a", True),), ALLOW), ((("a", False),), DENY),
        ((("a", True), ("a", False)), DENY), ((("a", False), ("a", True)), ALLOW),
        ((("A", False),), ALLOW),
    ):  # fmt: skip
        grants = PermissionGrants(records)
        assert ("a" in grants.ended) is (effect is DENY)
        for reading in ("enforced", "attenuated"):
            assert _session(reading, grants=grants).decide("b", {}).effect is ALLOW
            if records != (("A", False),):
                assert _session(reading, grants=grants).decide("a", {}).effect is effect
    shouted = PermissionGrants((("A", False), ("mcp__*", False)))
    assert _session(grants=shouted).decide("a", {}).effect is ALLOW
    assert _session("attenuated", grants=shouted).decide("a", {}).effect is DENY
    assert _session(grants=shouted).decide("mcp__a__b", {}).effect is ALLOW


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("reading", ["enforced", "attenuated"])
@pytest.mark.parametrize(
    "lists",
    ["", "tools:\n  allow: [read]\n", "tools:\n  deny: [bash]\n", "tools:\n  except: [bash]\n"],
)
@pytest.mark.parametrize("autonomy", [None, *Autonomy])
def test_a_grant_never_widens_what_the_definition_and_the_session_say(
    active: bool, reading: str, lists: str, autonomy: Autonomy | None
) -> None:
    definition = parse(f"---\nname: a\ndescription: b\n{lists}---\n")
    policy = SessionPermissions(autonomy) if autonomy else None

    def decide(grants: PermissionGrants, tool: str) -> Effect:
        options = ZephOptions(session=ZephSession(policy, grants=grants))
        chosen = zeph.project({"a": definition}, options).reading(reading)
        return Chain.start(zeph.MAIN, chosen).spawn("a").decide(tool, {"command": "x"}).effect

    for tool in ("bash", "read", "write"):
        granted = decide(PermissionGrants(((tool, active),)), tool)
        static = decide(PermissionGrants(), tool)
        assert granted is (static if active else DENY)


def test_a_secret_must_be_listed_and_approved() -> None:
    check_secret("a", ["a"], ["a"])
    for listed, approved, background in (
        ([], ["a"], False),
        (["a"], ["b"], False),
        (["a"], ["a"], True),
    ):
        _refused(
            "Invalid",
            lambda a=listed, b=approved, c=background: check_secret("a", a, b, background=c),
        )


def test_a_hook_belongs_to_tools_whose_name_has_its_matcher_in_it() -> None:
    assert matches("Edit|Write", "WriteFile")
    assert not any(matches(text, "bash") for text in ("Bash", "*", "", "|"))
    assert condition_holds("tool:ba", "bash")
    for condition in ("tool:x", "agent:bash", "tool:", "bash"):
        assert not condition_holds(condition, "bash")


def test_skills_are_what_every_filter_of_a_chain_leaves() -> None:
    names = ("git-commit", "git-push", "git-", "aXb", "ab", "a", "GIT-x")
    filters = (SkillFilter(("git-*", "a*b")), SkillFilter((), ("git-push", "ab*b")))
    seen = [name for name in names if all(sees(each, name) for each in filters)]
    assert seen == ["git-commit", "git-", "aXb", "ab"]
    assert not sees(SkillFilter(("a*b*",)), "axbx")
    assert sees(SkillFilter(("a*b*",)), "axb*")
    assert not sees(SkillFilter(("aba*aba",)), "ababa")
    _refused("Invalid", lambda: sees(SkillFilter(exclude=("a**",)), "x"))


@pytest.mark.parametrize(
    ("command", "denied"),
    [
        ("curl https://example.com", True), ("/usr/bin/curl x", True), ("ls; wget x", True), ("nc x 1", True),
        ("python3 -u -c 'x'", True), ("python -c x", True), ("openssl s_client -connect x", True),
        ("exec 3<>/dev/tcp/x/1", True), ("perl -e x", True), ("ls", False), ("python3 x.py", False),
        ("cat curl.txt", False), ("sync", False), ("openssl version", False),
    ],
)  # fmt: skip
def test_commands_that_reach_the_network_are_denied_without_it(command: str, denied: bool) -> None:
    table = Table.of(network_rules(RAW))
    assert (table.decide("bash", {"command": command}).effect is DENY) is denied
    assert table.decide("web_search", {}).effect is DENY
    assert table.decide("mcp__x__fetch", {}).effect is ALLOW


def test_a_closed_fence_that_is_a_tool_is_a_call() -> None:
    assert blocked_fence("x\n```bash\nls\n```\n", ["bash"]) == "bash"
    assert blocked_fence("```python\nx\n```\n```bash\nls\n```", ["bash"]) == "bash"
    assert blocked_fence("as in ```bash ls``` here", ["sh", "bash"]) == "bash"
    for text in (
        "```bashrc\nx\n```",
        "```bash-x\n```",
        "plain",
        "```bash\nls\n",
        "```python\nx\n```\n",
        "```\nbash\n```",
    ):
        assert blocked_fence(text, ["bash"]) is None
