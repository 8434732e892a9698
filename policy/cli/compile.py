"""``policy compile``: write a compiled policy, one file with everything that deciding needs."""

from __future__ import annotations

import argparse
from pathlib import Path

from policy.analysis.inputs import Hosts, load
from policy.cli.console import Console
from policy.files.writing import content_of, replace_files
from policy.tables.compiled import compiled_from_json, compiled_to_json


def run(options: argparse.Namespace, console: Console) -> int:
    """Compile, and return the exit status. Where a file cannot be read, nothing is written."""
    found = load(options.path, Hosts.of(options))
    console.note(found.not_read)
    if console.unreadable(found.workspace.findings):
        return 2
    text = compiled_to_json(found.workspace)
    compiled = compiled_from_json(text.encode())
    if options.output == "-":
        console.write(text)
        return 0
    # At once, so that no reader sees half of it.
    path = Path(options.output)
    replace_files({path: (content_of(path), text.encode())})
    projects = ", ".join(project.title for project in compiled.projects)
    console.line(f"{options.output}: {projects}\n{compiled.hash}")
    return 0
