"""``policy fmt``: rewrite files in their canonical form."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from policy.analysis.formatting import canonical
from policy.cli.console import Console
from policy.cli.report.text import PageLayout, count
from policy.core.errors import PolicyError
from policy.core.source import Source, visible
from policy.files.opening import Memory, Overlay, SingleFile
from policy.files.text import decode
from policy.files.trees import Folder, Tree
from policy.hosts import notation
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_notation
from policy.language.printer import print_document

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the files anew, and return the exit status."""
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
        names = ", ".join(visible(str(path)) for path in unprinted)
        console.complain(
            console.errors.prose(f"left as they are, since they have no canonical form: {names}")
        )
    would = options.check or options.diff
    told = f"{count(changed, 'file')} {'would change' if would else 'changed'}, {total} in all"
    console.complain([told])
    return status or int(options.check and changed > 0)


@attrs.frozen
class _Found:
    """A file, and the folder that was named instead of it, if one was."""

    path: Path
    folder: Path | None = None


def _files(options: argparse.Namespace, console: Console) -> Iterator[_Found | None]:
    """Yield each file once; None stands for what cannot be looked at, which is reported."""
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
    """Print one file anew; return whether that changes it, or None where nobody can print it.

    Raises:
        PolicyError: it cannot be read, parsed or written, or was named and cannot be printed.

    """
    path = found.path
    if not path.exists():
        msg = "there is no such file"
        raise PolicyError(msg, file=str(path))
    source = decode(str(path), SingleFile(path).read(path.name))
    # A host looks at the names of folders, not at where a link leads.
    full = path.absolute().as_posix().lstrip("/")
    printed = canonical(full, source)
    if printed is None and found.folder is not None:
        return None
    if printed is None:
        msg = "no file that can be printed"
        known = "`*.policy` can, and JSON, YAML and Markdown by the names that hosts look for"
        raise PolicyError(msg, file=str(path), help=known)
    if options.minimise:
        fewer = _minimal(found, printed, console)
        printed = canonical(full, Source(source.name, fewer)) or fewer
    if printed.encode() == path.read_bytes():
        return False
    if options.diff:
        _show_diff(source, printed, console)
    elif options.check:
        console.line(f"would change {visible(str(path))}")
    if not options.diff and not options.check:
        _replace(path, printed)
        console.line(f"changed {visible(str(path))}")
    return True


def _minimal(found: _Found, text: str, console: Console) -> str:
    """Return *text*, which is what the file will hold, without the rules it does not need."""
    path = found.path
    if path.name.endswith(notation.SUFFIX):
        return _without(Memory({path.name: text}), path.name, console)
    folder = found.folder or Path()
    try:
        name = path.absolute().relative_to(folder.absolute()).as_posix()
    except ValueError:
        msg = "its rules can be judged only with the other files of its folder"
        raise PolicyError(
            msg, file=str(path), help="run this in the folder of the project"
        ) from None
    return _without(Overlay(Folder(folder), {name: text.encode()}), name, console)


def _without(tree: Tree, name: str, console: Console) -> str:
    """Return the text of a file without needless rules; say why others are kept."""
    from policy.analysis.formatting import minimal  # noqa: PLC0415  # what is seldom asked for

    found = minimal(tree, name)
    for kept in found.kept:
        text = visible(kept.span.text)
        console.complain(console.errors.prose(f"{kept.span.place}: kept `{text}`: {kept.why}"))
    return found.text


def _stream(options: argparse.Namespace, console: Console) -> int:
    data = sys.stdin.buffer.read()
    source = decode("<standard input>", data)
    printed = print_document(parse_notation(source))
    if options.minimise:
        name = f"stdin{notation.SUFFIX}"
        printed = _without(Memory({name: printed}), name, console)
    if options.diff:
        _show_diff(source, printed, console)
    elif not options.check:
        console.write(printed)
    return int(options.check and printed.encode() != data)


def _show_diff(source: Source, printed: str, console: Console) -> None:
    name = visible(source.name)
    lines = difflib.unified_diff(
        source.text.splitlines(), printed.splitlines(), name, f"{name} (canonical)", lineterm=""
    )
    for line in lines:
        console.line(_painted(visible(line.replace("\t", "    ")), console.page))


def _painted(line: str, page: PageLayout) -> str:
    if line.startswith(("+++", "---")):
        return page.paint(line, "bold")
    styles = {"+": "good", "-": "deny", "@": "dim"}
    return page.paint(line, styles.get(line[:1], ""))


def _replace(path: Path, text: str) -> None:
    """Put *text* in the place of a file, all of it or nothing."""
    real = path.resolve()
    try:
        mode = real.stat().st_mode
        handle, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(mode & 0o7777)
            Path(name).replace(real)
        except BaseException:
            Path(name).unlink()
            raise
    except OSError as error:
        msg = f"cannot be written: {(error.strerror or str(error)).lower()}"
        raise PolicyError(msg, file=str(path)) from None
