"""Many patterns run at once, to find the first that matches a text."""

from __future__ import annotations

from _thread import allocate_lock
from bisect import bisect_right
from functools import cached_property

from policy.core import limits
from policy.core.memory import Memo
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any, Final

    from policy.patterns.tokens import Token

    Edges = dict[str, "Edges | AutomatonState"]
    Key = int | frozenset[int]

__all__ = [
    "NONE",
    "NO_MATCH",
    "Automaton",
    "AutomatonState",
    "Beginnings",
    "Ends",
    "Indexed",
    "Trie",
    "TrieNode",
    "follow",
    "has_half",
]


# The index of a match that is not there: larger than any.
NO_MATCH: Final = 1 << 60

# Of all tries, since building is rare and brief: who holds it builds a node.
_BUILDING: Final = allocate_lock()


class TrieNode:
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
        "ranks",
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
        self.letters: dict[str, TrieNode] | None = None  # None: not built yet
        self.gaps: dict[Gap | Run, TrieNode] = NONE
        self.sets: dict[OneOf, TrieNode] = NONE
        self.accept = NO_MATCH
        self.flag = False  # a flag ends here
        self.first = NO_MATCH  # the smallest index that ends at or below this node
        self.hopes = False  # a flag ends at or below this node
        self.deepened: TrieNode | None = None  # this node again, inside an open depth
        self.ranks: frozenset[int] | None = None  # of *indices*; None: not asked for yet


# Where no edge leads from a node.
NONE: Final[dict[Any, TrieNode]] = {}


class Trie:
    """The patterns *patterns*, canonical, in order, over texts with *separator*.

    Attributes:
        patterns: the flags, and behind them the patterns.
        flags: how many of them are flags (`Automaton`).
        separator: between the parts of a text, or "".
        root: the node that leads to all of them.

    """

    __slots__ = (
        "_count",
        "_origins",
        "_ranks",
        "_tokens",
        "flags",
        "patterns",
        "root",
        "separator",
    )

    def __init__(
        self,
        patterns: Iterable[Sequence[Token]],
        separator: str = "",
        flags: Sequence[Sequence[Token]] = (),
        ranks: Sequence[int] = (),
    ) -> None:
        self.separator = separator
        self.patterns = [*flags, *patterns]
        self.flags = len(flags)
        self._ranks = ranks
        # The patterns, and behind them choices of alternatives, each with the pattern it is of.
        self._tokens: list[Sequence[Token]] = self.patterns
        self._origins: dict[int, int] = {}
        self._count = 0
        self.root = self._node()
        self.root.indices = list(range(len(self.patterns)))
        self.root.first = self._rank(0) if len(self.patterns) > self.flags else NO_MATCH
        self.root.hopes = self.flags > 0

    def build(self, node: TrieNode) -> None:
        """Build what lies right below *node*, once, whoever comes first."""
        with _BUILDING:
            if node.letters is None:
                self._build_below(node)

    def ranks(self, node: TrieNode) -> frozenset[int]:
        """Return what the patterns that end at or below *node* are told by."""
        if node.ranks is None:
            numbers = (self._origins.get(index, index) - self.flags for index in node.indices)
            node.ranks = frozenset(self._rank(number) for number in numbers if number >= 0)
        return node.ranks

    def _build_below(self, node: TrieNode) -> None:
        letters, gaps, sets = self._children(node)
        for edge, child in (*letters.items(), *gaps.items(), *sets.items()):
            self._place(node, child)
            if child.line == node.line and self._stays(node, edge):
                child.part = node.part
            if edge is Gap.DEEP:
                inside = child.deepened = self._node(Gap.ANY)
                inside.depth, inside.line = child.depth + 1, child.line
                inside.first, inside.hopes = child.first, child.hopes
                inside.indices = child.indices
        if node.deepened is not None:
            inside = node.deepened
            inside.accept, inside.flag = node.accept, node.flag
            inside.gaps, inside.sets, inside.letters = gaps, sets, letters
        # Letters last: to another thread, a node with letters is built.
        node.gaps, node.sets, node.letters = gaps, sets, letters

    def _children(
        self, node: TrieNode
    ) -> tuple[dict[str, TrieNode], dict[Gap | Run, TrieNode], dict[OneOf, TrieNode]]:
        """Return where the patterns go on from *node*, and note on it those that end there."""
        at, offset = node.position
        of: Any = self._tokens
        # Of most patterns one more letter comes next, and nothing else is made for each of these.
        going_on: dict[str, list[int]] = {}
        others: list[int] = []
        for index in node.indices:
            try:
                letter = of[index][at][offset]
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
            tokens = of[index]
            token = tokens[following] if following < len(tokens) else None
            if token is None:
                self._end(node, self._origins.get(index, index))
                continue
            if isinstance(token, Alternatives):
                node.indices = [*self._choices(node)]
                return self._children(node)
            children: dict[Any, TrieNode] = gaps if isinstance(token, (Gap, Run)) else sets
            child = children.get(token)
            if child is None:
                child = children[token] = self._node(token if _loops(token) else None)
                child.position = (following + 1, 0)
            child.indices.append(index)
        return letters, gaps or NONE, sets or NONE

    def _choices(self, node: TrieNode) -> Iterator[int]:
        """Yield the patterns of *node*, one for each alternative of those where some come next."""
        at, offset = node.position
        if self._tokens is self.patterns:
            self._tokens = [*self.patterns]
        for index in node.indices:
            tokens = self._tokens[index]
            next_ = at + 1 if offset and offset == len(tokens[at]) else at  # type: ignore[arg-type]
            token = tokens[next_] if next_ < len(tokens) else None
            if not isinstance(token, Alternatives):
                yield index
                continue
            for each in token.alternatives:
                self._origins[len(self._tokens)] = self._origins.get(index, index)
                yield len(self._tokens)
                self._tokens.append(_spliced(tokens[:next_], each, tokens[next_ + 1 :]))

    def _end(self, node: TrieNode, index: int) -> None:
        if index < self.flags:
            node.flag = True
        else:
            node.accept = min(node.accept, self._rank(index - self.flags))

    def _place(self, parent: TrieNode, child: TrieNode) -> None:
        child.depth = parent.depth + 2
        first = self._origins.get(child.indices[0], child.indices[0])
        if first < self.flags:
            child.hopes = True
            numbers = (self._origins.get(index, index) for index in child.indices)
            first = next((number for number in numbers if number >= self.flags), NO_MATCH)
        child.first = NO_MATCH if first == NO_MATCH else self._rank(first - self.flags)
        if len(child.indices) == len(parent.indices):
            child.line = parent.line

    def _stays(self, node: TrieNode, edge: object) -> bool:
        """Return whether *edge* leads from *node* to no other part of the text."""
        if node.loop is Gap.ANY or node.deepened is not None or isinstance(edge, Run):
            return False
        return edge is not Gap.ANY and edge is not Gap.DEEP and edge != self.separator

    def _rank(self, index: int) -> int:
        return self._ranks[index] if self._ranks else index

    def _node(self, loop: Gap | Run | None = None) -> TrieNode:
        self._count += 1
        return TrieNode(self._count, loop)


