"""Settings files: JSON to rules, a mode and folders, and what is wrong with them.

The host reads them as strict JSON. One comment or trailing comma, or one value of
a wrong type, and nothing in the file is in force, its deny rules included. Only
entries of a list of rules are skipped one by one (2.1.329, observed).
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
from policy.hosts.claude.data.settings import (
    EDITS_INSIDE,
    FENCES,
    FILE_READS_INSIDE,
    READS_INSIDE,
    SILENT,
    SILENT_SCOPES,
    VALUES,
    Kind,
)
from policy.hosts.claude.data.versions import Behaviour
from policy.hosts.claude.hooks import read_hooks
from policy.hosts.claude.restrictions import is_set, lost_lists
from policy.hosts.claude.settings import Settings, Written
from policy.hosts.claude.variables import read_variables, variable_findings
from policy.source import Source, Span

__all__ = ["UNKNOWN", "looks_like_settings", "read_settings"]


_LISTS: Final = {"deny": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}
_SWITCHES: Final = ("disableAutoMode", "disableBypassPermissionsMode")
# Modes that do nothing unasked that others ask for.
_CAREFUL: Final = frozenset({"default", "plan", "dontAsk"})
_KEYS: Final = frozenset(
    {*_LISTS, *FENCES, *_SWITCHES, SILENT, "additionalDirectories", "defaultMode"}
)


def looks_like_settings(node: Node) -> bool:
    """Return whether a JSON document has the lists of a settings file."""
    permissions = node.get("permissions") if isinstance(node, Mapping) else None
    return (
        isinstance(permissions, Mapping)
        and any(isinstance(permissions.get(name), Sequence) for name in _LISTS)
    ) or (isinstance(permissions, Mapping) and permissions.get("defaultMode") is not None)


def read_settings(source: Source, scope: str, behaves: Behaviour | None = None) -> Settings:
    """Return what *source* says. Whatever is wrong with it is among the findings."""
    if not source.text.strip():
        return Settings(scope)  # a file without a text says nothing
    try:
        node = read_json(source, byte_order_mark=True)
    except PolicyError as error:
        consequence = _NO_START if scope == "managed" else _REJECTED
        findings = Finding.of(error, "invalid-json", consequence=consequence)
        return Settings(scope, findings=findings, unreadable=True)
    if not isinstance(node, Mapping):
        finding = Finding(
            "invalid-settings",
            f"expected an object, found {describe(node)}",
            Severity.ERROR,
            node.span,
            help=_NO_START if scope == "managed" else _REJECTED,
        )
        return Settings(scope, findings=(finding,), unreadable=True)
    return _Reader(scope, behaves or Behaviour()).read(node)


_REJECTED: Final = "the host rejects the file: nothing in it is in force, deny rules included"
_NO_START: Final = "the host does not start"
UNKNOWN: Final = "every call is denied here, since nobody knows what the rest of it denies"
_SKIPPED: Final = "the host skips it; nothing it says is in force"
_HELD_BACK: Final = "the host holds back what the file allows, its folders and its mode"


@attrs.define
class _Reader:
    """Reads one file; one value that is wrong costs all of it, but for an administrator's."""

    scope: str
    behaves: Behaviour
    findings: list[Finding] = attrs.field(factory=list)
    rejected: bool = False

    @property
    def _lost(self) -> str:
        return _SKIPPED if self.scope == "managed" else _REJECTED

    def read(self, node: Mapping) -> Settings:
        permissions = node.get("permissions")
        for pair in node.repeated():
            self._warn(
                "repeated-key",
                f"`{pair[0].name}` is given again below, which counts",
                pair[0].key.span,
            )
        managed = node.get("allowManagedPermissionRulesOnly")
        tools = node.get("tools") if self.scope == "cli" else None
        settings = Settings(
            self.scope,
            tools=tuple(self._texts(tools, "tools")) if tools is not None else None,
            managed_only=self.scope == "managed" and is_set(managed),
        )
        if isinstance(permissions, Mapping):
            settings = self._permissions(permissions, settings)
        elif permissions is not None:
            self._wrong("permissions", "an object", permissions)
            if self.scope == "managed" and is_set(permissions):
                settings = _strictest(settings)
        self._misplaced(node)
        self._values(node)
        hooks, mistakes = read_hooks(node.get("hooks"))
        for mistake in mistakes:
            self._reject("wrong-type", mistake.message, mistake.node.span)
        off = node.get("disableAllHooks")
        if off is not None and Kind.TRUTH.holds(off):
            switch = (isinstance(off, Scalar) and off.value is True, off.span)
            settings = attrs.evolve(settings, hooks_off=switch)
        agent = node.get("agent")
        named = agent.value if isinstance(agent, Scalar) and isinstance(agent.value, str) else ""
        on = tuple(_switched_on(node.get("enabledPlugins")))
        variables = read_variables(node.get("env"))
        self.findings += variable_findings(node.get("env"))
        settings = attrs.evolve(settings, hooks=hooks, agent=named, plugins=on, variables=variables)
        if self.rejected and self.scope != "managed":
            return Settings(self.scope, findings=tuple(self.findings), unreadable=True)
        return attrs.evolve(settings, findings=tuple(self.findings))

    def _values(self, node: Mapping) -> None:
        for entry in node.entries:
            wanted = VALUES.get(entry.name)
            if wanted is not None and not wanted.holds(entry.value):
                self._wrong(f"`{entry.name}`", wanted.value, entry.value)

    def _permissions(self, node: Mapping, settings: Settings) -> Settings:
        keys = _KEYS if self.scope == "flag" else _KEYS - {FILE_READS_INSIDE}
        if self.scope not in SILENT_SCOPES:
            keys -= {SILENT}
        self._check_keys(node, keys)
        rules = self._rules(node)
        mode, span = self._mode(node)
        listed = node.get("additionalDirectories")
        folders = self._folders(listed) if listed is not None else ()
        if self.scope == "managed" and self._holds_back(node):
            mode, folders = mode and (mode if mode in _CAREFUL else "default"), ()
            rules = rules and tuple(rule for rule in rules if rule.effect is not Effect.ALLOW)
        return attrs.evolve(
            settings,
            rules=rules or (),
            mode=mode,
            mode_span=span,
            folders=folders,
            silent=self._is_true(node, SILENT) and SILENT in keys,
            fences=frozenset(name for name in FENCES if self._is_true(node, name)) & keys,
            no_bypass=self._switch(node, "disableBypassPermissionsMode"),
            no_auto=self._switch(node, "disableAutoMode"),
            unknown=rules is None,
        )

    def _holds_back(self, node: Mapping) -> bool:
        """Return whether the host holds back what an administrator's file allows."""
        lost = list(lost_lists(node, self.behaves))
        for name, listed in lost:
            message = f"nothing in `permissions.{name}` is a rule"
            self.findings.append(
                Finding("allows-held-back", message, Severity.ERROR, listed.span, help=_HELD_BACK)
            )
        return bool(lost)

    def _check_keys(self, node: Mapping, keys: frozenset[str]) -> None:
        for lost, _ in node.repeated():
            self._warn(
                "repeated-key", f"`{lost.name}` is given again below, which counts", lost.key.span
            )
        for entry in node.entries:
            if entry.name not in keys:
                near = difflib.get_close_matches(entry.name, sorted(keys), 1)
                lists = "the lists are allow, ask and deny"
                self._warn(
                    "unknown-key",
                    f"`{entry.name}` means nothing in `permissions`",
                    entry.key.span,
                    help=f"did you mean `{near[0]}`?" if near else lists,
                )

    def _rules(self, node: Mapping) -> tuple[Written, ...] | None:
        """Return the rules of all lists; None of too many, which is an error."""
        rules = tuple(
            Written(text, effect, span)
            for name, effect in _LISTS.items()
            if (listed := node.get(name)) is not None
            for text, span in self._strings(listed, f"permissions.{name}")
        )
        if len(rules) <= limits.RULES:
            return rules
        self.findings.append(
            Finding(
                "too-many-rules",
                f"expected at most {limits.RULES:,} rules, found {len(rules):,}",
                Severity.ERROR,
                rules[limits.RULES].span,
                help=UNKNOWN,
            )
        )
        return None

    def _mode(self, node: Mapping) -> tuple[str | None, Span | None]:
        value = node.get("defaultMode")
        if value is None:
            return None, None
        mode = value.value if isinstance(value, Scalar) else None
        if mode == "manual" and self.behaves.manual_is_mode:
            mode = "default"
        if not isinstance(mode, str) or mode not in MODES:
            self._reject(
                "unknown-mode",
                f"expected a mode, found {_shown(value)}",
                value.span,
                "a mode is one of " + ", ".join(MODES),
            )
            # What an administrator says of it keeps others from saying anything.
            return ("default" if self.scope == "managed" and is_set(value) else None), None
        ignored = {
            "auto": not self.behaves.auto_of_project,
            "bypassPermissions": not self.behaves.bypass_of_project,
        }
        if self.scope in ("project", "local") and ignored.get(mode):
            self._warn(
                "project-mode-ignored",
                f"the host ignores the mode `{mode}` of a project",
                value.span,
                help="it counts in the settings of the user, or as a flag",
            )
        return mode, value.span

    def _switch(self, node: Mapping, name: str) -> bool:
        value = node.get(name)
        if value is None:
            return False
        if isinstance(value, Scalar) and value.value == "disable":
            return True
        self._reject(
            "switch-ignored",
            f'expected the string "disable" for `{name}`, found {_shown(value)}',
            value.span,
        )
        return self.scope == "managed" and is_set(value)

    def _is_true(self, node: Mapping, name: str) -> bool:
        value = node.get(name)
        if value is not None and not Kind.TRUTH.holds(value):
            self._wrong(f"`{name}`", Kind.TRUTH.value, value)
        if self.scope == "managed":
            return is_set(value)
        return isinstance(value, Scalar) and value.value is True

    def _folders(self, node: Node) -> tuple[str, ...]:
        if not Kind.TEXTS.holds(node):
            self._wrong("permissions.additionalDirectories", Kind.TEXTS.value, node)
            return ()
        return tuple(self._texts(node, "permissions.additionalDirectories"))

    def _strings(self, node: Node, name: str) -> Iterator[tuple[str, Span]]:
        if not isinstance(node, Sequence):
            self._wrong(name, "a list", node)
            return
        for item in node.items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                yield item.value, item.span
            else:
                self._skipped(f"an entry of `{name}`", "a string", item)

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

    def _reject(self, code: str, message: str, span: Span, more: str = "") -> None:
        self.rejected = True
        lost = f"{self._lost}; {more}" if more else self._lost
        self.findings.append(Finding(code, message, Severity.ERROR, span, help=lost))

    def _wrong(self, name: str, wanted: str, node: Node) -> None:
        message = f"expected {wanted} for {name}, found {describe(node)}"
        self._reject("wrong-type", message, node.span)

    def _skipped(self, name: str, wanted: str, node: Node) -> None:
        message = f"expected {wanted} for {name}, found {describe(node)}"
        self.findings.append(
            Finding("wrong-type", message, Severity.ERROR, node.span, help=_SKIPPED)
        )

    def _warn(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.findings.append(Finding(code, message, Severity.WARNING, span, help=help))


def _strictest(settings: Settings) -> Settings:
    """Return what an administrator's file comes to whose restrictions nobody can read."""
    fences = frozenset({READS_INSIDE, EDITS_INSIDE})
    return attrs.evolve(settings, fences=fences, silent=True, no_bypass=True, no_auto=True)


def _switched_on(node: Node | None) -> Iterator[Span]:
    for entry in node.entries if isinstance(node, Mapping) else ():
        # A list of versions switches a plugin on as well.
        if not (isinstance(entry.value, Scalar) and entry.value.value in (False, None)):
            yield entry.key.span


def _shown(node: Node) -> str:
    return f"`{node.raw}`" if isinstance(node, Scalar) else describe(node)
