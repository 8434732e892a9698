"""Loads the files of Zeph, on disk and in trees: definitions and the configuration.

Folders are read by priority, and the files of a folder by name. The first definition of a name is
in force. An unreadable file is skipped, unless the command line names it: then the load fails.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.core.values import define, evolve, field, frozen
from policy.files.nodes import MappingNode
from policy.files.text import decode
from policy.files.toml_nodes import read_toml
from policy.files.trees import Tree
from policy.hosts.data import host_table
from policy.hosts.fields import Fields, HostError, HostErrors, Keys, as_host_errors
from policy.hosts.project import ReadFile
from policy.hosts.zeph.definition import (
    DEFINITION_BYTES,
    SubAgentDef,
    ZephProfile,
    find,
    parse,
    refused,
)
from policy.hosts.zeph.findings import entry_findings
from policy.hosts.zeph.session import FILE_BYTES, NOTHING, Open, ZephSession, session_at
from policy.hosts.zeph.spawning import AgentsConfig, ZephOptions

# The most files that are read of one folder.
MOST_FILES: Final = 100

_SKIPPED: Final = "Zeph skips the file, so there is no such agent"

# Mistakes in YAML that Zeph does not refuse.
_OURS: Final = re.compile(r"\b(?:anchors|aliases|tags) are not read")
_NOT_DECIDED: Final = "Zeph reads it, and this program does not know what the agent may do"


def _parse_file(name: str, data: bytes, profile: ZephProfile) -> SubAgentDef:
    """Return the definition in *data*; raise HostError for any mistake."""
    try:
        source = decode(name, data)
    except PolicyError as error:
        raise as_host_errors(error, "Parse") from None
    return parse(source, profile)


def with_scope(definition: SubAgentDef, scope: str) -> tuple[SubAgentDef, tuple[Finding, ...]]:
    """Return *definition*, without hooks if it is of a user, and a finding if so."""
    if scope != "user" or not definition.hooks:
        return definition, ()
    span, agent = definition.span("hooks"), definition.name
    return evolve(definition, hooks={}), (find("hooks-stripped", span, agent=agent, scope=scope),)


@define
class Loaded:
    """The definitions of several folders; the first of a name is in force."""

    by_name: dict[str, SubAgentDef] = field(factory=dict)
    findings: list[Finding] = field(factory=list)
    _unread: dict[str, HostError] = field(factory=dict)

    def take(self, definition: SubAgentDef, scope: str) -> None:
        """Add *definition*, unless its name is taken."""
        agent, span = definition.name, definition.span("name")
        if agent in self.by_name:
            at = _at(self.by_name[agent].span("name"))
            self.findings.append(find("shadowed-definition", span, agent=agent, at=at))
            return
        if lost := self._unread.get(agent):
            at, file = _at(span, ","), lost.file
            found = find("exposed-definition", lost.span, file=file, agent=agent, at=at)
            self.findings.append(found)
        self.by_name[agent], findings = with_scope(definition, scope)
        self.findings += findings

    def add(self, read: Callable[[], SubAgentDef], scope: str) -> None:
        """Add the definition that *read* returns; skip a file that cannot be read."""
        try:
            self.take(read(), scope)
        except HostError as error:
            self._skip(error)

    def _skip(self, error: HostError) -> None:
        """Skip a file, and keep the name of the agent that it may define."""
        mistakes = error.errors if isinstance(error, HostErrors) else (error,)
        ours = all(_OURS.search(one.message) for one in mistakes)
        consequence = _NOT_DECIDED if ours else _SKIPPED
        self.findings += Finding.of(error, "unreadable-definition", consequence=consequence)
        named = _NAME.search(error.span.source.text) if error.span else None
        self._unread.setdefault(named[1] if named else PurePath(error.file).stem, error)

    def cut(self, folder: str, names: Sequence[str]) -> Sequence[str]:
        """Return the files of one folder that Zeph reads: the first hundred."""
        if left := names[MOST_FILES:]:
            most, first = len(names), left[0]
            found = find("too-many-definitions", file=folder, left=len(left), all=most, first=first)
            self.findings.append(found)
        return names[:MOST_FILES]


# Finds the name in an unreadable file.
_NAME: Final = re.compile(r"(?m)^name[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9][A-Za-z0-9_-]*)")


def _at(span: Span | None, before: str = "") -> str:
    return f"{before} at {span.place}" if span else ""


# The definitions of a project, from its folder.
PROJECT: Final = ".zeph/agents"

# The definitions of a user, below the home folder.
USER: Final = ".config/zeph/agents"

SECTIONS: Final = {
    path: Keys(
        keys.get("known", ()),
        {**dict.fromkeys(keys.get("skipped", ())), **keys.get("unless", {})},
        keys.get("is_open", False),
    )
    for path, keys in host_table("zeph", "config").items()
}

# The first that exists is read; Zeph reads the last only if an option names it.
_NAMED: Final = ".zeph/config.toml"
CONFIG_FILES: Final = ("config/default.toml", ".config/zeph/config.toml", _NAMED)

# The scopes of the folders of definitions, the one with the highest priority first.
_SCOPES: Final = {PROJECT: "project", USER: "user"}


@frozen
class Configured:
    """A configuration; the default is that of a project without a configuration file."""

    files: tuple[ReadFile, ...] = ()  # its file, and the policy file that it names
    config: AgentsConfig = AgentsConfig()
    session: ZephSession = ZephSession()
    # Folder of definitions -> its scope, highest priority first.
    folders: Mapping[str, str] = field(default=_SCOPES, hash=False)
    findings: tuple[Finding, ...] = ()


def read_config(tree: Tree, known: Collection[str], root: str, options: ZephOptions) -> Configured:
    """Return the configuration of the project in the folder *root*; *known* are all paths.

    An unreadable configuration starts no agent, since Zeph does not start with it.
    """

    def opened(name: str) -> Source:
        path = posixpath.normpath(posixpath.join(root, name))
        if path not in known or (root and not path.startswith(f"{root}/")):
            raise PolicyError(f"the policy file `{name}` is not among the files of the project")
        return tree.source(path, FILE_BYTES)

    for name in CONFIG_FILES:
        path = f"{root}/{name}" if root else name
        if path not in known:
            continue
        try:
            source = tree.source(path)
            node = read_toml(source, 0, len(source.text))
        except PolicyError as error:
            return _unreadable(path, error)
        sections = ("agents", "tools", "security")
        if isinstance(node, MappingNode) and any(map(node.entry, sections)):
            return _configured(path, Fields(node, "Parse"), options, opened)
    return Configured()


def _read(path: str) -> ReadFile:
    named = f"/{path}".endswith(f"/{_NAMED}")
    why = "Zeph reads it where `--config` or `ZEPH_CONFIG` names it"
    return ReadFile(path, "configuration", why if named else "")


_NOT_STARTED: Final = "Zeph does not start with this file, so it allows nothing"


def _unreadable(path: str, error: PolicyError) -> Configured:
    findings = Finding.of(error, "unreadable-config", consequence=_NOT_STARTED)
    config = AgentsConfig(enabled=False)
    return Configured((_read(path),), config, ZephSession(rules=NOTHING), findings=findings)


def _configured(path: str, root: Fields, options: ZephOptions, opened: Open) -> Configured:
    agents = root.below("agents")
    user = agents.text("user_agents_dir") if agents.entry("user_agents_dir") else None
    extra = agents.texts("extra_dirs")
    spans = agents.spans
    usual = AgentsConfig(enabled=False, spans=spans)
    config = agents.values(usual, SECTIONS["agents"].known)
    session, files, findings = session_at(root, opened)
    if root.errors:
        return _unreadable(path, HostErrors(root.errors))
    named = [("user_agents_dir", user, "user"), *(("extra_dirs", one, "extra") for one in extra)]
    found = []
    if not config.enabled:
        span = spans.get("agents.enabled") or spans.get("agents")
        found.append(find("agents-disabled", span, file=path))
    for name, _, span in config.denied:
        found += entry_findings(name, Effect.DENY, span, options)
    found += (*root.unapplied(SECTIONS), *findings)
    folders = {PROJECT: "project"} if user is not None else dict(_SCOPES)
    for key, written, scope in named:
        folder = posixpath.normpath(written) if written else ""
        if folder.startswith(("/", "~", "..", "$")):
            found.append(find("folder-elsewhere", spans.get(f"agents.{key}"), folder=folder))
        elif folder:
            folders.setdefault(folder, scope)
    return Configured((_read(path), *files), config, session, folders, tuple(found))


_DEFINITION: Final = re.compile(
    rf"(?:(?P<root>.*)/)?(?:{'|'.join(map(re.escape, _SCOPES))})/(?P<name>[^/]+\.md)"
)


def discover(tree: Tree) -> tuple[str, ...]:
    """Return every folder below *tree* in which Zeph would find definitions."""
    found = filter(None, map(_DEFINITION.fullmatch, tree.paths()))
    return tuple(dict.fromkeys(one["root"] or "" for one in found))


def read(
    tree: Tree, root: str, profile: ZephProfile, folders: Mapping[str, str]
) -> tuple[Loaded, tuple[ReadFile, ...]]:
    """Return the definitions of the project in *root*, and the files that were read."""
    loaded = Loaded()
    files: list[ReadFile] = []
    for folder, scope in folders.items():
        prefix = f"{root}/{folder}" if root else folder
        below = len(prefix) + 1
        names = [path[below:] for path in tree.paths() if path.startswith(f"{prefix}/")]
        definitions = [name for name in names if re.fullmatch(r"[^/]+\.md", name)]
        for name in loaded.cut(prefix, sorted(definitions)):
            path = f"{prefix}/{name}"
            files.append(ReadFile(path, "agent"))
            loaded.add(partial(_from_tree, tree, path, profile, f"{scope}/{name}"), scope)
    return loaded, tuple(files)


def _from_tree(tree: Tree, path: str, profile: ZephProfile, label: str) -> SubAgentDef:
    try:
        data = tree.read(path, DEFINITION_BYTES)
    except PolicyError as error:
        case = "size" if "bytes" in error.message else "other"
        raise refused("Parse", None, case, file=path, why=error.message) from None
    return evolve(_parse_file(path, data, profile), source=label)
