"""What a table says of every tool, and what an agent may do at most.

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

from policy.compare.tables import OTHER_TOOL, glob_pattern, internal_tools, representatives
from policy.core import expressions as re
from policy.core import values
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.patterns.families import members
from policy.patterns.pattern import Meet, Pattern, PatternKind, freeze, is_stars, named, tokens_of
from policy.patterns.search import fresh_character
from policy.patterns.tokens import Gap, OneOf, Token
from policy.tables.dialect import relative_path
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
    "Layer",
    "MostGranted",
    "Privilege",
    "ToolAccess",
    "at_most",
    "by_class",
    "lines",
    "privileges",
    "tool_access",
    "tools_of",
]


@values.frozen
class Layer:
    """What some links of a chain say of one tool.

    Attributes:
        links: whose it is.
        rules: the rules that decide, in their order, each once.
        otherwise: the effect where none of those speaks; None where one always does.

    """

    links: tuple[str, ...]
    rules: tuple[Because, ...]
    otherwise: Effect | None


@values.frozen
class Privilege:
    """What one table says of one tool.

    Attributes:
        tool: its name.
        effect: of every call, or None where it depends on the arguments.
        rules: the rules that then decide, strictest first, each once.
        otherwise: the effect where none of those speaks; None where one always does.
        reason: why, where every call gets one effect.
        glob: the pattern over names of which *tool* is an instance, or "".
        layers: what each says, the strictest of which holds, where there are several.

    """

    tool: str
    effect: Effect | None
    rules: tuple[Because, ...] = ()
    otherwise: Effect | None = None
    reason: Reason | None = None
    glob: str = ""
    layers: tuple[Layer, ...] = ()


def lines(table: Table) -> object:
    """Return a key that tables share whose rules are written in the same words."""
    return tuple(part.rules.worded for part in table.use.parts)


def privileges(table: Table) -> tuple[Privilege, ...]:
    """Return what *table* says of each tool that its rules name."""
    return tuple(_privilege(tool, table.lookup(tool), glob) for tool, glob in tools_of(table))


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


def _privilege(tool: str, lookup: Lookup, glob: str) -> Privilege:
    constant = lookup.constant
    if constant is not None:
        return Privilege(tool, constant.effect, constant.because, reason=constant.reason, glob=glob)
    layers = [
        Layer(links, _rules(row, links), None if row.default.entries else row.default.effect)
        for row, links in lookup.rows
    ]
    if lookup.floor is not Effect.ALLOW:
        layers.append(Layer((), (), lookup.floor))
    layers = [layer for layer in layers if layer.rules or layer.otherwise is not Effect.ALLOW]
    rules = dict.fromkeys(because for layer in layers for because in layer.rules)
    otherwise = [layer.otherwise for layer in layers if layer.otherwise is not None]
    return Privilege(
        tool,
        None,
        tuple(sorted(rules, key=lambda because: because.effect)),
        min(otherwise, default=None if rules else Effect.ALLOW),
        glob=glob,
        layers=tuple(layers) if len(layers) > 1 else (),
    )


def _rules(row: Row, links: tuple[str, ...]) -> tuple[Because, ...]:
    link = links[0] if links else ""
    entries = (*row.entries, *row.default.entries)
    return tuple(
        dict.fromkeys(Because(entry.rule, entry.effect, link, entry.place) for entry in entries)
    )


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
        patterns: what matches the calls; nothing for all other calls.

    """

    effect: Effect
    rule: str
    position: int
    reason: Reason | None = None
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


