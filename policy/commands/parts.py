"""The result of reading a shell command: simple commands, and the files that they open."""

from __future__ import annotations

from policy.core.values import Final, frozen

__all__ = [
    "DIFFER",
    "MORE",
    "NO_COMMAND",
    "UNCLOSED",
    "UNKNOWN",
    "UNSEEN",
    "Ambiguity",
    "Command",
    "CommandPart",
    "Redirection",
]


@frozen
class Ambiguity:
    """Why no rule may allow a command.

    Attributes:
        text: the text in question; "" for all of the command.
        why: what is wrong with it: a predicate whose subject is the text.
    """

    text: str
    why: str


# Any other argument, or the text that a command is given to read: to rules it is part of it.
MORE: Final = " \x1f"

UNKNOWN: Final = "is not known before it runs"
UNSEEN: Final = "is not looked into"
DIFFER: Final = "is not read alike by all shells"
UNCLOSED: Final = "does not end"
NO_COMMAND: Final = "is no command of a shell"


@frozen(cache_hash=True)
class CommandPart:
    """One simple command of a command.

    Attributes:
        text: as written, with one blank between words: what a rule that allows must match.
        match_texts: what a rule that denies or asks may match instead: without quotes,
            assignments, wrappers, the folder of the program.
        grantable: whether a rule may allow it at all.
        harmless: whether the host runs it where no rule applies to it.
        script_texts: the texts of commands in a script that it is given; a rule that denies one
            makes the command ambiguous.
        inexact: whether no exact rule may allow it: it has other blanks, or will have more
            arguments.
        grant_texts: other texts by which a rule may allow it: with its wrappers, with the
            quotes around the name of its program.
        possible_texts: other texts by which a rule may deny or ask, each looked up by itself:
            as written in the source, and what a wrapper may run.

    """

    text: str
    match_texts: tuple[str, ...] = ()
    grantable: bool = True
    harmless: bool = False
    script_texts: tuple[str, ...] = ()
    grant_texts: tuple[str, ...] = ()
    inexact: bool = False
    possible_texts: tuple[str, ...] = ()


@frozen
class Redirection:
    """A file that a command reads from or writes to.

    Attributes:
        target: its name; None when that is not a literal.
        writes: whether it is written to.
        tool: the tool that opening it is a call of; "" for that of a redirection.
        shadowed: whether it only counts where a rule denies files of the tool.
        adrift: whether its folder is unknown, so that it only counts where a rule denies a file
            of that name in a folder that the rule names.

    """

    target: str | None
    writes: bool
    tool: str = ""
    shadowed: bool = False
    adrift: bool = False


@frozen
class Command:
    """A command, read.

    Attributes:
        parts: its simple commands.
        redirections: the files it opens.
        unread: whether it may hold commands that were not found.
        opaque: whether it is ambiguous, so that no rule with a star allows it.
        ambiguities: why no rule may allow it, or a part of it.
    """

    parts: tuple[CommandPart, ...]
    redirections: tuple[Redirection, ...] = ()
    unread: bool = False
    opaque: bool = False
    ambiguities: tuple[Ambiguity, ...] = ()
