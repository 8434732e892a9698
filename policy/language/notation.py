"""Reads a file of our own notation: its tree, and every independent mistake in it.

``grammar/notation.lark`` says what is well formed. After a mistake reading goes on with the next
statement. Names, levels and bounds, which no grammar can check, are checked on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.limits import PATTERN_CHARACTERS, RULES
from policy.core.source import Source, Span, visible
from policy.language import mistakes as expected
from policy.language.mistakes import (
    BOUNDS,
    FILE_WORDS,
    WORDS,
    Block,
    Expected,
    Mistake,
    closest,
    in_notation,
    mistake,
    quoted,
)
from policy.language.syntax import (
    Agent,
    Comment,
    Comments,
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

__all__ = ["MOST_MISTAKES", "NotationReader"]

# After so many mistakes a file is something else than a policy.
MOST_MISTAKES: Final = 100

# The terminals of the grammar.
_BLANKS: Final = re.compile(r"[ \t]*")
_BREAKS: Final = re.compile(r"(?:\r?\n[ \t]*)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_COMMA: Final = re.compile(r",(?:[ \t]*(?:#[^\n]*)?\r?\n)*")
_KEYWORD: Final = re.compile(rf"(?:{'|'.join(WORDS)})(?![\w.:*@/-])")
_STRING: Final = r'"(?:\\.|[^"\\\n])*"'
_BARE: Final = r"[\w.@/-]+(?::[\w.@/-]+)*"
_WORD: Final = re.compile(_BARE)
_NAME: Final = re.compile(f"{_BARE}|{_STRING}")
# A word of the notation is no tool, or a comma too many would make tools of the next statement.
_TOOL: Final = re.compile(rf"(?!(?:{'|'.join(WORDS)})[^A-Za-z0-9_.:*-])[A-Za-z0-9_.:*-]+|{_STRING}")
_LINK: Final = re.compile(rf"\*\*?|{_BARE}|{_STRING}")

# What counts within the parentheses of a matcher.
_WITHIN: Final = re.compile(r"\\.|[()\n\\]")

_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_LETTERS: Final = re.compile(r"\w+")
_SPACE: Final = re.compile(r"\s*")
_BEFORE_COMMENT: Final = re.compile(r"(?:^|[ \t])#")
_EFFECTS: Final = {effect.value: effect for effect in Effect}

_Read = Callable[[Span], Any]


class _Unexpected(Exception):
    """Something else than *expected* stands at a place; *mistake* says what, if that is known."""

    def __init__(self, expected: Expected, at: int, mistake: Mistake | None = None) -> None:
        super().__init__(expected.phrase)
        self.expected = expected
        self.at = at
        self.mistake = mistake


class _Enough(Exception):
    """There is no use in reading on."""


class NotationReader:
    """One run over a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text + "\n"  # the grammar ends a statement with its line
        self.mistakes: list[PolicyError] = []
        self._position = 0
        self._end = 0  # of the last entry that was read
        self._count_of_entries = 0
        self._follows = expected.END  # what may stand behind the statement that was read
        self._header = ""  # the word of the block whose header is being read
        self._block: Block | None = None  # the one that is being read
        self._left = False  # whether a mistake has closed one, and the line is over
        self._unclosed = 0  # braces a mistake took away, whose `}` may still come
        self._complete = True  # whether every agent of the file was read
        self._agents: dict[str, Span] = {}
        self._root: Span | None = None
        self._used: list[tuple[str, Span]] = []
        self._in_file: Mapping[str, _Read] = {
            "root": self._read_root,
            "agent": self._read_agent,
            "test": self._read_test,
            "never": self._read_never,
        }
        self._in_test: Mapping[str, _Read] = dict.fromkeys(_EFFECTS, self._read_grant)
        self._in_agent: Mapping[str, _Read] = {
            **self._in_test,
            "expect": self._read_expect,
            "delegate": self._read_delegate,
            "inherit": lambda word: Inherit(span=word),
            "trust": self._read_trust,
            "limit": self._read_limit,
        }

    def read(self) -> Document:
        """Return the document. Raises `PolicyErrors` for one with mistakes."""
        body: list[Any] = []
        try:
            self._go(0)
            while self._position < len(self.text):
                try:
                    self._read_line(body, self._in_file, expected.IN_FILE)
                except _Unexpected as error:
                    self._resume(error)
            if self._complete and self._agents:
                self._check_used()
        except _Enough:
            pass
        if self.mistakes:
            raise PolicyErrors(self.mistakes)
        return Document(tuple(body), span=self.source.span(0, len(self.source.text)))

    # --- lines and blocks

    def _read_line(self, nodes: list[Any], known: Mapping[str, _Read], start: Expected) -> None:
        """Add what stands on a line to *nodes*: a statement, which may go on, and a comment."""
        self._left = False
        if not self._is_at("#"):
            word = self._take(_KEYWORD, start, known)
            self._follows = expected.END if self._block is None else expected.END_IN_BLOCK
            nodes.append(known[word.text](word))
        if self._is_at("#"):
            comment = self._take(_COMMENT, start)
            self._count()
            nodes.append(self._comment(comment.start, comment.text))
        breaks = _BREAKS.match(self.text, self._position)
        if breaks:
            self._position = breaks.end()
        elif not self._left and not (self._block and self._is_at("}")):
            raise _Unexpected(self._follows, self._position)

    def _read_block(self, block: Block, known: Mapping[str, _Read]) -> tuple[Any, ...]:
        """Return the statements of a block, up to its end."""
        outer, self._block = self._block, block
        start = expected.IN_TEST if known is self._in_test else expected.IN_AGENT
        nodes: list[Any] = []
        self._go(self._position)
        while not self._is_at("}"):
            try:
                self._read_line(nodes, known, start)
            except _Unexpected as error:
                if self._leaves(block, error, start):
                    break
        else:
            self._position += 1
        self._block, self._follows = outer, expected.END
        if known is self._in_agent:
            self._check_once(nodes)
            self._check_expected(nodes)
        return tuple(nodes)

    def _leaves(self, block: Block, error: _Unexpected, start: Expected) -> bool:
        """Report a mistake in a block, and return whether the block ends there."""
        at, word = error.at, _LETTERS.match(self.text, error.at)
        at_end = self._is_over(at)
        if error.expected is start and (at_end or (word and word[0] in FILE_WORDS)):
            if block.owner:  # or its header was a mistake, told before
                self._report(error)
            self._unclosed += not at_end
            self._left = True
            self._go(at)
            return True
        self._report(error)
        end, last = self._line_end(at)
        if last == "{":
            self._unclosed += 1
        elif last == "}":
            end = self.text.rindex("}", at, end)
        self._go(len(self.text) if at_end else end)
        return False

    def _resume(self, error: _Unexpected) -> None:
        """Report a mistake outside of blocks, and go to where the next statement begins."""
        at, header, self._header = error.at, self._header, ""
        if self._unclosed and error.expected is expected.IN_FILE and self._is_at("}", at):
            self._unclosed -= 1  # the brace of a block that a mistake has closed
        else:
            self._report(error)
        end, last = self._line_end(at)
        if self._is_over(at):
            end = len(self.text)
        elif last == "}":
            self._complete = False  # an agent in one line, all of it passed over
        elif last == "{" or header:
            # The header that was wrong opens a block.
            word = _LETTERS.match(self.text, at)
            likely = closest(word[0], FILE_WORDS) if word else ""
            is_test = header == "test" or "`test`" in likely
            self._complete = self._complete and is_test
            self._go(end)
            if self._is_at("{"):  # on a line of its own
                self._go(self._position + 1)
            self._read_block(Block(at, ""), self._in_test if is_test else self._in_agent)
            end = self._position
        self._go(end)

    def _line_end(self, at: int) -> tuple[int, str]:
        """Return the end of the line, and of those it goes on over, and its last character."""
        while True:
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            comment = _BEFORE_COMMENT.search(line)
            last = line[: comment.start() if comment else None].rstrip()[-1:]
            if last != "," or end >= len(self.text):
                return end, last
            at = end + 1

    # --- statements

    def _read_root(self, word: Span) -> Root:
        name = self._take_name()
        span = self._span(word, name)
        if self._root:
            self._note("second-root", span, line=self._root.place.line)
        self._root = self._root or span
        return Root(self._use(name), span=span)

    def _read_agent(self, word: Span) -> Agent:
        self._header = word.text
        span = self._take_name()
        name = self._name(span)
        block = self._opened(word, expected.BODY)
        if name in self._agents:
            line = self._agents[name].place.line
            self._note("second-agent", span, name=quoted(name), line=line)
        elif name:
            self._agents[name] = span
        body = self._read_block(block, self._in_agent)
        return Agent(name, body, span=self.source.span(word.start, self._position))

    def _read_test(self, word: Span) -> Test:
        self._header = word.text
        links = [self._take_name()]
        while self._is_at(">"):
            self._position += 1
            links.append(self._take_name())
        block = self._opened(word, expected.CHAIN_OR_BODY)
        chain = tuple(map(self._use, links))
        body = self._read_block(block, self._in_test)
        return Test(chain, body, span=self.source.span(word.start, self._position))

    def _opened(self, word: Span, wanted: Expected) -> Block:
        if not self._is_at("{"):
            raise _Unexpected(wanted, self._position)
        brace, self._header = self._position, ""
        self._position += 1
        return Block(brace, self.text[word.start : brace].strip())

    def _read_never(self, word: Span) -> Never:
        links = [self._take(_LINK, expected.LINK)]
        while self._is_at(">"):
            self._position += 1
            links.append(self._take(_LINK, expected.LINK))
        if not self._is_at(":"):
            raise _Unexpected(expected.CHAIN_OR_LIST, self._position)
        self._position += 1
        chain = tuple(link.text if link.text in {"*", "**"} else self._use(link) for link in links)
        return Never(chain, *self._entries(), span=self._till_here(word))

    def _read_grant(self, word: Span) -> Grant:
        return Grant(_EFFECTS[word.text], *self._entries(), span=self._till_here(word))

    def _read_expect(self, word: Span) -> Expect:
        effect = self._take(_KEYWORD, expected.EFFECT, _EFFECTS)
        return Expect(_EFFECTS[effect.text], *self._entries(), span=self._till_here(word))

    def _read_delegate(self, word: Span) -> Delegate:
        return Delegate(*self._entries(), span=self._till_here(word))

    def _read_trust(self, word: Span) -> Trust:
        name = self._take_name()
        return Trust(self._name(name), span=self._span(word, name))

    def _read_limit(self, word: Span) -> Limit:
        bounds: dict[str, int] = {}
        comments: list[tuple[int, Comment]] = []
        while True:
            name, number = (self._take(_WORD, each) for each in (expected.BOUND, expected.NUMBER))
            self._read_bound(name, number, bounds)
            span = self._span(word, number)
            self._follows = expected.BEHIND_ENTRY
            comma = self._comma()
            if comma is None:
                return Limit(tuple(bounds.items()), tuple(comments), span=span)
            comments += self._comments(comma, len(bounds))

    def _read_bound(self, name: Span, number: Span, bounds: dict[str, int]) -> None:
        text = name.text
        if text not in BOUNDS:
            self._note("unknown-bound", name, help=closest(text, BOUNDS), found=quoted(text))
        elif text in bounds:
            self._note("second-bound", name, name=quoted(text))
        if not _NUMBER.fullmatch(number.text):
            self._note("no-number", number, found=quoted(number.text), name=visible(text))
        else:
            bounds[text] = int(number.text)

    # --- entries and leaves

    def _entries(self) -> tuple[tuple[Matcher, ...], Comments]:
        matchers = [self._matcher()]
        comments: list[tuple[int, Comment]] = []
        while (comma := self._comma()) is not None:
            comments += self._comments(comma, len(matchers))
            matchers.append(self._matcher())
        return tuple(matchers), tuple(comments)

    def _matcher(self) -> Matcher:
        first = self._take(_TOOL, expected.TOOL)
        self._count()
        tool = first.text
        if tool.startswith('"'):
            tool = unescaped(tool[1:-1], '"')
            if not is_tool(tool):
                self._note("tool-of-other-characters", first, found=quoted(first.text))
        self._follows = expected.ENTRY
        if not self._is_at("("):
            self._end = first.end
            return Matcher(tool, span=first)
        opening = self._position
        self._end = end = self._closing(first)
        self._follows = expected.BEHIND_ENTRY
        span = self.source.span(first.start, end)
        if opening != first.end:
            gap = self.source.span(first.end, opening)
            self._note("blank-before-parenthesis", gap, tool=quoted(tool))
            return Matcher(tool, span=span)
        inside = unescaped(self.text[opening + 1 : end - 1], "()")
        return Matcher(tool, specifier(tool, inside), span=span)

    def _closing(self, tool: Span) -> int:
        """Return the end of the parentheses behind a tool, and go there."""
        depth = 0
        for found in _WITHIN.finditer(self.text, self._position):
            if found.end() - tool.end > PATTERN_CHARACTERS:
                long = mistake("long-matcher", tool.end, tool.end + 1, most=PATTERN_CHARACTERS)
                raise _Unexpected(expected.CLOSING, found.end(), long)
            if found[0] in "\n\\":
                raise _Unexpected(expected.CLOSING, found.start())
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if not depth:
                self._position = found.end()
                return self._position
        raise AssertionError(tool)  # a line break ends the text

    def _comment(self, start: int, text: str) -> Comment:
        line = self.text.rfind("\n", 0, start) + 1
        before = self.text[line:start]
        span = self.source.span(start, start + len(text.rstrip()))
        if before and before[-1] not in " \t":
            self._note("comment-without-blank", self.source.span(start, start + 1))
        said = text[1:].rstrip()
        return Comment(said.removeprefix(" "), bool(before.strip()), span=span)

    def _comments(self, comma: Span, entries: int) -> Iterable[tuple[int, Comment]]:
        for found in _COMMENT.finditer(self.text, comma.start, comma.end):
            yield entries, self._comment(found.start(), found[0])

    def _name(self, span: Span) -> str:
        if not span.text.startswith('"'):
            return span.text
        name = unescaped(span.text[1:-1], '"')
        if not name.strip() or name in {"*", "**"}:
            kind = "stars-as-name" if name.strip() else "empty-name"
            self._note(kind, span, found=quoted(span.text))
        return name

    def _use(self, span: Span) -> str:
        name = self._name(span)
        self._used.append((name, span))
        return name

    # --- checks

    def _check_used(self) -> None:
        for name, span in self._used:
            # A name with a colon may be an agent of another host's files.
            if name not in self._agents and ":" not in name:
                near = closest(name, self._agents)
                words = {"found": quoted(name), "name": visible(name)}
                self._note("unknown-agent", span, help=near, **words)

    def _check_once(self, nodes: Iterable[Any]) -> None:
        first: dict[type, Span] = {}
        for node in nodes:
            if isinstance(node, Trust | Limit | Inherit):
                seen = first.setdefault(type(node), node.span)
                if seen is not node.span:
                    word, line = type(node).__name__.lower(), seen.place.line
                    kind = "second-limit" if word == "limit" else "second-statement"
                    self._note(kind, node.span, word=word, line=line)

    def _check_expected(self, nodes: Iterable[Any]) -> None:
        above: object = None
        for node in nodes:
            if isinstance(node, Expect) and not isinstance(above, Grant | Expect):
                self._note("example-without-rules", node.span)
            if not isinstance(node, Comment):
                above = node

    # --- the text

    def _take(
        self, terminal: re.Pattern[str], wanted: Expected, among: Container[str] | None = None
    ) -> Span:
        """Return what *terminal* matches behind the blanks, one of *among*, and pass it."""
        at = self._skip()
        found = terminal.match(self.text, at)
        if found is None or (among is not None and found[0] not in among):
            raise _Unexpected(wanted, at)
        self._position = found.end()
        return Span(self.source, at, self._position)

    def _take_name(self) -> Span:
        self._count()
        return self._take(_NAME, expected.NAME)

    def _comma(self) -> Span | None:
        return self._take(_COMMA, expected.ENTRY) if self._is_at(",") else None

    def _is_at(self, mark: str, at: int | None = None) -> bool:
        """Return whether a mark comes next, behind the blanks."""
        return self.text.startswith(mark, self._skip() if at is None else at)

    def _skip(self) -> int:
        blanks = _BLANKS.match(self.text, self._position)
        self._position = blanks.end() if blanks else self._position
        return self._position

    def _go(self, at: int) -> None:
        """Go to what is no white space, from a place on."""
        space = _SPACE.match(self.text, at)
        self._position = space.end() if space else at

    def _is_over(self, at: int) -> bool:
        return _SPACE.fullmatch(self.text, at) is not None

    def _till_here(self, word: Span) -> Span:
        return self.source.span(word.start, self._end)

    def _span(self, first: Span, last: Span) -> Span:
        return self.source.span(first.start, last.end)

    def _count(self) -> None:
        """Count an entry: each costs memory, so that all of them count as rules do."""
        self._count_of_entries += 1
        if self._count_of_entries > RULES:
            at = self._position
            self._note("too-many-entries", self.source.span(at, at + 1), most=RULES)
            raise _Enough

    def _report(self, error: _Unexpected) -> None:
        self._add(error.mistake or in_notation(self.text, error.at, error.expected, self._block))

    def _note(self, which: str, span: Span, *, help: str = "", **words: object) -> None:
        self._add(mistake(which, span.start, span.end, help=help, **words))

    def _add(self, found: Mistake) -> None:
        most = len(self.source.text)
        span = self.source.span(min(found.start, most), min(found.end, most))
        self.mistakes.append(PolicyError(found.message, span, help=found.help))
        if len(self.mistakes) >= MOST_MISTAKES:
            raise _Enough
