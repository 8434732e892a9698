"""What the writers of several hosts need: names of files, texts on one line, lists of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from policy.effect import Effect
from policy.portable import Agent, Portable, Said

__all__ = ["constants", "least", "one_line", "quoted", "renamed", "spoken"]

_ODD: Final = re.compile(r"[^A-Za-z0-9_-]+")


def renamed(portable: Portable, reserved: Iterable[str] = ()) -> dict[str, str]:
    """Return a name of letters, digits, dashes and underscores for each agent, all different."""
    names: dict[str, str] = {}
    taken = set(reserved)
    for agent in portable.agents:
        plain = _ODD.sub("-", agent.name).strip("-_")[:60] or "agent"
        name = plain
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}-agent" if number == 2 else f"{plain}-{number}"
        taken.add(name)
        names[agent.name] = name
    return names


def one_line(agent: Agent) -> str:
    """Return what an agent is for, as a line without controls."""
    text = " ".join(agent.description.split())
    return "".join(c for c in text if c.isprintable()) or f"The agent {agent.name}."


def quoted(text: str) -> str:
    """Return *text* as a string of YAML and of JSON."""
    return json.dumps(text, ensure_ascii=False)


def constants(agent: Agent, theirs: Mapping[str, str]) -> Iterator[tuple[str, str, Said]]:
    """Yield each tool, what the host calls it, and what is said of it.

    Args:
        agent: whose tools.
        theirs: common name -> the host's.

    """
    for tool, said in agent.tools.items():
        yield tool, theirs.get(tool, tool), said


def spoken(counterparts: Mapping[str, str]) -> dict[str, str]:
    """Return common name -> what the host calls it."""
    return {name: tool for tool, name in counterparts.items()}


def least(said: Said) -> Effect:
    """Return what every call gets at least."""
    return min((line.effect for line in said.lines), default=said.default) & said.default
