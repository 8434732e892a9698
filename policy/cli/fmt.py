"""``policy fmt``: rewrite files in their canonical form."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from policy.analysis.formatting import canonical
from policy.cli.console import Console
from policy.cli.report.words import count
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.files.text import decode
from policy.files.trees import Folder, SingleFile
from policy.files.writing import replace_files
from policy.hosts import notation


def run(options: argparse.Namespace, console: Console) -> int:
    """Format the files, and return the exit status."""
    if options.paths == ["-"]:
        data = sys.stdin.buffer.read()
        source = decode("<standard input>", data)
        printed = canonical(source)
        if options.diff:
            console.difference(source.name, source.text, printed, "canonical")
        elif not options.check:
            console.write(printed)
        return int(options.check and printed.encode() != data)
    status = changed = 0
    files: dict[Path, Path] = {}
    for path in map(Path, options.paths):
        try:
            names = Folder(path).paths() if path.is_dir() else ()
            inside = [path / name for name in names if name.endswith(notation.SUFFIX)]
            for file in inside if path.is_dir() else [path]:
                files.setdefault(file.resolve(), file)
        except PolicyError as error:
            console.error(error)
            status = 2
    for file in files.values():
        try:
            changed += _format(file, options, console)
        except PolicyError as error:
            console.error(error)
            status = 2
    verb = "would change" if options.check or options.diff else "changed"
    console.say(f"{changed:,} of {count(len(files), 'file')} {verb}")
    return status or int(options.check and changed > 0)


def _format(path: Path, options: argparse.Namespace, console: Console) -> bool:
    """Format one file; return whether that changes it. Raises PolicyError where it cannot."""
    if not path.exists():
        raise PolicyError("there is no such file", file=str(path))
    if not path.name.endswith(notation.SUFFIX):
        msg = "no file that can be printed"
        raise PolicyError(msg, file=str(path), help=f"only `*{notation.SUFFIX}` files can")
    source = decode(str(path), SingleFile(path).read(path.name))
    printed = canonical(source)
    old, new = path.read_bytes(), printed.encode()
    if new == old:
        return False
    shown = visible(str(path))
    if options.diff:
        console.difference(source.name, source.text, printed, "canonical")
    elif options.check:
        console.line(f"would change {shown}")
    else:
        replace_files({path: (old, new)})
        console.line(f"changed {shown}")
    return True
