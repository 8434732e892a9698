"""Which tool names stand for all tools when two tables are compared.

Rules name tools, or match names by ``*``. Two names that the same rules match
get the same rows, so one of each such class is enough: every name that is
written, and one of each set of globs that share a name nobody has written.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from policy.patterns.classes import classes
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern
from policy.ruleset import RuleSet

__all__ = ["OTHER_TOOL", "further_tools", "glob_pattern", "representatives"]

# Stands for every tool that no rule speaks of.
OTHER_TOOL = "OtherTool"


def representatives(sets: Iterable[RuleSet]) -> tuple[list[str], bool]:
    """Return names that stand for all tools, and whether they really stand for all."""
    names: dict[str, None] = {}
    globs: dict[str, None] = {}
    for rules in sets:
        dialect = rules.dialect
        written = {*dialect.arguments, *dialect.aliases, *dialect.aliases.values(), *rules.names}
        names.update(dict.fromkeys(sorted(written)))
        for glob in rules.globs:
            # `=read` is one name, in that case only.
            exact_name = str(glob_pattern(glob)) if glob_pattern(glob).exact else ""
            (names if exact_name else globs)[exact_name or glob] = None
    further, exact = further_tools(frozenset(globs), frozenset(names))
    return list(dict.fromkeys((*names, *further))), exact


@lru_cache(maxsize=1024)  # most agents of a project share their globs
def further_tools(globs: frozenset[str], names: frozenset[str]) -> tuple[tuple[str, ...], bool]:
    """Return a name for each set of globs that share one which is not among *names*."""
    patterns = [glob_pattern(glob) for glob in sorted(globs)]
    found, exact = classes(patterns, names)
    if OTHER_TOOL not in names:
        alike = frozenset(i for i, glob in enumerate(patterns) if glob.matches(OTHER_TOOL))
        found[alike] = OTHER_TOOL
    return tuple(found.values()), exact


@lru_cache(maxsize=4096)
def glob_pattern(glob: str) -> Pattern:
    """Return the pattern of a glob over tool names."""
    return names(glob)
