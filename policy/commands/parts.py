"""What a shell command comes to: parts that rules speak of, and files that it opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from policy.commands.match_texts import Whole

__all__ = [
    "DIFFER",
    "NO_COMMAND",
    "UNCLOSED",
    "UNKNOWN",
    "UNSEEN",
    "Command",
    "CommandPart",
    "Doubt",
    "Redirection",
]


@attrs.frozen
class Doubt:
    """Why nobody vouches for a command.

    Attributes:
        text: what of the command it is about; "" for all of it.
        why: what is said of that: a sentence whose subject is the text.
    """

    text: str
    why: str


UNKNOWN: Final = "is not known before it runs"
UNSEEN: Final = "is not looked into"
DIFFER: Final = "is not read alike by all shells"
UNCLOSED: Final = "does not end"
NO_COMMAND: Final = "is no command of a shell"


@attrs.frozen(cache_hash=True)
class CommandPart:
    """One simple command of a command.

    Attributes:
        text: as written, blanks between words folded: what a rule that allows
            must match.
        readings: what a rule that denies or asks may match instead: without
            quotes, assignments, wrappers, the folder of the program.
        grantable: whether a rule may allow it at all.
        harmless: whether the host runs it where no rule speaks of it.
        doubtful: readings that a rule which denies makes doubtful, not denied.
        inexact: whether no exact rule may allow it: it has other blanks, or will have
            more arguments.
        fed: whether a text is put on its input, with which its own goes on for rules that allow.
        extended: whether more arguments will stand behind its own, for rules that allow.
        written: other texts by which a rule may allow it: with its wrappers, with the
            quotes around the name of its program.
        feared: other texts by which a rule may deny or ask, each looked up by itself: as the source
            has it, quotes and blanks included, and what nobody knows a wrapper not to run.
        blind: whether it is harmless only where no rule denies files: nobody knows which it reads.
        checked: whether the host would ask for it by a check of its own, did not a rule allow it.

    """

    text: str
    readings: tuple[str, ...] = ()
    grantable: bool = True
    harmless: bool = False
    doubtful: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    inexact: bool = False
    blind: bool = False
    fed: bool = False
    extended: bool = False
    feared: tuple[str, ...] = ()
    checked: bool = False


@attrs.frozen
class Redirection:
    """A file that a command reads from or writes to.

    Attributes:
        target: its name; None when that is not a literal.
        writes: whether it is written to.
        tool: the tool that this is a call of; "" for that of a redirection.
        guarded: whether no rule may allow it.
        shadowed: whether it only counts where a rule denies files of the tool.
        adrift: whether nobody knows which folder it is in, and it only counts where a rule
            denies a file of that name in a folder that the rule names.
        deep: whether it counts only for files of the host's own that are below it.
        copied: whether no rule that denies it counts.
        part: the number of the simple command that opens it; None where that is not known.
        scripted: whether a script in an argument opens it: a rule that denies it makes that
            doubtful, and no other rule is asked.

    """

    target: str | None
    writes: bool
    tool: str = ""
    guarded: bool = False
    shadowed: bool = False
    adrift: bool = False
    deep: bool = False
    copied: bool = False
    part: int | None = None
    scripted: bool = False


@attrs.frozen
class Command:
    """A command taken apart.

    Attributes:
        parts: its simple commands.
        redirections: the files it opens.
        whole: all of it, where the host looks for rules that spell it out.
        unread: whether it may hold commands that were not found.
        opaque: whether nobody vouches for how it was taken apart.
        doubts: why nobody vouches for it, or for a part of it; nothing where somebody does.
        awaited: the same command if somebody waited for it, and stages of its pipes, where
            nobody waits for it and no more is doubtful.
        removing: how many scripts stand within one another in it, of which the innermost removes
            files.
    """

    parts: tuple[CommandPart, ...]
    redirections: tuple[Redirection, ...] = ()
    whole: Whole | None = None
    unread: bool = False
    opaque: bool = False
    doubts: tuple[Doubt, ...] = ()
    awaited: tuple[Command, ...] = ()
    removing: int = 0
