"""Which rules of a table decide anything, and which only because of their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import Final

from policy.commands.parts import Command, CommandPart
from policy.commands.reader import read_command
from policy.compare.compare import Comparison, Difference, Known, compare_until
from policy.compare.deduplicate import is_idle
from policy.compare.overlap import ToolLines, contains, glob_pattern
from policy.compare.tables import differences
from policy.compare.witness import Call, CallShape
from policy.core import limits
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import define, evolve, frozen
from policy.patterns.notations import is_glob, names
from policy.patterns.pattern import Pattern, freeze
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.lookup import Lookup
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table

__all__ = [
    "Effort",
    "MinimalTable",
    "OrderedRule",
    "RuleInTable",
    "RuleStanding",
    "Shown",
    "Trials",
    "Without",
    "because_of",
    "covering",
    "is_one_text",
    "is_opened",
    "key_of",
    "may_meet",
    "minimise",
    "opens_otherwise",
    "placed",
    "replaced",
    "shadowing",
    "together",
    "written_rules",
]


@frozen
class RuleInTable:
    """A rule as somebody wrote it: several lines may come of it, of several lists.

    What denies bounds what an agent may use and what it may hand on; and lists of one agent
    are lists of those that it starts.

    Attributes:
        lists: its lines, by the number of the part that has them.
        because: the rule, as the first of these parts has it.

    """

    lists: Mapping[int, tuple[Entry, ...]]
    because: Because

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its lines, of all lists."""
        return tuple(dict.fromkeys(entry for lines in self.lists.values() for entry in lines))


def key_of(entry: Entry) -> object:
    """Return what the lines have in common that come of one rule."""
    return entry.rule, entry.effect, entry.place


def written_rules(parts: Sequence[LinkedRules]) -> Iterator[RuleInTable]:
    """Yield the rules that somebody wrote, in order."""
    rules: dict[object, dict[int, list[Entry]]] = {}
    for number, part in enumerate(parts):
        for entry in part.rules.entries:
            if entry.place is not None:
                rules.setdefault(key_of(entry), {}).setdefault(number, []).append(entry)
    for lists in rules.values():
        number, entries = next(iter(lists.items()))
        lines = {part: tuple(some) for part, some in lists.items()}
        yield RuleInTable(lines, because_of(entries[0], parts[number]))


def because_of(entry: Entry, part: LinkedRules) -> Because:
    """Return the rule that a line comes of, as a part has it."""
    link = part.links[0] if part.links else ""
    return Because(entry.rule, entry.effect, link, entry.place)


def replaced(
    kept: Sequence[Sequence[Entry]], rule: RuleInTable, effect: Effect | None
) -> list[list[Entry]]:
    """Return *kept* with another effect of a rule, or without it."""
    key = key_of(rule.entries[0])
    return [
        [
            evolve(entry, effect=effect) if effect is not None and is_rule else entry
            for entry in entries
            if not (is_rule := part in rule.lists and key_of(entry) == key) or effect is not None
        ]
        for part, entries in enumerate(kept)
    ]


# Which lines beside those of a rule have to do with it: what covers it, and what it may meet.


def covering(
    entries: Sequence[Entry],
    wider: Iterable[tuple[Entry, Entry]],
    others: Iterable[Entry],
    part: LinkedRules,
) -> dict[object, Because]:
    """Return the rules that each alone match all that *entries* do, in the order of their lines.

    Args:
        entries: the lines of one rule.
        wider: two by two a line, and one of *entries* all of which it matches.
        others: the lines that *wider* is of, in order.
        part: whose lines these are.

    """
    covered: dict[object, set[Entry]] = {}
    for other, entry in wider:
        covered.setdefault(key_of(other), set()).add(entry)
    wanted = set(entries)
    whole = {key for key, some in covered.items() if some == wanted} - {key_of(entries[0])}
    known: dict[object, Because] = {}
    for other in others if whole else ():
        if (key := key_of(other)) in whole:
            known.setdefault(key, because_of(other, part))
            if len(known) == len(whole):
                break
    return known


def opens_otherwise(before: Lookup, after: Lookup) -> bool:
    """Return whether rules about files may count on one side only, for commands that open some.

    They do not where all commands are allowed and no rule tells any of them apart.
    """
    one, other = (
        Counter(
            (bool(row.entries), row.default.effect)
            for row, _ in lookup.rows
            if row.argument.kind is ArgumentKind.COMMAND
        )
        for lookup in (before, after)
    )
    return one != other


