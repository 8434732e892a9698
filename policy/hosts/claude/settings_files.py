"""Settings files: JSON to rules, a mode and folders, and what is wrong with them.

The host reads them as strict JSON. One comment or trailing comma, or one value of
a wrong type, and nothing in the file is in force, its deny rules included. Only
entries of a list of rules are skipped one by one (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.documents.json_nodes import read_json
from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.documents.shapes import Kind
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.claude.data.keys import SECTIONS
from policy.hosts.claude.data.settings import VALUES
from policy.hosts.claude.data.versions import Behaviour
from policy.hosts.claude.hooks import read_hooks
from policy.hosts.claude.mistakes import NO_START, REJECTED, Mistakes
from policy.hosts.claude.permissions import LISTS, Permissions, strictest
from policy.hosts.claude.restrictions import is_set
from policy.hosts.claude.sandbox import read_sandbox
from policy.hosts.claude.settings import Settings
from policy.hosts.claude.switches import no_auto, read_overrides, read_switches
from policy.hosts.claude.variables import read_variables, variable_findings
from policy.hosts.keys import unapplied_keys
from policy.source import Source, Span

__all__ = ["looks_like_settings", "read_settings"]


def looks_like_settings(node: Node) -> bool:
    """Return whether a JSON document has the lists of a settings file."""
    permissions = node.get("permissions") if isinstance(node, Mapping) else None
    return (
        isinstance(permissions, Mapping)
        and any(isinstance(permissions.get(name), Sequence) for name in LISTS)
    ) or (isinstance(permissions, Mapping) and permissions.get("defaultMode") is not None)


def read_settings(source: Source, scope: str, behaves: Behaviour | None = None) -> Settings:
    """Return what *source* says. Whatever is wrong with it is among the findings."""
    if not source.text.strip():
        return Settings(scope)  # a file without a text says nothing
    try:
        node = read_json(source, byte_order_mark=True)
    except PolicyError as error:
        consequence = NO_START if scope == "managed" else REJECTED
        findings = Finding.of(error, "invalid-json", consequence=consequence)
        return Settings(scope, findings=findings, unreadable=True)
    if not isinstance(node, Mapping):
        finding = Finding(
            "invalid-settings",
            f"expected an object, found {describe(node)}",
            Severity.ERROR,
            node.span,
            help=NO_START if scope == "managed" else REJECTED,
        )
        return Settings(scope, findings=(finding,), unreadable=True)
    return _read(node, Mistakes(scope), behaves or Behaviour())


def _read(node: Mapping, mistakes: Mistakes, behaves: Behaviour) -> Settings:
    scope = mistakes.scope
    mistakes.repeated(node)
    settings = _of_permissions(node.get("permissions"), mistakes, behaves)
    mistakes.shaped(VALUES, node, "")
    hooks, wrong = read_hooks(node.get("hooks"))
    for mistake in wrong:
        mistakes.reject("wrong-type", mistake.message, mistake.node.span)
    mistakes.findings += _misplaced(node)
    mistakes.findings += (key.finding for key in unapplied_keys(node, SECTIONS))
    mistakes.findings += variable_findings(node.get("env"))
    tools = node.get("tools") if scope == "cli" else None
    offered = None if tools is None else tuple(t for t, _ in mistakes.strings(tools, "tools"))
    if mistakes.rejected:
        return Settings(scope, findings=tuple(mistakes.findings), unreadable=True)
    agent = node.get("agent")
    off = node.get("disableAllHooks")
    return attrs.evolve(
        settings,
        tools=offered,
        managed_only=scope == "managed" and is_set(node.get("allowManagedPermissionRulesOnly")),
        hooks=hooks,
        hooks_off=(_is_true(off), off.span) if off and Kind.TRUTH.holds(off) else None,
        hooks_managed=scope == "managed" and is_set(node.get("allowManagedHooksOnly")),
        agent=agent.value if isinstance(agent, Scalar) and isinstance(agent.value, str) else "",
        plugins=tuple(_switched_on(node.get("enabledPlugins"))),
        no_auto=settings.no_auto or no_auto(node),
        sandbox=read_sandbox(node.get("sandbox")),
        switches=read_switches(node),
        overrides=read_overrides(node.get("skillOverrides")),
        variables=read_variables(node.get("env")),
        findings=tuple(mistakes.findings),
    )


def _of_permissions(node: Node | None, mistakes: Mistakes, behaves: Behaviour) -> Settings:
    settings = Settings(mistakes.scope)
    if isinstance(node, Mapping):
        return Permissions(behaves, mistakes).read(node, settings)
    if node is not None:
        mistakes.wrong("permissions", "an object", node)
        if mistakes.scope == "managed" and is_set(node):
            return strictest(settings)
    return settings


def _is_true(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is True


def _misplaced(node: Mapping) -> Iterator[Finding]:
    for entry in node.entries:
        if entry.name in LISTS and isinstance(entry.value, Sequence):
            yield Finding(
                "misplaced-list",
                f"`{entry.name}` counts inside `permissions` only",
                Severity.WARNING,
                entry.key.span,
                help='write "permissions": {...} around it',
            )


def _switched_on(node: Node | None) -> Iterator[Span]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        # A list of versions switches a plugin on as well.
        if not (isinstance(entry.value, Scalar) and entry.value.value in (False, None)):
            yield entry.key.span