class _Tool:
    def __init__(self, tool: str, positions: Sequence[Lookup]) -> None:
        self.tool = tool
        self.positions = positions
        self.why: dict[str, None] = {}
        self.rules: dict[Pattern, str] = {}
        for row in self._rows():
            for entry in row.entries:
                if entry.field:
                    self.why[OTHER_ARGUMENTS] = None
                elif entry.pattern is not None:
                    self.rules.setdefault(entry.pattern, entry.rule or self._shown(entry.pattern))
        self._wider: dict[Pattern, frozenset[Pattern]] = {}

    def at_most(self, glob: str) -> AtMost:
        """Return what the agent may do at most with the tool."""
        rest = self._best(None)
        if len({pattern.kind for pattern in self.rules}) > 1 or len(self.rules) > _PATTERNS:
            self.why[MANY_PATTERNS] = None
            return AtMost(self.tool, glob, (rest,), tuple(self.why))
        overlaps = _overlaps(tuple(self.rules))
        if overlaps.wider.keys() < self.rules.keys():
            self.why[MANY_PATTERNS] = None
            return AtMost(self.tool, glob, (rest,), tuple(self.why))
        self._wider = overlaps.wider
        self.rules.update((shared, self._shown(shared)) for shared in overlaps.shared)
        best = {pattern: self._best(pattern) for pattern in self.rules}
        folded = {pattern: self._shown(pattern).casefold() for pattern in self.rules}
        of_rule: dict[str, list[Pattern]] = {}
        for pattern, rule in self.rules.items():
            of_rule.setdefault(rule, []).append(pattern)
        grants: dict[object, MostGranted] = {}
        for pattern, found in best.items():
            grant = found
            if all(other.effect is grant.effect for other in self._next(pattern, best, rest)):
                continue
            # One rule may guard a text in any case of its letters, and another allow it in one.
            if any(
                best[other].effect is not grant.effect and folded[other] != folded[pattern]
                for other in of_rule.get(grant.rule, ())
            ):
                # One rule stands for several patterns, and only some of them get this.
                grant = values.evolve(grant, rule=self._shown(pattern))
            key = (grant.effect, grant.rule)
            known = grants.get(key, values.evolve(grant, patterns=()))
            grants[key] = values.evolve(known, patterns=(*known.patterns, pattern))
        ranked = sorted(grants.values(), key=lambda grant: (_RANKS[grant.effect], grant.rule))
        if not overlaps.exact or self._is_ambiguous(ranked, overlaps):
            self.why[OVERLAPPING] = None
        return AtMost(self.tool, glob, (*ranked, rest), tuple(self.why))

    def _rows(self) -> Iterator[Row]:
        for lookup in self.positions:
            yield from (row for row, _ in lookup.rows)

    def _shown(self, pattern: Pattern) -> str:
        return f"{self.tool}({''.join(map(_plain, pattern.tokens)) or pattern})"

    def _is_ambiguous(self, grants: Iterable[MostGranted], overlaps: _Overlaps) -> bool:
        """Return whether some calls have two narrowest patterns that get different effects."""
        wide = [(p, g.effect) for g in grants for p in g.patterns if not p.exact]
        pairs = combinations(wide, 2)
        return any(
            effect is not another
            and _may_meet(one, other)
            and not overlaps.contains(one, other)
            and not overlaps.contains(other, one)
            and any(
                not any(overlaps.contains(inner, shared) for inner in self._within(one, other))
                for shared in overlaps.both(one, other)
            )
            for (one, effect), (other, another) in pairs
        )

    def _within(self, one: Pattern, other: Pattern) -> Iterator[Pattern]:
        for inner in self.rules:
            if {one, other} <= self._wider[inner]:
                yield inner

    def _next(
        self, pattern: Pattern, best: dict[Pattern, MostGranted], rest: MostGranted
    ) -> Iterator[MostGranted]:
        """Yield what the next wider patterns around *pattern* get, or else all other calls."""
        wider = self._wider[pattern]
        if not wider:
            yield rest
        for other in wider:
            if not any(self._wider[between] >= {other} for between in wider - {other}):
                yield best[other]

    def _best(self, pattern: Pattern | None) -> MostGranted:
        """Return what calls get of which *pattern* is the narrowest; None is no pattern."""
        rule = "" if pattern is None else self.rules[pattern]
        grants = []
        for number, lookup in enumerate(self.positions):
            said: list[tuple[Effect, Reason | None]] = [(lookup.floor, None)]
            if lookup.constant is not None:
                said = [(lookup.constant.effect, lookup.constant.reason)]
            said += [self._of_row(row, pattern) for row, _ in lookup.rows]
            effect, reason = min(said, key=lambda pair: pair[0])
            grants.append(MostGranted(effect, rule, number, reason))
        return max(grants, key=lambda grant: grant.effect)

    def _of_row(self, row: Row, pattern: Pattern | None) -> tuple[Effect, Reason | None]:
        if pattern is not None:
            matching = {pattern, *self._wider[pattern]}
            for entry in row.entries:
                if not entry.field and entry.pattern in matching:
                    return entry.effect, None
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


def tool_access(most: Iterable[AtMost], *positions: Iterable[Privilege]) -> list[ToolAccess]:
    """Return what an agent may do at most; *positions* are its privileges by each chain."""
    privileges = [privilege for position in positions for privilege in position]
    written = {because.rule for privilege in privileges for because in privilege.rules}
    first = {privilege.tool: privilege for privilege in reversed(privileges)}
    return [_tool(each, first.get(each.tool), written) for each in most]


def _tool(most: AtMost, privilege: Privilege | None, written: set[str]) -> ToolAccess:
    rest = most.grants[-1]
    otherwise = "" if rest.reason is Reason.UNAVAILABLE else rest.effect.value
    found: dict[Effect, dict[str, None]] = {effect: {} for effect in Effect}
    for grant in most.grants[:-1]:
        # What two rules share has no words of its own.
        found[grant.effect][_specifier(grant.rule) if grant.rule in written else SOME] = None
    # There are too many patterns to be taken together: the rules of the first chain.
    if most.why and len(most.grants) == 1 and privilege is not None:
        for because in _shown_rules(privilege):
            found[because.effect][_specifier(because.rule)] = None
    name = ANY_OTHER if most.tool == OTHER_TOOL else most.glob or most.tool
    allowed, asked, denied = (
        tuple(found[effect]) for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY)
    )
    return ToolAccess(name, allowed, asked, denied, otherwise)


def _shown_rules(privilege: Privilege) -> list[Because]:
    """Return the rules of a tool; of those that allow, what no other link refuses."""
    allowing = [
        {because.rule for because in layer.rules if because.effect is Effect.ALLOW}
        for layer in privilege.layers
        if layer.otherwise is not Effect.ALLOW
    ]
    return [
        because
        for because in privilege.rules
        if because.effect is not Effect.ALLOW or all(because.rule in some for some in allowing)
    ]


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
