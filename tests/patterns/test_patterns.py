"""Patterns as values: their laws, against every text of small universes.

The counts are those of a quick run; ``POLICY_TEST_SCALE=10`` multiplies them.
"""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import random
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import attrs
import pytest

from policy.core import limits
from policy.patterns import automaton as automata
from policy.patterns import index as indexes
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.domains import (
    ANY_TEXT,
    BRACED,
    COMMANDS,
    HOSTS,
    OBJECTS,
    PATHS,
    TRIMMED_PATHS,
    Domain,
)
from policy.patterns.index import Index, Indexed
from policy.patterns.notations import paths, slashed
from policy.patterns.pattern import (
    Meet,
    Pattern,
    PatternKind,
    excluded_characters,
    freeze,
    is_glob,
    named,
    readable,
    tokens_of,
)
from policy.patterns.search import SearchResult, classes, fresh_character, search
from policy.patterns.tokens import (
    CONTROLS,
    Alternatives,
    Gap,
    OneOf,
    Run,
    Token,
    fits,
    in_any_case,
    in_one_case,
)
from tests import brute_force
from tests.brute_force import Raw, Universe, parts

SCALE = int(os.environ.get("POLICY_TEST_SCALE", "1"))

ANY, PART, DEEP, ONE = Gap.ANY, Gap.PART, Gap.DEEP, Gap.ONE

STARS: tuple[Token, ...] = ("a", "b", ANY)


# Families: some random patterns each, and texts enough to tell them apart.


@attrs.frozen(eq=False)
class Family:
    """Patterns to draw from, beside all texts of a size that their claims need."""

    name: str
    universe: Universe
    draw: Callable[[random.Random], Raw]
    pool: list[Raw] = attrs.field(init=False)

    @pool.default
    def _draw_pool(self) -> list[Raw]:
        dice = random.Random(self.name)
        drawn = dict.fromkeys(self.draw(dice) for _ in range(400 * SCALE))
        return list(drawn)

    @property
    def kind(self) -> PatternKind:
        return self.universe.kind

    def pattern(self, raw: Raw) -> Pattern:
        return Pattern.of(self.kind, raw)

    def members(self, *raws: Raw) -> int:
        """Return the texts that all of *raws* match."""
        members = -1
        for raw in raws:
            members &= self.universe.members(raw)
        return members

    def match(self, raws: Iterable[Raw], text: str) -> bool:
        return all(brute_force.matches(raw, text, self.kind.separator) for raw in raws)

    def samples(self, count: int, size: int) -> Iterable[list[Raw]]:
        """Yield lists of one to *size* patterns."""
        dice = random.Random(f"{self.name} {count} {size}")
        for _ in range(count * SCALE // 2):
            yield dice.choices(self.pool, k=dice.randint(1, size))


FAMILIES = [
    Family("stars", brute_force.texts("abz", 7), lambda dice: brute_force.raw_text(dice, 5)),
    Family(
        "depths",
        brute_force.paths(["a", "b", "z", "zz"], 5),
        lambda dice: brute_force.raw_path(dice, 3, 1, "ab"),
    ),
    Family(
        "parts",
        brute_force.paths(parts("ab.z", 2), 3),
        lambda dice: brute_force.raw_path(dice, 2, 2, "ab."),
    ),
    Family(
        "names",
        brute_force.paths(parts("ab.z", 5), 1),
        lambda dice: brute_force.raw_path(dice, 1, 3, "ab.", 0),
    ),
    Family(
        "alternatives",
        brute_force.paths(parts("abz", 2), 3),
        lambda dice: brute_force.raw_either(dice, 1, 1, "ab"),
    ),
    Family("runs", brute_force.texts("ab/z", 5), lambda dice: brute_force.raw_slashed(dice, 4)),
    Family(
        "hosts",
        brute_force.hosts(parts("abz", 2), 3),
        lambda dice: brute_force.raw_host(dice, 2, 2),
    ),
]

families = pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])


def canonical_path(text: str) -> bool:
    return all(part not in ("", ".", "..") for part in text.split("/")[1:]) and text[:1] in (
        "",
        "/",
    )


POSSIBLE: dict[PatternKind, Callable[[str], bool]] = {
    PatternKind.TEXT: lambda _: True,
    PatternKind.PATH: canonical_path,
    PatternKind.HOST: lambda text: "" not in text.split("."),
}


def path(*tokens: Token) -> Pattern:
    return Pattern.of(PatternKind.PATH, tokens)


# What a pattern matches.


@families
def test_a_pattern_matches_what_its_tokens_mean(family: Family) -> None:
    for raw in family.pool[: 60 * SCALE]:
        pattern = family.pattern(raw)
        for text in family.universe.texts[:2000]:
            assert pattern.matches(text) == family.match([raw], text), (raw, text)


@families
def test_a_pattern_of_a_few_tokens_matches_texts_no_call_can_hold_just_the_same(
    family: Family,
) -> None:
    dice = random.Random(7)
    for raw in family.pool:
        pattern = family.pattern(raw)
        for _ in range(10):
            text = "".join(dice.choices("abz/.\n*\U0001f600", k=dice.randint(0, 7)))
            assert pattern.matches(text) == family.match([raw], text), (raw, text)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (path(DEEP, "/a"), ["/a", "/b/a", "/b/c/a", "/a/a"], ["", "/b", "/ba", "/a/b", "a"]),
        (path("/a", DEEP), ["/a", "/a/b", "/a/b/c"], ["", "/ab", "/b/a", "/"]),
        (path("/a", DEEP, "/b"), ["/a/b", "/a/x/b", "/a/b/b"], ["/ab", "/a/xb", "/a", "/b"]),
        (path("/a/", PART), ["/a/b", "/a/.b", "/a/\n"], ["/a", "/a/b/c"]),
        (path("/", ONE), ["/a", "/\n", "/\U0001f600"], ["/", "", "//", "/ab"]),
        (path("/", OneOf(frozenset("ab"))), ["/a", "/b"], ["/c", "/", "/ab", "//"]),
        (path("/", OneOf(frozenset("ab"), negated=True)), ["/c", "/\n"], ["/a", "/b", "//", "/"]),
        (path("/", OneOf(frozenset())), [], ["/", "/a", ""]),
        (path("/", OneOf(frozenset(), negated=True)), ["/a"], ["/", "//", "/ab"]),
        (path("/", OneOf(frozenset("/a"))), ["/a"], ["//"]),
        (
            Pattern.of(PatternKind.HOST, [ANY, ".a.b"]),
            ["x.a.b", "x.y.a.b"],
            ["a.b", "xa.b", "x.a.b."],
        ),
        (Pattern.of(PatternKind.HOST, ["x", PART, ".a"]), ["x.a", "xyz.a"], ["x.y.a", "y.a"]),
        (Pattern.text("a*b"), ["ab", "a\nb", "a\U0001f600b", "aab/b"], ["a", "b", "abc", "ba"]),
        (Pattern.text(""), [""], ["a", " "]),
        (Pattern.text("**"), ["", "a", "\n\n"], []),
        (Pattern.exactly("a*"), ["a*"], ["a", "ab"]),
    ],
    ids=str,
)
def test_a_pattern_matches_these_texts_and_not_those(
    pattern: Pattern, yes: list[str], no: list[str]
) -> None:
    assert [text for text in yes + no if pattern.matches(text)] == yes


