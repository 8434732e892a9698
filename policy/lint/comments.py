"""Comments that suppress a finding: ``# policy: ignore[CODE] REASON``.

Behind something, the comment is about its own line; on a line of its own, about
the next line that is no comment. JSON has no comments, so that nothing in it can be
suppressed where it stands; a file beside it (`policy.lint.ignored`) is for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs
import yaml

from policy.documents.frontmatter import Kind, split_front_matter
from policy.errors import PolicyError
from policy.finding import Finding
from policy.language.parse import parse_notation
from policy.language.syntax import Comment
from policy.source import Source, Span

__all__ = ["Suppression", "suppressions"]

_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[ \t]*policy:[ \t]*ignore\b[^\n\r]*", re.MULTILINE)
_PARTS: Final = re.compile(r"#[ \t]*policy:[ \t]*ignore\[(?P<codes>[^\]]*)\][ \t]*(?P<reason>.*)")
# Texts of TOML, and its comments.
_TOML_TOKENS: Final = (
    r'"""(?:\\.|[^\\])*?"""',
    r"'''.*?'''",
    r'"(?:\\.|[^"\\\n])*"',
    r"'[^'\n]*'",
    r"#[^\n]*",
)
_TOML: Final = re.compile("|".join(_TOML_TOKENS), re.DOTALL)
_LINE_COMMENT: Final = re.compile(r"[ \t]*(#.*)?$")


@attrs.frozen
class Suppression:
    """A comment that takes findings away.

    Attributes:
        span: the comment.
        line: of the findings that it is about.
        codes: theirs; empty where the comment names none.
        reason: why, or "".

    """

    span: Span = attrs.field(repr=False)
    line: int
    codes: tuple[str, ...]
    reason: str

    @property
    def where(self) -> str:
        """What it is about, for people."""
        return f"on line {self.line}"

    def covers(self, finding: Finding) -> bool:
        """Return whether *finding* is one that it is about."""
        place = finding.place
        at = finding.span is not None and (place.file, place.line) == (
            self.span.source.name,
            self.line,
        )
        return at and bool(self.reason) and finding.code in self.codes


def suppressions(source: Source) -> tuple[Suppression, ...]:
    """Return the suppressions in the comments of a file, by what its name says it is."""
    return tuple(_read(source, span) for span in _comments(source))


def _read(source: Source, span: Span) -> Suppression:
    number, column = source.line_and_column(span.start)
    if not source.line(number)[: column - 1].strip():
        number = _next_line(source, number)
    found = _PARTS.match(span.text)
    if found is None:
        return Suppression(span, number, (), "")
    codes = tuple(code.strip() for code in found["codes"].split(",") if code.strip())
    return Suppression(span, number, codes, found["reason"].strip())


def _next_line(source: Source, number: int) -> int:
    """Return the first line behind line *number* that holds more than a comment."""
    last, _ = source.line_and_column(len(source.text))
    following = number + 1
    while following < last and _LINE_COMMENT.match(source.line(following)):
        following += 1
    return following


def _comments(source: Source) -> Iterator[Span]:
    """Yield the comments of *source* that speak of suppressing."""
    found = [source.span(*match.span()) for match in _COMMENT.finditer(source.text)]
    name = source.name.rpartition("/")[2]
    if not found:
        return
    try:
        if name.endswith(".policy"):
            starts = set(_noted(parse_notation(source)))
            yield from (span for span in found if span.start in starts)
        elif name.endswith((".yaml", ".yml")):
            yield from _outside_texts(found, 0, len(source.text))
        elif name.endswith(".toml"):
            yield from _toml_comments(found, 0, len(source.text))
        elif name.endswith(".md"):
            parts = split_front_matter(source)
            if parts is not None and parts.kind is Kind.YAML:
                yield from _outside_texts(found, parts.header.start, parts.header.end)
            elif parts is not None:
                yield from _toml_comments(found, parts.header.start, parts.header.end)
    except (PolicyError, yaml.YAMLError):
        return  # what cannot be read suppresses nothing


def _toml_comments(found: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    """Yield those within a TOML document that are comments: a `#` in a text is text."""
    within = [span for span in found if start <= span.start < end]
    if within:
        text = within[0].source.text
        tokens = _TOML.finditer(text, start, end)
        comments = {token.start() for token in tokens if token[0].startswith("#")}
        yield from (span for span in within if span.start in comments)


def _noted(node: object) -> Iterator[int]:
    """Yield where the comments below a node of our notation start."""
    if isinstance(node, Comment):
        yield node.span.start
    elif isinstance(node, tuple):
        for child in node:
            yield from _noted(child)
    elif attrs.has(type(node)):
        for name in ("body", "comments"):
            yield from _noted(getattr(node, name, ()))


def _outside_texts(found: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    """Yield those within a YAML document that are comments: a `#` in a text is text."""
    within = [span for span in found if start <= span.start < end]
    if not within:
        return
    texts = [
        (start + token.start_mark.index, start + token.end_mark.index)
        for token in yaml.scan(within[0].source.text[start:end], Loader=yaml.SafeLoader)
        if isinstance(token, yaml.ScalarToken)
    ]
    for span in within:
        if not any(first <= span.start < last for first, last in texts):
            yield span
