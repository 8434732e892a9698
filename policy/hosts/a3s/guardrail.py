"""`InteractiveToolGuardrail`: how a mode answers to a risk, and the risk of a call."""

from __future__ import annotations

import enum
import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.shell_risk import Risk, command_risk
from policy.hosts.a3s.versions import NEWEST, Profile

__all__ = ["Guardrail", "Mode", "Risk", "assess"]


class Mode(enum.Enum):
    """How much a session does by itself."""

    DEFAULT = "default"
    PLAN = "plan"
    AUTO = "auto"
    FORCE = "force"

    __hash__ = object.__hash__

    @classmethod
    def of(cls, text: str) -> Mode:
        """Return the mode of that name; what is no mode is the default one."""
        if text == "yolo":
            return cls.FORCE
        return next((mode for mode in cls if mode.value == text), cls.DEFAULT)


_DENY, _ASK, _ALLOW = Effect.DENY, Effect.ASK, Effect.ALLOW

# Mode -> what routine, bounded, high and critical calls get.
_MATRIX: Final = {
    Mode.DEFAULT: (_ALLOW, _ASK, _ASK, _DENY),
    Mode.PLAN: (_ALLOW, _DENY, _DENY, _DENY),
    Mode.AUTO: (_ALLOW, _ALLOW, _ASK, _DENY),
    Mode.FORCE: (_ALLOW, _ALLOW, _ALLOW, _DENY),
}
_PLAN_BEFORE_9: Final = (_ALLOW, _ASK, _ASK, _DENY)


@attrs.frozen
class Guardrail:
    """The guardrail of a session.

    Attributes:
        mode: how much it does by itself.
        workspace: the folder paths may lead into, absolute, or None.
        links: names of files that are links, and what each leads to.
        profile: the version.

    """

    mode: Mode = Mode.DEFAULT
    workspace: str | None = None
    links: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    profile: Profile = NEWEST

    def check(self, tool: str, args: Mapping[str, Any]) -> Effect:
        """Return what a call gets."""
        row = _MATRIX[self.mode]
        if self.mode is Mode.PLAN and not self.profile.has_lanes:
            row = _PLAN_BEFORE_9
        return row[assess(tool, args, self).value]


# --- the risk of a call ---------------------------------------------------------

_READS: Final = frozenset(
    "read ls list_files search grep glob code_symbols code_navigation code_diagnostics".split()
)
_QUIET: Final = frozenset("web_fetch web_search update_plan".split())
_WRITES: Final = frozenset("write edit patch download".split())
_DEEPEST: Final = 16


def assess(tool: str, args: Mapping[str, Any], guardrail: Guardrail, depth: int = 0) -> Risk:
    """Return the risk of a call; what is not known is high."""
    name = tool.lower()
    if name == "batch":
        return _batch(args, guardrail, depth)
    if name == "bash":
        command = args.get("command")
        return command_risk(command) if isinstance(command, str) else Risk.HIGH
    if name == "git":
        return _git(args)
    if name in _QUIET:
        return Risk.ROUTINE
    if name in _READS:
        return Risk.ROUTINE if _inside(args, guardrail) else Risk.CRITICAL
    if name in _WRITES:
        if not _inside(args, guardrail):
            return Risk.CRITICAL
        return Risk.BOUNDED if _well_formed(name, args) else Risk.HIGH
    if name == "task":
        return Risk.BOUNDED
    return Risk.HIGH


def _batch(args: Mapping[str, Any], guardrail: Guardrail, depth: int) -> Risk:
    calls = args.get("invocations")
    if not isinstance(calls, (list, tuple)) or not calls or depth >= _DEEPEST:
        return Risk.HIGH
    found = []
    for call in calls:
        tool = call.get("tool") if isinstance(call, Mapping) else None
        inner = call.get("args", {}) if isinstance(call, Mapping) else None
        if not isinstance(tool, str) or not isinstance(inner, Mapping):
            found.append(Risk.HIGH)
            continue
        found.append(assess(tool, inner, guardrail, depth + 1))
    return max(found, key=lambda risk: risk.value)


def _well_formed(name: str, args: Mapping[str, Any]) -> bool:
    if name == "patch":
        return any(isinstance(args.get(key), str) for key in ("file_path", "patch", "diff"))
    return isinstance(args.get("file_path"), str) and bool(args["file_path"])


_DRIVE: Final = re.compile(r"[A-Za-z]:")
_PATH_KEYS: Final = ("file_path", "path")


def _inside(args: Mapping[str, Any], guardrail: Guardrail) -> bool:
    """Return whether every path of a call stays in the workspace, links followed."""
    paths = [args[key] for key in _PATH_KEYS if isinstance(args.get(key), str)]
    files = args.get("files")
    if isinstance(files, (list, tuple)):
        paths += [
            f["path"] for f in files if isinstance(f, Mapping) and isinstance(f.get("path"), str)
        ]
    return all(_stays(path, guardrail) for path in paths)


def _stays(path: str, guardrail: Guardrail) -> bool:
    text = path.replace("\\", "/")
    if _DRIVE.match(text) or text.startswith(("//", "~")):
        return False
    root = guardrail.workspace
    if root is None:
        return not text.startswith("/") and not posixpath.normpath(text).startswith("..")
    root = posixpath.normpath(root)
    full = posixpath.normpath(text if text.startswith("/") else f"{root}/{text}")
    for link, target in guardrail.links.items():
        if full == link or full.startswith(link + "/"):
            full = posixpath.normpath(target + full[len(link) :])
    return full == root or full.startswith(root.rstrip("/") + "/")


_GIT_READS: Final = frozenset(
    "status log diff show blame remote rev-parse describe ls-files shortlog reflog".split()
)
_GIT_CHANGES: Final = frozenset("checkout branch stash worktree add commit tag switch".split())
_FORCE: Final = ("force", "hard", "delete", "discard")


def _git(args: Mapping[str, Any]) -> Risk:
    command = args.get("command")
    values = [value for key, value in args.items() if key != "command"]
    texts = [value for value in values if isinstance(value, str)]
    if any(text.startswith("-") for text in texts):
        return Risk.HIGH
    if any(args.get(flag) for flag in _FORCE):
        return Risk.HIGH
    if command in _GIT_READS:
        return Risk.ROUTINE
    if command in _GIT_CHANGES:
        if command in {"branch", "stash", "worktree"} and not texts and not any(values):
            return Risk.ROUTINE  # they list
        return Risk.BOUNDED
    return Risk.HIGH