# What a pattern contains.


@families
def test_a_pattern_contains_another_when_every_text_says_so(family: Family) -> None:
    dice = random.Random(f"inclusion {family.name}")
    beyond = included = 0
    for _ in range(2_000 * SCALE):
        small, large = dice.choices(family.pool, k=2)
        a, b = family.pattern(small), family.pattern(large)
        counterexamples = family.members(small) & ~family.members(large)
        if a <= b:
            included += 1
            assert not counterexamples, (small, large, family.universe.some(counterexamples))
            assert b >= a
        elif not counterexamples:
            beyond += 1
            only = Meet.of(a).find(without=[b]).text
            assert only is not None, (small, large)
            assert family.match([small], only) and not family.match([large], only)
            assert POSSIBLE[family.kind](only)
    # The universe is large enough to be the judge, and both answers occur.
    assert beyond <= 10 * SCALE
    assert included >= 100 * SCALE


def test_a_star_pattern_contains_another_when_every_text_says_so_for_all_small_ones() -> None:
    family = FAMILIES[0]
    raws = [raw for size in range(5) for raw in itertools.product(STARS, repeat=size)]
    patterns = {family.pattern(raw): family.members(raw) for raw in raws}
    for (a, texts), (b, others) in itertools.product(patterns.items(), repeat=2):
        assert (a <= b) == (not texts & ~others), (a, b)


@families
def test_a_meet_is_contained_where_every_text_says_so(family: Family) -> None:
    for small in family.samples(800, 3):
        for large in (
            family.pool[len(small)],
            small[0],
            *random.Random(0).choices(family.pool, k=2),
        ):
            meet, pattern = Meet.of(*map(family.pattern, small)), family.pattern(large)
            counterexamples = family.members(*small) & ~family.members(large)
            if meet <= pattern:
                assert not counterexamples, (small, large)
            elif not counterexamples:
                only = meet.find(without=[pattern]).text
                assert only is not None
                assert family.match(small, only) and not family.match([large], only)
                assert POSSIBLE[family.kind](only)


@families
def test_inclusion_is_a_partial_order_and_the_meet_its_greatest_lower_bound(family: Family) -> None:
    for a, b, c in (map(family.pattern, raws) for raws in family.samples(300, 3) if len(raws) == 3):
        meet = a & b
        assert a <= a
        assert meet <= a and meet <= b and meet <= (b & a)
        assert not (a <= b <= c) or a <= c
        assert (c <= meet) == (c <= a and c <= b)
        assert not a <= b or a <= meet


# What patterns share.


@families
def test_a_meet_is_empty_when_no_text_matches_and_else_has_a_shortest_witness(
    family: Family,
) -> None:
    empty = 0
    for raws in family.samples(2_000, 3):
        meet = Meet.of(*map(family.pattern, raws))
        found = meet.find()
        members = family.members(*raws)
        assert found.exact
        assert meet.is_empty() == (found.text is None)
        if found.text is None:
            empty += 1
            assert not members, (raws, family.universe.some(members))
            assert meet.witness() is None
            continue
        assert not members or len(found.text) <= len(family.universe.some(members)), raws
        for text in (found.text, meet.witness()):
            assert text is not None
            assert family.match(raws, text), (raws, text)
            assert meet.matches(text)
            assert POSSIBLE[family.kind](text), (raws, text)
    assert empty >= 100 * SCALE


@families
def test_a_meet_matches_what_all_its_patterns_match(family: Family) -> None:
    dice = random.Random(3)
    for raws in family.samples(200, 4):
        first, *others = map(family.pattern, raws)
        meet = Meet.of(first)
        for other in others:
            meet = meet & other
        for text in dice.choices(family.universe.texts, k=20):
            assert meet.matches(text) == family.match(raws, text)


@pytest.mark.parametrize(
    ("meet", "witness"),
    [
        (Pattern.text("git *") & Pattern.text("* --force"), "git --force"),
        (Meet.of(Pattern.text("git push *")), "git push "),
        (Meet.of(Pattern.text("a*b*c")), "abc"),
        (Meet.of(path("/src/", PART, ".py")), "/src/.py"),
        (Meet.of(path("/src/", PART)), "/src/x"),
        (Meet.of(path("/", OneOf(frozenset("x"), negated=True))), "/a"),
        (Meet.of(path("/", ONE, ONE)), "/xx"),
        (Meet.of(path("/a", DEEP, "/", PART)), "/a/x"),
        (Meet.of(path(DEEP)), ""),
        (Meet.of(Pattern.of(PatternKind.HOST, [ANY])), "x"),
        (Meet.of(Pattern.of(PatternKind.HOST, [ANY, ".a.b"])), "x.a.b"),
        # A word of no letters would leave `/.`, which no call can hold.
        (path("/", PART, OneOf(frozenset("x"), negated=True)) & path("/.", PART), "/.a"),
        (path("/a") & path("/b"), None),
        (path("/."), None),
        (path("/a/", OneOf(frozenset(".")), PART) & path("/a/", ONE), None),
    ],
)
def test_the_witness_is_short_and_made_of_readable_words(
    meet: Meet | Pattern, witness: str | None
) -> None:
    assert meet.witness() == witness


def test_a_word_is_not_made_longer_where_it_is_read() -> None:
    assert next(iter(readable("\ue000token\ue000 \ue001"))) == "token x"


def test_patterns_of_different_kinds_are_never_mixed() -> None:
    text, host = Pattern.exactly("a"), Pattern.exactly("a", PatternKind.HOST)
    assert text != host
    for claim in (
        lambda: text & host,
        lambda: text <= host,
    ):
        with pytest.raises(TypeError, match="different kinds"):
            claim()


# The union of several.


