"""Which rules of a table decide anything, and which only because of their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property, partial
from itertools import chain
from typing import Final

from policy.commands.reader import Command, CommandPart, read_command
from policy.compare.compare import Comparison, Known, compare
from policy.compare.lists import LineIndex, is_inside
from policy.compare.simple import Steps
from policy.compare.tables import differences, glob_pattern, is_idle
from policy.compare.witness import Call, CallShape, Difference
from policy.core import limits
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import define, evolve, frozen
from policy.patterns.automaton import NO_MATCH
from policy.patterns.index import Index
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern, freeze, is_glob
from policy.patterns.tokens import Gap
from policy.tables.command_outcome import PARTING
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.row import KINDS
from policy.tables.ruleset import Entry, Form, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Lookup, Table

# The lines of a rule set that apply to one tool. An index yields every line that can share a call
# with a given line: where rules match a command by several texts, a line that may match it by
# another text counts too.


_ANYTHING: Final = Pattern.text("*")


class ToolLines:
    """The lines of one rule set that apply to one tool, in order.

    Attributes:
        entries: every line.
        named: the parameters that lines name.

    """

    def __init__(self, rules: RuleSet, tool: str) -> None:
        self.rules = rules  # kept alive, since its identity is a key of the cache
        self.entries: Sequence[Entry] = rules.lines(tool)
        self._kind = rules.dialect.argument(tool).kind
        self._opens = tool in rules.dialect.shell.files.opening
        self.named = frozenset(entry.field for entry in self.entries if entry.field)
        self._about_argument = [n for n, entry in enumerate(self.entries) if not entry.field]
        tokens = [_seen(self.entries[number]).tokens for number in self._about_argument]
        self._by_text = Index(tokens, KINDS[self._kind].separator)
        self._matching: dict[str, list[int]] = {}
        self._wider: dict[int, list[int]] = {}

    def wider(self, entry: Entry) -> list[int]:
        """Return the lines that match all that *entry* does, itself included, in order."""
        if id(entry) not in self._wider:
            pattern, near = entry.pattern, [*range(len(self.entries))]
            if pattern is not None and not entry.field:
                text = freeze(pattern, _WORD)
                if pattern.kind.domain.holds(text) and pattern.matches(text):
                    near = self.matching(text)
            found = [number for number in near if contains(self.entries[number], entry)]
            self._wider[id(entry)] = found
        return self._wider[id(entry)]

    def is_idle(self, rule: Sequence[Entry], entry: Entry, *, later: bool) -> bool:
        """Return whether an earlier line of another rule matches all that *entry* matches.

        Or, if *later*, a later line that decides alike.
        """
        wider, whole = self.wider(entry), self.rules.dialect.shell.whole
        at = next((n for n in wider if self.entries[n] is entry), NO_MATCH)
        for number in wider:
            other = self.entries[number]
            if any(other is one for one in rule):
                continue
            if number < at:
                # A line that allows one command as written may count after one that allows all: a
                # host may ask for commands that the latter runs in the background.
                both = whole and entry.effect is other.effect is Effect.ALLOW
                is_whole = other.pattern is None and entry.pattern is not None
                if not (both and is_whole and self._kind in _COMMANDS):
                    return True
            elif later and self._is_alike(entry, other):
                others = (effect for effect in Effect if effect is not entry.effect)
                near = (self._index.near(_seen(entry), each, at, number) for each in others)
                return next(chain.from_iterable(near), None) is None
        return False

    def _is_alike(self, narrow: Entry, wide: Entry) -> bool:
        """Return whether a host takes *wide* for *narrow* wherever both match, by all it looks at.

        It may look at more than texts that match: at rules that spell a whole command, that may
        match several commands, or that deny a folder.
        """
        if wide.effect is not narrow.effect or narrow.pattern is None:
            return False
        if wide.pattern == narrow.pattern and wide.form is narrow.form:
            return wide.reason is narrow.reason
        if self._kind in _COMMANDS:
            is_part = narrow.effect is Effect.ALLOW and narrow.form in (Form.PREFIX, Form.BARE)
            is_word = _is_of_words(narrow.pattern) or (is_part and narrow.pattern.exact)
            return is_word and _is_of_words(wide.pattern) and wide.reason is narrow.reason
        if self._opens:
            return narrow.effect is Effect.ALLOW and wide.reason is narrow.reason
        return wide.pattern is not None or self.rules.dialect.checks

    def matching(self, text: str) -> list[int]:
        """Return the lines about the argument itself that match *text*, in order."""
        if text not in self._matching:
            numbers = self._by_text.matching(text)
            self._matching[text] = sorted(self._about_argument[at] for at in numbers)
        return self._matching[text]

    def effect(self, text: str, but: Sequence[Entry] = ()) -> Effect:
        """Return the effect of a call with *text* alone, without the lines in *but*."""
        for entry in (self.entries[number] for number in self.matching(text)):
            if not any(entry is other for other in but):
                return entry.effect
        return self.rules.default

    @cached_property
    def _index(self) -> LineIndex:
        return LineIndex((n, _seen(e), e.effect) for n, e in enumerate(self.entries))


_COMMANDS: Final = frozenset({ArgumentKind.COMMAND, ArgumentKind.POWERSHELL})


def _seen(entry: Entry) -> Pattern:
    """Return a pattern that starts and ends like the texts that a line matches."""
    return _ANYTHING if entry.pattern is None or entry.field else entry.pattern


def _is_of_words(pattern: Pattern | None) -> bool:
    """Return whether a pattern is some words of one command, and whatever follows: `git log *`."""
    tokens = pattern.tokens if pattern is not None else ()
    words = tokens[0] if len(tokens) == 2 and tokens[1] is Gap.ANY else ""
    return isinstance(words, str) and words.endswith(" ") and PARTING.isdisjoint(words)


def contains(wide: Entry, narrow: Entry) -> bool:
    """Return whether a line matches all that another one matches."""
    if wide.tool != narrow.tool and not _names_all(wide.tool, narrow.tool):
        return False
    if wide is narrow or wide.pattern is None:
        return True
    if narrow.pattern is None or (wide.field, wide.pattern.kind) != (
        narrow.field,
        narrow.pattern.kind,
    ):
        return False
    return is_inside(narrow.pattern, wide.pattern)


def _names_all(wide: str, narrow: str) -> bool:
    """Return whether the tool name or glob *wide* matches every tool that *narrow* matches."""
    if not is_glob(wide) and not narrow.startswith("="):
        return wide == narrow  # a name that is no glob is one tool, with one spelling
    return is_inside(glob_pattern(narrow), glob_pattern(wide))


# A rule: where it stands, and its text.
Mark = tuple[Place | None, str]


@frozen
class RuleInTable:
    """A rule as a file writes it; it may give several lines, in several lists.

    A deny rule restricts what an agent may use and what it may delegate; and the lists of an
    agent also apply to the agents that it starts.

    Attributes:
        lists: the lines of the rule, by the number of the part that has them.
        because: the rule, as the first of these parts has it.

    """

    lists: Mapping[int, tuple[Entry, ...]]
    because: Because

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The lines of the rule in all lists."""
        return tuple(dict.fromkeys(entry for lines in self.lists.values() for entry in lines))


