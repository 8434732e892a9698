"""Rules by which no call is decided: proven by deciding without them, in every table.

A rule counts as dead only if it is dead in each table that has it, in every permission mode of
a session (`policy.compare.dead_rules`). All rules are tried in the tables of the agents
themselves and of the positions where chains start. The few that are dead there are tried in the
tables of all other chains, and then in the tables of the other modes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from policy.analysis.lint.checks import Positions, find
from policy.analysis.reach.worklist import is_met_alike
from policy.compare.compare import Known
from policy.compare.dead_rules import Effort, RuleStanding, shadowing
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.progress import steps
from policy.core.source import Place, visible
from policy.core.values import define, field
from policy.files.text import removal
from policy.patterns.pattern import is_glob
from policy.tables.chain import Chain
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import RuleSet
from policy.tables.table import Table

__all__ = ["TriedRules", "dead_rule_findings"]

# A rule: where it stands, and its text.
_Mark = tuple[Place | None, str]


class TriedRules:
    """What was found of rules so far, in the tables of any project.

    Attributes:
        compared: what was compared.
        standings: the standing of a rule, by its key in a table (`keys`).

    """

    def __init__(self) -> None:
        self.compared: Known = {}
        self.standings: dict[object, RuleStanding] = {}
        # What rule sets say of some tools, by number; each with the set, whose identity counts.
        self._said: dict[object, tuple[RuleSet, int | None]] = {}
        self._numbers: dict[object, int] = {}

    def keys(self, table: Table, marks: set[_Mark]) -> dict[_Mark, object]:
        """Return what tables have in common where a rule has one standing, for some rules.

        That is what their rule sets say of the tools that the rule is about.
        """
        sets = [part.rules.interned for part in table.use.parts]
        tools: dict[_Mark, set[str]] = {}
        for rules in sets:
            for entry in rules.entries:
                if (mark := (entry.place, entry.rule)) in marks:
                    tools.setdefault(mark, set()).add(rules.dialect.canonical(entry.tool))
        about = {mark: _about(sets[0].dialect, named) for mark, named in tools.items()}
        return {
            mark: (mark, frozenset(self._number(rules, some) for rules in sets) - {None})
            for mark, some in about.items()
        }

    def _number(self, rules: RuleSet, tools: frozenset[str]) -> int | None:
        """Return a number for what a rule set says of *tools*; None where it allows all calls."""
        known = self._said.get((id(rules), tools))
        if known is None:
            rows = [rules.row(tool).constant for tool in tools if not is_glob(tool)]
            lines = [rules.entries] if "*" in tools else map(rules.lines, sorted(tools))
            said = tuple((e, e.rule, e.place) for some in lines for e in some)
            what = said, rules.default, rules.default_reason, id(rules.dialect)
            allows = all(row is not None and row.effect is Effect.ALLOW for row in rows)
            number = None if rows and allows else self._numbers.setdefault(what, len(self._numbers))
            known = self._said[id(rules), tools] = rules, number
        return known[1]


def _about(dialect: Dialect, tools: set[str]) -> frozenset[str]:
    """Return the tools whose lines tell the standing of a rule that is about *tools*.

    Commands open files, by rules for other tools. ``*`` is every tool.
    """
    if dialect.fold_names or dialect.loose or any(map(is_glob, tools)):
        return frozenset({"*"})
    commands = {tool for tool, one in dialect.arguments.items() if one.kind in _COMMANDS}
    opening = commands.union(dialect.shell.files.opening)
    return frozenset(tools if opening.isdisjoint(tools) else opening | tools)


_COMMANDS: Final = (ArgumentKind.COMMAND, ArgumentKind.POWERSHELL)


def dead_rule_findings(
    positions: Positions, most: int | None = None, tried: TriedRules | None = None
) -> Iterator[Finding]:
    """Yield the rules of a project that could be left out, and how many were not decided.

    Args:
        positions: of the project.
        most: how many rules to try, in all its tables; None is no bound.
        tried: what was found so far, of other projects.

    """
    trials = _Trials(tried or TriedRules(), most, Effort())
    first = _tables(positions)
    for table in steps(first.values(), "looking for rules that decide nothing"):
        trials.take(table, _marks_of(table) - trials.live)  # one call of one table is enough
    dead = {mark for mark, some in trials.dead.items() if _is_reported(positions, some)}
    for key, table in _chain_tables(positions).items() if dead else ():
        if key not in first:
            trials.take(table, dead & _marks_of(table))
    yield from _of_other_modes(positions, trials, dead & trials.dead.keys())
    left = trials.dead
    for mark, standings in left.items():
        if _is_reported(positions, standings) and not _is_kept(mark, left):
            yield _finding(positions, standings)
    yield from _not_handed_on(positions, trials)
    yield from _undecided(
        {
            (place, rule): why
            for (place, rule), why in trials.open.items()
            # Rules of the host itself are written in no file.
            if place is not None and positions.source(place.file)
            if (place, rule) not in trials.live
        }
    )


def _of_other_modes(positions: Positions, trials: _Trials, dead: set[_Mark]) -> Iterator[Finding]:
    """Try rules that are dead in the mode of the files in each other mode; yield those of these."""
    here = {mark: trials.found[mark] for mark in dead}
    needed: dict[_Mark, dict[str, None]] = {}
    for mode in positions.modes:
        for table in {**_tables(mode), **_chain_tables(mode)}.values() if dead else ():
            for mark in trials.take(table, dead & _marks_of(table)):
                needed.setdefault(mark, {})[mode.project.mode] = None
    for mark, modes in needed.items():
        others = ", ".join(f"`{mode}`" for mode in modes if mode)
        if others and _is_reported(positions, here[mark]):
            rule, mode_ = here[mark][0].rule, positions.project.mode
            yield positions.finding("rule-of-other-modes", rule, mode=mode_, others=others)


def _not_handed_on(positions: Positions, alone: _Trials) -> Iterator[Finding]:
    """Yield the rules that grant something alone, and nothing in any chain that has them.

    So it is where the agents above may not hand it on, and where both readings meet the rules
    of all agents.
    """
    project = positions.project
    if not is_met_alike(project.attenuated, project.enforced):
        return
    started = [e.declared for name, e in project.agents.items() if name not in project.all_starts]
    granting = {
        mark
        for mark in alone.live & {mark for table in started for mark in _marks_of(table)}
        if alone.found[mark][0].rule.effect is not Effect.DENY
    }
    chains = _Trials(alone.tried, alone.most, alone.effort)
    by: dict[_Mark, Chain] = {}
    for chain in (each for each in positions.chains if granting and len(each.names) > 1):
        marks = granting & _marks_of(chain.table)
        by = dict.fromkeys(marks, chain) | by
        chains.take(chain.table, marks)
    for mark, standings in chains.dead.items():
        if _is_reported(positions, standings):
            above = _withholding(by[mark], alone.found[mark][0])
            yield positions.finding("not-handed-on", standings[0].rule, above=above)


def _withholding(chain: Chain, standing: RuleStanding) -> str:
    """Return the agent of *chain* that does not grant what a rule of its last one does."""
    shown = standing.witness
    links = chain.table.decide(shown.tool, shown.call).links if shown else ()
    return (links or chain.names)[0]


@define
class _Trials:
    """What was found of rules so far, table by table.

    Attributes:
        tried: what was found of them in any project.
        most: how many rules to try, in all of them; None is no bound.
        effort: how many lines may still be compared.
        found: each rule that was tried, with what became of it in each table.
        open: those of which that is not known of all tables, and why.
        live: those that some call of some table needs.

    """

    tried: TriedRules
    most: int | None
    effort: Effort
    found: dict[_Mark, list[RuleStanding]] = field(factory=dict)
    open: dict[_Mark, tuple[str, ...]] = field(factory=dict)
    live: set[_Mark] = field(factory=set)

    def take(self, table: Table, marks: set[_Mark]) -> set[_Mark]:
        """Try some rules of a table, and return those that a call of it needs."""
        if not marks:
            return set()
        if self.most is not None and len(self.found.keys() | marks) > self.most:
            self.open.update(dict.fromkeys(marks, (_TOO_MANY,)))
            return set()
        live = set()
        for mark, standing in self._standings(table, marks).items():
            self.found.setdefault(mark, []).append(standing)
            if standing.what == "undecided":
                self.open[mark] = standing.why
            elif standing.what == "live":
                live.add(mark)
        self.live |= live
        return live

    def _standings(self, table: Table, marks: set[_Mark]) -> dict[_Mark, RuleStanding]:
        keys, known = self.tried.keys(table, marks), self.tried.standings
        found = {mark: known[key] for mark, key in keys.items() if key in known}
        others = _marks_of(table) - (keys.keys() - found.keys())
        compared = self.tried.compared
        for one in shadowing(table, known=others, effort=self.effort, compared=compared):
            mark = (one.rule.place, one.rule.rule)
            found[mark] = one
            if one.what != "undecided":  # with more effort it may be decided
                known[keys[mark]] = one
        return found

    @property
    def dead(self) -> dict[_Mark, list[RuleStanding]]:
        """The rules that no call needs in any table that was tried."""
        out = self.live | self.open.keys()
        return {mark: standings for mark, standings in self.found.items() if mark not in out}


_TOO_MANY: Final = "there are more than are tried at once"


def _undecided(rules: dict[_Mark, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield, for each file, how many rules of it may matter or not, and why that is open."""
    totals: Counter[str] = Counter()
    why: dict[str, dict[str, None]] = {}
    for (place, _), reasons in rules.items():
        if place is not None:
            totals[place.file] += 1
            why.setdefault(place.file, {}).update(dict.fromkeys(reasons))
    for file, total in sorted(totals.items()):
        what = "a rule matters" if total == 1 else f"{total:,} rules matter"
        yield find("rules-not-compared", file=file, what=what, why="; ".join(why[file]))