def _union(members: Iterable[int]) -> int:
    union = 0
    for texts in members:
        union |= texts
    return union


def test_a_star_pattern_within_a_union_is_within_one_member_of_it() -> None:
    family = FAMILIES[0]
    for small, *large in family.samples(4_000, 6):
        if not large:
            continue
        union = _union(map(family.members, large))
        within = any(family.pattern(small) <= family.pattern(raw) for raw in large)
        assert within == (not family.members(small) & ~union), (small, large)


def test_a_text_is_found_for_each_set_of_patterns_that_some_text_matches() -> None:
    texts = ["", "x", "ab", "a", "axb", "xb", "a/b"]
    patterns = [Pattern.text(each) for each in ("a*", "*b", "ab")]
    found, exact = classes(patterns)
    assert exact
    assert {*found} == {
        frozenset(n for n, each in enumerate(patterns) if each.matches(text)) for text in texts
    }
    for matching, text in found.items():
        assert matching == {n for n, each in enumerate(patterns) if each.matches(text)}
    assert found[frozenset((0,))] == "a"
    without, exact = classes(patterns, taken=["a", "", "x", "ab"])
    assert not exact  # there is no other text like `ab`
    assert without.keys() == found.keys() - {frozenset((0, 1, 2))}
    assert not {"a", "", "x", "ab"} & {*without.values()}


def test_a_set_of_patterns_is_shown_by_a_text_that_is_not_empty_if_it_has_one() -> None:
    assert classes([Pattern.text("*")]) == ({frozenset((0,)): "x"}, True)
    found, exact = classes([Pattern.text("a"), Pattern.text("")])
    assert exact
    assert (found[frozenset((0,))], found[frozenset((1,))]) == ("a", "")


def test_sets_of_patterns_beyond_the_budget_are_not_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEARCH_STATES", 3)
    found, exact = classes([Pattern.text("abcdefg"), Pattern.text("b*")])
    assert not exact
    assert frozenset((0,)) not in found


def test_which_of_two_paths_is_within_the_other_is_not_told_by_their_length() -> None:
    every, but_one = path("/", ONE), path("/", OneOf(frozenset("a"), negated=True))
    assert but_one <= every
    assert not every <= but_one
    deep, wide = path("/a", DEEP, "/b"), path("/a", PART, "/b")
    assert not deep <= wide
    assert not wide <= deep
    assert path("/a/x/b") <= deep


# One form.


def test_star_patterns_are_equal_when_they_mean_the_same() -> None:
    family = FAMILIES[0]
    forms: dict[int, set[Pattern]] = {}
    for size in range(6):
        for raw in itertools.product(STARS, repeat=size):
            forms.setdefault(family.members(raw), set()).add(family.pattern(raw))
    assert all(len(patterns) == 1 for patterns in forms.values())


@families
def test_equal_patterns_mean_the_same(family: Family) -> None:
    meanings: dict[Pattern, int] = {}
    for raw in family.pool:
        assert meanings.setdefault(family.pattern(raw), family.members(raw)) == family.members(raw)


def test_the_form_of_a_canonical_pattern_is_itself() -> None:
    for family in FAMILIES:
        for raw in family.pool:
            pattern = family.pattern(raw)
            assert family.pattern(pattern.tokens) == pattern, raw


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (path("/a", "/b"), path("/a/b")),
        (path("", "/a", "", DEEP, "", DEEP), path("/a", DEEP)),
        (path("/", PART, PART), path("/", PART)),
        (path("/", PART, ONE), path("/", ONE, PART)),
        (path("/", PART, ONE, PART, ONE), path("/", ONE, ONE, PART)),
        (path(DEEP, "/", PART, "/x"), path("/", PART, DEEP, "/x")),
        (path(DEEP, "/", PART), path("/", PART, DEEP)),
        (path("/a", DEEP, "/", PART, DEEP, "/", PART), path("/a/", PART, "/", PART, DEEP)),
        (
            path(DEEP, "/", PART, DEEP, DEEP, "/", PART, "/b"),
            path("/", PART, "/", PART, DEEP, "/b"),
        ),
        (Pattern.text("a***b"), Pattern.text("a*b")),
        (
            Pattern.of(PatternKind.HOST, [ANY, PART, ".b"]),
            Pattern.of(PatternKind.HOST, [ANY, ".b"]),
        ),
        (Pattern.of(PatternKind.TEXT, [ANY, ONE]), Pattern.of(PatternKind.TEXT, [ONE, ANY])),
    ],
    ids=str,
)
def test_these_patterns_mean_the_same_and_are_equal(a: Pattern, b: Pattern) -> None:
    assert a == b
    assert hash(a) == hash(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (path("/a", OneOf(frozenset("b"))), path("/ab")),
        (path("/a", OneOf(frozenset(), negated=True)), path("/a", ONE)),
        (path("/", ONE, PART), path("/", PART)),
        (path("/a/.", OneOf(frozenset("."), negated=True)), path("/a/.", ONE)),
        (path("/.", DEEP), path("/..", DEEP)),
        (path("/", PART, DEEP, PART), path("/", PART, DEEP)),
        (path("/a", OneOf(frozenset("/"))), path("/a", OneOf(frozenset()))),
    ],
    ids=str,
)
def test_these_paths_mean_the_same_and_are_not_equal_yet_each_contains_the_other(
    a: Pattern, b: Pattern
) -> None:
    # Equality is a promise in one direction only: equal patterns mean the same.
    assert a != b
    assert a <= b
    assert b <= a


def test_neighbouring_gaps_of_any_kind_keep_their_meaning() -> None:
    # Among them `*?`, which is not `?*` where the star takes separators.
    texts = brute_force.texts("a/b", 5).texts
    tokens: tuple[Token, ...] = (ANY, PART, DEEP, ONE, "/", "a")
    for size in range(5):
        for raw in itertools.product(tokens, repeat=size):
            pattern = path(*raw)
            for text in random.Random(str(raw)).choices(texts, k=8):
                assert pattern.matches(text) == brute_force.matches(raw, text, "/"), (raw, text)


# Many patterns at once.

STRANGE = ["", "\n", "a\n", "\U0001f600", "a\U0001f600b", "é", "\ue000", "\x00", "*", "?", "a" * 50]


