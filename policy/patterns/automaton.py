"""Many patterns, run at once, to find the first that matches.

The patterns are merged into a trie (`policy.patterns.trie`). A *state* is the set
of trie nodes a text may have reached; it is built when it is first reached and
remembered, so that a text costs one dictionary lookup a character, however many
patterns there are. What is remembered is bounded: when it grows too large all of it
is forgotten and built again. There is no backtracking; a text costs at most its
length times the size of the patterns.

A state leaves out the nodes that another one makes superfluous. Once ``*a*b``
has met an ``a``, its second star takes whatever its first star could still take;
so a pattern of many stars has small states, and few of them.
"""

from __future__ import annotations

from policy import limits
from policy.patterns.state import State, has_half
from policy.patterns.tokens import Gap, Run
from policy.patterns.trie import NO_MATCH, Node, Trie

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Final

    from policy.patterns.state import Key
    from policy.patterns.tokens import Token

__all__ = ["NO_MATCH", "Automaton"]

# So many nodes of a state take the memory of one transition.
_NODES_PER_ENTRY: Final = 8

# By their own names, since every character of a text is compared with them.
_ANY: Final = Gap.ANY
_PART: Final = Gap.PART
_ONE: Final = Gap.ONE

# Characters behind a decision that are remembered as changing nothing.
_LOOPS: Final = 256


def _needed(nodes: Sequence[Node], looping: Iterable[Node]) -> Sequence[Node]:
    # What can still follow an earlier node of a line can also follow a later one
    # that loops: the loop takes whatever would have led there. A loop within a
    # part does so for the nodes of its part only.
    lines: dict[int, int] = {}
    parts: dict[int, int] = {}
    for node in looping:
        loop, depth = node.loop, node.depth
        if loop is _ANY:
            if depth > lines.get(node.line, 0):
                lines[node.line] = depth
        elif loop is _PART and depth > parts.get(node.part, 0):
            parts[node.part] = depth
    if lines:
        deepest = lines.get
        nodes = [node for node in nodes if node.depth >= deepest(node.line, 0)]
    if parts:
        deepest = parts.get
        nodes = [node for node in nodes if node.depth >= deepest(node.part, 0)]
    return nodes


