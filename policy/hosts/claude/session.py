"""What holds for every agent of one project: rules of all scopes, folders, skills, agents.

Lists of all scopes are put together. Of modes, switches and variables the strongest scope counts:
administrator, flags, local, project, user (2.1.329, documented and observed).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from policy.core import expressions as re
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.source import Span
from policy.hosts.claude.agents import Definition
from policy.hosts.claude.data import settings as keys
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.guarded import LINKED
from policy.hosts.claude.options import ClaudeOptions
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import RuleLine, RuleLines, RuleScope, read_rule
from policy.hosts.claude.settings import OF_PROJECT, Settings, is_ignored
from policy.hosts.claude.skills import Skill
from policy.hosts.fields import DeclaredTools, Presence
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.notations import names
from policy.patterns.pattern import PatternKind
from policy.patterns.tokens import folded
from policy.tables.ruleset import Entry

_T = TypeVar("_T")


def _rules(settings: Sequence[Settings], scope: RuleScope, options: ClaudeOptions) -> RuleLines:
    # The folders that paths with one slash are relative to.
    sources = {"user": options.home + "/.claude", "flag": options.flag_folder or options.cwd}
    locked = any(each.managed_only for each in settings)
    lines: list[RuleLine] = []
    findings: list[Finding] = []
    earlier: frozenset[str] = frozenset()
    for file in settings:
        source, is_flag = sources.get(file.scope, options.cwd), file.scope == "cli"
        of_file = values.evolve(
            scope,
            anchors=values.evolve(scope.anchors, source=source),
            flag=is_flag,
            file_rules=frozenset((rule.effect, rule.text) for rule in file.rules),
        )
        trusted = _is_trusted(file.scope, options)
        paths = set(earlier)
        for rule in file.rules:
            is_kept = file.scope == "managed" or (is_flag and rule.effect is Effect.DENY)
            if locked and not is_kept:
                continue  # an administrator wants no others
            read = read_rule(rule.text, rule.span, rule.effect, of_file)
            findings += read.findings
            if rule.effect is Effect.ALLOW:
                if not trusted or rule.text in earlier:
                    continue  # a path counts once, relative to the folder of the strongest scope
                patterns = (line.entry.pattern for line in read.lines)
                if any(each and each.kind is PatternKind.PATH for each in patterns):
                    paths.add(rule.text)
            lines += read.lines
        earlier = frozenset(paths)
    return RuleLines(tuple(lines), tuple(findings))


def _is_trusted(scope: str, options: ClaudeOptions) -> bool:
    """Return whether what a file of a scope allows counts."""
    of_project = scope == "project" or (scope == "local" and options.local_tracked)
    return options.trusted or not of_project


# The `env` of a project counts, trusted or not, before what the host was started with (2.1.329,
# observed).
_LEVELS: Final = re.compile(r"\s*0*([1-9][0-9]*)\s*", re.ASCII)
# Every level is followed: agents on this one start no others here.
_MOST_LEVELS: Final = 20


def _is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").strip().lower() in keys.ON


def _without(tools: Iterable[str], why: str) -> Iterator[RuleLine]:
    for tool in tools:
        rule = f"{tool} ({why})"
        yield RuleLine(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


def _switched_off(
    settings: Sequence[Settings], variables: Mapping[str, str], options: ClaudeOptions
) -> Iterator[RuleLine]:
    """Yield the lines that take away the tools that are switched off."""
    for key, (off, tools) in keys.TOOLS_OFF.items():
        switches = (each.keys.get(key) for each in settings)
        if next((value for value in switches if isinstance(value, bool)), None) is off:
            yield from _without(tools, f"off by {key}")
    for name, tools in keys.TOOLS_OFF_VARIABLE.items():
        if _is_on(variables, name):
            yield from _without(tools, f"off by {name}")
    if any(each.silent for each in settings):
        yield from _without(["AskUserQuestion"], "the user is never asked")
    if options.servers is not None:
        # The tool is there as long as a server is not connected (2.1.329, observed), and what
        # such a server offers is not known.
        yield from _without([known.WAITING], "no server is waited for")


def _invocable(skills: Mapping[str, Skill], settings: Sequence[Settings]) -> dict[str, Skill]:
    """Return *skills* as settings override them: one that is ``off`` allows nothing either."""
    found = dict(skills)
    for name, word in _strongest([each.overrides for each in settings]).items():
        if name in found and word in ("off", "user-invocable-only"):
            allowed = DeclaredTools(Presence.ABSENT) if word == "off" else found[name].allowed
            found[name] = values.evolve(found[name], typed=True, allowed=allowed)
    return found


def _strongest(mappings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return each name with its value in the first of *mappings* that has it."""
    return {name: value for each in reversed(mappings) for name, value in each.items()}


