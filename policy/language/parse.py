"""Text to tree: one matcher of any host, or a file of our own notation.

The grammars say what is well formed (``grammar/*.lark``, `policy.language.grammars`),
`policy.language.mistakes` says what to tell the author where a text is not, and
`policy.language.notation` builds the tree of a file and checks what no grammar can.

A matcher is a text of its own and has one mistake at most. A file is read to
its end: after a mistake the parser resumes at the next statement, so that one
run reports every independent one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.limits import FILE_BYTES, PATTERN_CHARACTERS, RULES
from policy.core.source import Source, Span
from policy.language.grammars import Node, Parser, Token, Unexpected, tables
from policy.language.mistakes import FILE_WORDS, Mistake, closest, in_matcher, in_notation
from policy.language.notation import MOST_MISTAKES, Building
from policy.language.syntax import Document, Matcher, Specifier, specifier


def parse_matcher(text: str, span: Span | None = None) -> Matcher:
    """Return the matcher that *text*, all of it, is.

    *span* is where the text stands in a file. A mistake is underlined there
    exactly if the file spells the text as it is, with or without quotes around
    it, and as a whole if not.

    Raises:
        PolicyError: *text* is not a matcher.

    """
    if span is None:
        span = Source("<rule>", text).span(0, len(text))
    if len(text) > PATTERN_CHARACTERS:
        raise PolicyError(_TOO_LONG, span)
    try:
        tool, specifier = _remembered(text) if len(text) <= _SHORT else _read_matcher(text)
    except Unexpected:
        mistake = in_matcher(text)
        raise PolicyError(
            mistake.message, _within(span, text, mistake), help=mistake.help
        ) from None
    return Matcher(tool, specifier, span=span)


# Settings repeat the same few rules, and two versions of them nearly all. Long ones do not
# repeat and would fill it.
_SHORT: Final = 200

_TOO_LONG: Final = f"expected a matcher of at most {PATTERN_CHARACTERS:,} characters"


def _read_matcher(text: str) -> tuple[str, Specifier | None]:
    match Parser(tables("matcher"), text).parse().children:
        case [tool]:
            return str(tool), None
        case [tool, in_parentheses]:
            return str(tool), specifier(str(tool), str(in_parentheses)[1:-1])
        case _:
            raise AssertionError(text)  # the grammar has no third form


_remembered = lru_cache(maxsize=32_768)(_read_matcher)


def _within(span: Span, text: str, mistake: Mistake) -> Span:
    written = span.text
    for quotes in (0, 1):
        if written[quotes : len(written) - quotes] == text:
            start = span.start + quotes
            return Span(span.source, start + mistake.start, start + mistake.end)
    return span


def parse_notation(source: Source) -> Document:
    """Return the tree of a file of our own notation.

    Raises:
        PolicyErrors: the file has mistakes: these, in the order of the text.

    """
    size = len(source.text)
    if not source.text.isascii() and size <= FILE_BYTES:
        size = len(source.text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES:
        message = f"expected a file of at most {FILE_BYTES:,} bytes, found {size:,}"
        raise PolicyErrors([PolicyError(message, source.span(0, 0))])
    at = source.text.find("\0")
    if at >= 0:
        mistake = PolicyError(
            "expected text, found a NUL", source.span(at, at + 1), help="no call can hold one"
        )
        raise PolicyErrors([mistake])
    reading = _Reading(source)
    tree = reading.read()
    building = Building(source)
    document = building.document(tree, complete=reading.complete) if tree else None
    if document is None or reading.mistakes or building.mistakes:
        raise PolicyErrors((reading.mistakes + building.mistakes)[:MOST_MISTAKES])
    return document


# Every entry of a file costs memory, so that all of them count as rules do.
_COUNTED: Final = frozenset({"TOOL", "STRING", "NAME", "COMMENT"})
_PARENTHESES: Final = frozenset({"_OPEN", "_CLOSE", "RPAR"})

_WORD: Final = re.compile(r"\w+")
_SPACE: Final = re.compile(r"\s*")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#")


class _Reading:
    """One run of the parser over a file, with its mistakes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text + "\n"  # the grammar ends a statement with its line
        self.mistakes: list[PolicyError] = []
        self.complete = True  # whether the tree has every agent of the file
        self._entries = 0
        self._ended = False
        self._unclosed = 0  # braces a mistake took away, whose `}` may still come
        self._parser = Parser(tables("notation"), self.text)

    def read(self) -> Node | None:
        """Return the tree, or None where reading on makes no sense."""
        while len(self.mistakes) < MOST_MISTAKES and self._entries <= RULES:
            try:
                self._feed()
                if self._ended:
                    return self._parser.finish()
            except Unexpected as error:
                self._recover(error.position)
        return None

    def _feed(self) -> None:
        """Feed the parser up to the end, the first mistake or the limit."""
        feed, tool_end = self._parser.feed, 0
        for token in self._parser.tokens():
            kind = token.type
            if kind in _COUNTED:
                tool_end = token.end_pos
                self._entries += 1
                if self._entries > RULES:
                    message = f"expected at most {RULES:,} rules, names and comments in a file"
                    self._report(Mistake(token.start_pos, token.end_pos, message))
                    return
            elif kind in _PARENTHESES and token.end_pos - tool_end > PATTERN_CHARACTERS:
                self._report(Mistake(tool_end, tool_end + 1, _TOO_LONG))
                self._resume(token.end_pos, frozenset())
                return
            feed(token)
        self._ended = True

    def _report(self, mistake: Mistake) -> None:
        most = len(self.source.text)
        span = self.source.span(min(mistake.start, most), min(mistake.end, most))
        self.mistakes.append(PolicyError(mistake.message, span, help=mistake.help))

    def _recover(self, at: int) -> None:
        """Report the mistake at *at* and resume after it."""
        accepted = self._parser.accepts()
        if self._unclosed and "AGENT" in accepted and self.text[at : at + 1] == "}":
            self._unclosed -= 1  # the brace of an agent that a mistake has closed
        elif not ("RBRACE" in accepted and self._ends_unopened(at)):
            self._report(in_notation(self.text, at, accepted, self._opened()))
        self._resume(at, accepted)

    def _ends_unopened(self, at: int) -> bool:
        """Whether what ends at *at* is open only because its header was a mistake, told before."""
        opened, word = self._opened(), _WORD.match(self.text, at)
        at_end = _SPACE.fullmatch(self.text, at) is not None
        return opened is not None and not opened[1] and (at_end or (word or "?")[0] in FILE_WORDS)

    def _opened(self) -> tuple[int, str] | None:
        """Return the unclosed `{` and the statement it belongs to."""
        brace = None
        for value in reversed(self._parser.values):
            if isinstance(value, Token) and value.type == "LBRACE":
                brace = value.start_pos
            elif brace is not None and isinstance(value, Token) and value.type in {"AGENT", "TEST"}:
                return brace, self.text[value.start_pos : brace].strip()
        return None

    # --- recovery: where the next statement begins, and in which state

    def _resume(self, at: int, accepted: frozenset[str]) -> None:
        """Make the parser ready for the next statement, and the lexer stand there."""
        word = _WORD.match(self.text, at)
        if {"RBRACE", "EFFECT"} <= accepted and word and word[0] in FILE_WORDS:
            self._unclosed += 1
            self._insert("RBRACE", "_NL")
            self._go(at)
            return
        if _SPACE.fullmatch(self.text, at):
            if {"RBRACE", "EFFECT"} <= accepted:
                self._insert("RBRACE", "_NL")
            else:
                self._leave_statement(accepted)
            self._go(len(self.text))
            return
        end, last = self._line_end(at)
        lost = self._leave_statement(accepted)
        inside = self._opened() is not None
        if inside and last == "{":
            self._unclosed += 1
        elif inside and last == "}":
            end = self.text.rindex("}", at, end)
        elif not inside and last == "}":
            self.complete = False  # an agent in one line, all of it passed over
        elif not inside and (last == "{" or lost & {"AGENT", "TEST"}):
            self._open(at, lost)
            end = self._after_brace(end)
        self._go(end)

    def _line_end(self, at: int) -> tuple[int, str]:
        """Return the end of the line, and of those it goes on over, and its last character."""
        while True:
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            comment = _COMMENT.search(line)
            last = line[: comment.start() if comment else None].rstrip()[-1:]
            if last != "," or end >= len(self.text):
                return end, last
            at = end + 1

    def _after_brace(self, at: int) -> int:
        """Return the place after a `{` that stands on a line of its own."""
        brace = _SPACE.match(self.text, at).end()  # type: ignore[union-attr]
        return brace + 1 if self.text[brace : brace + 1] == "{" else at

    def _leave_statement(self, accepted: frozenset[str]) -> set[str]:
        """Take the parser to where a statement may begin; return what was lost."""
        starts = accepted & {"EFFECT", "AGENT"} if accepted & {"RBRACE", "AGENT"} else ()
        for start in starts:
            # It may still owe the end of the statement before: shifting a word
            # pays it, and the word is then taken off again.
            self._insert(start)
            self._parser.states.pop()
            self._parser.values.pop()
            return set()
        if "_NL" in accepted:
            self._insert("_NL")
            return set()
        lost = set()
        while not self._between_statements():
            self._parser.states.pop()
            value = self._parser.values.pop()
            lost.add(value.type if isinstance(value, Token) else value.data)
        return lost

    def _between_statements(self) -> bool:
        actions = self._parser.tables.actions[self._parser.states[-1]]
        # Behind `expect` an effect may come, and the end of the agent may not.
        words = ("EFFECT", "AGENT") if "RBRACE" in actions else ("AGENT",)
        return any(actions.get(word, -1) >= 0 for word in words)

    def _open(self, at: int, lost: set[str]) -> None:
        """Take the header that was wrong for one that opens a block."""
        word = _WORD.match(self.text, at)
        test = "TEST" in lost or bool(word and "`test`" in closest(word[0], FILE_WORDS))
        self.complete = self.complete and test
        self._insert("TEST" if test else "AGENT", "NAME", "LBRACE")

    def _insert(self, *kinds: str) -> None:
        for kind in kinds:
            self._parser.feed(Token(kind))

    def _go(self, at: int) -> None:
        space = _SPACE.match(self.text, at)
        self._parser.position = space.end() if space else at
