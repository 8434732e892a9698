"""The one text that decides a call alone, and the automaton that it is walked through.

A row is of rules; which of them is the first that matches, its walk tells of most calls. The
walk can be written as plain values, and be loaded where there is no time to load the row.
"""

from __future__ import annotations

from policy.patterns.automaton import Automaton
from policy.patterns.tokens import GAPS, Either, Gap, OneOf, Run
from policy.rows.given_paths import GivenPaths

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from policy.patterns.state import State
    from policy.patterns.tokens import Token

    # As plain values: see `Walk.packed`.
    Packed = tuple[Any, ...]

__all__ = ["NO_WALK", "Walk"]


class Walk:
    """The walk of one row.

    Attributes:
        direct: the argument that decides alone, where it is a text of at most *longest*
            characters and *alias* is not in the call; None where there is none such.
        alias: the other name of that argument, or None.
        longest: the number of its characters.
        automaton: of the patterns, over texts as they are given.

    """

    __slots__ = ("alias", "automaton", "direct", "longest")

    def __init__(
        self, direct: str | None, alias: str | None, longest: int, automaton: Automaton
    ) -> None:
        self.direct = direct
        self.alias = alias
        self.longest = longest
        self.automaton = automaton

    def state(self, call: Mapping[str, object]) -> State | None:
        """Return where the text leads that decides *call*; None where none does alone.

        Where the state is plain, all texts that lead there get the same.
        """
        text = call.get(self.direct)  # type: ignore[arg-type]  # no call has None
        if type(text) is not str or len(text) > self.longest or self.alias in call:
            return None
        return self.automaton.state(text)

    def packed(self) -> Packed:
        """Return the walk as plain values, which `marshal` writes."""
        automaton, trie = self.automaton, self.automaton.trie
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
        )

    @classmethod
    def of(cls, packed: Packed) -> Walk:
        """Return the walk that *packed* is."""
        direct, alias, longest, patterns, flags, separator, given = packed
        tokens = tuple(map(_unpacked, patterns))
        automaton = Automaton(tokens, separator, tuple(map(_unpacked, flags)))
        if given is not None:
            *folders, fold = given
            automaton = GivenPaths(tokens, folders[0], folders[1:], fold=fold)
        return cls(direct, alias, longest, automaton)


# Where no text decides alone.
NO_WALK = Walk(None, None, -1, Automaton(()))


def _packed(pattern: Iterable[Token]) -> tuple[object, ...]:
    return tuple(token if type(token) is str else _plain(token) for token in pattern)


def _plain(token: Token) -> object:
    if isinstance(token, Gap):
        return (token.value,)
    if isinstance(token, OneOf):
        return ("one of", "".join(sorted(token.characters)), token.negated)
    if isinstance(token, Either):
        return ("either", tuple(map(_packed, token.alternatives)))
    assert isinstance(token, Run)  # noqa: S101  # no other token is left
    return ("run", "".join(sorted(token.excluded)))


def _unpacked(pattern: tuple[Any, ...]) -> tuple[Token, ...]:
    return tuple([token if type(token) is str else _token(token) for token in pattern])


def _token(packed: tuple[Any, ...]) -> Token:
    kind, *what = packed
    if kind == "one of":
        return OneOf(frozenset(what[0]), what[1])
    if kind == "either":
        return Either(*map(_unpacked, what[0]))
    if kind == "run":
        return Run(frozenset(what[0]))
    return GAPS[kind]
