"""What settings switch off by keys of their own: tools, and skills for the model.

Of several files the strongest that says something of a key, or of a skill, decides
(2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from policy.decision import Reason
from policy.documents.node import Mapping as Object
from policy.documents.node import Node, Scalar
from policy.effect import Effect
from policy.hosts.claude.data import settings as known
from policy.hosts.claude.data.tools import WAITING
from policy.hosts.claude.lines import Line
from policy.hosts.claude.settings import Settings
from policy.hosts.claude.skills import Skill
from policy.language.syntax import Declared, Presence
from policy.ruleset import Entry

__all__ = [
    "connected",
    "heard",
    "invocable",
    "no_auto",
    "read_overrides",
    "read_switches",
    "switched_off",
]


def read_switches(node: Object) -> tuple[tuple[str, bool], ...]:
    """Return what one file says of the keys that switch tools off."""
    return tuple(
        (entry.name, entry.value.value)
        for entry in node.entries
        if entry.name in known.TOOLS_OFF
        and isinstance(entry.value, Scalar)
        and isinstance(entry.value.value, bool)
    )


def read_overrides(node: Node | None) -> tuple[tuple[str, str], ...]:
    """Return what the value of ``skillOverrides`` says of skills, by name."""
    return tuple(
        (entry.name, str(entry.value.value))
        for entry in (node.entries if isinstance(node, Object) else ())
        if isinstance(entry.value, Scalar)
    )


def no_auto(node: Object) -> bool:
    """Return whether a file says, beside its permissions, that no model judges calls."""
    value = node.get(known.NO_AUTO)
    return isinstance(value, Scalar) and value.value == "disable"


def switched_off(files: Iterable[Settings]) -> Iterator[Line]:
    """Yield what takes away the tools that *files* switch off, from the strongest on."""
    said: dict[str, bool] = {}
    for each in files:
        for key, value in each.switches:
            off, tools = known.TOOLS_OFF[key]
            if said.setdefault(key, value) is off:
                for tool in tools:
                    rule = f"{tool} (off by {key})"
                    yield Line(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


_WITHOUT: Final = Declared(Presence.ABSENT)


def invocable(skills: Mapping[str, Skill], files: Iterable[Settings]) -> dict[str, Skill]:
    """Return *skills* as *files* override them, from the strongest on.

    One that is ``off`` nobody invokes, so that what it allows is never in force.
    """
    said: dict[str, str] = {}
    for each in files:
        for name, word in each.overrides:
            said.setdefault(name, word)
    found = dict(skills)
    for name, word in said.items():
        if name in found and word in ("off", "user-invocable-only"):
            allowed = _WITHOUT if word == "off" else found[name].allowed
            found[name] = attrs.evolve(found[name], typed=True, allowed=allowed)
    return found


def connected(servers: Mapping[str, object] | None) -> Iterator[Line]:
    """Yield what takes away the tool that waits for *servers*, where it is known what all offer.

    It is there as long as one of them is not connected (2.1.329, observed), and of such a one
    nobody knows what it offers.
    """
    if servers is not None:
        rule = f"{WAITING} (no server is waited for)"
        yield Line(Entry(WAITING, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))


def heard(hooks: tuple[str, ...], files: Iterable[Settings]) -> tuple[str, ...]:
    """Return which answers of *hooks* count under *files*, the strongest first.

    Where none runs but an administrator's, nobody knows of one that it is: what it allows
    does not count, and what it asks for or denies does.
    """
    files = list(files)
    said = [each.hooks_off[0] for each in files if each.hooks_off is not None]
    silenced = said[:1] == [True] or any(each.hooks_managed for each in files)
    return tuple(each for each in hooks if not (silenced and each == "allow"))
