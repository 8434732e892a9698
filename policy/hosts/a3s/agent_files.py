"""Agent files: YAML, or Markdown with a header, as the host reads them.

The header of a Markdown file is what lies between the first and the second
``---``, wherever in the text they stand.
"""

from __future__ import annotations

from typing import Final

import attrs

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.documents.yaml_nodes import read_yaml
from policy.effect import Effect
from policy.errors import PolicyError
from policy.hosts.a3s.agents_data import kind_of, policy_of
from policy.hosts.a3s.definitions import AgentDefinition, ConfirmationInheritance, Listed
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.reading_nodes import (
    Fields,
    first_of,
    is_null,
    permissions,
    unknown_permissions,
)
from policy.hosts.a3s.rules import PermissionRule
from policy.hosts.a3s.versions import NEWEST, Profile
from policy.language.syntax import Presence
from policy.source import Source, Span

__all__ = ["ALLOWED_KEYS", "DENIED_KEYS", "header_of", "mapped", "read_agent"]

# Names of one list; the first of them that is there counts, empty or not.
ALLOWED_KEYS: Final = ("tools", "allowedTools", "allowed_tools")
DENIED_KEYS: Final = ("disallowedTools", "disallowed-tools", "disallowed_tools")

_FIELDS: Final = frozenset(
    (
        *ALLOWED_KEYS,
        *DENIED_KEYS,
        *("name", "description", "native", "hidden", "permissions", "model", "prompt"),
        *("max_steps", "tool_free", "confirmation_inheritance", "kind"),
    )
)

_FENCE: Final = "---"


def header_of(source: Source) -> tuple[int, int, int]:
    """Return where the header starts and ends, and where the body starts.

    Raises:
        A3sError: there are not two fences.

    """
    opening = source.text.find(_FENCE)
    closing = source.text.find(_FENCE, opening + len(_FENCE)) if opening >= 0 else -1
    if closing < 0:
        raise A3sError(
            Kind.NO_FRONT_MATTER,
            "Invalid markdown format: missing YAML frontmatter",
            source.whole(),
            help="start the file with `---`, the keys, and `---` again",
        )
    return opening + len(_FENCE), closing, closing + len(_FENCE)


def read_agent(
    source: Source, profile: Profile = NEWEST, *, markdown: bool | None = None
) -> AgentDefinition:
    """Return the agent that *source* defines.

    Args:
        source: the text; its name says what it is written in.
        profile: the version that reads it.
        markdown: whether it is Markdown, where the name does not say so.

    Raises:
        A3sError: the host would skip the file, for this reason.

    """
    if markdown is None:
        markdown = source.name.endswith(".md")
    start, end, body = header_of(source) if markdown else (0, len(source.text), None)
    what = "agent frontmatter" if markdown else "agent YAML"
    try:
        node = read_yaml(source, start, end)
    except PolicyError as error:
        raise first_of(error, Kind.AGENT_PARSE, f"Failed to parse {what}: ") from None
    if not isinstance(node, Mapping):
        msg = f"Failed to parse {what}: expected keys and values, found {describe(node)}"
        raise A3sError(Kind.AGENT_PARSE, msg, node.span if node.span.text else source.whole())
    if node.get("kind") is not None:
        what = "worker frontmatter" if markdown else "worker agent YAML"
    prompt = "" if body is None else source.text[body:].strip()
    fields = Fields(node, Kind.AGENT_PARSE, f"Failed to parse {what}: ")
    return _definition(fields, prompt, profile)


def _definition(fields: Fields, prompt: str, profile: Profile) -> AgentDefinition:
    name, description = fields.text("name"), fields.text("description")
    span = fields.span("name")
    kind = fields.optional_text("kind") or ""
    preset = kind_of(kind)
    if fields.node.get("kind") is not None and preset is None:
        fields.fail(f"unknown worker agent kind '{kind}'", fields.span("kind"))
    inner = fields.mapping("permissions")
    block = None if inner is None else permissions(inner, profile)
    base = PermissionPolicy(profile=profile)
    if block is not None:
        base = block
    elif preset is not None:
        base = policy_of(preset.table, profile)
    tools, disallowed = _listed(fields.node, ALLOWED_KEYS), _listed(fields.node, DENIED_KEYS)
    confirmation = _confirmation(fields)
    said = confirmation is not None
    if confirmation is None and (tools.items or disallowed.items):
        confirmation = ConfirmationInheritance.AUTO_APPROVE
    max_steps = fields.count("max_steps")
    definition = AgentDefinition(
        name=name,
        description=description,
        permissions=_with_lists(base, tools, disallowed, profile),
        native=fields.truth("native"),
        hidden=fields.truth("hidden"),
        model=_model(fields),
        prompt=fields.optional_text("prompt") or prompt,
        max_steps=preset.max_steps if preset and max_steps is None else max_steps,
        tool_free=fields.truth("tool_free"),
        confirmation=confirmation,
        kind=kind,
        confirmation_said=said,
        kind_span=fields.span("kind") if kind else None,
        block=block if block is not None or preset is None else base,
        tools=tools,
        disallowed=disallowed,
        span=span,
        unknown=(
            *((e.name, e.key.span) for e in fields.node.entries if e.name not in _FIELDS),
            *(unknown_permissions(inner) if inner else ()),
        ),
        second=tuple(_second(fields.node)),
    )
    if not name.strip():
        raise A3sError(Kind.NAME_REQUIRED, "Agent name is required", span)
    return definition


