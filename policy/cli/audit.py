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
    AuditPosition,
    ProjectAudit,
    ReadingGap,
    audit,
)
from policy.analysis.reach.privileges import AtMost, Privilege
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
from policy.cli.report.as_json import (
    Object,
    because_json,
    difference_json,
    finding_json,
    place_json,
)
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
from policy.cli.report.results import Result, of_finding, path_prefix
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
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import visible
from policy.core.values import evolve, frozen
from policy.files.opening import is_unreadable
from policy.hosts.workspace import Workspace
from policy.language.mistakes import closest
from policy.tables.chain import Chain, SpawnDenied

__all__ = ["GapGroup", "blocks", "elsewhere", "escalations", "run", "shape"]


# Rules of a project that an audit checks for an effect; lint checks all of them.
_MOST_TRIED: Final = 1000

# Internal errors that are reported one by one; further ones tend to be the same.
_MOST_REPORTS = 3

# Entries of a list on the first screen, and cells of agents that share a row.
_MOST = 6
_MOST_MERGED = 2

_MOST_PROJECTS = 4  # on lines of their own

_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the audit, and return the exit status."""
    found = load_here(options.path, console.progress, Hosts.of(options), every=True)
    audited = _with_lint(_audit(found.workspace, console), found, console)
    report = Report(
        f"Audit of `{audited.label}`",
        partial(shape, audited),
        partial(blocks, audited, agent=options.agent),
        _MOST,
        lambda: _results(audited),
        path_prefix(found.tree),
        all(project.exact for project in audited.projects),
    )
    if options.agent:
        _check_agent(audited, options.agent)
    publish(report, options, console)
    if any(map(is_unreadable, audited.findings)):
        return 2
    return int(_fails(audited, options.fail_on))


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
        message = "there may be more findings: an internal error"
        problem = Finding("internal-error", message, Severity.ERROR, file=audited.label)
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
            message = "this project could not be audited: an internal error"
            problems.append(Finding("internal-error", message, Severity.ERROR, file=project.title))
    return Audit(
        workspace.label, tuple(projects), (*problems, *workspace.findings), workspace.unread
    )


# --- where the host differs from its files -------------------------------------------------


@frozen
class GapGroup:
    """Gaps of the same agents with the same effects and the same declared decision.

    Attributes:
        agents: that make the calls.
        gaps: one of each call.
        mixed: tools of which other calls get another effect.
        note: in front of the reason, where there are several.

    """

    agents: tuple[str, ...]
    gaps: tuple[ReadingGap, ...]
    mixed: frozenset[str] = frozenset()
    note: str = ""

    @property
    def calls(self) -> list[Ink]:
        """The calls; a tool by its name where all its calls change alike."""
        whole = {gap.tool for gap in self.gaps if gap.whole} - self.mixed
        shown = (call(gap.tool, {} if gap.tool in whole else gap.call) for gap in self.gaps)
        return list(dict.fromkeys(shown))


def escalations(agents: Iterable[AgentAudit]) -> list[GapGroup]:
    """Return what the host grants beyond what is declared; agents with equal gaps share a group."""
    return _groups(agents, lambda agent: agent.escalations)


def dead_rules(agents: Iterable[AgentAudit]) -> list[GapGroup]:
    """Return what the files grant and the host refuses; agents with equal gaps share a group."""
    return _groups(agents, lambda agent: agent.dead_letters)


def _groups(
    agents: Iterable[AgentAudit], gaps_of: Callable[[AgentAudit], Iterable[ReadingGap]]
) -> list[GapGroup]:
    once: dict[Hashable, list[tuple[str, ReadingGap]]] = {}
    for agent in agents:
        for gap in gaps_of(agent):
            found = (gap.tool, str(gap.call), gap.before.effect, gap.after.effect, _why(gap.before))
            once.setdefault(found, []).append((agent.name, gap))
    groups: dict[tuple[tuple[str, ...], Hashable], list[ReadingGap]] = {}
    effects: dict[Hashable, set[Effect]] = {}
    for members in once.values():
        gap = members[0][1]
        who = tuple(name for name, _ in members)
        key = (who, (gap.before.effect, gap.after.effect, _why(gap.before)))
        groups.setdefault(key, []).append(gap)
        effects.setdefault((who, gap.tool), set()).add(gap.after.effect)
    return [
        GapGroup(
            who,
            tuple(gaps),
            frozenset(gap.tool for gap in gaps if len(effects[who, gap.tool]) > 1),
        )
        for (who, _), gaps in groups.items()
    ]


def _why(decision: Decision) -> Hashable:
    return tuple((one.rule, one.place) for one in decision.because) or explained(decision)


def _gap_items(audited: ProjectAudit, most: int | None) -> Iterator[Block]:
    """Yield a sentence for each group of gaps, escalations first.

    With a bound, one for all gaps with the same two effects.
    """
    for group in _shown(escalations(audited.agents), most):
        declared, real = group.gaps[0].before, group.gaps[0].after
        by_host = f" {VERBS[real.effect]} by the host, declared {VERBS[declared.effect]}"
        yield Item(
            (
                Ink("escalation", "error"),
                "  ",
                names(group.agents, most and 3, "agent"),
                ": ",
                joined(group.calls, most=most and 4),
                by_host,
                f", {group.note}" if group.note else ": ",
                because_text(declared, group.agents[0], 1),
            )
        )
    for group in _shown(dead_rules(audited.agents), most):
        declared, real = group.gaps[0].before, group.gaps[0].after
        yield Item(
            (
                Ink("dead rule", "warning"),
                "  ",
                joined(map(rule, declared.because), "; ", most and 2),
                ": the host has ",
                joined(group.calls, most=most and 4),
                f" {VERBS[real.effect]} for ",
                names(group.agents, most and 3, "agent"),
                f", {group.note}" if group.note else ": ",
                because_text(real, group.agents[0], 1),
            )
        )


def _shown(groups: list[GapGroup], most: int | None) -> list[GapGroup]:
    """Return *groups*; with a bound, those with the same two effects as one."""
    if most is None:
        return groups
    alike: dict[Hashable, list[GapGroup]] = {}
    for group in groups:
        gap = group.gaps[0]
        alike.setdefault((gap.before.effect, gap.after.effect), []).append(group)
    return [
        GapGroup(
            tuple(dict.fromkeys(name for group in members for name in group.agents)),
            tuple(gap for group in members for gap in group.gaps),
            frozenset[str]().union(*(group.mixed for group in members)),
            "e.g. " if len(members) > 1 else "",
        )
        for members in alike.values()
    ]


# --- the matrix of agents and classes of tools ---------------------------------------------


def matrix(audited: ProjectAudit, *, built_in: bool = True) -> Grid:
    """Return what agents do without confirmation: a row for agents with equal rights.

    Args:
        audited: the project.
        built_in: whether the agents of the host have a row.

    """
    project = audited.project
    reached = [agent for agent in audited.agents if agent.enforced]
    startable = {name for agent in reached for name in agent.spawns[1]}
    cells = {agent.name: _cells(audited, agent, startable) for agent in reached}
    own = [agent for agent in reached if agent.place or agent.name in project.starts]
    others = [agent for agent in reached if agent not in own] if built_in else []
    rows: dict[tuple[Text, ...], list[str]] = {}
    for agent in own:
        rows.setdefault(cells[agent.name], []).append(agent.name)
    shown: list[tuple[Text, ...]] = [
        (names(members, 4, "agent"), *row) for row, members in rows.items()
    ]
    if others:
        first = cells[own[0].name] if own else ()
        columns = zip(*(cells[agent.name] for agent in others), strict=True)
        merged = [
            _merged(column, first[number] if first else None, own[0].name if own else "")
            for number, column in enumerate(columns)
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
    shown = audited.projects[: most and _MOST_PROJECTS]
    found: list[Block] = [Paragraph(_summary(each, briefly=several)) for each in shown]
    found += more(len(audited.projects) - len(shown), "projects")
    found += _findings(audited, most)
    gaps = [item for project in audited.projects for item in _gap_items(project, most)]
    found += [Section("host and files disagree", tuple(gaps))] if gaps else []
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
    several = len(audited.projects) > 1
    heads: tuple[str, ...] = ()
    rows: list[tuple[Text, ...]] = []
    idle: list[str] = []
    for project in audited.projects[:most]:
        found = matrix(project, built_in=most is None or not several)
        heads = found.heads
        if several and found.rows:
            rows.append((Ink(project.project.title, "dim"), *[""] * (len(heads) - 1)))
        rows += found.rows
        idle += [a.name for a in project.agents if not a.enforced and not a.attenuated]
    left = more(len(audited.projects) - len(audited.projects[:most]), "projects")
    if rows:
        marks = "+? more is asked for, ? all is, - denied or not available"
        title = f"what runs without confirmation ({marks})"
        yield Section(title, (Grid(heads, tuple(rows)), *left))
    if idle:
        yield Paragraph(("no chain reaches ", names(idle, 12, "agent")))
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


def _results(audited: Audit) -> list[Result]:
    """Return the findings, and the gaps between host and files."""
    found = [of_finding(finding) for finding in audited.findings]
    for project in audited.projects:
        for code, level, groups in (
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
                places = [one.place for one in (*declared.because, *real.because)]
                places += [a.place for a in project.agents if a.name in group.agents]
                place = next(filter(None, places), None)
                title = _TITLES[code]
                found.append(Result(code, level, visible(message), place=place, title=title))
    return found


_TITLES: Final = {
    "escalation": "The host grants more than its files declare",
    "dead-rule": "The host refuses what a rule grants",
}


def shape(audit: Audit) -> Object:
    """Return the audit of a workspace."""
    return {
        "label": audit.label,
        "projects": [_project_json(project) for project in audit.projects],
        "findings": [finding_json(finding) for finding in audit.findings],
        "suppressed": audit.suppressed,
        "explain": "policy rule CODE",
        "unread": [{"path": file.path, "what": file.what} for file in audit.unread],
        "exact": all(project.exact for project in audit.projects),
    }


def _project_json(audited: ProjectAudit) -> Object:
    project = audited.project
    return {
        "project": project.title,
        "host": project.host,
        "profile": project.profile,
        "root": project.root,
        "starts": list(project.starts),
        "agents": [_agent(agent) for agent in audited.agents],
        "files": [
            {"path": file.path, "role": file.role, "assumed": file.assumed or None}
            for file in project.files
        ],
        "elsewhere": list(project.elsewhere),
        "exact": audited.exact,
    }


def _agent(agent: AgentAudit) -> Object:
    return {
        "agent": agent.name,
        **place_json(agent.place),
        "attenuated": [_position(position) for position in agent.attenuated],
        "enforced": [_position(position) for position in agent.enforced],
        "at_most": {
            reading: [_most_json(each, positions) for each in most]
            for reading, most, positions in zip(
                ("attenuated", "enforced"),
                agent.most,
                (agent.attenuated, agent.enforced),
                strict=True,
            )
        },
        "escalations": [_gap(one) for one in agent.escalations],
        "dead_letters": [_gap(one) for one in agent.dead_letters],
        "spawns": {"attenuated": list(agent.spawns[0]), "enforced": list(agent.spawns[1])},
        "bounds": {
            "depth": agent.bounds.depth,
            "turns": agent.bounds.turns,
            "trust": agent.bounds.trust,
        },
        "exact": agent.exact,
        "why": list(agent.why),
    }


def _most_json(most: AtMost, positions: tuple[AuditPosition, ...]) -> Object:
    """Return what a tool may do at most; a chain that is not shown is None."""
    return {
        "tool": most.tool,
        **({"glob": most.glob} if most.glob else {}),
        "grants": [
            {
                "effect": grant.effect.value,
                "rule": grant.rule or None,
                "reason": grant.reason.value if grant.reason else None,
                "chain": list(positions[grant.position].chain)
                if grant.position < len(positions)
                else None,
            }
            for grant in most.grants
        ],
        "exact": not most.why,
        "why": list(most.why),
    }


def _gap(gap: ReadingGap) -> Object:
    return {"chain": list(gap.chain), **difference_json(gap)}


def _position(position: AuditPosition) -> Object:
    return {
        "chain": list(position.chain),
        "confirm": list(position.confirm),
        "privileges": [privilege_json(privilege) for privilege in position.privileges],
    }


def privilege_json(privilege: Privilege) -> Object:
    """Return the privilege of one tool."""
    answer: Object = {
        "tool": privilege.tool,
        "effect": privilege.effect.value if privilege.effect else None,
        "reason": privilege.reason.value if privilege.reason else None,
        "rules": because_json(privilege.rules),
        "otherwise": privilege.otherwise.value if privilege.otherwise else None,
    }
    if privilege.glob:
        answer["glob"] = privilege.glob
    if privilege.layers:
        answer["layers"] = [
            {
                "links": list(layer.links),
                "rules": because_json(layer.rules),
                "otherwise": layer.otherwise.value if layer.otherwise else None,
            }
            for layer in privilege.layers
        ]
    return answer