def _spliced(tokens: Sequence[Token], *others: Sequence[Token]) -> Sequence[Token]:
    """Return *tokens* and *others*, with literals joined: where one ends is a place within it."""
    spliced = [*tokens]
    for each in others:
        if spliced and each and isinstance(spliced[-1], str) and isinstance(each[0], str):
            spliced[-1] += each[0]
            spliced += each[1:]
        else:
            spliced += each
    return spliced


def _loops(edge: object) -> bool:
    return edge is Gap.ANY or edge is Gap.PART or isinstance(edge, Run)


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


class AutomatonState:
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

    def __init__(self, automaton: Automaton | None, nodes: Sequence[TrieNode], key: Key) -> None:
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

    def after(self, character: str) -> AutomatonState:
        """Return the state behind one more character."""
        edges: Any = self.edges.get(character)
        state: AutomatonState | None = edges.get("") if edges else None
        if state is None:  # not seen before, or forgotten since
            state = self._step(character)
            self.edges[character] = state.edges
        return state

    def once(self, character: str) -> AutomatonState:
        """Return the same, and remember nothing by the character."""
        return self._step(character)

    def doubted(self) -> AutomatonState:
        """Return the same state as if a flag matched."""
        state = AutomatonState(self._automaton, self._nodes, self.key)
        state.flagged, state.plain = True, None
        return state

    def _step(self, character: str) -> AutomatonState:
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


# Many patterns, run at once, to find the first that matches.
#
# The patterns are merged into a trie (`policy.patterns.automaton`). A *state* is the set
# of trie nodes a text may have reached; it is built when it is first reached and
# remembered, so that a text costs one dictionary lookup a character, however many
# patterns there are. What is remembered is bounded: when it grows too large all of it
# is forgotten and built again. There is no backtracking; a text costs at most its
# length times the size of the patterns.
#
# A state leaves out the nodes that another one makes superfluous. Once ``*a*b``
# has met an ``a``, its second star takes whatever its first star could still take;
# so a pattern of many stars has small states, and few of them.


