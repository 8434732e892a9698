"""What rows are compared by: those that have the same of it grant the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs

from policy.decision import Reason
from policy.dialect import Argument, ArgumentKind
from policy.effect import Effect
from policy.inputs import Inputs
from policy.rows.entry import Form, RowEntry

if TYPE_CHECKING:
    from policy.rows.row import Row

__all__ = ["Key", "Lines", "Said", "lines_of", "words_of"]

# A command opens files: other rows are asked as well.
_OPENING: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})


@attrs.frozen(cache_hash=True)
class Key:
    """What things have in common, however much that is: hashed once."""

    value: object


@attrs.frozen(cache_hash=True)
class Said:
    """All that decides, for every argument, what a row grants.

    Attributes:
        entries: what counts of all, and of which somebody wrote it, each in order.
        default: the effect where none of them matches, and the reason.
        beside: what else is asked.

    """

    entries: tuple[tuple[object, ...], ...]
    default: tuple[Effect, Reason]
    beside: object


@attrs.frozen(cache_hash=True)
class Lines:
    """All that decides, for every call, what a row grants.

    Attributes:
        said: of its argument.
        argument: which that is.
        inputs: what arguments may be.
        unawaited: the same of commands that nobody waits for, where other lines decide these.

    """

    said: Said
    argument: Argument
    inputs: Inputs | None
    unawaited: Lines | None

    @property
    def of_text(self) -> object:
        """The same of calls with that argument alone, whatever it is called."""
        return self.said, self.unawaited and self.unawaited.said


def lines_of(row: Row) -> Lines:
    """Return all that decides what *row* grants."""
    dialect = row.ruleset.dialect
    alone = row.argument.kind not in _OPENING and not dialect.links
    beside = dialect if alone else (row.ruleset, dialect.links and _opens(row))
    default = row.default.effect, row.default.reason
    said = Said(_columns(row.entries, linked=bool(dialect.links)), default, beside)
    unawaited = row.beside.lines if row.beside is not None else None
    return Lines(said, row.argument, row.inputs, unawaited)


def words_of(row: Row) -> Key:
    """Return what *row* says of its arguments, in the words of its rules."""
    said, others = (
        tuple((e.pattern, e.field, e.effect, e.rule, e.form) for e in entries)
        for entries in (row.entries, row.others or ())
    )
    return Key((said, others, row.default.effect, row.default.reason))


def _opens(row: Row) -> tuple[bool, bool]:
    """Return whether *row* is of the files that a command reads, or writes."""
    files = row.ruleset.dialect.shell.files
    return row.tool in (files.reads, files.input), row.tool in (files.writes, files.output)


def _columns(entries: Sequence[RowEntry], *, linked: bool) -> tuple[tuple[object, ...], ...]:
    """Return what counts of entries, a tuple for each kind of thing: of each it would take more."""
    columns = zip(*entries, strict=True) if entries else _NONE
    patterns, fields, effects, reasons, _, places, forms = columns
    if not linked and Form.LENT in forms:
        # For which tool a rule is written counts behind links alone.
        forms = tuple([Form.PLAIN if form is Form.LENT else form for form in forms])
    return patterns, fields, effects, reasons, tuple([place is None for place in places]), forms


_NONE: Final[tuple[tuple[()], ...]] = ((),) * len(RowEntry._fields)
