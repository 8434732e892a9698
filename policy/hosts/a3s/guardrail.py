"""`InteractiveToolGuardrail`: how a mode answers to a risk, and the risk of a call."""

from __future__ import annotations

import enum
import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.git_risk import git_risk
from policy.hosts.a3s.shell_risk import Risk, command_risk, words_of
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
        name = text.strip().lower()
        if name == "yolo":
            return cls.FORCE
        return next((mode for mode in cls if mode.value == name), cls.DEFAULT)


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
        links: names of files that are links; none may be on a path of a call.
        profile: the version.

    """

    mode: Mode = Mode.DEFAULT
    workspace: str | None = None
    links: frozenset[str] = attrs.field(factory=frozenset, converter=frozenset)
    profile: Profile = NEWEST

    def check(self, tool: str, args: Mapping[str, Any]) -> Effect:
        """Return what a call gets."""
        row = _MATRIX[self.mode]
        if self.mode is Mode.PLAN and not self.profile.has_lanes:
            row = _PLAN_BEFORE_9
        return row[assess(tool, args, self).value]

    def is_outside(self, path: str) -> bool:
        """Return whether *path*, as written, leads out of the workspace."""
        text = path.replace("\\", "/").strip()
        if text.startswith(("~", "$HOME", "${HOME}")) or _DRIVE.match(text):
            return True
        if not text.startswith("/"):
            return _climbs_out(text)
        return self.workspace is None or text.startswith("//") or not self._is_inside(text)

    def crosses_link(self, path: str) -> bool:
        """Return whether a link is on *path*, wherever it leads."""
        if self.workspace is None or not self.links or self.is_outside(path):
            return False
        full = self._absolute(path.replace("\\", "/").strip())
        links = (self._absolute(link) for link in self.links)
        return any(full == link or full.startswith(f"{link}/") for link in links)

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(path if path.startswith("/") else f"{self.workspace}/{path}")

    def _is_inside(self, path: str) -> bool:
        root, full = self._absolute("."), self._absolute(path)
        return full == root or full.startswith(root.rstrip("/") + "/")


_DRIVE: Final = re.compile(r"[A-Za-z]:")


def _climbs_out(path: str) -> bool:
    depth = 0
    for segment in path.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(segment, 1)
        if depth < 0:
            return True
    return False


# --- the risk of a call ---------------------------------------------------------

_QUIET: Final = frozenset(
    "web_search web_fetch search_skills generate_object update_plan ask_user".split()
)
_LOOKS: Final = frozenset("search ls code_symbols code_navigation code_diagnostics".split())
_MODES: Final = frozenset({"grep", "glob"})  # tools of their own once
_WRITES: Final = frozenset("write edit patch download".split())
_DEEPEST: Final = 16


def assess(tool: str, args: object, guardrail: Guardrail, depth: int = 0) -> Risk:
    """Return the risk of a call; what is not known is high."""
    name = tool.lower()
    if not isinstance(args, Mapping):
        return Risk.HIGH
    if name == "batch":
        return _batch(args, guardrail, depth)
    if any(guardrail.crosses_link(path) for path in _paths(name, args)):
        return Risk.CRITICAL
    if name == "bash":
        command = args.get("command")
        known = isinstance(command, str)
        return command_risk(str(command), guardrail.is_outside) if known else Risk.HIGH
    if name == "git":
        return git_risk(args)
    if name == "read":
        return _read(args, guardrail)
    if name in _QUIET:
        return Risk.ROUTINE
    if name in _LOOKS or (name in _MODES and not guardrail.profile.one_search):
        return _at(args.get("path"), Risk.ROUTINE, guardrail, absent=Risk.ROUTINE)
    if name in _WRITES:
        # A download without a destination gets one inside the workspace.
        absent = Risk.BOUNDED if name == "download" and "file_path" not in args else Risk.HIGH
        return _at(args.get("file_path"), Risk.BOUNDED, guardrail, absent=absent)
    return Risk.HIGH


def _at(path: object, inside: Risk, guardrail: Guardrail, *, absent: Risk) -> Risk:
    if not isinstance(path, str) or not path.strip():
        return absent
    return Risk.CRITICAL if guardrail.is_outside(path) else inside


def _read(args: Mapping[str, Any], guardrail: Guardrail) -> Risk:
    paths = _paths("read", args)
    listed = args.get("files")
    if not isinstance(args.get("file_path"), str) and (
        not isinstance(listed, (list, tuple)) or len(paths) != len(listed)
    ):
        return Risk.HIGH
    risks = [_at(path, Risk.ROUTINE, guardrail, absent=Risk.HIGH) for path in paths]
    return max(risks, key=lambda risk: risk.value, default=Risk.HIGH)


def _paths(name: str, args: Mapping[str, Any]) -> list[str]:
    """Return the texts of a call that are taken for paths."""
    if name == "bash":
        command = args.get("command")
        words = words_of(command) if isinstance(command, str) else []
        return [word for word in words if not word.startswith("-")]
    one = args.get("path" if name in _LOOKS | _MODES else "file_path")
    if isinstance(one, str):
        return [one]
    several = args.get("files") if name == "read" else ()
    if not isinstance(several, (list, tuple)):
        return []
    found = (entry.get("path") for entry in several if isinstance(entry, Mapping))
    return [path for path in found if isinstance(path, str)]


def _batch(args: Mapping[str, Any], guardrail: Guardrail, depth: int) -> Risk:
    calls = args.get("invocations")
    if not isinstance(calls, (list, tuple)) or not calls or depth >= _DEEPEST:
        return Risk.HIGH
    found = []
    for call in calls:
        tool = call.get("tool") if isinstance(call, Mapping) else None
        if isinstance(tool, str):
            found.append(assess(tool, call.get("args"), guardrail, depth + 1))
        else:
            found.append(Risk.HIGH)
    return max(found, key=lambda risk: risk.value)
