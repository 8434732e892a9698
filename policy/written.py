"""Where a rule that decided something stands in the text of its file."""

from __future__ import annotations

from policy.decision import Because
from policy.source import Source, Span

__all__ = ["rule_span"]

# What may stand around a rule where it is written.
_QUOTES = ('"', "'", "")


def rule_span(because: Because, source: Source) -> Span | None:
    """Return where the rule stands in *source*, as far as its text can be made out."""
    place = because.place
    if place is None or not because.rule:
        return None
    try:
        start = source.offset(place.line, place.column)
        line = source.line(place.line)
    except IndexError:  # the file is another one by now
        return None
    rest = line[place.column - 1 :]
    for quote in _QUOTES:
        if rest.startswith(f"{quote}{because.rule}{quote}"):
            return source.span(start, start + len(because.rule) + 2 * len(quote))
    return source.span(start, start + max(len(_token(rest)), 1))


def _token(text: str) -> str:
    """Return the first word of *text*, with what its quotes or parentheses hold."""
    if text[:1] in {'"', "'"}:
        end = text.find(text[0], 1)
        return text[: end + 1] if end > 0 else text
    depth = 0
    for index, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif depth <= 0 and character in " \t,]}":
            return text[:index]
    return text
