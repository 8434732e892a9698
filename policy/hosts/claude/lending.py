"""What a rule for `Edit` means for reads, and for files behind links.

A file that a rule lets be edited may be read, unless the edit would be held back: by
another path rule, or since the file is guarded. A rule for every edit lends nothing, takes
nothing back, and allows no edit through a link that leads out (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.built_in import below, built_in, by_default, guarded_files, read_inside
from policy.hosts.claude.data.tools import FILE_TOOLS
from policy.hosts.claude.session import Session
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry

__all__ = ["led_out", "lent"]

_READS: Final = FILE_TOOLS["Read"]


def lent(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what may be read since rules let it be edited."""
    lending = [line.entry for line in session.lines if line.borrowed]
    if not lending:
        return
    kept = list(_kept(session))
    inside = [pattern for pattern in kept if any(_is_in(pattern, f) for f in session.folders)]
    inside += (pattern for folder in session.folders for pattern in guarded_files(folder))
    outside = [pattern for pattern in kept if pattern not in inside]
    # What is kept where a link leads to is kept under the name of the link.
    inside += (
        below(link)
        for link, target in session.options.links.items()
        if any(_may_be_in(pattern, target) or _is_in(pattern, target) for pattern in outside)
    )
    for tool in _READS:
        for pattern in inside:
            yield built_in(tool, Effect.ALLOW, pattern, why="working folder")
        if any(_may_be_in(pattern, folder) for pattern in outside for folder in session.folders):
            yield from read_inside(session, tool)
        for pattern in (*outside, *guarded_files()):
            yield built_in(tool, Effect.ASK, pattern, by_default(session, mode), "is not edited")
    yield from lending


def _kept(session: Session) -> Iterator[Pattern]:
    """Yield what path rules for `Edit` deny or ask for."""
    said = [line.entry for line in session.lines]
    said += (entry for entries in session.reopened for entry in entries)
    for entry in said:
        is_kept = entry.tool == "Edit" and entry.effect is not Effect.ALLOW and not entry.field
        # What may not be read at all is decided before.
        if is_kept and entry.pattern is not None and not entry.rule.startswith("Read"):
            yield entry.pattern


def _beginning(pattern: Pattern) -> str:
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _is_in(pattern: Pattern, folder: str) -> bool:
    return f"{_beginning(pattern)}/".startswith(f"{folder.casefold()}/")


def _may_be_in(pattern: Pattern, folder: str) -> bool:
    return folder.casefold().startswith(_beginning(pattern))


def led_out(session: Session, allowed: list[Entry]) -> Iterator[Entry]:
    """Yield what asks for edits through links that lead out, behind what of *allowed* lifts it."""
    out = [
        below(link)
        for link, target in session.options.links.items()
        if not any(f"{target}/".startswith(f"{folder}/") for folder in session.folders)
    ]
    if out:
        edits = FILE_TOOLS["Edit"]
        yield from (e for e in allowed if e.tool in edits and e.pattern is not None)
        for tool in edits:
            for pattern in out:
                yield built_in(tool, Effect.ASK, pattern, Reason.PROTECTED, "a link leads out")
