"""A line of a file with carets under a part of it, and reports built on that."""

from __future__ import annotations

from collections.abc import Sequence

from policy.credentials import masked
from policy.decision import Because
from policy.effect import Effect
from policy.errors import PolicyError, PolicyErrors
from policy.finding import Finding
from policy.render.layout import Ink, Page, clipped, width
from policy.source import Span, visible

__all__ = ["because_line", "error_report", "excerpt", "finding_report", "line_around", "says_more"]

_LEAST = 24  # columns of a line that are shown, however narrow the page
_EFFECTS = {"", *(effect.value for effect in Effect)}
_BEFORE = 40  # columns in front of the carets that are kept where a line is cut


def excerpt(span: Span, page: Page, *, style: str = "error", indent: str = "") -> list[str]:
    """Return the line of *span* with carets below, not wider than *page*."""
    number, column = span.source.line_and_column(span.start)
    text = masked(span.source.line(number))
    gutter = " " * len(str(number))
    room = page.width - len(indent) - len(gutter) - 3
    if room < _LEAST:
        indent, room = "", max(page.width - len(gutter) - 3, _LEAST)
    before = _shown(text[: column - 1])
    marked = _shown(text[column - 1 : column - 1 + max(span.end - span.start, 0)])
    after = _shown(text[column - 1 + max(span.end - span.start, 0) :])
    if width(before + marked + after) > room:
        keep = max(min(_BEFORE, room - width(marked) - 2), room // 4)
        if width(before) > keep:
            before = "…" + _end(before, keep - 1)
    shown = clipped(before + marked + after, room)
    marks = max(min(width(marked), room - width(before)), 1)
    carets = " " * width(before) + page.paint("^" * marks, style)
    return [
        indent + page.paint(f"{gutter} |", "dim"),
        indent + page.paint(f"{number} |", "dim") + f" {shown}".rstrip(),
        indent + page.paint(f"{gutter} |", "dim") + f" {carets}",
    ]


def says_more(span: Span) -> bool:
    """Return whether the line of *span*, a rule, holds more than its effect: rules, a comment."""
    line = span.source.line(span.place.line)
    return line.replace(span.text, "", 1).strip(" \t-,;") not in _EFFECTS


def line_around(span: Span, most: int) -> str:
    """Return at most *most* characters of the line of *span*, those among them where it starts."""
    number, column = span.source.line_and_column(span.start)
    line = masked(span.source.line(number))
    text = line.strip()
    start = column - 1 - (len(line) - len(line.lstrip()))
    if len(text) <= most:
        return text
    first = min(max(start - most // 4, 0), len(text) - most)
    shown = text[first : first + most]
    return f"{'…' if first else ''}{shown}{'…' if first + most < len(text) else ''}"


def _shown(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _end(text: str, columns: int) -> str:
    """Return the longest end of *text* that fits."""
    while width(text) > columns:
        text = text[max(1, (width(text) - columns) // 2) :]
    return text


def error_report(error: PolicyError, page: Page) -> list[str]:
    """Return every mistake of *error*, each with its place and its line."""
    errors = error.errors if isinstance(error, PolicyErrors) else (error,)
    lines: list[str] = []
    for one in errors:
        place = str(one.place) if one.span else visible(one.file)
        lines += _head(place, "error", one.message, page)
        lines += _rest(one.span, one.help, "error", page)
    return lines


def finding_report(finding: Finding, page: Page) -> list[str]:
    """Return a finding with its place, its line and its help."""
    place = str(finding.place) if finding.span else visible(finding.file)
    word = finding.severity.value
    lines = _head(place, word, f"{finding.message} [{finding.code}]", page)
    return lines + _rest(finding.span, finding.help, word, page)


def _head(place: str, word: str, message: str, page: Page) -> list[str]:
    pieces = [Ink(f"{place}:", "bold")] if place else []
    pieces += [Ink(f"{word}:", word), *(Ink(part) for part in _words(message))]
    return page.flow(pieces, indent=4, separator=" ")


def _rest(span: Span | None, help: str, word: str, page: Page) -> list[str]:
    lines = excerpt(span, page, style=word) if span is not None else []
    if help:
        lines += page.prose(" ".join(_words(help)), "  = help: ")
    return lines


def _words(text: str) -> list[str]:
    return [visible(word) for word in masked(text).split()]


def because_line(because: Because, page: Page, head: str) -> Sequence[str]:
    """Return a rule with its place in one line, or two."""
    pieces = [Ink(because.effect.value, because.effect.value), Ink(visible(masked(because.rule)))]
    if because.place is not None:
        pieces.append(Ink(f" {because.place}", "dim"))
    return page.flow([piece for piece in pieces if piece.text], head, separator=" ")
