"""What rows are compared by: rows with equal meanings grant the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.core.values import frozen
from policy.tables.dialect import Argument, ArgumentKind, Inputs
from policy.tables.entry import Form, RowEntry
from policy.tables.row import Row

__all__ = ["ArgumentMeaning", "RowMeaning", "meaning", "wording"]

# A command opens files: other rows are asked as well.
_OPENING: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})
_NONE: Final[tuple[tuple[()], ...]] = ((),) * len(RowEntry._fields)


@frozen(cache_hash=True)
class ArgumentMeaning:
    """All that decides, for every argument, what a row grants.

    Attributes:
        entries: what counts of all entries, and which of them a file has, each in order.
        default: the effect where none of them matches, and the reason.
        beside: what else is asked.

    """

    entries: tuple[tuple[object, ...], ...]
    default: tuple[Effect, Reason]
    beside: object


@frozen(cache_hash=True)
class RowMeaning:
    """All that decides, for every call, what a row grants.

    Attributes:
        said: of its argument.
        argument: which that is.
        inputs: what arguments may be.
        unawaited: the same of background commands, where other entries decide these.

    """

    said: ArgumentMeaning
    argument: Argument
    inputs: Inputs | None
    unawaited: RowMeaning | None

    @property
    def of_text(self) -> object:
        """The same of calls with that argument alone, whatever it is called."""
        return self.said, self.unawaited and self.unawaited.said


_MEANINGS: Final[WeakKeyDictionary[Row, RowMeaning]] = WeakKeyDictionary()
_WORDINGS: Final[WeakKeyDictionary[Row, Key]] = WeakKeyDictionary()


def meaning(row: Row) -> RowMeaning:
    """Return all that decides what *row* grants."""
    found = _MEANINGS.get(row)
    if found is None:
        dialect = row.ruleset.dialect
        alone = row.argument.kind not in _OPENING and not dialect.links
        beside = dialect if alone else (row.ruleset, dialect.links and _opens(row))
        default = row.default.effect, row.default.reason
        said = ArgumentMeaning(_columns(row.entries, linked=bool(dialect.links)), default, beside)
        unawaited = meaning(row.beside) if row.beside is not None else None
        found = _MEANINGS[row] = RowMeaning(said, row.argument, row.inputs, unawaited)
    return found


def wording(row: Row) -> Key:
    """Return what *row* says of its arguments, in the words of its rules."""
    found = _WORDINGS.get(row)
    if found is None:
        said, others = (
            tuple((e.pattern, e.field, e.effect, e.rule, e.form) for e in entries)
            for entries in (row.entries, row.others or ())
        )
        found = _WORDINGS[row] = Key((said, others, row.default.effect, row.default.reason))
    return found


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
