"""What holds for every agent of one project: rules of all scopes, folders, skills, agents.

`session` merges settings files into a `ClaudeSession`. Lists of all scopes are put together; of
modes that of the strongest scope counts: an administrator, flags, local, project, user (2.1.329,
documented and observed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Span
from policy.hosts.claude.agents import Definition
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.guarded import LINKED
from policy.hosts.claude.data.settings import ASKING_TOOLS, FENCES
from policy.hosts.claude.options import ClaudeOptions
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import RuleLine, RuleLines, RuleScope, read_rule
from policy.hosts.claude.settings import (
    OF_PROJECT,
    Settings,
    auto_allowing_sandbox,
    connected,
    invocable,
    is_ignored,
    kept_outside,
    left_out,
    offered,
    started,
    switched_off,
)
from policy.hosts.claude.skills import Skill
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.notations import names
from policy.patterns.pattern import PatternKind
from policy.patterns.tokens import folded
from policy.tables.ruleset import Entry

__all__ = [
    "ASIDES",
    "EDITING_MODES",
    "SCOPES",
    "TURN",
    "ClaudeSession",
    "child_mode",
    "is_judged_plan",
    "is_plan",
    "session",
]

# --- the rules of all settings files, file by file ------------------------------------


@values.define
class ScopeRules:
    """The rules of all scopes, which are added from the strongest on.

    Attributes:
        locked: whether the rules of an administrator are the only ones.
        lines: of every rule in force.
        findings: what is wrong with them.
        paths: the rules so far that allow files of some names, as they are written.
    """

    locked: bool
    lines: list[RuleLine] = values.field(factory=list)
    findings: list[Finding] = values.field(factory=list)
    paths: set[str] = values.field(factory=set)

    def add(
        self, file: Settings, anchors: Anchors, agents: frozenset[str], options: ClaudeOptions
    ) -> None:
        """Add the rules of a file, whose paths are relative to *anchors*."""
        scope = RuleScope(
            anchors,
            agents,
            flag=file.scope == "cli",
            aliases=options.aliases,
            servers=options.servers,
            configured=options.configured,
            beside=frozenset((rule.effect, rule.text) for rule in file.rules),
        )
        trusted = options.trusted or not needs_trust(file.scope, options)
        rules = [r for r in file.rules if not self.locked or _kept(file.scope, r.effect)]
        paths: set[str] = set()
        for rule in rules:
            found = read_rule(rule.text, rule.span, rule.effect, scope)
            self.findings += found.findings
            if rule.effect is Effect.ALLOW:
                if not trusted or rule.text in self.paths:
                    continue  # a path counts once, relative to the folder of the strongest scope
                paths.update([rule.text] if _is_path(found) else [])
            self.lines += found.lines
        self.paths |= paths


def _is_path(found: RuleLines) -> bool:
    """Return whether a rule applies to files of some names."""
    patterns = [line.entry.pattern for line in found.lines]
    return any(pattern is not None and pattern.kind is PatternKind.PATH for pattern in patterns)


def needs_trust(scope: str, options: ClaudeOptions) -> bool:
    """Return whether what a file of a scope allows counts where its folder is trusted only."""
    return scope == "project" or (scope == "local" and options.local_tracked)


def _kept(scope: str, effect: Effect) -> bool:
    return scope == "managed" or (scope == "cli" and effect is Effect.DENY)


# --- what skills allow and deny while they are active --------------------------------


def by_skills(
    skills: Mapping[str, Skill], scope: RuleScope, options: ClaudeOptions, *, locked: bool
) -> tuple[RuleLines, tuple[RuleLine, ...]]:
    """Return what the active skill says, with all that is wrong with any; and what all allow."""
    invoked = options.active_skill.removeprefix("/")
    active = skills.get(options.aliases.get(invoked, invoked))
    read = [(skill, _granted(skill, scope)) for skill in skills.values()]
    findings = [found for skill, lines in read for found in (*skill.findings, *lines.findings)]
    if locked:
        read = []
    granted = tuple(line for _, lines in read for line in lines.lines)
    allowed = (
        line
        for skill, lines in read
        if skill is active and not skill.forked
        for line in lines.lines
    )
    denied = RuleLines()
    if active is not None:
        denied = _denied(active, scope)
    return RuleLines((*allowed, *denied.lines), (*findings, *denied.findings)), granted


def _granted(skill: Skill, scope: RuleScope) -> RuleLines:
    """Return what *skill* allows while it is active: nothing where a star alone is in its list."""
    lines = RuleLines()
    if any(matcher.tool == "*" and matcher.specifier is None for matcher in skill.allowed.matchers):
        return lines
    for matcher in skill.allowed.matchers:
        # Empty parentheses are none in these lists.
        text = str(matcher).removesuffix("()")
        if matcher.tool == "Bash":
            cwd = scope.anchors.cwd
            text = text.replace("${CLAUDE_PROJECT_DIR}", cwd)
            if skill.folder:
                text = text.replace("${CLAUDE_SKILL_DIR}", f"{cwd}/{skill.folder}")
        lines += read_rule(text, matcher.span, Effect.ALLOW, scope)
    return lines


def _denied(skill: Skill, scope: RuleScope) -> RuleLines:
    """Return what *skill* denies while it is active.

    It is read as the flag that takes tools away, but those of the host stay, and their
    calls are denied.
    """
    lines = RuleLines()
    scope = values.evolve(scope, flag=True)
    for matcher in skill.disallowed.matchers:
        found = read_rule(str(matcher), matcher.span, Effect.DENY, scope)
        lines += RuleLines(tuple(map(_as_rule, found.lines)), found.findings)
    return lines


def _as_rule(line: RuleLine) -> RuleLine:
    if line.entry.tool.startswith("mcp__"):
        return line
    return values.evolve(line, entry=values.evolve(line.entry, reason=Reason.RULE))


# --- permission modes along a chain, as 2.1.329 was observed to hand them down --------

# Beside the modes that people write there are three that come about below others: the plan of an
# agent, in which no model judges, and a plan that denies what would be asked for. Once an agent
# plans, the agents that it starts plan; `dontAsk` below a plan stays a plan.

# Modes that edit files in working folders without asking.
EDITING_MODES: Final = frozenset({"acceptEdits", "auto"})

# An agent in one of these hands it down, whatever the definition of the other says.
_HANDED_DOWN: Final = frozenset({"acceptEdits", "auto", "bypassPermissions"})

_PLAN_OF_AGENT: Final = "plan of an agent"
# A plan -> the same where an agent said `dontAsk`.
_SILENT: Final = {"plan": "silent plan", _PLAN_OF_AGENT: "silent plan of an agent"}


def child_mode(parent: str, declared: str | None) -> str:
    """Return the mode of an agent that says *declared*, which one in the mode *parent* starts."""
    if parent in _HANDED_DOWN or declared in (None, "bypassPermissions"):
        return parent
    if is_plan(parent):
        return _SILENT.get(parent, parent) if declared == "dontAsk" else parent
    return _PLAN_OF_AGENT if declared == "plan" else declared


def is_plan(mode: str) -> bool:
    """Return whether edits and servers wait for a plan to be agreed to."""
    return mode in _SILENT or mode in _SILENT.values()


def is_judged_plan(mode: str) -> bool:
    """Return whether it is the plan of a session, in which a model judges where there is one."""
    return mode in ("plan", _SILENT["plan"])


def is_silent(mode: str) -> bool:
    """Return whether it denies what would be asked for."""
    return mode == "dontAsk" or mode in _SILENT.values()


def session_mode(
    settings: Iterable[Settings], options: ClaudeOptions, *, no_bypass: bool, no_auto: bool
) -> str:
    """Return the mode of a session.

    Args:
        settings: of every scope, the strongest first.
        options: how it is started.
        no_bypass: whether there is no ``bypassPermissions``, though a flag asks for it.
        no_auto: whether there is no ``auto``.

    """
    asked = options.mode or _said(settings)
    if asked == "bypassPermissions" and no_bypass:
        return "default"
    return "default" if asked == "manual" or (asked == "auto" and no_auto) else asked


def _said(settings: Iterable[Settings]) -> str:
    """Return the mode that the strongest file says, which a project may not say of some."""
    said = [(each.scope, each.mode) for each in settings if each.mode]
    scope, mode = said[0] if said else ("", "default")
    if not is_ignored(scope, mode):
        return mode or "default"
    # It counts if a file of another scope says it too, and nothing else does (2.1.329, observed).
    others = {other for scope, other in said if scope not in OF_PROJECT}
    return mode if mode in others else "default"


# --- the session ----------------------------------------------------------------------

# The main conversation in a turn in which every skill was invoked: it and the agents that it
# starts have what the skills allow.
TURN: Final = "main+skills"
# The main conversation on a machine with a sandbox in which commands are auto-allowed.
SANDBOX: Final = "main+sandbox"
ASIDES: Final = (TURN, SANDBOX)

# The strongest first.
SCOPES: Final = ("managed", "cli", "flag", "local", "project", "user")


@values.frozen(slots=False, eq=False)
class ClaudeSession:
    """One project with everything that decides calls in it.

    Attributes:
        options: how it is started.
        lines: of every rule in force.
        folders: the working folder and the additional ones, canonical.
        mode: the permission mode of the main conversation.
        agents: by name, built-in ones among them.
        main_agent: the agent that the session is started as, or "".
        skills: by name, commands among them.
        granted: lines of every rule that a skill allows while it is active.
        sandbox: where settings auto-allow commands in a sandbox; None where they do not.
        outside: entries for the commands that never run in one.
        tools: the built-in tools that are offered; None is all.
        no_auto: whether no agent may have its calls judged by a model.
        silent: whether what would be asked for is denied, in every mode.
        starts: whether the host starts at all, and all that it reads is known.
        fences: the folders that each fence of the settings keeps calls in, by its name there.
        findings: what is wrong with the rules.
        confined: whether this is what a sandbox lets run: all that does not leave it.
        guarded: whether the host guards files of its own; False only to compare rules.
    """

    options: ClaudeOptions
    lines: tuple[RuleLine, ...]
    folders: tuple[str, ...]
    mode: str
    agents: Mapping[str, Definition]
    main_agent: str
    skills: Mapping[str, Skill]
    granted: tuple[RuleLine, ...]
    sandbox: Span | None
    outside: tuple[Entry, ...]
    tools: frozenset[str] | None
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
        return self.options.home or "/@home"

    def asks_nobody(self, mode: str) -> bool:
        """Return whether what would be asked for in *mode* is denied."""
        return self.silent or is_silent(mode)

    @cached_property
    def removing(self) -> tuple[Entry, ...]:
        """What rules take away from every agent."""
        entries = (line.entry for line in self.lines)
        return tuple(entry for entry in entries if entry.reason is Reason.UNAVAILABLE)

    @cached_property
    def _removals(self) -> Automaton:
        tools = dict.fromkeys(entry.tool for entry in self.removing)
        return Automaton([names(tool).tokens for tool in tools])

    def is_removed(self, tool: str) -> bool:
        """Return whether a rule takes the tool away from every agent."""
        if self._removals.first(tool) == NO_MATCH:
            return False
        return tool != known.LAST or self._ends

    @cached_property
    def named(self) -> frozenset[str]:
        """The built-in tools that are offered, whatever rules take away."""
        return known.NAMES if self.tools is None else known.NAMES & self.tools

    @cached_property
    def offered(self) -> frozenset[str]:
        """The built-in tools that are offered, and that no rule takes away from every agent."""
        return frozenset(name for name in self.named if not self.is_removed(name))

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
    def asides(self) -> Mapping[str, ClaudeSession]:
        """The sessions that auto-allow more, by the name that chains there start with."""
        found = {}
        if self.granted:
            found[TURN] = values.evolve(self, lines=self.lines + self.granted, granted=())
        if self.sandbox is not None and not self.options.sandboxed:
            found[SANDBOX] = values.evolve(self, confined=True)
        return found

    @cached_property
    def cache(self) -> dict[object, object]:
        """What was compiled for it."""
        return {}


def session(
    options: ClaudeOptions,
    files: Iterable[Settings],
    agents: Mapping[str, Definition],
    skills: Mapping[str, Skill],
) -> ClaudeSession:
    """Return the session that the settings *files* of every scope describe."""
    settings = sorted(files, key=lambda each: SCOPES.index(each.scope))
    variables = {n: value for each in reversed(settings) for n, value in each.variables}
    agents, skills = offered(agents, variables), invocable(skills, settings)
    called = {skill.called: name for name, skill in skills.items() if skill.called}
    options = started(options, variables)
    options = values.evolve(options, aliases={**called, **options.aliases})
    ruled = _ruled_links(options)
    cwd, home = options.cwd or "/@project", options.home or "/@home"
    folders = _folders(settings, options, cwd, home)
    said = ScopeRules(any(each.managed_only for each in settings))
    for each in settings:
        source = _source(each.scope, options, cwd, home)
        said.add(each, Anchors(cwd, home, source, folders[1:], *ruled), frozenset(agents), options)
    scope = RuleScope(
        Anchors(cwd, home, cwd, folders[1:], *ruled),
        frozenset(agents),
        aliases=options.aliases,
        servers=options.servers,
    )
    active, granted = by_skills(skills, scope, options, locked=said.locked)
    no_bypass, no_auto = any(s.no_bypass for s in settings), any(s.no_auto for s in settings)
    silent = any(each.silent for each in settings)
    return ClaudeSession(
        options,
        lines=(
            *said.lines,
            *active.lines,
            *left_out(variables),
            *switched_off(settings),
            *_asking_tools(silent),
            *connected(options.servers),
        ),
        folders=folders,
        mode=session_mode(settings, options, no_bypass=no_bypass, no_auto=no_auto),
        agents=agents,
        main_agent=options.main_agent or next((s.agent for s in settings if s.agent), ""),
        skills=skills,
        granted=granted,
        sandbox=auto_allowing_sandbox(settings),
        outside=tuple(
            line.entry
            for rule in kept_outside(settings)
            for line in read_rule(rule.text, rule.span, rule.effect, scope).lines
            if line.entry.tool == "Bash"
        ),
        tools=next((frozenset(s.tools) for s in settings if s.tools is not None), None),
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


def _asking_tools(silent: bool) -> Iterator[RuleLine]:  # noqa: FBT001  # one question
    """Yield what takes away the tools that ask the user, where the user is never asked."""
    for tool in ASKING_TOOLS if silent else ():
        rule = f"{tool} (the user is never asked)"
        yield RuleLine(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


def _fences(
    settings: Sequence[Settings], options: ClaudeOptions, cwd: str, home: str
) -> Mapping[str, tuple[str, ...]]:
    on = {name for each in settings for name in each.fences}
    said = {name: [each for each in settings if each.scope in FENCES[name]] for name in sorted(on)}
    return {name: _folders(counted, options, cwd, home) for name, counted in said.items()}


_Links = tuple[tuple[str, str], ...]


def _ruled_links(options: ClaudeOptions) -> tuple[_Links, _Links]:
    """Return the links of the system that rules follow, and all that there are."""
    links = tuple((folded(k), folded(target)) for k, target in options.links.items())
    return tuple(link for link in links if link in LINKED.items()), links


def _folders(
    settings: Iterable[Settings], options: ClaudeOptions, cwd: str, home: str
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


def _source(scope: str, options: ClaudeOptions, cwd: str, home: str) -> str:
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
