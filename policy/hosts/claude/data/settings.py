"""The settings, variables and hooks of ``settings.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policy.files.nodes import AnyOf, ListOf, MappingOf, ObjectOf, OneWord, ValueKind, ValueShape
from policy.hosts.claude.data import table
from policy.hosts.fields import Keys

_DATA: Final = table("settings")

# Reads and edits are kept in working folders.
READS_INSIDE: Final = "blockReadsOutsideWorkingDirectories"
EDITS_INSIDE: Final = "blockWritesOutsideWorkingDirectories"
# For file tools alone, in a file that is given as a flag; it counts as both of the above.
FILE_READS_INSIDE: Final = "blockFileToolReadsOutsideWorkingDirectories"

# What would be asked for is denied. It counts where a project does not say it.
SILENT: Final = "denyInsteadOfPrompting"
SILENT_SCOPES: Final = frozenset({"managed", "flag", "user"})

# No model judges calls; a key of `permissions` and of the settings.
NO_AUTO: Final = "disableAutoMode"
# No session goes without permissions.
NO_BYPASS: Final = "disableBypassPermissionsMode"

# Key -> its value where the tools are switched off, and these tools.
TOOLS_OFF: Final = {
    key: (off["value"], tuple(off["tools"].split())) for key, off in _DATA["tools_off"].items()
}

# What switches one on, in letters of any case.
ON: Final = frozenset({"1", "true", "yes", "on"})

# How many levels of agents may follow below the main conversation.
DEPTH: Final = "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"

# No agent is started in the background.
FOREGROUND: Final = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

# Variable -> the agents of the host, and the tools, that there are not.
AGENTS_OFF: Final = {
    name: frozenset(agents.split()) for name, agents in _DATA["variables"]["agents_off"].items()
}
TOOLS_OFF_VARIABLE: Final = {
    name: tuple(tools.split()) for name, tools in _DATA["variables"]["tools_off"].items()
}

_KINDS: Final[Mapping[str, ValueShape]] = {
    **{kind.name.lower(): kind for kind in ValueKind},
    "flag": ValueKind.TRUTH,
    "texts": ListOf(ValueKind.TEXT, "a list of strings"),
    "object": ObjectOf({}),
}


def _object(given: Mapping[str, Any]) -> ObjectOf:
    return ObjectOf(dict(_fields(given)), needed=tuple(given.get("needed", "").split()))


def _fields(given: Mapping[str, Any]) -> Iterator[tuple[str, ValueShape]]:
    for kind, shape in _KINDS.items():
        for key in given.get(kind, "").split():
            yield key, shape
    for key, words in given.get("words", {}).items():
        yield key, OneWord(tuple(words.split()))
    for key, shape in given.get("others", {}).items():
        yield key, _shape(shape)
    for key, below in given.get("objects", {}).items():
        yield key, _object(below)
    for key, below in given.get("lists", {}).items():
        yield key, ListOf(_object(below))


def _shape(given: str | Mapping[str, Any]) -> ValueShape:
    match given:
        case str():
            return _KINDS[given]
        case {"words": words}:
            return OneWord(tuple(words.split()))
        case {"list": item}:
            return ListOf(_shape(item))
        case {"map": value}:
            return MappingOf(_shape(value))
        case {"any": shapes}:
            return AnyOf(tuple(map(_shape, shapes)))
        case _:
            return _object(given["object"])


VALUES: Final = _object(_DATA["values"])

# What the fields of a hook must be where they are given.
FIELDS: Final = dict(_fields(_DATA["hook_fields"]))

_HOOKS: Final = _DATA["hooks"]

GUARDS: Final = tuple(_HOOKS["guards"].split())
TOOL_EVENTS: Final = frozenset({*GUARDS, *_HOOKS["of_tools"].split()})
EVENTS: Final = TOOL_EVENTS | frozenset(_HOOKS["others"].split())
UNSCANNED: Final = frozenset(_HOOKS["unscanned"].split())
TYPES: Final = {name: tuple(fields.split()) for name, fields in _HOOKS["types"].items()}


def _records(shape: ValueShape, path: str) -> Iterator[tuple[str, Keys]]:
    if isinstance(shape, ListOf):
        yield from _records(shape.item, f"{path}.[]")
    elif isinstance(shape, ObjectOf):
        yield path, Keys(tuple(shape.fields))
        for name, inner in shape.fields.items():
            yield from _records(inner, f"{path}.{name}")


# Of `permissions` see `policy.hosts.claude.settings`, of events `policy.hosts.claude.lint`.
SECTIONS: Final = {
    "": Keys(
        (
            *VALUES.fields,
            *"hooks tools extraKnownMarketplaces feedbackSurveyState".split(),
            "skipAutoPermissionPrompt",
            *("allow", "ask", "deny"),  # reported as misplaced lists
        ),
        {"allowedMcpServers": None, "deniedMcpServers": None},
        is_open=True,
    ),
    **dict(_records(VALUES.fields["sandbox"], "sandbox")),
    "hooks.*.[]": Keys(("matcher", "hooks"), is_open=True),
    "hooks.*.[].hooks.[]": Keys(("type", *FIELDS), is_open=True),
}
