"""What settings set in the environment of the host, as far as it decides calls.

The ``env`` of a project counts whether or not the user trusts it, and before what the
host was started with (2.1.329, observed).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from policy.decision import Reason
from policy.documents.node import Mapping as Object
from policy.documents.node import Node, Scalar
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.agents import Definition
from policy.hosts.claude.data import variables as known
from policy.hosts.claude.lines import Line
from policy.hosts.claude.options import Options
from policy.ruleset import Entry

__all__ = ["left_out", "offered", "read_variables", "started", "variable_findings"]

_LEVELS: Final = re.compile(r"\s*0*([1-9][0-9]*)\s*", re.ASCII)
# Agents below more of them are said to start nobody: every level is looked at.
_MOST: Final = 20


def read_variables(node: Node | None) -> tuple[tuple[str, str], ...]:
    """Return the variables that the value of ``env`` sets."""
    return tuple(
        (entry.name, str(entry.value.value))
        for entry in (node.entries if isinstance(node, Object) else ())
        if isinstance(entry.value, Scalar) and entry.value.value is not None
    )


def variable_findings(node: Node | None) -> Iterator[Finding]:
    """Yield where ``env`` sets more levels of agents than are looked at here."""
    value = node.get(known.DEPTH) if isinstance(node, Object) else None
    text = str(value.value) if isinstance(value, Scalar) else ""
    levels = _LEVELS.fullmatch(text)
    if value is not None and levels and int(levels[1][:3]) > _MOST:
        yield Finding(
            "levels-not-followed",
            f"the host starts agents on more levels than the {_MOST} that are followed here",
            Severity.WARNING,
            value.span,
            help=f"agents on level {_MOST} are said to start nobody",
        )


def _is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").strip().lower() in known.ON


def started(options: Options, variables: Mapping[str, str]) -> Options:
    """Return how a session is started where these variables are set."""
    levels = _LEVELS.fullmatch(variables.get(known.DEPTH, ""))
    if levels:
        depth = int(levels[1][:3])  # three digits are more than enough
        options = attrs.evolve(options, depth=min(depth, _MOST))
    if _is_on(variables, known.FOREGROUND):
        options = attrs.evolve(options, background=False)
    return options


def offered(
    agents: Mapping[str, Definition], variables: Mapping[str, str]
) -> Mapping[str, Definition]:
    """Return the agents that there are: those of files, and of the host those left on."""
    off = {n for switch, ns in known.AGENTS_OFF.items() if _is_on(variables, switch) for n in ns}
    if not off:
        return agents
    return {name: each for name, each in agents.items() if each.place or name not in off}


def left_out(variables: Mapping[str, str]) -> Iterator[Line]:
    """Yield what takes away the tools that are switched off."""
    for switch, tools in known.TOOLS_OFF.items():
        if _is_on(variables, switch):
            for tool in tools:
                rule = f"{tool} (off by {switch})"
                yield Line(Entry(tool, Effect.DENY, reason=Reason.UNAVAILABLE, rule=rule))
