"""Mistakes in the files of a host, each of a kind that the host itself reports."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from policy.core.errors import PolicyError, PolicyErrors
from policy.core.source import Span

__all__ = ["HostError", "HostErrors", "as_host_errors"]


class HostError(PolicyError):
    """One mistake that makes a host refuse a file, an agent or a call.

    Attributes:
        kind: a member of the host's own enumeration. Its value is a contract: kinds are added
            and never renamed.

    """

    def __init__(
        self,
        kind: enum.Enum,
        message: str,
        span: Span | None = None,
        *,
        help: str = "",
        file: str = "",
    ) -> None:
        super().__init__(message, span, help=help, file=file)
        self.kind = kind


class HostErrors(HostError, PolicyErrors):
    """Every independent mistake of one file; the kind is that of the first."""

    def __init__(self, errors: Iterable[HostError]) -> None:
        PolicyErrors.__init__(self, errors)
        self.kind = next(error.kind for error in self.errors if isinstance(error, HostError))

    __str__ = PolicyErrors.__str__


def as_host_errors(error: PolicyError, kind: enum.Enum, prefix: str = "") -> HostErrors:
    """Return *error* as mistakes of a host; those that are already keep their own kind.

    Args:
        error: one mistake or several, e.g. of a reader of YAML.
        kind: of those that have none.
        prefix: what the host prints before their messages.

    """
    errors = error.errors if isinstance(error, PolicyErrors) else (error,)
    return HostErrors(
        one
        if isinstance(one, HostError)
        else HostError(kind, f"{prefix}{one.message}", one.span, help=one.help, file=one.file)
        for one in errors
    )
