"""Exactly which calls of one tool two tables decide differently, with a witness for each.

The argument that rules apply to is the text of the comparison (`policy.compare.lists`).
Other arguments that rules name are told apart first: one case for each set of
values that the same rules match. Calls whose argument cannot be read are one
case more; those that are too long are decided like these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import attrs

from policy.compare.calls import (
    Calls,
    Known,
    ToolPair,
    key_of,
    known_calls,
    manner,
    meaning,
    remembered,
    shared,
)
from policy.compare.commands import CommandPair, are_rewritten
from policy.compare.lists import Difference, denies_all
from policy.compare.paths import folder_case_differences
from policy.compare.witness import CallShape, Effects, signature
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.lookup import Lookup
from policy.tables.parameters import TOO_MANY_PARAMETERS, parameter_cases
from policy.tables.row import Row

__all__ = [
    "DIFFERENT_KINDS",
    "Comparison",
    "Difference",
    "Known",
    "compare",
    "compare_until",
]


@attrs.frozen
class Comparison:
    """Every way in which decisions differ, one difference for each.

    Attributes:
        differences: each with other deciding rules or effects than the rest.
        why: why something else may differ as well; nothing where nothing does.

    """

    differences: tuple[Difference, ...] = ()
    why: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing else differs; False where that was not decided."""
        return not self.why


DIFFERENT_KINDS = "some rules read their calls otherwise than others do"
_FORMS = "a rule that is written in another way may decide otherwise behind a link"


def compare(tool: str, before: Lookup, after: Lookup, known: Known | None = None) -> Comparison:
    """Return how the calls of *tool* are decided differently by two lookups.

    Args:
        tool: its name.
        before: what one table says of it.
        after: what the other says.
        known: what was found so far. Tools and agents share most of their lines:
            where the same lines meet again, the calls are asked, not searched for.

    """
    known = {} if known is None else known
    plain = _plainly(tool, before, after, known)
    if plain is not None:
        return plain
    calls = known_calls(before, after, known)
    differences: Iterable[Difference]
    if calls is None:
        why: dict[str, None] = {}
        differences = list(_differing(tool, before, after, known, why))
        calls = known[key_of(before, after)] = _calls(differences, why)
    else:
        differences = calls.differences(tool, before, after)
    found: dict[object, Difference] = {}
    for difference in differences:
        found.setdefault(signature(difference), difference)
    return Comparison(tuple(found.values()), calls.why)


def compare_until(
    wanted: Callable[[Difference], bool], tool: str, before: Lookup, after: Lookup, known: Known
) -> Comparison:
    """Return one difference that is *wanted*, or if there is none what `compare` does."""
    if _plainly(tool, before, after, known) is None and known_calls(before, after, known) is None:
        key = key_of(before, after)
        one = known.get((wanted, key))  # one call, of which there may be more
        if one is not None:
            (difference,) = one.differences(tool, before, after)
            return Comparison((difference,))
        why: dict[str, None] = {}
        found: list[Difference] = []
        for difference in _differing(tool, before, after, known, why):
            if wanted(difference):
                known[wanted, key] = _calls([difference], ())
                return Comparison((difference,))
            found.append(difference)
        known[key] = _calls(found, why)
    return compare(tool, before, after, known)


def _plainly(tool: str, before: Lookup, after: Lookup, known: Known) -> Comparison | None:
    """Return the comparison where no text has to be searched for, or each kind by itself."""
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    if not rows:
        return _constants(tool, before, after)
    if denies_all(before) and denies_all(after):
        return Comparison()
    kinds = dict.fromkeys(row.argument.kind for row in rows)
    return None if len(kinds) == 1 else _by_kinds(tool, (before, after), kinds, known)


def _by_kinds(
    tool: str, lookups: tuple[Lookup, Lookup], kinds: Iterable[ArgumentKind], known: Known
) -> Comparison:
    """Return the differences that the rows of one kind have and all of the rows have as well."""
    found: dict[object, Difference] = {}
    for kind in kinds:
        sides = [[row for row, _ in side.rows if row.argument.kind is kind] for side in lookups]
        like = next(row for side in sides for row in side)
        anything = Row((), Effect.ALLOW, Reason.DEFAULT, like.tool, like.ruleset)
        was, now = (Lookup(((row, ()) for row in side or [anything]), "") for side in sides)
        for one in compare(tool, was, now, known).differences:
            decisions = (
                lookup.decide(one.call, remember=False, read=remembered) for lookup in lookups
            )
            difference = Difference(tool, one.call, *decisions)
            if difference.before.effect is not difference.after.effect:
                found.setdefault(signature(difference), difference)
    return Comparison(tuple(found.values()), (DIFFERENT_KINDS,))


