"""One block for each agent of an audit, those that may do the same in one."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from policy.reach.audit import AgentAudit
from policy.render.layout import Ink, Page
from policy.render.most import mosts
from policy.render.positions import PositionSummary, position_summaries
from policy.render.privileges import LABELS, Summary, rule_parts
from policy.render.words import chain_text, listed
from policy.source import visible

__all__ = ["agent_blocks"]

# Where what a label says begins, counted from the label.
_COLUMN = 15

_READING = 13  # the column for `attenuated` and `enforced`

# Names, rules and witnesses of one list that are shown unless all are wanted.
_MOST = 12

_FEW = 3


@attrs.frozen
class _Group:
    """Agents of which the same is to be said."""

    lines: tuple[str, ...]
    members: list[AgentAudit]


def agent_blocks(agents: Iterable[AgentAudit], page: Page, *, everything: bool) -> list[str]:
    """Return what each agent may do; agents with the same privileges share a block."""
    everyone = list(agents)
    names = {name for agent in everyone for spawned in agent.spawns for name in spawned}
    groups: dict[tuple[str, ...], _Group] = {}
    idle: list[str] = []
    for agent in everyone:
        if not agent.attenuated and not agent.enforced:
            idle.append(agent.name)
            continue
        lines = tuple(_Block(agent, "…", names, page, everything=everything).lines())
        groups.setdefault(lines, _Group(lines, [])).members.append(agent)
    shown: list[str] = []
    for group in groups.values():
        shown += ["", *_heading(group.members, page, everything=everything)]
        if len(group.members) == 1:
            (agent,) = group.members
            block = _Block(agent, visible(agent.name), names, page, everything=everything)
            shown += block.lines()
        else:
            shown += group.lines
    if idle:
        head = "  " + page.paint("no chain reaches", "bold") + "  "
        shown += ["", *page.flow(listed(idle, None if everything else _MOST), head, indent=6)]
    return shown


def _heading(members: list[AgentAudit], page: Page, *, everything: bool) -> list[str]:
    names = [Ink(name, "bold") for name in listed([m.name for m in members], _most(everything))]
    if len(members) > 1:
        built_in = "" if any(member.place for member in members) else ", built in"
        names[-1] = Ink(f"{names[-1].text} ({len(members)} agents{built_in})", "bold")
        return page.flow(names, "  ", indent=4)
    place = members[0].place
    return page.flow(
        [*names, Ink(f" {place}" if place else " built in", "dim")], "  ", separator=" "
    )


def _most(everything: bool) -> int | None:  # noqa: FBT001  # the one setting there is
    return None if everything else _MOST


class _Block:
    """What is to be said of one agent, without its name."""

    def __init__(
        self, agent: AgentAudit, shown: str, names: set[str], page: Page, *, everything: bool
    ) -> None:
        self.agent = agent
        self.shown = shown
        self.names = names
        self.page = page
        self.most = _most(everything)
        self.everything = everything
        self.told: frozenset[str] = frozenset()  # tools of which all is said already

    def lines(self) -> list[str]:
        """Return the block."""
        lines = self._mosts()
        for summary in position_summaries(self.agent, everything=self.everything):
            lines += self._position(summary)
        lines += [*self._limits(), *self._spawns()]
        if not self.agent.exact:
            lines += self.page.prose(
                f"the two readings may differ in more: {'; '.join(self.agent.why)}",
                self._label("not exact", "warning"),
            )
        return lines

    def _mosts(self) -> list[str]:
        """Return what the agent may do at most, where no one of its chains says it."""
        lines: list[str] = []
        for most in mosts(self.agent, self.shown):
            note = f", as {most.reading}" if most.reading else ""
            lines += self.page.prose(
                f"by any chain (of the patterns that match a call the narrowest holds{note})",
                self._label("at most"),
                style="dim",
            )
            for said in most.said:
                label = self.page.paint(said.label.ljust(_READING), said.label)
                by: list[str | Ink] = [Ink(f"by {said.by}:", "dim")] if said.by else []
                calls = listed(said.calls, self.most)
                pieces = [*by, *(f"{call}," for call in calls[:-1]), calls[-1]]
                lines += self.page.flow(pieces, " " * (4 + _COLUMN) + label + " ", separator=" ")
            if not self.everything:
                self.told |= most.tools
        return lines

    def _label(self, text: str, style: str = "") -> str:
        return "    " + self.page.paint(text, style) + " " * (_COLUMN - len(text))

    def _position(self, told: PositionSummary) -> list[str]:
        lines = self._chain(told) + self._summary(told.common)
        if told.attenuated or told.enforced:
            lines += self._apart("attenuated", told.attenuated)
            lines += self._apart("enforced", told.enforced)
        return lines

    def _chain(self, told: PositionSummary) -> list[str]:
        text = self._names(told.position.chain)
        notes = [f"{told.reading} only"] if told.reading else []
        if told.position.confirm:
            confirm = told.position.confirm
            confirmed = ["it" if n == self.agent.name else visible(n) for n in confirm]
            starts = (
                "its start" if confirmed == ["it"] else f"the start of {' and '.join(confirmed)}"
            )
            notes.append(f"once {starts} is confirmed")
        if told.but_for:
            notes.append(f"as by {self._names(told.but_for)}, but for:")
        if notes:
            text += f" ({', '.join(notes)})" if not told.but_for else f", {', '.join(notes)}"
        return self.page.prose(text, self._label("chain"))

    def _names(self, chain: tuple[str, ...]) -> str:
        return chain_text((*chain[:-1], self.shown))

    def _summary(self, summary: Summary) -> list[str]:
        lines: list[str] = []
        for label in LABELS:
            items = summary.lines.get(label, ())
            if items:
                lines += self.page.flow(items, self._label(label, label))
        return lines + self._layered(summary)

    def _layered(self, summary: Summary) -> list[str]:
        lines: list[str] = []
        for tool, layers in summary.layered.items():
            if tool in self.told:
                continue
            lines += self.page.prose(f"{tool}: the strictest of", self._label("depends"))
            for layer in layers:
                lines += self.page.flow(rule_parts(layer), self._label("") + "- ", separator=" ")
        return lines

    def _apart(self, reading: str, summary: Summary) -> list[str]:
        """Return one reading of the tools in which two readings differ."""
        lines: list[str] = []
        head = self._label(reading)
        for label in LABELS:
            if items := summary.lines.get(label):
                painted = self.page.paint(label.ljust(_READING), label)
                lines += self.page.flow(items, head + painted + " ")
                head = self._label("")
        for tool, layers in summary.layered.items():
            lines += self.page.prose(f"{tool}: the strictest of", head)
            head = self._label("")
            for layer in layers:
                lines += self.page.flow(rule_parts(layer), head + "- ", separator=" ")
        return lines or self.page.flow([Ink("nothing", "dim")], head)

    def _limits(self) -> list[str]:
        bounds = self.agent.bounds
        limits = [
            f"{name} {limit}"
            for name, limit in (
                ("depth", bounds.depth),
                ("turns", bounds.turns),
                ("trust", bounds.trust),
            )
            if limit is not None
        ]
        return self.page.flow(limits, self._label("limits")) if limits else []

    def _spawns(self) -> list[str]:
        declared, real = self.agent.spawns
        if declared == real:
            return self._starts(declared, "") if declared else []
        return [
            *self._starts(declared, "attenuated", first=True),
            *self._starts(real, "enforced"),
        ]

    def _starts(self, agents: tuple[str, ...], reading: str, *, first: bool = False) -> list[str]:
        head = self._label("may start" if first or not reading else "")
        if reading:
            head += self.page.paint(reading.ljust(_READING), "dim")
        if not agents:
            return self.page.flow([Ink("nobody", "dim")], head)
        if len(agents) > _FEW and set(agents) == self.names:
            return self.page.prose(f"every agent that can be started ({len(agents)})", head)
        return self.page.flow(listed(agents, self.most), head)
