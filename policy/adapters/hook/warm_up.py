"""What a full decision stores for later processes: walks, and the answers to their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Final

import attrs

from policy.adapters.hook.cached_answers import (
    TEXTS,
    NumberedWalk,
    StoredAnswer,
    StoredWalks,
    text_entry_name,
)
from policy.adapters.hook.deciding import HookCall, ProjectVerdict, Standing, is_remainder_known
from policy.adapters.hook.event import SPAWNING
from policy.adapters.hook.store import Store
from policy.commands.compound import compound
from policy.core import limits
from policy.core.effect import Effect
from policy.core.symlinks import beyond
from policy.tables.dialect import ArgumentKind
from policy.tables.entry import Outcome
from policy.tables.lookup import Lookup
from policy.tables.placement import opened, path_fields
from policy.tables.row import Row, shared_automaton
from policy.tables.walk import NO_FIELD, NO_WALK, Walk

if TYPE_CHECKING:
    from policy.adapters.hook.cached_answers import Answers
    from policy.adapters.hook.event import Parts

__all__ = ["store_answers", "stored_walks"]

# Answers of one tool that are stored at most: for all outcomes together, and for those in which
# one rule that denies or asks takes part.
_TOGETHER: Final = 1_000
_ANSWERS: Final = 20_000
# The longest command or URL that is stored with its answer.
_TEXT: Final = 4096


@attrs.frozen
class _RowWalk:
    """A walk and its outcomes.

    Attributes:
        walk: which gives the number of an outcome.
        outcomes: by their numbers, those that change what the host is answered.
        usual: the numbers of those without a rule that denies or asks.

    """

    walk: NumberedWalk
    outcomes: tuple[Outcome, ...] = ()
    usual: tuple[int, ...] = (0,)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number that the walk can give."""
        return tuple(range(len(self.outcomes))) or (0,)


@attrs.frozen
class _StandingWalks:
    """A standing, the walks of its rows, and the verdicts that no argument changes."""

    standing: Standing
    lookup: Lookup | None
    rows: tuple[_RowWalk, ...]
    fixed: tuple[ProjectVerdict, ...]


def store_answers(decided: HookCall, store: Store, name: str) -> None:
    """Store what decides further calls like *decided* under *name*.

    Args:
        decided: a call that was decided.
        store: of cached answers.
        name: a digest of everything that the answers depend on except the arguments.

    """
    earlier = store.get(name)
    walks = stored_walks(decided, again=earlier is not None)
    if walks is not None:
        if earlier is not None:
            walks.answers.update(StoredWalks.unpacked(earlier).answers)
        store.put(name, walks.packed())
    call = decided.event.call
    if walks is not None and all(walk.number(call) is not None for walk in walks.walks):
        return
    for field in TEXTS:
        text = call.get(field)
        if type(text) is str and len(text) <= _TEXT:
            answer = _stored_answer(decided, field)
            if answer is not None:
                store.put(text_entry_name(name, field, text), answer.packed())


def _stored_answer(decided: HookCall, field: str) -> StoredAnswer | None:
    """Return the answer where the argument *field* alone decides, and no file in it is a link."""
    tool, event, folders = decided.event.tool, decided.event, decided.folders
    files: list[str] = []
    for standing in decided.standings:
        if standing.chain is None:
            continue
        table = standing.table
        lookup = table.lookup(tool)
        if lookup.constant is None and lookup.field != field:
            return None
        for dialect in dict.fromkeys(part.rules.dialect for part in table.use.parts):
            argument = dialect.argument(tool)
            if argument.kind is ArgumentKind.COMMAND and argument.fields != (field,):
                return None
        if path_fields(table, tool) or (lookup.constant is None and lookup.alias is not NO_FIELD):
            return None
        files += opened(table, tool, event.call)
    names = tuple(dict.fromkeys(files))
    if event.tool in SPAWNING or any(
        beyond(name, event.cwd, folders.home, folders.cwd, folders.also) for name in names
    ):
        return None
    answer = decided.answer()
    return StoredAnswer(str(answer.effect or ""), answer.parts, names)


