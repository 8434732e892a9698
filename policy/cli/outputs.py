"""Answers in several formats, and files replaced as a whole."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from policy.core.errors import PolicyError
from policy.core.source import visible

__all__ = ["MACHINE", "add_output", "outputs_of", "replace_files", "write_outputs"]


def replace_files(contents: Mapping[Path, tuple[bytes, bytes]]) -> None:
    """Put new bytes in the place of old ones, in every file or in none.

    Args:
        contents: file -> the bytes that were read from it, and the new ones.

    Raises:
        PolicyError: a file cannot be written, or holds something else by now.

    """
    prepared: list[tuple[Path, Path, bytes]] = []
    done: list[tuple[Path, bytes]] = []
    file = Path()
    try:
        for file, (old, new) in contents.items():
            real = file.resolve(strict=True)
            prepared.append((real, _beside(real, new), old))
        for file, _, old in prepared:
            if file.read_bytes() != old:
                raise PolicyError("the file has changed since it was read", file=str(file))
        for file, written, old in prepared:
            written.replace(file)
            done.append((file, old))
    except OSError as error:
        for changed, old in done:
            _beside(changed, old).replace(changed)
        why = (error.strerror or str(error)).lower()
        raise PolicyError(f"cannot be written: {why}", file=str(file)) from None
    finally:
        for _, written, _ in prepared:
            written.unlink(missing_ok=True)


def _beside(file: Path, content: bytes) -> Path:
    """Write *content* to a new file in the folder of *file*, with its mode."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        path.chmod(file.stat().st_mode & 0o7777)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


# One answer in several formats: a run is asked once, and a forge wants files.


# Formats that tell results one by one.
MACHINE = ("sarif", "github", "junit")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="write the answer to a file as well, in that format; may be given again",
    )


def outputs_of(given: Iterable[str], formats: tuple[str, ...]) -> dict[Path, str]:
    """Return file -> format.

    Raises:
        PolicyError: there is no such format, or no file.

    """
    outputs = {}
    for text in given:
        form, _, file = text.partition("=")
        if form not in formats or not file:
            raise PolicyError(
                f"expected FORMAT=FILE, found `{visible(text)}`",
                help=f"the formats are {', '.join(formats)}",
            )
        outputs[Path(file)] = form
    return outputs


def write_outputs(outputs: Mapping[Path, str], text: Callable[[str], str]) -> None:
    """Write each file; *text* is the answer in a format.

    Raises:
        PolicyError: a file cannot be written.

    """
    for file, form in outputs.items():
        try:
            file.write_text(text(form), "utf-8", "backslashreplace")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PolicyError(f"cannot be written: {why}", file=str(file)) from None
