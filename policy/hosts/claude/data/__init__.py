"""What Claude Code 2.1.329 knows of programs, tools and settings: TOML files (see README.md).

Its modules turn `table` into classes. Reading TOML takes ten times as long as JSON, so
``tables.json`` holds all but the findings too, and counts if it was made of the same files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from policy.core import expressions as re
from policy.hosts.data import FindingTexts

find: Final = FindingTexts("policy.hosts.claude")

_FOLDER: Final = Path(__file__).parent


def table(name: str) -> dict[str, Any]:
    """Return what ``<name>.toml`` says."""
    return _tables()[name]


def expression(given: str | list[str], named: Mapping[str, Any]) -> str:
    """Return an expression, or the union of several, with those of *named* for each `<NAME>`."""
    text = given if isinstance(given, str) else "|".join(given)
    return re.sub("<([A-Z_]+)>", lambda name: expression(named[name[1]], named), text)


def each_name(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return *tables* by single names, where one key may hold several."""
    return {name: each for names, each in tables.items() for name in names.split()}


@cache
def _tables() -> dict[str, dict[str, Any]]:
    texts = _texts()
    kept = json.loads((_FOLDER / "tables.json").read_bytes())
    is_current = kept["digest"] == _digest(texts)
    found: dict[str, dict[str, Any]] = (kept if is_current else compiled())["tables"]
    return found


def compiled() -> dict[str, Any]:
    """Return what ``tables.json`` holds for the files as they are."""
    import tomllib  # noqa: PLC0415  # where the kept file is out of date

    texts = _texts()
    tables = {name: tomllib.loads(text.decode()) for name, text in texts.items()}
    return {"digest": _digest(texts), "tables": tables}


def _texts() -> dict[str, bytes]:
    paths = (path for path in sorted(_FOLDER.glob("*.toml")) if path.stem != "findings")
    return {path.stem: path.read_bytes() for path in paths}


def _digest(texts: dict[str, bytes]) -> str:
    return str(crc32(b"\0".join(texts.values())))  # against a slip, not an attack
