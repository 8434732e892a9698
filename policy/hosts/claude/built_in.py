"""Lines that the host itself adds to what rules say, and why it asks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.data.guarded import (
    GUARDED,
    GUARDED_LAST,
    MANAGED,
    MANAGED_FILES,
    MISREAD,
    MISREAD_ENDS,
)
from policy.hosts.claude.modes import is_judged_plan
from policy.hosts.claude.options import Options
from policy.hosts.claude.session import Session
from policy.patterns import notations
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap
from policy.ruleset import Entry

__all__ = [
    "below",
    "built_in",
    "by_default",
    "files_of_settings",
    "guarded_files",
    "is_judged",
    "misread_files",
    "read_inside",
]


def built_in(
    tool: str,
    effect: Effect,
    pattern: Pattern | None = None,
    reason: Reason = Reason.DEFAULT,
    why: str = "built in",
) -> Entry:
    """Return a line that no rule is behind."""
    return Entry(tool, effect, pattern, reason=reason, rule=f"{tool} ({why})")


def below(folder: str) -> Pattern:
    """Return the pattern of a folder and all below it."""
    return Pattern.of(Kind.PATH, [folder.rstrip("/").casefold(), Gap.DEEP])


@lru_cache(maxsize=64)
def guarded_files(folder: str = "") -> tuple[Pattern, ...]:
    """Return the patterns of files below *folder* that are asked for before they are written."""
    nested = f"{GUARDED_LAST}/**/{GUARDED_LAST}"
    return tuple(
        pattern
        for name in (*GUARDED, nested, GUARDED_LAST)
        for pattern in notations.paths("**/" + name, folder, fold=True)
    )


@lru_cache(maxsize=1)
def misread_files() -> tuple[Pattern, ...]:
    """Return the patterns of names that Windows reads as those of other files."""
    parts = [pattern for name in MISREAD for pattern in notations.paths(f"**/{name}", fold=True)]
    ends = [
        pattern for name in MISREAD_ENDS for pattern in notations.paths(f"**/{name}", fold=True)
    ]
    # What lies below one of these is none.
    return (*parts, *(Pattern.of(each.kind, each.tokens[:-1]) for each in ends))


def files_of_settings(options: Options) -> tuple[Pattern, ...]:
    """Return the patterns of settings that lie in no ``.claude``: their edits are asked for."""
    found = list(_of_administrators(MANAGED.get(options.os, MANAGED["linux"])))
    if options.flag is not None and options.flag.name.startswith("/"):
        found.append(Pattern.exactly(options.flag.name.casefold(), Kind.PATH))
    return tuple(found)


@lru_cache(maxsize=8)
def _of_administrators(folder: str) -> tuple[Pattern, ...]:
    return tuple(
        p for name in MANAGED_FILES for p in notations.paths("/" + name, folder, fold=True)
    )


def read_inside(session: Session, tool: str) -> Iterator[Entry]:
    """Yield what lets *tool* read in working folders."""
    for folder in session.folders:
        yield built_in(tool, Effect.ALLOW, below(folder), why="working folder")


def is_judged(session: Session, mode: str) -> bool:
    """Return whether a model decides what no rule speaks of: in plans too, where there is one."""
    return mode == "auto" or (is_judged_plan(mode) and not session.no_auto)


def by_default(session: Session, mode: str) -> Reason:
    """Return why a call is asked for that no rule speaks of."""
    return Reason.CLASSIFIER if is_judged(session, mode) else Reason.DEFAULT
