"""What a project says, in no host's words: what `policy convert` reads one host's files into.

Tools have the names of our own notation wherever a host has a counterpart
(`Writer.counterparts`). What a table says of one tool is a list again, in which
the first line that matches decides; a writer spells it in the language of its
host. Where a meet or a language cannot be written out, less is granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from typing import Final, Protocol

import attrs

from policy.chain import SPAWN_TOOL
from policy.dialect import Argument, ArgumentKind, Dialect
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.notations import is_glob
from policy.patterns.pattern import Kind, Pattern
from policy.row import Row, RowEntry
from policy.ruleset import Entry, RuleSet
from policy.table import Bounds, Ceiling, Part, Table
from policy.telling import internal_tools
from policy.tools import OTHER_TOOL, glob_pattern, representatives

__all__ = [
    "Agent",
    "Dropped",
    "Line",
    "Portable",
    "Said",
    "Writer",
    "Written",
    "covers",
    "in_common",
    "no_more",
    "ranked",
    "said",
]


@attrs.frozen
class Line:
    """One line about the calls of a tool.

    Attributes:
        effect: what it says.
        pattern: what the argument must be.
        field: the parameter that *pattern* speaks of, or "" for the argument itself.
        written: whether somebody wrote it, rather than that the host has it built in.

    """

    effect: Effect
    pattern: Pattern
    field: str = ""
    written: bool = attrs.field(default=True, eq=False)


@attrs.frozen
class Said:
    """What is said of one tool: the first line that matches decides, else the default."""

    default: Effect
    lines: tuple[Line, ...] = ()
    kind: ArgumentKind = ArgumentKind.TEXT

    @property
    def constant(self) -> Effect | None:
        """The effect of every call, if it is one."""
        return self.default if all(one.effect is self.default for one in self.lines) else None


@attrs.frozen
class Agent:
    """One agent.

    Attributes:
        name: as its project names it.
        tools: what it may do, by tool; starting agents is not among them.
        otherwise: what calls of any other tool get.
        globs: what calls of tools get whose names match; those in *tools* aside.
        starts: the agents that it may start, and whether that is asked for.
        bounds: its limits.
        description: what it is for, as its file says it; "" is nothing.
        prompt: the text below a header, or "".

    """

    name: str
    tools: Mapping[str, Said] = attrs.field(hash=False)
    otherwise: Effect = Effect.DENY
    globs: Mapping[str, Effect] = attrs.field(factory=dict, hash=False)
    starts: Mapping[str, Effect] = attrs.field(factory=dict, hash=False)
    bounds: Bounds = Bounds()
    description: str = ""
    prompt: str = ""

    def about(self, tool: str) -> Said:
        """Return what is said of *tool*, named or not."""
        found = self.tools.get(tool)
        if found is not None:
            return found
        effects = [e for glob, e in self.globs.items() if glob_pattern(glob).matches(tool)]
        return Said(min(effects, default=self.otherwise))


@attrs.frozen
class Portable:
    """A project: the agents that chains can reach, the one that starts them first.

    Attributes:
        title: how people know the project.
        root: the folder of its files.
        agents: by what they may do in every chain that reaches them.
        starts: agents that start chains.
        depth: agents below the first that there can be, or None.
        cwd: the working folder in patterns of paths.
        home: the home folder in them.

    """

    title: str
    root: str
    agents: tuple[Agent, ...]
    starts: tuple[str, ...] = ()
    depth: int | None = None
    cwd: str = "/@project"
    home: str = "/@home"

    @property
    def first(self) -> Agent:
        """The agent that starts the others."""
        return self.agents[0]

    def agent(self, name: str) -> Agent | None:
        """Return the agent of that name, if chains reach it."""
        return next((agent for agent in self.agents if agent.name == name), None)


@attrs.frozen
class Dropped:
    """Something that the files of the other host cannot say.

    Attributes:
        what: in a few words.
        agent: whose it is, or "".

    """

    what: str
    agent: str = ""


@attrs.frozen
class Written:
    """The files that a writer makes of a project.

    Attributes:
        files: path, below the folder of the project, -> text.
        names: agent -> what the files call it.
        above: the agents of the host that stand before every chain of the project.
        dropped: what the files do not say.
        fixed: tools that no file of this host can take away.

    """

    files: Mapping[str, str]
    names: Mapping[str, str]
    above: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    fixed: frozenset[str] = frozenset()


class Writer(Protocol):
    """Writes the files of one host."""

    @property
    def counterparts(self) -> Mapping[str, str]:
        """Return what our notation calls each tool of the host that it has a name for."""

    def knows(self, tool: str) -> bool:
        """Return whether the host may have a tool that has this name in common words."""

    @property
    def carried(self) -> frozenset[str]:
        """Return the keys of the host's files that tables, names and texts hold."""

    def write(self, portable: Portable) -> Written:
        """Return files that grant no more than *portable*."""


# --- tables in common words ----------------------------------------------------------


