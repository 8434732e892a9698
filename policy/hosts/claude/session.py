"""What holds for every agent of one project: scopes merged, folders, skills, agents.

Lists of all scopes are put together; of modes the one of the strongest scope
counts: an administrator, flags, local, project, user (2.1.329, documented and
observed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import attrs

from policy.calls import slashed_path
from policy.decision import Reason
from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.claude.agents import Definition
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.links import LINKED, OF_SYSTEMS
from policy.hosts.claude.data.settings import ASKING_TOOLS, FENCES, READS_INSIDE
from policy.hosts.claude.invoked import by_skills
from policy.hosts.claude.lines import Line, Scope
from policy.hosts.claude.modes import is_silent, session_mode
from policy.hosts.claude.options import Options
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import read_rule
from policy.hosts.claude.said import Said, needs_trust
from policy.hosts.claude.sandbox import kept_outside, runs_unasked
from policy.hosts.claude.settings import Settings
from policy.hosts.claude.skills import Skill
from policy.hosts.claude.switches import connected, heard, invocable, switched_off
from policy.hosts.claude.variables import left_out, offered, started
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.folding import folded
from policy.patterns.notations import names
from policy.ruleset import Entry
from policy.source import Span

__all__ = ["ASIDES", "SANDBOX", "SCOPES", "TURN", "Session", "session"]

# The main conversation in a turn in which every skill was invoked: it and whoever it starts
# have what the skills allow.
TURN: Final = "main+skills"
# The main conversation on a machine that has a sandbox, where commands run unasked in one.
SANDBOX: Final = "main+sandbox"
ASIDES: Final = (TURN, SANDBOX)

# The strongest first.
SCOPES: Final = ("managed", "cli", "flag", "local", "project", "user")

_SCOPES_OF_ANYONE: Final = frozenset({"user", "project", "local", "flag"})


@attrs.frozen(slots=False, eq=False)
class Session:
    """One project with everything that decides calls in it.

    Attributes:
        options: how it is started.
        lines: of every rule in force, but for those in *reopened*.
        reopened: of rules that negations open in part, a list of its own for each.
        folders: the working folder and the additional ones, canonical.
        mode: the permission mode of the main conversation.
        agents: by name, built-in ones among them.
        main_agent: the agent that the session is started as, or "".
        skills: by name, commands among them.
        granted: lines of every rule that a skill allows while it is active.
        sandbox: what lets commands run unasked on a machine that has a sandbox; None where
            nothing does.
        outside: what is asked of commands that never run in one.
        tools: the built-in tools that are offered; None is all.
        no_bypass: whether no agent may go without permissions.
        no_auto: whether no agent may have its calls judged by a model.
        silent: whether nobody is asked, in any mode.
        starts: whether the host starts at all, and all that it reads is known.
        fences: what is kept in working folders, by the names that settings have for it, and
            the folders that it is kept in.
        findings: what is wrong with the rules.
        confined: whether this is what a sandbox lets run: all that does not leave it.
        guarded: whether the host guards files of its own; False only to compare rules.
    """

    options: Options
    lines: tuple[Line, ...]
    reopened: tuple[tuple[Entry, ...], ...]
    folders: tuple[str, ...]
    mode: str
    agents: Mapping[str, Definition]
    main_agent: str
    skills: Mapping[str, Skill]
    granted: tuple[Line, ...]
    sandbox: Span | None
    outside: tuple[Entry, ...]
    tools: frozenset[str] | None
    no_bypass: bool
    no_auto: bool
    silent: bool
    starts: bool
    fences: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...]
    confined: bool = False
    guarded: bool = True

    @property
    def cwd(self) -> str:
        """The working folder."""
        return self.folders[0]

    @property
    def home(self) -> str:
        """The home folder."""
        home = self.options.home or "/@home"
        return slashed_path(home) if self.options.os == "windows" else home

    def asks_nobody(self, mode: str) -> bool:
        """Return whether what would be asked for in *mode* is denied."""
        return self.silent or is_silent(mode)

    @cached_property
    def _removals(self) -> Automaton:
        removing = (line.entry for line in self.lines if line.entry.reason is Reason.UNAVAILABLE)
        tools = dict.fromkeys(entry.tool for entry in removing)
        return Automaton([names(tool).tokens for tool in tools])

    def is_removed(self, tool: str) -> bool:
        """Return whether a rule takes the tool away from every agent."""
        if self._removals.first(tool) == NO_MATCH:
            return False
        return tool != known.LAST or self._ends

    @cached_property
    def offered(self) -> frozenset[str]:
        """The built-in tools that are offered, and that no rule takes away from every agent."""
        names = known.NAMES if self.tools is None else known.NAMES & self.tools
        return frozenset(name for name in names if not self.is_removed(name))

    @cached_property
    def enters(self) -> frozenset[Effect]:
        """What rules say of folders that the user enters, if there are such rules."""
        return frozenset(e.entry.effect for e in self.lines if e.entry.tool == known.ENTER)

    @cached_property
    def _ends(self) -> bool:
        others = known.NAMES - {known.LAST}
        named = (line.entry for line in self.lines if line.entry.tool == known.LAST)
        return all(map(self.is_removed, others)) and not any(
            entry.effect is Effect.ALLOW for entry in named
        )

    @cached_property
    def asides(self) -> Mapping[str, Session]:
        """The same where more runs unasked, by the name that chains there start with."""
        found = {}
        if self.granted:
            found[TURN] = attrs.evolve(self, lines=self.lines + self.granted, granted=())
        if self.sandbox is not None and not self.options.sandboxed:
            found[SANDBOX] = attrs.evolve(self, confined=True)
        return found

    @cached_property
    def cache(self) -> dict[object, object]:
        """What was compiled for it."""
        return {}


def session(
    options: Options,
    files: Iterable[Settings],
    agents: Mapping[str, Definition],
    skills: Mapping[str, Skill],
) -> Session:
    """Return what the settings *files* of every scope come to."""
    settings = sorted(files, key=lambda each: SCOPES.index(each.scope))
    variables = {n: value for each in reversed(settings) for n, value in each.variables}
    options, agents = started(options, variables), offered(agents, variables)
    skills = invocable(skills, settings)
    called = {skill.called: name for name, skill in skills.items() if skill.called}
    if called:
        options = attrs.evolve(options, aliases={**called, **options.aliases})
    options = attrs.evolve(options, hooks=heard(options.hooks, settings))
    options = attrs.evolve(options, links={**OF_SYSTEMS.get(options.os, {}), **options.links})
    ruled = _ruled_links(options)
    cwd, home = _placed(options)
    folders = _folders(settings, options, cwd, home)
    said = Said(any(each.managed_only for each in settings))
    for each in settings:
        source = _source(each.scope, options, cwd, home)
        said.add(each, Anchors(cwd, home, source, folders[1:], *ruled), frozenset(agents), options)
    scope = Scope(
        Anchors(cwd, home, cwd, folders[1:], *ruled),
        frozenset(agents),
        behaves=options.behaves,
        aliases=options.aliases,
        servers=options.servers,
    )
    active, granted = by_skills(skills, scope, options, locked=said.locked)
    no_bypass, no_auto = any(s.no_bypass for s in settings), any(s.no_auto for s in settings)
    silent = any(each.silent for each in settings)
    return Session(
        options,
        lines=(
            *said.lines,
            *(_of_workspace(said.lines) if options.cowork else ()),
            *active.lines,
            *left_out(variables),
            *switched_off(settings),
            *_unasking(silent),
            *connected(options.servers),
        ),
        reopened=tuple(said.reopened),
        folders=folders,
        mode=session_mode(settings, options, no_bypass=no_bypass, no_auto=no_auto),
        agents=agents,
        main_agent=options.main_agent or next((s.agent for s in settings if s.agent), ""),
        skills=skills,
        granted=granted,
        sandbox=runs_unasked(settings) if options.os != "windows" else None,
        outside=tuple(
            line.entry
            for rule in kept_outside(settings)
            for line in read_rule(rule.text, rule.span, rule.effect, scope).lines
            if line.entry.tool == "Bash"
        ),
        tools=next((frozenset(s.tools) for s in settings if s.tools is not None), None),
        no_bypass=no_bypass,
        no_auto=no_auto,
        silent=silent,
        starts=not any(s.unknown or (s.unreadable and s.scope == "managed") for s in settings),
        fences=_fences(settings, options, cwd, home),
        findings=(
            *(finding for each in settings for finding in each.findings),
            *said.findings,
            *active.findings,
        ),
    )


def _of_workspace(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield what rules that take tools away say of the server that does the same."""
    for line in lines:
        other = known.OF_WORKSPACE.get(line.entry.tool)
        if other is not None and line.entry.reason is Reason.UNAVAILABLE:
            yield attrs.evolve(line, entry=attrs.evolve(line.entry, tool=other))


