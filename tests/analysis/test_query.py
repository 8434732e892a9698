"""Who can make a call, what exceeds a maximum, and which rules matter."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from policy.analysis.reach.query import exceeds, query, read_maximum
from policy.cli import main
from policy.cli.query import as_json, blocks
from policy.cli.report import document as doc
from policy.cli.report.markdown import markdown
from policy.cli.report.terminal import PageLayout, terminal
from policy.compare.samples import SAMPLED
from policy.compare.tables import differences
from policy.core import values
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Place, Source
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.language.parse import parse_matcher
from policy.language.syntax import Policy
from policy.patterns.pattern import Pattern
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, Table
from tests.reference import Said, Scope
from tests.standings import shadowing
from tests.strategies import table
from tests.tables.test_laws import FAMILIES, _pair, _usable

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

TEAM = """
root main

agent main {
    allow Read, Bash(git *), Task(worker, reader)
    ask   Edit
}

agent worker {
    allow Bash, Task(reader), Edit(src/**)
}

agent reader {
    allow Read(docs/**)
    deny  Bash(git push *)
    ask   Bash(git *)
}
"""


DIAMOND = """
root main
agent main {
    allow Task(left, right)
    delegate Bash, Task(end)
}
agent left {
    inherit
    deny Bash(a *)
}
agent right {
    inherit
    deny Bash(b *)
}
agent end {
    inherit
}
"""


def _workspace(text: str = TEAM) -> Workspace:
    return load_tree(Memory({"team.policy": text}))


@pytest.mark.parametrize(
    ("matcher", "can", "exact"),
    [("Bash(b *)", True, True), ("Bash(a *)", False, False), ("WebFetch", False, True)],
)
def test_beyond_the_bound_of_positions_only_what_no_chain_can_do_is_certain(
    matcher: str, can: bool, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = parse_matcher(matcher)
    certain = query(_workspace(DIAMOND), asked, readings=["attenuated"])
    assert certain.exact
    monkeypatch.setattr("policy.analysis.reach.worklist._PER_AGENT", 1)
    found = query(_workspace(DIAMOND), asked, readings=["attenuated"])
    assert ("end" in {answer.agent for answer in found.answers}) is can
    assert found.exact is exact


def test_a_maximum_that_no_chain_can_exceed_is_proven_beyond_the_bound_of_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("policy.analysis.reach.worklist._PER_AGENT", 1)
    for text, proven in (("allow Bash, Task", True), ("allow Task, Bash(b *)", False)):
        maximum = read_maximum(Source("max.policy", f"agent most {{\n    {text}\n}}\n"))
        why = exceeds(_workspace(DIAMOND), maximum, readings=["attenuated"])[1]
        assert (why == ()) is proven


def _who(matcher: str) -> dict[str, tuple[tuple[str, ...], Effect]]:
    found = query(_workspace(), parse_matcher(matcher), readings=["attenuated"])
    assert found.exact
    assert {each.agent for each in (*found.refused, *found.answers)} == {
        "main",
        "worker",
        "reader",
    }
    return {answer.agent: (answer.chain, answer.decision.effect) for answer in found.answers}


def test_a_query_names_who_can_by_the_shortest_chain() -> None:
    assert _who("Bash(git push *)") == {
        "main": (("main",), ALLOW),
        "worker": (("main", "worker"), ALLOW),
    }
    assert _who("Bash(git *)")["reader"] == (("main", "reader"), ASK)
    assert _who("Edit(src/**)") == {
        "main": (("main",), ASK),
        "worker": (("main", "worker"), ASK),
    }
    assert _who("Edit(tests/**)") == {"main": (("main",), ASK)}
    assert _who("Bash(npm *)") == {}


def test_a_witness_of_a_query_matches_and_is_decided_as_it_says() -> None:
    workspace = _workspace()
    matching = table("deny Bash(git push *)", default=ALLOW)
    for answer in query(workspace, parse_matcher("Bash(git push *)")).answers:
        chain = workspace.chain(*answer.chain, reading=answer.reading)
        assert chain.decide(answer.tool, answer.call) == answer.decision
        assert matching.decide(answer.tool, answer.call).effect is DENY


@pytest.mark.parametrize(
    ("rules", "tools"),
    [
        # Of what runs unasked behind a wrapper the first that comes to mind is asked for.
        ({"ask": ["Bash(cat *)"], "deny": ["Read"]}, "Bash"),
        # The agent has but one program, some commands of which run unasked.
        ({"allow": ["Bash(npm run *)"]}, "Bash(git *)"),
    ],
)
def test_what_runs_behind_a_wrapper_without_a_rule_is_reported_where_rules_name_others(
    rules: dict[str, list[str]], tools: str
) -> None:
    files = {
        ".claude/settings.json": json.dumps({"permissions": rules}),
        ".claude/agents/ann.md": f"---\nname: ann\ndescription: works\ntools: {tools}\n---\nWork.\n",
    }
    for reading in ("attenuated", "enforced"):
        found = query(
            load_tree(Memory(files)), parse_matcher("Bash(timeout *)"), readings=[reading]
        )
        told = {each.agent: each.decision.effect for each in found.answers}
        assert (found.exact, told["ann"]) == (True, ALLOW)


def _policy(text: str) -> Policy:
    return read_maximum(Source("max.policy", text))


@pytest.mark.parametrize("rule", ["Bash(timeout 5 npm test)", "Bash(sudo npm *)"])
def test_what_is_allowed_behind_a_wrapper_is_reported_where_the_program_alone_is_asked_for(
    rule: str,
) -> None:
    permissions = json.dumps({"permissions": {"allow": [rule]}})
    workspace = load_tree(Memory({".claude/settings.json": permissions}))
    found = query(workspace, parse_matcher("Bash(npm test *)"), readings=["enforced"])
    assert found.exact
    assert {each.decision.effect for each in found.answers if each.agent == "main"} == {ALLOW}


def test_a_maximum_is_what_one_agent_may_do() -> None:
    with pytest.raises(PolicyError, match="expected one agent, found 3"):
        _policy(TEAM)


def test_what_exceeds_a_maximum_is_shown_by_a_call() -> None:
    most = _policy("agent most {\n    allow Read, Task\n    ask Bash(git *), Edit\n}\n")
    found, why = exceeds(_workspace(), most, readings=["attenuated"])
    assert not why
    assert {(e.chain[-1], e.difference.tool) for e in found} == {
        ("main", "Bash"),
        ("worker", "Bash"),
    }
    assert {(e.difference.before.effect, e.difference.after.effect) for e in found} == {
        (ASK, ALLOW)
    }
    everything = _policy("agent most {\n    allow *\n}\n")
    assert exceeds(_workspace(), everything) == ((), ())


# --- which rules matter -------------------------------------------------------------


def _standings(rules: Table) -> dict[str, str]:
    return {standing.rule.rule: standing.what for standing in shadowing(rules)}


def test_a_rule_that_others_decide_before_is_shadowed() -> None:
    rules = table("deny Bash(git *)", "allow Bash(git push *)", "allow Bash(npm *)")
    assert _standings(rules) == {
        "Bash(git *)": "live",
        "Bash(git push *)": "shadowed",
        "Bash(npm *)": "live",
    }


def test_a_rule_that_only_repeats_another_is_redundant_and_says_which() -> None:
    rules = table("allow m__a(ab*)", "allow m__a(a*)", "ask m__*")
    (narrow,) = [s for s in shadowing(rules) if s.rule.rule == "m__a(ab*)"]
    assert narrow.what == "shadowed"
    assert [by.rule for by in narrow.by] == ["m__*", "m__a(a*)"]
    rules = table("allow m__a(ab*)", "allow m__a(a*)")
    narrow, wide = shadowing(rules)
    assert (narrow.what, wide.what) == ("redundant", "live")
    assert [by.rule for by in narrow.by] == ["m__a(a*)"]
    assert wide.witness is not None
    assert rules.decide(*wide.witness).effect is ALLOW


def test_a_rule_that_only_two_together_cover_is_found() -> None:
    rules = table("allow Read(/a/**)", "allow Read(/a)", "allow Read(/a/b)")
    assert _standings(rules)["Read(/a/b)"] == "shadowed"
    assert _standings(table("allow Read(/a/b)", "allow Read(/a)"))["Read(/a/b)"] == "redundant"


def test_who_cannot_is_reported_with_the_rule_that_denies_the_call_or_the_start() -> None:
    lone = "agent shut {\n    allow Bash\n}\nagent lone {\n    allow Bash\n}\n"
    text = TEAM.replace("    ask   Edit\n", "    ask   Edit\n    deny  Task(shut)\n", 1) + lone
    workspace = load_tree(Memory({"team.policy": text}))
    found = query(workspace, parse_matcher("Bash(git push origin)"), readings=["attenuated"])
    why = {each.agent: each for each in found.refused}
    assert {*why} == {"reader", "shut", "lone"}
    (denial,) = why["reader"].because
    assert (denial.rule, str(denial.place)) == ("Bash(git push *)", "team.policy:16:11")
    assert why["reader"].chain == ("main", "reader")
    assert why["reader"].call == {"command": "git push origin"}
    (denial,) = why["shut"].because
    assert (denial.rule, str(denial.place)) == ("Task(shut)", "team.policy:7:11")
    assert why["shut"].is_unreached
    assert why["shut"].chain == ("main",)
    assert why["lone"].decision is not None
    assert not why["lone"].because  # nothing grants it


def test_where_no_agent_can_it_is_said_why() -> None:
    text = TEAM.replace("    ask   Edit\n", "    deny  Edit\n", 1)
    workspace = load_tree(Memory({"team.policy": text}))
    asked = query(workspace, parse_matcher("Edit"))
    for said in (
        terminal(blocks("Edit", asked, 40), PageLayout(100)),
        markdown(blocks("Edit", asked, 40)),
    ):
        assert "team.policy:6:11" in said
        assert "main" in said
    assert all(each["message"] for each in as_json("Edit", asked)["without"])


def _rows(files: dict[str, str], matcher: str) -> list[tuple[doc.Text, ...]]:
    asked = query(load_tree(Memory(files)), parse_matcher(matcher))
    (grid,) = [block for block in blocks(matcher, asked, 40) if isinstance(block, doc.Grid)]
    return [grid.heads, *grid.rows]


def test_agents_that_one_rule_decides_for_share_a_row_and_projects_are_named() -> None:
    denied = '{"permissions": {"deny": ["Read(.env)"]}}'
    alone = _rows({".claude/settings.json": denied}, "Read(.env)")
    assert (alone[0], len(alone)) == (("cannot", "call", "why"), 2)
    allowed = '{"permissions": {"allow": ["Bash(git push)"]}}'
    files = {"a/.claude/settings.json": allowed, "b/.claude/settings.json": allowed}
    head, *rows = _rows(files, "Bash(git push)")
    assert head[0] == "project"
    assert [doc.unstyled(row[0]) for row in rows] == ["a, b"]


@pytest.mark.parametrize("checks", [True, False])
def test_a_rule_that_only_calls_need_that_cannot_be_read_is_live_where_they_come_to_it(
    checks: bool,
) -> None:
    arguments = {"T": Argument(ArgumentKind.TEXT, ("a",))}
    dialect = Dialect("test", arguments=arguments, checks=checks)
    entry = Entry("T", ALLOW, Pattern.text("x"), rule="T(x)", place=Place("f", 1, 1))
    (standing,) = shadowing(Table.of(RuleSet((entry,), ALLOW, dialect)))
    assert standing.what == ("redundant" if checks else "live")


def test_a_rule_may_be_dead_because_of_another_list() -> None:
    strict = table("allow m__a(a*)", link="main")
    met = strict & table("allow m__*", "deny m__b(b)", link="child")
    assert _standings(met)["m__b(b)"] == "shadowed"


@pytest.mark.parametrize("name", FAMILIES)
def test_a_rule_is_live_just_when_some_call_needs_it(name: str) -> None:
    family = FAMILIES[name]
    dice = random.Random(f"standing {name}")
    for _ in range(8):
        before, after = _pair(dice, family)
        rules = Table((before & after).use)
        for standing in shadowing(rules):
            if standing.what == "undecided":
                assert all(SAMPLED in why for why in standing.why)
                continue
            parts = [
                values.evolve(
                    part,
                    rules=values.evolve(
                        part.rules,
                        entries=tuple(
                            e
                            for e in part.rules.entries
                            if part.links[0] != standing.rule.link
                            or (e.rule, e.effect, e.place)
                            != (standing.rule.rule, standing.rule.effect, standing.rule.place)
                        ),
                    ),
                )
                for part in rules.use.parts
            ]
            without = Table(Ceiling.of(parts))
            differs = any(
                rules.decide(*call).effect is not without.decide(*call).effect
                for call in family.calls
            )
            if differs and len(rules.use.parts) == 1:
                assert standing.what == "live"
            if standing.witness is not None:
                found = standing.witness
                assert rules.decide(*found).effect is not without.decide(*found).effect


@pytest.mark.parametrize("name", FAMILIES)
def test_a_query_agrees_with_every_call(name: str) -> None:
    family = FAMILIES[name]
    dice = random.Random(f"query {name}")
    for _ in range(25):
        rules = Table(_pair(dice, family)[0].use)
        asked = _usable(dice, lambda: Scope((Said(DENY, family.rule(dice)),), ALLOW))
        taken = differences(rules, rules & asked)
        granted = any(
            rules.decide(*call).effect is not DENY and asked.decide(*call).effect is DENY
            for call in family.calls
        )
        assert all(SAMPLED in why for why in taken.why)
        if not taken.exact:
            continue
        denied = [found for found in taken.differences if found.after.effect is DENY]
        assert granted <= bool(denied)
        for found in itertools.islice(denied, 3):
            assert asked.decide(found.tool, found.call).effect is DENY
            assert rules.decide(found.tool, found.call).effect is not DENY


@pytest.mark.parametrize("name", FAMILIES)
def test_what_exceeds_a_maximum_agrees_with_every_call(name: str) -> None:
    family = FAMILIES[name]
    dice = random.Random(f"maximum {name}")
    for _ in range(25):
        rules, most = (Table(side.use) for side in _pair(dice, family))
        found = differences(rules & most, rules)
        assert all(SAMPLED in why for why in found.why)
        if not found.exact:
            continue
        beyond = any(
            rules.decide(*call).effect > most.decide(*call).effect for call in family.calls
        )
        assert beyond <= bool(found.differences)
        for each in found.differences:
            assert each.widened
            granted = rules.decide(each.tool, each.call).effect
            assert most.decide(each.tool, each.call).effect < granted


@pytest.mark.parametrize(
    ("matcher", "told"),
    [("Read", "1 of 1 agent can make a call of `Read`"), ("Edit", "no agent can make a call of")],
)
def test_the_first_line_counts_who_can(matcher: str, told: str, tmp_path, capsys) -> None:
    file = tmp_path / "t.policy"
    file.write_text("root main\nagent main {\n    allow Read\n}\n")
    main(["query", matcher, str(file)])
    assert told in " ".join(capsys.readouterr().out.split())


def test_projects_with_equal_answers_are_one_row() -> None:
    def settings(**rules: list[str]) -> str:
        return json.dumps({"permissions": rules})

    files = {f"{name}/.claude/settings.json": settings(allow=["Bash(make *)"]) for name in "abc"}
    files["d/.claude/settings.json"] = settings(ask=["Bash(make *)"])
    answer = query(load_tree(Memory(files)), parse_matcher("Bash(make *)"))
    _, grid = blocks("Bash(make *)", answer, 40)
    assert isinstance(grid, doc.Grid)
    assert [doc.unstyled(row[0]) for row in grid.rows] == [
        "a, b, c",
        "d",
    ]
    _, grid = blocks("Bash(make *)", answer, None)
    assert isinstance(grid, doc.Grid)
    assert {doc.unstyled(row[0])[-2:] for row in grid.rows} == {"@a", "@b", "@c", "@d"}
