"""The page of an audit: findings, matrix, spawn graph, agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import attrs

from policy.analysis.reach.audit import AgentAudit, Audit, AuditPosition, ProjectAudit
from policy.analysis.reach.privileges import Privilege
from policy.cli.report.audit import GapGroup, dead_letters, elsewhere, escalations, gap_count
from policy.cli.report.html.graph import graph_svg
from policy.cli.report.html.look import CONTENT_POLICY, SCRIPT, STYLE
from policy.cli.report.html.text import anchor, code, prose, text
from policy.cli.report.html.text import place as written
from policy.cli.report.privileges import (
    LABELS,
    Most,
    PositionSummary,
    Summary,
    mosts,
    position_summaries,
)
from policy.cli.report.text import chain_text, count, explained
from policy.compare.overlap import OTHER_TOOL
from policy.core.credentials import masked
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Source

__all__ = [
    "KINDS",
    "Cell",
    "Column",
    "Matrix",
    "agent_blocks",
    "audit_html",
    "differences",
    "file_blocks",
    "finding_rows",
    "matrix",
]


# Lines shown before and after one that a finding is about.
_AROUND: Final = 3
_LONGEST: Final = 400  # characters of a line
_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


def finding_rows(findings: Iterable[Finding]) -> str:
    """Return the findings as a table, the worst first, each with a link to its place."""
    rows = []
    for finding in sorted(findings, key=lambda one: _RANKS[one.severity]):
        place = finding.place
        if finding.span is not None:
            at = f'<a href="#{_line(place.file, place.line)}">{written(str(place))}</a>'
        else:
            at = written(finding.file)
        severity = finding.severity.value
        help_ = f'<br><span class="dim">{prose(finding.help)}</span>' if finding.help else ""
        cells = [
            f'<td class="{severity}">{severity}</td><td class="place">{at}</td>',
            f"<td>{prose(finding.message)}{help_}</td>",
            f'<td class="code">{code(finding.code)}</td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "<th>severity</th><th>place</th><th>finding</th><th>code</th>"
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def file_blocks(findings: Iterable[Finding]) -> str:
    """Return the lines around every finding, by file."""
    sources: dict[str, Source] = {}
    marked: dict[str, set[int]] = {}
    for finding in findings:
        if finding.span is None:
            continue
        file = finding.place.file
        sources.setdefault(file, finding.span.source)
        marked.setdefault(file, set()).add(finding.place.line)
    return "".join(_file(sources[file], lines) for file, lines in sorted(marked.items()))


def _file(source: Source, marked: set[int]) -> str:
    source = Source(source.name, masked(source.text))
    last, _ = source.line_and_column(len(source.text))
    near = {
        number
        for line in marked
        for number in range(max(line - _AROUND, 1), min(line + _AROUND, last) + 1)
    }
    lines, before = [], 0
    for number in sorted(near):
        if number != before + 1:
            lines.append('<span class="gap" data-n="">⋮</span>')
        shown = source.line(number).replace("\t", "    ")
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
        kind = ' class="marked"' if number in marked else ""
        lines.append(
            f'<span id="{_line(source.name, number)}"{kind} data-n="{number}">{text(shown)} </span>'
        )
        before = number
    return (
        f"<details open><summary>{code(source.name)}</summary>"
        f"<div><pre>{''.join(lines)}</pre></div></details>"
    )


def _line(file: str, line: int) -> str:
    return anchor("line", file, str(line))


# What each agent may do, in a block that opens; agents with the same privileges in one.


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


# Agents against tools: what each may do at most, agents and tools that are alike once.


# What a cell says, from least to most granted, and its mark.
KINDS: Final = {
    "none": ("", "not available"),
    "deny": ("✕", "denied"),
    "some-ask": ("¿", "some calls are asked for, the rest is denied"),
    "ask": ("?", "asked for, or denied"),
    "some": ("◐", "some calls are allowed"),
    "allow": ("●", "allowed"),
}
_RANK: Final = {kind: rank for rank, kind in enumerate(KINDS)}


@attrs.frozen
class Cell:
    """What an agent may do with a tool, at the position that grants it most.

    Attributes:
        enforced: of `KINDS`, as its host has it.
        attenuated: the same as its files declare it.

    """

    enforced: str
    attenuated: str


@attrs.frozen
class Column:
    """Tools of which the same holds for every agent."""

    tools: tuple[str, ...]


@attrs.frozen
class Matrix:
    """The whole.

    Attributes:
        columns: the tools.
        rows: agents of which the same holds, and a cell for each column.

    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Cell, ...]], ...]


