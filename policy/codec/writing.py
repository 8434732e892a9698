"""Tables to JSON: one text for one value."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import attrs

from policy.codec.shape import VERSION, Line, Origin, Rules
from policy.dialect import Program
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Gap, Run, Token
from policy.ruleset import Entry, RuleSet
from policy.table import Table

__all__ = ["Object", "origin_json", "plain", "rules_json", "sources_hash", "table_to_json"]

Object = dict[str, Any]


def table_to_json(table: Table) -> str:
    """Return *table* as canonical JSON: equal values give equal text, byte for byte."""
    ceilings = [table.use, *([table.delegate] if table.delegate is not None else [])]
    sets = list({id(p.rules): p.rules for c in ceilings for p in c.parts}.values())
    numbers = {id(rules): number for number, rules in enumerate(sets)}
    dialects = list(dict.fromkeys(rules.dialect for rules in sets))
    links = [[list(part.links) for part in ceiling.parts] for ceiling in ceilings]
    parts = [[numbers[id(part.rules)] for part in ceiling.parts] for ceiling in ceilings]
    sources: Object = {
        "rules": [[origin_json(entry) for entry in rules.entries] for rules in sets],
        "use": links[0],
    }
    if links[1:]:
        sources["delegate"] = links[1]
    value = {
        "version": VERSION,
        "hash": table.hash,
        "dialects": [plain(dialect) for dialect in dialects],
        "rules": [rules_json(rules, dialects.index(rules.dialect)) for rules in sets],
        "use": parts[0],
        "delegate": parts[1] if parts[1:] else None,
        "bounds": plain(table.bounds),
        "sources": {"hash": sources_hash(sources), **sources},
    }
    return _text(value, indent=1) + "\n"


def _text(value: object, *, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, sort_keys=True, allow_nan=False)


def sources_hash(sources: Object) -> str:
    """Return the hash of what explains a table."""
    return "sha256:" + hashlib.sha256(_text(sources).encode()).hexdigest()


def rules_json(rules: RuleSet, dialect: int) -> Object:
    """Return a rule set; *dialect* is the number of its dialect."""
    entries = [
        Line(entry.tool, entry.effect, entry.pattern, entry.field, entry.reason)
        for entry in rules.entries
    ]
    written: Object = plain(Rules(dialect, rules.default, tuple(entries), rules.default_reason))
    return written


def origin_json(entry: Entry) -> Object:
    """Return how a line is written, and where."""
    written: Object = plain(Origin(entry.rule, entry.place))
    return written


def plain(value: Any) -> Any:  # noqa: ANN401  # any value of any class, as JSON has it
    """Return *value* as JSON; of our classes, what differs from the default."""
    if isinstance(value, Pattern):
        return {"kind": value.kind.value, "tokens": [_token(token) for token in value.tokens]}
    if attrs.has(type(value)):
        return {
            field.name: plain(getattr(value, field.name))
            for field in attrs.fields(type(value))
            if getattr(value, field.name) != _default(field)
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        if any(isinstance(item, Program) for item in value.values()) and type(value) is dict:
            return [[key, plain(item)] for key, item in value.items()]
        return {key: plain(item) for key, item in value.items()}
    return value


def _default(field: attrs.Attribute[Any]) -> object:
    default = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
        return default.factory()  # type: ignore[union-attr]
    return default


def _token(token: Token) -> object:
    if isinstance(token, str):
        return token
    if isinstance(token, Gap):
        return {"gap": token.value}
    if isinstance(token, Run):
        return {"run without": "".join(sorted(token.excluded))}
    return {"none of" if token.negated else "one of": "".join(sorted(token.characters))}
