"""Whether anybody can tell which files a command reads, for hosts that keep reads inside.

Such a host asks for what it cannot follow, whatever allows it: a program that it is not
shown, a script that stands in an argument, a change of folder. What names a file of any
program it takes for one that the program reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Final

from policy.commands.knowledge import Files
from policy.commands.match_texts import is_assignment, is_safe_assignment
from policy.commands.opened import is_abroad, is_indirect
from policy.commands.words import ASSIGNMENT
from policy.commands.wrappers import basename, carries_files

if TYPE_CHECKING:
    from policy.commands.folders import Examined
    from policy.commands.knowledge import Shell
    from policy.commands.words import Word

__all__ = ["is_untraced", "named"]

# Options of interpreters behind which no script stands.
_NO_SCRIPT: Final = frozenset("-m -s -u -v -B -V --version".split())
_EVALUATED: Final = frozenset({"-", "eval"})
_NAME: Final = re.compile(r"[\w./@:=+,%~-]*")


def is_untraced(
    text: str,
    words: Sequence[Word],
    program: Sequence[Word],
    known: Examined | None,
    shell: Shell,
) -> bool:
    """Return whether it cannot be told which files one command reads.

    Args:
        text: the script that the command is part of.
        words: the command.
        program: the same behind its wrappers and assignments.
        known: what is known of the program.
        shell: what the host knows of commands.

    """
    name = program[0].plain.rsplit("/", 1)[-1]
    kinds = shell.kinds
    said = name in kinds.speechless or all(map(is_assignment, words))
    return (
        any(not word.literal and not (said and word.vetted) for word in words)
        or (name not in kinds.speechless and any(_is_elsewhere(w.plain) for w in program[1:]))
        or any(word.plain.startswith("~") and word.plain[1:2] not in ("", "/") for word in words)
        or "xargs" in {word.plain for word in words[: len(words) - len(program) + 1]}
        or _sets_more(words, program, shell)
        or _is_given_variables(words, shell)
        or (name in kinds.movers and [word.plain for word in program[1:]] != [shell.cwd])
        or (name in kinds.interpreters and (_is_given_script(program) or _is_fed(text, program)))
        or _is_odd_reader(program, known, shell)
        or (name == "command" and not all(map(_LOOKS_UP.fullmatch, _options(program))))
    )


# What `command` is given that starts nothing.
_LOOKS_UP: Final = re.compile(r"-[pvV]+|--")


def _options(program: Sequence[Word]) -> Iterator[str]:
    return takewhile(lambda text: text[:1] == "-", (word.plain for word in program[1:]))


def _is_elsewhere(name: str) -> bool:
    return is_indirect(name) or is_abroad(name) or any(map(_may_climb, name.split("/")))


def _may_climb(pattern: str) -> bool:
    """Whether a pattern may stand for the folder above: `.*`."""
    if not _GLOB.search(pattern) or pattern[0] in "*?":
        return False
    return pattern[0] == "[" or "[:" in pattern or fnmatchcase("..", pattern)


_GLOB: Final = re.compile(r"[*?]|\[.*\]", re.DOTALL)


def _sets_more(words: Sequence[Word], program: Sequence[Word], shell: Shell) -> bool:
    """Whether variables are set before the program that say more than harmless ones."""
    around = words[: len(words) - len(program)]
    if not around:
        name = words[0].raw.partition("=")[0].rstrip("+")
        return is_assignment(words[0]) and (
            len(words) > 1 or re.fullmatch(shell.variables.guarded, name) is not None
        )
    leading = True
    for word in around:
        leading &= is_assignment(word)
        if is_assignment(word) and not (leading and is_safe_assignment(word, shell)):
            return True
    return False


def _is_given_variables(words: Sequence[Word], shell: Shell) -> bool:
    """Whether `env` sets, anywhere, what is not known to do no harm."""
    behind = [*dropwhile(is_assignment, words)]
    if not behind or basename(behind[0].plain) != "env":
        return False
    return any(
        ASSIGNMENT.match(word.plain) and not is_safe_assignment(word, shell, harmless=True)
        for word in behind[1:]
    )


def _is_given_script(program: Sequence[Word]) -> bool:
    return any(
        word.plain in _EVALUATED
        or not _NAME.fullmatch(word.plain)
        or (word.plain.startswith("-") and word.plain not in _NO_SCRIPT)
        for word in program[1:]
    )


def _is_fed(text: str, program: Sequence[Word]) -> bool:
    """Whether an interpreter that is named no script may be given one by what stands before it."""
    if any(word.plain == "-m" or not word.plain.startswith("-") for word in program[1:]):
        return False
    return "|" in text.rpartition(program[0].raw)[0]


def _is_odd_reader(program: Sequence[Word], known: Examined | None, shell: Shell) -> bool:
    """Whether a program that reads files is not called in a way that does no harm."""
    of_host = shell.programs.known.get(program[0].plain)
    if of_host is None or known is None or known.harmless:
        return False
    return of_host.harmless and of_host.reads is not Files.NONE


_ATTACHED: Final = re.compile(
    r"(?:--?[\w-]+|\w+)=(.*)|-[a-zA-Z]([^-].*)|-[^-](\.\.|~.*)", re.DOTALL
)


def named(words: Sequence[Word], program: Sequence[Word], shell: Shell) -> Iterator[str]:
    """Yield what may be the names of files that a command reads, beside those it is known to."""
    around = len(words) - len(program)
    if program[0].plain in shell.kinds.speechless and carries_files(words, around, shell):
        return
    of_host = shell.programs.known.get(program[0].plain)
    rest = [*words[1:around], *program[1:]]
    if of_host is not None and of_host.reads is Files.BUT_LAST:
        rest = rest[:-1]
    if is_assignment(words[0]):
        rest.insert(0, words[0])
    for word in rest:
        attached = _ATTACHED.fullmatch(word.plain)
        name = (attached[1] or attached[2] or attached[3]) if attached else word.plain
        if name and name[0] != "-":
            yield name
