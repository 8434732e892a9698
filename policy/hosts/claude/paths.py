"""Path rules: what they are relative to, and which files they match.

As Claude Code 2.1.329 was observed to read them, on Linux: the globs of
``.gitignore`` without regard to case, anchored by how they begin.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.effect import Effect
from policy.patterns import notations
from policy.patterns.pattern import Pattern

__all__ = ["Anchors", "Negation", "looks_absolute", "path_patterns"]


@attrs.frozen
class Anchors:
    """The folders that path rules of one scope are relative to, canonical.

    Attributes:
        cwd: of a path without a prefix.
        home: of ``~/``.
        source: of ``/``: the working folder, or the folder of user settings, or that of the
            file given as a flag.
    """

    cwd: str
    home: str
    source: str


class Negation(notations.Unusable):
    """A pattern that begins with ``!``."""


# `src/**`, whose depth depends on the list it stands in.
_FOLDER: Final = re.compile(r"[^/]+/\*\*\Z")


def path_patterns(text: str, anchors: Anchors, effect: Effect) -> tuple[Pattern, ...]:
    """Return what ``Read(text)`` matches in a list of this effect.

    Raises:
        Negation: *text* begins with ``!``.
        Unusable: no path can match it.

    """
    glob = text.rstrip(" \t")
    if "\\" in glob:
        msg = "a backslash is no separator here, and escapes nothing"
        raise notations.Unusable(msg)
    if glob.startswith("!"):
        msg = "the host subtracts it from the rules before it, which is not modelled"
        raise Negation(msg)
    if glob.startswith("//"):
        return _paths("/" + glob.lstrip("/"), "")
    if glob == "~" or glob in (".", "./"):
        msg = f"`{glob}` alone matches nothing; name what is below it"
        raise notations.Unusable(msg)
    if glob.startswith("~/"):
        return _paths(glob[1:], anchors.home)
    if glob.startswith("/"):
        return _paths(glob, anchors.source)
    glob = glob.removeprefix("./")
    if _FOLDER.match(glob):
        glob = ("/" if effect is Effect.ALLOW else "**/") + glob
    return _paths(glob, anchors.cwd)


def _paths(glob: str, anchor: str) -> tuple[Pattern, ...]:
    # `src/**` is `src` and all below it; `**` alone names nothing by itself.
    above = glob.removesuffix("/**")
    if above != glob and above.strip("/*"):
        glob = above if "/" in above else "/" + above
    return notations.paths(glob, anchor, fold=True)


# First segments of paths that people write from the root of the file system.
_ROOTS: Final = frozenset(
    "Users Volumes bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr"
    " var".split()
)


def looks_absolute(text: str) -> bool:
    """Return whether *text* looks like a path from the root, which it is not with one slash."""
    segments = text.split("/")
    return len(segments) > 2 and segments[0] == "" and segments[1] in _ROOTS
