"""Every finding of this front end and how much it matters; the catalogue says what each means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policy.edits import Edit
from policy.finding import Finding, Severity
from policy.source import Span

__all__ = ["SEVERITIES", "finding"]

_BY_SEVERITY: Final = {
    Severity.ERROR: (
        # rules
        "a3s-inert-lane",
        "a3s-inert-spawn-rule",
        "a3s-malformed-rule",
        "a3s-rule-too-long",
        "a3s-policy-disabled",
        # agents
        "a3s-agent-skipped",
        "a3s-agent-unbounded",
        "a3s-definition-dropped",
        "a3s-empty-tools",
        "a3s-exposed-definition",
        "a3s-header-cut",
        "a3s-list-ignored",
        "a3s-list-split",
        "a3s-override-widens",
        "a3s-permissions-replaced",
        "a3s-reserved-name",
        # directories and sessions
        "a3s-bad-directory",
        "a3s-bad-session",
        "a3s-confirmation-off",
        "a3s-script-list-only",
        "a3s-script-literal",
        "a3s-script-refused",
        "a3s-script-starts-script",
    ),
    Severity.WARNING: (
        "a3s-allow-after-deny",
        "a3s-ask-after-allow",
        "a3s-empty-pattern",
        "a3s-glob-case",
        "a3s-json-arguments",
        "a3s-lane-execute",
        "a3s-literal-braces",
        "a3s-multi-file-read",
        "a3s-optional-destination",
        "a3s-path-walks-out",
        "a3s-prefix-without-boundary",
        "a3s-search-text",
        "a3s-server-prefix",
        "a3s-star-and-lines",
        "a3s-unknown-tool",
        "a3s-agent-overridden",
        "a3s-auto-approve",
        "a3s-item-dropped",
        "a3s-preset-replaced",
        "a3s-second-list",
        "a3s-unknown-key",
        "a3s-delegation-only-hidden",
        "a3s-left-out",
        "a3s-limit-ignored",
        "a3s-script-excluded-tool",
        "a3s-script-starts-agents",
        "a3s-shadowed-tool",
    ),
    Severity.NOTE: (
        "a3s-allowed-but-hidden",
        "a3s-preset-not-read-only",
        "a3s-script-without-tools",
        "a3s-nobody-asked",
        "a3s-unattended",
    ),
}

SEVERITIES: Final = {code: severity for severity, codes in _BY_SEVERITY.items() for code in codes}


def finding(
    code: str,
    message: str,
    span: Span | None = None,
    *,
    help: str = "",
    file: str = "",
    edits: Iterable[Edit] = (),
) -> Finding:
    """Return the finding of that code."""
    return Finding(code, message, SEVERITIES[code], span, file, help, tuple(edits))
