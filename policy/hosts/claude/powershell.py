"""What Claude Code removes for nobody who asks in PowerShell (documented, not observed)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.data.powershell import SYSTEM_FOLDERS
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, OneOf, Token
from policy.ruleset import Entry

__all__ = ["power_shell_removals"]

_LETTERS: Final = OneOf(frozenset("abcdefghijklmnopqrstuvwxyz"))
_BEFORE: Final = OneOf(frozenset(" '\""))
_SLASH: Final = OneOf(frozenset("/\\"))


@lru_cache(maxsize=1)
def power_shell_removals() -> tuple[Entry, ...]:
    """Return what PowerShell removes in no mode: all of a folder, and the system's own."""
    drive: tuple[Token, ...] = (_BEFORE, _LETTERS, ":", _SLASH)
    targets: list[tuple[Token, ...]] = [
        (_SLASH, "*", Gap.ANY),
        (" *",),
        drive,
        (*drive, OneOf(frozenset(" '\"")), Gap.ANY),
        (_BEFORE, "/"),
        (_BEFORE, "~"),
    ]
    targets += ((*drive, folder, Gap.ANY) for folder in SYSTEM_FOLDERS)
    return tuple(
        Entry(
            "PowerShell",
            Effect.DENY,
            Pattern.of(Kind.TEXT, ["remove-item", Gap.ANY, *target]),
            reason=Reason.PROTECTED,
            rule="PowerShell (critical path)",
        )
        for target in targets
    )
