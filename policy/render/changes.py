"""What every rendering of a diff says in the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from policy.changes.changed_files import FileChange
from policy.changes.diff import Change, Diff
from policy.changes.review import Review, RuleChange
from policy.changes.spawn_changes import Spawn
from policy.credentials import masked
from policy.decision import Because, Decision
from policy.effect import Effect
from policy.finding import Finding
from policy.render.privileges import Summary
from policy.render.words import count
from policy.source import Span, visible

if TYPE_CHECKING:
    from policy.reach.query import Excess

__all__ = [
    "BEYOND",
    "FILES",
    "MEANINGS",
    "NEW_FINDINGS",
    "NO_EFFECT",
    "Report",
    "beyond",
    "churn_words",
    "file_words",
    "meaning",
    "subject",
    "summary",
    "verdict",
]

# What a change means to whoever reviews it, in the order it is told.
MEANINGS = {
    "granted": "widened: granted",
    "ask-to-allow": "widened: ask -> allow",
    "withdrawn": "narrowed: withdrawn",
    "allow-to-ask": "narrowed: allow -> ask",
}

BEYOND = "beyond the maximum"
NEW_FINDINGS = "findings that came with the change"
NO_EFFECT = "rules that changed without effect"

# What may be said of a file that differs, in the order it is told.
FILES = {
    "unread": "changed and not read: what these files grant is not known",
    "error": "changed and not understood: what these files grant is not known",
    "unknown": "changed, and no rule or agent of theirs is named above",
    "none": "changed without effect: no call is decided differently",
    "decisions": "changed, and told of above",
}


# Where rules stand in the texts that are compared.
Spans = Mapping[Because, Span]


@attrs.frozen
class Report:
    """A diff and what a reader wants to know beside it.

    Attributes:
        old: what people call the one side.
        new: and the other.
        diff: what differs.
        effects: path -> one of `FILES`, for each file that differs.
        grants: index of a change -> what the agent may do that comes or goes.
        review: what was renamed, and which rules changed.
        spawns: project -> the edges of its spawn graph, where that changed.
        excess: what the new side grants beyond a maximum.
        findings: what the new side has and the old has not (`new_findings`).
        spans: of each side, where the rules stand that its decisions name.

    """

    old: str
    new: str
    diff: Diff
    effects: Mapping[str, str]
    grants: Mapping[int, Summary] = attrs.field(factory=dict)
    review: Review = Review()
    spawns: Mapping[str, Sequence[Spawn]] = attrs.field(factory=dict)
    excess: tuple[Excess, ...] = ()
    findings: tuple[Finding, ...] = ()
    spans: tuple[Spans, Spans] = ({}, {})

    def files(self, effect: str) -> list[FileChange]:
        """Return the files of which *effect* is said."""
        return [file for file in self.diff.files if self.effects.get(file.path) == effect]


def meaning(change: Change) -> str:
    """Return what a change means, a key of `MEANINGS`."""
    difference = change.difference
    if change.widened:
        return "granted" if difference.before.effect is Effect.DENY else "ask-to-allow"
    return "withdrawn" if difference.after.effect is Effect.DENY else "allow-to-ask"


def beyond(report: Report) -> list[tuple[Excess, tuple[str, ...]]]:
    """Return what exceeds a maximum, the same in both readings once, with the readings."""
    groups: dict[object, tuple[Excess, list[str]]] = {}
    for one in report.excess:
        difference = one.difference
        key = (one.project, one.chain, difference.tool, str(difference.call))
        groups.setdefault(key, (one, []))[1].append(one.reading)
    return [(one, tuple(readings)) for one, readings in groups.values()]


def subject(change: Change) -> str:
    """Return what a change is about, as a key for JSON: ``call`` or ``agent``."""
    return "call" if change.what == "rule" else "agent"


def verdict(change: Change) -> tuple[Decision, Decision] | None:
    """Return the two decisions, of a change of decisions."""
    if change.what != "rule":
        return None
    return change.difference.before, change.difference.after


def file_words(file: FileChange) -> str:
    """Return what kind of file it is, and how many errors it has now."""
    return visible(file.what) + (f", {count(file.errors, 'error')}" if file.errors else "")


def _side_name(name: str) -> str:
    is_hash = len(name) == 40 and not name.strip("0123456789abcdef")
    return visible(name[:12] if is_hash else name)


def summary(report: Report) -> str:
    """Return the answer in a line."""
    diff = report.diff
    parts = [f"{_side_name(report.old)} -> {_side_name(report.new)}: "]
    if diff.changes:
        parts.append(f"{diff.widened:,} widened, {diff.narrowed:,} narrowed")
    elif not diff.files:
        parts.append("no file that may say something about agents differs")
    elif not report.effects or _any(report, ("unread", "error")):
        parts.append("no change of decisions in the files that were read")
    else:
        parts.append("no call is decided differently")
    for effect, what in (("error", "not understood"), ("unread", "not read")):
        if files := report.files(effect):
            parts.append(f"; {count(len(files), 'changed file')} {what}")
    if excess := beyond(report):
        parts.append(f"; {len(excess):,} {BEYOND}")
    if report.findings:
        parts.append(f"; {count(len(report.findings), 'new finding')}")
    if not diff.exact:
        parts.append(f"; not exact: more calls may be decided differently ({'; '.join(diff.why)})")
    return "".join(parts)


def churn_words(change: RuleChange) -> tuple[str, str, str]:
    """Return what happened to a rule, the rule with its effect, and where it stands."""
    effects = [effect.value for effect in change.effects if effect is not None]
    places = [str(place) for place in change.places if place is not None]
    rule = f"{' -> '.join(dict.fromkeys(effects))} {visible(masked(change.rule))}"
    return change.what, rule, " -> ".join(dict.fromkeys(places))


def _any(report: Report, effects: Sequence[str]) -> bool:
    return any(effect in effects for effect in report.effects.values())
