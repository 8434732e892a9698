"""Which two things ``policy diff`` compares."""

from __future__ import annotations

from pathlib import Path

from policy.errors import PolicyError
from policy.source import visible

__all__ = ["sides"]


def sides(old: str, new: str | None) -> tuple[str, str]:
    """Return the names of both sides: paths or revisions.

    Raises:
        PolicyError: there is only one side, or no common ancestor.

    """
    if new is not None:
        return old, new
    if _exists(old):
        msg = f"expected something to compare `{visible(old)}` with"
        raise PolicyError(
            msg,
            help=f"write `policy diff {visible(old)} NEW`; a revision of that name is"
            f" `refs/heads/{visible(old)}`",
        )
    if "..." in old:
        first, _, second = old.partition("...")
        return _ancestor(first or "HEAD", second or "HEAD"), second or "HEAD"
    if ".." in old:
        first, _, second = old.partition("..")
        return first or "HEAD", second or "HEAD"
    return old, "."


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _ancestor(one: str, other: str) -> str:
    for revision in (one, other):
        if revision.startswith("-"):
            msg = f"`{visible(revision)}` is not the name of a revision"
            raise PolicyError(msg)
    from policy.files import git  # noqa: PLC0415  # which starts processes

    found = git.output(Path(), "merge-base", one, other, none=True)
    if not found:
        msg = f"git knows no common ancestor of `{visible(one)}` and `{visible(other)}`"
        raise PolicyError(msg)
    return found.decode("ascii").strip()
