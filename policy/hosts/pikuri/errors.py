"""What stops a host of Pikuri from starting, by kind.

The wording of the host's own errors is not known; the kinds are ours, and each
is a ValueError, as an ArgumentError is there.
"""

from __future__ import annotations

import enum

from policy.errors import PolicyError, PolicyErrors
from policy.source import Span

__all__ = ["Kind", "PikuriError", "PikuriErrors"]


class Kind(enum.Enum):
    """The kinds of errors. The values are a contract: add, never rename."""

    UNKNOWN_TOOL = "unknown_tool_name"
    DUPLICATE_PERSONA = "duplicate_persona"
    RESERVED_TOOL = "reserved_tool"
    UNKNOWN_PERSONA = "unknown_persona"
    NO_AGENT_TOOL = "no_agent_tool"
    INVALID_PERSONA = "invalid_persona"
    INVALID_LEGS = "invalid_legs"
    INVALID_PARAMETERS = "invalid_parameters"
    HOST_FILE = "host_file"

    __hash__ = object.__hash__


class PikuriError(PolicyError, ValueError):
    """One mistake, and where it is.

    Attributes:
        kind: of the error.

    """

    def __init__(
        self, kind: Kind, message: str, span: Span | None = None, *, help: str = "", file: str = ""
    ) -> None:
        super().__init__(message, span, help=help, file=file)
        self.kind = kind


class PikuriErrors(PolicyErrors, ValueError):
    """Every mistake of a host at once: nothing of it starts."""

    @property
    def kind(self) -> Kind:
        """The kind of the first."""
        first = self.errors[0]
        return first.kind if isinstance(first, PikuriError) else Kind.HOST_FILE
