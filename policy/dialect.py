"""How a host names tools and reads calls: data, carried by every table.

Nothing here decides. A `Dialect` says which argument of a call a rule speaks
of, and how that argument is brought into the one form that patterns match.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

import attrs

__all__ = [
    "BLANKS",
    "Argument",
    "ArgumentKind",
    "Dialect",
    "Files",
    "Named",
    "Program",
    "Programs",
    "Shell",
    "Wrapper",
    "Wrappers",
]

# The white space of Unicode. To Python four controls more are blanks (U+001C to U+001F).
BLANKS: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


class ArgumentKind(enum.Enum):
    """How the text a rule speaks of is read."""

    TEXT = "text"  # as it stands
    COMMAND = "command"  # a shell command, decided part by part
    POWERSHELL = "powershell"  # the same, of PowerShell
    PATH = "path"  # a file name, made absolute and canonical
    URL = "url"  # the host name of a URL
    LENIENT = "lenient"  # as it stands; what is no text counts as none at all
    FILES = "files"  # a text, or else the paths in a list of mappings, a line each
    JOINED = "joined"  # several arguments with a blank between them
    JSON = "json"  # all arguments, as JSON

    __hash__ = object.__hash__


@attrs.frozen
class Argument:
    """Which argument of a call a specifier speaks of.

    Attributes:
        kind: how it is read.
        fields: the names it goes by. Several of them in one call must agree.
            None of them named: the only text among the arguments.
        absent: what a call without it means, or None when such a call cannot
            be read (and is denied where a rule would have to speak of it).
        parameters: other arguments that a rule can speak of as ``name:value``,
            where the specifier would else be read as the argument itself.

    """

    kind: ArgumentKind
    fields: tuple[str, ...]
    absent: str | None = None
    parameters: frozenset[str] = frozenset()


class Files(enum.Enum):
    """Which operands of a program are files, e.g. those that it reads."""

    NONE = "none"
    ALL = "all"
    FIRST = "first"
    REST = "rest"  # all but the first, which is an expression
    LEADING = "leading"  # all before the first option
    BUT_LAST = "but last"
    LAST = "last"

    __hash__ = object.__hash__


@attrs.frozen
class Program:
    """What a host knows of a program: when it does no harm, and which files it opens.

    Attributes:
        harmless: whether it runs without a rule, if its arguments are as below.
        flags: what an option matches that takes no other word, for it to be harmless,
            as an expression; None is any. What is not named is not harmless.
        values: options whose value is the next word, which is no operand, likewise.
        pairs: what an option and its value match with a blank between them, where this
            is not just any value, likewise.
        files: options whose value is a file that it reads, likewise.
        unsafe: of other options, those with which it is not harmless, likewise.
        needs: options of which one must be there for it to be harmless, likewise.
        leading: whether it is harmless only where its options come before its operands.
        ends: whether ``--`` ends its options.
        first: what its first operand must match to be harmless, as an expression.
        operands: what every operand must match, likewise.
        most: operands it may have to be harmless; None is any number.
        globs: whether it is harmless with a glob that the shell expands.
        reads: the operands that it reads as files.
        writes: the operands that it writes as files.
        removes: whether what it writes is removed.
        lists: whether it reads the folder it runs in where it names no file.
        lists_if: options of which one must be there for that, likewise.
        moves: whether its operand becomes the folder of what follows.
        writes_if: options of which one must be there for it to write, likewise.
        confined: whether a way up out of a folder it went down into is too devious for it.
        runs: whether its operands are a command that must itself be harmless.
        texts: whether it is harmless with text that something is put into (`Word.vetted`).
        piped: whether it is harmless with what another program gives it as arguments.
        direct: whether it is harmless only where no wrapper or assignment stands before it.
        stays: whether it is harmless only where no change of folder came before.
        unchecked: what its arguments match, with a NUL between them, where the host
            vouches for nothing of the command that they stand in; None is never.
        subcommands: by the first operand; one that is not there is not known.
        forms: other ways to call it that are harmless too.
    """

    harmless: bool = True
    flags: str | None = None
    values: str = ""
    pairs: str = ""
    files: str = ""
    unsafe: str = ""
    needs: str = ""
    leading: bool = False
    ends: bool = True
    first: str = ""
    operands: str = ""
    most: int | None = None
    globs: bool = True
    reads: Files = Files.NONE
    writes: Files = Files.NONE
    removes: bool = False
    lists: bool = False
    lists_if: str = ""
    moves: bool = False
    writes_if: str = ""
    confined: bool = True
    runs: bool = False
    texts: bool = False
    piped: bool = False
    direct: bool = False
    stays: bool = False
    unchecked: str | None = None
    subcommands: Mapping[str, Program] = attrs.field(hash=False, factory=dict)
    forms: tuple[Program, ...] = ()


@attrs.frozen
class Wrapper:
    """A program that runs the program named behind it, and what may stand between them.

    Attributes:
        flags: what an option matches that takes no other word, as an expression.
        values: options whose value is the next word, likewise.
        value: what such a value must match, likewise.
        needs: whether there must be an option.
        operands: what each operand matches that must stand before the program, likewise.
        optional: whether these may be left out.
        assignments: whether assignments may stand there.
        appends: whether it puts more arguments behind those of the program.
        quiet: whether the program is as harmless behind it as it is alone.
        bare: whether it is quiet only without options.
        idle: options with which it runs no program, as an expression.
    """

    flags: str = ""
    values: str = ""
    value: str = ".*"
    needs: bool = False
    operands: tuple[str, ...] = ()
    optional: bool = False
    assignments: bool = False
    appends: bool = False
    quiet: bool = False
    bare: bool = False
    idle: str = ""


_Known = TypeVar("_Known", Program, Wrapper)


class Named(Mapping[str, _Known]):
    """What is known of programs, by name; a digest stands for it where a table is hashed.

    Attributes:
        known: the same as a plain mapping, for where time counts; never to be changed.
        value: the digest; "" where nothing is known.
    """

    __slots__ = ("known", "value")

    def __init__(self, programs: Mapping[str, _Known] | None = None) -> None:
        self.known: dict[str, _Known] = dict(programs or {})
        known = repr(sorted(self.known.items())) if self.known else ""
        self.value = hashlib.sha256(_sorted_sets(known).encode()).hexdigest() if known else ""

    def __getitem__(self, name: str) -> _Known:
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Named):
            return NotImplemented
        return self is other or self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


Programs = Named[Program]
Wrappers = Named[Wrapper]


def _sorted_sets(text: str) -> str:
    # The order in which a set prints differs from one process to the next.
    return re.sub(
        r"frozenset\(\{(.*?)\}\)", lambda found: ", ".join(sorted(found[1].split(", "))), text
    )


@attrs.frozen
class Shell:
    """What a host knows of shell commands.

    Attributes:
        wrappers: commands that run the command behind them; rules that deny or
            ask are matched with that one too.
        transparent: the wrappers that rules which allow look through as well.
        wrapping: what is known of the options of wrappers, where it is; without it
            rules that deny look behind anything like an option.
        granting: the same for rules that allow.
        variables: assignments before a command that change nothing of note.
        output: the tool that a redirection into a file is a call of, or "".
        input: the tool that a redirection from a file is a call of, or "".
        programs: what is known of programs.
        reads: the tool that reading a file named as an operand is a call of, or "".
        writes: the same for writing one.
        removes: the same for removing one.
        shadows: the tool that reading just any file is a call of, or "".
        inner: those of these tools that nobody calls: they are only there to
            carry what file rules say of commands.
        locales: variables whose assignment is harmless with a locale that all know.
        whole: whether a rule for any command grants what cannot be taken apart too,
            and what nothing but a default would ask for of the files it opens.
        control: whether rules that allow look into loops and conditions.
        longest: characters of a command that are taken apart; 0 is any number.
        structures: what of the language the host looks through, by the names of the
            grammar (tree-sitter-bash); empty where it looks at plain commands only.
        redirected: of these, whose redirections it looks at.
        cwd: the folder a change to which is none; "" is not known.
        scripted: programs that a rule which denies makes doubtful in ``bash -c SCRIPT``.
        texts: variables that it takes within quoted text, though not what they hold.
        odd: programs with arguments that are not vouched for, and wrappers.
        guarded: what the name of a variable matches whose value decides what follows.
        traced: whether it asks for every command of which it cannot tell which files are
            read, whatever allows it (`policy.shell.tracing`).
        interpreters: programs that it is given scripts for.
        speechless: programs whose operands are no files that they read.
        movers: programs that change the folder of what follows.
    """

    wrappers: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    wrapping: Wrappers = Wrappers()
    granting: Wrappers = Wrappers()
    variables: frozenset[str] = frozenset()
    output: str = ""
    input: str = ""
    programs: Programs = Programs()
    reads: str = ""
    writes: str = ""
    removes: str = ""
    shadows: str = ""
    inner: frozenset[str] = frozenset()
    locales: frozenset[str] = frozenset()
    whole: bool = False
    control: bool = False
    longest: int = 0
    structures: frozenset[str] = frozenset()
    redirected: frozenset[str] = frozenset()
    cwd: str = ""
    scripted: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    guarded: str = ""
    traced: bool = False
    interpreters: frozenset[str] = frozenset()
    speechless: frozenset[str] = frozenset()
    movers: frozenset[str] = frozenset()

    @property
    def opening(self) -> tuple[str, ...]:
        """The tools that opening a file is a call of, and the one that may deny any."""
        tools = (self.output, self.input, self.reads, self.writes, self.removes, self.shadows)
        return tuple(dict.fromkeys(filter(None, tools)))


@attrs.frozen(eq=True, cache_hash=True)
class Dialect:
    """How a host names tools and reads calls.

    Attributes:
        name: of the host and its version.
        arguments: canonical tool name -> what its specifier speaks of.
        other: the same for every other tool.
        aliases: another name of a tool -> its canonical name.
        shell: for arguments that are commands.
        cwd: the folder relative paths are relative to, canonical.
        home: the folder ``~`` stands for, canonical.
        fold: whether the case of paths is ignored.
        cased: folders, canonical, that a path is below only in their own letters all the same.
        drives: whether paths are those of Windows, which begin with a drive: ``/c/a``.
        commands: aliases of PowerShell commands, and what they stand for.
        links: names of files that are links, canonical, and what each leads to.
        asks: whether there is anybody to ask; if not, what would ask denies.
        loose: whether the name of a tool ends before its first parenthesis, and neither
            its case counts nor the blanks around it. An alias may be of any case.
        fold_names: whether a rule that names one tool ignores the case of its letters;
            one with a pattern over names does not.

    """

    name: str
    arguments: Mapping[str, Argument] = attrs.field(hash=False, factory=dict)
    other: Argument = Argument(ArgumentKind.TEXT, ())
    aliases: Mapping[str, str] = attrs.field(hash=False, factory=dict)
    shell: Shell = Shell()
    cwd: str = "/@project"
    home: str = "/@home"
    fold: bool = False
    cased: tuple[str, ...] = ()
    drives: bool = False
    links: tuple[tuple[str, str], ...] = ()
    commands: Mapping[str, str] = attrs.field(hash=False, factory=dict)
    asks: bool = True
    loose: bool = False
    fold_names: bool = False

    def canonical(self, tool: str) -> str:
        """Return the canonical name of *tool*."""
        if self.loose and tool not in self.aliases:
            tool = tool.partition("(")[0].strip(BLANKS).lower()
        return self.aliases.get(tool, tool)

    def key(self, tool: str) -> str:
        """Return what rules that name *tool* are found by."""
        name = self.canonical(tool)
        return _lowered(name) if self.fold_names else name

    def argument(self, tool: str) -> Argument:
        """Return what a specifier of *tool* speaks of."""
        return self.arguments.get(self.key(tool), self.other)


def _lowered(name: str) -> str:
    # Hosts that fold names fold the letters of ASCII.
    if name.isascii():
        return name.lower()
    return "".join(c.lower() if c.isascii() else c for c in name)
