"""What a table says of the calls that one of its rules matches, with and without that rule.

Only lines that may match one of these calls are compared (`policy.comparison.overlap`), and for
most rules one call settles it: one in which a fresh word fills what the rule leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from policy.comparison.compare import Comparison, Difference, Known, compare_until
from policy.comparison.overlap import Lines, contains
from policy.comparison.tools import glob_pattern
from policy.comparison.witness import Call, Shape
from policy.decision import Because
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.notations import is_glob, names
from policy.patterns.pattern import freeze
from policy.ruleset import Entry, RuleSet
from policy.shell.commands import read_command
from policy.shell.parts import Command
from policy.shell.parts import Part as CommandPart
from policy.table import Ceiling, Part, Table
from policy.telling import is_idle

__all__ = ["Shown", "Trials", "WrittenRule", "written_rules"]

# What it costs to compare, beside the lines that are put side by side.
_FIXED_COST = 15

# What fills the gaps of a rule in the one call that settles most of them.
_WORD = "q7z"


@attrs.frozen
class Shown:
    """A call that is decided differently without a rule."""

    tool: str
    call: Call


@attrs.frozen
class WrittenRule:
    """A rule as one list has it: several lines may come of it."""

    part: int
    entries: tuple[Entry, ...]
    because: Because


def _key(entry: Entry) -> object:
    return entry.rule, entry.effect, entry.place


def written_rules(parts: Sequence[Part]) -> Iterator[WrittenRule]:
    """Yield the rules that somebody wrote, list by list."""
    for number, part in enumerate(parts):
        lines: dict[object, list[Entry]] = {}
        for entry in part.rules.entries:
            if entry.place is not None:
                lines.setdefault(_key(entry), []).append(entry)
        for entries in lines.values():
            yield WrittenRule(number, tuple(entries), _because(entries[0], part))


def _because(entry: Entry, part: Part) -> Because:
    link = part.links[0] if part.links else ""
    return Because(entry.rule, entry.effect, link, entry.place)


class Trials:
    """The parts of a table, each of whose rules can be tried.

    Args:
        parts: of the table.
        known: what was compared so far, of this table or others.

    Attributes:
        cost: how many lines were put side by side so far.

    """

    def __init__(self, parts: Sequence[Part], known: Known | None = None) -> None:
        self._parts = list(parts)
        self._known: Known = {} if known is None else known
        self._lines: dict[str, list[Lines]] = {}
        self._gone: list[set[object]] = [set() for _ in parts]
        self._uniform = len({part.rules.dialect for part in parts}) == 1
        self.cost = 0

    @property
    def parts(self) -> list[Part]:
        """The parts, with the rules that are left."""
        return [
            Part(_with(part.rules, [e for e in part.rules.entries if _key(e) not in gone]), links)
            if gone
            else part
            for part, gone in zip(self._parts, self._gone, strict=True)
            for links in [part.links]
        ]

    def take_out(self, rule: WrittenRule) -> None:
        """Leave a rule out from now on."""
        self._gone[rule.part].add(_key(rule.entries[0]))
        for lines in self._lines.values():
            lines[rule.part].take_out(rule.entries)

    # --- one call

    def shown(self, rule: WrittenRule) -> Shown | None:
        """Return a call that is decided otherwise without *rule*, if the one tried is."""
        for tool, text, lines, others in self._tried(rule):
            before = lines[rule.part].effect(text)
            after = lines[rule.part].effect(text, rule.entries)
            if before & others is not after & others:
                dialect = self._dialect
                named = frozenset[str]().union(*(each.named for each in lines))
                shape = Shape(dialect, dialect.argument(tool), named=named)
                return Shown(tool, shape.call(text))
        return None

    def _tried(self, rule: WrittenRule) -> Iterator[tuple[str, str, list[Lines], Effect]]:
        """Yield a call for each line of *rule*: tool, text, and what all other parts say."""
        for entry in rule.entries if self._uniform else ():
            if entry.field:
                continue
            tool = freeze(glob_pattern(entry.tool), _WORD) if is_glob(entry.tool) else entry.tool
            text = freeze(entry.pattern, _WORD) if entry.pattern is not None else _WORD
            if _is_one_text(self._dialect, tool, text):
                lines = self._of(tool)
                others = (each.effect(text) for n, each in enumerate(lines) if n != rule.part)
                yield tool, text, lines, min(others, default=Effect.ALLOW)

    def read_off(self, rule: WrittenRule) -> str:
        """Return what becomes of *rule* where single wider lines tell it, or ""."""
        if not self._by_tool(rule):
            return ""
        found = set()
        for entry in rule.entries:
            found.add(self._of(entry.tool)[rule.part].standing(rule.entries, entry))
        if found == {"shadowed"}:
            return "shadowed"
        return "redundant" if "" not in found and self.decides(rule) else ""

    def decides(self, rule: WrittenRule) -> bool:
        """Return whether *rule* decides a call that is tried, and that others grant."""
        return any(
            others is not Effect.DENY and lines[rule.part].decides(text, rule.entries)
            for _, text, lines, others in self._tried(rule)
        )

    def _by_tool(self, rule: WrittenRule) -> bool:
        """Return whether all calls that *rule* speaks of are those of the tools it names."""
        if not self._uniform or self._dialect.fold_names or self._dialect.loose:
            return False
        return not any(is_glob(entry.tool) for entry in rule.entries)

    @property
    def _dialect(self) -> Dialect:
        return self._parts[0].rules.dialect

    def _of(self, tool: str) -> list[Lines]:
        """Return the lines of all parts that speak of *tool*."""
        name = self._parts[0].rules.dialect.canonical(tool)
        found = self._lines.get(name)
        if found is None:
            found = [Lines(part.rules, name) for part in self._parts]
            for gone, lines in zip(self._gone, found, strict=True):
                lines.take_out([entry for entry in lines.entries if _key(entry) in gone])
            self._lines[name] = found
        return found

    # --- all calls

    def changed(self, rule: WrittenRule, effect: Effect | None) -> Comparison:
        """Return how calls are decided differently where *rule* says *effect*, or nothing.

        Of differences that matter, one of those that there are is enough.
        """
        if not self._by_tool(rule):
            return self._changed_anywhere(rule, effect)
        found: dict[object, Comparison] = {}
        for tool in dict.fromkeys(self._dialect.canonical(e.tool) for e in rule.entries):
            kept = [
                [each.entries[number] for number in each.near(rule.entries)]
                for each in self._of(tool)
            ]
            # Of many tools, e.g. those that read files, the same is said.
            said = (self._dialect.argument(tool), tuple(map(_said, kept)))
            if said not in found:
                sides = (kept, _replaced(kept, rule, effect))
                before, after = (self._lookup(tool, side) for side in sides)
                found[said] = compare_until(_matters, tool, before, after, self._known)
        return _joined([*found.values(), *self._commands(rule, effect)])

    def _commands(self, rule: WrittenRule, effect: Effect | None) -> Iterator[Comparison]:
        """Yield how commands are decided differently, where *rule* speaks of files they open."""
        if not _is_opened(self._dialect, rule):
            return
        kept = [part.rules.entries for part in self.parts]
        sides = (kept, _replaced(kept, rule, effect))
        for tool, argument in self._dialect.arguments.items():
            if argument.kind is ArgumentKind.COMMAND:
                before, after = (self._lookup(tool, side) for side in sides)
                yield compare_until(_matters, tool, before, after, self._known)

    def _lookup(self, tool: str, kept: Sequence[Sequence[Entry]]) -> Lookup:
        self.cost += _FIXED_COST + sum(map(len, kept))
        return Lookup(
            (
                (_with(part.rules, entries).row(tool), part.links)
                for part, entries in zip(self._parts, kept, strict=True)
            ),
            "",
        )

    def _changed_anywhere(self, rule: WrittenRule, effect: Effect | None) -> Comparison:
        """Return the same, for calls of every tool whose name the rule may match."""
        everything = any(_is_opened(part.rules.dialect, rule) for part in self._parts)
        kept = [
            [
                entry
                for entry in part.rules.entries
                if _key(entry) not in gone
                and (everything or _may_meet(part.rules.dialect, entry, rule))
            ]
            for part, gone in zip(self._parts, self._gone, strict=True)
        ]
        self.cost += sum(map(len, kept))
        before, after = (
            Table(
                Ceiling.of(
                    Part(_with(part.rules, entries), part.links)
                    for part, entries in zip(self._parts, side, strict=True)
                )
            )
            for side in (kept, _replaced(kept, rule, effect))
        )
        return before.differences(after, self._known)

    def covering(self, rule: WrittenRule) -> Iterator[Because]:
        """Yield the rules of the same list that alone match all that *rule* matches."""
        part = self._parts[rule.part]
        gone = self._gone[rule.part]
        if self._by_tool(rule):
            tools = dict.fromkeys(part.rules.dialect.canonical(e.tool) for e in rule.entries)
            lines = [self._of(tool)[rule.part] for tool in tools]
            others = [each.entries[number] for each in lines for number in each.near(rule.entries)]
        else:
            others = [entry for entry in part.rules.entries if _key(entry) not in gone]
        found: dict[Because, set[Entry]] = {}
        for other in others:
            if _key(other) != _key(rule.entries[0]):
                covered = {entry for entry in rule.entries if contains(other, entry)}
                found.setdefault(_because(other, part), set()).update(covered)
        wanted = set(rule.entries)
        yield from (because for because, covered in found.items() if covered == wanted)


def _is_one_text(dialect: Dialect, tool: str, text: str) -> bool:
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
            return Shape(dialect, argument).domain.holds(text)


def _matters(difference: Difference) -> bool:
    return not is_idle(difference)


def _said(entries: Sequence[Entry]) -> tuple[object, ...]:
    return tuple((e.pattern, e.field, e.effect, e.reason, e.rule, e.place) for e in entries)


def _with(rules: RuleSet, entries: Sequence[Entry]) -> RuleSet:
    return RuleSet(tuple(entries), rules.default, rules.dialect, rules.default_reason)


def _joined(found: Sequence[Comparison]) -> Comparison:
    return Comparison(
        tuple(difference for each in found for difference in each.differences),
        tuple(dict.fromkeys(reason for each in found for reason in each.why)),
    )


def _replaced(
    kept: Sequence[Sequence[Entry]], rule: WrittenRule, effect: Effect | None
) -> list[list[Entry]]:
    """Return *kept* with another effect of a rule, or without it."""
    sides = [list(entries) for entries in kept]
    sides[rule.part] = [
        attrs.evolve(entry, effect=effect) if effect is not None and same else entry
        for entry in sides[rule.part]
        if not (same := _key(entry) == _key(rule.entries[0])) or effect is not None
    ]
    return sides


def _is_opened(dialect: Dialect, rule: WrittenRule) -> bool:
    """Whether *rule* may speak of files that a command opens."""
    spoken_of = [names(dialect.canonical(entry.tool)) for entry in rule.entries]
    return any(pattern.matches(tool) for tool in dialect.shell.opening for pattern in spoken_of)


def _may_meet(dialect: Dialect, entry: Entry, rule: WrittenRule) -> bool:
    """Whether *entry* may speak of a tool that *rule* speaks of, by how their names start."""
    if dialect.aliases or dialect.fold_names or dialect.loose:
        return True
    start = entry.tool.partition("*")[0]
    starts = [each.tool.partition("*")[0] for each in rule.entries]
    return any(start.startswith(other) or other.startswith(start) for other in starts)
