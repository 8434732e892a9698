"""``policy audit``: what every agent may do, through every chain."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from policy.analysis.lint import lint
from policy.analysis.reach.audit import (
    AgentAudit,
    Audit,
    ProjectAudit,
    ReadingGap,
    audit,
)
from policy.cli.console import Console
from policy.cli.inputs import InputTree, load_here
from policy.cli.options import Hosts
from policy.cli.outputs import publish
from policy.cli.report.access import (
    CLASSES,
    NOTHING,
    ToolAccess,
    access_of,
    access_table,
    by_class,
    cell,
)
from policy.cli.report.as_json import Object, shape
from policy.cli.report.document import (
    Block,
    Edge,
    Graph,
    Grid,
    Ink,
    Item,
    Labelled,
    Paragraph,
    Report,
    Section,
    Text,
    joined,
    more,
    pieces,
)
from policy.cli.report.results import Result, path_prefix, result
from policy.cli.report.words import (
    VERBS,
    because_text,
    call,
    chain_text,
    count,
    explained,
    findings_blocks,
    findings_summary,
    names,
    quoted,
    rule,
)
from policy.compare.compare import Known
from policy.core.decision import Because, Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Span
from policy.core.values import evolve, frozen
from policy.files.opening import is_unreadable
from policy.hosts.workspace import Workspace
from policy.language.mistakes import closest
from policy.tables.chain import READINGS, Chain, SpawnDenied

__all__ = ["GapGroup", "as_json", "blocks", "elsewhere", "escalations", "run"]


# Rules of a project that an audit checks for an effect; lint checks all of them.
_MOST_TRIED: Final = 1000

# Internal errors that are reported one by one; further ones tend to be the same.
_MOST_REPORTS = 3

# Entries of a list on the first screen, and cells of agents that share a row.
_MOST = 6
_MOST_MERGED = 2

_MOST_PROJECTS = 4  # on lines of their own

# Lines of the first screen for few agents, and for more.
_LINES = (45, 60)
_FEW = 12

# Rules -> where they stand, of those whose file can be read.
_Spans = Callable[[Iterable[Because]], dict[Because, Span]]

_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the audit, and return the exit status."""
    found = load_here(options.path, console.progress, Hosts.of(options), every=True)
    audited = _with_lint(_audit(found.workspace, console), found, console)
    report = Report(
        f"Audit of `{audited.label}`",
        partial(as_json, audited),
        partial(blocks, audited, agent=options.agent),
        _MOST,
        partial(_results, audited, found.spans),
        path_prefix(found.tree),
        all(project.exact for project in audited.projects),
        None if options.agent else _LINES[_agents_of(audited) > _FEW],
    )
    if options.agent:
        _check_agent(audited, options.agent)
    publish(report, options, console)
    if any(map(is_unreadable, audited.findings)):
        return 2
    return int(_fails(audited, options.fail_on))


def _agents_of(audited: Audit) -> int:
    """Return the number of agents of the files."""
    return sum(
        bool(agent.place) or agent.name in each.project.starts
        for each in audited.projects
        for agent in each.agents
    )


def _check_agent(audited: Audit, name: str) -> None:
    known = [agent.name for project in audited.projects for agent in project.agents]
    if name not in known:
        raise PolicyError(
            f"there is no agent `{name}`", help=closest(name, known) or f"there are {quoted(known)}"
        )


def _fails(audited: Audit, fail_on: str) -> bool:
    if fail_on == "escalation":
        return any(agent.escalations for one in audited.projects for agent in one.agents)
    if fail_on == "none":
        return False
    counting = _RANKS[Severity(fail_on)]
    return any(_RANKS[each.severity] <= counting for each in audited.findings)


