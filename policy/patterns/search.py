"""Find a text that some patterns match, and whose first match in others is a wanted one.

All *guides* must match the text, and the first match of each *watched* automaton is given. The
search runs all automata together, breadth first, so it finds a shortest such text.

Where every guide has a gap, the search tries one *fresh* character, which no pattern names, for all
others. This loses no answer. Take a text with the wanted answers, and replace by the fresh
character each character that is in a gap of every guide. The guides still match. A watched pattern
that matches now matched before: only a gap matches the fresh character, and the gap matches the old
one too. The search keeps separators, characters that unlock texts of a domain, and characters in
sets, since a negated set distinguishes them.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection, Sequence
from functools import lru_cache

from policy.core import limits
from policy.core.values import frozen
from policy.patterns.automaton import NO_MATCH, Automaton, AutomatonState
from policy.patterns.domains import Domain, DomainState
from policy.patterns.pattern import Pattern, excluded_characters, named, readable, tokens_of
from policy.patterns.tokens import readability

_Key = tuple[int | frozenset[int], ...]
_States = tuple[AutomatonState | DomainState, ...]


@frozen
class SearchResult:
    """A text with the wanted answers, or None; not *exact* if the search exceeded its budget."""

    text: str | None
    exact: bool = True


def fresh_character(letters: set[str]) -> str:
    """Return a character that is not among *letters*."""
    # From the private-use characters on, which real patterns do not have.
    everything = map(chr, range(0xE000, sys.maxunicode))
    return next(character for character in everything if character not in letters)


def search(
    guides: Sequence[Automaton | Domain],
    watched: Sequence[tuple[Automaton, int]],
    *,
    fresh: str,
    extra: frozenset[str] = frozenset(),
    budget: int = limits.SEARCH_STATES,
) -> SearchResult:
    """Return a shortest text that all *guides* match and the *watched* automata decide as wanted.

    Args:
        guides: each must match the text.
        watched: each automaton with its first match: NO_MATCH, or a pattern that is a guide.
        fresh: a character that no pattern names.
        extra: further characters to try in gaps: those in sets.
        budget: the most product states to visit.

    """
    machines = [*guides, *(automaton for automaton, _ in watched)]
    wanted = [first for _, first in watched]
    everywhere = {fresh, *(machine.separator for machine in machines)} - {""} | extra
    count = len(guides)
    start = tuple(machine.start for machine in machines)
    # States are compared by key, since an automaton with a full cache builds equal states again.
    origin = tuple(state.key for state in start)
    came_from: dict[_Key, tuple[_Key, str] | None] = {origin: None}
    queue = deque([(origin, start)])
    while queue:
        here, states = queue.popleft()
        if NO_MATCH not in [state.first for state in states[:count]] and wanted == [
            state.first for state in states[count:]
        ]:
            return SearchResult(_text(came_from, here))
        letters = everywhere.union(*(state.letters() for state in states[:count]))
        for letter in _ordered(frozenset(letters)):
            following = _following(states, letter, count, wanted)
            if following is None:
                continue
            key = tuple([state.key for state in following])
            if key in came_from:
                continue
            if len(came_from) >= budget:
                return SearchResult(None, exact=False)
            came_from[key] = (here, letter)
            queue.append((key, following))
    return SearchResult(None)


@lru_cache(maxsize=4096)  # most states of a search name the same characters
def _ordered(letters: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(letters, key=readability))


def _following(states: _States, letter: str, count: int, wanted: Sequence[int]) -> _States | None:
    """Return the states behind one more letter; None if no wanted answer is possible then."""
    following = []
    for state in states[:count]:
        after = state.after(letter)
        if not after.alive:
            return None
        following.append(after)
    for state, first in zip(states[count:], wanted, strict=True):
        after = state.after(letter)
        if after.forever < first:
            return None  # an earlier pattern matches every text behind this
        following.append(after)
    return tuple(following)


def _text(came_from: dict[_Key, tuple[_Key, str] | None], key: _Key) -> str:
    letters = []
    step = came_from[key]
    while step is not None:
        key, letter = step
        letters.append(letter)
        step = came_from[key]
    return "".join(reversed(letters))


_Class = frozenset[int]  # the patterns that match a text


def classes(
    patterns: Sequence[Pattern], taken: Collection[str] = ()
) -> tuple[dict[_Class, str], bool]:
    """Return a text, not in *taken*, for each set of patterns that one text matches together.

    Also return whether these are all sets. As in `search`, a fresh character replaces all others.
    """
    tokens = tokens_of(patterns)
    fresh = fresh_character(named(tokens).union(*taken))
    # Characters that sets exclude, e.g. the slash in `=*`, change which patterns match too.
    always = {fresh, *excluded_characters(tokens)}
    texts: dict[_Class, str] = {}
    skipped: set[_Class] = set()
    start = tuple((index, p.automaton.start) for index, p in enumerate(patterns))
    queue = deque([("", start)])
    seen = {(frozenset((index, state.key) for index, state in start), False)}
    while queue:
        text, states = queue.popleft()
        matching = frozenset(index for index, state in states if state.first != NO_MATCH)
        if text in taken:
            skipped.add(matching)
        elif fresh in text and fresh not in texts.get(matching, ""):
            texts[matching] = text  # readable words can replace a fresh character
        else:
            texts.setdefault(matching, text)
        letters = always.union(*(state.letters() for _, state in states))
        for letter in sorted(letters):
            after = tuple(
                (index, following)
                for index, state in states
                if (following := state.after(letter)).alive
            )
            key = frozenset((index, state.key) for index, state in after), fresh in text + letter
            if key not in seen:
                if len(seen) >= limits.SEARCH_STATES:
                    return texts, False
                seen.add(key)
                queue.append((text + letter, after))
    shown = {key: _shown(text, key, patterns, taken) for key, text in texts.items()}
    return shown, skipped <= texts.keys()


def _shown(text: str, matching: _Class, patterns: Sequence[Pattern], taken: Collection[str]) -> str:
    """Return a readable text that the same patterns match; *text* if there is none."""
    for word in readable(text):
        if word and word not in taken:
            same = frozenset(index for index, p in enumerate(patterns) if p.matches(word))
            if same == matching:
                return word
    return text
