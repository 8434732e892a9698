"""The tokens of patterns, their canonical form, and folding of case."""

from __future__ import annotations

import enum

from policy.core.values import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class Gap(enum.Enum):
    """A gap of a pattern, which matches other text.

    A *part* is the text between two separators. A text without separators is one part.
    """

    ANY = "any"  # any text, separators included
    PART = "part"  # any text without a separator
    DEEP = "deep"  # any number of parts, each behind a separator: (/part)*
    ONE = "one"  # one character that is no separator

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Gap {self.value}>"  # equal in every Python, since hashes contain it


GAPS = {gap.value: gap for gap in Gap}


@frozen(repr=False)
class OneOf:
    """One character of a set, ``[a-z]``; or, *negated*, one that is not in it."""

    characters: frozenset[str]
    negated: bool = False

    def __repr__(self) -> str:
        # In one order, as above.
        return f"OneOf({sorted(self.characters)}, negated={self.negated})"


@frozen(repr=False)
class Run:
    """A gap for any text without the characters *excluded*."""

    excluded: frozenset[str]

    def __repr__(self) -> str:
        return f"Run({sorted(self.excluded)})"

    @property
    def characters(self) -> frozenset[str]:
        """The characters that it excludes."""
        return self.excluded


@frozen(cache_hash=True)
class Alternatives:
    """Alternative pieces of a pattern, ``{a,b*}``; a witness shows the first."""

    alternatives: tuple[tuple[Token, ...], ...]

    @classmethod
    def of(cls, *alternatives: Iterable[Token]) -> Alternatives:
        """Return these alternatives."""
        return cls(tuple(map(tuple, alternatives)))


Token = str | Gap | OneOf | Run | Alternatives

# White space of ECMAScript, which hosts written in it strip from texts.
BLANKS = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

# Control characters, without tab and line break.
CONTROLS = frozenset(map(chr, [*range(9), *range(0x0B, 0x20), *range(0x7F, 0xA0)]))


def readability(letter: str) -> tuple[bool, bool, str]:
    """Return a sort key for readable texts: blanks come late, and capital letters last."""
    return letter.isupper(), letter.isspace(), letter


def canonical(tokens: Iterable[Token], separator: str) -> tuple[Token, ...]:
    """Return the canonical form of *tokens*: adjacent literals are joined, and so are gaps."""
    result: list[Token] = []
    for token in _joined(_chosen(tokens, separator)):
        last = result[-1] if result else None
        if (token is last and token in _IDEMPOTENT) or (isinstance(token, Run) and token == last):
            continue
        if token is Gap.ONE and (last is Gap.PART or (last is Gap.ANY and not separator)):
            # `*?` becomes `?*`, unless the star matches separators and the `?` does not.
            result.insert(len(result) - 1, token)
        elif {token, last} == {Gap.ANY, Gap.PART}:
            result[-1] = Gap.ANY
        else:
            result.append(token)
    if Gap.DEEP not in result:
        return tuple(result)
    return tuple(_joined(_deep_last(result, separator)))


_IDEMPOTENT = frozenset({Gap.ANY, Gap.PART, Gap.DEEP})


def _chosen(tokens: Iterable[Token], separator: str) -> Iterator[Token]:
    """Yield *tokens* with canonical alternatives; a single alternative becomes its tokens."""
    for token in tokens:
        if not isinstance(token, Alternatives):
            yield token
            continue
        forms = dict.fromkeys(canonical(each, separator) for each in token.alternatives)
        if len(forms) == 1:
            yield from next(iter(forms))
        else:
            yield Alternatives.of(*forms)


