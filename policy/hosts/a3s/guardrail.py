"""`InteractiveToolGuardrail`: the risk of a call, and the effect of a risk in each mode."""

from __future__ import annotations

import enum
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from policy.commands.knowledge import Shell, Wrapping
from policy.commands.reader import read_command
from policy.core.effect import Effect
from policy.core.values import field, frozen
from policy.hosts.a3s.rules import NEWEST, A3sProfile
from policy.hosts.data import host_table


class Risk(enum.IntEnum):
    """How much harm a call may do, in the order of the values."""

    ROUTINE = 0
    BOUNDED = 1
    HIGH = 2
    CRITICAL = 3


_DATA: Final = host_table("a3s", "guardrail")
_SHELL: Final = Shell(wrapping=Wrapping(names=frozenset(_DATA["wrappers"])))
_LONGEST: Final = 100_000
_CATASTROPHE: Final = [re.compile(text) for text in _DATA["catastrophes"]]
_CRITICAL: Final = re.compile("|".join(_DATA["critical"]))
_READ_ONLY: Final = {
    name: re.compile(refused)
    for names, refused in _DATA["read_only"].items()
    for name in names.split()
}
_ANY_PROGRAM: Final = _READ_ONLY.pop("any")
_GIT: Final = _DATA["git"]

_BETWEEN: Final = re.compile(r"[\s;|&()<>{}'\"`$\\]+")
_EDGES: Final = "'\"()[]{},:"

# Characters with which a command is not split into words; the only blank is the space.
_NOT_PLAIN: Final = re.compile(r"""['"*?\[\]{};<>`$&]|[^\S ]|\|\|""")


def _is_critical(command: str) -> bool:
    """Return whether a command, or one within a substitution or a script in it, is critical."""
    lowered = " ".join(command.split()).lower()
    if any(text.search(lowered) for text in _CATASTROPHE):
        return True
    read, fetched = read_command(command, _SHELL), False
    # In an unreadable command any word may be a program.
    words = _BETWEEN.split(command) if read.opaque or read.unread else ()
    if any(_is_critical_program(word, words) for word in {*words}):
        return True
    for part in read.parts:
        for text in (part.text, *part.match_texts, *part.possible_texts):
            program, *arguments = text.split() or [""]
            name = program.rpartition("/")[2]
            script = arguments[arguments.index("-c") + 1 :] if "-c" in arguments else ()
            if name not in _DATA["shells"]:
                if _is_critical_program(program, arguments):
                    return True
            elif (fetched and "|" in command) or (script and _is_critical(" ".join(script))):
                return True
            fetched |= name in _DATA["fetchers"]
    return False


def _is_critical_program(program: str, arguments: Iterable[str]) -> bool:
    return bool(_CRITICAL.fullmatch(" ".join([program.rpartition("/")[2], *arguments])))


def _words_of(command: str) -> list[str]:
    """Return the words of a command without quotes and brackets, to search them for paths."""
    return [word for word in (part.strip(_EDGES) for part in command.split()) if word]


def _command_risk(command: str, outside: Callable[[str], bool]) -> Risk:
    """Return the risk of a command: high unless it only reads, and no word leads *outside*."""
    command = command.strip()
    if len(command) > _LONGEST:
        return Risk.HIGH
    if _is_critical(command):
        return Risk.CRITICAL
    if not command or _NOT_PLAIN.search(command) or any(map(outside, _words_of(command))):
        return Risk.HIGH
    read_only = all(_is_read_only(segment.split()) for segment in command.split("|"))
    return Risk.ROUTINE if read_only else Risk.HIGH


def _is_read_only(words: list[str]) -> bool:
    program, *arguments = words or [""]
    refused = _READ_ONLY.get(program.strip(_EDGES))
    # `uniq` writes a second file.
    writes = program == "uniq" and sum(not a.startswith("-") for a in arguments) > 1
    if program == "git":
        while arguments and arguments[0] in _GIT["before"]:
            arguments = arguments[1:]
        refused = re.compile(_GIT["refused"])
        writes = not re.fullmatch(_GIT["read_only"], " ".join(arguments))
    if refused is None or writes:
        return False
    return not any(refused.fullmatch(one) or _ANY_PROGRAM.fullmatch(one) for one in arguments)


def _git_risk(args: Mapping[str, Any]) -> Risk:
    """Return the risk of a call of the tool `git`; one with `force` or unknown keys is high."""
    command = args.get("command")
    if not isinstance(command, str) or args.get("force", False) is not False:
        return Risk.HIGH
    keys = args.keys() - {"command", "force"}
    others = {key: json.dumps(args[key], default=str) for key in keys}
    routine, bounded = (_GIT[risk].get(command) for risk in ("routine", "bounded"))
    looks = routine is not None and "force" not in args and others.keys() <= routine.keys()
    if looks and all(re.fullmatch(routine[key], value) for key, value in others.items()):
        return Risk.ROUTINE
    undone = (re.fullmatch(check, others.get(key, "")) for key, check in (bounded or {}).items())
    return Risk.BOUNDED if any(undone) else Risk.HIGH


