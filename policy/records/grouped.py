"""Large logs and Parquet, by DuckDB: equal calls are counted before anything looks at them.

Needs the extra ``replay``. Without it logs of lines are read line by line, with
the same result, and Parquet is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from policy.errors import PolicyError

__all__ = ["GroupingFailed", "groups", "is_installed"]

# What a row may say, under the names that lines have for it.
_FIELDS: Final = (
    "gen_ai.tool.name",
    "tool",
    "gen_ai.tool.call.arguments",
    "input",
    "policy.chain",
    "chain",
    "gen_ai.agent.name",
    "policy.effect",
    "effect",
    "policy.cwd",
    "policy.project",
    "policy.redacted",
)
_ARGUMENTS: Final = ("gen_ai.tool.call.arguments", "input")
_ROWS: Final = 10_000  # taken from the result at a time


class GroupingFailed(Exception):
    """The log is not what DuckDB can read; line by line it may be, or its mistakes have places."""


def is_installed() -> bool:
    """Return whether DuckDB is there."""
    return find_spec("duckdb") is not None


def groups(file: Path) -> Iterator[tuple[dict[str, object], int]]:
    """Yield what each distinct row of *file* says, as a line of a log would, and how often.

    Raises:
        PolicyError: it is Parquet and DuckDB is missing, or it cannot be read.
        GroupingFailed: it is no Parquet, and not JSON in each line.

    """
    parquet = file.suffix == ".parquet"
    if not is_installed():
        msg = "Parquet is read by DuckDB, which is missing"
        raise PolicyError(msg, file=str(file), help="pip install 'agent-policy[replay]'")
    import duckdb  # noqa: PLC0415  # 0.1 s that small logs need not pay

    connection = duckdb.connect()
    started = False  # once rows were told, reading again would count them twice
    try:
        kinds: dict[str, str] | None = None
        if parquet:
            described = connection.execute("DESCRIBE SELECT * FROM read_parquet($1)", [str(file)])
            kinds = {str(row[0]): str(row[1]) for row in described.fetchall()}
        structured = any((kinds or {}).get(name, "").startswith("STRUCT") for name in _ARGUMENTS)
        result = connection.execute(_query(kinds), [str(file)])
        while rows := result.fetchmany(_ROWS):
            for *values, times in rows:
                started = True
                yield _said(values, structured=structured), int(times)
    except duckdb.Error as error:
        if not parquet and not started:
            raise GroupingFailed(str(error)) from None
        msg = f"cannot be read: {str(error).partition(chr(10))[0]}"
        raise PolicyError(msg, file=str(file)) from None
    finally:
        connection.close()


def _query(kinds: dict[str, str] | None) -> str:
    """Return the question to ask; *kinds* is of the columns of Parquet, None of lines."""
    if kinds is None:
        columns = ", ".join(f"'{field}': 'JSON'" for field in _FIELDS)
        source = f"read_json($1, format='newline_delimited', columns={{{columns}}})"
        chosen = [f'"{field}"' for field in _FIELDS]
    else:
        source = "read_parquet($1)"
        chosen = [f'to_json("{field}")' if field in kinds else "NULL" for field in _FIELDS]
    names = ", ".join(f"{each} AS f{number}" for number, each in enumerate(chosen))
    return f"SELECT {names}, count(*) FROM {source} GROUP BY ALL"  # noqa: S608  # names of ours


def _said(values: list[object], *, structured: bool) -> dict[str, object]:
    said: dict[str, object] = {}
    for field, text in zip(_FIELDS, values, strict=True):
        value = None if text is None else _value(str(text))
        if structured and isinstance(value, dict):
            # A column has every argument of any call; those that a call has not are null.
            value = {name: each for name, each in value.items() if each is not None}
        if value is not None:
            said[field] = value
    return said


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ()  # nothing that JSON can say, and so nothing that a field may hold
