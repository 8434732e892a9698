"""Where a text has led among many patterns: what may still match, and what matched first."""

from __future__ import annotations

from policy.patterns.tokens import Gap
from policy.patterns.trie import NO_MATCH, Node

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, Final

    from policy.patterns.automaton import Automaton

    Edges = dict[str, "Edges | State"]
    # The number of a node, or those of several.
    Key = int | frozenset[int]

__all__ = ["State", "has_half"]

# By its own name, since every node is compared with it.
_ANY: Final = Gap.ANY


def has_half(text: str) -> bool:
    """Return whether *text* has half a character, a lone surrogate: no program is given one."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


class State:
    """Where a text has led.

    Attributes:
        edges: the edges of the next state, for each character seen so far;
            under the empty text, the state itself. A walk goes from edges to
            edges, since CPython looks a character up in a plain dictionary in
            half the time that any object of ours would take.
        first: index of the first pattern that matches the text so far.
        flagged: a flag matches the text so far.
        plain: ``first``, or None where a flag matches: then it decides nothing yet.
        final: no further text can change ``first``.
        forever: index of the first pattern that matches whatever further text follows.
        alive: some pattern may still match.
        key: equal for states of one automaton that mean the same, even where
            one of them has been forgotten and built again.

    """

    __slots__ = (
        "_automaton",
        "_nodes",
        "_possible",
        "alive",
        "edges",
        "final",
        "first",
        "flagged",
        "forever",
        "key",
        "plain",
    )

    def __init__(self, automaton: Automaton | None, nodes: Sequence[Node], key: Key) -> None:
        self.edges: Edges = {"": self}
        self.key = key
        self._automaton = automaton
        self._nodes = nodes
        self.alive = bool(nodes)
        self._possible: frozenset[int] | None = None
        first = below = forever = NO_MATCH
        flagged = hoping = False
        for node in nodes:
            accept = node.accept
            if accept < first:  # noqa: PLR1730  # `min` takes three times as long, here too often
                first = accept
            if accept < forever and node.loop is _ANY:
                forever = accept  # a match inside an ANY loop survives every character
            if node.first < below:  # noqa: PLR1730
                below = node.first
            if node.hopes:
                hoping = True
                flagged = flagged or node.flag
        self.first = first
        self.flagged = flagged
        self.plain = None if flagged else first
        self.forever = forever
        self.final = not nodes or (forever == first <= below and not hoping)

    @property
    def possible(self) -> frozenset[int]:
        """All that ``first`` may be behind further text, and hardly anything else."""
        if self._possible is None:
            self._possible = frozenset(
                rank for rank in (*self._ranks(), NO_MATCH) if rank <= self.forever
            )
        return self._possible

    def _ranks(self) -> Collection[int]:
        """Return what patterns that may still match are told by."""
        if self._automaton is None:
            return {0}
        return frozenset[int]().union(*map(self._automaton.trie.ranks, self._nodes))

    def after(self, character: str) -> State:
        """Return the state behind one more character."""
        edges: Any = self.edges.get(character)
        state: State | None = edges.get("") if edges else None
        if state is None:  # not seen before, or forgotten since
            state = self._step(character)
            self.edges[character] = state.edges
        return state

    def once(self, character: str) -> State:
        """Return the same, and remember nothing by the character."""
        return self._step(character)

    def doubted(self) -> State:
        """Return the same state as if a flag matched."""
        state = State(self._automaton, self._nodes, self.key)
        state.flagged, state.plain = True, None
        return state

    def _step(self, character: str) -> State:
        if self._automaton is None:
            raise NotImplementedError
        return self._automaton.step(self._nodes, character)

    def letters(self, named: Collection[str] = ()) -> set[str]:
        """Return the characters that some pattern names as the next one.

        Args:
            named: those that others name; of what is no pattern, one may stand for the rest.

        """
        del named
        letters: set[str] = set()
        for node in self._nodes:
            letters.update(node.letters or ())
            for group in node.sets:
                letters.update(group.characters)
        return letters
