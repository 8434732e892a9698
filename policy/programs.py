"""What a host knows of the programs in shell commands: data, carried by every table.

Nothing here decides. `policy.shell.programs` looks a command up in it.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

import attrs

__all__ = ["Files", "Named", "Program", "Programs", "Wrapper", "Wrappers"]


class Files(enum.Enum):
    """Which operands of a program are files, e.g. those that it reads."""

    NONE = "none"
    ALL = "all"
    FIRST = "first"
    REST = "rest"  # all but the first, which is an expression
    SETS = "sets"  # all but the first two, or the first where an option deletes
    LEADING = "leading"  # all before the first option
    BUT_LAST = "but last"
    LAST = "last"
    SLASHED = "slashed"  # those that can be no other names

    __hash__ = object.__hash__


@attrs.frozen(cache_hash=True)
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
        skipped: options that take a value where files are looked for, likewise, if the host
            looks for these among others than *values*.
        sure: what every option before one with a value must match for the next word to be
            that value and no operand, likewise; nothing where it always is.
        beside: what two words must not match that follow one another, with a blank between
            them, for it to be harmless, likewise.
        needs: options of which one must be there for it to be harmless, likewise.
        ahead: whether that must stand before its operands.
        once: whether only one of those may be there.
        leading: whether it is harmless only where its options come before its operands.
        ends: whether ``--`` ends its options.
        first: what its first operand must match to be harmless, as an expression.
        operands: what every operand must match of which *first* says nothing, likewise.
        most: operands it may have to be harmless; None is any number.
        globs: whether it is harmless with a glob that the shell expands.
        given: options with which even its first operand is a file, where all but the first
            are, likewise.
        reads: the operands that it reads as files.
        writes: the operands that it writes as files.
        removes: whether what it writes is removed.
        copies: the operands that are copied, where it has no option: those it opens as if it
            wrote them, but no rule denies them as such.
        uproots: the operands that it takes away, with all that is below them.
        into: whether what it writes may be a folder that it puts files into: the last, or one
            that an option names, so that behind any option nobody knows which it writes.
        anywhere: whether the files that it opens count wherever it lies: `/bin/rm`.
        lists: whether it reads the folder it runs in where it names no file.
        lists_if: options of which one must be there for that, likewise.
        trailing: whether all that stands behind its first operand may be a file, options too.
        moves: whether its operand becomes the folder of what follows.
        spares: whether it writes nothing where it is harmless.
        confined: whether a way up out of a folder it went down into is too devious for it.
        runs: whether its operands are a command that must itself be harmless.
        texts: whether it is harmless with text that something is put into (`Word.vetted`).
        piped: whether it is harmless with what another program gives it as arguments.
        direct: whether it is harmless only where no wrapper or assignment stands before it.
        internal: whether it is part of a shell, so that no program runs it.
        carried: whether it is harmless behind all that the host looks for files behind.
        lines: whether it is harmless with a line break in an argument that is no option.
        stays: whether it is harmless only where no change of folder came before.
        unchecked: what its arguments match, with a NUL between them, where the host
            vouches for nothing of the command that they stand in; None is never.
        settled: whether it vouches for nothing either where an argument is not known before.
        unexpanded: the same where a shell expands one.
        spelled: whether it is harmless only where it is spelled without quotes, and is put
            no text on its standard input.
        spelling: what every argument must match as it is written, quotes and all, likewise.
        subcommands: by the first operand; one that is not there is not known.
        before: options that take a value and may stand before a subcommand, as an expression.
        enters: of these, those whose value is the folder that files are looked for in.
        forms: other ways to call it that are harmless too.
    """

    harmless: bool = True
    flags: str | None = None
    values: str = ""
    pairs: str = ""
    files: str = ""
    skipped: str | None = None
    sure: str = ""
    beside: str = ""
    unsafe: str = ""
    needs: str = ""
    ahead: bool = False
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
    copies: Files = Files.NONE
    uproots: Files = Files.NONE
    into: bool = False
    anywhere: bool = False
    lists: bool = False
    lists_if: str = ""
    trailing: bool = True
    moves: bool = False
    spares: bool = False
    confined: bool = True
    runs: bool = False
    texts: bool = False
    piped: bool = False
    direct: bool = False
    internal: bool = False
    carried: bool = False
    lines: bool = True
    stays: bool = False
    unchecked: str | None = None
    settled: bool = False
    unexpanded: bool = False
    spelled: bool = False
    spelling: str = ""
    before: str = ""
    enters: str = ""
    subcommands: Mapping[str, Program] = attrs.field(hash=False, factory=dict)
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
    "values pairs files skipped sure given ends reads writes removes copies uproots into anywhere"
    " lists lists_if trailing moves confined runs stays unchecked settled unexpanded"
    " before enters"
).split()


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
        ends: whether ``--`` ends its options.
        single: whether it has one option at most.
        idle: options with which it runs no program, as an expression.
        runs: what the name of the program behind it must match, as an expression.
        loose: whether it is looked through by what stands behind it alone: options that
            it does not know are passed over, one operand and assignments may stand
            anywhere among them, and what is known counts by the name of its program.
        scripts: options whose value is a command as one text, as an expression.
        unruled: whether it is looked through for the files that are opened behind it, and by
            no rule.
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
    ends: bool = False
    single: bool = False
    idle: str = ""
    runs: str = ""
    loose: bool = False
    scripts: str = ""
    unruled: bool = False


_Known = TypeVar("_Known", Program, Wrapper)


class Named(Mapping[str, _Known]):
    """What is known of programs, by name; a digest stands for it where a table is hashed.

    Attributes:
        known: the same as a plain mapping, for where time counts; never to be changed.
    """

    __slots__ = ("_value", "known")

    def __init__(self, programs: Mapping[str, _Known] | None = None) -> None:
        self.known: dict[str, _Known] = dict(programs or {})
        self._value = ""

    @property
    def value(self) -> str:
        """The digest; "" where nothing is known."""
        if self.known and not self._value:
            known = _sorted_sets(repr(sorted(self.known.items())))
            self._value = hashlib.sha256(known.encode()).hexdigest()
        return self._value

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
        return hash(frozenset(self.known))  # those who know other things know other names, mostly


Programs = Named[Program]
Wrappers = Named[Wrapper]


def _sorted_sets(text: str) -> str:
    # The order in which a set prints differs from one process to the next.
    return re.sub(
        r"frozenset\(\{(.*?)\}\)", lambda found: ", ".join(sorted(found[1].split(", "))), text
    )
