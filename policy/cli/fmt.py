"""``policy fmt``: rewrite files in their canonical form."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from policy.analysis.formatting import canonical
from policy.cli.console import Console
from policy.cli.outputs import replace_files
from policy.cli.report.words import count
from policy.core.errors import PolicyError
from policy.core.source import visible
from policy.core.values import frozen
from policy.files.opening import SingleFile
from policy.files.text import decode
from policy.files.trees import Folder
from policy.hosts import notation
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_notation
from policy.language.printer import print_document

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Format the files, and return the exit status."""
    if options.paths == ["-"]:
        return _stream(options, console)
    status = changed = total = 0
    unprinted: list[Path] = []
    for found in _files(options, console):
        if found is None:
            status = 2
            continue
        try:
            outcome = _file(found, options, console)
        except PolicyError as error:
            console.error(error)
            status, outcome = 2, False
        if outcome is None:
            unprinted.append(found.path)
        else:
            total += 1
            changed += outcome
    if unprinted:
        names = ", ".join(map(str, unprinted))
        console.say(f"left as they are, since they have no canonical form: {names}")
    would = options.check or options.diff
    console.say(
        f"{count(changed, 'file')} {'would change' if would else 'changed'}, {total} in all"
    )
    return status or int(options.check and changed > 0)


@frozen
class _Found:
    """A file, and the folder that an option named, if any."""

    path: Path
    folder: Path | None = None


def _files(options: argparse.Namespace, console: Console) -> Iterator[_Found | None]:
    """Yield each file once, and None for a folder that cannot be read, which is reported."""
    seen = set()
    for name in options.paths:
        path = Path(name)
        if not path.is_dir():
            found = [path]
        else:
            try:
                found = [path / p for p in _below(Folder(path), hosts=options.hosts)]
            except PolicyError as error:
                console.error(error)
                yield None
                continue
        for file in found:
            real = file.resolve()
            if real not in seen:
                seen.add(real)
                yield _Found(file, None if file is path else path)


def _below(folder: Folder, *, hosts: bool) -> Iterator[str]:
    """Yield the files of our notation in *folder*, and with *hosts* those of every host."""
    if hosts:
        yield from sorted(load_tree(folder).files)
    else:
        yield from (path for path in folder.paths() if path.endswith(notation.SUFFIX))


def _file(found: _Found, options: argparse.Namespace, console: Console) -> bool | None:
    """Format one file; return whether that changes it, or None where it has no canonical form.

    Raises:
        PolicyError: it cannot be read, parsed or written, or was named and has no canonical form.

    """
    path = found.path
    if not path.exists():
        raise PolicyError("there is no such file", file=str(path))
    source = decode(str(path), SingleFile(path).read(path.name))
    # Hosts go by the path, not by the target of a link.
    full = path.absolute().as_posix().lstrip("/")
    printed = canonical(full, source)
    if printed is None and found.folder is not None:
        return None
    if printed is None:
        msg = "no file that can be printed"
        known = "`*.policy` can, and JSON, YAML and Markdown by the names that hosts look for"
        raise PolicyError(msg, file=str(path), help=known)
    old, new = path.read_bytes(), printed.encode()
    if new == old:
        return False
    if options.diff:
        console.difference(source.name, source.text, printed, "canonical")
    elif options.check:
        console.line(f"would change {visible(str(path))}")
    if not options.diff and not options.check:
        replace_files({path: (old, new)})
        console.line(f"changed {visible(str(path))}")
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
