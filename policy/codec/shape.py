"""The shape of a table as text: classes whose fields are the keys."""

from __future__ import annotations

from typing import Final

import attrs

from policy.decision import Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.patterns.pattern import Pattern
from policy.source import Place
from policy.table import Bounds

__all__ = ["VERSION", "File", "Line", "Origin", "Rules", "Sources"]

VERSION: Final = 1


@attrs.frozen
class Line:
    """One line of a rule set: what counts of it."""

    tool: str
    effect: Effect
    pattern: Pattern | None = None
    field: str = ""
    reason: Reason = Reason.RULE


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
