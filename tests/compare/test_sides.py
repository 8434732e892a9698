"""Two sides of lists: which of their lines are changed, and which may decide a text together."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.compare.lists import (
    LineIndex,
    ListSide,
    Sides,
    View,
    auto_allowed_effect,
    by_rules,
    counterparts,
    denies_all,
    grants_whole,
    is_inside,
    may_meet,
)
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.claude.dialect import _SHELL
from policy.hosts.notation.semantics import DIALECT
from policy.patterns import notations
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.row import Row
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Lookup

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_TEXTS = ["".join(letters) for length in range(5) for letters in product("abc", repeat=length)]

_patterns = st.lists(st.sampled_from(["a", "b", "*"]), max_size=4).map("".join).map(Pattern.text)
_lines = st.lists(st.tuples(_patterns, st.sampled_from(Effect)), max_size=5)


def _view(*lines: str, default: Effect = DENY, shared: int = 0) -> View:
    """Return a list of lines such as ``allow a*``."""
    said = (line.split(" ", 1) for line in lines)
    entries = tuple(Entry("", Effect(effect), Pattern.text(text)) for effect, text in said)
    return View(PatternKind.TEXT, entries, default, shared)


def _of(lines: list[tuple[Pattern, Effect]], default: Effect) -> View:
    return View(PatternKind.TEXT, tuple(Entry("", e, p) for p, e in lines), default)


# --- which lines are near ---------------------------------------------------------


@given(_lines, _patterns, st.sampled_from(Effect), st.integers(-1, 5), st.integers(-1, 5))
def test_an_index_finds_the_lines_that_start_and_end_like_a_pattern(
    lines, pattern, effect, first, last
) -> None:
    index = LineIndex((n, each, said) for n, (each, said) in enumerate(lines))
    assert sorted(index.near(pattern, effect, first, last)) == [
        number
        for number, (each, said) in enumerate(lines)
        if said is effect and first <= number <= last and may_meet(each, pattern)
    ]


@given(_patterns, _patterns)
def test_patterns_that_share_a_text_start_and_end_alike(one, other) -> None:
    if any(one.matches(text) and other.matches(text) for text in _TEXTS):
        assert may_meet(one, other)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("git *", "npm *", False),
        ("git *", "git push", True),
        ("git push *", "git *", True),
        ("* --force", "git * -f", False),
        ("* --force", "*force", True),
        ("*.py", "*.ts", False),
        ("*", "ab", True),
        ("a*b", "a", False),
    ],
)
def test_patterns_with_other_starts_or_ends_share_no_text(one: str, other: str, meet: bool) -> None:
    assert may_meet(Pattern.text(one), Pattern.text(other)) is meet
    assert may_meet(Pattern.text(other), Pattern.text(one)) is meet


def test_paths_that_ignore_case_are_near_in_any_case() -> None:
    one, two, other = (notations.paths(glob, fold=True)[0] for glob in ("/Src/A", "/src/*", "/b/*"))
    assert may_meet(one, two)
    assert not may_meet(one, other)
    index = LineIndex([(0, one, ALLOW), (1, other, ALLOW)])
    assert [*index.near(two, ALLOW, 0, 1)] == [0]


# --- what a list says by itself ---------------------------------------------------------


@given(_lines, st.sampled_from(Effect))
def test_what_a_list_may_say_is_between_its_strictest_and_its_most_lenient_effect(
    lines, default
) -> None:
    view = _of(lines, default)
    effects = [*(effect for _, effect in lines), default]
    assert (view.least, view.most) == (min(effects), max(effects))
    strict = [n for n, (_, effect) in enumerate(lines) if effect is not ALLOW]
    assert view.last_strict == (strict[-1] if strict else -1)
    auto = View(PatternKind.TEXT, view.entries, default, auto_allowed_effect=ALLOW)
    assert (auto.least, auto.most) == (view.least, ALLOW)


def test_lists_with_the_same_lines_and_default_are_one() -> None:
    views = [_view("allow a*"), _view("ask a*"), _view("allow b*"), _view("allow a*", default=ASK)]
    assert len({view.key for view in views}) == len(views)
    assert _view("allow a*").key == views[0].key


# --- changed lines ---------------------------------------------------------


def test_lines_keep_their_counterparts_around_one_that_is_added_moved_or_changed() -> None:
    lines = _view("deny a", "ask b", "allow c", "allow d").entries
    new, changed = _view("ask x", "deny c").entries
    assert counterparts(lines, (*lines[:2], new, *lines[2:])) == {0: 0, 1: 1, 2: 3, 3: 4}
    assert counterparts(lines, (lines[3], *lines[:3])) == {0: 1, 1: 2, 2: 3}
    assert counterparts(lines, (*lines[:2], changed, lines[3])) == {0: 0, 1: 1, 3: 3}
    many = lines[:1] * 300  # also of a line that stands there often
    assert counterparts(many, (new, *many)) == {n: n + 1 for n in range(300)}


_BASE = ("deny a*", "ask b*", "allow c*", "allow d*")
_WIDER = _view(*_BASE, "allow x")


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [
        ([_view(*_BASE)], [_view(*_BASE)], []),
        ([_view(*_BASE)], [_view("deny x", *_BASE)], [(1, 0)]),
        ([_view(*_BASE)], [_view(*_BASE[1:])], [(0, 0)]),
        ([_view(*_BASE)], [_view("ask a*", *_BASE[1:])], [(1, 0), (0, 0)]),
        ([_view(*_BASE)], [_view(*_BASE, default=ASK)], [(1, NO_MATCH)]),
        # A list beside others: against one with which it has most lines in common.
        ([_view(*_BASE)], [_view(*_BASE), _WIDER], [(1, 4)]),
        ([_WIDER], [_view("deny y"), _WIDER, _view(*_BASE)], [(0, 4), (1, 0), (1, NO_MATCH)]),
        ([_view(*_BASE), _WIDER], [_WIDER], [(1, 4)]),
        ([_view("ask y"), _view(*_BASE)], [_WIDER], [(2, 4), (0, 0), (0, NO_MATCH)]),
        # One that has little in common with others counts as a whole.
        ([_view(*_BASE)], [_view(*_BASE), _view("deny y")], [(1, 0), (1, NO_MATCH)]),
        ([_view(*_BASE)], [_view(*_BASE), _view("ask y", default=ASK)], [(1, 0), (1, NO_MATCH)]),
        ([], [_view("deny y")], [(0, 0), (0, NO_MATCH)]),
        # Lines that every list has are no edits.
        ([], [_view("allow s", "deny y", shared=1)], [(0, 1), (0, NO_MATCH)]),
    ],
)
def test_the_changed_lines_are_those_that_the_other_side_lacks(before, after, edits) -> None:
    assert Sides(ListSide(tuple(before)), ListSide(tuple(after))).edits == edits


def test_every_line_is_changed_where_one_side_is_limited_as_a_whole() -> None:
    views = (_view("deny a", "allow b"),)
    sides = Sides(ListSide(views, ASK), ListSide(views))
    assert sides.edits == [(0, 0), (0, 1), (0, NO_MATCH)]
    assert sides.effects({0: 1}) == (ASK, ALLOW)
    assert sides.effects({0: 0}) == (DENY, DENY)
    assert sides.effects({}) == sides.granted([ALLOW]) == (ASK, ALLOW)


# --- lines that may decide together ---------------------------------------------------------

_side = st.lists(st.tuples(_lines, st.sampled_from(Effect)), min_size=1, max_size=2)


@given(_side, _side, st.integers(0, 1), st.booleans())
def test_lines_that_decide_a_text_differently_are_tried_together(one, other, shared, default):
    views = [[_of(*each) for each in side] for side in (one, other)]
    views[1] += views[0][:shared]
    sides = Sides(*(ListSide(tuple(each)) for each in views))
    sides.by_default = default
    tried: set[frozenset[tuple[int, int]]] = set()
    for view, line in sides.edits:
        firsts = sides.firsts(sides.pattern(view, line))
        for chosen in sides.combinations({view: line}, firsts, ()):
            effects = sides.effects(chosen)
            assert effects[0] is not effects[1]
            assert {*chosen} == {*range(len(sides.views))}
            assert not default or NO_MATCH in chosen.values()
            tried.add(frozenset(chosen.items()))
    for text in _TEXTS:
        firsts = {n: each.automaton.first(text) for n, each in enumerate(sides.views)}
        effects = sides.effects(firsts)
        counts = not default or NO_MATCH in firsts.values()
        if effects[0] is not effects[1] and counts:
            assert frozenset(firsts.items()) in tried


_LONG = ("deny a x", "deny b *", "allow a *", "ask * x", "allow *")


@pytest.mark.parametrize(
    ("before", "after", "edit", "seen", "together"),
    [
        # Of a line that one list has alone: no earlier counterpart, nor one behind a wider line.
        (_LONG, ("ask a *", *_LONG), (1, 0), [], [{1: 0, 0: 0}, {1: 0, 0: 2}]),
        (_LONG, ("ask a *", *_LONG), (1, 0), [(DENY, ASK)], [{1: 0, 0: 2}]),
        (_LONG, (*_LONG[:3], "deny a y", *_LONG[3:]), (1, 3), [], [{1: 3, 0: 2}]),
        (_LONG, (*_LONG[:2], "deny c *", *_LONG[2:]), (1, 2), [], [{1: 2, 0: 3}, {1: 2, 0: 4}]),
        # One text is decided by one line.
        (_LONG, ("ask b z", *_LONG), (1, 0), [], [{1: 0, 0: 1}]),
        (_LONG, ("ask b z", *_LONG), (1, 0), [(DENY, ASK)], []),
        # A default decides what no line matches.
        (("ask a",), ("ask a", "allow b*"), (1, 1), [], [{1: 1, 0: NO_MATCH}]),
        # Those that are edits themselves are tried with a default there.
        (("ask a", "deny b"), ("ask c",), (1, NO_MATCH), [], []),
        (("ask a", "deny b"), ("ask c",), (0, 0), [], [{0: 0, 1: NO_MATCH}]),
    ],
)
def test_only_lines_that_may_show_a_new_change_are_tried_together(
    before, after, edit, seen, together
) -> None:
    sides = Sides(ListSide((_view(*before),)), ListSide((_view(*after),)))
    firsts = sides.firsts(sides.pattern(*edit))
    assert edit in sides.edits or edit[1] == NO_MATCH
    tried = sides.combinations(dict([edit]), firsts, seen)
    assert sorted(tried, key=str) == sorted(together, key=str)


def test_no_list_grants_what_another_one_of_its_side_denies_by_default() -> None:
    one, other = _view("deny a*", default=DENY), _view("allow a*", "ask b", default=ASK)
    sides = Sides(ListSide((one,)), ListSide((one, other)))
    assert [*sides.combinations({0: 0}, sides.firsts(sides.pattern(0, 0)), ())] == []


# --- patterns of one list in another ---------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "line"),
    [("a x", 0), ("a*", 1), ("a *", 1), ("b", NO_MATCH), ("*", NO_MATCH), ("c* d", 2), ("c*", 3)],
)
def test_the_line_that_matches_all_of_a_pattern_is_known(pattern: str, line: int) -> None:
    view = _view("deny a x", "ask a*", "allow c* d", "deny c*")
    sides = Sides(ListSide((view,)), ListSide(()))
    assert sides.containing(Pattern.text(pattern), 0) == line
    assert sides.firsts(Pattern.text(pattern)) == [line]
    assert sides.firsts(None) == [NO_MATCH]


def test_a_line_that_matches_some_of_a_pattern_first_leaves_it_open() -> None:
    globs = [notations.paths(glob)[0] for glob in ("/a/[!b]", "/a/**", "/a/*")]
    entries = tuple(Entry("", ALLOW, each) for each in globs[:2])
    sides = Sides(ListSide((View(PatternKind.PATH, entries, DENY),)), ListSide(()))
    assert sides.containing(globs[2], 0) == NO_MATCH
    assert sides.containing(globs[0], 0) == 0


def test_inclusion_that_takes_too_long_to_decide_is_not_taken_for_granted(monkeypatch) -> None:
    def exceeded(one: Pattern, other: Pattern) -> bool:
        raise OverflowError(one, other)

    assert is_inside(Pattern.text("wide x*"), Pattern.text("wide *"))
    assert not is_inside(Pattern.text("wide *"), Pattern.text("wide x*"))
    monkeypatch.setattr(Pattern, "__le__", exceeded)
    assert not is_inside(Pattern.text("wide y*"), Pattern.text("wide *"))


def test_a_gap_is_filled_with_a_character_that_no_pattern_names() -> None:
    views = (_view("deny x*", "allow y"),)
    assert Sides(ListSide(views), ListSide(()), letters="xyz").fresh == "z"
    assert Sides(ListSide(views), ListSide(()), letters="xy").fresh not in "xy"
    assert Sides(ListSide(views), ListSide(())).are_stars
    glob = View(PatternKind.PATH, (Entry("", DENY, notations.paths("/[!q]")[0]),), ASK)
    assert not Sides(ListSide((glob,)), ListSide(())).are_stars
    assert "q" in Sides(ListSide((glob,)), ListSide(())).extra


# --- rows of one tool ---------------------------------------------------------


def _row(*entries: Entry, default: Effect = DENY, dialect: Dialect = DIALECT) -> Row:
    return RuleSet(entries, default, dialect).row("Bash")


_DENIED = Entry("Bash", DENY, Pattern.text("a *"))
_ASKED = Entry("Bash", ASK, Pattern.text("b *"), reason=Reason.DEFAULT)
_ALL = Entry("Bash", ASK)


def test_a_command_that_no_rule_matches_is_auto_allowed_unless_a_rule_is_about_all() -> None:
    assert auto_allowed_effect(_row(_DENIED)) is ALLOW
    assert auto_allowed_effect(_row(_DENIED, _ALL)) is ASK
    assert auto_allowed_effect(_row(_DENIED, Entry("Bash", DENY))) is DENY


def test_without_the_lines_of_a_host_only_rules_ask_or_deny() -> None:
    row = by_rules(_row(_DENIED, _ASKED))
    assert [entry.effect for entry in row.entries] == [DENY, ALLOW]
    assert row.default.effect is ALLOW
    assert by_rules(_row(_DENIED, _ALL)).default.effect is ASK


def test_files_count_by_rules_alone_where_a_rule_for_all_commands_grants_them() -> None:
    whole = evolve(DIALECT, shell=evolve(DIALECT.shell, whole=True))
    for row, granted in (
        (_row(_DENIED, default=ALLOW, dialect=whole), True),
        (_row(_DENIED, default=ASK, dialect=whole), False),
        (_row(_DENIED, default=ALLOW), False),
    ):
        assert grants_whole(row) is granted


@pytest.mark.parametrize(
    ("row", "denied"),
    [
        (_row(_DENIED), True),
        (_row(_DENIED, default=ASK), False),
        (_row(_DENIED, _ASKED), False),
        (_row(), True),
        (_row(default=ASK), False),
        # A host may know more: commands that only read, links, and other shells.
        (_row(_DENIED, dialect=evolve(DIALECT, shell=_SHELL)), False),
        (_row(_DENIED, dialect=evolve(DIALECT, links={"/a": "/b"})), False),
        (_row(_DENIED, dialect=Dialect("test", {"Bash": Argument(ArgumentKind.POWERSHELL, ("c",))})), False),
        (_row(_DENIED, dialect=Dialect("test", {"Bash": Argument(ArgumentKind.TEXT, ("c",))}, shell=_SHELL)), True),
    ],
)  # fmt: skip
def test_every_call_is_denied_where_each_line_and_the_default_deny(row: Row, denied: bool) -> None:
    granting = _row(Entry("Bash", ALLOW, Pattern.text("c")), default=ASK)
    assert denies_all(Lookup([(row, ())], "")) is denied
    assert denies_all(Lookup([(granting, ()), (row, ())], "")) is denied