def is_opened(dialect: Dialect, rule: RuleInTable) -> bool:
    """Return whether *rule* may speak of files that a command opens."""
    spoken_of = [names(dialect.canonical(entry.tool)) for entry in rule.entries]
    opening = dialect.shell.files.opening
    return any(pattern.matches(tool) for tool in opening for pattern in spoken_of)


def may_meet(dialect: Dialect, entry: Entry, rule: RuleInTable) -> bool:
    """Return whether *entry* may speak of a tool that *rule* speaks of, by how names start."""
    if dialect.aliases or dialect.fold_names or dialect.loose:
        return True
    start = entry.tool.partition("*")[0]
    starts = [each.tool.partition("*")[0] for each in rule.entries]
    return any(start.startswith(other) or other.startswith(start) for other in starts)


def together(places: Mapping[int, int], *lines: Iterable[Entry]) -> list[Entry]:
    """Return some *lines* of one list, each once, by their *places*."""
    wanted = {id(entry): entry for some in lines for entry in some}
    return sorted(wanted.values(), key=lambda entry: places[id(entry)])


def is_one_text(dialect: Dialect, tool: str, text: str) -> bool:
    """Whether the first line that matches *text* decides, and a call can have that text."""
    argument = dialect.argument(tool)
    match argument.kind:
        case ArgumentKind.COMMAND:
            return read_command(text, dialect.shell) == Command((CommandPart(text),))
        case ArgumentKind.POWERSHELL | ArgumentKind.JSON | ArgumentKind.JOINED:
            return False
        case ArgumentKind.PATH if dialect.links:
            return False
        case _:
            return CallShape(dialect, argument).domain.holds(text)


# What a table says of the calls that one of its rules matches, with and without that rule.
#
# Only lines that may match one of these calls are compared (`policy.compare.overlap`), and for
# most rules one call settles it: one in which a fresh word fills what the rule leaves open.


# What it costs to compare, beside the lines that are put side by side.
_FIXED_COST = 15

# What fills the gaps of a rule in the one call that settles most of them.
_WORD = "q7z"


@frozen
class Shown:
    """A call that a rule speaks of.

    Attributes:
        tool: which tool is called.
        call: its arguments.

    """

    tool: str
    call: Call


@frozen
class Without:
    """What one call of a rule gets once that rule is left out."""

    shown: Shown
    decision: Decision