def _tables(positions: Positions) -> dict[object, Table]:
    """Return the tables of agents alone and where chains start, each once."""
    project = positions.project
    starts = [project.enforced.start(agent).table for agent in project.starts]
    return _once([*starts, *(entry.declared for entry in project.agents.values())])


def _chain_tables(positions: Positions) -> dict[object, Table]:
    return _once(chain.table for chain in positions.chains)


def _once(tables: Iterable[Table]) -> dict[object, Table]:
    found: dict[object, Table] = {}
    for table in tables:
        found.setdefault(tuple(part.rules.interned for part in table.use.parts), table)
    return found


def _marks_of(table: Table) -> set[_Mark]:
    """Return the written rules that a table has lines of."""
    entries = (entry for part in table.use.parts for entry in part.rules.entries)
    return {(entry.place, entry.rule) for entry in entries if entry.place is not None}


def _covering(standings: list[RuleStanding]) -> set[_Mark]:
    """Return the rules that cover a rule in every table that has it."""
    return set[_Mark].intersection(*({(b.place, b.rule) for b in one.by} for one in standings))


def _is_kept(mark: _Mark, dead: dict[_Mark, list[RuleStanding]]) -> bool:
    """Return whether the rule is the first of several that say the same: one must stay."""
    covers = _covering(dead[mark])
    alike = [other for other in covers if other in dead and mark in _covering(dead[other])]
    # Where a wider rule covers them all, none must.
    return len(alike) == len(covers) > 0 and all(mark[0] and at and mark[0] < at for at, _ in alike)


