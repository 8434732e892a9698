"""What a program does with its arguments, by what its host knows of it.

A `Program` is data (`policy.dialect`); this module applies it to the words of
one command: does it run where no rule speaks of it, and which files does it
open (`policy.shell.opened`)?
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile, pairwise
from typing import Final

import attrs

from policy.programs import Files, Program
from policy.shell.folders import below
from policy.shell.given import Given, has, matches, split
from policy.shell.opened import Opened, files_of, lists
from policy.shell.words import Word
from policy.shell.wrappers import basename
from policy.shells import Shell

__all__ = ["Examined", "examine"]


@attrs.frozen
class Examined:
    """What is known of a command.

    Attributes:
        harmless: whether it runs where no rule speaks of it.
        opened: the files it names.
        moves: how many folders it is told to go to, as that of what follows.
        still: whether the one that it is told to go to is the one that it is in.
        stays: whether it must not follow such a change.
        direct: whether it is harmless without anything before it only.
        internal: whether it is part of a shell.
        carried: whether it is harmless behind all that files are looked for behind.
        relative: whether it reads a file by a name that depends on the folder it runs in.
        blind: whether it reads files that a rule which denies could mean, by names
            that are not known.
        spelled: whether it is harmless only as it is spelled, with nothing put on its input.
        listed: whether its options are known one by one.
        leads: whether it is harmless only where nothing is redirected before it.
        told: whether it is harmless only where a text on its input has nothing put into it, and
            where the command ends.
    """

    harmless: bool = False
    opened: tuple[Opened, ...] = ()
    moves: int = 0
    still: bool = False
    stays: bool = False
    direct: bool = False
    internal: bool = False
    carried: bool = False
    relative: bool = False
    blind: bool = False
    spelled: bool = False
    listed: bool = False
    leads: bool = False
    told: bool = False


def examine(words: Sequence[Word], shell: Shell) -> Examined | None:
    """Return what is known of the command that *words* are; None if nothing is."""
    name = words[0].plain
    program = shell.programs.known.get(name)
    if program is None:
        return _examined_elsewhere(words, shell) if basename(name) != name else None
    rest, stays = list(words[1:]), program.stays
    if program.before and rest and rest[0].plain[:1] == "-":
        return _examined_behind(program, rest, shell)
    while rest and rest[0].plain in program.subcommands:
        program = program.subcommands[rest[0].plain]
        rest = rest[1:]
    known = _known(program, rest, shell)
    if program.subcommands and rest and not rest[0].plain.startswith("-"):
        known = attrs.evolve(known, harmless=False)  # a subcommand that is not known
    return attrs.evolve(known, stays=True) if stays and not known.stays else known


def _examined_behind(program: Program, rest: list[Word], shell: Shell) -> Examined:
    """Return what is known of a program behind options before its subcommand: its files alone."""
    at, folder = 0, ""
    while at < len(rest) and rest[at].plain[:1] == "-":
        option, joined, value = rest[at].plain.partition("=")
        at += 1
        if not joined and matches(program.before, option) and at < len(rest):
            value, at = rest[at].plain, at + 1
        if value and matches(program.enters, option):
            folder = below(folder, value)
    inner = program.subcommands.get(rest[at].plain) if at < len(rest) else None
    known = _known(inner or program, rest[at + 1 :], shell)
    opened = (
        attrs.evolve(file, name=below(folder, file.name)) if file.name else file
        for file in known.opened
    )
    return attrs.evolve(known, harmless=False, opened=tuple(opened), stays=True)


def _examined_elsewhere(words: Sequence[Word], shell: Shell) -> Examined | None:
    """Return what is known of a program by the folder that it lies in: no more than its files."""
    program = shell.programs.known.get(basename(words[0].plain))
    if program is None or not program.anywhere:
        return None
    return attrs.evolve(_known(program, list(words[1:]), shell), harmless=False)


def _known(program: Program, rest: list[Word], shell: Shell) -> Examined:
    given = split(program, rest)
    if program.runs:
        inner = shell.programs.known.get(given.operands[0].plain) if given.operands else None
        blind = inner is not None and (bool(inner.files) or _reads_more(inner, given.operands[1:]))
        # Behind `--` a program is named: `xargs --` is not read as `xargs`.
        alone = not given.operands and not (rest and rest[-1].plain == "--")
        harmless = given.known and (alone or bool(inner and inner.piped))
        harmless &= all(word.literal and not word.glob for word in rest)
        return Examined(harmless, stays=bool(inner and inner.stays), blind=blind)
    ways = [program] if _harmless(program, rest, given) else []
    ways += (form for form in program.forms if _harmless(form, rest, split(form, rest)))
    opened = files_of(program, rest, given, shell, spared=any(way.spares for way in ways))
    if program.moves and not given.named and shell.files.reads:
        opened = (Opened("~", shell.files.reads),)
    still = program.moves and _stays(rest, shell)
    moves = _folders(rest) if program.moves and not still else 0
    return Examined(
        bool(ways),
        opened,
        moves,
        still,
        stays=program.stays,
        direct=all(way.direct for way in ways),
        internal=program.internal,
        carried=any(way.carried for way in ways),
        spelled=program.spelled,
        listed=program.flags is not None,
        told=any(form.spares for form in (program, *program.forms)),
        leads=program.spelled or bool(program.spelling),
        relative=not program.moves and _is_relative(program, opened, given, shell),
    )


def _folders(rest: list[Word]) -> int:
    """Return to how many folders it is told to go; behind one of them an option is another."""
    plain = [word.plain for word in rest]
    named = [*dropwhile(lambda text: text[:1] == "-" and text not in ("-", "--"), plain)]
    return max(1, len(named) - (named[:1] == ["--"]))


def _reads_more(inner: Program, rest: list[Word]) -> bool:
    """Whether a program names files of its own beside those that are piped to it."""
    if inner.reads is Files.REST:
        return len(split(inner, rest).operands) > 1
    return inner.reads is Files.ALL and bool(inner.values) and bool(rest)


def _is_relative(program: Program, opened: tuple[Opened, ...], given: Given, shell: Shell) -> bool:
    names = [file.name for file in opened if file.tool == shell.files.reads]
    if lists(program, given) and (not names or not given.operands):
        return True
    if program.reads is not Files.NONE and any(not word.plain for word in given.operands):
        return True
    return any(name is None or name[:1] not in ("/", "~") for name in names)


def _stays(rest: Sequence[Word], shell: Shell) -> bool:
    """Whether a change of folder is none."""
    if len(rest) != 1:
        return False
    folder = rest[0].plain
    return folder in (".", "./") or (bool(shell.cwd) and folder.rstrip("/") == shell.cwd)


def _harmless(program: Program, rest: list[Word], given: Given) -> bool:
    if not program.harmless or not given.known or has(given.options, program.unsafe):
        return False
    if not program.texts and any(not word.literal for word in rest):
        return False
    if program.flags is not None and any(_is_doubted(word.plain, program) for word in rest):
        return False
    if program.spelling and not all(matches(program.spelling, word.raw) for word in rest):
        return False
    if program.needs and not has(given.options, program.needs):
        return False
    if not _is_ordered(program, rest, given):
        return False
    if program.once and sum(matches(program.needs, each.plain) for each in given.options) > 1:
        return False
    if program.flags == "" and any(word.plain == "--" for word in rest):
        return False
    operands = given.operands
    if program.most is not None and len(operands) > program.most:
        return False
    if not program.globs and any(word.glob for word in rest):
        return False
    if program.first and (not operands or not matches(program.first, operands[0].plain)):
        return False
    others = operands[1:] if program.first else operands
    return not program.operands or all(matches(program.operands, word.plain) for word in others)


def _is_ordered(program: Program, rest: list[Word], given: Given) -> bool:
    """Whether what must be there stands before every operand, and no two words by ill chance."""
    if program.beside and any(
        matches(program.beside, f"{word.plain} {behind.plain}") for word, behind in pairwise(rest)
    ):
        return False
    if not program.ahead:
        return True
    operands = {id(word) for word in given.operands}
    options = {id(word) for word in given.options if matches(program.needs, word.plain)}
    return next((id(word) in options for word in rest if id(word) in operands | options), True)


_DOUBTED: Final = re.compile(r"[$`]|\{.*(?:,|\.\.)")


def _is_doubted(text: str, program: Program) -> bool:
    broken = "\n" in text and (text[:1] == "-" or not program.lines)
    return broken or _DOUBTED.search(text) is not None
