"""Tables of any host with the names of tools and arguments that our notation has.

So two tables can be compared though their hosts have other words: calls of both are
those of the one vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from policy.comparison.tools import glob_pattern
from policy.dialect import Argument, ArgumentKind, Dialect
from policy.patterns.folding import in_any_case
from policy.patterns.notations import is_glob
from policy.patterns.pattern import Kind, Pattern
from policy.ruleset import Entry, RuleSet
from policy.table import Ceiling, Part, Table

__all__ = ["in_common"]


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
    entries = tuple(
        renamed
        for entry in rules.entries
        for renamed in _entries(
            _moved(_unfolded(entry, dialect), dialect, common), dialect, by_key, counterparts
        )
    )
    return RuleSet(entries, rules.default, _spoken(dialect, by_key, common), rules.default_reason)


def _entries(
    entry: Entry, dialect: Dialect, by_key: Mapping[str, str], counterparts: Mapping[str, str]
) -> Iterator[Entry]:
    """Yield what *entry* is by the names that all have in common."""
    if not is_glob(entry.tool):
        key = dialect.key(entry.tool)
        yield attrs.evolve(entry, tool=by_key.get(key, dialect.canonical(entry.tool)))
        return
    pattern = glob_pattern(entry.tool)
    # A glob speaks of the host's names; what it matches by those keeps its place.
    for tool, name in counterparts.items():
        if tool != name and pattern.matches(tool) and not pattern.matches(name):
            yield attrs.evolve(entry, tool=name)
    if pattern.exact:
        yield attrs.evolve(entry, tool=by_key.get(str(pattern), str(pattern)))
    else:
        yield entry


def _spoken(dialect: Dialect, by_key: Mapping[str, str], common: Dialect) -> Dialect:
    """Return *dialect* with the names and folders that all have in common."""
    arguments = {
        by_key.get(key, key): _argument(argument, common.arguments.get(by_key.get(key, key)))
        for key, argument in dialect.arguments.items()
    }
    for name in by_key.values():
        if name not in arguments and name in common.arguments:
            arguments[name] = _argument(dialect.other, common.arguments[name])
    files = dialect.shell.files
    files = attrs.evolve(
        files,
        output=by_key.get(files.output, files.output),
        input=by_key.get(files.input, files.input),
    )
    return attrs.evolve(
        dialect,
        arguments=arguments,
        aliases={},
        shell=attrs.evolve(dialect.shell, files=files),
        cwd=common.cwd,
        home=common.home,
        fold=False,
        loose=False,
        fold_names=False,
    )


def _unfolded(entry: Entry, dialect: Dialect) -> Entry:
    """Return *entry* for paths that keep their case, where its host ignores that."""
    pattern = entry.pattern
    if pattern is None or pattern.kind is not Kind.PATH or not dialect.fold:
        return entry
    tokens = in_any_case(pattern.tokens, (dialect.cwd, dialect.home))
    return attrs.evolve(entry, pattern=Pattern.of(Kind.PATH, tokens))


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
