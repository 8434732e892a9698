"""``policy audit``: what every agent may do, through every chain."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from policy.analysis.inputs import NOTHING_READ, Hosts, load_here
from policy.analysis.lint import lint
from policy.analysis.reach.audit import (
    AgentAudit,
    Audit,
    GapGroup,
    ProjectAudit,
    ReadingGap,
    access_by_mode,
    audit,
    gap_groups,
    runs_read_only,
)
from policy.analysis.reach.privileges import ToolAccess, by_class
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.access import CLASSES, NOTHING, access_of, access_table, cell, risky_patterns
from policy.cli.report.as_json import Object, shape
from policy.cli.report.results import Result, path_prefix
from policy.cli.report.words import (
    HERE,
    because_text,
    by_severity,
    call,
    chain_text,
    count,
    finding_lines,
    findings_blocks,
    findings_summary,
    is_reached,
    names,
)
from policy.compare.witness import is_ordinary
from policy.core.decision import Because, Reason
from policy.core.effect import VERBS, Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Span, quoted
from policy.core.values import evolve
from policy.files.opening import is_unreadable
from policy.hosts.project import Project
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, Chain

# Rules of a project that an audit checks for an effect; lint checks all of them.
_MOST_TRIED: Final = 1000

_MOST = 6  # entries of a list on the first screen
_LEAST = 3  # where the screen has little room
_MOST_PROJECTS = 4  # on lines of their own
_MOST_NAMES = 4  # of agents that share a row
_MOST_FILES = 2  # that are named
_SHORT = 16  # characters of a cell that is shown again below one that is equal

# Rules -> where they stand, of those whose file can be read.
_Spans = Callable[[Iterable[Because]], dict[Because, Span]]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the audit, and return the exit status."""
    found = load_here(options.path, Hosts.of(options), every=True)
    linted = lint(found.tree, found.workspace, most=_MOST_TRIED)
    audited = evolve(audit(found.workspace), findings=linted.findings, rules=len(linted.rules))
    audited = evolve(audited, suppressed=len(linted.suppressed))
    agents = [(project, agent) for project in audited.projects for agent in project.agents]
    report = doc.Report(
        f"Audit of `{audited.label}`",
        partial(as_json, audited, modes=options.modes),
        partial(blocks, audited, agent=options.agent, modes=options.modes, guesses=found.guesses),
        _MOST,
        partial(_results, audited, found.spans),
        path_prefix(found.tree),
        all(project.exact for project in audited.projects),
        None if options.agent else doc.first_screen(found.workspace.projects),
    )
    known = [agent.name for _, agent in agents]
    if options.agent and options.agent not in known:
        listed = f"there are {quoted(known)}" if known else NOTHING_READ
        message = f"there is no agent `{options.agent}`"
        raise PolicyError(message, help=closest(options.agent, known) or listed)
    publish(report, options, console)
    if not audited.projects or any(map(is_unreadable, audited.findings)):
        return 2
    if options.fail_on == "escalation":
        return int(any(agent.escalations for _, agent in agents))
    return int(options.fail_on != "none" and is_reached(audited.findings, options.fail_on))


# What the host and the files disagree in -> its severity, and where agents have it.
_GAPS: Final = {
    "escalation": (Severity.ERROR, "escalations"),
    "dead rule": (Severity.WARNING, "dead_letters"),
}


# Reasons that explain an effect without a rule.
_TELLING: Final = frozenset(Reason) - {Reason.DEFAULT, Reason.RULE}


def _gaps(audited: Audit, most: int | None) -> list[doc.Block]:
    """Return a sentence for each group of gaps, escalations first."""
    items: list[doc.Block] = []
    agents = [agent for project in audited.projects for agent in project.agents]
    # The first tools of classes come before others, and calls that may do harm before the rest.
    ranks: dict[str, tuple[bool, int, int]] = {}
    for classes in (project.project.tool_classes for project in audited.projects):
        for number, kind in enumerate(("run", "change", "network", "read")):
            for place, tool in enumerate(classes.get(kind, ())):
                ranks.setdefault(tool, (place > 0, number, place))

    def order(gap: ReadingGap) -> tuple[object, ...]:
        return not is_ordinary(gap.call), *ranks.get(gap.tool, (True, len(ranks), 0))

    for kind, (severity, which) in _GAPS.items():
        groups = [
            evolve(some, gaps=tuple(sorted(some.gaps, key=order)))
            for some in gap_groups(agents, which)
        ]
        if most is not None:  # by calls that people would make, where there are any
            groups = [some for some in groups if is_ordinary(some.gaps[0].call)] or groups
        groups.sort(key=lambda some: order(some.gaps[0]))
        groups.sort(key=lambda some: some.gaps[0].after.effect, reverse=True)
        word = doc.Ink(kind, severity.value), "  "
        items += [doc.Item((*word, _gap(group, most))) for group in groups]
    body = doc.listed(items, most and max(most - 2, _MOST_FILES))
    return [doc.Section("host and files disagree", body)] if items else []


