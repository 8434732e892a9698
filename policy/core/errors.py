"""Errors in policies: a message, the place of the offending text, and how to mend it.

A message is lowercase, has no full stop, puts what the user wrote in backticks, and says what was
expected and what was found.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.core.source import Place, Span, cited, visible


class PolicyError(Exception):
    """One mistake in a policy.

    Attributes:
        message: what was expected and what was found.
        span: the offending text; None for a file that cannot be opened.
        help: how to mend the mistake, or "".
        file: the name of the file, also without a span.

    """

    def __init__(
        self, message: str, span: Span | None = None, *, help: str = "", file: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.help = help
        self.file = file or (span.source.name if span else "")

    @property
    def place(self) -> Place:
        """The place of the first offending character, or of the file."""
        return self.span.place if self.span else Place(self.file or "<policy>")

    def __str__(self) -> str:
        return show(self.message, self.span, help=self.help, file=self.file)


class PolicyErrors(PolicyError):
    """Every independent mistake of one run, in the order of the text."""

    def __init__(self, errors: Iterable[PolicyError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: error.place))
        first = self.errors[0]
        super().__init__(first.message, first.span, help=first.help, file=first.file)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def expect(wanted: str, argument: str, given: object, kind: type | tuple[type, ...]) -> None:
    """Raise TypeError unless *given*, an argument, has the type *kind*; *wanted* describes it."""
    if not isinstance(given, kind):
        raise TypeError(f"expected {wanted} as `{argument}`, found {cited(given)}")


# Descriptions of arguments, for `expect`.
AN_AGENT = "the name of an agent"
A_CHAIN = "a chain, e.g. `policy.load(FOLDER).chain(AGENT)`,"
A_PATH = "the path of a folder or a file"
A_TABLE = "a table, e.g. `policy.load(FOLDER).chain(AGENT).table`,"
A_TEXT = "a text"
A_WORKSPACE = "a workspace, e.g. `policy.load(FOLDER)`,"


_CONTEXT = 100  # how many characters of a line are shown


def show(message: str, span: Span | None, *, help: str = "", file: str = "") -> str:
    """Return *message* with its place, the line of *span*, carets and help; no credentials."""
    from policy.core.credentials import masked, masked_source  # noqa: PLC0415  # few errors are shown so

    at = span.place if span else visible(file)
    lines = [f"{at}: {message}" if at else message]
    if span is not None:
        lines += _excerpt(Span(masked_source(span.source), span.start, span.end))
    if help:
        lines.append(f"  = help: {help}")
    return masked("\n".join(lines) + "\n")


def _excerpt(span: Span) -> list[str]:
    number, column = span.source.line_and_column(span.start)
    text = span.source.line(number)
    before = text[: column - 1]
    marked = text[column - 1 : column - 1 + max(span.end - span.start, 0)]
    left = max(0, len(before) - _CONTEXT // 2)
    lead = "…" if left else ""
    room = max(_CONTEXT - (len(before) - left), 1)
    rest = text[column - 1 :]
    tail = "…" if len(rest) > room else ""
    shown = lead + visible(before[left:]) + visible(rest[:room]).replace("\t", " ") + tail
    carets = max(len(visible(marked[:room])), 1)
    gutter = " " * len(str(number))
    indent = " " * (len(lead) + len(visible(before[left:])))
    return [
        f"{gutter} |",
        f"{number} | {shown}",
        f"{gutter} | {indent}{'^' * carets}",
    ]
