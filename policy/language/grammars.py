"""Parsers of the grammars, from tables that Lark made of them: Lark takes long to import.

``python -m tests.grammars`` writes the tables (``grammar/*.json``) beside the grammars.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

_END: Final = "$END"

_Match = Callable[[str, int], "re.Match[str] | None"]


class Token(str):
    """A piece of the text: what the grammar calls it, and where it stands."""

    __slots__ = ("end_pos", "start_pos", "type")

    type: str
    start_pos: int
    end_pos: int

    def __new__(cls, kind: str, text: str = "", start: int = 0) -> Self:
        """Return a token."""
        token = super().__new__(cls, text)
        token.type, token.start_pos, token.end_pos = kind, start, start + len(text)
        return token


class Node:
    """What a rule of the grammar matched: its name, and its tokens and nodes."""

    __slots__ = ("children", "data")

    def __init__(self, data: str, children: list[Any]) -> None:
        self.data = data
        self.children = children


class Unexpected(Exception):
    """The text at *position* is not what the grammar expects there."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Tables:
    """What the parser of one grammar does next."""

    def __init__(self, shape: Any) -> None:  # noqa: ANN401  # JSON
        # Of each state, by the kind of token or the rule that comes: the state to go to, or `~n`
        # to apply rule *n*.
        self.actions: list[dict[str, int]] = shape["states"]
        self.end: int = shape["end"]  # the state behind the whole text
        # Its name, how many things it takes, and what becomes of them: they are dropped (0),
        # kept (1), or give their children (2).
        self.rules: list[tuple[str, int, list[int]]] = shape["rules"]
        self._terminals: dict[str, str] = shape["terminals"]
        self._expected: list[list[str]] = shape["expected"]
        self._lexers: list[int] = shape["lexers"]
        self.lexer = cache(self._lexer)
        self._match = cache(lambda name: re.compile(self._terminals[name]).match)

    def _lexer(self, state: int) -> list[tuple[str, _Match]]:
        """Return the kinds of tokens that *state* expects, in the order of trial."""
        names = self._expected[self._lexers[state]]
        return [(name, self._match(name)) for name in names]


@cache
def tables(name: str) -> Tables:
    """Return the tables of ``grammar/<name>.lark``."""
    for folder in Path(__file__).parents[1:3]:
        file = folder / "grammar" / f"{name}.json"
        if file.is_file():
            return Tables(json.loads(file.read_text("utf-8")))
    raise FileNotFoundError(name)


class Parser:
    """One run over a text."""

    def __init__(self, tables: Tables, text: str) -> None:
        self.tables = tables
        self.text = text
        self.position = 0
        self.states = [0]
        self.values: list[Any] = []

    def parse(self) -> Node:
        """Return the tree of the text. Raises Unexpected."""
        for token in self.tokens():
            self.feed(token)
        return self.finish()

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens that stand at `position`, each as the state expects it.

        Raises Unexpected where there is none.
        """
        text, states, lexer = self.text, self.states, self.tables.lexer
        while self.position < len(text):
            at = self.position
            for kind, match in lexer(states[-1]):
                found = match(text, at)
                if found:
                    self.position = found.end()
                    if not kind.startswith("__IGNORE"):
                        yield Token(kind, found[0], at)
                    break
            else:
                raise Unexpected(at)

    def feed(self, token: Token) -> None:
        """Take *token*. Raises Unexpected where it may not come here."""
        self._apply(token.type, self.values, token.start_pos)
        self.states.append(self.tables.actions[self.states[-1]][token.type])
        self.values.append(token)

    def finish(self) -> Node:
        """Return the tree, at the end of the text. Raises Unexpected where it may not end."""
        self._apply(_END, self.values, len(self.text))
        tree: Node = self.values[-1]
        return tree

    def accepts(self) -> frozenset[str]:
        """Return the kinds of tokens that may come next."""
        states, accepted = self.states.copy(), set()
        for kind in self.tables.actions[states[-1]]:
            if kind.isupper() and kind != _END:
                try:
                    self._apply(kind, None, 0)
                except Unexpected:
                    pass
                else:
                    accepted.add(kind)
                self.states[:] = states
        return frozenset(accepted)

    def _apply(self, kind: str, values: list[Any] | None, at: int) -> None:
        """Apply the rules that end before *kind*, to *values* where they are given."""
        actions, rules, states = self.tables.actions, self.tables.rules, self.states
        while not (kind == _END and states[-1] == self.tables.end):
            action = actions[states[-1]].get(kind)
            if action is None:
                raise Unexpected(at)
            if action >= 0:
                return
            name, size, shown = rules[~action]
            if size:
                del states[-size:]
            if values is not None:
                first = len(values) - size
                values[first:] = [Node(name, _shown(values[first:], shown))]
            states.append(actions[states[-1]][name])


def _shown(values: list[Any], shown: list[int]) -> list[Any]:
    """Return what a rule keeps of the *values* that it matched."""
    children: list[Any] = []
    for value, how in zip(values, shown, strict=True):
        if how == _KEPT:
            children.append(value)
        elif how == _OPENED and children:
            children += value.children
        elif how == _OPENED:
            children = value.children  # a list of entries grows by one of them each time
    return children


_KEPT: Final = 1
_OPENED: Final = 2
