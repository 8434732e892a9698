"""What a program does with its arguments, the folders that a script goes to, planted repositories.

`examine` applies the data of a host (`Program`) to the words of one command: is it harmless, and
which files does it open (`policy.commands.opened`)?
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, dropwhile, pairwise

from policy.commands.knowledge import Files, Program, Shell
from policy.commands.opened import Opened, ParsedArguments, files_of, has, lists, matches, split
from policy.commands.parts import Redirection
from policy.commands.words import Word
from policy.commands.wrappers import basename
from policy.core import expressions as re
from policy.core.values import TYPE_CHECKING, Final, define, evolve, field, frozen

if TYPE_CHECKING:
    from policy.commands.words import Target

__all__ = [
    "SEVERAL",
    "Examined",
    "FolderChanges",
    "ScriptFolders",
    "Way",
    "below",
    "examine",
    "looks_for_one",
    "planted",
    "plants",
    "somewhere",
    "way_to_itself",
]


_OPTION: Final = re.compile(r"-[PLe@]+")
_NUMBER: Final = re.compile(r"[+-][0-9]+")
_UNKNOWN: Final = re.compile(r"[*?\[\]$`]|~[^/]")
# Folders that a name is looked for in; a script that goes to more of them goes astray.
_MOST: Final = 6


def below(folder: str, name: str) -> str:
    """Return a name as it is known in the folder from which one went to *folder*."""
    return name if not folder or name[:1] in ("/", "~") else f"{folder}/{name}"


@define
class ScriptFolders:
    """The folders that a command may run in, as the commands before it tell.

    Attributes:
        possible: those beside the one that the script runs in, which they are relative to.
        astray: whether it may be any other.
    """

    possible: list[str] = field(factory=list)
    astray: bool = False
    _here: str | None = ""
    _before: str | None = field(default=None, init=False)
    _went: bool = field(default=False, init=False)
    _left: list[str | None] = field(factory=list, init=False)

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

        In an *opaque* script they do not count by their names alone.
        """
        for file in files:
            if file.target is None or file.target[:1] in ("/", "~", ""):
                continue
            for folder in self.possible:
                yield evolve(file, target=below(folder, file.target))
            if self.astray and not file.writes and not opaque:
                yield evolve(file, adrift=True)

    def _back(self, name: str, operands: Sequence[Word]) -> tuple[str | None] | None:
        """Return the folder it goes back to, None where it does not or that is unknown."""
        if name == "popd":
            return (self._left.pop(),) if self._left and not operands else None
        if self._went and [word.plain for word in operands] == ["-"]:
            return (self._before,) if self._before is not None else None
        return None


def somewhere(file: Redirection) -> Redirection:
    """Return *file* as what it is after a change to an unknown folder.

    One that is written is not believed to be where its name says it is, wherever that is.
    """
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return evolve(file, target=None) if relative or file.writes else file


@frozen
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


