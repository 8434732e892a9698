"""Path rules, as 2.1.329 was observed on Linux: which files match, and relative to what.

Globs ignore case, and are anchored by how they begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.values import frozen
from policy.patterns import notations
from policy.patterns.notations import Unusable
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, Token, fits

# `[!a]` is one of `!` and `a`, and so is `[^a]`: no set is negated.
_SET: Final = re.compile(r"\[([!^]+)([^]]+)\]")
# A glob in which every backslash escapes a character.
_ESCAPED: Final = re.compile(r"(?:[^\\]|\\[^/])*", re.DOTALL)

# `**/**/`: the second pair of stars matches one folder.
_TWICE: Final = re.compile(r"(/?\*\*/)\*\*/")
# `src/**`: deny and ask rules match it at any depth.
_FOLDER: Final = re.compile(r"[^/]+/\*\*\Z")


def _read_glob(text: str, anchors: Anchors, effect: Effect) -> tuple[tuple[str, ...], str]:
    """Return the folders and the glob of ``Read(text)``; raise Unusable if it matches nothing."""
    glob = _SET.sub(lambda found: f"[{found[2]}{found[1]}]", text.rstrip(" \t"))
    if "[]" in glob:
        raise Unusable("`[]` stands for no character")
    is_read = effect is not Effect.ALLOW and not glob.endswith("/**") and _ESCAPED.fullmatch(glob)
    if "\\" in glob and not is_read:
        raise Unusable("a backslash is no separator, and what it makes of a letter is not read")
    glob = re.sub(r"\\.", "?", glob)  # whatever the escaped character is
    if glob and not glob.strip("/"):
        raise Unusable(f"`{glob}` alone matches nothing; all below it is `{glob}**`")
    if glob.startswith("!"):
        raise Unusable("it opens what rules before it shut")
    if glob in ("~", "~/", ".", "./"):
        raise Unusable(f"`{glob}` alone matches nothing; name what is below it")
    if glob.startswith("//"):
        return ("",), _above("/" + glob.lstrip("/"))
    if glob.startswith("~/"):
        return (anchors.home,), _above(glob[1:])
    if glob.startswith("/"):
        return (anchors.source,), _above(glob)
    others = () if effect is Effect.ALLOW else anchors.others
    glob = glob.removeprefix("./")
    if _FOLDER.match(glob):
        depth = "/" if effect is Effect.ALLOW else "**/"
        glob = depth + glob.removesuffix("/**").rstrip(" \t")
    return (anchors.cwd, *others), _above(glob)


def _above(glob: str) -> str:
    # `src/**` is `src` and all below it; `**` alone names nothing by itself.
    if _TWICE.match(glob):
        glob = _TWICE.sub(r"\1*/", glob)
    above = glob.removesuffix("/**").rstrip(" \t")
    if glob.endswith("/**") and above.strip("/*"):
        return above if "/" in above else "/" + above
    return glob


@frozen
class Anchors:
    """The folders that path rules of one scope are relative to, canonical."""

    cwd: str  # of a path without a prefix
    home: str  # of ``~/``
    # Of ``/``: the working folder, or the folder of user settings, or that of the file given as a
    # flag.
    source: str
    # Additional working folders: deny and ask rules without a prefix are relative to these too.
    others: tuple[str, ...] = ()
    # Links of the system, with their targets: a rule for a name behind a link holds there too.
    links: tuple[tuple[str, str], ...] = ()
    # All links: a deny or ask rule that is anchored and names a link holds at its target too.
    named: tuple[tuple[str, str], ...] = ()


def path_patterns(text: str, anchors: Anchors, effect: Effect) -> tuple[Pattern, ...]:
    """Return what ``Read(text)`` matches with *effect*; raise Unusable if it matches nothing."""
    folders, glob = _read_glob(text, anchors, effect)
    found = [each for folder in folders for each in notations.paths(glob, folder, fold=True)]
    twins = [twin for pattern in found for twin in _led_to(pattern, anchors.links)]
    if effect is not Effect.ALLOW and text.startswith(("/", "~/")):
        for pattern in found:
            named = [link for link in anchors.named if _names(pattern, link[0])]
            twins += _led_to(pattern, tuple(named))
    return tuple(dict.fromkeys((*found, *twins)))


def _names(pattern: Pattern, link: str) -> bool:
    """Return whether a pattern begins with the name of *link* as it is written."""
    first, others = pattern.tokens[0], pattern.tokens[1:]
    if not isinstance(first, str) or not first.startswith(link):
        return False
    rest = first[len(link) :]
    return rest.startswith("/") or (not rest and others[:1] in ((), (Gap.DEEP,)))


def _led_to(pattern: Pattern, links: tuple[tuple[str, str], ...]) -> Iterator[Pattern]:
    """Yield *pattern* with the target of each link in place of the link."""
    for link, target in links:
        yield from (twin for twin in moved(pattern, link, target) if not twin <= pattern)


# One segment of a path, or `Gap.DEEP` for any number of them.
Part = tuple[Token, ...] | Gap


@lru_cache(maxsize=4096)  # several tools have the patterns of one rule
def within(pattern: Pattern, names: tuple[str, ...]) -> tuple[Pattern, ...]:
    """Return the part of a path *pattern* that is in ``**/names``; *names* are literal."""
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
