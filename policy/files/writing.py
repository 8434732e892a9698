"""Writing files: replacements of several at once, and the errors of that."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from policy.core.errors import PolicyError

__all__ = ["check_unchanged", "file_errors", "replace_files", "write_beside"]


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
