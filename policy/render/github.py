"""Results as workflow commands of GitHub Actions, which show them beside the lines of a change.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policy.finding import Severity
from policy.render.results import Result
from policy.source import visible

__all__ = ["github"]

_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def github(results: Iterable[Result]) -> str:
    """Return a line for each result that nobody suppressed and no baseline knows."""
    lines = [_line(result) for result in results if result.suppressed is None and not result.known]
    return "".join(f"{line}\n" for line in lines)


def _line(result: Result) -> str:
    properties = {}
    place = result.place
    if place is not None:
        properties["file"] = visible(place.file)
    if place is not None and result.end is not None:
        line, column = result.end
        properties |= {"line": str(place.line), "endLine": str(line)}
        # Without an end of its own on the same line the column is shown from 1.
        properties |= {"col": str(place.column), "endColumn": str(max(column - 1, place.column))}
    properties["title"] = result.code
    text = "%0A".join(map(_data, (result.message, *result.detail.splitlines())))
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[result.level]} {shown}::{text}"


def _data(text: str) -> str:
    # What the runner decodes; all other control characters are spelled out.
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
