"""What a program does with its arguments, by the data of the host (`Program`).

`examine` returns whether it is harmless, which files it opens and removes, and where it goes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, dropwhile, pairwise, product, takewhile

from policy.commands.knowledge import Files, Program, Shell
from policy.commands.reader import Redirection
from policy.commands.words import Word, basename, expression, is_pattern, with_home
from policy.core import expressions as re
from policy.core.values import Final, evolve, frozen
from policy.hosts.claude.shell.match_texts import ClaudeRedirection, matches


@frozen
class _ParsedArguments:
    """The arguments of a program, cut into options and operands."""

    options: list[Word]  # without the values in words behind them
    operands: list[Word]
    files: list[Word]  # values of options that are files it reads
    options_known: bool  # whether the program is harmless with each of the options
    # The operands, and other words that may name a file: `+a`, an option behind an operand.
    named: list[Word]


def _split(program: Program, rest: list[Word]) -> _ParsedArguments:
    """Return the words behind a program as options and operands."""
    options: list[Word] = []
    operands: list[Word] = []
    files: list[Word] = []
    named: list[Word] = []
    index, options_known = 0, True
    while index < len(rest):
        word = rest[index]
        option = word.value
        index += 1
        if option == "--" and program.ends:
            operands += rest[index:]
            named += rest[index:]
            break
        if len(option) < 2 or option[0] not in "-+":
            operands.append(word)
            named.append(word)
            if program.runs:
                operands += rest[index:]
                break
            continue
        options.append(word)
        behind = program.trailing and bool(named)
        named += [word] * (behind or option[0] == "+")
        files += _joined_files(program, word)
        options_known &= not (program.leading and operands)
        if index < len(rest) and _takes(program, option, rest[index].value):
            may_be_file = program.skipped is not None and not matches(program.skipped, option)
            named += [rest[index]] * (behind or may_be_file)
            files += [rest[index]] * matches(program.files, option)
            index += 1
        elif program.flags is not None:
            options_known &= matches(program.flags, option)
    return _ParsedArguments(options, operands, files, options_known, named)


def _joined_files(program: Program, word: Word) -> Iterator[Word]:
    """Yield the names of files that an option may hold: `--file=a`, `-fa`."""
    name, _, joined = word.value.partition("=")
    if name != word.value and matches(program.files, name):
        yield evolve(word, value=joined)
    if word.value[2:] and matches(program.files, word.value[:2]):
        yield evolve(word, value=word.value[2:])


def _takes(program: Program, option: str, value: str) -> bool:
    """Return whether the word behind an option is its value."""
    return matches(program.pairs, f"{option} {value}") or (
        not value.startswith("-")
        and (matches(program.files, option) or matches(program.values, option))
    )


def _has(options: list[Word], wanted: str) -> bool:
    """Return whether one of the options is *wanted*."""
    return bool(wanted) and any(matches(wanted, option.value) for option in options)


# The last segments of a name, if they are stars alone.
_STARS: Final = re.compile(r"(?:(?:^|/)\*+)+/*\Z")
_SOME_GLOB: Final = re.compile(r"[*?\[]")

# An expansion: `$X`, `$(ls)`. `$'x'` is quoted text, and `${X:?}`, which is never empty, is what
# hosts advise their users to write.
_EXPANSION: Final = re.compile(r"\$(?!'|\{(?!HOME:|(?:OLD)?PWD:)\w+:\?[^{}$`]*\})|`")


def _emptied(name: str) -> str | None:
    """Return the folder that removing *name* empties, e.g. `a` for `a/*`; None without stars."""
    folder = name
    while (found := _STARS.search(folder)) is not None:
        folder = folder[: found.start()]
    if folder == name:
        return None
    return folder or ("/" if name.startswith("/") else ".")


def _is_unresolved(word: Word, *, parents: bool, folder_changed: bool) -> bool:
    """Return whether the host cannot know which folders the removal of *word* empties.

    It never knows for a star with *parents* (`rmdir -p`), or if the folder changed before.
    """
    if not word.known or word.guessed:
        return _EXPANSION.search(word.raw) is not None
    if _emptied(word.value) is None:
        return False
    is_plain = _ONE_STAR.fullmatch(word.value) is not None and ".." not in word.value
    return parents or folder_changed or not is_plain


# `a/*`: all of one folder that is named, and not the home of another user.
_ONE_STAR: Final = re.compile(r"(?!~[^/])(?:[^*?\[]*/)?\*")


def _lists_folder(program: Program, given: _ParsedArguments) -> bool:
    """Whether a program that names no file reads the folder it runs in."""
    return program.lists and (not program.lists_if or _has(given.options, program.lists_if))


def _select(program: Program, files: Files, rest: list[Word], operands: list[Word]) -> list[Word]:
    """Return the operands that are files, by *files*."""
    match files:
        case Files.NONE:
            return []
        case Files.ALL:
            return operands
        case Files.REST:
            return operands if _has(rest, program.given) else operands[1:]
        case Files.SETS:
            deletes = any(word.value[:1] == "-" and "d" in word.value for word in rest)
            return operands[1 if deletes else 2 :]
        case Files.BUT_LAST:
            return operands[:-1] if len(operands) > 1 else operands
        case Files.SLASHED:
            some = [*operands, *_names_in_options(rest)]
            is_given = _has(rest, program.given)
            return some if is_given else [w for w in some if _SLASHED.search(w.value)]
        case Files.LEADING:
            given = dropwhile(lambda word: _BEFORE_FOLDERS.fullmatch(word.value), rest)
            leading = takewhile(lambda word: not word.value.startswith("-"), given)
            ended = dropwhile(lambda word: word.value != "--", rest)
            return [*leading, *ended]


def _names_in_options(rest: list[Word]) -> Iterator[Word]:
    """Yield the names that options may contain: `--file=a`, `-fa`, `-f=/a`, `-vta`."""
    for word in rest:
        text = word.value
        if text[:1] != "-":
            continue
        behind = ("", "") if text[:2] == "--" else (text[2:], text.partition("t")[2])
        slashed = _SLASH.search(text)
        names = (
            *(text.partition("=")[2], *behind, behind[1].removeprefix("=")),
            text[slashed.start() :] if slashed else "",
        )
        yield from (evolve(word, value=name) for name in dict.fromkeys(names) if name)


_SLASH: Final = re.compile(r"[\\/~]")
# A word that can only name a file.
_SLASHED: Final = re.compile(r"\A[.~]|[/\\]")

# Options of `find` before the folders that it searches.
_BEFORE_FOLDERS: Final = re.compile(r"--|-[a-zA-Z]|-O\d*")

_EXPANDABLE: Final = frozenset("$`")
_INDIRECT: Final = re.compile(r"(?:^|/)(?!\.\.(?:/|$))[^/]+/(?:.*/)?\.\.(?:/|$)")


def _is_expandable(word: Word) -> bool:
    """Whether a quoted name has characters that shells expand, so that the host distrusts it."""
    return word.literal and (word.value[:1] == "=" or not _EXPANDABLE.isdisjoint(word.value))


def _is_checked_name(word: Word) -> bool:
    """Whether rules decide whether a file named *word* may be written."""
    return word.known and not _is_expandable(word) and not is_pattern(word.value)


def is_indirect(name: str) -> bool:
    """Whether *name* goes into a folder, which may be a link, and up again: `a/../b`."""
    return ".." in name and _INDIRECT.search(name) is not None


def _files_of(
    program: Program, rest: list[Word], given: _ParsedArguments, shell: Shell, *, spared: bool
) -> tuple[ClaudeRedirection, ...]:
    """Return the files that a program opens; if *spared*, it writes none."""
    tools = shell.files
    opened: list[ClaudeRedirection] = []
    looked: set[str | None] = set()
    ways = (True, program.reads, tools.reads), (False, program.writes, tools.writes)
    for reads, files, tool in ways:
        if (files is Files.NONE and not given.files) or (spared and not reads):
            continue
        chosen = [*_select(program, files, rest, given.named)]
        if reads or files is not Files.NONE:
            chosen += given.files
        # An empty name is the folder it runs in.
        words = [w if w.value else evolve(w, value=".") for w in chosen if not is_home_of_other(w)]
        names: list[str | None] = [None] * (len(words) < len(chosen))
        names += _file_names(words, program, given, reads=reads, spared=spared)
        opened += (ClaudeRedirection(name, not reads, tool) for name in dict.fromkeys(names))
        if not reads and any(is_unwritable(word.value) for word in words):
            opened.append(ClaudeRedirection(None, writes=True, tool=tool, guarded=True))
        looked.update(word.value for word in words)
    if (program.reads, program.writes) != (Files.NONE, Files.NONE):
        opened += _glob_files(program, rest, given, looked, tools.reads)
    if shell.kept and program.uproots is not Files.NONE:
        is_plain = all(word.value[:1] != "-" for word in rest)  # or an option may name the folder
        moved = _select(program, program.uproots if is_plain else Files.ALL, rest, given.named)
        opened += (
            ClaudeRedirection(w.value, writes=True, tool=tools.writes, deep=True)
            for w in moved
            if w.known and w.value
        )
    if program.into:
        opened += _files_in_target_folder(rest, given.named, tools.writes)
    if program.removes:
        opened += chain(*(_removed(word, given, shell) for word in _removable(given)))
    return tuple(opened)


# What names the file that it says, and no other.
_PLAIN_NAME: Final = re.compile(r"(?!=|//|.*\.\.)[A-Za-z0-9_ ./:@%+,=-]{1,255}")


def _file_names(
    words: list[Word], program: Program, given: _ParsedArguments, *, reads: bool, spared: bool
) -> Iterator[str | None]:
    """Yield the names of the files that a program reads or writes, and None for an unknown one."""
    if reads:
        # An option behind a file may be a file.
        if any(is_indirect(word.value) for word in given.options):
            yield None
        if not words and _lists_folder(program, given):
            yield "."
    if all(word.literal and _PLAIN_NAME.fullmatch(word.value) for word in words):
        yield from (word.value for word in words)
        return
    for word in words:
        read = (word.known or word.vetted) and not _is_expandable(word)
        if read if reads else _is_checked_name(word):
            yield word.value
    if any(_may_open_other(word, program, reads=reads, spared=spared) for word in words):
        yield None
    yield from (name for word in words if not reads and (name := with_home(word)))


def _may_open_other(word: Word, program: Program, *, reads: bool, spared: bool) -> bool:
    """Whether the program may open another file than *word* names."""
    name = word.value
    if reads and (name.startswith("//") or (word.vetted and not word.known)):
        return name.startswith("//") or "<<" in word.raw
    is_one = word.literal and not (is_pattern(name) and (word.glob or not spared))
    is_written = not reads or program.writes is not Files.NONE
    return (
        not word.known
        or _is_expandable(word)
        or is_indirect(name)
        or (is_written and not is_one)
        or (not reads and "\n" in name)
    )


def _removable(given: _ParsedArguments) -> list[Word]:
    """Return the operands of a removal, and the options of an unknown value: `-$X`."""
    return [*given.named, *(each for each in given.options if not each.known)]


def _glob_files(
    program: Program, rest: list[Word], given: _ParsedArguments, seen: set[str | None], tool: str
) -> Iterator[ClaudeRedirection]:
    """Yield the files that a program may read by its globs."""
    expanded = [word for word in rest if word.glob and _GLOB.search(word.value)]
    if program.writes is Files.NONE:
        chosen = [*_select(program, program.reads, rest, given.named), *given.files, *expanded]
        if any(_ABOVE_GLOB.search(word.value) for word in chosen):
            yield ClaudeRedirection(None, writes=False, tool=tool, shadowed=True, guarded=True)
    for word in expanded:
        if word.value not in seen:
            before = _GLOB.split(word.value, maxsplit=1)[0].rpartition("/")[0]
            folder = before or "/" * (word.value[:1] == "/") or "."
            yield ClaudeRedirection(folder, writes=False, tool=tool)


_GLOB: Final = re.compile(r"[*?]|\[(?=.*\])", re.DOTALL)
# `*/..`: up from a folder that a glob names, to an unknown one.
_ABOVE_GLOB: Final = re.compile(rf"(?:{_GLOB.pattern}).*/\.\.(?:/|\Z)", re.DOTALL)

# `cp -t FOLDER`: an option whose value is the target folder.
_INTO: Final = re.compile(r"-[a-zA-Z]*t|--t[a-z-]*")


def _files_in_target_folder(
    rest: list[Word], operands: list[Word], tool: str
) -> Iterator[ClaudeRedirection]:
    """Yield the files that are written if the last operand, or that of an option, is a folder."""
    if (
        len(operands) < len(rest)
        or any(word.value[:1] == "-" for word in operands)
        # The host does not look which operand is the last.
        or any(word.vetted and not word.known for word in operands)
    ):
        yield ClaudeRedirection(None, writes=True, tool=tool)
    folder_options = [word for word in rest if word.value[:2] != "--" or word.value[:3] == "--t"]
    folders = [folder for folder in _names_in_options(folder_options) if _is_checked_name(folder)]
    yield from (ClaudeRedirection(each.value, writes=True, tool=tool) for each in folders)
    values = (folder for name, folder in pairwise(rest) if _INTO.fullmatch(name.value))
    last = next(values, operands[-1]) if operands else None
    if last is not None and _is_checked_name(last):
        folders.append(last)
    for folder, word in product(folders, operands):
        name = word.value.rstrip("/").rpartition("/")[2]
        if word.known and not word.glob and word is not folder and name not in ("", ".", ".."):
            yield ClaudeRedirection(f"{folder.value.rstrip('/')}/{name}", writes=True, tool=tool)


def is_unwritable(name: str) -> bool:
    """Whether *name* leads to another computer (`//host/x`), or is too long for a file."""
    return name.startswith("//") or any(
        len(part.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for part in name.split("/")
    )


_LONGEST_NAME: Final = 255  # bytes, on the file systems that there are


def is_home_of_other(word: Word) -> bool:
    """Whether a word begins like the home folder of another user, quoted or not: `~bob`."""
    return word.value[:1] == "~" and word.value[1:2] not in ("", "/")


def _removed(word: Word, given: _ParsedArguments, shell: Shell) -> Iterator[ClaudeRedirection]:
    """Yield the files that the removal of one operand removes; an emptied folder is `folder/*`."""
    tool, parents = shell.files.removes, _with_parents(given)
    if word.value.startswith("//") or _is_unresolved(word, parents=parents, folder_changed=False):
        yield ClaudeRedirection(None, writes=False, tool=tool, guarded=True)
    name: str | None = word.value or "."  # without a name it is the folder itself
    if word.known and name is not None:
        folder = _emptied(name)
        if folder is None or not _SOME_GLOB.search(folder):
            emptied_name = name if folder is None else f"{folder.rstrip('/')}/*"
            yield ClaudeRedirection(emptied_name, writes=False, tool=tool)
    if word.glob or not word.known:
        yield ClaudeRedirection(None, writes=False, tool=tool)


def _with_parents(given: _ParsedArguments) -> bool:
    return _has(given.options, "-[a-z]*p[a-z]*|--p.*")


_OPTION: Final = re.compile(r"-[PLe@]+")
_NUMBER: Final = re.compile(r"[+-][0-9]+")
_UNKNOWN: Final = re.compile(r"[*?\[\]$`]|~[^/]")
# Folders that are followed; behind more changes the folder is unknown.
_MOST_FOLDERS: Final = 6


def _below(folder: str, name: str) -> str:
    """Return *name* as `folder/name`, or as it is if it is absolute or *folder* is empty."""
    return name if not folder or name[:1] in ("/", "~") else f"{folder}/{name}"


def somewhere(file: ClaudeRedirection) -> ClaudeRedirection:
    """Return *file* as seen behind a change to an unknown folder."""
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return evolve(file, target=None) if relative or file.writes else file


# Operators other than `&&`, behind which a command runs even if the last one failed.
_NOT_CHAINED: Final = re.compile(r"\|\||[;\n]|(?<!&)&(?!&)|&&&")


def _is_no_change(words: Sequence[Word], text: str, cwd: str, *, first: bool) -> bool:
    """Return whether ``cd`` to *cwd* counts as no change; *first*: it is the first command."""
    written = " ".join([word.raw for word in words])
    end = re.search(rf"{re.escape(written)}[ \t]*(?:\Z|&&|\|\|?|[;\n)])", text)
    if words[0].raw != "cd" or end is None or "|" in text.replace("||", ""):
        return False  # or it is a part of a pipe
    once = "cd" not in text[end.end() :]
    chained = first and once and text.lstrip().startswith(written) and not _NOT_CHAINED.search(text)
    return written == f"cd {cwd}" or chained


def _new_folder(name: str, operands: Sequence[Word]) -> str | None:
    """Return the folder that `cd` or `pushd` changes to; None for an unknown one."""
    if not operands:
        return "~" if name in ("cd", "chdir") else None
    word = operands[0]
    if len(operands) > 1 or not word.known or word.value == "-" or _NUMBER.fullmatch(word.value):
        return None
    return None if word.glob or _UNKNOWN.search(word.value) else word.value


@frozen
class Behavior:
    """What a command does, by the data of the host. Each `bool` is whether it is so."""

    program: Program  # its program, or the subcommand
    harmless: bool = False  # it runs without a rule
    opened: tuple[ClaudeRedirection, ...] = ()  # the files it opens
    empties: bool = False  # it removes all of a folder that depends on where it runs
    moves: int = 0  # how many folders it changes to
    in_place: bool = False  # it changes to the folder that it is in
    stays: bool = False  # it is harmless only if no command before it changes the folder
    direct: bool = False  # it is harmless only without wrappers and assignments
    relative: bool = False  # it reads a file by a relative name
    unnamed: bool = False  # it reads files that it does not name


def examine(words: Sequence[Word], shell: Shell) -> Behavior | None:
    """Return what is known of the command *words*; None for an unknown program."""
    name = words[0].value
    program = shell.programs.known.get(name)
    if program is None:
        # `/bin/rm` may be another program than `rm`: no more is known of it than its files.
        elsewhere = shell.programs.known.get(basename(name))
        if elsewhere is None or not elsewhere.anywhere:
            return None
        return evolve(_behavior(elsewhere, list(words[1:]), shell), harmless=False)
    rest, stays = list(words[1:]), program.stays
    if program.before and rest and rest[0].value[:1] == "-":
        return _examine_behind_options(program, rest, shell)
    while rest and rest[0].value in program.subcommands:
        program = program.subcommands[rest[0].value]
        rest = rest[1:]
    known = _behavior(program, rest, shell)
    is_unknown = bool(program.subcommands and rest) and not rest[0].value.startswith("-")
    if is_unknown or (stays and not known.stays):
        return evolve(known, harmless=known.harmless and not is_unknown, stays=known.stays or stays)
    return known


def _examine_behind_options(program: Program, rest: list[Word], shell: Shell) -> Behavior:
    """Return the files of a command with options before its subcommand: `git -C a add b`."""
    at, folder = 0, ""
    while at < len(rest) and rest[at].value[:1] == "-":
        option, joined, value = rest[at].value.partition("=")
        at += 1
        if not joined and matches(program.before, option) and at < len(rest):
            value, at = rest[at].value, at + 1
        if value and matches(program.enters, option):
            folder = _below(folder, value)
    inner = program.subcommands.get(rest[at].value) if at < len(rest) else None
    known = _behavior(inner or program, rest[at + 1 :], shell)
    opened = (
        evolve(file, target=_below(folder, file.target)) if file.target else file
        for file in known.opened
    )
    return evolve(known, harmless=False, opened=tuple(opened), stays=True)


def _behavior(program: Program, rest: list[Word], shell: Shell) -> Behavior:
    given = _split(program, rest)
    if program.runs:
        inner = shell.programs.known.get(given.operands[0].value) if given.operands else None
        more = inner is not None and (bool(inner.files) or _reads_more(inner, given.operands[1:]))
        # Behind `--` a program is named: `xargs --` is not read as `xargs`.
        alone = not given.operands and not (rest and rest[-1].value == "--")
        harmless = given.options_known and (alone or bool(inner and inner.piped))
        harmless &= all(word.literal and not word.glob for word in rest)
        return Behavior(program, harmless, stays=bool(inner and inner.stays), unnamed=more)
    ways = [program] if _is_harmless(program, rest, given) else []
    ways += (form for form in program.forms if _is_harmless(form, rest, _split(form, rest)))
    opened = _files_of(program, rest, given, shell, spared=any(way.spares for way in ways))
    if program.moves and not given.named:
        opened = (ClaudeRedirection("~", writes=False, tool=shell.files.reads),)
    in_place, moves = False, 0
    if program.moves:
        values = [word.value for word in rest]
        folder = values[0] if len(values) == 1 else ""
        in_place = folder in (".", "./") or "" != folder.rstrip("/") == shell.cwd
        # An option behind a folder may be a folder.
        named = [*dropwhile(lambda text: text[:1] == "-" and text not in ("-", "--"), values)]
        moves = 0 if in_place else max(1, len(named) - (named[:1] == ["--"]))
    return Behavior(
        program,
        bool(ways),
        opened,
        program.removes
        and any(
            _is_unresolved(word, parents=_with_parents(given), folder_changed=True)
            for word in _removable(given)
        ),
        moves,
        in_place,
        stays=program.stays,
        direct=all(way.direct for way in ways),
        relative=not program.moves and _is_relative(program, opened, given, shell),
    )


def _reads_more(inner: Program, rest: list[Word]) -> bool:
    """Whether a program behind `xargs` also reads a file that its own arguments name."""
    if inner.reads is Files.REST:
        return len(_split(inner, rest).operands) > 1
    return inner.reads is Files.ALL and bool(inner.values) and bool(rest)


def _is_relative(
    program: Program, opened: tuple[ClaudeRedirection, ...], given: _ParsedArguments, shell: Shell
) -> bool:
    names = [file.target for file in opened if file.tool == shell.files.reads]
    if _lists_folder(program, given) and (not names or not given.operands):
        return True
    if program.reads is not Files.NONE and any(not word.value for word in given.operands):
        return True
    return any(name is None or name[:1] not in ("/", "~") for name in names)


def _is_harmless(program: Program, rest: list[Word], given: _ParsedArguments) -> bool:
    if not program.harmless or not given.options_known or _has(given.options, program.unsafe):
        return False
    if not program.texts and any(not word.literal for word in rest):
        return False
    if program.flags is not None and any(_DOUBTFUL.search(word.value) for word in rest):
        return False
    if program.spelling and not all(matches(program.spelling, word.raw) for word in rest):
        return False
    if program.needs and not _has(given.options, program.needs):
        return False
    if program.once and sum(matches(program.needs, each.value) for each in given.options) > 1:
        return False
    if program.flags == "" and any(word.value == "--" for word in rest):
        return False
    operands = given.operands
    if program.most is not None and len(operands) > program.most:
        return False
    if not program.globs and any(word.glob for word in rest):
        return False
    if program.first and (not operands or not matches(program.first, operands[0].value)):
        return False
    others = operands[1:] if program.first else operands
    return not program.operands or all(matches(program.operands, word.value) for word in others)


_DOUBTFUL: Final = re.compile(r"[$`\n]|\{.*(?:,|\.\.)")

# With this many changes of folder, a command may run in one of several folders.
SEVERAL: Final = 2


class FolderChanges:
    """The changes of folder by those commands of a script that were read."""

    def __init__(self, text: str, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self.count = 0
        self.stays = False  # whether a command is harmless only without any
        self.relative = False  # whether a command reads a file by a relative name
        # Other folders in which the next command may run, relative to that of the script; and
        # whether it may run in an unknown one.
        self.possible: list[str] = []
        self.may_be_anywhere = False
        self._here: str | None = ""

    def count_changes(self, known: Behavior, words: Sequence[Word], *, first: bool) -> None:
        """Count the changes of folder of a command; *first*: it is the first of the script."""
        self.count += known.moves
        if known.in_place:
            self.count += not _is_no_change(words, self._text, self._shell.cwd, first=first)
        self.stays |= known.stays
        self.relative |= known.relative

    def follow(self, program: Sequence[Word]) -> None:
        """Follow a command that changes the folder; *program* is its words behind wrappers."""
        name, rest = program[0].value.rsplit("/", 1)[-1], program[1:]
        if not all(word.literal for word in rest):
            # A host that cannot read the command does not follow it, but for this variable.
            names_home = any("HOME" in word.raw for word in rest) and "~" not in self.possible
            self.possible += ["~"] * names_home
            return
        options = [w.value for w in rest if w.value[:1] == "-" and w.value not in ("-", "--")]
        operands = [w for w in rest if w.value == "-" or w.value[:1] != "-"]
        options_known = name != "popd" and all(map(_OPTION.fullmatch, options))
        folder = _new_folder(name, operands) if options_known else None
        if folder is None or len(self.possible) >= _MOST_FOLDERS:
            self._here, self.may_be_anywhere = None, True
            return
        self.may_be_anywhere |= self._here is None
        before = self.possible if self._here is None else [self._here]
        found = [folder, *(_below(each, folder) for each in before)]
        if self._here is not None:
            self._here = found[-1]
        self.possible += (each for each in dict.fromkeys(found) if each not in self.possible)

    def elsewhere(self, files: Sequence[ClaudeRedirection]) -> Iterator[ClaudeRedirection]:
        """Yield *files* as they are named from each other folder they may be in, for deny rules."""
        for file in files:
            if file.target is None or file.target[:1] in ("/", "~", ""):
                continue
            for folder in self.possible:
                yield evolve(file, target=_below(folder, file.target))
            if self.may_be_anywhere and not file.writes:
                yield evolve(file, adrift=True)


# `git` runs the hooks of a repository, which a folder with `HEAD`, `hooks` and the like is. So no
# rule may allow a script that writes such files and runs such a program, in any order.
def writes_repository(names: Iterable[str], targets: Iterable[Redirection], shell: Shell) -> bool:
    """Return whether *names*, which commands write, or *targets* belong to a repository."""
    pattern = expression(shell.kinds.repository)
    written = (file.target for file in targets if file.writes and file.target)
    return any(pattern.fullmatch(_relative(name, shell)) for name in chain(names, written))


def uses_repository(program: Sequence[Word], shell: Shell) -> bool:
    """Return whether a command, behind its wrappers, runs a program that uses a repository."""
    if not shell.kinds.repository:
        return False
    names = program if program[0].value == "xargs" else program[:1]
    return any(word.value in shell.kinds.versioning for word in names)


def written_names(program: Sequence[Word], shell: Shell) -> tuple[str, ...]:
    """Return the names of files that a command, behind its wrappers, may put somewhere."""
    if posixpath.basename(program[0].value) not in shell.kinds.planting:
        return ()
    operands = [word.value for word in program[1:] if not word.value.startswith("-")]
    if operands and _relative(operands[-1], shell).startswith("."):
        # A file that is put into a folder keeps its name.
        return (*operands, *(posixpath.basename(name.rstrip("/")) for name in operands))
    return tuple(operands)


def _relative(name: str, shell: Shell) -> str:
    """Return *name* relative to the working folder, in lower case."""
    path = posixpath.normpath(name)
    if shell.cwd and path.startswith("/"):
        path = posixpath.relpath(path, shell.cwd)
    return path.lower()
