"""Variables that a command sets, and whether that changes how a shell reads what follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Final

from policy.shell.readings import is_assignment
from policy.shell.words import Simple, Word

if TYPE_CHECKING:
    from policy.shells import Shell

__all__ = [
    "DECLARING",
    "SETTING",
    "exports_inherited",
    "fills_guarded",
    "guards",
    "is_worked_out",
    "may_be_set",
    "sets_in_pipe",
]

# Builtins that set variables, and those before which what is set may stay set.
SETTING: Final = frozenset("declare typeset local export readonly".split())
DECLARING: Final = SETTING | frozenset("unset unsetenv float integer private".split())
_KEEPING: Final = SETTING | frozenset(": break continue return exit shift times set unset".split())

# A number as every shell reads it, and a home folder that some put there, quoted or not.
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_AT_HOME: Final = re.compile(r"(?:^|:)~")


def is_worked_out(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a variable is set to what a shell works out, quoted or not: a sum, a home folder."""
    for word in takewhile(is_assignment, words):
        name, _, value = word.plain.partition("=")
        if _AT_HOME.search(value) and ("$" not in word.raw or "~" in word.raw):
            return True
        if name.rstrip("+") in shell.variables.counted and not _NUMBER.fullmatch(value):
            return True
    return False


def guards(words: Sequence[Word], shell: Shell, *, first: bool) -> bool:
    """Whether a variable is set that changes how a shell reads what follows."""
    set_before = [*takewhile(is_assignment, words)]
    program = words[len(set_before) :]
    name = program[0].plain if program else ""
    guarded = _expression(shell.variables.guarded)
    if "=" in name and guarded.fullmatch(_variable(name)):
        return True  # spelled in another way it is a name to shells, and a variable to the host
    for word in set_before:
        variable = _variable(word.raw)
        if variable == "IFS" or ((not first or name in _KEEPING) and guarded.fullmatch(variable)):
            return True
    if name in SETTING and (not first or program[0].raw != name):
        # What is spelled in another way is read by all shells as a command, and as no more.
        declared = (word.plain for word in program[1:] if "=" in word.plain)
        if any(guarded.fullmatch(_variable(text)) for text in declared):
            return True
    if name in _FILLING_OTHERS and fills_guarded(program, shell):
        return True
    return is_worked_out(words, shell)


def exports_inherited(program: Sequence[Word], shell: Shell) -> bool:
    """Whether a command gives a variable of the environment to what follows it."""
    if program[0].plain != "export":
        return False
    names = {_variable(word.plain) for word in program[1:] if "=" in word.plain}
    guarded = _expression(shell.variables.guarded)
    return any(name in shell.variables.inherited or guarded.fullmatch(name) for name in names)


def fills_guarded(words: Sequence[Word], shell: Shell) -> bool:
    """Whether a builtin may fill a variable by which commands are read, or clear it.

    Any word that it is given counts for the name of one.
    """
    names = [word.plain for word in words if not is_assignment(word)]
    while names and names[0] in _AROUND:
        names = [*dropwhile(_OPTION.fullmatch, names[1:])]
    if names and names[0] in _CLEARING:
        cleared = dropwhile(("-f", "-v").__contains__, names[1:])
        return any(not _is_cleared(each, shell, by=names[0]) for each in cleared)
    letter = _FILLING.get(names[0]) if names else None
    if letter is None:
        return False
    if letter and not any(each[:1] == "-" and letter in each for each in names[1:]):
        return False
    found = (_FILLED.match(each) for each in names[1:])
    guarded = _expression(shell.variables.guarded)
    return any(each is not None and guarded.fullmatch(each[1]) for each in found)


def _is_cleared(name: str, shell: Shell, *, by: str) -> bool:
    """Whether a builtin that clears variables clears this one, and no command is read by it."""
    if not _NAME.fullmatch(name):
        return False
    return by != "unset" or not _expression(shell.variables.guarded).fullmatch(name)


_CLEARING: Final = frozenset({"unset", "unsetenv"})
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Builtins that put what they read into variables that they name, and the option without which
# they do not.
_FILLING: Final = {
    **dict.fromkeys("read mapfile readarray getopts".split(), ""),
    "print": "v",
    "printf": "v",
    "set": "A",
    "wait": "p",
}
# Those of which no more is told elsewhere.
_FILLING_OTHERS: Final = frozenset("getopts print set wait".split())
_AROUND: Final = frozenset("builtin command noglob !".split())
_OPTION: Final = re.compile(r"-[-pvV]*")
# A variable, perhaps in one word with the option that names it: `-vPATH`, `PATH[0]`.
_FILLED: Final = re.compile(r"(?:-[a-zA-Z]*?[vapA])?([A-Za-z_]\w*)")


def sets_in_pipe(commands: Iterable[Simple]) -> bool:
    """Whether a part of a pipeline does no more than set variables, and nobody knows for whom."""
    return any(each.piped and all(map(is_assignment, each.words)) for each in commands)


def _variable(text: str) -> str:
    return text.partition("=")[0].rstrip("+")


def may_be_set(name: str, shell: Shell) -> bool:
    """Whether a command that does nothing but set a variable of this name does no harm."""
    if _expression(shell.variables.guarded).fullmatch(name):
        return name in shell.variables.counted and name in shell.variables.harmless
    return shell.setting or name in shell.variables.harmless


@lru_cache(maxsize=16)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)