def _skill_lines(
    skills: Mapping[str, Skill], scope: RuleScope, options: ClaudeOptions, *, locked: bool
) -> tuple[RuleLines, tuple[RuleLine, ...]]:
    """Return the lines of the active skill, the findings of all, and the lines that all allow."""
    invoked = options.active_skill.removeprefix("/")
    active = skills.get(options.aliases.get(invoked, invoked))
    lines: list[RuleLine] = []
    granted: list[RuleLine] = []
    findings: list[Finding] = []
    for skill in skills.values():
        allowed = _granted(skill, scope)
        findings += (*skill.findings, *allowed.findings)
        if not locked:
            granted += allowed.lines
            lines += allowed.lines if skill is active and not skill.forked else ()
    # It denies as the flag does that takes tools away, but those of the host stay.
    of_flag = values.evolve(scope, flag=True)
    for matcher in () if active is None else active.disallowed.matchers:
        denied = read_rule(str(matcher), matcher.span, Effect.DENY, of_flag)
        findings += denied.findings
        for line in denied.lines:
            of_server = line.entry.tool.startswith("mcp__")
            entry = line.entry if of_server else values.evolve(line.entry, reason=Reason.RULE)
            lines.append(values.evolve(line, entry=entry))
    return RuleLines(tuple(lines), tuple(findings)), tuple(granted)


def _granted(skill: Skill, scope: RuleScope) -> RuleLines:
    """Return what *skill* allows while it is active: nothing where a star alone is in its list."""
    lines: list[RuleLine] = []
    findings: list[Finding] = []
    matchers = skill.allowed.matchers
    if any(matcher.tool == "*" and matcher.specifier is None for matcher in matchers):
        return RuleLines()
    for matcher in matchers:
        # Empty parentheses are none in these lists.
        text = rule = str(matcher).removesuffix("()")
        if matcher.tool == "Bash":
            cwd = scope.anchors.cwd
            text = text.replace("${CLAUDE_PROJECT_DIR}", cwd)
            if skill.folder:
                text = text.replace("${CLAUDE_SKILL_DIR}", f"{cwd}/{skill.folder}")
        found = read_rule(text, matcher.span, Effect.ALLOW, scope)
        findings += found.findings
        lines += (
            values.evolve(line, entry=values.evolve(line.entry, rule=rule)) for line in found.lines
        )
    return RuleLines(tuple(lines), tuple(findings))


# Modes that edit files in working folders without asking.
EDITING_MODES: Final = frozenset({"acceptEdits", "auto"})

# An agent in one of these hands it down, whatever the definition of the other says.
HANDED_DOWN: Final = frozenset({"acceptEdits", "auto", "bypassPermissions"})

_PLAN_OF_AGENT: Final = "plan of an agent"
# A plan -> the same below an agent with `dontAsk`.
_SILENT: Final = {"plan": "silent plan", _PLAN_OF_AGENT: "silent plan of an agent"}


def child_mode(parent: str, declared: str | None) -> str:
    """Return the mode of an agent with the mode *declared* below one in *parent* (observed).

    Two modes are not written by people: the plan of an agent, in which no model judges, and plans
    that deny what would be asked for. An agent below a plan has a plan.
    """
    if parent in HANDED_DOWN or declared in (None, "bypassPermissions"):
        return parent
    if is_plan(parent):
        return _SILENT.get(parent, parent) if declared == "dontAsk" else parent
    return _PLAN_OF_AGENT if declared == "plan" else declared


def is_plan(mode: str) -> bool:
    """Return whether edits and servers wait for a plan to be agreed to."""
    return mode in _SILENT or mode in _SILENT.values()


