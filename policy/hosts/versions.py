"""Versions of hosts: ``9.0`` or ``a3s@9.0.1`` as people write them, and what differs in each."""

from __future__ import annotations

from typing import ClassVar, Final, Self

from policy.core import expressions as re
from policy.core.values import frozen

__all__ = ["HostVersion", "Since", "Version", "version_of"]

# Major, minor and patch.
Version = tuple[int, int, int]

_TEXT: Final = re.compile(r"(?:(?P<host>[a-z0-9-]+)@)?(?P<numbers>\d+(?:\.\d+){0,2})")


def version_of(text: str, host: str, example: str) -> Version:
    """Return the version that *text* names; numbers that are left out are zero.

    Args:
        text: with or without the name of the host.
        host: the name.
        example: a version for the error message, with as few numbers as are accepted.

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


class Since:
    """A line in the table of a host's versions: true from one version on."""

    def __init__(self, *first: int) -> None:
        self._first = first

    def __get__(self, version: HostVersion, owner: type[HostVersion]) -> bool:
        """Return whether *version* is the first one or a later one."""
        return version.numbers >= self._first


@frozen
class HostVersion:
    """One version of a host. A subclass lists what differs, each as `Since`."""

    HOST: ClassVar[str]
    EXAMPLE: ClassVar[str]

    numbers: Version

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the version that *text* names (see `version_of`)."""
        return cls(version_of(text, cls.HOST, cls.EXAMPLE))

    def __str__(self) -> str:
        return f"{self.HOST}@" + ".".join(map(str, self.numbers))
