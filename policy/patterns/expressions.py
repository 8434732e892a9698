"""Regular expressions as machines, and how tables of programs write them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import lru_cache, reduce
from typing import Final

__all__ = [
    "ALL",
    "ANY_LETTER",
    "EMPTY",
    "FIRST",
    "NOTHING",
    "OTHER",
    "Expression",
    "both",
    "character_of",
    "either",
    "expression",
    "letter_of",
    "literal",
    "many",
    "mask_of",
    "one",
    "then",
    "without",
]


FIRST: Final = 32
OTHER: Final = 95  # every letter that is not printed ASCII
ANY_LETTER: Final = (1 << (OTHER + 1)) - 1


def letter_of(character: str) -> int:
    """Return the number of a letter."""
    number = ord(character) - FIRST
    return number if 0 <= number < OTHER else OTHER


def character_of(letter: int) -> str:
    """Return the character of a letter, some other one for all others."""
    return chr(letter + FIRST) if letter < OTHER else "\ue000"


def mask_of(characters: str) -> int:
    """Return the set of some letters."""
    mask = 0
    for character in characters:
        mask |= 1 << letter_of(character)
    return mask


class Expression:
    """A regular set of texts. Equal forms are one object.

    Attributes:
        kind: how it is made of its parts.
        parts: other expressions.
        nullable: whether the empty text is in it.

    """

    __slots__ = ("_after", "_masks", "_set", "kind", "nullable", "parts")

    def __init__(self, kind: str, members: int, parts: tuple[Expression, ...]) -> None:
        self.kind = kind
        self._set = members
        self.parts = parts
        self._after: dict[int, Expression] = {}
        self._masks: frozenset[int] | None = None
        match kind:
            case "nothing but the empty text" | "any number":
                self.nullable = True
            case "not":
                self.nullable = not parts[0].nullable
            case "or":
                self.nullable = any(part.nullable for part in parts)
            case "one":
                self.nullable = False
            case _:
                self.nullable = all(part.nullable for part in parts)

    def after(self, letter: int) -> Expression:
        """Return the texts that are left behind a letter."""
        found = self._after.get(letter)
        if found is None:
            found = self._after[letter] = self._behind(letter)
        return found

    def _behind(self, letter: int) -> Expression:
        match self.kind:
            case "one":
                return EMPTY if self._set >> letter & 1 else NOTHING
            case "then":
                first, rest = self.parts
                behind = then(first.after(letter), rest)
                return either((behind, rest.after(letter))) if first.nullable else behind
            case "or":
                return either(part.after(letter) for part in self.parts)
            case "and":
                return both(part.after(letter) for part in self.parts)
            case "not":
                return without(self.parts[0].after(letter))
            case "any number":
                return then(self.parts[0].after(letter), self)
            case _:
                return NOTHING

    @property
    def masks(self) -> frozenset[int]:
        """Sets of letters that tell apart which one comes next."""
        if self._masks is None:
            if self.kind == "one":
                self._masks = frozenset({self._set})
            elif self.kind == "then" and not self.parts[0].nullable:
                self._masks = self.parts[0].masks
            else:
                self._masks = frozenset().union(*(part.masks for part in self.parts))
        return self._masks

    def matches(self, text: str) -> bool:
        """Return whether *text* is in the set."""
        here = self
        for character in text:
            here = here.after(letter_of(character))
        return here.nullable

    def shortest(self) -> str | None:
        """Return a shortest text of letters that are printed; None where there is none."""
        queue, seen = deque([("", self)]), {self}
        while queue:
            text, here = queue.popleft()
            if here.nullable:
                return text
            for letter in sorted(range(OTHER), key=lambda n: not chr(n + FIRST).isalnum()):
                behind = here.after(letter)
                if behind not in seen:
                    seen.add(behind)
                    queue.append((text + chr(letter + FIRST), behind))
        return None

    def is_empty(self, most: int) -> bool | None:
        """Return whether no text is in the set; None where more than *most* others tell it."""
        queue, seen = deque([self]), {self}
        while queue:
            here = queue.popleft()
            if here.nullable:
                return False
            if len(seen) > most:
                return None
            # One letter stands for all that the same masks hold.
            letters = {tuple(m >> n & 1 for m in here.masks): n for n in range(OTHER + 1)}
            behind = {here.after(letter) for letter in letters.values()} - seen
            seen |= behind
            queue += behind
        return True


_KNOWN: Final[dict[object, Expression]] = {}


def _make(kind: str, members: int = 0, parts: tuple[Expression, ...] = ()) -> Expression:
    key = (kind, members, parts)
    return _KNOWN.get(key) or _KNOWN.setdefault(key, Expression(*key))


NOTHING: Final = _make("one", 0)
EMPTY: Final = _make("nothing but the empty text")


def one(members: int) -> Expression:
    """Return the texts of one letter, one of some."""
    return _make("one", members)


def many(part: Expression) -> Expression:
    """Return any number of texts of *part*, one behind the other."""
    return EMPTY if part in (NOTHING, EMPTY) else _make("any number", parts=(part,))


ALL: Final = many(one(ANY_LETTER))


def then(first: Expression, rest: Expression) -> Expression:
    """Return the texts of both, one behind the other."""
    if NOTHING in (first, rest):
        return NOTHING
    if first is EMPTY:
        return rest
    return first if rest is EMPTY else _make("then", parts=(first, rest))


def _flat(parts: Iterable[Expression], kind: str) -> dict[Expression, None]:
    found: dict[Expression, None] = {}
    for part in parts:
        found |= dict.fromkeys(part.parts if part.kind == kind else (part,))
    return found


def either(parts: Iterable[Expression]) -> Expression:
    """Return the texts of some part."""
    found = _flat(parts, "or")
    found.pop(NOTHING, None)
    if ALL in found:
        return ALL
    return _joined("or", found) if found else NOTHING


def both(parts: Iterable[Expression]) -> Expression:
    """Return the texts that all parts share."""
    found = _flat(parts, "and")
    if NOTHING in found:
        return NOTHING
    found.pop(ALL, None)
    return _joined("and", found) if found else ALL


def _joined(kind: str, found: Iterable[Expression]) -> Expression:
    parts = tuple(sorted(found, key=id))
    return parts[0] if len(parts) == 1 else _make(kind, parts=parts)


def without(part: Expression) -> Expression:
    """Return the texts that are not those of *part*."""
    if part in (NOTHING, ALL):
        return ALL if part is NOTHING else NOTHING
    return _make("not", parts=(part,))


def literal(texts: Iterable[str]) -> Expression:
    """Return just these texts."""
    return either(reduce(then, (one(mask_of(c)) for c in text), EMPTY) for text in texts)


# How the expressions in tables of programs are written.
#
# Understood are literals, ``.``, classes, groups, ``|``, ``*``, ``+``, ``?``, ``(?!…)``, and ``$``
# at the end of an alternative; each means what it means to Python where all of a text must match.


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """Return what *text* says, of all of a text.

    Raises:
        ValueError: it has something that is not understood.

    """
    parser = _Parser(text)
    found = parser.alternatives(EMPTY)
    if parser.at < len(text):
        raise ValueError(parser.unexpected())
    return found


_NAMED: Final = {
    "d": mask_of("0123456789"),
    "w": mask_of("0123456789_" + "".join(map(chr, (*range(65, 91), *range(97, 123))))),
    "n": 0,  # no text that is looked for has a second line
}


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def unexpected(self) -> str:
        """Return what is said of the place that is not understood."""
        return f"not understood from {self.at} on: {self.text}"

    def _take(self, wanted: str) -> bool:
        found = self.text.startswith(wanted, self.at)
        self.at += len(wanted) * found
        return found

    def alternatives(self, tail: Expression) -> Expression:
        """Return alternatives, each of which *tail* follows."""
        found = [self._sequence(tail)]
        while self._take("|"):
            found.append(self._sequence(tail))
        return either(found)

    def _sequence(self, tail: Expression) -> Expression:
        if self.at == len(self.text) or self.text[self.at] in "|)":
            return tail
        if self._take("$"):
            return self._sequence(EMPTY)
        if self._take("(?!"):
            refused = self.alternatives(ALL)
            self._close()
            return both((without(refused), self._sequence(tail)))
        item = self._repeated()
        return then(item, self._sequence(tail))

    def _close(self) -> None:
        if not self._take(")"):
            raise ValueError(self.unexpected())

    def _repeated(self) -> Expression:
        item = self._item()
        if self._take("*"):
            return many(item)
        if self._take("+"):
            return then(item, many(item))
        return either((EMPTY, item)) if self._take("?") else item

    def _item(self) -> Expression:
        if self._take("("):
            self._take("?:")
            found = self.alternatives(EMPTY)
            self._close()
            return found
        if self._take("["):
            return one(self._class())
        if self._take("."):
            return one(ANY_LETTER)
        return one(self._letters())

    def _letters(self) -> int:
        """Return one letter as it is written, or all letters that have a name."""
        if self._take("\\"):
            name = self.text[self.at]
            if name.lower() in _NAMED:
                self.at += 1
                named = _NAMED[name.lower()]
                return named if name.islower() else ANY_LETTER & ~named
            self.at -= 1
        return mask_of(self._character())

    def _character(self) -> str:
        if self._take("\\"):
            for name, digits in (("x", 2), ("U", 8)):
                if self._take(name):
                    self.at += digits
                    return chr(int(self.text[self.at - digits : self.at], 16))
            if self.text[self.at].isalnum():
                raise ValueError(self.unexpected())
        elif self.text[self.at] in "*+?{}^":
            raise ValueError(self.unexpected())
        self.at += 1
        return self.text[self.at - 1]

    def _class(self) -> int:
        negated, members = self._take("^"), 0
        while not self._take("]"):
            if self.text[self.at] != "\\" or self.text[self.at + 1] in "xU":
                start = self.text[self.at]
                self.at += 1
                if start == "\\":
                    self.at -= 1
                    start = self._character()
                members |= self._range(start)
            else:
                members |= self._letters()
        return ANY_LETTER & ~members if negated else members

    def _range(self, start: str) -> int:
        if self.text[self.at] != "-" or self.text[self.at + 1] == "]":
            return mask_of(start)
        self.at += 1
        end = self._character()
        last = min(ord(end), FIRST + OTHER)
        return mask_of("".join(map(chr, range(ord(start), last + 1))))
