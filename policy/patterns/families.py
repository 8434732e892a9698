"""Finite families of patterns: intersections, folders, and texts that stand for all texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from policy.core import limits
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import (
    Pattern,
    PatternKind,
    excluded_characters,
    named,
    readable,
    tokens_of,
)
from policy.patterns.search import fresh_character
from policy.patterns.tokens import Gap, Token, fits

# Steps of a walk before it gives up, and members of two patterns that are remembered.
_STEPS = 20_000
_FEW: Final = 64


def members(frozen: Sequence[str], fresh: str) -> Iterator[str]:
    """Yield the members of the meet of *frozen* star patterns, frozen themselves.

    One may come more than once. Of no patterns it is ``*``. Raises OverflowError.
    """
    if len(frozen) <= 1:
        yield frozen[0] if frozen else fresh
        return
    few = _few(frozen[0], frozen[1], fresh)
    for shared in _pair(frozen[0], frozen[1], fresh) if few is None else few:
        yield from members([shared, *frozen[2:]], fresh)


@lru_cache(maxsize=8192)  # a comparison asks for the meet of the same two again and again
def _few(one: str, other: str, fresh: str) -> tuple[str, ...] | None:
    """Return what two patterns share; None where it is much."""
    try:
        found = tuple(islice(_pair(one, other, fresh), _FEW + 1))
    except OverflowError:
        return None
    return found if len(found) <= _FEW else None


def _pair(one: str, other: str, fresh: str) -> Iterator[str]:
    steps = 0
    ways = [(0, 0, "")]
    while ways:
        steps += 1
        if steps > _STEPS:
            msg = "the patterns share too many texts to write them out"
            raise OverflowError(msg)
        i, j, text = ways.pop()
        a, b = one[i : i + 1], other[j : j + 1]
        if not a and not b:
            yield text
        elif a == b == fresh:
            text = text if text.endswith(fresh) else text + fresh
            ways += [(i + 1, j, text), (i, j + 1, text)]
        elif a == fresh:
            ways.append((i + 1, j, text))
            if b:
                ways.append((i, j + 1, text + b))
        elif b == fresh:
            ways.append((i, j + 1, text))
            if a:
                ways.append((i + 1, j, text + a))
        elif a == b:
            ways.append((i + 1, j + 1, text + a))


# One segment of a path, or `Gap.DEEP` for any number of them.
Part = tuple[Token, ...] | Gap


@lru_cache(maxsize=4096)  # several tools have the patterns of one rule
def within(pattern: Pattern, names: tuple[str, ...]) -> tuple[Pattern, ...]:
    """Return what of a *pattern* of paths lies in, or is, ``**/names``, of literal text."""
    ways = (
        way
        for each in pattern.spelled_out
        for parts in (_parts(each.tokens),)
        for number, part in enumerate(parts)
        for way in _behind(parts[: number + (part is Gap.DEEP)], parts[number:], names)
    )
    found = dict.fromkeys(Pattern.of(PatternKind.PATH, tokens) for tokens in _tokens(ways))
    return tuple(one for one in found if not any(one <= o for o in found if o is not one))


def moved(pattern: Pattern, folder: str, target: str) -> tuple[Pattern, ...]:
    """Return what a *pattern* of paths matches in *folder*, as if that lay at *target*."""
    names = tuple(folder.split("/")[1:])
    ways = (way for each in pattern.spelled_out for way in _behind((), _parts(each.tokens), names))
    inside = (tuple(way[len(names) :]) for way in ways)
    return tuple(Pattern.of(PatternKind.PATH, [target, *tokens]) for tokens in _tokens(inside))


def _behind(
    before: tuple[Part, ...], parts: tuple[Part, ...], names: tuple[str, ...]
) -> Iterator[tuple[Part, ...]]:
    """Yield each way in which *parts* begin with *names*, behind what stands *before*."""
    if not names:
        yield (*before, *parts)
        return
    if not parts:
        return
    first, others = parts[0], parts[1:]
    named = (*before, (names[0],))
    if isinstance(first, Gap):
        yield from _behind(named, parts, names[1:])
        yield from _behind(before, others, names)
    elif fits(first, names[0], "/"):
        yield from _behind(named, others, names[1:])


def _parts(tokens: Sequence[Token]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for token in tokens:
        if token is Gap.DEEP:
            parts.append(Gap.DEEP)
            continue
        pieces: list[Token] = [*token.split("/")] if isinstance(token, str) else [token]
        if pieces[0] and parts:  # more of a segment
            last = parts.pop()
            parts.append((*last, pieces[0]) if isinstance(last, tuple) else last)
        parts += ((piece,) if piece else () for piece in pieces[1:])
    return tuple(parts)


def _tokens(ways: Iterable[tuple[Part, ...]]) -> Iterator[list[Token]]:
    for way in ways:
        tokens: list[Token] = []
        for part in way:
            tokens += [part] if isinstance(part, Gap) else ["/", *part]
        yield tokens


_Class = frozenset[int]  # the patterns that match a text: all that tells it from others


def classes(
    patterns: Sequence[Pattern], taken: Collection[str] = ()
) -> tuple[dict[_Class, str], bool]:
    """Return a text, not *taken*, for each set of patterns that some text matches.

    And whether that is all. As in `search`, a fresh character stands for all that none names.
    """
    tokens = tokens_of(patterns)
    fresh = fresh_character(named(tokens).union(*taken))
    # What only sets name, e.g. the slash that `=*` leaves out, tells texts apart as well.
    always = {fresh, *excluded_characters(tokens)}
    found: dict[_Class, str] = {}
    skipped: set[_Class] = set()
    start = tuple((index, p.automaton.start) for index, p in enumerate(patterns))
    queue = deque([("", start)])
    seen = {(frozenset((index, state.key) for index, state in start), False)}
    while queue:
        text, states = queue.popleft()
        matching = frozenset(index for index, state in states if state.first != NO_MATCH)
        if text in taken:
            skipped.add(matching)
        elif fresh in text and fresh not in found.get(matching, ""):
            found[matching] = text  # no pattern names all of it, which people read best
        else:
            found.setdefault(matching, text)
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
                    return found, False
                seen.add(key)
                queue.append((text + letter, after))
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
