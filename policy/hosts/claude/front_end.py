"""The front end of Claude Code: settings, agents, skills and plugins, as 2.1.329 reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.memory import OnDemand
from policy.core.source import Place, Source, visible
from policy.core.values import define, evolve, field, frozen
from policy.files.nodes import ScalarNode
from policy.files.opening import start_place
from policy.files.trees import Tree
from policy.hosts.claude import discovery, lint
from policy.hosts.claude.agents import Definition, read_agent, read_list
from policy.hosts.claude.data import find
from policy.hosts.claude.data.guarded import MANAGED
from policy.hosts.claude.data.tools import BUILT_IN, MODES, TOOL_CLASSES
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.discovery import FoundProject, Role, discover
from policy.hosts.claude.options import VERSION, ClaudeOptions
from policy.hosts.claude.pools import declared
from policy.hosts.claude.reading import MAIN, ClaudeEnforced, attenuated, main_definition
from policy.hosts.claude.session import TURN, VARIANTS, ClaudeSession, session
from policy.hosts.claude.settings import AUTO_ALLOWED, UNKNOWN, Settings, read_settings
from policy.hosts.claude.skills import Skill, read_skill
from policy.hosts.fields import DeclaredTools, Presence
from policy.hosts.project import AgentEntry, Project, ReadFile, WrittenRule
from policy.tables.table import Ceiling, LinkedRules, Table

HOST: Final = "claude-code"


def load(tree: Tree, options: ClaudeOptions | None = None) -> tuple[Project, ...]:
    """Return every project of Claude Code below *tree*, in the order of their folders."""
    options = options or ClaudeOptions()
    found = discover(tree, options.start)
    given = (options.user, options.managed, options.command_line, options.flag)
    beside = (options.user_files, options.managed_files)
    started = options.cwd or any(each is not None for each in (*given, *beside))
    if not found and started:
        found = (FoundProject(""),)
    apart = {each.root: tuple(_folder_findings(each, found, options)) for each in found}
    if options.start is not None:
        found = tuple(each for each in found if each.root == options.start)
    return tuple(
        evolve(project, findings=(*project.findings, *apart[project.root]))
        for project in (_project(each, options, tree.root) for each in found)
    )


def _folder_findings(
    found: FoundProject, others: Iterable[FoundProject], options: ClaudeOptions
) -> Iterator[Finding]:
    """Yield findings about settings that are not in force in the whole tree, or for the session."""
    if options.start is None:
        what = f"holds for sessions that are started in `{found.root}`, and no others"
        apart = found.files if found.root and not found.is_home else []
    else:
        what = f"is not read by a session that is started in `{found.root or '.'}`"
        read = {each.path for each in found.files}
        along = [o for o in others if o is not found and _is_nested(o.root, found.root)]
        roles = (role for other in along for role in other.files)
        apart = [role for role in roles if role.path not in read]
        apart = apart if found.root == options.start else []
    for role in apart:
        is_own = not (role.above or role.assumed) and role.scope in ("project", "local")
        if role.source is None or role.kind != "settings" or not is_own:
            continue
        rules = read_settings(role.source, role.scope).rules
        denied = sum(rule.effect is Effect.DENY for rule in rules)
        more = f"{len(rules):,} rule{'' if len(rules) == 1 else 's'}"
        more += f", of which {denied:,} den{'ies' if denied == 1 else 'y'}" if denied else ""
        if rules:
            yield find("settings-of-folder", what=what, more=more, file=role.path)


def _is_nested(one: str, other: str) -> bool:
    """Return whether one of two folders is in the other."""
    one, other = sorted((f"/{one}/", f"/{other}/"), key=len)
    return other.startswith(one.replace("//", "/"))


@frozen
class ClaudeFrontEnd:
    """Reads projects with *options*, such as the files of a user."""

    options: ClaudeOptions
    HOST = HOST

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*."""
        return load(tree, self.options)


