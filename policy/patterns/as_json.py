"""A pattern as JSON text: what content hashes cover of it."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

from policy.patterns.tokens import Either, Gap, Run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policy.patterns.tokens import Token

__all__ = ["as_json"]


def as_json(kind: str, tokens: Iterable[Token]) -> str:
    """Return the text of a list: the kind of a pattern, and its tokens."""
    texts = [encode_basestring_ascii(t) if isinstance(t, str) else _token(t) for t in tokens]
    return f"[{','.join([encode_basestring_ascii(kind), *texts])}]"


def _token(token: Token) -> str:
    if isinstance(token, str):
        return encode_basestring_ascii(token)
    if isinstance(token, Gap):
        return f'["{token.value}"]'
    if isinstance(token, Run):
        return f'["but",{encode_basestring_ascii("".join(sorted(token.excluded)))}]'
    if isinstance(token, Either):
        each = (f"[{','.join(map(_token, one))}]" for one in token.alternatives)
        return f'["either",{",".join(each)}]'
    what = "not" if token.negated else "one of"
    return f'["{what}",{encode_basestring_ascii("".join(sorted(token.characters)))}]'
