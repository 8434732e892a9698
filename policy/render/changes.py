"""What every rendering of a diff says in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

from policy.chain import SPAWN_TOOL
from policy.changes.changed_files import FileChange
from policy.changes.diff import Change, Diff
from policy.changes.review import Review, RuleChange
from policy.changes.spawn_changes import Spawn
from policy.credentials import masked
from policy.decision import Because, Decision, Reason
from policy.effect import Effect
from policy.reach.query import Excess
from policy.render.privileges import Summary
from policy.render.words import call_text, count
from policy.source import Span, visible

__all__ = [
    "BEYOND",
    "FILES",
    "MEANINGS",
    "NO_EFFECT",
    "Report",
    "Told",
    "amount",
    "beyond",
    "churn_words",
    "headline",
    "meaning",
    "pool_headline",
    "subject",
    "summary",
    "told",
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
NO_EFFECT = "rules that changed without effect"

# What may be said of a file that differs, in the order it is told.
FILES = {
    "unread": "changed and not read: what these files grant is not known",
    "error": "changed and in error: their change may not be understood",
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
    spans: tuple[Spans, Spans] = ({}, {})

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
        renamed: the other name of an agent that has the same rules, or "".
        by_effect: the calls by what they get where the tool is available, of changes that
            say no more than that an agent has, or had, more tools; else nothing.

    """

    lead: Change
    calls: dict[str, None]
    chains: dict[tuple[str, ...], None]
    readings: dict[str, None]
    grants: Summary | None = None
    renamed: str = ""
    by_effect: dict[Effect, dict[str, None]] = attrs.field(factory=dict)
    members: int = 1  # how many changes these are, of those that `Diff` counts

    def take(self, other: Told) -> None:
        """Tell *other* with these."""
        self.calls |= other.calls
        for effect, calls in other.by_effect.items():
            self.by_effect[effect] = self.by_effect.get(effect, {}) | calls
        self.chains |= other.chains
        self.readings |= other.readings
        self.members += other.members

    @property
    def in_order(self) -> list[tuple[str, ...]]:
        """The chains, the shortest first."""
        return sorted(self.chains, key=lambda chain: (len(chain), chain))


def meaning(change: Change) -> str:
    """Return what a change means, a key of `MEANINGS`."""
    difference = change.difference
    if change.widened:
        return "granted" if difference.before.effect is Effect.DENY else "ask-to-allow"
    return "withdrawn" if difference.after.effect is Effect.DENY else "allow-to-ask"


def told(report: Report, what: str) -> list[Told]:
    """Return the changes of one meaning by agent, those together that have one cause."""
    changes = list(enumerate(report.diff.changes))
    spawned = {
        (change.project, change.direction, change.chain[-1])
        for _, change in changes
        if change.what != "rule"
    }
    implied = Counter(_spawn(change) for _, change in changes if _spawn(change) in spawned)
    groups: dict[object, Told] = {}
    for number, change in changes:
        if meaning(change) != what or _spawn(change) in spawned:
            continue
        grants = report.grants.get(number)
        chains = (change.chain, *change.also)
        one = Told(
            change,
            {_subject(change): None},
            dict.fromkeys(chains),
            dict.fromkeys(change.readings),
            grants,
            _renamed(report, change),
        )
        if _is_of_pool(change):
            difference = change.difference
            decision = difference.after if change.widened else difference.before
            one.by_effect[decision.effect] = dict(one.calls)
        if change.what != "rule":
            one.members += implied.pop((change.project, change.direction, change.chain[-1]), 0)
        key = (one.renamed, _cause(change, grants))
        if key in groups:
            groups[key].take(one)
        else:
            groups[key] = one
    # Agents first that start others, so that what is told of a chain is told from its root.
    return sorted(groups.values(), key=lambda one: _agent_order(one.lead))


def _agent_order(change: Change) -> tuple[object, ...]:
    return change.what == "rule", change.project, len(change.chain), change.chain[-1]


