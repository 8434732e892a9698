"""`Persona`: a name, a list of tools, a prompt and a budget; and those that are shipped.

A persona names tools by their exact names and knows none of them, so it can be
defined where they are not. What it excludes is what it is for.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from policy.hosts.pikuri.errors import Kind, PikuriError
from policy.hosts.pikuri.versions import NEWEST, Profile
from policy.source import Span

__all__ = ["BUNDLED", "EXCLUDED", "STEPS", "Persona", "bundled", "excludes"]

# The budget of a persona that states none, as its smaller shipped one has it.
STEPS: Final = 20


def _tuple(value: Any) -> tuple[str, ...]:  # noqa: ANN401  # whatever somebody passes
    if isinstance(value, str):
        raise PikuriError(Kind.INVALID_PERSONA, "expected a list of tools, found a string")
    return tuple(value)


@attrs.frozen
class Persona:
    """One kind of agent that a host may start.

    Attributes:
        name: as it is started by; unique in a host.
        description: what its parent is told of it; no authority.
        tool_names: exact names; none is no tool.
        system_prompt: what it is told, in place of what its parent is told.
        max_steps: a budget for a runaway, fresh for each start; no permission.
        needs_temp_workspace: whether each start has a new, empty folder.
        span: where its name is written.
        spans: where each of its tools is written.

    """

    name: str
    description: str = ""
    tool_names: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    system_prompt: str = ""
    max_steps: int = STEPS
    needs_temp_workspace: bool = False
    span: Span | None = attrs.field(default=None, eq=False, repr=False, kw_only=True)
    spans: tuple[Span, ...] = attrs.field(default=(), eq=False, repr=False, kw_only=True)

    # Constant of every persona: nothing of the parent's prompt is handed on, the
    # agent is new, and what comes back is its last message, a text like any other.
    replaces_parent = True
    fresh_context = True
    returns = "final_message"

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise PikuriError(Kind.INVALID_PERSONA, "expected a name", self.span)
        if type(self.max_steps) is not int or self.max_steps < 1:
            msg = f"expected a positive `max_steps`, found `{self.max_steps}`"
            raise PikuriError(Kind.INVALID_PERSONA, msg, self.span)

    def span_of(self, tool: str) -> Span | None:
        """Return where *tool* is written, or the name of the persona."""
        if len(self.spans) == len(self.tool_names) and tool in self.tool_names:
            return self.spans[self.tool_names.index(tool)]
        return self.span


_MINER_TOOLS: Final = ("read", "grep", "glob")


def bundled(profile: Profile = NEWEST) -> dict[str, Persona]:
    """Return the personas that a version ships, by the name of their constant."""
    if not profile.has_personas:
        return {}
    files = ("file_list", *_MINER_TOOLS) if profile.lists_files else _MINER_TOOLS
    return {
        "FILE_MINER": Persona(
            "file_miner",
            "looks things up in files, and reports where they are",
            files,
            "persona-file-miner",
            30,
        ),
        "RESEARCHER": Persona(
            "researcher",
            "looks things up in the web, and reports its sources",
            ("web_search", "web_scrape", "fetch"),
            "persona-researcher",
            20,
        ),
    }


# Constants that name a persona; what they stand for depends on the version.
BUNDLED: Final = ("FILE_MINER", "RESEARCHER")

# What each must not have, whoever changes it: the reason why it exists.
EXCLUDED: Final = {
    "FILE_MINER": frozenset("edit write bash fetch web_search web_scrape agent".split()),
    "RESEARCHER": frozenset("read grep glob file_list edit write bash agent".split()),
}


def excludes(persona: Persona, tools: frozenset[str]) -> bool:
    """Return whether *persona* has none of *tools*."""
    return tools.isdisjoint(persona.tool_names)
