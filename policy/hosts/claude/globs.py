"""The globs of path rules, as Claude Code 2.1.329 was observed to read them.

They are those of ``.gitignore``, made into expressions of JavaScript, and here into globs
that `policy.patterns.notations.paths` reads:

- how one begins says which folder it is relative to (`Place`);
- a set is never negated: ``[!a]`` is one of ``!`` and ``a``;
- a backslash takes the meaning from the character behind it, but makes a set of some letters
  and something else of others;
- ``src/**`` is ``src`` with all below it, at any depth where it denies or asks; and of two
  pairs of stars in front the second stands for one folder.
"""

from __future__ import annotations

import enum
import re
from typing import Final

import attrs

from policy.effect import Effect
from policy.patterns.notations import Unusable
from policy.patterns.tokens import BLANKS

__all__ = ["Glob", "Negation", "Place", "read_glob", "relative_glob"]


class Place(enum.Enum):
    """What a glob is relative to, by how it begins."""

    HERE = ""  # the working folder
    SOURCE = "/"  # the folder of the settings
    HOME = "~/"
    ROOT = "//"


@attrs.frozen
class Glob:
    """A glob of a rule.

    Attributes:
        place: what it is relative to.
        text: what it names there, as `policy.patterns.notations.paths` reads it.
    """

    place: Place
    text: str


class Negation(Unusable):
    """A pattern that begins with ``!``."""


# `[!a]` is one of `!` and `a`, and so is `[^a]`: no set is negated.
_SET: Final = re.compile(r"\[([!^]+)([^]]+)\]")


# What has only backslashes that take the meaning from a character.
_ESCAPED: Final = re.compile(r"(?:[^\\]|\\[^\\/])*", re.DOTALL)


# What a backslash makes of some letters: one character of a set (2.1.329, observed of `d`, `s`
# and `w`). Of other letters and numbers it makes something else, for which any one stands here.
_CLASSES: Final = {
    "d": "[0-9]",
    "D": "[!0-9]",
    "s": f"[{BLANKS}]",
    "S": f"[!{BLANKS}]",
    "w": "[a-z0-9_]",
    "W": "[!a-z0-9_]",
}
_CLASS: Final = re.compile(r"\\([dDsSwW])")
_ODD: Final = re.compile(r"\\[0-9bBcfknrtuvx]")

# Of two pairs of stars in front the second stands for one folder.
_TWICE: Final = re.compile(r"(/?\*\*/)\*\*/")

# What alone names nothing.
_ANCHORS: Final = ("~", "~/", ".", "./")


def _literal_set(found: re.Match[str]) -> str:
    return f"[{found[2]}{found[1]}]"


# `src/**`, whose depth depends on the list it stands in.
_FOLDER: Final = re.compile(r"[^/]+/\*\*\Z")


def read_glob(text: str, effect: Effect) -> Glob:
    """Return the glob of ``Read(text)`` in a list of this effect.

    Raises:
        Negation: *text* begins with ``!``.
        Unusable: no path can match it.

    """
    glob = _SET.sub(_literal_set, text.rstrip(" \t"))
    if "[]" in glob:
        msg = "`[]` stands for no character"
        raise Unusable(msg)
    if "\\" in glob and (glob.endswith("/**") or not _ESCAPED.fullmatch(glob)):
        msg = "a backslash is no separator here, and escapes neither itself nor a folder"
        raise Unusable(msg)
    if effect is Effect.ALLOW and _ODD.search(glob):
        msg = "a backslash before this letter or number makes an expression of it"
        raise Unusable(msg)
    glob = _ODD.sub("?", _CLASS.sub(lambda found: _CLASSES[found[1]], glob))
    if glob and not glob.strip("/"):
        msg = f"`{glob}` alone matches nothing; all below it is `{glob}**`"
        raise Unusable(msg)
    if glob.startswith("!"):
        msg = "it opens what rules before it shut"
        raise Negation(msg)
    if glob.startswith("//"):
        return Glob(Place.ROOT, _above("/" + glob.lstrip("/")))
    if glob in _ANCHORS:
        msg = f"`{glob}` alone matches nothing; name what is below it"
        raise Unusable(msg)
    if glob.startswith("~/"):
        return Glob(Place.HOME, _above(glob[1:]))
    if glob.startswith("/"):
        return Glob(Place.SOURCE, _above(glob))
    return Glob(Place.HERE, _above(_at_depth(glob.removeprefix("./"), effect)))


def _at_depth(glob: str, effect: Effect) -> str:
    if _FOLDER.match(glob):
        return ("/" if effect is Effect.ALLOW else "**/") + glob.removesuffix("/**").rstrip(" \t")
    return glob


def relative_glob(text: str, effect: Effect, *, negated: bool = False) -> str | None:
    """Return the ``.gitignore`` glob of a rule that is relative to the working folder.

    Args:
        text: the specifier.
        effect: of its list.
        negated: whether *text* stood behind a ``!``, where a prefix means nothing.

    Returns:
        None for a rule that is relative to another folder, or matches nothing.

    """
    glob = _SET.sub(_literal_set, text.rstrip(" \t"))
    if not glob.strip("/") or "\\" in glob or glob.startswith("!"):
        return None
    if not negated:
        if glob.startswith(("/", "~/")) or glob in _ANCHORS:
            return None
        glob = glob.removeprefix("./")
    return _above(_at_depth(glob, effect))


def _above(glob: str) -> str:
    # `src/**` is `src` and all below it; `**` alone names nothing by itself.
    if _TWICE.match(glob):
        glob = _TWICE.sub(r"\1*/", glob)
    above = glob.removesuffix("/**").rstrip(" \t")
    if glob.endswith("/**") and above.strip("/*"):
        return above if "/" in above else "/" + above
    return glob
