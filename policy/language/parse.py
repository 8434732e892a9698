"""Text to tree: one matcher of any host, or a file of our own notation.

The grammars say what is well formed (``grammar/*.lark``), `policy.language.mistakes` says what to
tell the author where a text is not. A matcher is a text of its own and has one mistake at most.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.core import expressions as re
from policy.core.errors import PolicyError, PolicyErrors
from policy.core.limits import FILE_BYTES, PATTERN_CHARACTERS
from policy.core.source import Source, Span
from policy.language.mistakes import Mistake, in_matcher, mistake
from policy.language.notation import NotationReader
from policy.language.syntax import Document, Matcher, Specifier, specifier

__all__ = ["parse_matcher", "parse_notation"]


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
        raise PolicyError(mistake("long-matcher", 0, 0, most=PATTERN_CHARACTERS).message, span)
    tool, specifier, end = _remembered(text) if len(text) <= _SHORT else _read_matcher(text)
    if end < len(text) or not tool:
        wrong = in_matcher(text, end)
        raise PolicyError(wrong.message, _within(span, text, wrong), help=wrong.help)
    return Matcher(tool, specifier, span=span)


# Settings repeat the same few rules, and two versions of them nearly all. Long ones do not
# repeat and would fill it.
_SHORT: Final = 200

# As ``grammar/matcher.lark`` has it: nothing in the parentheses is escaped.
_MATCHER: Final = re.compile(r"([A-Za-z0-9_.:*-]*)(?:\((.*)\))?", re.DOTALL)


def _read_matcher(text: str) -> tuple[str, Specifier | None, int]:
    """Return the tool and the specifier that a text begins with, and where they end."""
    found = _MATCHER.match(text)
    tool, inside = (found[1], found[2]) if found else ("", None)
    end = found.end() if found and tool else 0
    return tool, None if inside is None else specifier(tool, inside), end


_remembered = lru_cache(maxsize=32_768)(_read_matcher)


def _within(span: Span, text: str, wrong: Mistake) -> Span:
    written = span.text
    for quotes in (0, 1):
        if written[quotes : len(written) - quotes] == text:
            start = span.start + quotes
            return Span(span.source, start + wrong.start, start + wrong.end)
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
    return NotationReader(source).read()
