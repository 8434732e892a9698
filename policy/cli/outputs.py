"""Writing files: answers in further formats, replacements of files, and errors of both."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from policy.core.errors import PolicyError
from policy.core.source import visible

__all__ = [
    "check_unchanged",
    "file_errors",
    "outputs_of",
    "replace_files",
    "write_beside",
    "write_outputs",
]


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


def outputs_of(options: argparse.Namespace) -> dict[Path, str]:
    """Return file -> format for each ``--output`` of *options*.

    Raises:
        PolicyError: the format is unknown, or the file is missing.

    """
    outputs = {}
    for text in options.output:
        form, _, file = text.partition("=")
        if form not in options.formats or not file:
            raise PolicyError(
                f"expected FORMAT=FILE, found `{visible(text)}`",
                help=f"the formats are {', '.join(options.formats)}",
            )
        outputs[Path(file)] = form
    return outputs


def write_outputs(outputs: Mapping[Path, str], formats: Mapping[str, Callable[[], str]]) -> None:
    """Write each file in its format. Raises PolicyError where that fails.

    Args:
        outputs: file -> format.
        formats: format -> the answer in it.

    """
    for file, form in outputs.items():
        with file_errors(file):
            file.write_text(formats[form](), "utf-8", "backslashreplace")
