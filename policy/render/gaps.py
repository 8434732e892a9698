"""Gaps between two readings, those with one cause together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import attrs

from policy.decision import Decision
from policy.effect import Effect
from policy.reach.audit import AgentAudit
from policy.reach.gaps import Gap
from policy.render.words import call_text, explained
from policy.source import visible

__all__ = ["GapGroup", "Row", "dead_letters", "escalations", "gap_count"]


@attrs.frozen
class Row:
    """Calls that get one effect where another is declared."""

    before: Effect
    after: Effect
    gaps: tuple[Gap, ...]

    @property
    def enforced(self) -> Decision | None:
        """What the host says of all of them, where it says one thing."""
        first = self.gaps[0].after
        said = {_why(gap.after) for gap in self.gaps}
        return first if len(said) == 1 else None


@attrs.frozen
class GapGroup:
    """Gaps of the same agents in which the same is declared.

    Attributes:
        agents: who makes the calls.
        chain: of the first of them, a shortest.
        declared: what is declared.
        rows: the calls, by what they get.

    """

    agents: tuple[str, ...]
    chain: tuple[str, ...]
    declared: Decision
    rows: tuple[Row, ...]

    @property
    def size(self) -> int:
        """How many calls there are."""
        return sum(len(row.gaps) for row in self.rows)

    def calls(self, row: Row) -> list[str]:
        """Return how the calls of *row* are told: a tool by its name where one thing changes."""
        effects = {(gap.tool, each.after) for each in self.rows for gap in each.gaps}
        outcomes = Counter(tool for tool, _ in effects)
        return list(
            dict.fromkeys(
                visible(gap.tool)
                if gap.whole and outcomes[gap.tool] == 1
                else call_text(gap.tool, gap.call)
                for gap in row.gaps
            )
        )


def escalations(agents: Iterable[AgentAudit]) -> list[GapGroup]:
    """Return what the host grants *agents* beyond what is declared, once for all who have it."""
    return _groups(agents, lambda agent: agent.escalations)


def dead_letters(agents: Iterable[AgentAudit]) -> list[GapGroup]:
    """Return what files grant *agents* and the host refuses, likewise."""
    return _groups(agents, lambda agent: agent.dead_letters)


def gap_count(groups: Iterable[GapGroup]) -> int:
    """Return how many calls the *groups* have, which is how many gaps are told."""
    return sum(group.size for group in groups)


def _groups(
    agents: Iterable[AgentAudit], told: Callable[[AgentAudit], Iterable[Gap]]
) -> list[GapGroup]:
    once: dict[object, list[tuple[str, Gap]]] = {}
    for agent in agents:
        for gap in told(agent):
            key = (
                gap.tool,
                str(gap.call),
                gap.before.effect,
                gap.after.effect,
                _why(gap.before),
                tuple(because.rule for because in gap.after.because),
            )
            once.setdefault(key, []).append((agent.name, gap))
    groups: dict[object, list[list[tuple[str, Gap]]]] = {}
    for members in once.values():
        who = tuple(name for name, _ in members)
        groups.setdefault((who, _why(members[0][1].before)), []).append(members)
    return [_group(each) for each in groups.values()]


def _group(gaps: list[list[tuple[str, Gap]]]) -> GapGroup:
    shown = [members[0][1] for members in gaps]
    rows: dict[tuple[Effect, Effect], list[Gap]] = {}
    for gap in shown:
        rows.setdefault((gap.before.effect, gap.after.effect), []).append(gap)
    return GapGroup(
        tuple(name for name, _ in gaps[0]),
        min((gap.chain for gap in shown), key=len),
        shown[0].before,
        tuple(Row(*effects, tuple(found)) for effects, found in sorted(rows.items())),
    )


def _why(decision: Decision) -> object:
    if decision.because:
        return tuple((because.rule, because.place) for because in decision.because)
    return explained(decision)
