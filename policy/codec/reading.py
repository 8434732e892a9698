"""JSON to tables: strictly, and not without the hash that the text states."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from policy import limits
from policy.codec.shape import VERSION, File, Origin, Rules
from policy.codec.strict import Wrong, cited, structured
from policy.codec.writing import Object, sources_hash
from policy.dialect import Dialect
from policy.errors import PolicyError
from policy.ruleset import Entry, RuleSet
from policy.source import visible
from policy.table import Ceiling, Part, Table

__all__ = ["table_from_json"]

# A compiled table says more of each rule than the file it came from.
_CHARACTERS: Final = 16 * limits.FILE_BYTES

_T = TypeVar("_T")


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is none, or not the one it says it is.

    """
    value = _value(text)
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        help_ = "compile the table again with this version of the package"
        msg = f"expected a table of version {VERSION}, found {cited(version)}"
        raise PolicyError(msg, help=help_)
    try:
        file = structured(value, File)
        table = _table(file)
    except Wrong as error:
        msg = f"this is not a table: {error}"
        raise PolicyError(msg) from None
    except RecursionError:
        msg = "this is not a table: it is nested too deep"
        raise PolicyError(msg) from None
    if table.hash != file.hash:
        msg = f"the table states the hash {cited(file.hash)} and has `{table.hash}`"
        help_ = "it was changed after it was compiled; compile it again"
        raise PolicyError(msg, help=help_)
    sources = {key: part for key, part in value["sources"].items() if key != "hash"}
    found = sources_hash(sources)
    if found != file.sources.hash:
        msg = f"the sources state the hash {cited(file.sources.hash)} and have `{found}`"
        help_ = "the places of rules were changed after the table was compiled"
        raise PolicyError(msg, help=help_)
    return table


def _value(text: str) -> Object:
    if len(text) > _CHARACTERS:
        msg = f"expected a table of at most {_CHARACTERS:,} characters"
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
        msg = f"expected a table, found {cited(value)}"
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


def _table(file: File) -> Table:
    if len(file.sources.rules) != len(file.rules):
        msg = "expected the sources of every rule set at $.sources.rules"
        raise Wrong(msg)
    sets = [
        _ruleset(rules, origins, file.dialects, number)
        for number, (rules, origins) in enumerate(zip(file.rules, file.sources.rules, strict=True))
    ]
    use = _ceiling(file.use, file.sources.use, sets, "use")
    delegate = None
    if file.delegate is not None:
        delegate = _ceiling(file.delegate, file.sources.delegate, sets, "delegate")
    return Table(use, delegate, file.bounds)


def _ruleset(
    rules: Rules, origins: Sequence[Origin], dialects: Sequence[Dialect], number: int
) -> RuleSet:
    if len(origins) != len(rules.entries):
        msg = f"expected the source of every line at $.sources.rules[{number}]"
        raise Wrong(msg)
    entries = (
        Entry(line.tool, line.effect, line.pattern, line.field, line.reason, o.rule, o.place)
        for line, o in zip(rules.entries, origins, strict=True)
    )
    dialect = _at(dialects, rules.dialect, f"$.rules[{number}].dialect")
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


def _ceiling(
    numbers: Sequence[int], links: Sequence[tuple[str, ...]], sets: Sequence[RuleSet], key: str
) -> Ceiling:
    if len(numbers) != len(links):
        msg = f"expected the links of every part at $.sources.{key}"
        raise Wrong(msg)
    return Ceiling.of(
        Part(_at(sets, number, f"$.{key}"), of) for number, of in zip(numbers, links, strict=True)
    )


def _at(values: Sequence[_T], number: int, path: str) -> _T:
    if not 0 <= number < len(values):
        msg = f"there is no number {number} at {path}"
        raise Wrong(msg)
    return values[number]
