"""What of a pattern of paths lies in folders of some name, wherever these lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, Token

__all__ = ["moved", "within"]

# One segment of a path, or `Gap.DEEP` for any number of them.
Part = tuple[Token, ...] | Gap


def within(pattern: Pattern, names: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the patterns of all that *pattern* matches in, or as, ``**/names``.

    Args:
        pattern: of paths.
        names: segments that follow one another, of literal text.

    """
    return tuple(part for each in pattern.spelled_out for part in _within(each, names))


def _within(pattern: Pattern, names: Sequence[str]) -> Iterator[Pattern]:
    parts = _parts(pattern.tokens)
    # Behind folders of other names all is as it is at the root.
    start = next((n for n, part in enumerate(parts) if not _is_other(part, names[0])), len(parts))
    inside = ((*parts[:start], *way) for way in _inside(parts[start:], tuple(names)))
    yield from (Pattern.of(Kind.PATH, tokens) for tokens in _tokens(inside))


def _is_other(part: Part, name: str) -> bool:
    """Return whether a part is literal text that is not *name*."""
    return (
        isinstance(part, tuple) and len(part) == 1 and isinstance(part[0], str) and part != (name,)
    )


@lru_cache(maxsize=1024)  # most rules differ in the folders that they begin with
def _inside(parts: tuple[Part, ...], names: tuple[str, ...]) -> tuple[tuple[Part, ...], ...]:
    """Return the ways in which *parts* lead into folders of some names, the widest alone."""
    ways = [
        way
        for number, part in enumerate(parts)
        for before in (parts[: number + 1] if part is Gap.DEEP else parts[:number],)
        for way in _behind(before, parts[number:], names)
    ]
    found: dict[Pattern, tuple[Part, ...]] = {}
    for way, tokens in zip(ways, _tokens(ways), strict=True):
        found.setdefault(Pattern.of(Kind.PATH, tokens), way)
    return tuple(
        way for each, way in found.items() if not any(each <= o for o in found if o is not each)
    )


def moved(pattern: Pattern, folder: str, target: str) -> tuple[Pattern, ...]:
    """Return the patterns of what *pattern* matches in *folder*, as if that lay at *target*.

    Args:
        pattern: of paths.
        folder: canonical, of literal text.
        target: likewise.

    """
    names = tuple(folder.split("/")[1:])
    ways = (way for each in pattern.spelled_out for way in _behind((), _parts(each.tokens), names))
    inside = (tuple(way[len(names) :]) for way in ways)
    return tuple(Pattern.of(Kind.PATH, [target, *tokens]) for tokens in _tokens(inside))


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
    elif not _is_other(first, names[0]) and _matches(first, names[0]):
        yield from _behind(named, others, names[1:])


def _matches(part: tuple[Token, ...], name: str) -> bool:
    return part == (name,) or Pattern.of(Kind.PATH, ("/", *part)).matches("/" + name)


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
