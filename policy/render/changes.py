"""What every rendering of a diff says in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from policy.decision import Decision
from policy.diff import Change, Diff, FileChange
from policy.render.privileges import Summary
from policy.render.words import call_text, count
from policy.source import visible

__all__ = ["FILES", "Report", "headline", "subject", "summary", "verdict"]

# What may be said of a file that differs, in the order it is told.
FILES = {
    "unread": "changed and not read: what these files grant is not known",
    "error": "changed and in error: their change may not be understood",
    "unknown": "changed, and not named by any rule above",
    "none": "changed without effect: no call is decided differently",
    "decisions": "changed, and named by the rules above",
}


@attrs.frozen
class Report:
    """A diff and what a reader wants to know beside it.

    Attributes:
        old: what people call the one side.
        new: and the other.
        diff: what differs.
        effects: path -> one of `FILES`, for each file that differs.
        grants: index of a change -> what the agent may do that comes or goes.

    """

    old: str
    new: str
    diff: Diff
    effects: Mapping[str, str]
    grants: Mapping[int, Summary] = attrs.field(factory=dict)

    def files(self, effect: str) -> list[FileChange]:
        """Return the files of which *effect* is said."""
        return [file for file in self.diff.files if self.effects.get(file.path) == effect]


def headline(change: Change) -> str:
    """Return the call, or the agent, that a change is about."""
    name = f"`{visible(change.chain[-1])}`"
    if change.what == "agent-added":
        return f"{name} can be started" if len(change.chain) > 1 else f"{name} can start chains"
    if change.what == "agent-removed":
        never = "no longer be started" if len(change.chain) > 1 else "no longer start chains"
        return f"{name} can {never}"
    return call_text(change.difference.tool, change.difference.call)


def subject(change: Change) -> str:
    """Return what a change is about, as a key for JSON: ``call`` or ``agent``."""
    return "call" if change.what == "rule" else "agent"


def verdict(change: Change) -> tuple[Decision, Decision] | None:
    """Return the two decisions, of a change of decisions."""
    if change.what != "rule":
        return None
    return change.difference.before, change.difference.after


def summary(report: Report) -> str:
    """Return the answer in a line."""
    diff = report.diff
    parts = [f"{visible(report.old)} -> {visible(report.new)}: "]
    if diff.changes:
        parts.append(f"{diff.widened:,} widened, {diff.narrowed:,} narrowed")
    elif not diff.files:
        parts.append("no file that may say something about agents differs")
    elif not report.effects or _any(report, ("unread", "error")):
        parts.append("no change of decisions in the files that were read")
    else:
        parts.append("no call is decided differently")
    for effect, what in (("error", "in error"), ("unread", "not read")):
        if files := report.files(effect):
            parts.append(f"; {count(len(files), 'changed file')} {what}")
    if not diff.exact:
        parts.append("; not exact: more calls may be decided differently")
    return "".join(parts)


def _any(report: Report, effects: Sequence[str]) -> bool:
    return any(effect in effects for effect in report.effects.values())
