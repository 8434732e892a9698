"""The shape of tables and compiled policies as text: classes whose fields are the keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from policy.decision import Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.patterns.pattern import Pattern
from policy.rows.entry import Form
from policy.source import Place
from policy.table import Bounds

__all__ = [
    "COMPILED",
    "VERSION",
    "Call",
    "Content",
    "Declared",
    "File",
    "Line",
    "Numbers",
    "Offer",
    "Origin",
    "Position",
    "Refusal",
    "Rules",
    "Sources",
    "Steps",
    "Walked",
]

VERSION: Final = 1
COMPILED: Final = 1


@attrs.frozen
class Line:
    """One line of a rule set: what counts of it."""

    tool: str
    effect: Effect
    pattern: Pattern | None = None
    field: str = ""
    reason: Reason = Reason.RULE
    form: Form = Form.PLAIN


@attrs.frozen
class Rules:
    """A rule set; *dialect* is the number of one."""

    dialect: int
    default: Effect
    entries: tuple[Line, ...]
    default_reason: Reason = Reason.DEFAULT


@attrs.frozen
class Origin:
    """How a line is written, and where."""

    rule: str = ""
    place: Place | None = None


@attrs.frozen
class Sources:
    """What explains a table: the origin of each line, and the links of each part."""

    hash: str
    rules: tuple[tuple[Origin, ...], ...]
    use: tuple[tuple[str, ...], ...]
    delegate: tuple[tuple[str, ...], ...] = ()


@attrs.frozen
class File:
    """The whole text. *use* and *delegate* are numbers of rule sets."""

    version: int
    hash: str
    dialects: tuple[Dialect, ...]
    rules: tuple[Rules, ...]
    use: tuple[int, ...]
    delegate: tuple[int, ...] | None
    bounds: Bounds
    sources: Sources


@attrs.frozen
class Numbers:
    """A table: the numbers of its rule sets, and the links that each belongs to."""

    use: tuple[int, ...] = ()
    links: tuple[tuple[str, ...], ...] = ()
    delegate: tuple[int, ...] | None = None
    delegate_links: tuple[tuple[str, ...], ...] = ()
    bounds: Bounds = Bounds()


@attrs.frozen
class Call:
    """The call that starts an agent, where it is no plain `Task`."""

    tool: str
    input: Mapping[str, object]


@attrs.frozen
class Declared:
    """A reading that only narrows: numbers of tables, of agents as they start and as they follow.

    Nobody starts an agent that is not among *steps*.
    """

    agents: tuple[str, ...]
    starts: Mapping[str, int]
    steps: Mapping[str, int]
    calls: Mapping[str, Call] = attrs.field(factory=dict)


@attrs.frozen
class Refusal:
    """Why a host does not start an agent."""

    agent: str
    link: str
    reason: str
    message: str


@attrs.frozen
class Steps:
    """Where the agents that are started lead: numbers of positions, and of refusals.

    With *ends*, nobody walked on from here.
    """

    to: Mapping[str, int] = attrs.field(factory=dict)
    refused: Mapping[str, int] = attrs.field(factory=dict)
    ends: bool = False


@attrs.frozen
class Position:
    """An agent at one place of chains; *table* and *steps* are numbers."""

    name: str
    table: int
    steps: int
    depth: int = 0


@attrs.frozen
class Walked:
    """A reading as it was found by walking through every chain of it."""

    agents: tuple[str, ...]
    starts: Steps
    positions: tuple[Position, ...]
    steps: tuple[Steps, ...]
    refusals: tuple[Refusal, ...] = ()
    calls: Mapping[str, Call] = attrs.field(factory=dict)


@attrs.frozen
class Offer:
    """A project. Where *enforced* is left out it is as declared."""

    host: str
    profile: str
    starts: tuple[str, ...]
    attenuated: Declared
    enforced: Walked | None = None
    root: str = ""


@attrs.frozen
class Content:
    """What a compiled policy holds; *origins* explain the rule sets of the same number."""

    dialects: tuple[Dialect, ...]
    rules: tuple[Rules, ...]
    origins: tuple[tuple[Origin, ...], ...]
    tables: tuple[Numbers, ...]
    projects: tuple[Offer, ...]
