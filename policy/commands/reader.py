"""Readers of shell commands: what tables ask for the parts of a command.

A `Shell` is data and names its reader: the default one (`policy.commands.read`), or that of a host,
in the package `policy.hosts.NAME.shell`. Most commands are a program and plain words, and end here;
no reader is imported for them.
"""

from __future__ import annotations

from functools import cache, lru_cache

from policy.commands.knowledge import Shell
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import Any, Final, frozen
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.tokens import CONTROLS

# The extras of this package that some command needed, and that are not installed.
missing_extras: Final[set[str]] = set()


# --- the result of reading a command -----------------------------------------------------------


@frozen
class Ambiguity:
    """Why no rule may allow a command."""

    text: str  # the text in question; "" for all of the command
    why: str  # what is wrong with it: a predicate whose subject is the text


UNKNOWN: Final = "is not known before it runs"
UNSEEN: Final = "is not looked into"
DIFFER: Final = "is not read alike by all shells"
UNCLOSED: Final = "does not end"
NO_COMMAND: Final = "is no command of a shell"


@frozen(cache_hash=True)
class CommandPart:
    """One simple command of a command."""

    text: str  # as written, with one blank between words: what a rule that allows must match
    # What a rule that denies or asks may match instead: without quotes, assignments, wrappers, the
    # folder of the program; what a script in it runs.
    match_texts: tuple[str, ...] = ()
    grantable: bool = True  # whether a rule may allow it at all
    harmless: bool = False  # whether the host runs it where no rule applies to it
    # Other texts by which a rule may allow it: with its wrappers, with the quotes around the name
    # of its program.
    grant_texts: tuple[str, ...] = ()
    # Other texts by which a rule may deny or ask, each looked up by itself: what a wrapper may run.
    possible_texts: tuple[str, ...] = ()


# In the texts of a part: a value that is not known.
SOME_VALUE: Final = "\x1f"

# In the name of a file: the home folder. It is half a character, which no name has.
HOME_MARK: Final = "\udc1e"


def in_home(name: str, home: str) -> str:
    """Return the name of a file with *home* for the home folder."""
    return name.replace(HOME_MARK, home)


@frozen
class Redirection:
    """A file that a command reads from or writes to."""

    target: str | None  # its name; None when that is not a literal
    writes: bool  # whether it is written to
    tool: str = ""  # the tool that opening it is a call of; "" for that of a redirection
    shadowed: bool = False  # whether it only counts where a rule denies files of the tool
    # Whether its folder is unknown, so that it only counts where a rule denies a file of that name
    # in a folder that the rule names.
    adrift: bool = False


@frozen
class Command:
    """A command, read."""

    parts: tuple[CommandPart, ...]  # its simple commands
    redirections: tuple[Redirection, ...] = ()  # the files it opens
    unread: bool = False  # whether it may hold commands that were not found
    opaque: bool = False  # whether it is ambiguous, so that no rule with a star allows it
    ambiguities: tuple[Ambiguity, ...] = ()  # why no rule may allow it, or a part of it


# --- which commands are plain: a program and words without anything a shell acts on ------------

KEYWORDS: Final = frozenset(
    "if then elif else fi for while until do done case esac select function coproc time"
    " ! { }".split()
)
# Why a part is no command: it is a word of the shell's grammar, or a line of a here-document.
IN_STATEMENT: Final = "is part of a statement that no rule can allow"
IN_DOCUMENT: Final = "is a line of a here-document, which no rule can allow"
_BEGINS_STATEMENT: Final = KEYWORDS - {"time"}
_DOCUMENT: Final = re.compile(
    r"<<-?[ \t]*(['\"]?)([\w.-]+)\1([^\n]*)\n.*?(?:^\t*\2[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


def why_no_command(part: CommandPart, text: str) -> str:
    """Return why a part of the command *text* is no command, as a predicate; "" if it is one."""
    if part.text.partition(" ")[0] in _BEGINS_STATEMENT:
        return IN_STATEMENT
    if "<<" not in text:
        return ""
    outside = _DOCUMENT.sub(r"\3 ", text)
    return "" if " ".join(part.text.split()) in " ".join(outside.split()) else IN_DOCUMENT


SHELLS: Final = frozenset("bash sh zsh dash ksh mksh ash hush rbash".split())
BOXES: Final = frozenset({"busybox", "toybox"})
# Programs that take a command behind `-c`, in one word.
GIVEN_COMMANDS: Final = frozenset("su runuser script flock".split())
# Programs that may run a command that one of their words spells out.
RUN_TEXT: Final = SHELLS | BOXES | GIVEN_COMMANDS | {"eval"}

_ACTED_ON = frozenset(";&|<>()`$\\{}\"'#\t\n") | CONTROLS

# Characters that no plain name of a program has: of a path, `sudo.exe`, an assignment, a glob.
_IN_NAMES = frozenset("/=!~*?[]^.")


@cache
def _compound(shell: Shell) -> Automaton:
    return Automaton(shell.compound, " ")


def is_plain(text: str, shell: Shell) -> bool:
    """Return whether *text* needs no reading: plain words, and a program of which none is known."""
    return text.partition(" ")[0] not in shell.programs.known and is_bare(text, shell)


def is_bare(text: str, shell: Shell) -> bool:
    """Return whether *text* is a program, no wrapper, and words without shell syntax."""
    program = text.partition(" ")[0]
    return (
        bool(program)
        and _ACTED_ON.isdisjoint(text)
        and program not in shell.wrapping.names
        and program not in KEYWORDS
        and program not in RUN_TEXT
        and _IN_NAMES.isdisjoint(program)
        and "  " not in text
        and text[-1] != " "
        and not has_half(text)
        and _compound(shell).first(text) == NO_MATCH
    )


_HALF: Final = re.compile("[\ud800-\udfff]")


def has_half(text: str) -> bool:
    """Return whether *text* has a lone surrogate (half a character), which no program can get."""
    return not text.isascii() and _HALF.search(text) is not None


# --- readers -----------------------------------------------------------------------------------


@cache
def host_shell(name: str) -> Any:  # the module of a host
    """Return the package by which the host *name* reads commands; "" is the default reader.

    It has `read`: a text and a `Shell` -> the command. That of a host has `Evaluator` too, by
    which rows decide what that reads, and `read_powershell` where a tool takes such commands.
    """
    module = f"policy.hosts.{name}.shell" if name else "policy.commands.read"
    return __import__(module, fromlist=["read"])  # `importlib` takes longer than to decide


def read_command(text: str, shell: Shell) -> Command:
    """Return what the reader of *shell* reads. Never fails."""
    if not 0 < shell.longest < len(text) and is_plain(text, shell):
        return Command((CommandPart(text),))
    return (_read_short if len(text) <= limits.CACHED_CHARACTERS else _read)(text, shell)


def _read(text: str, shell: Shell) -> Command:
    command: Command = host_shell(shell.reader).read(text, shell)
    return command


@lru_cache(maxsize=4096)  # every table of a chain asks for the same, and commands come again
def _read_short(text: str, shell: Shell) -> Command:
    return _read(text, shell)
