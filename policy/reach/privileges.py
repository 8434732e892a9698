"""What a table says of every tool that it can tell apart."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.comparison.tools import OTHER_TOOL, glob_pattern, representatives
from policy.decision import Because, Reason
from policy.effect import Effect
from policy.lookup import Lookup
from policy.patterns.pattern import Pattern
from policy.rows.row import Row
from policy.ruleset import Entry
from policy.table import Part, Table
from policy.telling import internal_tools

__all__ = ["Layer", "Privilege", "Privileges", "lines", "privileges", "told_apart"]


@attrs.frozen
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


@attrs.frozen
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


class Privileges:
    """The privileges of many tables; of those with the same lines only places are told apart."""

    def __init__(self) -> None:
        self._known: dict[object, tuple[tuple[Part, ...], tuple[Privilege, ...]]] = {}

    def of(self, table: Table) -> tuple[Privilege, ...]:
        """Return what *table* says of each tool that it can tell apart."""
        parts = table.use.parts
        key = lines(table)
        known = self._known.get(key)
        if known is None:
            self._known[key] = known = parts, privileges(table)
        if known[0] is parts:
            return known[1]
        moved = _Moved.between(known[0], parts)
        return privileges(table) if moved is None else tuple(map(moved.privilege, known[1]))


def lines(table: Table) -> object:
    """Return what tables have in common that are told in the same words."""
    return tuple(part.rules.worded for part in table.use.parts)


@attrs.frozen
class _Moved:
    """The same lines of other links at other places."""

    links: dict[tuple[str, ...], tuple[str, ...]]
    because: dict[Because, Because]

    @classmethod
    def between(cls, before: tuple[Part, ...], after: tuple[Part, ...]) -> _Moved | None:
        """Return what stands where; None where one thing came to stand for two."""
        links: dict[tuple[str, ...], tuple[str, ...]] = {(): ()}
        because: dict[Because, Because] = {}
        for one, other in zip(before, after, strict=True):
            if links.setdefault(one.links, other.links) != other.links:
                return None
            for entry, moved in zip(one.rules.entries, other.rules.entries, strict=True):
                there = _because(moved, other)
                if because.setdefault(_because(entry, one), there) != there:
                    return None
        # What is told once must not have been two things, nor the other way round.
        alike = len(set(links.values())) == len(links)
        return cls(links, because) if alike and len(set(because.values())) == len(because) else None

    def privilege(self, told: Privilege) -> Privilege:
        """Return *told* as it is of the other links."""
        if not told.rules and not told.layers:
            return told
        layers = tuple(
            Layer(
                self.links[layer.links],
                tuple(map(self.because.__getitem__, layer.rules)),
                layer.otherwise,
            )
            for layer in told.layers
        )
        rules = tuple(map(self.because.__getitem__, told.rules))
        return attrs.evolve(told, rules=rules, layers=layers)


def _because(entry: Entry, part: Part) -> Because:
    return Because(entry.rule, entry.effect, part.links[0] if part.links else "", entry.place)


def privileges(table: Table) -> tuple[Privilege, ...]:
    """Return what *table* says of each tool that it can tell apart."""
    return tuple(_privilege(tool, table.lookup(tool), glob) for tool, glob in told_apart(table))


def told_apart(table: Table) -> Iterator[tuple[str, str]]:
    """Yield each tool that *table* can tell apart, or a made-up name and the glob it stands for."""
    sets = [part.rules for part in table.use.parts]
    tools, _ = representatives(sets)
    named = {OTHER_TOOL}.union(*({*rules.dialect.arguments, *rules.names} for rules in sets))
    aliases = set[str]().union(*(rules.dialect.aliases for rules in sets))
    internal = internal_tools(rules.dialect for rules in sets)
    globs = {glob: glob_pattern(glob) for rules in sets for glob in rules.globs}
    for tool in tools:
        # An alias is told under its real name, unless it has none that all links share.
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
