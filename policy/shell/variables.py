"""Variables that a command sets, and whether that changes how a shell reads what follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from policy.shell.readings import is_assignment
from policy.shell.words import Word

if TYPE_CHECKING:
    from policy.dialect import Shell

__all__ = ["exports_inherited", "guards", "is_worked_out", "may_be_set"]

# Builtins that set variables, and those before which what is set may stay set.
_DECLARING: Final = frozenset("declare typeset local export readonly".split())
_KEEPING: Final = _DECLARING | frozenset(
    ": break continue return exit shift times set unset".split()
)

# A number as every shell reads it, and a home folder that some put there, quoted or not.
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_AT_HOME: Final = re.compile(r"(?:^|:)~")


def is_worked_out(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a variable is set to what a shell works out, quoted or not: a sum, a home folder."""
    for word in takewhile(is_assignment, words):
        name, _, value = word.plain.partition("=")
        if _AT_HOME.search(value) and ("$" not in word.raw or "~" in word.raw):
            return True
        if name.rstrip("+") in shell.counted and not _NUMBER.fullmatch(value):
            return True
    return False


def guards(words: Sequence[Word], shell: Shell, *, first: bool) -> bool:
    """Whether a variable is set that changes how a shell reads what follows."""
    set_before = [*takewhile(is_assignment, words)]
    program = words[len(set_before) :]
    name = program[0].plain if program else ""
    guarded = _expression(shell.guarded)
    for word in set_before:
        variable = _variable(word.raw)
        if variable == "IFS" or ((not first or name in _KEEPING) and guarded.fullmatch(variable)):
            return True
    if name in _DECLARING and (not first or program[0].raw != name):
        # What is spelled in another way is read by all shells as a command, and as no more.
        declared = (word.plain for word in program[1:] if "=" in word.plain)
        if any(guarded.fullmatch(_variable(text)) for text in declared):
            return True
    return is_worked_out(words, shell)


def exports_inherited(program: Sequence[Word], shell: Shell) -> bool:
    """Whether a command gives a variable of the environment to what follows it."""
    if program[0].plain != "export":
        return False
    names = {_variable(word.plain) for word in program[1:] if "=" in word.plain}
    guarded = _expression(shell.guarded)
    return any(name in shell.inherited or guarded.fullmatch(name) for name in names)


def _variable(text: str) -> str:
    return text.partition("=")[0].rstrip("+")


def may_be_set(name: str, shell: Shell) -> bool:
    """Whether a command that does nothing but set a variable of this name does no harm."""
    if _expression(shell.guarded).fullmatch(name):
        return name in shell.counted and name in shell.variables
    return shell.setting or name in shell.variables


@lru_cache(maxsize=16)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)
