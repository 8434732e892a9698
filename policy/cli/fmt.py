"""``policy fmt``: print files in their canonical form, in place."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from policy.canonical import canonical
from policy.cli.console import Console
from policy.documents.text import decode
from policy.errors import PolicyError
from policy.files import Folder
from policy.hosts import notation
from policy.parse import parse_notation
from policy.printer import print_document
from policy.render.layout import Page
from policy.render.words import count
from policy.source import Source, visible
from policy.tree import File
from policy.workspace import load_tree

__all__ = ["FORMATS", "configure", "run"]

FORMATS = ()

_EPILOG = """\
Files of hosts are laid out as their host reads them: keys, their order, quotes,
comments and all text below a header are kept. A file that cannot be parsed, or
whose canonical form would mean anything else, is reported and left as it is.

exit status: 0 done, 1 something would change (with --check), 2 a file cannot
be read, parsed or written

examples:
  policy fmt
  policy fmt --check --diff policies/
  policy fmt .claude/settings.json pikuri.host.yaml
  policy fmt --hosts .
  policy fmt - < team.policy
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.description = "Print files in their canonical form, in place."
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="files, of hosts too, or folders with *.policy files (default: .);"
        " - is standard input, in our notation",
    )
    parser.add_argument(
        "--hosts", action="store_true", help="in folders, also files that a host reads"
    )
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if it would")
    parser.add_argument("--diff", action="store_true", help="change nothing; show what would")


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the files anew, and return the exit status."""
    if options.paths == ["-"]:
        return _stream(options, console)
    status = changed = total = 0
    for found in _files(options, console):
        if found is None:
            status = 2
            continue
        try:
            outcome = _file(found[0], options, console, named=found[1])
        except PolicyError as error:
            console.error(error)
            status, outcome = 2, False
        if outcome is not None:
            total += 1
            changed += outcome
    would = options.check or options.diff
    told = f"{count(changed, 'file')} {'would change' if would else 'changed'}, {total} in all"
    console.complain([told])
    return status or int(options.check and changed > 0)


def _files(options: argparse.Namespace, console: Console) -> Iterator[tuple[Path, bool] | None]:
    """Yield each file once, and whether it was named.

    None stands for what cannot be looked at, which is reported.
    """
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
                yield file, file is path


def _below(folder: Folder, *, hosts: bool) -> Iterator[str]:
    """Yield the files of our notation in *folder*, and with *hosts* those of every host."""
    if hosts:
        yield from sorted(load_tree(folder).files)
    else:
        yield from (path for path in folder.paths() if path.endswith(notation.SUFFIX))


def _file(path: Path, options: argparse.Namespace, console: Console, *, named: bool) -> bool | None:
    """Print one file anew; return whether that changes it, or None where nobody can print it.

    Raises:
        PolicyError: it cannot be read, parsed or written, or was named and cannot be printed.

    """
    if not path.exists():
        msg = "there is no such file"
        raise PolicyError(msg, file=str(path))
    source = decode(str(path), File(path).read(path.name))
    # A host looks at the names of folders, not at where a link leads.
    printed = canonical(path.absolute().as_posix().lstrip("/"), source)
    if printed is None and not named:
        return None
    if printed is None:
        msg = "no file that can be printed: neither of our notation nor of a host"
        raise PolicyError(msg, file=str(path))
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


def _stream(options: argparse.Namespace, console: Console) -> int:
    data = sys.stdin.buffer.read()
    source = decode("<standard input>", data)
    printed = print_document(parse_notation(source))
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


def _painted(line: str, page: Page) -> str:
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
