"""The front end of Claude Code: settings, agents, skills and plugins, as 2.1.329 reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.memory import OnDemand
from policy.core.source import Place, Source, visible
from policy.core.values import define, evolve, field, frozen
from policy.files.nodes import ScalarNode
from policy.files.opening import Tree, start_place
from policy.hosts.claude.agents import Definition, read_agent, read_list
from policy.hosts.claude.data import find
from policy.hosts.claude.data.guarded import MANAGED
from policy.hosts.claude.data.tools import BUILT_IN, MODES, TOOL_CLASSES
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.discovery import (
    OF_ABOVE,
    OF_ADMINISTRATORS,
    OF_MAIN,
    OF_USERS,
    FoundProject,
    Role,
    above_roles,
    discover,
    main_roles,
    managed_roles,
    read_beside,
    user_roles,
)
from policy.hosts.claude.hooks import Hook
from policy.hosts.claude.lint import (
    agent_findings,
    hook_findings,
    passed_findings,
    settings_findings,
    skill_findings,
)
from policy.hosts.claude.options import VERSION, ClaudeOptions
from policy.hosts.claude.pools import declared
from policy.hosts.claude.reading import MAIN, ClaudeEnforced, attenuated, main_definition
from policy.hosts.claude.session import ASIDES, TURN, ClaudeSession, session
from policy.hosts.claude.settings import AUTO_ALLOWED, UNKNOWN, Settings, read_settings
from policy.hosts.claude.skills import Skill, read_skill
from policy.hosts.project import AgentEntry, Project, ReadFile, WrittenRule
from policy.language.syntax import DeclaredTools, Presence
from policy.tables.table import Ceiling, LinkedRules, Table

__all__ = [
    "HOST",
    "OF_ABOVE",
    "OF_ADMINISTRATORS",
    "OF_MAIN",
    "OF_USERS",
    "VERSION",
    "ClaudeFrontEnd",
    "ClaudeOptions",
    "load",
]

HOST: Final = "claude-code"


def load(tree: Tree, options: ClaudeOptions | None = None) -> tuple[Project, ...]:
    """Return every project of Claude Code below *tree*, in the order of their folders."""
    options = options or ClaudeOptions()
    found = discover(tree, options.start)
    if not found and _started_elsewhere(options):
        found = (FoundProject(""),)
    apart = {each.root: list(_apart(each, found, options)) for each in found}
    if options.start is not None:
        found = tuple(each for each in found if each.root == options.start)
    return tuple(
        evolve(project, findings=(*project.findings, *apart[project.root]))
        for project in (_project(each, options, tree.root) for each in found)
    )


def _apart(
    found: FoundProject, others: Iterable[FoundProject], options: ClaudeOptions
) -> Iterator[Finding]:
    """Yield the settings that are not in force all over the tree, or where a session starts."""
    if options.start is None:
        for role in found.files:
            if found.root and _is_of_folder(role) and not found.is_home:
                what = f"holds for sessions that are started in `{found.root}`, and no others"
                yield from _note_apart(role, what)
        return
    for other in others if found.root == options.start else ():
        if other is not found and _is_along(other.root, found.root):
            for role in other.files:
                if _is_of_folder(role) and role.path not in {each.path for each in found.files}:
                    what = f"is not read by a session that is started in `{found.root or '.'}`"
                    yield from _note_apart(role, what)


def _is_of_folder(role: Role) -> bool:
    own = not (role.above or role.assumed)
    return own and role.kind == "settings" and role.scope in ("project", "local")


def _is_along(one: str, other: str) -> bool:
    """Return whether one of two folders is in the other."""
    one, other = sorted((f"/{one}/", f"/{other}/"), key=len)
    return other.startswith(one.replace("//", "/"))


def _note_apart(role: Role, what: str) -> Iterator[Finding]:
    rules = read_settings(role.source, role.scope).rules if role.source else ()
    denied = sum(rule.effect is Effect.DENY for rule in rules)
    more = f"{len(rules):,} rule{'' if len(rules) == 1 else 's'}"
    more += f", of which {denied:,} den{'ies' if denied == 1 else 'y'}" if denied else ""
    if rules:
        yield find("settings-of-folder", what=what, more=more, file=role.path)


@frozen
class ClaudeFrontEnd:
    """Reads files by *options*, e.g. beside those of a user."""

    options: ClaudeOptions
    HOST = HOST

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*."""
        return load(tree, self.options)


