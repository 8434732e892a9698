"""The words and commands that a shell command is taken apart into, and what stands before each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from policy.commands.knowledge import Wrapping
from policy.commands.reader import BOXES, HOME_MARK, KEYWORDS, SHELLS, Ambiguity, Redirection
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Any, Final, define, evolve, field, frozen

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell


ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?\+?=")

HARMLESS_TARGETS: Final = frozenset({"/dev/null"})
DESCRIPTOR: Final = re.compile(r"(?:[0-9]+|-)\Z")

# What two variables hold that every shell has, as rules and paths write it.
FOLDERS: Final = {"HOME": "~", "PWD": "."}

# Parameters of a shell that nothing in a text sets: `$?` is how the last command ended.
SET_BY_SHELL: Final = frozenset("?$#-")


@define
class Word:
    """A word of a command."""

    raw: str = ""  # as written
    value: str = ""  # without quotes and escapes, and with the values of variables that are known
    literal: bool = True  # whether it has no expansion of any kind
    known: bool = True  # whether *value* is what the program gets, globs aside
    guessed: bool = False  # whether *value* has the value of a variable that the text sets
    glob: bool = False  # whether it has a glob outside quotes
    vetted: bool = False  # whether the host takes it though it is not literal
    # The numbers of the commands that are substituted in it: from, and up to.
    inner: tuple[int, int] = (0, 0)


_PATTERN: Final = re.compile(r"[*?{}]|\[.*\]", re.DOTALL)


def is_pattern(name: str) -> bool:
    """Whether *name* has a glob or braces; some hosts write to no such file, quoted or not."""
    return _PATTERN.search(name) is not None


def with_home(word: Word) -> str | None:
    """Return the name of a file if its only expansion is the home folder; else None."""
    name = word.value.replace("$HOME", HOME_MARK)
    homed = word.vetted and not word.known and name != word.value
    return name if homed and "$" not in name and "`" not in name else None


def targets_of(word: Word, *, writes: bool) -> list[Redirection]:
    """Return the files that a redirection to *word* may open; for a pattern also an unknown one."""
    name, unknown = word.value.replace(HOME_MARK, "\ud800"), Redirection(None, writes)
    if word.literal and not re.search(r"[*?\[~$`]|\A=|\A//", name):
        patterned = writes and is_pattern(name)
        return [Redirection(name, writes), *([unknown] if patterned else [])]
    if word.literal and (name[:1] != "~" or name[1:2] in ("", "/")):
        # A denial of this name counts, though another file may be opened.
        return [Redirection(name, writes), unknown]
    homed = with_home(word) if writes else None
    return [*([Redirection(homed, writes)] if homed else []), unknown]


@define
class SimpleCommand:
    """A simple command of a script."""

    # Its words; none if no word stands next to an operator.
    words: list[Word] = field(factory=list)
    redirected: bool = False  # whether something is redirected
    redirected_first: bool = False  # whether something is redirected before its program
    # Whether it is redirected, or a statement that it is part of, to a file it writes.
    writes_file: bool = False
    # Whether words stand behind a redirection, which some read as more targets.
    has_words_behind: bool = False
    input_text: str = ""  # all of its text, where that puts a text on its input; "" where none is
    # Whether the host quotes its words anew: it has a line break or a variable.
    requoted: bool = False
    piped: bool = False  # whether it is part of a pipeline; only set for assignments
    # What the reader of a host knows of it, once that was asked for.
    own: Any = field(default=None, eq=False, repr=False)


@frozen
class Statement:
    """The text of an outermost statement, which holds other statements."""

    text: str  # as it is written
    piped: bool  # whether it is part of a pipeline


# The most ambiguities that are kept: a hostile command has one at every character.
_MOST_DOUBTS: Final = 8


@define
class Script:
    """A shell command, cut into simple commands and redirections."""

    commands: list[SimpleCommand] = field(factory=list)  # its simple commands
    targets: list[Redirection] = field(factory=list)  # the files of redirections
    ambiguities: list[Ambiguity] = field(factory=list)  # why no rule may allow it
    unread: bool = False  # whether not even all commands in it were found
    statements: list[Statement] = field(factory=list)  # its statements that hold others
    # Others by which rules that deny or ask may know a statement of it.
    texts: list[str] = field(factory=list)
    unclosed: bool = False  # whether readers differ on where a statement or an expansion ends
    background: bool = False  # whether it has a background command
    # Whether it has a pipe, or a group between parentheses, outside of its words.
    split: bool = False
    plain: bool = False  # whether the value of each word follows from how it is written

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
    return word.raw != word.value


def is_expanded(word: Word) -> bool:
    """Whether a shell puts the name of a file for *word*; `[` is a program, `=x` one of zsh."""
    return (word.glob and word.value not in ("[", "[[")) or word.value.startswith("=")


# Builtins that run what stands in the subscript of a name: `printf -v 'a[$(ls)]'`.
_EVALUATING = frozenset(
    "printf test [ [[ read let declare typeset local export readonly unset mapfile wait print"
    " getopts set zparseopts zformat zstyle autoload shift exit return break continue bye logout"
    " vared private getln zregexparse float integer".split()
)


def is_evaluated(program: Sequence[Word]) -> bool:
    """Whether a literal word may hold a command all the same."""
    texts = [word.value for word in program[1:]] if program[0].value in _EVALUATING else ()
    return any("[" in text and ("$" in text or "`" in text) for text in texts)


_VERSION: Final = re.compile(r"-\d+(?:\.\d+)*\Z")
_LONG_OPTION: Final = re.compile(
    r"--.*|-(?:login|posix|noprofile|norc|noediting|verbose|restricted|debugger|wordexp"
    r"|pretty-print|help|version|rcfile|init-file|dump-(?:po-)?strings)"
)


def shell_of(name: str) -> str:
    """Return the name of a shell without its folder, its version and capital letters."""
    return _VERSION.sub("", name.rsplit("/", 1)[-1].lower())


def script_of(words: Sequence[Word]) -> str | None:
    """Return SCRIPT of ``bash -c SCRIPT``; None for another command, at least of one word."""
    if len(words) > 1 and shell_of(words[0].value) in BOXES and shell_of(words[1].value) in SHELLS:
        words = words[1:]
    if len(words) < 3 or shell_of(words[0].value) not in SHELLS:
        return None
    has_script, index = False, 1
    while index < len(words):
        text = words[index].value
        index += 1
        if text in ("-", "--"):
            break
        if len(text) < 2 or text[0] not in "-+":
            index -= 1
            break
        if _LONG_OPTION.fullmatch(text):
            index += text.endswith("file")
        else:
            has_script |= text[0] == "-" and "c" in text
            index += text.count("o") + text.count("O")
    return words[index].value if has_script and index < len(words) else None


# A word that a shell may leave out: an empty one, or an expansion.
VANISHING: Final = re.compile(
    r"\$(?:\w+|[@*#?$!-]|\{[^{}]*\}|\(.*\))?|`.*`|[<>]\(.*\)|''|\"\"", re.DOTALL
)
VANISHING_FIRST: Final = frozenset(("", *"$`<>'\""))


def without_vanishing(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the text without the words that a shell may leave out, if there are such."""
    left = [
        word.value
        for word in words
        if word.raw[:1] not in VANISHING_FIRST or not VANISHING.fullmatch(word.raw)
    ]
    return (" ".join(left),) if left and len(left) < len(words) else ()


