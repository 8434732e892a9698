"""What a rule for `Edit` means for reads, and for files behind links.

A file that a rule lets be edited may be read, unless the edit would be held back: by
another path rule, or since the file is guarded. A rule for every edit lends nothing, takes
nothing back, and allows no edit through a link that leads out (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.built_in import (
    below,
    built_in,
    by_default,
    is_judged,
)
from policy.hosts.claude.data.tools import FILE_TOOLS
from policy.hosts.claude.file_names import (
    disguised_files,
    files_of_settings,
    guarded_files,
    guarded_last,
)
from policy.hosts.claude.session import Session
from policy.patterns.folders import moved
from policy.patterns.folding import folded
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap
from policy.ruleset import Entry

__all__ = ["led_out", "lent"]

_READS: Final = FILE_TOOLS["Read"]


def lent(session: Session, mode: str) -> Iterator[Entry]:
    """Yield what may be read since rules let it be edited."""
    lending = [line.entry for line in session.lines if line.borrowed]
    if not lending or is_judged(session, mode):
        return  # where a model judges, every file may be read
    kept = [*_kept(session), *files_of_settings(session.options)]
    # Of what lies in a folder it is named what is kept, not all of it: what links in it lead to
    # is lent where both names are.
    here = [p for folder in session.folders for p in (*_in(kept, folder), *_guarded(folder))]
    named = frozenset(here)
    outside = [pattern for pattern in kept if pattern not in named]
    reason = by_default(session, mode)
    # What is kept where a link leads to is kept under the name of the link.
    for link, target in session.options.links.items():
        if any(_may_be_in(pattern, target) or _is_in(pattern, target) for pattern in kept):
            is_inside = any(_is_in(below(link), folder) for folder in session.folders)
            (here if is_inside else outside).append(below(link))
    for tool in _READS:
        for pattern in here:
            yield built_in(tool, Effect.ALLOW, pattern, why="working folder")
        for pattern in (*outside, *_guarded()):
            yield built_in(tool, Effect.ASK, pattern, reason, "is not edited")
    yield from lending


def _guarded(folder: str = "") -> tuple[Pattern, ...]:
    return guarded_files(folder), disguised_files(folder), guarded_last(folder)


def _kept(session: Session) -> Iterator[Pattern]:
    """Yield what path rules for `Edit` deny or ask for."""
    said = [line.entry for line in session.lines]
    said += (entry for entries in session.reopened for entry in entries)
    for entry in said:
        is_kept = entry.tool == "Edit" and entry.effect is not Effect.ALLOW and not entry.field
        # What may not be read at all is decided before.
        if is_kept and entry.pattern is not None and not entry.rule.startswith("Read"):
            yield entry.pattern


def _in(patterns: Iterable[Pattern], folder: str) -> Iterator[Pattern]:
    """Yield what *patterns* match in a folder."""
    for pattern in patterns:
        if _is_in(pattern, folder):
            yield pattern
        elif _may_be_in(pattern, folder):
            yield from moved(pattern, folded(folder), folded(folder))


def _beginning(pattern: Pattern) -> str:
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _is_in(pattern: Pattern, folder: str) -> bool:
    return f"{_beginning(pattern)}/".startswith(f"{folded(folder)}/")


def _may_be_in(pattern: Pattern, folder: str) -> bool:
    return folded(folder).startswith(_beginning(pattern))


def led_out(session: Session, allowed: list[Entry]) -> Iterator[Entry]:
    """Yield what asks for edits through links that lead out, behind what of *allowed* lifts it.

    A rule about paths lifts it where one speaks of the name of the link, and one of the
    file that it leads to; a rule for every edit speaks of neither.
    """
    about = [e for e in allowed if e.tool in _EDITS and e.pattern is not None]
    for link, target in session.options.links.items():
        if any(f"{target}/".startswith(f"{folder}/") for folder in session.folders):
            continue
        for entry in about:
            rests = [behind for e in about if e.tool == entry.tool and (behind := _of(e, target))]
            yield from _lifted(entry, link, rests)
        for tool in _EDITS:
            yield built_in(tool, Effect.ASK, below(link), Reason.PROTECTED, "a link leads out")


_EDITS: Final = FILE_TOOLS["Edit"]


def _of(entry: Entry, folder: str) -> Pattern | None:
    """Return what a line says of the files below *folder*, by their names in it."""
    pattern, folder = entry.pattern, folded(folder)
    if pattern is None or pattern >= below(folder):
        return below("")
    first = _beginning(pattern)
    if f"{first}/".startswith(f"{folder}/"):
        return Pattern.of(pattern.kind, (first[len(folder) :], *pattern.tokens[1:]))
    if f"{folder}/".startswith(f"{first}/") and pattern.tokens[1:2] == (Gap.DEEP,):
        return Pattern.of(pattern.kind, pattern.tokens[1:])
    return None


def _lifted(entry: Entry, link: str, rests: list[Pattern]) -> Iterator[Entry]:
    """Yield what *entry* allows below *link*, of which each of *rests* speaks too."""
    named = _of(entry, link)
    if named is None:
        return
    for rest in rests:
        both = named if named <= rest else rest if rest <= named else None
        if both is not None:
            inside = Pattern.of(both.kind, (folded(link), *both.tokens))
            yield attrs.evolve(entry, pattern=inside)
