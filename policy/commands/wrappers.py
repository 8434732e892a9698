"""The prefix of a command, read word by word: wrappers, their options, and assignments.

Behind an option that a wrapper is not known to take, several words may be the program that it runs:
no rule grants any of them, and rules that deny or ask match each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from policy.commands.compound import KEYWORDS
from policy.commands.words import ASSIGNMENT, Word
from policy.core import expressions as re
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, evolve, frozen

if TYPE_CHECKING:
    from policy.commands.knowledge import Shell

__all__ = [
    "CommandPrefix",
    "PrefixProgram",
    "WordPlace",
    "basename",
    "command_prefix",
    "expression",
    "is_assignment",
    "prefix_programs",
]


@frozen(cache_hash=True)
class PrefixProgram:
    """What may stand between a program and the one that it runs (``data/prefixes.json``).

    Attributes:
        flags: what an option matches that takes no other word, as an expression, or of which the
            next word is a command.
        values: options whose value is the next word, as an expression.
        value: what such a value matches where it has one, as an expression.
        operand: what the operand before the program matches, as an expression; "" for none.
        harmless: whether all that its options do is to run the program otherwise; those of `time`
            write to a file.

    """

    flags: str = ""
    values: str = ""
    value: str = ".+"
    operand: str = ""
    harmless: bool = True


@cache
def prefix_programs() -> dict[str, PrefixProgram]:
    """Return the programs that run another one, by name; a hook needs them seldom."""
    import json  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    text = Path(__file__).with_name("data").joinpath("prefixes.json").read_text("utf-8")
    return {name: PrefixProgram(**said) for name, said in json.loads(text).items()}


@lru_cache(maxsize=1024)
def expression(text: str) -> re.Pattern[str]:
    """Return the expression that data of a host spells out."""
    return re.compile(text)


_PROGRAM: Final = re.compile(r"(?:.*[/\\])?(.*?)(?:\.exe)?", re.DOTALL | re.IGNORECASE)


def basename(program: str) -> str:
    """Return the name of a program without its folder, and without its ending on Windows."""
    if "/" not in program and "\\" not in program and program[-4:].lower() != ".exe":
        return program
    match = _PROGRAM.fullmatch(program)
    return match[1] if match else program


def is_assignment(word: Word) -> bool:
    """Whether *word* sets a variable."""
    return "=" in word.raw and ASSIGNMENT.match(word.raw) is not None


@frozen(cache_hash=True)
class _Thread:
    """One way to read the words so far: what the next one is.

    Attributes:
        prefix: the wrapper that it stands behind; None where a command begins with it.
        owed: whether the operand of that is still to come.
        takes: whether it is the value of an option.
        ended: whether it is no option any more.

    """

    prefix: PrefixProgram | None = None
    owed: bool = False
    takes: bool = False
    ended: bool = False

    def begins(self, text: str) -> bool:
        """Whether a command may begin with the word *text*."""
        if self.prefix is None:
            return True
        if self.takes or self._is_option(text):
            return False
        return not self.owed or not _is_one(self.prefix.operand, text)

    def surely_begins(self, text: str) -> bool:
        """Whether a command begins with the word *text*, and all that stands before is in order."""
        return not self.owed and self.begins(text)

    def after(self, text: str, shell: Shell) -> tuple[_Threads, bool]:
        """Return how the next word may be read behind *text*, and whether that is in order."""
        prefix = self.prefix
        if prefix is None:
            return _after_first(text, shell), True
        if self.takes:
            return frozenset({evolve(self, takes=False)}), _is_one(prefix.value, text)
        if self._is_option(text):
            return self._behind_option(text, prefix)
        if self.owed and _is_one(prefix.operand, text):
            return frozenset({evolve(self, owed=False)}), True
        # Without its operand it runs nothing.
        return frozenset({self}) if ASSIGNMENT.match(text) else _after_first(
            text, shell
        ), not self.owed

    def _is_option(self, text: str) -> bool:
        """Whether it is one; a dash alone is an operand where one that it may be is to come."""
        if self.prefix is None or self.ended or not text.startswith("-"):
            return False
        return not (text == "-" and self.owed and _is_one(self.prefix.operand, text))

    def _behind_option(self, text: str, prefix: PrefixProgram) -> tuple[_Threads, bool]:
        taking = evolve(self, takes=True)
        if text == "--":
            behind = evolve(self, ended=True) if self.owed else _COMMAND
            return frozenset({behind}), prefix.harmless
        if _is_one(prefix.flags, text):
            return frozenset({self}), prefix.harmless
        if _is_one(prefix.values, text):
            return frozenset({taking}), prefix.harmless
        if text.startswith("--") and "=" in text:
            return frozenset({self}), False
        return frozenset({self, taking}), False


_Threads = frozenset[_Thread]
_COMMAND: Final = _Thread()
_UNKNOWN: Final = PrefixProgram()


def _is_one(known: str, text: str) -> bool:
    return bool(known) and expression(known).fullmatch(text) is not None


def _behind(name: str) -> _Thread:
    prefix = prefix_programs().get(name, _UNKNOWN)
    return _Thread(prefix, owed=bool(prefix.operand))


@lru_cache(maxsize=4096)
def _after_first(text: str, shell: Shell) -> _Threads:
    """Return how the word behind the first one of a command may be read, if that leads others."""
    if "=" in text and ASSIGNMENT.match(text):
        return frozenset({_COMMAND})
    name = text.rsplit("/", 1)[-1]
    if name in shell.wrapping.names or name in ("time", "function"):
        return frozenset({_behind(name)})
    return frozenset({_COMMAND}) if name in KEYWORDS else frozenset()


@lru_cache(maxsize=4096)
def _after(threads: _Threads, text: str, shell: Shell) -> _Threads:
    """Return how the next word may be read behind *text*.

    Where words may belong to several wrappers, only the name of each is known: there are
    but few such ways, however many wrappers there are.
    """
    found = frozenset[_Thread]().union(*(each.after(text, shell)[0] for each in threads))
    if len({each.prefix for each in found} - {None}) < 2:
        return found
    return frozenset(
        each if each.prefix is None else evolve(each, prefix=_UNKNOWN) for each in found
    )


@frozen(cache_hash=True)
class WordPlace:
    """What is known of the word that comes next.

    Attributes:
        threads: the ways in which it may be read by rules that deny or ask.
        granting: the one for rules that allow, where it may not be their program; None where that
            was before.
        sure: whether all words so far have one meaning.

    """

    threads: _Threads = frozenset({_COMMAND})
    granting: _Thread | None = _COMMAND
    sure: bool = True

    @property
    def leads(self) -> bool:
        """Whether all words so far may lead what follows."""
        return bool(self.threads)

    def begins(self, word: Word) -> bool:
        """Whether a command begins with *word* to rules that deny or ask, or may begin."""
        return any(thread.begins(word.plain) for thread in self.threads)

    def grants(self, word: Word) -> bool:
        """Whether rules that allow look at the command that begins with *word*."""
        return self.granting is not None and self.granting.surely_begins(word.plain)

    def after(self, word: Word, shell: Shell) -> WordPlace:
        """Return the place behind *word*."""
        found, granting = _after(self.threads, word.plain, shell), self.granting
        if granting is not None:
            if granting.surely_begins(word.plain):
                granting = _seen_through(word, shell)
            else:
                behind, is_known = granting.after(word.plain, shell)
                granting = next(iter(behind)) if is_known else None
        return WordPlace(found, granting, sure=self.sure and len(found) < 2)


def _seen_through(word: Word, shell: Shell) -> _Thread | None:
    """Return how the word is read behind a wrapper that rules which allow see through."""
    name = word.raw.removeprefix("\\")
    return _behind(name) if name in shell.wrapping.transparent else None


@frozen
class CommandPrefix:
    """What stands before the program of a command.

    Attributes:
        starts: the numbers of the words with which a command begins, the first of them 0.
        possible: those with which one may begin, where that is unknown.
        program: the last of all.
        granted: the one with which rules that allow take a command to begin.

    """

    starts: tuple[int, ...]
    possible: tuple[int, ...]
    program: int
    granted: int


_ALONE: Final = CommandPrefix((0,), (), 0, 0)
_START: Final = WordPlace()


@lru_cache(maxsize=4096)
def _passed(place: WordPlace, raw: str, plain: str, shell: Shell) -> tuple[bool, bool, WordPlace]:
    """Return whether a command begins with a word at *place*, to whom, and the place behind it."""
    word = Word(raw, plain)
    return place.begins(word), place.grants(word), place.after(word, shell)


def command_prefix(words: Sequence[Word], shell: Shell) -> CommandPrefix:
    """Return what stands before the program of a command."""
    if words and not _after_first(words[0].plain, shell):
        return _ALONE
    starts: list[int] = []
    possible: list[int] = []
    granted, place = 0, _START
    for number, word in enumerate(words[: limits.NESTING]):
        begins, grants, behind = _passed(place, word.raw, word.plain, shell)
        if begins:
            (starts if place.sure else possible).append(number)
        if grants:
            granted = number
        place = behind
        if not place.leads:
            break
    else:
        if len(words) > limits.NESTING:
            possible.append(limits.NESTING)
    program = max([0, *starts, *possible])
    return CommandPrefix(tuple(starts), tuple(possible), program, granted)
