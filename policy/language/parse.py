"""Parse the matcher of a rule of any host, or a file of our own notation.

An error in a matcher is reported alone. In a file the parser resumes at the next statement after an
error, so that one run reports all independent errors.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError, PolicyErrors, expect
from policy.core.limits import FILE_BYTES, PATTERN_CHARACTERS, RULES
from policy.core.source import Source, Span
from policy.language.grammars import Node, Parser, Token, Unexpected, tables
from policy.language.mistakes import FILE_WORDS, Mistake, in_matcher, in_notation
from policy.language.notation import MOST_MISTAKES, Building
from policy.language.syntax import Document, Matcher, Specifier, specifier


def parse_matcher(text: str, span: Span | None = None) -> Matcher:
    """Return the matcher of *text*; *span* is its place in a file.

    Raises PolicyError for a syntax error. It underlines the mistake, or all of *span* where the
    file spells *text* differently, e.g. with escapes.
    """
    expect("a rule, e.g. `Bash(git *)`,", "text", text, str)
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


# Settings repeat the same few rules. Long rules do not repeat, and would fill the cache.
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
    """Return the syntax tree of a file in our notation. Raises PolicyErrors with all mistakes."""
    expect('a source, e.g. `policy.Source("team.policy", TEXT)`,', "source", source, Source)
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


# Each of these tokens costs as much memory as a rule, so the bound on rules counts them all.
_COUNTED: Final = frozenset({"TOOL", "STRING", "NAME", "COMMENT"})
_PARENTHESES: Final = frozenset({"_OPEN", "_CLOSE", "RPAR"})

_SPACE: Final = re.compile(r"\s*")
_COMMENT: Final = re.compile(r"(?:^|[ \t])#")
_OF_FILE: Final = rf"(?:{'|'.join(FILE_WORDS)})\b"
_FILE_WORD: Final = re.compile(_OF_FILE)
_FILE_LINE: Final = re.compile(rf"^[ \t]*{_OF_FILE}", re.MULTILINE)


class _Reading:
    """One run of the parser over a file; it collects the syntax errors."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text + "\n"  # a line break ends a statement
        self.mistakes: list[PolicyError] = []
        self.complete = True  # whether the tree has every agent of the file
        self._entries = 0
        self._closed = 0  # agents closed after a mistake, whose `}` may still follow
        self._parser = Parser(tables("notation"), self.text)

    def read(self) -> Node | None:
        """Return the parse tree; None after too many mistakes or entries."""
        while len(self.mistakes) < MOST_MISTAKES and self._entries <= RULES:
            try:
                if self._feed():
                    return self._parser.finish()
            except Unexpected as error:
                self._recover(error.position)
        return None

    def _feed(self) -> bool:
        """Feed tokens to the parser; return False if it stopped at a bound before the end.

        Raises Unexpected for a syntax error.
        """
        feed, tool_end = self._parser.feed, 0
        for token in self._parser.tokens():
            kind = token.type
            if kind in _COUNTED:
                tool_end = token.end_pos
                self._entries += 1
                if self._entries > RULES:
                    message = f"expected at most {RULES:,} rules, names and comments in a file"
                    self._report(Mistake(token.start_pos, token.end_pos, message))
                    return False
            elif kind in _PARENTHESES and token.end_pos - tool_end > PATTERN_CHARACTERS:
                self._report(Mistake(tool_end, tool_end + 1, _TOO_LONG))
                self._resume(token.end_pos)
                return False
            feed(token)
        return True

    def _report(self, mistake: Mistake) -> None:
        most = len(self.source.text)
        span = self.source.span(min(mistake.start, most), min(mistake.end, most))
        self.mistakes.append(PolicyError(mistake.message, span, help=mistake.help))

    def _recover(self, at: int) -> None:
        """Report the syntax error at *at*, and resume behind it."""
        accepted, opened = self._parser.accepts(), self._opened()
        if self._closed and opened is None and self.text[at : at + 1] == "}":
            self._closed -= 1
        else:
            self._report(in_notation(self.text, at, accepted, opened))
        if "_NL" in accepted:  # the statement is complete, and more text follows it
            self._parser.feed(Token("_NL"))
        self._resume(at)

    def _opened(self) -> tuple[int, str] | None:
        """Return the offset of the unclosed `{`, and the text of its statement; or None."""
        brace = None
        for value in reversed(self._parser.values):
            if isinstance(value, Token) and value.type == "LBRACE":
                brace = value.start_pos
            elif brace is not None and isinstance(value, Token) and value.type in {"AGENT", "TEST"}:
                return brace, self.text[value.start_pos : brace].strip()
        return None

    def _resume(self, at: int) -> None:
        """Drop the open statement, and move the parser to the next statement behind *at*.

        Within braces that is the next line, and elsewhere the next line with a keyword of a file.
        """
        parser = self._parser
        while True:
            takes = parser.tables.actions[parser.states[-1]]
            # Behind `expect` an effect may follow, but no end of the agent.
            if "AGENT" in takes or ("EFFECT" in takes and "RBRACE" in takes):
                break
            parser.states.pop()
            parser.values.pop()
        is_inside = "RBRACE" in parser.accepts()
        begins = _FILE_WORD.match(self.text, at)
        if is_inside and (begins or _SPACE.fullmatch(self.text, at)):
            self._closed += begins is not None
            parser.feed(Token("RBRACE"))
            parser.feed(Token("_NL"))
        elif is_inside:
            at = self._line_end(at)
        else:
            self.complete = False
            line = begins or _FILE_LINE.search(self.text, at)
            at = line.start() if line else len(self.text)
        space = _SPACE.match(self.text, at)
        parser.position = space.end() if space else at

    def _line_end(self, at: int) -> int:
        """Return the offset of the closing brace on this line, or of the end of the statement.

        A line that ends with a comma continues on the next.
        """
        while True:
            end = self.text.index("\n", at)
            line = self.text[at:end]
            comment = _COMMENT.search(line)
            written = line[: comment.start() if comment else None].rstrip()
            if written.endswith("}"):
                return at + len(written) - 1
            if not written.endswith(",") or end == len(self.text) - 1:
                return end
            at = end + 1
