"""What a table says of the calls that one of its rules matches, with and without that rule.

Only lines that may match one of these calls are compared (`policy.comparison.overlap`), and for
most rules one call settles it: one in which a fresh word fills what the rule leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import attrs

from policy.comparison.compare import Comparison, Difference, Known, compare_until
from policy.comparison.overlap import Lines, contains
from policy.comparison.tools import glob_pattern
from policy.comparison.witness import Call, Shape
from policy.decision import Because, Decision, Reason
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.notations import is_glob
from policy.patterns.pattern import freeze
from policy.redundancy.beside import (
    covering,
    is_one_text,
    is_opened,
    may_meet,
    opens_otherwise,
    together,
)
from policy.redundancy.written import WrittenRule, key_of, replaced
from policy.ruleset import Entry, RuleSet
from policy.table import Ceiling, Part, Table
from policy.telling import is_idle

__all__ = ["Shown", "Trials", "Without"]

# What it costs to compare, beside the lines that are put side by side.
_FIXED_COST = 15

# What fills the gaps of a rule in the one call that settles most of them.
_WORD = "q7z"


@attrs.frozen
class Shown:
    """A call that a rule speaks of.

    Attributes:
        tool: which tool is called.
        call: its arguments.

    """

    tool: str
    call: Call


@attrs.frozen
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

    def __init__(self, parts: Sequence[Part], known: Known | None = None) -> None:
        self._parts = list(parts)
        self._known: Known = {} if known is None else known
        self._lines: dict[str, list[Lines]] = {}
        self._gone: list[set[object]] = [set() for _ in parts]
        # Those of each part about files that commands open, once they are asked for.
        self._about_files: list[list[Entry]] | None = None
        self._uniform = len({part.rules.dialect for part in parts}) == 1
        self.cost = 0

    @property
    def parts(self) -> list[Part]:
        """The parts, with the rules that are left."""
        return [
            Part(_with(part.rules, [e for e in part.rules.entries if key_of(e) not in gone]), links)
            if gone
            else part
            for part, gone in zip(self._parts, self._gone, strict=True)
            for links in [part.links]
        ]

    def take_out(self, rule: WrittenRule) -> None:
        """Leave a rule out from now on."""
        for part, entries in rule.lists.items():
            self._gone[part].add(key_of(entries[0]))
            self._about_files = None
            for lines in self._lines.values():
                lines[part].take_out(entries)

    # --- one call

    def shown(self, rule: WrittenRule) -> Shown | None:
        """Return a call that is decided otherwise without *rule*, if the one tried is."""
        for tool, text, lines, others in self._tried(rule):
            before = min(lines[part].effect(text) for part in rule.lists)
            after = min(lines[part].effect(text, some) for part, some in rule.lists.items())
            if before & others is not after & others:
                dialect = self._dialect
                named = frozenset[str]().union(*(each.named for each in lines))
                call = Shape(dialect, dialect.argument(tool), named=named).call(text)
                if tool not in dialect.inputs or dialect.inputs[tool].takes(call):
                    return Shown(tool, call)
        return None

    def _tried(self, rule: WrittenRule) -> Iterator[tuple[str, str, list[Lines], Effect]]:
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

    def read_off(self, rule: WrittenRule) -> str:
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

    def decides(self, rule: WrittenRule) -> bool:
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

    def _of(self, tool: str) -> list[Lines]:
        """Return the lines of all parts that speak of *tool*."""
        name = self._parts[0].rules.dialect.canonical(tool)
        found = self._lines.get(name)
        if found is None:
            found = [Lines(part.rules, name) for part in self._parts]
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

    def changed(self, rule: WrittenRule, effect: Effect | None) -> Comparison:
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

    def _commands(self, rule: WrittenRule, effect: Effect | None) -> Iterator[Comparison]:
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
        self, kept: Sequence[Sequence[Entry]], rule: WrittenRule, effect: Effect | None
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

    def _changed_anywhere(self, rule: WrittenRule, effect: Effect | None) -> Comparison:
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
                    Part(_with(part.rules, entries), part.links)
                    for part, entries in zip(self._parts, side, strict=True)
                )
            )
            for side in (kept, replaced(kept, rule, effect))
        )
        return before.differences(after, self._known)

    def without(self, rule: WrittenRule) -> Without | None:
        """Return what a call that *rule* matches gets without it; None where none is at hand."""
        entry = rule.entries[0]
        if entry.field or entry.pattern is None or is_glob(entry.tool):
            return None
        tool, text = self._dialect.canonical(entry.tool), freeze(entry.pattern, "x")
        shape = Shape(self._dialect, self._dialect.argument(tool))
        if not shape.domain.holds(text):
            return None
        _, after = self._lookups(tool, self._sides(self._whole, rule, None))
        call = shape.call(text)
        return Without(Shown(tool, call), after.decide_once(call))

    def covering(self, rule: WrittenRule) -> Iterator[Because]:
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
