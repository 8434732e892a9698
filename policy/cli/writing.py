"""Files in the place of files: all of a text, or what was there before."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from policy.errors import PolicyError

__all__ = ["replace_files"]


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
