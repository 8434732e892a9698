"""Which rules of a table decide anything, and which only because of their place."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from policy.commands.reader import Command, CommandPart, read_command
from policy.compare.compare import Comparison, Known, compare_until
from policy.compare.lists import LineIndex, is_inside
from policy.compare.tables import differences, glob_pattern, is_idle
from policy.compare.witness import Call, CallShape, Difference
from policy.core import limits
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import define, evolve, frozen
from policy.patterns.index import Index
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern, freeze, is_glob
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.entry import KINDS
from policy.tables.lookup import Lookup
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table

__all__ = ["Effort", "RuleStanding", "shadowing", "written_rules"]


# The lines of a rule set that apply to one tool, by what their patterns start and end with.
#
# Which lines can share a call with a given one is read off an index, so that of thousands
# only a few are looked at. None that does is left out: where a command is known by several
# texts, every line that may know it by another one counts.


_ANYTHING: Final = Pattern.text("*")


class ToolLines:
    """What one rule set says of one tool, in order.

    Attributes:
        rules: the set.
        entries: every line.
        named: the parameters that lines name.

    """

    def __init__(self, rules: RuleSet, tool: str) -> None:
        self.rules = rules
        self.entries: Sequence[Entry] = rules.lines(tool)
        commands = rules.dialect.argument(tool).kind in _COMMANDS
        self._whole = commands and rules.dialect.shell.whole
        self._separator = KINDS[rules.dialect.argument(tool).kind].separator
        self.named = frozenset(entry.field for entry in self.entries if entry.field)
        self._numbers = {id(entry): number for number, entry in enumerate(self.entries)}
        self._index = LineIndex((n, _seen(e), e.effect) for n, e in enumerate(self.entries))
        self._matched: dict[str, list[Entry]] = {}

    def wider(self, entry: Entry) -> list[int]:
        """Return the lines that match all that *entry* does, itself included, in order."""
        among = sorted(self._meeting(_seen(entry)))
        return [number for number in among if contains(self.entries[number], entry)]

    def _meeting(self, pattern: Pattern) -> Iterator[int]:
        """Yield the lines that may share a text with *pattern*, by how both start and end."""
        for effect in Effect:
            yield from self._index.near(pattern, effect, 0, len(self.entries))

    def is_shadowed(self, rule: Sequence[Entry], entry: Entry) -> bool:
        """Return whether a line before *entry*, of another rule, matches all that it does."""
        at = self._numbers[id(entry)]
        own = {self._numbers[id(one)] for one in rule if id(one) in self._numbers}
        wider = (n for n in self.wider(entry) if n not in own and not self._is_beside(entry, n))
        return next(wider, at) < at

    def _is_beside(self, entry: Entry, number: int) -> bool:
        """Whether a line allows commands that another allows as one of all.

        A host may ask then for what runs in the background.
        """
        other = self.entries[number]
        both = entry.effect is other.effect is Effect.ALLOW
        return self._whole and both and other.pattern is None and entry.pattern is not None

    def decides(self, text: str, rule: Sequence[Entry]) -> bool:
        """Return whether a line of *rule* decides a call whose argument is *text*."""
        matching = self._matching(text)
        return bool(matching) and any(matching[0] is one for one in rule)

    def effect(self, text: str, but: Sequence[Entry] = ()) -> Effect:
        """Return what a call gets whose argument is *text*, and that has no parameters.

        Args:
            text: the argument as it is read.
            but: lines that do not count.

        """
        for entry in self._matching(text):
            if not any(entry is other for other in but):
                return entry.effect
        return self.rules.default

    def _matching(self, text: str) -> list[Entry]:
        """Return the lines that match *text*, in order."""
        found = self._matched.get(text)
        if found is None:
            numbers = sorted(self._looking[at] for at in self._by_text.matching(text))
            found = self._matched[text] = [self.entries[number] for number in numbers]
        return found

    @cached_property
    def _looking(self) -> list[int]:
        """The lines about the argument itself."""
        return [number for number, entry in enumerate(self.entries) if not entry.field]

    @cached_property
    def _by_text(self) -> Index:
        patterns = [_seen(self.entries[number]) for number in self._looking]
        return Index([pattern.tokens for pattern in patterns], self._separator)


_COMMANDS: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})


def _seen(entry: Entry) -> Pattern:
    """Return a pattern that starts and ends as what a line matches."""
    return _ANYTHING if entry.pattern is None or entry.field else entry.pattern


def contains(wide: Entry, narrow: Entry) -> bool:
    """Return whether a line matches all that another one matches."""
    if wide.tool != narrow.tool and not _names_all(wide.tool, narrow.tool):
        return False
    if wide.pattern is None:
        return True
    if narrow.pattern is None or (wide.field, wide.pattern.kind) != (
        narrow.field,
        narrow.pattern.kind,
    ):
        return False
    return is_inside(narrow.pattern, wide.pattern)


def _names_all(wide: str, narrow: str) -> bool:
    """Return whether every tool that *narrow* stands for is one of those of *wide*."""
    if not is_glob(wide) and not narrow.startswith("="):
        return wide == narrow  # what is no glob is a single name, and spelled in one way
    return is_inside(glob_pattern(narrow), glob_pattern(wide))


# Which rules of a table decide anything, and which only because of their place.


@frozen
class RuleInTable:
    """A rule as a file has it: several lines may come of it, of several lists.

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
    """Yield the rules that a file has, in order."""
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