def _session_mode(settings: Sequence[Settings], options: ClaudeOptions) -> str:
    """Return the mode of a session, by what its files say, the strongest first."""
    modes = [(each.scope, each.mode) for each in settings if each.mode]
    scope, mode = modes[0] if modes else ("", "default")
    if is_ignored(scope, mode):
        # It counts only if a file of another scope has it too (2.1.329, observed).
        others = {other for scope, other in modes if scope not in OF_PROJECT}
        mode = mode if mode in others else "default"
    asked = options.mode or mode
    no_bypass = any(each.no_bypass for each in settings)
    no_auto = any(each.no_auto for each in settings)
    off = {"manual": True, "bypassPermissions": no_bypass, "auto": no_auto}
    return "default" if off.get(asked) else asked


# The main conversation in a turn in which every skill was invoked: it and the agents that it
# starts have what the skills allow.
TURN: Final = "main with skills"
# The main conversation on a machine with a sandbox in which commands are auto-allowed.
SANDBOX: Final = "main in a sandbox"
VARIANTS: Final = (TURN, SANDBOX)

# The strongest first.
SCOPES: Final = ("managed", "cli", "flag", "local", "project", "user")


@values.frozen(eq=False)
class ClaudeSession:
    """One project with everything that decides calls in it."""

    options: ClaudeOptions  # how it is started
    settings: tuple[Settings, ...]  # of every scope, the strongest first
    lines: tuple[RuleLine, ...]  # of every rule in force
    folders: tuple[str, ...]  # the working folder and the additional ones, canonical
    mode: str  # the permission mode of the main conversation
    agents: Mapping[str, Definition]  # by name, built-in ones among them
    skills: Mapping[str, Skill]  # by name, commands among them
    granted: tuple[RuleLine, ...]  # lines of every rule that a skill allows while it is active
    outside: tuple[Entry, ...]  # entries for the commands that never run in a sandbox
    findings: tuple[Finding, ...]  # what is wrong with the rules
    confined: bool = False  # whether all commands run in a sandbox, and none leaves it
    guarded: bool = True  # whether the host guards files of its own; False only to compare rules

    @property
    def depth(self) -> int:
        """How many levels of agents may follow below the main conversation."""
        # No level at all is no number the host takes (2.1.329, observed).
        return self.options.depth or 3

    @cached_property
    def main_agent(self) -> str:
        """The agent that the session is started as, or ""."""
        named = (each.keys.get("agent") for each in self.settings)
        return self.options.main_agent or next((n for n in named if isinstance(n, str) and n), "")

    @cached_property
    def starts(self) -> bool:
        """Whether the host starts at all, and all that it reads is known."""
        broken = (each.unreadable and each.scope == "managed" for each in self.settings)
        return not any(broken) and not any(each.unknown for each in self.settings)

    @cached_property
    def no_auto(self) -> bool:
        """Whether no agent may have its calls judged by a model."""
        return any(each.no_auto for each in self.settings)

    @cached_property
    def silent(self) -> bool:
        """Whether what would be asked for is denied, in every mode."""
        return any(each.silent for each in self.settings)

    @cached_property
    def sandbox(self) -> Span | None:
        """Where settings auto-allow commands in a sandbox; None where they do not."""
        on = next((each.sandbox for each in self.settings if each.sandbox), None)
        allowed = next((each.auto_allowed for each in self.settings if each.auto_allowed), None)
        if on is None or not on[0] or (allowed and not allowed[0]):
            return None
        return (allowed or on)[1]

    @cached_property
    def fences(self) -> frozenset[str]:
        """The settings that keep reads or edits in working folders, by their names."""
        return frozenset(name for each in self.settings for name in each.fences)

    @cached_property
    def fenced(self) -> tuple[str, ...]:
        """The folders that reads and edits are kept in; settings of the project add none."""
        by_flag = keys.FILE_READS_INSIDE in self.fences
        scopes = {"flag"} if by_flag else {"managed", "flag", "local", "user"}
        return _folders((each for each in self.settings if each.scope in scopes), self.options)

    def is_judged(self, mode: str) -> bool:
        """Return whether a model decides calls that no rule matches: in `auto`, and in plans."""
        return mode == "auto" or (mode in ("plan", _SILENT["plan"]) and not self.no_auto)

    def reason(self, mode: str) -> Reason:
        """Return the reason why a call is asked for that no rule applies to."""
        return Reason.CLASSIFIER if self.is_judged(mode) else Reason.DEFAULT

    def never_asks(self, mode: str) -> bool:
        """Return whether what would be asked for in *mode* is denied."""
        return self.silent or mode == "dontAsk" or mode in _SILENT.values()

    def denies_rest(self, mode: str) -> bool:
        """Return whether a call that no rule applies to is denied: not asked for, not judged."""
        return self.never_asks(mode) and not self.is_judged(mode)

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
        return self._removals.first(tool) != NO_MATCH

    @cached_property
    def named(self) -> frozenset[str]:
        """The built-in tools that are offered, whatever rules take away."""
        tools = next((each.tools for each in self.settings if each.tools is not None), None)
        return known.NAMES if tools is None else known.NAMES.intersection(tools)

    @cached_property
    def offered(self) -> frozenset[str]:
        """The built-in tools that are offered, and that no rule takes away from every agent."""
        return frozenset(name for name in self.named if not self.is_removed(name))

    @cached_property
    def variants(self) -> Mapping[str, ClaudeSession]:
        """The sessions that auto-allow more, by the name that chains there start with."""
        found = {}
        if self.granted:
            found[TURN] = values.evolve(self, lines=self.lines + self.granted, granted=())
        if self.sandbox is not None and not self.options.sandboxed:
            found[SANDBOX] = values.evolve(self, confined=True)
        return found

    @cached_property
    def _cache(self) -> dict[object, Any]:
        return {}

    def cached(self, key: object, make: Callable[[], _T]) -> _T:
        """Return the value cached for *key*, made if there is none."""
        if key not in self._cache:
            self._cache[key] = make()
        found: _T = self._cache[key]
        return found


