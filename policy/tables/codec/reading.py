"""JSON to tables: strictly, and never without the hash that the text states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from policy.core import limits
from policy.core.errors import PolicyError
from policy.tables.codec.json_text import (
    VERSION,
    CompiledShape,
    OriginShape,
    Rules,
    Wrong,
    cited,
    read_object,
    sources_hash,
    structured,
)
from policy.tables.dialect import Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Ceiling, Part, Table

__all__ = [
    "at",
    "ceiling",
    "ruleset",
    "table_from_json",
]


_T = TypeVar("_T")


def ruleset(
    rules: Rules, origins: Sequence[OriginShape], dialects: Sequence[Dialect], path: str
) -> RuleSet:
    """Return the rule set at *path*; raise `Wrong` where a part of it is not there."""
    if len(rules.entries) > limits.RULES:
        msg = f"expected at most {limits.RULES:,} lines at {path}"
        raise Wrong(msg)
    if len(origins) != len(rules.entries):
        msg = f"expected the source of every line of {path}"
        raise Wrong(msg)
    entries = (
        Entry(
            line.tool,
            line.effect,
            line.pattern,
            line.field,
            line.reason,
            o.rule,
            o.place,
            line.form,
        )
        for line, o in zip(rules.entries, origins, strict=True)
    )
    dialect = at(dialects, rules.dialect, f"{path}.dialect")
    return RuleSet(tuple(entries), rules.default, dialect, rules.default_reason)


def ceiling(
    numbers: Sequence[int],
    links: Sequence[tuple[str, ...]],
    sets: Sequence[RuleSet],
    path: str,
    links_path: str,
) -> Ceiling:
    """Return the ceiling at *path*; raise `Wrong` where a part of it is not there."""
    if len(numbers) != len(links):
        msg = f"expected the links of every part at {links_path}"
        raise Wrong(msg)
    return Ceiling.of(
        Part(at(sets, number, path), of) for number, of in zip(numbers, links, strict=True)
    )


def at(values: Sequence[_T], number: int, path: str) -> _T:
    """Return what has *number*; raise `Wrong` where nothing has."""
    if not 0 <= number < len(values):
        msg = f"there is no number {number} at {path}"
        raise Wrong(msg)
    return values[number]


def table_from_json(text: str) -> Table:
    """Return the table that *text* is.

    Raises:
        PolicyError: it is none, or not the one it says it is.

    """
    value = read_object(text, limit=limits.COMPILED_BYTES, what="a table")
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        help_ = "compile the table again with this version of the package"
        msg = f"expected a table of version {VERSION}, found {cited(version)}"
        raise PolicyError(msg, help=help_)
    try:
        file = structured(value, CompiledShape)
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


def _table(file: CompiledShape) -> Table:
    if len(file.sources.rules) != len(file.rules):
        msg = "expected the sources of every rule set at $.sources.rules"
        raise Wrong(msg)
    sets = [
        ruleset(rules, origins, file.dialects, f"$.rules[{number}]")
        for number, (rules, origins) in enumerate(zip(file.rules, file.sources.rules, strict=True))
    ]
    use = ceiling(file.use, file.sources.use, sets, "$.use", "$.sources.use")
    delegate = None
    if file.delegate is not None:
        delegate = ceiling(
            file.delegate, file.sources.delegate, sets, "$.delegate", "$.sources.delegate"
        )
    return Table(use, delegate, file.bounds)
