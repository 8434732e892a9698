"""What a program does with its arguments, by what its host knows of it.

A `Program` is data (`policy.dialect`); this module applies it to the words of
one command. It answers two questions: does the command run where no rule
speaks of it, and which files does it open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile
from typing import Final

import attrs

from policy.dialect import Shell
from policy.programs import Files, Program
from policy.shell.removals import GLOB, emptied, is_unresolved
from policy.shell.words import Word, is_pattern

__all__ = ["Examined", "Opened", "examine", "is_home_of_other", "is_indirect"]


@attrs.frozen
class Opened:
    """A file a program opens.

    Attributes:
        name: its name; None when it is not a literal.
        tool: the tool that this is a call of.
        guarded: whether no rule may allow it.
        relative: whether no rule may allow it behind a change of folder.
    """

    name: str | None
    tool: str
    guarded: bool = False
    relative: bool = False


@attrs.frozen
class Examined:
    """What is known of a command.

    Attributes:
        harmless: whether it runs where no rule speaks of it.
        opened: the files it names.
        moves: how many folders it is told to go to, as that of what follows.
        stays: whether it must not follow such a change.
        direct: whether it is harmless without anything before it only.
        relative: whether it reads a file by a name that depends on the folder it runs in.
        blind: whether it reads files that a rule which denies could mean, by names
            that are not known.
        spelled: whether it is harmless only as it is spelled, with nothing put on its input.
        listed: whether its options are known one by one.
    """

    harmless: bool = False
    opened: tuple[Opened, ...] = ()
    moves: int = 0
    stays: bool = False
    direct: bool = False
    relative: bool = False
    blind: bool = False
    spelled: bool = False
    listed: bool = False


def examine(words: Sequence[Word], shell: Shell) -> Examined | None:
    """Return what is known of the command that *words* are; None if nothing is."""
    program = shell.programs.known.get(words[0].plain)
    if program is None:
        return None
    rest, stays = list(words[1:]), program.stays
    while rest and rest[0].plain in program.subcommands:
        program = program.subcommands[rest[0].plain]
        rest = rest[1:]
    known = _known(program, rest, shell)
    if program.subcommands and rest and not rest[0].plain.startswith("-"):
        known = attrs.evolve(known, harmless=False)  # a subcommand that is not known
    return attrs.evolve(known, stays=True) if stays and not known.stays else known


def _known(program: Program, rest: list[Word], shell: Shell) -> Examined:
    given = _split(program, rest)
    if program.runs:
        inner = shell.programs.known.get(given.operands[0].plain) if given.operands else None
        blind = inner is not None and (bool(inner.files) or _reads_more(inner, given.operands[1:]))
        # Behind `--` a program is named: `xargs --` is not read as `xargs`.
        alone = not given.operands and not (rest and rest[-1].plain == "--")
        harmless = given.known and (alone or bool(inner and inner.piped))
        harmless &= all(word.literal and not word.glob for word in rest)
        return Examined(harmless, stays=bool(inner and inner.stays), blind=blind)
    ways = [program] if _harmless(program, rest, given) else []
    ways += (form for form in program.forms if _harmless(form, rest, _split(form, rest)))
    opened = _opened(program, rest, given, shell, spared=any(way.spares for way in ways))
    if program.moves and not rest and shell.reads:
        opened = (Opened("~", shell.reads),)
    moves = max(1, len(given.operands)) if program.moves and not _stays(rest, shell) else 0
    return Examined(
        bool(ways),
        opened,
        moves,
        stays=program.stays,
        direct=all(way.direct for way in ways),
        spelled=program.spelled,
        listed=program.flags is not None,
        relative=not program.moves and _is_relative(program, opened, given, shell),
    )


def _reads_more(inner: Program, rest: list[Word]) -> bool:
    """Whether a program names files of its own beside those that are piped to it."""
    if inner.reads is Files.REST:
        return len(_split(inner, rest).operands) > 1
    return inner.reads is Files.ALL and bool(inner.values) and bool(rest)


def _is_relative(program: Program, opened: tuple[Opened, ...], given: _Given, shell: Shell) -> bool:
    names = [file.name for file in opened if file.tool == shell.reads]
    if _lists(program, given) and (not names or not given.operands):
        return True
    return any(name is None or name[:1] not in ("/", "~") for name in names)


def _lists(program: Program, given: _Given) -> bool:
    """Whether it reads the folder it runs in where it names no file."""
    return program.lists and (not program.lists_if or _has(given.options, program.lists_if))


def _stays(rest: Sequence[Word], shell: Shell) -> bool:
    """Whether a change of folder is none."""
    if len(rest) != 1:
        return False
    folder = rest[0].plain
    return folder in (".", "./") or (bool(shell.cwd) and folder.rstrip("/") == shell.cwd)


@attrs.frozen
class _Given:
    """The arguments of a program: what begins like an option, and the rest.

    Attributes:
        options: without the values that are words of their own.
        operands: all others.
        files: values of options that are files it reads.
        known: whether the program is harmless with each of the options.
    """

    options: list[Word]
    operands: list[Word]
    files: list[Word]
    known: bool


def _split(program: Program, rest: list[Word]) -> _Given:
    options: list[Word] = []
    operands: list[Word] = []
    files: list[Word] = []
    index, known = 0, True
    while index < len(rest):
        word = rest[index]
        index += 1
        if word.plain == "--" and program.ends:
            operands += rest[index:]
            break
        if (
            word.plain.startswith(("-", "+"))
            and len(word.plain) > 1
            and not (program.runs and operands)
        ):
            options.append(word)
            if program.files and "=" in word.plain:
                name, _, joined = word.plain.partition("=")
                if _matches(program.files, name):
                    files.append(attrs.evolve(word, plain=joined))
            known &= not (program.leading and operands)
            value = rest[index] if index < len(rest) else None
            if value is not None and _takes(program, word.plain, value.plain):
                index += 1
                if _matches(program.files, word.plain):
                    files.append(value)
            elif program.flags is not None:
                known &= _matches(program.flags, word.plain)
        else:
            operands.append(word)
            if program.runs:
                operands += rest[index:]
                break
    return _Given(options, operands, files, known)


def _takes(program: Program, option: str, value: str) -> bool:
    """Whether *value*, the word behind *option*, belongs to it."""
    if program.pairs and _matches(program.pairs, f"{option} {value}"):
        return True
    return not value.startswith("-") and (
        _matches(program.values, option) or _matches(program.files, option)
    )


@lru_cache(maxsize=1024)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _matches(expression: str, text: str) -> bool:
    return bool(expression) and _expression(expression).fullmatch(text) is not None


def _has(options: list[Word], wanted: str) -> bool:
    return any(_matches(wanted, option.plain) for option in options)


def _harmless(program: Program, rest: list[Word], given: _Given) -> bool:
    if not program.harmless or not given.known or _has(given.options, program.unsafe):
        return False
    if not program.texts and any(not word.literal for word in rest):
        return False
    if program.flags is not None and any(_DOUBTED.search(word.plain) for word in rest):
        return False
    if program.spelling and not all(_matches(program.spelling, word.raw) for word in rest):
        return False
    if program.needs and not _has(given.options, program.needs):
        return False
    if program.flags == "" and any(word.plain == "--" for word in rest):
        return False
    operands = given.operands
    if program.most is not None and len(operands) > program.most:
        return False
    if not program.globs and any(word.glob for word in rest):
        return False
    if program.first and (not operands or not _matches(program.first, operands[0].plain)):
        return False
    return not program.operands or all(_matches(program.operands, word.plain) for word in operands)


def _chosen(program: Program, files: Files, rest: list[Word], operands: list[Word]) -> list[Word]:
    match files:
        case Files.NONE:
            return []
        case Files.ALL:
            return operands
        case Files.FIRST:
            return operands[:1]
        case Files.REST:
            is_given = program.given and _has(rest, program.given)
            return operands if is_given else operands[1:]
        case Files.SETS:
            deletes = any(re.match("-[a-zA-Z]*d|--delete", word.plain) for word in rest)
            return operands[1 if deletes else 2 :]
        case Files.BUT_LAST:
            return operands[:-1] if len(operands) > 1 else operands
        case Files.LAST:  # behind options nobody knows which is
            return operands[-1:] if len(operands) == len(rest) else operands
        case Files.SLASHED:
            return [word for word in operands if "/" in word.plain or word.plain == ".."]
        case Files.LEADING:
            given = dropwhile(lambda word: _AHEAD.fullmatch(word.plain), rest)
            leading = takewhile(lambda word: not word.plain.startswith(_EXPRESSION), given)
            ended = dropwhile(lambda word: word.plain != "--", rest)
            return [*leading, *ended]


# What may stand before the folders that a program is to search, and what ends these.
_AHEAD: Final = re.compile(r"--|-[a-zA-Z]|-O\d*")
_EXPRESSION: Final = ("-", "(", "!", "\\")

_EXPANDABLE: Final = frozenset("$`")
_DOUBTED: Final = re.compile(r"[$`\n]|\{.*(?:,|\.\.)")
_INDIRECT: Final = re.compile(r"(?:^|/)(?!\.\.(?:/|$))[^/]+/(?:.*/)?\.\.(?:/|$)")


def _is_devious(word: Word, program: Program, *, read: bool) -> bool:
    if read and word.vetted and not word.known:
        return "<<" in word.raw
    if word.literal and (word.plain[:1] == "=" or not _EXPANDABLE.isdisjoint(word.plain)):
        return True  # a name with this in it is not believed
    if (not read or program.writes is not Files.NONE) and is_pattern(word.plain):
        return True  # nor is any where one of them is written
    if not read and "\n" in word.plain:
        return True
    return not word.known or (program.confined and is_indirect(word.plain))


def is_indirect(name: str) -> bool:
    """Whether *name* goes down into a folder, which may be a link, and up again."""
    return ".." in name and _INDIRECT.search(name) is not None


def _opened(
    program: Program, rest: list[Word], given: _Given, shell: Shell, *, spared: bool
) -> tuple[Opened, ...]:
    opened: list[Opened] = []
    for files, tool in ((program.reads, shell.reads), (program.writes, shell.writes)):
        if not tool or (files is Files.NONE and not given.files):
            continue
        if spared and tool == shell.writes:
            continue
        read = tool == shell.reads
        operands = given.operands if read else [word for word in given.operands if _is_name(word)]
        chosen = _chosen(program, files, rest, operands) + (given.files if read else [])
        chosen = [word for word in chosen if word.plain]
        others = [word for word in chosen if is_home_of_other(word)]
        chosen = [word for word in chosen if word not in others]
        opened += (Opened(None, tool) for _ in others)
        if read and any(is_indirect(word.plain) for word in given.options):
            opened.append(Opened(None, tool))  # behind a file an option is another
        if read and not chosen and _lists(program, given):
            opened.append(Opened(".", tool))
        opened += (Opened(w.plain, tool) for w in chosen if w.known or (read and w.vetted))
        opened += (Opened(None, tool) for w in chosen if _is_devious(w, program, read=read))
    if program.removes and shell.removes:
        for word in given.operands:
            opened += _removed(word, given, shell)
    return tuple(opened)


def is_home_of_other(word: Word) -> bool:
    """Whether a word begins like the home folder of somebody else, quoted or not: `~bob`."""
    return word.plain[:1] == "~" and word.plain[1:2] not in ("", "/")


def _is_name(word: Word) -> bool:
    """Whether a word names a file: an empty one does not, nor one whose quote is not closed."""
    return bool(word.plain) and not word.raw[:1] == "'" == word.plain[:1]


def _removed(word: Word, given: _Given, shell: Shell) -> Iterator[Opened]:
    """Yield what the removal of one operand counts as, and the folder that it empties."""
    tool = shell.removes
    parents = _has(given.options, "-[a-z]*p[a-z]*|--p.*")
    if is_unresolved(word, parents=parents, astray=False):
        yield Opened(None, tool, guarded=True)
    elif is_unresolved(word, parents=parents, astray=True):
        yield Opened(None, tool, relative=True)
    if not word.known:
        yield Opened(None, tool)
        return
    # Without a name it is the folder itself; a quote that is not closed leaves none.
    name = word.plain if _is_name(word) else "."
    folder = emptied(name)
    if folder is None or not GLOB.search(folder):
        yield Opened(name if folder is None else folder, tool)
    if word.glob:
        yield Opened(None, tool)
