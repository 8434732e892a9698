"""What users and administrators keep beside a project: settings, agents, skills and commands.

Agents of an administrator come before those of a project, and those of a user behind
them; skills of all are there (2.1.329, observed).
"""

from __future__ import annotations

from typing import Final

import attrs

from policy import limits
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.files.tree import Problem
from policy.hosts.claude.discovery import Role, discover

__all__ = ["OF_ADMINISTRATORS", "OF_USERS", "managed_roles", "user_roles"]

# The names in either folder that are looked at.
OF_USERS: Final = frozenset({"agents", "commands", "settings.json", "skills"})
OF_ADMINISTRATORS: Final = frozenset({".claude", "managed-settings.d", "managed-settings.json"})

_HOME: Final = "~"
_USER: Final = "~/.claude"
_MANAGED: Final = "/etc/claude-code"
_WHOLE: Final = f"{_MANAGED}/managed-settings.json"


@attrs.frozen
class _Placed(Tree):
    """A tree as it is seen from outside: every path below one folder."""

    tree: Tree
    folder: str

    @property
    def label(self) -> str:
        return self.tree.label

    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.folder}/{path}" for path in self.tree.paths())

    def problems(self) -> tuple[Problem, ...]:
        return tuple(
            attrs.evolve(problem, path=f"{self.folder}/{problem.path}".removesuffix("/."))
            for problem in self.tree.problems()
        )

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        try:
            return self.tree.read(path.removeprefix(f"{self.folder}/"), limit)
        except PolicyError as error:
            raise PolicyError(error.message, file=path, help=error.help) from None


def user_roles(tree: Tree) -> list[Role]:
    """Return what is read of the folder of a user, ``~/.claude``."""
    roles = _roles(_Placed(tree, _USER), _HOME)
    return [
        attrs.evolve(role, scope="user") if role.kind == "settings" else role
        for role in roles
        if (role.kind, role.scope) != ("settings", "local")
    ]


def managed_roles(tree: Tree) -> list[Role]:
    """Return what is read of the folder of an administrator, e.g. ``/etc/claude-code``."""
    placed = _Placed(tree, _MANAGED)
    roles = [role for role in _roles(placed, _MANAGED) if role.kind != "settings"]
    refused = {problem.path for problem in placed.problems()}
    # What a later part says counts before what an earlier one does, or the file itself.
    for path in sorted(placed.named(), key=lambda path: (path != _WHOLE, path), reverse=True):
        name = path.removeprefix(f"{_MANAGED}/")
        folder, _, part = name.rpartition("/")
        in_parts = folder == "managed-settings.d" and not part.startswith(".")
        unread = path in refused and path in (_MANAGED, f"{_MANAGED}/managed-settings.d")
        if path == _WHOLE or (in_parts and name.endswith(".json")) or unread:
            try:
                roles.append(Role(path, "settings", "managed", placed.source(path)))
            except PolicyError as error:
                roles.append(Role(path, "settings", "managed", error=error))
    return roles


def _roles(tree: Tree, root: str) -> list[Role]:
    found = [each for each in discover(tree) if each.root == root]
    return [
        attrs.evolve(role, above=True, beside=True)
        for each in found
        for role in each.files
        if not role.assumed and not role.above
    ]