def _with_lint(audited: Audit, found: InputTree, console: Console) -> Audit:
    """Return *audited* with the findings of lint, and without suppressed ones."""
    try:
        linted = lint(found.tree, found.workspace, most=_MOST_TRIED, progress=console.progress)
    except Exception as error:  # noqa: BLE001  # reported, and the audit is printed
        console.internal_error(error, audited.label)
        problem = _internal("there may be more findings", audited.label)
        return evolve(audited, findings=(problem, *audited.findings))
    problems = tuple(one for one in audited.findings if one not in found.workspace.findings)
    return evolve(
        audited,
        findings=(*problems, *linted.findings),
        suppressed=len(linted.suppressed),
        rules=linted.rules,
    )


def _audit(workspace: Workspace, console: Console) -> Audit:
    """Return the audit, project by project, so that one mistake hides no other project."""
    projects: list[ProjectAudit] = []
    problems: list[Finding] = []
    known: Known = {}
    for project in workspace.projects:
        alone = evolve(workspace, projects=(project,))
        try:
            projects += audit(alone, progress=console.progress, known=known).projects
        except Exception as error:  # noqa: BLE001  # reported, and the rest is printed
            if len(problems) < _MOST_REPORTS:
                console.internal_error(error, project.title)
            problems.append(_internal("this project could not be audited", project.title))
    findings = (*problems, *workspace.findings)
    return Audit(workspace.label, tuple(projects), findings, workspace.unread)


def _internal(what: str, file: str) -> Finding:
    return Finding("internal-error", f"{what}: an internal error", Severity.ERROR, file=file)


# --- where the host differs from its files -------------------------------------------------


@frozen
class GapGroup:
    """Gaps with the same two effects, of the same agents for the same reason or of all.

    Attributes:
        agents: that make the calls.
        gaps: one of each call.
        mixed: tools of which other calls get another effect.
        is_alike: whether they share their agents and their reason.

    """

    agents: tuple[str, ...]
    gaps: tuple[ReadingGap, ...]
    mixed: frozenset[str] = frozenset()
    is_alike: bool = True

    @property
    def calls(self) -> list[Ink]:
        """The calls; a tool by its name where all its calls change alike."""
        whole = {gap.tool for gap in self.gaps if gap.whole} - self.mixed
        shown = (call(gap.tool, {} if gap.tool in whole else gap.call) for gap in self.gaps)
        return list(dict.fromkeys(shown))


def escalations(agents: Iterable[AgentAudit], *, merged: bool = False) -> list[GapGroup]:
    """Return what the host grants beyond what is declared; *merged* are those of all agents."""
    return _groups(((agent.name, agent.escalations) for agent in agents), merged=merged)


def dead_rules(agents: Iterable[AgentAudit], *, merged: bool = False) -> list[GapGroup]:
    """Return what the files grant and the host refuses; *merged* are those of all agents."""
    return _groups(((agent.name, agent.dead_letters) for agent in agents), merged=merged)


def _groups(found: Iterable[tuple[str, Iterable[ReadingGap]]], *, merged: bool) -> list[GapGroup]:
    once: dict[Hashable, list[tuple[str, ReadingGap]]] = {}
    for name, gaps in found:
        for gap in gaps:
            key = (gap.tool, str(gap.call), gap.effects, _why(gap.before))
            once.setdefault(key, []).append((name, gap))
    groups: dict[Hashable, dict[Hashable, list[tuple[tuple[str, ...], ReadingGap]]]] = {}
    effects: dict[Hashable, set[Effect]] = {}
    for members in once.values():
        gap = members[0][1]
        who = tuple(dict.fromkeys(name for name, _ in members))
        alike = (who, gap.effects, _why(gap.before))
        group = groups.setdefault(gap.effects if merged else alike, {})
        group.setdefault(alike, []).append((who, gap))
        effects.setdefault((who, gap.tool), set()).add(gap.after.effect)
    return [
        GapGroup(
            tuple(dict.fromkeys(name for some in group.values() for name in some[0][0])),
            tuple(gap for some in group.values() for _, gap in some),
            frozenset(
                gap.tool
                for some in group.values()
                for who, gap in some
                if len(effects[who, gap.tool]) > 1
            ),
            len(group) == 1,
        )
        for group in groups.values()
    ]


