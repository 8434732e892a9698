"""What lines say of a text is what it gets, or else others are looked for that the lines decide."""

from __future__ import annotations

from itertools import repeat

import pytest

from policy.compare.lists import ListSide, View
from policy.compare.pair import OVERLAPS, TextPair
from policy.compare.witness import Difference
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.patterns import notations
from policy.patterns.domains import ANY_TEXT
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.ruleset import Entry

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def _view(*lines: tuple[str, Effect]) -> View:
    entries = (
        Entry("", effect, Pattern.text(text), rule=text, place=Place("a.policy", number, 1))
        for number, (text, effect) in enumerate(lines, 1)
    )
    return View(PatternKind.TEXT, tuple(entries), ASK)


def _asked(text: str) -> Difference:
    """Return what a text gets: a new line that allows `a*` denies `ab*`, and allows `ac*` alone."""
    after = DENY if text.startswith("ab") else ALLOW if text.startswith("ac") else ASK
    before, now = (Decision(effect, Reason.RULE) for effect in (ASK, after))
    return Difference("tool", {"argument": text}, before, now)


def test_a_text_that_changes_in_the_other_direction_settles_nothing_of_its_lines() -> None:
    lines = (("ab*", ASK), ("ac*", ASK))
    sides = (ListSide((_view(*lines),)), ListSide((_view(("a*", ALLOW), *lines),)))
    pair = TextPair(*sides, domain=ANY_TEXT, ask=_asked)
    shown = {(each.call["argument"], each.widened) for each in pair.differences()}
    assert shown == {("ab", False), ("ac", True)}
    assert pair.why  # of other texts nobody said so


@pytest.mark.parametrize(("pattern", "most"), [("a*", 2_000), ("/a/*", 200)])
def test_so_many_combinations_of_lines_are_tried_and_no_more(pattern, most, monkeypatch) -> None:
    texts = [pattern] if "/" not in pattern else []
    lines = [(text, ALLOW) for text in texts]
    entries = tuple(Entry("", ALLOW, each) for each in notations.paths(pattern))
    view = _view(*lines) if texts else View(PatternKind.PATH, entries, ASK)
    pair = TextPair(ListSide(()), ListSide((view, _view())), domain=ANY_TEXT, ask=_asked)
    assert pair.are_stars is bool(texts)
    tried: list[object] = []
    monkeypatch.setattr(pair, "combinations", lambda chosen, *_: repeat(chosen))
    monkeypatch.setattr(pair, "_text", tried.append)
    monkeypatch.setattr(pair, "_confirmed", lambda *_: None)
    assert list(pair.by_line(0, 0, set())) == []
    assert len(tried) == most
    assert list(pair.why) == [OVERLAPS]
