"""Which tool names stand for all tools when two tables are compared.

Rules name tools, or match names by ``*``. Two names that the same rules match
get the same rows, so one of each such class is enough: every name that is
written, one for each glob and for each pair of globs that share a name, and
one that no rule matches but by a glob for everything.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.patterns.pattern import Pattern, freeze
from policy.ruleset import RuleSet

__all__ = ["OTHER_TOOL", "representatives"]

# Stands for every tool that no rule speaks of.
OTHER_TOOL = "OtherTool"

_GLOBS = 64  # globs whose pairs are all tried


def representatives(sets: Iterable[RuleSet]) -> tuple[list[str], bool]:
    """Return names that stand for all tools, and whether they really stand for all."""
    names: dict[str, None] = {}
    globs: dict[str, Pattern] = {}
    for rules in sets:
        names.update(dict.fromkeys(sorted({*rules.dialect.arguments, *rules.names})))
        globs.update((glob, Pattern.text(glob)) for glob in rules.globs)
    patterns = list(globs.values())
    for pattern in patterns:
        names[_name(freeze(pattern, "x"))] = None
    exact = len(patterns) <= _GLOBS
    if exact:
        for index, pattern in enumerate(patterns):
            for other in patterns[index + 1 :]:
                witness = (pattern & other).witness()
                if witness is not None:
                    names[_name(witness)] = None
    names[OTHER_TOOL] = None
    return list(names), exact


def _name(text: str) -> str:
    # `*` alone is every name: any will do, and this one is read as that.
    return OTHER_TOOL if text in ("", "x") else text