_DOES: Final = {Effect.ALLOW: "allows", Effect.ASK: "asks for", Effect.DENY: "denies"}


def _gap(group: GapGroup, most: int | None = None) -> doc.Text:
    """Return a sentence for one group: the agents, the calls, and both effects with their rules."""
    gap = next((gap for gap in group.gaps if gap.after.because), group.gaps[0])
    below = (" started below ", names(group.below, most, "agent")) if group.below else ""
    who = (names(group.agents, most and 3, "agent"), below, ": the host ")
    calls = doc.joined((call(each.tool, each.call) for each in group.gaps), most=most and 4)
    rules = {each.after.because for each in group.gaps}
    by = ", " if not gap.after.because else " by " if len(rules) == 1 else ", some by "
    parts = [
        (mark, because_text(one, group.agents[0], 1))
        if one.because or one.reason in _TELLING
        else ""
        for mark, one in ((by, gap.after), (": ", gap.before))
    ]
    declared = "; declared" if gap.before.because else f"; declared {VERBS[gap.before.effect]}"
    return (*who, _DOES[gap.after.effect], " ", calls, parts[0], declared, parts[1])


def matrix(
    audited: ProjectAudit,
    most: int | None = None,
    *,
    built_in: bool = True,
    risky: Collection[str] = (),
) -> doc.Grid:
    """Return the matrix of what runs without confirmation: a row for agents with equal rights.

    With a bound it has at most *most* rows and one that counts the others; agents that are built
    into the host then share one row, if *built_in*. *risky* patterns come first in a cell.
    """
    reached = [agent for agent in audited.agents if agent.enforced]
    startable = {name for agent in reached for name in agent.spawns[1]}
    alike: dict[tuple[doc.Text, ...], list[AgentAudit]] = {}
    others: list[tuple[doc.Text, ...]] = []
    for agent in sorted(reached, key=audited.is_own, reverse=True):
        if not (built_in or audited.is_own(agent)):
            continue
        tools = by_class(access_of(agent), audited.project.tool_classes, CLASSES)
        if tools["run"] and runs_read_only(audited.project, agent.enforced[0].table):
            first, *further = tools["run"]
            tools["run"] = [evolve(first, allowed=("read-only", *first.allowed)), *further]
        cells = tuple(
            _spawns(agent, startable, some) if kind == "start" else cell(kind, some, risky)
            for kind, some in tools.items()
        )
        if most is None or audited.is_own(agent):
            alike.setdefault(cells, []).append(agent)
        else:
            others.append(cells)
    kept = [*alike.items()]
    if most is not None and len(kept) > most + 1:
        kept = kept[:most]
    rows: list[tuple[doc.Text, ...]] = []
    for row, some in kept:
        who = names((one.name for one in some), _MOST_NAMES if most is None else 2, "agent")
        rows.append((who, *(_shared([row], *kept[0]) if rows and most is not None else row)))
    if left := sum(map(len, alike.values())) - sum(len(some) for _, some in kept):
        rows.append((doc.Ink(f"… {left:,} more", "dim"), *[""] * len(CLASSES)))
    if others:
        shared = _shared(others, *next(iter(alike.items()), ((), [])))
        rows.append((doc.Ink(f"built in ({len(others)})", "dim"), *shared))
    return doc.Grid(("agent", *CLASSES.values()), tuple(rows))


def _shared(
    rows: Iterable[tuple[doc.Text, ...]], first: tuple[doc.Text, ...], agents: Sequence[AgentAudit]
) -> Iterator[doc.Text]:
    """Yield the cells of one row for several *rows*; long ones refer to the *first* row."""
    for at, column in enumerate(zip(*rows, strict=True)):
        found: list[doc.Text] = [*dict.fromkeys(column)]
        if agents:
            is_long = len(doc.unstyled(first[at])) > _SHORT
            same = doc.Ink(f"as {agents[0].name}", "dim")
            found = [same if is_long and each == first[at] else each for each in found]
        found.sort(key=lambda each: each == NOTHING)
        yield doc.joined(found, " or ") if found[1:] in ([], [NOTHING]) else "differs"


