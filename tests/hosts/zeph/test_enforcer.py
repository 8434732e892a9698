"""Policy rules of a session in tables, and what is the matter with them: row B.20."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.core.effect import Effect
from policy.hosts import zeph
from policy.hosts.fields import HostError
from policy.hosts.zeph.definition import SubAgentDef, upstream_text
from policy.hosts.zeph.session import (
    PolicyEnforcer,
    TrustLevel,
    ZephSession,
    read_policy_file,
)
from policy.hosts.zeph.spawning import SpawnContext, ZephOptions
from policy.tables.chain import Chain
from policy.tables.table import Table
from tests.conformance.zeph import rules_of

TRUSTED, VERIFIED, QUARANTINED = TrustLevel.TRUSTED, TrustLevel.VERIFIED, TrustLevel.QUARANTINED


def rules(*listed: dict, default: str = "deny") -> PolicyEnforcer:
    return PolicyEnforcer.of(*rules_of({"rules": list(listed), "default_effect": default}))


def codes(enforcer: PolicyEnforcer) -> list[str]:
    return [finding.code for finding in enforcer.findings()]


GLOBS = ["*", "shell", "bash", "SH ", "ba*", "s*", "*sh", "read", "re*d", "**", "?ead", "mcp__*"]
RULES = st.fixed_dictionaries(
    {"effect": st.sampled_from(["allow", "deny"]), "tool": st.sampled_from(GLOBS)},
    optional={
        "env": st.sampled_from([["CI"], ["CI", "HOME"]]),
        "trust_level": st.sampled_from(["trusted", "verified", "quarantined"]),
        "paths": st.just(["/etc/*"]),
        "args_match": st.just("x"),
    },
)


@given(
    listed=st.lists(RULES, max_size=5),
    default=st.sampled_from(["allow", "deny"]),
    trust=st.sampled_from(list(TrustLevel)),
    tool=st.sampled_from(["bash", "sh", "shell", "Bash", "read", "reed", "mcp__a__b", "other"]),
    path=st.sampled_from(["/etc/x", "/srv", "x"]),
)
def test_a_table_grants_nothing_that_the_rules_do_not(
    listed: list[dict], default: str, trust: TrustLevel, tool: str, path: str
) -> None:
    enforcer = rules(*listed, default=default)
    answer = Table.of(enforcer.rule_set(trust, ["CI"])).decide(tool, {"path": path}).effect
    asked = enforcer.decide(tool, {"path": path}, trust, ["CI"]).effect
    assert answer <= asked
    if "rule-beyond-tables" not in codes(enforcer):
        assert answer is asked


def test_a_table_grants_nothing_that_it_cannot_hold() -> None:
    enforcer = rules(
        {"effect": "deny", "tool": "write", "paths": ["/etc/*"]},
        {"effect": "allow", "tool": "shell", "args_match": "^ls"},
        default="allow",
    )
    table = Table.of(enforcer.rule_set(TRUSTED))
    assert table.decide("write", {"path": "/srv/x"}).effect is Effect.DENY
    assert table.decide("bash", {"command": "rm"}).effect is Effect.ALLOW
    assert codes(enforcer) == ["rule-beyond-tables"] * 2


def test_every_agent_meets_the_rules_with_the_trust_it_was_left() -> None:
    session = ZephSession(
        rules=rules({"effect": "allow", "tool": "read", "trust_level": "verified"}), env=("CI",)
    )
    for trust, effect in ((VERIFIED, Effect.ALLOW), (QUARANTINED, Effect.DENY)):
        context = SpawnContext(max_trust_level=trust)
        definitions = {"a": SubAgentDef("a", "b")}
        project = zeph.project(definitions, ZephOptions(session=session, context=context))
        for reading in (project.attenuated, project.enforced):
            chain = Chain.start(zeph.MAIN, reading).spawn("a")
            assert chain.decide("read", {}).effect is effect
            assert chain.decide("write", {}).effect is Effect.DENY


def test_a_condition_that_zeph_does_not_know_is_reported() -> None:
    enforcer = rules({"effect": "allow", "tool": "read", "path": ["/srv/*"]})
    assert enforcer.decide("read", {"path": "/etc/x"}, TRUSTED).effect is Effect.ALLOW
    found = list(enforcer.findings())
    assert [(f.code, f.span.text) for f in found] == [("key-not-applied", '"path"')]
    assert codes(rules({"effect": "allow", "tool": "read", "capabilities": ["x"]})) == []


def test_a_glob_that_only_other_names_of_the_shell_match_is_reported() -> None:
    enforcer = rules({"effect": "deny", "tool": "ba*"}, default="allow")
    assert enforcer.decide("bash", {}, TRUSTED).effect is Effect.ALLOW
    assert codes(enforcer) == ["rule-misses-shell"]
    for tool in ("bash", "sh", "s*", "*", "read"):
        assert codes(rules({"effect": "deny", "tool": tool})) == []


@pytest.mark.parametrize(
    ("params", "matching"),
    [
        ({"path": "/etc/../srv/x"}, "/srv/*"),
        ({"path": "/../etc/x"}, "/etc/x"),
        ({"path": "a/../b"}, "a/b"),
        ({"path": "./a//b/."}, "a/b"),
        ({"path": "."}, "."),
        ({"command": "cat src/main.rs"}, "/main.rs"),
        ({"command": 'cat "/etc/passwd"'}, "/etc/passwd?"),
        ({"command": "a>/x;b"}, "/x"),
    ],
)
def test_the_paths_of_a_call_are_taken_as_zeph_takes_them(params: dict, matching: str) -> None:
    enforcer = rules({"effect": "allow", "tool": "x", "paths": [matching]})
    assert enforcer.decide("x", params, TRUSTED).effect is Effect.ALLOW


def test_a_mistake_in_a_policy_file_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[rules]]\neffect = "ask"\ntool = "x"\n\n[[rules]]\neffect = "deny"\n')
    with pytest.raises(HostError) as caught:
        PolicyEnforcer.of(read_policy_file("policy.toml", tmp_path))
    error = caught.value
    assert error.kind == "FileParse"
    places = [(str(one.place), one.message[:13]) for one in error.errors]
    assert places == [("policy.toml:2:10", "unknown varia"), ("policy.toml:5:3", "missing field")]
    assert upstream_text(error.errors[0]).startswith("failed to parse policy file policy.toml: ")


def test_what_a_file_says_of_the_default_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('default_effect = "allow"\n')
    loaded = PolicyEnforcer.of(read_policy_file("policy.toml", tmp_path))
    assert loaded.decide("x", {}, TRUSTED).effect is Effect.DENY
    assert loaded == PolicyEnforcer.of(())
