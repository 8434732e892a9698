"""The audit of a workspace: text, JSON and Markdown."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from policy.analysis import catalogue
from policy.analysis.reach.audit import AgentAudit, Audit, AuditPosition, ProjectAudit, ReadingGap
from policy.analysis.reach.privileges import AtMost, Privilege
from policy.cli.report.as_json import (
    Object,
    because_json,
    difference_json,
    finding_json,
    place_json,
)
from policy.cli.report.findings import (
    EXPLAIN,
    FURTHER,
    counted,
    counted_lines,
    findings_lines,
    findings_summary,
    read_summary,
    unread_lines,
)
from policy.cli.report.privileges import (
    LABELS,
    MOST_LABELS,
    Most,
    MostRules,
    PositionSummary,
    Summary,
    mosts,
    position_summaries,
    rule_parts,
    summarise,
)
from policy.cli.report.text import (
    Ink,
    PageLayout,
    because_line,
    call_text,
    chain_text,
    code,
    count,
    explained,
    item,
    listed,
    prose,
    table,
)
from policy.core.decision import Because, Decision
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import visible
from policy.hosts.project import ReadFile
from policy.hosts.workspace import Unread

__all__ = [
    "GapGroup",
    "GapRow",
    "agent_blocks",
    "audit_json",
    "audit_markdown",
    "audit_summary",
    "audit_text",
    "dead_letters",
    "differences_lines",
    "elsewhere",
    "escalations",
    "gap_count",
    "privilege_json",
    "spawn_graph",
]


@attrs.frozen
class GapRow:
    """Calls with one effect where another is declared."""

    before: Effect
    after: Effect
    gaps: tuple[ReadingGap, ...]

    @property
    def enforced(self) -> Decision | None:
        """The decision of the host on all of them, where it is the same."""
        first = self.gaps[0].after
        said = {_why(gap.after) for gap in self.gaps}
        return first if len(said) == 1 else None


@attrs.frozen
class GapGroup:
    """Gaps of the same agents with the same declared decision.

    Attributes:
        agents: that make the calls.
        chain: of the first agent, a shortest one.
        declared: the declared decision.
        rows: the calls, by their effects.

    """

    agents: tuple[str, ...]
    chain: tuple[str, ...]
    declared: Decision
    rows: tuple[GapRow, ...]

    @property
    def size(self) -> int:
        """The number of calls."""
        return sum(len(row.gaps) for row in self.rows)

    def calls(self, row: GapRow) -> list[str]:
        """Return the calls of *row* as text: the name of a tool where its calls change alike."""
        effects = {(gap.tool, each.after) for each in self.rows for gap in each.gaps}
        outcomes = Counter(tool for tool, _ in effects)
        return list(
            dict.fromkeys(
                visible(gap.tool)
                if gap.whole and outcomes[gap.tool] == 1
                else call_text(gap.tool, gap.call)
                for gap in row.gaps
            )
        )


def escalations(agents: Iterable[AgentAudit]) -> list[GapGroup]:
    """Return what the host grants beyond what is declared; agents with equal gaps share a group."""
    return _groups(agents, lambda agent: agent.escalations)


def dead_letters(agents: Iterable[AgentAudit]) -> list[GapGroup]:
    """Return what the files grant and the host refuses; agents with equal gaps share a group."""
    return _groups(agents, lambda agent: agent.dead_letters)


def gap_count(groups: Iterable[GapGroup]) -> int:
    """Return the number of calls in *groups*, which is the number of gaps shown."""
    return sum(group.size for group in groups)


def _groups(
    agents: Iterable[AgentAudit], gaps_of: Callable[[AgentAudit], Iterable[ReadingGap]]
) -> list[GapGroup]:
    once: dict[object, list[tuple[str, ReadingGap]]] = {}
    for agent in agents:
        for gap in gaps_of(agent):
            key = (
                gap.tool,
                str(gap.call),
                gap.before.effect,
                gap.after.effect,
                _why(gap.before),
                tuple(because.rule for because in gap.after.because),
            )
            once.setdefault(key, []).append((agent.name, gap))
    groups: dict[object, list[list[tuple[str, ReadingGap]]]] = {}
    for members in once.values():
        who = tuple(name for name, _ in members)
        groups.setdefault((who, _why(members[0][1].before)), []).append(members)
    return [_group(each) for each in groups.values()]


def _group(gaps: list[list[tuple[str, ReadingGap]]]) -> GapGroup:
    shown = [members[0][1] for members in gaps]
    rows: dict[tuple[Effect, Effect], list[ReadingGap]] = {}
    for gap in shown:
        rows.setdefault((gap.before.effect, gap.after.effect), []).append(gap)
    return GapGroup(
        tuple(name for name, _ in gaps[0]),
        min((gap.chain for gap in shown), key=len),
        shown[0].before,
        tuple(GapRow(*effects, tuple(found)) for effects, found in sorted(rows.items())),
    )


def _why(decision: Decision) -> object:
    if decision.because:
        return tuple((because.rule, because.place) for because in decision.because)
    return explained(decision)


# --- text: where the host differs from its files -------------------------------------------


_MOST_GROUPS = 12
_MOST_AGENTS = 6
_MOST_RULES = 2
_MOST_CALLS = 12

_COLUMN = 15  # of the text behind the label of a line


def differences_lines(
    agents: Iterable[AgentAudit], page: PageLayout, *, everything: bool
) -> list[str]:
    """Return the escalations and dead letters of a project, those shared by agents once."""
    everyone = list(agents)
    lines: list[str] = []
    for title, style, told, found in (
        (
            "escalation",
            "error",
            "granted by the host beyond what is declared along the chain",
            escalations(everyone),
        ),
        (
            "dead letter",
            "warning",
            "said in the files and refused by the host",
            dead_letters(everyone),
        ),
    ):
        if not found:
            continue
        painted = page.paint(count(gap_count(found), title), style)
        lines += ["", *page.prose(told, f"  {painted}: ", indent=4)]
        most = len(found) if everything else _MOST_GROUPS
        for group in found[:most]:
            lines += _gap_lines(group, page, everything=everything)
        if left := gap_count(found[most:]):
            lines.append(page.paint(f"    … {left:,} more, shown with --all", "dim"))
    return lines


def _gap_lines(group: GapGroup, page: PageLayout, *, everything: bool) -> list[str]:
    pieces: list[str | Ink] = [Ink(" > ".join(map(visible, group.chain)), "bold")]
    others = [name for name in group.agents if name != group.chain[-1]]
    if others:
        shown = listed(others, None if everything else _MOST_AGENTS)
        pieces.append(f"(also {', '.join(shown)})")
    lines = page.flow(pieces, "    ", indent=6, separator=" ")
    for row in group.rows:
        effects = f"{row.before.value} -> {row.after.value}"
        head = "      " + page.paint(effects, row.after.value) + " " * (_COLUMN - len(effects))
        calls = listed(group.calls(row), None if everything else _MOST_CALLS)
        lines += page.flow(calls, head)
    lines += _reason("declared", group.declared, group.agents[0], page)
    alike = {row.enforced for row in group.rows}
    if len(alike) == 1 and (enforced := alike.pop()) is not None:
        return lines + _reason("enforced", enforced, group.agents[0], page)
    written = dict.fromkeys(
        because
        for row in group.rows
        for gap in row.gaps
        for because in gap.after.because
        if because.place is not None
    )
    return lines + _rules("enforced", list(written), page)


def _reason(title: str, decision: Decision, agent: str, page: PageLayout) -> list[str]:
    if not decision.because:
        return page.prose(explained(decision, agent), f"      {title:<{_COLUMN}}")
    return _rules(title, decision.because, page)


def _rules(title: str, rules: Sequence[Because], page: PageLayout) -> list[str]:
    lines: list[str] = []
    for because in rules[:_MOST_RULES]:
        lines += because_line(because, page, f"      {title:<{_COLUMN}}")
        title = ""
    if len(rules) > _MOST_RULES:
        lines[-1] += page.paint(f"  and {len(rules) - _MOST_RULES:,} more", "dim")
    return lines


# --- text: the spawn graph as a tree in which every agent is expanded once -----------------


_MOST_LINES = 40
_MOST_NAMES = 8
_FEW = 3


def spawn_graph(audited: ProjectAudit, page: PageLayout, *, everything: bool) -> list[str]:
    """Return the spawn graph of a project; nothing where no agent starts another."""
    if not any(any(agent.spawns) for agent in audited.agents):
        return []
    graph = _Graph(audited.project.starts, {agent.name: agent for agent in audited.agents})
    lines = _Drawing(graph, page, everything=everything).lines(4)
    if len(lines) > _MOST_LINES and not everything:
        more = f"    … {len(lines) - _MOST_LINES} more lines, shown with --all"
        lines = [*lines[:_MOST_LINES], page.paint(more, "dim")]
    return ["  " + page.paint("spawn graph", "bold"), *lines]


class _Graph:
    """Edges of both readings, and for each agent the parent below which it is expanded.

    The agents that start chains are below ``""``, which is no agent. An agent is expanded below
    the first agent that starts it on a shortest chain.
    """

    def __init__(self, starts: Sequence[str], agents: Mapping[str, AgentAudit]) -> None:
        self.agents = agents
        self.edges: dict[str, dict[str, str]] = {"": dict.fromkeys(starts, "")}
        for name, agent in agents.items():
            declared, real = map(set, agent.spawns)
            self.edges[name] = {
                target: _only(target in declared, target in real)
                for target in dict.fromkeys((*agent.spawns[0], *agent.spawns[1]))
            }
        self.targets = {name for edges in self.edges.values() for name in edges} - set(starts)
        self.parent: dict[str, str] = {}
        waiting = deque([""])
        while waiting:
            name = waiting.popleft()
            for target in self.edges.get(name, ()):
                if target not in self.parent:
                    self.parent[target] = name
                    waiting.append(target)

    def expanded(self, name: str) -> list[str]:
        """Return the agents that are expanded below *name*."""
        return [target for target in self.edges.get(name, ()) if self.parent[target] == name]

    def above(self, name: str) -> set[str]:
        """Return the ancestors of *name* in the tree."""
        found = set()
        while name := self.parent.get(name, ""):
            found.add(name)
        return found


def _only(declared: bool, real: bool) -> str:  # noqa: FBT001  # one question each
    return "" if declared and real else "attenuated only" if declared else "enforced only"


@attrs.frozen
class _Drawing:
    graph: _Graph
    page: PageLayout
    everything: bool = attrs.field(kw_only=True)

    def lines(self, indent: int) -> list[str]:
        """Return the lines below ``""``."""
        lines: list[str] = []
        waiting = [*reversed(self._below("", indent))]
        while waiting:
            alone, own, deeper = waiting.pop()
            lines += own
            if alone:
                waiting += reversed(self._below(alone, deeper))
        return lines

    def _below(self, name: str, indent: int) -> list[tuple[str, list[str], int]]:
        """Return the lines below *name*, each with the agent expanded below it and its indent.

        Agents with equal edges share a line, and no agent is expanded below it.
        """
        groups: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        for target in self.graph.expanded(name):
            note = self.graph.edges[name][target]
            alone = target if self.graph.expanded(target) else ""
            groups.setdefault((alone, note, tuple(self._back(target))), []).append(target)
        return [
            (alone, self._line(members, note, back, indent), indent + 2)
            for (alone, note, back), members in groups.items()
        ]

    def _back(self, name: str) -> list[str]:
        """Return the agents that *name* starts and that are expanded elsewhere."""
        edges = self.graph.edges.get(name, {})
        if len(edges) > _FEW and self.graph.targets == edges.keys():
            return [f"every agent here ({len(edges)})"]
        above = self.graph.above(name)
        back = []
        for target, note in edges.items():
            if self.graph.parent[target] == name:
                continue
            shown = "itself" if target == name else visible(target)
            marks = [*(["cycle"] if target in above else []), *([note] if note else [])]
            back.append(f"{shown} ({', '.join(marks)})" if marks else shown)
        return back

    def _line(self, members: list[str], note: str, back: Sequence[str], indent: int) -> list[str]:
        most = None if self.everything else _MOST_NAMES
        pieces: list[str | Ink] = [*listed(members, most)]
        if note:
            pieces[-1] = f"{pieces[-1]} ({note})"
        if back:
            pieces[-1] = f"{pieces[-1]} -> {back[0]}"
            pieces += listed(back[1:], most)
        return self.page.flow(pieces, " " * indent, indent=indent + 4)


# --- text: agents, in one block where they may do the same ---------------------------------


# The column of the text behind a label.
_LABEL_COLUMN = 15

_READING = 13  # the column for `attenuated` and `enforced`

# Names, rules and witnesses of a list that are shown without `--all`.
_MOST = 12

_FEW_NAMES = 3


@attrs.frozen
class _Group:
    """Agents with the same lines."""

    lines: tuple[str, ...]
    members: list[AgentAudit]


def agent_blocks(agents: Iterable[AgentAudit], page: PageLayout, *, everything: bool) -> list[str]:
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


def _heading(members: list[AgentAudit], page: PageLayout, *, everything: bool) -> list[str]:
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
    """The block of one agent, without its name."""

    def __init__(
        self, agent: AgentAudit, shown: str, names: set[str], page: PageLayout, *, everything: bool
    ) -> None:
        self.agent = agent
        self.shown = shown
        self.names = names
        self.page = page
        self.most = _most(everything)
        self.everything = everything
        self.told: frozenset[str] = frozenset()  # tools that need no further line

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
        """Return what the agent may do at most, where no single chain shows it."""
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
                lines += self.page.flow(
                    pieces, " " * (4 + _LABEL_COLUMN) + label + " ", separator=" "
                )
            if not self.everything:
                self.told |= most.tools
        return lines

    def _label(self, text: str, style: str = "") -> str:
        return "    " + self.page.paint(text, style) + " " * (_LABEL_COLUMN - len(text))

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
            return self.page.flow([Ink("no agent", "dim")], head)
        if len(agents) > _FEW_NAMES and set(agents) == self.names:
            return self.page.prose(f"every agent that can be started ({len(agents)})", head)
        return self.page.flow(listed(agents, self.most), head)


# --- text: the whole audit -----------------------------------------------------------------


_MOST_STARTS = 8
_MOST_FILES = 4


def audit_text(audit: Audit, page: PageLayout, *, everything: bool = False) -> str:
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
        lines += page.prose("files that may set permissions and are not read", style="bold")
        lines += [*unread_lines(audit.unread, page, everything=everything), ""]
    if missing := elsewhere(audit):
        lines += page.prose(missing, style="dim")
    lines += page.prose(audit_summary(audit))
    return "\n".join(lines) + "\n"


def elsewhere(audit: Audit) -> str:
    """Return a sentence about files elsewhere that also count; "" for none."""
    names = dict.fromkeys(each for one in audit.projects for each in one.project.elsewhere)
    return f"not read, and may allow or deny as well: {', '.join(names)}" if names else ""


def audit_summary(audit: Audit) -> str:
    """Return a summary on one line."""
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
        read_summary(len({f.path for p in audit.projects for f in p.project.files}), audit.rules),
    ]
    if audit.suppressed:
        parts.append(f"{audit.suppressed:,} suppressed")
    if audit.unread:
        parts.append(f"{count(len(audit.unread), 'file')} not read")
    if not all(project.exact for project in audit.projects):
        parts.append("not exact")
    return "; ".join(parts)


def _project(audited: ProjectAudit, page: PageLayout, *, everything: bool) -> list[str]:
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


def _files(files: tuple[ReadFile, ...], page: PageLayout, *, everything: bool) -> list[str]:
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


# --- JSON ----------------------------------------------------------------------------------


def audit_json(audit: Audit) -> Object:
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


# --- Markdown ------------------------------------------------------------------------------


_MOST_ROWS = 50


def audit_markdown(audit: Audit, *, everything: bool = False) -> str:
    """Return *audit* as a document."""
    most = None if everything else _MOST_ROWS
    lines = [f"# Audit of {code(audit.label)}", "", prose(audit_summary(audit)), ""]
    if missing := elsewhere(audit):
        lines += [missing, ""]
    for project in audit.projects:
        lines += _project_markdown(project)
    lines += _findings(audit.findings, most)
    lines += _further(audit.further)
    lines += _unread(audit.unread, most)
    return "\n".join(lines).rstrip() + "\n"


def _project_markdown(audited: ProjectAudit) -> list[str]:
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
        [code(agent.name), each.reading or "both", *_most_markdown(each)]
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


def _most_markdown(most: Most) -> list[str]:
    return ["<br>".join(map(_said, most.labelled(label))) for label in MOST_LABELS]


def _said(said: MostRules) -> str:
    by = f" (by {code(said.by)})" if said.by else ""
    return ", ".join(map(code, said.calls)) + by


def _rows(agent: AgentAudit) -> Iterable[list[str]]:
    """Yield the cells of each position, once where both readings agree."""
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
        also = f" (also {', '.join(others)})" if others else ""
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
    return ["## Files that are not read", "", *lines, *_more(len(unread), most)]


def _more(total: int, most: int | None) -> list[str]:
    return [] if most is None or total <= most else [item(f"and {total - most} more")]
