"""Many patterns merged into one trie, whose edges are characters and gaps.

What lies below a node is built when a text first comes to it: of 10,000 rules most calls
touch a handful. `policy.patterns.automaton` walks it.
"""

from __future__ import annotations

from _thread import allocate_lock

from policy.patterns.tokens import Either, Gap, OneOf, Run

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Final

    from policy.patterns.tokens import Token

__all__ = ["NONE", "NO_MATCH", "Node", "Trie"]

# The index of a match that is not there: larger than any.
NO_MATCH: Final = 1 << 60

# Of all tries, since building is rare and brief: who holds it builds a node.
_BUILDING: Final = allocate_lock()


class Node:
    """A place in the trie. Gaps loop on the node they lead to.

    What lies below a node is built when a text first comes to it: of 10,000
    rules most calls touch a handful.
    """

    __slots__ = (
        "accept",
        "alike",
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
        self.alike = 0  # so many letters come next in all of them, at least
        self.letters: dict[str, Node] | None = None  # None: not built yet
        self.gaps: dict[Gap | Run, Node] = NONE
        self.sets: dict[OneOf, Node] = NONE
        self.accept = NO_MATCH
        self.flag = False  # a flag ends here
        self.first = NO_MATCH  # the smallest index that ends at or below this node
        self.hopes = False  # a flag ends at or below this node
        self.deepened: Node | None = None  # this node again, inside an open depth
        self.ranks: frozenset[int] | None = None  # of *indices*; None: nobody asked yet


# Where no edge leads from a node.
NONE: Final[dict[Any, Node]] = {}


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

    def build(self, node: Node) -> None:
        """Build what lies right below *node*, once, whoever comes first."""
        with _BUILDING:
            if node.letters is None:
                self._build_below(node)

    def ranks(self, node: Node) -> frozenset[int]:
        """Return what the patterns that end at or below *node* are told by."""
        if node.ranks is None:
            numbers = (self._origins.get(index, index) - self.flags for index in node.indices)
            node.ranks = frozenset(self._rank(number) for number in numbers if number >= 0)
        return node.ranks

    def _build_below(self, node: Node) -> None:
        if node.indices and not node.hopes and self._builds_on(node):
            return
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

    def _builds_on(self, node: Node) -> bool:
        """Build one more letter, if all patterns of *node* go on with the same: most is that."""
        at, offset = node.position
        tokens = self._tokens[node.indices[0]]
        token = tokens[at] if at < len(tokens) else None
        if not isinstance(token, str) or offset == len(token):
            return False
        alike = node.alike or self._alike(node, token[offset:])
        if not alike:
            return False
        edge = token[offset]
        child = self._node()
        child.position = (at, offset + 1)
        child.indices = node.indices
        child.alike = alike - 1
        child.depth, child.line, child.first = node.depth + 2, node.line, node.first
        if self._stays(node, edge):
            child.part = node.part
        letters = {edge: child}
        if node.deepened is not None:
            node.deepened.letters = letters
        node.letters = letters
        return True

    def _alike(self, node: Node, following: str) -> int:
        """Return with how many letters of *following* all patterns of *node* go on."""
        at, offset = node.position
        for index in reversed(node.indices):
            tokens = self._tokens[index]
            token = tokens[at] if at < len(tokens) else None
            if type(token) is not str:
                return 0
            while not token.startswith(following, offset):
                following = following[:-1]
            if not following:
                return 0
        return len(following)

    def _children(
        self, node: Node
    ) -> tuple[dict[str, Node], dict[Gap | Run, Node], dict[OneOf, Node]]:
        """Return where the patterns go on from *node*, which is told of those that end there."""
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
        letters: dict[str, Node] = {}
        for edge, indices in going_on.items():
            letters[edge] = more = self._node()
            more.position, more.indices = (at, offset + 1), indices
        gaps: dict[Gap | Run, Node] = {}
        sets: dict[OneOf, Node] = {}
        following = at + 1 if offset else at  # whatever letters there were are over
        for index in others:
            tokens = of[index]
            token = tokens[following] if following < len(tokens) else None
            if token is None:
                self._end(node, self._origins.get(index, index))
                continue
            if isinstance(token, Either):
                node.indices = [*self._choices(node)]
                return self._children(node)
            children: dict[Any, Node] = gaps if isinstance(token, (Gap, Run)) else sets
            child = children.get(token)
            if child is None:
                child = children[token] = self._node(token if _loops(token) else None)
                child.position = (following + 1, 0)
            child.indices.append(index)
        return letters, gaps or NONE, sets or NONE

    def _choices(self, node: Node) -> Iterator[int]:
        """Yield the patterns of *node*, one for each alternative of those where some come next."""
        at, offset = node.position
        if self._tokens is self.patterns:
            self._tokens = [*self.patterns]
        for index in node.indices:
            tokens = self._tokens[index]
            next_ = at + 1 if offset and offset == len(tokens[at]) else at  # type: ignore[arg-type]
            token = tokens[next_] if next_ < len(tokens) else None
            if not isinstance(token, Either):
                yield index
                continue
            for each in token.alternatives:
                self._origins[len(self._tokens)] = self._origins.get(index, index)
                yield len(self._tokens)
                self._tokens.append(_spliced(tokens[:next_], each, tokens[next_ + 1 :]))

    def _end(self, node: Node, index: int) -> None:
        if index < self.flags:
            node.flag = True
        else:
            node.accept = min(node.accept, self._rank(index - self.flags))

    def _place(self, parent: Node, child: Node) -> None:
        child.depth = parent.depth + 2
        first = self._origins.get(child.indices[0], child.indices[0])
        if first < self.flags:
            child.hopes = True
            numbers = (self._origins.get(index, index) for index in child.indices)
            first = next((number for number in numbers if number >= self.flags), NO_MATCH)
        child.first = NO_MATCH if first == NO_MATCH else self._rank(first - self.flags)
        if len(child.indices) == len(parent.indices):
            child.line = parent.line

    def _stays(self, node: Node, edge: object) -> bool:
        """Return whether *edge* leads from *node* to no other part of the text."""
        if node.loop is Gap.ANY or node.deepened is not None or isinstance(edge, Run):
            return False
        return edge is not Gap.ANY and edge is not Gap.DEEP and edge != self.separator

    def _rank(self, index: int) -> int:
        return self._ranks[index] if self._ranks else index

    def _node(self, loop: Gap | Run | None = None) -> Node:
        self._count += 1
        return Node(self._count, loop)


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
