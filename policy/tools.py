"""Which tool names stand for all tools when two tables are compared.

Rules name tools, or match names by ``*``. Two names that the same rules match
get the same rows, so one of each such class is enough: every name that is
written, and one of each set of globs that share a name nobody has written.
"""

from __future__ import annotations

from collections.abc import Iterable

from policy.patterns.classes import classes
from policy.patterns.pattern import Pattern
from policy.ruleset import RuleSet

__all__ = ["OTHER_TOOL", "representatives"]

# Stands for every tool that no rule speaks of.
OTHER_TOOL = "OtherTool"


def representatives(sets: Iterable[RuleSet]) -> tuple[list[str], bool]:
    """Return names that stand for all tools, and whether they really stand for all."""
    names: dict[str, None] = {}
    globs: dict[str, Pattern] = {}
    for rules in sets:
        dialect = rules.dialect
        written = {*dialect.arguments, *dialect.aliases, *dialect.aliases.values(), *rules.names}
        names.update(dict.fromkeys(sorted(written)))
        globs.update((glob, Pattern.text(glob)) for glob in rules.globs)
    patterns = list(globs.values())
    found, exact = classes(patterns, names)
    if OTHER_TOOL not in names:
        found[frozenset(i for i, glob in enumerate(patterns) if glob.matches(OTHER_TOOL))] = OTHER_TOOL
    names.update(dict.fromkeys(found.values()))
    return list(names), exact
