"""The audit of a workspace as Markdown, e.g. for a comment or a wiki."""

from __future__ import annotations

from collections.abc import Iterable

from policy import catalogue
from policy.finding import Finding
from policy.reach.audit import AgentAudit, Audit, ProjectAudit
from policy.render.audit_text import audit_summary, elsewhere
from policy.render.findings_text import EXPLAIN, FURTHER, counted
from policy.render.gaps import GapGroup, dead_letters, escalations
from policy.render.markdown import code, item, prose, table
from policy.render.most import MOST_LABELS, Most, Said, mosts
from policy.render.privileges import LABELS, summarise
from policy.render.words import chain_text, explained
from policy.workspace import Unread

__all__ = ["audit_markdown"]

_MOST = 50


def audit_markdown(audit: Audit, *, everything: bool = False) -> str:
    """Return *audit* as a document of its own."""
    most = None if everything else _MOST
    lines = [f"# Audit of {code(audit.label)}", "", prose(audit_summary(audit)), ""]
    if missing := elsewhere(audit):
        lines += [missing, ""]
    for project in audit.projects:
        lines += _project(project)
    lines += _findings(audit.findings, most)
    lines += _further(audit.further)
    lines += _unread(audit.unread, most)
    return "\n".join(lines).rstrip() + "\n"


def _project(audited: ProjectAudit) -> list[str]:
    project = audited.project
    lines = [f"## {code(project.title)} ({prose(project.profile)})", ""]
    lines += [
        item(f"{code(file.path)} is assumed: {prose(file.assumed)}")
        for file in project.files
        if file.assumed
    ]
    if not audited.exact:
        lines.append(item("**not exact**: there are more positions than are looked at"))
    rows: dict[tuple[str, ...], list[str]] = {}
    for agent in audited.agents:
        for row in _rows(agent):
            rows.setdefault(tuple(row[1:]), []).append(row[0])
    cells = [["<br>".join(names), *row] for row, names in rows.items()]
    heads = ["chain", "reading", *LABELS]
    lines += ["", *table(heads, cells), ""] if cells else [""]
    told = [
        [code(agent.name), each.reading or "both", *_most(each)]
        for agent in audited.agents
        for each in mosts(agent)
    ]
    if told:
        lines += ["### At most", "", "Of the patterns that match a call the narrowest holds.", ""]
        lines += [*table(["agent", "reading", *MOST_LABELS], told), ""]
    for title, groups in (
        ("Escalations", escalations(audited.agents)),
        ("Dead letters", dead_letters(audited.agents)),
    ):
        if groups:
            lines += [f"### {title}", "", *_gaps(groups), ""]
    return lines


def _most(most: Most) -> list[str]:
    return ["<br>".join(map(_said, most.labelled(label))) for label in MOST_LABELS]


def _said(said: Said) -> str:
    by = f" (by {code(said.by)})" if said.by else ""
    return ", ".join(map(code, said.calls)) + by


def _rows(agent: AgentAudit) -> Iterable[list[str]]:
    """Yield the cells of each position, those of both readings once where they agree."""
    declared = {p.chain: summarise(p.privileges) for p in agent.attenuated}
    real = {p.chain: summarise(p.privileges) for p in agent.enforced}
    told = frozenset[str]().union(*(most.tools for most in mosts(agent)))
    for chain in {**declared, **real}:
        both = declared.get(chain) == real.get(chain)
        for reading, summary in (
            ("attenuated", declared.get(chain)),
            ("enforced", real.get(chain)),
        ):
            if summary is None or (both and reading == "enforced"):
                continue
            cells = {label: ", ".join(map(code, items)) for label, items in summary.lines.items()}
            for tool, layers in summary.layered.items():
                said = f"the strictest of {'; '.join(map(code, layers))}"
                text = f"{code(tool)}: {'see below, at most' if tool in told else said}"
                cells["otherwise"] = "<br>".join(filter(None, (cells.get("otherwise"), text)))
            shown = "both" if both else reading
            yield [code(chain_text(chain)), shown, *(cells.get(label, "") for label in LABELS)]


def _gaps(groups: Iterable[GapGroup]) -> Iterable[str]:
    for group in groups:
        others = [code(name) for name in group.agents if name != group.chain[-1]]
        also = f" (likewise {', '.join(others)})" if others else ""
        calls = "; ".join(
            f"{row.before} → **{row.after}** " + ", ".join(map(code, group.calls(row)))
            for row in group.rows
        )
        reasons = [f"declared: {prose(explained(group.declared))}"]
        if len(group.rows) == 1 and (enforced := group.rows[0].enforced) is not None:
            reasons.append(f"enforced: {prose(explained(enforced))}")
        yield item(f"{code(chain_text(group.chain))}{also}: {calls} ({'; '.join(reasons)})")


def _findings(findings: tuple[Finding, ...], most: int | None) -> list[str]:
    if not findings:
        return []
    lines = ["## Findings", ""]
    for finding in findings[:most]:
        place = code(str(finding.place) if finding.span else finding.file)
        help_ = f" ({prose(finding.help)})" if finding.help else ""
        told = f"**{finding.severity.value}** {place}: {prose(finding.message)}"
        lines.append(item(f"{told} `{finding.code}`{help_}"))
    return [*lines, *_more(len(findings), most), "", EXPLAIN, ""]


def _further(findings: tuple[Finding, ...]) -> list[str]:
    if not findings:
        return []
    rows = [
        [
            f"{number:,}",
            finding.severity.value,
            f"{prose(catalogue.page(finding.code).title)} `{finding.code}`",
            code(str(finding.place) if finding.span else finding.file),
        ]
        for number, finding in counted(findings)
    ]
    heads = ["", "severity", "defect", "first"]
    return [f"{FURTHER[0].upper()}{FURTHER[1:]}:", "", *table(heads, rows), ""]


def _unread(unread: tuple[Unread, ...], most: int | None) -> list[str]:
    if not unread:
        return []
    lines = [item(f"{code(file.path)} ({prose(file.what)})") for file in unread[:most]]
    return ["## Files that nobody reads", "", *lines, *_more(len(unread), most)]


def _more(total: int, most: int | None) -> list[str]:
    return [] if most is None or total <= most else [item(f"and {total - most} more")]
