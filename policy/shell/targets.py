"""The files of redirections, as a host looks at them that looks into commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from policy.shell.doubts import is_environment
from policy.shell.opened import is_indirect, is_unwritable
from policy.shell.parts import Redirection
from policy.shell.words import Target

if TYPE_CHECKING:
    from policy.shells import Shell

__all__ = ["GUARDED", "is_unchecked_target", "is_untold", "redirected"]

# A file of which nothing is known, and that no rule allows.
GUARDED: Final = Redirection(None, writes=False, guarded=True)


# A shell opens a connection by these, and no file.
_NETWORK: Final = ("/dev/tcp/", "/dev/udp/")


def redirected(targets: Iterable[Target], shell: Shell) -> Iterator[Redirection]:
    """Yield the files of redirections, and what their names may be those of besides."""
    for target in targets:
        yield Redirection(target.name, target.writes)
        if shell.control and target.name == "":
            yield Redirection(".", target.writes)  # the folder that it runs in
        if shell.control and target.name is not None:
            if is_indirect(target.name) or target.name.startswith(_NETWORK):
                yield Redirection(None, target.writes)
            if target.writes and is_unwritable(target.name):
                yield GUARDED


def is_unchecked_target(targets: Iterable[Target]) -> bool:
    """Whether nobody vouches for a command that opens one of these, whatever is in it."""
    names = [target.name or "" for target in targets]
    return any("\n" in name or is_environment(name) for name in names)


def is_untold(targets: Sequence[Target]) -> bool:
    """Whether a file is read of which no name is told but that of a pattern: `< ~+`, `< '$x'`."""
    pairs = pairwise((Target(None, writes=True), *targets))
    return any(
        target.name is None and not target.writes and (before.writes or "$" in (before.name or "$"))
        for before, target in pairs
    )
