"""What a list knows of its own lines by their form holds of every text."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from policy.compare.lists import ListSide, View, counterparts
from policy.compare.pair import TextPair
from policy.compare.witness import CHANGES, Difference
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.patterns import notations
from policy.patterns.domains import PATHS
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.ruleset import Entry

_SEGMENTS = ("a", "b", "ab", "a*", "*", "**")
_PATHS = [
    "".join(f"/{part}" for part in parts)
    for depth in range(5)
    for parts in product(("a", "b", "ab"), repeat=depth)
]

_globs = st.tuples(
    st.lists(st.sampled_from(_SEGMENTS), min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "/a", "/a/b"]),
    st.booleans(),
).map(lambda drawn: notations.paths(drawn[0], drawn[1], floating=drawn[2])[0])

_stars = st.lists(st.sampled_from(["a", "b", "*"]), max_size=4).map("".join).map(Pattern.text)
_TEXTS = ["".join(letters) for length in range(5) for letters in product("abc", repeat=length)]


def _view(patterns: list[Pattern], effects: list[Effect] | None = None) -> View:
    said = zip(patterns, effects or [Effect.DENY] * len(patterns), strict=False)
    entries = (Entry("", effect, p, rule=str(p)) for p, effect in said)
    return View(patterns[0].kind, tuple(entries), Effect.ASK)


@given(
    st.lists(st.tuples(_stars, st.sampled_from(Effect)), max_size=4),
    st.lists(_stars, max_size=2),
    _stars,
    st.sampled_from(Effect),
)
@example([(Pattern.text("a*"), Effect.ALLOW)], [], Pattern.text("b"), Effect.DENY)
@example([(Pattern.text("b"), Effect.ASK)], [Pattern.text("b")], Pattern.text("b"), Effect.DENY)
def test_what_a_list_denies_by_its_form_it_grants_in_no_text(lines, shared, pattern, default):
    said = [*((each, Effect.ALLOW) for each in shared), *lines]
    entries = tuple(Entry("", effect, p, rule=str(p)) for p, effect in said)
    view = View(PatternKind.TEXT, entries, default, shared=len(shared))
    if view.denies(pattern):
        for text in filter(pattern.matches, _TEXTS):
            first = view.automaton.first(text)
            assert first < len(shared) or view.effect(first) is Effect.DENY


def test_what_no_line_grants_is_denied_by_the_form_of_a_list() -> None:
    view = _view([Pattern.text("a*")], [Effect.ALLOW])
    assert not values.evolve(view, default=Effect.DENY).denies(Pattern.text("ab"))
    assert values.evolve(view, default=Effect.DENY).denies(Pattern.text("b*"))
    assert not view.denies(Pattern.text("b*"))


_lists = st.lists(st.tuples(_globs, st.sampled_from(list(Effect))), min_size=1, max_size=6)


def _list(lines: list[tuple[Pattern, Effect]]) -> View:
    return _view([pattern for pattern, _ in lines], [effect for _, effect in lines])


@given(_lists, st.sampled_from(_PATHS), st.sampled_from(_PATHS))
def test_what_decides_behind_a_text_was_possible_there(lines, path, further) -> None:
    automaton = _list(lines).automaton
    assert automaton.first(path + further) in automaton.walk(path).possible


@given(_lists, _lists)
def test_lines_side_by_side_decide_together_but_for_those_that_only_one_list_has(
    lines, others
) -> None:
    before, after = _list(lines), _list([*others[:2], *lines[:3], *others[2:], *lines[3:]])
    kept = counterparts(before.entries, after.entries)
    for old, new in kept.items():
        assert before.patterns[old] == after.patterns[new]
        assert before.effect(old) is after.effect(new)
    for path in _PATHS:
        old, new = before.automaton.first(path), after.automaton.first(path)
        if old in kept and new in kept.values():
            assert kept[old] == new


_ABC = [notations.paths(name)[0] for name in ("a", "b", "ab")]


@given(
    st.lists(st.tuples(_lists, _lists, st.integers(0, 2)), min_size=1, max_size=2),
    st.booleans(),
)
@example([([*zip(_ABC, [Effect.ALLOW, Effect.DENY, Effect.DENY], strict=True)], [], 1)], True)
def test_paths_that_lists_decide_differently_are_found_by_the_lines_that_tell(
    lists, shares
) -> None:
    lines = lists[0][0]  # most are those of the first list, so that few tell
    views = [_list(lines), *(_list([*own[:2], *lines[left:]]) for _, own, left in lists)]

    def asked(path: str) -> Difference:
        firsts = {n: each.automaton.first(path) for n, each in enumerate(pair.views)}
        before, after = (Decision(effect, Reason.RULE) for effect in pair.effects(firsts))
        return Difference("tool", {"path": path}, before, after)

    sides = ListSide(tuple(views[:1])), ListSide((*views[1:], *views[:shares]))
    pair = TextPair(*sides, domain=PATHS, ask=asked)
    told = {difference.effects for difference in pair.differences()}
    assert not pair.why
    shown = {asked(path).effects for path in _PATHS}
    assert told >= shown & CHANGES  # of deeper paths more may be told
    assert told <= CHANGES


@given(st.lists(st.sampled_from(list(Effect)), min_size=1, max_size=6))
def test_a_line_is_the_strictest_where_none_behind_it_grants_less(effects) -> None:
    view = _view([Pattern.text("a")] * len(effects), effects)
    for line, effect in enumerate(effects):
        behind = [*effects[line + 1 :], view.default]
        assert view.is_strictest(line) is (effect <= min(behind))
