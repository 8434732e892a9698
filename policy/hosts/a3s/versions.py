"""Versions of A3S Code: the same file means something else in another one."""

from __future__ import annotations

from typing import Final

import attrs

from policy.hosts.version import Version, version_of, version_text

__all__ = ["NEWEST", "Profile"]


@attrs.frozen
class Profile:
    """One version, and what differs in it.

    Attributes:
        version: major, minor and patch.

    """

    version: Version = (9, 1, 2)

    @classmethod
    def of(cls, text: str) -> Profile:
        """Return the profile of ``9.0``, ``a3s@6.8.1`` or the like.

        Raises:
            ValueError: *text* is no version.

        """
        return cls(version_of(text, "a3s", "9"))

    def __str__(self) -> str:
        return version_text("a3s", self.version)

    def since(self, major: int, minor: int = 0, patch: int = 0) -> bool:
        """Return whether this version is the one named or a later one."""
        return self.version >= (major, minor, patch)

    @property
    def children_are_checked(self) -> bool:
        """Whether an agent without permissions of its own has those of its parent."""
        return self.since(2, 5)

    @property
    def parent_bounds(self) -> bool:
        """Whether the parent's permissions bound an agent that has its own."""
        return self.since(5, 3, 1)

    @property
    def governs_inner_calls(self) -> bool:
        """Whether the calls of a script pass the permissions of the session."""
        return self.since(5)

    @property
    def hides_tools(self) -> bool:
        """Whether what a policy says of a tool decides if the model sees it."""
        return self.since(5, 2, 8)

    @property
    def one_search(self) -> bool:
        """Whether ``search`` stands for ``grep``, ``glob`` and ``bm25``."""
        return self.since(6, 8)

    @property
    def has_plan_tool(self) -> bool:
        """Whether there is ``update_plan``."""
        return self.since(8, 4)

    @property
    def has_lanes(self) -> bool:
        """Whether ``lane:query`` may stand among the rules that allow."""
        return self.since(9)

    @property
    def timers_settle(self) -> bool:
        """Whether a timeout, or a lane that is trusted, answers for a person."""
        return not self.since(9)


NEWEST: Final = Profile()
