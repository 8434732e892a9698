"""Protects the files of policies: writing one needs approval.

Otherwise an agent that may edit any file could grant itself everything with one edit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, folded, in_any_case
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.projects import Compiled, CompiledProject
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

# The host of policies in our notation.
OURS: Final = "policy"

_WRITING: Final = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_LINK: Final = "policy hook"
# Below the project, and below the home folder.
_IN_PROJECT: Final = ("/*.policy", "/.claude/**")
_IN_HOME: Final = (
    "/.claude/**",
    "/.config/agent-policy/**",
    "/.cache/agent-policy/**",
    "/.cache/agent-policy-hook/**",
)


def protected(compiled: Compiled, files: tuple[str, ...]) -> Compiled:
    """Return *compiled* with tables in our notation that ask before a policy file is written.

    The absolute paths *files* are further such files, or folders of them. A chain is a meet, so it
    is enough that the table of each agent asks.
    """
    return evolve(compiled, projects=tuple(_project(each, files) for each in compiled.projects))


def _project(project: CompiledProject, files: tuple[str, ...]) -> CompiledProject:
    if project.host != OURS:
        return project
    reading = project.attenuated
    tables, roots = (
        {agent: _table(table, files) for agent, table in each.items()}
        for each in (reading.tables, reading.roots)
    )
    return evolve(project, attenuated=evolve(reading, tables=tables, roots=roots))


def _table(table: Table, files: tuple[str, ...]) -> Table:
    for dialect in dict.fromkeys(part.rules.dialect for part in table.use.parts):
        if dialect.name:
            table &= _protection(dialect, files)
    return table


@lru_cache(maxsize=16)
def _protection(dialect: Dialect, files: tuple[str, ...]) -> Table:
    entries = [
        Entry(tool, Effect.ASK, pattern, rule=f"{tool}({text})")
        for tool in _WRITING
        for text, pattern in _policy_files(dialect, files)
    ]
    for tool, argument in dialect.arguments.items():
        if argument.kind is ArgumentKind.COMMAND:
            # Files that a command writes are checked only if a rule applies to commands.
            entries.append(Entry(tool, Effect.ALLOW, Pattern.text("*"), rule=tool))
    return Table.of(RuleSet(tuple(entries), Effect.ALLOW, dialect), link=_LINK)


def _policy_files(dialect: Dialect, files: tuple[str, ...]) -> Iterator[tuple[str, Pattern]]:
    for anchor, prefix, texts in ((dialect.cwd, "", _IN_PROJECT), (dialect.home, "~", _IN_HOME)):
        for text in texts:
            found = notations.paths(text, anchor, fold=dialect.fold, any_case=not dialect.fold)
            yield from ((prefix + text, pattern) for pattern in found)
    for file in files:
        named = [folded(file)] if dialect.fold else list(in_any_case([file]))
        yield "/" + file, Pattern.of(PatternKind.PATH, named)
        yield f"/{file}/**", Pattern.of(PatternKind.PATH, [*named, "/", Gap.PART, Gap.DEEP])
