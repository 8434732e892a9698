"""Letters of either case: which ones are alike, and how a list of patterns is indexed by them."""

from __future__ import annotations

import string

import pytest

from policy.patterns import tokens as letters
from policy.patterns.index import _small
from policy.patterns.tokens import Gap, OneOf, in_any_case, in_one_case


def test_letters_beyond_ascii_are_put_into_groups_only_where_one_is_met(monkeypatch) -> None:
    monkeypatch.setattr(letters, "_ALIKE", {})
    assert [*in_any_case(["a", Gap.ANY, "B1"])]
    assert not letters._ALIKE
    assert [*in_any_case(["\u00e9"])] == [OneOf(frozenset("\u00e9\u00c9"))]
    assert letters._ALIKE


_A, _B = (OneOf(frozenset(both)) for both in ("aA", "bB"))


@pytest.mark.parametrize("letter", string.printable)
def test_a_letter_of_ascii_has_its_two_cases_and_no_others(letter: str) -> None:
    """The sign for Kelvin, which looks like a large K, is no K."""
    cases = {letter.lower(), letter.upper()}
    (token,) = in_any_case([letter])
    assert token == (OneOf(frozenset(cases)) if len(cases) > 1 else letter)
    if isinstance(token, OneOf):
        assert in_one_case(token) == letter.lower()
        assert in_one_case(OneOf(token.characters, negated=True)) == ""
        assert in_one_case(OneOf(token.characters | {"\u212a"})) == ""


@pytest.mark.parametrize(
    ("tokens", "start"),
    [
        (("Ab", Gap.ANY), ("ab", 1)),
        ((_A, _B, Gap.ANY), ("ab", 2)),
        ((_A, "/", _B), ("a/b", 3)),  # what has no case may stand between
        ((_A, "/ 1", _B, Gap.ANY), ("a/ 1b", 3)),
        ((_A, "x", _B), ("a", 1)),  # in one case only
        ((_A, "X"), ("a", 1)),
        (("/", _A), ("/a", 2)),
        ((Gap.ANY, "a"), ("", 0)),
        ((OneOf(frozenset("ab")), "c"), ("", 0)),
        ((), ("", 0)),
    ],
)
def test_a_pattern_is_indexed_by_what_starts_it_in_either_case(tokens, start) -> None:
    assert _small(tokens) == start
