"""What a program does with its arguments, by the data of the host (`Program`).

Is it read-only, which files does it open or remove, to which folders does it go, and does it write
a repository?
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, dropwhile, pairwise, takewhile

from policy.commands.knowledge import Files, Program, Shell
from policy.commands.reader import Redirection
from policy.commands.words import Word, basename, is_pattern, with_home
from policy.core import expressions as re
from policy.core.values import Final, evolve, frozen
from policy.hosts.claude.shell.match_texts import ClaudeRedirection

__all__ = [
    "GLOB",
    "SEVERAL",
    "Examined",
    "FolderChanges",
    "below",
    "emptied",
    "examine",
    "has",
    "is_home_of_other",
    "is_indirect",
    "is_unwritable",
    "lists",
    "looks_for_one",
    "matches",
    "planted",
    "plants",
    "somewhere",
    "split",
]


@frozen
class ParsedArguments:
    """The arguments of a program: what begins like an option, and the rest.

    Attributes:
        options: without the values that are words of their own.
        operands: all others.
        files: values of options that are files it reads.
        known: whether the program is harmless with each of the options.
        named: the operands, and what counts for one where files are looked for: what begins with a
            plus, and what is an option to others.
    """

    options: list[Word]
    operands: list[Word]
    files: list[Word]
    known: bool
    named: list[Word]


def split(program: Program, rest: list[Word]) -> ParsedArguments:
    """Return which of the words behind a program are options, and which are operands."""
    options: list[Word] = []
    operands: list[Word] = []
    files: list[Word] = []
    named: list[Word] = []
    index, known = 0, True
    while index < len(rest):
        word = rest[index]
        index += 1
        if word.plain == "--" and program.ends:
            operands += rest[index:]
            named += rest[index:]
            break
        if (
            word.plain.startswith(("-", "+"))
            and len(word.plain) > 1
            and not (program.runs and operands)
        ):
            options.append(word)
            behind = program.trailing and bool(named)
            named += [word] * (behind or word.plain[0] == "+")
            if program.files and "=" in word.plain:
                name, _, joined = word.plain.partition("=")
                if matches(program.files, name):
                    files.append(evolve(word, plain=joined))
            if program.files and matches(program.files, word.plain[:2]) and word.plain[2:]:
                files.append(evolve(word, plain=word.plain[2:]))
            known &= not (program.leading and operands)
            value = rest[index] if index < len(rest) else None
            if value is not None and _takes(program, word.plain, value.plain):
                index += 1
                named += [value] * (behind or _is_looked_at(program, word.plain))
                if matches(program.files, word.plain):
                    files.append(value)
            elif program.flags is not None:
                known &= matches(program.flags, word.plain)
        else:
            operands.append(word)
            named.append(word)
            if program.runs:
                operands += rest[index:]
                break
    return ParsedArguments(options, operands, files, known, named)


def _takes(program: Program, option: str, value: str) -> bool:
    """Whether *value*, the word behind *option*, belongs to it."""
    if program.pairs and matches(program.pairs, f"{option} {value}"):
        return True
    return not value.startswith("-") and (
        matches(program.values, option) or matches(program.files, option)
    )


def _is_looked_at(program: Program, option: str) -> bool:
    """Whether the value of an option is an operand to whoever looks for files."""
    return program.skipped is not None and not matches(program.skipped, option)


@lru_cache(maxsize=1024)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)


def matches(expression: str, text: str) -> bool:
    """Return whether a text is what an expression describes; one that is empty describes none."""
    return bool(expression) and _expression(expression).fullmatch(text) is not None


def has(options: list[Word], wanted: str) -> bool:
    """Return whether one of the options is *wanted*."""
    return any(matches(wanted, option.plain) for option in options)


# Stars that are all that stands in the last segments of a name.
_STARS: Final = re.compile(r"(?:(?:^|/)\*+)+/*\Z")
GLOB: Final = re.compile(r"[*?\[]")

# What a shell puts something else for: `$X`, `$(ls)`. `$'x'` is a text, and `${X:?}` is never
# empty, which is what hosts tell their users to write.
_PUT_IN: Final = re.compile(r"\$(?!'|\{(?!HOME:|(?:OLD)?PWD:)\w+:\?[^{}$`]*\})|`")


def emptied(name: str) -> str | None:
    """Return the folder that stars at the end of *name* empty, None where there are none."""
    folder = name
    while (found := _STARS.search(folder)) is not None:
        folder = folder[: found.start()]
    if folder == name:
        return None
    return folder or ("/" if name.startswith("/") else ".")


def is_unresolved(word: Word, *, parents: bool, astray: bool) -> bool:
    """Return whether a host cannot tell which folders a removal empties.

    Args:
        word: what is removed.
        parents: whether folders above it are removed too (`rmdir -p`).
        astray: whether it is removed behind a change of folder.

    """
    if not word.known or word.guessed:
        return _PUT_IN.search(word.raw) is not None
    if emptied(word.plain) is None:
        return False
    is_plain = _ONE_STAR.fullmatch(word.plain) is not None and ".." not in word.plain
    return parents or astray or not is_plain


# All of one folder, which is named: not the home of another user.
_ONE_STAR: Final = re.compile(r"(?!~[^/])(?:[^*?\[]*/)?\*")


def lists(program: Program, given: ParsedArguments) -> bool:
    """Whether it reads the folder it runs in where it names no file."""
    return program.lists and (not program.lists_if or has(given.options, program.lists_if))


def _chosen(program: Program, files: Files, rest: list[Word], operands: list[Word]) -> list[Word]:
    match files:
        case Files.NONE:
            return []
        case Files.ALL:
            return operands
        case Files.REST:
            is_given = program.given and has(rest, program.given)
            return operands if is_given else operands[1:]
        case Files.SETS:
            deletes = any(word.plain[:1] == "-" and "d" in word.plain for word in rest)
            return operands[1 if deletes else 2 :]
        case Files.BUT_LAST:
            return operands[:-1] if len(operands) > 1 else operands
        case Files.SLASHED:
            is_given = program.given and has(rest, program.given)
            some = [*operands, *_attached(rest)]
            return some if is_given else [w for w in some if _SLASHED.search(w.plain)]
        case Files.LEADING:
            given = dropwhile(lambda word: _AHEAD.fullmatch(word.plain), rest)
            leading = takewhile(lambda word: not word.plain.startswith(_EXPRESSION), given)
            ended = dropwhile(lambda word: word.plain != "--", rest)
            return [*leading, *ended]


def _attached(rest: list[Word]) -> Iterator[Word]:
    """Yield what may be the names of files in options: `--file=a`, `-fa`, `-f=/a`."""
    for word in rest:
        text = word.plain
        if text[:1] != "-":
            continue
        slashed = _SLASH.search(text)
        names = (
            text.partition("=")[2],
            text[2:] if text[:2] != "--" else "",
            text[slashed.start() :] if slashed else "",
        )
        yield from (evolve(word, plain=name) for name in dict.fromkeys(names) if name)


_SLASH: Final = re.compile(r"[\\/~]")
# What is no other name than that of a file.
_SLASHED: Final = re.compile(r"\A[.~]|[/\\]")

# What may stand before the folders that a program is to search, and what ends these.
_AHEAD: Final = re.compile(r"--|-[a-zA-Z]|-O\d*")
_EXPRESSION: Final = "-"

_EXPANDABLE: Final = frozenset("$`")
_INDIRECT: Final = re.compile(r"(?:^|/)(?!\.\.(?:/|$))[^/]+/(?:.*/)?\.\.(?:/|$)")


def _is_devious(word: Word, program: Program, *, read: bool, spared: bool) -> bool:
    if read and word.vetted and not word.known:
        return "<<" in word.raw
    if _is_expandable(word):
        return True
    written = not read or program.writes is not Files.NONE
    patterned = is_pattern(word.plain) and (word.glob or not spared)
    if written and (not word.literal or patterned):
        return True  # an unknown name, or a pattern, where one of them is written
    if not read and "\n" in word.plain:
        return True
    return not word.known or is_indirect(word.plain)


def _is_expandable(word: Word) -> bool:
    """Whether a name has, quoted, what a shell expands elsewhere: it is not believed."""
    return word.literal and (word.plain[:1] == "=" or not _EXPANDABLE.isdisjoint(word.plain))


def _is_looked_up(word: Word, *, read: bool) -> bool:
    """Return whether rules are asked for a name: for none that is not believed in any case."""
    if _is_expandable(word):
        return False
    if read:
        return word.known or word.vetted
    return word.known and not is_pattern(word.plain)


def is_indirect(name: str) -> bool:
    """Whether *name* goes down into a folder, which may be a link, and up again."""
    return ".." in name and _INDIRECT.search(name) is not None


def files_of(
    program: Program, rest: list[Word], given: ParsedArguments, shell: Shell, *, spared: bool
) -> tuple[ClaudeRedirection, ...]:
    """Return the files that a program opens; it writes none where it is *spared*."""
    tools = shell.files
    opened: list[ClaudeRedirection] = []
    looked: list[Word] = []
    for files, tool in ((program.reads, tools.reads), (program.writes, tools.writes)):
        if not tool or (files is Files.NONE and not given.files):
            continue
        if spared and tool == tools.writes:
            continue
        read = tool == tools.reads
        operands = given.named
        given_too = given.files if read or files is not Files.NONE else []
        chosen = _chosen(program, files, rest, operands) + given_too
        # A name that is empty is that of the folder it runs in.
        chosen = [w if w.plain else evolve(w, plain=".") for w in chosen]
        others = [word for word in chosen if is_home_of_other(word)]
        chosen = [word for word in chosen if word not in others]
        looked += chosen
        names: list[str | None] = [None for _ in others]
        if read and any(is_indirect(word.plain) for word in given.options):
            names.append(None)  # behind a file an option is another
        if read and not chosen and lists(program, given):
            names.append(".")
        names += (w.plain for w in chosen if _is_looked_up(w, read=read))
        names += (None for w in chosen if _is_devious(w, program, read=read, spared=spared))
        names += (name for w in chosen if not read and (name := with_home(w)))
        names += (None for w in chosen if read and is_abroad(w.plain))
        opened += (ClaudeRedirection(name, not read, tool) for name in dict.fromkeys(names))
        if not read and any(is_unwritable(word.plain) for word in chosen):
            opened.append(ClaudeRedirection(None, writes=True, tool=tool, guarded=True))
    if tools.reads and (program.reads, program.writes) != (Files.NONE, Files.NONE):
        opened += _of_patterns(program, rest, given, {word.plain for word in looked}, tools.reads)
    plain = all(word.plain[:1] != "-" for word in rest)  # or an option may name the folder
    if shell.kept and program.uproots is not Files.NONE:
        taken = _chosen(program, program.uproots if plain else Files.ALL, rest, given.named)
        opened += (
            ClaudeRedirection(w.plain, writes=True, tool=tools.writes, deep=True)
            for w in taken
            if w.known and w.plain
        )
    if program.into and tools.writes:
        opened += _put_into_folders(rest, given.named, tools.writes)
    if program.removes and tools.removes:
        # An option of an unknown value may be names too: `-$X`.
        for word in _removable(given):
            opened += _removed(word, given, shell)
    return tuple(opened)


def _removable(given: ParsedArguments) -> Iterator[Word]:
    yield from given.named
    yield from (each for each in given.options if not each.known)


def _of_patterns(
    program: Program, rest: list[Word], given: ParsedArguments, known: set[str | None], tool: str
) -> Iterator[ClaudeRedirection]:
    """Yield what a program may read of the files that a shell puts for its patterns."""
    if program.writes is Files.NONE:
        chosen = [*_chosen(program, program.reads, rest, given.named), *given.files]
        if any(_climbs(word.plain) for word in (*chosen, *_expanded(rest))):
            yield ClaudeRedirection(None, writes=False, tool=tool, shadowed=True, guarded=True)
    for word in _expanded(rest):
        if word.plain not in known:
            yield ClaudeRedirection(_searched_folder(word), writes=False, tool=tool)


def _expanded(rest: list[Word]) -> Iterator[Word]:
    """Yield the words that a shell puts names for, of which a program may read any."""
    return (word for word in rest if word.glob and _GLOB.search(word.plain))


def _climbs(name: str) -> bool:
    """Whether it goes up out of a folder that a pattern names, to an unknown place."""
    pattern = _GLOB.search(name) if ".." in name else None
    return pattern is not None and _UP_AGAIN.search(name, pattern.start()) is not None


_UP_AGAIN: Final = re.compile(r"/\.\.(?:/|\Z)")


def _searched_folder(word: Word) -> str:
    """Return the folder in which a shell begins to look for the names."""
    return (
        _GLOB.split(word.plain, maxsplit=1)[0].rpartition("/")[0]
        or "/" * (word.plain[:1] == "/")
        or "."
    )


_GLOB: Final = re.compile(r"[*?]|\[(?=.*\])", re.DOTALL)


# An option that names the folder which files are put into.
_INTO: Final = re.compile(r"-[a-zA-Z]*t|--t[a-z-]*")


def _put_into_folders(
    rest: list[Word], operands: list[Word], tool: str
) -> Iterator[ClaudeRedirection]:
    """Yield what is written where the last operand, or the one of an option, is a folder."""
    if len(operands) < len(rest) or any(word.plain[:1] == "-" for word in operands):
        yield ClaudeRedirection(None, writes=True, tool=tool)
    if any(word.vetted and not word.known for word in operands):
        # Which is the last of them is not looked at.
        yield ClaudeRedirection(None, writes=True, tool=tool)
    attached = [*_attached_folders(rest)]
    for to in attached:
        if _is_looked_up(to, read=False):
            yield ClaudeRedirection(to.plain, writes=True, tool=tool)
    if not operands:
        return
    folder = next((to for name, to in pairwise(rest) if _INTO.fullmatch(name.plain)), operands[-1])
    for to in (folder, *attached):
        for word in operands:
            name = word.plain.rstrip("/").rpartition("/")[2]
            known = word.known and _is_looked_up(to, read=False) and not word.glob
            if known and word is not to and name not in ("", ".", ".."):
                yield ClaudeRedirection(f"{to.plain.rstrip('/')}/{name}", writes=True, tool=tool)


def _attached_folders(rest: list[Word]) -> Iterator[Word]:
    """Yield the folders that are written in one word with their option: `-td`, `--t=d`."""
    for word in rest:
        option, equals, folder = word.plain.partition("=")
        if word.plain[:2] == "--":
            named = len(option) > 2 and "--target-directory".startswith(option)
            names = [folder] if named and equals else []
        else:
            folder = word.plain.partition("t")[2] if word.plain[:1] == "-" else ""
            names = [folder, *([folder[1:]] if folder[:1] == "=" else [])]
        yield from (evolve(word, plain=name) for name in names if name)


def is_abroad(name: str) -> bool:
    """Whether *name* may be that of a file on another host: ``//host/share``."""
    return name.startswith("//")


