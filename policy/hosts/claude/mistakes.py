"""What is wrong with one settings file, as it is read, and what the host makes of that.

One value of a wrong type, and nothing in the file is in force, its deny rules included; but
for an administrator's, of which the host skips that value. Of lists of rules it skips single
entries (2.1.329, observed).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from policy.documents.node import Mapping, Node, Scalar, Sequence, describe
from policy.documents.shapes import Shape
from policy.finding import Finding, Severity
from policy.source import Span

__all__ = ["NO_START", "REJECTED", "Mistakes"]

REJECTED: Final = "the host rejects the file: nothing in it is in force, deny rules included"
NO_START: Final = "the host does not start"
_SKIPPED: Final = "the host skips it; nothing it says is in force"


@attrs.define
class Mistakes:
    """What was found in a file so far.

    Attributes:
        scope: of the file.
        findings: in the order found.
        rejected: whether one of them costs all of the file.
    """

    scope: str
    findings: list[Finding] = attrs.field(factory=list)
    rejected: bool = False

    def reject(self, code: str, message: str, span: Span, more: str = "") -> None:
        """Add what costs all of the file, or the value where it is an administrator's."""
        self.rejected = self.scope != "managed"
        lost = REJECTED if self.rejected else _SKIPPED
        help_line = f"{lost}; {more}" if more else lost
        self.findings.append(Finding(code, message, Severity.ERROR, span, help=help_line))

    def shaped(self, shape: Shape, node: Node, name: str) -> bool:
        """Return whether *node* has a shape; where it has not, it costs all of the file."""
        wrong = list(shape.mistakes(node, name))
        for mistake in wrong:
            self.reject("wrong-type", mistake.message, mistake.node.span)
        return not wrong

    def wrong(self, name: str, wanted: str, node: Node) -> None:
        """Add a value of a wrong type that costs all of the file."""
        message = f"expected {wanted} for {name}, found {describe(node)}"
        self.reject("wrong-type", message, node.span)

    def warn(self, code: str, message: str, span: Span, help: str = "") -> None:
        """Add what costs nothing."""
        self.findings.append(Finding(code, message, Severity.WARNING, span, help=help))

    def repeated(self, node: Mapping) -> None:
        """Add the keys of *node* that stand there twice."""
        for lost, _ in node.repeated():
            message = f"`{lost.name}` is given again below, which counts"
            self.warn("repeated-key", message, lost.key.span)

    def strings(self, node: Node, name: str) -> Iterator[tuple[str, Span]]:
        """Yield the strings of a list; what else is in it the host skips."""
        if not isinstance(node, Sequence):
            self.wrong(name, "a list", node)
            return
        for item in node.items:
            if isinstance(item, Scalar) and isinstance(item.value, str):
                yield item.value, item.span
            else:
                message = f"expected a string for an entry of `{name}`, found {describe(item)}"
                self.findings.append(
                    Finding("wrong-type", message, Severity.ERROR, item.span, help=_SKIPPED)
                )
