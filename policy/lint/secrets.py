"""Keys and passwords that stand in a file that says what agents may do.

A rule is often made of a command that somebody ran once, its credentials
included, and settings are read by everybody who has the repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs

from policy.credentials import credentials, masked
from policy.finding import Finding, Severity
from policy.source import Source, Span

__all__ = ["secret_findings", "without_secrets"]


def secret_findings(source: Source) -> Iterator[Finding]:
    """Yield what looks like a credential in a file."""
    for name, start, end in credentials(source.text):
        yield Finding(
            "secret-in-policy",
            f"this looks like {name}",
            Severity.ERROR,
            source.span(start, end),
            help="revoke it, and name a variable of the environment instead: whoever has"
            " the repository has it, and the model that reads the file",
        )


def without_secrets(finding: Finding) -> Finding:
    """Return *finding* as it may be shown: nothing of it, nor of its line, is a credential.

    Its edits are of the text as it is.
    """
    span = finding.span
    if span is not None:
        span = Span(_shown(span.source), span.start, span.end)
    return attrs.evolve(
        finding, message=masked(finding.message), help=masked(finding.help), span=span
    )


@lru_cache(maxsize=8)
def _shown(source: Source) -> Source:
    text = masked(source.text)
    return source if text == source.text else Source(source.name, text)
