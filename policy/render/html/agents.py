"""What each agent may do, in a block that opens; agents with the same privileges in one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policy.decision import Decision
from policy.reach.audit import AgentAudit
from policy.render.gaps import GapGroup
from policy.render.html.text import anchor, code, prose, text
from policy.render.html.text import place as written
from policy.render.most import Most, mosts
from policy.render.positions import PositionSummary, position_summaries
from policy.render.privileges import LABELS, Summary
from policy.render.words import chain_text, count, explained

__all__ = ["agent_blocks", "differences"]

_MOST_NAMES = 12


def agent_blocks(agents: Iterable[AgentAudit], project: str) -> str:
    """Return the blocks of the agents of *project*."""
    groups: dict[str, list[AgentAudit]] = {}
    idle: list[str] = []
    for agent in agents:
        if agent.attenuated or agent.enforced:
            groups.setdefault(_body(agent), []).append(agent)
        else:
            idle.append(agent.name)
    blocks = [_block(members, body, project) for body, members in groups.items()]
    if idle:
        names = "".join(f'<li id="{anchor(project, name)}">{text(name)}</li>' for name in idle)
        head = f"no chain reaches {count(len(idle), 'agent')}"
        blocks.append(f"<details><summary>{head}</summary><div><ul>{names}</ul></div></details>")
    return "".join(blocks)


def _block(members: list[AgentAudit], body: str, project: str) -> str:
    names = [agent.name for agent in members]
    shown = ", ".join(f"<b>{text(name)}</b>" for name in names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        shown += f" and {len(names) - _MOST_NAMES:,} more"
    if len(names) > 1:
        shown += f' <span class="dim">({len(names):,} agents)</span>'
    else:
        place = members[0].place
        shown += f' <span class="place">{text(str(place)) if place else "built in"}</span>'
    others = "".join(f'<span id="{anchor(project, name)}"></span>' for name in names[1:])
    return (
        f'<details id="{anchor(project, names[0])}" data-names="{text(" ".join(names))}">'
        f"<summary>{shown}</summary><div>{others}{body}</div></details>"
    )


def _body(agent: AgentAudit) -> str:
    parts = [_most(each) for each in mosts(agent)]
    parts += map(_position, position_summaries(agent))
    rows = [("may start", _spawns(agent))] if any(agent.spawns) else []
    bounds = agent.bounds
    limits = {"depth": bounds.depth, "turns": bounds.turns, "trust": bounds.trust}
    said = ", ".join(f"{name} {value}" for name, value in limits.items() if value is not None)
    rows += [("limits", text(said))] if said else []
    if not agent.exact:
        why = f"the two readings may differ in more: {'; '.join(agent.why)}"
        rows.append(("not exact", why))
    return "".join(parts) + (_list(rows) if rows else "")


def _most(most: Most) -> str:
    head = f"at most{f' as {most.reading}' if most.reading else ''}"
    rows = [
        (said.label, (f"by {text(said.by)}: " if said.by else "") + " ".join(map(code, said.calls)))
        for said in most.said
    ]
    said = '<span class="dim">of the patterns that match a call the narrowest holds</span>'
    return f"<h4>{head} {said}</h4>{_list(rows)}"


def _position(told: PositionSummary) -> str:
    notes = [f"{told.reading} only"] if told.reading else []
    if told.position.confirm:
        notes.append("once its start is confirmed")
    if told.but_for:
        notes.append(f"as {_chain(told.but_for)}, but for")
    noted = f" ({', '.join(notes)})" if notes else ""
    found = f"<h4>{text(_chain(told.position.chain) + noted)}</h4>{_list(_rows(told.common))}"
    for reading, summary in (("attenuated", told.attenuated), ("enforced", told.enforced)):
        if told.attenuated or told.enforced:
            rows = _rows(summary) or [("", "nothing")]
            found += f"<h5>as {reading}, where the two differ</h5>{_list(rows)}"
    return found


def _chain(chain: tuple[str, ...]) -> str:
    # Agents with the same privileges share a block, so their own name is not in it.
    return f"{chain_text(chain[:-1])} > …" if len(chain) > 1 else "starts chains"


def _rows(summary: Summary) -> list[tuple[str, str]]:
    rows = [
        (label, " ".join(map(code, summary.lines[label])))
        for label in LABELS
        if label in summary.lines
    ]
    return rows + [
        ("depends", f"{code(tool)} the strictest of:<br>" + "<br>".join(map(code, layers)))
        for tool, layers in summary.layered.items()
    ]


_CLASSES: Final = {"allow": "allow", "ask": "ask", "deny": "deny", "never": "deny"}


def _list(rows: Iterable[tuple[str, str]]) -> str:
    items = (
        f'<dt class="{_CLASSES.get(label, "dim")}">{text(label)}</dt><dd>{value}</dd>'
        for label, value in rows
    )
    return f"<dl>{''.join(items)}</dl>"


def _spawns(agent: AgentAudit) -> str:
    declared, real = agent.spawns
    if declared == real:
        return _names(declared)
    return f"attenuated: {_names(declared)}; enforced: {_names(real)}"


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(text, names[: _MOST_NAMES * 2]))
    more = len(names) - _MOST_NAMES * 2
    return (f"{shown} and {more:,} more" if more > 0 else shown) or "nobody"


def differences(groups: Iterable[GapGroup], project: str) -> str:
    """Return calls on which the two readings differ, as rows of a table."""
    groups = list(groups)
    enforced = any(row.enforced is not None for group in groups for row in group.rows)
    lines = []
    for group in groups:
        links = [f'<a href="#{anchor(project, name)}">{text(name)}</a>' for name in group.agents]
        who = ", ".join(links[:_MOST_NAMES])
        if len(links) > _MOST_NAMES:
            who += f" and {len(links) - _MOST_NAMES:,} more"
        for row in group.rows:
            cells = [
                who,
                code(chain_text(group.chain)),
                " ".join(map(code, group.calls(row))),
                f"{_effect(row.before.value)} → {_effect(row.after.value)}",
                _said(group.declared),
            ]
            if enforced:
                cells.append("" if row.enforced is None else _said(row.enforced))
            lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    titles = ("agents", "by chain", "calls", "declared → enforced", "declared", "enforced")
    heads = "".join(f"<th>{title}</th>" for title in titles[: 6 if enforced else 5])
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _said(decision: Decision) -> str:
    rules = [code(b.rule) + _at(str(b.place) if b.place else "") for b in decision.because]
    return " ".join(rules) or prose(explained(decision))


def _effect(effect: str) -> str:
    return f'<b class="{effect}">{effect}</b>'


def _at(place: str) -> str:
    return f' <span class="place">{written(place)}</span>' if place else ""