class Automaton:
    """The patterns *patterns*, canonical, in order, over texts with *separator*.

    *flags* are patterns beside the order: whether one of them matches is told
    apart from which is the first (`State.flagged`), as it is where a text has half
    a character. With *ranks*, which never fall, the rank of a pattern is what it is
    told by instead of its index.

    An instance answers from any thread; what it remembers is not part of its
    value.

    Attributes:
        trie: the patterns, merged.
        separator: between the parts of a text, or "".
        start: the state in front of every text.

    """

    __slots__ = (
        "__weakref__",
        "_remembered",
        "_settled",
        "_states",
        "separator",
        "start",
        "trie",
    )

    def __init__(
        self,
        patterns: Iterable[Sequence[Token]],
        separator: str = "",
        flags: Sequence[Sequence[Token]] = (),
        ranks: Sequence[int] = (),
    ) -> None:
        self.trie = Trie(patterns, separator, flags, ranks)
        self.separator = separator
        self._settled: dict[int, Node] = {}
        self._states: dict[Key, State] = {}

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
            state: State = edges[""]
        except KeyError:
            return self.walk(text)
        return state

    def walk(self, text: str) -> State:
        """Return the state behind *text*, building what has not been walked before.

        Behind what no further text can change the walk ends early.
        """
        state = self.start
        if self._remembered > limits.CACHE_ENTRIES:
            self._forget()
            state = self.start
        if self.trie.flags and has_half(text):
            return self._flagged(text)
        for position, character in enumerate(text):
            state = state.after(character)
            if state.final:
                # So that the same text is walked without a stop next time.
                later = set(text[position + 1 : position + 1 + _LOOPS])
                state.edges.update(dict.fromkeys(later, state.edges))
                self._remembered += len(later)
                break
        return state

    def _flagged(self, text: str) -> State:
        """Return the state behind a *text* with half a character, which is not plain.

        Nothing is remembered by the half, so that every such text comes here again.
        """
        state = self.start
        for character in text:
            state = state.once(character) if has_half(character) else state.after(character)
        return state.doubted()

    def _forget(self) -> None:
        forgotten, self._states = self._states, {}
        self._remembered = 0
        self.start = self._begin()
        # States lead to one another in circles, and a few large ones fill the memory
        # long before the collector would look for them.
        for state in forgotten.values():
            state.edges.clear()

    def _begin(self) -> State:
        """Return the state in front of every text."""
        return self._state([self.trie.root])

    def _state(self, entered: list[Node]) -> State:
        if len(entered) == 1:  # of what texts walk most is the end of one pattern
            (node,) = entered
            if node.letters is None:
                self.trie.build(node)
            if not node.gaps and not (node.loop is _ANY and node.accept != NO_MATCH):
                return self._states.get(node.number) or self._made(node.number, entered)
        # Entering a node enters what its open gaps lead to: they may be empty.
        nodes: dict[int, Node] = {}
        looping: list[Node] = []
        while entered:
            node = entered.pop()
            number = node.number
            if number in nodes:
                continue
            nodes[number] = node
            if node.letters is None:
                self.trie.build(node)
            if node.gaps:
                entered.extend([child for gap, child in node.gaps.items() if gap is not _ONE])
            if node.loop is not None:
                looping.append(node)
        needed: Sequence[Node] = [*nodes.values()]
        if looping:
            if len(needed) > 1:
                needed = _needed(needed, looping)
            needed = self._undecided(needed, looping)
        if len(needed) == 1:
            number = needed[0].number
            return self._states.get(number) or self._made(number, needed)
        key = frozenset(nodes if len(needed) == len(nodes) else [node.number for node in needed])
        return self._states.get(key) or self._made(key, needed)

    def _made(self, key: Key, nodes: Sequence[Node]) -> State:
        state = self._states[key] = State(self, nodes, key)
        self._remembered += len(nodes) // _NODES_PER_ENTRY
        return state

    def _undecided(self, nodes: Sequence[Node], looping: Iterable[Node]) -> Sequence[Node]:
        """Return *nodes* without those that change nothing, since a pattern before theirs matches.

        A match inside an ANY loop, one of those *looping*, survives every character. Of those that
        nothing below can better, one stands for all.
        """
        forever = NO_MATCH
        for node in looping:
            if node.accept < forever and node.loop is _ANY:
                forever = node.accept
        if forever == NO_MATCH:
            return nodes
        kept = [node for node in nodes if node.first < forever or node.hopes]
        if not any(node.accept == forever and node.loop is Gap.ANY for node in kept):
            settled = next(n for n in looping if n.accept == forever and n.loop is Gap.ANY)
            kept.append(self._settled.setdefault(forever, settled))
        return kept

    def step(self, nodes: Sequence[Node], character: str) -> State:
        """Return the state that *character* leads to from *nodes*."""
        between = character == self.separator
        entered: list[Node] = []
        for node in nodes:
            letters = node.letters
            if letters:
                child = letters.get(character)
                if child is not None:
                    entered.append(child)
            loop = node.loop
            if loop is not None and (
                loop is _ANY
                or (loop is _PART and not between)
                or (isinstance(loop, Run) and character not in loop.excluded)
            ):
                entered.append(node)
            if between:
                if node.deepened is not None:
                    entered.append(node.deepened)
                continue
            if node.gaps and (one := node.gaps.get(_ONE)) is not None:
                entered.append(one)
            if node.sets:
                for group, child in node.sets.items():
                    if (character in group.characters) is not group.negated:
                        entered.append(child)
        if self._remembered > limits.CACHE_ENTRIES:
            self._forget()
        self._remembered += 1
        return self._state(entered)
