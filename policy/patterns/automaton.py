"""Many patterns, run at once, to find the first that matches.

The patterns are merged into a trie whose edges are characters and gaps. A
*state* is the set of trie nodes a text may have reached; it is built when it is
first reached and remembered, so that a text costs one dictionary lookup a
character, however many patterns there are. What is remembered is bounded: when
it grows too large all of it is forgotten and built again. There is no
backtracking; a text costs at most its length times the size of the patterns.

A state leaves out the nodes that another one makes superfluous. Once ``*a*b``
has met an ``a``, its second star takes whatever its first star could still take;
so a pattern of many stars has small states, and few of them.
"""

from __future__ import annotations

import gc
from _thread import allocate_lock

from policy import limits
from policy.patterns.tokens import Gap, OneOf, Run

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any, Final

    from policy.patterns.tokens import Token

__all__ = ["NO_MATCH", "Automaton", "State"]

# The index of a match that is not there: larger than any.
NO_MATCH: Final = 1 << 60

# So many nodes of a state take the memory of one transition.
_NODES_PER_ENTRY: Final = 8

# Nodes of a state that is too large to be left to the garbage collector.
_LARGE: Final = 100

# Characters behind a decision that are remembered as changing nothing.
_LOOPS: Final = 256

# Of all automata, since building is rare and brief: who holds it builds a node.
_BUILDING: Final = allocate_lock()

_LOOPING: Final = (Gap.ANY, Gap.PART)

if TYPE_CHECKING:
    Edges = dict[str, "Edges | State"]


class _Node:
    """A place in the trie. Gaps loop on the node they lead to.

    What lies below a node is built when a text first comes to it: of 10,000
    rules most calls touch a handful.
    """

    __slots__ = (
        "accept",
        "deepened",
        "depth",
        "first",
        "flag",
        "gaps",
        "hopes",
        "indices",
        "letters",
        "line",
        "loop",
        "number",
        "part",
        "position",
        "sets",
    )

    def __init__(self, number: int, loop: Gap | Run | None = None) -> None:
        self.number = number
        self.loop = loop
        self.depth = 0
        self.line = number  # equal along a path where no pattern ends or branches off
        self.part = number  # equal along a stretch of a line without a separator
        self.indices: list[int] = []  # the patterns that end at or below this node
        self.position = (0, 0)  # token and character of it that come next in each of them
        self.letters: dict[str, _Node] | None = None  # None: not built yet
        self.gaps: dict[Gap | Run, _Node] = _NONE
        self.sets: dict[OneOf, _Node] = _NONE
        self.accept = NO_MATCH
        self.flag = False  # a flag ends here
        self.first = NO_MATCH  # the smallest index that ends at or below this node
        self.hopes = False  # a flag ends at or below this node
        self.deepened: _Node | None = None  # this node again, inside an open depth


_NONE: dict[Any, _Node] = {}


def _loops(edge: object) -> bool:
    return edge in _LOOPING or isinstance(edge, Run)


def _needed(nodes: Collection[_Node]) -> tuple[_Node, ...]:
    # What can still follow an earlier node of a line can also follow a later one
    # that loops: the loop takes whatever would have led there. A loop within a
    # part does so for the nodes of its part only.
    loops: dict[int, int] = {}
    for node in nodes:
        if node.loop is Gap.ANY or node.loop is Gap.PART:
            stretch = node.line if node.loop is Gap.ANY else -node.part
            loops[stretch] = max(loops.get(stretch, 0), node.depth)
    if not loops or len(nodes) == 1:
        return tuple(nodes)
    return tuple(
        node
        for node in nodes
        if node.depth >= loops.get(node.line, 0) and node.depth >= loops.get(-node.part, 0)
    )


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
        "alive",
        "edges",
        "final",
        "first",
        "flagged",
        "forever",
        "key",
        "plain",
    )

    def __init__(
        self, automaton: Automaton | None, nodes: Sequence[_Node], key: frozenset[int]
    ) -> None:
        self.edges: Edges = {"": self}
        self.key = key
        self._automaton = automaton
        self._nodes = nodes
        self.alive = bool(nodes)
        first = below = forever = NO_MATCH
        flagged = hoping = False
        for node in nodes:
            first = min(first, node.accept)
            if node.loop is Gap.ANY and node.accept < forever:
                forever = node.accept  # a match inside an ANY loop survives every character
            below = min(below, node.first)
            flagged = flagged or node.flag
            hoping = hoping or node.hopes
        self.first = first
        self.flagged = flagged
        self.plain = None if flagged else first
        self.forever = forever
        # A match inside an ANY loop survives every further character.
        self.final = not nodes or (
            below >= first
            and not hoping
            and any(node.loop is Gap.ANY and node.accept == first for node in nodes)
        )

    def after(self, character: str) -> State:
        """Return the state behind one more character."""
        edges = self.edges.get(character)
        if edges is None:
            edges = self.edges[character] = self._step(character).edges
        state: State = edges[""]  # type: ignore[assignment, index]  # the one value that is no dictionary
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


