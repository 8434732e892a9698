"""What changed in Claude Code from one version to the next, as far as it decides calls.

2.1.329 was run and observed. What is said of other versions is read from their
release notes and the documentation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from policy.core import values
from policy.hosts.claude.data import table
from policy.hosts.fields import version_of

__all__ = ["CHANGES", "UNTOLD", "Behaviour", "behaviour"]


@values.frozen
class Behaviour:
    """How one version behaves, where versions differ.

    Attributes:
        bypass_of_agents: whether a definition may set ``bypassPermissions``.
        lsp_in_background: whether an agent in the background has `LSP`.
        bypass_of_project: whether a project may choose ``bypassPermissions``.
        lock_binds_skills: whether skills allow nothing where only an administrator's rules do.
        colon_star_inside: whether a rule with ``:*`` before its end is loaded.
        nested_skills: whether a rule that denies a skill denies those of its name in folders.
        reads_kept_inside: whether a setting blocks reads outside working folders.
        text_behind_refused: whether a rule with text behind its parentheses is none.
        input_is_read: whether what a command reads from by ``<`` is a file that is read.
        removals_asked: whether the user alone allows critical removals in `auto`.
        unopened_programs: the programs whose operands are not looked at as files.
        links_ruled: whether rules for the name of a folder of the system that is a link hold
            where it leads.
    """

    bypass_of_agents: bool = False
    lsp_in_background: bool = True
    bypass_of_project: bool = False
    lock_binds_skills: bool = True
    colon_star_inside: bool = True
    nested_skills: bool = True
    reads_kept_inside: bool = True
    text_behind_refused: bool = True
    input_is_read: bool = True
    removals_asked: bool = True
    unopened_programs: frozenset[str] = frozenset()
    links_ruled: bool = True

    def ignores(self, mode: str | None) -> bool:
        """Return whether a mode counts for nothing where a project says it."""
        return mode == "auto" or (mode == "bypassPermissions" and not self.bypass_of_project)


def _set_of_list(value: object) -> object:
    return frozenset(value) if isinstance(value, list) else value


@values.frozen
class VersionChange:
    """What was otherwise before a version.

    Attributes:
        since: the version that changed it.
        field: of `Behaviour`.
        before: what it was in every version before.
    """

    since: str
    field: str
    before: Any = values.field(converter=_set_of_list)


_DATA: Final = table("versions")

# Versions before this one are refused: what they did is not described here.
OLDEST: Final = "2.1.240"

# The newest first: each says what held before it.
CHANGES: Final = tuple(VersionChange(**each) for each in _DATA["changes"])

# What release notes report besides, and no profile does otherwise: since when, what, and why not.
UNTOLD: Final = tuple(
    (each["since"], each["what"], each["why_not"]) for each in _DATA["unmodelled"]
)


@lru_cache(maxsize=64)  # asked at every step of every chain
def behaviour(version: str) -> Behaviour:
    """Return how *version*, such as ``2.1.329``, behaves.

    Raises:
        ValueError: it is no version, or one before `OLDEST`.

    """
    asked = version_of(version, "claude-code", "2.1.329")
    if asked < version_of(OLDEST, "claude-code", "2.1.329"):
        msg = f"expected version {OLDEST} or a later one, found `{version}`"
        raise ValueError(msg)
    found = Behaviour()
    for change in CHANGES:
        if asked < version_of(change.since, "claude-code", "2.1.329"):
            found = values.evolve(found, **{change.field: change.before})
    return found