def in_common(table: Table, counterparts: Mapping[str, str], common: Dialect) -> Table:
    """Return *table* with the names of tools and arguments that our notation has.

    Args:
        table: of any host.
        counterparts: tool of the host -> what *common* calls it.
        common: how tools and arguments are named.

    """
    renamed = {
        part.rules: _renamed(part.rules, counterparts, common)
        for ceiling in (table.use, table.delegated)
        for part in ceiling.parts
    }

    def ceiling(old: Ceiling) -> Ceiling:
        return Ceiling.of(Part(renamed[part.rules], part.links) for part in old.parts)

    delegate = None if table.delegate is None else ceiling(table.delegate)
    return Table(ceiling(table.use), delegate, table.bounds)


def _renamed(rules: RuleSet, counterparts: Mapping[str, str], common: Dialect) -> RuleSet:
    dialect = rules.dialect
    by_key = {dialect.key(tool): name for tool, name in counterparts.items()}
    entries: list[Entry] = []
    for entry in (_moved(entry, dialect, common) for entry in rules.entries):
        if not is_glob(entry.tool):
            key = dialect.key(entry.tool)
            entries.append(attrs.evolve(entry, tool=by_key.get(key, dialect.canonical(entry.tool))))
            continue
        matches = glob_pattern(entry.tool).matches
        # A glob speaks of the host's names; what it matches by those keeps its place.
        named = [(tool, name) for tool, name in counterparts.items() if tool != name]
        entries += (
            attrs.evolve(entry, tool=name)
            for tool, name in named
            if matches(tool) and not matches(name)
        )
        exact = glob_pattern(entry.tool)
        if exact.exact:
            entries.append(attrs.evolve(entry, tool=by_key.get(str(exact), str(exact))))
        else:
            entries.append(entry)
    arguments = {
        by_key.get(key, key): _argument(argument, common.arguments.get(by_key.get(key, key)))
        for key, argument in dialect.arguments.items()
    }
    for name in by_key.values():
        if name not in arguments and name in common.arguments:
            arguments[name] = _argument(dialect.other, common.arguments[name])
    shell = attrs.evolve(
        dialect.shell,
        output=by_key.get(dialect.shell.output, dialect.shell.output),
        input=by_key.get(dialect.shell.input, dialect.shell.input),
    )
    spoken = attrs.evolve(
        dialect,
        arguments=arguments,
        aliases={},
        shell=shell,
        cwd=common.cwd,
        home=common.home,
        loose=False,
        fold_names=False,
    )
    return RuleSet(tuple(entries), rules.default, spoken, rules.default_reason)


def _moved(entry: Entry, dialect: Dialect, common: Dialect) -> Entry:
    """Return *entry* with paths below the folders that all have in common."""
    pattern = entry.pattern
    if pattern is None or pattern.kind is not Kind.PATH or not pattern.tokens:
        return entry
    first, *rest = pattern.tokens
    for old, new in ((dialect.cwd, common.cwd), (dialect.home, common.home)):
        below = first.removeprefix(old) if isinstance(first, str) and old != new else first
        if below != first and isinstance(below, str) and below[:1] in ("", "/"):
            return attrs.evolve(entry, pattern=Pattern.of(Kind.PATH, [new + below, *rest]))
    return entry


# Kinds that are made of several arguments, and look at these by their own names.
_OF_SEVERAL: Final = frozenset({ArgumentKind.FILES, ArgumentKind.JOINED, ArgumentKind.JSON})
_LIKE_TEXT: Final = frozenset({ArgumentKind.LENIENT})


def _argument(argument: Argument, common: Argument | None) -> Argument:
    """Return *argument* by the names that our notation has for it."""
    if common is None:
        return argument
    if argument.kind is common.kind:
        return common
    if argument.kind in _OF_SEVERAL or argument.kind in _LIKE_TEXT:
        # Of a call in common words there is one text; the rest of it is not said.
        return Argument(ArgumentKind.TEXT, common.fields, absent=common.absent)
    return attrs.evolve(argument, fields=common.fields, absent=common.absent)


# --- tables as lists -------------------------------------------------------------------


def said(table: Table, name: str, known: Mapping[str, Argument], **more: object) -> Agent:
    """Return what *table*, in common words, says of every tool that it can tell apart."""
    sets = [part.rules for part in table.use.parts]
    named, _ = representatives(sets)
    internal = internal_tools(rules.dialect for rules in sets)
    written = {*known}.union(*(rules.names for rules in sets))
    tools = {tool: _said(table.lookup(tool)) for tool in sorted(written - internal - {SPAWN_TOOL})}
    otherwise = _least(table.lookup(OTHER_TOOL))
    globs = _globs(sets, [tool for tool in named if tool not in written], table)
    return Agent(name, tools, otherwise, globs, bounds=table.bounds, **more)  # type: ignore[arg-type]


def _globs(sets: list[RuleSet], others: list[str], table: Table) -> dict[str, Effect]:
    """Return what tools get by their names alone; where they differ, the least."""
    found: dict[str, Effect] = {}
    for rules in sets:
        for glob in rules.globs:
            if not glob.startswith("=") and glob != "*":
                matching = [name for name in others if glob_pattern(glob).matches(name)]
                effects = [_least(table.lookup(name)) for name in matching]
                found[glob] = min(effects, default=Effect.DENY)
    return found