def spelled_out(tokens: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    """Yield *tokens* without `Alternatives`, once for each choice of alternatives."""
    at = next((n for n, token in enumerate(tokens) if isinstance(token, Alternatives)), None)
    if at is None:
        yield tuple(tokens)
        return
    for each in tokens[at].alternatives:  # type: ignore[union-attr]  # they are some
        for rest in spelled_out((*each, *tokens[at + 1 :])):
            yield (*tokens[:at], *rest)


def canonical_ways(tokens: Sequence[Token], separator: str) -> Iterator[Sequence[Token]]:
    """Yield canonical tokens without alternatives, once for each choice of alternatives."""
    if Alternatives not in map(type, tokens):
        yield tokens
        return
    for way in spelled_out(tokens):
        yield canonical(way, separator)


def pieces(tokens: Iterable[Token]) -> Iterator[str | Gap | OneOf | Run]:
    """Yield *tokens*; for an `Alternatives`, the tokens of all its alternatives."""
    for token in tokens:
        if isinstance(token, Alternatives):
            for each in token.alternatives:
                yield from pieces(each)
        else:
            yield token


def fits(tokens: Sequence[Token], text: str, separator: str) -> bool:
    """Return whether *tokens*, without `Alternatives`, match *text*; linear time for each token."""
    if any(isinstance(token, str) and token not in text for token in tokens):
        return False
    places = {0}  # the offsets at which the tokens so far may end
    for token in tokens[:-1]:
        if isinstance(token, str):
            size = len(token)
            places = {place + size for place in places if text.startswith(token, place)}
        else:
            places = _places_behind(token, text, separator, places)
        if not places:
            return False
    last = tokens[-1] if tokens else ""
    if isinstance(last, str):
        return text.endswith(last) and len(text) - len(last) in places
    if last is Gap.ANY:
        return True
    if last is Gap.DEEP and separator and any(text.startswith(separator, at) for at in places):
        return True
    return len(text) in _places_behind(last, text, separator, places)


def _places_behind(token: Token, text: str, separator: str, places: set[int]) -> set[int]:
    """Return the offsets in *text* at which a gap or a set that begins at *places* may end."""
    length = len(text)
    if token is Gap.DEEP:
        starts = [place for place in places if separator and text.startswith(separator, place)]
        return places.union(range(min(starts) + 1, length + 1)) if starts else places
    if token is Gap.ONE or isinstance(token, OneOf):
        group = token if isinstance(token, OneOf) else _ANY_ONE
        inside = (place for place in places if place < length and text[place] != separator)
        return {at + 1 for at in inside if (text[at] in group.characters) is not group.negated}
    ends = token.excluded if isinstance(token, Run) else separator if token is Gap.PART else ""
    all_ends = set[int]()
    for place in sorted(places):
        if place not in all_ends:  # an earlier offset of this run gave the same ends
            last = min((at for end in ends if (at := text.find(end, place)) >= 0), default=length)
            all_ends.update(range(place, last + 1))
    return all_ends


_ANY_ONE = OneOf(frozenset(), negated=True)


def _joined(tokens: Iterable[Token]) -> Iterator[Token]:
    text = ""
    for token in tokens:
        if isinstance(token, str):
            text += token
            continue
        if text:
            yield text
            text = ""
        yield token
    if text:
        yield text


def _deep_last(tokens: list[Token], separator: str) -> Iterator[Token]:
    # `**/*/x` becomes `*/**/x`: open parts first, then the open depth.
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        while token is Gap.DEEP and position < len(tokens):
            if _is_open_part(tokens, position, separator):
                yield from (separator, Gap.PART)
                position += 2
            elif tokens[position] is Gap.DEEP:
                position += 1
            else:
                break
        yield token


def _is_open_part(tokens: list[Token], position: int, separator: str) -> bool:
    """Return whether the part at *position* is a gap alone."""
    if tokens[position : position + 2] != [separator, Gap.PART]:
        return False
    after = tokens[position + 2] if position + 2 < len(tokens) else separator
    return after is Gap.DEEP or (isinstance(after, str) and after.startswith(separator))


def folded(text: str) -> str:
    """Return *text* in one case, as regular expressions of JavaScript ignore case.

    A letter equals its capital if that is one letter too, so the length of a text never changes. A
    letter beyond ASCII equals no letter of ASCII: a long ``s`` is not an ``s``.

    >>> folded("/A/STRAßE/É")
    '/a/straße/é'
    """
    return text.lower() if text.isascii() else "".join(map(_folded, text))


def in_any_case(tokens: Iterable[Token], folders: Iterable[str] = ()) -> Iterator[Token]:
    """Yield *tokens* that match letters in any case, except in a leading folder of *folders*."""
    first, *rest = tokens or [""]
    for folder in folders:
        if isinstance(first, str) and f"{first}/".startswith(f"{folder}/"):
            yield folder
            first = first[len(folder) :]
            break
    for token in (first, *rest):
        if isinstance(token, str):
            for letter in token:
                alike = _alike(letter)
                yield OneOf(alike) if len(alike) > 1 else letter
        elif isinstance(token, OneOf):
            yield OneOf(frozenset().union(*map(_alike, token.characters)), token.negated)
        elif isinstance(token, Alternatives):
            yield Alternatives.of(*map(in_any_case, token.alternatives))
        else:
            yield token


def in_one_case(token: OneOf) -> str:
    """Return the small letter of a set of both cases of one letter; "" for any other set."""
    letter = folded(next(iter(token.characters), ""))
    return letter if letter and not token.negated and token.characters == _alike(letter) else ""


# Letters beyond ASCII that differ in case alone, in groups. The hook rarely needs them.
_ALIKE: dict[str, list[str]] = {}


def _alike(letter: str) -> frozenset[str]:
    if letter.isascii():
        return frozenset((letter.lower(), letter.upper()))
    if not _ALIKE:
        for other in map(chr, range(0x10000)):
            _ALIKE.setdefault(folded(other), []).append(other)
    return frozenset(_ALIKE.get(folded(letter), [letter]))


def _folded(letter: str) -> str:
    if letter.isascii():
        return letter.lower()
    capital = letter.upper()
    # To JavaScript a letter beyond U+FFFF is two units without a case.
    if len(capital) != 1 or capital.isascii() or capital > "\uffff":
        return letter
    small = capital.lower()
    return small if len(small) == 1 and small.upper() == capital else capital