def _started_elsewhere(options: ClaudeOptions) -> bool:
    given = (options.user, options.managed, options.command_line, options.flag)
    beside = (options.user_files, options.managed_files)
    return any(each is not None for each in (*given, *beside)) or bool(options.cwd)


def _project(found: FoundProject, options: ClaudeOptions, top: Path | None = None) -> Project:
    if found.is_home and not options.cwd:
        options = evolve(options, cwd=options.home or "/@home")
    options = evolve(options, configured=found.servers)
    read = _Files(options)
    read.take(found.files)
    built = session(options, read.settings, read.definitions, read.skills)
    findings = dict.fromkeys(_findings(found, read, built, top))
    files = (ReadFile(role.path, role.kind, role.assumed) for role in read.roles)
    project = Project(
        host=HOST,
        profile=f"{HOST}@{VERSION}",
        root=found.root,
        agents=_agents(built),
        starts=(MAIN,),
        asides=tuple(built.asides),
        attenuated=attenuated(built),
        enforced=ClaudeEnforced(built),
        files=tuple(dict.fromkeys(files)),
        findings=tuple(sorted(findings, key=lambda finding: finding.place)),
        written=tuple(
            WrittenRule(rule.text, rule.effect, rule.span.place)
            for each in read.settings
            for rule in each.rules
        ),
        bare=partial(_bare, found, options),
        elsewhere=tuple(_elsewhere(found, options, built, top)),
        tool_classes=TOOL_CLASSES,
        mode=built.mode,
    )
    others = (mode for mode in (*MODES, _UNGUARDED) if mode != built.mode)
    return evolve(project, modes=OnDemand(others, partial(_in_mode, project, built)))


def _findings(
    found: FoundProject, read: _Files, built: ClaudeSession, top: Path | None
) -> Iterator[Finding]:
    for error in found.refused:
        yield from Finding.of(error, "plugin-not-loaded", consequence=_NOT_LOADED)
    yield from (*read.findings, *built.findings)
    yield from settings_findings(read.settings)
    yield from passed_findings(found.root, read.passed(found.passed), read.settings)
    if top is not None and (top / found.root).is_dir():
        yield from _missing_folders(read.settings, top / found.root)
    for definition in read.definitions.values():
        yield from agent_findings(definition, built)
    for skill in read.skills.values():
        yield from skill_findings(skill)
    if built.sandbox is not None:
        yield find("sandbox-runs-unasked", built.sandbox, key=AUTO_ALLOWED)
    for hooks in read.hooks():
        yield from hook_findings(hooks)


def _missing_folders(files: Iterable[Settings], at: Path) -> Iterator[Finding]:
    """Yield the folders that settings open to a session in the folder *at*, and are not there."""
    for settings in files:
        for name, span in settings.folders.items():
            meant = Path.home() / name[2:] if name.startswith("~/") else at / name
            if "*" not in name and not meant.is_dir():
                yield find("folder-not-there", span, case="absent", name=name)


# The mode that the files say, without what the host guards of its own files. That guard is
# no rule, and modes lift it: no rule is without effect because of it.
_UNGUARDED: Final = "unguarded"


def _in_mode(project: Project, built: ClaudeSession, mode: str) -> Project:
    """Return *project* as a session in *mode* has it, even if settings switch the mode off."""
    session = evolve(built, guarded=False) if mode == _UNGUARDED else evolve(built, mode=mode)
    return evolve(
        project,
        mode="" if mode == _UNGUARDED else mode,
        agents=_agents(session),
        attenuated=attenuated(session),
        enforced=ClaudeEnforced(session),
    )