def matrix(agents: Iterable[AgentAudit]) -> Matrix:
    """Return the matrix of the agents that some chain reaches."""
    reached = [agent for agent in agents if agent.attenuated or agent.enforced]
    known: dict[object, Mapping[str, str]] = {}
    said: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {}
    tools: dict[str, None] = {}
    for agent in reached:
        real, declared = (
            _most_of_matrix([_kinds(position, known) for position in positions])
            for positions in (agent.enforced, agent.attenuated)
        )
        said[agent.name] = (real, declared)
        tools.update(dict.fromkeys((*real, *declared)))
    names = [*sorted(tools.keys() - {OTHER_TOOL}), OTHER_TOOL]
    vectors = {
        tool: tuple(Cell(_of(real, tool), _of(declared, tool)) for real, declared in said.values())
        for tool in names
    }
    columns: dict[tuple[Cell, ...], list[str]] = {}
    for tool, cells in vectors.items():
        columns.setdefault(cells, []).append(tool)
    columns = {cells: some for cells, some in columns.items() if any(map(_is_there, cells))}
    order = sorted(columns, key=lambda cells: (-max(map(_rank, cells)), columns[cells][0]))
    rows: dict[tuple[Cell, ...], list[str]] = {}
    for number, name in enumerate(said):
        rows.setdefault(tuple(cells[number] for cells in order), []).append(name)
    return Matrix(
        tuple(Column(tuple(columns[cells])) for cells in order),
        tuple((tuple(members), cells) for cells, members in rows.items()),
    )


def _is_there(cell: Cell) -> bool:
    return cell != Cell("none", "none")


def _rank(cell: Cell) -> int:
    return max(_RANK[cell.enforced], _RANK[cell.attenuated])


def _of(kinds: Mapping[str, str], tool: str) -> str:
    return kinds.get(tool) or kinds.get(OTHER_TOOL) or "none"