# --- the prefix of a command, word by word: wrappers, their options, assignments ---------------


@frozen(cache_hash=True)
class PrefixProgram:
    """What may stand between a program and the one that it runs (``data/prefixes.json``)."""

    # What an option matches that takes no other word, as an expression, or of which the next word
    # is a command.
    flags: str = ""
    values: str = ""  # options whose value is the next word, as an expression
    value: str = ".+"  # what such a value matches where it has one, as an expression
    operand: str = ""  # what the operand before the program matches, as an expression; "" for none
    # Whether all that its options do is to run the program otherwise; those of `time` write to a
    # file.
    harmless: bool = True
    transparent: bool = False  # whether rules that allow look behind it, as `Wrapping` has it


@cache
def prefix_programs() -> dict[str, PrefixProgram]:
    """Return the programs that run another one, by name; a hook needs them seldom."""
    import json  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    text = Path(__file__).with_name("data").joinpath("prefixes.json").read_text("utf-8")
    return {name: PrefixProgram(**fields) for name, fields in json.loads(text).items()}


def all_wrappers() -> Wrapping:
    """Return all wrappers that are known, for hosts without a list of their own."""
    known = prefix_programs()
    transparent = frozenset(name for name, program in known.items() if program.transparent)
    return Wrapping(frozenset(known) - {"function"}, transparent)  # which is no program


@lru_cache(maxsize=1024)
def expression(text: str) -> re.Pattern[str]:
    """Return the expression that data of a host spells out."""
    return re.compile(text)


