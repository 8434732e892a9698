"""Tables to JSON: one text for one value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_origin

from policy.codec.shape import VERSION, Line, Origin, Rules
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Either, Gap, Run, Token
from policy.programs import Program
from policy.ruleset import Entry, RuleSet
from policy.table import Table

if TYPE_CHECKING:
    from cattrs import Converter

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
        Line(entry.tool, entry.effect, entry.pattern, entry.field, entry.reason, entry.form)
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
    return _converter().unstructure(value)


@cache
def _converter() -> Converter:
    from cattrs import Converter  # noqa: PLC0415  # reading needs none, and is done at every start

    converter = Converter(omit_if_default=True, unstruct_collection_overrides={frozenset: sorted})
    converter.register_unstructure_hook(Pattern, _pattern)
    converter.register_unstructure_hook_func(_is_tuple, lambda items: [plain(i) for i in items])
    converter.register_unstructure_hook_func(_is_mapping, _mapping)
    return converter


def _is_tuple(kind: Any) -> bool:  # noqa: ANN401  # whatever a field is annotated with
    return (get_origin(kind) or kind) is tuple


def _is_mapping(kind: Any) -> bool:  # noqa: ANN401  # the same
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _mapping(value: Mapping[str, object]) -> object:
    # The order of programs is part of what they mean.
    if any(isinstance(item, Program) for item in value.values()) and type(value) is dict:
        return [[key, plain(item)] for key, item in value.items()]
    return {key: plain(item) for key, item in value.items()}


def _pattern(pattern: Pattern) -> Object:
    return {"kind": pattern.kind.value, "tokens": [_token(token) for token in pattern.tokens]}


def _token(token: Token) -> object:
    if isinstance(token, str):
        return token
    if isinstance(token, Gap):
        return {"gap": token.value}
    if isinstance(token, Run):
        return {"run without": "".join(sorted(token.excluded))}
    if isinstance(token, Either):
        return {"either": [[_token(part) for part in each] for each in token.alternatives]}
    return {"none of" if token.negated else "one of": "".join(sorted(token.characters))}
