"""Of random policies of every host: which rules can go, and every call with and without them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import strategies as st

from policy.analysis.diff import READINGS, diff_workspaces, in_every_mode
from policy.analysis.formatting import _written_rules, lists, minimal
from policy.analysis.formatting import without as text_without
from policy.analysis.lint import lint
from policy.compare.dead_rules import shadowing, written_rules
from policy.compare.deduplicate import is_idle
from policy.compare.tables import differences
from policy.core.decision import Because
from policy.core.effect import Effect
from policy.files.opening import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace, load_tree
from policy.hosts.zeph.definition import EDITING, normalize
from policy.tables.ruleset import RuleSet
from policy.tables.table import Ceiling, Part, Table
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
            Part(RuleSet(kept, rules.default, rules.dialect, rules.default_reason), part.links)
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
            assert standing.what != "undecided", standing
            fewer = without(table, standing.rule)
            found = effects(universe, fewer)
            if standing.what == "live":
                assert standing.witness is not None
                call = (standing.witness.tool, standing.witness.call)
                assert table.decide(*call).effect is not fewer.decide(*call).effect
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
    path = ".claude/settings.json"
    assert "Bash(ls *)" in minimal(Memory(universe.write(model)), path).text


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


# --- files of fewer rules --------------------------------------------------------------


def decided(universe: Universe, project: Project) -> list[object]:
    """Return what every call of every chain gets, in both readings and every mode."""
    return [
        (mode, reading, chain.names, [chain.decide(*call).effect for call in universe.calls])
        for mode, each in {"": project, **project.modes}.items()
        for reading in READINGS
        for chain in universe.walks(each, reading)
    ]


def alike(one: Project, other: Project) -> bool:
    """Whether agents by themselves are proven to be the same, and so is what they hand on."""
    pairs = [(entry.declared, other.agents[name].declared) for name, entry in one.agents.items()]
    pairs += [(Table(a.delegated), Table(b.delegated)) for a, b in pairs]
    found = [differences(a, b) for a, b in pairs]
    return all(each.exact and not each.differences for each in found)


def is_same(before: Workspace, after: Workspace) -> bool:
    """Whether no call is decided otherwise, in any mode."""
    for _, one, other in in_every_mode(before, after):
        diff = diff_workspaces(one, other)
        if diff.changes or not diff.exact or not alike(one.projects[0], other.projects[0]):
            return False
    return True


def is_remembered(universe: Universe, model: Model, path: str, item: str) -> bool:
    """Whether a host adds for a memory what is listed: without one it stays, and on resuming."""
    name = path.rpartition("/")[2].removesuffix(".md")
    said = (f"{name} remembers", "default_memory_scope")
    remembers = universe.host == "zeph" and any(map(model.options.get, said))
    return remembers and normalize(item.strip('"')) in EDITING


def is_started(universe: Universe, project: Project, path: str) -> bool:
    """Whether some chain ends with the agent of a definition of Zeph.

    Where none does, nothing but what it declares counts, of which some lines stand for two rules:
    `Task(*)` and `task`, or a tool that the configuration denies too.
    """
    name = path.rpartition("/")[2].removesuffix(".md")
    chains = universe.walks(project, "enforced") if universe.host == "zeph" else ()
    return universe.host != "zeph" or any(chain.names[-1] == name for chain in chains)


def check_minimal(universe: Universe, model: Model) -> None:
    files = dict(universe.write(model))
    expected = decided(universe, universe.project(model))
    for path in sorted(files):
        found = minimal(Memory(files), path)
        files[path] = found.text
        before = load_tree(Memory(files))
        (project,) = before.projects
        assert decided(universe, project) == expected, path
        source = Memory(files).source(path)
        rules = _written_rules(before, source)  # what a host passes over is none
        kept = {span.text for span in (each.span for each in found.kept)}
        if not is_started(universe, project, path):
            continue
        for span in itertools.chain.from_iterable(lists(source)):
            text = text_without(source, [span])
            is_rule = any(span.start <= at < span.end for at in rules)
            if text is None or span.text in kept or not is_rule:
                continue
            if is_remembered(universe, model, path, span.text):
                continue
            after = load_tree(Memory({**files, path: text}))
            assert not is_same(before, after), f"`{span.text}` can be left out as well"


def draw_minimal(universe: Universe, data: st.DataObject) -> None:
    check_minimal(universe, data.draw(models(universe, most=2)))


@pytest.mark.parametrize("host", UNIVERSES)
def test_a_minimal_file_decides_alike_and_none_of_its_rules_can_go(host: str) -> None:
    tried(draw_minimal, UNIVERSES[host], 4)


@pytest.mark.slow
@pytest.mark.parametrize("host", QUICK)
def test_many_minimal_files_decide_alike_and_none_of_their_rules_can_go(host: str) -> None:
    tried(draw_minimal, UNIVERSES[host], 60)
