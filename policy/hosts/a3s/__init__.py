"""A3S Code: loads projects, with the findings about their files.

A folder with ``.a3s/`` is a project, and so is an agent directory. Both may have an
``a3s.session.yaml`` (`policy.hosts.a3s.agents`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from policy.core import expressions as re
from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.values import define, field
from policy.files.trees import Tree
from policy.hosts.a3s import lint
from policy.hosts.a3s.agents import (
    SESSION_FILE,
    AgentDefinition,
    AgentDir,
    ScriptToolSpec,
    SessionSettings,
    built_in_agents,
    load_agent_dir,
    read_agent,
    read_session,
    register,
)
from policy.hosts.a3s.gate import SOURCE_BYTES, check_source
from policy.hosts.a3s.reading import MAIN, SCRIPT, World, declared_reading, enforced_reading
from policy.hosts.a3s.rules import SHIPPED, TOOLS, A3sProfile, PermissionPolicy, finding
from policy.hosts.data import tool_classes
from policy.hosts.project import Project, ReadFile, agent_entries

HOST: Final = "a3s"
_FOLDER: Final = ".a3s/"

# The folders of agents; a later definition of a name replaces an earlier one.
_AGENTS: Final = (".claude/agents/", ".a3s/agents/")
_SUFFIXES: Final = (".yaml", ".yml", ".md")
_NAME: Final = re.compile(r"(?m)^name\s*:\s*['\"]?([^'\"\n#]+?)['\"]?\s*$")
_KIND: Final = re.compile(r"\A\s*---\s*\n(?:.*\n)*?kind\s*:")


def load(tree: Tree) -> tuple[Project, ...]:
    """Return every project of A3S below *tree*, in the order of their folders."""
    return tuple(_Loader(tree, root).run() for root in _roots(tree))


def _roots(tree: Tree) -> list[str]:
    roots = set()
    for path in tree.named():
        before, found, _ = f"/{path}".partition(f"/{_FOLDER}")
        if found:
            roots.add(before.removeprefix("/"))
        if path == SESSION_FILE or path.endswith(f"/{SESSION_FILE}"):
            roots.add(path.rpartition("/")[0])
    return sorted(roots | _directories(tree))


def _directories(tree: Tree) -> set[str]:
    """Return the folders that are agent directories, readable or not."""
    paths = set(tree.paths())
    found = set()
    for path in paths:
        folder, _, name = path.rpartition("/")
        parent, _, inner = folder.rpartition("/")
        if name == "agent.acl":
            found.add(folder)
        elif name.endswith(".md") and inner in {"tools", "schedules"}:
            instructions = f"{parent}/instructions.md" if parent else "instructions.md"
            with suppress(PolicyError):
                if instructions in paths and (
                    inner == "schedules" or _KIND.match(tree.source(path, limits.AGENT_BYTES).text)
                ):
                    found.add(parent)
    return found


@define
class _Loader:
    """One project."""

    tree: Tree
    root: str
    files: list[ReadFile] = field(factory=list)
    findings: list[Finding] = field(factory=list)

    def run(self) -> Project:
        """Return the project."""
        session = self._session()
        agents = self._agents(session.profile)
        directory = self._directory(session.profile)
        known = frozenset(tool.name.lower() for tool in directory.tools)
        self.findings += lint.session_findings(session, known)
        for agent in agents.values():
            self.findings += lint.unconfirmed_findings(agent, session)
        scripts = self._scripts(directory)
        world = World(session, agents, scripts)
        reading = declared_reading(world)
        spans = {name: agent.span for name, agent in agents.items()}
        spans.update({f"script:{name}": script.span for name, script in scripts.items()})
        return Project(
            host=HOST,
            profile=str(session.profile),
            root=self.root,
            agents=agent_entries(reading.tables, spans),
            starts=(MAIN,),
            attenuated=reading,
            enforced=enforced_reading(world),
            files=tuple(self.files),
            findings=tuple(sorted(dict.fromkeys(self.findings), key=lambda found: found.place)),
            tool_classes=tool_classes(TOOLS["classes"]),
        )

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if self.root else name

    def _below(self, *names: str) -> list[str]:
        """Return the files whose paths start with one of *names*."""
        return [
            path for path in self.tree.paths() if path.startswith(tuple(map(self._path, names)))
        ]

    def _session(self) -> SessionSettings:
        path = self._path(SESSION_FILE)
        if path not in self.tree.named():
            return SessionSettings()
        self.files.append(ReadFile(path, "session"))
        try:
            return read_session(self.tree.source(path))
        except PolicyError as error:
            why = "nothing is granted until it can be read"
            self.findings += Finding.of(error, "a3s-bad-session", consequence=why)
            # A session that cannot be read denies every call, since a rule of it might.
            return SessionSettings(permissions=PermissionPolicy(default_decision=Effect.DENY))

    def _agents(self, profile: A3sProfile) -> dict[str, AgentDefinition]:
        agents, unread = built_in_agents(profile), []
        folders = _AGENTS if self._below(_FOLDER) else ()
        for path in [path for folder in folders for path in self._below(folder)]:
            if not path.endswith(_SUFFIXES):
                continue
            self.files.append(ReadFile(path, "agent"))
            try:
                source = self.tree.source(path, limits.AGENT_BYTES)
                agent = read_agent(source, profile)
            except PolicyError as error:
                why = "the host skips the file and goes on"
                self.findings += Finding.of(error, "a3s-agent-skipped", consequence=why)
                unread.append(error)
                continue
            name = agent.name
            self.findings += lint.agent_findings(agent)
            if name == MAIN or name.startswith(SCRIPT):
                self.findings.append(finding("a3s-reserved-name", agent.span, agent=name))
                continue
            if name in agents:
                self.findings += lint.override_findings(agents[name], agent)
            agents[name] = agent
        self.findings += (found for one in unread for found in _exposed(agents, one))
        return agents

    def _directory(self, profile: A3sProfile) -> AgentDir:
        nothing = AgentDir(self.root, "")
        if self.root not in _directories(self.tree):
            return nothing
        try:
            directory = load_agent_dir(self.tree, self.root)
        except PolicyError as error:
            paths = self._below("instructions.md", "agent.acl", "tools/", "schedules/")
            self.files += [ReadFile(path, "agent directory") for path in paths]
            why = "nothing of the directory is in force"
            self.findings += Finding.of(error, "a3s-bad-directory", consequence=why)
            return nothing
        self.files += [ReadFile(path, "agent directory") for path in directory.files]
        self.findings += lint.directory_findings(directory, profile)
        return directory

    def _scripts(self, directory: AgentDir) -> dict[str, ScriptToolSpec]:
        """Return the scripts that the host registers and runs, also without a source, by name."""
        found = {}
        for tool in register(directory, SHIPPED)[0]:
            if not isinstance(tool, ScriptToolSpec):
                continue
            path = self._path(tool.path)
            try:
                if path in self.tree.paths():
                    check_source(self.tree.source(path, SOURCE_BYTES).text)
            except PolicyError as error:
                why, help_ = error.message, error.help
                self.findings.append(
                    finding("a3s-script-refused", tool.span, path=path, why=why, help=help_)
                )
            else:
                found[tool.name] = tool
        return found


def _exposed(agents: Mapping[str, AgentDefinition], error: PolicyError) -> Iterator[Finding]:
    """Yield a finding about an agent that a file would replace if it could be read."""
    source = error.span.source if error.span else None
    named = _NAME.search(source.text) if source else None
    exposed = agents.get(named[1]) if named else None
    if source and named and exposed:
        which = f"the one at {exposed.span.place}" if exposed.span else "the one the host ships"
        span, why = source.span(*named.span(1)), error.message
        yield finding("a3s-exposed-definition", span, agent=exposed.name, which=which, why=why)
