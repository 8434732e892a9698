"""Domains: the texts that arguments can have, as state machines; no path is ``a//b``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from policy.patterns.automaton import NO_MATCH
from policy.patterns.tokens import BLANKS

# The state behind which no character may follow.
DEAD: Final = "dead"


class DomainState:
    """A state of a domain, with the interface of `AutomatonState`."""

    __slots__ = ("_unlocks", "alive", "first", "key", "ways")

    forever = NO_MATCH

    def __init__(self, *, accepting: bool, alive: bool, unlocks: str) -> None:
        self.key = frozenset({id(self)})
        self.first = 0 if accepting else NO_MATCH
        self.alive = alive
        self.ways: Mapping[str, DomainState] = {}
        self._unlocks = frozenset(unlocks)

    def after(self, character: str) -> DomainState:
        """Return the state behind one more character."""
        following = self.ways.get(character)
        return self.ways[""] if following is None else following

    def letters(self) -> frozenset[str]:
        """Return the characters behind which other characters may follow."""
        return self._unlocks


class Domain:
    """A state machine as a table: state -> character -> state; ``""`` is any other character.

    Texts start in the first state. Behind a character of *unlocks*, such as a quote, characters may
    follow that may not follow others.
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
            name: DomainState(accepting=name in accepting, alive=name != DEAD, unlocks=unlocks)
            for name in (*table, DEAD)
        }
        for name, edges in {**table, DEAD: {"": DEAD}}.items():
            states[name].ways = {char: states[target] for char, target in edges.items()}
        self.separator = separator
        self.start = states[next(iter(table))]

    def holds(self, text: str) -> bool:
        """Return whether *text* is in the domain."""
        state = self.start
        for character in text:
            state = state.after(character)
        return state.first != NO_MATCH


ANY_TEXT: Final = Domain({"text": {"": "text"}}, frozenset({"text"}))

# `/a/b`: parts that are not empty, `.` or `..`; the root is the empty text.
_ROOT: Final = {"root": {"/": "part?", "": DEAD}}
_PARTS: Final = {
    "part?": {"/": DEAD, ".": "dot", "": "part"},
    "dot": {"/": DEAD, ".": "dots", "": "part"},
    "dots": {"/": DEAD, "": "part"},
    "part": {"/": "part?", "": "part"},
}
_NAMED: Final = frozenset({"root", "part"})
PATHS: Final = Domain({**_ROOT, **_PARTS}, _NAMED, separator="/")

# Paths without blanks at the end, for hosts that strip them.
_AT_BLANK: Final = dict.fromkeys(BLANKS, "blank")
_TRIMMED: Final = {
    name: {**_AT_BLANK, **edges} for name, edges in {**_PARTS, "blank": _PARTS["part"]}.items()
}
TRIMMED_PATHS: Final = Domain({**_ROOT, **_TRIMMED}, _NAMED, separator="/")

# `a.b.c`: labels that are not empty.
_LABELS: Final = {
    "label?": {".": DEAD, "": "label"},
    "label": {".": "label?", "": "label"},
}
HOSTS: Final = Domain(_LABELS, frozenset({"label"}), separator=".")

# A simple command without operators, expansions and escapes.
_OPERATORS = dict.fromkeys(";&|<>()`$\\\n\r{}", DEAD)
_WORD = {**_OPERATORS, " ": "blank", "\t": DEAD, "'": "single", '"': "double", "": "word"}
COMMANDS: Final = Domain(
    {
        "start": {**_OPERATORS, **dict.fromkeys(" \t#!'\"=", DEAD), "": "word"},
        "word": _WORD,
        "blank": {**_WORD, " ": DEAD, "#": DEAD},
        "single": {"'": "word", "\n": DEAD, "\r": DEAD, "": "single"},
        "double": {**dict.fromkeys("`$\\\n\r", DEAD), '"': "word", "": "double"},
    },
    frozenset({"word"}),
    unlocks="'\"",
)

_CONTROLS: Final = dict.fromkeys(map(chr, range(32)), DEAD)


def _string(name: str, behind: str) -> dict[str, dict[str, str]]:
    """Return the states of a string in canonical JSON, behind its first quote."""
    return {
        name: {**_CONTROLS, '"': behind, "\\": f"{name}\\", "": name},
        f"{name}\\": {**dict.fromkeys('"\\nt', name), "": DEAD},
    }


# JSON objects with at most one text, in the canonical form that rules match.
OBJECTS: Final = Domain(
    {
        "start": {"{": "object", "": DEAD},
        "object": {'"': "key", "}": "end", "": DEAD},
        **_string("key", "colon"),
        "colon": {":": "value", "": DEAD},
        "value": {'"': "text", "": DEAD},
        **_string("text", "close"),
        "close": {"}": "end", "": DEAD},
        "end": {"": DEAD},
    },
    frozenset({"end"}),
    unlocks='{":}\\',
)

# A superset of all JSON objects in this form.
BRACED: Final = Domain(
    {
        "start": {"{": "first", "": DEAD},
        "first": {'"': "inside", "}": "only", "": DEAD},
        "inside": {**_CONTROLS, "}": "end", "": "inside"},
        "end": {**_CONTROLS, "}": "end", "": "inside"},
        "only": {"": DEAD},
    },
    frozenset({"only", "end"}),
    unlocks='{"}',
)


def joined(count: int) -> Domain:
    """Return the domain of *count* texts with a blank between each two."""
    table = {str(n): {" ": str(min(n + 1, count)), "": str(n)} for n in range(1, count + 1)}
    return Domain(table, frozenset({str(count)}), unlocks=" ")


# `PatternKind` -> the domain of its texts.
BY_KIND: Final[Mapping[str, Domain]] = {"text": ANY_TEXT, "path": PATHS, "host": HOSTS}
