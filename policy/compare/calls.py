"""The calls of one tool, as two lookups decide them by one text; and what was found of others.

Rows with equal meanings grant the same. One text stands for one call only where all rows read
calls alike. Where the same rules meet again, the calls that were found are asked again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs

from policy.commands.knowledge import Programs, Shell
from policy.commands.parts import Command
from policy.commands.reader import read_command
from policy.compare.lists import UNREAD, ListSide, TextPair, View, denies_all
from policy.compare.witness import CHANGES, Call, CallShape, Difference, Effects
from policy.core import limits
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.tables.dialect import Argument, ArgumentKind, Dialect, Inputs
from policy.tables.entry import Form, Outcome, RowEntry
from policy.tables.lookup import Lookup
from policy.tables.row import Row

__all__ = [
    "ArgumentMeaning",
    "Calls",
    "Known",
    "RowMeaning",
    "ToolPair",
    "key_of",
    "known_calls",
    "manner",
    "meaning",
    "read_alike",
    "remembered",
    "shared",
    "wording",
]

# A command opens files: other rows are asked as well.
_OPENING: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})
_NONE: Final[tuple[tuple[()], ...]] = ((),) * len(RowEntry._fields)


@attrs.frozen(cache_hash=True)
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


@attrs.frozen(cache_hash=True)
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


# Of these letters no shell makes another word than stands there.
_PLAIN: Final = re.compile(r"[\w $<>&|;()/=+-]*")
_WORDS: Final = re.compile(r"[\w+-]+")

_READ: Final[dict[object, Command]] = {}


def read_alike(text: str, shell: Shell) -> Command:
    """Return what `read_command` does."""
    if not _PLAIN.fullmatch(text) or (shell.cwd and shell.cwd in text):
        return read_command(text, shell)
    known = shell.programs.known
    same = _of_waited(shell) if "&" not in text else _without_programs(shell)
    key = text, same, tuple(map(known.get, _WORDS.findall(text)))
    command = _READ.get(key)
    if command is None:
        if len(_READ) >= limits.CACHE_ENTRIES:
            _READ.clear()
        command = _READ[key] = read_command(text, shell)
    return command


@lru_cache(maxsize=64)
def _without_programs(shell: Shell) -> Shell:
    return attrs.evolve(shell, programs=Programs(), cwd="")


@lru_cache(maxsize=64)
def _of_waited(shell: Shell) -> Shell:
    return attrs.evolve(_without_programs(shell), awaited=None)


# What a host name can hold: hardly a rule names all of it.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"


class ToolPair(TextPair):
    """Calls of one tool that differ in one text only.

    Attributes:
        doubts: why more of them may change than were shown, and how.

    """

    def __init__(self, tool: str, before: Lookup, after: Lookup, shape: CallShape) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.shape = shape
        self.doubts: dict[tuple[str, Effects], None] = {}
        # Most texts are tried in several ways.
        self.known: dict[str, Difference] = {}
        self.given = (_side(before, shape), _side(after, shape))
        super().__init__(
            *self.seen_as(self.given),
            domain=shape.domain,
            wider=shape.wider,
            ask=self.asked,
            words=shape.readable,
            letters=_HOST_LETTERS if shape.argument.kind is ArgumentKind.URL else "",
        )

    def seen_as(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        """Return the sides as this comparison sees them."""
        return sides

    @cached_property
    def denying(self) -> Sequence[View]:
        """None: what a host knows of a call decides beside lines, so every edit is asked about."""
        return ()

    @cached_property
    def precluded(self) -> frozenset[Effects]:
        """The changes that no call shows: a side that denies every call grants none of them."""
        denied = [denies_all(lookup) for lookup in self.lookups]
        return frozenset(
            change
            for change in CHANGES
            if any(
                denies and effect is not Effect.DENY
                for denies, effect in zip(denied, change, strict=True)
            )
        )

    def asked(self, text: str) -> Difference:
        """Return what the call whose argument is read as *text* gets of both."""
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = self.decided(self.shape.call(text))
        return found

    def otherwise(
        self, text: str, chosen: Mapping[int, int], wanted: Effects
    ) -> Iterator[Difference]:
        """Yield the same, and nothing where the other arguments are refused: so are all texts."""
        asked = self.asked(text)
        if UNREAD.isdisjoint((asked.before.reason, asked.after.reason)):
            yield from super().otherwise(text, chosen, wanted)

    def doubt(self, why: str, wanted: Effects) -> None:
        """Admit the same as long as no other call shows it."""
        self.doubts[why, wanted] = None

    def left(self, effects: Collection[Effects]) -> Iterator[str]:
        """Yield why more calls may change than those that change with *effects*."""
        return (why for why, change in self.doubts if change not in effects)

    def unreadable(self) -> Difference | None:
        """Return the difference of calls whose argument cannot be read, if there is one."""
        call = self.shape.unreadable()
        if call is None:
            return None
        found = self.decided(call)
        return None if found.before.effect is found.after.effect else found

    def decided(self, call: Call) -> Difference:
        """Return what a call gets of both."""
        before, after = (
            lookup.decide(call, remember=False, read=remembered) for lookup in self.lookups
        )
        return Difference(self.tool, call, before, after)


# Every row of both sides reads the same text, and so do tables with other rules for it.
remembered = lru_cache(maxsize=16_384)(read_alike)


def _side(lookup: Lookup, shape: CallShape) -> ListSide:
    views = (View.of(row, shape.parameters, shape.sole) for row, _ in lookup.rows)
    return ListSide(tuple(views), lookup.floor)


def manner(row: Row) -> object:
    """Return how *row* reads a call, equal for rows that read every call alike.

    Left out is which folders have letters of their own (`policy.compare.paths`), where
    any has: else a host does not tell them from others.
    """
    dialect, argument = row.ruleset.dialect, row.argument
    match argument.kind:
        case ArgumentKind.COMMAND:
            waits = dialect.shell.awaited is None
            return argument, _of_commands(dialect), bool(dialect.cased), waits
        case ArgumentKind.PATH:
            folders = dialect.cwd, dialect.home, bool(dialect.cased)
            return argument, *folders, dialect.fold, dialect.links
        case _:
            return argument


@lru_cache(maxsize=256)
def _of_commands(dialect: Dialect) -> Dialect:
    # What a command opens is decided too, below the folders there are: as calls of other tools.
    # And what runs where no rule applies to it is a comparison of its own.
    shell = dialect.shell
    if not shell.traced:
        shell = attrs.evolve(shell, programs=_opening(shell.programs), awaited=None)
    return attrs.evolve(
        dialect, name="", arguments={}, aliases={}, asks=True, cased=(), shell=shell
    )


@lru_cache(maxsize=16)  # a host has one or two
def _opening(programs: Programs) -> Programs:
    return Programs({name: program.opening for name, program in programs.items()})


# Lines on both sides -> what they decide differently; and names of tools as well.
Known = dict[object, Any]


@attrs.frozen(eq=False)
class Calls:
    """Calls that are decided differently, and why there may be more.

    What rows say of them is remembered: most tables share most of their rows.
    """

    calls: tuple[Call, ...]
    why: tuple[str, ...]
    _said: dict[Row, tuple[Outcome, ...]] = attrs.field(factory=dict)

    def said(self, row: Row) -> tuple[Outcome, ...]:
        """Return what *row* says of each call."""
        said = self._said.get(row)
        if said is None:
            said = tuple([row.outcome(call, remembered) for call in self.calls])
            self._said[row] = said
        return said

    def decided(self, lookup: Lookup) -> list[Decision]:
        """Return what each call gets."""
        if lookup.constant is not None:
            return [lookup.constant] * len(self.calls)
        by_row = [self.said(row) for row, _ in lookup.rows]
        return [lookup.combined(outcomes) for outcomes in zip(*by_row, strict=True)]

    def differences(self, tool: str, before: Lookup, after: Lookup) -> Iterator[Difference]:
        """Yield what each call of *tool* gets of both sides, alike ones once."""
        seen: set[tuple[int, int]] = set()
        sides = (self.decided(lookup) for lookup in (before, after))
        for call, was, now in zip(self.calls, *sides, strict=True):
            both = id(was), id(now)  # a lookup gives one decision for what is said alike
            if both not in seen:
                seen.add(both)
                yield Difference(tool, call, was, now)


def known_calls(before: Lookup, after: Lookup, known: Known) -> Calls | None:
    """Return what there is to find, where these lines were searched already.

    A row without entries that both sides have takes away from what the others grant,
    alike, e.g. where a command opens files. Where it allows every call that the others
    decide differently it hides none, and they are all there are.
    """
    found: Calls | None = known.get(key_of(before, after))
    if found is not None:
        return found
    empty, others = (
        {meaning(row): row for row, _ in lookup.rows if not row.entries}
        for lookup in (before, after)
    )
    shared = {lines: row for lines, row in empty.items() if lines in others}
    found = known.get(key_of(before, after, shared)) if shared else None
    if found is None:
        return None
    said = (outcome.effect for row in shared.values() for outcome in found.said(row))
    return found if all(effect is Effect.ALLOW for effect in said) else None


def key_of(before: Lookup, after: Lookup, but: Container[RowMeaning] = ()) -> object:
    """Return all that decides what two lookups grant, without some rows."""
    return tuple(
        (lookup.floor, tuple(meaning(row) for row, _ in lookup.rows if meaning(row) not in but))
        for lookup in (before, after)
    )


def shared(
    pair: ToolPair, found: Iterable[Difference], known: Known, why: dict[str, None]
) -> Iterator[Difference]:
    """Yield what is *found* of a pair, or was of one whose argument has another name.

    Why there may be more is added to *why*, and to what the pair says of that itself.
    """
    key = _text_key(pair) if not why else None
    texts = known.get(key) if key is not None else None
    field = pair.shape.argument.fields[:1]
    if texts is not None:
        why |= texts.why
        pair.why |= texts.of_pair
        pair.doubts |= texts.doubts
        yield from (pair.decided(dict(zip(field, [text], strict=True))) for text in texts.texts)
        return
    told: list[object] = []
    for difference in found:
        told.extend(difference.call[name] for name in field)
        yield difference
    if key is not None:
        known[key] = _Texts(tuple(told), {**why}, {**pair.why}, {**pair.doubts})


@attrs.frozen(eq=False)
class _Texts:
    """Arguments of calls that are decided differently, and why there may be more.

    Attributes:
        texts: the arguments.
        why: why any calls may change.
        of_pair: the same of those that were compared.
        doubts: and of changes that none was found to have.

    """

    texts: tuple[object, ...]
    why: Mapping[str, None]
    of_pair: Mapping[str, None]
    doubts: Mapping[tuple[str, Effects], None]


def _text_key(pair: ToolPair) -> object:
    """Return all that decides what a text gets, whatever the argument is called.

    None where other arguments count, or what they are.
    """
    field = pair.shape.argument.fields[:1]
    rows = [row for lookup in pair.lookups for row, _ in lookup.rows]
    if not field or any(row.has_parameters for row in rows):
        return None
    if not all(lookup.takes_any(*field) for lookup in pair.lookups):
        return None
    return (
        _text_key,
        attrs.evolve(pair.shape.argument, fields=()),
        *(
            (lookup.floor, tuple(meaning(row).of_text for row, _ in lookup.rows))
            for lookup in pair.lookups
        ),
    )
