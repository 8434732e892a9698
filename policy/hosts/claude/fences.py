"""What keeps reads and edits in working folders, whatever rules say (2.1.329, observed).

Each of three settings is a rule set of its own, which says nothing of what is inside: what is
asked or allowed elsewhere decides that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from policy.decision import Reason
from policy.effect import Effect
from policy.hosts.claude.built_in import built_in, inside
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.settings import EDITS_INSIDE, FILE_READS_INSIDE, READS_INSIDE
from policy.hosts.claude.session import Session
from policy.patterns import notations
from policy.ruleset import Entry

__all__ = ["Fence", "fences"]

_READING = known.FILE_TOOLS["Read"]
_EDITING = known.FILE_TOOLS["Edit"]


@attrs.frozen
class Fence:
    """The entries of one setting.

    Attributes:
        entries: in order.
        traces: whether commands are asked for of which nobody can tell what they read.
    """

    entries: tuple[Entry, ...]
    traces: bool = False


def fences(session: Session) -> Iterator[Fence]:
    """Yield what each setting that is on comes to."""
    if READS_INSIDE in session.fences:
        yield Fence(tuple(_reads(session, session.fences[READS_INSIDE])), traces=True)
    if EDITS_INSIDE in session.fences:
        yield Fence(tuple(_edits(session.fences[EDITS_INSIDE])))
    if FILE_READS_INSIDE in session.fences:
        # Who edits a file reads it; of commands this says nothing.
        folders = session.fences[FILE_READS_INSIDE]
        yield Fence(tuple(_denied(folders, (*_READING, *_EDITING), "outside reads are blocked")))


def _denied(folders: Iterable[str], tools: Iterable[str], why: str) -> Iterator[Entry]:
    for tool in tools:
        yield from inside(folders, tool, Effect.DENY, Reason.PROTECTED)
        yield built_in(tool, Effect.DENY, reason=Reason.PROTECTED, why=why)


def _reads(session: Session, folders: Iterable[str]) -> Iterator[Entry]:
    # Any word of a command may be the name of a file that a rule denies, if there is such a file.
    for line in session.lines:
        if (line.entry.tool, line.entry.effect) == (known.OPERAND_READ, Effect.DENY):
            yield attrs.evolve(line.entry, effect=Effect.ASK, reason=Reason.PROTECTED)
    for tool in known.READING:
        # What a tool may not read, a command asks for.
        effect = Effect.DENY if tool in _READING else Effect.ASK
        yield from inside(folders, tool, effect, Reason.PROTECTED)
        yield built_in(tool, effect, reason=Reason.PROTECTED, why="outside reads are blocked")


def _edits(folders: Iterable[str]) -> Iterator[Entry]:
    """Yield what keeps edits inside; those of settings, which could lift that, are none."""
    for tool in _EDITING:
        for pattern in notations.paths("**/.claude/settings*.json", fold=True):
            yield built_in(tool, Effect.DENY, pattern, Reason.PROTECTED, "settings are kept")
    yield from _denied(folders, _EDITING, "outside edits are blocked")