def key_of(entry: Entry) -> object:
    """Return a key that all lines of one rule share."""
    return entry.rule, entry.effect, entry.place


def written_lines(rules: RuleSet, known: Known) -> Mapping[Mark, list[Entry]]:
    """Return the lines of *rules* that a file has, limits of depth aside, by their marks."""
    key = written_lines, id(rules)
    if key not in known:
        lines: dict[Mark, list[Entry]] = {}
        for entry in rules.entries:
            if entry.place is not None and entry.reason is not Reason.DEPTH:
                lines.setdefault((entry.place, entry.rule), []).append(entry)
        known[key] = lines, rules  # kept alive, since its identity is the key
    found: Mapping[Mark, list[Entry]] = known[key][0]
    return found


def written_rules(
    parts: Sequence[LinkedRules], marks: AbstractSet[Mark] | None = None, known: Known | None = None
) -> Iterator[RuleInTable]:
    """Yield the rules that a file has, in order; those of *marks* alone unless None."""
    rules: dict[object, dict[int, list[Entry]]] = {}
    for number, part in enumerate(parts):
        lines = written_lines(part.rules, {} if known is None else known)
        for mark in lines if marks is None else sorted(lines.keys() & marks):
            for entry in lines[mark]:
                rules.setdefault(key_of(entry), {}).setdefault(number, []).append(entry)
    for lists in rules.values():
        number, entries = next(iter(lists.items()))
        by_part = {part: tuple(some) for part, some in lists.items()}
        yield RuleInTable(by_part, because_of(entries[0], parts[number]))