class Automaton:
    """The patterns *patterns*, canonical, in order, over texts with *separator*.

    *flags* are patterns beside the order: whether one of them matches is told
    apart from which is the first (`State.flagged`). With *ranks*, which never
    fall, the rank of a pattern is what it is told by instead of its index.

    An instance answers from any thread; what it remembers is not part of its
    value.
    """

    __slots__ = (
        "__weakref__",
        "_heavy",
        "_nodes",
        "_ranks",
        "_remembered",
        "_root",
        "_settled",
        "_states",
        "flags",
        "patterns",
        "separator",
        "start",
    )

    def __init__(
        self,
        patterns: Iterable[Sequence[Token]],
        separator: str = "",
        flags: Sequence[Sequence[Token]] = (),
        ranks: Sequence[int] = (),
    ) -> None:
        self.separator = separator
        self._ranks = ranks
        self._settled: dict[int, _Node] = {}
        self.patterns = [*flags, *patterns]
        self.flags = len(flags)
        self._heavy = False
        self._nodes = 0
        self._root = self._node()
        self._root.indices = list(range(len(self.patterns)))
        self._root.first = self._rank(0) if len(self.patterns) > self.flags else NO_MATCH
        self._root.hopes = self.flags > 0

    def __getattr__(self, name: str) -> State:
        # Only what is not there yet comes here: the states, which are made for
        # the first text. Many automata never see one.
        if name != "start":
            raise AttributeError(name)
        self._forget()
        return self.start

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        return self.state(text).first

    def state(self, text: str) -> State:
        """Return the state behind *text*: where it is known, at a lookup a character."""
        edges: Any = self.start.edges
        try:
            for character in text:
                edges = edges[character]
        except KeyError:
            edges = None  # or it would keep alive what the walk forgets
            return self.walk(text)
        state: State = edges[""]
        return state

    def walk(self, text: str) -> State:
        """Return the state behind *text*, building what has not been walked before.

        Behind what no further text can change the walk ends early.
        """
        state = self.start
        if self._remembered > limits.CACHE_ENTRIES:
            self._forget()
            state = self.start
        for position, character in enumerate(text):
            state = state.after(character)
            if state.final:
                # So that the same text is walked without a stop next time.
                later = set(text[position + 1 : position + 1 + _LOOPS])
                state.edges.update(dict.fromkeys(later, state.edges))
                self._remembered += len(later)
                break
        return state

    def _node(self, loop: Gap | Run | None = None) -> _Node:
        self._nodes += 1
        return _Node(self._nodes, loop)

    def _build(self, node: _Node) -> None:
        """Build what lies right below *node*, once, whoever comes first."""
        with _BUILDING:
            if node.letters is None:
                self._build_below(node)

    def _build_below(self, node: _Node) -> None:
        letters: dict[str, _Node] = {}
        gaps: dict[Gap | Run, _Node] = {}
        sets: dict[OneOf, _Node] = {}
        for index in node.indices:
            tokens = self.patterns[index]
            at, offset = node.position
            if at < len(tokens) and offset and offset == len(tokens[at]):  # type: ignore[arg-type]
                at, offset = at + 1, 0  # an offset is one into a literal, and that one is over
            if at == len(tokens):
                if index < self.flags:
                    node.flag = True
                else:
                    node.accept = min(node.accept, self._rank(index - self.flags))
                continue
            token = tokens[at]
            children: dict[Any, _Node]
            edge: Any
            if isinstance(token, str):
                children, edge, following = letters, token[offset], (at, offset + 1)
            else:
                children = gaps if isinstance(token, (Gap, Run)) else sets
                edge, following = token, (at + 1, 0)
            child = children.get(edge)
            if child is None:
                child = children[edge] = self._node(edge if _loops(edge) else None)
                child.position = following
            child.indices.append(index)
        opens = node.loop is Gap.ANY or node.deepened is not None
        for edge, child in (*letters.items(), *gaps.items(), *sets.items()):
            self._place(node, child)
            closed = not (opens or isinstance(edge, Run)) and edge not in (
                self.separator,
                Gap.ANY,
                Gap.DEEP,
            )
            if child.line == node.line and closed:
                child.part = node.part
            if edge is Gap.DEEP:
                inside = child.deepened = self._node(Gap.ANY)
                inside.depth, inside.line = child.depth + 1, child.line
                inside.first, inside.hopes = child.first, child.hopes
        if node.deepened is not None:
            inside = node.deepened
            inside.accept, inside.flag = node.accept, node.flag
            inside.gaps, inside.sets, inside.letters = gaps, sets, letters
        # Letters last: to another thread, a node with letters is built.
        node.gaps, node.sets, node.letters = gaps, sets, letters

    def _rank(self, index: int) -> int:
        return self._ranks[index] if self._ranks else index

    def _place(self, parent: _Node, child: _Node) -> None:
        child.depth = parent.depth + 2
        first = next((index for index in child.indices if index >= self.flags), None)
        child.first = NO_MATCH if first is None else self._rank(first - self.flags)
        child.hopes = child.indices[0] < self.flags
        if len(child.indices) == len(parent.indices):
            child.line = parent.line

    def _forget(self) -> None:
        self._states: dict[frozenset[int], State] = {}
        self._remembered = 0
        heavy, self._heavy = self._heavy, False
        self.start = self._begin()
        if heavy:
            # States lead to one another in circles. A few large ones fill the
            # memory long before the collector would look for them.
            gc.collect()

    def _begin(self) -> State:
        """Return the state in front of every text."""
        return self._state([self._root])

    def _state(self, entered: list[_Node]) -> State:
        # Entering a node enters what its open gaps lead to: they may be empty.
        nodes: dict[int, _Node] = {}
        while entered:
            node = entered.pop()
            if node.number in nodes:
                continue
            nodes[node.number] = node
            if node.letters is None:
                self._build(node)
            if node.gaps:
                entered.extend(child for gap, child in node.gaps.items() if gap is not Gap.ONE)
        needed = self._undecided(_needed(nodes.values()))
        key = frozenset(nodes if len(needed) == len(nodes) else [node.number for node in needed])
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = State(self, needed, key)
            self._remembered += len(needed) // _NODES_PER_ENTRY
            self._heavy = self._heavy or len(needed) > _LARGE
        return state

    def _undecided(self, nodes: tuple[_Node, ...]) -> tuple[_Node, ...]:
        """Return *nodes* without those that change nothing, since a pattern before theirs matches.

        A match inside an ANY loop survives every character. Of those that nothing below
        can better, one stands for all.
        """
        forever = min((node.accept for node in nodes if node.loop is Gap.ANY), default=NO_MATCH)
        if forever == NO_MATCH:
            return nodes
        kept = [node for node in nodes if node.first < forever or node.hopes]
        if not any(node.accept == forever and node.loop is Gap.ANY for node in kept):
            settled = next(n for n in nodes if n.accept == forever and n.loop is Gap.ANY)
            kept.append(self._settled.setdefault(forever, settled))
        return tuple(kept)

    def step(self, nodes: Sequence[_Node], character: str) -> State:
        """Return the state that *character* leads to from *nodes*."""
        between = character == self.separator
        entered: list[_Node] = []
        for node in nodes:
            child = (node.letters or _NONE).get(character)
            if child is not None:
                entered.append(child)
            loop = node.loop
            if (
                loop is Gap.ANY
                or (loop is Gap.PART and not between)
                or (isinstance(loop, Run) and character not in loop.excluded)
            ):
                entered.append(node)
            if between:
                if node.deepened is not None:
                    entered.append(node.deepened)
                continue
            if node.gaps and (one := node.gaps.get(Gap.ONE)) is not None:
                entered.append(one)
            if node.sets:
                for group, child in node.sets.items():
                    if (character in group.characters) is not group.negated:
                        entered.append(child)
        if self._remembered > limits.CACHE_ENTRIES:
            self._forget()
        self._remembered += 1
        return self._state(entered)
