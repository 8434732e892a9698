"""``python -m tests.hosts.claude.tables``: write ``data/tables.json`` from the TOML files there."""

from __future__ import annotations

import json
from pathlib import Path

from policy.hosts.claude import data

TABLES = Path(data.__file__).with_name("tables.json")


def text() -> str:
    """Return what the file should hold."""
    return json.dumps(data.compiled(), separators=(",", ":"), sort_keys=False) + "\n"


if __name__ == "__main__":
    TABLES.write_text(text(), encoding="utf-8")
