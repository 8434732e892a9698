"""What ``permissions`` of one settings file says: rules, a mode, folders and switches."""

from __future__ import annotations

import difflib
from typing import Final

import attrs

from policy import limits
from policy.documents.node import Mapping, Node, Scalar, describe
from policy.documents.shapes import Kind, Listed
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.data.agents import MODES
from policy.hosts.claude.data.settings import (
    EDITS_INSIDE,
    FENCES,
    FILE_READS_INSIDE,
    NO_AUTO,
    READS_INSIDE,
    SILENT,
    SILENT_SCOPES,
)
from policy.hosts.claude.data.versions import Behaviour
from policy.hosts.claude.flags import cut_flag
from policy.hosts.claude.mistakes import Mistakes
from policy.hosts.claude.restrictions import is_set, lost_lists
from policy.hosts.claude.settings import Settings, Written
from policy.source import Span

__all__ = ["LISTS", "UNKNOWN", "Permissions", "strictest"]

_TEXTS: Final = Listed(Kind.TEXT, "a list of strings")
LISTS: Final = {"deny": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}
_SWITCHES: Final = (NO_AUTO, "disableBypassPermissionsMode")
# Modes that do nothing unasked that others ask for.
_CAREFUL: Final = frozenset({"default", "plan", "dontAsk"})
_KEYS: Final = frozenset(
    {*LISTS, *FENCES, *_SWITCHES, SILENT, "additionalDirectories", "defaultMode"}
)


UNKNOWN: Final = "every call is denied here, since nobody knows what the rest of it denies"
_HELD_BACK: Final = "the host holds back what the file allows, its folders and its mode"


@attrs.define
class Permissions:
    """Reads ``permissions``.

    Attributes:
        behaves: how the version behaves.
        mistakes: of the file, to which those found here are added.
    """

    behaves: Behaviour
    mistakes: Mistakes

    def read(self, node: Mapping, settings: Settings) -> Settings:
        """Return *settings* with what ``permissions`` says."""
        keys = _KEYS if self.mistakes.scope == "flag" else _KEYS - {FILE_READS_INSIDE}
        if self.mistakes.scope not in SILENT_SCOPES:
            keys -= {SILENT}
        self._check_keys(node, keys)
        rules = self._rules(node)
        mode, span = self._mode(node)
        listed = node.get("additionalDirectories")
        folders = self._folders(listed) if listed is not None else ()
        if self.mistakes.scope == "managed" and self._holds_back(node):
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
            no_auto=self._switch(node, NO_AUTO),
            unknown=rules is None,
        )

    def _holds_back(self, node: Mapping) -> bool:
        """Return whether the host holds back what an administrator's file allows."""
        lost = list(lost_lists(node, self.behaves))
        for name, listed in lost:
            message = f"nothing in `permissions.{name}` is a rule"
            self.mistakes.findings.append(
                Finding("allows-held-back", message, Severity.ERROR, listed.span, help=_HELD_BACK)
            )
        return bool(lost)

    def _check_keys(self, node: Mapping, keys: frozenset[str]) -> None:
        self.mistakes.repeated(node)
        for entry in node.entries:
            if entry.name not in keys:
                near = difflib.get_close_matches(entry.name, sorted(keys), 1)
                lists = "the lists are allow, ask and deny"
                self.mistakes.warn(
                    "unknown-key",
                    f"`{entry.name}` means nothing in `permissions`",
                    entry.key.span,
                    help=f"did you mean `{near[0]}`?" if near else lists,
                )

    def _rules(self, node: Mapping) -> tuple[Written, ...] | None:
        """Return the rules of all lists; None of too many, which is an error."""
        rules = tuple(
            Written(text, effect, span)
            for name, effect in LISTS.items()
            if (listed := node.get(name)) is not None
            for value, span in self.mistakes.strings(listed, f"permissions.{name}")
            for text in (cut_flag(value, effect) if self.mistakes.scope == "cli" else [value])
        )
        if len(rules) <= limits.RULES:
            return rules
        self.mistakes.findings.append(
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
            self.mistakes.reject(
                "unknown-mode",
                f"expected a mode, found {_shown(value)}",
                value.span,
                "a mode is one of " + ", ".join(MODES),
            )
            # What an administrator says of it keeps others from saying anything.
            return ("default" if self.mistakes.scope == "managed" and is_set(value) else None), None
        ignored = {
            "auto": not self.behaves.auto_of_project,
            "bypassPermissions": not self.behaves.bypass_of_project,
        }
        if self.mistakes.scope in ("project", "local") and ignored.get(mode):
            self.mistakes.warn(
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
        self.mistakes.reject(
            "switch-ignored",
            f'expected the string "disable" for `{name}`, found {_shown(value)}',
            value.span,
        )
        return self.mistakes.scope == "managed" and is_set(value)

    def _is_true(self, node: Mapping, name: str) -> bool:
        value = node.get(name)
        if value is not None and not Kind.TRUTH.holds(value):
            self.mistakes.wrong(f"`{name}`", Kind.TRUTH.wanted, value)
        if self.mistakes.scope == "managed":
            return is_set(value)
        return isinstance(value, Scalar) and value.value is True

    def _folders(self, node: Node) -> tuple[str, ...]:
        if not self.mistakes.shaped(_TEXTS, node, "permissions.additionalDirectories"):
            return ()
        return tuple(t for t, _ in self.mistakes.strings(node, "permissions.additionalDirectories"))


def strictest(settings: Settings) -> Settings:
    """Return what an administrator's file comes to whose restrictions nobody can read."""
    fences = frozenset({READS_INSIDE, EDITS_INSIDE})
    return attrs.evolve(settings, fences=fences, silent=True, no_bypass=True, no_auto=True)


def _shown(node: Node) -> str:
    return f"`{node.raw}`" if isinstance(node, Scalar) else describe(node)
