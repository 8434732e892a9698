"""What patterns mean, by trying every text: the oracle of the pattern tests.

Written for obviousness. It knows tokens and nothing else of `policy.patterns`:
a pattern becomes a regular expression, a set of texts an integer with one bit
for each text of a small universe, and every question a bit operation.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Sequence
from functools import cache

import attrs

from policy.patterns.pattern import PatternKind
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run, Token

__all__ = [
    "Universe",
    "hosts",
    "matches",
    "parts",
    "paths",
    "raw_either",
    "raw_host",
    "raw_path",
    "raw_slashed",
    "raw_text",
    "texts",
]

Raw = tuple[Token, ...]


@cache
def _expression(raw: Raw, separator: str) -> re.Pattern[str]:
    return re.compile(_written(raw, separator), re.DOTALL)


def _written(raw: Raw, separator: str) -> str:
    part = f"[^{separator}]" if separator else "."
    gaps = {
        Gap.ANY: ".*",
        Gap.PART: f"{part}*",
        Gap.ONE: part,
        Gap.DEEP: f"(?:{re.escape(separator)}{part}*)*",
    }
    expression = ""
    for token in raw:
        if isinstance(token, str):
            expression += re.escape(token)
        elif isinstance(token, Gap):
            expression += gaps[token]
        elif isinstance(token, Alternatives):
            expression += (
                f"(?:{'|'.join(_written(each, separator) for each in token.alternatives)})"
            )
        elif isinstance(token, Run):
            expression += f"(?:(?!{'|'.join(map(re.escape, sorted(token.excluded)))}).)*"
        else:
            # One character that is no separator, and in the set or not.
            members = "|".join(map(re.escape, sorted(token.characters))) or "(?!)"
            expression += f"(?!{members}){part}" if token.negated else f"(?={members}){part}"
    return expression


def matches(raw: Raw, text: str, separator: str = "") -> bool:
    """Return whether *text* is in the set that the tokens *raw* mean."""
    return _expression(raw, separator).fullmatch(text) is not None


@attrs.frozen(eq=False)
class Universe:
    """Every text of a kind up to a size."""

    kind: PatternKind
    texts: tuple[str, ...]
    _known: dict[Raw, int] = attrs.field(factory=dict, init=False)

    def members(self, raw: Raw) -> int:
        """Return the texts that *raw* matches, a bit each."""
        if raw not in self._known:
            fullmatch = _expression(raw, self.kind.separator).fullmatch
            bits = "".join("1" if fullmatch(text) else "0" for text in reversed(self.texts))
            self._known[raw] = int(bits, 2)
        return self._known[raw]

    def some(self, members: int) -> str:
        """Return a shortest text of *members*."""
        return self.texts[(members & -members).bit_length() - 1]


def texts(alphabet: str, length: int) -> Universe:
    """Return all texts of at most *length* characters."""
    return Universe(PatternKind.TEXT, tuple(_words(alphabet, range(length + 1))))


def paths(parts: Iterable[str], segments: int) -> Universe:
    """Return all canonical paths of at most *segments* of the *parts*."""
    slashed = [f"/{part}" for part in parts if part not in (".", "..")]
    return Universe(PatternKind.PATH, _sorted(_words(slashed, range(segments + 1))))


def hosts(parts: Iterable[str], labels: int) -> Universe:
    """Return all host names of at most *labels* of the *parts*."""
    dotted = [f".{part}" for part in parts]
    names = (name[1:] for name in _words(dotted, range(1, labels + 1)))
    return Universe(PatternKind.HOST, _sorted(names))


def parts(alphabet: str, length: int) -> list[str]:
    """Return all parts of one to *length* characters."""
    return list(_words(alphabet, range(1, length + 1)))


def _words(alphabet: Sequence[str], lengths: Iterable[int]) -> Iterable[str]:
    for length in lengths:
        yield from map("".join, itertools.product(alphabet, repeat=length))


def _sorted(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(found, key=lambda text: (len(text), text)))


# Random patterns, as tokens nobody has made canonical. They name `a` and `b` of
# the universe's letters and never `z`, so that `z` stands for all the others.


def raw_text(dice: random.Random, size: int) -> Raw:
    """Return at most *size* letters and stars."""
    return tuple(dice.choice(("a", "b", Gap.ANY)) for _ in range(dice.randint(0, size)))


def raw_slashed(dice: random.Random, size: int) -> Raw:
    """Return at most *size* letters, slashes, and gaps that some characters end."""
    runs = Run(frozenset("/")), Run(frozenset("/b")), OneOf(frozenset("/"), negated=True)
    return tuple(dice.choice(("a", "b", "/", Gap.ANY, *runs)) for _ in range(dice.randint(0, size)))


def raw_path(dice: random.Random, segments: int, size: int, letters: str, deep: float = 0.4) -> Raw:
    """Return at most *segments* segments of at most *size* tokens, and depths between."""
    raw: list[Token] = []
    for _ in range(dice.randint(0, segments)):
        if dice.random() < deep:
            raw.append(Gap.DEEP)
        raw.append("/")
        raw += [_within(dice, letters) for _ in range(dice.randint(1, size))]
    if dice.random() < deep:
        raw.append(Gap.DEEP)
    return tuple(raw)


def raw_either(dice: random.Random, segments: int, size: int, letters: str) -> Raw:
    """Return a path with alternatives in it, some of which have alternatives in them."""
    some = [raw_path(dice, segments, size, letters) for _ in range(dice.randint(1, 3))]
    last = Alternatives.of(
        (_within(dice, letters),), (_within(dice, letters),) if dice.random() < 0.5 else ()
    )
    each = [(*one[:-1], last) if dice.random() < 0.3 else one for one in some]
    before, behind = raw_path(dice, 1, size, letters), raw_path(dice, 1, size, letters)
    return (
        (*before, Alternatives.of(*each), *behind)
        if dice.random() < 0.5
        else (Alternatives.of(*each), *behind)
    )


def _within(dice: random.Random, letters: str) -> Token:
    """Return what may stand within a segment."""
    some = frozenset(dice.sample(letters, dice.randint(1, 2)))
    group = OneOf(some, negated=dice.random() < 0.5)
    choices: tuple[Token, ...] = (*letters, Gap.PART, Gap.PART, Gap.ONE, group)
    return dice.choice(choices)


def raw_host(dice: random.Random, labels: int, size: int) -> Raw:
    """Return at most *labels* labels of at most *size* tokens, or any below them."""
    raw: list[Token] = []
    for index in range(dice.randint(1, labels)):
        raw += ["."] * bool(index)
        raw += dice.choices(("a", "b", Gap.PART), k=dice.randint(1, size))
    start = dice.random()
    return (Gap.ANY,) if start < 0.03 else (Gap.ANY, ".", *raw) if start < 0.4 else tuple(raw)
