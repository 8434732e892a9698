"""Writing files: answers in further formats, replacements of files, and errors of both."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from policy.cli.console import Console
from policy.cli.report.as_json import dumps
from policy.cli.report.document import Block, Report
from policy.cli.report.terminal import PageLayout, lines, terminal
from policy.core.errors import PolicyError


@contextmanager
def file_errors(file: Path | str, what: str = "cannot be written") -> Iterator[None]:
    """Raise PolicyError for *file* with *what* in the place of an OSError."""
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PolicyError(f"{what}: {why}", file=str(file)) from None


def replace_files(contents: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Replace the content of every file, or of none.

    Args:
        contents: file -> the bytes that were read from it, and the new ones.

    Raises:
        PolicyError: a file cannot be written, or has changed since it was read.

    """
    prepared: list[tuple[Path, Path, bytes]] = []
    done: list[tuple[Path, bytes]] = []
    try:
        for file, (old, new) in contents.items():
            with file_errors(file):
                real = file.resolve(strict=True)
                prepared.append((real, write_beside(real, new, real.stat().st_mode), old))
        for file, _, old in prepared:
            with file_errors(file):
                check_unchanged(file, file.read_bytes(), old)
        for file, written, old in prepared:
            with file_errors(file):
                written.replace(file)
            done.append((file, old))
    except PolicyError:
        for changed, old in done:
            write_beside(changed, old, changed.stat().st_mode).replace(changed)
        raise
    finally:
        for _, written, _ in prepared:
            written.unlink(missing_ok=True)


def check_unchanged(file: Path, new: bytes | None, old: bytes | None) -> None:
    """Raise PolicyError unless *file* still has the content *old*."""
    if new != old:
        raise PolicyError("the file has changed since it was read", file=str(file))


def write_beside(file: Path, content: bytes, mode: int) -> Path:
    """Return a new file with *content* in the folder of *file*. Raises OSError."""
    import tempfile  # noqa: PLC0415  # most verbs replace no file

    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        path.chmod(mode & 0o7777)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def publish(
    report: Report, options: argparse.Namespace, console: Console, *, printed: bool = True
) -> None:
    """Write *report* to the files of ``--output``, and print it in the format of ``--format``.

    Where the answer is a file, the text on standard output is that file alone.

    Raises:
        PolicyError: a file cannot be written.

    """
    most = None if options.all else report.most
    for file, form in options.output.items():
        with file_errors(file):
            file.write_text(_written(report, form, most), "utf-8", "backslashreplace")
    if not printed:
        return
    if options.format == "text" and report.content:
        console.write(report.content)
        console.complain(*report.blocks(most))
    else:
        console.write(_written(report, options.format, most, console.page))


def _written(report: Report, form: str, most: int | None, page: PageLayout | None = None) -> str:
    """Return *report* in a format; *page* is that of a terminal."""
    # Each format is imported where it is asked for.
    match form:
        case "text":
            return report.content or terminal(
                report.fitting(most, partial(_fits, report)), page or PageLayout()
            )
        case "json":
            return dumps(report.json()) + "\n"
        case "markdown":
            from policy.cli.report.markdown import report_markdown  # noqa: PLC0415

            return report_markdown(report, most)
        case "html":
            from policy.cli.report.html import report_html  # noqa: PLC0415

            return report_html(report)
        case _:
            from policy.cli.report.results import report_results  # noqa: PLC0415

            return report_results(report, form)


def _fits(report: Report, blocks: Sequence[Block]) -> bool:
    return report.lines is None or len(lines(blocks, PageLayout())) <= report.lines
