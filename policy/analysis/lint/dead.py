"""Rules by which no call is decided: proven by deciding without them, in every table.

A rule counts as dead only if it is dead in each table that has it, in every permission mode of
a session (`policy.compare.dead_rules`). All rules are tried in the tables of the agents
themselves and of the positions where chains start. The few that are dead there are tried in the
tables of all other chains, and then in the tables of the other modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from policy.analysis.lint.checks import Positions, find
from policy.analysis.reach.worklist import meet_equal_tables
from policy.compare.compare import Known
from policy.compare.dead_rules import (
    Effort,
    Mark,
    RuleInTable,
    RuleStanding,
    Trials,
    written_lines,
    written_rules,
)
from policy.core.decision import Decision, Reason
from policy.core.effect import VERBS, Effect
from policy.core.finding import Finding
from policy.core.progress import steps
from policy.core.source import Place, visible
from policy.core.values import evolve
from policy.files.text import removal
from policy.patterns.pattern import is_glob
from policy.tables.chain import Chain
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table


class TriedRules:
    """What was found of rules so far, in the tables of any project; equal rules are tried once."""

    def __init__(self) -> None:
        self._compared: Known = {}
        # The standing of a rule, by its key in a table.
        self._standings: dict[object, RuleStanding] = {}
        # What a rule set says of some tools, as a number; the places of its rules as numbers; and
        # whether it allows all calls. All sets are alive in `_compared`: their identity counts.
        self._contents: dict[object, tuple[int, Mapping[Place | None, int], bool]] = {}
        self._numbers: dict[object, int] = {}

    def marks(self, table: Table, among: set[Mark] | None = None) -> dict[Mark, tuple[int, ...]]:
        """Return the rules in files of a table, each with the identities of its rule sets."""
        found: dict[Mark, tuple[int, ...]] = {}
        for rules in dict.fromkeys(part.rules.interned for part in table.use.parts):
            lines = written_lines(rules, self._compared)
            for mark in lines if among is None else lines.keys() & among:
                found[mark] = (*found.get(mark, ()), id(rules))
        return found

    def standings(self, table: Table, marks: set[Mark], effort: Effort) -> dict[Mark, RuleStanding]:
        """Return the standing of some rules of a table, such as live or shadowed."""
        trials = Trials(table, effort, self._compared)
        rules: dict[Mark, list[RuleInTable]] = {}
        for rule in written_rules(trials.parts, marks, self._compared):
            rules.setdefault((rule.because.place, rule.because.rule), []).append(rule)
        found: dict[Mark, RuleStanding] = {}
        for mark, some in rules.items():
            tried: list[RuleStanding] = []
            for rule in reversed(some):  # one that denies may ask for something too
                tried.append(self._standing(trials, rule))
                if tried[-1].is_live:
                    break
            found[mark] = min(tried, key=lambda one: _COUNTS.index(one.is_live))
        return found

    def _standing(self, trials: Trials, rule: RuleInTable) -> RuleStanding:
        key = self.key(trials.parts, rule)
        if key in self._standings:
            covering = partial(trials.covering, rule)
            return evolve(self._standings[key], rule=rule.because, covering=covering)
        found = trials.standing(rule)
        if found.is_live is not None:  # with more effort it may be decided
            self._standings[key] = found
        return found

    def key(self, parts: Sequence[LinkedRules], rule: RuleInTable) -> object:
        """Return a key of a rule: with equal keys it has the same standing in both tables."""
        dialect = parts[0].rules.dialect
        tools = {dialect.canonical(e.tool) for some in rule.lists.values() for e in some}
        about, place, found = _about(dialect, tools), rule.because.place, set[object]()
        for part in parts:
            number, places, allows = self._content(part.rules, about)
            if not allows or place in places:
                found.add((number, places.get(place)))
        return rule.because.rule, rule.because.effect, frozenset(found)

    def _content(
        self, rules: RuleSet, tools: frozenset[str]
    ) -> tuple[int, Mapping[Place | None, int], bool]:
        """Return what *rules* say of *tools*, as `_contents` has it."""
        key = id(rules), tools
        if key not in self._contents:
            rows = [rules.row(tool).constant for tool in tools if not is_glob(tool)]
            lines = [rules.entries] if "*" in tools else map(rules.lines, sorted(tools))
            places: dict[Place | None, int] = {None: 0}
            content = tuple(
                (_IN_WORDS(entry), places.setdefault(entry.place, len(places)))
                for each in lines
                for entry in each
            )
            what = content, rules.default, rules.default_reason, id(rules.dialect)
            allows = all(row is not None and row.effect is Effect.ALLOW for row in rows)
            number = self._numbers.setdefault(what, len(self._numbers))
            self._contents[key] = number, places, bool(rows) and allows
        return self._contents[key]


def _about(dialect: Dialect, tools: set[str]) -> frozenset[str]:
    """Return the tools that matter to a rule about *tools*: commands open files. ``*`` is all."""
    if dialect.fold_names or dialect.loose or any(map(is_glob, tools)):
        return frozenset({"*"})
    commands = {tool for tool, one in dialect.arguments.items() if one.kind in _COMMANDS}
    opening = commands.union(dialect.shell.files.opening)
    return frozenset(tools if opening.isdisjoint(tools) else opening | tools)


# The attributes of an entry without its place.
_IN_WORDS: Final = attrgetter("tool", "effect", "pattern", "field", "reason", "rule", "form")
# What counts of several rules of one text, the first first: all of it must be dead.
_COUNTS: Final = (True, None, False)
_COMMANDS: Final = (ArgumentKind.COMMAND, ArgumentKind.POWERSHELL)


class _Trials:
    """What was found of rules so far, table by table, of one project."""

    def __init__(self, tried: TriedRules, most: int | None, effort: Effort) -> None:
        self.tried, self.most, self.effort = tried, most, effort
        # Each rule that was tried, with what became of it in each table.
        self.found: dict[Mark, list[RuleStanding]] = {}
        self.open: dict[Mark, tuple[str, ...]] = {}  # where that is not known, and why
        self.live: set[Mark] = set()  # those that some call of some table needs
        # Rules that are dead where these rule sets alone apply, and so in each table with them.
        self._idle: set[tuple[Mark, tuple[int, ...]]] = set()

    def take(self, table: Table, among: set[Mark]) -> set[Mark]:
        """Try the rules of a table that are *among* some; return those that decide a call in it."""
        lists = self.tried.marks(table, among)
        marks = {mark for mark, sets in lists.items() if (mark, sets) not in self._idle}
        if self.most is not None and len(self.found.keys() | marks) > self.most:
            self.open |= dict.fromkeys(marks, ("there are more than are tried at once",))
            return set()
        live = set()
        for mark, standing in self.tried.standings(table, marks, self.effort).items():
            self.found.setdefault(mark, []).append(standing)
            if standing.is_live is None:
                self.open[mark] = standing.why
            elif standing.is_live:
                live.add(mark)
        self.live |= live
        return live

    def not_alone(self, tables: Iterable[Table], among: set[Mark]) -> set[Mark]:
        """Return those of *among* that are not dead where only the rule sets that have them apply.

        The others are dead in each table with these rule sets: a meet with more changes nothing.
        """
        left = set()
        for table in tables:
            for mark, sets in self.tried.marks(table, among).items() - self._idle:
                own = (part for part in table.use.parts if id(part.rules.interned) in sets)
                found = self.tried.standings(Table(Ceiling.of(own)), {mark}, self.effort)[mark]
                if found.is_live is False:
                    self.found[mark].append(found)
                    self._idle.add((mark, sets))
                else:
                    left.add(mark)
        return left

    @property
    def dead(self) -> dict[Mark, list[RuleStanding]]:
        """The rules that no call needs in any table that was tried."""
        out = self.live | self.open.keys()
        return {mark: standings for mark, standings in self.found.items() if mark not in out}


def dead_rule_findings(
    positions: Positions, most: int | None = None, tried: TriedRules | None = None
) -> Iterator[Finding]:
    """Yield the rules of a project that could be left out, and how many were not decided.

    *most* is the number of rules to try, in all tables; *tried* has the results of other projects.
    """
    trials = _Trials(tried or TriedRules(), most, Effort())
    first = _tables(positions, chains=False)
    for table in steps(first.values(), "looking for rules that decide nothing"):
        # One call of one table is enough.
        trials.take(table, trials.tried.marks(table).keys() - trials.live)
    dead = {mark for mark, some in trials.dead.items() if _is_reported(positions, some)}
    trials.not_alone(first.values(), dead)  # so that these are not tried again
    for key, table in _tables(positions, chains=True).items() if dead else ():
        if key not in first:
            trials.take(table, dead)
    yield from _of_other_modes(positions, trials, dead & trials.dead.keys())
    left = trials.dead
    for mark, standings in left.items():
        if _is_reported(positions, standings) and not _is_kept(mark, left):
            yield _finding(positions, standings)
    yield from _not_handed_on(positions, trials)
    # For each file, how many of its rules may matter or not; those of a host are in no file.
    why: dict[str, list[tuple[str, ...]]] = {}
    for mark, reasons in trials.open.items():
        place, _ = mark
        if mark not in trials.live and place is not None and positions.source(place.file):
            why.setdefault(place.file, []).append(reasons)
    for file, all_reasons in sorted(why.items()):
        total, told = len(all_reasons), dict.fromkeys(each for some in all_reasons for each in some)
        what = "a rule decides" if total == 1 else f"{total:,} rules decide"
        yield find("rules-not-compared", file=file, what=what, why="; ".join(told))


def _of_other_modes(positions: Positions, trials: _Trials, dead: set[Mark]) -> Iterator[Finding]:
    """Try *dead* rules in each other permission mode; yield those that decide a call in one.

    Chains matter only to rules that are not dead in their own lists alone: behind its start, a
    chain has the lists of an agent and those of settings in some mode, as the starts have them.
    """
    rules = {mark: trials.found[mark][0].rule for mark in dead}
    needed: dict[Mark, dict[str, None]] = {}
    for project in positions.project.modes.values() if dead else ():
        mode = Positions(project, positions.source)
        left = trials.not_alone(_tables(mode, chains=False).values(), dead)
        for table in _tables(mode, chains=True).values() if left else ():
            for mark in trials.take(table, left):
                needed.setdefault(mark, {})[project.mode] = None
    for mark, modes in needed.items():
        others = ", ".join(f"`{mode}`" for mode in modes if mode)
        if others:
            words = {"mode": positions.project.mode, "others": others}
            yield positions.finding("rule-of-other-modes", rules[mark], **words)


def _not_handed_on(positions: Positions, alone: _Trials) -> Iterator[Finding]:
    """Yield the rules that grant a call to their agent alone, but to no chain that has them.

    The agents above may not hand it on, and both readings meet the rules of all agents.
    """
    project = positions.project
    if not meet_equal_tables(project.attenuated, project.enforced):
        return
    started = [e.declared for name, e in project.agents.items() if name not in project.all_starts]
    theirs = set[Mark]().union(*map(alone.tried.marks, started))
    granting = {
        mark for mark in alone.live & theirs if alone.found[mark][0].rule.effect is not Effect.DENY
    }
    chains = _Trials(alone.tried, alone.most, alone.effort)
    by: dict[Mark, Chain] = {}
    below = [chain for chain in positions.chains if granting and len(chain.names) > 1]
    for chain in steps(below, "looking for rules that are not handed on"):
        by = dict.fromkeys(alone.tried.marks(chain.table, granting), chain) | by
        chains.take(chain.table, granting)
    for mark, standings in chains.dead.items():
        if _is_reported(positions, standings):
            shown, chain = alone.found[mark][0].witness, by[mark]
            denial = _denial(chain.table, *shown) if shown else None
            links = denial.links if denial is not None else ()
            words = {"case": "above", "above": (*links, *chain.names)[0]}
            if denial is not None and denial.reason is Reason.DEPTH and denial.because:
                words |= {"case": "depth", "limit": denial.because[0].rule}
            yield positions.finding("not-handed-on", standings[0].rule, **words)


def _denial(table: Table, tool: str, call: Mapping[str, object]) -> Decision | None:
    """Return why a table denies a call; the limit of depth alone where no agent above denies it."""
    decisions = (Table(Ceiling.of([part])).decide(tool, call) for part in table.use.parts)
    denials = [one for one in decisions if one.effect is Effect.DENY]
    return min(denials, key=lambda one: one.reason is Reason.DEPTH, default=None)


def _tables(positions: Positions, *, chains: bool) -> dict[object, Table]:
    """Return the tables of agents alone and where chains start, or of all chains too, each once."""
    project = positions.project
    tables = [project.enforced.start(agent).table for agent in project.starts]
    tables += (entry.declared for entry in project.agents.values())
    if chains:
        tables += (chain.table for chain in positions.chains)
    found: dict[object, Table] = {}
    for table in tables:  # of equal ones the first, so that where chains start is always tried
        found.setdefault(tuple(part.rules.interned for part in table.use.parts), table)
    return found


def _covering(standings: Iterable[RuleStanding]) -> set[Mark]:
    """Return the rules that cover a rule in every table that has it."""
    return set[Mark].intersection(*({(b.place, b.rule) for b in one.by} for one in standings))


def _is_kept(mark: Mark, dead: dict[Mark, list[RuleStanding]]) -> bool:
    """Return whether the rule is the first of several equivalent ones, of which one must stay."""
    covers = _covering(dead[mark])
    alike = [other for other in covers if other in dead and mark in _covering(dead[other])]
    # Where a wider rule covers them all, none must.
    return len(alike) == len(covers) > 0 and all(mark[0] and at and mark[0] < at for at, _ in alike)


def _is_reported(positions: Positions, standings: list[RuleStanding]) -> bool:
    """Return whether a dead rule is reported: one that denies may well be a second lock."""
    rule = standings[0].rule
    span = positions.span(rule.place, rule.rule)
    if span is None or rule.rule not in span.text:
        return False  # the host's words for something that is not written as a rule
    if rule.effect is Effect.ALLOW or _covering(standings):
        return True
    return all(one.what == "shadowed" for one in standings)


def _finding(positions: Positions, standings: list[RuleStanding]) -> Finding:
    one = next((s for s in standings if s.what == "redundant"), standings[0])
    rule, by, without, cover = one.rule, next(iter(one.by), None), one.without, ""
    if by is not None:
        cover = f"; `{by.rule}`{f' at {by.place}' if by.place else ''} covers it"
    elif without is not None:
        # What a call gets without a rule that no other alone covers.
        others = dict.fromkeys(f"`{each.rule}`" for each in without.after.because)
        why = f"by {' and '.join(others)}" if others else "where no rule applies"
        call = f"{without.tool}({', '.join(map(str, without.call.values()))})"
        cover = f"; `{visible(call)}` is then {VERBS[without.after.effect]} {why}"
    # A rule of another file may be there for others, or be gone tomorrow.
    span, same = positions.span(rule.place, rule.rule), False
    if by is not None and by.place is not None and rule.place is not None:
        same = by.place.file == rule.place.file
    code = "shadowed-rule" if one.what == "shadowed" else "redundant-rule"
    edits = removal(span) if span is not None and same else ()
    return positions.finding(code, rule, cover=cover, edits=edits)
