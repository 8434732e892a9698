"""``policy fmt``: rewrite files in their canonical form."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from policy.analysis.formatting import canonical
from policy.cli.console import Console
from policy.cli.report.words import count
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.files.opening import SingleFile
from policy.files.text import decode
from policy.files.trees import Folder
from policy.files.writing import replace_files
from policy.hosts import notation
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_notation
from policy.language.printer import print_document


def run(options: argparse.Namespace, console: Console) -> int:
    """Format the files, and return the exit status."""
    if options.paths == ["-"]:
        return _stream(options, console)
    status = changed = total = 0
    unprinted: list[Path] = []
    files: dict[Path, tuple[Path, Path | None]] = {}
    for name in options.paths:
        try:
            for path, folder in _files(Path(name), hosts=options.hosts):
                files.setdefault(path.resolve(), (path, folder))
        except PolicyError as error:
            console.error(error)
            status = 2
    for path, folder in files.values():
        try:
            outcome = _file(path, folder, options, console)
        except PolicyError as error:
            console.error(error)
            status, outcome = 2, False
        if outcome is None:
            unprinted.append(path)
        else:
            total += 1
            changed += outcome
    if unprinted:
        names = ", ".join(map(str, unprinted))
        console.say(f"left as they are, since they have no canonical form: {names}")
    verb = "would change" if options.check or options.diff else "changed"
    console.say(f"{count(changed, 'file')} {verb}, {total} in all")
    return status or int(options.check and changed > 0)


def _files(path: Path, *, hosts: bool) -> Iterator[tuple[Path, Path | None]]:
    """Yield a file that was named, or those of our notation in a folder, and the folder.

    With *hosts*, those of every host. Raises PolicyError for a folder that cannot be read.
    """
    if not path.is_dir():
        yield path, None
        return
    folder = Folder(path)
    below = sorted(load_tree(folder).files) if hosts else folder.paths()
    for name in below:
        if hosts or name.endswith(notation.SUFFIX):
            yield path / name, path


def _file(
    path: Path, folder: Path | None, options: argparse.Namespace, console: Console
) -> bool | None:
    """Format one file; return whether that changes it, or None where it has no canonical form.

    Raises:
        PolicyError: it cannot be read, parsed or written, or was named and has no canonical form.

    """
    if not path.exists():
        raise PolicyError("there is no such file", file=str(path))
    source = decode(str(path), SingleFile(path).read(path.name))
    # Hosts go by the path, not by the target of a link.
    full = path.absolute().as_posix().lstrip("/")
    printed = canonical(full, source)
    if printed is None and folder is not None:
        return None
    if printed is None:
        msg = "no file that can be printed"
        known = "`*.policy` can, and JSON, YAML and Markdown by the names that hosts look for"
        raise PolicyError(msg, file=str(path), help=known)
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


def _stream(options: argparse.Namespace, console: Console) -> int:
    data = sys.stdin.buffer.read()
    source = decode("<standard input>", data)
    printed = print_document(parse_notation(source))
    if options.diff:
        console.difference(source.name, source.text, printed, "canonical")
    elif not options.check:
        console.write(printed)
    return int(options.check and printed.encode() != data)