def _renamed(report: Report, change: Change) -> str:
    """Return the other name of an agent that comes or goes, where that is all."""
    if change.what == "rule":
        return ""
    for renamed in report.review.renamed:
        if renamed.project == change.project:
            names = (renamed.old, renamed.new)
            if change.chain[-1] == names[change.widened]:
                return names[not change.widened]
    return ""


def _spawn(change: Change) -> tuple[str, str, object] | None:
    """Return which agent a change of decisions is about starting, if that is all it says."""
    if change.what != "rule" or change.difference.tool not in {SPAWN_TOOL, "Agent"}:
        return None
    names = list(change.difference.call.values())
    return (change.project, change.direction, names[0]) if len(names) == 1 else None


def amount(groups: Sequence[Told], noun: str = "") -> str:
    """Return how many changes there are, and in how many groups they are told."""
    total = sum(group.members for group in groups)
    told_in = "" if total == len(groups) else f" in {count(len(groups), 'group')}"
    return f"{count(total, noun) if noun else f'{total:,}'}{told_in}"


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
    if _is_of_pool(change):
        return change.project, change.chain, change.also, change.readings
    # Where no rule of a file is behind it, what it concerns is what there is to tell.
    whom = None if any(rules for rules, _ in sides) else (change.chain, change.also)
    return change.project, effects, tuple(sides), whom, whom and change.readings


def _is_of_pool(change: Change) -> bool:
    """Return whether a tool is there for an agent, or no longer, by no rule that anybody wrote.

    Agents that list tools, and no longer do, differ in every tool of their host.
    """
    decisions = (change.difference.before, change.difference.after)
    if change.what != "rule" or any(one.place for d in decisions for one in d.because):
        return False
    gone = decisions[0] if change.widened else decisions[1]
    return gone.reason is Reason.UNAVAILABLE


def _side(decision: Decision) -> tuple[tuple[object, ...], object]:
    rules = tuple((one.rule, one.place) for one in decision.because if one.place is not None)
    return rules, None if rules else decision.reason


def beyond(report: Report) -> list[tuple[Excess, tuple[str, ...]]]:
    """Return what exceeds a maximum, the same in both readings once, with the readings."""
    groups: dict[object, tuple[Excess, list[str]]] = {}
    for one in report.excess:
        difference = one.difference
        key = (one.project, one.chain, difference.tool, str(difference.call))
        groups.setdefault(key, (one, []))[1].append(one.reading)
    return [(one, tuple(readings)) for one, readings in groups.values()]


def headline(group: Told, most: int = 8) -> str:
    """Return what agents of which a group tells can do, or no longer do; *most* by name."""
    known = list(group.calls)
    if len(known) > most + 1:
        known = [*known[: max(most, 1)], f"{len(known) - max(most, 1):,} more"]
    names = " and ".join(filter(None, (", ".join(known[:-1]), *known[-1:])))
    started = "be started" if len(group.lead.chain) > 1 else "start chains"
    if group.renamed:
        other = f"`{visible(group.renamed)}`"
        started += f" (renamed: {other} {'had' if group.lead.widened else 'has'} the same rules)"
    return f"{names} can {'' if group.lead.widened else 'no longer '}{started}"


def pool_headline(group: Told) -> str:
    """Return what happens to the tools of an agent, of a group that is told by effects."""
    agent = visible(group.lead.chain[-1])
    return f"tools that `{agent}` {'did not have' if group.lead.widened else 'no longer has'}"


def subject(change: Change) -> str:
    """Return what a change is about, as a key for JSON: ``call`` or ``agent``."""
    return "call" if change.what == "rule" else "agent"


def verdict(change: Change) -> tuple[Decision, Decision] | None:
    """Return the two decisions, of a change of decisions."""
    if change.what != "rule":
        return None
    return change.difference.before, change.difference.after


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
    for effect, what in (("error", "in error"), ("unread", "not read")):
        if files := report.files(effect):
            parts.append(f"; {count(len(files), 'changed file')} {what}")
    if excess := beyond(report):
        parts.append(f"; {len(excess):,} {BEYOND}")
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
