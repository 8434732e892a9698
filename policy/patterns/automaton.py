"""Many patterns run at once, to find the first that matches a text.

The patterns are merged into a trie. A *state* is the set of trie nodes a text may have reached; it
is built when it is first reached and remembered, so that a text costs one dictionary lookup a
character, however many patterns there are. When too much is remembered, all of it is forgotten.

A state leaves out the nodes that another one makes superfluous. Once ``*a*b`` has met an ``a``, its
second star takes whatever its first star could still take; so a pattern of many stars has small
states, and few of them.
"""

from __future__ import annotations

from _thread import allocate_lock
from functools import cached_property

from policy.core import limits
from policy.patterns.tokens import Gap, OneOf, Run, canonical_ways

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any, Final

    from policy.patterns.tokens import Token

    Key = int | frozenset[int]


# The index of a match that is not there: larger than any.
NO_MATCH: Final = 1 << 60

# Of all automata, since building is rare and brief: who holds it builds a node.
_BUILDING: Final = allocate_lock()

# So many nodes of a state take the memory of one transition.
_NODES_PER_ENTRY: Final = 8

# What ends the text that a gap takes: nothing ends any text.
_NOTHING: Final[frozenset[str]] = frozenset()


class TrieNode:
    """A place in the trie, built when a text first comes to it. Gaps loop where they lead to."""

    __slots__ = (
        "accept",
        "deepened",
        "depth",
        "ending",
        "first",
        "gaps",
        "indices",
        "letters",
        "line",
        "loop",
        "number",
        "part",
        "position",
        "sets",
    )

    def __init__(self, number: int, loop: frozenset[str] | None = None) -> None:
        self.number = number
        self.loop = loop  # the characters that do not lead to it again; None: all of them
        self.depth = 0
        self.line = number  # equal along a path where no pattern ends or branches off
        self.part = number  # equal along a stretch of a line without a separator
        self.indices: list[int] = []  # the patterns that end at or below this node
        self.position = (0, 0)  # token and character of it that come next in each of them
        self.letters: dict[str, TrieNode] | None = None  # None: not built yet
        self.gaps: dict[Gap | Run, TrieNode] = _NO_EDGES
        self.sets: dict[OneOf, TrieNode] = _NO_EDGES
        self.accept = NO_MATCH
        self.first = NO_MATCH  # the smallest index that ends at or below this node
        self.deepened: TrieNode | None = None  # this node again, inside an open depth
        self.ending: frozenset[int] | None = None  # patterns of *indices*; None: not asked for yet


_NO_EDGES: Final[dict[Any, TrieNode]] = {}
_ANY_ONE: Final = OneOf(frozenset(), negated=True)


class AutomatonState:
    """Where a text has led.

    Attributes:
        edges: the next state for each character seen so far.
        first: index of the first pattern that matches the text so far.
        forever: index of the first pattern that matches whatever further text follows.
        alive: some pattern may still match.
        key: equal for states of one automaton that mean the same, however often built.

    """

    __slots__ = ("_automaton", "_nodes", "_possible", "alive", "edges", "first", "forever", "key")

    def __init__(self, automaton: Automaton | None, nodes: Sequence[TrieNode], key: Key) -> None:
        self.edges: dict[str, AutomatonState] = {}
        self.key = key
        self._automaton = automaton
        self._nodes = nodes
        self.alive = bool(nodes)
        self._possible: frozenset[int] | None = None
        first = forever = NO_MATCH
        for node in nodes:
            accept = node.accept
            if accept < first:  # noqa: PLR1730  # `min` takes three times as long, here too often
                first = accept
            if accept < forever and node.loop is _NOTHING:
                forever = accept  # a match inside such a loop survives every character
        self.first = first
        self.forever = forever

    @property
    def possible(self) -> frozenset[int]:
        """All that ``first`` may be behind further text, and hardly anything else."""
        if self._possible is None:
            numbers: Collection[int] = (0,)
            if self._automaton is not None:
                numbers = frozenset[int]().union(*map(self._automaton.ending, self._nodes))
            self._possible = frozenset(n for n in (*numbers, NO_MATCH) if n <= self.forever)
        return self._possible

    def after(self, character: str) -> AutomatonState:
        """Return the state behind one more character."""
        state = self.edges.get(character)
        if state is None:
            if self._automaton is None:
                raise NotImplementedError
            state = self.edges[character] = self._automaton.step(self._nodes, character)
        return state

    def letters(self) -> set[str]:
        """Return the characters that some pattern names as the next one."""
        letters: set[str] = set()
        for node in self._nodes:
            letters.update(node.letters or ())
            for group in node.sets:
                letters.update(group.characters)
        return letters


