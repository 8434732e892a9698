"""A project as settings and agents of Claude Code.

Settings hold for every agent, and the file of an agent says no more than which tools it has. So the
settings are those of the agent that starts the others, and another agent has a tool only where the
settings grant no more of it than that agent may do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from policy.commands.knowledge import Program
from policy.core.effect import Effect
from policy.core.source import Source
from policy.core.values import define, field
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.data.programs import READ_ONLY_PROGRAMS
from policy.hosts.claude.data.tools import BUILT_IN, PREAPPROVED
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import RuleScope, read_rule
from policy.hosts.pattern_text import host, path, stars
from policy.hosts.portable import (
    Portable,
    PortableAgent,
    PortableLine,
    RuleFile,
    ToolRules,
    Writer,
    WrittenFiles,
    covers,
    no_more,
    quoted,
    ranked,
)
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind, is_glob
from policy.patterns.tokens import Gap, in_any_case
from policy.tables.table import SPAWN_TOOL

# Hosts that are fetched from without asking, some in part; a rule names a whole host.
_HOSTS: Final = tuple(
    (name, notations.hosts(name)[0])
    for name in dict.fromkeys(address.partition("/")[0] for address in PREAPPROVED)
)


def _commands(
    granted: Sequence[Pattern],
    before: str = "",
    programs: Mapping[str, Program] = READ_ONLY_PROGRAMS,
) -> Iterator[str]:
    """Yield the commands that run without a rule and of which not all calls are *granted*.

    If some are granted, no rule can name the rest alone, so all are yielded.
    """
    for name, program in programs.items():
        text = f"{before}{name}"
        if all(covers(pattern, granted) for pattern in notations.commands(f"{text} *")):
            continue
        if program.subcommands:
            yield from _commands(granted, f"{text} ", program.subcommands)
        if program.harmless:
            firsts = (pattern.tokens[0] if pattern.tokens else "" for pattern in granted)
            begun = any(isinstance(one, str) and one.startswith(f"{text} ") for one in firsts)
            yield text if program.subcommands and begun else f"{text} *"


_MAIN: Final = "main"
_ALLOW, _ASK, _DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_READING: Final = known.FILE_TOOLS["Read"]
_EDITING: Final = known.FILE_TOOLS["Edit"]
_SERVER: Final = "mcp__"


def _write(portable: Portable) -> WrittenFiles:
    """Return the settings, and a file for each agent that is started."""
    first = portable.first
    names = {**portable.renamed([_MAIN, *BUILT_IN]), first.name: _MAIN}
    settings = _Settings(first, portable, names)
    settings.write()
    files = {".claude/settings.json": settings.text()}
    for agent in portable.agents[1:]:
        tools = ", ".join(settings.pool(agent)) or "[]"
        lines = [f"name: {names[agent.name]}", f"description: {quoted(agent.one_line)}"]
        body = f"\n{agent.prompt}\n" if agent.prompt else ""
        text = "\n".join(["---", *lines, f"tools: {tools}", "---", body])
        files[f".claude/agents/{names[agent.name]}.md"] = text
    # A rule for a server is one for all of its tools.
    named = (tool for agent in portable.agents for tool in agent.tools)
    servers = {t for t in named if t.startswith(_SERVER) and "__" not in t.removeprefix(_SERVER)}
    return WrittenFiles(
        files, names, dropped=portable.dropped_starts, fixed=frozenset({known.LAST, *servers})
    )


@define
class _Settings:
    """The settings, as they are made: lists of rules and a mode."""

    agent: PortableAgent
    portable: Portable
    names: Mapping[str, str]
    rules: dict[Effect, dict[str, None]] = field(factory=lambda: {e: {} for e in Effect})
    granted: dict[str, ToolRules] = field(factory=dict)

    @property
    def default(self) -> Effect:
        """The effect for a call that no rule applies to."""
        return _DENY if self.agent.otherwise is _DENY else _ASK

    def add(self, effect: Effect, rule: str) -> None:
        """Add a rule; in a mode that never asks, one that denies in place of one that asks."""
        self.rules[self.default if effect is _ASK else effect][rule] = None

    def text(self) -> str:
        """Return the file."""
        rules = {effect: each for effect, each in self.rules.items() if each}
        return _settings(rules, defaultMode="default" if self.default is _ASK else "dontAsk")

    def write(self) -> None:
        """Write the rules of every tool."""
        self._files(_READING, "Read")
        self._files(_EDITING, "Edit")
        self._shell()
        self._hosts()
        self._agents()
        done = {*_READING, *_EDITING, "Bash", "Monitor", "WebFetch", "Agent", known.LAST}
        for tool in sorted(known.NAMES - done):
            self._whole(tool, self.agent.about(tool).least)
        for tool, tool_rules in self.agent.tools.items():
            if tool not in known.NAMES and tool != SPAWN_TOOL:
                effect = tool_rules.least
                self.granted[tool] = ToolRules(effect)
                is_name = not is_glob(tool) and "(" not in tool
                if is_name and (effect is _ALLOW or effect < self.default):
                    self.add(effect, tool)
        for glob, effect in self.agent.globs.items():
            literal = glob.startswith(_SERVER) and "*" not in glob[5:].partition("__")[0]
            matches = Pattern.text(glob).matches
            named = (rules.constant for tool, rules in self.agent.tools.items() if matches(tool))
            allowed = effect is _ALLOW and literal and all(each is _ALLOW for each in named)
            if effect is _DENY or allowed:
                self.add(effect, glob)

    def _whole(self, tool: str, effect: Effect) -> None:
        """Write rules by which every call of a tool gets *effect*, or less."""
        self.granted[tool] = ToolRules(effect)
        auto_allowed = tool in known.UNASKED or tool in _READING
        if effect is _ALLOW and tool not in known.UNASKED:
            self.add(_ALLOW, tool)
        elif effect < self.default or (effect is not _ALLOW and auto_allowed):
            self.add(effect, tool)
            if effect is _ASK:
                self.granted[tool] = ToolRules(self.default)

    def _files(self, tools: tuple[str, ...], rule: str) -> None:
        """Write the rules of tools that share the rules of one name: `Read`, or `Edit`."""
        wanted: dict[str, ToolRules] = {}
        working_folder = Pattern.of(PatternKind.PATH, [self.portable.cwd, Gap.DEEP])
        for tool in tools:
            rules = self.agent.about(tool)
            lists, default = ranked(rules)
            inside = any(covers(line.pattern, [working_folder]) for line in lists[_ALLOW])
            in_part = rule == "Read" and default is not _ALLOW and not inside
            if rules.constant is not None or in_part:
                # What is read in the working folder needs no permission, whatever is allowed.
                self._whole(tool, rules.least)
                continue
            wanted[tool] = rules
            self.granted[tool] = ToolRules(default, rules.lines, rules.kind)
            if default is _ALLOW:
                self.add(_ALLOW, tool)
        for effect in (_DENY, _ASK):
            for rules in wanted.values():
                for line in ranked(rules)[0][effect]:
                    self._path(rule, line, effect)
        others = (*_EDITING, *_READING) if rule == "Edit" else _READING
        for rules in wanted.values():
            for line in ranked(rules)[0][_ALLOW]:
                if all(self._grants(other, line.pattern) for other in others):
                    self._path(rule, line, _ALLOW)

    def _grants(self, tool: str, pattern: Pattern) -> bool:
        """Whether a rule that allows *pattern* gives *tool* nothing that it may not have."""
        if tool in self.rules[_DENY]:
            return True
        default = self.agent.about(tool).default
        return default is _ALLOW or covers(pattern, self._allowed(tool))

    def _allowed(self, tool: str) -> list[Pattern]:
        """Return what is allowed of a tool by its argument."""
        lines = ranked(self.agent.about(tool))[0][_ALLOW]
        return [line.pattern for line in lines if not line.field]

    def _path(self, rule: str, line: PortableLine, effect: Effect) -> None:
        folders = self.portable.cwd, self.portable.home
        found = None if line.field else path(line.pattern, *folders, effect)
        text = None
        if found is not None:
            anchor, glob = found[0], found[1] or "/**"
            text = {"cwd": glob, "home": f"~{glob}", "root": f"/{glob}"}[anchor]
        self._line(rule, text, line, effect)

    def _line(self, tool: str, text: str | None, line: PortableLine, effect: Effect) -> None:
        """Add a rule of *tool* that says what *line* does; where none does, deny or ask for all."""
        rule = f"{tool}({text})"
        if text is not None and self._says(rule, line, effect):
            self.add(effect, rule)
        elif effect is not _ALLOW:
            self.add(effect, tool)

    def _shell(self) -> None:
        rules = self.agent.about("Bash")
        lists, default = ranked(rules)
        self.granted["Bash"] = ToolRules(default, rules.lines, rules.kind)
        constant = rules.constant
        if constant is _DENY or constant is _ASK:
            # Read-only commands would still need no permission.
            self.add(constant, "Bash")
            self.granted["Bash"] = ToolRules(constant & self.default)
        for effect in (_DENY, _ASK, _ALLOW):
            for line in lists[effect] if constant is None else ():
                text = stars(line.pattern, effect)
                if line.field and text is not None:
                    text = None if effect is _ALLOW else f"{line.field}:{text}"
                self._line("Bash", text, line, effect)
        if default is _ALLOW:
            self.add(_ALLOW, "Bash")
        elif constant is None:
            for text in _commands(self._allowed("Bash")):
                self.add(default, f"Bash({text})")
        monitor = self.agent.about("Monitor")
        held = monitor.constant if monitor.constant is not _ALLOW else None
        if not no_more("Bash", self.granted["Bash"], ToolRules(monitor.default, monitor.lines)):
            self.add(_DENY, "Monitor")
        elif held is not None and "Bash" not in {**self.rules[_DENY], **self.rules[_ASK]}:
            # Rules of some commands leave out the empty one, which is not asked for.
            self.add(held, "Monitor")
        self.granted["Monitor"] = ToolRules(_DENY) if "Monitor" in self.rules[_DENY] else monitor

    def _hosts(self) -> None:
        rules = self.agent.about("WebFetch")
        if rules.constant is not None:
            self._whole("WebFetch", rules.constant)
        lists, default = ranked(rules)
        self.granted["WebFetch"] = ToolRules(default, rules.lines, rules.kind)
        for effect in (_DENY, _ASK, _ALLOW):
            for line in lists[effect] if rules.constant is None else ():
                name = host(line.pattern, effect) if line.pattern.kind is PatternKind.HOST else None
                self._line("WebFetch", name and f"domain:{name}", line, effect)
        if default is _ALLOW:
            self.add(_ALLOW, "WebFetch")
        elif "WebFetch" not in self.rules[_DENY]:
            granted = self._allowed("WebFetch")
            for name in (name for name, pattern in _HOSTS if not covers(pattern, granted)):
                self.add(default, f"WebFetch(domain:{name})")

    def _agents(self) -> None:
        starts = self.agent.starts
        if all(effect is _DENY for effect in starts.values()):
            self.add(_DENY, "Agent")
            return
        for old, new in self.names.items():
            effect = starts.get(old, _DENY)
            if new != _MAIN and effect is _DENY:
                self.add(_DENY, f"Agent({new})")
            elif new != _MAIN and effect is _ASK:
                self.add(_ASK, f"Agent(subagent_type:{new})")
        for name in BUILT_IN:
            self.add(_DENY, f"Agent({name})")

    def _says(self, rule: str, line: PortableLine, effect: Effect) -> bool:
        """Whether a rule matches no more calls than *line* if it allows, and no fewer if not."""
        anchors = Anchors(self.portable.cwd, self.portable.home, self.portable.cwd)
        scope = RuleScope(anchors, frozenset(self.names.values()))
        lines = read_rule(rule, Source("<rule>", rule).whole(), effect, scope).lines
        patterns = (one.entry.pattern for one in lines if one.entry.field == line.field)
        matched = [each and self._lettered(each) for each in patterns]
        if effect is not _ALLOW:
            return any(pattern is None or covers(line.pattern, [pattern]) for pattern in matched)
        wanted = [line.pattern, *self._allowed(rule.partition("(")[0])]
        return bool(matched) and all(pattern and covers(pattern, wanted) for pattern in matched)

    def _lettered(self, pattern: Pattern) -> Pattern:
        """Return a pattern of this host, which ignores case in paths, for hosts that keep it."""
        if pattern.kind is not PatternKind.PATH:
            return pattern
        folders = self.portable.cwd, self.portable.home
        return Pattern.of(PatternKind.PATH, in_any_case(pattern.tokens, folders))

    def pool(self, agent: PortableAgent) -> Iterator[str]:
        """Yield the tools of which the settings grant *agent* no more than it may do."""
        for tool in sorted({*known.NAMES, *self.granted} - {"Agent", known.LAST}):
            granted = self.granted.get(tool, ToolRules(self.default))
            rules = agent.about(tool)
            if granted.constant is not _DENY and no_more(tool, granted, rules):
                yield tool
        denied = self.rules[_DENY]
        allowed = {name for name in self.names.values() if f"Agent({name})" not in denied}
        started = (name for name, effect in agent.starts.items() if effect is not _DENY)
        wanted = {self.names[name] for name in started if name in self.names}
        if wanted and allowed - {_MAIN} <= wanted and "Agent" not in denied:
            yield "Agent"


def _settings(rules: Mapping[Effect, Iterable[str]], **others: str) -> str:
    """Return a settings file with lists of *rules*, and with *others* among its permissions."""
    lists = {e.value: [*rules[e]] for e in (_ALLOW, _ASK, _DENY) if e in rules}
    return json.dumps({"permissions": lists | others}, indent=2, ensure_ascii=False) + "\n"


RULE_FILE: Final = RuleFile(".claude/settings.json", _MAIN, _settings)
WRITER: Final = Writer(
    {**{name: name for name in known.NAMES - {"Agent"}}, "Agent": SPAWN_TOOL},
    frozenset(
        "name description tools disallowedTools permissionMode permissions permissions.allow"
        " permissions.ask permissions.deny permissions.defaultMode"
        " permissions.additionalDirectories permissions.disableBypassPermissionsMode"
        " permissions.disableAutoMode permissions.blockReadsOutsideWorkingDirectories"
        " blockReadsOutsideWorkingDirectories".split()
    ),
    _write,
)