def _spawns(agent: AgentAudit, startable: set[str], tools: Sequence[ToolAccess]) -> doc.Text:
    """Return the cell with the agents that *agent* may start."""
    started = agent.spawns[1]
    if not started:
        return NOTHING
    patterns = [each for tool in tools for each in tool.allowed]
    named = [name for text in patterns for name in text.split(", ") if name in started]
    if any(tool.otherwise == "allow" for tool in tools) or (patterns and not named):
        named = [*started]
    everyone = startable <= {*named} and len(named) > 3
    shown = doc.Ink(f"any ({len(named)})", "allow") if everyone else names(named, 3, "allow")
    mark = [*doc.pieces(cell("start", tools))][-1]
    asks = isinstance(mark, doc.Ink) and mark.role == "ask" and {*named} != {*started}
    return (shown, " " if named and asks else "", mark if asks else "")


def blocks(
    audited: Audit, most: int | None, *, agent: str = "", modes: bool = False, guesses: str = ""
) -> list[doc.Block]:
    """Return the audit: findings, gaps, the matrix; of one *agent*, everything it may do.

    Without a bound, each agent follows with everything. *guesses* is a clause about files that may
    be of no host.
    """
    if agent:
        return [
            block
            for project in audited.projects
            for block in _agents([a for a in project.agents if a.name == agent], most)
        ]
    by_host = doc.grouped(audited.projects, lambda each: each.project.profile)
    found: list[doc.Block] = [doc.Paragraph(_summary(some)) for some in by_host]
    if not found:
        found.append(doc.Paragraph(f"{audited.label}: {NOTHING_READ}"))
    found += [*_findings(audited, most), *_gaps(audited, most), *_matrices(audited, most)]
    if modes:
        found += [block for each in audited.projects for block in _by_mode(each.project)]
    if most is None:
        found += [block for project in audited.projects for block in _details(project)]
    if audited.unread:
        unread = [(doc.Ink(file.path, "file"), f" ({file.what})") for file in audited.unread]
        title = "files that may set permissions and are not read"
        if most is None:
            found.append(doc.Section(title, tuple(map(doc.Item, unread))))
        else:
            found.append(doc.Paragraph((f"{title}: ", doc.joined(unread, most=1)), "dim"))
    for text in filter(None, (guesses, elsewhere(audited))):
        found.append(doc.Paragraph(text, "dim"))
    if most is not None:
        text = "more: `--agent NAME`, `--all`, `--format html`; `policy lint` shows lines and fixes"
        found.append(doc.Paragraph(text, "dim"))
    return found


def _by_mode(project: Project) -> Iterator[doc.Block]:
    """Yield the matrix of the agents that start chains, with a row for each permission mode."""
    rows = tuple(
        (
            doc.Ink(mode, "strong"),
            names((name for name in some if name in project.starts), _LEAST, "agent"),
            *(cell(*each) for each in by_class(tools, project.tool_classes, CLASSES).items()),
        )
        for mode, found in access_by_mode(project).items()
        for some, tools in found.items()
        if not {*project.starts}.isdisjoint(some)
    )
    if rows:
        grid = doc.Grid(("mode", "agent", *CLASSES.values()), rows)
        yield doc.Section("in each permission mode", (grid,))


def _summary(projects: Sequence[ProjectAudit]) -> doc.Text:
    """Return the host of *projects*, and how many agents and files it has in them."""
    first, *others = projects
    own = sum(each.is_own(agent) for each in projects for agent in each.agents)
    built_in = len(first.agents) - sum(map(first.is_own, first.agents))
    files = dict.fromkeys(file.path for each in projects for file in each.project.files)
    return (
        doc.Ink(first.project.profile, "strong"),
        f": {count(len(projects), 'project')} with " if others else ": ",
        count(own, "agent"),
        f" and {built_in} built in" if built_in and not others else "",
        "; read ",
        count(len(files), "file")
        if others or not 0 < len(files) <= _MOST_FILES
        else doc.joined(doc.Ink(path, "file") for path in files),
    )


