"""A command as a whole, in the texts by which rules that spell it out know it."""

from __future__ import annotations

import re
from itertools import dropwhile
from typing import TYPE_CHECKING, Final

from policy.shell.readings import as_granted, as_written, is_assignment

if TYPE_CHECKING:
    from policy.dialect import Shell
    from policy.shell.words import Script

__all__ = ["as_a_whole", "is_piped", "without_surroundings"]

_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_JOINS: Final = re.compile(r"&&|\|")
_TARGET: Final = r"(?:\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|[^\s;|&<>'\"\\])+"
_AROUND: Final = re.compile(
    r"(\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    rf"|(?:(?<!\s)\s+)?(?<!\w)[0-9]*(?:&>>?|>>|>[|&]?|<&?)(?![<(])[ \t]*{_TARGET}"
    r"|(?:(?<!\s)\s+)?(&&|\|\|?)\s*|(?<!\S)#[^\n]*",
    re.DOTALL,
)


def is_piped(text: str, script: Script) -> bool:
    """Return whether *text*, which was read as *script*, may have pipes."""
    return len(script.commands) > 1 and _PIPE.search(text) is not None


def as_a_whole(text: str, *, piped: bool) -> tuple[str, ...]:
    """Return the text of a command, and with its pipes as rules have them."""
    whole = text.strip(" \t\n")
    if whole.startswith("$"):
        return ()  # no rule spells out a program that nobody knows
    if not piped:
        return (whole,)
    return whole, " | ".join(piece.strip(" \t\n") for piece in _PIPE.split(whole))


def without_surroundings(text: str, script: Script, shell: Shell) -> str:
    """Return a joined command without what is around its programs (see `Command.bare`)."""
    if not _JOINS.search(text):
        return ""
    bare = _AROUND.sub(lambda found: found[1] or (f" {found[2]} " if found[2] else ""), text)
    first = script.commands[0].words if script.commands else []
    program = [*dropwhile(is_assignment, first)]
    if program:
        behind = as_granted(program, shell)
        bare = bare.strip().removeprefix(as_written(first[: len(first) - len(behind)]))
    bare = bare.strip()
    return bare if bare != text else ""
