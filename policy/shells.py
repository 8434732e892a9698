"""What a host knows of shell commands: data, carried by every table.

Nothing here decides. `policy.shell` reads commands by it.
"""

from __future__ import annotations

import attrs

from policy.programs import Programs, Wrappers

__all__ = ["FileTools", "Kinds", "Shell", "Syntax", "Variables", "Wrapping"]


@attrs.frozen(cache_hash=True)
class Wrapping:
    """Commands that run the command behind them.

    Attributes:
        names: of those; rules that deny or ask are matched with what is behind them too.
        transparent: those that rules which allow look through as well.
        denying: what is known of their options, where it is; without it rules that deny look
            behind anything like an option.
        granting: the same for rules that allow.
        carrying: the same for files that the program behind them opens; without it the host looks
            for them behind all that are known.

    """

    names: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    denying: Wrappers = Wrappers()
    granting: Wrappers = Wrappers()
    carrying: Wrappers = Wrappers()


@attrs.frozen(cache_hash=True)
class Variables:
    """Variables of a shell, by what setting or naming them does.

    Attributes:
        harmless: whose assignment before a command changes nothing of note.
        locales: of these, harmless with a locale that all know.
        texts: those that the host takes within quoted text, though not what they hold.
        guarded: what the name of one matches whose value decides what follows.
        counted: those that hold numbers, whose values a shell works out.
        inherited: those that an environment has, beside the *guarded*.

    """

    harmless: frozenset[str] = frozenset()
    locales: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    guarded: str = ""
    counted: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()


@attrs.frozen(cache_hash=True)
class Syntax:
    """What of the language a host looks at, by the names of the grammar (tree-sitter-bash).

    Attributes:
        structures: what it looks through; empty where it looks at plain commands only.
        redirected: of these, whose redirections it looks at.
        abandoned: what else it gives up a whole text for, so that it looks for no file in it.

    """

    structures: frozenset[str] = frozenset()
    redirected: frozenset[str] = frozenset()
    abandoned: frozenset[str] = frozenset()


@attrs.frozen(cache_hash=True)
class FileTools:
    """The tools that what a command does with a file is a call of; "" is of none.

    Attributes:
        output: to redirect into it.
        input: to redirect from it.
        reads: to read one named as an operand.
        writes: to write such a one.
        removes: to remove such a one.
        shadows: to read just any.
        inner: those of these tools that nobody calls: they are only there to
            carry what file rules say of commands.

    """

    output: str = ""
    input: str = ""
    reads: str = ""
    writes: str = ""
    removes: str = ""
    shadows: str = ""
    inner: frozenset[str] = frozenset()

    @property
    def named(self) -> frozenset[str]:
        """The tools that opening a file by its name is a call of."""
        tools = {self.output, self.input, self.reads, self.writes, self.removes}
        return frozenset(tools - {""})

    @property
    def opening(self) -> tuple[str, ...]:
        """The tools that opening a file is a call of, and the one that may deny any."""
        tools = (self.output, self.input, self.reads, self.writes, self.removes, self.shadows)
        return tuple(dict.fromkeys(filter(None, tools)))


@attrs.frozen(cache_hash=True)
class Kinds:
    """Programs of which a host knows one thing, by that.

    Attributes:
        scripted: those that a rule which denies makes doubtful in ``bash -c SCRIPT``.
        odd: those with arguments that are not vouched for, and wrappers.
        interpreters: those that are given scripts.
        speechless: those whose operands are no files that they read.
        idle: those that do nothing where they are given nothing, as who only sets a variable
            does then; empty where neither counts as harmless.
        movers: those that change the folder of what follows.
        versioning: those that run what a repository tells them to.
        planting: those that write any file they name.
        repository: what the name of a file in a folder matches by which that is a repository.
        checked: those that a host checks by itself where they are not harmless, beside all rules.
        trusting: whether rules that allow speak of commands for whose arguments nobody vouches,
            a wrapper with an option that it has not among them, and look behind a ``--`` of any.

    """

    scripted: frozenset[str] = frozenset()
    odd: frozenset[str] = frozenset()
    interpreters: frozenset[str] = frozenset()
    speechless: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    movers: frozenset[str] = frozenset()
    versioning: frozenset[str] = frozenset()
    planting: frozenset[str] = frozenset()
    repository: str = ""
    checked: frozenset[str] = frozenset()
    trusting: bool = False


@attrs.frozen(cache_hash=True)
class Shell:
    """What a host knows of shell commands.

    Attributes:
        wrapping: of commands that run the command behind them.
        variables: of variables.
        syntax: of the language.
        files: which tools decide about the files of a command.
        programs: of programs, each with its options.
        kinds: of programs, one thing each.
        whole: whether a rule for any command grants what cannot be taken apart too,
            and what nothing but a default would ask for of the files it opens.
        control: whether rules that allow look into loops and conditions.
        awaited: what it knows of a command that nobody waits for, which it asks for though a rule
            allows every one, where it allows that without this rule; None where it does not.
        longest: characters of a command that are taken apart; 0 is any number.
        cwd: the folder a change to which is none; "" is not known.
        traced: whether it asks for every command of which it cannot tell which files are
            read, whatever allows it (`policy.shell.tracing`).
        setting: whether a command that does nothing but set variables does no harm, whichever
            they are, but for those that are guarded.
        spanning: whether a star of a rule that allows takes other commands too.
        folding: whether more blanks between words are one to a rule that allows.
        kept: files of the host's own, absolute, which are spoken of wherever a folder that
            holds them is moved or removed.

    """

    wrapping: Wrapping = Wrapping()
    variables: Variables = Variables()
    syntax: Syntax = Syntax()
    files: FileTools = FileTools()
    programs: Programs = Programs()
    kinds: Kinds = Kinds()
    whole: bool = False
    control: bool = False
    awaited: Shell | None = None
    longest: int = 0
    cwd: str = ""
    traced: bool = False
    setting: bool = False
    spanning: bool = False
    folding: bool = True
    kept: tuple[str, ...] = ()
