"""Rules by which no call is decided, proven in every table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from typing import Final

import attrs

from policy.analysis.lint.rules import Positions
from policy.compare.compare import Known
from policy.compare.dead_rules import Effort, RuleStanding, shadowing
from policy.core.decision import Because
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Place, Span, visible
from policy.patterns.notations import is_glob
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry
from policy.tables.table import Ceiling, Part, Table

__all__ = ["Standings", "separated", "standing_findings"]


_Mark = tuple[Place | None, str]


def separated(table: Table) -> Iterator[Table]:
    """Yield tables of rules that speak of the same tools: what others say does not matter to them.

    Agents often differ in the rules for a single tool, so that of many agents few such
    tables are left. Rules about files that commands open are of one table with commands.
    """
    parts = table.use.parts
    if any(is_glob(entry.tool) for part in parts for entry in part.rules.entries):
        yield table
        return
    groups = _Groups()
    numbered = [
        [groups.number(together.get(tool, tool), _mark(entry)) for entry, tool in named]
        for part in parts
        for together in [_together(part.rules.dialect)]
        for named in [[(e, part.rules.dialect.key(e.tool)) for e in part.rules.entries]]
    ]
    said: dict[int, list[list[Entry]]] = {}
    last: dict[int, tuple[int, int]] = {}
    for at, part in enumerate(parts):
        for line, (entry, number) in enumerate(zip(part.rules.entries, numbered[at], strict=True)):
            group = groups.first(number)
            said.setdefault(group, [[] for _ in parts])[at].append(entry)
            last[group] = at, line
    if len(said) < 2:
        yield table
        return
    for group in sorted(said, key=last.__getitem__):
        some = tuple(
            Part(attrs.evolve(part.rules, entries=tuple(entries)), part.links)
            for part, entries in zip(parts, said[group], strict=True)
        )
        # `Ceiling.of` would leave out rules that a constant part covers.
        yield Table(Ceiling(frozenset(part.rules for part in some), some))


@lru_cache(maxsize=16)  # a host has one or two
def _together(dialect: Dialect) -> dict[str, str]:
    """Return one name for the tools that commands are calls of, and for those that run them."""
    arguments = dialect.arguments.items()
    commands = [tool for tool, argument in arguments if argument.kind is ArgumentKind.COMMAND]
    opening = dialect.shell.files.opening
    if not commands or not opening:
        return {}
    return dict.fromkeys(map(dialect.key, (*commands, *opening)), dialect.key(commands[0]))


def _mark(entry: Entry) -> _Mark:
    return entry.place, entry.rule


class _Groups:
    """Tools and rules that belong together: a tool with each rule that names it."""

    def __init__(self) -> None:
        self._numbers: dict[str | _Mark, int] = {}
        self._above: list[int] = []

    def number(self, tool: str, mark: _Mark) -> int:
        """Put a tool and a rule together, and return the number of one of them."""
        one, other = self.first(self._of(tool)), self.first(self._of(mark))
        self._above[other] = one
        return one

    def _of(self, name: str | _Mark) -> int:
        number = self._numbers.setdefault(name, len(self._above))
        if number == len(self._above):
            self._above.append(number)
        return number

    def first(self, number: int) -> int:
        """Return the number that all have which belong together with *number*."""
        while self._above[number] != number:
            self._above[number] = self._above[self._above[number]]
            number = self._above[number]
        return number


@attrs.define
class Standings:
    """What becomes of the rules of tables, found out once for those that say the same.

    Attributes:
        compared: what was compared so far.
        tried: how many rules that took.

    """

    compared: Known = attrs.field(factory=dict)
    tried: int = 0
    _known: dict[object, tuple[list[Because], tuple[RuleStanding, ...]]] = attrs.field(factory=dict)

    def of(
        self,
        table: Table,
        effort: Effort | None = None,
        only: Container[_Mark] | None = None,
    ) -> Iterator[RuleStanding]:
        """Yield what `policy.compare.dead_rules.shadowing` says of *table*, or of some rules."""
        parts = table.use.parts
        rules = [_because(entry, part) for part in parts for entry in part.rules.entries]
        marks = [(one.place, one.rule) for one in rules]
        others = {mark for mark in marks if only is not None and mark not in only}
        first: dict[object, int] = {}
        shape = (
            tuple(mark in others for mark in marks) if others else (),
            tuple((part.rules.entries, part.rules.default, part.rules.dialect) for part in parts),
            # Which lines come of one rule; rules and places do not count in entries.
            tuple(
                first.setdefault((rule.rule, rule.effect, rule.place), number)
                for number, rule in enumerate(rules)
            ),
        )
        if shape not in self._known:
            found = shadowing(table, known=others, effort=effort, compared=self.compared)
            self._known[shape] = rules, found
            self.tried += len(self._known[shape][1])
        known, standings = self._known[shape]
        here = dict(zip(known, rules, strict=True))
        for one in standings:
            by = tuple(here[because] for because in one.by)
            yield attrs.evolve(one, rule=here[one.rule], by=by)


def _because(entry: Entry, part: Part) -> Because:
    return Because(entry.rule, entry.effect, part.links[0] if part.links else "", entry.place)


# Rules by which no call is decided: proven by deciding without them, in every table.
#
# A rule counts as dead only if it is dead in each table that has it, in every permission mode
# of a session. All rules are tried in the tables of the agents themselves and of the positions
# where chains start. The few that are dead there are tried in the tables of all other chains,
# and then in the tables of the other modes.


_MarkStanding = tuple[Place | None, str]


def standing_findings(
    positions: Positions, most: int | None = None, compared: Known | None = None
) -> Iterator[Finding]:
    """Yield the rules of a project that could be left out, and how many were not decided.

    Args:
        positions: of the project.
        most: how many rules to try, in all its tables; None is no bound.
        compared: what was compared so far, of other projects.

    """
    trials = _Trials(Standings({} if compared is None else compared), most)
    first = _tables(positions)
    for table in first.values():
        trials.take(table, _marks_of(table))
    dead = {mark for mark, some in trials.dead.items() if _is_told(positions, some)}
    for key, table in _of_chains(positions).items() if dead else ():
        if key not in first:
            trials.take(table, dead & _marks_of(table))
    for mode in positions.modes:
        dead &= trials.dead.keys()
        for table in _once_more(mode) if dead else ():
            trials.take(table, dead & _marks_of(table))
    left = trials.dead
    for mark, standings in left.items():
        if _is_told(positions, standings) and not _is_kept(mark, left):
            yield _finding(positions, standings)
    written = {m: why for m, why in trials.open.items() if _is_written(positions, m[0])}
    live = trials.live
    yield from _undecided({mark: why for mark, why in written.items() if mark not in live})


@attrs.define
class _Trials:
    """What was found of rules so far, table by table.

    Attributes:
        standings: what serves all tables.
        most: how many rules to try, in all of them; None is no bound.
        found: each rule that was tried, with what became of it in each table.
        open: those of which that is not known of all tables, and why.

    """

    standings: Standings
    most: int | None
    found: dict[_MarkStanding, list[RuleStanding]] = attrs.field(factory=dict)
    open: dict[_MarkStanding, tuple[str, ...]] = attrs.field(factory=dict)
    _effort: Effort = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._effort = Effort()

    def take(self, table: Table, marks: set[_MarkStanding]) -> None:
        """Try some rules of a table."""
        if self.most is not None and self.standings.tried + len(marks) > self.most:
            self.open.update(dict.fromkeys(marks, (_TOO_MANY,)))
            return
        for separate in separated(table) if marks else ():
            for standing in self.standings.of(separate, self._effort, only=marks):
                mark = (standing.rule.place, standing.rule.rule)
                self.found.setdefault(mark, []).append(standing)
                if standing.what == "undecided":
                    self.open[mark] = standing.why

    @property
    def live(self) -> set[_MarkStanding]:
        """The rules that some call of some table needs."""
        return {m for m, some in self.found.items() if any(s.what == "live" for s in some)}

    @property
    def dead(self) -> dict[_MarkStanding, list[RuleStanding]]:
        """The rules that no call needs in any table that was tried."""
        out = self.live | self.open.keys()
        return {mark: standings for mark, standings in self.found.items() if mark not in out}


def _is_written(positions: Positions, place: Place | None) -> bool:
    """Return whether somebody wrote what is at *place*: agents of the host itself have no file."""
    return place is not None and positions.source(place.file) is not None


_TOO_MANY: Final = "there are more than are tried at once"


def _undecided(rules: dict[_MarkStanding, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield, for each file, how many rules of it may matter or not, and why that is open."""
    totals: Counter[str] = Counter()
    why: dict[str, dict[str, None]] = {}
    for (place, _), reasons in rules.items():
        if place is not None:
            totals[place.file] += 1
            why.setdefault(place.file, {}).update(dict.fromkeys(reasons))
    for file, total in sorted(totals.items()):
        what = "a rule matters" if total == 1 else f"{total:,} rules matter"
        yield Finding(
            "rules-not-compared",
            f"whether {what} is not decided: {'; '.join(why[file])}",
            Severity.NOTE,
            file=file,
        )


