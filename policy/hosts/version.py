"""Versions of hosts as people write them: ``9.0``, or ``a3s@9.0.1``."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Version", "version_of", "version_text"]

# Major, minor and patch.
Version = tuple[int, int, int]

_TEXT: Final = re.compile(r"(?:(?P<host>[a-z0-9-]+)@)?(?P<numbers>\d+(?:\.\d+){0,2})")


def version_of(text: str, host: str, example: str) -> Version:
    """Return the version that *text* names; what is left out of it is zero.

    Args:
        text: with or without the name of the host.
        host: the name.
        example: of a version, for the error; it has as few numbers as will do.

    Raises:
        ValueError: *text* is no version of that host.

    """
    found = _TEXT.fullmatch(text)
    numbers = found["numbers"].split(".") if found else []
    if found is None or found["host"] not in (None, host) or len(numbers) <= example.count("."):
        msg = f"expected a version such as `{example}`, found `{text}`"
        raise ValueError(msg)
    major, minor, patch = (int(number) for number in (*numbers, "0", "0")[:3])
    return major, minor, patch


def version_text(host: str, version: Version) -> str:
    """Return a version as tables and reports name it."""
    return f"{host}@" + ".".join(map(str, version))