def stored_walks(decided: HookCall, *, again: bool = False) -> StoredWalks | None:
    """Return what decides further calls like *decided*; None where walks cannot.

    Args:
        decided: a call that was decided.
        again: whether walks are stored already, so that a call which they do not decide
            adds nothing.

    """
    tool, call = decided.event.tool, decided.event.call
    standings: list[_StandingWalks] = []
    shells: list[_RowWalk] = []
    for standing in decided.standings:
        found = _standing_walks(decided, standing)
        if found is None:
            return None
        shells += _command_walks(standing, found.lookup, tool)
        standings.append(found)
    rows = [*chain.from_iterable(each.rows for each in standings), *shells]
    walks = [each.walk for each in rows]
    own = tuple([number for walk in walks if (number := walk.number(call)) is not None])
    if again and len(own) < len(walks):
        return None
    tables = [each.standing.table for each in standings if each.lookup]
    fields = frozenset(chain.from_iterable(path_fields(table, tool) for table in tables))
    answers: Answers = {}
    combinations = _combinations(rows)
    for numbers in chain([own], combinations) if len(own) == len(walks) else combinations:
        answer = _answer(decided, standings, iter(numbers))
        if answer is not None:
            answers[numbers] = answer
    return StoredWalks(walks, fields, answers)


def _standing_walks(decided: HookCall, standing: Standing) -> _StandingWalks | None:
    fixed = tuple(decided.fixed(standing))
    if standing.chain is None:
        return _StandingWalks(standing, None, (), fixed)
    lookup = standing.table.lookup(decided.event.tool)
    rows = [_row_walk(row) for row, _ in lookup.rows]
    known = tuple(row for row in rows if row is not None)
    return _StandingWalks(standing, lookup, known, fixed) if len(known) == len(rows) else None


def _row_walk(row: Row) -> _RowWalk | None:
    """Return the walk of a row; None where no text decides alone."""
    if row.walk is NO_WALK:
        return None
    known: dict[object, int] = {}
    outcomes = [*(row.at(index) for index in range(len(row.entries))), row.default]
    numbers = [known.setdefault(_answer_key(each), len(known)) for each in outcomes]
    by_number = dict(zip(numbers, outcomes, strict=True))
    allowed = {number for number, each in by_number.items() if each.effect is Effect.ALLOW}
    usual = tuple(sorted(allowed | {numbers[-1]}))
    walk = NumberedWalk(row.walk, numbers[:-1], numbers[-1])
    return _RowWalk(walk, tuple(by_number[number] for number in range(len(by_number))), usual)


def _answer_key(outcome: Outcome) -> object:
    """Return a key that is equal for outcomes with the same answer."""
    if outcome.effect is Effect.ALLOW:
        return outcome.reason, bool(outcome.entries)
    return id(outcome)


def _command_walks(standing: Standing, lookup: Lookup | None, tool: str) -> Iterator[_RowWalk]:
    """Yield walks that give no outcome for a compound command, where no row looks at it.

    The command may open files through links, which are checked whatever the rules are.
    """
    if lookup is None:
        return
    looking = [row.ruleset.dialect.shell for row, _ in lookup.rows]
    for dialect in dict.fromkeys(part.rules.dialect for part in standing.table.use.parts):
        argument, shell = dialect.argument(tool), dialect.shell
        if argument.kind is ArgumentKind.COMMAND and shell not in looking:
            field, alias, *_ = (*argument.fields, None)
            longest = shell.longest or limits.CALL_CHARACTERS
            automaton = shared_automaton((), " ", compound(shell))
            yield _RowWalk(NumberedWalk(Walk(str(field), alias, longest, automaton), (), 0))


def _combinations(rows: list[_RowWalk]) -> Iterable[tuple[int, ...]]:
    """Return the outcomes that walks can have together: all, or the usual ones of many."""
    every, usual = [each.numbers for each in rows], [each.usual for each in rows]
    if prod(map(len, every)) <= _TOGETHER:
        return product(*every)
    one = [[*usual[:n], every[n], *usual[n + 1 :]] for n in range(len(rows))]
    if sum(prod(map(len, each)) for each in one) <= _ANSWERS:
        return chain.from_iterable(product(*each) for each in one)
    return product(*usual)


def _answer(
    decided: HookCall, standings: list[_StandingWalks], numbers: Iterator[int]
) -> tuple[str, Parts] | None:
    """Return the answer where the rows have the outcomes *numbers*; None where it takes long."""
    verdicts = []
    for each in standings:
        every = list(each.fixed)
        if each.lookup is not None:
            outcomes = tuple(row.outcomes[number] for row, number in zip(each.rows, numbers))  # noqa: B905  # the next standing takes the rest
            decision = each.lookup.combined(outcomes) if outcomes else each.lookup.constant
            assert decision is not None  # noqa: S101  # where no row looks at the arguments
            if decision.effect is Effect.DENY and not is_remainder_known(
                each.standing, decided.event.tool
            ):
                return None
            every.insert(0, decided.verdict(each.standing, decision, decided.event.call))
        verdicts.append(decided.strictest(each.standing, every))
    answer = decided.combined(verdicts)
    return str(answer.effect or ""), answer.parts
