"""How hosts are read: in which version, and with which folders beside a project."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from policy.hosts.project import FrontEnd

__all__ = ["AS_OBSERVED", "Hosts", "add_hosts"]


@attrs.frozen
class Hosts:
    """What somebody asks of hosts.

    Attributes:
        profiles: such as ``claude-code@2.1.240``.
        user: the folder of a user, "" for none.
        managed: the folder of an administrator, "" for none.

    """

    profiles: tuple[str, ...] = ()
    user: str = ""
    managed: str = ""

    @classmethod
    def of(cls, options: argparse.Namespace) -> Hosts:
        """Return what the options of `add_hosts` say."""
        return cls(tuple(options.profile), options.user, options.managed)

    @property
    def front_ends(self) -> tuple[FrontEnd, ...]:
        """Who reads. Raises PolicyError for a profile that is none, or no folder."""
        from policy.hosts import front_ends  # noqa: PLC0415  # a compiled policy does without

        return front_ends(self.profiles, self.user, self.managed)


# The newest version known of each, and nothing beside a project.
AS_OBSERVED: Final = Hosts()


def add_hosts(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how hosts are read."""
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="HOST@VERSION",
        help="the version of a host, e.g. claude-code@2.1.240 (default: the one observed)",
    )
    parser.add_argument(
        "--user",
        default="",
        metavar="FOLDER",
        help="read what a user of Claude Code keeps beside projects, e.g. ~/.claude",
    )
    parser.add_argument(
        "--managed",
        default="",
        metavar="FOLDER",
        help="read what an administrator keeps for Claude Code, e.g. /etc/claude-code",
    )
