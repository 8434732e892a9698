"""Make the syntax tree of a file in our own notation from its parse tree.

`Building` makes a node of `syntax` for each node of the parse tree, and checks what the grammar
cannot: that names are defined and unique, and that bounds are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Source, Span, visible
from policy.language.grammars import Node, Token
from policy.language.mistakes import NAME_CHARACTERS, closest, quoted
from policy.language.syntax import (
    Agent,
    Comment,
    Delegate,
    Document,
    Expect,
    Grant,
    Inherit,
    Limit,
    Matcher,
    Never,
    Root,
    Test,
    Trust,
    is_tool,
    specifier,
    unescaped,
)

# Reading stops after so many mistakes: the file is hardly a policy.
MOST_MISTAKES: Final = 100

# The names of bounds that follow `limit`.
BOUNDS: Final = ("depth", "turns")

_NUMBER = re.compile(r"[0-9]{1,9}")
_COMMENT = re.compile(r"#([^\n]*)")


_Statement = TypeVar("_Statement")


class Building:
    """Builds one document, and collects the mistakes in it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.mistakes: list[PolicyError] = []
        self._agents: dict[str, Span] = {}
        self._root: Span | None = None
        self._used: list[tuple[str, Span]] = []

    def document(self, tree: Node, *, complete: bool) -> Document:
        """Return the document of *tree*; *complete* if it has every agent of the file.

        Names of agents are checked only in a complete tree.
        """
        body = self._body(tree.children)
        if complete and self._agents:
            self._check_used()
        return Document(body, span=self.source.span(0, len(self.source.text)))

    # --- statements

    def _body(self, children: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(
            self._statement(child.data, child.children)
            if isinstance(child, Node)
            else self._comment(child.start_pos, child)
            for child in children
        )

    def _statement(self, rule: str, children: list[Any]) -> Any:  # noqa: ANN401  # of ten classes
        first = children[0]
        match rule:
            case "grant":
                return self._listed(children, 1, Grant, _EFFECTS[first])
            case "expect":
                return self._listed(children, 2, Expect, _EFFECTS[children[1]])
            case "delegate":
                return self._listed(children, 1, Delegate)
            case "inherit":
                return Inherit(span=self._at(first))
            case "trust":
                return Trust(self._name(children[1]), span=self._span(*children))
            case "limit":
                return self._limit(children)
            case "agent":
                return self._agent(children)
            case "test":
                at = next(i for i, child in enumerate(children) if child.type == "LBRACE")
                chain = tuple(self._use(name) for name in children[1:at])
                body = self._body(children[at + 1 : -1])
                return Test(chain, body, span=self._span(first, children[-1]))
            case "never":
                at = next(i for i, child in enumerate(children) if isinstance(child, Node))
                links = children[1:at]
                chain = tuple(str(x) if x.type == "STARS" else self._use(x) for x in links)
                return self._listed(children, at, Never, chain)
            case _:
                span = self._span(*children)
                mend = "chains start at one agent: remove one of the two"
                self._root = self._once("`root`", self._root, span, mend)
                return Root(self._use(children[1]), span=span)

    def _agent(self, children: list[Any]) -> Agent:
        keyword, name, _, *body, brace = children
        text, span = self._name(name), self._at(name)
        if text:
            mend = "move the statements of both into one, or rename one"
            first = self._agents.get(text)
            self._agents[text] = self._once(f"agent {quoted(text)}", first, span, mend)
        nodes = self._body(body)
        self._check_once(nodes)
        self._check_expected(nodes)
        return Agent(text, nodes, span=self._span(keyword, brace))

    def _listed(
        self, children: list[Any], at: int, make: Callable[..., _Statement], *head: object
    ) -> _Statement:
        """Return the statement that *make* builds from *head* and the entries from *at* on."""
        matchers, comments = self._entries(children[at:])
        span = Span(self.source, children[0].start_pos, matchers[-1].span.end)
        return make(*head, matchers, comments, span=span)

    def _limit(self, children: list[Token]) -> Limit:
        bounds: dict[str, int] = {}
        comments: list[tuple[int, Comment]] = []
        words = iter(children[1:])
        for word in words:
            if word.type == "COMMA":
                comments += self._comments(word, len(bounds))
                continue
            number, name = next(words), str(word)
            if name not in BOUNDS:
                message = f"expected `depth` or `turns`, found {quoted(name)}"
                self._mistake(message, self._at(word), closest(name, BOUNDS))
            elif name in bounds:
                message = f"expected one bound of {quoted(name)}, found a second"
                self._mistake(message, self._at(word), "remove one of the two")
            if not _NUMBER.fullmatch(number):
                mend = f"a bound is a whole number of at most nine digits: `{visible(name)} 2`"
                self._mistake(f"expected a number, found {quoted(number)}", self._at(number), mend)
                continue
            bounds[name] = int(number)
        return Limit(
            tuple(bounds.items()), tuple(comments), span=self._span(children[0], children[-1])
        )

    # --- entries and leaves

    def _entries(
        self, children: list[Any]
    ) -> tuple[tuple[Matcher, ...], tuple[tuple[int, Comment], ...]]:
        matchers: list[Matcher] = []
        comments: list[tuple[int, Comment]] = []
        for child in children:
            if isinstance(child, Node):
                matchers.append(self._matcher(child.children))
            elif "#" in child:
                comments += self._comments(child, len(matchers))
        return tuple(matchers), tuple(comments)

    def _matcher(self, children: list[Token]) -> Matcher:
        first, last = children[0], children[-1]
        tool = str(first)
        if first.type == "STRING":
            tool = unescaped(tool[1:-1], '"')
            if not is_tool(tool):
                message = f"expected a tool, found {quoted(first)}"
                self._mistake(message, self._at(first), NAME_CHARACTERS)
        span = self._span(first, last)
        if first is last:
            return Matcher(tool, span=span)
        text = self.source.text
        if text[first.end_pos] != "(":
            gap = text.index("(", first.end_pos)
            self._mistake(
                f"expected `(` right after {quoted(tool)}, found a blank",
                self.source.span(first.end_pos, gap),
                "remove the blank",
            )
            return Matcher(tool, span=span)
        inside = unescaped(text[first.end_pos + 1 : last.start_pos], "()")
        return Matcher(tool, specifier(tool, inside), span=span)

    def _comment(self, start: int, text: str) -> Comment:
        source = self.source.text
        line = source.rfind("\n", 0, start) + 1
        before = source[line:start]
        span = self.source.span(start, start + len(text.rstrip()))
        if before and before[-1] not in " \t":
            self._mistake(
                "expected a blank before `#`, found none",
                self.source.span(start, start + 1),
                "a comment stands at the start of a line or after a blank",
            )
        content = text[1:].rstrip()
        return Comment(content.removeprefix(" "), bool(before.strip()), span=span)

    def _comments(self, comma: Token, entries: int) -> Iterable[tuple[int, Comment]]:
        for match in _COMMENT.finditer(comma):
            yield entries, self._comment(comma.start_pos + match.start(), match[0])

    def _name(self, token: Token) -> str:
        if token.type != "STRING":
            return str(token)
        name = unescaped(token[1:-1], '"')
        if not name.strip() or name in {"*", "**"}:
            stars = "`*` and `**` stand for agents in `never`"
            mend = stars if name.strip() else "a name is not empty"
            self._mistake(f"expected a name, found {quoted(token)}", self._at(token), mend)
        return name

    def _use(self, token: Token) -> str:
        name = self._name(token)
        if token:
            self._used.append((name, self._at(token)))
        return name

    # --- checks

    def _check_used(self) -> None:
        for name, span in self._used:
            if len(self.mistakes) >= MOST_MISTAKES:
                return
            # A name with a colon may be an agent of another host's files.
            if name not in self._agents and ":" not in name:
                self._mistake(
                    f"expected an agent of this file, found {quoted(name)}",
                    span,
                    closest(name, self._agents) or f"define it: `agent {visible(name)} {{ … }}`",
                )

    def _check_once(self, nodes: Iterable[Any]) -> None:
        first: dict[type, Span] = {}
        for node in nodes:
            if isinstance(node, Trust | Limit | Inherit):
                mend = "remove one of the two"
                if isinstance(node, Limit):
                    mend = "write the bounds in one: `limit depth 2, turns 20`"
                word, seen = f"`{type(node).__name__.lower()}` in an agent", first.get(type(node))
                first[type(node)] = self._once(word, seen, node.span, mend)

    def _check_expected(self, nodes: Iterable[Any]) -> None:
        above: object = None
        for node in nodes:
            if isinstance(node, Expect) and not isinstance(above, Grant | Expect):
                self._mistake(
                    "expected rules right above `expect`, found none",
                    node.span,
                    "write it below the `allow`, `ask` or `deny` that it is an example of",
                )
            if not isinstance(node, Comment):
                above = node

    # --- places

    def _once(self, what: str, first: Span | None, span: Span, mend: str) -> Span:
        """Return *first*, or else *span*; where both exist, note that *what* is repeated."""
        if first is None:
            return span
        line = first.place.line
        message = f"expected one {what}, found a second (the first is on line {line})"
        self._mistake(message, span, mend)
        return first

    def _mistake(self, message: str, span: Span, help: str = "") -> None:
        self.mistakes.append(PolicyError(message, span, help=help))

    def _at(self, token: Token) -> Span:
        return Span(self.source, token.start_pos, token.end_pos)

    def _span(self, first: Token, last: Token) -> Span:
        return Span(self.source, first.start_pos, last.end_pos)


_EFFECTS: Final = {effect.value: effect for effect in Effect}
