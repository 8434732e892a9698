"""JSON to tables: strictly, and not without the hash that the text states."""

from __future__ import annotations

from policy import limits
from policy.codec.building import ceiling, ruleset
from policy.codec.json_text import read_object
from policy.codec.shape import VERSION, File
from policy.codec.strict import Wrong, cited, structured
from policy.codec.writing import sources_hash
from policy.errors import PolicyError
from policy.table import Table

__all__ = ["table_from_json"]


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


def _table(file: File) -> Table:
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
