"""Adds the hook to a settings file, removes it, and finds settings that disable it.

Edits change the text, so everything else keeps its order and its layout.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from policy.adapters.hook import client
from policy.adapters.hook.sources import Places
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.source import Edit, Source, edited
from policy.files.json_nodes import read_json
from policy.files.nodes import MappingNode, Node, ScalarNode, SequenceNode
from policy.files.text import decode
from policy.files.writing import content_of

# Longer than the deadline of the hook, which blocks the call.
_TIMEOUT: Final = 30
_EVENT: Final = "PreToolUse"
_OURS: Final = re.compile(
    r"policy/(?:adapters/)?hook/client\.py\b|(?:^|[/\s])policy(?:'? |-)hook\b"
)

# Scopes of settings, the strongest first.
_SCOPES: Final = ("managed", "local", "project", "user")


def command(options: Sequence[str], *, portable: bool = False) -> str:
    """Return the command that the host runs for each call; *portable* works on any machine.

    A missing program blocks the call.
    """
    program = ["policy-hook"] if portable else [sys.executable, "-I", "-S", client.__file__]
    return f"{shlex.join([*program, *options])} || exit 2"


def entry(text: str) -> dict[str, object]:
    """Return the entry that runs the command *text* for every tool, and blocks on failure."""
    hook = {"type": "command", "command": text, "timeout": _TIMEOUT, "onFailure": "block"}
    return {"hooks": [hook]}


def with_hook(source: Source, group: dict[str, object]) -> str:
    """Return the settings with the entry *group* in place of any earlier one."""
    bare = Source(source.name, without_hook(source))
    if not bare.text.strip():
        return json.dumps({"hooks": {_EVENT: [group]}}, indent=2) + "\n"
    root = _root(bare)
    hooks = root.get("hooks")
    groups = hooks.get(_EVENT) if isinstance(hooks, MappingNode) else None
    if isinstance(groups, SequenceNode):
        edit = _appended(bare, groups, "", group)
    elif isinstance(hooks, MappingNode):
        edit = _appended(bare, hooks, _EVENT, [group])
    else:
        edit = _appended(bare, root, "hooks", {_EVENT: [group]})
    return edited(bare.text, [edit])


def without_hook(source: Source) -> str:
    """Return the settings without the hook, and without keys that this leaves empty."""
    text = source.text
    while True:
        found = Source(source.name, text)
        edit = _removal(found) if text.strip() else None
        if edit is None:
            return text
        text = edited(text, [edit])


def _root(source: Source) -> MappingNode:
    root = read_json(source, byte_order_mark=True)  # the host accepts one
    if not isinstance(root, MappingNode):
        raise PolicyError("expected a JSON object", root.span)
    if len({entry.key.value for entry in root.entries}) < len(root.entries):
        raise PolicyError("a key is there twice", root.span, help="keep the one you mean")
    return root


def _is_ours(group: Node) -> bool:
    hooks = group.get("hooks") if isinstance(group, MappingNode) else None
    if not isinstance(hooks, SequenceNode) or len(hooks.items) != 1:
        return False
    (hook,) = hooks.items
    text = hook.get("command") if isinstance(hook, MappingNode) else None
    command = text.value if isinstance(text, ScalarNode) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def _appended(source: Source, holder: MappingNode | SequenceNode, key: str, value: object) -> Edit:
    """Return the edit that adds *value* at the end of *holder*."""
    label = f"{json.dumps(key)}: " if key else ""
    spans = _spans(holder)
    if not spans:
        indent = _indent(source, holder.span.start)
        inner = indent + _unit(source)
        text = label + _dumped(value, inner, _unit(source))
        open_, close = holder.span.text[0], holder.span.text[-1]
        return Edit(holder.span, f"{open_}\n{inner}{text}\n{indent}{close}")
    first, last = spans[0][0], spans[-1][1]
    behind = source.span(last, last)
    if "\n" not in source.text[holder.span.start : first]:
        return Edit(behind, f", {label}{json.dumps(value)}")  # all on one line
    indent = _indent(source, first)
    return Edit(behind, f",\n{indent}{label}{_dumped(value, indent, _unit(source))}")


def _spans(holder: MappingNode | SequenceNode) -> list[tuple[int, int]]:
    if isinstance(holder, SequenceNode):
        return [(item.span.start, item.span.end) for item in holder.items]
    return [(each.key.span.start, each.value.span.end) for each in holder.entries]


def _removal(source: Source) -> Edit | None:
    """Return the edit that removes the first entry of the hook, or None."""
    root = _root(source)
    hooks = root.get("hooks")
    if hooks is None:
        return None
    if not isinstance(hooks, MappingNode):
        raise PolicyError("expected an object as `hooks`", hooks.span)
    groups = hooks.get(_EVENT)
    if groups is None:
        return None
    if not isinstance(groups, SequenceNode):
        raise PolicyError(f"expected a list as `{_EVENT}`", groups.span)
    number = next((n for n, group in enumerate(groups.items) if _is_ours(group)), None)
    if number is None:
        return None
    if len(groups.items) > 1:
        return _without(source, groups, number)
    if len(hooks.entries) > 1:
        return _without(source, hooks, [each.name for each in hooks.entries].index(_EVENT))
    return _without(source, root, [each.name for each in root.entries].index("hooks"))


def _without(source: Source, holder: MappingNode | SequenceNode, number: int) -> Edit:
    spans = _spans(holder)
    start, end = spans[number]
    if number:
        start = spans[number - 1][1]
    elif len(spans) > 1:
        end = spans[1][0]
    else:
        start, end = holder.span.start + 1, holder.span.end - 1
    return Edit(source.span(start, end), "")


def _dumped(value: object, indent: str, unit: str) -> str:
    return json.dumps(value, indent=unit).replace("\n", f"\n{indent}")


def _indent(source: Source, offset: int) -> str:
    """Return the indentation of the line at *offset*."""
    line = source.text[source.text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(source: Source) -> str:
    """Return the unit of indentation of the file."""
    found = re.search(r"^([ \t]+)\"", source.text, re.MULTILINE)
    return found[1] if found else "  "


def silencing(settings: Mapping[str, Source], holder: str) -> Iterator[PolicyError]:
    """Yield each reason why the host does not run the hook of the scope *holder*, with its place.

    *settings* are by scope. Observed of Claude Code 2.1.329: ``disableAllHooks`` in the strongest
    file that has it disables every hook but an administrator's. ``allowManagedHooksOnly`` does the
    same in settings of an administrator. A file with one invalid value has no effect, its hooks
    included.
    """
    from policy.hosts.claude.settings import read_settings  # noqa: PLC0415  # loads parsers

    read = {scope: read_settings(settings[scope], scope) for scope in _SCOPES if scope in settings}
    not_run = "the hook is not run: "
    if holder in read and read[holder].unreadable:
        for found in read[holder].findings:
            if found.severity is Severity.ERROR:
                yield PolicyError(not_run + found.message, found.span, help=found.help)
    switches = [
        each.hooks_off
        for each in read.values()
        if each.hooks_off and isinstance(each.keys.get("disableAllHooks"), bool)
    ]
    if switches and switches[0][0]:
        help_ = "remove it; it has no effect on hooks in settings of an administrator"
        yield PolicyError(f"{not_run}`disableAllHooks`", switches[0][1], help=help_)
    if "managed" in read and read["managed"].keys.get("allowManagedHooksOnly") is True:
        span = settings["managed"].whole()
        help_ = "put the hook into the settings of the administrator"
        yield PolicyError(f"{not_run}`allowManagedHooksOnly`", span, help=help_)


def settings_file(scope: str) -> Path:
    """Return the file of a *scope*: ``managed``, ``local``, ``project`` or ``user``."""
    if scope == "managed":
        return Path(Places("/").managed)
    if scope == "user":
        folder = os.environ.get("CLAUDE_CONFIG_DIR")
        return Path(folder) / "settings.json" if folder else Path.home() / ".claude/settings.json"
    return Path(".claude", "settings.json" if scope == "project" else "settings.local.json")


def keeping_from_running(holder: str, text: str) -> list[PolicyError]:
    """Return why the host would not run the hook of the scope *holder* with the new *text*."""
    settings = {holder: decode(str(settings_file(holder)), text.encode())}
    for scope in _SCOPES:
        # An unreadable file has no effect.
        with suppress(PolicyError):
            file = settings_file(scope)
            if scope != holder and (data := content_of(file)):
                settings[scope] = decode(str(file), data)
    return list(silencing(settings, holder))
