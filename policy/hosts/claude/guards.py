"""What Claude Code 2.1.329 holds back in a mode, whatever rules allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.built_in import (
    below,
    built_in,
    by_default,
    is_judged,
    led_out_names,
)
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.guarded import LEFT_OPEN
from policy.hosts.claude.data.links import LINKED
from policy.hosts.claude.file_names import (
    disguised_files,
    files_of_settings,
    guarded_files,
    guarded_last,
    misread_files,
)
from policy.hosts.claude.modes import EDITING_MODES, is_plan
from policy.hosts.claude.session import Session
from policy.patterns import notations
from policy.patterns.folders import within
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry

__all__ = ["guards", "guards_before", "held", "misread"]

# What a plan changes only after it was agreed to, whatever rules allow.
_NOT_PLANNED: Final = ("Edit", "Write", "NotebookEdit", "mcp__*")


def held(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what the host guards, and what waits for a plan to be agreed to."""
    judged = is_judged(session, mode)
    if session.guarded:
        yield from guards(session, mode, Reason.CLASSIFIER if judged else Reason.PROTECTED)
    if is_plan(mode) and session.options.behaves.plan_before_rules:
        held = Effect.DENY if session.asks_nobody(mode) else Effect.ASK
        yield from (built_in(tool, held) for tool in _NOT_PLANNED)


def guards(session: Session, mode: str, reason: Reason) -> Iterator[Entry]:
    """Yield what is asked, for *reason*, before a guarded file is written."""
    opened = () if is_plan(mode) else _of_work_trees(session, mode)
    return _guards(session, Effect.ASK, reason, opened)


def guards_before(asked: Entry, session: Session, mode: str) -> Iterator[Entry]:
    """Yield what comes of guarded files before a hook asks, as *asked* does of all others.

    Where the mode takes the guard away, nobody asks for such a file at all.
    """
    waived = mode == "bypassPermissions" and session.options.behaves.bypass_of_guarded
    opened = (
        attrs.evolve(asked, tool=tool, pattern=trees)
        for tool in known.EDITING
        for trees in notations.paths("**/" + LEFT_OPEN, fold=True)
    )
    effect = Effect.ALLOW if waived else Effect.ASK
    return _guards(session, effect, Reason.PROTECTED, opened)


def _guards(
    session: Session, effect: Effect, reason: Reason, opened: Iterable[Entry]
) -> Iterator[Entry]:
    # Names with letters that nobody sees behind those that people know.
    settings = files_of_settings(session.options)
    files = (*misread_files(), *settings, guarded_files(), disguised_files())
    yield from _guarded(files, effect, reason)
    yield from opened
    yield from _guarded((guarded_last(),), effect, reason)


@lru_cache(maxsize=64)
def _guarded(files: tuple[Pattern, ...], effect: Effect, reason: Reason) -> tuple[Entry, ...]:
    return tuple(
        built_in(tool, effect, pattern, reason, "guarded file")
        for tool in known.EDITING
        for pattern in files
    )


def _of_work_trees(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what rules and the mode allow of the one folder that no guard is on."""
    elsewhere = session.options.links.keys() - LINKED.keys()
    for line in () if elsewhere else session.lines:
        entry = line.entry
        if entry.effect is Effect.ALLOW and entry.tool in known.EDITING and not line.borrowed:
            above = entry.pattern or below("")
            for trees in within(above, LEFT_OPEN.split("/")):
                yield attrs.evolve(entry, pattern=trees)
    for folder in session.folders if mode in EDITING_MODES else ():
        for trees in notations.paths("**/" + LEFT_OPEN, folder, fold=True):
            for tool in known.EDITING:
                yield built_in(tool, Effect.ALLOW, trees, why="a work tree")


def misread(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what is asked for because a name is odd, unless every such call is allowed.

    The program lets a rule about paths allow a name that leads out of its folder. Such a
    name is asked for here, so a rule about files in a working folder allows nothing more
    than the folder does.
    """
    reason = by_default(session, mode)
    for tool in known.FILE_TOOLS["Read"] if not is_judged(session, mode) else ():
        for pattern in misread_files():
            yield built_in(tool, Effect.ASK, pattern, reason, "odd name")
    for tool in (*known.READING, *known.EDITING):
        yield from led_out_names(session.folders, tool, Effect.ASK, reason)