def _calls(found: Iterable[Difference], why: Iterable[str]) -> Calls:
    calls = tuple(difference.call for difference in found)
    return Calls(calls, tuple(why))


def _differing(
    tool: str, before: Lookup, after: Lookup, known: Known, why: dict[str, None]
) -> Iterator[Difference]:
    """Yield every difference, and add to *why* there may be more once they are all told."""
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

                def of_files(tool: str, one: Lookup, other: Lookup) -> tuple[Difference, ...]:
                    compared = compare(tool, one, other, known)
                    why.update(dict.fromkeys(compared.why))
                    return compared.differences

                pair = commands = CommandPair(tool, before, after, shape, of_files)
                found = shared(pair, commands.search(effects), known, why)
            case ArgumentKind.PATH:
                pair = ToolPair(tool, before, after, shape)
                found = shared(pair, _of_paths(pair, effects, why), known, why)
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
    yield from _awaited(tool, before, after, known, why)
    for pair in pairs:
        why.update(dict.fromkeys((*pair.why, *pair.left(effects))))


def _awaited(
    tool: str, before: Lookup, after: Lookup, known: Known, why: dict[str, None]
) -> Iterator[Difference]:
    """Yield how commands change in the background, where all others are allowed.

    What rules allow beside the one for every command is asked for then.
    """
    lookups = before, after
    asking = [row for lookup in lookups for row, _ in lookup.rows if row.beside]
    if not asking or not all(map(_allows_any, lookups)):
        return
    was, now = (_unawaited(lookup, asking[0]) for lookup in lookups)
    if [meaning(row) for row, _ in was.rows] == [meaning(row) for row, _ in now.rows]:
        return
    compared = compare(tool, was, now, known)
    why.update(dict.fromkeys(compared.why))
    (field,) = asking[0].argument.fields
    for difference in compared.differences:
        call = {**difference.call, field: f"{difference.call.get(field, '')} &"}
        found = Difference(
            tool, call, *(each.decide(call, remember=False, read=remembered) for each in lookups)
        )
        if found.before.effect is not found.after.effect:
            yield found


def _unawaited(lookup: Lookup, like: Row) -> Lookup:
    """Return what asks for background commands, by those that it allows; or for none."""
    rows = [row.beside or row for row, _ in lookup.rows]
    if not any(row.beside for row, _ in lookup.rows):
        rows = [Row((), Effect.DENY, Reason.DEFAULT, like.tool, like.ruleset)]
    return Lookup(((row, ()) for row in rows), "")


def _allows_any(lookup: Lookup) -> bool:
    """Whether all commands are allowed of which no line says something else."""
    constant = lookup.constant
    if constant is not None:
        return constant.effect is Effect.ALLOW
    return all(row.default.effect is Effect.ALLOW for row, _ in lookup.rows)


def _of_paths(
    pair: ToolPair, effects: Collection[Effects], why: dict[str, None]
) -> Iterator[Difference]:
    """Yield the same of paths."""
    yield from pair.differences()
    rows = [[row for row, _ in lookup.rows] for lookup in pair.lookups]
    if pair.shape.dialect.links and are_rewritten(*rows):
        why[_FORMS] = None
    if DIFFERENT_KINDS not in why:  # or the letters of a folder are the least of it
        yield from folder_case_differences(pair, set(effects))


def _shapes(rows: Sequence[Row]) -> list[CallShape] | None:
    """Return the calls that must be told apart; None when these are too many."""
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
    """Return how rows read calls, with the folders that any of them knows."""
    dialects = [row.ruleset.dialect for row in rows]
    folders = dict.fromkeys(folder for dialect in dialects for folder in dialect.cased)
    return attrs.evolve(dialects[0], cased=tuple(folders))


def _constants(tool: str, before: Lookup, after: Lookup) -> Comparison:
    was, now = before.constant, after.constant
    if was is None or now is None or was.effect is now.effect:
        return Comparison()
    return Comparison((Difference(tool, {}, was, now),))