@frozen
class Examined:
    """What is known of a command.

    Attributes:
        harmless: whether it runs where no rule applies to it.
        opened: the files it names.
        moves: how many folders it names to go to.
        still: whether the folder that it names is the one that it is in.
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
        literal_input: whether it is harmless only where a text on its input is literal, and
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
    literal_input: bool = False


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
        known = evolve(known, harmless=False)  # a subcommand that is not known
    return evolve(known, stays=True) if stays and not known.stays else known


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
        evolve(file, name=below(folder, file.name)) if file.name else file for file in known.opened
    )
    return evolve(known, harmless=False, opened=tuple(opened), stays=True)


def _examined_elsewhere(words: Sequence[Word], shell: Shell) -> Examined | None:
    """Return what is known of a program by the folder that it lies in: no more than its files."""
    program = shell.programs.known.get(basename(words[0].plain))
    if program is None or not program.anywhere:
        return None
    return evolve(_known(program, list(words[1:]), shell), harmless=False)


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
        literal_input=any(form.spares for form in (program, *program.forms)),
        leads=program.spelled or bool(program.spelling),
        relative=not program.moves and _is_relative(program, opened, given, shell),
    )


def _folders(rest: list[Word]) -> int:
    """Return how many folders it names to go to; behind one of them an option is another."""
    plain = [word.plain for word in rest]
    named = [*dropwhile(lambda text: text[:1] == "-" and text not in ("-", "--"), plain)]
    return max(1, len(named) - (named[:1] == ["--"]))


def _reads_more(inner: Program, rest: list[Word]) -> bool:
    """Whether a program names files of its own beside those that are piped to it."""
    if inner.reads is Files.REST:
        return len(split(inner, rest).operands) > 1
    return inner.reads is Files.ALL and bool(inner.values) and bool(rest)


def _is_relative(
    program: Program, opened: tuple[Opened, ...], given: ParsedArguments, shell: Shell
) -> bool:
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


def _harmless(program: Program, rest: list[Word], given: ParsedArguments) -> bool:
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


def _is_ordered(program: Program, rest: list[Word], given: ParsedArguments) -> bool:
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


# Folders that a command goes to, so that it is unknown which it is in: it is asked for.
SEVERAL: Final = 2

# What stands in one of these is looked at for itself.
_APART: Final = re.compile(r"(?<!\|)\|(?!\|)|\(|`")


class FolderChanges:
    """The changes of folder of a script, as far as its commands were looked at.

    Attributes:
        count: how many there are.
        folders: those that what follows may run in.
        stays: whether a command must follow none of them to be harmless.
        relative: whether a command reads a file by a name that depends on its folder.

    """

    def __init__(self, text: str, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self.count = 0
        self.folders = ScriptFolders()
        self.stays = False
        self.relative = False
        self._still = 0  # of these, those to the folder that it is in
        self._entered: list[Sequence[Redirection]] = []  # by each command that goes elsewhere

    def look(self, known: Examined, words: Sequence[Word], *, first: bool) -> None:
        """Note the changes of folder of a command; *first* if it is the first of the script."""
        self.count += known.moves
        if known.still:
            way = way_to_itself(words, self._text, self._shell.cwd, first=first)
            self.count += not way.is_none
            self._still += way.is_plain and not way.is_none
        self.stays |= known.stays
        self.relative |= known.relative

    def enter(
        self, known: Examined, program: Sequence[Word], opened: Sequence[Redirection]
    ) -> None:
        """Note the folders that a command goes to, which are among the files it *opened*."""
        if known.moves:
            apart = known.moves == 1 or program[1].plain[:1] not in ("/", "~")
            self._entered.append(opened if apart else ())

    @property
    def none(self) -> bool:
        """Whether no command changes the folder, not even to the one that it is in."""
        return not self.count and self.folders == ScriptFolders()

    @property
    def scatter(self) -> bool:
        """Whether it is unknown in which of several folders a command runs that reads them."""
        return self.count > 1 or (self.count > self._still and self.stays)

    def looked_at(self, files: list[Redirection]) -> list[Redirection]:
        """Return *files* without the folders gone to, where it is asked for before these are."""
        if self.count < SEVERAL or not (len(self._entered) == 1 or not _APART.search(self._text)):
            return files
        entered = {id(file) for opened in self._entered for file in opened}
        return [file for file in files if id(file) not in entered]


# A command that writes `HEAD`, `hooks` and the like where a program looks for its repository tells
# that program which hooks to run: no rule may allow it, in whichever order its parts stand.
def plants(names: Iterable[str], targets: Iterable[Target], shell: Shell) -> bool:
    """Return whether one of the files that are written is one of a repository.

    Args:
        names: those that commands write (`planted`).
        targets: the files of redirections.
        shell: what the host knows of commands.

    """
    own = _expression(shell.kinds.repository)
    written = (target.name for target in targets if target.writes and target.name)
    return any(own.fullmatch(_relative(name, shell)) for name in chain(names, written))


def looks_for_one(program: Sequence[Word], shell: Shell) -> bool:
    """Return whether a program, behind its wrappers, looks for a repository."""
    if not shell.kinds.repository:
        return False
    names = program if program[0].plain == "xargs" else program[:1]
    return any(word.plain in shell.kinds.versioning for word in names)


def planted(program: Sequence[Word], shell: Shell) -> tuple[str, ...]:
    """Return the names of the files that a program may write, behind its wrappers."""
    if posixpath.basename(program[0].plain) not in shell.kinds.planting:
        return ()
    operands = [word.plain for word in program[1:] if not word.plain.startswith("-")]
    if operands and _relative(operands[-1], shell).startswith("."):
        # Of a folder, what is put into it has the name that it had.
        return (*operands, *(posixpath.basename(name.rstrip("/")) for name in operands))
    return tuple(operands)


def _relative(name: str, shell: Shell) -> str:
    """Return a name as it is known in the working folder, in small letters."""
    path = posixpath.normpath(name)
    if shell.cwd and path.startswith("/"):
        path = posixpath.relpath(path, shell.cwd)
    return path.lower()


@lru_cache(maxsize=16)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)
