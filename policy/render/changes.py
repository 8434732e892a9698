"""What every rendering of a diff says in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from policy.chain import SPAWN_TOOL
from policy.decision import Decision
from policy.diff import Change, Diff, FileChange
from policy.render.privileges import Summary
from policy.render.words import call_text, count
from policy.source import visible

__all__ = ["FILES", "Report", "Told", "headline", "subject", "summary", "told", "verdict"]

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


@attrs.define
class Told:
    """Changes that are told together: the same rules make the same of several calls.

    Attributes:
        lead: one of them.
        calls: what they are about, as people read it.
        chains: which chains they concern, the shortest first.
        readings: in which readings.
        grants: what the agent may do that comes or goes.

    """

    lead: Change
    calls: dict[str, None]
    chains: dict[tuple[str, ...], None]
    readings: dict[str, None]
    grants: Summary | None = None
    members: int = 1

    def take(self, other: Told) -> None:
        """Tell *other* with these."""
        self.calls |= other.calls
        self.chains |= other.chains
        self.readings |= other.readings
        self.members += other.members

    @property
    def in_order(self) -> list[tuple[str, ...]]:
        """The chains, the shortest first."""
        return sorted(self.chains, key=lambda chain: (len(chain), chain))


def told(report: Report, direction: str) -> list[Told]:
    """Return the changes of one direction, those together that have one cause."""
    changes = list(enumerate(report.diff.changes))
    spawned = {
        (change.project, change.direction, change.chain[-1])
        for _, change in changes
        if change.what != "rule"
    }
    groups: dict[object, Told] = {}
    for number, change in changes:
        if change.direction != direction or _is_spawn(change, spawned):
            continue
        grants = report.grants.get(number)
        chains = (change.chain, *change.also)
        one = Told(
            change,
            {_subject(change): None},
            dict.fromkeys(chains),
            dict.fromkeys(change.readings),
            grants,
        )
        key = _cause(change, grants)
        if key in groups:
            groups[key].take(one)
        else:
            groups[key] = one
    return list(groups.values())


def _is_spawn(change: Change, spawned: set[tuple[str, str, str]]) -> bool:
    """Return whether a change says only that an agent comes or goes, which is told apart."""
    if change.what != "rule" or change.difference.tool not in {SPAWN_TOOL, "Agent"}:
        return False
    names = list(change.difference.call.values())
    return len(names) == 1 and (change.project, change.direction, names[0]) in spawned


def _subject(change: Change) -> str:
    if change.what == "rule":
        return call_text(change.difference.tool, change.difference.call)
    return f"`{visible(change.chain[-1])}`"


def _cause(change: Change, grants: Summary | None) -> object:
    """Return what changes have in common that are told together."""
    if change.what != "rule":
        return change.what, change.project, str(grants), len(change.chain) > 1
    difference = change.difference
    sides = [_side(decision) for decision in (difference.before, difference.after)]
    effects = (difference.before.effect, difference.after.effect)
    # Where no rule of a file is behind it, what it concerns is what there is to tell.
    whom = None if any(rules for rules, _ in sides) else (change.chain, change.also)
    return change.project, effects, tuple(sides), whom, whom and change.readings


def _side(decision: Decision) -> tuple[tuple[object, ...], object]:
    rules = tuple((one.rule, one.place) for one in decision.because if one.place is not None)
    return rules, None if rules else decision.reason


def headline(group: Told) -> str:
    """Return what agents of which a group tells can do, or no longer do."""
    names = " and ".join(filter(None, (", ".join(list(group.calls)[:-1]), *list(group.calls)[-1:])))
    started = "be started" if len(group.lead.chain) > 1 else "start chains"
    return f"{names} can {'' if group.lead.widened else 'no longer '}{started}"


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
