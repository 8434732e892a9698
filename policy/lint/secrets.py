"""Keys and passwords that stand in a file that says what agents may do.

A rule is often made of a command that somebody ran once, its credentials
included, and settings are read by everybody who has the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policy.finding import Finding, Severity
from policy.source import Source

__all__ = ["secret_findings"]

# What it is, and how it looks. Only forms that nothing else has: a wrong alarm
# teaches people to look away.
_FORMS: Final = {
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "a token of GitHub": r"\b(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})",
    "a token of GitLab": r"\bglpat-[A-Za-z0-9_-]{20,}",
    "an access key of AWS": r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b",
    "a key of Anthropic": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "a key of OpenAI": r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}",
    "a key of Google": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "a key of Stripe": r"\b[rs]k_live_[A-Za-z0-9]{20,}",
    "a token of Slack": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "a token of npm": r"\bnpm_[A-Za-z0-9]{36}\b",
    "a token of PyPI": r"\bpypi-[A-Za-z0-9_-]{50,}",
    "a token of Hugging Face": r"\bhf_[A-Za-z0-9]{30,}",
    "a JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "a bearer token": r"(?i:\bbearer[ \t]+)[A-Za-z0-9._~+/-]{20,}=*",
    "a password in a URL": r"\b[a-z][a-z0-9+.-]*://[^\s/:@\"'$*{<]+:[^\s/:@\"'$*{<]{3,}@",
    "a password": r"(?i:\b(?:\w*_)?(?:password|passwd|secret|api_?key|access_token))"
    r"=[^\s\"'$*{<&|;()\\]{8,}",
}
_ANY: Final = re.compile(
    "|".join(f"(?P<f{number}>{form})" for number, form in enumerate(_FORMS.values()))
)
_NAMES: Final = tuple(_FORMS)


def secret_findings(source: Source) -> Iterator[Finding]:
    """Yield what looks like a credential in a file. No finding repeats it."""
    found = list(_ANY.finditer(source.text))
    if not found:
        return
    masked = source.text
    for match in found:
        start, end = match.span()
        masked = masked[:start] + "*" * (end - start) + masked[end:]
    shown = Source(source.name, masked)
    for match in found:
        name = _NAMES[int((match.lastgroup or "f0")[1:])]
        yield Finding(
            "secret-in-policy",
            f"this looks like {name}",
            Severity.ERROR,
            shown.span(*match.span()),
            help="revoke it, and name a variable of the environment instead: whoever has"
            " the repository has it, and the model that reads the file",
        )