def because_of(entry: Entry, part: LinkedRules) -> Because:
    """Return the rule that gave a line, as a part has it."""
    link = part.links[0] if part.links else ""
    return Because(entry.rule, entry.effect, link, entry.place)


def is_opened(dialect: Dialect, rule: RuleInTable) -> bool:
    """Return whether *rule* may apply to files that a command opens."""
    patterns = [names(dialect.canonical(entry.tool)) for entry in rule.entries]
    opening = dialect.shell.files.opening
    return any(pattern.matches(tool) for tool in opening for pattern in patterns)


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


@cache
def matters(*, checked: bool) -> Callable[[Difference], bool]:
    """Return a test of whether a difference counts: a host may refuse unreadable calls itself.

    It is the same function each time, since `compare` remembers results by it.
    """
    return lambda difference: not is_idle(difference, checked=checked)


# Which rules of a table matter: proven by comparing it with the table without them.
#
# A rule is *live* when some call is decided differently without it. If not, it is *shadowed* where
# no call depends on its effect, since other rules decide before it; else it is *redundant*: without
# it, later rules give the same effect. This holds across all lists that a table is the meet of.
# One call settles most rules: the call in which a fresh word fills the gaps of the rule.


@frozen
class RuleStanding:
    """The standing of one rule: whether any decision depends on it.

    Attributes:
        rule: the rule, and whose it is.
        is_live: whether some call is decided differently without it; None if undecided.
        witness: for a live rule, a tool and a call that is decided differently without the rule.
        why: why it is undecided.
        without: for another rule, a call that it matches, decided with and without the rule;
            None where none is at hand.
        covering: returns the rules that each alone cover it.
        decides: returns whether calls depend on its effect in its place.

    """

    rule: Because
    is_live: bool | None
    witness: tuple[str, Call] | None = None
    why: tuple[str, ...] = ()
    without: Difference | None = None
    covering: Callable[[], Sequence[Because]] = tuple
    decides: Callable[[], bool] = bool

    @cached_property
    def what(self) -> str:
        """``live``, ``undecided``, ``redundant`` or ``shadowed``."""
        if self.is_live is None:
            return "undecided"
        return "live" if self.is_live else "redundant" if self.decides() else "shadowed"

    @cached_property
    def by(self) -> tuple[Because, ...]:
        """The rules that each alone cover a dead rule; a redundant one only those of its effect.

        Empty if only several rules together cover it, or if the default gives the same effect.
        """
        found = self.covering()
        same = tuple(each for each in found if each.effect is self.rule.effect)
        return same if len(same) == len(found) or self.what == "redundant" else tuple(found)


@define
class Effort:
    """How many lines may still be compared, in addition to one call for each rule."""

    left: int = limits.LINES_COMPARED


# How many steps searches may take for all rules.
_STEPS: Final = 300_000

# The effort that each comparison takes, in addition to the lines that it compares.
_FIXED_COST: Final = 15

# The word that fills the gaps of a rule in the one call that settles most rules.
_WORD: Final = "q7z"

_TOO_MANY: Final = "the rules overlap in more ways than are tried one by one"


