"""Turn the values of an answer into JSON, by their attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from policy.core.credentials import masked_value
from policy.core.decision import Decision
from policy.core.finding import Finding
from policy.core.source import Span, named_project
from policy.core.values import attributes, frozen

Object = dict[str, Any]

# Attributes whose own attributes become keys of the object that has them.
_SPREAD: Final = frozenset({"decision", "difference", "place", "span"})

# Properties that become keys too.
_DERIVED: Final = ("agent", "direction", "exact")


@frozen
class FileContent:
    """The content of a file, which `dumps` does not mask: stars in a rule would match anything."""

    text: str

    def __str__(self) -> str:
        return self.text


def dumps(value: object, *, indent: int | None = 2) -> str:
    """Return *value* as JSON, on one line without *indent*; no credentials."""
    return json.dumps(masked_value(value), ensure_ascii=False, default=str, indent=indent)


def shape(value: object) -> Any:  # noqa: ANN401  # any type of JSON
    """Return *value* with the types of JSON: an object of attributes as a dictionary.

    A call has the keys `tool` and `witness`; a place `file`, `line` and `column`. Of two decisions
    the effects are `from` and `to`, the rules of the first `before`, and of the second `because`.
    """
    match value:
        case Enum():
            return value.value
        case str():
            return named_project(value)
        case Mapping():
            return {str(key): shape(each) for key, each in value.items()}
        case list() | tuple():
            return [shape(each) for each in value]
        case Span():
            return shape(value.place)
        case Finding():
            place = shape(value.place) if value.span else {**_NOWHERE, "file": value.place.file}
            about = {"code": value.code, "severity": value.severity.value, "message": value.message}
            return {**about, **place, "help": value.help, "fixable": bool(value.edits)}
        case _ if hasattr(value, "__fields__"):
            return _attributes(value)
    return value


_NOWHERE: Final[Object] = {"file": None, "line": None, "column": None}


def _attributes(value: Any) -> Object:  # noqa: ANN401  # any class of values
    found: Object = {}
    for name in [name for name in attributes(type(value)) if name[0] != "_"]:
        each = getattr(value, name)
        if name in _SPREAD:
            found |= _NOWHERE if name == "place" and each is None else shape(each) or {}
        elif name == "call" and hasattr(value, "tool"):
            found["witness"] = {"tool": value.tool, "input": shape(dict(each))}
        elif name == "before":
            found["from"] = shape(each.effect if isinstance(each, Decision) else each)
            if isinstance(each, Decision):
                found |= {"before": shape(each.because), "reason_before": shape(each.reason)}
        elif name == "after":
            found |= {"to": shape(each.effect), "because": shape(each.because)}
            found["reason"] = shape(each.reason)
        elif name != "patterns":  # the patterns are in a text of the value as well
            found[name] = shape(each)
    return found | {each: shape(getattr(value, each)) for each in _DERIVED if hasattr(value, each)}
