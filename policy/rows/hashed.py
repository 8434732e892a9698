"""What content hashes cover of a rule set, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _json
from typing import Any

import attrs

from policy.decision import Reason
from policy.dialect import Dialect
from policy.effect import Effect
from policy.patterns.pattern import Pattern
from policy.rows.entry import Form

__all__ = ["Runs", "Said", "rules_text"]

# Of one entry: tool, field, pattern and form.
Said = tuple[str, str, Pattern | None, Form]

# Neighbours with one effect, in order.
Runs = tuple[tuple[Effect, Reason, frozenset[Said]], ...]


def rules_text(runs: Runs, default: tuple[Effect, Reason], dialect: Dialect) -> str:
    """Return the text of a rule set: the same whatever order its neighbours stand in."""
    said = ",".join(
        f"[{_json(effect.value)},{_json(reason.value)},[{','.join(sorted(_texts(entries)))}]]"
        for effect, reason, entries in runs
    )
    otherwise = ",".join(_json(each.value) for each in default)
    return f"[[[{said}],{otherwise}],{_dialect_text(dialect)}]"


def _texts(entries: Iterable[Said]) -> Iterator[str]:
    # Of thousands of entries most speak of few tools.
    beginning: dict[tuple[str, str], str] = {}
    for tool, field, pattern, form in entries:
        begins = beginning.get((tool, field))
        if begins is None:
            begins = beginning[tool, field] = f"[{_json(tool)},{_json(field)},"
        said = "" if form is Form.PLAIN else "," + _json(form.value)
        yield f"{begins}{'[]' if pattern is None else pattern.as_json}{said}]"


@lru_cache(maxsize=64)  # a host has one or two
def _dialect_text(dialect: Dialect) -> str:
    # Without defaults, so that dialects which can say more keep the hash of those that do not.
    content = attrs.asdict(dialect, filter=_is_said, value_serializer=_plain_value)
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _is_said(field: attrs.Attribute[Any], value: object) -> bool:
    default = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
        default = default.factory()  # type: ignore[union-attr]
    return bool(value != default)


def _plain_value(_: type, __: object, value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return getattr(value, "value", value)
