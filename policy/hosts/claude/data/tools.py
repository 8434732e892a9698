"""The tools and agents of ``tools.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policy.core import expressions as re
from policy.hosts.claude.data import table
from policy.tables.dialect import Argument, ArgumentKind, Input, InputKind, Inputs

_DATA: Final = table("tools")
_TOOLS: Final[Mapping[str, Mapping[str, Any]]] = _DATA["tools"]

_REWRITTEN: Final = re.compile(r"[^A-Za-z0-9_*-]")


def server_name(name: str) -> str:
    """Return how the host calls a server, or a tool of one, that calls itself *name*.

    What is neither a letter, a digit, `_` nor `-` becomes `_` (2.1.329, observed); a star stays.
    """
    return _REWRITTEN.sub("_", name)


def _words(section: str, name: str) -> tuple[str, ...]:
    return tuple(_DATA[section][name].split())


def _set(name: str) -> frozenset[str]:
    return frozenset(_words("names", name))


# What a shell command does to files is decided as a call of one of these tools.
REDIRECT_OUT: Final = "Bash>"
REDIRECT_IN: Final = "Bash<"
OPERAND_READ: Final = "Bash:read"
OPERAND_WRITE: Final = "Bash:write"
OPERAND_REMOVE: Final = "Bash:remove"

# A command that reads by a name that depends on where it runs is a call of this one, where some
# rule keeps the tool from every file.
ANY_READ: Final = "Bash:any"

_OPENING: Final = (REDIRECT_OUT, REDIRECT_IN, OPERAND_READ, OPERAND_WRITE, OPERAND_REMOVE)
INNER: Final = frozenset({*_OPENING, ANY_READ})

FILE_TOOLS: Final = {name: _words("file_tools", name) for name in ("Read", "Edit")}
READING: Final = (*FILE_TOOLS["Read"], REDIRECT_IN, OPERAND_READ)
EDITING: Final = (*FILE_TOOLS["Edit"], REDIRECT_OUT, OPERAND_WRITE)

NAMES: Final = frozenset(_TOOLS)
UNASKED: Final = frozenset(
    n for n, tool in _TOOLS.items() if not tool.get("needs_permission", True)
)
TOOL_CLASSES: Final = {name: _words("classes", name) for name in _DATA["classes"]}
ALIASES: Final[Mapping[str, str]] = _DATA["aliases"]
SHELLS: Final = _words("names", "shells")
INTERACTIVE: Final = _set("interactive")
REMOVED: Final = _set("removed")

# The argument of a command that is to run outside a sandbox.
UNSANDBOXED: Final = "dangerouslyDisableSandbox"

# The tool that stays while any other does, whatever rules say.
LAST: Final = "EndConversation"

# The tool that waits for servers to connect.
WAITING: Final = "WaitForMcpServers"


def _listed(key: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(tool[key].split()) for name, tool in _TOOLS.items() if key in tool}


PARAMETERS: Final = _listed("parameters")
ASSUMED: Final = {
    (name, field): value
    for name, tool in _TOOLS.items()
    for field, value in tool.get("assumed", {}).items()
}
PRIMARY: Final = {name: tool["primary"] for name, tool in _TOOLS.items() if "primary" in tool}
SPECIFIED: Final = frozenset({"Task", *(n for n, tool in _TOOLS.items() if tool.get("specifier"))})


def _arguments() -> Iterator[tuple[str, Argument]]:
    for name, tool in _TOOLS.items():
        if "argument" in tool:
            given = dict(tool["argument"])
            kind, fields = ArgumentKind[given.pop("kind").upper()], tuple(given.pop("fields"))
            listed = PARAMETERS[name] if kind is ArgumentKind.TEXT else frozenset[str]()
            yield name, Argument(kind, fields, parameters=listed, **given)
    for name in _OPENING:
        yield name, Argument(ArgumentKind.PATH, ("file",))


ARGUMENTS: Final = dict(_arguments())


def _each_input(given: Mapping[str, Any]) -> Iterator[Input]:
    for key, value in given.items():
        match key:
            case "closed":
                continue
            case "words":
                for name, words in value.items():
                    yield Input(name, words=tuple(words.split()))
            case "others":
                for other in value:
                    yield Input(**{**other, "kind": InputKind[other.get("kind", "text").upper()]})
            case "whole":
                for name in value.split():
                    yield Input(name, InputKind.NUMBER, whole=True)
            case _:
                for name in value.split():
                    yield Input(name, InputKind[key.upper()])


# Canonical tool name -> what its arguments may be.
_GIVEN: Final = {name: tool["inputs"] for name, tool in _TOOLS.items() if "inputs" in tool}
INPUTS: Final = {
    name: Inputs(tuple(_each_input(given)), closed=given.get("closed", False))
    for name, given in _GIVEN.items()
}

FORK: Final = "fork"
MODES: Final = tuple(_DATA["modes"].split())
NEVER_BELOW: Final = _set("never_below")
BACKGROUND: Final = _set("background")
MEMORY_TOOLS: Final = _words("names", "memory")
FIELDS: Final = frozenset(_words("front_matter", "agent"))
MISSPELT: Final = {
    letters: key for key, names in _DATA["misspelt"].items() for letters in names.split()
}

# Agent -> the tools it has (None is all), the tools it has not.
BUILT_IN: Final[Mapping[str, tuple[tuple[str, ...] | None, tuple[str, ...]]]] = {
    name: (
        tuple(agent["tools"].split()) if "tools" in agent else None,
        tuple(agent.get("not", "").split()),
    )
    for name, agent in _DATA["agents"].items()
}

PREAPPROVED: Final = _words("web", "preapproved")