def _why(decision: Decision) -> Hashable:
    return tuple((one.rule, one.place) for one in decision.because) or explained(decision)


def _gaps(audited: Audit, most: int | None) -> list[Block]:
    """Return a sentence for each group of gaps, escalations first.

    With a bound, one for all gaps with the same two effects.
    """
    merged = most is not None
    items: list[Block] = []
    agents = [agent for project in audited.projects for agent in project.agents]
    for group in escalations(agents, merged=merged):
        declared, real = group.gaps[0].before, group.gaps[0].after
        by_host = f" {VERBS[real.effect]} by the host, declared {VERBS[declared.effect]}"
        who = (Ink("escalation", "error"), "  ", names(group.agents, most and 3, "agent"), ": ")
        calls = joined(group.calls, most=most and 4)
        items.append(Item((*who, calls, by_host, *_reason(group, declared))))
    for group in dead_rules(agents, merged=merged):
        declared, real = group.gaps[0].before, group.gaps[0].after
        rules = joined(map(rule, declared.because), "; ", most and 2)
        calls = joined(group.calls, most=most and 4)
        said = (Ink("dead rule", "warning"), "  ", rules, ": the host has ", calls)
        denied = (f" {VERBS[real.effect]} for ", names(group.agents, most and 3, "agent"))
        items.append(Item((*said, *denied, *_reason(group, real))))
    shown = items[: most and max(most - 2, 2)]
    body = (*shown, *more(len(items) - len(shown)))
    return [Section("host and files disagree", body)] if items else []


def _reason(group: GapGroup, decision: Decision) -> tuple[Text, ...]:
    return ": " if group.is_alike else ", e.g. ", because_text(decision, group.agents[0], 1)


# --- the matrix of agents and classes of tools ---------------------------------------------


def matrix(audited: ProjectAudit, most: int | None = None, *, built_in: bool = True) -> Grid:
    """Return what agents do without confirmation: a row for agents with equal rights.

    Args:
        audited: the project.
        most: rows of agents of the files; those that start chains first, then those of most
            agents, and one that counts the others. None is no bound.
        built_in: whether the agents of the host have a row.

    """
    project = audited.project
    reached = [agent for agent in audited.agents if agent.enforced]
    startable = {name for agent in reached for name in agent.spawns[1]}
    cells = {agent.name: _cells(audited, agent, startable) for agent in reached}
    own = [agent.name for agent in reached if agent.place or agent.name in project.starts]
    alike: dict[tuple[Text, ...], list[str]] = {}
    for name in own:
        alike.setdefault(cells[name], []).append(name)
    kept = [*alike.items()]
    if most is not None and len(kept) > most + 1:
        rank = lambda row: (project.starts[0] not in row[1], -len(row[1]))  # noqa: E731
        kept = sorted(kept, key=rank)[:most]
    shown: list[tuple[Text, ...]] = [
        (names(members, 4 if most is None else 2, "agent"), *row) for row, members in kept
    ]
    if left := len(own) - sum(len(members) for _, members in kept):
        shown.append((Ink(f"… {left:,} more", "dim"), *[""] * len(CLASSES)))
    others = [cells[agent.name] for agent in reached if agent.name not in own]
    if others and built_in:
        first = cells[own[0]] if own else None
        merged = [
            _merged(column, first and first[number], own[0] if own else "")
            for number, column in enumerate(zip(*others, strict=True))
        ]
        shown.append((f"built in ({len(others)})", *merged))
    return Grid(("agent", *CLASSES.values()), tuple(shown))


