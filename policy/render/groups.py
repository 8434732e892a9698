"""Which changes are told together, since they have one cause, and under which headline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from policy.changes.diff import Change
from policy.decision import EVERY_TOOL, Because, Decision, Reason
from policy.effect import Effect
from policy.render.changes import Report, meaning
from policy.render.privileges import Summary
from policy.render.words import call_text, count, quoted
from policy.source import visible

__all__ = ["Told", "amount", "headline", "pool_headline", "told"]


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
            say no more than that agents have, or had, more tools; else nothing.

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

    @property
    def agents(self) -> list[str]:
        """The agents whose calls these are, those first that the shortest chains lead to."""
        return list(dict.fromkeys(chain[-1] for chain in self.in_order))


def told(report: Report, what: str) -> list[Told]:
    """Return the changes of one meaning by agent, those together that have one cause."""
    changes = list(enumerate(report.diff.changes))
    whom = _whom(changes)
    groups: dict[object, Told] = {}
    for number, change in changes:
        if meaning(change) != what:
            continue
        grants = report.grants.get(number)
        one = _alone(report, change, grants)
        key = (one.renamed, _cause(change, grants, whom))
        if key in groups:
            groups[key].take(one)
        else:
            groups[key] = one
    # Agents first that start others, so that what is told of a chain is told from its root.
    return sorted(groups.values(), key=lambda one: _agent_order(one.lead))


def _alone(report: Report, change: Change, grants: Summary | None) -> Told:
    """Return what tells of one change by itself."""
    one = Told(
        change,
        {_subject(change): None},
        dict.fromkeys((change.chain, *change.also)),
        dict.fromkeys(change.readings),
        grants,
        _renamed(report, change),
    )
    if _is_of_pool(change):
        difference = change.difference
        decision = difference.after if change.widened else difference.before
        one.by_effect[decision.effect] = dict(one.calls)
    return one


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


def amount(groups: Sequence[Told], noun: str = "") -> str:
    """Return how many changes there are, and in how many groups they are told."""
    total = sum(group.members for group in groups)
    told_in = "" if total == len(groups) else f" in {count(len(groups), 'group')}"
    return f"{count(total, noun) if noun else f'{total:,}'}{told_in}"


def _subject(change: Change) -> str:
    if change.what == "rule":
        return call_text(change.difference.tool, change.difference.call)
    return f"`{visible(change.chain[-1])}`"


# Calls of tools that come or go, and the agents that have, or had, these tools.
_Pools = Mapping[tuple[str, bool, str], set[str]]


def _whom(changes: Iterable[tuple[int, Change]]) -> _Pools:
    found: dict[tuple[str, bool, str], set[str]] = {}
    for _, change in changes:
        if _is_of_pool(change):
            agents = {chain[-1] for chain in (change.chain, *change.also)}
            found.setdefault(_pool_call(change), set()).update(agents)
    return found


def _pool_call(change: Change) -> tuple[str, bool, str]:
    return change.project, change.widened, _subject(change)


def _cause(change: Change, grants: Summary | None, whom: _Pools) -> object:
    """Return what changes have in common that are told together."""
    if change.what != "rule":
        return change.what, change.project, str(grants), len(change.chain) > 1
    difference = change.difference
    sides = [_side(decision) for decision in (difference.before, difference.after)]
    effects = (difference.before.effect, difference.after.effect)
    if _is_of_pool(change):
        return change.project, change.widened, frozenset(whom[_pool_call(change)])
    # Where no rule of a file is behind it, what it concerns is what there is to tell.
    alone = None if any(rules for rules, _ in sides) else (change.chain, change.also)
    return change.project, effects, tuple(sides), alone, alone and change.readings


def _is_of_pool(change: Change) -> bool:
    """Return whether a tool is there for an agent, or no longer, by no rule that anybody wrote.

    Agents that list tools, and no longer do, differ in every tool of their host.
    """
    decisions = (change.difference.before, change.difference.after)
    because = (rule for decision in decisions for rule in decision.because)
    if change.what != "rule" or any(map(_is_written, because)):
        return False
    gone = decisions[0] if change.widened else decisions[1]
    return gone.reason is Reason.UNAVAILABLE


def _is_written(because: Because) -> bool:
    return because.place is not None and because.rule != EVERY_TOOL


def _side(decision: Decision) -> tuple[tuple[object, ...], object]:
    rules = tuple((one.rule, one.place) for one in decision.because if one.place is not None)
    return rules, None if rules else decision.reason


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
    """Return what happens to the tools of agents, of a group that is told by effects."""
    has = "has" if len(group.agents) == 1 else "have"
    said = "did not have" if group.lead.widened else f"no longer {has}"
    return f"tools that {quoted(group.agents, 8)} {said}"