@pytest.mark.parametrize("tried", [0, 6, 64])
@families
def test_the_first_match_is_that_of_a_loop_over_the_patterns(
    family: Family, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_TRIED", tried)
    monkeypatch.setattr(indexes, "_TRIED_SMALL", tried // 8)
    dice = random.Random(f"{family.name} {tried}")
    for raws in family.samples(400, 8):
        patterns = [family.pattern(raw).tokens for raw in raws]
        automaton, indexed = (
            each(patterns, family.kind.separator) for each in (Automaton, Indexed)
        )
        for text in (*dice.choices(family.universe.texts, k=25), *dice.choices(STRANGE, k=3)):
            matching = {i for i, raw in enumerate(raws) if family.match([raw], text)}
            naive = min(matching, default=NO_MATCH)
            # Twice: walked for the first time, and remembered.
            assert automaton.first(text) == indexed.first(text) == naive, (raws, text)
            assert automaton.first(text) == indexed.first(text) == naive
            assert {*indexed.index.matching(text)} == matching


@pytest.mark.parametrize("tried", [1, 8])
def test_letters_in_any_case_are_looked_up_as_they_match(
    tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_TRIED_SMALL", tried)
    dice = random.Random(tried)
    segments = ["a", "A", "ab", "aB", "é", "É", "ß", "\u017f", "s", "", "*", "?", "[aB]", "**"]
    texts = ["/".join(["", *dice.choices(segments[:9], k=dice.randint(1, 4))]) for _ in range(200)]
    for _ in range(60):
        globs = ["/".join(dice.choices(segments, k=dice.randint(1, 3))) or "x" for _ in range(6)]
        found = [paths(glob, "/a/É", any_case=dice.random() < 0.7) for glob in globs]
        moved = [in_any_case(pattern.tokens) for (pattern,) in found]
        patterns = [Pattern.of(PatternKind.PATH, tokens) for tokens in moved]
        patterns += [pattern for (pattern,) in found]
        looked_up = Index([pattern.tokens for pattern in patterns], "/")
        for text in texts:
            matching = {n for n, pattern in enumerate(patterns) if pattern.matches(text)}
            assert sorted(looked_up.matching(text)) == sorted(matching), (text, globs)
            assert looked_up.first(text) == min(matching, default=NO_MATCH)


@pytest.mark.parametrize("entries", [0, 1, 3, 17])
@families
def test_forgetting_changes_no_answer(
    family: Family, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", entries)
    dice = random.Random(entries)
    for raws in family.samples(40, 6):
        patterns = [family.pattern(raw).tokens for raw in raws]
        automaton, indexed = (
            each(patterns, family.kind.separator) for each in (Automaton, Indexed)
        )
        for text in (*dice.choices(family.universe.texts, k=20), *STRANGE):
            naive = next((i for i, raw in enumerate(raws) if family.match([raw], text)), NO_MATCH)
            assert automaton.first(text) == indexed.first(text) == naive
        meet = Meet.of(*map(family.pattern, raws))
        assert not (meet.is_empty() and family.members(*raws))
        members = family.members(raws[0]) & ~family.members(raws[-1])
        assert not (meet.of(family.pattern(raws[0])) <= family.pattern(raws[-1]) and members)


def test_a_search_that_forgets_on_its_way_visits_nothing_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No text ends in both; to know it takes all states of the two together.
    never = Meet.of(
        path(DEEP, "/", *[ONE] * 6, "a", DEEP), path(DEEP, "/", *[ONE] * 6, "b"), path("/", PART)
    )
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 2)
    assert never.find(budget=60).exact
    assert never.is_empty()


def test_a_state_says_what_is_decided_so_far() -> None:
    undecided = Automaton([Pattern.text("ab").tokens, Pattern.text("*").tokens]).start
    assert (undecided.first, undecided.forever, undecided.alive) == (1, 1, True)
    nothing = Automaton([]).start
    assert nothing.first == NO_MATCH
    assert Automaton([]).first("a") == NO_MATCH
    assert not Automaton([Pattern.text("ab*").tokens]).start.after("z").alive


@families
def test_a_state_knows_which_patterns_may_still_decide(family: Family) -> None:
    dice = random.Random(f"possible {family.name}")
    for raws in family.samples(100, 4):
        patterns = [family.pattern(raw).tokens for raw in raws]
        automaton = Automaton(patterns, family.kind.separator)
        for text in dice.choices(family.universe.texts, k=20):
            for end in range(len(text) + 1):
                state = automaton.walk(text[:end])
                assert automaton.first(text) in state.possible
                assert all(number <= state.forever for number in state.possible)


def test_what_no_pattern_can_match_any_more_is_not_possible() -> None:
    automaton = Automaton([Pattern.text(each).tokens for each in ("ab*", "a*", "*c", "b")])
    possible = {text: {*automaton.walk(text).possible} for text in ("", "a", "ab", "b", "bb")}
    assert possible == {
        "": {0, 1, 2, 3, NO_MATCH},
        "a": {0, 1},  # `a*` matches whatever follows
        "ab": {0},
        "b": {2, 3, NO_MATCH},
        "bb": {2, NO_MATCH},
    }


@pytest.mark.parametrize(
    ("nodes", "letters"),
    [(1, 21), (7, 21), (8, 11), (15, 11), (16, 7)],  # each eight nodes take room for one letter
)
def test_a_cache_of_states_is_cleared_when_it_is_full_and_not_before(
    nodes: int, letters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 20)
    sets = [OneOf(frozenset({"a", chr(0x100 + number)})) for number in range(nodes)]
    for walked, is_kept in (
        ([letters - 1, letters - 1, 1], True),
        ([letters], True),
        ([letters + 1], False),
        ([letters, 1], False),
        ([letters, 0], False),
    ):
        automaton = Automaton([group] * 50 for group in sets)
        start = automaton.start
        for length in walked:
            automaton.walk("a" * length)
        assert (automaton.start is start) is is_kept, walked


def test_threads_that_build_the_same_automaton_at_once_all_get_its_answers() -> None:
    patterns = [Pattern.text(f"a{i}*b{i % 7}*").tokens for i in range(60)]
    texts = [f"a{i}xb{i % 7}y" for i in range(60)]
    answers = [Automaton(patterns).first(text) for text in texts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30 * SCALE):
            automaton, together = Automaton(patterns), threading.Barrier(4)

            def run(
                automaton: Automaton = automaton, together: threading.Barrier = together
            ) -> list[int]:
                together.wait()
                return [automaton.first(text) for text in texts]

            with ThreadPoolExecutor(4) as pool:
                for future in [pool.submit(run) for _ in range(4)]:
                    assert future.result() == answers
    finally:
        sys.setswitchinterval(interval)


def test_a_state_that_is_held_answers_on_when_another_thread_has_the_automaton_forget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 20)
    automaton = Automaton([Pattern.text(f"a{i:02}*b{i % 7}*").tokens for i in range(60)])
    texts = [f"a{i:02}xb{i % 7}y" for i in range(60)]

    def run(seed: int) -> bool:
        dice, held = random.Random(seed), automaton.start
        for _ in range(300 * SCALE):
            index = dice.randrange(60)
            state = held
            for character in texts[index]:
                state = state.after(character)
            if not state.first == automaton.first(texts[index]) == index:
                return False
        return True

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(run, range(4)))
    finally:
        sys.setswitchinterval(interval)


# Searching.


def _decide(family: Family, raws: Sequence[Raw], text: str) -> int:
    return next((i for i, raw in enumerate(raws) if family.match([raw], text)), NO_MATCH)


@families
def test_a_search_finds_how_two_lists_decide_whenever_some_text_shows_it(family: Family) -> None:
    """Any pair of answers, as long as the patterns that give them are guides."""
    dice = random.Random(f"search {family.name}")
    universe = family.universe.texts
    for lists in zip(family.samples(250, 4), family.samples(250, 3), strict=True):
        patterns = [[family.pattern(raw) for raw in raws] for raws in lists]
        machines = [Automaton([p.tokens for p in each], family.kind.separator) for each in patterns]
        everyone = list(itertools.chain(*patterns))
        answers = {
            tuple(_decide(family, raws, text) for raws in lists)
            for text in dice.choices(universe, k=40)
        }
        first = tuple(dice.randint(-1, len(raws) - 1) % (NO_MATCH + 1) for raws in lists)
        for wanted in (*answers, first):
            guides = [
                each[index].automaton
                for each, index in zip(patterns, wanted, strict=True)
                if index != NO_MATCH
            ]
            found = search(
                [family.kind.domain, *guides],
                [*zip(machines, wanted, strict=True)],
                fresh=fresh_character(named(tokens_of(everyone))),
                extra=excluded_characters(tokens_of(everyone)),
            )
            assert found.exact
            if found.text is None:
                assert wanted not in answers, (lists, wanted)
            else:
                assert tuple(_decide(family, raws, found.text) for raws in lists) == wanted
                assert POSSIBLE[family.kind](found.text)


def test_a_search_out_of_its_budget_says_so() -> None:
    meet = Pattern.text("*a*b*c*") & Pattern.text("*c*b*a*")
    found = meet.find(budget=3)
    assert (found.text, found.exact) == (None, False)
    assert meet.find().exact


def test_a_comparison_out_of_its_budget_raises_and_never_guesses() -> None:
    # The last twenty letters of a name, remembered as so many subsets.
    a, b = (path("/", PART, letter, *[ONE] * 20) for letter in "ab")
    c = path("/", PART, "c", *[ONE] * 20)
    wide = path("/", PART, "a", *[ONE] * 19, PART)  # matches every name that is tried first
    claims: list[Callable[[], bool]] = [partial(a.__le__, wide), (a & b & c).is_empty]
    for claim in claims:
        with pytest.raises(OverflowError, match="budget"):
            claim()


def test_one_text_that_is_not_within_settles_what_no_search_would() -> None:
    a, b = (path("/", PART, letter, *[ONE] * 20) for letter in "ab")
    assert not a <= b


def test_a_meet_is_within_each_of_its_patterns_without_a_search() -> None:
    a, b = (path("/", PART, letter, *[ONE] * 20) for letter in "ab")
    assert a & b <= a
    assert a & b <= b & a


@pytest.mark.parametrize(
    ("small", "large", "is_within"),
    [
        ("git push *", "git *", True),
        ("*a*b", "*b", True),
        ("ab", "a*", True),
        ("git *", "git push *", False),
        ("*", "a*", False),
    ],
)
def test_one_match_decides_whether_a_star_pattern_is_within_another(
    small: str, large: str, is_within: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policy.patterns.search.search", None)  # a search would fail
    assert (Pattern.text(small) <= Pattern.text(large)) is is_within


def test_the_characters_that_tokens_name_and_exclude_are_known() -> None:
    tokens: list[Token] = [
        *("ab", ANY, OneOf(frozenset("c")), OneOf(frozenset("d"), negated=True)),
        *(Run(frozenset("e")), Alternatives.of(["f", OneOf(frozenset("g"), negated=True)], [])),
    ]
    assert named(tokens) == {*"abcdefg"}
    assert excluded_characters(tokens) == {*"deg"}
    assert tokens_of([path("/a", ONE), path("/a", DEEP)]) == {"/a", ONE, DEEP}


def test_a_fresh_character_is_found_whatever_the_patterns_name() -> None:
    # Those that witnesses show words for.
    assert [fresh_character(set()), fresh_character({"\ue000"})] == ["\ue000", "\ue001"]
    private = "".join(map(chr, range(0xE000, 0xF900)))
    pattern = Pattern.text(f"*{private}*")
    assert fresh_character(named(pattern.tokens)) not in private
    assert Pattern.text(f"a{private}*") <= pattern
    assert not pattern <= Pattern.text(f"{private}*")


# Domains.


@pytest.mark.parametrize(
    ("domain", "yes", "no"),
    [
        (ANY_TEXT, ["", "a", "\n"], []),
        (
            PATHS,
            ["", "/a", "/a/b", "/...", "/.a", "/a.", "/..a"],
            ["/", "a", "/a/", "//a", "/.", "/..", "/a/../b", "/./a"],
        ),
        (HOSTS, ["a", "a.b"], ["", ".", "a.", ".a", "a..b"]),
        (
            COMMANDS,
            ["ls", "ls -l", "echo ';'", 'echo ";"', "a'b c'd"],
            ["", " ls", "ls ", "a  b", "a;b", "a'", "echo $x", 'echo "$x"', "# a", "a #", "x\ny"],
        ),
        (
            TRIMMED_PATHS,
            ["", "/a", "/a b", "/ a", "/ /b", "/a /b"],
            ["/", "/a ", "/ ", "/a\ufeff", "/a/.. ", "/./a", "a"],
        ),
        (
            OBJECTS,
            ["{}", '{"a":"b"}', '{"":""}', '{"\\"":"\\\\"}', '{"a":"\\n"}'],
            [
                "",
                "{",
                '{"a"}',
                '{"a":1}',
                '{"a":"b"',
                '{"a":"b"}}',
                '{"a":"b","c":"d"}',
                '{"\\x":""}',
            ],
        ),
        (
            BRACED,
            ["{}", '{"a":1}', '{"a":{}}', '{"a":{},"b":"c"}'],
            ["", "{", "{a}", "{}}", '{"a":1', '{"a":1}b'],
        ),
    ],
    ids=["text", "paths", "hosts", "commands", "trimmed paths", "objects", "braced"],
)
def test_a_domain_holds_what_a_call_can_hold(domain: Domain, yes: list[str], no: list[str]) -> None:
    assert [text for text in yes + no if domain.holds(text)] == yes


def test_the_domain_of_paths_holds_the_canonical_ones() -> None:
    for size in range(8):
        for letters in itertools.product("/.a", repeat=size):
            text = "".join(letters)
            assert PATHS.holds(text) == canonical_path(text), text


def test_a_witness_among_commands_may_need_quotes_that_no_pattern_names() -> None:
    texts = [
        "".join(letters)
        for size in range(6)
        for letters in itertools.product("a;'\" ", repeat=size)
    ]
    dice = random.Random(1)
    for _ in range(60 * SCALE):
        raw = tuple(dice.choice(("a", ";", " ", "'", ANY, ANY)) for _ in range(dice.randint(1, 4)))
        found = Pattern.of(PatternKind.TEXT, raw) & Pattern.text("*")
        shortest = next(
            (t for t in texts if COMMANDS.holds(t) and brute_force.matches(raw, t)), None
        )
        witness = found.find(domain=COMMANDS).text
        assert (witness is None) <= (shortest is None), (raw, shortest)
        if witness is not None:
            assert COMMANDS.holds(witness) and brute_force.matches(raw, witness)
            assert shortest is None or len(witness) <= len(shortest)
    # What single quotes cannot hold.
    assert Meet.of(Pattern.text("*;';*")).find(domain=COMMANDS).text is not None
    assert Meet.of(Pattern.text('*;";*')).find(domain=COMMANDS).text is not None
    assert Meet.of(Pattern.text("ls;*")).find(domain=COMMANDS).text is None


def test_inclusion_speaks_of_texts_that_a_call_can_hold() -> None:
    # Of these paths, all but the root begin with `/`.
    assert path(ANY, "/a") <= path("/", ANY, "a")
    assert not path(ANY) <= path("/", ANY)
    nothing = path("/a/../b")
    assert nothing <= path("/c")


# A frozen pattern.


@families
def test_a_frozen_pattern_is_one_of_its_texts(family: Family) -> None:
    for raw in family.pool:
        pattern = family.pattern(raw)
        assert pattern.matches(freeze(pattern, fresh_character(named(pattern.tokens)))), raw


@pytest.mark.parametrize(
    ("pattern", "frozen", "shown"),
    [
        (Pattern.text("a*b*"), "a_b_", "a*b*"),
        (path("/a", DEEP, "/", PART, ONE), "/a/__", "/a/**/?*"),
        (path("/", OneOf(frozenset("aB "))), "/a", "/[ Ba]"),
        (path("/", OneOf(frozenset("B "))), "/ ", "/[ B]"),
        (path("/", OneOf(frozenset("ab"), negated=True)), "/_", "/[!ab]"),
        (path("/", Alternatives.of(["a", PART], ["b"])), "/a_", "/{a*,b}"),
        (slashed("a/**/b*?"), "a/_b__", "a[/\\]**b*[!/\\]"),
        (Pattern.of(PatternKind.TEXT, [Run(frozenset())]), "_", "**"),
    ],
    ids=str,
)
def test_a_pattern_is_frozen_to_a_text_and_shown_as_a_glob(
    pattern: Pattern, frozen: str, shown: str
) -> None:
    assert (freeze(pattern, "_"), str(pattern)) == (frozen, shown)


@pytest.mark.parametrize(
    ("pattern", "is_exact"),
    [
        (Pattern.text("ab"), True),
        (Pattern.text(""), True),
        (Pattern.exactly("a*"), True),
        (Pattern.text("*"), False),
        (Pattern.text("a*"), False),
        (path("/a", ONE), False),
        (path("/", OneOf(frozenset("a"))), False),
    ],
    ids=str,
)
def test_a_pattern_is_exact_if_it_is_one_text(pattern: Pattern, is_exact: bool) -> None:
    assert pattern.exact is is_exact
    assert pickle.loads(pickle.dumps(pattern)) is pattern  # noqa: S301  # our own


def test_a_pattern_is_spelled_out_by_one_without_alternatives_for_each_choice() -> None:
    either = path("/", Alternatives.of(["a"], ["b", Alternatives.of([PART], ["c"])]), "/d")
    assert {*either.spelled_out} == {path("/a/d"), path("/b", PART, "/d"), path("/bc/d")}
    assert path("/a").spelled_out == (path("/a"),)


@pytest.mark.parametrize(
    ("tool", "is_pattern"), [("a*", True), ("=a", True), ("*", True), ("a", False), ("a=?", False)]
)
def test_a_tool_is_a_pattern_with_a_star_or_behind_an_equals_sign(
    tool: str, is_pattern: bool
) -> None:
    assert is_glob(tool) is is_pattern


@pytest.mark.parametrize(
    ("tokens", "text", "does_fit"),
    [
        ([], "", True),
        ([], "a", False),
        (["a"], "a", True),
        (["a"], "b", False),
        (["b", ANY, "a"], "ab", False),
        (["a", ONE], "a", False),
        (["a", ONE, "b"], "ab", False),
        ([DEEP], "/a", True),
        ([DEEP], "a", False),
        (["a", DEEP], "a", True),
    ],
)
def test_tokens_fit_a_text_or_do_not(tokens: list[Token], text: str, does_fit: bool) -> None:
    assert fits(tokens, text, "/") is does_fit


def test_an_open_depth_of_a_text_without_parts_is_empty() -> None:
    assert fits([DEEP], "", "")
    assert not fits([DEEP], "/a", "")
    assert not fits(["a", DEEP, "/b"], "a/x/b", "")


@pytest.mark.parametrize(
    ("group", "letter"),
    [
        (OneOf(frozenset("aA")), "a"),
        (OneOf(frozenset("\xe9\xc9")), "\xe9"),
        (OneOf(frozenset("\u03a3\u03c3\u03c2")), "\u03c3"),
        (OneOf(frozenset("\u03a3\u03c3")), ""),  # not all of its cases
        (OneOf(frozenset("a")), ""),
        (OneOf(frozenset("aAb")), ""),
        (OneOf(frozenset("aA"), negated=True), ""),
        (OneOf(frozenset()), ""),
        (OneOf(frozenset("1")), "1"),
    ],
)
def test_a_set_of_all_cases_of_a_letter_is_that_letter(group: OneOf, letter: str) -> None:
    assert in_one_case(group) == letter


# Hostile patterns and texts. Nothing is timed: what is counted does not depend on the machine.


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count the states built and the nodes they hold."""
    counted = {"states": 0, "nodes": 0, "largest": 0, "alive": 0, "most alive": 0}

    class Counted(automata.AutomatonState):
        __slots__ = ()

        def __init__(
            self, automaton: Automaton, nodes: Sequence[object], key: frozenset[int]
        ) -> None:
            super().__init__(automaton, nodes, key)  # type: ignore[arg-type]
            counted["states"] += 1
            counted["nodes"] += len(nodes)
            counted["largest"] = max(counted["largest"], len(nodes))
            counted["alive"] += 1
            counted["most alive"] = max(counted["most alive"], counted["alive"])

        def __del__(self) -> None:
            counted["alive"] -= 1

    monkeypatch.setattr(automata, "AutomatonState", Counted)
    return counted


@pytest.mark.parametrize("kind", PatternKind)
def test_a_pattern_of_many_stars_costs_a_few_nodes_a_character(
    kind: PatternKind, work: dict[str, int]
) -> None:
    stars = 2_000
    for gap in (ANY, PART):
        work.update(states=0, nodes=0)
        star: list[Token] = [gap, "a"]
        pattern = Pattern.of(kind, [*star * stars, "b"])
        assert pattern.automaton.walk("a" * 3 * stars).first == NO_MATCH
        assert pattern.automaton.walk("a" * 3 * stars + "b").first == 0
        assert work["states"] <= 3 * stars
        assert work["nodes"] <= 12 * stars


def test_a_star_before_a_word_that_repeats_itself_costs_at_most_pattern_times_text(
    work: dict[str, int],
) -> None:
    size = 400
    pattern = Pattern.text("*" + "ab" * size + "c")
    assert pattern.automaton.walk("ab" * 3 * size).first == NO_MATCH
    assert work["largest"] <= size + 2
    assert work["nodes"] <= 2 * size * (size + 4)
    assert work["states"] <= 2 * size + 4


def test_a_pattern_of_many_depths_costs_a_few_nodes_a_character(work: dict[str, int]) -> None:
    deep: list[Token] = [DEEP, "/a"]
    pattern = path(*deep * 1_000, "/b")
    assert not pattern.matches("/a" * 2_000)
    assert pattern.matches("/a" * 2_000 + "/b")
    assert work["nodes"] <= 20_000


def test_stars_of_many_patterns_cost_what_the_patterns_cost(work: dict[str, int]) -> None:
    automaton = Automaton([ANY, f"{index:02}", ANY, "a", ANY, "b"] for index in range(100))
    assert automaton.first("".join(f"{index:02}" for index in range(100)) + "ab") == 0
    assert work["largest"] <= 100 * 4 + 20


def test_what_is_remembered_is_bounded_by_its_size_and_not_by_its_count(
    monkeypatch: pytest.MonkeyPatch, work: dict[str, int]
) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 100)
    automaton = Automaton([[ANY, f"{index:03}", ANY, "b"] for index in range(100)])
    text = "".join(f"{index:03}" for index in range(100))
    for start in range(0, len(text), 100):
        automaton.first(text[: start + 100])
        held = sum(len(state._nodes) for state in automaton._states.values())
        assert held <= 20 * limits.CACHE_ENTRIES + work["largest"]
    assert automaton.first(text + "b") == 0


def test_what_is_forgotten_gives_its_memory_back_at_once(
    monkeypatch: pytest.MonkeyPatch, work: dict[str, int]
) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 1_000)
    size = 500  # up to 250 nodes a state: memory for 80 such states
    pattern = Pattern.text("*" + "ab" * (size // 2) + "c")
    gc.disable()  # what the collector finds is given back later
    try:
        # Each `x` leads back to the start.
        text = "".join("ab" * length + "x" for length in range(0, size // 2, 40))
        assert pattern.automaton.walk(text).first == NO_MATCH
    finally:
        gc.enable()
    assert work["states"] > size
    assert work["most alive"] < size / 2


def test_characters_behind_a_decision_are_not_remembered_without_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 500)
    automaton = Automaton([Pattern.text("a*").tokens])
    for start in range(0x4E00, 0x9E00, 200):
        assert automaton.first("a" + "".join(map(chr, range(start, start + 200)))) == 0
    assert sum(len(state.edges) for state in automaton._states.values()) <= 2_000


def test_characters_that_nothing_matches_are_not_remembered() -> None:
    automaton = Automaton([Pattern.text("ab").tokens])
    assert automaton.first("x" + "".join(map(chr, range(0x4E00, 0x4F00)))) == NO_MATCH
    assert sum(len(state.edges) for state in automaton._states.values()) == 1


def test_a_domain_is_an_automaton_of_one_pattern() -> None:
    for domain, text, end in ((PATHS, "/a", "/"), (HOSTS, "a", ".")):
        state = domain.start
        for character in text:
            state = state.after(character)
        assert (state.first, state.alive, state.forever) == (0, True, NO_MATCH)
        assert (state.after(end).first, state.after(end).alive) == (NO_MATCH, True)
        assert not state.after(end).after(end).alive


def test_controls_are_those_of_unicode_without_tab_and_line_break() -> None:
    known = {letter for letter in map(chr, range(0x200)) if unicodedata.category(letter) == "Cc"}
    assert known - {"\t", "\n"} == CONTROLS


def test_a_domain_remembers_no_characters() -> None:
    text = "".join(map(chr, range(0x4E00, 0x9E00)))
    assert HOSTS.holds(text)
    assert sum(len(state.ways) for state in (HOSTS.start, HOSTS.start.after("a"))) < 20


def test_ten_thousand_patterns_are_one_walk(work: dict[str, int]) -> None:
    count = 10_000
    automaton = Automaton([Pattern.text(f"tool{index} run *").tokens for index in range(count)])
    for index in (0, 1, 4_999, count - 1):
        assert automaton.first(f"tool{index} run it") == index
    assert automaton.first("tool run it") == NO_MATCH
    assert work["largest"] <= 2


def test_what_is_looked_up_builds_nothing_for_its_text(work: dict[str, int]) -> None:
    patterns = [Pattern.text(f"a{index % 200} *{index} *").tokens for index in range(1_000)]
    patterns += [Pattern.text(f"a *-{index}").tokens for index in range(9_000)]
    automaton = Indexed(patterns)
    assert automaton.first("a x-8999") == automaton.first("a -8999") == 9_999
    assert automaton.first("a13 b13 c") == 13
    assert automaton.first("a13 b13") == automaton.first("a6 c 14 ") == NO_MATCH
    assert work["states"] == 0


def _with_stars(count: int, size: int) -> list[tuple[Token, ...]]:
    """Return so many patterns of *size* tokens that start and end with a star."""
    middle: list[Token] = [ONE] * (size - 3)
    tokens = ([ANY, f"x{number}-", *middle, ANY] for number in range(count))
    return [Pattern.of(PatternKind.TEXT, each).tokens for each in tokens]


@pytest.mark.parametrize(
    ("patterns", "is_walked"),
    [
        (_with_stars(8, 3), False),
        ([*_with_stars(7, 3), *_with_stars(1, 4)], True),  # of 25 tokens
        (_with_stars(6, 4), False),
        (_with_stars(9, 3), True),
        ([("a", ANY, f"x{number}", ANY) for number in range(6)], False),
        ([("a", ANY, f"x{number}", ANY) for number in range(7)], True),
        # Those of one start, one end and nothing else are all known.
        ([Pattern.text("a*b").tokens] * 100, False),
        ([Pattern.text("*").tokens] * 100, False),
        # And those with letters in any case.
        ([tuple(in_any_case(["/ab", PART, str(number)])) for number in range(8)], False),
        ([tuple(in_any_case(["/ab", PART, str(number)])) for number in range(9)], True),
    ],
)
def test_patterns_with_24_tokens_in_all_are_tried_and_more_are_walked_together(
    patterns: list[tuple[Token, ...]], is_walked: bool, work: dict[str, int]
) -> None:
    assert Indexed(patterns, "/").first("/nothing") != 1
    assert bool(work["states"]) is is_walked


def test_patterns_behind_one_that_matches_whatever_follows_cost_nothing(
    work: dict[str, int],
) -> None:
    behind = [[ANY, f"{number:02}", ANY, "b"] for number in range(100)]
    automaton = Automaton([["b", ANY, "c"], ["a", ANY], *behind])
    assert automaton.first("a" + "".join(f"{number:02}" for number in range(100))) == 1
    assert work["largest"] <= 2


def test_many_patterns_that_start_alike_are_not_tried_one_by_one(work: dict[str, int]) -> None:
    patterns = [Pattern.text(f"*x{index}-*").tokens for index in range(1_000)]
    assert Indexed(patterns[:5]).first("a x4- b") == 4
    assert work["states"] == 0
    assert Indexed(patterns).first("a x999- b") == 999
    assert work["states"] > 0
    assert sorted(Index(patterns).matching("x7-x900-")) == [7, 900]


def test_a_pattern_as_long_as_allowed_is_a_value_like_any_other(work: dict[str, int]) -> None:
    size = limits.PATTERN_CHARACTERS // 2
    long = "a" + "b" * (size - 1)
    pattern = Pattern.text(f"{long}*{long}c")
    assert pattern.matches(f"{long}z{long}c")
    assert not pattern.matches(f"{long}z{long}")
    assert pattern <= Pattern.text("a*c")
    assert not Pattern.text("a*c") <= pattern
    assert (Pattern.text("a*b") & Pattern.exactly(long)).matches(long)
    alternating: list[Token] = [DEEP, "/", PART]
    assert str(path(*alternating * size)) == "/*" * size + "/**"
    assert path(*["a"] * size) == path("a" * size)
    assert Pattern.text("*a" * size).matches("a" * size)
    assert not Pattern.text("*a" * size).matches("a" * (size - 1))


def test_ten_megabytes_of_text_are_one_walk(work: dict[str, int]) -> None:
    text = "ab" * (5 * 1024 * 1024)
    automaton = Automaton(
        [Pattern.text("*aa*").tokens, Pattern.text("*b*c").tokens, Pattern.text("*ab").tokens]
    )
    assert automaton.first(text) == 2
    assert automaton.first(text + "c") == 1
    assert work["states"] < 20


def test_the_examples_of_the_module_hold() -> None:
    import doctest

    from policy.patterns import pattern

    results = doctest.testmod(pattern)
    assert results.attempted >= 2
    assert results.failed == 0


def test_a_search_leaves_what_an_earlier_pattern_matches_whatever_follows() -> None:
    lists = [Pattern.text(each) for each in ("a*", "*bc*z", "ab*")]
    watched = Automaton([each.tokens for each in lists])

    def searched(pattern: str, wanted: int, **more: int) -> SearchResult:
        guides = [Pattern.text(pattern), *([] if wanted == NO_MATCH else [lists[wanted]])]
        machines = [guide.automaton for guide in guides]
        return search(machines, [(watched, wanted)], fresh="q", **more)

    # Whatever begins with `a` is decided by its first letter.
    assert searched("a*", NO_MATCH, budget=1) == SearchResult(None)
    assert searched("a*", 0, budget=1) == SearchResult(None, exact=False)
    texts = [
        "".join(letters) for size in range(5) for letters in itertools.product("abczq", repeat=size)
    ]
    for pattern in ("*", "a*", "*c*", "b*z"):
        guide = Pattern.text(pattern)
        for wanted in (0, 1, 2, NO_MATCH):
            shortest = next(
                (t for t in texts if guide.matches(t) and watched.first(t) == wanted), None
            )
            found = searched(pattern, wanted)
            assert found.exact
            assert (found.text is None) == (shortest is None), (pattern, wanted)
            if found.text is not None and shortest is not None:
                assert guide.matches(found.text) and watched.first(found.text) == wanted
                assert len(found.text) == len(shortest)


def test_tokens_are_written_in_one_order_and_each_in_its_own_way() -> None:
    """The content hash of a table is made of them."""
    letters = "abcdefgh"
    sets = [OneOf(frozenset(letters)), OneOf(frozenset(letters), negated=True)]
    sets_and_runs: list[Token] = [*sets, Run(frozenset(letters))]
    for token in sets_and_runs:
        assert "".join(re.findall("'(.)'", repr(token))) == letters
    tokens = [*sets_and_runs, Run(frozenset("a")), OneOf(frozenset("a")), *Gap, "a"]
    assert len({repr(token) for token in tokens}) == len(tokens)


def test_the_arguments_of_a_call_are_no_json_with_control_characters() -> None:
    for number in range(0x21):
        for domain in (OBJECTS, BRACED):
            assert domain.holds('{"a":"' + chr(number) + '"}') is (number == 0x20)