def _least(lookup: Lookup) -> Effect:
    """Return what every call gets at least."""
    if lookup.constant is not None:
        return lookup.constant.effect
    said = _said(lookup)
    return min((line.effect for line in said.lines), default=said.default) & said.default


# Combinations of lines of several lists that are written out.
_COMBINATIONS: Final = 4_000

_Granting = tuple[RowEntry | None, Effect]


def _said(lookup: Lookup) -> Said:
    constant = lookup.constant
    rows = [row for row, _ in lookup.rows]
    if constant is not None or not rows:
        return Said(constant.effect if constant is not None else lookup.floor)
    floor, kind = lookup.floor, rows[0].argument.kind
    if len(rows) == 1:
        lines = [
            Line(entry.effect & floor, entry.pattern, entry.field, entry.place is not None)
            for entry in rows[0].entries
            if entry.pattern is not None
        ]
        return Said(rows[0].default.effect & floor, tuple(lines), kind)
    return Said(min(row.default.effect for row in rows) & floor, tuple(_met(rows, floor)), kind)


def _met(rows: list[Row], floor: Effect) -> Iterator[Line]:
    """Yield lines that grant no more than all of several lists do.

    What one denies is denied, and so is what one asks for unless all others grant
    as much; then come what all allow, and what all grant, as far as one pattern is
    within the others.
    """
    for row in rows:
        for entry in row.entries:
            if entry.effect is Effect.DENY and entry.pattern is not None:
                yield Line(Effect.DENY, entry.pattern, entry.field)
    for row in rows:
        others = [other for other in rows if other is not row]
        for entry in row.entries:
            if entry.effect is Effect.ASK and entry.pattern is not None:
                granted = all(_grants(other, entry.pattern, entry.field) for other in others)
                effect = Effect.ASK if granted else Effect.DENY
                yield Line(effect & floor, entry.pattern, entry.field)
    granting: list[list[_Granting]] = [[*_granting(row)] for row in rows]
    asked: list[Line] = []
    for chosen in islice(product(*granting), _COMBINATIONS):
        entries = [entry for entry, _ in chosen if entry is not None]
        effect = min(effect for _, effect in chosen) & floor
        smallest = _smallest(entries)
        if smallest is not None and smallest.pattern is not None and effect is not Effect.DENY:
            line = Line(effect, smallest.pattern)
            if effect is Effect.ALLOW:
                yield line
            else:
                asked.append(line)
    yield from asked


def _granting(row: Row) -> Iterator[_Granting]:
    for entry in row.entries:
        if entry.effect is Effect.ALLOW and not entry.field:
            yield entry, entry.effect
    if row.default.effect is not Effect.DENY:
        yield None, row.default.effect


def _grants(row: Row, pattern: Pattern, field: str) -> bool:
    if row.default.effect is not Effect.DENY:
        return True
    granting = (e.pattern for e in row.entries if e.effect is not Effect.DENY and e.field == field)
    return covers(pattern, [one for one in granting if one is not None])


def _smallest(entries: list[RowEntry]) -> RowEntry | None:
    for entry in entries:
        if all(other.pattern and covers(entry.pattern, [other.pattern]) for other in entries):
            return entry
    return None


def covers(pattern: Pattern | None, by: Iterable[Pattern]) -> bool:
    """Return whether one of some patterns contains *pattern*, as far as that can be told."""
    for other in by:
        try:
            if pattern is not None and pattern.kind is other.kind and pattern <= other:
                return True
        except OverflowError:
            continue
    return False


def ranked(said: Said) -> tuple[dict[Effect, list[Line]], Effect]:
    """Return the lines of each effect, and the default, for who asks deny, ask, allow in turn.

    Nothing gets more than *said* has it get.
    """
    lists: dict[Effect, list[Line]] = {effect: [] for effect in Effect}
    default = said.default
    for line in said.lines:
        if line.effect is Effect.ASK and default is not Effect.ALLOW:
            # Asked first, it would ask for what is allowed before it here.
            before = (one for one in lists[Effect.ALLOW] if one.field == line.field)
            if any(covers(one.pattern, [line.pattern]) for one in before):
                continue
        lists[line.effect].append(line)
    return lists, default


def no_more(tool: str, one: Said, other: Said) -> bool:
    """Return whether *one* is shown to grant no more of *tool* than *other* does."""
    if other.constant is not None or one.constant is not None:
        least = other.constant if other.constant is not None else other.default
        most = one.constant if one.constant is not None else Effect.ALLOW
        if most <= least and other.constant is not None:
            return True
    if one == other:
        return True
    kind = next((each.kind for each in (one, other) if each.lines), ArgumentKind.TEXT)
    dialect = Dialect("", {tool: Argument(kind, ("argument",))})
    tables = [
        Table.of(
            RuleSet(
                tuple(Entry(tool, ln.effect, ln.pattern, ln.field) for ln in each.lines),
                each.default,
                dialect,
            )
        )
        for each in (other, one)
    ]
    found = tables[0].differences(tables[1])
    return found.exact and not any(difference.widened for difference in found.differences)
