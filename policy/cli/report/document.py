"""Documents: a `Report` has a value for programs, and blocks of text for people.

A verb makes a report. A format (`terminal`, `markdown`, `html`) writes blocks, whatever the verb;
`results` writes findings for forges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from policy.core import expressions as re
from policy.core.credentials import masked, masked_source
from policy.core.source import Span, visible
from policy.core.values import frozen

if TYPE_CHECKING:
    from policy.cli.report.results import Result
    from policy.hosts.project import Project


@frozen
class Ink:
    """A text with a role, such as a name or a rule; it stays on one line where it fits."""

    text: str  # without markup; it may come from an untrusted file
    # An effect; a severity; ``call``, ``rule``, ``file``, ``agent`` or ``code``, which are set as
    # code (on a terminal, ``code`` in backticks); ``good``, ``strong`` or ``dim``; or "".
    role: str = ""


_Item = TypeVar("_Item")

# Roles that are set as code.
CODE: Final = frozenset({"call", "rule", "file", "agent", "code"})

# A string is prose: its lines break at blanks, and text in backticks is code.
Text = str | Ink | tuple["Text", ...]


def pieces(text: Text) -> Iterator[str | Ink]:
    """Yield the strings and inks of *text* in order, with invisible characters escaped."""
    if isinstance(text, tuple):
        for part in text:
            yield from pieces(part)
    elif isinstance(text, Ink):
        yield Ink(visible(masked(text.text)), text.role)
    elif text:
        yield visible(masked(text.replace("\n", " ")))


def inked(text: Text) -> Iterator[Ink]:
    """Yield the pieces of *text* as inks; prose in backticks becomes code."""
    for piece in pieces(text):
        if isinstance(piece, Ink):
            yield piece
            continue
        parts = piece.split("`")
        if len(parts) % 2 == 0:
            parts = [piece]
        for number, part in enumerate(parts):
            yield Ink(part, "code" if number % 2 else "")


def unstyled(text: Text) -> str:
    """Return *text* as one string, with code in backticks."""
    inks = (Ink(each) if isinstance(each, str) else each for each in pieces(text))
    return "".join(f"`{ink.text}`" if ink.role in CODE else ink.text for ink in inks)


def joined(texts: Iterable[Text], separator: str = ", ", most: int | None = None) -> Text:
    """Return *texts* with *separator* between them: at most *most*, and the number of others."""
    shown = list(texts)
    if most is not None and len(shown) > most + 1:
        shown = [*shown[:most], f"{len(shown) - most:,} more"]
    return tuple(part for text in shown for part in (separator, text))[1:]


@frozen
class Heading:
    """The title of a page or of a part of a page."""

    text: Text
    level: int = 2


@frozen
class Paragraph:
    """A paragraph; *role* applies to all of its text."""

    text: Text
    role: str = ""


@frozen
class Labelled:
    """Rows of a label and a text; a row without a label continues the row above."""

    rows: tuple[tuple[str, Text], ...]


@frozen
class Item:
    """An entry of a list and its blocks; with *beside*, they are next to it where there is room."""

    head: Text
    body: tuple[Block, ...] = ()
    beside: bool = False


@frozen
class Section:
    """A title and the blocks below it; a *folded* section is collapsed in HTML and Markdown."""

    title: Text
    body: tuple[Block, ...]
    folded: bool = False


@frozen
class Grid:
    """A table: rows of cells below heads. All heads are "" where the table has none.

    The role of a cell is the role of its first piece. The marks of a row are what readers filter
    rows by: name of a filter -> the values of the row. No marks, no filters.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    marks: tuple[Mapping[str, Sequence[str]], ...] = ()


