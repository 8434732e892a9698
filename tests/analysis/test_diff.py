"""What is reported of two workspaces, beyond which decisions differ: which chains share what, and by which rules."""

from __future__ import annotations

import gc
import itertools
import json
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.diff import diff_workspaces
from policy.analysis.reach.audit import audit
from policy.compare import compare
from policy.compare.compare import Comparison, Known
from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table
from tests.strategies import compiled, scopes


def settings(**permissions: list[str]) -> Workspace:
    text = json.dumps({"permissions": permissions})
    return load_tree(Memory({".claude/settings.json": text}))


def test_what_chains_share_is_reported_once_whatever_their_links_are_called() -> None:
    diff = diff_workspaces(settings(), settings(allow=["Bash(npm run:*)"]))
    told = [change for change in diff.changes if change.difference.tool == "Bash"]
    assert [(change.chain, change.readings) for change in told] == [
        (("main",), ("attenuated", "enforced"))
    ]
    assert {("main", "Explore"), ("main", "claude"), ("main", "fork")} <= {*told[0].also}


def test_a_change_names_the_links_of_the_chain_that_it_shows() -> None:
    agents = {
        f".claude/agents/{name}.md": f"---\nname: {name}\ndescription: x\ntools: Read{more}\n---\n"
        for name, more in (("ann", ""), ("bob", ""))
    }
    wider = {path: text.replace("Read", "Read, WebSearch") for path, text in agents.items()}
    diff = diff_workspaces(load_tree(Memory(agents)), load_tree(Memory(wider)))
    for change in diff.changes:
        for decision in (change.difference.before, change.difference.after):
            assert {because.link for because in decision.because} <= {*change.chain}


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("o*r(a *)", None),  # the JSON of what a call is made with begins with a brace
        ("other(true)", None),
        ("ba?h(a *)", {"command": "a x"}),
        ('other({"k":"\\"**)', None),  # a backslash is a slash to rules
        ("other(**[**)", {"": "["}),
    ],
)
def test_rules_that_see_all_arguments_as_json_are_compared_exactly(
    rule: str, shown: dict[str, object] | None
) -> None:
    before, after = (
        load_tree(Memory({"a3s.session.yaml": json.dumps({"permissions": {"deny": rules}})}))
        for rules in ([], [rule])
    )
    diff = diff_workspaces(before, after)
    assert diff.exact, diff.why
    assert [change.difference.call for change in diff.changes] == ([shown] if shown else [])


def test_a_rule_that_only_a_list_of_objects_may_match_is_left_undecided() -> None:
    rule = 'other(**},{"agent":**)'
    before, after = (
        load_tree(Memory({"a3s.session.yaml": json.dumps({"permissions": {"deny": rules}})}))
        for rules in ([], [rule])
    )
    assert not diff_workspaces(before, after).exact


# --- what is kept ------------------------------------------------------------------------


@pytest.mark.parametrize("told", ["changes", "audit"])
def test_rules_are_kept_no_longer_than_they_are_used(told: str) -> None:
    # What is remembered of rules must not be known by these rules themselves.
    before = settings(allow=["Bash(kept *)", "mcp__kept"], deny=["Read(kept/**)"])
    after = settings(allow=["Bash(kept *)", "Edit(kept/**)"])
    if told == "changes":
        assert diff_workspaces(before, after).changes
    else:
        assert audit(before).projects
    rules = [ref(part.rules) for workspace in (before, after) for part in parts(workspace)]
    assert all(one() is not None for one in rules)
    del before, after
    gc.collect()
    assert [one() for one in rules] == [None] * len(rules)


def parts(workspace: Workspace) -> list[LinkedRules]:
    return [
        part
        for entry in workspace.projects[0].agents.values()
        for part in entry.declared.use.parts
        if any(e.place for e in part.rules.entries)
    ]


# --- what was compared before -----------------------------------------------------------


def spelled(comparison: Comparison) -> object:
    calls = [(d.tool, str(d.call)) for d in comparison.differences]
    return comparison, calls


@given(st.lists(scopes(), min_size=3, max_size=3))
def test_what_was_compared_before_changes_no_answer(drawn) -> None:
    tables = [compiled(scope) for scope in drawn]
    known: Known = {}
    for one, other in itertools.permutations([*tables, tables[0] & tables[1]], 2):
        found = differences(one, other, known)
        assert spelled(found) == spelled(differences(one, other))


