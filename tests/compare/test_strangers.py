"""Where the case of letters is ignored, working folders still are their own letters."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policy.analysis.diff import diff_workspaces
from policy.compare.paths import NESTED, left_behind
from policy.compare.tables import differences
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run, folded
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table
from tests.effort import examples

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

_FOLDERS = ("/P", "/P/s", "/q", "/W/x")
_GLOBS = ("/**", "/p/**", "/q/a/**", "**/a", "/p/s/*", "/w/x/b", "/*/a/**", "/?/a", "b", "/w/**")
_SPELLED = ("/P", "/p", "/P/s", "/P/S", "/p/s", "/q", "/Q", "/W/x", "/w/x", "/W/X", "/W", "/z")
_CALLS = [name + rest for name, rest in product(_SPELLED, ("", "/a", "/b", "/a/b", "/s/a", "/c"))]

_ARGUMENTS = {"Read": Argument(ArgumentKind.PATH, ("file_path",))}

_rules = st.lists(st.tuples(st.sampled_from(_GLOBS), st.sampled_from(list(Effect))), max_size=4)
_folders = st.lists(st.sampled_from(_FOLDERS), unique=True, max_size=3).map(tuple)


def _table(rules, folders, default=ASK) -> Table:
    dialect = Dialect("test", arguments=_ARGUMENTS, cwd="/P", fold=True, cased=folders)
    entries = tuple(
        Entry("Read", effect, pattern, rule=glob)
        for glob, effect in rules
        for pattern in notations.paths(glob, fold=True)
    )
    return Table.of(RuleSet(entries, default, dialect, Reason.DEFAULT))


def _directions(before: Table, after: Table) -> set[bool]:
    asked = [
        (before.decide("Read", call).effect, after.decide("Read", call).effect)
        for call in ({"file_path": path} for path in _CALLS)
    ]
    return {was < now for was, now in asked if was is not now}


@given(_rules, _rules, _folders, _folders, st.sampled_from(list(Effect)))
@examples(150)
@example([("/**", DENY)], [("/**", DENY)], (), ("/P",), ALLOW)
@example([("/p/**", ALLOW)], [("/p/**", ALLOW)], (), ("/P",), ASK)
@example([("/p/**", ALLOW)], [("/p/**", ALLOW), ("b", DENY)], ("/P",), ("/P",), ASK)
@example([("/p/s/*", ALLOW)], [("/p/s/*", ALLOW)], ("/P/s",), ("/P", "/P/s"), ASK)
@example([("/p/s/*", ALLOW)], [("/p/s/*", ALLOW)], ("/P/s", "/P"), (), ASK)
def test_what_differs_in_any_letters_is_found(before, after, old, new, default) -> None:
    one, two = _table(before, old, default), _table(after, new, default)
    comparison = differences(one, two)
    found = {difference.widened for difference in comparison.differences}
    for difference in comparison.differences:
        assert one.decide("Read", difference.call) == difference.before
        assert two.decide("Read", difference.call) == difference.after
    if comparison.exact:
        assert found >= _directions(one, two)


def test_other_folders_beside_all_names_that_a_host_guards_are_compared_exactly() -> None:
    settings = [
        {"deny": ["Read(**/*.pem)"], "additionalDirectories": ["../b"], "defaultMode": "dontAsk"},
        {"deny": ["Edit(src/**)"], "allow": ["Edit"], "defaultMode": "default"},
    ]
    texts = [json.dumps({"permissions": permissions}) for permissions in settings]
    one, other = (load_tree(Memory({".claude/settings.json": text})) for text in texts)
    assert diff_workspaces(one, other).exact


@pytest.mark.parametrize("folder", ["/P", "/W/x", "/q"])
def test_a_rule_for_a_folder_with_capitals_is_shown_by_a_path_in_its_letters(folder: str) -> None:
    rule = (f"{folded(folder)}/a/**", ALLOW)
    comparison = differences(_table([], (folder,)), _table([rule], (folder,)))
    assert comparison.exact
    assert {d.after.effect for d in comparison.differences if "file_path" in d.call} == {ALLOW}


def test_folders_beside_one_another_are_compared_exactly() -> None:
    rules = [("/p/**", ALLOW), ("/w/**", ALLOW), ("/q/a/**", DENY)]
    comparison = differences(_table(rules, ("/P",)), _table(rules, ("/P", "/W/x")))
    assert comparison.exact
    assert {d.widened for d in comparison.differences} == {False}
    (call,) = [d.call for d in comparison.differences]
    assert call["file_path"] == "/w/x"


def test_folders_inside_one_another_are_not_compared_in_silence() -> None:
    rules = [("/p/s/*", ALLOW)]
    comparison = differences(_table(rules, ("/P/s",)), _table(rules, ("/P",)))
    assert f"Read: {NESTED}" in comparison.why


_pieces = st.lists(
    st.sampled_from(["a", "b", "*", "?", "**", "a*b", "[ab]"]), min_size=1, max_size=4
)
_texts = st.lists(st.sampled_from(["/a", "/b", "/ab", "/aab"]), max_size=4).map("".join)


@given(_pieces.map("/".join), st.booleans(), _texts, _texts)
@example("**/a/b", True, "/a", "/b")
@example("a/**", False, "/a", "")
@example("[ab]", False, "/c", "")
def test_what_is_left_behind_a_text_matches_what_may_follow_it(glob, floating, start, rest) -> None:
    (pattern,) = notations.paths(glob, floating=floating)
    left = list(left_behind(pattern, start))
    assert any(each.matches(rest) for each in left) == pattern.matches(start + rest)


def test_what_is_left_behind_a_text_of_several_names_is_all_that_may_follow_any_of_them() -> None:
    run = Run(frozenset("/b"))
    names = Alternatives.of(["/a"], ["/b/", Gap.PART], [OneOf(frozenset("xy")), "/a"], ["/c", run])
    pattern = Pattern.of(PatternKind.PATH, [Gap.DEEP, names, Gap.DEEP])
    texts = ["/a", "/b", "/b/c", "/x/a", "/y/a/b", "/a/b/c", "/c", "/c/x/a", "d", "db"]
    for start, rest in product(["", "/a", "/b", "/x", "/c/x", "/cd"], ["", *texts]):
        left = left_behind(pattern, start)
        assert any(each.matches(rest) for each in left) == pattern.matches(start + rest)
