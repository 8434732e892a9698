"""The files that a program opens or removes, by what its host knows of its operands.

Of a removal a host that guards critical folders looks at each name and, where that ends in stars
(`src/*`), at the folder which they empty. A name with a variable or a substitution counts as
critical, unless its value is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import dropwhile, pairwise, takewhile

from policy.commands.knowledge import Files, Program, Shell
from policy.commands.words import Word, is_pattern, with_home
from policy.core import expressions as re
from policy.core.values import Final, evolve, frozen

__all__ = [
    "GLOB",
    "Opened",
    "ParsedArguments",
    "emptied",
    "files_of",
    "has",
    "is_abroad",
    "is_home_of_other",
    "is_indirect",
    "is_unresolved",
    "is_unwritable",
    "lists",
    "matches",
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
    sure = True
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
            sure &= not program.sure or matches(program.sure, word.plain)
            value = rest[index] if sure and index < len(rest) else None
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
_SEGMENT: Final = re.compile(r"[^/]+")
GLOB: Final = re.compile(r"[*?\[]")
_UP: Final = re.compile(r"(?:^|/)\.\.(?:/|$)")

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
    name = word.plain
    folder = emptied(name)
    if folder is None:
        return False
    inside = name[:1] != "/" and name != "~" and name[:2] != "~/"
    if name[:1] == "~" and inside:
        return True  # the home of another user
    if not re.search(r"(?:^|/)\*/*\Z", name):
        return False
    if inside and (astray or _UP.search(name) or re.search(r"\*/+\Z", name)):
        return True
    stars = len(_SEGMENT.findall(name)) - len(_SEGMENT.findall(folder))
    stars += folder == "."
    globs = sum(1 for segment in _SEGMENT.findall(folder) if GLOB.search(segment))
    return parents or stars + globs > 1


@frozen
class Opened:
    """A file a program opens.

    Attributes:
        name: its name; None when it is not a literal.
        tool: the tool that this is a call of.
        guarded: whether no rule may allow it.
        relative: whether no rule may allow it behind a change of folder.
        deep: whether it stands for what it may hold of the host's own.
        copied: whether no rule that denies what is written denies it.
        shadowed: whether it only counts where a rule denies files of the tool.
    """

    name: str | None
    tool: str
    guarded: bool = False
    relative: bool = False
    deep: bool = False
    copied: bool = False
    shadowed: bool = False


def lists(program: Program, given: ParsedArguments) -> bool:
    """Whether it reads the folder it runs in where it names no file."""
    return program.lists and (not program.lists_if or has(given.options, program.lists_if))


def _chosen(program: Program, files: Files, rest: list[Word], operands: list[Word]) -> list[Word]:
    match files:
        case Files.NONE:
            return []
        case Files.ALL:
            return operands
        case Files.FIRST:
            return operands[:1]
        case Files.REST:
            is_given = program.given and has(rest, program.given)
            return operands if is_given else operands[1:]
        case Files.SETS:
            deletes = any(word.plain[:1] == "-" and "d" in word.plain for word in rest)
            return operands[1 if deletes else 2 :]
        case Files.BUT_LAST:
            return operands[:-1] if len(operands) > 1 else operands
        case Files.LAST:  # behind options it may be any
            return operands[-1:] if len(operands) == len(rest) else operands
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
    return not word.known or (program.confined and is_indirect(word.plain))


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
) -> tuple[Opened, ...]:
    """Return the files that a program opens; it writes none where it is *spared*."""
    tools = shell.files
    opened: list[Opened] = []
    looked: list[Word] = []
    for files, tool in ((program.reads, tools.reads), (program.writes, tools.writes)):
        if not tool or (files is Files.NONE and not given.files):
            continue
        if spared and tool == tools.writes:
            continue
        read = tool == tools.reads
        operands = given.named
        if files is Files.LAST:
            operands = [word for word in operands if word.plain]  # which is none of them
        given_too = given.files if read or files is not Files.NONE else []
        chosen = _chosen(program, files, rest, operands) + given_too
        # A name that is empty is that of the folder it runs in.
        chosen = [w if w.plain else evolve(w, plain=".") for w in chosen]
        others = [word for word in chosen if is_home_of_other(word)]
        chosen = [word for word in chosen if word not in others]
        opened += (Opened(None, tool) for _ in others)
        if read and any(is_indirect(word.plain) for word in given.options):
            opened.append(Opened(None, tool))  # behind a file an option is another
        if read and not chosen and lists(program, given):
            opened.append(Opened(".", tool))
        looked += chosen
        opened += (Opened(w.plain, tool) for w in chosen if _is_looked_up(w, read=read))
        opened += (
            Opened(None, tool) for w in chosen if _is_devious(w, program, read=read, spared=spared)
        )
        opened += (Opened(name, tool) for w in chosen if not read and (name := with_home(w)))
        odd = is_abroad if read else is_unwritable
        opened += (Opened(None, tool, guarded=not read) for w in chosen if odd(w.plain))
    if tools.reads and (program.reads, program.writes) != (Files.NONE, Files.NONE):
        opened += _of_patterns(program, rest, given, {word.plain for word in looked}, tools.reads)
    plain = all(word.plain[:1] != "-" for word in rest)  # or an option may name the last
    if tools.writes and program.copies is not Files.NONE and plain:
        copied = [w for w in _chosen(program, program.copies, rest, given.named) if w.plain]
        opened += (
            Opened(w.plain, tools.writes, copied=w.plain[:1] != "~")
            for w in copied
            if _is_looked_up(w, read=False)
        )
        opened += (
            Opened(None, tools.writes, guarded=True) for w in copied if is_unwritable(w.plain)
        )
    if shell.kept and program.uproots is not Files.NONE:
        taken = _chosen(program, program.uproots if plain else Files.ALL, rest, given.named)
        opened += (Opened(w.plain, tools.writes, deep=True) for w in taken if w.known and w.plain)
    if program.into and tools.writes:
        opened += _put_into_folders(rest, given.named, tools.writes)
    if program.removes and tools.removes:
        # An option of an unknown value may be names too: `-$X`.
        for word in (*given.named, *(each for each in given.options if not each.known)):
            opened += _removed(word, given, shell)
    return tuple(opened)


def _of_patterns(
    program: Program, rest: list[Word], given: ParsedArguments, known: set[str | None], tool: str
) -> Iterator[Opened]:
    """Yield what a program may read of the files that a shell puts for its patterns."""
    if program.writes is Files.NONE:
        chosen = [*_chosen(program, program.reads, rest, given.named), *given.files]
        if any(_climbs(word.plain) for word in (*chosen, *_expanded(rest))):
            yield Opened(None, tool, guarded=True, shadowed=True)
    yield from (Opened(_folder(w), tool) for w in _expanded(rest) if w.plain not in known)


def _expanded(rest: list[Word]) -> Iterator[Word]:
    """Yield the words that a shell puts names for, of which a program may read any."""
    return (word for word in rest if word.glob and _GLOB.search(word.plain))


def _climbs(name: str) -> bool:
    """Whether it goes up out of a folder that a pattern names, to an unknown place."""
    pattern = _GLOB.search(name) if ".." in name else None
    return pattern is not None and _UP_AGAIN.search(name, pattern.start()) is not None


_UP_AGAIN: Final = re.compile(r"/\.\.(?:/|\Z)")


def _folder(word: Word) -> str:
    """Return the folder in which a shell begins to look for the names."""
    return (
        _GLOB.split(word.plain, maxsplit=1)[0].rpartition("/")[0]
        or "/" * (word.plain[:1] == "/")
        or "."
    )


_GLOB: Final = re.compile(r"[*?]|\[(?=.*\])", re.DOTALL)


# An option that names the folder which files are put into.
_INTO: Final = re.compile(r"-[a-zA-Z]*t|--t[a-z-]*")


def _put_into_folders(rest: list[Word], operands: list[Word], tool: str) -> Iterator[Opened]:
    """Yield what is written where the last operand, or the one of an option, is a folder."""
    if len(operands) < len(rest) or any(word.plain[:1] == "-" for word in operands):
        yield Opened(None, tool)
    if any(word.vetted and not word.known for word in operands):
        yield Opened(None, tool)  # which is the last of them is not looked at
    attached = [*_attached_folders(rest)]
    yield from (Opened(to.plain, tool) for to in attached if _is_looked_up(to, read=False))
    if not operands:
        return
    folder = next((to for name, to in pairwise(rest) if _INTO.fullmatch(name.plain)), operands[-1])
    for to in (folder, *attached):
        for word in operands:
            name = word.plain.rstrip("/").rpartition("/")[2]
            known = word.known and _is_looked_up(to, read=False) and not word.glob
            if known and word is not to and name not in ("", ".", ".."):
                yield Opened(f"{to.plain.rstrip('/')}/{name}", tool)


def _attached_folders(rest: list[Word]) -> Iterator[Word]:
    """Yield the folders that stand in one word with the option that names them: `-td`, `--t=d`."""
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


def _removed(word: Word, given: ParsedArguments, shell: Shell) -> Iterator[Opened]:
    """Yield what the removal of one operand counts as; what it empties ends in one star."""
    tool = shell.files.removes
    parents = has(given.options, "-[a-z]*p[a-z]*|--p.*")
    if is_abroad(word.plain):
        yield Opened(None, tool, guarded=True)
    if is_unresolved(word, parents=parents, astray=False):
        yield Opened(None, tool, guarded=True)
    elif is_unresolved(word, parents=parents, astray=True):
        yield Opened(None, tool, relative=True)
    if not word.known:
        yield Opened(None, tool)
        return
    name = word.plain or "."  # without a name it is the folder itself
    folder = emptied(name)
    if folder is None or not GLOB.search(folder):
        yield Opened(name if folder is None else f"{folder.rstrip('/')}/*", tool)
    if word.glob:
        yield Opened(None, tool)
