"""The audit of a workspace, for people."""

from __future__ import annotations

from collections import Counter

from policy.project import ReadFile
from policy.reach.audit import Audit, ProjectAudit
from policy.render.agents_text import agent_blocks
from policy.render.findings_text import (
    EXPLAIN,
    FURTHER,
    counted_lines,
    findings_lines,
    findings_summary,
    unread_lines,
)
from policy.render.gaps import dead_letters, escalations, gap_count
from policy.render.layout import Ink, Page
from policy.render.readings_text import differences_lines
from policy.render.spawns_text import spawn_graph
from policy.render.words import count, listed
from policy.source import visible

__all__ = ["audit_summary", "audit_text", "elsewhere"]

_MOST_STARTS = 8
_MOST_FILES = 4


def audit_text(audit: Audit, page: Page, *, everything: bool = False) -> str:
    """Return *audit* as lines that fit *page*; *everything* leaves no list short."""
    lines: list[str] = []
    for project in audit.projects:
        lines += [*_project(project, page, everything=everything), ""]
    if audit.findings:
        lines += [page.paint("findings", "bold")]
        lines += [*findings_lines(audit.findings, page, everything=everything)]
        lines += [*page.prose(EXPLAIN, style="dim"), ""]
    if audit.further:
        lines += page.prose(FURTHER, style="bold")
        lines += [*counted_lines(audit.further, page), ""]
    if audit.unread:
        lines += page.prose("files that may say something and that nobody reads", style="bold")
        lines += [*unread_lines(audit.unread, page, everything=everything), ""]
    if missing := elsewhere(audit):
        lines += page.prose(missing, style="dim")
    lines += page.prose(audit_summary(audit))
    return "\n".join(lines) + "\n"


def elsewhere(audit: Audit) -> str:
    """Return what was not read and counts as well, in a sentence; "" for nothing."""
    names = dict.fromkeys(each for one in audit.projects for each in one.project.elsewhere)
    return f"not read, and may allow or deny as well: {', '.join(names)}" if names else ""


def audit_summary(audit: Audit) -> str:
    """Return what was found, in a line."""
    agents = [agent for project in audit.projects for agent in project.agents]
    if not audit.projects and not audit.findings:
        return f"nothing that a host reads was found in {visible(audit.label)}"
    parts = [
        f"{count(len(agents), 'agent')} in {count(len(audit.projects), 'project')}",
        *(
            count(sum(gap_count(gaps(each.agents)) for each in audit.projects), name)
            for gaps, name in ((escalations, "escalation"), (dead_letters, "dead letter"))
        ),
        findings_summary((*audit.findings, *audit.further)),
    ]
    if audit.suppressed:
        parts.append(f"{audit.suppressed:,} suppressed")
    if audit.unread:
        parts.append(f"{count(len(audit.unread), 'file')} not read")
    if not all(project.exact for project in audit.projects):
        parts.append("not exact")
    return "; ".join(parts)


def _project(audited: ProjectAudit, page: Page, *, everything: bool) -> list[str]:
    project = audited.project
    pieces = [Ink(visible(project.title), "bold"), Ink(f" {visible(project.profile)}", "dim")]
    lines = page.flow(pieces, separator=" ", indent=4)
    starts = listed(project.starts, None if everything else _MOST_STARTS)
    if starts:
        lines += page.flow(starts, "  chains start with ", indent=4)
    else:
        lines += page.prose("no agent starts a chain", "  ")
    lines += _files(project.files, page, everything=everything)
    if not audited.exact:
        lines += page.prose(
            "not exact: there are more positions than are looked at; further ones may differ",
            "  ",
            style="warning",
        )
    graph = spawn_graph(audited, page, everything=everything)
    lines += ["", *graph] if graph else []
    lines += differences_lines(audited.agents, page, everything=everything)
    return lines + agent_blocks(audited.agents, page, everything=everything)


def _files(files: tuple[ReadFile, ...], page: Page, *, everything: bool) -> list[str]:
    most = None if everything else _MOST_FILES
    if not files:
        return []
    if len(files) <= _MOST_FILES or everything:
        names = [f"{visible(file.path)} ({visible(file.role)})" for file in files]
    else:
        roles = Counter(file.role for file in files)
        names = [count(total, f"{visible(role)} file") for role, total in roles.items()]
    lines = page.flow(names, "  read ", indent=4)
    guesses: dict[str, list[str]] = {}
    for file in files:
        if file.assumed:
            guesses.setdefault(file.assumed, []).append(file.path)
    for why, paths in guesses.items():
        names = listed(paths, most)
        lines += page.flow(names, f"  assumed ({visible(why)}): ", indent=4)
    return lines
