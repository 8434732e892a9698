"""What an agent may do, as lists of matchers by effect: the core of every audit."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from policy.audit import Layer, Privilege
from policy.decision import Reason
from policy.effect import Effect
from policy.source import visible
from policy.tools import OTHER_TOOL

__all__ = ["LABELS", "Summary", "summarise"]

# The lines of a summary, in the order they are shown.
LABELS = ("allow", "ask", "deny", "not available", "otherwise")


@attrs.frozen
class Summary:
    """The privileges of one position.

    Attributes:
        lines: label -> what it holds for, of `LABELS`.
        layered: tool -> what several links say of it, the strictest of which holds.

    """

    lines: dict[str, tuple[str, ...]]
    layered: dict[str, tuple[str, ...]]


def summarise(privileges: Iterable[Privilege], agent: str = "") -> Summary:
    """Return *privileges* by effect; rules of *agent* itself are told as such."""
    found = list(privileges)
    other = next((p for p in found if p.tool == OTHER_TOOL), None)
    lines: dict[str, dict[str, None]] = {label: {} for label in LABELS}
    layered: dict[str, tuple[str, ...]] = {}
    rest: dict[str, None] = {}
    for privilege in found:
        if privilege is other or _is_like(privilege, other):
            continue
        name = visible(privilege.glob or privilege.tool)
        if privilege.effect is not None:
            lines[_label(privilege)][name] = None
        elif privilege.layers:
            layered[name] = tuple(_layer(layer, agent) for layer in privilege.layers)
        else:
            for because in privilege.rules:
                lines[because.effect.value][visible(because.rule)] = None
            if privilege.otherwise is not None and privilege.otherwise is not _effect(other):
                rest[f"{name}: {privilege.otherwise}"] = None
    if other is not None:
        what = "not available" if other.reason is Reason.UNAVAILABLE else str(other.effect)
        rest[f"anything else: {what}" if rest else what] = None
    shown = {label: tuple(sorted(items, key=_simple_first)) for label, items in lines.items()}
    shown["otherwise"] = tuple(rest)
    return Summary({label: items for label, items in shown.items() if items}, layered)


def _simple_first(item: str) -> tuple[bool, str]:
    return "(" in item, item


def _is_like(privilege: Privilege, other: Privilege | None) -> bool:
    """Return whether what is said of any other tool is said of this one too."""
    return other is not None and (privilege.effect, privilege.reason, privilege.rules) == (
        other.effect,
        other.reason,
        other.rules,
    )


def _effect(other: Privilege | None) -> Effect | None:
    return other.effect if other is not None else None


def _label(privilege: Privilege) -> str:
    if privilege.reason is Reason.UNAVAILABLE:
        return "not available"
    return (privilege.effect or Effect.DENY).value


def _layer(layer: Layer, agent: str) -> str:
    who = ", ".join("itself" if link == agent else visible(link) for link in layer.links)
    said: dict[Effect, list[str]] = {}
    for because in layer.rules:
        said.setdefault(because.effect, []).append(visible(because.rule))
    parts = [f"{effect} {', '.join(rules)}" for effect, rules in said.items()]
    if layer.otherwise is not None:
        parts.append(f"otherwise {layer.otherwise}" if parts else f"{layer.otherwise} at most")
    return f"{who}: {'; '.join(parts)}" if who else "; ".join(parts)
