"""What a host knows of shells and programs: data, carried by every table.

Nothing here decides; `policy.commands` reads commands by it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

from policy.core.memory import OnDemand
from policy.core.values import TypeVar, content, field, frozen
from policy.patterns.tokens import Token


class Files(enum.Enum):
    """Which operands of a program are files, e.g. those that it reads."""

    NONE = "none"
    ALL = "all"
    REST = "rest"  # all but the first, which is an expression
    SETS = "sets"  # all but the first two, or the first where an option deletes
    LEADING = "leading"  # all before the first option
    BUT_LAST = "but last"
    SLASHED = "slashed"  # those that can be no other names

    __hash__ = object.__hash__


@frozen(cache_hash=True)
class Program:
    """What a host knows of a program: when it is harmless, and which files it opens.

    Harmless: it runs where no rule applies to it. A field that says what a word must match is a
    regular expression of all of that word; "" matches none.

    Attributes:
        harmless: whether it is, if its arguments are as below.
        flags: what an option matches that takes no value, for the program to be harmless; None
            is any. An option that is not named is not harmless.
        values: options whose value is the next word.
        pairs: what an option and its value match with a blank between them, where not any value
            is harmless.
        files: options whose value is a file that it reads.
        unsafe: of other options, those with which it is not harmless.
        skipped: options that take a value where files are looked for, if they are others than
            *values*.
        needs: options of which one must be there.
        once: whether only one of those may be there.
        leading: whether its options must come before its operands.
        ends: whether ``--`` ends its options.
        first: what its first operand must match.
        operands: what every operand must match to which *first* does not apply.
        most: operands it may have; None is any number.
        globs: whether it is harmless with a glob that the shell expands.
        given: options with which even its first operand is a file, where all but the first are.
        reads: the operands that it reads as files.
        writes: the operands that it writes as files.
        removes: whether what it writes is removed.
        uproots: the operands that it takes away, with all that is below them.
        into: whether what it writes may be a folder that it puts files into: the last operand,
            or the value of an option, so that behind any option it may be each of them.
        anywhere: whether the files that it opens count wherever it lies: `/bin/rm`.
        lists: whether it reads the folder it runs in where it names no file.
        lists_if: options of which one must be there for that.
        trailing: whether all that stands behind its first operand may be a file, options too.
        moves: whether its operand becomes the folder of what follows.
        spares: whether it writes nothing where it is harmless.
        runs: whether its operands are a command that must itself be harmless.
        texts: whether it is harmless with a text that has a substitution in it (`Word.vetted`).
        piped: whether it is harmless with arguments that `xargs` gives it.
        direct: whether it is harmless only where no wrapper or assignment stands before it.
        stays: whether it is harmless only where no change of folder came before.
        unchecked: what its arguments match, with a NUL between them, where no rule may allow the
            whole command; None is never.
        settled: whether that is so too where an argument is unknown.
        unexpanded: whether that is so too where a shell expands an argument.
        spelled: whether it is harmless only without quotes, and without a text on its input.
        spelling: what every argument must match as it is written, quotes and all.
        subcommands: by the first operand; one that is not there is not known.
        before: options that take a value and may stand before a subcommand.
        enters: of these, those whose value is the folder that files are looked for in.
        forms: other ways to call it that are harmless too.
    """

    harmless: bool = True
    flags: str | None = None
    values: str = ""
    pairs: str = ""
    files: str = ""
    skipped: str | None = None
    unsafe: str = ""
    needs: str = ""
    once: bool = False
    leading: bool = False
    ends: bool = True
    first: str = ""
    operands: str = ""
    most: int | None = None
    globs: bool = True
    given: str = ""
    reads: Files = Files.NONE
    writes: Files = Files.NONE
    removes: bool = False
    uproots: Files = Files.NONE
    into: bool = False
    anywhere: bool = False
    lists: bool = False
    lists_if: str = ""
    trailing: bool = True
    moves: bool = False
    spares: bool = False
    runs: bool = False
    texts: bool = False
    piped: bool = False
    direct: bool = False
    stays: bool = False
    unchecked: str | None = None
    settled: bool = False
    unexpanded: bool = False
    spelled: bool = False
    spelling: str = ""
    before: str = ""
    enters: str = ""
    subcommands: Mapping[str, Program] = field(hash=False, factory=dict)
    forms: tuple[Program, ...] = ()

    @property
    def opening(self) -> Program:
        """The same, but for whether it is harmless: the files that it opens, and where it goes."""
        return Program(
            **{name: getattr(self, name) for name in _OPENING},
            subcommands={name: each.opening for name, each in self.subcommands.items()},
            forms=tuple(form for form in (self, *self.forms) if form.spares),
        )


# What tells which files a program opens, and what stands beside it, whether it runs or not.
_OPENING = (
    "values pairs files skipped given ends reads writes removes uproots into anywhere"
    " lists lists_if trailing moves runs stays unchecked settled unexpanded"
    " before enters"
).split()


@frozen
class Wrapper:
    """A program that runs the program named behind it, and what may stand between them.

    A field that says what a word must match is a regular expression of all of that word.

    Attributes:
        flags: what an option matches that takes no value.
        values: options whose value is the next word.
        value: what such a value must match.
        needs: whether there must be an option.
        operands: what each operand matches that must stand before the program.
        appends: whether it puts more arguments behind those of the program.
        quiet: whether a harmless program is harmless behind it, if it has no options.
        ends: whether ``--`` ends its options.
        single: whether it has one option at most.
        idle: options with which it runs no program.
        runs: what the name of the program behind it must match.
    """

    flags: str = ""
    values: str = ""
    value: str = ".*"
    needs: bool = False
    operands: tuple[str, ...] = ()
    appends: bool = False
    quiet: bool = False
    ends: bool = False
    single: bool = False
    idle: str = ""
    runs: str = ""


_Known = TypeVar("_Known", Program, Wrapper)


class ProgramTable(Mapping[str, _Known]):
    """What is known of programs, by name; a digest stands for it where a table is hashed.

    Attributes:
        known: the same as a mapping, for where time counts; never to be changed.
    """

    __slots__ = ("_value", "known")

    def __init__(self, programs: Mapping[str, _Known] | None = None, digest: str = "") -> None:
        self.known: Mapping[str, _Known] = (
            programs if isinstance(programs, OnDemand) else dict(programs or {})
        )
        self._value = digest

    @property
    def value(self) -> str:
        """The digest; "" where nothing is known."""
        if self.known and not self._value:
            import hashlib  # noqa: PLC0415  # a decision needs no digest

            self._value = hashlib.sha256(repr(content(dict(self.known))).encode()).hexdigest()
        return self._value

    def __getitem__(self, name: str) -> _Known:
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgramTable):
            return NotImplemented
        return self is other or self.value == other.value

    def __hash__(self) -> int:
        return hash(frozenset(self.known))  # those who know other things know other names, mostly


Programs = ProgramTable[Program]
Wrappers = ProgramTable[Wrapper]


@frozen(cache_hash=True)
class Wrapping:
    """Commands that run the command behind them.

    Attributes:
        names: their names; rules that deny or ask match what is behind them too.
        transparent: those that rules which allow unwrap as well.
        granting: what is known of the options of those, where a host has a reader of its own.
    """

    names: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    granting: Wrappers = Wrappers()


@frozen(cache_hash=True)
class Variables:
    """Variables of a shell, by what setting or naming them does.

    Attributes:
        harmless: whose assignment before a command changes nothing of note.
        locales: of these, harmless with a locale that all know.
        texts: those that the host takes within quoted text, though not what they hold.
        guarded: what the name of one matches whose value decides what follows.
        counted: those that hold numbers, whose values a shell works out.
    """

    harmless: frozenset[str] = frozenset()
    locales: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    guarded: str = ""
    counted: frozenset[str] = frozenset()


@frozen(cache_hash=True)
class FileTools:
    """The tools that what a command does with a file is a call of; "" is of none.

    Attributes:
        output: to redirect into it.
        input: to redirect from it.
        reads: to read one named as an operand.
        writes: to write such a one.
        removes: to remove such a one.
        shadows: to read just any.
        inner: those of these tools that no agent calls: they only carry the file rules
            that apply to commands.
    """

    output: str = ""
    input: str = ""
    reads: str = ""
    writes: str = ""
    removes: str = ""
    shadows: str = ""
    inner: frozenset[str] = frozenset()

    @property
    def opening(self) -> tuple[str, ...]:
        """The tools that opening a file is a call of, and the one that may deny any."""
        tools = (self.output, self.input, self.reads, self.writes, self.removes, self.shadows)
        return tuple(dict.fromkeys(filter(None, tools)))


@frozen(cache_hash=True)
class Kinds:
    """Programs of which a host knows one thing, by that.

    Attributes:
        scripted: those that remove files; where there are any, ``bash -c SCRIPT`` is read.
        odd: those with arguments that no rule may allow, and wrappers.
        interpreters: those that are given scripts.
        movers: those that change the folder of what follows.
        versioning: those that run what a repository tells them to.
        planting: those that write any file they name.
        repository: what the name of a file in a folder matches by which that is a repository.
    """

    scripted: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    interpreters: frozenset[str] = frozenset()
    movers: frozenset[str] = frozenset()
    versioning: frozenset[str] = frozenset()
    planting: frozenset[str] = frozenset()
    repository: str = ""


@frozen(cache_hash=True)
class Shell:
    """What a host knows of shell commands.

    Attributes:
        reader: the host whose `policy.hosts.NAME.shell` reads them; "" is the plain reader.
        wrapping: of commands that run the command behind them.
        variables: of variables.
        files: which tools decide about the files of a command.
        programs: of programs, each with its options.
        kinds: of programs, one thing each.
        whole: whether a rule for any command grants what cannot be taken apart too,
            and what nothing but a default would ask for of the files it opens.
        compound: patterns of words of the commands that are read, beside those that every host
            reads.
        longest: characters of a command that are taken apart; 0 is any number.
        cwd: the folder a change to which is none; "" is not known.
        traced: whether it asks for every command that may read files, whatever allows it.
        kept: files of the host's own, absolute, which are asked for wherever a folder that
            holds them is moved or removed.
    """

    reader: str = ""
    wrapping: Wrapping = Wrapping()
    variables: Variables = Variables()
    files: FileTools = FileTools()
    programs: Programs = Programs()
    kinds: Kinds = Kinds()
    whole: bool = False
    compound: tuple[tuple[Token, ...], ...] = ()
    longest: int = 0
    cwd: str = ""
    traced: bool = False
    kept: tuple[str, ...] = ()
