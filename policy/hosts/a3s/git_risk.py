"""The risk of a call of the tool `git`, as a guardrail sees it: by its command and its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from policy.hosts.a3s.shell_risk import Risk

__all__ = ["git_risk"]

_Check = Callable[[object], bool]


def _text(value: object) -> bool:
    return isinstance(value, str)


def _no_option(value: object) -> bool:
    text = value.strip() if isinstance(value, str) else ""
    return bool(text) and not text.startswith("-")


def _count(value: object) -> bool:
    return type(value) is int and value >= 0


def _positive(value: object) -> bool:
    return type(value) is int and value > 0


_PAGES: Final[dict[str, _Check]] = {
    "limit": _positive,
    "max_count": _positive,
    "cursor": _text,
}

# Command -> the only keys with which it looks, and what their values must be.
_LOOKS: Final[dict[str, dict[str, _Check]]] = {
    "status": {},
    "log": _PAGES,
    "diff": {"target": _no_option, "byte_offset": _count, "max_bytes": _positive},
    "remote": {"remote_name": _text, "cursor": _text},
    "branch": _PAGES,
    "stash": {"cursor": _text},
    "worktree": {"subcommand": lambda value: value == "list", "cursor": _text},
}

# Command -> keys of which one must be there for a change that can be taken back.
_BOUNDED: Final[dict[str, dict[str, _Check]]] = {
    "branch": {"name": _no_option},
    "checkout": {"ref": _no_option},
    "stash": {"message": _text, "include_untracked": lambda value: value is True},
    "remote": {"remote_name": _text},
    "worktree": {"subcommand": lambda value: value == "add"},
}


def git_risk(args: Mapping[str, Any]) -> Risk:
    """Return the risk of a call; one with `force`, or with what is not known, is high."""
    command = args.get("command")
    if not isinstance(command, str) or args.get("force", False) is not False:
        return Risk.HIGH
    others = {key: value for key, value in args.items() if key not in {"command", "force"}}
    looks = _LOOKS.get(command)
    if looks is not None and "force" not in args and _all_known(others, looks):
        return Risk.ROUTINE
    bounded = _BOUNDED.get(command, {})
    if any(key in others and check(others[key]) for key, check in bounded.items()):
        return Risk.BOUNDED
    return Risk.HIGH


def _all_known(given: Mapping[str, Any], known: Mapping[str, _Check]) -> bool:
    return all(key in known and known[key](value) for key, value in given.items())
