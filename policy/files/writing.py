"""Write files: replace several together, with errors as PolicyError."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from policy.core.errors import PolicyError


@contextmanager
def file_errors(file: Path | str, what: str = "cannot be written") -> Iterator[None]:
    """Turn an OSError into a PolicyError about *file*; *what* says what failed."""
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PolicyError(f"{what}: {why}", file=str(file)) from None


def content_of(file: Path) -> bytes | None:
    """Return the bytes of *file*, or None if it does not exist."""
    with file_errors(file, "cannot be read"), suppress(FileNotFoundError):
        return file.read_bytes()
    return None


def replace_files(contents: Mapping[Path, tuple[bytes | None, bytes | None]]) -> None:
    """Replace the content of all files, or of none.

    *contents* is file -> its old and its new bytes; None is no file. Raises PolicyError if a file
    cannot be written, or does not have the old bytes.
    """
    prepared: dict[Path, Path] = {}
    done: list[tuple[Path, bytes | None]] = []
    try:
        for file, (_, new) in contents.items():
            with file_errors(file):
                if new is not None:
                    prepared[file] = _prepared(file, new)
        for file, (old, _) in contents.items():
            _check_unchanged(file, old)
        for file, (old, _) in contents.items():
            with file_errors(file):
                _put(file.resolve(), prepared.get(file))
            done.append((file.resolve(), old))
    except PolicyError:
        for changed, old in done:
            _put(changed, None if old is None else _prepared(changed, old))
        raise
    finally:
        for written in prepared.values():
            written.unlink(missing_ok=True)


def _check_unchanged(file: Path, old: bytes | None) -> None:
    if content_of(file) != old:
        raise PolicyError("the file has changed since it was read", file=str(file))


def _prepared(file: Path, content: bytes) -> Path:
    """Return a new file with *content*, with the folder and the mode of *file*."""
    real = file.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    mask = os.umask(0)
    os.umask(mask)
    mode = real.stat().st_mode if real.exists() else 0o666 & ~mask
    return write_beside(real, content, mode)


def _put(file: Path, written: Path | None) -> None:
    """Replace *file* by the file *written*; None removes it."""
    if written is None:
        file.unlink()
    else:
        written.replace(file)


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
