"""Skills: the list of tools one may use while it runs."""

from __future__ import annotations

from collections.abc import Iterable

from policy.effect import Effect
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule
from policy.hosts.a3s.versions import NEWEST, Profile

__all__ = ["skill_policy", "skill_rules"]


def skill_rules(text: str, profile: Profile = NEWEST) -> tuple[PermissionRule, ...]:
    """Return the rules that the text of ``allowed-tools`` holds.

    It is split at commas if it has any; else it is one rule if its only blanks
    stand between parentheses; else it is split at blanks.
    """
    if "," in text:
        parts = text.split(",")
    elif text.strip().endswith(")") and not any(map(str.isspace, text.strip().partition("(")[0])):
        parts = [text] if text.count("(") == 1 else text.split()
    else:
        parts = text.split()
    return tuple(PermissionRule.of(part.strip(), profile) for part in parts if part.strip())


def skill_policy(
    allowed: str | Iterable[str] | None, profile: Profile = NEWEST
) -> PermissionPolicy:
    """Return the policy of a skill that runs: what it lists, and nothing else.

    Args:
        allowed: ``allowed-tools``, a text or a list; None where it is absent,
            which is no tool.
        profile: the version.

    """
    texts = [] if allowed is None else [allowed] if isinstance(allowed, str) else list(allowed)
    rules = tuple(rule for text in texts for rule in skill_rules(text, profile))
    return PermissionPolicy(allow=rules, default_decision=Effect.DENY, profile=profile)
