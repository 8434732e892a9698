"""How the expressions in tables of programs are written.

Understood are literals, ``.``, classes, groups, ``|``, ``*``, ``+``, ``?``, ``(?!…)``, and ``$``
at the end of an alternative; each means what it means to Python where all of a text must match.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.patterns.expressions import (
    ALL,
    ANY_LETTER,
    EMPTY,
    FIRST,
    OTHER,
    Expression,
    both,
    either,
    many,
    mask_of,
    one,
    then,
    without,
)

__all__ = ["expression"]


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
