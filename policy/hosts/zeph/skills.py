"""The skills an agent sees: globs in which only the first ``*`` is a wildcard."""

from __future__ import annotations

from collections.abc import Iterable

from policy.hosts.zeph.definition import SkillFilter, SubAgentDef
from policy.hosts.zeph.errors import Kind, ZephError

__all__ = ["check_globs", "filter_skills", "matches", "sees"]


def matches(pattern: str, name: str) -> bool:
    """Return whether a glob matches the name of a skill; case counts.

    ``a*b*`` is what starts with ``a`` and ends with ``b*``.
    """
    prefix, star, suffix = pattern.partition("*")
    if not star:
        return pattern == name
    long_enough = len(name) >= len(prefix) + len(suffix)
    return long_enough and name.startswith(prefix) and name.endswith(suffix)


def check_globs(skills: SkillFilter, definition: SubAgentDef | None = None) -> None:
    """Refuse ``**``, as Zeph does once an agent with it is started.

    Raises:
        ZephError: of kind ``Invalid``.

    """
    for key, patterns in (("include", skills.include), ("exclude", skills.exclude)):
        for index, pattern in enumerate(patterns):
            if "**" in pattern:
                message = f"glob pattern '{pattern}' uses '**' which is not supported"
                span = definition.span(f"skills.{key}[{index}]") if definition else None
                raise ZephError(Kind.INVALID, message, span, help="write a single `*`")


def sees(skills: SkillFilter, name: str) -> bool:
    """Return whether the skill *name* is left by the filter.

    Raises:
        ZephError: of kind ``Invalid``, where a glob has ``**``.

    """
    check_globs(skills)
    included = not skills.include or any(matches(glob, name) for glob in skills.include)
    return included and not any(matches(glob, name) for glob in skills.exclude)


def filter_skills(names: Iterable[str], *filters: SkillFilter) -> tuple[str, ...]:
    """Return the skills that every one of *filters* leaves: those of a chain, met.

    Raises:
        ZephError: of kind ``Invalid``, where a glob has ``**``.

    """
    for each in filters:
        check_globs(each)
    return tuple(name for name in names if all(sees(each, name) for each in filters))
