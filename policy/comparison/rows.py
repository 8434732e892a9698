"""What comparisons ask of a row: what it grants by its rules, by default, and at all."""

from __future__ import annotations

from policy.dialect import ArgumentKind
from policy.effect import Effect
from policy.lookup import Lookup
from policy.rows.outcome import BY_DEFAULT, unsure
from policy.rows.row import Row

__all__ = ["by_rules", "deferred", "denies_all", "grants_whole", "unasked"]


def grants_whole(row: Row) -> bool:
    """Return whether files that a command opens count only where a rule speaks of them."""
    return row.ruleset.dialect.shell.whole and row.default.effect is Effect.ALLOW


def by_rules(row: Row) -> Row:
    """Return the same row where nothing counts that is said by default."""
    entries = (
        entry._replace(effect=Effect.ALLOW) if entry.reason in BY_DEFAULT else entry
        for entry in row.entries
    )
    return Row(entries, unasked(row), row.default.reason, row.tool, row.ruleset)


def unasked(row: Row) -> Effect:
    """Return the effect of what runs where no rule speaks of it, where no entry matches."""
    by_default = row.default.reason in BY_DEFAULT
    return Effect.ALLOW if by_default else row.default.effect


def deferred(row: Row) -> Effect:
    """Return the effect of what runs unasked but for that nobody waits for it, without an entry."""
    if row.default.reason in BY_DEFAULT:
        return row.default.effect
    return row.default.effect & unsure(row.ruleset).effect


def denies_all(lookup: Lookup) -> bool:
    """Return whether it is plain that every call is denied."""
    return lookup.floor is Effect.DENY or any(_grants_nothing(row) for row, _ in lookup.rows)


def _grants_nothing(row: Row) -> bool:
    """Return whether it is plain that every call is denied; a host may know more of commands."""
    dialect, kind = row.ruleset.dialect, row.argument.kind
    plain = kind is not ArgumentKind.POWERSHELL and not (
        kind is ArgumentKind.COMMAND and dialect.shell.programs
    )
    return (
        plain
        and not dialect.links
        and row.default.effect is Effect.DENY
        and all(entry.effect is Effect.DENY for entry in row.entries)
    )
