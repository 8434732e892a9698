"""What a process that decided a call leaves for those that follow: walks, and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product
from math import prod
from typing import TYPE_CHECKING, Final

import attrs

from policy.adapters.hook.cache import Cache
from policy.adapters.hook.deciding import CallerStanding, HookCall, ProjectSaid, is_told
from policy.adapters.hook.event import SPAWNING
from policy.adapters.hook.walked import TEXTS, KnownAnswer, Numbered, StoredWalk, text_name
from policy.commands.read import compound
from policy.core import limits
from policy.core.effect import Effect
from policy.core.symlinks import beyond
from policy.tables.calls import NO_FIELD
from policy.tables.dialect import ArgumentKind
from policy.tables.entry import Outcome
from policy.tables.lookup import Lookup
from policy.tables.placement import opened, path_fields
from policy.tables.row import Row, shared_automaton
from policy.tables.walk import NO_WALK, Walk

if TYPE_CHECKING:
    from policy.adapters.hook.answers import Parts
    from policy.adapters.hook.walked import Answers

__all__ = ["leave", "prepared"]

# Answers that are kept of one tool, at most: of all that walks may come to together, and of
# what they come to where one rule that denies or asks has a part in it.
_TOGETHER: Final = 1_000
_ANSWERS: Final = 20_000
# The longest command or URL that is kept with its answer.
_TEXT: Final = 4096


@attrs.frozen
class _Walked:
    """A walk, and what it comes to.

    Attributes:
        walk: which gives the number of an outcome.
        outcomes: by their numbers, those that make a difference to what the host is told.
        usual: the numbers of those that no rule which denies or asks is the reason of.

    """

    walk: Numbered
    outcomes: tuple[Outcome, ...] = ()
    usual: tuple[int, ...] = (0,)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number that the walk comes to."""
        return tuple(range(len(self.outcomes))) or (0,)


@attrs.frozen
class _Looked:
    """A standing, the rows that look at the arguments, and what is said whatever they are."""

    standing: CallerStanding
    lookup: Lookup | None
    rows: tuple[_Walked, ...]
    beside: tuple[ProjectSaid, ...]


def leave(asked: HookCall, cache: Cache, name: str) -> None:
    """Leave to the processes that follow what decides further calls like this one.

    Args:
        asked: a call that was decided.
        cache: where it is kept.
        name: of all that it depends on besides the arguments of the call.

    """
    kept = cache.get(name)
    walked = prepared(asked, again=kept is not None)
    if walked is not None:
        if kept is not None:
            walked.answers.update(StoredWalk.read(kept).answers)
        cache.put(name, walked.written())
    call = asked.event.call
    if walked is not None and all(walk.kind(call) is not None for walk in walked.walks):
        return
    for field in TEXTS:
        text = call.get(field)
        if type(text) is str and len(text) <= _TEXT:
            known = _known(asked, field)
            if known is not None:
                cache.put(text_name(name, field, text), known.written())


def _known(asked: HookCall, field: str) -> KnownAnswer | None:
    """Return the answer where the argument *field* alone decides, and no link it names does."""
    tool, event, folders = asked.event.tool, asked.event, asked.folders
    files: list[str] = []
    for standing in asked.standings:
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
    led = [beyond(n, event.cwd, folders.home, folders.cwd, folders.also) for n in names]
    if event.tool in SPAWNING or any(led):
        return None
    answer = asked.answer()
    return KnownAnswer(str(answer.effect or ""), answer.parts, names)


