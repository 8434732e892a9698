"""Autonomy, and the ordered rules of a session: what may be called, and what is asked for.

Under ``supervised`` the rules of a tool are asked in their order, the first
glob that matches the input decides, and what none matches is asked for. The
names of tools are compared as written here, unlike in the lists of an agent.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from policy.chain import SPAWN_TOOL
from policy.decision import Decision
from policy.dialect import Dialect
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.zeph.dialects import RAW
from policy.hosts.zeph.globs import Unusable, glob
from policy.hosts.zeph.names import READ_ONLY, SHELLS, normalize
from policy.patterns.pattern import Pattern
from policy.redundancy.order import placed
from policy.ruleset import Entry, RuleSet
from policy.source import Span
from policy.table import Table

__all__ = ["Autonomy", "PermissionPolicy"]


class Autonomy(enum.Enum):
    """How much a session may do by itself."""

    READ_ONLY = "readonly"
    SUPERVISED = "supervised"
    FULL = "full"

    __hash__ = object.__hash__


Rules = tuple[tuple[str, Effect], ...]
Spans = tuple[Span | None, ...]

_CATCH_ALL: Final = ("", "*", "**")


def _rules(rules: Mapping[str, Iterable[tuple[str, Effect]]]) -> Mapping[str, Rules]:
    return {tool: tuple(listed) for tool, listed in rules.items()}


@attrs.frozen(slots=False)
class PermissionPolicy:
    """What a session says of each tool.

    Attributes:
        autonomy: whether the rules are asked at all.
        rules: by tool, globs over the input, each with its effect.
        spans: by tool, where its first rules are written.
        ordered: whether somebody chose the order of the rules.

    """

    autonomy: Autonomy = Autonomy.SUPERVISED
    rules: Mapping[str, Rules] = attrs.field(factory=dict, converter=_rules, hash=False)
    spans: Mapping[str, Spans] = attrs.field(factory=dict, eq=False, repr=False)
    ordered: bool = attrs.field(default=True, eq=False, repr=False)

    @classmethod
    def from_legacy(cls, blocked: Iterable[str], confirm: Iterable[str]) -> PermissionPolicy:
        """Return the policy of two lists of words in commands, as they used to be written."""
        denied = [(f"*{word}*", Effect.DENY) for word in blocked]
        asked = [(f"*{word}*", Effect.ASK) for word in confirm]
        return cls(rules={"bash": (*denied, *asked, ("*", Effect.ALLOW))}, ordered=False)

    def check(self, tool: str, text: str) -> Decision:
        """Return what a call of *tool* with the input *text* gets."""
        argument = RAW.argument(tool)
        field = argument.fields[0] if argument.fields else "input"
        return Table.of(self.rule_set(RAW)).decide(tool, {field: text})

    def rule_set(self, dialect: Dialect, *, gated: bool = False) -> RuleSet:
        """Return the policy as rules.

        Args:
            dialect: of what is decided. By a loose one, names are compared so too.
            gated: whether it is asked behind the gate of trust, which lets
                every tool through that has no rules.

        """
        spawns = Entry(SPAWN_TOOL, Effect.ALLOW, rule="starting an agent")
        named = f"autonomy: {self.autonomy.value}"
        match self.autonomy:
            case Autonomy.FULL:
                return RuleSet((Entry("*", Effect.ALLOW, rule=named),), Effect.ALLOW, dialect)
            case Autonomy.READ_ONLY:
                listed = (Entry(name, Effect.ALLOW, rule=named) for name in READ_ONLY)
                return RuleSet((spawns, *listed), Effect.DENY, dialect)
            case Autonomy.SUPERVISED:
                default = Effect.ALLOW if gated else Effect.ASK
                return RuleSet((spawns, *self._entries(gated=gated)), default, dialect)

    def _entries(self, *, gated: bool) -> Iterator[Entry]:
        for tool, rules in self.rules.items():
            for index, text, effect, patterns in _usable(rules):
                span = self._span(tool, index)
                place = span.place if span else None
                for pattern in patterns:
                    yield Entry(tool, effect, pattern, rule=f"{tool}: {text}", place=place)
            if gated and rules:
                yield Entry(tool, Effect.ASK, rule=f"{tool}: no rule matches")

    def _span(self, tool: str, index: int) -> Span | None:
        spans = self.spans.get(tool, ())
        return spans[index] if index < len(spans) else None

    def _written(self, named: str) -> Span | None:
        """Return where the first rule is written that `_entries` names so."""
        for tool, rules in self.rules.items():
            for index, (text, _) in enumerate(rules):
                if named == f"{tool}: {text}":
                    return self._span(tool, index)
        return None

    def findings(self) -> Iterator[Finding]:
        """Yield the rules that are no globs, which are passed over, and those of no tool."""
        for tool, rules in self.rules.items():
            meant = "bash" if tool in SHELLS else normalize(tool)
            if tool != meant:
                yield Finding(
                    "rule-of-no-tool",
                    f"the rules of `{tool}` are for no call: names are compared as written, and"
                    " those of tools are in small letters; the shell is `bash`",
                    Severity.ERROR,
                    self._span(tool, 0),
                    help=f"write `{meant}`",
                )
            for index, (text, effect) in enumerate(rules):
                try:
                    glob(text, ignore_case=True)
                except Unusable as unusable:
                    yield Finding(
                        "rule-is-no-glob",
                        f"the rule `{text}` of `{tool}` is passed over: {unusable}",
                        Severity.ERROR if effect is Effect.DENY else Severity.WARNING,
                        self._span(tool, index),
                    )

        asked = self.ordered and self.autonomy is Autonomy.SUPERVISED
        for found in placed(self.rule_set(RAW)) if asked else ():
            call = " ".join(map(str, found.witness.call.values()))
            yield Finding(
                "order-matters",
                f"`{found.rule}` decides only because it stands before `{found.before}`: behind it"
                f" `{call}` would get {found.witness.after.effect} instead of"
                f" {found.witness.before.effect}",
                Severity.NOTE,
                self._written(found.rule),
            )

    def is_fully_denied(self, tool: str) -> bool:
        """Return whether *tool* has rules and all of them deny."""
        rules = self.rules.get(tool, ())
        return bool(rules) and all(effect is Effect.DENY for _, effect in rules)

    def effective_tool_allowlist(self, universe: Iterable[str]) -> tuple[str, ...] | None:
        """Return the tools of *universe* that the rules leave; None where they take none away.

        A tool is taken away by a rule that denies every input, unless a rule
        before it allows some or asks for them.
        """
        if self.autonomy is not Autonomy.SUPERVISED:
            return None
        denied = {normalize(tool) for tool, rules in self.rules.items() if _denies_all(rules)}
        tools = tuple(universe)
        left = tuple(tool for tool in tools if normalize(tool) not in denied)
        return None if left == tools else left


def _usable(rules: Rules) -> Iterator[tuple[int, str, Effect, tuple[Pattern, ...]]]:
    for index, (text, effect) in enumerate(rules):
        try:
            yield index, text, effect, glob(text, ignore_case=True)
        except Unusable:
            continue


def _denies_all(rules: Rules) -> bool:
    for _, text, effect, _ in _usable(rules):
        if effect is not Effect.DENY:
            return False
        if text in _CATCH_ALL:
            return True
    return False
