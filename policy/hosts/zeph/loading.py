"""Loads the files of Zeph, on disk and in trees: definitions and the configuration.

Folders are read by priority, and the files of a folder by name. The first definition of a name is
in force. An unreadable file is skipped, unless the command line names it: then the load fails.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
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
    PermissionMode,
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


def with_scope(
    definition: SubAgentDef, scope: str | None, *, strict: bool = False
) -> tuple[SubAgentDef, tuple[Finding, ...]]:
    """Return *definition*, without hooks if its scope must not have any, and a finding if so.

    Zeph removes hooks of users. If *strict*, only definitions of projects and of the command line
    keep them, as documented.
    """
    without_hooks = ("user", "extra", "unknown") if strict else ("user",)
    if scope not in without_hooks or not definition.hooks:
        return definition, ()
    span, agent = definition.span("hooks"), definition.name
    return evolve(definition, hooks={}), (find("hooks-stripped", span, agent=agent, scope=scope),)


@define
class Loaded:
    """The definitions of several folders; the first of a name is in force."""

    strict: bool = False  # see `with_scope`
    by_name: dict[str, SubAgentDef] = field(factory=dict)
    findings: list[Finding] = field(factory=list)
    absent: list[str] = field(factory=list)  # folders that do not exist
    errors: list[HostError] = field(factory=list)  # why files were skipped
    _unread: dict[str, HostError] = field(factory=dict)

    def take(self, definition: SubAgentDef, scope: str | None) -> None:
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
        self.by_name[agent], findings = with_scope(definition, scope, strict=self.strict)
        self.findings += findings

    def add(self, read: Callable[[], SubAgentDef], scope: str) -> None:
        """Add the definition that *read* returns; skip a file that cannot be read."""
        try:
            self.take(read(), scope)
        except HostError as error:
            self._skip(error)

    def _skip(self, error: HostError) -> None:
        """Skip a file, and keep the name of the agent that it may define."""
        self.errors.append(error)
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

    @property
    def definitions(self) -> tuple[SubAgentDef, ...]:
        """The definitions in force."""
        return tuple(self.by_name.values())


# Finds the name in an unreadable file.
_NAME: Final = re.compile(r"(?m)^name[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9][A-Za-z0-9_-]*)")


def _at(span: Span | None, before: str = "") -> str:
    return f"{before} at {span.place}" if span else ""


# The definitions of a project, from its folder.
PROJECT: Final = ".zeph/agents"

# The definitions of a user, below the home folder; and the folder that the gate checks.
USER: Final = ".config/zeph/agents"
_GATED: Final = ".zeph/agents"

Named = str | PurePath


def scope_label(
    path: Named,
    cli: Iterable[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Iterable[Named] = (),
) -> str:
    """Return the scope of a file, by the start of its path as written."""
    folders = {"cli": cli, "project": (PROJECT,), "user": (user_dir,), "extra": extra_dirs}
    for scope, named in folders.items():
        if any(folder and PurePath(path).is_relative_to(folder) for folder in named):
            return scope
    return "unknown"


def resolve_paths(
    cli: Sequence[Named] = (),
    user_dir: Named | None = None,
    extra_dirs: Sequence[Named] = (),
    *,
    folder: Path = Path(),
    home: Path | None = None,
) -> tuple[Path, ...]:
    """Return the folders of definitions, highest priority first.

    As *user_dir*, None is the default folder and "" is none. Raises HostError for a path of *cli*
    that does not exist.
    """
    for given in cli:
        if not (folder / given).exists():
            raise refused("String", path=given)
    users = (home or Path.home()) / USER if user_dir is None else user_dir
    paths = [Path(path) for path in (*cli, PROJECT, users, *extra_dirs) if path != ""]
    # A folder that occurs twice, also through a link, keeps its first place.
    unique = {os.path.realpath(folder / path): path for path in reversed(paths)}
    return tuple(path for path in dict.fromkeys(paths) if path in unique.values())


def load(
    path: Named,
    boundary: Named | None = None,
    *,
    folder: Path = Path(),
    profile: ZephProfile = ZephProfile.ZEPH,
    scope: str | None = None,
) -> SubAgentDef:
    """Return the definition in one file, labelled with its scope.

    With links resolved, the file must be in *boundary*. Raises HostError of kind ``Parse``, or as
    `parse`.
    """
    name, case = str(path), "unresolved"
    try:
        real = (folder / path).resolve(strict=True)
        case = "unread"
        if boundary is not None and not real.is_relative_to((folder / boundary).resolve()):
            raise refused("Parse", None, "outside", file=name, boundary=boundary)
        if real.stat().st_size > DEFINITION_BYTES:
            raise refused("Parse", None, "size", file=name)
        data = real.read_bytes()
    except OSError as error:
        raise refused("Parse", None, case, file=name, why=error.strerror) from None
    definition = _parse_file(name, data, profile)
    label = PurePath(path).name
    return evolve(definition, source=f"{scope}/{label}" if scope else label, file_path=real)


def load_all_with_sources(  # the parameters of Zeph
    ordered_paths: Iterable[Named],
    cli_agents: Sequence[Named] = (),
    config_user_dir: Named | None = None,
    extra_dirs: Sequence[Named] = (),
    *,
    folder: Path = Path(),
    profile: ZephProfile = ZephProfile.ZEPH,
    strict: bool = False,
) -> Loaded:
    """Return the definitions of *ordered_paths*, each with the scope of its path.

    If *strict*, linked folders must be in *folder*, and hooks follow `with_scope`. Raises HostError
    for an unreadable file among *cli_agents*.
    """
    loaded = Loaded(strict)
    named = frozenset(map(PurePath, cli_agents))
    for given in map(Path, ordered_paths):
        is_named, boundary, scope = given in named, None, "cli"
        files: Iterable[Path] = [given]
        # Zeph labels every single file as one of the command line.
        if not (folder / given).is_file():
            scope = scope_label(given, cli_agents, config_user_dir, extra_dirs)
            boundary = folder if strict and scope == "project" else None if is_named else given
            files = []
            if not (folder / given).is_dir():
                loaded.absent.append(str(given))
            else:
                inside = (folder / given).iterdir()
                names = sorted(entry.name for entry in inside if entry.suffix == ".md")
                files = [given / name for name in loaded.cut(str(given), names)]
        for file in files:
            read = partial(load, file, boundary, folder=folder, profile=profile, scope=scope)
            if is_named:
                loaded.take(read(), scope)
            else:
                loaded.add(read, scope)
    return loaded


def load_definitions(
    paths: Sequence[Named], *, folder: Path = Path(), home: Path | None = None
) -> Loaded:
    """Return the definitions of *paths*; raise HostError for a mode other than ``default``.

    Zeph has this entry point and does not use it. It checks modes only if ``~/.zeph/agents`` is one
    of *paths*, which is not the folder that it loads.
    """
    gate = (home or Path.home()) / _GATED
    gated = os.path.realpath(gate)
    loaded = load_all_with_sources(paths, folder=folder)
    read = {os.path.realpath(folder / path) for path in paths}
    for definition in loaded.definitions if gate.parent.is_dir() and gated in read else ():
        if definition.permissions.permission_mode is not PermissionMode.DEFAULT:
            span = definition.span("permissions.permission_mode")
            raise refused("Invalid", span, "mode", agent=definition.name)
    return loaded


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
