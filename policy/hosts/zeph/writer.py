"""Writes definitions: one as a file, and a project of another host as several.

Zeph decides by lists of tools, so a tool of which only some calls are allowed is left out. The
agent that starts the others becomes a definition too, since the session is not in these files.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from policy.core.effect import Effect
from policy.core.finding import Finding
from policy.core.values import evolve, stated
from policy.files.nodes import plain
from policy.hosts.fields import HostError
from policy.hosts.portable import Dropped, Portable, PortableAgent, Writer, WrittenFiles
from policy.hosts.zeph.definition import (
    TOOLS,
    HookDef,
    HookMatcher,
    Permissions,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
    ZephProfile,
    find,
    normalize,
    parse,
    refused,
    validate_name,
)
from policy.hosts.zeph.spawning import MAIN

# --- one definition -------------------------------------------------------------------


def serialize_to_markdown(definition: SubAgentDef) -> str:
    """Return the text of *definition*, which parses to the same definition."""
    lines = [f"{key}: {_written(value)}" for key, value in header(definition).items()]
    body = f"\n{definition.system_prompt}\n" if definition.system_prompt else ""
    return "\n".join(["---", *lines, "---", body])


def header(definition: SubAgentDef) -> dict[str, object]:
    """Return the keys of the header, without values that are defaults."""
    hooks = {event: list(map(_matcher, found)) for event, found in definition.hooks.items()}
    spawns = definition.allowed_spawns
    keys = {
        "name": definition.name,
        "description": definition.description,
        "model": definition.model,
        "tools": dict(_tools(definition)) or None,
        "permissions": _stated(definition.permissions) or None,
        "skills": _stated(definition.skills) or None,
        "hooks": hooks or None,
        "memory": definition.memory.value if definition.memory else None,
        "allowed_spawns": None if spawns is None else list(spawns),
    }
    return {key: value for key, value in keys.items() if value is not None}


def _tools(definition: SubAgentDef) -> Iterator[tuple[str, list[str]]]:
    """Yield the lists of tools, the one that is tried first as the last."""
    for key, names, _ in reversed([*definition.lists]):
        if names or key != "except":
            yield key, list(names)


def _stated(value: Permissions | SkillFilter) -> dict[str, object]:
    """Return the attributes that are not what they are by default, as YAML has them."""
    found = dict(stated(value))
    return {
        name: list(one) if isinstance(one, tuple) else getattr(one, "value", one)
        for name, one in found.items()
    }


def _matcher(matcher: HookMatcher) -> dict[str, object]:
    return {"matcher": matcher.matcher, "hooks": list(map(_hook, matcher.hooks))}


def _hook(hook: HookDef) -> dict[str, object]:
    found: dict[str, object] = {"type": hook.kind}
    if hook.kind == "command":
        found["command"] = hook.command
    else:
        found |= {"server": hook.server, "tool": hook.tool}
        if hook.arguments is not None:
            found["args"] = plain(hook.arguments)
    if hook.timeout_secs != HookDef("").timeout_secs:
        found["timeout_secs"] = hook.timeout_secs
    if hook.fail_closed:
        found["fail_closed"] = True
    if hook.condition is not None:
        found["if"] = hook.condition
    return found


def _written(value: object) -> str:
    """Return *value* as JSON, which all readers of YAML understand in the same way."""
    text = json.dumps(value, ensure_ascii=False)
    # Some characters are valid in JSON and not in YAML.
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def as_derived(definition: SubAgentDef) -> str:
    """Return *definition* in the form of Zeph's derived serializer, which no reader accepts.

    The denied tools are a key of their own, and the lists are tagged.
    """
    keys = header(definition)
    tools = definition.tools
    listed: object = "InheritAll"
    if tools != ToolPolicy():
        tag = "Both" if tools.is_both else "DenyList" if tools.allow is None else "AllowList"
        listed = {tag: dict(_tools(definition))}
    keys |= {"tools": listed, "disallowed_tools": list(definition.disallowed_tools)}
    lines = (f"{key}: {_written(value)}" for key, value in keys.items())
    return "\n".join(["---", *lines, "---", ""])


def from_derived(values: Mapping[str, object]) -> tuple[SubAgentDef, Finding]:
    """Return the definition in keys of the derived serializer, and a finding about the form.

    Raises:
        HostError: they are not a definition in either form.

    """
    keys = dict(values)
    tools = keys.pop("tools", {})
    lists: dict[str, object] = {}
    if isinstance(tools, Mapping):
        for tag, key in (("AllowList", "allow"), ("DenyList", "deny")):
            if tag in tools:
                lists[key] = tools[tag]
        lists = lists or dict(tools)
    lists["except"] = keys.pop("disallowed_tools", [])
    definition = from_dict({**keys, "tools": lists})
    return definition, find("flat-disallowed-tools", agent=definition.name)


def to_dict(definition: SubAgentDef) -> dict[str, object]:
    """Return the keys of the header, and the text below it as ``system_prompt``."""
    return {**header(definition), "system_prompt": definition.system_prompt}


def from_dict(values: Mapping[str, object]) -> SubAgentDef:
    """Return the definition in the result of `to_dict`.

    Raises:
        HostError: it is not a definition.

    """
    keys = {key: value for key, value in values.items() if key != "system_prompt"}
    text = "\n".join(f"{_written(key)}: {_written(value)}" for key, value in keys.items())
    profile = ZephProfile.ISSUE_970 if "allowed_spawns" in keys else ZephProfile.ZEPH
    return parse(f"---\n{text}\n---\n{values.get('system_prompt', '')}", profile)


def as_zeph_saves(definition: SubAgentDef) -> SubAgentDef:
    """Return *definition* after Zeph itself has saved and read it.

    Zeph never writes the length of the history, and writes no permissions if only `worktree`
    differs from its default.
    """
    usual = Permissions()
    saved = evolve(definition.permissions, max_history_messages=usual.max_history_messages)
    if evolve(saved, worktree=usual.worktree) == usual:
        saved = usual
    return evolve(definition, permissions=saved)


def save_atomic(definition: SubAgentDef, folder: str | Path) -> Path:
    """Write *definition* to ``<folder>/<name>.md`` atomically; return the file.

    Raises:
        HostError: of kind ``Invalid`` for an invalid name, of kind ``Io`` if the file cannot be
            written.

    """
    validate_name(definition.name)
    target = Path(folder) / f"{definition.name}.md"
    written: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".tmp")
        with open(handle, "w", encoding="utf-8", newline="") as stream:  # noqa: PTH123
            stream.write(serialize_to_markdown(definition))
            stream.flush()
            os.fsync(stream.fileno())
        Path(written).replace(target)
    except OSError as error:
        if written is not None:
            with contextlib.suppress(OSError):
                Path(written).unlink()
        raise _failed(target, error) from None
    return target


def delete_file(path: str | Path) -> None:
    """Remove the file of a definition.

    Raises:
        HostError: of kind ``Io``, if it does not exist or cannot be removed.

    """
    try:
        Path(path).unlink()
    except OSError as error:
        raise _failed(Path(path), error) from None


def _failed(path: Path, error: OSError) -> HostError:
    return refused("Io", file=str(path), why=str(error.strerror or error).lower())


# --- a project ------------------------------------------------------------------------


# Zeph has no list of the agents that an agent may start, and counts depth from each started agent
# again. So only a person starts agents, from the session.
_CONFIG: Final = """\
[agents]
enabled = true
delegation_mode = "explicit_request_only"
max_spawn_depth = 1
"""


def _write(portable: Portable) -> WrittenFiles:
    """Return a definition for each agent, and a configuration that lets them start none."""
    names = portable.renamed([MAIN])
    files = {}
    for agent in portable.agents:
        definition = SubAgentDef(
            name=names[agent.name],
            description=agent.one_line,
            tools=ToolPolicy(tuple(_allowed_tools(agent))),
            system_prompt=agent.prompt.strip(),
        )
        files[f".zeph/agents/{names[agent.name]}.md"] = serialize_to_markdown(definition)
    files["config/default.toml"] = _CONFIG
    dropped = (Dropped("what the session itself may do; the agents that it starts are bound"),)
    return WrittenFiles(files, names, (MAIN,), dropped)


def _allowed_tools(agent: PortableAgent) -> list[str]:
    found = [
        theirs
        for _, theirs, tool_rules in agent.host_tools(WRITER.counterparts)
        # Zeph has no tool with capital letters.
        if tool_rules.least is Effect.ALLOW and theirs == normalize(theirs)
    ]
    return [name for name in found if "*" not in name and name != "task"]


WRITER: Final = Writer(
    TOOLS["counterparts"],
    frozenset(
        "name description tools tools.allow tools.deny tools.except permissions"
        " permissions.permission_mode memory agents agents.max_spawn_depth"
        " agents.default_disallowed_tools agents.default_permission_mode".split()
    ),
    _write,
)
