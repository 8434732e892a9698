"""The page as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from policy.comparison.tools import OTHER_TOOL
from policy.reach.audit import AgentAudit, Audit, ProjectAudit
from policy.render.audit_text import elsewhere
from policy.render.gaps import GapGroup, dead_letters, escalations, gap_count
from policy.render.html.agents import agent_blocks, differences
from policy.render.html.graph import graph_svg
from policy.render.html.look import CONTENT_POLICY, SCRIPT, STYLE
from policy.render.html.matrix import KINDS, Cell, Column, matrix
from policy.render.html.places import file_blocks, finding_rows
from policy.render.html.text import anchor, code, prose, text

__all__ = ["audit_html"]

_MOST_NAMES: Final = 6


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
            for name in names[:_MOST_NAMES]
        )
        more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
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
