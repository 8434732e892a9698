"""``policy compile``: everything that deciding needs, in one file."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from policy.cli.console import Console
from policy.cli.hosts import Hosts
from policy.cli.inputs import load, unreadable
from policy.cli.report.findings import findings_report
from policy.core.errors import PolicyError
from policy.tables.codec import compiled_from_json, compiled_to_json

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Compile, and return the exit status; nothing is written where a file cannot be read."""
    found = load(options.path, console.progress, Hosts.of(options))
    bad = unreadable(found.workspace)
    if bad:
        console.complain(findings_report(bad, console.errors))
        return 2
    if not found.workspace.projects:
        msg = "no file here says what an agent may do"
        raise PolicyError(msg, file=found.workspace.label)
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
    """Put the file in its place at once: nobody reads half of one."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PolicyError(f"cannot be written: {why}", file=str(path)) from None
