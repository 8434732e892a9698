"""A finding: a defect of a policy with a code, a place, a message, and edits that mend it."""

from __future__ import annotations

import enum

from policy.core.errors import PolicyError, PolicyErrors, show
from policy.core.source import Edit, Place, Span
from policy.core.values import field, frozen


class Severity(enum.Enum):
    """How much a finding matters."""

    ERROR = "error"  # a text that the author wrote has no effect, or cannot be read
    WARNING = "warning"  # a text has an effect that its author may not intend
    NOTE = "note"  # worth knowing


@frozen
class Finding:
    """A defect in one place.

    Attributes:
        code: stable, lowercase with dashes, e.g. ``unreadable-file``.
        message: the defect, in one line.
        severity: how much it matters.
        span: the text with the defect; None where no text has it.
        file: the name of the file, also without a span.
        help: how to mend the defect, or "".
        edits: edits that mend it, to be made together. The files then grant the same or less, and
            keep comments and layout. Empty where the author must decide.

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
        """The place of the first character of the defect, or of the file."""
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
        """Return a finding for each mistake in *error*; *consequence* is added to its help."""
        errors = error.errors if isinstance(error, PolicyErrors) else (error,)
        return tuple(
            cls(
                code,
                mistake.message,
                severity,
                mistake.span,
                mistake.file,
                "; ".join(filter(None, (mistake.help, consequence))),
            )
            for mistake in errors
        )

    def __str__(self) -> str:
        return show(f"{self.message} [{self.code}]", self.span, help=self.help, file=self.file)
