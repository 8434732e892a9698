"""JSON as tables are written in: no key twice, no number that is none, not too deep."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from policy.codec.strict import cited
from policy.errors import PolicyError
from policy.source import visible

__all__ = ["Object", "read_object"]

Object = dict[str, Any]


def read_object(text: str, *, limit: int, what: str) -> Object:
    """Return the object that *text* is.

    Args:
        text: JSON.
        limit: the characters it may have.
        what: it is, e.g. ``a table``.

    Raises:
        PolicyError: it is none.

    """
    if len(text) > limit:
        msg = f"expected {what} of at most {limit:,} characters"
        raise PolicyError(msg)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        msg = f"this is not JSON: {error.msg.lower()} at {where}"
        raise PolicyError(msg) from None
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        msg = f"this is not JSON: {visible(why)}"
        raise PolicyError(msg) from None
    if not isinstance(value, dict):
        msg = f"expected {what}, found {cited(value)}"
        raise PolicyError(msg)
    return value


def _once(pairs: list[tuple[str, Any]]) -> Object:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        msg = f"the key {cited(twice)} is there twice"
        raise ValueError(msg)
    return value


def _no_number(text: str) -> float:
    msg = f"{text} is no number"
    raise ValueError(msg)
