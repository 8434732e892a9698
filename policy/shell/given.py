"""The arguments of a program: what begins like an option, values of options, and the rest."""

from __future__ import annotations

import re
from functools import lru_cache

import attrs

from policy.programs import Program
from policy.shell.words import Word

__all__ = ["Given", "has", "matches", "split"]


@attrs.frozen
class Given:
    """The arguments of a program: what begins like an option, and the rest.

    Attributes:
        options: without the values that are words of their own.
        operands: all others.
        files: values of options that are files it reads.
        known: whether the program is harmless with each of the options.
        named: the operands, and what counts for one where files are looked for: what begins with a
            plus, and what is an option to others.
    """

    options: list[Word]
    operands: list[Word]
    files: list[Word]
    known: bool
    named: list[Word]


def split(program: Program, rest: list[Word]) -> Given:
    """Return which of the words behind a program are options, and which are operands."""
    options: list[Word] = []
    sure = True
    operands: list[Word] = []
    files: list[Word] = []
    named: list[Word] = []
    index, known = 0, True
    while index < len(rest):
        word = rest[index]
        index += 1
        if word.plain == "--" and program.ends:
            operands += rest[index:]
            named += rest[index:]
            break
        if (
            word.plain.startswith(("-", "+"))
            and len(word.plain) > 1
            and not (program.runs and operands)
        ):
            options.append(word)
            behind = program.trailing and bool(named)
            named += [word] * (behind or word.plain[0] == "+")
            if program.files and "=" in word.plain:
                name, _, joined = word.plain.partition("=")
                if matches(program.files, name):
                    files.append(attrs.evolve(word, plain=joined))
            if program.files and matches(program.files, word.plain[:2]) and word.plain[2:]:
                files.append(attrs.evolve(word, plain=word.plain[2:]))
            known &= not (program.leading and operands)
            sure &= not program.sure or matches(program.sure, word.plain)
            value = rest[index] if sure and index < len(rest) else None
            if value is not None and _takes(program, word.plain, value.plain):
                index += 1
                named += [value] * (behind or _is_looked_at(program, word.plain))
                if matches(program.files, word.plain):
                    files.append(value)
            elif program.flags is not None:
                known &= matches(program.flags, word.plain)
        else:
            operands.append(word)
            named.append(word)
            if program.runs:
                operands += rest[index:]
                break
    return Given(options, operands, files, known, named)


def _takes(program: Program, option: str, value: str) -> bool:
    """Whether *value*, the word behind *option*, belongs to it."""
    if program.pairs and matches(program.pairs, f"{option} {value}"):
        return True
    return not value.startswith("-") and (
        matches(program.values, option) or matches(program.files, option)
    )


def _is_looked_at(program: Program, option: str) -> bool:
    """Whether the value of an option is an operand to whoever looks for files."""
    return program.skipped is not None and not matches(program.skipped, option)


@lru_cache(maxsize=1024)
def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text)


def matches(expression: str, text: str) -> bool:
    """Return whether a text is what an expression describes; one that is empty describes none."""
    return bool(expression) and _expression(expression).fullmatch(text) is not None


def has(options: list[Word], wanted: str) -> bool:
    """Return whether one of the options is *wanted*."""
    return any(matches(wanted, option.plain) for option in options)
