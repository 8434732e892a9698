"""The characters that patterns name, and those that they leave open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from policy.patterns.tokens import Gap, OneOf, Run, Token, pieces

if TYPE_CHECKING:
    from policy.patterns.pattern import Pattern

__all__ = [
    "excluded_characters",
    "has_empty_set",
    "is_stars",
    "named",
    "readable",
    "tokens_of",
]


def tokens_of(patterns: Iterable[Pattern]) -> frozenset[Token]:
    """Return all that *patterns* are made of, each piece once: of thousands most share theirs."""
    return frozenset[Token]().union(*(pattern.tokens for pattern in patterns))


def named(tokens: Collection[Token]) -> set[str]:
    """Return every character that some of *tokens* names."""
    texts = [token for token in tokens if isinstance(token, str)]
    leaves = {*pieces(token for token in tokens if not isinstance(token, str))}
    texts += [token for token in leaves if isinstance(token, str)]
    letters = set("".join(texts))
    return letters.union(*(t.characters for t in leaves if isinstance(t, (OneOf, Run))))


def excluded_characters(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the characters that *tokens* exclude, as ``[!a-z]`` does.

    Any other character that a pattern names is worse for it than none at all.
    """
    return frozenset[str]().union(
        *(
            token.characters
            for token in pieces(token for token in tokens if not isinstance(token, str))
            if isinstance(token, Run) or (isinstance(token, OneOf) and token.negated)
        )
    )


def is_stars(tokens: Collection[Token]) -> bool:
    """Whether one match decides inclusion: literals and ANY gaps alone."""
    return all(isinstance(token, str) or token is Gap.ANY for token in tokens)


def has_empty_set(tokens: Iterable[Token]) -> bool:
    """Whether some character of a text would have to be one of none, as `[/]` is in a path."""
    return any(
        isinstance(token, OneOf) and not token.negated and not token.characters
        for token in pieces(tokens)
    )


# What may stand for "any text" in a witness, the most natural first.
_WORDS = ("x", "", "a", "file", "x1", "zz", "/x", "--x")
_FRESH = "\ue000-\ue3ff"
_ANY_FRESH = re.compile(f"[{_FRESH}]")
# One that only makes another word longer: `*token*` is about `token` rather than `xtokenx`.
_GLUED = re.compile(rf"(?<=[^\W_])[{_FRESH}]+(?!\w)|(?<!\w)[{_FRESH}]+(?=[^\W_])")


def readable(text: str) -> Iterable[str]:
    """Yield *text* with words for its fresh characters, the best first."""
    yield _ANY_FRESH.sub(_WORDS[0], _GLUED.sub("", text))
    for word in _WORDS:
        yield _ANY_FRESH.sub(word, text)
