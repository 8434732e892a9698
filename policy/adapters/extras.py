"""Optional libraries: an import error that names the extra of this package to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str, library: str) -> Iterator[None]:
    """Raise ImportError that names the extra to install if importing *library* fails.

    with extra("fastmcp", "fastmcp"):
        from fastmcp.server.middleware import Middleware
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
