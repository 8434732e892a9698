"""An automaton of many patterns, which finds the first pattern that matches a text.

The patterns are merged into a trie. A *state* is the set of trie nodes that a text may have
reached: a lazily determinised automaton. States are cached, so a text costs one dictionary lookup a
character, for any number of patterns. A full cache is cleared.

A state leaves out nodes that another node makes superfluous. Once ``*a*b`` has read an ``a``, its
second star matches all that its first star could still match. So patterns of many stars have few
and small states.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock
from functools import cached_property
from itertools import chain, count

from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final
from policy.patterns.tokens import Gap, OneOf, Run, canonical_ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from policy.patterns.tokens import Token

    Key = int | frozenset[int]


# The index for "no pattern matches"; it is larger than every other.
NO_MATCH: Final = sys.maxsize

# The lock for building nodes. All automata share it, since building is rare and brief.
_BUILDING: Final = allocate_lock()

# So many nodes of a state take as much memory as one transition.
_NODES_PER_ENTRY: Final = 8

# The characters that end a gap for any text: none.
_NOTHING: Final[frozenset[str]] = frozenset()
_ANY_ONE: Final = OneOf(frozenset(), negated=True)


class TrieNode:
    """A node of the trie. Its children are built when a text first reaches it.

    Attributes:
        number: the number of the node in its automaton.
        depth: the number of letters, gaps and sets on the path to it.
        indices: the sequences that begin with this path.
        loop: the characters without an edge from the node to itself; None for all characters.
        line: equal for the nodes of a path on which no pattern ends or branches off.
        part: equal for the nodes of a line between two separators.
        letters: character -> child; None before the children are built.
        gaps: the children that are reached without a character.
        sets: the children that one character of a set leads to.
        accept: the first pattern that ends here.
        deepened: the node behind a separator, from which any text leads back here.

    """

    __slots__ = (
        "accept",
        "deepened",
        "depth",
        "gaps",
        "indices",
        "letters",
        "line",
        "loop",
        "number",
        "part",
        "sets",
    )

    def __init__(
        self, number: int, depth: int, indices: Sequence[int], loop: frozenset[str] | None
    ) -> None:
        self.number = self.line = self.part = number
        self.depth = depth
        self.indices = indices
        self.loop = loop
        self.letters: dict[str, TrieNode] | None = None
        self.gaps: Sequence[TrieNode] = ()
        self.sets: Sequence[tuple[OneOf, TrieNode]] = ()
        self.accept = NO_MATCH
        self.deepened: TrieNode | None = None


class AutomatonState:
    """A state: the trie nodes that a text has reached.

    Attributes:
        edges: character -> the next state, as far as it is built.
        first: the index of the first pattern that matches the text.
        forever: the index of the first pattern that matches the text with any text behind it.
        alive: whether a pattern may match the text with some text behind it.
        key: equal for equal states of one automaton, also if one is built again.

    """

    __slots__ = ("_automaton", "_nodes", "_possible", "alive", "edges", "first", "forever", "key")

    def __init__(self, automaton: Automaton, nodes: Sequence[TrieNode], key: Key) -> None:
        self.edges: dict[str, AutomatonState] = {}
        self.key = key
        self._automaton = automaton
        self._nodes = nodes
        self.alive = bool(nodes)
        self._possible: frozenset[int] | None = None
        self.first = min([node.accept for node in nodes], default=NO_MATCH)
        # A loop for any text keeps the match for every further character.
        kept = [node.accept for node in nodes if node.loop is _NOTHING]
        self.forever = min(kept, default=NO_MATCH)

    @property
    def possible(self) -> frozenset[int]:
        """The values that ``first`` may have behind further text; it may contain a few others."""
        if self._possible is None:
            numbers = self._automaton.below(self._nodes)
            self._possible = frozenset(n for n in (*numbers, NO_MATCH) if n <= self.forever)
        return self._possible

    def after(self, character: str) -> AutomatonState:
        """Return the state behind one more character."""
        state = self.edges.get(character)
        if state is None:
            state = self.edges[character] = self._automaton.step(self._nodes, character)
        return state

    def letters(self) -> set[str]:
        """Return the characters that a literal or a set of a pattern names as the next one."""
        letters: set[str] = set()
        for node in self._nodes:
            letters.update(node.letters or ())
            for group, _ in node.sets:
                letters.update(group.characters)
        return letters


class Automaton:
    """An automaton of canonical patterns, in their order of precedence; it is thread-safe.

    The parts of a text are separated by *separator*; "" is none.
    """

    def __init__(self, patterns: Iterable[Sequence[Token]], separator: str = "") -> None:
        self.patterns = [*patterns]
        self.separator = separator
        self._part_ends = frozenset({separator})
        self._numbers = count()  # of nodes
        self._remembered: int  # entries of the cache of states
        self._states: dict[Key, AutomatonState] = {}
        self._start: AutomatonState | None = None  # built for the first text

    @property
    def start(self) -> AutomatonState:
        """The state before the first character of a text."""
        return self._forget() if self._start is None else self._start

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        return self.walk(text).first

    def walk(self, text: str) -> AutomatonState:
        """Return the state behind *text*, and build missing states."""
        state = self.start
        if self._remembered > limits.CACHE_ENTRIES:
            state = self._forget()
        for character in text:
            following = state.edges.get(character)
            state = state.after(character) if following is None else following
            if not state.alive:
                break  # every later state is dead too
        return state

    def below(self, nodes: Iterable[TrieNode]) -> set[int]:
        """Return the indices of the patterns that end at or below one of *nodes*."""
        return {self._sequences[index][0] for node in nodes for index in node.indices}

    def step(self, nodes: Sequence[TrieNode], character: str) -> AutomatonState:
        """Return the state that *character* leads to from *nodes*."""
        between = character == self.separator
        entered: list[TrieNode] = []
        for node in nodes:
            child = node.letters.get(character) if node.letters else None
            if child is not None:
                entered.append(child)
            if node.loop is not None and character not in node.loop:
                entered.append(node)
            if not between:
                for group, child in node.sets:
                    if (character in group.characters) is not group.negated:
                        entered.append(child)
            elif node.deepened is not None:
                entered.append(node.deepened)
        if self._remembered > limits.CACHE_ENTRIES:
            self._forget()
        self._remembered += 1
        return self._state(entered)

    def _forget(self) -> AutomatonState:
        """Clear the cache of states, and return a new start state."""
        forgotten, self._states = self._states, {}
        self._remembered = 0
        start = self._start = self._state([self._root])
        # States refer to one another in cycles, and a few large ones fill the memory long before
        # the collector runs.
        for state in forgotten.values():
            state.edges.clear()
        return start

    def _state(self, entered: list[TrieNode]) -> AutomatonState:
        """Return the state of the nodes *entered* and of those behind their gaps."""
        nodes: dict[int, TrieNode] = {}
        while entered:
            node = entered.pop()
            if node.number not in nodes:
                nodes[node.number] = node
                if node.letters is None:
                    self._build(node)
                entered.extend(node.gaps)
        needed = self._needed([*nodes.values()])
        key = needed[0].number if len(needed) == 1 else frozenset([n.number for n in needed])
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = AutomatonState(self, needed, key)
            self._remembered += len(needed) // _NODES_PER_ENTRY
        return state

    def _needed(self, nodes: list[TrieNode]) -> list[TrieNode]:
        """Return *nodes* without the superfluous ones.

        A node with a loop makes the earlier nodes of its line superfluous: the loop matches any
        text on the way from them to it. A loop within a part makes superfluous only nodes of that
        part. A match in a loop for any text remains for every further text, so no later pattern
        decides.
        """
        lines: dict[int, int] = {}
        parts: dict[int, int] = {}
        settled: TrieNode | None = None
        for node in nodes:
            if node.loop is _NOTHING:
                lines[node.line] = max(node.depth, lines.get(node.line, node.depth))
                if node.accept < (NO_MATCH if settled is None else settled.accept):
                    settled = node
            elif node.loop is self._part_ends:
                parts[node.part] = max(node.depth, parts.get(node.part, node.depth))
        if lines or parts:
            nodes = [
                node
                for node in nodes
                if node.depth >= lines.get(node.line, node.depth)
                and node.depth >= parts.get(node.part, node.depth)
            ]
        if settled is not None:
            of = self._sequences
            nodes = [node for node in nodes if of[node.indices[0]][0] < settled.accept]
            if settled not in nodes:
                nodes.append(settled)
        return nodes

    @cached_property
    def _sequences(self) -> list[tuple[int, tuple[Token, ...]]]:
        """The index of each pattern with its edges, once for each choice of alternatives."""
        return [
            (index, tuple(chain.from_iterable(_edges(token) for token in way)))
            for index, tokens in enumerate(self.patterns)
            for way in canonical_ways(tokens, self.separator)
        ]

    @cached_property
    def _root(self) -> TrieNode:
        return self._node(0, range(len(self._sequences)), None)

    def _node(self, depth: int, indices: Sequence[int], loop: frozenset[str] | None) -> TrieNode:
        return TrieNode(next(self._numbers), depth, indices, loop)

    def _build(self, node: TrieNode) -> None:
        """Build the children of *node*, unless another thread did."""
        with _BUILDING:
            if node.letters is None:
                self._build_below(node)

    def _build_below(self, node: TrieNode) -> None:
        by_edge: dict[Token, list[int]] = {}
        for index in node.indices:
            rank, edges = self._sequences[index]
            if len(edges) > node.depth:
                by_edge.setdefault(edges[node.depth], []).append(index)
            elif rank < node.accept:
                node.accept = rank
        letters: dict[str, TrieNode] = {}
        gaps: list[TrieNode] = []
        sets: list[tuple[OneOf, TrieNode]] = []
        for edge, indices in by_edge.items():
            child = self._child(node, edge, indices)
            if isinstance(edge, str):
                letters[edge] = child
            elif isinstance(edge, OneOf):
                sets.append((edge, child))
            else:
                gaps.append(child)
        if node.deepened is not None:
            node.deepened.accept = node.accept
        # `letters` is set last: another thread takes a node with letters for complete.
        node.gaps, node.sets, node.letters = tuple(gaps), tuple(sets), letters

    def _child(self, node: TrieNode, edge: Token, indices: Sequence[int]) -> TrieNode:
        """Return the child of *node* behind *edge*, which the sequences *indices* have there."""
        loop = None
        if isinstance(edge, Run):
            loop = edge.excluded
        elif edge is Gap.ANY:
            loop = _NOTHING
        elif edge is Gap.PART:
            loop = self._part_ends
        child = self._node(node.depth + 1, indices, loop)
        if len(indices) == len(node.indices):
            child.line = node.line
            if self._stays(node, edge):
                child.part = node.part
        if edge is Gap.DEEP:
            inside = child.deepened = self._node(child.depth, indices, _NOTHING)
            inside.line, inside.gaps, inside.letters = child.line, (child,), {}
        return child

    def _stays(self, node: TrieNode, edge: object) -> bool:
        """Return whether the child behind *edge* is in the same part of the text as *node*."""
        is_open = node.loop is _NOTHING or node.deepened is not None or isinstance(edge, Run)
        return not is_open and edge not in (Gap.ANY, Gap.DEEP, self.separator)


def _edges(token: Token) -> Iterable[Token]:
    """Return the edges of the trie for a token: its letters, or the gap or set itself."""
    if isinstance(token, str):
        return token
    return (_ANY_ONE if token is Gap.ONE else token,)