def _unasking(silent: bool) -> Iterator[Line]:  # noqa: FBT001  # one question
    """Yield what takes away the tools that ask, where nobody is asked."""
    for tool in ASKING_TOOLS if silent else ():
        rule = f"{tool} (nobody is asked)"
        yield Line(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


def _fences(
    settings: Sequence[Settings], options: Options, cwd: str, home: str
) -> Mapping[str, tuple[str, ...]]:
    on = {name for each in settings for name in each.fences}
    if not options.behaves.reads_kept_inside:
        on.discard(READS_INSIDE)
    said = {name: [each for each in settings if each.scope in FENCES[name]] for name in sorted(on)}
    return {name: _folders(counted, options, cwd, home) for name, counted in said.items()}


_Links = tuple[tuple[str, str], ...]


def _ruled_links(options: Options) -> tuple[_Links, _Links]:
    """Return the links of the system that rules look through, and all that there are."""
    if not options.behaves.links_ruled:
        return (), ()
    links = tuple((folded(k), folded(target)) for k, target in options.links.items())
    return tuple(link for link in links if link in LINKED.items()), links


def _placed(options: Options) -> tuple[str, str]:
    """Return the working folder and the home folder, canonical."""
    cwd, home = options.cwd or "/@project", options.home or "/@home"
    return (slashed_path(cwd), slashed_path(home)) if options.os == "windows" else (cwd, home)


def _folders(
    settings: Iterable[Settings], options: Options, cwd: str, home: str
) -> tuple[str, ...]:
    """Return the working folder, and the additional ones of every file that is trusted."""
    others = (
        _folder(name.strip(), cwd, home)
        for each in settings
        if options.trusted or not needs_trust(each.scope, options)
        for name in each.folders
        if not name.strip().startswith("//")  # a folder of another machine is none
    )
    return tuple(dict.fromkeys((cwd, *others)))


def _source(scope: str, options: Options, cwd: str, home: str) -> str:
    if scope == "user":
        return home + "/.claude"
    return options.flag_folder or cwd if scope == "flag" else cwd


def _folder(name: str, cwd: str, home: str) -> str:
    if name == "~" or name.startswith("~/"):
        name = home + name[1:]
    elif not name.startswith("/"):
        name = f"{cwd}/{name}"
    segments: list[str] = []
    for segment in name.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/" + "/".join(segments)
