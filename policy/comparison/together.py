"""All lists of two sides searched at once, for a text that both decide differently.

Neighbours with one effect are one run, and lines that can decide none of the texts that are
looked for are left out: what tells fewer lines apart has fewer states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from functools import cache, lru_cache
from itertools import product

import attrs

from policy import limits
from policy.comparison.near import may_meet
from policy.comparison.sides import Sides, is_inside
from policy.comparison.view import View
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.domains import Domain
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.search import Found, search

__all__ = ["HIDING", "Runs", "hidden_by", "search_together"]

# Lines before another one that are looked at one by one, before all of them are.
HIDING = 8

# What both sides grant.
_Effects = tuple[Effect, Effect]


def search_together(
    lists: Sides,
    domains: Sequence[Domain],
    but: Sequence[Domain],
    *,
    seen: Container[_Effects],
    view: int | None = None,
    line: int = NO_MATCH,
) -> Found:
    """Return a shortest text that both sides decide differently.

    What it costs grows with what lines tell apart, not with the number of combinations.

    Args:
        lists: both sides.
        domains: the text is in all of them.
        but: it is in none of these.
        seen: the effects that it does not show.
        view: the list of the line that decides it; None where any does.
        line: that line, or no line of that list.

    """
    pattern = None if view is None else lists.pattern(view, line)
    before = () if view is None else lists.views[view].patterns[:line]
    # What these hide decides nothing, in no list.
    hidden = set(before)
    if view is not None:
        hidden.update(each for each in lists.patterns if lists.containing(each, view) < line)
    runs = [Runs.of(each, pattern, hidden) for each in lists.views]
    runs += map(Runs.outside, but)
    # Most lines before it match nothing that would be found.
    hiding: Sequence[Pattern] = ()
    while True:
        if view is not None:
            own = lists.views[view]
            effects = {0: None, NO_MATCH: own.effect(line)}
            runs[view] = Runs(hidden_by(own.kind, hiding), effects)
        found = _found(lists, [*domains, *([pattern.automaton] if pattern else [])], runs, seen)
        if found.text is None or view is None:
            return found
        first = lists.views[view].automaton.first(found.text)
        if first == line:
            return found
        hiding = (*hiding, before[first]) if len(hiding) < HIDING else before


@attrs.frozen(eq=False)
class Runs:
    """The runs of lines of a list, as they are searched.

    Attributes:
        automaton: which run decides.
        effects: what each says; None where no such text is looked for.

    """

    automaton: Automaton | Domain
    effects: Mapping[int, Effect | None]

    @classmethod
    def of(cls, view: View, pattern: Pattern | None, but: Collection[Pattern]) -> Runs:
        """Return the runs of a list for texts of *pattern*, if given, that match none of *but*."""
        default = view.default
        patterns: list[Pattern] = []
        ranks: list[int] = []
        effects: list[Effect] = []
        for entry, each in zip(view.entries, view.patterns, strict=True):
            if each in but or (pattern is not None and not may_meet(each, pattern)):
                continue
            if pattern is not None and is_inside(pattern, each):
                default = entry.effect
                break
            if effects[-1:] != [entry.effect]:
                effects.append(entry.effect)
            patterns.append(each)
            ranks.append(len(effects) - 1)
        automaton = _by_rank(view.kind, tuple(patterns), tuple(ranks))
        return cls(automaton, {**dict(enumerate(effects)), NO_MATCH: default})

    @classmethod
    def outside(cls, domain: Domain) -> Runs:
        """Return that the texts of *domain* are not looked for."""
        return cls(domain, {0: None, NO_MATCH: Effect.ALLOW})


# Several tools have the same lists, and what one search walked need not be built for the next.
@lru_cache(maxsize=32)
def _by_rank(kind: Kind, patterns: tuple[Pattern, ...], ranks: tuple[int, ...]) -> Automaton:
    tokens = [pattern.tokens for pattern in patterns]
    return Automaton(tokens, kind.separator, ranks=ranks)


def hidden_by(kind: Kind, patterns: Sequence[Pattern]) -> Automaton:
    """Return an automaton that tells whether any of *patterns* matches, not which."""
    return _by_rank(kind, tuple(patterns), (0,) * len(patterns))


def _found(
    lists: Sides,
    guides: Sequence[Automaton | Domain],
    runs: Sequence[Runs],
    seen: Container[_Effects],
) -> Found:
    wanted = _shows(lists, runs, seen)
    return search(
        guides,
        [each.automaton for each in runs],
        wanted,
        fresh=lists.fresh,
        extra=lists.extra,
        budget=limits.SEARCH_STATES,
        hoped=cache(lambda possible: any(map(wanted, product(*possible)))),
    )


def _shows(
    lists: Sides, runs: Sequence[Runs], seen: Container[_Effects]
) -> Callable[[tuple[int, ...]], bool]:
    """Return whether those of the *runs* that decide show effects that are not *seen*."""

    @cache
    def shows(deciding: tuple[int, ...]) -> bool:
        said = [each.effects[run] for each, run in zip(runs, deciding, strict=True)]
        effects = [effect for effect in said if effect is not None]
        if len(effects) < len(said):
            return False
        before, after = lists.granted(effects)
        return before is not after and (before, after) not in seen

    return shows
