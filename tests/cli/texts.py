"""``python -m tests.cli.texts``: write what the command reads at its start as JSON, read faster."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import policy

_ROOT = Path(policy.__file__).parent
FILES = [
    _ROOT / name
    for name in ("cli/verbs.toml", "cli/report/words.toml", "analysis/lint/data/commands.toml")
]


def compiled(file: Path) -> str:
    """Return a file of texts as JSON."""
    return json.dumps(tomllib.loads(file.read_text("utf-8")), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    for file in FILES:
        file.with_suffix(".json").write_text(compiled(file), "utf-8")