def _is_reported(positions: Positions, standings: list[RuleStanding]) -> bool:
    """Return whether a dead rule is reported: one that denies may well be a second lock."""
    rule = standings[0].rule
    span = positions.span(rule)
    if span is None or rule.rule not in span.text:
        return False  # the host's words for something that is not written as a rule
    shadowed = all(one.what == "shadowed" for one in standings)
    return shadowed or rule.effect is Effect.ALLOW or bool(_covering(standings))


def _finding(positions: Positions, standings: list[RuleStanding]) -> Finding:
    one = next((s for s in standings if s.what == "redundant"), standings[0])
    rule, span = one.rule, positions.span(one.rule)
    by = next(iter(one.by), None)
    files = {found.place.file for found in (rule, by) if found and found.place is not None}
    same = by is not None and by.place is not None and len(files) == 1
    cover = f"; `{by.rule}`{f' at {by.place}' if by.place else ''} covers it" if by else ""
    cover = cover or _without(one)
    code = "shadowed-rule" if one.what == "shadowed" else "redundant-rule"
    # A rule of another file may be there for others, or be gone tomorrow.
    edits = removal(span) if span is not None and same else ()
    file = rule.place.file if rule.place else ""
    return find(code, span, file=file, rule=rule.rule, cover=cover, edits=edits)


def _without(standing: RuleStanding) -> str:
    """Return what a call gets without a rule that no other alone covers, "" if none is at hand."""
    if standing.without is None:
        return ""
    shown, decision = standing.without.shown, standing.without.decision
    others = dict.fromkeys(f"`{one.rule}`" for one in decision.because)
    why = f"by {' and '.join(others)}" if others else "where no rule applies to it"
    text = visible(", ".join(map(str, shown.call.values())))
    return f"; `{shown.tool}({text})` gets {decision.effect} {why}"
