"""Exactly which calls of one tool two tables decide differently, with a witness for each.

The argument that rules are about is the text of the comparison (`policy.compare.pair`).
Other arguments that rules name are split into cases first: one for each set of values that the
same rules match. Calls whose argument cannot be read, or is too long, are one more case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final
from weakref import WeakKeyDictionary

from policy.commands.knowledge import Programs
from policy.compare.auto_allowed import auto_allowed, known_differently
from policy.compare.commands import CommandPair, auto_allowed_differences
from policy.compare.lists import by_rules, denies_all, grants_whole
from policy.compare.opening import opening_differences
from policy.compare.pair import ToolPair
from policy.compare.paths import formed_commands, unnamed_differences
from policy.compare.samples import sampled_differences
from policy.compare.simple import Steps
from policy.compare.witness import CHANGES, Call, CallShape, Difference, Effects, signature
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.core.values import evolve, frozen
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.parameters import TOO_MANY_PARAMETERS, parameter_cases
from policy.tables.row import Outcome, Row
from policy.tables.ruleset import Entry
from policy.tables.table import Lookup

# A command opens files: other rows are asked as well.
_OPENING: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})
_COUNTING: Final = attrgetter("pattern", "field", "effect", "reason", "place", "form")
_NONE: Final[tuple[tuple[()], ...]] = ((),) * 6


_MEANINGS: Final[WeakKeyDictionary[Row, Key]] = WeakKeyDictionary()
_LINES: Final[WeakKeyDictionary[Row, Key]] = WeakKeyDictionary()


def meaning(row: Row) -> Key:
    """Return a key of all that determines what *row* grants to every call."""
    found = _MEANINGS.get(row)
    if found is None:
        rules, dialect = row.ruleset, row.ruleset.dialect
        beside: object = dialect
        if row.argument.kind in _OPENING or dialect.links:
            files = [_lines(rules.row(tool)) for tool in dialect.shell.files.opening]
            beside = dialect, rules.default, rules.default_reason, _opens(row), tuple(files)
        found = _MEANINGS[row] = Key((_lines(row), beside))
    return found


def _lines(row: Row) -> Key:
    """Return a key of the lines of *row*, and of the arguments that they are about."""
    found = _LINES.get(row)
    if found is None:
        forms = tuple([entry.form for entry in row.default.entries])
        default = row.default.effect, row.default.reason, forms
        inputs = row.inputs is not None if _is_alone(row) else row.inputs
        found = _LINES[row] = Key((_columns(row.entries), default, row.argument, inputs))
    return found


def _is_alone(row: Row) -> bool:
    """Return whether one text decides every call, whatever else a call may hold."""
    kind, field = row.argument.kind, row.argument.fields[:1]
    if kind not in (ArgumentKind.COMMAND, ArgumentKind.PATH) or not field or row.has_parameters:
        return False
    return row.inputs is None or row.inputs.types.get(*field) is str


def _opens(row: Row) -> tuple[bool, bool]:
    """Return whether *row* decides the files that a command reads, and those that it writes."""
    files = row.ruleset.dialect.shell.files
    return row.tool in (files.reads, files.input), row.tool in (files.writes, files.output)


def _columns(entries: Sequence[Entry]) -> tuple[tuple[object, ...], ...]:
    """Return the attributes of entries that count, a tuple for each: this takes little memory."""
    columns = zip(*map(_COUNTING, entries), strict=True) if entries else _NONE
    patterns, fields, effects, reasons, places, forms = columns
    return patterns, fields, effects, reasons, tuple([place is None for place in places]), forms


def manner(row: Row) -> object:
    """Return a key that rows share if they read every call in the same way.

    The key has whether any folders are case-sensitive, and leaves out which ones they are: they
    are compared by themselves (`policy.compare.paths`).
    """
    dialect, argument = row.ruleset.dialect, row.argument
    match argument.kind:
        case ArgumentKind.COMMAND:
            return argument, _read_alike(dialect), bool(dialect.cased)
        case ArgumentKind.PATH:
            folders = dialect.cwd, dialect.home, bool(dialect.cased)
            return argument, *folders, dialect.fold, dialect.links
        case _:
            return argument


@lru_cache(maxsize=256)
def _read_alike(dialect: Dialect) -> Dialect:
    # The files that a command opens are decided too, as calls of other tools.
    # And auto-allowed commands have a comparison of their own.
    shell = dialect.shell
    if not shell.traced:
        shell = evolve(shell, programs=_opening(shell.programs))
    return evolve(dialect, name="", arguments={}, aliases={}, asks=True, cased=(), shell=shell)


@lru_cache(maxsize=16)  # a host has one or two
def _opening(programs: Programs) -> Programs:
    return Programs({name: program.opening for name, program in programs.items()})


# Lines of both sides -> what they decide differently; also names of tools.
Known = dict[object, Any]


@values.frozen(eq=False)
class Calls:
    """Calls that are decided differently, and the reasons *why* there may be more."""

    calls: tuple[Call, ...]
    why: tuple[str, ...]


def key_of(before: Lookup, after: Lookup) -> object:
    """Return a key of all that determines what two lookups grant."""
    return tuple(
        (lookup.floor, tuple(meaning(row) for row, _ in lookup.rows)) for lookup in (before, after)
    )


@frozen
class Comparison:
    """Every way in which decisions differ, one difference for each.

    Attributes:
        differences: each with other deciding rules or effects than the rest.
        why: why something else may differ as well.

    """

    differences: tuple[Difference, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing else differs; False where that was not decided."""
        return not self.why