def _merged(column: Sequence[Text], first: Text | None, name: str) -> Text:
    """Return the cells of several agents as one."""
    found: dict[Text, int] = {}
    for each in column:
        found[each] = found.get(each, 0) + 1
    told: list[Text] = []
    for each, number in sorted(found.items(), key=lambda pair: -pair[1]):
        shown: Text = Ink(f"as {name}", "dim") if each == first else each
        told.append(shown if len(found) == 1 else (shown, f" ({number})"))
    return joined(told if len(told) <= _MOST_MERGED else [*told[: _MOST_MERGED - 1], "…"])


def _cells(audited: ProjectAudit, agent: AgentAudit, startable: set[str]) -> tuple[Text, ...]:
    tools = by_class(access_of(agent), audited.project.tool_classes)
    if tools["run"] and _runs_read_only(audited, agent):
        first, *others = tools["run"]
        allowed = ("read-only", *first.allowed)
        tools["run"] = [evolve(first, allowed=allowed), *others]
    return tuple(
        _spawns(agent, startable, some) if kind == "start" else cell(kind, some)
        for kind, some in tools.items()
    )


def _spawns(agent: AgentAudit, startable: set[str], tools: Sequence[ToolAccess]) -> Text:
    """Return whom an agent may start."""
    started = agent.spawns[1]
    if not started:
        return NOTHING
    patterns = [each for tool in tools for each in tool.allowed]
    named = [name for text in patterns for name in text.split(", ") if name in started]
    if any(tool.otherwise == "allow" for tool in tools) or (patterns and not named):
        named = [*started]
    everyone = startable <= {*named} and len(named) > 2
    shown = Ink(f"any ({len(named)})", "allow") if everyone else names(named, 3, "allow")
    mark = [*pieces(cell("start", tools))][-1]
    asks = isinstance(mark, Ink) and mark.role == "ask" and {*named} != {*started}
    return (shown, " " if named and asks else "", mark if asks else "")


def _runs_read_only(audited: ProjectAudit, agent: AgentAudit) -> bool:
    """Return whether commands that change nothing need no rule."""
    project = audited.project
    tool = project.tool_classes["run"][0]
    first, *others = agent.enforced[0].chain
    try:
        chain = Chain.start(first, project.enforced)
        for name in others:
            chain = chain.spawn(name)
    except SpawnDenied:
        return False
    return [
        chain.decide(tool, {"command": command}).effect is Effect.ALLOW
        for command in ("ls", "no-such-program x")
    ] == [True, False]


# --- blocks --------------------------------------------------------------------------------


def blocks(audited: Audit, most: int | None, *, agent: str = "") -> list[Block]:
    """Return the audit: findings, gaps, the matrix; of one *agent*, everything it may do.

    Without a bound, each agent follows with everything.
    """
    if agent:
        return [
            block
            for project in audited.projects
            for block in _agents([a for a in project.agents if a.name == agent], most)
        ]
    several = len(audited.projects) > 1
    shown = audited.projects[: most and min(most, _MOST_PROJECTS)]
    found: list[Block] = [Paragraph(_summary(each, briefly=several)) for each in shown]
    found += more(len(audited.projects) - len(shown), "projects")
    found += _findings(audited, most)
    found += _gaps(audited, most)
    found += _matrices(audited, most)
    if most is None:
        found += [block for project in audited.projects for block in _details(project)]
    if audited.unread:
        files = tuple(
            Item((Ink(file.path, "file"), f" ({file.what})")) for file in audited.unread[:most]
        )
        left = more(len(audited.unread) - len(files))
        found.append(Section("files that may set permissions and are not read", (*files, *left)))
    if missing := elsewhere(audited):
        found.append(Paragraph(missing, "dim"))
    if most is not None:
        found.append(Paragraph(_NEXT, "dim"))
    return found


_NEXT: Final = "more: `--agent NAME`, `--all`, `--format html`; `policy lint` shows lines and fixes"


def _summary(audited: ProjectAudit, *, briefly: bool) -> Text:
    project = audited.project
    built_in = sum(not a.place and a.name not in project.starts for a in audited.agents)
    roles = dict.fromkeys(file.path for file in project.files)
    return (
        Ink(project.profile, "strong"),
        f": {count(len(audited.agents) - built_in, 'agent')}",
        f" and {built_in} built in" if built_in else "",
        "; read ",
        count(len(roles), "file")
        if briefly or not roles
        else joined((Ink(path, "file") for path in roles), most=3),
    )


