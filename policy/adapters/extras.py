"""Optional libraries: an import error that names the extra of this package to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["extra"]


@contextmanager
def extra(name: str, library: str) -> Iterator[None]:
    """Name the extra that a failed import needs.

        with extra("fastmcp", "fastmcp"):
            from fastmcp.server.middleware import Middleware

    Args:
        name: of the extra.
        library: the import name of its library.

    Raises:
        ImportError: the library is not installed.

    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != library.split(".", maxsplit=1)[0]:
            raise
        msg = (
            f"this adapter needs `{library}`, which is not installed: "
            f"pip install '.[{name}]' in a clone of agent-policy"
        )
        raise ImportError(msg, name=library) from error