def _project(found: FoundProject, options: ClaudeOptions, top: Path | None = None) -> Project:
    if found.is_home and not options.cwd:
        options = evolve(options, cwd=options.home or "/@home")
    options = evolve(options, configured=found.servers)
    read = _Files(options)
    read.take(found.files)
    built = session(options, read.settings, read.definitions, read.skills)
    findings = dict.fromkeys(_findings(found, read, built, top))
    files = [ReadFile(role.path, role.kind, role.assumed) for role in read.roles]
    files += [ReadFile(f"{found.root}/.mcp.json".lstrip("/"), "servers")] if found.servers else []
    rules = (rule for each in read.settings for rule in each.rules)
    project = Project(
        host=HOST,
        profile=f"{HOST}@{VERSION}",
        root=found.root,
        agents=_agents(built, built.mode),
        starts=(MAIN,),
        variants=tuple(built.variants),
        attenuated=attenuated(built, built.mode),
        enforced=ClaudeEnforced(built, built.mode),
        files=tuple(dict.fromkeys(files)),
        findings=tuple(sorted(findings, key=lambda finding: finding.place)),
        written=tuple(WrittenRule(rule.text, rule.effect, rule.span.place) for rule in rules),
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
    consequence = "the host loads nothing of the plugin: no agent, no skill and no hook"
    for error in found.refused:
        yield from Finding.of(error, "plugin-not-loaded", consequence=consequence)
    yield from (*read.findings, *built.findings)
    yield from lint.settings_findings(read.settings)
    yield from lint.passed_findings(found.root, found.passed, read.settings)
    if top is not None and (top / found.root).is_dir():
        opened = (folder for settings in read.settings for folder in settings.folders.items())
        for name, span in opened:
            meant = Path.home() / name[2:] if name.startswith("~/") else top / found.root / name
            if "*" not in name and not meant.is_dir():
                yield find("folder-not-there", span, case="absent", name=name)
    for definition in read.definitions.values():
        yield from lint.agent_findings(definition, built)
    for skill in read.skills.values():
        yield from lint.skill_findings(skill)
    if built.sandbox is not None:
        yield find("sandbox-runs-unasked", built.sandbox, key=AUTO_ALLOWED)
    hooks = [each.hooks for each in read.settings]
    hooks += (each.hooks for each in read.definitions.values())
    hooks += (each.hooks for each in read.skills.values())
    for of_file in hooks:
        yield from lint.hook_findings(of_file)


# The mode of the files without the guard on the host's own files. Modes lift that guard, so no
# finding says that it makes a rule useless.
_UNGUARDED: Final = "unguarded"


def _in_mode(project: Project, built: ClaudeSession, mode: str) -> Project:
    """Return *project* as a session in *mode* has it, even if settings switch the mode off."""
    session = evolve(built, guarded=False) if mode == _UNGUARDED else built
    started = built.mode if mode == _UNGUARDED else mode
    return evolve(
        project,
        mode="" if mode == _UNGUARDED else mode,
        agents=_agents(session, started),
        attenuated=attenuated(session, started),
        enforced=ClaudeEnforced(session, started),
    )


def _agents(built: ClaudeSession, mode: str) -> OnDemand[AgentEntry]:
    return OnDemand(sorted({MAIN, *built.agents}), partial(_entry, built, mode))


def _elsewhere(
    found: FoundProject, options: ClaudeOptions, built: ClaudeSession, top: Path | None
) -> Iterator[str]:
    """Yield what else a session reads that was not read here."""
    if built.granted:
        yield f"skills that an agent invokes (`{TURN}` has what all of them allow)"
    if options.start is None and top is not None and (top / found.root).is_dir():
        paths = discovery.read_beside(start_place(top / found.root))
        yield from (f"`{visible(str(path))}` (`--from`)" for path in paths)
    of_user = any(role.scope == "user" for role in found.files)
    if options.user is None and options.user_files is None and not of_user:
        yield "`~/.claude` (`--user`)"
    if options.managed is None and options.managed_files is None:
        yield f"`{MANAGED['linux']}` (`--managed`)"
    yield "`--settings` and `--agents` of a session"


def _bare(found: FoundProject, options: ClaudeOptions) -> Project:
    """Return the project of a session in the same folder without its files."""
    above = [role for role in found.files if role.above]
    return _project(FoundProject(found.root, above, found.passed), options)


def _entry(built: ClaudeSession, mode: str, name: str) -> AgentEntry:
    definition = built.agents.get(name) or main_definition(built)
    sets = declared(definition, built, dialect(built, mode))
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
        """Read *files*, and what a session is started with."""
        options, main = self.options, self.options.main_files
        for name, (tools, removed) in BUILT_IN.items():
            lists = _list(name, tools), _list(name, removed or None)
            self.definitions[name] = Definition(name, *lists)
        for scope, given in (
            ("managed", options.managed),
            ("cli", options.command_line),
            ("flag", options.flag),
            ("user", options.user),
        ):
            if given is not None:
                self.settings.append(read_settings(given, scope))
        if options.managed_files is not None:
            self._take_all(discovery.managed_roles(options.managed_files), 0)
        self.stronger = frozenset(self.definitions)
        if main is not None:
            files = [role for role in files if not (role.above and role.scope == "local")]
        self._take_all(files, 2)
        if main is not None:
            self._take_all(discovery.roles_beside(main), 3)
        for rank, tree in enumerate(options.above_files, 4):
            self._take_all(discovery.roles_beside(tree), rank)
        if options.user_files is not None:
            self._take_all(discovery.user_roles(options.user_files), 1)

    def _take_all(self, roles: Iterable[Role], rank: int) -> None:
        # A file that cannot be read comes last: it may replace any of the others.
        for role in sorted(roles, key=lambda role: role.error is not None):
            self._take(role, rank + (role.above and not role.outside))

    def _take(self, role: Role, rank: int) -> None:
        """Read one file; of skills of one name the one of the lowest *rank* counts."""
        self.roles.append(role)
        if role.error is not None:
            self._unread(role, role.error)
        elif role.source is None:
            return
        elif role.kind == "settings":
            self.settings.append(read_settings(role.source, role.scope))
        elif role.kind == "agent":
            self._agent(role.source, role)
        else:
            # A skill is invoked rather than a command of its name, one of a user rather
            # than one of a project, and a near one than a far one (2.1.329, observed).
            command = role.kind == "command"
            ranked = (command, rank)
            known = self.ranks.get(role.scope)
            if known is None or ranked < known or (ranked == known and not command):
                self.ranks[role.scope] = ranked
                skill = read_skill(role.scope, role.source, command=command)
                own = not (command or role.above or role.assumed)
                below = re.search(r"(?:^|/)(\.claude/skills/[^/]+)/SKILL\.md\Z", role.path)
                folder = below[1] if own and below else ""
                self.skills[role.scope] = evolve(skill, folder=folder)

    def _unread(self, role: Role, error: PolicyError) -> None:
        """Note a file or folder that cannot be read; the agents that it may define get no tools."""
        consequence = "nothing it says is in force here"
        if role.kind == "settings":
            self.settings.append(Settings(role.scope, unknown=True))
            consequence = UNKNOWN
        elif role.kind == "agent":
            name = role.path.rpartition("/")[2]
            names = [name.removesuffix(".md")] if name.endswith(".md") else [*self.definitions]
            for each in names:
                if not self._is_taken(each, role):
                    nothing = DeclaredTools(Presence.LISTED, span=Source(role.path, "").whole())
                    place = Place(role.path, 1, 1)
                    self.definitions[each] = Definition(each, nothing, place=place)
        self.findings += Finding.of(error, "unreadable-file", consequence=consequence)

    def _is_taken(self, name: str, role: Role) -> bool:
        """Return whether another file defines the agent: a nearer one, or an administrator's."""
        earlier = self.definitions.get(name)
        written = earlier is not None and earlier.place is not None
        return written and (role.above or name in self.stronger)

    def _agent(self, source: Source, role: Role) -> None:
        stem = role.path.rpartition("/")[2].removesuffix(".md") if role.scope else ""
        definition, found = read_agent(source, plugin=bool(role.scope), unnamed=stem)
        if not role.above or role.outside:
            self.findings += found
        if definition is None:
            return
        if role.scope and ":" not in definition.name:
            definition = evolve(definition, name=f"{role.scope}:{definition.name}")
        name, span = definition.name, definition.span
        if name in (MAIN, *VARIANTS):
            self.findings.append(find("reserved-name", span, agent=name))
        elif not self._is_taken(name, role):
            earlier = self.definitions.get(name)
            if earlier is not None and earlier.place is not None:
                found = [find("duplicate-agent", span, agent=name, place=earlier.place)]
                self.findings += found
            else:
                self.definitions[name] = definition


def _list(name: str, tools: tuple[str, ...] | None) -> DeclaredTools:
    whole = Source(f"<{name}>", ", ".join(tools or ())).whole()
    return read_list(None if tools is None else ScalarNode(whole.text, whole), "tools")[0]