class Trials:
    """The parts of a table, each of whose rules can be tried.

    Args:
        parts: of the table.
        known: what was compared so far, of this table or others.

    Attributes:
        cost: how many lines were put side by side so far.

    """

    def __init__(self, parts: Sequence[LinkedRules], known: Known | None = None) -> None:
        self._parts = list(parts)
        self._known: Known = {} if known is None else known
        self._lines: dict[str, list[ToolLines]] = {}
        self._gone: list[set[object]] = [set() for _ in parts]
        # Those of each part about files that commands open, once they are asked for.
        self._about_files: list[list[Entry]] | None = None
        self._uniform = len({part.rules.dialect for part in parts}) == 1
        self.cost = 0

    @property
    def parts(self) -> list[LinkedRules]:
        """The parts, with the rules that are left."""
        return [
            LinkedRules(
                _with(part.rules, [e for e in part.rules.entries if key_of(e) not in gone]), links
            )
            if gone
            else part
            for part, gone in zip(self._parts, self._gone, strict=True)
            for links in [part.links]
        ]

    def take_out(self, rule: RuleInTable) -> None:
        """Leave a rule out from now on."""
        for part, entries in rule.lists.items():
            self._gone[part].add(key_of(entries[0]))
            self._about_files = None
            for lines in self._lines.values():
                lines[part].take_out(entries)

    # --- one call

    def shown(self, rule: RuleInTable) -> Shown | None:
        """Return a call that is decided otherwise without *rule*, if the one tried is."""
        for tool, text, lines, others in self._tried(rule):
            before = min(lines[part].effect(text) for part in rule.lists)
            after = min(lines[part].effect(text, some) for part, some in rule.lists.items())
            if before & others is not after & others:
                dialect = self._dialect
                named = frozenset[str]().union(*(each.named for each in lines))
                call = CallShape(dialect, dialect.argument(tool), named=named).call(text)
                if tool not in dialect.inputs or dialect.inputs[tool].takes(call):
                    return Shown(tool, call)
        return None

    def _tried(self, rule: RuleInTable) -> Iterator[tuple[str, str, list[ToolLines], Effect]]:
        """Yield a call for each line of *rule*: tool, text, and what the other parts say."""
        for entry in rule.entries if self._uniform else ():
            if entry.field:
                continue
            tool = freeze(glob_pattern(entry.tool), _WORD) if is_glob(entry.tool) else entry.tool
            text = freeze(entry.pattern, _WORD) if entry.pattern is not None else _WORD
            if is_one_text(self._dialect, tool, text):
                lines = self._of(tool)
                others = (each.effect(text) for n, each in enumerate(lines) if n not in rule.lists)
                yield tool, text, lines, min(others, default=Effect.ALLOW)

    def read_off(self, rule: RuleInTable) -> str:
        """Return what becomes of *rule* where single wider lines tell it, or ""."""
        if not self._is_by_tool(rule.entries) or any(map(_is_of_host, rule.entries)):
            return ""
        found = set()
        for part, entries in rule.lists.items():
            for entry in entries:
                found.add(self._of(entry.tool)[part].standing(entries, entry))
        if found == {"shadowed"}:
            return "shadowed"
        return "redundant" if "" not in found and self.decides(rule) else ""

    def decides(self, rule: RuleInTable) -> bool:
        """Return whether *rule* decides a call that is tried, and that others grant."""
        return any(
            others is not Effect.DENY and lines[part].decides(text, entries)
            for _, text, lines, others in self._tried(rule)
            for part, entries in rule.lists.items()
        )

    def _is_by_tool(self, entries: Iterable[Entry]) -> bool:
        """Return whether all calls that lines speak of are those of the tools they name."""
        if not self._uniform or self._dialect.fold_names or self._dialect.loose:
            return False
        return not any(is_glob(entry.tool) for entry in entries)

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        """Where each line of a part stands, by identity."""
        return [{id(e): n for n, e in enumerate(part.rules.entries)} for part in self._parts]

    @property
    def _dialect(self) -> Dialect:
        return self._parts[0].rules.dialect

    def _of(self, tool: str) -> list[ToolLines]:
        """Return the lines of all parts that speak of *tool*."""
        name = self._parts[0].rules.dialect.canonical(tool)
        found = self._lines.get(name)
        if found is None:
            found = [ToolLines(part.rules, name) for part in self._parts]
            for gone, lines in zip(self._gone, found, strict=True):
                lines.take_out([entry for entry in lines.entries if key_of(entry) in gone])
            self._lines[name] = found
        return found

    # --- all calls

    @property
    def matters(self) -> Callable[[Difference], bool]:
        """Whether a difference is one: calls that cannot be read may never come to a rule."""
        checked = all(part.rules.dialect.checks for part in self._parts)
        return _matters_once_read if checked else _matters

    def changed(self, rule: RuleInTable, effect: Effect | None) -> Comparison:
        """Return how calls are decided differently where *rule* says *effect*, or nothing.

        Of differences that matter, one of those that there are is enough.
        """
        if not self._is_by_tool(rule.entries):
            return self._changed_anywhere(rule, effect)
        found: dict[object, Comparison] = {}
        near = {
            tool: [
                [each.entries[number] for number in each.near(rule.entries)]
                for each in self._of(tool)
            ]
            for tool in dict.fromkeys(self._dialect.canonical(e.tool) for e in rule.entries)
        }
        opening = [kept for tool, kept in near.items() if self._opens(tool)]
        opened = self._sides(self._with_files(opening), rule, effect) if opening else None
        for tool, kept in near.items():
            # Of many tools, e.g. those that read files, the same is said.
            said = (self._dialect.argument(tool), tuple(map(_said, kept)))
            if said not in found:
                # What no line speaks of counts for the files that commands open too.
                among = opened if self._opens(tool) else None
                before, after = self._lookups(tool, among or self._sides(kept, rule, effect))
                if opens_otherwise(before, after):
                    before, after = self._lookups(tool, self._sides(self._whole, rule, effect))
                found[said] = compare_until(self.matters, tool, before, after, self._known)
        return _joined([*found.values(), *self._commands(rule, effect)])

    def _opens(self, tool: str) -> bool:
        """Whether calls of *tool* open files that they name."""
        is_command = self._dialect.argument(tool).kind is ArgumentKind.COMMAND
        return is_command and bool(self._dialect.shell.files.reads)

    def _with_files(self, near: Sequence[list[list[Entry]]]) -> list[list[Entry]]:
        """Return lines of tools that run commands, with all about files that commands open.

        These tools are given the same lines, so that they share what is found.
        """
        if self._about_files is None:
            opening = self._dialect.shell.files.opening
            by_tool = [[each.alive for each in self._of(name)] for name in opening]
            self._about_files = [[*chain(*each)] for each in zip(*by_tool, strict=True)]
        lines = zip(self._places, *near, self._about_files, strict=True)
        return [together(places, *each) for places, *each in lines]

    def _commands(self, rule: RuleInTable, effect: Effect | None) -> Iterator[Comparison]:
        """Yield how commands are decided differently, where *rule* speaks of files they open."""
        if not is_opened(self._dialect, rule):
            return
        sides = self._sides(self._whole, rule, effect)
        for tool, argument in self._dialect.arguments.items():
            if argument.kind is ArgumentKind.COMMAND:
                before, after = self._lookups(tool, sides)
                yield compare_until(self.matters, tool, before, after, self._known)

    @property
    def _whole(self) -> list[Sequence[Entry]]:
        """All lines that are left."""
        return [part.rules.entries for part in self.parts]

    def _sides(
        self, kept: Sequence[Sequence[Entry]], rule: RuleInTable, effect: Effect | None
    ) -> list[list[RuleSet]]:
        """Return *kept*, and the same where *rule* says *effect*, or nothing."""
        sides = kept, replaced(kept, rule, effect)
        self.cost += sum(_FIXED_COST + sum(map(len, side)) for side in sides)
        return [
            [_with(part.rules, each) for part, each in zip(self._parts, side, strict=True)]
            for side in sides
        ]

    def _lookups(self, tool: str, sides: Iterable[Sequence[RuleSet]]) -> Iterator[Lookup]:
        """Return what each side says of *tool*."""
        links = [part.links for part in self._parts]
        for sets in sides:
            rows = (rules.row(tool) for rules in sets)
            yield Lookup(zip(rows, links, strict=True), "")

    def _changed_anywhere(self, rule: RuleInTable, effect: Effect | None) -> Comparison:
        """Return the same, for calls of every tool whose name the rule may match."""
        everything = any(is_opened(part.rules.dialect, rule) for part in self._parts)
        kept = [
            [
                entry
                for entry in part.rules.entries
                if key_of(entry) not in gone
                and (everything or may_meet(part.rules.dialect, entry, rule))
            ]
            for part, gone in zip(self._parts, self._gone, strict=True)
        ]
        self.cost += sum(map(len, kept))
        before, after = (
            Table(
                Ceiling.of(
                    LinkedRules(_with(part.rules, entries), part.links)
                    for part, entries in zip(self._parts, side, strict=True)
                )
            )
            for side in (kept, replaced(kept, rule, effect))
        )
        return differences(before, after, self._known)

    def without(self, rule: RuleInTable) -> Without | None:
        """Return what a call that *rule* matches gets without it; None where none is at hand."""
        entry = rule.entries[0]
        if entry.field or entry.pattern is None or is_glob(entry.tool):
            return None
        tool, text = self._dialect.canonical(entry.tool), freeze(entry.pattern, "x")
        shape = CallShape(self._dialect, self._dialect.argument(tool))
        if not shape.domain.holds(text):
            return None
        _, after = self._lookups(tool, self._sides(self._whole, rule, None))
        call = shape.call(text)
        return Without(Shown(tool, call), after.decide(call, remember=False))

    def covering(self, rule: RuleInTable) -> Iterator[Because]:
        """Yield the rules that in each list of *rule* alone match all that it matches there."""
        found = [self._covering(part, entries) for part, entries in rule.lists.items()]
        for key, because in found[0].items():
            if all(key in others for others in found):
                yield because

    def _covering(self, number: int, entries: tuple[Entry, ...]) -> dict[object, Because]:
        part, gone = self._parts[number], self._gone[number]
        if self._is_by_tool(entries):
            tools = dict.fromkeys(part.rules.dialect.canonical(each.tool) for each in entries)
            lines = [self._of(tool)[number] for tool in tools]
            others: Iterable[Entry] = (e.entries[at] for e in lines for at in e.near(entries))
            wider = (
                (each.entries[at], e) for e in entries for each in lines for at in each.wider(e)
            )
        else:
            others = [entry for entry in part.rules.entries if key_of(entry) not in gone]
            wider = ((other, e) for other in others for e in entries if contains(other, e))
        return covering(entries, wider, others, part)


