"""Whether a test, `[ a = b ]` or `[[ -f a ]]`, is one that every reader of shell takes alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policy.shell.words import Word

__all__ = ["TESTS", "is_plain_test"]

TESTS: Final = frozenset({"[", "[["})
_ENDS: Final = frozenset({"]", "]]"})
_JOINING: Final = frozenset({"=", "==", "!=", "=~", "<", ">"})
_PARTING: Final = frozenset({"-a", "-o", "&&", "||"})
_COMPARING: Final = frozenset("-eq -ne -lt -le -gt -ge".split())
_OPERATOR: Final = re.compile(r"-[A-Za-z_]\w*", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def is_plain_test(words: Sequence[Word]) -> bool:
    """Return whether the *words* of a test, its brackets among them, are of a plain one."""
    raw = [word.raw for word in words]
    if raw[0] == "[" and not _PARTING.isdisjoint(raw):
        return False  # to a shell `&&` and `||` end the command that `[` is
    if raw[0] == "[[" and any(word.glob for word in words[1:]):
        return False
    return _is_taken_apart(words[1:-1]) and _is_counted(words)


def _is_taken_apart(words: Sequence[Word]) -> bool:
    """Whether a test is one that every reader takes apart alike: `x`, `-f x`, `a = b`."""
    tests: list[list[str]] = [[]]
    for word in words:
        if word.raw in ("&&", "||"):
            tests.append([])
        elif word.raw not in ("(", ")") and (tests[-1] or word.raw != "!"):
            tests[-1].append(word.raw)
    if any(word.raw in _ENDS for word in words):
        return False  # to some the test ends there
    return all(word.raw for word in words) and all(map(_is_one, tests))


def _is_one(test: Sequence[str]) -> bool:
    """Whether it is a word, an operator and a word, or an operator between two."""
    if len(test) == 2:
        return _OPERATOR.fullmatch(test[0]) is not None
    if len(test) == 3 and not _OPERATOR.fullmatch(test[0]):
        return test[1] in _JOINING or _OPERATOR.fullmatch(test[1]) is not None
    return len(test) == 1


def _is_counted(words: Sequence[Word]) -> bool:
    """Whether what a test takes for a number is one: else a shell works out what it says."""
    plain = [word.plain for word in words]
    for at, word in enumerate(plain[:-1]):
        if word in _COMPARING and not all(
            _NUMBER.fullmatch(each) for each in (plain[at - 1], plain[at + 1])
        ):
            return False
        if word == "-t" and not _NUMBER.fullmatch(plain[at + 1]):
            return False
        if word == "-v" and ("[" in plain[at + 1] or not words[at + 1].literal):
            return False
    return True
