"""The files that decide are not changed unasked.

An agent that may edit any file could else grant itself everything with one edit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from policy.core.effect import Effect
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, folded, in_any_case
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

__all__ = ["guarded"]

_WRITING: Final = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_LINK: Final = "policy hook"
# Below the project, and below the home folder.
_HERE: Final = ("/*.policy", "/.claude/**")
_HOME: Final = (
    "/.claude/**",
    "/.config/agent-policy/**",
    "/.cache/agent-policy/**",
    "/.cache/agent-policy-hook/**",
)


def guarded(table: Table, files: tuple[str, ...] = ()) -> Table:
    """Return *table*, which asks before a file is written that decides.

    Args:
        table: of a policy of ours.
        files: more such files, or folders of them, absolute.

    """
    dialects = {part.rules.dialect: None for part in table.use.parts if part.rules.dialect.name}
    for dialect in dialects:
        table &= _guard(dialect, files)
    return table


@lru_cache(maxsize=16)
def _guard(dialect: Dialect, files: tuple[str, ...]) -> Table:
    rules = RuleSet(tuple(_entries(dialect, files)), Effect.ALLOW, dialect)
    return Table.of(rules, link=_LINK)


def _entries(dialect: Dialect, files: tuple[str, ...]) -> Iterator[Entry]:
    for tool in _WRITING:
        for text, pattern in _patterns(dialect, files):
            yield Entry(tool, Effect.ASK, pattern, rule=f"{tool}({text})")
    for tool, argument in dialect.arguments.items():
        if argument.kind is ArgumentKind.COMMAND:
            # What a command writes is looked at where a rule speaks of commands.
            yield Entry(tool, Effect.ALLOW, Pattern.text("*"), rule=tool)


def _patterns(dialect: Dialect, files: tuple[str, ...]) -> Iterator[tuple[str, Pattern]]:
    for anchor, prefix, texts in ((dialect.cwd, "", _HERE), (dialect.home, "~", _HOME)):
        for text in texts:
            for pattern in notations.paths(
                text, anchor, fold=dialect.fold, any_case=not dialect.fold
            ):
                yield prefix + text, pattern
    for file in files:
        named = [folded(file)] if dialect.fold else list(in_any_case([file]))
        yield "/" + file, Pattern.of(PatternKind.PATH, named)
        yield f"/{file}/**", Pattern.of(PatternKind.PATH, [*named, "/", Gap.PART, Gap.DEEP])