def _tables(positions: Positions) -> dict[object, Table]:
    """Return the tables that say what each rule is there for, each once."""
    project = positions.project
    starts = [project.enforced.start(agent).table for agent in project.starts]
    declared = [entry.declared for entry in project.agents.values()]
    return _once([*starts, *declared])


def _of_chains(positions: Positions) -> dict[object, Table]:
    """Return the tables of all chains, each once."""
    return _once(chain.table for chain in positions.chains)


def _once_more(mode: Positions) -> Iterable[Table]:
    """Return the tables of the project in another mode, each once."""
    return {**_tables(mode), **_of_chains(mode)}.values()


def _once(tables: Iterable[Table]) -> dict[object, Table]:
    found: dict[object, Table] = {}
    for table in tables:
        found.setdefault(tuple(part.rules.interned for part in table.use.parts), table)
    return found


def _marks_of(table: Table) -> set[_MarkStanding]:
    """Return the rules that somebody wrote and a table has lines of."""
    entries = (entry for part in table.use.parts for entry in part.rules.entries)
    return {(entry.place, entry.rule) for entry in entries if entry.place is not None}


def _marks(standings: list[RuleStanding]) -> set[_MarkStanding]:
    """Return the rules that cover one, in every table that has it."""
    return set[_MarkStanding].intersection(
        *({(b.place, b.rule) for b in one.by} for one in standings)
    )


