"""Keys and passwords as they look in a text, and the text without them.

What files of others hold is shown to people, in comments of forges and in logs: a
credential among it is never repeated there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["REDACTIONS", "credentials", "masked"]

# What becomes of the values of arguments in a log, the least first.
REDACTIONS: Final = ("none", "credentials", "all")

# What it is, and how it looks. Only forms that nothing else has: a wrong alarm
# teaches people to look away.
_FORMS: Final = {
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:[A-Za-z0-9+/=\s]|\\[nr])*",
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


def credentials(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what looks like a credential in *text*: what it is, where it starts and ends."""
    for match in _ANY.finditer(text):
        yield _NAMES[int((match.lastgroup or "f0")[1:])], *match.span()


def masked(text: str) -> str:
    """Return *text*, as long as it is, with stars for every credential."""
    return _short(text) if len(text) <= _SHORT else _starred(text)


_SHORT: Final = 200


def _starred(text: str) -> str:
    return _ANY.sub(lambda match: "*" * len(match[0]), text)


# The same rules are shown over and over.
_short = lru_cache(maxsize=4096)(_starred)