def _most_of_matrix(positions: list[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the most that several positions grant, tool by tool."""
    if len(positions) == 1:
        return positions[0]
    tools = dict.fromkeys(tool for kinds in positions for tool in kinds)
    return {
        tool: max((_of(kinds, tool) for kinds in positions), key=_RANK.__getitem__)
        for tool in tools
    }


def _kinds(position: AuditPosition, known: dict[object, Mapping[str, str]]) -> Mapping[str, str]:
    # Positions with one table share one tuple of privileges.
    key = id(position.privileges)
    if key not in known:
        known[key] = {one.glob or one.tool: _kind(one) for one in position.privileges}
    return known[key]


def _kind(privilege: Privilege) -> str:
    if privilege.effect is not None:
        return "none" if privilege.reason is Reason.UNAVAILABLE else privilege.effect.value
    effects = {because.effect for because in privilege.rules}
    if privilege.otherwise is not None:
        effects.add(privilege.otherwise)
    if privilege.otherwise is Effect.DENY and privilege.layers:
        effects.discard(Effect.DENY)
    if Effect.ALLOW in effects:
        return "some"
    if Effect.ASK in effects:
        return "some-ask" if privilege.otherwise is Effect.DENY else "ask"
    return "deny"


# The page as a whole.


_MOST_NAMES_PAGE: Final = 6


def audit_html(audit: Audit) -> str:
    """Return *audit* as one self-contained HTML file: no request leaves the page."""
    body = [
        f"<h1>Audit of {code(audit.label)}</h1>",
        _tiles(audit),
        *(f'<p class="dim">{prose(missing)}</p>' for missing in (elsewhere(audit),) if missing),
        '<input type="search" id="search" placeholder="agents whose name holds …" hidden>',
    ]
    if audit.findings:
        body += ['<h2 id="findings">Findings</h2>', finding_rows(audit.findings)]
    named: set[str] = set()
    body += [part for project in audit.projects for part in _project(project, named)]
    if any(finding.span for finding in audit.findings):
        body += ['<h2 id="files">Where the findings are</h2>', file_blocks(audit.findings)]
    if audit.unread:
        items = "".join(
            f"<li>{code(file.path)} <span class='dim'>{text(file.what)}</span></li>"
            for file in audit.unread
        )
        body += [f'<h2 id="unread">Files that nobody reads</h2><ul>{items}</ul>']
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(CONTENT_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit of {text(audit.label)}</title><style>{STYLE}</style>"
        f"<script>{SCRIPT}</script></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _tiles(audit: Audit) -> str:
    agents = [agent for project in audit.projects for agent in project.agents]
    severities = Counter(finding.severity.value for finding in audit.findings)

    def told(gaps: Callable[[Iterable[AgentAudit]], list[GapGroup]]) -> int:
        return sum(gap_count(gaps(project.agents)) for project in audit.projects)

    tiles = [
        (len(audit.projects), "project", "", ""),
        (len(agents), "agent", "", ""),
        (told(escalations), "escalation", "#escalations", "bad"),
        (told(dead_letters), "dead letter", "#dead-letters", ""),
        (severities["error"], "error", "#findings", "bad"),
        (severities["warning"], "warning", "#findings", ""),
        (severities["note"], "note", "#findings", ""),
        (len(audit.unread), "unread file", "#unread", "bad"),
    ]
    shown = "".join(_tile(*tile) for tile in tiles)
    exact = all(project.exact for project in audit.projects)
    note = "" if exact else '<p class="error">Not exact: there are more positions than shown.</p>'
    return f'<div class="tiles">{shown}</div>{note}'


def _tile(number: int, label: str, link: str, kind: str) -> str:
    inner = f"<b>{number:,}</b>{label}{'' if number == 1 else 's'}"
    if not number or not link:
        return f"<span>{inner}</span>"
    return f'<a href="{link}" class="{kind}">{inner}</a>'


def _project(audited: ProjectAudit, named: set[str]) -> list[str]:
    """Return what a project comes to; *named* are the sections that the page has by now."""
    project = audited.project
    parts = [
        f'<h2>{code(project.title)} <span class="dim">{text(project.profile)}</span></h2>',
        "<h3>Agents and tools</h3>",
        _legend(),
        _matrix(audited),
        "<h3>Spawn graph</h3>",
        _EDGES,
        f'<div class="scroll">{graph_svg(audited.agents, project.starts, project.title)}</div>',
    ]
    for name, title, said, told in (
        (
            "escalations",
            "Escalations",
            "granted by the host beyond what is declared along the chain",
            escalations(audited.agents),
        ),
        (
            "dead-letters",
            "Dead letters",
            "said in the files, and refused by the host",
            dead_letters(audited.agents),
        ),
    ):
        if told:
            # What the counts lead to is the first of its kind.
            mark = "" if name in named else f' id="{name}"'
            named.add(name)
            head = f'<h3{mark}>{title} <span class="dim">{said}</span></h3>'
            parts += [head, differences(told, project.title)]
    return [*parts, "<h3>Agents</h3>", agent_blocks(audited.agents, project.title)]


_EDGES: Final = (
    '<p class="legend"><span>— in both readings</span><span class="deny">— enforced only</span>'
    '<span class="dim">- - attenuated only</span></p>'
)


def _legend() -> str:
    kinds = "".join(
        f'<span class="{kind}">{mark} {said}</span>'
        for kind, (mark, said) in reversed(KINDS.items())
        if mark
    )
    return (
        f'<p class="legend">{kinds}<span class="none">empty: not available</span>'
        '<span><span class="box deny">!</span> the files declare something else</span></p>'
    )


def _matrix(audited: ProjectAudit) -> str:
    found = matrix(audited.agents)
    heads = "".join(f"<th><span {_head(column)}</span></th>" for column in found.columns)
    rows = []
    for names, cells in found.rows:
        links = ", ".join(
            f'<a href="#{anchor(audited.project.title, name)}">{text(name)}</a>'
            for name in names[:_MOST_NAMES_PAGE]
        )
        more = (
            f" and {len(names) - _MOST_NAMES_PAGE:,} more" if len(names) > _MOST_NAMES_PAGE else ""
        )
        columns = zip(found.columns, cells, strict=True)
        row = "".join(_cell(names, column, cell) for column, cell in columns)
        rows.append(f'<tr data-names="{text(" ".join(names))}"><th>{links}{more}</th>{row}</tr>')
    return (
        '<div class="scroll"><table class="matrix"><thead><tr><th>agent</th>'
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _tools(column: Column) -> list[str]:
    return ["any other tool" if tool == OTHER_TOOL else tool for tool in column.tools]


def _head(column: Column) -> str:
    tools = _tools(column)
    more = f" and {len(tools) - 1} more" if len(tools) > 1 else ""
    return f'title="{text(", ".join(tools))}">{text(tools[0])}{more}'


def _cell(names: tuple[str, ...], column: Column, cell: Cell) -> str:
    mark, said = KINDS[cell.enforced]
    apart = cell.enforced != cell.attenuated
    declared = f"; the files declare: {KINDS[cell.attenuated][1]}" if apart else ""
    who = names[0] if len(names) == 1 else f"{len(names)} agents"
    title = f"{who}, {_tools(column)[0]}: {said}{declared}"
    kind = f"{cell.enforced} apart" if apart else cell.enforced
    return f'<td class="{kind}" title="{text(title)}">{mark}</td>'
