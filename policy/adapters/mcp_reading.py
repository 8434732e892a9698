"""Reading a message strictly, since whoever reads it next may read it otherwise."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

__all__ = ["Refused", "check", "read", "whole"]

_Object: TypeAlias = dict[str, Any]


class Refused(Exception):
    """A message that another reader may take for a different one."""


def read(line: bytes) -> Any:
    """Return the message of a line. Raises for one that may be read in two ways."""
    # A reader may end a line at a carriage return, where JSON has only a blank.
    if b"\r" in line.rstrip(b"\r\n"):
        raise Refused("expected one message a line, found a carriage return in it")
    try:
        return json.loads(
            line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise Refused("expected a message in JSON") from error


def whole(params: _Object) -> None:
    """Raise for text that holds half of a character: readers put different things in its place."""
    try:
        json.dumps(params, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("expected text, found half of a character") from None


def _once(pairs: list[tuple[str, Any]]) -> _Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("expected each key once, found one twice")
    return found


def _no_constant(name: str) -> None:
    raise Refused(f"expected a number, found {name}")


def check(message: Any, keys: frozenset[str]) -> None:
    """Raise for what is no object, or has a key that a reader may take for one of *keys*."""
    if not isinstance(message, dict):
        raise Refused("expected an object")
    for key in message:
        if key not in keys and _folded(key) in {_folded(known) for known in keys}:
            raise Refused("expected keys as the protocol writes them")
    method = message.get("method", "")
    if not isinstance(method, str):
        raise Refused("expected a method that is a text")


def _folded(key: str) -> str:
    return key.casefold().replace("_", "")
