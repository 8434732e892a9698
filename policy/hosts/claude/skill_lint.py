"""What people take `allowed-tools` of skills and commands for, and what it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policy.finding import Finding, Severity
from policy.hosts.claude.data.tools import ALIASES, FILE_TOOLS
from policy.hosts.claude.skills import Skill

__all__ = ["skill_findings"]

_SHELLS: Final = ("Bash", "PowerShell")
# What only looks: a list of nothing else looks like a bound.
_LOOKING: Final = frozenset(
    {*FILE_TOOLS["Read"], "WebFetch", "WebSearch", "Skill", "TodoWrite", "AskUserQuestion", "LS"}
)


def skill_findings(skill: Skill) -> Iterator[Finding]:
    """Yield what the list of one skill means beyond what it says."""
    names = set()
    for matcher in skill.allowed.matchers:
        name = ALIASES.get(matcher.tool, matcher.tool)
        names.add(name)
        content = "" if matcher.specifier is None else matcher.specifier.text.strip()
        if name in _SHELLS and content in ("", "*"):
            yield Finding(
                "skill-allows-every-command",
                f"while `{skill.name}` is active every command runs unasked, and so it does in"
                " every agent that is started then",
                Severity.WARNING,
                matcher.span,
                help=f"name the commands, as in `{name}(git add *)`",
            )
    if names and names <= _LOOKING:
        yield Finding(
            "skill-list-is-no-bound",
            f"the list takes no tool from `{skill.name}`: what is not in it is there as before",
            Severity.NOTE,
            skill.span,
            help="`disallowed-tools` takes tools away while the skill is active",
        )
