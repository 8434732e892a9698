"""Path rules: what they are relative to, and which files they match.

As Claude Code 2.1.329 was observed to read them, on Linux: globs
(`policy.hosts.claude.globs`) without regard to case, anchored by how they begin.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.effect import Effect
from policy.hosts.claude.globs import Place, read_glob
from policy.patterns import notations
from policy.patterns.folders import moved
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap

__all__ = ["Anchors", "path_patterns"]


@attrs.frozen
class Anchors:
    """The folders that path rules of one scope are relative to, canonical.

    Attributes:
        cwd: of a path without a prefix.
        home: of ``~/``.
        source: of ``/``: the working folder, or the folder of user settings, or that of the
            file given as a flag.
        others: the additional working folders, which rules without a prefix are relative
            to as well where they deny or ask.
        links: folders of the system that are links, and where each leads: what a rule says
            of files by such a name it says of them there too.
        named: all links: a rule that denies or asks, and is anchored, holds where a link leads
            that it names.
    """

    cwd: str
    home: str
    source: str
    others: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    named: tuple[tuple[str, str], ...] = ()


def path_patterns(text: str, anchors: Anchors, effect: Effect) -> tuple[Pattern, ...]:
    """Return what ``Read(text)`` matches in a list of this effect.

    Raises:
        Negation: *text* begins with ``!``.
        Unusable: no path can match it.

    """
    found = _as_written(text, anchors, effect)
    twins = [twin for pattern in found for twin in _led_to(pattern, anchors.links)]
    if effect is not Effect.ALLOW and text.startswith(("/", "~/")):
        for pattern in found:
            named = [link for link in anchors.named if _names(pattern, link[0])]
            twins += _led_to(pattern, tuple(named))
    return tuple(dict.fromkeys((*found, *twins)))


def _names(pattern: Pattern, link: str) -> bool:
    """Return whether a pattern is of *link*, or of what is behind it, in so many letters."""
    first, others = pattern.tokens[0], pattern.tokens[1:]
    if not isinstance(first, str) or not first.startswith(link):
        return False
    rest = first[len(link) :]
    return rest.startswith("/") or (not rest and others[:1] in ((), (Gap.DEEP,)))


def _led_to(pattern: Pattern, links: tuple[tuple[str, str], ...]) -> Iterator[Pattern]:
    """Yield *pattern* by the names of the files where a link of the system leads."""
    for link, target in links:
        yield from (twin for twin in moved(pattern, link, target) if not twin <= pattern)


def _as_written(text: str, anchors: Anchors, effect: Effect) -> tuple[Pattern, ...]:
    glob = read_glob(text, effect)
    folders: tuple[str, ...] = (anchors.cwd,)
    match glob.place:
        case Place.ROOT:
            folders = ("",)
        case Place.HOME:
            folders = (anchors.home,)
        case Place.SOURCE:
            folders = (anchors.source,)
        case Place.HERE if effect is not Effect.ALLOW:
            folders = (anchors.cwd, *anchors.others)
        case Place.HERE:
            pass
    return tuple(p for folder in folders for p in notations.paths(glob.text, folder, fold=True))
