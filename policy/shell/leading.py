"""What stands before a program, word by word: wrappers, what they are told, and assignments.

Where a wrapper has an option that it is not known to take, nobody knows which word behind it is
told to it, and which is the program that it runs: any that may be is feared to be that. No rule
grants anything for it, and what a rule denies or asks for is not granted. So a rule that allows
takes no word for a program that others pass over.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import attrs

from policy import limits
from policy.shell.leaders import LEADERS, Leader
from policy.shell.words import ASSIGNMENT, Word
from policy.shell.wrappers import expression

if TYPE_CHECKING:
    from policy.shells import Shell

__all__ = ["KEYWORDS", "Led", "Place", "is_assignment", "led"]

# The first words of commands that hold other commands.
KEYWORDS: Final = frozenset(
    "if then elif else fi for while until do done case esac select function coproc time"
    " ! { }".split()
)


def is_assignment(word: Word) -> bool:
    """Whether *word* sets a variable."""
    return "=" in word.raw and ASSIGNMENT.match(word.raw) is not None


@attrs.frozen(cache_hash=True)
class _Thread:
    """One way to read the words so far: what the next one is.

    Attributes:
        leader: the wrapper that it stands behind; None where a command begins with it.
        owed: whether the operand of that is still to come.
        takes: whether it is the value of an option.
        ended: whether it is no option any more.

    """

    leader: Leader | None = None
    owed: bool = False
    takes: bool = False
    ended: bool = False

    def begins(self, text: str) -> bool:
        """Whether a command may begin with the word *text*."""
        if self.leader is None:
            return True
        if self.takes or self._is_option(text):
            return False
        return not self.owed or not _is(self.leader.operand, text)

    def surely_begins(self, text: str) -> bool:
        """Whether a command begins with the word *text*, and all that stands before is in order."""
        return not self.owed and self.begins(text)

    def after(self, text: str, shell: Shell) -> tuple[_Threads, bool]:
        """Return how the next word may be read behind *text*, and whether that is in order."""
        leader = self.leader
        if leader is None:
            return _led(text, shell), True
        if self.takes:
            return frozenset({attrs.evolve(self, takes=False)}), _is(leader.value, text)
        if self._is_option(text):
            return self._behind_option(text, leader)
        if self.owed and _is(leader.operand, text):
            return frozenset({attrs.evolve(self, owed=False)}), True
        # Without its operand it runs nothing.
        return frozenset({self}) if ASSIGNMENT.match(text) else _led(text, shell), not self.owed

    def _is_option(self, text: str) -> bool:
        """Whether it is one; a dash alone is an operand where one that it may be is to come."""
        if self.leader is None or self.ended or not text.startswith("-"):
            return False
        return not (text == "-" and self.owed and _is(self.leader.operand, text))

    def _behind_option(self, text: str, leader: Leader) -> tuple[_Threads, bool]:
        taking = attrs.evolve(self, takes=True)
        if text == "--":
            behind = attrs.evolve(self, ended=True) if self.owed else _COMMAND
            return frozenset({behind}), leader.harmless
        if _is(leader.flags, text):
            return frozenset({self}), leader.harmless
        if _is(leader.values, text):
            return frozenset({taking}), leader.harmless
        if text.startswith("--") and "=" in text:
            return frozenset({self}), False
        return frozenset({self, taking}), False


_Threads = frozenset[_Thread]
_COMMAND: Final = _Thread()
_UNKNOWN: Final = Leader()


def _is(known: str, text: str) -> bool:
    return bool(known) and expression(known).fullmatch(text) is not None


def _behind(name: str) -> _Thread:
    leader = LEADERS.get(name, _UNKNOWN)
    return _Thread(leader, owed=bool(leader.operand))


@lru_cache(maxsize=4096)
def _led(text: str, shell: Shell) -> _Threads:
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

    Where nobody knows which wrapper is told what, of none more is known than its name: there are
    but few such ways, however many wrappers there are.
    """
    found = frozenset[_Thread]().union(*(each.after(text, shell)[0] for each in threads))
    if len({each.leader for each in found} - {None}) < 2:
        return found
    return frozenset(
        each if each.leader is None else attrs.evolve(each, leader=_UNKNOWN) for each in found
    )


@attrs.frozen(cache_hash=True)
class Place:
    """What is known of the word that comes next.

    Attributes:
        threads: the ways in which it may be read by rules that deny or ask.
        granting: the one for rules that allow, where it may not be their program; None where that
            was before.
        sure: whether everybody knows what all words so far are.

    """

    threads: _Threads = frozenset({_COMMAND})
    granting: _Thread | None = _COMMAND
    sure: bool = True

    @property
    def leads(self) -> bool:
        """Whether all words so far may lead what follows."""
        return bool(self.threads)

    def begins(self, word: Word) -> bool:
        """Whether a command begins with *word* to rules that deny or ask, or is feared to."""
        return any(thread.begins(word.plain) for thread in self.threads)

    def grants(self, word: Word) -> bool:
        """Whether rules that allow look at the command that begins with *word*."""
        return self.granting is not None and self.granting.surely_begins(word.plain)

    def after(self, word: Word, shell: Shell) -> Place:
        """Return the place behind *word*."""
        found, granting = _after(self.threads, word.plain, shell), self.granting
        if granting is not None:
            if granting.surely_begins(word.plain):
                granting = _seen_through(word, shell)
            else:
                behind, is_known = granting.after(word.plain, shell)
                granting = next(iter(behind)) if is_known else None
        return Place(found, granting, sure=self.sure and len(found) < 2)


def _seen_through(word: Word, shell: Shell) -> _Thread | None:
    """Return how the word is read behind a wrapper that rules which allow see through."""
    name = word.raw.removeprefix("\\")
    return _behind(name) if name in shell.wrapping.transparent else None


@attrs.frozen
class Led:
    """What stands before the program of a command.

    Attributes:
        starts: the numbers of the words with which a command begins, the first of them 0.
        feared: those with which one may begin, where nobody knows.
        program: the last of all.
        granted: the one with which rules that allow take a command to begin.

    """

    starts: tuple[int, ...]
    feared: tuple[int, ...]
    program: int
    granted: int


_ALONE: Final = Led((0,), (), 0, 0)
_START: Final = Place()


@lru_cache(maxsize=4096)
def _passed(place: Place, raw: str, plain: str, shell: Shell) -> tuple[bool, bool, Place]:
    """Return whether a command begins with a word at *place*, to whom, and the place behind it."""
    word = Word(raw, plain)
    return place.begins(word), place.grants(word), place.after(word, shell)


def led(words: Sequence[Word], shell: Shell) -> Led:
    """Return what stands before the program of a command, as far as anybody looks."""
    if words and not _led(words[0].plain, shell):
        return _ALONE
    starts: list[int] = []
    feared: list[int] = []
    granted, place = 0, _START
    for number, word in enumerate(words[: limits.NESTING]):
        begins, grants, behind = _passed(place, word.raw, word.plain, shell)
        if begins:
            (starts if place.sure else feared).append(number)
        if grants:
            granted = number
        place = behind
        if not place.leads:
            break
    else:
        if len(words) > limits.NESTING:
            feared.append(limits.NESTING)
    program = max([0, *starts, *feared])
    return Led(tuple(starts), tuple(feared), program, granted)
