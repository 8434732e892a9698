"""Skills: the list of tools one may use while it runs."""

from __future__ import annotations

from collections.abc import Iterable

from policy.effect import Effect
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule
from policy.hosts.a3s.versions import NEWEST, Profile

__all__ = ["skill_policy", "skill_restricts"]


def _grants(text: str) -> tuple[tuple[str, str], ...]:
    """Return the tools that the text of ``allowed-tools`` names, each with its pattern.

    It is split at commas if it has any; else it is one rule if its only blanks
    stand between parentheses; else it is split at blanks.
    """
    if "," in text:
        parts = text.split(",")
    else:
        tool, _, rest = text.strip().partition("(")
        alone = rest.endswith(")") and "(" not in rest and not any(map(str.isspace, tool))
        parts = [text] if alone else text.split()
    return tuple(_grant(part.strip()) for part in parts if part.strip())


def _grant(text: str) -> tuple[str, str]:
    opened, closed = text.find("("), text.rfind(")")
    if 0 <= opened < closed:
        return text[:opened].strip(), text[opened + 1 : closed].strip()
    return text, "*"


def skill_policy(
    allowed: str | Iterable[str] | None, profile: Profile = NEWEST
) -> PermissionPolicy:
    """Return the policy of a skill that runs: what it lists, and nothing else.

    Args:
        allowed: ``allowed-tools``, a text or a list; None where it is absent,
            which is no tool. A list is one text with commas between its items.
        profile: the version.

    """
    text = allowed if isinstance(allowed, str) else ", ".join(allowed or ())
    rules = (PermissionRule.of(f"{tool}({pattern})", profile) for tool, pattern in _grants(text))
    return PermissionPolicy(allow=tuple(rules), default_decision=Effect.DENY, profile=profile)


def skill_restricts(tool: str, active: Iterable[str]) -> bool:
    """Return whether the skills in effect keep a session from calling *tool*.

    Args:
        tool: the name.
        active: ``allowed-tools`` of each that declares it. A tool is let through by
            one that names it, in any case, for every argument; a pattern over names or
            over arguments counts for nothing, and a list of nothing restricts nothing.

    """
    lists = [_grants(text) for text in active]
    through = (tool.lower(), "*")
    return bool(lists) and not any(
        not grants or any((name.lower(), pattern) == through for name, pattern in grants)
        for grants in lists
    )
