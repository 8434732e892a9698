"""Computes the most that an agent may do with each tool, over all its positions.

Each position is a meet of rule sets. For each pattern in their rules, the grant is the greatest
effect that calls get at some position, if no narrower pattern matches them. A pattern is left out
if it gets the same effect as the next wider patterns: ``git push *`` within ``git *``, both
allowed. Where two patterns overlap and neither contains the other, a call that both match may get
either effect; the greater one is reported, as inexact. So are tools with rules about further
arguments, which are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any, Final

from policy.analysis.no_command import why_no_command
from policy.compare.tables import OTHER_TOOL, glob_index, internal_tools, representatives
from policy.core import expressions as re
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.patterns.pattern import Meet, Pattern, PatternKind, freeze
from policy.patterns.tokens import OneOf
from policy.tables.dialect import relative_path
from policy.tables.row import Row
from policy.tables.table import Lookup, Table

# Why a result is not exact.
MANY_PATTERNS = "there are more patterns than are taken together"
OTHER_ARGUMENTS = "some rules look at further arguments"
OVERLAPPING = "patterns overlap whose effects differ"

# The most patterns of one tool that are compared with each other.
_PATTERNS = 150


@values.frozen
class MostGranted:
    """The greatest effect that some calls of a tool get at any position."""

    effect: Effect
    rule: str  # that matches the calls; "" stands for calls that no pattern matches
    reason: Reason | None = None  # of the default, if that decides
    written: bool = False  # whether a file has `rule` in these words
    # The patterns that match the calls; empty for calls that no pattern matches.
    patterns: tuple[Pattern, ...] = values.field(default=(), repr=False)


@values.frozen
class AtMost:
    """The most that an agent may do with one tool."""

    tool: str  # a name, made up if `glob` is not ""
    glob: str  # the glob that the tool stands for, or ""
    # The narrowest grant that matches a call applies; the last is for calls that no other matches.
    grants: tuple[MostGranted, ...]
    why: tuple[str, ...] = ()  # why the grants are not exact; empty if they are


# A row -> a key of its words; a tool and its rows at all positions -> the most that they grant.
KnownGrants = dict[object, Any]


def at_most(positions: Sequence[Table], known: KnownGrants | None = None) -> tuple[AtMost, ...]:
    """Return the most that an agent with these *positions* may do, by tool.

    *known* holds the results so far: most agents of a project have equal rows for most tools.
    """
    known = {} if known is None else known
    found: list[AtMost] = []
    tools: dict[str, str] = {}
    for table in positions:
        for tool, glob in _tools_of(table):
            tools.setdefault(tool, glob)
    for tool, glob in tools.items():
        # Equal positions -> the lookup of the first.
        firsts: dict[object, Lookup] = {}
        for table in positions:
            lookup = table.lookup(tool)
            reason = None if lookup.constant is None else lookup.constant.reason
            rows = tuple([known.get(row) or _words(row, known) for row, _ in lookup.rows])
            firsts.setdefault((lookup.floor, reason, rows), lookup)
        key = tool, glob, tuple(firsts)
        if key not in known:
            known[key] = _Tool(tool, firsts.values()).at_most(glob)
        found.append(known[key])
    return tuple(found)


def _words(row: Row, known: KnownGrants) -> Key:
    entries = tuple([(e.pattern, e.effect, e.field, e.rule, e.form) for e in row.entries])
    default = row.default.effect, row.default.reason
    known[row] = key = Key((entries, default, id(row.ruleset.dialect)))
    return key


def _tools_of(table: Table) -> Iterator[tuple[str, str]]:
    """Yield each tool that rules of *table* name, or a made-up name and the glob it stands for."""
    sets = [part.rules for part in table.use.parts]
    tools, _ = representatives(sets)
    known = {OTHER_TOOL}.union(*({*rules.dialect.arguments, *rules.names} for rules in sets))
    aliases = set[str]().union(*(rules.dialect.aliases for rules in sets))
    internal = internal_tools(rules.dialect for rules in sets)
    globs = tuple(dict.fromkeys(glob for rules in sets for glob in rules.globs))
    index = glob_index(globs)
    for tool in tools:
        # An alias is reported under its real name, unless links know it by several.
        real = tool not in aliases or any(rules.dialect.canonical(tool) == tool for rules in sets)
        if tool not in internal and real:
            by = () if tool in known else [globs[number] for number in sorted(index.matching(tool))]
            yield tool, max(by, key=lambda glob: len(glob.replace("*", "")), default="")


# Pattern -> the patterns that contain it.
_Wider = Mapping[Pattern, frozenset[Pattern]]


@lru_cache(maxsize=256)  # most tools of a host have the same patterns, at every position
def _wider_ones(patterns: tuple[Pattern, ...]) -> _Wider:
    """Return for each pattern those that contain it."""
    wide = [pattern for pattern in patterns if not pattern.exact]
    return {
        pattern: frozenset(each for each in wide if each != pattern and _is_within(pattern, each))
        for pattern in patterns
    }


@lru_cache(maxsize=1 << 16)
def _is_within(narrow: Pattern, wide: Pattern) -> bool:
    return _fit(narrow, wide) and narrow <= wide


@lru_cache(maxsize=1 << 16)
def _may_meet(one: Pattern, other: Pattern) -> bool:
    if not _fit(one, other):
        return False
    for first, last in permutations((one, other)):  # texts that most pairs share, before a search
        for head in (_literal(first, 0), freeze(first, "x")):
            text = f"{head}{freeze(last, 'x')}".replace("//", "/")
            if one.matches(text) and other.matches(text) and one.kind.domain.holds(text):
                return True
    return not Meet.of(one, other).is_empty()


def _literal(pattern: Pattern, at: int) -> str:
    token = pattern.tokens[at] if pattern.tokens else ""
    return token if isinstance(token, str) else ""


def _fit(one: Pattern, other: Pattern) -> bool:
    """Return whether texts may have the literal starts and the literal ends of both patterns."""
    starts = sorted((_literal(one, 0), _literal(other, 0)), key=len)
    ends = sorted((_literal(one, -1), _literal(other, -1)), key=len)
    return starts[1].startswith(starts[0]) and ends[1].endswith(ends[0])


# Pattern -> the place of the first entry of a row that has it, in order.
_Order = dict[Pattern, int]


class _Tool:
    """One tool at the positions of an agent that differ."""

    def __init__(self, tool: str, positions: Iterable[Lookup]) -> None:
        self._tool = tool
        self._why: dict[str, None] = {}
        # Pattern -> the first rule that has it.
        self._rules: dict[Pattern, str] = {}
        self._positions = [
            (lookup, [(row, self._order(row)) for row, _ in lookup.rows]) for lookup in positions
        ]
        self._wider: _Wider = {}
        if len(self._rules) <= _PATTERNS and len({each.kind for each in self._rules}) < 2:
            self._wider = _wider_ones(tuple(self._rules))
        else:
            self._why[MANY_PATTERNS] = None  # no pattern is compared with another

    def _order(self, row: Row) -> _Order:
        found: _Order = {}
        for place, entry in enumerate(row.entries):
            if entry.field:
                self._why[OTHER_ARGUMENTS] = None
            if entry.field or entry.pattern is None:
                continue
            allows = entry.effect is Effect.ALLOW
            if not (allows and why_no_command(entry, self._tool, row.ruleset.dialect)):
                found.setdefault(entry.pattern, place)
                self._rules.setdefault(entry.pattern, entry.rule)
        return found

    def at_most(self, glob: str) -> AtMost:
        """Return the most that the agent may do with the tool."""
        rest = self._best(None)
        best = {pattern: self._best(pattern) for pattern in self._rules}
        shown = {pattern: f"{self._tool}({_shown(pattern)})" for pattern in self._rules}
        effects: dict[str, set[tuple[Effect, str]]] = {}
        for pattern, rule in self._rules.items():
            effects.setdefault(rule, set()).add((best[pattern].effect, shown[pattern].casefold()))
        grants: dict[object, MostGranted] = {}
        for pattern, rule in self._rules.items():
            if not self._differs(pattern, best, rest):
                continue
            # The text of a rule stands for its patterns only if all of them get one effect. The
            # case of letters does not count: one rule may deny `rm` in any case, and another
            # allow it in one.
            new, text = best[pattern], shown[pattern].casefold()
            is_one = all(one is new.effect or other == text for one, other in effects[rule])
            written = bool(rule) and is_one
            name = rule if written else shown[pattern]
            new = values.evolve(new, rule=name, written=written)
            known = grants.get((new.effect, name), new)
            grants[new.effect, name] = values.evolve(known, patterns=(*known.patterns, pattern))
        ranked = sorted(grants.values(), key=lambda grant: grant.effect, reverse=True)
        return AtMost(self._tool, glob, (*ranked, rest), tuple(self._why))

    def _differs(
        self, pattern: Pattern, best: Mapping[Pattern, MostGranted], rest: MostGranted
    ) -> bool:
        """Return whether *pattern* gets another effect than the next wider patterns, or *rest*."""
        if not self._wider:
            return bool(self._rules[pattern])
        wider = self._wider[pattern]
        around = [best[o] for o in wider if not any(o in self._wider[each] for each in wider)]
        return any(other.effect is not best[pattern].effect for other in around or [rest])

    def _best(self, pattern: Pattern | None) -> MostGranted:
        """Return the grant of calls whose narrowest pattern is *pattern*; None is no pattern."""
        grants = []
        for lookup, rows in self._positions:
            outcomes: list[tuple[Effect, Reason | None]] = [(lookup.floor, None)]
            if lookup.constant is not None:
                outcomes = [(lookup.constant.effect, lookup.constant.reason)]
            is_met = len(rows) > 1
            outcomes += [
                self._row_outcome(row, order, pattern, is_met=is_met) for row, order in rows
            ]
            effect, reason = min(outcomes, key=lambda pair: pair[0])
            grants.append(MostGranted(effect, "", reason))
        return max(grants, key=lambda grant: grant.effect)

    def _row_outcome(
        self, row: Row, order: _Order, pattern: Pattern | None, *, is_met: bool
    ) -> tuple[Effect, Reason | None]:
        """Return the greatest effect of such calls in a row, and the reason if its default decides.

        Overlapping patterns count only if the row *is_met* with others: in a single row each has
        its own grant.
        """
        default = row.default.effect, row.default.reason
        if pattern is None:
            return default
        wider = (pattern, *self._wider.get(pattern, ()))
        end = min((order[each] for each in wider if each in order), default=len(row.entries))
        effect, reason = (row.entries[end].effect, None) if end < len(row.entries) else default
        greatest = effect
        for other, place in order.items():
            if place >= end:
                break
            earlier = row.entries[place].effect
            if earlier is not effect and self._overlaps(pattern, other):
                self._why[OVERLAPPING] = None
                greatest = max(greatest, earlier) if is_met else effect
        return greatest, reason if greatest is effect else None

    def _overlaps(self, one: Pattern, other: Pattern) -> bool:
        """Return whether some texts match both patterns, and others match each of them alone."""
        # A pattern without wildcards cannot: another contains it, or shares nothing with it.
        wider = self._wider
        if not wider or one.exact or other.exact or one in wider[other] or other in wider[one]:
            return False
        return _may_meet(one, other)


@lru_cache(maxsize=1 << 16)
def _shown(pattern: Pattern) -> str:
    """Return a pattern as people write it, e.g. ``a`` for ``[aA]``."""
    shown = ""
    for token in pattern.tokens:
        letters = set[str]()
        if isinstance(token, OneOf) and not token.negated:
            letters = {letter.casefold() for letter in token.characters}
        shown += letters.pop() if len(letters) == 1 else str(Pattern.of(PatternKind.TEXT, [token]))
    return shown or str(pattern)


# The name for all tools that no rule names.
ANY_OTHER: Final = "any other tool"

# Stands for calls whose pattern no file spells.
SOME: Final = "some calls"

# `Tool(specifier)`, or of a built-in rule `Tool (reason)`.
_RULE: Final = re.compile(r"[^\s()]+( ?)\((.*)\)", re.DOTALL)


@values.frozen
class ToolAccess:
    """The specifiers of a tool by effect, in words for people."""

    name: str  # a tool, or a glob over tools
    allowed: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    otherwise: str = ""  # the effect of all other calls; "" if the agent lacks the tool


def tool_access(most: Iterable[AtMost]) -> list[ToolAccess]:
    """Return *most* in words for people."""
    access = []
    for tool in most:
        rest = tool.grants[-1]
        found: dict[Effect, dict[str, tuple[bool, bool, int]]] = {effect: {} for effect in Effect}
        for grant in tool.grants[:-1]:
            rule = _RULE.fullmatch(grant.rule)
            specifier = relative_path(rule[2]) if rule else "any"
            # Built-in rules come first, then patterns, then single texts; short ones before long.
            rank = not (rule and rule[1]), "*" not in specifier, len(specifier.split())
            found[grant.effect].setdefault(specifier if grant.written else SOME, rank)
        name = ANY_OTHER if tool.tool == OTHER_TOOL else tool.glob or tool.tool
        asked, allowed = (
            tuple(sorted(found[effect], key=found[effect].__getitem__))
            for effect in (Effect.ASK, Effect.ALLOW)
        )
        otherwise = "" if rest.reason is Reason.UNAVAILABLE else rest.effect.value
        access.append(ToolAccess(name, allowed, asked, tuple(found[Effect.DENY]), otherwise))
    return access


def by_class(
    tools: Iterable[ToolAccess], classes: Mapping[str, tuple[str, ...]], kinds: Iterable[str]
) -> dict[str, list[ToolAccess]]:
    """Return *tools* by class (``read``, ``run`` …), in the order that *classes* gives."""
    found: dict[str, list[ToolAccess]] = {kind: [] for kind in kinds}
    for tool in tools:
        kind = next((each for each, names in classes.items() if tool.name in names), "other")
        found[kind].append(tool)
    for kind, some in found.items():
        order = classes.get(kind, ())
        some.sort(key=lambda tool: order.index(tool.name) if tool.name in order else 0)
    # If the rules name no tool of a class, "any other tool" stands for it.
    anything = [tool for tool in found["other"] if tool.name == ANY_OTHER]
    return {kind: some or anything for kind, some in found.items()}
