"""What an agent may do at most, tool by tool.

Every position is a meet of ordered lists, and what an agent may do at most is the join of its
positions. To write that down as a short list of patterns, the patterns of all lists are taken
together, with whatever two of them share and neither contains. Then every call has a narrowest
pattern, all that decides it contains that one, and so one decision of each position holds for
all calls of which it is the narrowest. Reported is each pattern whose effect differs from that
of the next wider ones: of the patterns that match a call the narrowest holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import combinations
from typing import Final

from policy.analysis.no_command import is_parted, why_no_command
from policy.compare.tables import OTHER_TOOL, glob_pattern, internal_tools, representatives
from policy.compare.witness import witness_call
from policy.core import expressions as re
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.patterns.families import members
from policy.patterns.pattern import Meet, Pattern, PatternKind, freeze, is_stars, named, tokens_of
from policy.patterns.search import fresh_character
from policy.patterns.tokens import Gap, OneOf, Token
from policy.tables.dialect import ArgumentKind, relative_path
from policy.tables.lookup import Lookup
from policy.tables.row import Row
from policy.tables.table import Table

__all__ = [
    "ANY_OTHER",
    "MANY_PATTERNS",
    "OTHER_ARGUMENTS",
    "OVERLAPPING",
    "SOME",
    "AtMost",
    "MostGranted",
    "ToolAccess",
    "at_most",
    "by_class",
    "tool_access",
    "tools_of",
]


def tools_of(table: Table) -> Iterator[tuple[str, str]]:
    """Yield each tool that rules of *table* name, or a made-up name and the glob it stands for."""
    sets = [part.rules for part in table.use.parts]
    tools, _ = representatives(sets)
    named = {OTHER_TOOL}.union(*({*rules.dialect.arguments, *rules.names} for rules in sets))
    aliases = set[str]().union(*(rules.dialect.aliases for rules in sets))
    internal = internal_tools(rules.dialect for rules in sets)
    globs = {glob: glob_pattern(glob) for rules in sets for glob in rules.globs}
    for tool in tools:
        # An alias is reported under its real name, unless links know it by several.
        real = tool not in aliases or any(rules.dialect.canonical(tool) == tool for rules in sets)
        if tool not in internal and real:
            yield tool, "" if tool in named else _glob(tool, globs)


def _glob(tool: str, globs: dict[str, Pattern]) -> str:
    """Return the pattern that a made-up name is an instance of."""
    matching = [glob for glob, pattern in globs.items() if pattern.matches(tool)]
    return max(matching, key=lambda glob: len(glob.replace("*", "")), default="")


MANY_PATTERNS = "there are more patterns than are taken together"
OTHER_ARGUMENTS = "some rules look at further arguments"
OVERLAPPING = "what two patterns share cannot be written as a pattern"

# Patterns of one tool that are taken together.
_PATTERNS = 150


@values.frozen
class MostGranted:
    """What some calls of a tool get at most.

    Attributes:
        effect: the greatest of all positions.
        rule: the calls; "" is those that no other pattern of the tool matches.
        position: the number of the first that has it.
        reason: why, where that is the default of a list.
        written: whether *rule* is a rule as a file has it.
        idle: whether no command matches, as a shell refuses those that do.
        patterns: what matches the calls; nothing for all other calls.

    """

    effect: Effect
    rule: str
    position: int
    reason: Reason | None = None
    written: bool = False
    idle: bool = False
    patterns: tuple[Pattern, ...] = values.field(default=(), repr=False)


@values.frozen
class AtMost:
    """What an agent may do at most with one tool.

    Attributes:
        tool: its name.
        glob: the pattern over names of which *tool* is an instance, or "".
        grants: the narrowest that matches a call holds; the last is of all other calls.
        why: why this is not exact; nothing where it is.

    """

    tool: str
    glob: str
    grants: tuple[MostGranted, ...]
    why: tuple[str, ...] = ()


# What is granted is reported first.
_RANKS = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}


def at_most(positions: Sequence[Table]) -> tuple[AtMost, ...]:
    """Return what an agent at one of *positions* may do at most, by tool."""
    tools: dict[str, str] = {}
    for table in positions:
        for tool, glob in tools_of(table):
            tools.setdefault(tool, glob)
    found = []
    for tool, glob in tools.items():
        lookups = [table.lookup(tool) for table in positions]
        found.append(_Tool(tool, lookups).at_most(glob))
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _is_within(narrow: Pattern, wide: Pattern) -> bool:
    return narrow <= wide


class _Overlaps:
    """Some patterns, with what two of them share, and which contain which.

    Attributes:
        shared: what two patterns share, where it is none of them.
        wider: pattern -> those that contain it; nothing where they are too many.
        exact: whether all that two patterns share can be written as a pattern.

    """

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self.shared: dict[Pattern, None] = {}
        self.wider: dict[Pattern, frozenset[Pattern]] = {}
        self.exact = True
        self._fresh = fresh_character(named(tokens_of(patterns)))
        # A text of a pattern of stars that stands for all; "" for other patterns.
        self._stars = cache(lambda one: freeze(one, self._fresh) if is_stars(one.tokens) else "")
        with suppress(OverflowError):
            self._close(patterns)
            everyone = (*patterns, *self.shared)
            wide = [pattern for pattern in everyone if not pattern.exact]
            self.wider = {
                pattern: frozenset(
                    each for each in wide if each != pattern and self.contains(each, pattern)
                )
                for pattern in everyone
            }

    def _close(self, patterns: tuple[Pattern, ...]) -> None:
        """Add what patterns share, as far as other rules match it than match one of them."""
        wide = [pattern for pattern in patterns if not pattern.exact]
        matching: dict[Pattern, frozenset[Pattern]] = {}
        # A single text is within another pattern or shares nothing with it.
        waiting = deque(wide)
        while waiting:
            pattern = waiting.popleft()
            mine = frozenset(each for each in wide if self.contains(each, pattern))
            for other, theirs in matching.items():
                if mine <= theirs or theirs <= mine or not _may_meet(pattern, other):
                    continue
                for shared in self.both(pattern, other):
                    if shared not in patterns and shared not in self.shared:
                        self.shared[shared] = None
                        waiting.append(shared)
                        if len(patterns) + len(self.shared) > _PATTERNS:
                            raise OverflowError(MANY_PATTERNS)
            matching[pattern] = mine

    def both(self, one: Pattern, other: Pattern) -> Iterable[Pattern]:
        """Yield what both match, where neither contains the other."""
        fresh = self._fresh
        if is_stars((*one.tokens, *other.tokens)):
            for text in members([freeze(one, fresh), freeze(other, fresh)], fresh):
                pieces: list[str | Gap] = []
                for piece in text.split(fresh):
                    pieces += [piece, Gap.ANY] if piece else [Gap.ANY]
                yield Pattern.of(one.kind, pieces[:-1])
        elif self.exact and not Meet.of(one, other).is_empty():
            self.exact = False

    def contains(self, wide: Pattern, narrow: Pattern) -> bool:
        """Return whether *wide* matches all that *narrow* matches."""
        if wide == narrow:
            return True
        frozen = self._stars(narrow)
        if frozen and self._stars(wide):
            return frozen.startswith(_start(wide)) and wide.matches(frozen)
        return _is_within(narrow, wide)


# Most tools of a host have the same patterns, at every position.
_overlaps = lru_cache(maxsize=256)(_Overlaps)


# The place of the first entry of a row with each pattern.
_Order = dict[Pattern, int]


class _Tool:
    """What agents at some positions may do with one tool."""

    def __init__(self, tool: str, positions: Sequence[Lookup]) -> None:
        self._tool = tool
        self._why: dict[str, None] = {}
        # The patterns of rules that a command can match.
        self._matching: set[Pattern] = set()
        self._positions = [
            (lookup, [(row, self._order(row)) for row, _ in lookup.rows]) for lookup in positions
        ]
        kinds = [row.argument.kind for _, rows in self._positions for row, _ in rows]
        self._kind = kinds[0] if kinds else ArgumentKind.TEXT
        # As rules have them; what two of them share is written nowhere.
        self._rules: dict[Pattern, str] = {}
        for _, rows in self._positions:
            for row, order in rows:
                for pattern, place in order.items():
                    self._rules.setdefault(pattern, row.entries[place].rule)
        self._wider: dict[Pattern, frozenset[Pattern]] = {}

    def _order(self, row: Row) -> _Order:
        found: _Order = {}
        for place, entry in enumerate(row.entries):
            if entry.field:
                self._why[OTHER_ARGUMENTS] = None
            elif entry.pattern is not None:
                found.setdefault(entry.pattern, place)
                if not why_no_command(entry, self._tool, row.ruleset.dialect):
                    self._matching.add(entry.pattern)
        return found

    def at_most(self, glob: str) -> AtMost:
        """Return what the agent may do at most with the tool."""
        overlaps = self._overlaps()
        if overlaps is None:
            self._why[MANY_PATTERNS] = None  # each is then taken for itself
            self._wider = dict.fromkeys(self._rules, frozenset())
        else:
            self._wider = overlaps.wider
            self._rules.update(dict.fromkeys(overlaps.shared, ""))
        rest = self._best(None)
        best = {pattern: self._best(pattern) for pattern in self._rules}
        told = [pattern for pattern in best if self._differs(pattern, best, rest)]
        if overlaps is None or not (told or overlaps.exact):
            told = [pattern for pattern, rule in self._rules.items() if rule]
        ranked = self._ranked(told, best)
        if overlaps and (not overlaps.exact or self._is_ambiguous(ranked, overlaps)):
            self._why[OVERLAPPING] = None
        return AtMost(self._tool, glob, (*ranked, rest), tuple(self._why))

    def _ranked(
        self, patterns: Iterable[Pattern], best: Mapping[Pattern, MostGranted]
    ) -> list[MostGranted]:
        """Return what is granted most first; patterns of one rule with one effect together."""
        named, grants = self._named(best), dict[object, MostGranted]()
        for pattern in patterns:
            grant = named[pattern]
            known = grants.get((grant.effect, grant.rule), grant)
            idle = known.idle and grant.idle
            together = values.evolve(known, patterns=(*known.patterns, pattern), idle=idle)
            grants[grant.effect, grant.rule] = together
        return sorted(grants.values(), key=lambda grant: _RANKS[grant.effect])

    def _overlaps(self) -> _Overlaps | None:
        """Return how the patterns overlap; None where they are too many."""
        if len({pattern.kind for pattern in self._rules}) > 1 or len(self._rules) > _PATTERNS:
            return None
        found = _overlaps(tuple(self._rules))
        return found if found.wider.keys() >= self._rules.keys() else None

    def _named(self, best: Mapping[Pattern, MostGranted]) -> dict[Pattern, MostGranted]:
        """Return what each pattern gets with its rule, or the pattern where it has none.

        A rule that stands for several patterns has none where these get different effects, but
        for letters: one rule may guard a text in any case, and another allow it in one.
        """
        shown = {pattern: self._shown(pattern) for pattern in self._rules}
        effects: dict[str, set[tuple[Effect, str]]] = {}
        for pattern, rule in self._rules.items():
            effects.setdefault(rule, set()).add((best[pattern].effect, shown[pattern].casefold()))
        found = {}
        for pattern, rule in self._rules.items():
            effect, text = best[pattern].effect, shown[pattern].casefold()
            is_one = all(one is effect or other == text for one, other in effects[rule])
            written = bool(rule) and is_one
            name = rule if written else shown[pattern]
            idle = bool(rule) and not (pattern in self._matching and self._is_met(pattern, effect))
            found[pattern] = values.evolve(best[pattern], rule=name, written=written, idle=idle)
        return found

    def _is_met(self, pattern: Pattern, effect: Effect) -> bool:
        """Return whether a call gets *effect* that has a text of *pattern*, if that is several.

        Each of several commands may be looked at by itself, so that none is what a rule spells.
        """
        if self._kind is not ArgumentKind.COMMAND:
            return True
        texts = [each for fresh in ("x", "") if is_parted(each := freeze(pattern, fresh))]
        return not texts or any(
            lookup.decide(witness_call(row.ruleset.dialect, row.argument, text)).effect is effect
            for lookup, _ in self._positions
            for row, _ in lookup.rows[:1]
            for text in texts
        )

    def _shown(self, pattern: Pattern) -> str:
        return f"{self._tool}({''.join(map(_plain, pattern.tokens)) or pattern})"

    def _is_ambiguous(self, grants: Iterable[MostGranted], overlaps: _Overlaps) -> bool:
        """Return whether some calls have two narrowest patterns that get different effects."""
        wide = [(p, g.effect) for g in grants for p in g.patterns if not p.exact]
        return any(
            effect is not another
            and _may_meet(one, other)
            and not overlaps.contains(one, other)
            and not overlaps.contains(other, one)
            and any(
                not any(overlaps.contains(inner, shared) for inner in self._within(one, other))
                for shared in overlaps.both(one, other)
            )
            for (one, effect), (other, another) in combinations(wide, 2)
        )

    def _within(self, one: Pattern, other: Pattern) -> Iterator[Pattern]:
        for inner, wider in self._wider.items():
            if {one, other} <= wider:
                yield inner

    def _differs(
        self, pattern: Pattern, best: Mapping[Pattern, MostGranted], rest: MostGranted
    ) -> bool:
        """Return whether the next wider patterns, or else all other calls, get something else."""
        wider = self._wider[pattern]
        around = [best[o] for o in wider if not any(o in self._wider[each] for each in wider)]
        return any(other.effect is not best[pattern].effect for other in around or [rest])

    def _best(self, pattern: Pattern | None) -> MostGranted:
        """Return what calls get of which *pattern* is the narrowest; None is no pattern."""
        matching = () if pattern is None else (pattern, *self._wider[pattern])
        grants = []
        for number, (lookup, rows) in enumerate(self._positions):
            said: list[tuple[Effect, Reason | None]] = [(lookup.floor, None)]
            if lookup.constant is not None:
                said = [(lookup.constant.effect, lookup.constant.reason)]
            said += [_of_row(row, order, matching) for row, order in rows]
            effect, reason = min(said, key=lambda pair: pair[0])
            grants.append(MostGranted(effect, "", number, reason))
        return max(grants, key=lambda grant: grant.effect)


def _of_row(row: Row, order: _Order, matching: Iterable[Pattern]) -> tuple[Effect, Reason | None]:
    """Return what a row says of calls that *matching* match, and why where that is its default."""
    first = min((order[pattern] for pattern in matching if pattern in order), default=None)
    if first is not None:
        return row.entries[first].effect, None
    return row.default.effect, row.default.reason


@lru_cache(maxsize=4096)
def _plain(token: Token) -> str:
    """Return a token as people write it: a letter of either case is that letter."""
    if isinstance(token, OneOf) and not token.negated:
        letters = {letter.casefold() for letter in token.characters}
        if len(letters) == 1:
            return letters.pop()
    return str(Pattern.of(PatternKind.TEXT, [token]))


def _start(pattern: Pattern) -> str:
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _may_meet(one: Pattern, other: Pattern) -> bool:
    first, second = _start(one), _start(other)
    return first.startswith(second) or second.startswith(first)


# --- tool by tool, in the words of rules ---------------------------------------------------

# The name for all tools that no rule names.
ANY_OTHER: Final = "any other tool"

# Calls that no rule has words for.
SOME: Final = "some calls"

# A rule: its tool, and its specifier or, of a built-in rule, why the host has it.
_RULE: Final = re.compile(r"[^\s()]+( ?)\((.*)\)", re.DOTALL)


@values.frozen
class ToolAccess:
    """What some calls of a tool get, by patterns of their argument.

    Attributes:
        name: of the tool, or a pattern over names.
        allowed: what runs without confirmation.
        asked: what must be confirmed.
        denied: what is denied by a rule.
        otherwise: what all other calls get; "" where the agent does not have the tool.

    """

    name: str
    allowed: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    otherwise: str = ""


def tool_access(most: Iterable[AtMost]) -> list[ToolAccess]:
    """Return what an agent may do at most in words for people."""
    return [_tool(each) for each in most]


def _tool(most: AtMost) -> ToolAccess:
    rest = most.grants[-1]
    otherwise = "" if rest.reason is Reason.UNAVAILABLE else rest.effect.value
    found: dict[Effect, dict[str, None]] = {effect: {} for effect in Effect}
    for grant in (each for each in most.grants[:-1] if not each.idle):
        # What two rules share has no words of its own.
        found[grant.effect][_specifier(grant.rule) if grant.written else SOME] = None
    name = ANY_OTHER if most.tool == OTHER_TOOL else most.glob or most.tool
    allowed, asked, denied = (
        tuple(found[effect]) for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY)
    )
    return ToolAccess(name, allowed, asked, denied, otherwise)


def _specifier(rule: str) -> str:
    """Return what a rule says of the argument, or why the host has it."""
    found = _RULE.fullmatch(rule)
    return relative_path(found[2]) if found else "any"


def by_class(
    tools: Iterable[ToolAccess], classes: Mapping[str, tuple[str, ...]], kinds: Iterable[str]
) -> dict[str, list[ToolAccess]]:
    """Return class -> its tools, the most ordinary first.

    Args:
        tools: what an agent may do with each.
        classes: class -> tools, as the host has them.
        kinds: all classes.

    """
    found: dict[str, list[ToolAccess]] = {kind: [] for kind in kinds}
    for tool in tools:
        kind = next((each for each, names in classes.items() if tool.name in names), "other")
        found[kind].append(tool)
    for kind, some in found.items():
        order = classes.get(kind, ())
        some.sort(key=lambda tool: order.index(tool.name) if tool.name in order else 0)
    # Of a host whose rules name no tool of a class, any other tool may be of it.
    anything = [tool for tool in found["other"] if tool.name == ANY_OTHER]
    return {kind: some or anything for kind, some in found.items()}