@frozen
class Excerpt:
    """The line of a span with carets below the span, in the colour of *role*."""

    span: Span
    role: str = "error"

    @property
    def line(self) -> tuple[int, str, str, str]:
        """The number of the line, and the text before, in and after the span; no credentials."""
        span = self.span
        number, column = span.source.line_and_column(span.start)
        text = masked_source(span.source).line(number)
        start, end = column - 1, column - 1 + max(span.end - span.start, 0)
        parts = (text[:start], text[start:end], text[end:])
        before, marked, after = (visible(part.replace("\t", "    ")) for part in parts)
        return number, before, marked, after


@frozen
class Verbatim:
    """The content of a file, or a part of it."""

    text: str
    name: str = ""


@frozen
class Edge:
    """An agent that starts another; *parent* is "" at the start of a chain, *role* a note or ""."""

    parent: str
    child: str
    role: str = ""


def edges_grid(edges: Iterable[Edge], most: int | None = None) -> Grid:
    """Return a table of parents and at most *most* children; equal ones share a row."""
    by_parent = grouped(edges, lambda edge: edge.parent)
    rows: list[tuple[Text, ...]] = []
    for alike in grouped(by_parent, lambda some: tuple((edge.child, edge.role) for edge in some)):
        parents = [some[0].parent for some in alike]
        children = []
        for some in grouped(alike[0], lambda edge: edge.role):
            named = ("itself" if parents == [edge.child] else edge.child for edge in some)
            note = f" ({some[0].role})" if some[0].role else ""
            children.append((joined(map(Ink, named), most=most), note))
        starting = joined((Ink(parent or "(start)") for parent in parents), most=most)
        rows.append((starting, ("→  ", joined(children, "; "))))
    return Grid(("", ""), tuple(rows))


Block = Heading | Paragraph | Labelled | Item | Section | Grid | Excerpt | Verbatim


def grouped(items: Iterable[_Item], key: Callable[[_Item], object]) -> list[list[_Item]]:
    """Return *items* in groups of equal *key*, in the order in which the keys first occur."""
    groups: dict[object, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())


def listed(items: Sequence[Block], most: int | None, noun: str = "") -> tuple[Block, ...]:
    """Return the first *most* of *items*, and a line with the number of others."""
    return (*items[:most], *more(len(items) - len(items[:most]), noun))


def more(number: int, noun: str = "") -> tuple[Block, ...]:
    """Return a line with the *number* of entries that are left out; no line for 0."""
    what = f" {re.sub('s$', '', noun) if number == 1 else noun}" if noun else ""
    return (Paragraph(f"… {number:,} more{what}, shown with --all", "dim"),) if number > 0 else ()


@frozen
class Report:
    """The answer of a verb."""

    title: str  # of a page
    json: Callable[[], dict[str, object]]  # returns the answer for programs
    # Bound -> the blocks with at most so many entries in each list; None is no bound.
    blocks: Callable[[int | None], Sequence[Block]]
    most: int | None = None  # the bound without --all
    # Returns the findings or changes for SARIF, JUnit and annotations.
    results: Callable[[], Sequence[Result]] = tuple
    prefix: str = ""  # path from the working folder to the files of the results
    exact: bool = True  # whether these are all results
    # The most lines that the answer may take on a terminal of 100 columns; None is no bound.
    lines: int | None = None
    # The content of a file, if the answer is one: text output is then this content alone, so that
    # people can redirect it to a file. Else "".
    content: str = ""

    def fitting(self, most: int | None, fits: Callable[[Sequence[Block]], bool]) -> Sequence[Block]:
        """Return the blocks with the largest bound up to *most* that *fits*; else the smallest."""
        blocks = self.blocks(most)
        for fewer in _FEWER:
            if most is None or fits(blocks):
                break
            if fewer < most:
                blocks = self.blocks(fewer)
        return blocks


def first_screen(projects: Iterable[Project]) -> int:
    """Return the most lines of a first screen: fewer for at most twelve agents of *projects*."""
    return 45 if sum(len(project.own_agents) for project in projects) <= 12 else 60


# Bounds of lists, tried in turn until the blocks fit.
_FEWER: Final = (20, 10, 5, 4, 3, 2, 1)
