"""Which lines beside those of a rule have to do with it: what covers it, and what it may meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from policy.comparison.witness import Shape
from policy.decision import Because
from policy.dialect import ArgumentKind, Dialect
from policy.lookup import Lookup
from policy.patterns.notations import names
from policy.redundancy.written import WrittenRule, because_of, key_of
from policy.ruleset import Entry
from policy.shell.commands import read_command
from policy.shell.parts import Command
from policy.shell.parts import Part as CommandPart
from policy.table import Part

__all__ = [
    "covering",
    "is_one_text",
    "is_opened",
    "may_meet",
    "opens_otherwise",
    "together",
]


def covering(
    entries: Sequence[Entry],
    wider: Iterable[tuple[Entry, Entry]],
    others: Iterable[Entry],
    part: Part,
) -> dict[object, Because]:
    """Return the rules that each alone match all that *entries* do, in the order of their lines.

    Args:
        entries: the lines of one rule.
        wider: two by two a line, and one of *entries* all of which it matches.
        others: the lines that *wider* is of, in order.
        part: whose lines these are.

    """
    covered: dict[object, set[Entry]] = {}
    for other, entry in wider:
        covered.setdefault(key_of(other), set()).add(entry)
    wanted = set(entries)
    whole = {key for key, some in covered.items() if some == wanted} - {key_of(entries[0])}
    known: dict[object, Because] = {}
    for other in others if whole else ():
        if (key := key_of(other)) in whole:
            known.setdefault(key, because_of(other, part))
            if len(known) == len(whole):
                break
    return known


def opens_otherwise(before: Lookup, after: Lookup) -> bool:
    """Return whether rules about files may count on one side only, for commands that open some.

    They do not where all commands are allowed and no rule tells any of them apart.
    """
    one, other = (
        Counter(
            (bool(row.entries), row.default.effect)
            for row, _ in lookup.rows
            if row.argument.kind is ArgumentKind.COMMAND
        )
        for lookup in (before, after)
    )
    return one != other


def is_opened(dialect: Dialect, rule: WrittenRule) -> bool:
    """Return whether *rule* may speak of files that a command opens."""
    spoken_of = [names(dialect.canonical(entry.tool)) for entry in rule.entries]
    opening = dialect.shell.files.opening
    return any(pattern.matches(tool) for tool in opening for pattern in spoken_of)


def may_meet(dialect: Dialect, entry: Entry, rule: WrittenRule) -> bool:
    """Return whether *entry* may speak of a tool that *rule* speaks of, by how names start."""
    if dialect.aliases or dialect.fold_names or dialect.loose:
        return True
    start = entry.tool.partition("*")[0]
    starts = [each.tool.partition("*")[0] for each in rule.entries]
    return any(start.startswith(other) or other.startswith(start) for other in starts)


def together(places: Mapping[int, int], *lines: Iterable[Entry]) -> list[Entry]:
    """Return some *lines* of one list, each once, by their *places*."""
    wanted = {id(entry): entry for some in lines for entry in some}
    return sorted(wanted.values(), key=lambda entry: places[id(entry)])


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
            return Shape(dialect, argument).domain.holds(text)
