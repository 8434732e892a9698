"""Automata that rows share: many agents and projects have rules for a tool that match the same."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakValueDictionary

from policy.dialect import Dialect
from policy.patterns.automaton import Automaton
from policy.patterns.ends import Indexed
from policy.patterns.tokens import Token
from policy.rows.walk import GivenPaths

__all__ = ["given_paths", "shared_automaton"]


def shared_automaton(
    patterns: tuple[tuple[Token, ...], ...],
    separator: str,
    flags: tuple[tuple[Token, ...], ...],
) -> Automaton:
    """Return the one automaton of these patterns: what it has walked serves all who have it."""
    key = (patterns, separator, flags)
    return _AUTOMATA.get(key) or _AUTOMATA.setdefault(key, Indexed(patterns, separator, flags))


def given_paths(
    base: Automaton, patterns: Sequence[Sequence[Token]], dialect: Dialect
) -> GivenPaths | None:
    """Return the automaton over paths as they are given; None where it would say nothing.

    Args:
        base: the automaton over canonical paths.
        patterns: those of *base*.
        dialect: how paths are read.

    """
    if dialect.links or dialect.drives:
        return None
    key = (id(base), dialect.cwd, dialect.cased, dialect.fold)
    known = _GIVEN.get(key)
    if known is None:
        found = GivenPaths(patterns, dialect.cwd, dialect.cased, fold=dialect.fold)
        found.base = base  # alive as long as this is, since it is known by it
        known = _GIVEN.setdefault(key, found)
    return known


_AUTOMATA: WeakValueDictionary[object, Automaton] = WeakValueDictionary()
_GIVEN: WeakValueDictionary[object, GivenPaths] = WeakValueDictionary()