def basename(program: str) -> str:
    """Return the name of a program without its folder, and without its ending on Windows."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name[-4:].lower() == ".exe" else name


def is_assignment(word: Word) -> bool:
    """Whether *word* sets a variable."""
    return ASSIGNMENT.match(word.raw) is not None


@frozen(cache_hash=True)
class _Way:
    """One way to read the words so far, as what the next word may be."""

    # The wrapper before the next word; None if a command begins with that word.
    prefix: PrefixProgram | None = None
    owed: bool = False  # whether the operand of that is still to come
    takes: bool = False  # whether it is the value of an option
    ended: bool = False  # whether it is no option any more

    def begins(self, text: str) -> bool:
        """Whether a command may begin with the word *text*; it does if no operand is owed."""
        prefix = self.prefix
        return prefix is None or not (
            self.takes
            or self._is_option(prefix, text)
            or (self.owed and _is_one(prefix.operand, text))
        )

    def after(self, text: str, shell: Shell) -> tuple[_Ways, bool]:
        """Return the ways to read the word after *text*, and whether *text* was understood."""
        prefix = self.prefix
        if prefix is None:
            return _after_first(text, shell), True
        if self.takes:
            return frozenset({evolve(self, takes=False)}), _is_one(prefix.value, text)
        if not self._is_option(prefix, text):
            if self.owed and _is_one(prefix.operand, text):
                return frozenset({evolve(self, owed=False)}), True
            # Without its operand it runs nothing.
            behind = frozenset({self}) if "=" in text else _after_first(text, shell)
            if self.owed and not prefix.operand:  # it may be one of which nothing is known
                behind |= {evolve(self, owed=False)}
            return behind, not self.owed
        if text == "--":
            behind = frozenset({evolve(self, ended=True) if self.owed else _COMMAND})
        elif _is_one(prefix.flags, text):
            behind = frozenset({self})
        elif _is_one(prefix.values, text):
            behind = frozenset({evolve(self, takes=True)})
        elif text.startswith("--") and "=" in text:
            return frozenset({self}), False
        else:
            return frozenset({self, evolve(self, takes=True)}), False
        return behind, prefix.harmless

    def _is_option(self, prefix: PrefixProgram, text: str) -> bool:
        """Whether *text* is an option; a lone dash is an operand if the wrapper still needs it."""
        is_operand = text == "-" and self.owed and _is_one(prefix.operand, text)
        return text.startswith("-") and not self.ended and not is_operand


_Ways = frozenset[_Way]
_COMMAND: Final = _Way()
_UNKNOWN: Final = PrefixProgram()


def _is_one(known: str, text: str) -> bool:
    return bool(known) and expression(known).fullmatch(text) is not None


def _behind(name: str) -> _Way:
    prefix = prefix_programs().get(name, _UNKNOWN)
    return _Way(prefix, owed=bool(prefix.operand))


@lru_cache(maxsize=4096)
def _after_first(text: str, shell: Shell) -> _Ways:
    """Return the ways to read the word after a command's first one; none if that is a program."""
    if ASSIGNMENT.match(text):
        return frozenset({_COMMAND})
    name = basename(text)
    if name in shell.wrapping.names or name in ("time", "function"):
        return frozenset({_behind(name)})
    return frozenset({_COMMAND}) if name in KEYWORDS else frozenset()


@lru_cache(maxsize=4096)
def _after(ways: _Ways, text: str, shell: Shell) -> _Ways:
    """Return the ways to read the word after *text*.

    If the words may belong to several wrappers, the options of all count as unknown: this keeps
    the ways few, however many wrappers there are.
    """
    found = frozenset[_Way]().union(*(each.after(text, shell)[0] for each in ways))
    if len({each.prefix for each in found} - {None}) < 2:
        return found
    return frozenset(
        each if each.prefix is None else evolve(each, prefix=_UNKNOWN) for each in found
    )


@frozen(cache_hash=True)
class WordPlace:
    """The ways to read the next word of a command."""

    # The ways that count for rules that deny or ask.
    ways: _Ways = frozenset({_COMMAND})
    # The way that counts for rules that allow; None if the program of the command was before.
    granting: _Way | None = _COMMAND
    sure: bool = True  # whether all words so far have one meaning

    @property
    def leads(self) -> bool:
        """Whether the words so far may all stand before the program."""
        return bool(self.ways)

    def begins(self, word: Word) -> bool:
        """Whether a command begins, or may begin, with *word* for rules that deny or ask."""
        return any(way.begins(word.value) for way in self.ways)

    def grants(self, word: Word) -> bool:
        """Whether rules that allow look at the command that begins with *word*."""
        granting = self.granting
        return granting is not None and not granting.owed and granting.begins(word.value)

    def after(self, word: Word, shell: Shell) -> WordPlace:
        """Return the place of the word after *word*."""
        found, granting = _after(self.ways, word.value, shell), self.granting
        if self.grants(word):
            name = word.raw.removeprefix("\\")
            granting = _behind(name) if name in shell.wrapping.transparent else None
        elif granting is not None:
            behind, is_known = granting.after(word.value, shell)
            granting = next(iter(behind)) if is_known else None
        return WordPlace(found, granting, sure=self.sure and len(found) < 2)


@frozen
class CommandPrefix:
    """The words before the program of a command: wrappers, their options, assignments."""

    # The indices of words with which a command begins.
    starts: tuple[int, ...]
    possible: tuple[int, ...]  # of words with which one may begin, if options are unknown
    program: int  # the last of these indices
    granted: int  # the index of the word with which the command begins for rules that allow


_ALONE: Final = CommandPrefix((0,), (), 0, 0)


def command_prefix(words: Sequence[Word], shell: Shell) -> CommandPrefix:
    """Return the prefix of a command: where its program, and commands within, begin."""
    if words and not _after_first(words[0].value, shell):
        return _ALONE
    starts: list[int] = []
    possible: list[int] = []
    granted, place = 0, WordPlace()
    for number, word in enumerate(words[: limits.NESTING]):
        if place.begins(word):
            (starts if place.sure else possible).append(number)
        if place.grants(word):
            granted = number
        place = place.after(word, shell)
        if not place.leads:
            break
    else:
        if len(words) > limits.NESTING:
            possible.append(limits.NESTING)
    program = max([0, *starts, *possible])
    return CommandPrefix(tuple(starts), tuple(possible), program, granted)
