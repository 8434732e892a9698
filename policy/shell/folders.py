"""Where the commands of a script run: the folders that `cd`, `pushd` and `popd` go to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from policy.shell.parts import Redirection
from policy.shell.words import Word

__all__ = ["Folders", "Way", "below", "somewhere", "way_to_itself"]

_OPTION: Final = re.compile(r"-[PLe@]+")
_NUMBER: Final = re.compile(r"[+-][0-9]+")
_UNKNOWN: Final = re.compile(r"[*?\[\]$`]|~[^/]")
# Folders that a name is looked for in; a script that goes to more of them goes astray.
_MOST: Final = 6


def below(folder: str, name: str) -> str:
    """Return a name as it is known in the folder from which one went to *folder*."""
    return name if not folder or name[:1] in ("/", "~") else f"{folder}/{name}"


@attrs.define
class Folders:
    """The folders that a command may run in, as the commands before it tell.

    Attributes:
        possible: those beside the one that the script runs in, which they are relative to.
        astray: whether it may be any other.
    """

    possible: list[str] = attrs.field(factory=list)
    astray: bool = False
    _here: str | None = ""
    _before: str | None = attrs.field(default=None, init=False)
    _went: bool = attrs.field(default=False, init=False)
    _left: list[str | None] = attrs.field(factory=list, init=False)

    def move(self, program: Sequence[Word]) -> None:
        """Note that a command goes elsewhere: `program` is it, behind its wrappers."""
        name, rest = program[0].plain.rsplit("/", 1)[-1], program[1:]
        options = [w.plain for w in rest if w.plain[:1] == "-" and w.plain not in ("-", "--")]
        odd = [option for option in options if not _OPTION.fullmatch(option)]
        operands = [w for w in rest if w.plain == "-" or w.plain[:1] != "-"]
        if not all(word.literal for word in rest):
            return  # a host that cannot read the command does not follow it
        if name in ("pushd", "popd") and odd == ["-n"]:
            return  # what it keeps in mind changes, and nothing else
        back = self._back(name, operands) if not odd else None
        if back is not None:
            self._before, self._here = self._here, back[0]
            self.astray |= back[0] is None
            return
        folder = None if odd or name == "popd" else _folder(name, operands)
        if name == "pushd":
            self._left.append(self._here)
        self._before, self._went = self._here, True
        if folder is None or len(self.possible) >= _MOST:
            self._here, self.astray = None, True
            return
        self.astray |= self._here is None
        found = [folder]
        if self._here is not None:
            self._here = below(self._here, folder)
            found.append(self._here)
        self.possible += (each for each in found if each not in self.possible)

    def elsewhere(self, files: Sequence[Redirection], *, opaque: bool) -> Iterator[Redirection]:
        """Yield *files* as what denies them knows them in other folders they may be in.

        In a script that is *opaque* nobody looks for them by their names alone.
        """
        for file in files:
            if file.target is None or file.target[:1] in ("/", "~", ""):
                continue
            for folder in self.possible:
                yield attrs.evolve(file, target=below(folder, file.target))
            if self.astray and not file.writes and not opaque:
                yield attrs.evolve(file, adrift=True)

    def _back(self, name: str, operands: Sequence[Word]) -> tuple[str | None] | None:
        """Return the folder it goes back to, None where it does not or nobody knows."""
        if name == "popd":
            return (self._left.pop(),) if self._left and not operands else None
        if self._went and [word.plain for word in operands] == ["-"]:
            return (self._before,) if self._before is not None else None
        return None


def somewhere(file: Redirection) -> Redirection:
    """Return *file* as what it is after a change of folder: nobody knows which.

    One that is written is not believed to be where its name says it is, wherever that is.
    """
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return attrs.evolve(file, target=None) if relative or file.writes else file


@attrs.frozen
class Way:
    """How a command goes to the folder that it is in.

    Attributes:
        is_none: whether the host takes it for no change of folder.
        is_plain: whether it is no more than the change, so that what must not follow one may.
    """

    is_none: bool
    is_plain: bool


# Behind one of these the next command is not one that runs only where the last did.
_LOOSE: Final = re.compile(r"\|\||[;\n]|(?<!&)&(?!&)|&&&")


def way_to_itself(words: Sequence[Word], text: str, cwd: str, *, first: bool) -> Way:
    """Return how a command of *text* goes to *cwd*, in which it is.

    Args:
        words: the command.
        text: what it is part of.
        cwd: the folder.
        first: whether no other command stands before it.

    """
    written = " ".join([word.raw for word in words])
    end = re.search(rf"{re.escape(written)}[ \t]*(?:\Z|&&|\|\|?|[;\n)])", text)
    if words[0].raw != "cd" or end is None:
        return Way(is_none=False, is_plain=False)
    if "|" in text.replace("||", ""):  # it is a part of a pipe
        return Way(is_none=False, is_plain=True)
    once = "cd" not in text[end.end() :]
    chained = first and once and text.lstrip().startswith(written) and not _LOOSE.search(text)
    return Way(is_none=written == f"cd {cwd}" or chained, is_plain=True)


def _folder(name: str, operands: Sequence[Word]) -> str | None:
    """Return the folder that `cd` or `pushd` names, None where that is not known."""
    if not operands:
        return "~" if name in ("cd", "chdir") else None
    word = operands[0]
    if len(operands) > 1 or not word.known or word.plain == "-" or _NUMBER.fullmatch(word.plain):
        return None
    return None if word.glob or _UNKNOWN.search(word.plain) else word.plain
