"""Versions of A3S Code, its tools, and its rules: `PermissionRule` and `PermissionPolicy`."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, partial
from typing import Any, Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Span, place_of
from policy.core.values import evolve, field, frozen
from policy.hosts.data import FindingTexts, arguments_of, host_table
from policy.hosts.fields import ErrorTexts, HostVersion, Since
from policy.patterns.notations import Unusable, names, slashed
from policy.patterns.pattern import Pattern
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table


class A3sProfile(HostVersion):
    """One version of A3S, with the features that differ."""

    HOST = "a3s"
    EXAMPLE = "9"

    # An agent without permissions has those of its parent.
    children_are_checked = Since(2, 5)
    # The permissions of the session bound the calls of a script.
    governs_inner_calls = Since(5)
    # A tool that no rule allows is not shown to the model.
    hides_tools = Since(5, 2, 8)
    # The permissions of the parent also bound an agent with permissions.
    parent_bounds = Since(5, 3, 1)
    # `search` stands for `grep`, `glob` and `bm25`.
    one_search = Since(6, 8)
    # A hook may answer for the person who would confirm.
    has_request_hooks = Since(6, 9)
    # The style of a session is another bound.
    has_styles = Since(8, 3)
    # There is a tool `update_plan`.
    has_plan_tool = Since(8, 4)
    # `allow` may contain `lane:query`.
    has_lanes = Since(9)
    # Only a person confirms; before, a timeout or a trusted lane did too.
    waits_for_people = Since(9)


NEWEST: Final = A3sProfile((9, 1, 2))

finding: Final = FindingTexts("policy.hosts.a3s")
refused: Final = ErrorTexts("a3s")

TOOLS: Final = host_table("a3s", "tools")
MODES: Final = tuple(TOOLS["modes"])
SPAWNING: Final = tuple(TOOLS["spawning"])
SHIPPED: Final = frozenset(TOOLS["shipped"])
QUERIES: Final = tuple(TOOLS["queries"])


@cache
def dialect(profile: A3sProfile) -> Dialect:
    """Return the dialect of a version.

    A rule that names one tool ignores case. A rule for a tool that is not listed here sees all
    arguments as JSON.
    """
    searches = TOOLS["one_search" if profile.one_search else "several_searches"]
    return Dialect(
        str(profile),
        arguments=arguments_of({**TOOLS["arguments"], **searches}),
        other=Argument(ArgumentKind.JSON, ()),
        fold_names=True,
    )


class Lane(enum.Enum):
    """The queues of the host. No tool is in the last two."""

    QUERY = "query"
    EXECUTE = "execute"
    CONTROL = "control"
    GENERATE = "generate"


def lane_of(tool: str) -> Lane:
    """Return the lane of a call of *tool*."""
    return Lane.QUERY if tool in QUERIES else Lane.EXECUTE


@frozen
class PermissionRule:
    """One rule, e.g. ``Bash(cargo:*)``."""

    text: str
    tool: str  # or a glob over names
    pattern: str | None  # a glob over the argument; None and ``*`` match any
    span: Span | None = field(default=None, eq=False, repr=False)

    @classmethod
    def of(
        cls, text: str, profile: A3sProfile = NEWEST, span: Span | None = None
    ) -> PermissionRule:
        """Return the rule in *text*. Every text is a rule, and blanks count."""
        parts = re.fullmatch(r"([^(]*)\((.*)\)", text, re.DOTALL)
        tool, pattern = parts.groups() if parts else (text, None)
        mode = tool.lower()
        if profile.one_search and mode in MODES:
            tool = "search"
            pattern = f"{mode} **" if pattern in (None, "*") else f"{mode} {pattern}"
        return cls(text, tool, pattern, span)

    @property
    def any_argument(self) -> bool:
        """Whether the rule matches every call of the tool."""
        return self.pattern in (None, "*")

    @property
    def is_glob(self) -> bool:
        """Whether the tool is a glob over names. Globs respect case."""
        return "*" in self.tool or "?" in self.tool

    @property
    def is_too_long(self) -> bool:
        """Whether the rule is longer than this program matches; the host has no such limit."""
        return len(self.text) > _LONGEST and not self._misnamed

    @property
    def _misnamed(self) -> str:
        if not self.tool:
            return "a rule without a tool"
        return "no tool has the name" if _NO_NAME.search(self.tool) else ""

    @property
    def problem(self) -> str:
        """Why the rule matches no call, or ""."""
        try:
            if not self._misnamed and not self.is_too_long:
                self._argument()
                self._tools()
        except Unusable as unusable:
            return str(unusable)
        return self._misnamed

    def names(self, tool: str) -> bool:
        """Return whether the rule applies to some call of *tool*."""
        return not self.problem and any(_names_tool(named, tool) for named in self._tools())

    def entries(self, effect: Effect) -> tuple[Entry, ...]:
        """Return the entries of the rule; a rule too long grants nothing, or denies its tool."""
        if self.problem or (self.is_too_long and effect is Effect.ALLOW):
            return ()
        pattern, effect = (None, Effect.DENY) if self.is_too_long else (self._argument(), effect)
        place = place_of(self.span)
        made = partial(Entry, effect=effect, pattern=pattern, rule=self.text, place=place)
        return tuple(map(made, self._tools()))

    def _argument(self) -> Pattern | None:
        return None if self.pattern in (None, "*") else slashed(self.pattern)

    def _tools(self) -> tuple[str, ...]:
        if len(self.tool) > _LONGEST:
            return ("*",)
        if self.is_glob:
            slashed(self.tool)
            return (f"={self.tool}",)
        if self.tool.startswith("mcp__"):
            # A prefix of the name: `mcp__pencil` matches `mcp__pencil2__wipe` too.
            return (f"={self.tool}:*", self.tool)
        return (self.tool,)


# The limit of patterns, with the `:*` that is added to a prefix.
_LONGEST: Final = limits.PATTERN_CHARACTERS - len(":*")

# A text that no name of a tool contains.
_NO_NAME: Final = re.compile(r"[\s()]|^=")


def _names_tool(named: str, tool: str) -> bool:
    """Return whether the tool of an entry is *tool*, or a pattern that matches it."""
    if named.startswith("="):
        return names(named).matches(tool)
    return _folded(named) == _folded(tool)


def _folded(name: str) -> str:
    # Only letters of ASCII: a Kelvin sign is not `k`.
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def lane_rule(text: str) -> Lane | None:
    """Return the lane that ``lane:query`` names; None for every other rule."""
    return next((lane for lane in Lane if text == f"lane:{lane.value}"), None)


@frozen
class PermissionPolicy:
    """The permissions of one session or agent; an ask rule cannot narrow an allow rule."""

    deny: tuple[PermissionRule, ...] = ()  # tried first
    allow: tuple[PermissionRule, ...] = ()  # tried next; since 9.0 it may contain lanes
    ask: tuple[PermissionRule, ...] = ()  # tried last
    default_decision: Effect = Effect.ASK  # of a call that no rule matches
    enabled: bool = True  # if not, everything is allowed
    profile: A3sProfile = NEWEST  # the version that reads it
    enabled_span: Span | None = field(default=None, eq=False, repr=False)

    @classmethod
    def of(  # the lists, the default, and who reads them
        cls,
        *,
        deny: Iterable[str] = (),
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        default: Effect = Effect.ASK,
        enabled: bool = True,
        profile: A3sProfile = NEWEST,
    ) -> PermissionPolicy:
        """Return the policy of rules given as text."""
        read = partial(PermissionRule.of, profile=profile)
        denied, allowed, asked = (tuple(map(read, texts)) for texts in (deny, allow, ask))
        return cls(denied, allowed, asked, default, enabled, profile)

    @property
    def lists(self) -> dict[Effect, tuple[PermissionRule, ...]]:
        """The rules by effect, in the order in which the lists are tried."""
        return {Effect.DENY: self.deny, Effect.ALLOW: self.allow, Effect.ASK: self.ask}

    @cached_property
    def rules(self) -> RuleSet:
        """The rules as a rule set."""
        if not self.enabled:
            return RuleSet((), Effect.ALLOW, dialect(self.profile))
        deny = [entry for rule in self.deny for entry in rule.entries(Effect.DENY)]
        ask = [entry for rule in self.ask for entry in rule.entries(Effect.ASK)]
        allow: list[Entry] = []
        execute: list[Entry] = []
        for rule in self.allow:
            lane = lane_rule(rule.text) if self.profile.has_lanes else None
            if lane is None:
                allow += rule.entries(Effect.ALLOW)
                continue
            made = partial(Entry, effect=Effect.ALLOW, rule=rule.text, place=place_of(rule.span))
            allow += [made(f"={tool}") for tool in QUERIES if lane is Lane.QUERY]
            execute = [made("*")] if lane is Lane.EXECUTE else execute
        # The lane is every tool but those of the query lane, which get entries before it.
        usual = partial(Entry, effect=self.default_decision, reason=Reason.DEFAULT)
        for tool in QUERIES if execute else ():
            asking = [entry for entry in ask if _names_tool(entry.tool, tool)]
            allow += (evolve(entry, tool=f"={tool}") for entry in asking)
            allow.append(usual(f"={tool}", rule="default_decision"))
        entries = (*deny, *allow, *(execute or ask))
        return RuleSet(entries, self.default_decision, dialect(self.profile))

    @cached_property
    def table(self) -> Table:
        """The table of this policy alone."""
        return Table.of(self.rules)

    def check(self, tool: str, args: Mapping[str, Any]) -> Decision:
        """Return the decision on a call."""
        return self.table.decide(tool, args)

    def matching_rules(
        self, tool: str, args: Mapping[str, Any]
    ) -> dict[Effect, tuple[PermissionRule, ...]]:
        """Return every rule but lanes that matches a call, by effect."""

        def matches(rule: PermissionRule) -> bool:
            alone = RuleSet(rule.entries(Effect.ALLOW), Effect.ASK, dialect(self.profile))
            return alone.row(tool).outcome(args).effect is Effect.ALLOW

        return {effect: tuple(filter(matches, rules)) for effect, rules in self.lists.items()}

    def declares(self, tool: str) -> bool:
        """Return whether an allow rule or an ask rule names *tool*; a lane does not."""
        return any(rule.names(tool) for rule in (*self.allow, *self.ask))

    def visible(self, tool: str) -> bool:
        """Return whether the model is shown *tool*; its calls may still be denied."""
        if not self.enabled or not self.profile.hides_tools:
            return True
        if any(rule.any_argument and rule.names(tool) for rule in self.deny):
            return False
        return self.default_decision is not Effect.DENY or self.declares(tool)


def managed(everyone: PermissionPolicy, own: PermissionPolicy | None = None) -> PermissionPolicy:
    """Return the policy in force: *own*, with the deny rules of *everyone* added."""
    first = own or everyone
    deny = dict.fromkeys((*first.deny, *everyone.deny))
    return evolve(first, deny=tuple(deny), enabled=True)
