"""Names, paths and versions as several hosts write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from policy.core.effect import Effect
from policy.hosts.project import Portable, PortableAgent, ToolRules

__all__ = [
    "Version",
    "constants",
    "least",
    "looks_absolute",
    "one_line",
    "quoted",
    "renamed",
    "spoken",
    "version_of",
    "version_text",
]


# First segments of paths that people write from the root of the file system.
_ROOTS: Final = frozenset(
    "Users Volumes bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr"
    " var".split()
)


def looks_absolute(text: str) -> bool:
    """Return whether *text* looks like a path from the root, which it is not with one slash."""
    segments = text.split("/")
    return len(segments) > 2 and segments[0] == "" and segments[1] in _ROOTS


# Versions of hosts as people write them: ``9.0``, or ``a3s@9.0.1``.


# Major, minor and patch.
Version = tuple[int, int, int]

_TEXT: Final = re.compile(r"(?:(?P<host>[a-z0-9-]+)@)?(?P<numbers>\d+(?:\.\d+){0,2})")


def version_of(text: str, host: str, example: str) -> Version:
    """Return the version that *text* names; what is left out of it is zero.

    Args:
        text: with or without the name of the host.
        host: the name.
        example: of a version, for the error; it has as few numbers as will do.

    Raises:
        ValueError: *text* is no version of that host.

    """
    found = _TEXT.fullmatch(text)
    numbers = found["numbers"].split(".") if found else []
    if found is None or found["host"] not in (None, host) or len(numbers) <= example.count("."):
        msg = f"expected a version such as `{example}`, found `{text}`"
        raise ValueError(msg)
    major, minor, patch = (int(number) for number in (*numbers, "0", "0")[:3])
    return major, minor, patch


def version_text(host: str, version: Version) -> str:
    """Return a version as tables and reports name it."""
    return f"{host}@" + ".".join(map(str, version))


# What the writers of several hosts need: names of files, texts on one line, lists of tools.


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


def one_line(agent: PortableAgent) -> str:
    """Return what an agent is for, as a line without controls."""
    text = " ".join(agent.description.split())
    return "".join(c for c in text if c.isprintable()) or f"The agent {agent.name}."


def quoted(text: str) -> str:
    """Return *text* as a string of YAML and of JSON."""
    return json.dumps(text, ensure_ascii=False)


def constants(
    agent: PortableAgent, theirs: Mapping[str, str]
) -> Iterator[tuple[str, str, ToolRules]]:
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


def least(said: ToolRules) -> Effect:
    """Return what every call gets at least."""
    return min((line.effect for line in said.lines), default=said.default) & said.default