def elsewhere(audit: Audit) -> str:
    """Return a sentence about files outside the tree that also count; "" if there are none."""
    names_ = dict.fromkeys(each for one in audit.projects for each in one.project.elsewhere)
    return f"not read, and may allow or deny as well: {', '.join(names_)}" if names_ else ""


def _findings(audited: Audit, most: int | None) -> list[doc.Block]:
    """Return the findings, errors first; with a bound one line for each code and message."""
    found = audited.findings
    if not found:
        return []
    if most is None:
        groups = doc.grouped(by_severity(found), lambda finding: finding.code)
        body = [block for some in groups for block in _of_code(some)]
        return [doc.Section(findings_summary(found), tuple(body))]
    suppressed = f"; {audited.suppressed:,} suppressed" if audited.suppressed else ""
    lines = finding_lines(found, max(most, _LEAST))
    return [doc.Section(findings_summary(found) + suppressed, tuple(lines))]


def _of_code(findings: Sequence[Finding]) -> list[doc.Block]:
    """Return findings of one code in full; many are folded below their summary line."""
    full = findings_blocks(findings, None)
    if len(full) < _LEAST:
        return full
    (head,) = [block.head for block in finding_lines(findings, 1) if isinstance(block, doc.Item)]
    return [doc.Section(head, tuple(full), folded=True)]


