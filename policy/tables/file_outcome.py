"""The outcome of a row for a file, by its name and by the path that symbolic links lead to."""

from __future__ import annotations

from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.values import TYPE_CHECKING, Final
from policy.patterns.automaton import NO_MATCH
from policy.patterns.tokens import folded
from policy.tables import calls
from policy.tables.row import (
    BY_DEFAULT,
    UNANALYSABLE,
    UNREADABLE,
    Outcome,
    guarded,
    strictness,
    unsure,
)

if TYPE_CHECKING:
    from policy.tables.dialect import Dialect
    from policy.tables.row import Row


def file_outcome(row: Row, path: str, variant: str, last: int = NO_MATCH) -> Outcome:
    """Return the stricter outcome of *row* for a path and for its `case_variant`.

    For *last* see `decide_command` in `command_outcome.py`.
    """
    names = [path, variant]
    if path.startswith(_OF_PROCESSES) and row.ruleset.dialect.processes:
        try:
            names.append(calls.real_path(path, links_of_processes(row.ruleset.dialect)))
        except calls.Unreadable as unreadable:
            return UNREADABLE[unreadable.reason]
    found = (path_outcome(row, name, last) for name in dict.fromkeys(names))
    return min(found, key=strictness)


def named_outcome(row: Row, name: str) -> tuple[str | None, Outcome]:
    """Return the canonical path of a file that a command names, if any, and its outcome."""
    found = row.named.get(name)
    if found is None:
        dialect = row.ruleset.dialect
        try:
            path = calls.canonical_path(name, dialect)
            found = path, file_outcome(row, path, calls.case_variant(name, dialect))
        except calls.Unreadable:
            found = None, unsure(row.ruleset)
        if len(name) <= limits.CACHED_CHARACTERS:
            row.named.keep(name, found)
    return found


# In these folders Linux has links to the working folder and to the root of the current process.
_OF_PROCESSES: Final = ("/proc/self/", "/proc/thread-self/")
_OWN: Final = (*_OF_PROCESSES, "/proc/self/task/self/")


def links_of_processes(dialect: Dialect) -> list[tuple[str, str]]:
    """Return the links in ``/proc`` to the folder and the root of a process, with their targets."""
    cwd = folded(dialect.cwd) if dialect.fold else dialect.cwd
    return [(f"{of}{name}", to) for of in _OWN for name, to in (("cwd", cwd), ("root", ""))]


def path_outcome(row: Row, path: str, last: int = NO_MATCH) -> Outcome:
    """Return the outcome of *row* for a canonical path, and for the file that it leads to.

    A rule that denies one of the two paths denies the file. Otherwise the real path alone decides
    for a file that a command reads; a file that a command writes through a link out of the working
    folders is asked for; and for a file tool the stricter of both paths decides.
    """
    named = row.at(min(row.first(path), last))
    if not row.ruleset.dialect.links:
        return named
    try:
        real = calls.real_path(path, row.ruleset.dialect.links)
    except calls.Unreadable as unreadable:
        return UNREADABLE[unreadable.reason]
    return named if real == path else led_outcome(row, path, real, last)


def led_outcome(row: Row, path: str, real: str, last: int = NO_MATCH) -> Outcome:
    """Return the outcome of `path_outcome` for a *path* that links lead to another file, *real*."""
    named, led_to = (row.at(min(row.first(name), last)) for name in (path, real))
    found = min(named, led_to, key=strictness)
    if found.effect is Effect.DENY and found.reason not in BY_DEFAULT:
        return found
    shell = row.ruleset.dialect.shell
    if row.tool in (shell.files.reads, shell.files.input):
        return led_to
    if row.tool in (shell.files.writes, shell.files.output):
        writes = row.ruleset.row(shell.files.writes)
        written = writes.at(writes.first(real))
        inside = written.effect is Effect.ALLOW and written.reason in BY_DEFAULT
        alike = named.reason is led_to.reason and (inside or named.reason is Reason.RULE)
        is_same = alike or row.default.effect is Effect.ALLOW
        return found if is_same else guarded(row.ruleset)
    if found.effect is Effect.ALLOW:
        # If a rule decides one path, a rule for the same tool must decide the other too.
        ruled = [
            each for each in ((path, named), (real, led_to)) if each[1].reason not in BY_DEFAULT
        ]
        if len(ruled) == 1 and not calls.is_within(ruled[0][0], row.ruleset.dialect):
            return unsure(row.ruleset)
        return named
    # A person is asked, also where a model could judge the call.
    return UNANALYSABLE if found.reason is Reason.CLASSIFIER else found
