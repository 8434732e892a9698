"""Of random policies of every host: which rules can go, and every call with and without them."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from policy.analysis.diff import READINGS
from policy.analysis.lint import lint
from policy.compare.dead_rules import written_rules
from policy.compare.tables import differences, is_idle
from policy.core.decision import Because
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import load_tree
from policy.tables.ruleset import RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table
from tests.standings import shadowing
from tests.universes import UNIVERSES, Model, Universe, models, tried

# Hosts of which a policy takes no second: those are tried at length.
QUICK = [name for name, each in UNIVERSES.items() if each.host != "claude-code"]


def tables(universe: Universe, project: Project) -> dict[object, Table]:
    """Return what agents declare, and may do that start or that one of these starts, each once."""
    chains = (chain for reading in READINGS for chain in universe.walks(project, reading))
    uses = [chain.table.use for chain in chains if len(chain.names) < 3]
    uses += [entry.declared.use for entry in project.agents.values()]
    return {use.sets: Table(use) for use in uses}


def without(table: Table, rule: Because) -> Table:
    """Return the table without the lines of one rule, in whichever lists they are."""
    parts = []
    for part in table.use.parts:
        kept = tuple(
            entry
            for entry in part.rules.entries
            if (entry.rule, entry.effect, entry.place) != (rule.rule, rule.effect, rule.place)
        )
        rules = part.rules
        parts.append(
            LinkedRules(
                RuleSet(kept, rules.default, rules.dialect, rules.default_reason), part.links
            )
        )
    return Table(Ceiling.of(parts))


def effects(universe: Universe, table: Table) -> list[Effect]:
    return [table.decide(*call).effect for call in universe.calls]


def check_standings(universe: Universe, model: Model) -> None:
    """Compare which rules matter with every call, and with the exact comparison."""
    for table in tables(universe, universe.project(model)).values():
        expected = effects(universe, table)
        standings = shadowing(table)
        for standing in standings:
            if standing.what == "undecided":
                # As docs/limits.md says: of commands of Claude Code that no sample shows.
                assert universe.host == "claude-code", standing
                assert standing.rule.rule.startswith("Bash("), standing
                continue
            fewer = without(table, standing.rule)
            found = effects(universe, fewer)
            if standing.what == "live":
                assert standing.witness is not None
                decided = (each.decide(*standing.witness) for each in (table, fewer))
                assert len({each.effect for each in decided}) == 2
            else:
                assert found == expected, standing
                difference = differences(table, fewer)
                assert difference.exact
                checked = all(part.rules.dialect.checks for part in table.use.parts)
                assert all(is_idle(each, checked=checked) for each in difference.differences)


def draw_standings(universe: Universe, data: st.DataObject) -> None:
    check_standings(universe, data.draw(models(universe)))


@pytest.mark.parametrize("host", UNIVERSES)
def test_a_rule_is_told_to_do_nothing_just_when_no_call_needs_it(host: str) -> None:
    tried(draw_standings, UNIVERSES[host], 5)


def test_a_list_that_takes_tools_away_says_nothing_of_commands() -> None:
    # Of two lists one took `Read` away: `((cat $x` and a call without a command depended on it.
    universe = UNIVERSES["claude-code"]
    options = {name: some[0] for name, some in universe.options.items()}
    lists = {"ann tools": ("Bash",), "ann disallowedTools": ("Read",)}
    check_standings(universe, Model(lists, options))


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
@pytest.mark.parametrize("key", ["deny", "ask"])
def test_a_rule_matters_that_keeps_what_would_read_the_working_folder(key: str, mode: str) -> None:
    # What `ls` reads is allowed by a line of the host: without that it would be denied anyway.
    universe = UNIVERSES["claude-code"]
    options = {name: some[0] for name, some in universe.options.items()} | {"mode": mode}
    model = Model({"allow": (), "ask": (), "deny": (), key: ("Bash(ls *)",)}, options)
    check_standings(universe, model)


@pytest.mark.slow
@pytest.mark.parametrize("host", UNIVERSES)
def test_of_many_rules_those_are_told_to_do_nothing_that_no_call_needs(host: str) -> None:
    tried(draw_standings, UNIVERSES[host], 40)


# --- what is told of rules ---------------------------------------------------------------


def check_told(universe: Universe, model: Model) -> None:
    """Compare the rules that `lint` tells to do nothing with every call of every chain."""
    tree = Memory(universe.write(model))
    workspace = load_tree(tree)
    (project,) = workspace.projects
    findings = lint(tree, workspace).findings
    dead = {each.place for each in findings if each.code in ("redundant-rule", "shadowed-rule")}
    sessions = (project, *project.modes.values()) if dead else ()
    chains = (chain for each in sessions for chain in universe.walks(each, "enforced"))
    for table in {chain.table.use.sets: chain.table for chain in chains}.values():
        expected = effects(universe, table)
        for rule in written_rules(table.use.parts):
            if rule.because.place in dead:
                fewer = without(table, rule.because)
                assert effects(universe, fewer) == expected, rule.because


def test_a_rule_that_only_an_agent_further_down_needs_is_not_told_to_do_nothing() -> None:
    # As it is written the star covers `fetch`; to Zeph, which only starts it, it is a letter.
    universe = UNIVERSES["zeph"]
    options = {name: some[0] for name, some in universe.options.items()}
    check_told(universe, Model({"ann tools": ("fetch", "*")}, options))


def draw_told(universe: Universe, data: st.DataObject) -> None:
    check_told(universe, data.draw(models(universe)))


@pytest.mark.parametrize("host", UNIVERSES)
def test_a_rule_that_lint_tells_to_do_nothing_does_nothing_along_any_chain(host: str) -> None:
    tried(draw_told, UNIVERSES[host], 8)


@pytest.mark.slow
@pytest.mark.parametrize("host", QUICK)
def test_many_rules_that_lint_tells_to_do_nothing_do_nothing_along_any_chain(host: str) -> None:
    tried(draw_told, UNIVERSES[host], 120)
