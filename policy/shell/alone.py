"""What one simple command is by itself, whatever stands around it in a script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from policy import limits
from policy.shell import doubts, variables
from policy.shell.harmless import is_harmless
from policy.shell.inner import changes_folder, gives_removal
from policy.shell.programs import Examined, examine
from policy.shell.readings import (
    KEYWORDS,
    as_granted,
    as_written,
    behind_all,
    feared,
    is_assignment,
    is_expanded,
)
from policy.shell.repositories import looks_for_one, planted
from policy.shell.rewording import exposed
from policy.shell.shell_scripts import script_of
from policy.shell.spelled import Texts, spelled
from policy.shell.wrappers import basename, carries_files

if TYPE_CHECKING:
    from policy.shell.words import Script, Simple, Word
    from policy.shells import Shell

__all__ = ["Alone", "alone"]

# The longest command that is kept, and how many: a few megabytes for each host that is read.
_LONGEST: Final = 256
_MOST: Final = 2048


class Alone:
    """A simple command of a word or more, looked at by itself.

    Attributes:
        words: all of it.
        program: the same behind its wrappers and assignments.
        granted: the same behind those that rules which allow look through.
        examined: what of it is looked at for what its program does.
        known: what is known of that; None where nothing is.
        texts: by which rules know it.
        feared: those of what it may be besides.
        script: the script that it is given to run, if it is.
        sets: whether it sets variables, and does nothing else.
        leaves: whether what follows it may run in another folder.
        versioned: whether it looks for a repository.
        planted: the files that it may write, of one or not.
        exports: whether it changes the environment of what follows it.
        extended: whether a wrapper will add arguments.
        carried: whether files are looked for behind what stands around its program.
        edits: whether its program changes files that it names, or runs a script.
        harmless: whether it runs where no rule speaks of it, as far as its own words tell.
        untold: its first word of which nobody knows what it comes to.
        differs: whether shells differ on what it is.
        nameless: whether its program is no name of one.
        unchecked: whether nobody vouches for what stands beside it either.
        joined: whether some see a word in it that others do not.
        worked_out: whether it sets what a shell works out, or what parts its words.
        suspect: whether it seems to give a shell a script that removes files, and nobody
            checks that.

    """

    __slots__ = (
        "carried",
        "differs",
        "edits",
        "examined",
        "exports",
        "extended",
        "feared",
        "granted",
        "harmless",
        "joined",
        "known",
        "leaves",
        "nameless",
        "planted",
        "program",
        "script",
        "sets",
        "suspect",
        "texts",
        "unchecked",
        "untold",
        "versioned",
        "words",
        "worked_out",
    )

    def __init__(self, words: Sequence[Word], shell: Shell, *, anew: bool) -> None:
        """Look at *words*; *anew* where the host puts them together anew."""
        self.words = words
        self.program = program = behind_all(words, shell)
        self.granted = granted = words if program is words else as_granted(words, shell)
        self.texts: Texts = spelled(words, program, granted, shell, anew=anew)
        self.feared = () if program is words else feared(words, shell)
        self.script = script_of(program)
        self.sets = all(map(is_assignment, words))
        self.suspect = bool(shell.kinds.scripted) and gives_removal(program)
        self.leaves = changes_folder(program)
        self.versioned = looks_for_one(program, shell)
        self.planted = planted(program, shell)
        self.exports = shell.control and variables.exports_inherited(program, shell)
        self.extended = any(
            wrapper.appends
            for word in words[: len(words) - len(granted)]
            if (wrapper := shell.wrapping.granting.known.get(word.plain))
        )
        self._examine(shell, anew=anew)
        self._doubt(shell)

    def _examine(self, shell: Shell, *, anew: bool) -> None:
        words, examined = self.words, self.program
        if examined is not words:
            outer = shell.programs.known.get(words[0].plain)
            if outer is not None and outer.runs:
                examined = words
        self.examined = examined
        self.known: Examined | None = None
        self.carried = carries_files(words, len(words) - len(examined), shell)
        self.edits = examined[0].plain in (shell.kinds.planting | shell.kinds.scripted)
        self.harmless = False
        if shell.programs:
            self.known = examine(exposed(examined) if anew else examined, shell)
            if self.known is not None:
                self.harmless = is_harmless(self.known, words, examined, shell)

    def _doubt(self, shell: Shell) -> None:
        words, program, name = self.words, self.program, self.granted[0]
        around = len(words) - len(program)
        self.untold = next((word for word in words if not (word.literal or word.vetted)), None)
        self.differs = (
            around >= limits.NESTING
            or doubts.is_evaluated(program)
            or any(map(is_expanded, words[: around + 1]))
            or (len(words) > 1 and self.sets)
            or (shell.control and _is_no_program(words, around))
        )
        self.unchecked = self.joined = self.worked_out = False
        if not shell.control:
            self.nameless = name.raw in KEYWORDS or is_assignment(name) or name.raw != name.plain
            return
        odd = ("", "}") if shell.kinds.trusting else ("", "-", "}")
        self.nameless = not name.literal or "$" in name.raw or name.plain[:1] in odd
        self.unchecked = (
            program is not words
            or basename(program[0].plain) in shell.kinds.odd
            or any("/environ" in word.plain for word in words)
            or name.plain[:1] == "-"
            or "=" in name.plain
        ) and doubts.is_unchecked(words, shell)
        self.joined = _is_negated_late(words) or any(map(doubts.is_joined_oddly, words))
        told = [word for word in words if "$" not in word.raw]
        self.worked_out = (
            doubts.has_half_assignment(words)
            or variables.is_worked_out(told, shell)
            or any(_PARTING.match(word.raw) for word in takewhile(is_assignment, words))
        )


_PARTING: Final = re.compile(r"IFS\+?=")


def _is_negated_late(words: Sequence[Word]) -> bool:
    """Whether a variable is set before what negates a command, or begins a statement."""
    behind = next((word for word in words if not is_assignment(word)), None)
    if behind is None or behind is words[0]:
        return False
    return behind.raw in ("!", "[[", "]]") or behind.raw[:1] in ("{", "}")


def _is_no_program(words: Sequence[Word], around: int) -> bool:
    """Whether what begins a statement stands where a program does: `time for a`, `builtin [[`."""
    if around and words[around].raw == "[[" and words[around - 1].raw not in _BEFORE_ALL:
        return True
    before = words[: around + 1]
    behind = next((word.raw for word in before if word.raw not in _BEFORE_ALL), "")
    return behind in KEYWORDS


# What may stand before every statement.
_BEFORE_ALL: Final = frozenset({"!", "time"})


def alone(command: Simple, script: Script, shell: Shell) -> Alone:
    """Return what a command of *script*, which has a word, is by itself.

    What a command of plain words is follows from how it is written, and is kept: the same ones
    stand in many scripts (`git status`, `tail -5`).
    """
    if command.own is None:
        command.own = _alone(command, script, shell)
    return command.own


def _alone(command: Simple, script: Script, shell: Shell) -> Alone:
    words, anew = command.words, shell.control and command.reworded
    if anew or not script.plain:
        return Alone(words, shell, anew=anew)
    kept, text = _kept(shell), as_written(words)
    found = kept.get(text)
    if found is None:
        found = Alone(words, shell, anew=False)
        if len(text) <= _LONGEST:
            if len(kept) >= _MOST:
                kept.clear()
            kept[text] = found
    return found


@lru_cache(maxsize=16)
def _kept(shell: Shell) -> dict[str, Alone]:  # noqa: ARG001  # what is kept is of this one
    return {}
