"""The words, redirections and commands that a shell command is taken apart into."""

from __future__ import annotations

from collections.abc import Sequence

from policy.commands.parts import Ambiguity
from policy.core import expressions as re
from policy.core.values import Any, Final, define, field, frozen

__all__ = [
    "ASSIGNMENT",
    "DESCRIPTOR",
    "FOLDERS",
    "HARMLESS_TARGETS",
    "SOME_VALUE",
    "VANISHING",
    "VANISHING_FIRST",
    "Script",
    "SimpleCommand",
    "Statement",
    "Target",
    "Word",
    "as_written",
    "in_home",
    "is_evaluated",
    "is_expanded",
    "is_pattern",
    "is_quoted",
    "targets_of",
    "with_home",
    "without_vanishing",
]

ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?\+?=")

# In texts that rules are held against: a value that is not known.
SOME_VALUE: Final = "\x1f"

HARMLESS_TARGETS: Final = frozenset({"/dev/null"})
DESCRIPTOR: Final = re.compile(r"(?:[0-9]+|-)\Z")

# What two variables hold that every shell has, as rules and paths write it.
FOLDERS: Final = {"HOME": "~", "PWD": "."}

# Parameters of a shell that nothing in a text sets: `$?` is how the last command ended.
SET_BY_SHELL: Final = frozenset("?$#-")

# What stands in the name of a file for the home folder that is put into it: half a character, which
# no name has.
_PUT_IN_HOME: Final = "\udc1e"


@define
class Word:
    """A word of a command.

    Attributes:
        raw: as written.
        plain: without quotes and escapes, and with the values of variables that are known.
        literal: whether it has no expansion of any kind.
        known: whether *plain* is what the program gets, globs aside.
        guessed: whether *plain* has the value of a variable that the text may set elsewhere too.
        glob: whether it has a glob outside quotes.
        vetted: whether the host takes it though it is not literal.
        inner: the numbers of the commands that are substituted in it: from, and up to.
    """

    raw: str = ""
    plain: str = ""
    literal: bool = True
    known: bool = True
    guessed: bool = False
    glob: bool = False
    vetted: bool = False
    inner: tuple[int, int] = (0, 0)


@frozen
class Target:
    """The file of a redirection; None where it is not a literal name."""

    name: str | None
    writes: bool


_PATTERN: Final = re.compile(r"[*?{}]|\[.*\]", re.DOTALL)


def is_pattern(name: str) -> bool:
    """Whether *name* has what a shell expands, which some hosts write nowhere, quoted or not."""
    return _PATTERN.search(name) is not None


def with_home(word: Word) -> str | None:
    """Return a name into which nothing but the home folder is put, as names have it; else None."""
    name = word.plain.replace("$HOME", _PUT_IN_HOME)
    homed = word.vetted and not word.known and name != word.plain
    return name if homed and _EXPANDING.isdisjoint(name) else None


def in_home(name: str, home: str) -> str:
    """Return the name of a file with *home* where `with_home` left room for it."""
    return name.replace(_PUT_IN_HOME, home)


_EXPANDING: Final = frozenset("$`")


def targets_of(word: Word, *, writes: bool) -> list[Target]:
    """Return the files that a redirection to *word* may open; of a pattern itself, and any."""
    name = word.plain.replace(_PUT_IN_HOME, "\ud800")  # which no name has either
    if word.literal and not re.search(r"[*?\[~$`]|\A=|\A//", name):
        patterned = writes and is_pattern(name)
        return [Target(name, writes), *[Target(None, writes)] * patterned]
    if word.literal and (name[:1] != "~" or name[1:2] in ("", "/")):
        # A denial of this name counts, though another file may be opened.
        return [Target(name, writes), Target(None, writes)]
    homed = with_home(word) if writes else None
    return [*([Target(homed, writes)] if homed else []), Target(None, writes)]


