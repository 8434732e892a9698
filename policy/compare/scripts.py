"""Scripts in an argument that open files of which two sides say different things: `sh -c 'rm x'`.

A host may look into those that remove files. What one removes is judged as a call of its own, and
any other file that it opens makes the script doubtful where a rule denies it: that asks for what a
rule allows, though the same file denies a command that opens it outside of a script.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from policy.commands.compound import BOXES, SHELLS
from policy.commands.knowledge import Shell
from policy.commands.wrappers import basename
from policy.compare.odd import escaped
from policy.compare.prefixes import start_of
from policy.compare.view import View
from policy.compare.witness import Effects
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.patterns.pattern import Pattern, freeze

__all__ = ["Scripts", "doubted_effects", "doubtful_scripts", "granted_shells"]

# Removes a file that no rule names.
_REMOVES: Final = "q7z"


class Scripts:
    """The scripts that some list may allow in an argument.

    Args:
        views: the lists.
        granting: the patterns of lines that allow or ask.
        shell: how commands are read.

    """

    def __init__(self, views: Sequence[View], granting: Iterable[Pattern], shell: Shell) -> None:
        self._removing = sorted(shell.kinds.scripted)
        self._runners = [*_runners(views, granting)] if self._removing else []

    def __bool__(self) -> bool:
        return bool(self._runners)

    def removing(self, name: str) -> Iterator[str]:
        """Yield commands whose scripts remove a file of this name, as a command may spell it."""
        return self._run(f"{program} {name}" for program in self._removing)

    def opening(self, commands: Iterable[str]) -> Iterator[str]:
        """Yield those whose scripts hold one of *commands*, beside what removes another file."""
        removing = [f"{program} {_REMOVES}" for program in self._removing]
        return self._run(f"{one}; {other}" for one in commands for other in removing)

    def _run(self, scripts: Iterable[str]) -> Iterator[str]:
        for script in scripts:
            quoted = shlex.quote(script)
            for runner in self._runners:
                if isinstance(runner, str):
                    yield runner + quoted
                else:
                    yield from (freeze(runner, each) for each in (quoted, f"-c {quoted}"))


def _runners(views: Sequence[View], granting: Iterable[Pattern]) -> Iterator[str | Pattern]:
    """Yield what may run a script: the start of a command, or what a line leaves open the end of.

    Of the shells that one line allows the first stands for all.
    """
    found: dict[object, str] = {}
    for name in sorted(SHELLS, key=lambda name: (name != "bash", name)):
        for before in (name, *(f"{box} {name}" for box in sorted(BOXES))):
            start = f"{before} -c "
            lines = tuple(view.automaton.first(f"{start}'rm q7z'") for view in views)
            if any(
                view.effect(line) is Effect.ALLOW for view, line in zip(views, lines, strict=True)
            ):
                found.setdefault(lines, start)
    yield from found.values()
    for pattern in granting:
        words = start_of(pattern).split()
        if not pattern.exact and any(basename(word) in SHELLS for word in words):
            yield pattern


def doubted_effects(decisions: Iterable[Decision], doubted: Effects) -> Effects:
    """Return what both sides say of a script that opens a file which they decide so.

    Args:
        decisions: what they say of the file.
        doubted: what they say of what is doubtful.

    """
    before, after = (
        doubt if each.effect is Effect.DENY and each.reason is Reason.RULE else Effect.ALLOW
        for each, doubt in zip(decisions, doubted, strict=True)
    )
    return before, after


def granted_shells(views: Sequence[View], shell: Shell) -> tuple[str, ...]:
    """Return the shells that some list grants a script in an argument that removes files."""
    if not shell.kinds.scripted:
        return ()
    return tuple(
        name
        for name in sorted(SHELLS, key=lambda name: (name != "bash", name))
        if any(
            view.effect(view.automaton.first(f"{name} -c 'q7z; rm q7z'")) is Effect.ALLOW
            for view in views
        )
    )


def doubtful_scripts(
    frozen: str, shells: Iterable[str], views: Sequence[View], shell: Shell
) -> Iterator[str]:
    """Yield scripts that remove files, and hold what a line denies, frozen.

    What runs a script, and what removes the files, is another one where lines say so.
    """
    removing = (f"{program} q7z" for program in sorted(shell.kinds.scripted))
    found: dict[object, str] = {}
    for name, last in product(() if "'" in frozen else shells, removing):
        text = f"{name} -c '{escaped(frozen)}; {last}'"
        found.setdefault(
            tuple(v.automaton.first(each) for v in views for each in (text, last)), text
        )
    yield from found.values()