def _is_of_host(entry: Entry) -> bool:
    """Whether a line is what a host allows by itself: without it rules that allow all say less."""
    allows = entry.effect is Effect.ALLOW and entry.pattern is None
    return allows and entry.reason is not Reason.RULE


def _matters(difference: Difference) -> bool:
    return not is_idle(difference)


def _matters_once_read(difference: Difference) -> bool:
    return not is_idle(difference, checked=True)


def _said(entries: Sequence[Entry]) -> tuple[object, ...]:
    return tuple((e.pattern, e.field, e.effect, e.reason, e.rule, e.place) for e in entries)


def _with(rules: RuleSet, entries: Sequence[Entry]) -> RuleSet:
    if entries is rules.entries:
        return rules  # which knows its rows already
    return RuleSet(tuple(entries), rules.default, rules.dialect, rules.default_reason)


def _joined(found: Sequence[Comparison]) -> Comparison:
    return Comparison(
        tuple(difference for each in found for difference in each.differences),
        tuple(dict.fromkeys(reason for each in found for reason in each.why)),
    )


# Which rules of a table matter: proven by comparing it with the table without them.
#
# A rule is *live* when some call is decided differently without it. If not, it is
# *shadowed* where no call depends on what it says in its place, since others decide
# before it; else it is *redundant*: without it, what follows says the same.
# This holds across all lists that a table is the meet of.
#
# Only calls that the rule matches can tell, so only lines that may match one of
# these are compared (`policy.compare.overlap`). For most rules one call settles it: one in
# which a fresh word fills what the rule leaves open.