def _model(fields: Fields) -> str | None:
    if is_null(fields.node.get("model")):
        return None
    if not isinstance(fields.node.get("model"), Mapping):
        fields.fail(
            "invalid type at `model`: expected a mapping",
            fields.span("model"),
            help="write `model: {provider: …, model: …}`; the host skips a file with a bare name",
        )
    model = fields.mapping("model")
    if model is None:
        return None
    provider = model.optional_text("provider")
    return f"{provider}/{model.text('model')}" if provider else model.text("model")


def _confirmation(fields: Fields) -> ConfirmationInheritance | None:
    said = fields.optional_text("confirmation_inheritance")
    if said is None:
        return None
    try:
        return ConfirmationInheritance(said)
    except ValueError:
        fields.fail(
            f"unknown variant `{said}`, expected `auto_approve`, `deny_on_ask` or `inherit_parent`",
            fields.span("confirmation_inheritance"),
        )


def _listed(node: Mapping, keys: tuple[str, ...]) -> Listed:
    for key in keys:
        entry = node.entry(key)
        if entry is not None:
            return _list(entry.value, key)
    return Listed()


def _second(node: Mapping) -> list[tuple[str, Span]]:
    found = []
    for keys in (ALLOWED_KEYS, DENIED_KEYS):
        there = [entry for key in keys if (entry := node.entry(key)) is not None]
        found += [(entry.name, entry.key.span) for entry in there[1:]]
    return found


def _list(value: Node, key: str) -> Listed:
    if isinstance(value, Scalar) and isinstance(value.value, str):
        items, spans = _split(value)
    elif isinstance(value, Sequence):
        kept, dropped = [], []
        for item in value.items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                kept.append((item.value.strip(), item.content_span() or item.span))
            else:
                dropped.append(item.span)
        items = tuple(text for text, _ in kept if text)
        spans = tuple(span for text, span in kept if text)
        if not items and value.items:
            return Listed(Presence.ILL_TYPED, key=key, span=value.span)
        presence = Presence.LISTED if items else Presence.EMPTY
        return Listed(presence, items, spans, key, value.span, tuple(dropped))
    else:
        null = isinstance(value, Scalar) and value.value is None
        return Listed(Presence.NULL if null else Presence.ILL_TYPED, key=key, span=value.span)
    presence = Presence.LISTED if items else Presence.EMPTY
    return Listed(presence, items, spans, key, value.span)


def _split(value: Scalar) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    # At every comma, also at those between parentheses.
    items, spans, start = [], [], 0
    for part in str(value.value).split(","):
        text = part.strip()
        if text:
            offset = start + len(part) - len(part.lstrip())
            items.append(text)
            spans.append(value.part(offset, offset + len(text)))
        start += len(part) + 1
    return tuple(items), tuple(spans)


_MAPPED: Final = {
    **{name: name for name in "read write edit search ls bash task parallel_task".split()},
    "parallel-task": "parallel_task",
}


def mapped(text: str) -> str:
    """Return the rule that an item of a list of tools becomes."""
    if text.lower() in _MAPPED:
        return f"{_MAPPED[text.lower()]}(*)"
    if text == "*" or "(" in text:
        return text
    return f"{text}(*)"


def _with_lists(
    base: PermissionPolicy, tools: Listed, disallowed: Listed, profile: Profile
) -> PermissionPolicy:
    """Return the policy after the lists: the first replaces it, the second adds denials."""
    if tools.items:
        base = PermissionPolicy(
            allow=_mapped_rules(tools, profile), default_decision=Effect.DENY, profile=profile
        )
    if not disallowed.items:
        return base
    return attrs.evolve(base, deny=(*base.deny, *_mapped_rules(disallowed, profile)))


def _mapped_rules(listed: Listed, profile: Profile) -> tuple[PermissionRule, ...]:
    pairs = zip(listed.items, listed.spans, strict=True)
    return tuple(PermissionRule.of(mapped(text), profile, span) for text, span in pairs)