DIFFERENT_KINDS = "some rules read their calls otherwise than others do"


def compare(
    tool: str,
    before: Lookup,
    after: Lookup,
    known: Known,
    wanted: Callable[[Difference], bool] | None = None,
) -> Comparison:
    """Return how the calls of *tool* are decided differently by two lookups.

    Args:
        tool: its name.
        before: the lookup of one table.
        after: the lookup of the other table.
        known: the results so far. Tools and agents share most of their lines: where the
            same lines meet again, both sides decide the known calls without a search.
        wanted: a test for a difference that ends the search.

    """
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    if not rows:
        was, now = before.constant, after.constant
        if was is None or now is None or was.effect is now.effect:
            return Comparison()
        return Comparison((Difference(tool, {}, was, now),))
    if denies_all(before) and denies_all(after):
        return Comparison()
    kinds = dict.fromkeys(row.argument.kind for row in rows)
    if len(kinds) > 1:
        return _by_kinds(tool, (before, after), kinds, known)
    key = key_of(before, after)
    calls: Calls | None = known.get(key)
    if calls is None and wanted is not None:
        calls = known.get((wanted, key))
    differences: list[Difference] = []
    if calls is not None:
        for call in calls.calls:
            decisions = (each.decide(call, remember=False) for each in (before, after))
            differences.append(Difference(tool, call, *decisions))
    else:
        why: dict[str, None] = {}
        for difference in _differing(tool, before, after, known, why):
            differences.append(difference)
            if wanted is not None and wanted(difference):
                differences, key = [difference], (wanted, key)
                break
        calls = known[key] = Calls(tuple(each.call for each in differences), tuple(why))
    found: dict[object, Difference] = {}
    for difference in differences:
        found.setdefault(signature(difference), difference)
    return Comparison(tuple(found.values()), calls.why)


def _by_kinds(
    tool: str, lookups: tuple[Lookup, Lookup], kinds: Iterable[ArgumentKind], known: Known
) -> Comparison:
    """Return the differences of the rows of each kind that are differences of all rows too."""
    found: dict[object, Difference] = {}
    for kind in kinds:
        sides = [[row for row, _ in side.rows if row.argument.kind is kind] for side in lookups]
        like = next(row for side in sides for row in side)
        anything = Row((), Outcome(Effect.ALLOW, Reason.DEFAULT), like.tool, like.ruleset)
        was, now = (Lookup(((row, ()) for row in side or [anything]), "") for side in sides)
        for one in compare(tool, was, now, known).differences:
            decisions = (lookup.decide(one.call, remember=False) for lookup in lookups)
            difference = Difference(tool, one.call, *decisions)
            if difference.before.effect is not difference.after.effect:
                found.setdefault(signature(difference), difference)
    return Comparison(tuple(found.values()), (DIFFERENT_KINDS,))


def _differing(
    tool: str, before: Lookup, after: Lookup, known: Known, why: dict[str, None]
) -> Iterator[Difference]:
    """Yield every difference; add to *why* the reasons why there may be more."""
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    if len({manner(row) for row in rows}) > 1:
        why[DIFFERENT_KINDS] = None
    shapes = _shapes(rows)
    if shapes is None:
        why[TOO_MANY_PARAMETERS] = None
    effects: set[Effects] = set()
    pairs: list[ToolPair] = []
    for shape in shapes or [CallShape(_dialect(rows), rows[0].argument)]:
        pair: ToolPair
        found: Iterable[Difference]
        match shape.argument.kind:
            case ArgumentKind.COMMAND:
                pair = command_pair = CommandPair(tool, before, after, shape)
                searched = _of_commands(command_pair, known, effects, why)
                found = map(command_pair.in_words, searched)
            case ArgumentKind.PATH:
                pair = ToolPair(tool, before, after, shape)
                found = _of_paths(pair, effects, why)
            case _:
                pair = ToolPair(tool, before, after, shape)
                found = pair.differences()
        pairs.append(pair)
        for difference in found:
            effects.add(difference.effects)
            yield difference
        unreadable = pair.unreadable()
        if unreadable is not None and unreadable.effects not in effects:
            effects.add(unreadable.effects)
            yield unreadable
    yield from _in_background(tool, before, after)
    for pair in pairs:
        why.update(dict.fromkeys((*pair.why, *pair.left(effects))))