@frozen
class RuleStanding:
    """What becomes of one rule.

    Attributes:
        rule: the rule, and whose it is.
        what: ``live``, ``shadowed``, ``redundant``, or ``undecided`` where the
            comparison was not exact.
        witness: a call that is decided differently without a rule that is live.
        by: the rules that each alone cover one that is not live; of a redundant rule those
            of the same effect. Empty if only several rules together cover it, or if what no
            rule speaks of gets the same.
        why: why it is undecided.
        without: what a call of a redundant rule that no other alone covers gets without it;
            None where none is at hand.

    """

    rule: Because
    what: str
    witness: Shown | None = None
    by: tuple[Because, ...] = ()
    why: tuple[str, ...] = ()
    without: Without | None = None


@frozen
class MinimalTable:
    """A table of fewer rules that decides as the one it is made of.

    Attributes:
        table: with the rules that are left.
        removed: the rules that are not, in the order in which they were removed.
        exact: whether none of those that are left could be removed as well.

    """

    table: Table
    removed: tuple[RuleStanding, ...]
    exact: bool


_Mark = tuple[Place | None, str]


@define
class Effort:
    """How many lines may still be compared, beside one call for each rule."""

    left: int = limits.LINES_COMPARED


def shadowing(
    table: Table,
    *,
    known: Container[_Mark] = (),
    effort: Effort | None = None,
    compared: Known | None = None,
) -> tuple[RuleStanding, ...]:
    """Return the standing of each rule that somebody wrote, in order.

    Args:
        table: whose rules.
        known: the places and texts of rules that need not be looked at.
        effort: what is left of it, where several tables share it.
        compared: what was compared so far, where they share some of their lines.

    """
    effort = effort or Effort()
    standings = _Standings(Trials(table.use.parts, compared), effort)
    found = tuple(
        standings.of(rule)
        for rule in written_rules(table.use.parts)
        if (rule.because.place, rule.because.rule) not in known
    )
    effort.left -= standings.trials.cost
    return found