@define
class SimpleCommand:
    """A simple command of a script.

    Attributes:
        words: what it consists of; none where an operator has nothing beside it.
        directed: whether something is redirected.
        led: whether something is redirected before its program.
        writes: whether that is a file it writes.
        fills: whether it is redirected, or a statement that it is part of, to a file it writes.
        swallowed: whether words stand behind a redirection, which some read as more targets.
        ahead: how many stand before the first redirection that has any before it; 0 for none.
        piped: whether it is part of a pipeline; only set for assignments.
        bare: its text, where something is redirected before its program, or nothing stands in it
            but that and variables that are set, not one of them alone: without those at its end.
            "" where that is not so.
        fed: all of its text, where that puts a text on its input; "" where none is.
        requoted: whether the host quotes its words anew: it has a line break or a variable.
        own: what the reader of a host knows of it, once that was asked for.
    """

    words: list[Word] = field(factory=list)
    directed: bool = False
    led: bool = False
    writes: bool = False
    fills: bool = False
    swallowed: bool = False
    ahead: int = 0
    fed: str = ""
    requoted: bool = False
    piped: bool = False
    bare: str = ""
    own: Any = field(default=None, eq=False, repr=False)


@frozen
class Statement:
    """The text of a statement that holds others and stands in none.

    Attributes:
        text: as it is written.
        piped: whether it is part of a pipeline.
    """

    text: str
    piped: bool


# A hostile command has one at every character.
_MOST_DOUBTS: Final = 8


@define
class Script:
    """A command, cut.

    Attributes:
        commands: its simple commands.
        targets: the files of redirections.
        ambiguities: why no rule may allow it.
        unread: whether not even all commands in it were found.
        statements: its statements that hold others.
        unclosed: whether readers differ on where a statement or an expansion ends.
        background: whether it has a background command.
        background_inside: whether that is one of a statement that holds others.
        split: whether it has a pipe, or a group between parentheses, outside of its words.
        broken: whether it is no command to a grammar, or has text that no node of it covers.
        plain: whether the value of each word follows from how it is written.
    """

    commands: list[SimpleCommand] = field(factory=list)
    targets: list[Target] = field(factory=list)
    ambiguities: list[Ambiguity] = field(factory=list)
    unread: bool = False
    statements: list[Statement] = field(factory=list)
    unclosed: bool = False
    background: bool = False
    background_inside: bool = False
    split: bool = False
    broken: bool = False
    plain: bool = False

    @property
    def opaque(self) -> bool:
        """Whether it is ambiguous."""
        return bool(self.ambiguities)

    def note(self, text: str, why: str) -> None:
        """Note that it is ambiguous at *text*, and why."""
        if len(self.ambiguities) < _MOST_DOUBTS:
            self.ambiguities.append(Ambiguity(text, why))


# What a simple command is, by its words.


def as_written(words: Sequence[Word]) -> str:
    """Return the text of a command, blanks between words folded."""
    return " ".join([word.raw for word in words])


def is_quoted(word: Word) -> bool:
    """Whether a word is not what it is written as."""
    return word.raw != word.plain


def is_expanded(word: Word) -> bool:
    """Whether a shell puts the name of a file for *word*; `[` is a program, `=x` one of zsh."""
    return (word.glob and word.plain not in ("[", "[[")) or word.plain.startswith("=")


# Builtins that run what stands in the subscript of a name: `printf -v 'a[$(ls)]'`.
_EVALUATING = frozenset(
    "printf test [ [[ read let declare typeset local export readonly unset mapfile wait print"
    " getopts set zparseopts zformat zstyle autoload shift exit return break continue bye logout"
    " vared private getln zregexparse float integer".split()
)
_SUBSCRIPT = re.compile(r"(?=.*\[).*[$`]", re.DOTALL)


def is_evaluated(program: Sequence[Word]) -> bool:
    """Whether a literal word may hold a command all the same."""
    return program[0].plain in _EVALUATING and any(
        _SUBSCRIPT.search(word.plain) for word in program[1:]
    )


# A word that a shell may leave out: an empty one, or an expansion.
VANISHING: Final = re.compile(
    r"\$(?:\w+|[@*#?$!-]|\{[^{}]*\}|\(.*\))?|`.*`|[<>]\(.*\)|''|\"\"", re.DOTALL
)
VANISHING_FIRST: Final = frozenset(("", *"$`<>'\""))


def without_vanishing(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the text without the words that a shell may leave out, if there are such."""
    left = [
        word.plain
        for word in words
        if word.raw[:1] not in VANISHING_FIRST or not VANISHING.fullmatch(word.raw)
    ]
    return (" ".join(left),) if left and len(left) < len(words) else ()
