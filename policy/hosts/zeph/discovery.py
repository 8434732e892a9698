"""Where definitions and configurations of Zeph are in a tree of files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from functools import partial
from typing import Final

import attrs

from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Source
from policy.files.nodes import MappingNode
from policy.files.opening import Tree
from policy.files.toml_nodes import read_toml
from policy.hosts.errors import HostError, HostErrors
from policy.hosts.fields import U32, U64, Fields
from policy.hosts.keys import unapplied_keys
from policy.hosts.project import ReadFile
from policy.hosts.zeph.config_keys import SECTIONS
from policy.hosts.zeph.definition import DEFINITION_BYTES, TOO_LARGE, MemoryScope, PermissionMode
from policy.hosts.zeph.findings import entry_findings
from policy.hosts.zeph.loading import PROJECT, USER, Loader, parse_file
from policy.hosts.zeph.names import ZephErrorKind
from policy.hosts.zeph.session import FILE_BYTES, ZephOptions, ZephSession
from policy.hosts.zeph.session_file import NOTHING, Open, read_session
from policy.hosts.zeph.spawning import AgentsConfig, DelegationMode

__all__ = [
    "CONFIG_FILES",
    "Configured",
    "ZephFolder",
    "discover",
    "is_definition",
    "read",
    "read_config",
]


# The first that is there counts. The last one Zeph reads only if it is told to.
_TOLD: Final = ".zeph/config.toml"
CONFIG_FILES: Final = ("config/default.toml", ".config/zeph/config.toml", _TOLD)


@attrs.frozen
class Configured:
    """What a configuration says of agents and of the session.

    Attributes:
        files: where it is, and the policy file that it names, as they were read.
        config: the section ``[agents]``.
        session: the gates of the session.
        user_dir: the folder of the user; "" is none, None the usual one.
        extra_dirs: more folders, from the root of the project.
        findings: what is the matter with it.

    """

    files: tuple[ReadFile, ...]
    config: AgentsConfig
    session: ZephSession = ZephSession()
    user_dir: str | None = None
    extra_dirs: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_config(
    tree: Tree, known: Collection[str], root: str, options: ZephOptions
) -> Configured | None:
    """Return what the configuration of a project says, or None where there is none.

    A file without any of the sections is somebody else's. With one that cannot be read
    Zeph does not start, so no agent is started either.

    Args:
        tree: the files.
        known: their paths.
        root: the folder of the project, relative to the tree.
        options: how agents are started.

    """
    for name in CONFIG_FILES:
        path = f"{root}/{name}" if root else name
        if path not in known:
            continue
        try:
            source = tree.source(path)
            node = read_toml(source, 0, len(source.text))
        except PolicyError as error:
            return _unreadable(path, error)
        if isinstance(node, MappingNode) and any(node.entry(name) for name in _SECTIONS):
            fields = Fields(node, ZephErrorKind.PARSE)
            return _configured(path, fields, options, partial(_policy_file, tree, known, root))
    return None


def _policy_file(tree: Tree, known: Collection[str], root: str, name: str) -> Source:
    path = posixpath.normpath(posixpath.join(root, name))
    if path not in known or (root and not path.startswith(f"{root}/")):
        message = f"the policy file `{name}` is not among the files of the project"
        raise PolicyError(message)
    return tree.source(path, FILE_BYTES)


def _read(path: str) -> ReadFile:
    told = path == _TOLD or path.endswith(f"/{_TOLD}")
    return ReadFile(path, "configuration", _GUESS if told else "")


_GUESS: Final = "Zeph reads it where `--config` or `ZEPH_CONFIG` names it"
_NOT_STARTED: Final = "Zeph does not start with this file, so it allows nothing"


def _unreadable(path: str, error: PolicyError) -> Configured:
    findings = Finding.of(error, "unreadable-config", consequence=_NOT_STARTED)
    config = AgentsConfig(enabled=False)
    return Configured((_read(path),), config, ZephSession(rules=NOTHING), findings=findings)


def _configured(path: str, root: Fields, options: ZephOptions, opened: Open) -> Configured:
    agents = root.below("agents")
    user = agents.text("user_agents_dir") if agents.entry("user_agents_dir") else None
    extra = agents.texts("extra_dirs")
    config = AgentsConfig(
        enabled=agents.truth("enabled"),
        delegation_mode=agents.choice("delegation_mode", DelegationMode.PROACTIVE),
        max_spawns_per_session=agents.number("max_spawns_per_session", 100, U64),
        max_spawn_depth=agents.number("max_spawn_depth", 3, U32),
        max_concurrent=agents.number("max_concurrent", 5, U64),
        default_permission_mode=agents.optional_choice("default_permission_mode", PermissionMode),
        default_disallowed_tools=agents.texts("default_disallowed_tools"),
        default_memory_scope=agents.optional_choice("default_memory_scope", MemoryScope),
        allow_bypass_permissions=agents.truth("allow_bypass_permissions"),
        spans=agents.spans,
    )
    said = read_session(root, opened)
    if root.errors:
        return _unreadable(path, HostErrors(root.errors))
    folders = tuple(posixpath.normpath(folder) for folder in extra)
    user = posixpath.normpath(user) if user else user
    found = [*_findings(path, agents, config, options), *_keys(root), *said.findings]
    for name, folder in (("user_agents_dir", user), *(("extra_dirs", one) for one in folders)):
        if folder and _is_elsewhere(folder):
            found.append(_elsewhere(agents, name, folder))
    policy = (ReadFile(said.policy_file, "policy"),) if said.policy_file else ()
    return Configured(
        (_read(path), *policy),
        config,
        said.session,
        "" if user and _is_elsewhere(user) else user,
        tuple(folder for folder in folders if not _is_elsewhere(folder)),
        tuple(found),
    )


def _is_elsewhere(folder: str) -> bool:
    return folder.startswith(("/", "~", "..", "$"))


def _elsewhere(agents: Fields, name: str, folder: str) -> Finding:
    return Finding(
        "folder-elsewhere",
        f"the definitions in `{folder}` are not looked at here, and Zeph reads them",
        Severity.WARNING,
        agents.spans.get(f"agents.{name}"),
    )


def _findings(
    path: str, agents: Fields, config: AgentsConfig, options: ZephOptions
) -> Iterator[Finding]:
    spans = agents.spans
    if not config.enabled:
        said = "`enabled` is not `true` in `[agents]`"
        yield Finding(
            "agents-disabled", f"Zeph starts no agent here: {said}", Severity.NOTE,
            spans.get("agents.enabled") or spans.get("agents"), file=path,
            help="write `enabled = true` where agents are meant to be started",
        )  # fmt: skip
    for index, name in enumerate(config.default_disallowed_tools):
        span = spans.get(f"agents.default_disallowed_tools[{index}]")
        yield from entry_findings(name, Effect.DENY, span, options)


def _keys(root: Fields) -> Iterator[Finding]:
    for key in unapplied_keys(root.node, SECTIONS) if root.node else ():
        if key.help:
            yield Finding(
                "config-key-ignored", f"`{key.name}` means nothing, and Zeph does not say so",
                Severity.ERROR, key.span, help=key.help,
            )  # fmt: skip
        else:
            yield key.finding


# The sections by which a file is known to be Zeph's.
_SECTIONS: Final = ("agents", "tools", "security")


# Where definitions of Zeph are in a tree of files, and what is read of them.


# The scopes of the folders, the first counting most.
_SCOPES: Final = {PROJECT: "project", USER: "user"}
_FOLDERS: Final = re.compile(rf"(?:(.*)/)?({'|'.join(map(re.escape, _SCOPES))})/(.+)")


@attrs.frozen
class ZephFolder:
    """A folder in which Zeph would be started.

    Attributes:
        root: relative to the tree.
        files: by folder of definitions, the names in it.

    """

    root: str
    files: dict[str, list[str]] = attrs.field(factory=dict)


def discover(tree: Tree) -> tuple[ZephFolder, ...]:
    """Return every folder below *tree* that has definitions."""
    found: dict[str, ZephFolder] = {}
    for path in tree.paths():
        parts = _FOLDERS.fullmatch(path)
        if parts:
            root = parts[1] or ""
            files = found.setdefault(root, ZephFolder(root)).files
            files.setdefault(parts[2], []).append(parts[3])
    return tuple(each for each in found.values() if any(map(_definitions, each.files.values())))


def is_definition(path: str) -> bool:
    """Return whether the file at *path* is read as a definition."""
    parts = _FOLDERS.fullmatch(path)
    return parts is not None and bool(_definitions([parts[3]]))


def _definitions(names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(".md") and name != ".md" and "/" not in name]


def read(
    tree: Tree, found: ZephFolder, options: ZephOptions, configured: Configured | None = None
) -> tuple[Loader, tuple[ReadFile, ...]]:
    """Return what the definitions of one folder come to, and the files that were read."""
    loader = Loader(options.profile)
    files: list[ReadFile] = []
    for folder, scope in _folders(configured).items():
        prefix = f"{found.root}/{folder}" if found.root else folder
        names = found.files.get(folder)
        if names is None:
            names = [
                p.removeprefix(f"{prefix}/") for p in tree.paths() if p.startswith(f"{prefix}/")
            ]
        loader.findings += _passed_over(prefix, names)
        for name in loader.cut(prefix, sorted(_definitions(names))):
            path = f"{prefix}/{name}"
            files.append(ReadFile(path, "agent"))
            try:
                definition = parse_file(path, _bytes(tree, path), options.profile)
            except HostError as error:
                loader.skip(error)
            else:
                loader.take(attrs.evolve(definition, source=f"{scope}/{name}"), scope)
    return loader, tuple(files)


def _folders(configured: Configured | None) -> dict[str, str]:
    """Return the folders of definitions and their scopes, the first counting most."""
    if configured is None:
        return dict(_SCOPES)
    user = USER if configured.user_dir is None else configured.user_dir
    named = [(PROJECT, "project"), (user, "user"), *((f, "extra") for f in configured.extra_dirs)]
    # One that is there twice counts where it is first.
    found: dict[str, str] = {}
    for folder, scope in named:
        if folder:
            found.setdefault(folder, scope)
    return found


def _bytes(tree: Tree, path: str) -> bytes:
    try:
        return tree.read(path, DEFINITION_BYTES)
    except PolicyError as error:
        message = TOO_LARGE if "bytes" in error.message else error.message
        raise HostError(ZephErrorKind.PARSE, message, file=path) from None


def _passed_over(prefix: str, names: list[str]) -> Iterator[Finding]:
    for name in names:
        if name.endswith(".md") and "/" in name:
            why = "it is in a folder below"
        elif name.lower().endswith((".md", ".markdown")) and not name.endswith(".md"):
            why = "its name does not end in `.md`"
        else:
            continue
        yield Finding(
            "definition-not-read", f"Zeph does not read the file: {why}", Severity.WARNING,
            file=f"{prefix}/{name}", help=f"move it to `{prefix}`, as `.md`",
        )  # fmt: skip
