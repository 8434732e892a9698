"""Paths that one slash does not make absolute, where two stand for the root of the files."""

from __future__ import annotations

from typing import Final

__all__ = ["looks_absolute"]

# First segments of paths that people write from the root of the file system.
_ROOTS: Final = frozenset(
    "Users Volumes bin boot dev etc home lib mnt opt private proc root run sbin srv sys tmp usr"
    " var".split()
)


def looks_absolute(text: str) -> bool:
    """Return whether *text* looks like a path from the root, which it is not with one slash."""
    segments = text.split("/")
    return len(segments) > 2 and segments[0] == "" and segments[1] in _ROOTS
