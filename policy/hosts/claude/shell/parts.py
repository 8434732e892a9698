"""What a command, its parts and its files are to this host, beside what they are to all."""

from __future__ import annotations

from policy.commands.parts import Command, CommandPart, Redirection
from policy.core.values import TYPE_CHECKING, frozen

if TYPE_CHECKING:
    from policy.hosts.claude.shell.match_texts import ExactCommand

__all__ = ["ClaudeCommand", "ClaudePart", "ClaudeRedirection"]


@frozen(cache_hash=True)
class ClaudePart(CommandPart):
    """One simple command of a command.

    Attributes:
        blind: whether it is harmless only where no rule denies files: it reads files whose
            names are not known.
        fed: whether a text is put on its input, which is part of its text for rules that allow.
        extended: whether it will have more arguments, for rules that allow.
    """

    blind: bool = False
    fed: bool = False
    extended: bool = False


@frozen
class ClaudeRedirection(Redirection):
    """A file that a command reads from or writes to.

    Attributes:
        guarded: whether no rule may allow it.
        deep: whether it stands for the host's own files that are below it.
        part: the number of the simple command that opens it; None where that is not known.
        scripted: whether a script in an argument opens it: a rule that denies it makes the
            command ambiguous, and no other rule applies.
    """

    guarded: bool = False
    deep: bool = False
    part: int | None = None
    scripted: bool = False

    @classmethod
    def of(cls, file: Redirection) -> ClaudeRedirection:
        """Return *file* as this host has it."""
        if isinstance(file, cls):
            return file
        return cls(file.target, file.writes, file.tool, file.shadowed, file.adrift)


@frozen
class ClaudeCommand(Command):
    """A command, read.

    Attributes:
        exact: all of it, as rules that spell it out know it.
        foreground: a background command as it is in the foreground; None for any other, and for
            one that is ambiguous besides.
    """

    exact: ExactCommand | None = None
    foreground: ClaudeCommand | None = None