def covering(others: Iterable[Entry], entries: Sequence[Entry]) -> dict[object, Entry]:
    """Return the first line of each other rule that alone matches all that *entries* do.

    Args:
        others: lines of all rules, in order.
        entries: the lines of one rule.

    """
    lines: dict[object, list[Entry]] = {}
    for other in others:
        lines.setdefault(key_of(other), []).append(other)
    return {
        key: some[0]
        for key, some in lines.items()
        if key != key_of(entries[0])
        and all(any(contains(other, entry) for other in some) for entry in entries)
    }


def is_opened(dialect: Dialect, rule: RuleInTable) -> bool:
    """Return whether *rule* may apply to files that a command opens."""
    spoken_of = [names(dialect.canonical(entry.tool)) for entry in rule.entries]
    opening = dialect.shell.files.opening
    return any(pattern.matches(tool) for tool in opening for pattern in spoken_of)


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
# For most rules one call settles it: one in which a fresh word fills what the rule leaves open.


# What it costs to compare, beside the lines that are put side by side.
_FIXED_COST = 15

# What fills the gaps of a rule in the one call that settles most of them.
_WORD = "q7z"


@frozen
class Shown:
    """A call that a rule applies to.

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
        self._uniform = len({part.rules.dialect for part in parts}) == 1
        self.cost = 0

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

    def is_shadowed(self, rule: RuleInTable) -> bool:
        """Return whether single lines of other rules tell that no line of *rule* decides."""
        if not self._is_by_tool(rule.entries) or any(map(_is_of_host, rule.entries)):
            return False
        return all(
            self._of(entry.tool)[part].is_shadowed(entries, entry)
            for part, entries in rule.lists.items()
            for entry in entries
        )

    def decides(self, rule: RuleInTable) -> bool:
        """Return whether *rule* decides a call that is tried, and that others grant."""
        return any(
            others is not Effect.DENY and lines[part].decides(text, entries)
            for _, text, lines, others in self._tried(rule)
            for part, entries in rule.lists.items()
        )

    def _is_by_tool(self, entries: Iterable[Entry]) -> bool:
        """Return whether all calls that lines apply to are those of the tools they name."""
        if not self._uniform or self._dialect.fold_names or self._dialect.loose:
            return False
        return not any(is_glob(entry.tool) for entry in entries)

    @property
    def _dialect(self) -> Dialect:
        return self._parts[0].rules.dialect

    def _of(self, tool: str) -> list[ToolLines]:
        """Return the lines of all parts that apply to *tool*."""
        name = self._parts[0].rules.dialect.canonical(tool)
        found = self._lines.get(name)
        if found is None:
            found = self._lines[name] = [self._lines_of(part.rules, name) for part in self._parts]
        return found

    def _lines_of(self, rules: RuleSet, tool: str) -> ToolLines:
        # Tables of many agents have the same rule sets.
        key = ToolLines, id(rules), tool
        if key not in self._known:
            self._known[key] = ToolLines(rules, tool)
        found: ToolLines = self._known[key]
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
        sides = self._sides(rule, effect)
        if not self._is_by_tool(rule.entries):
            old, new = map(self._table, sides)
            return differences(old, new, self._known)
        dialect = self._dialect
        tools = dict.fromkeys(dialect.canonical(entry.tool) for entry in rule.entries)
        if is_opened(dialect, rule):  # what opens such a file may be decided otherwise too
            arguments = dialect.arguments.items()
            tools |= dict.fromkeys(n for n, a in arguments if a.kind is ArgumentKind.COMMAND)
        found: list[Comparison] = []
        for tool in tools:
            before, after = self._lookups(tool, sides)
            found.append(compare_until(self.matters, tool, before, after, self._known))
            if any(map(self.matters, found[-1].differences)):
                break
        return _joined(found)

    def _sides(self, rule: RuleInTable, effect: Effect | None) -> list[list[RuleSet]]:
        """Return the rules as they are, and where *rule* says *effect*, or nothing."""
        kept = [part.rules.entries for part in self._parts]
        self.cost += _FIXED_COST + sum(len(kept[part]) for part in rule.lists)
        changed = replaced(kept, rule, effect)
        return [
            [part.rules for part in self._parts],
            [_with(part.rules, each) for part, each in zip(self._parts, changed, strict=True)],
        ]

    def _lookups(self, tool: str, sides: Iterable[Sequence[RuleSet]]) -> Iterator[Lookup]:
        """Return what each side says of *tool*."""
        links = [part.links for part in self._parts]
        for sets in sides:
            rows = (rules.row(tool) for rules in sets)
            yield Lookup(zip(rows, links, strict=True), "")

    def _table(self, sets: Iterable[RuleSet]) -> Table:
        links = (part.links for part in self._parts)
        return Table(Ceiling.of(LinkedRules(*each) for each in zip(sets, links, strict=True)))

    def without(self, rule: RuleInTable) -> Without | None:
        """Return what a call that *rule* matches gets without it; None where none is at hand."""
        found = self._one_call(rule)
        return None if found is None else Without(Shown(found.tool, found.call), found.after)

    def _opens(self, tool: str) -> bool:
        """Whether calls of *tool* open files that they name."""
        is_command = self._dialect.argument(tool).kind is ArgumentKind.COMMAND
        return is_command and bool(self._dialect.shell.files.reads)

    def command(self, rule: RuleInTable) -> Shown | None:
        """Return the plainest command of *rule*, if it is decided otherwise without it."""
        runs = self._opens(self._dialect.canonical(rule.entries[0].tool))
        found = self._one_call(rule) if runs and self._is_by_tool(rule.entries) else None
        if found is None or found.before.effect is found.after.effect:
            return None
        return Shown(found.tool, found.call) if self.matters(found) else None

    def _one_call(self, rule: RuleInTable) -> Difference | None:
        """Return the plainest call that *rule* matches, decided with it and without."""
        entry = rule.entries[0]
        if entry.field or entry.pattern is None or is_glob(entry.tool):
            return None
        tool, text = self._dialect.canonical(entry.tool), freeze(entry.pattern, "x")
        shape = CallShape(self._dialect, self._dialect.argument(tool))
        if not shape.domain.holds(text):
            return None
        call, sides = shape.call(text), self._sides(rule, None)
        decided = (each.decide(call, remember=False) for each in self._lookups(tool, sides))
        return Difference(tool, call, *decided)

    def covering(self, rule: RuleInTable) -> Iterator[Because]:
        """Yield the rules that in each list of *rule* alone match all that it matches there."""
        found = [self._covering(part, entries) for part, entries in rule.lists.items()]
        for key, because in found[0].items():
            if all(key in others for others in found):
                yield because

    def _covering(self, number: int, entries: tuple[Entry, ...]) -> dict[object, Because]:
        part = self._parts[number]
        others: Iterable[Entry] = part.rules.entries
        if self._is_by_tool(entries):
            tools = dict.fromkeys(part.rules.dialect.canonical(each.tool) for each in entries)
            of_tools = [self._of(tool)[number] for tool in tools]
            others = (
                each.entries[at]
                for each in of_tools
                for at in sorted({at for entry in entries for at in each.wider(entry)})
            )
        found = covering(others, entries)
        return {key: because_of(entry, part) for key, entry in found.items()}


def _is_of_host(entry: Entry) -> bool:
    """Whether a line is what a host allows by itself: without it rules that allow all say less."""
    allows = entry.effect is Effect.ALLOW and entry.pattern is None
    return allows and entry.reason is not Reason.RULE


def _matters(difference: Difference) -> bool:
    return not is_idle(difference)


def _matters_once_read(difference: Difference) -> bool:
    return not is_idle(difference, checked=True)


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
# these are compared. For most rules one call settles it: one in which a fresh word fills what the
# rule leaves open.


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
            rule applies to gets the same.
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
    """Return the standing of each rule that a file has, in order.

    Args:
        table: whose rules.
        known: the places and texts of rules that need not be looked at.
        effort: what is left of it, where several tables share it.
        compared: what was compared so far, where they share some of their lines.

    """
    effort = effort or Effort()
    parts = [LinkedRules(part.rules.interned, part.links) for part in table.use.parts]
    standings = _Standings(Trials(parts, compared), effort)
    found = tuple(
        standings.of(rule)
        for rule in written_rules(parts)
        if (rule.because.place, rule.because.rule) not in known
    )
    effort.left -= standings.trials.cost
    return found


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
        if self.trials.is_shadowed(rule):
            return self._dead(rule, "shadowed")
        if self.effort.left <= self.trials.cost:
            return RuleStanding(rule.because, "undecided", why=(_TOO_MANY,))
        shown = self.trials.command(rule)
        if shown is not None:
            return RuleStanding(rule.because, "live", shown)
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
