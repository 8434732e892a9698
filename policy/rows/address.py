"""What a row says of a URL: its rules speak of the host, lines of the host program of addresses.

A rule for ``example.com`` speaks of every way to spell that name. What a program fetches
from unasked it knows by heart instead: a name, or one with a part of the path, as it is
spelled. ``example.com.`` with its final dot is another to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.calls import addresses
from policy.patterns.automaton import NO_MATCH
from policy.rows.entry import RowEntry
from policy.rows.outcome import BY_DEFAULT
from policy.rows.shared import shared_automaton

__all__ = ["KnownAddresses"]


class KnownAddresses:
    """The lines of a row over hosts, those that know addresses by heart apart from the others."""

    __slots__ = ("_automaton", "_indices", "_known")

    def __init__(self, entries: Sequence[RowEntry], indices: Sequence[int], separator: str) -> None:
        self._known: dict[str, int] = {}
        self._indices: list[int] = []
        tokens = []
        for index in indices:
            pattern = entries[index].pattern
            if pattern is None:
                continue
            if pattern.exact and entries[index].reason in BY_DEFAULT:
                self._known.setdefault(str(pattern), index)
            else:
                self._indices.append(index)
                tokens.append(pattern.tokens)
        self._automaton = shared_automaton(tuple(tokens), separator, ())

    def first(self, host: str, url: str) -> int:
        """Return the index of the first line that speaks of *url*, or NO_MATCH.

        Args:
            host: the name that rules speak of.
            url: as it is called with.

        """
        found = self._automaton.first(host)
        index = NO_MATCH if found == NO_MATCH else self._indices[found]
        if not self._known:
            return index
        known = (self._known.get(address, NO_MATCH) for address in addresses(url))
        return min(index, *known)
