"""What a row says of the calls of which one text decides alone, without the row.

A row is of rules, and a walk of its patterns: it says which of them is the first that matches,
where the row says the same of every text that leads there. It can be written as plain
values and loaded where there is no time to load anything else.
"""

from __future__ import annotations

from policy.patterns.automaton import Automaton
from policy.patterns.tokens import GAPS, Gap, OneOf, Run
from policy.rows.given_paths import GivenPaths

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from policy.patterns.tokens import Token

    # As plain values: see `Walk.packed`.
    Packed = tuple[Any, ...]

__all__ = ["Walk"]


class Walk:
    """The walk of one row.

    Attributes:
        direct: the argument that decides alone, where it is a text of at most *longest*
            characters and *alias* is not in the call.
        alias: the other name of that argument, or None.
        longest: the number of its characters.
        automaton: of the patterns.
        kinds: of each pattern a number, equal where the answers are.
        default: the same where no pattern matches.

    """

    __slots__ = ("alias", "automaton", "default", "direct", "kinds", "longest")

    def __init__(  # noqa: PLR0917  # a value of six fields
        self,
        direct: str,
        alias: str | None,
        longest: int,
        automaton: Automaton,
        kinds: Sequence[int],
        default: int,
    ) -> None:
        self.direct = direct
        self.alias = alias
        self.longest = longest
        self.automaton = automaton
        self.kinds = kinds
        self.default = default

    def kind(self, call: Mapping[str, object]) -> int | None:
        """Return the number of what decides *call*; None where more must be known of it."""
        text = call.get(self.direct)
        if type(text) is not str or len(text) > self.longest or self.alias in call:
            return None
        plain = self.automaton.state(text).plain
        if plain is None:
            return None
        return self.kinds[plain] if plain < len(self.kinds) else self.default

    def packed(self) -> Packed:
        """Return the walk as plain values, which `marshal` writes."""
        automaton = self.automaton
        trie = automaton.trie
        patterns, flags = trie.patterns[trie.flags :], trie.patterns[: trie.flags]
        given = None
        if isinstance(automaton, GivenPaths):
            given, flags = (*automaton.folders, automaton.fold), []
        return (
            self.direct,
            self.alias,
            self.longest,
            tuple(map(_packed, patterns)),
            tuple(map(_packed, flags)),
            automaton.separator,
            given,
            tuple(self.kinds),
            self.default,
        )

    @classmethod
    def of(cls, packed: Packed) -> Walk:
        """Return the walk that *packed* is."""
        direct, alias, longest, patterns, flags, separator, given, kinds, default = packed
        tokens = tuple(map(_unpacked, patterns))
        automaton = Automaton(tokens, separator, tuple(map(_unpacked, flags)))
        if given is not None:
            *folders, fold = given
            automaton = GivenPaths(tokens, folders[0], folders[1:], fold=fold)
        return cls(direct, alias, longest, automaton, kinds, default)


def _packed(pattern: Iterable[Token]) -> tuple[object, ...]:
    return tuple(token if type(token) is str else _plain(token) for token in pattern)


def _plain(token: Token) -> object:
    if isinstance(token, Gap):
        return (token.value,)
    if isinstance(token, OneOf):
        return ("one of", "".join(sorted(token.characters)), token.negated)
    assert isinstance(token, Run)  # noqa: S101  # no other token is left
    return ("run", "".join(sorted(token.excluded)))


def _unpacked(pattern: tuple[Any, ...]) -> tuple[Token, ...]:
    return tuple([token if type(token) is str else _token(*token) for token in pattern])


def _token(kind: str, characters: str = "", negated: bool = False) -> Token:  # noqa: FBT001, FBT002  # as they were packed
    if kind == "run":
        return Run(frozenset(characters))
    if kind == "one of":
        return OneOf(frozenset(characters), negated)
    return GAPS[kind]