class Mode(enum.Enum):
    """How much a session does without a person."""

    DEFAULT = "default"
    PLAN = "plan"
    AUTO = "auto"
    FORCE = "force"

    @classmethod
    def of(cls, text: str) -> Mode:
        """Return the mode of that name; any other text is the default mode."""
        name = text.strip().lower()
        if name == "yolo":
            return cls.FORCE
        return next((mode for mode in cls if mode.value == name), cls.DEFAULT)


@frozen
class Guardrail:
    """The guardrail of a session."""

    mode: Mode = Mode.DEFAULT
    workspace: str | None = None  # the folder that paths may not leave, absolute
    links: frozenset[str] = field(factory=frozenset, converter=frozenset)  # symbolic links
    profile: A3sProfile = NEWEST

    def check(self, tool: str, args: Mapping[str, Any]) -> Effect:
        """Return the effect of a call."""
        plans = self.mode is not Mode.PLAN or self.profile.has_lanes
        mode = self.mode if plans else Mode.DEFAULT
        return Effect(_DATA["modes"][mode.value][assess(tool, args, self)])

    def is_outside(self, path: str) -> bool:
        """Return whether the text of *path* leads out of the workspace."""
        text = path.replace("\\", "/").strip()
        if text.startswith(("~", "$HOME", "${HOME}")) or _DRIVE.match(text):
            return True
        if not text.startswith("/"):
            return posixpath.normpath(text).split("/")[0] == ".."
        return self.workspace is None or text.startswith("//") or not self._is_below(text, ".")

    def crosses_link(self, path: str) -> bool:
        """Return whether *path* passes a link, which is critical."""
        text = path.replace("\\", "/").strip()
        known = self.workspace is not None and not self.is_outside(path)
        return known and any(self._is_below(text, link) for link in self.links)

    def _is_below(self, path: str, folder: str) -> bool:
        full, root = (posixpath.join(self.workspace or "", one) for one in (path, folder))
        return PurePosixPath(posixpath.normpath(full)).is_relative_to(posixpath.normpath(root))


_DRIVE: Final = re.compile(r"[A-Za-z]:")

_TOOLS: Final = _DATA["tools"]
_DEEPEST: Final = 16


def assess(tool: str, args: object, guardrail: Guardrail, depth: int = 0) -> Risk:
    """Return the risk of a call; an unknown tool is high."""
    name = tool.lower()
    if not isinstance(args, Mapping):
        return Risk.HIGH
    if name == "batch":
        return max(_calls(args, guardrail, depth), default=Risk.HIGH)
    paths = _paths(name, args)
    if any(map(guardrail.crosses_link, paths)):
        return Risk.CRITICAL
    if name == "bash":
        command = args.get("command")
        known = isinstance(command, str)
        return _command_risk(str(command), guardrail.is_outside) if known else Risk.HIGH
    if name == "git":
        return _git_risk(args)
    if name == "read":
        listed, one = args.get("files"), isinstance(args.get("file_path"), str)
        known = one or (isinstance(listed, (list, tuple)) and len(paths) == len(listed))
        risks = [_at(path, Risk.ROUTINE, guardrail, absent=Risk.HIGH) for path in paths]
        return max(risks, default=Risk.HIGH) if known else Risk.HIGH
    if name in _TOOLS["quiet"]:
        return Risk.ROUTINE
    if name in _TOOLS["searches"] or (name in _TOOLS["modes"] and not guardrail.profile.one_search):
        return _at(args.get("path"), Risk.ROUTINE, guardrail, absent=Risk.ROUTINE)
    if name in _TOOLS["writes"]:
        # A download without a destination is written into the workspace.
        absent = Risk.BOUNDED if name == "download" and "file_path" not in args else Risk.HIGH
        return _at(args.get("file_path"), Risk.BOUNDED, guardrail, absent=absent)
    return Risk.HIGH


def _at(path: object, inside: Risk, guardrail: Guardrail, *, absent: Risk) -> Risk:
    if not isinstance(path, str) or not path.strip():
        return absent
    return Risk.CRITICAL if guardrail.is_outside(path) else inside


def _paths(name: str, args: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a call that are paths."""
    if name == "bash":
        command = args.get("command")
        words = _words_of(command) if isinstance(command, str) else []
        return [word for word in words if not word.startswith("-")]
    one = args.get("path" if name in (*_TOOLS["searches"], *_TOOLS["modes"]) else "file_path")
    if isinstance(one, str):
        return [one]
    several = args.get("files") if name == "read" else ()
    if not isinstance(several, (list, tuple)):
        return []
    found = (entry.get("path") for entry in several if isinstance(entry, Mapping))
    return [path for path in found if isinstance(path, str)]


def _calls(args: Mapping[str, Any], guardrail: Guardrail, depth: int) -> Iterator[Risk]:
    """Yield the risk of each call of a batch."""
    calls = args.get("invocations")
    for call in calls if isinstance(calls, (list, tuple)) and depth < _DEEPEST else ():
        tool = call.get("tool") if isinstance(call, Mapping) else None
        known = isinstance(tool, str)
        yield assess(str(tool), call.get("args"), guardrail, depth + 1) if known else Risk.HIGH
