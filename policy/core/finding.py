"""A documented defect of a policy: code, place, what it means, how to mend it."""

from __future__ import annotations

import enum

from policy.core.errors import PolicyError, PolicyErrors, show
from policy.core.source import Edit, Place, Span
from policy.core.values import field, frozen


class Severity(enum.Enum):
    """How much a finding matters."""

    ERROR = "error"  # something is not in force that the author wrote, or cannot be read
    WARNING = "warning"  # something is in force that the author may not mean
    NOTE = "note"  # worth knowing


@frozen
class Finding:
    """A defect in one place.

    Attributes:
        code: stable, lowercase with dashes, e.g. ``unreadable-file``.
        message: what is the matter, in one line.
        severity: how much it matters.
        span: the text it is about; None where there is no text.
        file: the file, also where there is no span.
        help: how to mend it, or "".
        edits: what mends it, made all together: the files mean the same afterwards, or
            grant less, comments and layout kept. Empty where that takes a decision.

    """

    code: str
    message: str
    severity: Severity = Severity.WARNING
    span: Span | None = field(default=None, repr=False)
    file: str = ""
    help: str = ""
    edits: tuple[Edit, ...] = field(default=(), repr=False)

    @property
    def place(self) -> Place:
        """The place of the finding."""
        return self.span.place if self.span else Place(self.file or "<policy>")

    @classmethod
    def of(
        cls,
        error: PolicyError,
        code: str,
        *,
        severity: Severity = Severity.ERROR,
        consequence: str = "",
    ) -> tuple[Finding, ...]:
        """Return a finding for each mistake; *consequence*, what the host does, ends its help."""
        errors = error.errors if isinstance(error, PolicyErrors) else (error,)
        return tuple(
            cls(
                code,
                one.message,
                severity,
                one.span,
                one.file,
                "; ".join(filter(None, (one.help, consequence))),
            )
            for one in errors
        )

    def __str__(self) -> str:
        return show(f"{self.message} [{self.code}]", self.span, help=self.help, place=self.place)