# So many nodes of a state take the memory of one transition.
_NODES_PER_ENTRY: Final = 8

# By their own names, since every character of a text is compared with them.
_ANY_AUTOMATON: Final = Gap.ANY
_PART: Final = Gap.PART
_ONE: Final = Gap.ONE

# Characters behind a decision that are remembered as changing nothing.
_LOOPS: Final = 256


def _needed(nodes: Sequence[TrieNode], looping: Iterable[TrieNode]) -> Sequence[TrieNode]:
    # What can still follow an earlier node of a line can also follow a later one
    # that loops: the loop takes whatever would have led there. A loop within a
    # part does so for the nodes of its part only.
    lines: dict[int, int] = {}
    parts: dict[int, int] = {}
    for node in looping:
        loop, depth = node.loop, node.depth
        if loop is _ANY_AUTOMATON:
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
        edges: those of `start`; none before the first text is walked.

    """

    __slots__ = (
        "__weakref__",
        "_remembered",
        "_settled",
        "_start",
        "_states",
        "edges",
        "separator",
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
        self._settled: dict[int, TrieNode] = {}
        self._states: dict[Key, AutomatonState] = {}
        # Many automata never see a text.
        self._start: AutomatonState | None = None
        self.edges: Edges = {}

    @property
    def start(self) -> AutomatonState:
        """The state in front of every text."""
        if self._start is None:
            return self._forget()
        return self._start

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        return self.state(text).first

    def state(self, text: str) -> AutomatonState:
        """Return the state behind *text*: where it is known, at a lookup a character."""
        edges: Any = self.edges
        try:
            for character in text:
                edges = edges[character]
            state: AutomatonState = edges[""]
        except KeyError:
            return self.walk(text)
        return state

    def walk(self, text: str) -> AutomatonState:
        """Return the state behind *text*, building what has not been walked before.

        Behind what no further text can change the walk ends early.
        """
        state = self.start
        if self._remembered > limits.CACHE_ENTRIES:
            state = self._forget()
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

    def _flagged(self, text: str) -> AutomatonState:
        """Return the state behind a *text* with half a character, which is not plain.

        Nothing is remembered by the half, so that every such text comes here again.
        """
        state = self.start
        for character in text:
            state = state.once(character) if has_half(character) else state.after(character)
        return state.doubted()

    def _forget(self) -> AutomatonState:
        """Return the first state of all, anew."""
        forgotten, self._states = self._states, {}
        self._remembered = 0
        start = self._start = self._begin()
        self.edges = start.edges
        # States lead to one another in circles, and a few large ones fill the memory
        # long before the collector would look for them.
        for state in forgotten.values():
            state.edges.clear()
        return start

    def _begin(self) -> AutomatonState:
        """Return the state in front of every text."""
        return self._state([self.trie.root])

    def _state(self, entered: list[TrieNode]) -> AutomatonState:
        if len(entered) == 1:  # of what texts walk most is the end of one pattern
            (node,) = entered
            if node.letters is None:
                self.trie.build(node)
            if not node.gaps and not (node.loop is _ANY_AUTOMATON and node.accept != NO_MATCH):
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
                self.trie.build(node)
            if node.gaps:
                entered.extend([child for gap, child in node.gaps.items() if gap is not _ONE])
            if node.loop is not None:
                looping.append(node)
        needed: Sequence[TrieNode] = [*nodes.values()]
        if looping:
            if len(needed) > 1:
                needed = _needed(needed, looping)
            needed = self._undecided(needed, looping)
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
        """Return *nodes* without those that change nothing, since a pattern before theirs matches.

        A match inside an ANY loop, one of those *looping*, survives every character. Of those that
        nothing below can better, one stands for all.
        """
        forever = NO_MATCH
        for node in looping:
            if node.accept < forever and node.loop is _ANY_AUTOMATON:
                forever = node.accept
        if forever == NO_MATCH:
            return nodes
        kept = [node for node in nodes if node.first < forever or node.hopes]
        if not any(node.accept == forever and node.loop is Gap.ANY for node in kept):
            settled = next(n for n in looping if n.accept == forever and n.loop is Gap.ANY)
            kept.append(self._settled.setdefault(forever, settled))
        return kept

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
            if loop is not None and (
                loop is _ANY_AUTOMATON
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


# Which of many star patterns is the first that matches a text, by what each starts and ends with.
#
# That takes a search among what patterns start with, one among what those that start so end with,
# and hardly more, however many patterns there are. Nothing is built for the text: one that hardly
# anybody asks about again is looked up, and one of many alike is walked.

# Texts of which the first pattern is remembered, and the characters of the longest.
_TEXTS: Final = 4096
_LONGEST: Final = 1024

# Patterns that are tried one by one: more of them are walked all at once.
_ALIKE: Final = 256


class Indexed(Automaton):
    """An automaton that is walked for states alone: which pattern is the first is looked up."""

    @cached_property
    def _ends(self) -> Ends | None:
        return Ends.of(self.trie.patterns[self.trie.flags :])

    @cached_property
    def _firsts(self) -> Memo[str, int]:
        return Memo(_TEXTS)

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        if self._ends is None:
            return super().first(text)
        first = self._firsts.get(text)
        if first is None:
            first = self._ends.first(text)
            if len(text) <= _LONGEST:
                self._firsts.keep(text, first)
        return first


class Ends:
    """Patterns of letters and of gaps for any text alone, canonical, in order."""

    __slots__ = ("_endings", "_several", "_starts", "_texts", "_two")

    def __init__(self, patterns: Sequence[Sequence[Token]]) -> None:
        self._texts: dict[str, int] = {}  # one text -> its pattern
        # what a pattern with one gap starts with -> what it ends with, backwards -> the pattern
        self._two: dict[str, dict[str, int]] = {}
        # what one with several starts with -> each, what stands between its gaps, and its end
        self._several: dict[str, list[tuple[int, list[str], str]]] = {}
        for index, tokens in enumerate(patterns):
            literals = [token for token in tokens if type(token) is str]
            if len(literals) == len(tokens):
                self._texts.setdefault("".join(literals), index)
                continue
            start = "" if tokens[0] is Gap.ANY else literals.pop(0)
            end = "" if tokens[-1] is Gap.ANY else literals.pop()
            if literals:
                self._several.setdefault(start, []).append((index, literals, end))
            else:
                self._two.setdefault(start, {}).setdefault(end[::-1], index)
        self._starts = Beginnings([*self._two, *self._several])
        self._endings: dict[str, Beginnings] = {}

    @classmethod
    def of(cls, patterns: Sequence[Sequence[Token]]) -> Ends | None:
        """Return those of *patterns*; None where one has other gaps, or sets, or many are alike.

        Of those that have several gaps, and start with the same, each is tried.
        """
        if any(
            type(token) is not str and token is not Gap.ANY for each in patterns for token in each
        ):
            return None
        found = cls(patterns)
        alike = max(map(len, found._several.values()), default=0)
        return found if alike <= _ALIKE else None

    def first(self, text: str) -> int:
        """Return the index of the first pattern that matches all of *text*, or NO_MATCH."""
        first = self._texts.get(text, NO_MATCH)
        size = len(text)
        backwards = text[::-1]
        for start in self._starts.of(text):
            ends = self._two.get(start)
            if ends is not None:
                if start not in self._endings:
                    self._endings[start] = Beginnings(ends)
                for end in self._endings[start].of(backwards[: size - len(start)]):
                    first = min(first, ends[end])
            for index, literals, end in self._several.get(start, ()):
                if index >= first:
                    break
                if text.endswith(end) and follow(literals, text, len(start), size - len(end)):
                    first = index
        return first


class Beginnings:
    """Some texts, of which others are asked with which of them they begin."""

    __slots__ = ("_shorter", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted({*texts})
        self._shorter: list[int] = []  # for each the longest other that it begins with, or -1
        last = -1
        for number, text in enumerate(self._texts):
            while last >= 0 and not text.startswith(self._texts[last]):
                last = self._shorter[last]
            self._shorter.append(last)
            last = number

    def of(self, text: str) -> Iterator[str]:
        """Yield each that *text* begins with, the longest first.

        The last that is no greater begins with all of these.
        """
        number = bisect_right(self._texts, text) - 1
        while number >= 0:
            if text.startswith(self._texts[number]):
                yield self._texts[number]
            number = self._shorter[number]


def follow(literals: Iterable[str], text: str, at: int, end: int) -> bool:
    """Return whether *literals* stand in *text* one behind the other, from *at* to *end*."""
    for literal in literals:
        at = text.find(literal, at, end)
        if at < 0:
            return False
        at += len(literal)
    return at <= end
