"""The section ``[agents]`` of a configuration that lies beside the definitions.

Zeph reads one file: the one it is told by ``--config`` or ``ZEPH_CONFIG``, else
``config/default.toml`` of the working folder, else ``zeph/config.toml`` of the
user's configuration. Variables of the environment, which go before a file, are
not known here.
"""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Collection, Iterator
from typing import Final

import attrs

from policy.documents.node import Mapping
from policy.documents.toml_nodes import read_toml
from policy.effect import Effect
from policy.errors import PolicyError, PolicyErrors
from policy.files.opening import Tree
from policy.finding import Finding, Severity
from policy.hosts.zeph.context import AgentsConfig, DelegationMode
from policy.hosts.zeph.definition import MemoryScope, PermissionMode
from policy.hosts.zeph.entry_findings import entry_findings
from policy.hosts.zeph.fields import U32, U64, Fields
from policy.hosts.zeph.options import Options
from policy.project import ReadFile

__all__ = ["CONFIG_FILES", "Configured", "read_config"]

# The first that is there counts. The last one Zeph reads only if it is told to.
_TOLD: Final = ".zeph/config.toml"
CONFIG_FILES: Final = ("config/default.toml", ".config/zeph/config.toml", _TOLD)


@attrs.frozen
class Configured:
    """What a configuration says of agents.

    Attributes:
        file: where it is, as it was read.
        config: the section.
        user_dir: the folder of the user; "" is none, None the usual one.
        extra_dirs: more folders, from the root of the project.
        findings: what is the matter with it.

    """

    file: ReadFile
    config: AgentsConfig
    user_dir: str | None = None
    extra_dirs: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def read_config(
    tree: Tree, known: Collection[str], root: str, options: Options
) -> Configured | None:
    """Return what the configuration of a project says, or None where it is silent.

    A file without the section is somebody else's. With one that cannot be read
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
        if isinstance(node, Mapping) and node.entry("agents") is not None:
            return _configured(path, Fields(node, "", typed=True, errors=[], spans={}), options)
    return None


def _read(path: str) -> ReadFile:
    told = path == _TOLD or path.endswith(f"/{_TOLD}")
    return ReadFile(path, "configuration", _GUESS if told else "")


_GUESS: Final = "Zeph reads it where `--config` or `ZEPH_CONFIG` names it"
_NOT_STARTED: Final = "Zeph does not start with this file, so no agent is started"


def _unreadable(path: str, error: PolicyError) -> Configured:
    findings = Finding.of(error, "unreadable-config", consequence=_NOT_STARTED)
    return Configured(_read(path), AgentsConfig(enabled=False), findings=findings)


def _configured(path: str, root: Fields, options: Options) -> Configured:
    agents = root.below("agents")
    user = agents.text("user_agents_dir") if agents.entry("user_agents_dir") else None
    extra = agents.texts("extra_dirs")
    config = AgentsConfig(
        enabled=agents.truth("enabled", default=False),
        delegation_mode=agents.choice("delegation_mode", DelegationMode.PROACTIVE),
        max_spawns_per_session=agents.number("max_spawns_per_session", 100, U64),
        max_spawn_depth=agents.number("max_spawn_depth", 3, U32),
        max_concurrent=agents.number("max_concurrent", 5, U64),
        default_permission_mode=agents.optional_choice("default_permission_mode", PermissionMode),
        default_disallowed_tools=agents.texts("default_disallowed_tools"),
        default_memory_scope=agents.optional_choice("default_memory_scope", MemoryScope),
        allow_bypass_permissions=agents.truth("allow_bypass_permissions", default=False),
        spans=agents.spans,
    )
    if agents.errors:
        return _unreadable(path, PolicyErrors(agents.errors))
    folders = tuple(posixpath.normpath(folder) for folder in extra)
    user = posixpath.normpath(user) if user else user
    found = [*_findings(path, agents, config, options)]
    for name, folder in (("user_agents_dir", user), *(("extra_dirs", one) for one in folders)):
        if folder and _is_elsewhere(folder):
            found.append(_elsewhere(agents, name, folder))
    return Configured(
        _read(path),
        config,
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
    path: str, agents: Fields, config: AgentsConfig, options: Options
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
    for name, span in agents.unknown(*_SAID):
        near = difflib.get_close_matches(name.rpartition(".")[2], _SAID, 1, 0.8)
        if near:
            yield Finding(
                "config-key-ignored", f"`{name}` means nothing, and Zeph does not say so",
                Severity.ERROR, span, help=f"did you mean `{near[0]}`?",
            )  # fmt: skip


# The keys of the section that are looked at here.
_SAID: Final = (
    "enabled", "delegation_mode", "max_concurrent", "max_spawns_per_session", "max_spawn_depth",
    "extra_dirs", "user_agents_dir", "default_permission_mode", "default_disallowed_tools",
    "allow_bypass_permissions", "default_memory_scope",
)  # fmt: skip
