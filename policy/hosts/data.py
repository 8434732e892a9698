"""Data of a host or of lint: TOML files in the folder ``data`` of its package.

``findings.toml`` holds the texts of findings, by code; a table below it is the message of a case::

    [dead-star]
    severity = "error"
    message = "{name} {does} nothing: a star in a list of tools is not a wildcard"
    help = "list the tools by their ids"
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from functools import cache, total_ordering
from pathlib import Path
from typing import Any, Final

from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Span
from policy.core.values import frozen
from policy.tables.dialect import Argument, ArgumentKind


@total_ordering
class Grade(enum.Enum):
    """A grade; its members are ordered, the harmless first."""

    def __lt__(self, other: object) -> bool:
        """Return whether *self* is more harmless than *other*."""
        if type(other) is not type(self):
            return NotImplemented
        grades = list(type(self))
        return grades.index(self) < grades.index(other)


@cache
def data_table(package: str, name: str) -> dict[str, Any]:
    """Return the content of ``data/<name>.toml`` of a package, or of its compiled JSON."""
    file = _ROOT.joinpath(*package.split("."), "data", f"{name}.toml")
    written = file.with_suffix(".json")
    if written.exists():
        found: dict[str, Any] = json.loads(written.read_text("utf-8"))
        return found
    import tomllib  # noqa: PLC0415  # files that are read often are compiled to JSON

    return tomllib.loads(file.read_text("utf-8"))


_ROOT: Final = Path(__file__).parents[2]


def host_table(host: str, name: str) -> dict[str, Any]:
    """Return the content of ``data/<name>.toml`` of a host."""
    return data_table(f"policy.hosts.{host}", name)


def arguments_of(table: Mapping[str, Mapping[str, Any]]) -> dict[str, Argument]:
    """Return tool -> its `Argument`, from a table of kinds and fields."""
    return {
        tool: Argument(ArgumentKind(each["kind"]), tuple(each["fields"]), absent=each.get("absent"))
        for tool, each in table.items()
    }


def tool_classes(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return class -> its tools, from a table of names that blanks separate."""
    return {name: tuple(tools.split()) for name, tools in table.items()}


@frozen
class FindingTexts:
    """The texts of the findings of one package, e.g. of a host."""

    package: str  # its full name

    def __call__(
        self,
        code: str,
        span: Span | None = None,
        *,
        case: str = "",
        file: str = "",
        help: str | None = None,
        edits: Iterable[Edit] = (),
        **words: object,
    ) -> Finding:
        """Return the finding *code* at *span*, or in *file* without a place.

        *case* selects one of several messages, *help* replaces the help of the data, and *words*
        replace the names in braces.
        """
        texts = data_table(self.package, "findings")[code]
        texts = {**texts, **texts[case]} if case else texts
        message = texts["message"].format(**words)
        shown = texts.get("help", "").format(**words) if help is None else help
        return Finding(code, message, Severity(texts["severity"]), span, file, shown, tuple(edits))
