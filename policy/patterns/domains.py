"""Which texts a call can hold, as machines that a search walks along.

A pattern of path segments says nothing of ``a//b``, since no call that has
been read holds it. A search must not offer it as a witness either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policy.patterns.automaton import NO_MATCH, State

__all__ = ["ANY_TEXT", "COMMANDS", "HOSTS", "PATHS", "Domain"]

_DEAD = "dead"


class _DomainState(State):
    """A state of a domain: it matches or not, and names what unlocks more."""

    __slots__ = ("_unlocks", "ways")

    def __init__(self, *, accepting: bool, alive: bool, letters: str = "") -> None:
        super().__init__(None, (), frozenset({id(self)}))
        self._unlocks = frozenset(letters)
        self.first = 0 if accepting else NO_MATCH
        self.alive = alive
        self.final = not alive
        self.ways: Mapping[str, _DomainState] = {}

    def after(self, character: str) -> State:
        """Return the state behind one more character; the table is all the memory."""
        following = self.ways.get(character)
        return self.ways[""] if following is None else following

    def letters(self) -> set[str]:
        """Return the characters that unlock others."""
        return set(self._unlocks)


class Domain:
    """A machine given as a table: state -> character -> state, ``""`` for any other.

    The first state of the table is where texts start. After a character that
    *unlocks*, such as a quote, more can follow than after any other one.
    """

    __slots__ = ("separator", "start")

    def __init__(
        self,
        table: Mapping[str, Mapping[str, str]],
        accepting: frozenset[str],
        separator: str = "",
        unlocks: str = "",
    ) -> None:
        states = {
            name: _DomainState(accepting=name in accepting, alive=name != _DEAD, letters=unlocks)
            for name in (*table, _DEAD)
        }
        for name, edges in {**table, _DEAD: {"": _DEAD}}.items():
            states[name].ways = {char: states[target] for char, target in edges.items()}
        self.separator = separator
        self.start: State = states[next(iter(table))]

    def holds(self, text: str) -> bool:
        """Return whether *text* is in the domain."""
        state = self.start
        for character in text:
            state = state.after(character)
        return state.first != NO_MATCH


ANY_TEXT: Final = Domain({"text": {"": "text"}}, frozenset({"text"}))

# `/a/b`: parts that are not empty, `.` or `..`; the root is the empty text.
PATHS: Final = Domain(
    {
        "root": {"/": "part?", "": _DEAD},
        "part?": {"/": _DEAD, ".": "dot", "": "part"},
        "dot": {"/": _DEAD, ".": "dots", "": "part"},
        "dots": {"/": _DEAD, "": "part"},
        "part": {"/": "part?", "": "part"},
    },
    frozenset({"root", "part"}),
    separator="/",
)

# `a.b.c`: labels that are not empty.
HOSTS: Final = Domain(
    {
        "label?": {".": _DEAD, "": "label"},
        "label": {".": "label?", "": "label"},
    },
    frozenset({"label"}),
    separator=".",
)

# One command without an operator, expansion or escape: what reading a command
# returns unchanged, quotes included.
_OPERATORS = dict.fromkeys(";&|<>()`$\\\n\r{}", _DEAD)
COMMANDS: Final = Domain(
    {
        "start": {**_OPERATORS, **dict.fromkeys(" \t#!'\"=", _DEAD), "": "word"},
        "word": {**_OPERATORS, " ": "blank", "\t": _DEAD, "'": "single", '"': "double", "": "word"},
        "blank": {
            **_OPERATORS,
            **dict.fromkeys(" \t#", _DEAD),
            "'": "single",
            '"': "double",
            "": "word",
        },
        "single": {"'": "word", "\n": _DEAD, "\r": _DEAD, "": "single"},
        "double": {
            **dict.fromkeys("`$\\\n\r", _DEAD),
            '"': "word",
            "": "double",
        },
    },
    frozenset({"word"}),
    unlocks="'\"",
)
