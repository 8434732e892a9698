"""Which rules of a table decide anything, and which only because of their place."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby, takewhile
from typing import Final

from policy.commands.reader import Command, CommandPart, read_command
from policy.compare.compare import Comparison, Known, compare_until
from policy.compare.lists import LineIndex, is_inside
from policy.compare.prefixes import has_other_texts
from policy.compare.tables import differences, glob_pattern, is_idle
from policy.compare.witness import Call, CallShape, Difference
from policy.core import limits
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import define, evolve, frozen
from policy.patterns.index import Index
from policy.patterns.notations import is_glob, names
from policy.patterns.pattern import Pattern, freeze
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.entry import KINDS
from policy.tables.lookup import Lookup
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table

__all__ = ["Effort", "RuleStanding", "placed", "shadowing", "written_rules"]


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
        self._shell = rules.dialect.shell if commands else None
        self._opened = tool in rules.dialect.shell.files.opening
        self._separator = KINDS[rules.dialect.argument(tool).kind].separator
        self.named = frozenset(entry.field for entry in self.entries if entry.field)
        self._numbers = {id(entry): number for number, entry in enumerate(self.entries)}
        self._index = LineIndex((n, _seen(e), e.effect) for n, e in enumerate(self.entries))
        self._whole = {n for n, entry in enumerate(self.entries) if entry.pattern is None}
        self._matched: dict[str, list[Entry]] = {}
        # The lines that may share a call with any other, by what they say.
        self._anywhere: dict[tuple[Effect, Reason], list[int]] = {}
        for number, entry in enumerate(self.entries):
            if self._is_open(entry):
                self._anywhere.setdefault((entry.effect, entry.reason), []).append(number)

    def _is_open(self, entry: Entry) -> bool:
        """Whether a line may share a call with any other, whatever they start with."""
        if entry.pattern is None or entry.field:
            return True
        return self._shell is not None and has_other_texts(entry.pattern, self._shell)

    def near(self, entries: Iterable[Entry]) -> list[int]:
        """Return the lines that may share a call with one of *entries*, in order.

        One more is among them where there is one: whether any line looks at the
        argument decides what happens to calls that cannot be read.
        """
        found = set(chain.from_iterable(self._anywhere.values()))
        for entry in entries:
            if self._is_open(entry):
                return [*range(len(self.entries))]
            found.update(self._meeting(_seen(entry)))
        found.update(self._looking_elsewhere(found))
        return sorted(found)

    def wider(self, entry: Entry) -> list[int]:
        """Return the lines that match all that *entry* does, itself included, in order."""
        if entry.pattern is None or entry.field:
            among: Iterable[int] = self.near([entry])
        else:
            among = sorted(self._meeting(entry.pattern))
        return [number for number in among if contains(self.entries[number], entry)]

    def _looking_elsewhere(self, found: Container[int]) -> list[int]:
        """Return one more line about the argument that no line for every call absorbs."""
        whole = (self.entries[number] for number in self._whole)
        said = {(entry.effect, entry.reason) for entry in whole}
        for number, entry in enumerate(self.entries):
            looks = not entry.field and (entry.effect, entry.reason) not in said
            if looks and number not in found:
                return [number]
        return []

    def _meeting(self, pattern: Pattern) -> Iterator[int]:
        """Yield the lines that may share a text with *pattern*, by how both start and end."""
        for effect in Effect:
            yield from self._index.near(pattern, effect, 0, len(self.entries))

    def standing(self, rule: Sequence[Entry], entry: Entry) -> str:
        """Return what becomes of one line of *rule* where that can be read off a wider line.

        It is ``shadowed`` by one that stands before it, and ``redundant`` beside one that
        follows and says the same, or the default, if nothing stands between that says otherwise.
        """
        at = self._numbers[id(entry)]
        own = {self._numbers[id(one)] for one in rule if id(one) in self._numbers}
        wider = [n for n in self.wider(entry) if n not in own and not self._is_beside(entry, n)]
        if wider and wider[0] < at:
            return "shadowed"
        if self._is_open(entry):
            return ""
        ranked = self._shell is not None and self._shell.reader
        if ranked and entry.effect is not Effect.ALLOW:
            return ""  # other texts of a command may meet what stands between
        odd = self._shell is not None or self._opened or bool(self.rules.dialect.links)
        # Of commands, the files they open, and links, what no file has counts otherwise.
        alike = {(entry.effect, reason) for reason in ([entry.reason] if odd else Reason)}
        behind = wider[0] if wider else len(self.entries)
        if self._says_otherwise(entry, range(at + 1, behind + 1), own, alike):
            return ""
        if wider:
            return "redundant"
        if odd or self.rules.default is not entry.effect:
            return ""
        # Where no other line looks at the argument, calls that cannot be read are decided anew.
        looked_at = entry.effect is not Effect.ALLOW or self._looking_elsewhere(own)
        return "redundant" if looked_at else ""

    def _is_beside(self, entry: Entry, number: int) -> bool:
        """Whether a line allows commands that another allows as one of all.

        A host may ask then for what runs in the background.
        """
        other = self.entries[number]
        whole = self._shell is not None and self._shell.whole
        both = entry.effect is other.effect is Effect.ALLOW
        return whole and both and other.pattern is None and entry.pattern is not None

    def _says_otherwise(
        self,
        entry: Entry,
        among: range,
        but: Container[int],
        alike: Container[tuple[Effect, Reason]],
    ) -> bool:
        """Return whether a line of *among* near *entry* says anything but what is *alike*."""
        for said, numbers in self._anywhere.items():
            behind = numbers[bisect_left(numbers, among.start) :] if said not in alike else ()
            if any(number not in but for number in takewhile(among.__contains__, behind)):
                return True
        meeting = {*self._meeting(_seen(entry))}
        open_ = chain.from_iterable(self._anywhere.values())
        others = (*meeting, *self._looking_elsewhere(meeting.union(open_)))
        return any(
            (each.effect, each.reason) not in alike
            for number in others
            if number in among and number not in but
            for each in [self.entries[number]]
        )

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
    """Return whether *rule* may apply to files that a command opens."""
    spoken_of = [names(dialect.canonical(entry.tool)) for entry in rule.entries]
    opening = dialect.shell.files.opening
    return any(pattern.matches(tool) for tool in opening for pattern in spoken_of)


def may_meet(dialect: Dialect, entry: Entry, rule: RuleInTable) -> bool:
    """Return whether *entry* may apply to a tool that *rule* applies to, by how names start."""
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
# Only lines that may match one of these calls are compared, and for most rules one call
# settles it: one in which a fresh word fills what the rule leaves open.


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
        """Return whether all calls that lines apply to are those of the tools they name."""
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
                # What no line applies to counts for the files that commands open too.
                among = opened if self._opens(tool) else None
                before, after = self._lookups(tool, among or self._sides(kept, rule, effect))
                if opens_otherwise(before, after):
                    before, after = self._lookups(tool, self._sides(self._whole, rule, effect))
                found[said] = compare_until(self.matters, tool, before, after, self._known)
        of_tools = _joined([*found.values()])
        if any(map(self.matters, of_tools.differences)):
            return of_tools
        return _joined([of_tools, *self._commands(rule, effect)])

    def _opens(self, tool: str) -> bool:
        """Whether calls of *tool* open files that they name."""
        is_command = self._dialect.argument(tool).kind is ArgumentKind.COMMAND
        return is_command and bool(self._dialect.shell.files.reads)

    def _with_files(self, near: Sequence[list[list[Entry]]]) -> list[list[Entry]]:
        """Return lines of tools that run commands, with all about files that commands open.

        These tools are given the same lines, so that they share what is found.
        """
        lines = zip(self._places, *near, self._about_files, strict=True)
        return [together(places, *each) for places, *each in lines]

    @cached_property
    def _about_files(self) -> list[list[Entry]]:
        """The lines of each part about files that commands open."""
        opening = self._dialect.shell.files.opening
        by_tool = [[each.entries for each in self._of(name)] for name in opening]
        return [[*chain(*each)] for each in zip(*by_tool, strict=True)]

    def _commands(self, rule: RuleInTable, effect: Effect | None) -> Iterator[Comparison]:
        """Yield how commands are decided differently, where *rule* applies to files they open."""
        if not is_opened(self._dialect, rule):
            return
        sides = self._sides(self._whole, rule, effect)
        for tool, argument in self._dialect.arguments.items():
            if argument.kind is ArgumentKind.COMMAND:
                before, after = self._lookups(tool, sides)
                yield compare_until(self.matters, tool, before, after, self._known)

    @property
    def _whole(self) -> list[Sequence[Entry]]:
        """All lines."""
        return [part.rules.entries for part in self._parts]

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
                if everything or may_meet(part.rules.dialect, entry, rule)
            ]
            for part in self._parts
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
        found = self._one_call(rule)
        return None if found is None else Without(Shown(found.tool, found.call), found.after)

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
        call, sides = shape.call(text), self._sides(self._whole, rule, None)
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
        if self._is_by_tool(entries):
            tools = dict.fromkeys(part.rules.dialect.canonical(each.tool) for each in entries)
            lines = [self._of(tool)[number] for tool in tools]
            others: Iterable[Entry] = (e.entries[at] for e in lines for at in e.near(entries))
            wider = (
                (each.entries[at], e) for e in entries for each in lines for at in each.wider(e)
            )
        else:
            others = part.rules.entries
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
        what = self.trials.read_off(rule)
        if what:
            return self._dead(rule, what)
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


# Rules of an ordered list that decide only because of their place.
#
# Where the first rule that matches decides, an exception stands before what it is
# an exception of. Whoever sorts such a list, or adds to its end, changes what it
# says without changing a rule.


# Rules of one list that are tried; each pair costs a comparison.
_MOST: Final = 40


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
    """Return whether nothing behind *rule* applies to its tool, of which it matches every call."""
    total = any(entry.pattern is None or entry.pattern == _ANYTHING for entry in rule)
    tools = {entry.tool for entry in rule}
    return total and not any(entry.tool in tools for other in said[at + 1 :] for entry in other)
