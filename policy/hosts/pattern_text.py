"""Patterns as people write them in rules.

A pattern that a language cannot express becomes a smaller one, or none, in an allow rule, and a
larger one in a deny or ask rule.
"""

from __future__ import annotations

from typing import Final

from policy.core.effect import Effect
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run, Token, folded

_SLASHES: Final = frozenset("/\\")


def stars(pattern: Pattern, effect: Effect) -> str | None:
    """Return *pattern* with ``*`` for any text; None if it cannot be expressed."""
    pieces = [_star(token, effect) for token in pattern.tokens]
    known = [piece for piece in pieces if piece is not None]
    return "".join(known) if len(known) == len(pieces) else None


def _star(token: Token, effect: Effect) -> str | None:
    if isinstance(token, str):
        return token if "*" not in token else None
    if token is Gap.ANY:
        return "*"
    if effect is not Effect.ALLOW:
        return "*"
    if isinstance(token, OneOf) and not token.negated:
        # One of the characters is a part of the set: a slash, a dash, the lower of two cases.
        return next((c for c in "/-" if c in token.characters), max(token.characters))
    return None


def path(pattern: Pattern, cwd: str, home: str, effect: Effect) -> tuple[str, str] | None:
    """Return where a pattern of paths is anchored, and its glob below that.

    The anchor is ``cwd``, ``home`` or ``root``. The glob is one of ``.gitignore`` that begins with
    a slash; "" is the anchor with all below it. None if it cannot be expressed.
    """
    tokens = list(pattern.tokens)
    anchor = "root"
    if pattern.kind is not PatternKind.PATH:
        anchor, tokens = "cwd", ["/", *tokens]
    elif tokens and isinstance(tokens[0], str):
        for name, folder in (("cwd", cwd), ("home", home)):
            rest = tokens[0].removeprefix(folder)
            if rest != tokens[0] and rest[:1] in ("", "/"):
                anchor, tokens[0] = name, rest
                break
    covers_below = bool(tokens) and tokens[-1] is Gap.DEEP
    if covers_below:
        tokens.pop()
    if not covers_below and pattern.kind is PatternKind.PATH and effect is Effect.ALLOW:
        return None  # every glob covers what is below what it names
    pieces = [_glob(token, effect) for token in tokens]
    known = [piece for piece in pieces if piece is not None]
    if len(known) != len(pieces):
        return None
    return anchor, "".join(known).replace("//", "/")


def _glob(token: Token, effect: Effect) -> str | None:
    if isinstance(token, str):
        return token if not set(token) & set("*?[]\\!") else None
    if token is Gap.PART:
        return "*"
    if token is Gap.DEEP:
        return "/**"
    if token is Gap.ONE:
        return "?"
    if isinstance(token, Gap):
        return None if effect is Effect.ALLOW else "**"
    if isinstance(token, Run):
        return "*" if "/" in token.excluded else "**"
    if isinstance(token, Alternatives):
        return None  # a caller splits these first
    if token.characters <= _SLASHES:
        return "?" if token.negated else "/"
    letters = {folded(letter) for letter in token.characters}
    if len(letters) == 1 and not token.negated:
        return letters.pop()  # a letter in any case, as rules that guard take it
    return None if effect is Effect.ALLOW else "?"


def host(pattern: Pattern, effect: Effect) -> str | None:
    """Return a pattern of host names; None if it cannot be expressed."""
    tokens = pattern.tokens
    if tokens == (Gap.ANY,):
        return "*"
    pieces: list[str] = []
    for index, token in enumerate(tokens):
        if isinstance(token, str):
            pieces.append(token)
        elif token is Gap.PART or (token is Gap.ANY and index == 0):
            pieces.append("*")
        else:
            return None if effect is Effect.ALLOW else "*"
    return "".join(pieces)


# First folders of absolute paths.
_TOP_FOLDERS: Final = frozenset(
    "Users Volumes bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr"
    " var".split()
)


def looks_absolute(text: str) -> bool:
    """Return whether *text* looks like an absolute path, though it starts with one slash."""
    segments = text.split("/")
    return len(segments) > 2 and segments[0] == "" and segments[1] in _TOP_FOLDERS
