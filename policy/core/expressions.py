"""`re` with lazy compilation: the modules have hundreds of expressions, and a call uses few.

`re` itself is imported when the first of them is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import compile, finditer, match, sub
    from typing import Any

__all__ = ["compile", "finditer", "match", "sub"]


class _Expression:
    """A regular expression, with the methods of `re.Pattern`."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Python calls `__getattr__` only for attributes that are not set, so once for each.
        import re  # noqa: PLC0415

        attribute = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, attribute)
        return attribute


def __getattr__(name: str) -> Any:
    """Return any other attribute of `re`."""
    import re  # noqa: PLC0415

    return getattr(re, name)


if not TYPE_CHECKING:
    compile = _Expression  # noqa: A001  # as in `re`
    ASCII, IGNORECASE, MULTILINE, DOTALL, VERBOSE = 256, 2, 8, 16, 64