def _is_kept(mark: _MarkStanding, dead: dict[_MarkStanding, list[RuleStanding]]) -> bool:
    """Return whether the rule is the first of several that say the same: one must stay."""
    covers = _marks(dead[mark])
    alike = [other for other in covers if other in dead and mark in _marks(dead[other])]
    # Where a wider rule covers them all, none must.
    return len(alike) == len(covers) > 0 and all(_before(mark[0], other[0]) for other in alike)


def _before(one: Place | None, other: Place | None) -> bool:
    return one is not None and other is not None and one < other


def _is_told(positions: Positions, standings: list[RuleStanding]) -> bool:
    """Return whether a dead rule is worth telling: one that denies may well be a second lock."""
    rule = standings[0].rule
    span = positions.span(rule)
    if span is None or rule.rule not in span.text:
        return False  # the host's words for something that is not written as a rule
    shadowed = all(one.what == "shadowed" for one in standings)
    return shadowed or rule.effect is Effect.ALLOW or bool(_marks(standings))


def _finding(positions: Positions, standings: list[RuleStanding]) -> Finding:
    one = next((s for s in standings if s.what == "redundant"), standings[0])
    rule, span = one.rule, positions.span(one.rule)
    by = next(iter(one.by), None)
    files = {found.place.file for found in (rule, by) if found and found.place is not None}
    same = by is not None and by.place is not None and len(files) == 1
    cover = f"; `{by.rule}`{f' at {by.place}' if by.place else ''} covers it" if by else ""
    cover = cover or _without(one)
    if one.what == "shadowed":
        code, said = "shadowed-rule", "decides nothing: every call it matches is decided before it"
    else:
        code, said = "redundant-rule", "adds nothing: without it every call is decided alike"
    return Finding(
        code,
        f"`{rule.rule}` {said}{cover}",
        Severity.WARNING if one.what == "shadowed" else Severity.NOTE,
        span,
        file=rule.place.file if rule.place else "",
        help="take it out, or mend what it was meant to say",
        # A rule of another file may be there for others, or be gone tomorrow.
        edits=_removal(span) if span is not None and same else (),
    )


def _without(standing: RuleStanding) -> str:
    """Return what a call gets without a rule that no other alone covers, "" if none is at hand."""
    if standing.without is None:
        return ""
    shown, decision = standing.without.shown, standing.without.decision
    others = dict.fromkeys(f"`{one.rule}`" for one in decision.because)
    why = f"by {' and '.join(others)}" if others else "where no rule speaks of it"
    text = visible(", ".join(map(str, shown.call.values())))
    return f"; `{shown.tool}({text})` gets {decision.effect} {why}"


def _removal(span: Span) -> tuple[Edit, ...]:
    """Return what takes an item out of a list that commas separate; nothing where it is alone."""
    text = span.source.text
    after = len(text) - len(text[span.end :].lstrip(" \t\r\n"))
    if text[after : after + 1] == ",":
        rest = text[after + 1 :]
        following = after + 1 + len(rest) - len(rest.lstrip(" \t\r\n"))
        if text[following : following + 1] not in ("", "]", "#", "/"):
            return (Edit(span.source.span(span.start, following), ""),)
    before = len(text[: span.start].rstrip(" \t\r\n"))
    if text[before - 1 : before] == ",":
        return (Edit(span.source.span(before - 1, span.end), ""),)
    return ()
