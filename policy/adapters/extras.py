"""Libraries that only one adapter needs, and what to say where one is missing."""

from __future__ import annotations

from types import TracebackType

__all__ = ["extra"]


class extra:  # noqa: N801  # reads as the statement that it is: `with extra("fastmcp", …):`
    """Say which extra of this package a failed import needs.

        with extra("fastmcp", "fastmcp"):
            from fastmcp.server.middleware import Middleware

    Args:
        name: of the extra.
        library: the import name of its library.

    Raises:
        ImportError: the library is not installed, in words that tell how to mend it.

    """

    def __init__(self, name: str, library: str) -> None:
        self.name = name
        self.library = library

    def __enter__(self) -> None:
        """Begin the imports."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Tell what is missing, if it is the library itself."""
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            missing = error.name.split(".")[0]
            if missing == self.library.split(".")[0]:
                msg = (
                    f"this adapter needs `{self.library}`, which is not installed: "
                    f"pip install 'agent-policy[{self.name}]'"
                )
                raise ImportError(msg, name=self.library) from error
