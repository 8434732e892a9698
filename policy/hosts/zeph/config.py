"""Configuration files of Zeph: the agents, the gates of the session, and keys without effect.

A value that is not written has the default of Zeph. A file without any of the sections that
are read here belongs to another program.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final

import attrs

from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.files.nodes import MappingNode
from policy.files.opening import Tree
from policy.files.toml_nodes import read_toml
from policy.hosts.data import host_table
from policy.hosts.errors import HostErrors
from policy.hosts.fields import U32, U64, Fields
from policy.hosts.keys import Keys
from policy.hosts.project import ReadFile
from policy.hosts.zeph.definition import MemoryScope, PermissionMode
from policy.hosts.zeph.findings import entry_findings
from policy.hosts.zeph.names import PROGRAMS, ZephErrorKind, find
from policy.hosts.zeph.session import (
    FILE_BYTES,
    Autonomy,
    BlockedCommand,
    PolicyEnforcer,
    PolicyRule,
    SessionPermissions,
    ZephOptions,
    ZephSession,
    read_rules,
    rules_at,
)
from policy.hosts.zeph.spawning import AgentsConfig, DelegationMode

__all__ = [
    "CONFIG_FILES",
    "NOTHING",
    "SECTIONS",
    "Configured",
    "Open",
    "ReadSession",
    "read_config",
    "read_session",
]


def _sections() -> Iterator[tuple[str, Keys]]:
    for path, keys in host_table("zeph", "config").items():
        skipped = {**dict.fromkeys(keys.get("skipped", ())), **keys.get("unless", {})}
        yield path, Keys(keys.get("known", ()), skipped, keys.get("is_open", False))


SECTIONS: Final = dict(_sections())


# --- the file and its section `[agents]` ----------------------------------------------


# The first that exists is read. Zeph reads the last one only if an option names it.
_NAMED: Final = ".zeph/config.toml"
CONFIG_FILES: Final = ("config/default.toml", ".config/zeph/config.toml", _NAMED)


@attrs.frozen
class Configured:
    """A configuration.

    Attributes:
        files: its file, and the policy file that it names.
        config: the section ``[agents]``.
        session: the gates of the session.
        user_dir: the folder of the user; "" is none, None the default.
        extra_dirs: more folders, relative to the root of the project.
        findings: mistakes and risks in it.

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
    """Return the configuration of a project, or None.

    With a configuration that cannot be read Zeph does not start, so it starts no agent.

    Args:
        tree: the files.
        known: their paths.
        root: the folder of the project, relative to the tree.
        options: the options of the front end.

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
    named = path == _NAMED or path.endswith(f"/{_NAMED}")
    return ReadFile(path, "configuration", _GUESS if named else "")


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
    read = read_session(root, opened)
    if root.errors:
        return _unreadable(path, HostErrors(root.errors))
    spans = agents.spans
    folders = tuple(posixpath.normpath(folder) for folder in extra)
    user = posixpath.normpath(user) if user else user
    found = [*_findings(path, agents, config, options), *_keys(root), *read.findings]
    for name, folder in (("user_agents_dir", user), *(("extra_dirs", one) for one in folders)):
        if folder and _is_elsewhere(folder):
            found.append(find("folder-elsewhere", spans.get(f"agents.{name}"), folder=folder))
    policy = (ReadFile(read.policy_file, "policy"),) if read.policy_file else ()
    return Configured(
        (_read(path), *policy),
        config,
        read.session,
        "" if user and _is_elsewhere(user) else user,
        tuple(folder for folder in folders if not _is_elsewhere(folder)),
        tuple(found),
    )


def _is_elsewhere(folder: str) -> bool:
    return folder.startswith(("/", "~", "..", "$"))


def _findings(
    path: str, agents: Fields, config: AgentsConfig, options: ZephOptions
) -> Iterator[Finding]:
    spans = agents.spans
    if not config.enabled:
        span = spans.get("agents.enabled") or spans.get("agents")
        yield find("agents-disabled", span, file=path)
    for index, name in enumerate(config.default_disallowed_tools):
        span = spans.get(f"agents.default_disallowed_tools[{index}]")
        yield from entry_findings(name, Effect.DENY, span, options)


def _keys(root: Fields) -> Iterator[Finding]:
    for key in root.unapplied(SECTIONS):
        if key.help:
            yield find("config-key-ignored", key.span, key=key.name, help=key.help)
        else:
            yield key.finding


# A configuration of Zeph has at least one of these.
_SECTIONS: Final = ("agents", "tools", "security")


# --- the sections `[tools]` and `[security]` ------------------------------------------


Open = Callable[[str], Source]


@attrs.frozen
class ReadSession:
    """The session in a configuration.

    Attributes:
        session: its gates.
        findings: mistakes in them.
        policy_file: the path of the file that holds the policy rules, or "".

    """

    session: ZephSession
    findings: tuple[Finding, ...] = ()
    policy_file: str = ""


def read_session(root: Fields, opened: Open) -> ReadSession:
    """Return the session in the sections. Values of a wrong type are noted in *root*.

    Args:
        root: the configuration.
        opened: returns the file at a path from the folder of the project.

    """
    tools, security = root.below("tools"), root.below("security")
    if tools.node is None and security.node is None:
        return ReadSession(ZephSession())
    shell = tools.below("shell")
    autonomy = security.choice("autonomy_level", Autonomy.SUPERVISED)
    policy = attrs.evolve(_permissions(tools, shell), autonomy=autonomy)
    session = ZephSession(policy, blocked=tuple(_blocked(shell)))
    section = tools.below("policy")
    enabled = section.truth("enabled")
    rules, default = rules_at(section)
    name = section.text("policy_file", "")
    if not enabled:
        span = section.spans.get("tools.policy.enabled") or section.spans.get("tools.policy")
        off = (find("policy-switched-off", span),) if rules or name else ()
        return ReadSession(session, off)
    file = ""
    try:
        if name:
            source = opened(name)
            file = source.name
            rules = read_rules(source)
        enforcer = _enforcer(rules, default)
    except PolicyError as error:
        span = section.spans.get("tools.policy.policy_file")
        placed = error if error.span else PolicyError(error.message, span, help=error.help)
        findings = Finding.of(placed, "unreadable-config", consequence=_ALL_DENIED)
        return ReadSession(attrs.evolve(session, rules=NOTHING), findings, file)
    return ReadSession(attrs.evolve(session, rules=enforcer), policy_file=file)


# Used if the policy rules cannot be read, since those might deny any call.
NOTHING: Final = PolicyEnforcer.of(())
_ALL_DENIED: Final = "every call is denied here, since the policy rules cannot be read"


def _enforcer(rules: tuple[PolicyRule, ...], default: Effect) -> PolicyEnforcer:
    """Return the rules. Those that deny hold in every environment, since none is known here."""
    always = (attrs.evolve(rule, env=()) if rule.effect is Effect.DENY else rule for rule in rules)
    return PolicyEnforcer.of(always, default)


# --- permissions ----------------------------------------------------------------------


def _permissions(tools: Fields, shell: Fields) -> SessionPermissions:
    """Return the rules of each tool: ``permissions``, or else the lists of the shell."""
    blocked, confirmed = shell.texts("blocked_commands"), shell.optional_texts("confirm_patterns")
    if tools.entry("permissions") is None:
        policy = SessionPermissions.from_legacy(
            blocked, PROGRAMS["confirmed"] if confirmed is None else confirmed
        )
        found = [shell.spans.get(f"tools.shell.blocked_commands[{i}]") for i in range(len(blocked))]
        found += [
            shell.spans.get(f"tools.shell.confirm_patterns[{i}]")
            for i in range(len(confirmed or ()))
        ]
        return attrs.evolve(policy, spans={"bash": tuple(found)})
    section = tools.below("permissions")
    rules: dict[str, tuple[tuple[str, Effect], ...]] = {}
    spans: dict[str, tuple[Span | None, ...]] = {}
    for entry in section.entries:
        items = [
            section.item(node, f"{entry.name}[{index}]")
            for index, node in enumerate(section.sequence(entry.name))
        ]
        for item in items:
            if item.node and item.entry("action") is None:
                item.missing("action")
        rules[entry.name] = tuple(
            (item.text("pattern"), item.choice("action", Effect.ASK, Effect)) for item in items
        )
        spans[entry.name] = tuple(item.node.span if item.node else None for item in items)
    # The shell asks for every command if no rules are for it.
    rules.setdefault("bash", (("*", Effect.ASK),))
    return SessionPermissions(rules=rules, spans=spans)


def _blocked(shell: Fields) -> list[BlockedCommand]:
    """Return the commands that the shell refuses, whatever rules allow."""
    allowed = {text.strip().lower() for text in shell.texts("allowed_commands")}
    written = shell.texts("blocked_commands")
    found = [BlockedCommand(text) for text in PROGRAMS["blocked"] if text not in allowed]
    if not shell.truth("allow_network", default=True):
        span = shell.spans.get("tools.shell.allow_network")
        found += [BlockedCommand(text, span) for text in PROGRAMS["network"]]
    found += [
        BlockedCommand(text, shell.spans.get(f"tools.shell.blocked_commands[{index}]"))
        for index, text in enumerate(written)
    ]
    return [each for each in found if each.text.split()]
