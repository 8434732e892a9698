"""Texts that stand for all texts, where some patterns are all that tells texts apart.

Two texts that the same patterns match are alike. So one text of each *class*
is enough: those that a walk along all patterns at once meets. As in
`policy.patterns.search`, a fresh character stands for every one that no
pattern names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

from policy import limits
from policy.patterns.automaton import NO_MATCH
from policy.patterns.letters import excluded_characters, named, readable, tokens_of
from policy.patterns.pattern import Pattern
from policy.patterns.search import fresh_character

__all__ = ["classes"]

_Class = frozenset[int]


def classes(
    patterns: Sequence[Pattern], taken: Collection[str] = ()
) -> tuple[dict[_Class, str], bool]:
    """Return a text for each set of patterns that match a same text, and whether that is all.

    None of them is among *taken*, which are known to be told apart anyhow.
    """
    tokens = tokens_of(patterns)
    fresh = fresh_character(named(tokens).union(*taken))
    # What only sets name, e.g. the slash that `=*` leaves out, tells texts apart as well.
    always = {fresh, *excluded_characters(tokens)}
    plain: dict[_Class, str] = {}
    open_: dict[_Class, str] = {}  # those with a fresh character: nobody has named them
    skipped: set[_Class] = set()
    start = tuple((index, p.automaton.start) for index, p in enumerate(patterns))
    queue = deque([("", start)])
    seen = {(frozenset((index, state.key) for index, state in start), False)}
    while queue:
        text, states = queue.popleft()
        matching = frozenset(index for index, state in states if state.first != NO_MATCH)
        if fresh in text:
            open_.setdefault(matching, text)
        elif text in taken:
            skipped.add(matching)
        else:
            plain.setdefault(matching, text)
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
                    return {**plain, **open_}, False
                seen.add(key)
                queue.append((text + letter, after))
    found = {**plain, **open_}
    shown = {key: _shown(text, key, patterns, taken) for key, text in found.items()}
    return shown, skipped <= found.keys()


def _shown(text: str, matching: _Class, patterns: Sequence[Pattern], taken: Collection[str]) -> str:
    """Return a text of the same class that people can read, if there is one."""
    for word in readable(text):
        if word and word not in taken:
            same = frozenset(index for index, p in enumerate(patterns) if p.matches(word))
            if same == matching:
                return word
    return text