def session(
    options: ClaudeOptions,
    files: Iterable[Settings],
    agents: Mapping[str, Definition],
    skills: Mapping[str, Skill],
) -> ClaudeSession:
    """Return the session that the settings *files* of every scope describe."""
    settings = tuple(sorted(files, key=lambda each: SCOPES.index(each.scope)))
    variables = _strongest([each.variables for each in settings])
    off = {n for switch, ns in keys.AGENTS_OFF.items() if _is_on(variables, switch) for n in ns}
    agents = {name: each for name, each in agents.items() if each.place or name not in off}
    skills = _invocable(skills, settings)
    called = {skill.called: name for name, skill in skills.items() if skill.called}
    levels = _LEVELS.fullmatch(variables.get(keys.DEPTH, ""))
    options = values.evolve(
        options,
        depth=min(int(levels[1][:3]), _MOST_LEVELS) if levels else options.depth,
        background=False if _is_on(variables, keys.FOREGROUND) else options.background,
        cwd=options.cwd or "/@project",
        home=options.home or "/@home",
        aliases={**called, **options.aliases},
    )
    folders = _folders(settings, options)
    links = tuple((folded(link), folded(target)) for link, target in options.links.items())
    ruled_links = tuple(link for link in links if link in LINKED.items())
    scope = RuleScope(
        Anchors(options.cwd, options.home, options.cwd, folders[1:], ruled_links, links),
        frozenset(agents),
        aliases=options.aliases,
        servers=options.servers,
        configured=options.configured,
    )
    ruled = _rules(settings, scope, options)
    locked = any(each.managed_only for each in settings)
    active, granted = _skill_lines(skills, scope, options, locked=locked)
    outside = (
        line.entry
        for each in settings
        for rule in each.outside
        for line in read_rule(rule.text, rule.span, rule.effect, scope).lines
    )
    of_files = (finding for each in settings for finding in each.findings)
    return ClaudeSession(
        options,
        settings,
        lines=(*ruled.lines, *active.lines, *_switched_off(settings, variables, options)),
        folders=folders,
        mode=_session_mode(settings, options),
        agents=agents,
        skills=skills,
        granted=granted,
        outside=tuple(entry for entry in outside if entry.tool == "Bash"),
        findings=(*of_files, *ruled.findings, *active.findings),
    )


def _folders(settings: Iterable[Settings], options: ClaudeOptions) -> tuple[str, ...]:
    """Return the working folder, and the additional ones of every file that is trusted."""
    found = [options.cwd]
    trusted = (each for each in settings if _is_trusted(each.scope, options))
    for name in (name.strip() for each in trusted for name in each.folders):
        if not name.startswith("//"):  # a folder of another machine is none
            at = options.home + name[1:] if f"{name}/".startswith("~/") else name
            found.append(posixpath.normpath(posixpath.join(options.cwd, at)))
    return tuple(dict.fromkeys(found))