def _matrices(audited: Audit, most: int | None) -> Iterator[doc.Block]:
    """Yield one table with the matrix of each project, one below the other.

    With a bound, several projects show only the agents that files define. Projects with equal rows
    are shown once, and those that run any command come first.
    """
    several = len(audited.projects) > 1
    hosts = {project.project.host for project in audited.projects}
    risky = risky_patterns(audited.findings)
    room = most and max(2 * most // min(len(audited.projects) or 1, _MOST_PROJECTS), 1)
    alike: dict[object, tuple[list[str], doc.Grid]] = {}
    for each in audited.projects:
        project = each.project
        grid = matrix(each, room, built_in=most is None or not several, risky=risky)
        title = (project.root or HERE) if len(hosts) == 1 else project.title
        # Rows beyond the bound may belong to other agents.
        own = tuple(filter(each.is_own, each.agents))
        key = title if most is None else (grid, tuple(agent.name for agent in own))
        alike.setdefault(key, ([], grid))[0].append(title)
    groups = sorted(alike.values(), key=lambda some: -len(some[0]))
    groups.sort(key=lambda some: all(ink.role != "warning" for ink in doc.inked(some[1].rows)))
    groups = groups[: most and min(most, _MOST_PROJECTS)]
    rows: list[tuple[doc.Text, ...]] = []
    for titles, grid in groups:
        if several and grid.rows:
            rows.append((names(titles, _MOST_FILES, "dim"), *[""] * len(CLASSES)))
        rows += grid.rows
    if rows:
        marks = "+? asks for more, ? only asks, - denied or not available"
        title = f"what runs without confirmation ({marks})"
        left = doc.more(len(audited.projects) - sum(len(some) for some, _ in groups), "projects")
        yield doc.Section(title, (doc.Grid(("agent", *CLASSES.values()), tuple(rows)), *left))
    agents = [agent for each in audited.projects for agent in each.agents]
    idle = [agent.name for agent in agents if not agent.enforced and not agent.attenuated]
    if idle:
        shown = names(dict.fromkeys(idle), most and 2 * most, "agent")
        yield doc.Paragraph(("no chain reaches ", shown))
    if not all(project.exact for project in audited.projects):
        text = "not exact: there are more chains than are compared; further ones may differ"
        yield doc.Paragraph(text, "warning")


def _details(audited: ProjectAudit) -> Iterator[doc.Block]:
    """Yield who starts whom, and everything that each agent may do."""
    edges = [doc.Edge("", name) for name in audited.project.starts]
    for agent in audited.agents:
        declared, real = map(set, agent.spawns)
        for name in dict.fromkeys((*agent.spawns[0], *agent.spawns[1])):
            role = {(True, False): "declared only", (False, True): "enforced only"}
            edges.append(doc.Edge(agent.name, name, role.get((name in declared, name in real), "")))
    if any(edge.parent for edge in edges):
        yield doc.Section("who starts whom", (doc.edges_grid(edges),))
    yield from _agents(audited.agents, None)


def _agents(agents: Iterable[AgentAudit], most: int | None) -> Iterator[doc.Block]:
    """Yield everything that agents may do; those with the same rights together."""

    def key(agent: AgentAudit) -> object:
        both = (tuple(access_of(agent)), tuple(access_of(agent, enforced=False)))
        return (*both, agent.spawns, agent.bounds, agent.why)

    reached = (agent for agent in agents if agent.enforced or agent.attenuated)
    for members in doc.grouped(reached, key):
        first = members[0]
        place = str(first.place) if first.place else "built in"
        note = f"{len(members)} agents" if len(members) > 1 else place
        title = (names((m.name for m in members), most, "agent"), "  ", doc.Ink(note, "file"))
        declared, real = access_of(first, enforced=False), access_of(first)
        body: list[doc.Block] = [doc.Labelled(tuple(_facts(first, most))), access_table(real, most)]
        other = [tool for tool in declared if tool not in real]
        if other:
            body.append(doc.Section("declared otherwise", (access_table(other, most),)))
        yield doc.Section(title, tuple(body), folded=True)


def _facts(agent: AgentAudit, most: int | None) -> Iterator[tuple[str, doc.Text]]:
    chains = [chain.names for chain in agent.enforced or agent.attenuated]
    yield "chain", doc.joined((doc.Ink(chain_text(chain)) for chain in chains), "; ", most)
    asked = [link.name for chain in agent.enforced[:1] for link in chain.links if link.confirm]
    if asked:
        yield "", f"once the start of {quoted(asked)} is confirmed"
    declared, real = agent.spawns
    if declared or real:
        yield "may start", names(real, most) if real else "no agent"
    if declared != real:
        yield "declared", names(declared, most) if declared else "no agent"
    bounds = agent.bounds
    limits = {"depth": bounds.depth, "turns": bounds.turns, "trust": bounds.trust}
    parts = [f"{name} {value}" for name, value in limits.items() if value is not None]
    if parts:
        yield "limits", ", ".join(parts)
    if not agent.exact:
        yield "not exact", f"the two readings may differ in more: {'; '.join(agent.why)}"


def _results(audited: Audit, spans: _Spans) -> list[Result]:
    """Return the findings, and the gaps between host and files."""
    found = [Result(finding) for finding in audited.findings]
    for project in audited.projects:
        for kind, (severity, which) in _GAPS.items():
            for group in gap_groups(project.agents, which):
                rules = (*group.gaps[0].before.because, *group.gaps[0].after.because)
                span = next(iter(spans(rules).values()), None)
                places = [a.place for a in project.agents if a.name in group.agents]
                file = next((place.file for place in places if place), "")
                code, message = kind.replace(" ", "-"), doc.unstyled(_gap(group))
                found.append(Result(Finding(code, message, severity, span, file)))
    return found


def _numbered(
    project: Project, chains: Iterable[Chain], numbers: dict[object, int]
) -> Iterator[Object]:
    """Yield the positions of *chains* by their numbers; *numbers* has each position once."""
    for chain in chains:
        number = None
        for link in chain.links:
            number = numbers.setdefault((number, link.name, bool(link.confirm)), len(numbers))
        yield {"position": number, "runs_read_only": runs_read_only(project, chain.table)}


def as_json(audited: Audit, *, modes: bool = False) -> Object:
    """Return the JSON shape of an audit, with *modes* also by permission mode."""
    projects = []
    for each in audited.projects:
        project = each.project
        found: Object = {"project": project.title}
        shown = ("host", "profile", "root", "starts")
        found |= {name: shape(getattr(project, name)) for name in shown}
        positions: dict[object, int] = {}
        found["agents"] = [
            shape(evolve(agent, attenuated=(), enforced=()))
            | {"spawns": dict(zip(READINGS, shape(agent.spawns), strict=True))}
            | {name: [*_numbered(project, getattr(agent, name), positions)] for name in READINGS}
            for agent in each.agents
        ]
        what = ("parent", "agent", "confirm")
        found["positions"] = [dict(zip(what, shape(each), strict=True)) for each in positions]
        if modes:
            found["modes"] = {
                mode: [
                    {"agents": list(some)} | shape(by_class(tools, project.tool_classes, CLASSES))
                    for some, tools in rows.items()
                ]
                for mode, rows in access_by_mode(project).items()
            }
        found |= {"files": shape(project.files), "elsewhere": list(project.elsewhere)}
        projects.append(found | {"exact": each.exact})
    exact = all(project.exact for project in audited.projects)
    return {**shape(evolve(audited, projects=())), "projects": projects, "exact": exact}