def _agents(built: ClaudeSession) -> OnDemand[AgentEntry]:
    return OnDemand(sorted({MAIN, *built.agents}), partial(_entry, built))


def _elsewhere(
    found: FoundProject, options: ClaudeOptions, built: ClaudeSession, top: Path | None
) -> Iterator[str]:
    """Yield what also counts for a session, and was not read."""
    if built.granted:
        yield f"what an agent invokes of skills itself (below `{TURN}` it has what all allow)"
    if options.start is None and top is not None and (top / found.root).is_dir():
        beside = read_beside(start_place(top / found.root))
        yield from (f"`{visible(str(path))}` (`--from`)" for path in beside)
    of_user = any(role.scope == "user" for role in found.files)
    if options.user is None and options.user_files is None and not of_user:
        yield "`~/.claude` of a user (`--user`)"
    if options.managed is None and options.managed_files is None:
        yield f"`{MANAGED['linux']}` of an administrator (`--managed`)"
    yield "what a session is started with, such as `--settings` and `--agents`"


_NOT_LOADED: Final = "the host loads nothing of the plugin: no agent, no skill and no hook"


def _bare(found: FoundProject, options: ClaudeOptions) -> Project:
    """Return what a session does in a folder that holds none of these files."""
    above = [role for role in found.files if role.above]
    return _project(FoundProject(found.root, above, found.passed), options)


def _entry(built: ClaudeSession, name: str) -> AgentEntry:
    definition = built.agents.get(name) or main_definition(built)
    sets = declared(definition, built, dialect(built, built.mode))
    table = Table(Ceiling.of(LinkedRules(rules, (definition.name,)) for rules in sets))
    return AgentEntry(definition.name, definition.place, table)