class Automaton:
    """Canonical patterns, in order, over texts with *separator* between their parts, or "".

    An instance answers from any thread.
    """

    def __init__(self, patterns: Iterable[Sequence[Token]], separator: str = "") -> None:
        self.patterns = [*patterns]
        self.separator = separator
        self._ends: dict[Token, frozenset[str]] = {
            Gap.ANY: _NOTHING,
            Gap.PART: frozenset({separator}),
        }
        self._count = 0  # of nodes
        self._remembered = 0
        self._settled: dict[int, TrieNode] = {}
        self._states: dict[Key, AutomatonState] = {}
        self._start: AutomatonState | None = None  # many automata never see a text

    @property
    def start(self) -> AutomatonState:
        """The state in front of every text."""
        return self._forget() if self._start is None else self._start

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        return self.walk(text).first

    def walk(self, text: str) -> AutomatonState:
        """Return the state behind *text*, building what has not been walked before."""
        state = self.start
        if self._remembered > limits.CACHE_ENTRIES:
            state = self._forget()
        for character in text:
            following = state.edges.get(character)
            state = state.after(character) if following is None else following
            if not state.alive:
                break  # so is what follows
        return state

    def ending(self, node: TrieNode) -> frozenset[int]:
        """Return the patterns that end at or below *node*."""
        if node.ending is None:
            node.ending = frozenset(self._sequences[index][0] for index in node.indices)
        return node.ending

    def step(self, nodes: Sequence[TrieNode], character: str) -> AutomatonState:
        """Return the state that *character* leads to from *nodes*."""
        between = character == self.separator
        entered: list[TrieNode] = []
        for node in nodes:
            letters = node.letters
            if letters:
                child = letters.get(character)
                if child is not None:
                    entered.append(child)
            loop = node.loop
            if loop is not None and character not in loop:
                entered.append(node)
            if between:
                if node.deepened is not None:
                    entered.append(node.deepened)
                continue
            if node.sets:
                for group, child in node.sets.items():
                    if (character in group.characters) is not group.negated:
                        entered.append(child)
        if self._remembered > limits.CACHE_ENTRIES:
            self._forget()
        self._remembered += 1
        return self._state(entered)

    def _forget(self) -> AutomatonState:
        """Return the first state of all, anew."""
        forgotten, self._states = self._states, {}
        self._remembered = 0
        start = self._start = self._state([self._root])
        # States lead to one another in circles, and a few large ones fill the memory
        # long before the collector would look for them.
        for state in forgotten.values():
            state.edges.clear()
        return start

    def _state(self, entered: list[TrieNode]) -> AutomatonState:
        if len(entered) == 1:  # of what texts walk most is the end of one pattern
            (node,) = entered
            if node.letters is None:
                self._build(node)
            if not node.gaps and not (node.loop is _NOTHING and node.accept != NO_MATCH):
                return self._states.get(node.number) or self._made(node.number, entered)
        # Entering a node enters what its open gaps lead to: they may be empty.
        nodes: dict[int, TrieNode] = {}
        looping: list[TrieNode] = []
        while entered:
            node = entered.pop()
            number = node.number
            if number in nodes:
                continue
            nodes[number] = node
            if node.letters is None:
                self._build(node)
            if node.gaps:
                entered.extend(node.gaps.values())
            if node.loop is not None:
                looping.append(node)
        needed: Sequence[TrieNode] = [*nodes.values()]
        if looping:
            needed = self._undecided(self._needed(needed, looping), looping)
        if len(needed) == 1:
            number = needed[0].number
            return self._states.get(number) or self._made(number, needed)
        key = frozenset(nodes if len(needed) == len(nodes) else [node.number for node in needed])
        return self._states.get(key) or self._made(key, needed)

    def _made(self, key: Key, nodes: Sequence[TrieNode]) -> AutomatonState:
        state = self._states[key] = AutomatonState(self, nodes, key)
        self._remembered += len(nodes) // _NODES_PER_ENTRY
        return state

    def _undecided(
        self, nodes: Sequence[TrieNode], looping: Iterable[TrieNode]
    ) -> Sequence[TrieNode]:
        """Return *nodes* without those whose patterns come after one that matches for ever.

        A match inside an ANY loop survives every character; one such node stands for all.
        """
        forever = NO_MATCH
        for node in looping:
            if node.accept < forever and node.loop is _NOTHING:
                forever = node.accept
        if forever == NO_MATCH:
            return nodes
        kept = [node for node in nodes if node.first < forever]
        if not any(node.accept == forever and node.loop is _NOTHING for node in kept):
            settled = next(n for n in looping if n.accept == forever and n.loop is _NOTHING)
            kept.append(self._settled.setdefault(forever, settled))
        return kept

    def _needed(self, nodes: Sequence[TrieNode], looping: Iterable[TrieNode]) -> Sequence[TrieNode]:
        # What can still follow an earlier node of a line can also follow a later one
        # that loops: the loop takes whatever would have led there. A loop within a
        # part does so for the nodes of its part only.
        part = self._ends[Gap.PART]
        lines: dict[int, int] = {}
        parts: dict[int, int] = {}
        for node in looping:
            loop, depth = node.loop, node.depth
            if loop is _NOTHING:
                if depth > lines.get(node.line, 0):
                    lines[node.line] = depth
            elif loop is part and depth > parts.get(node.part, 0):
                parts[node.part] = depth
        if lines:
            deepest = lines.get
            nodes = [node for node in nodes if node.depth >= deepest(node.line, 0)]
        if parts:
            deepest = parts.get
            nodes = [node for node in nodes if node.depth >= deepest(node.part, 0)]
        return nodes

    @cached_property
    def _sequences(self) -> list[tuple[int, Sequence[Token]]]:
        """The number of each pattern and its tokens, once for each choice of alternatives."""
        sequences: list[tuple[int, Sequence[Token]]] = []
        for index, tokens in enumerate(self.patterns):
            sequences += [(index, way) for way in canonical_ways(tokens, self.separator)]
        return sequences

    @cached_property
    def _root(self) -> TrieNode:
        root = self._node()
        root.indices = [*range(len(self._sequences))]
        root.first = self._sequences[0][0] if self._sequences else NO_MATCH
        return root

    def _node(self, loop: frozenset[str] | None = None) -> TrieNode:
        self._count += 1
        return TrieNode(self._count, loop)

    def _build(self, node: TrieNode) -> None:
        """Build what lies right below *node*, once, whoever comes first."""
        with _BUILDING:
            if node.letters is None:
                self._build_below(node)

    def _build_below(self, node: TrieNode) -> None:
        letters, gaps, sets = self._children(node)
        for edge, child in (*letters.items(), *gaps.items(), *sets.items()):
            child.depth = node.depth + 2
            child.first = self._sequences[child.indices[0]][0]
            if len(child.indices) == len(node.indices):
                child.line = node.line
                if self._stays(node, edge):
                    child.part = node.part
            if edge is Gap.DEEP:
                inside = child.deepened = self._node(_NOTHING)
                inside.depth, inside.line = child.depth + 1, child.line
                inside.first, inside.indices = child.first, child.indices
        if node.deepened is not None:
            inside = node.deepened
            inside.accept = node.accept
            inside.gaps, inside.sets, inside.letters = gaps, sets, letters
        # Letters last: to another thread, a node with letters is built.
        node.gaps, node.sets, node.letters = gaps, sets, letters

    def _children(
        self, node: TrieNode
    ) -> tuple[dict[str, TrieNode], dict[Gap | Run, TrieNode], dict[OneOf, TrieNode]]:
        """Return where the patterns go on from *node*, and note on it those that end there."""
        at, offset = node.position
        of: Any = self._sequences
        # Of most patterns one more letter comes next, and nothing else is made for each of these.
        going_on: dict[str, list[int]] = {}
        others: list[int] = []
        for index in node.indices:
            try:
                letter = of[index][1][at][offset]
            except (IndexError, TypeError):  # the letters are over, or a gap comes next
                others.append(index)
                continue
            alike = going_on.get(letter)
            if alike is None:
                going_on[letter] = [index]
            else:
                alike.append(index)
        letters: dict[str, TrieNode] = {}
        for edge, indices in going_on.items():
            letters[edge] = more = self._node()
            more.position, more.indices = (at, offset + 1), indices
        gaps: dict[Gap | Run, TrieNode] = {}
        sets: dict[OneOf, TrieNode] = {}
        following = at + 1 if offset else at  # whatever letters there were are over
        for index in others:
            rank, tokens = of[index]
            if following == len(tokens):
                node.accept = min(node.accept, rank)
                continue
            token = _ANY_ONE if tokens[following] is Gap.ONE else tokens[following]
            children: dict[Any, TrieNode] = sets if isinstance(token, OneOf) else gaps
            child = children.get(token)
            if child is None:
                loop = token.excluded if isinstance(token, Run) else self._ends.get(token)
                child = children[token] = self._node(loop)
                child.position = (following + 1, 0)
            child.indices.append(index)
        return letters, gaps or _NO_EDGES, sets or _NO_EDGES

    def _stays(self, node: TrieNode, edge: object) -> bool:
        """Return whether *edge* leads from *node* to no other part of the text."""
        if node.loop is _NOTHING or node.deepened is not None or isinstance(edge, Run):
            return False
        return edge is not Gap.ANY and edge is not Gap.DEEP and edge != self.separator
