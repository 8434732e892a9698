"""What settings say of a sandbox: whether commands run unasked in it, and which run outside.

Whether a machine has one no file tells, and a host without one asks as ever. So nothing is
said of it below `main`; chains that start with `main+sandbox` are those of a machine that has
one. What the keys mean is documented; of 2.1.329 the text of the program was read as well.
There ``autoAllowBashIfSandboxed`` says that it is off where nobody sets it, and is on: what
somebody serves beside the settings decides. It is taken to be on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policy.documents.node import Mapping, Node, Scalar, Sequence
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.settings import Sandbox, Settings, Written
from policy.source import Span

__all__ = ["kept_outside", "read_sandbox", "runs_unasked", "sandbox_findings"]

_ON: Final = "enabled"
_UNASKED: Final = "autoAllowBashIfSandboxed"
_OUTSIDE: Final = "excludedCommands"


def read_sandbox(node: Node | None) -> Sandbox:
    """Return what the value of ``sandbox`` in one file says."""
    if not isinstance(node, Mapping):
        return Sandbox()
    listed = node.get(_OUTSIDE)
    return Sandbox(
        _switch(node, _ON),
        _switch(node, _UNASKED),
        tuple(
            Written(f"Bash({item.value})", Effect.ASK, item.span)
            for item in (listed.items if isinstance(listed, Sequence) else ())
            if isinstance(item, Scalar) and isinstance(item.value, str)
        ),
    )


def _switch(node: Mapping, name: str) -> tuple[bool, Span] | None:
    entry = node.entry(name)
    if entry is None or not isinstance(entry.value, Scalar):
        return None
    return entry.value.value is True, Span(
        entry.key.span.source, entry.key.span.start, entry.value.span.end
    )


def runs_unasked(files: Iterable[Settings]) -> Span | None:
    """Return what lets commands run unasked in a sandbox; None where they do not.

    Args:
        files: from the strongest on; the first that says something of a switch decides it.

    """
    said = [each.sandbox for each in files]
    on = next((each.on for each in said if each.on), None)
    unasked = next((each.unasked for each in said if each.unasked), None)
    if on is None or not on[0] or (unasked and not unasked[0]):
        return None
    return (unasked or on)[1]


def kept_outside(files: Iterable[Settings]) -> Iterator[Written]:
    """Yield the commands that never run in a sandbox, as rules that ask for them."""
    for each in files:
        yield from each.sandbox.outside


def sandbox_findings(span: Span | None) -> Iterator[Finding]:
    """Yield that commands run unasked where *span* lets them."""
    if span is not None:
        yield Finding(
            "sandbox-runs-unasked",
            "on a machine that has a sandbox every command runs unasked, but for those that a"
            " rule denies, or asks for by its text",
            Severity.WARNING,
            span,
            help=f'`"{_UNASKED}": false` asks for them as ever; below `main+sandbox` it is told'
            " what this allows",
        )