def minimise(table: Table) -> MinimalTable:
    """Return a table with no rule whose removal changes nothing it says of use.

    Narrow rules are tried first, so that of two that cover the same calls the
    wide one stays.
    """
    standings = _Standings(Trials(table.use.parts), Effort())
    removed: list[RuleStanding] = []
    left = sorted(written_rules(table.use.parts), key=lambda rule: -_literal(rule))
    # A rule that only shields others from one that is gone by now matters no longer.
    while True:
        exact = True
        kept: list[RuleInTable] = []
        for rule in left:
            standing = standings.of(rule)
            exact &= standing.what != "undecided"
            if standing.what in ("live", "undecided"):
                kept.append(rule)
            else:
                removed.append(standing)
                standings.trials.take_out(rule)
        if len(kept) == len(left):
            break
        left = kept
    use = Ceiling.of(standings.trials.parts)
    return MinimalTable(Table(use, table.delegated, table.bounds), tuple(removed), exact)


@frozen
class _Standings:
    """What becomes of each rule, for as long as there is effort left."""

    trials: Trials
    effort: Effort

    def of(self, rule: RuleInTable) -> RuleStanding:
        """Return what becomes of *rule*."""
        shown = self.trials.shown(rule)
        if shown is not None:
            return RuleStanding(rule.because, "live", shown)
        what = self.trials.read_off(rule)
        if what:
            return self._dead(rule, what)
        if self.effort.left <= self.trials.cost:
            return RuleStanding(rule.because, "undecided", why=(_TOO_MANY,))
        without = self.trials.changed(rule, None)
        found = next(filter(self.trials.matters, without.differences), None)
        if found is not None:
            return RuleStanding(rule.because, "live", Shown(found.tool, found.call))
        if not without.exact:
            return RuleStanding(rule.because, "undecided", why=without.why)
        decides = self.trials.decides(rule)
        for effect in Effect:
            if effect is not rule.because.effect and not decides:
                changed = self.trials.changed(rule, effect)
                matters = any(map(self.trials.matters, changed.differences))
                decides = matters or not changed.exact
        return self._dead(rule, "redundant" if decides else "shadowed")

    def _dead(self, rule: RuleInTable, what: str) -> RuleStanding:
        # A call that only the host itself decides alike is covered by no rule.
        by = tuple(
            one
            for one in self.trials.covering(rule)
            if what == "shadowed" or one.effect is rule.because.effect
        )
        without = None if by or what == "shadowed" else self.trials.without(rule)
        return RuleStanding(rule.because, what, by=by, without=without)


_TOO_MANY = "the rules overlap in more ways than are tried one by one"


def _literal(rule: RuleInTable) -> int:
    patterns = (entry.pattern for entry in rule.entries)
    return max((len(str(pattern)) for pattern in patterns if pattern is not None), default=0)


# Rules of an ordered list that decide only because of their place.
#
# Where the first rule that matches decides, an exception stands before what it is
# an exception of. Whoever sorts such a list, or adds to its end, changes what it
# says without changing a rule.


# Rules of one list that are tried; each pair costs a comparison.
_MOST: Final = 40

_ANYTHING: Final = Pattern.text("*")


@frozen
class OrderedRule:
    """A rule that decides only because it stands before another one.

    Attributes:
        rule: as written.
        before: the first rule behind which it would not decide all that it decides.
        witness: a call, and what it gets in the one order and the other.

    """

    rule: str
    before: str
    witness: Difference


def placed(rules: RuleSet) -> Iterator[OrderedRule]:
    """Yield the rules of a list that decide only because of their place.

    What stands behind all others and matches every call is a default, and before
    that everything else stands: it is not told. Beyond a bound of rules nothing is.
    """
    said = [tuple(entries) for _, entries in groupby(rules.entries, lambda e: (e.rule, e.effect))]
    if len(said) > _MOST:
        return
    whole = Table.of(rules)
    for at, one in enumerate(said):
        for behind in range(at + 1, len(said)):
            other = said[behind]
            if other[0].effect is one[0].effect or _is_default(other, behind, said):
                continue
            moved = (*said[:at], *said[at + 1 : behind + 1], one, *said[behind + 1 :])
            entries = tuple(entry for group in moved for entry in group)
            found = differences(whole, Table.of(evolve(rules, entries=entries))).differences
            if found:
                yield OrderedRule(one[0].rule, other[0].rule, found[0])
                break


def _is_default(rule: tuple[Entry, ...], at: int, said: list[tuple[Entry, ...]]) -> bool:
    """Return whether nothing behind *rule* speaks of its tool, of which it matches every call."""
    total = any(entry.pattern is None or entry.pattern == _ANYTHING for entry in rule)
    tools = {entry.tool for entry in rule}
    return total and not any(entry.tool in tools for other in said[at + 1 :] for entry in other)