@define
class _Files:
    """The files of one project, read."""

    options: ClaudeOptions
    settings: list[Settings] = field(factory=list)
    definitions: dict[str, Definition] = field(factory=dict)
    skills: dict[str, Skill] = field(factory=dict)
    findings: list[Finding] = field(factory=list)
    stronger: frozenset[str] = frozenset()
    ranks: dict[str, tuple[bool, int]] = field(factory=dict)
    roles: list[Role] = field(factory=list)

    def take(self, files: Iterable[Role]) -> None:
        """Read *files*, and the settings that a session is started with."""
        options = self.options
        for name, tools, removed in ((n, *lists) for n, lists in BUILT_IN.items()):
            self.definitions[name] = _built_in(name, tools, removed)
        for scope, given in (
            ("managed", options.managed),
            ("cli", options.command_line),
            ("flag", options.flag),
            ("user", options.user),
        ):
            if given is not None:
                self.settings.append(read_settings(given, scope))
        managed, user, main = options.managed_files, options.user_files, options.main_files
        if managed is not None:
            self._take_all(managed_roles(managed), 0)
        self.stronger = frozenset(self.definitions)
        for role in _unread_last(files):
            if not role.above or role.scope != "local" or main is None:
                self._take(role, 3 if role.above else 2)
        if main is not None:
            self._take_all(main_roles(main), 3)
        for rank, tree in enumerate(options.above_files, 4):
            self._take_all(above_roles(tree), rank)
        if user is not None:
            self._take_all(user_roles(user), 1)

    def _take_all(self, roles: Iterable[Role], rank: int) -> None:
        for role in _unread_last(roles):
            self._take(role, rank)

    def passed(self, files: Iterable[Role]) -> Iterator[Settings]:
        """Yield what settings say that are not in force."""
        for role in files:
            if role.source is not None:
                yield read_settings(role.source, role.scope)

    def hooks(self) -> Iterator[tuple[Hook, ...]]:
        """Yield the hooks of each file."""
        yield from (settings.hooks for settings in self.settings)
        yield from (definition.hooks for definition in self.definitions.values())
        yield from (skill.hooks for skill in self.skills.values())

    def _take(self, role: Role, rank: int) -> None:
        """Read one file; of skills of one name the one of the lowest *rank* counts."""
        self.roles.append(role)
        source = role.source
        if source is None:
            if role.error is not None:
                settings = role.kind == "settings"
                if settings:
                    self.settings.append(Settings(role.scope, unknown=True))
                elif role.kind == "agent":
                    self._unread(role)
                self.findings += Finding.of(
                    role.error,
                    "unreadable-file",
                    consequence=UNKNOWN if settings else "nothing it says is in force here",
                )
            return
        match role.kind:
            case "settings":
                self.settings.append(read_settings(source, role.scope))
            case "skill" | "command":
                # A skill is invoked rather than a command of its name, one of a user rather
                # than one of a project, and a near one than a far one (2.1.329, observed).
                command = role.kind == "command"
                ranked = (command, rank)
                known = self.ranks.get(role.scope)
                if known is None or ranked < known or (ranked == known and not command):
                    self.ranks[role.scope] = ranked
                    skill = read_skill(role.scope, source, command=command)
                    own = not (command or role.above or role.assumed)
                    below = re.search(r"(?:^|/)(\.claude/skills/[^/]+)/SKILL\.md\Z", role.path)
                    folder = below[1] if own and below else ""
                    self.skills[role.scope] = evolve(skill, folder=folder)
            case _:
                self._agent(source, role)

    def _unread(self, role: Role) -> None:
        """Start no agent that is defined, or replaced, by what cannot be read.

        A file goes by the name of its agent, as a rule. A folder may hold any agent.
        """
        name = role.path.rpartition("/")[2]
        names = [name.removesuffix(".md")] if name.endswith(".md") else [*self.definitions]
        for each in names:
            if not self._is_taken(each, role):
                nothing = DeclaredTools(Presence.LISTED, span=Source(role.path, "").whole())
                place = Place(role.path, 1, 1)
                self.definitions[each] = Definition(each, nothing, place=place)

    def _is_taken(self, name: str, role: Role) -> bool:
        """Return whether another file counts: the nearest, but for those of an administrator."""
        earlier = self.definitions.get(name)
        written = earlier is not None and earlier.place is not None
        return written and (role.above or name in self.stronger)

    def _agent(self, source: Source, role: Role) -> None:
        stem = role.path.rpartition("/")[2].removesuffix(".md") if role.scope else ""
        definition, found = read_agent(source, plugin=bool(role.scope), unnamed=stem)
        if not role.above or role.beside:
            self.findings += found
        if definition is None:
            return
        if role.scope and ":" not in definition.name:
            definition = evolve(definition, name=f"{role.scope}:{definition.name}")
        if definition.name in (MAIN, *ASIDES):
            self.findings.append(find("reserved-name", definition.span, agent=definition.name))
            return
        if self._is_taken(definition.name, role):
            return
        earlier = self.definitions.get(definition.name)
        if earlier is not None and earlier.place is not None:
            self.findings.append(
                find("duplicate-agent", definition.span, agent=definition.name, place=earlier.place)
            )
            return
        self.definitions[definition.name] = definition


def _unread_last(roles: Iterable[Role]) -> list[Role]:
    """Return *roles* with those last that cannot be read, and may replace any of the others."""
    return sorted(roles, key=lambda role: role.error is not None)


def _built_in(name: str, tools: tuple[str, ...] | None, removed: tuple[str, ...]) -> Definition:
    return Definition(name, _list(name, tools), _list(name, removed or None))


def _list(name: str, tools: tuple[str, ...] | None) -> DeclaredTools:
    whole = Source(f"<{name}>", ", ".join(tools or ())).whole()
    return read_list(None if tools is None else ScalarNode(whole.text, whole), "tools")[0]
