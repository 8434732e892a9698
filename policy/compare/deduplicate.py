"""Differences as they are told: each once, and of tools that a call can name.

A shell command that opens a file is decided by what its host says of that file,
under a name of the host's own (`policy.tables.dialect.Shell`). No call has that name, and
where it makes a difference a command shows it (`policy.compare.opening`). A call
that cannot be read, and that nobody allows either way, no tool would take: whether it
is asked for or denied is not worth a reader's time. Where the host refuses such calls before
it asks any rule, none is, whatever rules say. Nor is a call that a host asks for by
a line of its own, where calls are told that it asks for because no line speaks of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.compare.compare import Difference
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.tables.dialect import Dialect
from policy.tables.table import Table

__all__ = ["internal_tools", "is_idle", "told"]


def internal_tools(dialects: Iterable[Dialect]) -> frozenset[str]:
    """Return the names that no call has: those of what shell commands do to files."""
    return frozenset[str]().union(*(dialect.shell.files.inner for dialect in dialects))


def is_idle(difference: Difference, *, checked: bool = False) -> bool:
    """Return whether a call differs that cannot be read, and that neither side allows.

    Args:
        difference: of two tables.
        checked: whether their host refuses such calls unread, whatever either says.

    """
    if Reason.MALFORMED not in (difference.before.reason, difference.after.reason):
        return False
    return checked or Effect.ALLOW not in difference.effects


def told(differences: Iterable[Difference], *tables: Table) -> tuple[Difference, ...]:
    """Return the differences of *tables* that are worth telling, each once."""
    dialects = {part.rules.dialect for table in tables for part in table.use.parts}
    internal = internal_tools(dialects)
    checked = bool(dialects) and all(dialect.checks for dialect in dialects)
    once: dict[tuple[object, ...], Difference] = {}
    # Under the name that all have for the tool, where they have one.
    common: dict[str, str] = {}
    for difference in differences:
        if difference.tool in internal or is_idle(difference, checked=checked):
            continue
        tool = difference.tool
        if tool not in common:
            names = {dialect.canonical(tool) for dialect in dialects}
            common[tool] = names.pop() if len(names) == 1 else tool
        name = common[tool]
        key = (name, str(difference.call), difference.before, difference.after)
        if key not in once or tool == name:
            once[key] = difference
    spoken = {key for key, d in once.items() if _is_spoken(d.before) or _is_spoken(d.after)}
    if not spoken:
        return tuple(once.values())
    outcomes = {(name, d.before, d.after) for (name, *_), d in once.items()}
    return tuple(
        d
        for key, d in once.items()
        if key not in spoken or (key[0], _plain(d.before), _plain(d.after)) not in outcomes
    )


def _is_spoken(decision: Decision) -> bool:
    """Return whether a host asks by a line of its own, as it does where no line speaks."""
    return (
        decision.reason is Reason.DEFAULT
        and decision.effect is Effect.ASK
        and bool(decision.because)
        and all(rule.place is None for rule in decision.because)
    )


def _plain(decision: Decision) -> Decision:
    """Return what a call gets as if no line spoke of it that a host asks by all the same."""
    return evolve(decision, because=()) if _is_spoken(decision) else decision