def elsewhere(audit: Audit) -> str:
    """Return a sentence about files elsewhere that also count; "" for none."""
    names_ = dict.fromkeys(each for one in audit.projects for each in one.project.elsewhere)
    return f"not read, and may allow or deny as well: {', '.join(names_)}" if names_ else ""


def _findings(audited: Audit, most: int | None) -> list[Block]:
    """Return the findings, errors first; with a bound one line for each code and message."""
    found = sorted(audited.findings, key=lambda one: _RANKS[one.severity])
    if not found:
        return []
    if most is None:
        return [Section(findings_summary(found), tuple(findings_blocks(found, None)))]
    alike: dict[str, list[Finding]] = {}
    for finding in found:
        alike.setdefault(finding.code, []).append(finding)
    rows = []
    for members in list(alike.values())[:most]:
        first = members[0]
        place = str(first.place) if first.span else first.file
        also = f" and {len(members) - 1:,} more" if len(members) > 1 else ""
        word = Ink(first.severity.value, first.severity.value)
        told = f"{also}  {first.message} [{first.code}]"
        rows.append(Item((word, "  ", Ink(place, "file"), told)))
    left = more(sum(map(len, list(alike.values())[most:])), "findings")
    suppressed = f"; {audited.suppressed:,} suppressed" if audited.suppressed else ""
    return [Section(findings_summary(found) + suppressed, (*rows, *left))]


