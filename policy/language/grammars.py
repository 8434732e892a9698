"""An LALR parser that runs tables which Lark generated, since importing Lark takes long.

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
    """A token: its text, the name of its terminal (*type*), and its range in the source."""

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
    """A node of the parse tree: the name of a grammar rule (*data*), and its tokens and nodes."""

    __slots__ = ("children", "data")

    def __init__(self, data: str, children: list[Any]) -> None:
        self.data = data
        self.children = children


class Unexpected(Exception):
    """A syntax error: no token that the grammar expects starts at *position*."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Tables:
    """The parse tables of one grammar."""

    def __init__(self, shape: Any) -> None:  # noqa: ANN401  # JSON
        # State -> terminal or rule -> the next state (shift, goto), or `~n` (reduce by rule n).
        self.actions: list[dict[str, int]] = shape["states"]
        self.end: int = shape["end"]  # the state after a complete text
        # Of each rule: its name, the number of its symbols, and for each symbol whether the node
        # drops it (0), keeps it (1), or takes its children (2).
        self.rules: list[tuple[str, int, list[int]]] = shape["rules"]
        self._terminals: dict[str, str] = shape["terminals"]
        self._expected: list[list[str]] = shape["expected"]
        self._lexers: list[int] = shape["lexers"]
        self.lexer = cache(self._lexer)
        self._match = cache(lambda name: re.compile(self._terminals[name]).match)

    def _lexer(self, state: int) -> list[tuple[str, _Match]]:
        """Return the terminals that *state* expects, in the order of trial, with their matchers."""
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
    """One run of the parser over a text."""

    def __init__(self, tables: Tables, text: str) -> None:
        self.tables = tables
        self.text = text
        self.position = 0
        self.states = [0]
        self.values: list[Any] = []

    def parse(self) -> Node:
        """Return the parse tree of the text. Raises Unexpected for a syntax error."""
        for token in self.tokens():
            self.feed(token)
        return self.finish()

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens from `position` on; the current state selects the terminals to try.

        Raises Unexpected where none of them matches.
        """
        text, states, lexer = self.text, self.states, self.tables.lexer
        while self.position < len(text):
            at = self.position
            for kind, match in lexer(states[-1]):
                matched = match(text, at)
                if matched:
                    self.position = matched.end()
                    if not kind.startswith("__IGNORE"):
                        yield Token(kind, matched[0], at)
                    break
            else:
                raise Unexpected(at)

    def feed(self, token: Token) -> None:
        """Reduce as *token* requires, then shift it. Raises Unexpected if no rule takes it."""
        self._apply(token.type, self.values, token.start_pos)
        self.states.append(self.tables.actions[self.states[-1]][token.type])
        self.values.append(token)

    def finish(self) -> Node:
        """Return the parse tree after the last token. Raises Unexpected for an incomplete text."""
        self._apply(_END, self.values, len(self.text))
        tree: Node = self.values[-1]
        return tree

    def accepts(self) -> frozenset[str]:
        """Return the terminals that the parser accepts next."""
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
        """Reduce by every rule that ends before a token of *kind*; None builds no nodes.

        Raises Unexpected(at) if the current state has no action for *kind*.
        """
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
    """Return the children of a node: of *values*, those that *shown* keeps or opens."""
    children: list[Any] = []
    for value, how in zip(values, shown, strict=True):
        if how == _KEPT:
            children.append(value)
        elif how == _OPENED and children:
            children += value.children
        elif how == _OPENED:
            # A list rule is left-recursive: its first child is the list so far, to be extended.
            children = value.children
    return children


_KEPT: Final = 1
_OPENED: Final = 2