def is_unwritable(name: str) -> bool:
    """Whether it is unknown where *name* leads: to another host, or to no file."""
    return is_abroad(name) or any(
        len(part.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for part in name.split("/")
    )


_LONGEST_NAME: Final = 255  # bytes, on the file systems that there are


def is_home_of_other(word: Word) -> bool:
    """Whether a word begins like the home folder of another user, quoted or not: `~bob`."""
    return word.plain[:1] == "~" and word.plain[1:2] not in ("", "/")


def _removed(word: Word, given: ParsedArguments, shell: Shell) -> Iterator[ClaudeRedirection]:
    """Yield what the removal of one operand counts as; what it empties ends in one star."""
    tool, parents = shell.files.removes, _with_parents(given)
    if is_abroad(word.plain) or is_unresolved(word, parents=parents, astray=False):
        yield ClaudeRedirection(None, writes=False, tool=tool, guarded=True)
    name: str | None = word.plain or "."  # without a name it is the folder itself
    if word.known and name is not None:
        folder = emptied(name)
        if folder is None or not GLOB.search(folder):
            emptied_name = name if folder is None else f"{folder.rstrip('/')}/*"
            yield ClaudeRedirection(emptied_name, writes=False, tool=tool)
    if word.glob or not word.known:
        yield ClaudeRedirection(None, writes=False, tool=tool)


def _with_parents(given: ParsedArguments) -> bool:
    return has(given.options, "-[a-z]*p[a-z]*|--p.*")


_OPTION: Final = re.compile(r"-[PLe@]+")
_NUMBER: Final = re.compile(r"[+-][0-9]+")
_UNKNOWN: Final = re.compile(r"[*?\[\]$`]|~[^/]")
# Folders that a name is looked for in; a script that goes to more of them goes astray.
_MOST: Final = 6


def below(folder: str, name: str) -> str:
    """Return a name as it is known in the folder from which one went to *folder*."""
    return name if not folder or name[:1] in ("/", "~") else f"{folder}/{name}"


def somewhere(file: ClaudeRedirection) -> ClaudeRedirection:
    """Return *file* as what it is after a change to an unknown folder.

    One that is written is not believed to be where its name says it is, wherever that is.
    """
    relative = file.target is not None and file.target[:1] not in ("/", "~")
    return evolve(file, target=None) if relative or file.writes else file


# Behind one of these the next command is not one that runs only where the last did.
_LOOSE: Final = re.compile(r"\|\||[;\n]|(?<!&)&(?!&)|&&&")


def is_no_change(words: Sequence[Word], text: str, cwd: str, *, first: bool) -> bool:
    """Return whether the host takes a command that goes to *cwd*, in which it is, for no change.

    Args:
        words: the command.
        text: what it is part of.
        cwd: the folder.
        first: whether no other command stands before it.

    """
    written = " ".join([word.raw for word in words])
    end = re.search(rf"{re.escape(written)}[ \t]*(?:\Z|&&|\|\|?|[;\n)])", text)
    if words[0].raw != "cd" or end is None or "|" in text.replace("||", ""):
        return False  # or it is a part of a pipe
    once = "cd" not in text[end.end() :]
    chained = first and once and text.lstrip().startswith(written) and not _LOOSE.search(text)
    return written == f"cd {cwd}" or chained


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
        program: what it runs, behind its subcommands.
        harmless: whether it runs where no rule applies to it.
        opened: the files it names.
        empties: whether it removes all of a folder that only where it runs tells.
        moves: how many folders it names to go to.
        in_place: whether the folder that it names to go to is the one that it is in.
        stays: whether it is harmless only where no command before it goes to another folder.
        direct: whether it is harmless without anything before it only.
        relative: whether it reads a file by a name that depends on the folder it runs in.
        blind: whether it reads files that a rule which denies could mean, by names
            that are not known.
    """

    program: Program
    harmless: bool = False
    opened: tuple[ClaudeRedirection, ...] = ()
    empties: bool = False
    moves: int = 0
    in_place: bool = False
    stays: bool = False
    direct: bool = False
    relative: bool = False
    blind: bool = False


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
        evolve(file, target=below(folder, file.target)) if file.target else file
        for file in known.opened
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
        return Examined(program, harmless, stays=bool(inner and inner.stays), blind=blind)
    ways = [program] if _harmless(program, rest, given) else []
    ways += (form for form in program.forms if _harmless(form, rest, split(form, rest)))
    opened = files_of(program, rest, given, shell, spared=any(way.spares for way in ways))
    if program.moves and not given.named and shell.files.reads:
        opened = (ClaudeRedirection("~", writes=False, tool=shell.files.reads),)
    in_place = program.moves and _is_in_place(rest, shell)
    moves = _folders(rest) if program.moves and not in_place else 0
    parents = _with_parents(given)
    return Examined(
        program,
        bool(ways),
        opened,
        program.removes
        and any(is_unresolved(w, parents=parents, astray=True) for w in _removable(given)),
        moves,
        in_place,
        stays=program.stays,
        direct=all(way.direct for way in ways),
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
    program: Program, opened: tuple[ClaudeRedirection, ...], given: ParsedArguments, shell: Shell
) -> bool:
    names = [file.target for file in opened if file.tool == shell.files.reads]
    if lists(program, given) and (not names or not given.operands):
        return True
    if program.reads is not Files.NONE and any(not word.plain for word in given.operands):
        return True
    return any(name is None or name[:1] not in ("/", "~") for name in names)


def _is_in_place(rest: Sequence[Word], shell: Shell) -> bool:
    """Return whether the folder to go to is the one that a script runs in."""
    if len(rest) != 1:
        return False
    folder = rest[0].plain
    return folder in (".", "./") or (bool(shell.cwd) and folder.rstrip("/") == shell.cwd)


def _harmless(program: Program, rest: list[Word], given: ParsedArguments) -> bool:
    if not program.harmless or not given.known or has(given.options, program.unsafe):
        return False
    if not program.texts and any(not word.literal for word in rest):
        return False
    if program.flags is not None and any(_DOUBTED.search(word.plain) for word in rest):
        return False
    if program.spelling and not all(matches(program.spelling, word.raw) for word in rest):
        return False
    if program.needs and not has(given.options, program.needs):
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


_DOUBTED: Final = re.compile(r"[$`\n]|\{.*(?:,|\.\.)")

# Folders that a command goes to, so that it is unknown which it is in: it is asked for.
SEVERAL: Final = 2

# What stands in one of these is looked at for itself.
_APART: Final = re.compile(r"(?<!\|)\|(?!\|)|\(|`")


class FolderChanges:
    """The changes of folder of a script, as far as its commands were looked at.

    Attributes:
        count: how many there are.
        stays: whether a command is harmless only without any.
        relative: whether a command reads a file by a name that depends on its folder.
        possible: the folders that what follows may run in, beside the one that the script runs
            in, which they are relative to.
        astray: whether it may run in any other.

    """

    def __init__(self, text: str, shell: Shell) -> None:
        self._text = text
        self._shell = shell
        self.count = 0
        self.stays = False
        self.relative = False
        self.possible: list[str] = []
        self.astray = False
        self._here: str | None = ""
        self._entered: list[Sequence[ClaudeRedirection]] = []  # by each command that goes elsewhere

    def look(self, known: Examined, words: Sequence[Word], *, first: bool) -> None:
        """Note the changes of folder of a command; *first* if it is the first of the script."""
        self.count += known.moves
        if known.in_place:
            self.count += not is_no_change(words, self._text, self._shell.cwd, first=first)
        self.stays |= known.stays
        self.relative |= known.relative

    def move(self, program: Sequence[Word]) -> None:
        """Note that a command goes elsewhere: `program` is it, behind its wrappers."""
        name, rest = program[0].plain.rsplit("/", 1)[-1], program[1:]
        if not all(word.literal for word in rest):
            return  # a host that cannot read the command does not follow it
        options = [w.plain for w in rest if w.plain[:1] == "-" and w.plain not in ("-", "--")]
        operands = [w for w in rest if w.plain == "-" or w.plain[:1] != "-"]
        known = name != "popd" and all(map(_OPTION.fullmatch, options))
        folder = _folder(name, operands) if known else None
        if folder is None or len(self.possible) >= _MOST:
            self._here, self.astray = None, True
            return
        self.astray |= self._here is None
        before = self.possible if self._here is None else [self._here]
        found = [folder, *(below(each, folder) for each in before)]
        if self._here is not None:
            self._here = found[-1]
        self.possible += (each for each in dict.fromkeys(found) if each not in self.possible)

    def elsewhere(self, files: Sequence[ClaudeRedirection]) -> Iterator[ClaudeRedirection]:
        """Yield *files* as what denies them knows them in other folders they may be in."""
        for file in files:
            if file.target is None or file.target[:1] in ("/", "~", ""):
                continue
            for folder in self.possible:
                yield evolve(file, target=below(folder, file.target))
            if self.astray and not file.writes:
                yield evolve(file, adrift=True)

    def enter(
        self, known: Examined, program: Sequence[Word], opened: Sequence[ClaudeRedirection]
    ) -> None:
        """Note the folders that a command goes to, which are among the files it *opened*."""
        if known.moves:
            apart = known.moves == 1 or program[1].plain[:1] not in ("/", "~")
            self._entered.append(opened if apart else ())

    @property
    def scatter(self) -> bool:
        """Whether it is unknown in which of several folders a command runs that reads them."""
        return self.count > 1 or (self.count > 0 and self.stays)

    def looked_at(self, files: list[ClaudeRedirection]) -> list[ClaudeRedirection]:
        """Return *files* without the folders gone to, where it is asked for before these are."""
        if self.count < SEVERAL or not (len(self._entered) == 1 or not _APART.search(self._text)):
            return files
        entered = {id(file) for opened in self._entered for file in opened}
        return [file for file in files if id(file) not in entered]


# A command that writes `HEAD`, `hooks` and the like where a program looks for its repository tells
# that program which hooks to run: no rule may allow it, in whichever order its parts stand.
def plants(names: Iterable[str], targets: Iterable[Redirection], shell: Shell) -> bool:
    """Return whether one of the files that are written is one of a repository.

    Args:
        names: those that commands write (`planted`).
        targets: the files of redirections.
        shell: what the host knows of commands.

    """
    own = _of_all(shell.kinds.repository)
    written = (file.target for file in targets if file.writes and file.target)
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
def _of_all(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)