class Trials:
    """The parts of a table, each of whose rules is tried for as long as there is effort left.

    Args:
        table: the table that has the rules.
        effort: the remaining effort, which several tables may share.
        known: earlier comparisons, where several tables share some of their lines.

    """

    def __init__(self, table: Table, effort: Effort, known: Known) -> None:
        self.parts = [LinkedRules(part.rules.interned, part.links) for part in table.use.parts]
        self._effort = effort
        self._known = known
        # All rules share the steps: else each rule would repeat a search that never ends.
        known.setdefault(Steps, Steps(_STEPS))
        self._lines: dict[str, list[ToolLines]] = {}
        dialects = {id(part.rules.dialect): part.rules.dialect for part in self.parts}
        self._is_uniform = len(set(dialects.values())) == 1
        self._matters = matters(checked=all(dialect.checks for dialect in dialects.values()))

    def standing(self, rule: RuleInTable) -> RuleStanding:
        """Return the standing of *rule*."""
        called = self._one_text(rule)
        if called is not None:
            return RuleStanding(rule.because, is_live=True, witness=called)
        dead = RuleStanding(rule.because, is_live=False, covering=partial(self.covering, rule))
        if self._is_idle(rule):
            return dead
        dead = evolve(dead, decides=cache(partial(self._decides, rule)))
        if self._is_idle(rule, later=True):
            return dead
        if self._effort.left <= 0:
            return RuleStanding(rule.because, is_live=None, why=(_TOO_MANY,))
        sides = self._sides(rule, None)
        one = self._one_call(rule, sides)
        if one is not None and one.before.effect is not one.after.effect and self._matters(one):
            return RuleStanding(rule.because, is_live=True, witness=(one.tool, one.call))
        without = self._changed(rule, sides)
        for found in filter(self._matters, without.differences):
            return RuleStanding(rule.because, is_live=True, witness=(found.tool, found.call))
        if not without.exact:
            return RuleStanding(rule.because, is_live=None, why=without.why)
        return evolve(dead, without=one)

    # --- one text

    def _one_text(self, rule: RuleInTable) -> tuple[str, Call] | None:
        """Return a tried call that is decided differently without *rule*; None if none is."""
        for tool, text, lines, others in self._tried(rule):
            before = min(lines[part].effect(text) for part in rule.lists)
            after = min(lines[part].effect(text, some) for part, some in rule.lists.items())
            if before & others is not after & others:
                dialect = self._dialect
                named = frozenset[str]().union(*(each.named for each in lines))
                call = CallShape(dialect, dialect.argument(tool), named=named).call(text)
                if tool not in dialect.inputs or dialect.inputs[tool].takes(call):
                    return tool, call
        return None

    def _tried(self, rule: RuleInTable) -> Iterator[tuple[str, str, list[ToolLines], Effect]]:
        """Yield a call for each line of *rule*: tool, text, lines, and effect of other parts."""
        for entry in rule.entries if self._is_uniform else ():
            if entry.field:
                continue
            tool = freeze(glob_pattern(entry.tool), _WORD) if is_glob(entry.tool) else entry.tool
            text = freeze(entry.pattern, _WORD) if entry.pattern is not None else _WORD
            if is_one_text(self._dialect, tool, text):
                lines = self._of(tool)
                others = (each.effect(text) for n, each in enumerate(lines) if n not in rule.lists)
                yield tool, text, lines, min(others, default=Effect.ALLOW)

    def _is_idle(self, rule: RuleInTable, *, later: bool = False) -> bool:
        """Return whether other rules plainly make each line of *rule* idle (`ToolLines`)."""
        return self._is_by_tool(rule.entries) and all(
            self._of(entry.tool)[part].is_idle(entries, entry, later=later)
            for part, entries in rule.lists.items()
            for entry in entries
        )

    def _is_by_tool(self, entries: Iterable[Entry]) -> bool:
        """Return whether lines apply only to calls of the tools that they name."""
        if not self._is_uniform or self._dialect.fold_names:
            return False
        return not any(is_glob(entry.tool) for entry in entries)

    @property
    def _dialect(self) -> Dialect:
        return self.parts[0].rules.dialect

    def _of(self, tool: str) -> list[ToolLines]:
        """Return the lines of all parts that apply to *tool*; many tables have the same sets."""
        name = self._dialect.canonical(tool)
        if name not in self._lines:
            lines = self._lines[name] = []
            for rules in (part.rules for part in self.parts):
                key = ToolLines, id(rules), name
                if key not in self._known:
                    self._known[key] = ToolLines(rules, name)
                lines.append(self._known[key])
        return self._lines[name]

    # --- all calls

    def _decides(self, rule: RuleInTable) -> bool:
        """Return whether calls depend, or may depend, on the effect of *rule* in its place."""
        for _, text, lines, others in self._tried(rule):
            for part, entries in rule.lists.items():
                firsts = [lines[part].entries[number] for number in lines[part].matching(text)[:1]]
                is_first = any(first is entry for first in firsts for entry in entries)
                if is_first and others is not Effect.DENY:
                    return True
        for effect in Effect:
            if effect is not rule.because.effect:
                changed = self._changed(rule, self._sides(rule, effect))
                if not changed.exact or any(map(self._matters, changed.differences)):
                    return True
        return False

    def _changed(self, rule: RuleInTable, sides: Sequence[Sequence[RuleSet]]) -> Comparison:
        """Return how calls of the tools of *rule* are decided differently by two *sides*.

        The search stops at the first difference that matters.
        """
        if not self._is_by_tool(rule.entries):
            links = [part.links for part in self.parts]
            old, new = (Table(Ceiling.of(map(LinkedRules, sets, links))) for sets in sides)
            return differences(old, new, self._known)
        dialect = self._dialect
        tools = dict.fromkeys(dialect.canonical(entry.tool) for entry in rule.entries)
        if is_opened(dialect, rule):  # commands that open such a file may change too
            arguments = dialect.arguments.items()
            tools |= dict.fromkeys(n for n, a in arguments if a.kind is ArgumentKind.COMMAND)
        found: list[Difference] = []
        why: dict[str, None] = {}
        for tool in tools:
            before, after = self._lookups(tool, sides)
            comparison = compare(tool, before, after, self._known, self._matters)
            found += comparison.differences
            why |= dict.fromkeys(comparison.why)
            if any(map(self._matters, comparison.differences)):
                break
        return Comparison(tuple(found), tuple(why))

    def _sides(self, rule: RuleInTable, effect: Effect | None) -> list[list[RuleSet]]:
        """Return the rule sets as they are, and with *rule* of another *effect*, or without it."""
        sets = [part.rules for part in self.parts]
        changed = list(sets)
        self._effort.left -= _FIXED_COST
        for part, lines in rule.lists.items():
            entries, own = sets[part].entries, set(map(id, lines))
            self._effort.left -= len(entries)
            if effect is None:
                kept = [entry for entry in entries if id(entry) not in own]
            else:
                kept = [evolve(e, effect=effect) if id(e) in own else e for e in entries]
            changed[part] = evolve(sets[part], entries=tuple(kept))
        return [sets, changed]

    def _lookups(self, tool: str, sides: Iterable[Sequence[RuleSet]]) -> Iterator[Lookup]:
        """Yield the lookup of *tool* for each side."""
        links = [part.links for part in self.parts]
        for sets in sides:
            rows = (rules.row(tool) for rules in sets)
            yield Lookup(zip(rows, links, strict=True), "")

    def _one_call(self, rule: RuleInTable, sides: list[list[RuleSet]]) -> Difference | None:
        """Return the difference for a call of *rule*; None without one."""
        entry = rule.entries[0]
        if entry.field or entry.pattern is None or is_glob(entry.tool):
            return None
        tool = self._dialect.canonical(entry.tool)
        shape = CallShape(self._dialect, self._dialect.argument(tool))
        word = "app.py" if shape.argument.kind is ArgumentKind.PATH else "build"
        text = freeze(entry.pattern, word)
        if not shape.domain.holds(text):
            return None
        call = shape.call(text)
        decided = (each.decide(call, remember=False) for each in self._lookups(tool, sides))
        return Difference(tool, call, *decided)

    def covering(self, rule: RuleInTable) -> list[Because]:
        """Return the rules that each alone cover *rule*, in every list that has it."""
        found = [self._covering_in(part, entries) for part, entries in rule.lists.items()]
        return [why for key, why in found[0].items() if all(key in others for others in found)]

    def _covering_in(self, number: int, entries: tuple[Entry, ...]) -> dict[object, Because]:
        part = self.parts[number]
        others: Iterable[Entry] = part.rules.entries
        if self._is_by_tool(entries):
            tools = dict.fromkeys(part.rules.dialect.canonical(each.tool) for each in entries)
            others = (
                each.entries[at]
                for each in (self._of(tool)[number] for tool in tools)
                for at in sorted({at for entry in entries for at in each.wider(entry)})
            )
        lines: dict[object, list[Entry]] = {}
        for other in others:
            lines.setdefault(key_of(other), []).append(other)
        lines.pop(key_of(entries[0]), None)
        return {
            key: because_of(some[0], part)
            for key, some in lines.items()
            if all(any(contains(other, entry) for other in some) for entry in entries)
        }