def _matrices(audited: Audit, most: int | None) -> Iterator[Block]:
    """Yield the matrix of each project, one below the other in one table.

    Of several projects the agents of the files alone are shown, where there is a bound.
    """
    projects = audited.projects[: most and min(most, _MOST_PROJECTS)]
    several = len(audited.projects) > 1
    hosts = {project.project.host for project in audited.projects}
    heads: tuple[str, ...] = ()
    rows: list[tuple[Text, ...]] = []
    for each in projects:
        room = most and max(2 * most // len(projects), 1)
        found = matrix(each, room, built_in=most is None or not several)
        heads = found.heads
        if several and found.rows:
            project = each.project
            title = project.root if len(hosts) == 1 and project.root else project.title
            rows.append((Ink(title, "dim"), *[""] * (len(heads) - 1)))
        rows += found.rows
    if rows:
        marks = "+? more is asked for, ? all is, - denied or not available"
        title = f"what runs without confirmation ({marks})"
        left = more(len(audited.projects) - len(projects), "projects")
        yield Section(title, (Grid(heads, tuple(rows)), *left))
    agents = [agent for each in audited.projects for agent in each.agents]
    idle = [agent.name for agent in agents if not agent.enforced and not agent.attenuated]
    if idle:
        yield Paragraph(("no chain reaches ", names(idle, most and 2 * most, "agent")))
    if not all(project.exact for project in audited.projects):
        told = "not exact: there are more chains than are compared; further ones may differ"
        yield Paragraph(told, "warning")


def _details(audited: ProjectAudit) -> Iterator[Block]:
    """Yield who starts whom, and everything that each agent may do."""
    edges = [Edge("", name) for name in audited.project.starts]
    for agent in audited.agents:
        declared, real = map(set, agent.spawns)
        for name in dict.fromkeys((*agent.spawns[0], *agent.spawns[1])):
            only = "" if name in declared & real else "attenuated only"
            edges.append(Edge(agent.name, name, "enforced only" if name not in declared else only))
    if any(edge.parent for edge in edges):
        yield Section("who starts whom", (Graph(tuple(edges)),))
    yield from _agents(audited.agents, None)


def _agents(agents: Iterable[AgentAudit], most: int | None) -> Iterator[Block]:
    """Yield everything that agents may do; those with the same rights together."""
    groups: dict[Hashable, list[AgentAudit]] = {}
    for agent in agents:
        if agent.enforced or agent.attenuated:
            both = (tuple(access_of(agent)), tuple(access_of(agent, enforced=False)))
            key = (*both, agent.spawns, agent.bounds, agent.why)
            groups.setdefault(key, []).append(agent)
    for members in groups.values():
        first = members[0]
        place = str(first.place) if first.place else "built in"
        note = f"{len(members)} agents" if len(members) > 1 else place
        title = (names((m.name for m in members), most, "agent"), "  ", Ink(note, "file"))
        declared, real = access_of(first, enforced=False), access_of(first)
        body: list[Block] = [Labelled(tuple(_facts(first, most))), access_table(real, most)]
        other = [tool for tool in declared if tool not in real]
        if other:
            body.append(Section("declared otherwise", (access_table(other, most),)))
        yield Section(title, tuple(body), folded=True)


def _facts(agent: AgentAudit, most: int | None) -> Iterator[tuple[str, Text]]:
    chains = [position.chain for position in agent.enforced or agent.attenuated]
    yield "chain", joined((Ink(chain_text(chain)) for chain in chains), "; ", most)
    for number, chain in enumerate(agent.enforced[:1]):
        if chain.confirm and not number:
            yield "", f"once the start of {quoted(chain.confirm)} is confirmed"
    declared, real = agent.spawns
    if declared or real:
        yield "may start", names(real, most) if real else "no agent"
    if declared != real:
        yield "declared", names(declared, most) if declared else "no agent"
    bounds = agent.bounds
    limits = {"depth": bounds.depth, "turns": bounds.turns, "trust": bounds.trust}
    told = [f"{name} {value}" for name, value in limits.items() if value is not None]
    if told:
        yield "limits", ", ".join(told)
    if not agent.exact:
        yield "not exact", f"the two readings may differ in more: {'; '.join(agent.why)}"


# --- results and JSON ----------------------------------------------------------------------


def _results(audited: Audit, spans: _Spans) -> list[Result]:
    """Return the findings, and the gaps between host and files."""
    found = [Result(finding) for finding in audited.findings]
    for project in audited.projects:
        for kind, severity, groups in (
            ("escalation", Severity.ERROR, escalations(project.agents)),
            ("dead-rule", Severity.WARNING, dead_rules(project.agents)),
        ):
            for group in groups:
                declared, real = group.gaps[0].before, group.gaps[0].after
                calls = ", ".join(f"`{each.text}`" for each in group.calls)
                message = (
                    f"{quoted(group.agents)}: {calls} {VERBS[real.effect]} by the host,"
                    f" declared {VERBS[declared.effect]}"
                )
                span = next(iter(spans((*declared.because, *real.because)).values()), None)
                places = [a.place for a in project.agents if a.name in group.agents]
                file = next((place.file for place in places if place), "")
                found.append(result(kind, message, severity, span, file=file))
    return found


def as_json(audited: Audit) -> Object:
    """Return the JSON shape of an audit."""
    projects = [
        {
            "project": each.project.title,
            "host": each.project.host,
            "profile": each.project.profile,
            "root": each.project.root,
            "starts": list(each.project.starts),
            "agents": [_agent_json(agent) for agent in each.agents],
            "files": shape(each.project.files),
            "elsewhere": list(each.project.elsewhere),
            "exact": each.exact,
        }
        for each in audited.projects
    ]
    exact = all(project.exact for project in audited.projects)
    return {**shape(evolve(audited, projects=())), "projects": projects, "exact": exact}


def _agent_json(agent: AgentAudit) -> Object:
    """Return the JSON shape of an agent, what it may do and start by reading."""
    by_reading = {
        name: dict(zip(READINGS, shape(getattr(agent, name)), strict=True))
        for name in ("most", "spawns")
    }
    return {**shape(agent), **by_reading}
