"""Settings files: JSON to rules, a mode and folders, and what is wrong with them.

The host reads them as strict JSON. One comment or trailing comma and nothing in
the file is in force, its deny rules included (2.1.329, observed).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

import attrs

from policy import limits
from policy.documents.json_nodes import read_json
from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.effect import Effect
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.claude.data.agents import MODES
from policy.source import Source, Span

__all__ = ["Settings", "Written", "looks_like_settings", "read_settings"]


@attrs.frozen
class Written:
    """A rule as it stands in a list."""

    text: str
    effect: Effect
    span: Span


@attrs.frozen
class Settings:
    """What one settings file says.

    Attributes:
        scope: ``project``, ``local``, ``user``, ``managed``, ``cli`` or ``flag``.
        rules: in the order written.
        mode: ``defaultMode``; None where it is not said or no mode.
        mode_span: where it stands.
        folders: ``additionalDirectories``.
        tools: the built-in tools that are offered at all; None is all.
        managed_only: whether the rules of other files are left out.
        reads_inside: whether reads outside working folders are blocked.
        no_bypass: whether no session may go without permissions.
        findings: what is wrong with the file.
        unreadable: whether nothing in it is in force.
    """

    scope: str
    rules: tuple[Written, ...] = ()
    mode: str | None = None
    mode_span: Span | None = attrs.field(default=None, repr=False)
    folders: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    managed_only: bool = False
    reads_inside: bool = False
    no_bypass: bool = False
    findings: tuple[Finding, ...] = ()
    unreadable: bool = False


_LISTS: Final = {"deny": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}
_KEYS: Final = frozenset(
    {
        *_LISTS,
        "additionalDirectories",
        "blockReadsOutsideWorkingDirectories",
        "defaultMode",
        "disableAutoMode",
        "disableBypassPermissionsMode",
    }
)


def looks_like_settings(node: Node) -> bool:
    """Return whether a JSON document has the lists of a settings file."""
    permissions = node.get("permissions") if isinstance(node, Mapping) else None
    return (
        isinstance(permissions, Mapping)
        and any(isinstance(permissions.get(name), Sequence) for name in _LISTS)
    ) or (isinstance(permissions, Mapping) and permissions.get("defaultMode") is not None)


def read_settings(source: Source, scope: str) -> Settings:
    """Return what *source* says. Whatever is wrong with it is among the findings."""
    try:
        node = read_json(source)
    except PolicyError as error:
        findings = Finding.of(
            error,
            "invalid-json",
            consequence="the host rejects the file: nothing in it is in force, deny rules included",
        )
        return Settings(scope, findings=findings, unreadable=True)
    if not isinstance(node, Mapping):
        finding = Finding(
            "invalid-settings",
            f"expected an object, found {describe(node)}",
            Severity.ERROR,
            node.span,
            help="the host rejects the file: nothing in it is in force, deny rules included",
        )
        return Settings(scope, findings=(finding,), unreadable=True)
    return _Reader(scope).read(node)


@attrs.define
class _Reader:
    scope: str
    findings: list[Finding] = attrs.field(factory=list)

    def read(self, node: Mapping) -> Settings:
        permissions = node.get("permissions")
        for pair in node.repeated():
            self._warn(
                "repeated-key",
                f"`{pair[0].name}` is given again below, which counts",
                pair[0].key.span,
            )
        managed = node.get("allowManagedPermissionRulesOnly")
        tools = node.get("tools")
        settings = Settings(
            self.scope,
            tools=tuple(self._texts(tools, "tools")) if tools is not None else None,
            managed_only=self.scope == "managed"
            and managed is not None
            and not (isinstance(managed, Scalar) and managed.value is False),
        )
        if isinstance(permissions, Mapping):
            settings = self._permissions(permissions, settings)
        elif permissions is not None:
            self._wrong("permissions", "an object", permissions)
        self._misplaced(node)
        return attrs.evolve(settings, findings=tuple(self.findings))

    def _permissions(self, node: Mapping, settings: Settings) -> Settings:
        for lost, _ in node.repeated():
            self._warn(
                "repeated-key", f"`{lost.name}` is given again below, which counts", lost.key.span
            )
        for entry in node.entries:
            if entry.name not in _KEYS:
                near = difflib.get_close_matches(entry.name, sorted(_KEYS), 1)
                self._warn(
                    "unknown-key",
                    f"`{entry.name}` means nothing in `permissions`",
                    entry.key.span,
                    help=f"did you mean `{near[0]}`?"
                    if near
                    else "the lists are allow, ask and deny",
                )
        rules: list[Written] = []
        for name, effect in _LISTS.items():
            listed = node.get(name)
            if listed is not None:
                rules += (
                    Written(text, effect, span)
                    for text, span in self._strings(listed, f"permissions.{name}")
                )
        if len(rules) > limits.RULES:
            self._warn(
                "too-many-rules", f"only the first {limits.RULES:,} rules are read", node.span
            )
        mode, span = self._mode(node)
        folders = node.get("additionalDirectories")
        return attrs.evolve(
            settings,
            rules=tuple(rules[: limits.RULES]),
            mode=mode,
            mode_span=span,
            folders=tuple(self._texts(folders, "permissions.additionalDirectories"))
            if folders
            else (),
            reads_inside=_is_true(node.get("blockReadsOutsideWorkingDirectories")),
            no_bypass=self._switch(node, "disableBypassPermissionsMode"),
        )

    def _mode(self, node: Mapping) -> tuple[str | None, Span | None]:
        value = node.get("defaultMode")
        if value is None:
            return None, None
        mode = value.value if isinstance(value, Scalar) else None
        if mode == "manual":
            mode = "default"
        if not isinstance(mode, str) or mode not in MODES:
            self._warn(
                "unknown-mode",
                f"expected a mode, found {_shown(value)}; the host ignores it",
                value.span,
                help="one of " + ", ".join(MODES),
            )
            return None, None
        if self.scope in ("project", "local") and mode in ("bypassPermissions", "auto"):
            self._warn(
                "project-mode-ignored",
                f"the host ignores the mode `{mode}` of a project",
                value.span,
                help="it counts in the settings of the user, or as a flag",
            )
            return None, None
        return mode, value.span

    def _switch(self, node: Mapping, name: str) -> bool:
        value = node.get(name)
        if value is None:
            return False
        if isinstance(value, Scalar) and value.value == "disable":
            return True
        self._warn(
            "switch-ignored",
            f'expected the string "disable" for `{name}`, found {_shown(value)}; the'
            " host ignores it",
            value.span,
        )
        return False

    def _strings(self, node: Node, name: str) -> Iterator[tuple[str, Span]]:
        if not isinstance(node, Sequence):
            self._wrong(name, "a list", node)
            return
        for item in node.items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                yield item.value, item.span
            else:
                self._wrong(f"an entry of `{name}`", "a string", item)

    def _texts(self, node: Node, name: str) -> list[str]:
        return [text for text, _ in self._strings(node, name)]

    def _misplaced(self, node: Mapping) -> None:
        for entry in node.entries:
            if entry.name in _LISTS and isinstance(entry.value, Sequence):
                self._warn(
                    "misplaced-list",
                    f"`{entry.name}` counts inside `permissions` only",
                    entry.key.span,
                    help='write "permissions": {...} around it',
                )

    def _wrong(self, name: str, wanted: str, node: Node) -> None:
        self.findings.append(
            Finding(
                "wrong-type",
                f"expected {wanted} for {name}, found {describe(node)}",
                Severity.ERROR,
                node.span,
                help="the host skips it; nothing it says is in force",
            )
        )

    def _warn(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.findings.append(Finding(code, message, Severity.WARNING, span, help=help))


def _is_true(node: Node | None) -> bool:
    return isinstance(node, Scalar) and node.value is True


def _shown(node: Node) -> str:
    return f"`{node.raw}`" if isinstance(node, Scalar) else describe(node)
