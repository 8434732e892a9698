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
    """

    harmless: bool = True  # whether it is, if its arguments are as below
    # What an option matches that takes no value, for the program to be harmless; None is any. An
    # option that is not named is not harmless.
    flags: str | None = None
    values: str = ""  # options whose value is the next word
    # What an option and its value match with a blank between them, where not any value is harmless.
    pairs: str = ""
    files: str = ""  # options whose value is a file that it reads
    # Options that take a value where files are looked for, if they are others than *values*.
    skipped: str | None = None
    unsafe: str = ""  # of other options, those with which it is not harmless
    needs: str = ""  # options of which one must be there
    once: bool = False  # whether only one of those may be there
    leading: bool = False  # whether its options must come before its operands
    ends: bool = True  # whether ``--`` ends its options
    first: str = ""  # what its first operand must match
    operands: str = ""  # what every operand must match to which *first* does not apply
    most: int | None = None  # operands it may have; None is any number
    globs: bool = True  # whether it is harmless with a glob that the shell expands
    # Options with which even its first operand is a file, where all but the first are.
    given: str = ""
    reads: Files = Files.NONE  # the operands that it reads as files
    writes: Files = Files.NONE  # the operands that it writes as files
    removes: bool = False  # whether what it writes is removed
    uproots: Files = Files.NONE  # the operands that it takes away, with all that is below them
    # Whether what it writes may be a folder that it puts files into: the last operand, or the value
    # of an option, so that behind any option it may be each of them.
    into: bool = False
    anywhere: bool = False  # whether the files that it opens count wherever it lies: `/bin/rm`
    lists: bool = False  # whether it reads the folder it runs in where it names no file
    lists_if: str = ""  # an expression: it lists only with one of these options
    # Whether all that stands behind its first operand may be a file, options too.
    trailing: bool = True
    moves: bool = False  # whether its operand becomes the folder of what follows
    spares: bool = False  # whether it writes nothing where it is harmless
    runs: bool = False  # whether its operands are a command that must itself be harmless
    # Whether it is harmless with a text that has a substitution in it (`Word.vetted`).
    texts: bool = False
    piped: bool = False  # whether it is harmless with arguments that `xargs` gives it
    # Whether it is harmless only where no wrapper or assignment stands before it.
    direct: bool = False
    stays: bool = False  # whether it is harmless only where no change of folder came before
    # What its arguments match, with a NUL between them, where no rule may allow the whole command;
    # None is never.
    unchecked: str | None = None
    settled: bool = False  # whether that is so too where an argument is unknown
    unexpanded: bool = False  # whether that is so too where a shell expands an argument
    # Whether it is harmless only without quotes, and without a text on its input.
    spelled: bool = False
    spelling: str = ""  # what every argument must match as it is written, quotes and all
    before: str = ""  # options that take a value and may stand before a subcommand
    enters: str = ""  # of these, those whose value is the folder that files are looked for in
    # By the first operand; one that is not there is not known.
    subcommands: Mapping[str, Program] = field(hash=False, factory=dict)
    forms: tuple[Program, ...] = ()  # other ways to call it that are harmless too

    @property
    def opening(self) -> Program:
        """What is known of the files that it opens, and of where it goes."""
        return Program(
            **{name: getattr(self, name) for name in _OPENING},
            subcommands={name: each.opening for name, each in self.subcommands.items()},
            forms=tuple(form for form in (self, *self.forms) if form.spares),
        )


# The fields that decide which files a program opens and where it may stand, harmless or not.
_OPENING = (
    "values pairs files skipped given ends reads writes removes uproots into anywhere"
    " lists lists_if trailing moves runs stays unchecked settled unexpanded"
    " before enters"
).split()


@frozen
class Wrapper:
    """A program that runs the program named behind it, and what may stand between them.

    A field that says what a word must match is a regular expression of all of that word.
    """

    flags: str = ""  # what an option matches that takes no value
    values: str = ""  # options whose value is the next word
    value: str = ".*"  # what such a value must match
    needs: bool = False  # whether there must be an option
    operands: tuple[str, ...] = ()  # what each operand matches that must stand before the program
    appends: bool = False  # whether it puts more arguments behind those of the program
    quiet: bool = False  # whether a harmless program is harmless behind it, if it has no options
    ends: bool = False  # whether ``--`` ends its options
    single: bool = False  # whether it has one option at most
    idle: str = ""  # options with which it runs no program
    runs: str = ""  # what the name of the program behind it must match


_Known = TypeVar("_Known", Program, Wrapper)


class ProgramTable(Mapping[str, _Known]):
    """Programs or wrappers that a host knows, by name; hashes of tables use a digest of it.

    Attributes:
        known: a mapping that is read faster than this; never to be changed.
    """

    __slots__ = ("_value", "known")

    def __init__(self, programs: Mapping[str, _Known] | None = None, digest: str = "") -> None:
        self.known: Mapping[str, _Known] = (
            programs if isinstance(programs, OnDemand) else dict(programs or {})
        )
        self._value = digest

    @property
    def value(self) -> str:
        """The digest; "" for an empty table."""
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
    """Commands that run the command behind them."""

    # Their names; rules that deny or ask also match the command behind them.
    names: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()  # names that rules which allow look behind as well
    # The options of these that the host knows, if it has its own reader.
    granting: Wrappers = Wrappers()


@frozen(cache_hash=True)
class Variables:
    """Variables of a shell, by what setting or naming them does."""

    # Variables whose assignment before a command is harmless.
    harmless: frozenset[str] = frozenset()
    locales: frozenset[str] = frozenset()  # of these, harmless with a locale that all know
    # Those that the host takes within quoted text, though not what they hold.
    texts: frozenset[str] = frozenset()
    guarded: str = ""  # what the name of one matches whose value decides what follows
    counted: frozenset[str] = frozenset()  # those that hold numbers, whose values a shell works out


@frozen(cache_hash=True)
class FileTools:
    """The tool whose rules decide each thing that a command does with a file; "" for no tool."""

    output: str = ""  # to redirect into it
    input: str = ""  # to redirect from it
    reads: str = ""  # to read one named as an operand
    writes: str = ""  # to write such a one
    removes: str = ""  # to remove such a one
    shadows: str = ""  # to read just any
    # Those of these tools that no agent calls: they only carry the file rules that apply to
    # commands.
    inner: frozenset[str] = frozenset()

    @property
    def opening(self) -> tuple[str, ...]:
        """All of these tools, each once."""
        tools = (self.output, self.input, self.reads, self.writes, self.removes, self.shadows)
        return tuple(dict.fromkeys(filter(None, tools)))


@frozen(cache_hash=True)
class Kinds:
    """Sets of programs, each with one property that a host knows."""

    # Those that remove files; where there are any, ``bash -c SCRIPT`` is read.
    scripted: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()  # those with arguments that no rule may allow, and wrappers
    interpreters: frozenset[str] = frozenset()  # those that are given scripts
    movers: frozenset[str] = frozenset()  # those that change the folder of what follows
    versioning: frozenset[str] = frozenset()  # those that run what a repository tells them to
    planting: frozenset[str] = frozenset()  # those that write any file they name
    # A regular expression of file names that make their folder a repository.
    repository: str = ""


@frozen(cache_hash=True)
class Shell:
    """What a host knows of shell commands."""

    # The host whose `policy.hosts.NAME.shell` reads commands; "" is the default reader.
    reader: str = ""
    wrapping: Wrapping = Wrapping()  # which programs run the command behind them
    variables: Variables = Variables()
    files: FileTools = FileTools()  # which tools decide about the files of a command
    programs: Programs = Programs()
    kinds: Kinds = Kinds()  # sets of programs that have one thing in common
    # Whether a rule for every command also allows commands that cannot be taken apart, and files
    # that no rule names.
    whole: bool = False
    # Further patterns of commands that must be read before they are matched (see `is_plain`).
    compound: tuple[tuple[Token, ...], ...] = ()
    longest: int = 0  # characters of a command that are taken apart; 0 is any number
    cwd: str = ""  # the folder a change to which is none; "" is not known
    # Whether it asks for every command that may read files, whatever allows it.
    traced: bool = False
    # Files of the host's own, absolute, which are asked for wherever a folder that holds them is
    # moved or removed.
    kept: tuple[str, ...] = ()