def prepared(asked: HookCall, *, again: bool = False) -> StoredWalk | None:
    """Return what decides further calls like this one; None where walks cannot.

    Args:
        asked: a call that was decided.
        again: whether there is such already, so that nothing is gained by a call which
            itself cannot be decided so.

    """
    tool, call = asked.event.tool, asked.event.call
    looked = []
    shells: list[_Walked] = []
    for standing in asked.standings:
        found = _looked(asked, standing)
        shells += _shells(standing, found.lookup, tool) if found else ()
        looked.append(found)
    if None in looked:
        return None
    known = [each for each in looked if each is not None]
    walked = [*chain.from_iterable(each.rows for each in known), *shells]
    walks = [each.walk for each in walked]
    own = tuple([kind for walk in walks if (kind := walk.kind(call)) is not None])
    if again and len(own) < len(walks):
        return None
    tables = [each.standing.table for each in known if each.lookup]
    fields = frozenset(chain.from_iterable(path_fields(table, tool) for table in tables))
    answers: Answers = {}
    combinations = _combinations(walked)
    for numbers in chain([own], combinations) if len(own) == len(walks) else combinations:
        answer = _answer(asked, known, iter(numbers))
        if answer is not None:
            answers[numbers] = answer
    return StoredWalk(walks, fields, answers)


def _looked(asked: HookCall, standing: CallerStanding) -> _Looked | None:
    beside = tuple(asked.beside(standing))
    if standing.chain is None:
        return _Looked(standing, None, (), beside)
    lookup = standing.table.lookup(asked.event.tool)
    rows = [_row(row) for row, _ in lookup.rows]
    known = tuple(row for row in rows if row is not None)
    return _Looked(standing, lookup, known, beside) if len(known) == len(rows) else None


def _row(row: Row) -> _Walked | None:
    """Return a row as a walk; None where no text decides alone."""
    if row.walk is NO_WALK:
        return None
    numbers: dict[object, int] = {}
    outcomes = [row.at(index) for index in range(len(row.entries))]
    kinds = [numbers.setdefault(_told(each), len(numbers)) for each in (*outcomes, row.default)]
    by_number = dict(zip(kinds, (*outcomes, row.default), strict=True))
    usual = {kind for kind, one in by_number.items() if one.effect is Effect.ALLOW} | {kinds[-1]}
    walk = Numbered(row.walk, kinds[:-1], kinds[-1])
    return _Walked(walk, tuple(by_number[n] for n in range(len(by_number))), tuple(sorted(usual)))


def _told(outcome: Outcome) -> object:
    """Return what is equal for outcomes of which the host is told the same."""
    if outcome.effect is Effect.ALLOW:
        return outcome.reason, bool(outcome.entries)
    return id(outcome)


def _shells(standing: CallerStanding, lookup: Lookup | None, tool: str) -> Iterator[_Walked]:
    """Yield walks that end where a command has to be taken apart, though no row looks at it.

    It may open files by way of links, which are looked at whatever the rules are.
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
            yield _Walked(Numbered(Walk(str(field), alias, longest, automaton), (), 0))


def _combinations(walked: list[_Walked]) -> Iterable[tuple[int, ...]]:
    """Return what walks may come to together: all of it, or what is likely where that is much."""
    every, usual = [each.numbers for each in walked], [each.usual for each in walked]
    if prod(map(len, every)) <= _TOGETHER:
        return product(*every)
    one = [[*usual[:n], every[n], *usual[n + 1 :]] for n in range(len(walked))]
    if sum(prod(map(len, each)) for each in one) <= _ANSWERS:
        return chain.from_iterable(product(*each) for each in one)
    return product(*usual)


def _answer(
    asked: HookCall, looked: list[_Looked], numbers: Iterator[int]
) -> tuple[str, Parts] | None:
    """Return the answer where the rows come to *numbers*; None where it takes long to tell."""
    said = []
    for each in looked:
        every = list(each.beside)
        if each.lookup is not None:
            outcomes = tuple(row.outcomes[number] for row, number in zip(each.rows, numbers))  # noqa: B905  # those of others follow
            decision = each.lookup.combined(outcomes) if outcomes else each.lookup.constant
            assert decision is not None  # noqa: S101  # where no row looks at the arguments
            if decision.effect is Effect.DENY and not is_told(each.standing, asked.event.tool):
                return None
            every.insert(0, asked.said(each.standing, decision, asked.event.call))
        said.append(asked.strictest(each.standing, every))
    answer = asked.met(said)
    return str(answer.effect or ""), answer.parts