def table(**permissions: list[str]) -> Table:
    return settings(**permissions).chain("main").table


@pytest.mark.parametrize("rules", [{"deny": ["Edit(**)"]}, {"deny": ["Read(.env)"]}, {}])
def test_a_command_is_compared_again_where_rules_about_files_differ(rules) -> None:
    """The lines about commands are the same; what they open is not."""
    known: Known = {}
    plain, wider = table(), table(allow=["Bash(cat:*)", "Bash(tee:*)"])
    assert differences(plain, wider, known).differences
    other = table(**{"allow": [], **rules})
    allowed = ["Bash(cat:*)", "Bash(tee:*)", *rules.get("allow", [])]
    wider = table(**{**rules, "allow": allowed})
    assert spelled(differences(other, wider, known)) == spelled(differences(other, wider))


def test_the_same_lines_are_searched_once(monkeypatch) -> None:
    known: Known = {}
    one = table(), table(allow=["Bash(ls:*)"])
    found = differences(one[0], one[1], known)
    monkeypatch.setattr("policy.compare.compare._differing", None)
    other = table(deny=["WebSearch"]), table(deny=["WebSearch"], allow=["WebFetch", "Read(x)"])
    with pytest.raises(TypeError):
        differences(other[0], other[1], known)
    again = table(), table(allow=["Bash(ls:*)"])
    assert spelled(differences(again[0], again[1], known)) == spelled(found)


@pytest.mark.parametrize(
    ("otherwise", "searches"), [(Effect.ALLOW, ["Bash"]), (Effect.ASK, ["Bash", "Bash"])]
)
def test_rules_that_say_nothing_of_commands_need_no_search_where_they_hide_none(
    monkeypatch, otherwise, searches
) -> None:
    """What one agent may not edit makes of its commands a search of their own, by what they write."""
    known: Known = {}
    searched: list[str] = []

    def counting(tool: str, *rest: object) -> object:
        searched.append(tool)
        return differing(tool, *rest)

    differing = compare._differing
    monkeypatch.setattr(compare, "_differing", counting)
    before, after = table(), table(allow=["Bash(npm run *)"])
    found = differences(before, after, known)
    assert [difference.tool for difference in found.differences] == ["Bash", "Monitor"]
    dialect = before.use.parts[0].rules.dialect
    edits = Entry("Edit", Effect.DENY)
    beside = Table(Ceiling.of([LinkedRules(RuleSet((edits,), otherwise, dialect))]))
    before, after = before & beside, after & beside
    found = differences(before, after, known)
    assert [tool for tool in searched if tool == "Bash"] == searches
    assert spelled(found) == spelled(differences(before, after))


def test_the_first_settings_of_a_folder_are_compared_with_none() -> None:
    none = load_tree(Memory({"README.md": ""}))
    for permissions, widened, narrowed in (
        ('"allow": ["Bash(make *)"]', True, False),
        ('"deny": ["Bash(make *)"]', False, True),
    ):
        settings = {".claude/settings.json": '{"permissions": {%s}}' % permissions}  # noqa: UP031
        some = load_tree(Memory(settings))
        come, gone = diff_workspaces(none, some), diff_workspaces(some, none)
        assert {change.what for change in (*come.changes, *gone.changes)} == {"rule"}
        assert (come.widened > 0, come.narrowed > 0) == (widened, narrowed)
        assert (gone.widened, gone.narrowed) == (come.narrowed, come.widened)


def test_a_first_policy_only_restricts_and_the_last_one_restricts_no_more() -> None:
    claude = {".claude/settings.json": "{}"}
    none, some, broken = (
        load_tree(Memory({**claude, **files}))
        for files in ({}, {"t.policy": "agent main { allow Read }"}, {"t.policy": "agent main {"})
    )
    come, gone = diff_workspaces(none, some), diff_workspaces(some, none)
    assert (come.widened, come.narrowed > 0) == (0, True)
    assert (gone.widened > 0, gone.narrowed) == (True, 0)
    assert diff_workspaces(some, broken).widened == 0, "what cannot be read is not gone"


def test_hosts_that_start_nothing_without_files_are_compared_with_nothing() -> None:
    none, some = (
        load_tree(Memory(files)) for files in ({}, {"a3s.session.yaml": "default_security: true\n"})
    )
    assert "agent-added" in {change.what for change in diff_workspaces(none, some).changes}
