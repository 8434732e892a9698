"""Hooks of settings, agents and skills, and the tools that each is for. None is run.

One wrong value below an event that guards calls voids the settings file (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.core import expressions as re
from policy.core.source import Span
from policy.core.values import field, frozen
from policy.files.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    ShapeMistake,
    ValueKind,
    shape_mistakes,
)
from policy.hosts.claude.data import settings as known_hooks
from policy.hosts.claude.data.tools import ALIASES
from policy.hosts.fields import is_null, value_of


@frozen
class Hook:
    """One hook."""

    event: str  # what it runs at
    matcher: str  # which tools it is for, as written; "" is all
    condition: str  # the rule that calls must match, as written; "" is none
    runs: str  # what it runs, to tell hooks apart
    waits: bool  # whether the host waits for its answer
    place: Span = field(repr=False)  # of the matcher, or else of the hook
    span: Span = field(repr=False)  # of the condition, or else of the hook


# A matcher of these is a list of names; of anything else, an expression.
LIST: Final = re.compile(r"[\w\-, |]*", re.ASCII)
# Expressions that are tried; to match another may take too long.
_PLAIN: Final = re.compile(
    r"(?:\\[bwWdDsS.()*+?|/-]|[^\\()\[\]{}]|\((?!\?)|\)(?![*+?{]))*", re.DOTALL
)
_REPEATED: Final = re.compile(r"[*+?]")
_REPEATS: Final = 6
# Expressions that are invalid to the host, and may be valid to Python.
_NONE: Final = re.compile(r"\(\?[a-zA-Z]+\)|[*+?]\+|\[[^]]*\Z")


def takes(matcher: str, tool: str) -> bool | None:
    """Return whether a matcher matches a tool; None if that is unknown."""
    if tool == "Monitor":  # what is monitored is a command
        both = takes(matcher, "Bash"), _takes(matcher, tool)
        return any(both) if None not in both else None
    return _takes(matcher, tool)


def _takes(matcher: str, tool: str) -> bool | None:
    if matcher in ("", "*"):
        return True
    if LIST.fullmatch(matcher):
        names = {name.strip() for name in re.split(r"[|,]", matcher)}
        return tool in {ALIASES.get(name, name) for name in names}
    if _NONE.search(matcher):
        return False
    if not _PLAIN.fullmatch(matcher) or len(_REPEATED.findall(matcher)) > _REPEATS:
        return None
    try:
        return re.search(matcher, tool) is not None
    except re.error:
        return False  # an invalid expression matches nothing


def read_hooks(node: Node | None) -> tuple[tuple[Hook, ...], tuple[ShapeMistake, ...]]:
    """Return the hooks in the value of ``hooks``, and mistakes below events that guard calls."""
    mistakes: list[ShapeMistake] = []
    hooks: list[Hook] = []
    if isinstance(node, MappingNode):
        for entry in node.entries:
            wrong: list[ShapeMistake] = []
            hooks += _event(entry.name, entry.value, entry.key.span, wrong)
            if entry.name in known_hooks.GUARDS:
                mistakes += wrong
    return tuple(hooks), tuple(mistakes)


def _event(event: str, node: Node, key: Span, wrong: list[ShapeMistake]) -> Iterator[Hook]:
    if is_null(node):
        return
    if not isinstance(node, SequenceNode):
        wrong.append(ShapeMistake("a list", f"`hooks.{event}`", node))
        return
    for group in node.items:
        listed = group.get("hooks") if isinstance(group, MappingNode) else None
        if not isinstance(group, MappingNode) or not isinstance(listed, SequenceNode):
            wrong.append(ShapeMistake("a list `hooks` and a matcher", f"`hooks.{event}`", group))
            continue
        matcher = group.get("matcher")
        if matcher is not None and any(shape_mistakes(ValueKind.TEXT, matcher, "")):
            wrong.append(ShapeMistake("a string", "`matcher`", matcher))
        for item in listed.items:
            if isinstance(item, MappingNode) and not _wrong(item, wrong):
                yield _hook(event, matcher, item, key)
            elif not isinstance(item, MappingNode):
                wrong.append(ShapeMistake("an object", "a hook", item))


def _wrong(item: MappingNode, wrong: list[ShapeMistake]) -> bool:
    """Add the mistakes in a hook to *wrong*; return whether there are any."""
    before = len(wrong)
    kind = item.get("type")
    needed = known_hooks.TYPES.get(_text(kind))
    if needed is None:
        wanted_types = "one of " + ", ".join(known_hooks.TYPES)
        wrong.append(ShapeMistake(wanted_types, "`type` of a hook", kind or item))
    wrong += (
        ShapeMistake(known_hooks.FIELDS[name].wanted, f"`{name}` of a hook", item)
        for name in needed or ()
        if item.get(name) is None
    )
    for entry in item.entries:
        wanted = known_hooks.FIELDS.get(entry.name)
        if wanted is not None and any(shape_mistakes(wanted, entry.value, "")):
            wrong.append(ShapeMistake(wanted.wanted, f"`{entry.name}` of a hook", entry.value))
    return len(wrong) > before


def _hook(event: str, matcher: Node | None, item: MappingNode, key: Span) -> Hook:
    condition = item.get("if")
    runs = [item.get(name) for name in ("command", "prompt", "url", "tool")]
    at = item.span if matcher is None else matcher.span
    return Hook(
        event,
        _text(matcher),
        _text(condition),
        next((_text(each) for each in runs if each), ""),
        waits=value_of(item.get("async")) is not True,
        place=at if event in known_hooks.EVENTS else key,
        span=item.span if condition is None else condition.span,
    )


def _text(node: Node | None) -> str:
    return str(node.value) if isinstance(node, ScalarNode) and node.value is not None else ""
