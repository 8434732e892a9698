"""``python -m tests.cli.texts``: write the texts of the command as JSON, which is read faster."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import policy.cli

FILES = [Path(policy.cli.__file__).parent / name for name in ("verbs.toml", "report/words.toml")]


def compiled(file: Path) -> str:
    """Return a file of texts as JSON."""
    return json.dumps(tomllib.loads(file.read_text("utf-8")), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    for file in FILES:
        file.with_suffix(".json").write_text(compiled(file), "utf-8")
