"""One block for each agent of an audit, those that may do the same in one."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from policy.audit import AgentAudit, Position
from policy.compare import Difference
from policy.render.excerpt import because_line
from policy.render.layout import Ink, Page
from policy.render.privileges import LABELS, Summary, summarise
from policy.render.words import call_text, explained, listed
from policy.source import visible

__all__ = ["COLUMN", "agent_blocks", "difference_lines"]

# Where what a label says begins, counted from the label.
COLUMN = 15

_READING = 12  # the column for `attenuated` and `enforced`

# Names, rules and witnesses of one list that are shown unless all are wanted.
_MOST = 12


@attrs.frozen
class _Group:
    """Agents of which the same is to be said."""

    lines: tuple[str, ...]
    members: list[AgentAudit]


def agent_blocks(agents: Iterable[AgentAudit], page: Page, *, everything: bool) -> list[str]:
    """Return what each agent may do; agents with the same privileges share a block."""
    everyone = list(agents)
    names = {agent.name for agent in everyone}
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
        return page.flow([*names, Ink(f"({len(members)} agents)", "dim")], "  ", indent=4)
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

    def lines(self) -> list[str]:
        """Return the block."""
        lines: list[str] = []
        for positions in self._positions():
            lines += self._position(*positions)
        lines += self._spawns()
        for title, style, differences in (
            ("escalation", "error", self.agent.escalations),
            ("dead letter", "warning", self.agent.dead_letters),
        ):
            most = len(differences) if self.most is None else self.most
            for difference in differences[:most]:
                lines += difference_lines(self._label(title, style), difference, self.page)
            if len(differences) > most:
                lines.append(
                    self._label("", style) + f"and {len(differences) - most} more of these"
                )
        if not self.agent.exact:
            lines += self.page.prose(
                "the two readings could not be compared exactly",
                self._label("not exact", "warning"),
            )
        return lines

    def _label(self, text: str, style: str = "") -> str:
        return "    " + self.page.paint(text, style) + " " * (COLUMN - len(text))

    def _positions(self) -> list[tuple[Position | None, Position | None]]:
        """Return the positions of both readings, those of one chain together."""
        declared = {position.chain: position for position in self.agent.attenuated}
        real = {position.chain: position for position in self.agent.enforced}
        return [(declared.get(chain), real.get(chain)) for chain in {**declared, **real}]

    def _position(self, declared: Position | None, real: Position | None) -> list[str]:
        position = declared or real
        if position is None:
            return []
        lines = self._chain(position, "" if declared and real else _only(declared))
        summaries = [
            summarise(p.privileges, self.agent.name) for p in (declared, real) if p is not None
        ]
        if len(summaries) == 1 or summaries[0] == summaries[1]:
            return lines + self._summary(summaries[0])
        return lines + self._both(summaries[0], summaries[1])

    def _chain(self, position: Position, note: str) -> list[str]:
        text = " > ".join([*map(visible, position.chain[:-1]), self.shown])
        notes = [note] if note else []
        if position.confirm:
            confirmed = ["it" if n == self.agent.name else visible(n) for n in position.confirm]
            notes.append(f"once the start of {' and '.join(confirmed)} is confirmed")
        if notes:
            text += f" ({', '.join(notes)})"
        return self.page.prose(text, self._label("chain"))

    def _summary(self, summary: Summary) -> list[str]:
        lines: list[str] = []
        for label in LABELS:
            items = summary.lines.get(label, ())
            if items:
                lines += self.page.flow(items, self._label(label, label))
        return lines + self._layered(summary)

    def _layered(self, summary: Summary, reading: str = "") -> list[str]:
        lines: list[str] = []
        for tool, layers in summary.layered.items():
            note = f" ({reading})" if reading else ""
            lines += self.page.prose(f"{tool}{note}: the strictest of", self._label("depends"))
            for layer in layers:
                lines += self.page.prose(layer, self._label("") + "- ")
        return lines

    def _both(self, declared: Summary, real: Summary) -> list[str]:
        """Return two summaries line by line, doubled where they differ."""
        lines: list[str] = []
        for label in LABELS:
            sides = declared.lines.get(label, ()), real.lines.get(label, ())
            if sides[0] == sides[1]:
                if sides[0]:
                    lines += self.page.flow(sides[0], self._label(label, label))
                continue
            for reading, items in zip(("attenuated", "enforced"), sides, strict=True):
                other = sides[1] if items is sides[0] else sides[0]
                head = self._label(label if reading == "attenuated" else "", label)
                head += self.page.paint(reading.ljust(_READING), "dim")
                pieces = [Ink(item, "" if item in other else "bold") for item in items]
                lines += self.page.flow(pieces or [Ink("nothing", "dim")], head)
        if declared.layered == real.layered:
            return lines + self._layered(declared)
        return lines + self._layered(declared, "attenuated") + self._layered(real, "enforced")

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
        if len(agents) > 1 and set(agents) == self.names:
            return self.page.prose(f"every agent, itself included ({len(agents)})", head)
        return self.page.flow(listed(agents, self.most), head)


def _only(declared: Position | None) -> str:
    return "attenuated only" if declared else "enforced only"


def difference_lines(head: str, difference: Difference, page: Page) -> list[str]:
    """Return what the host does of a call instead of what is declared, and why."""
    before, after = difference.before, difference.after
    pieces = [
        Ink(call_text(difference.tool, difference.call)),
        Ink(before.effect.value, before.effect.value),
        Ink("->"),
        Ink(after.effect.value, after.effect.value),
    ]
    margin = " " * (4 + COLUMN)
    lines = page.flow(pieces, head, separator=" ")
    for title, decision in (("declared: ", before), ("enforced: ", after)):
        if not decision.because:
            lines += page.prose(explained(decision), margin + title)
        for because in decision.because[:2]:
            lines += because_line(because, page, margin + title)
    return lines
