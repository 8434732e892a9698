"""``policy compile``: write a compiled policy, one file with everything that deciding needs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from policy.cli.console import Console
from policy.cli.inputs import load
from policy.cli.options import Hosts
from policy.files.writing import file_errors, write_beside
from policy.tables.compiled import compiled_from_json, compiled_to_json


def run(options: argparse.Namespace, console: Console) -> int:
    """Compile, and return the exit status. Where a file cannot be read, nothing is written."""
    found = load(options.path, Hosts.of(options))
    if console.unreadable(found.workspace.findings):
        return 2
    text = compiled_to_json(found.workspace)
    compiled = compiled_from_json(text.encode())
    if options.output == "-":
        console.write(text)
        return 0
    _write(Path(options.output), text)
    projects = ", ".join(project.title for project in compiled.projects)
    console.line(f"{options.output}: {projects}\n{compiled.hash}")
    return 0


def _write(path: Path, text: str) -> None:
    """Write the file at once, so that no reader sees half of it."""
    mask = os.umask(0)
    os.umask(mask)
    with file_errors(path):
        write_beside(path, text.encode(), 0o666 & ~mask).replace(path)