def _of_commands(
    pair: CommandPair, known: Known, effects: Collection[Effects], why: dict[str, None]
) -> Iterator[Difference]:
    """Yield every difference of commands; *effects* are the changes found so far."""
    yield from pair.differences()
    yield from formed_commands(pair)
    yield from auto_allowed_differences(pair)
    opened = _opened(pair, known, why)
    yield from opening_differences(pair, opened, pair.settled(effects))
    if pair.settled(effects) >= CHANGES:
        return  # no further command is to be found
    yield from sampled_differences(pair, pair.settled(effects), known.get(Steps) or Steps())


def _in_background(tool: str, before: Lookup, after: Lookup) -> Iterator[Difference]:
    """Yield differences of background commands, where both sides allow all other commands."""
    lookups = before, after
    rows = [row for side in lookups for row, _ in side.rows if row.argument.kind in _OPENING]
    if not rows or not all(map(_allows_any, lookups)):
        return
    some, *others = dict.fromkeys(row.ruleset.dialect.shell for row in rows)
    names = (known_differently((some,), tuple(others)) if others else None) or ()
    seen: set[Effects] = set()
    run = chain.from_iterable(auto_allowed(shell)[:3] for shell in (some, *others))
    for text in ("npm start", "q7z", *run, *(f"{name} x" for name in sorted(names))):
        call: dict[str, object] = {rows[0].argument.fields[0]: f"{text} &"}
        found = Difference(tool, call, *(each.decide(call, remember=False) for each in lookups))
        if found.effects in CHANGES and found.effects not in seen:
            seen.add(found.effects)
            yield found


def _allows_any(lookup: Lookup) -> bool:
    """Whether every command that no line decides is allowed."""
    if lookup.constant is not None:
        return lookup.constant.effect is Effect.ALLOW
    return all(row.default.effect is Effect.ALLOW for row, _ in lookup.rows)


def _of_paths(
    pair: ToolPair, effects: Collection[Effects], why: Mapping[str, None]
) -> Iterator[Difference]:
    """Yield every difference of paths; *effects* are the changes found so far."""
    yield from pair.differences()
    if DIFFERENT_KINDS not in why:  # or the letters of a folder are the least of it
        yield from unnamed_differences(pair, set(effects))


def _opened(pair: CommandPair, known: Known, why: dict[str, None]) -> dict[str, list[Difference]]:
    """Return the differences of files that commands may open, by tools whose lines differ."""
    rows = [[row for row, _ in lookup.rows] for lookup in pair.lookups]
    whole = any(grants_whole(row) for side in rows for row in side)
    found: dict[str, list[Difference]] = {}
    for tool in pair.shell.files.opening:
        sides = [[row.opening(tool) for row in side] for side in rows]
        if [*map(meaning, sides[0])] == [*map(meaning, sides[1])]:
            continue
        for each in (sides, [[by_rules(row) for row in side] for side in sides])[: 1 + whole]:
            lookups = [Lookup(((row, ()) for row in side), "") for side in each]
            comparison = compare(tool, lookups[0], lookups[1], known)
            why.update(dict.fromkeys(comparison.why))
            found.setdefault(tool, []).extend(comparison.differences)
    return found


def _shapes(rows: Sequence[Row]) -> list[CallShape] | None:
    """Return the shapes of calls to compare one by one; None when these are too many."""
    entries = [entry for row in rows for entry in row.entries]
    argument = rows[0].argument
    cases = parameter_cases(
        [row.entries for row in rows],
        whole=not argument.fields,
        inputs=[*filter(None, [rows[0].inputs])],
    )
    if cases is None:
        return None
    named = {entry.field for entry in entries if entry.field}
    return CallShape.each(_dialect(rows), argument, cases, named)


def _dialect(rows: Sequence[Row]) -> Dialect:
    """Return the dialect of rows, with the case-sensitive folders of all of them."""
    dialects = [row.ruleset.dialect for row in rows]
    folders = dict.fromkeys(folder for dialect in dialects for folder in dialect.cased)
    return evolve(dialects[0], cased=tuple(folders))
