"""Texts in front of a command behind which rules know it too: ``sudo ``, ``A=1 ``, ``/bin/``.

And commands with words in quotes, which to rules that deny or ask are the same text all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import BOXES, KEYWORDS, SHELLS
from policy.compare.auto_allowed import ODD, harmless, read_alike, runs
from policy.compare.lists import start_of
from policy.core import values
from policy.patterns.pattern import Pattern

__all__ = [
    "Prefix",
    "escaped",
    "has_other_texts",
    "in_quotes",
    "is_joined",
    "is_odd",
    "may_lead_another",
    "prefixes",
    "quiet_commands",
    "quoted",
    "runners",
    "runs_another",
    "transparent",
]


_ODD_PROGRAM: Final = frozenset("/=!~?[")


@lru_cache(maxsize=64)  # a host has one or two
def runners(shell: Shell) -> frozenset[str]:
    """Return the programs that run what their arguments say."""
    running = {name for name, program in shell.programs.items() if program.runs}
    wrapping = shell.wrapping
    known = {*wrapping.names, *wrapping.transparent, *wrapping.granting}
    return frozenset(known | running | KEYWORDS | SHELLS | BOXES)


def has_other_texts(pattern: Pattern, shell: Shell) -> bool:
    """Return whether commands that *pattern* matches may have texts that start otherwise."""
    if any(isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens):
        return True
    start = pattern.tokens[0] if pattern.tokens else ""
    program, blank, _ = (start if isinstance(start, str) else "").partition(" ")
    if not blank and not pattern.exact:
        return True  # the name of the program is open
    return may_lead_another(program, shell)


def may_lead_another(program: str, shell: Shell) -> bool:
    """Return whether a command may be known without its first word, *program*, or by another."""
    return not _ODD_PROGRAM.isdisjoint(program) or program in runners(shell)


# Lines that spell out what a shell acts on, and commands that hold it as part of a word.


# What means something to a shell within double quotes.
_IN_QUOTES: Final = frozenset('"$`\\')

# What a backslash takes the meaning from.
_ESCAPED: Final = str.maketrans({letter: f"\\{letter}" for letter in ";&|<>()`$\\{}\"'#"})

# What parts commands.
_OPERATORS: Final = frozenset(";&|\n")


def is_odd(pattern: Pattern) -> bool:
    """Whether a line with stars spells out what a shell acts on."""
    return not pattern.exact and any(
        isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens
    )


def is_joined(pattern: Pattern) -> bool:
    """Whether a pattern begins with a command, and an operator that is in no quotes.

    No rule that allows knows a command by such a text: what is read is taken apart there.
    """
    start = start_of(pattern)
    program = start.partition(" ")[0]
    operator = next((letter for letter in start if letter in ODD), "")
    return operator in _OPERATORS and program not in KEYWORDS and program[:1] != "["


def in_quotes(text: str, quote: str = "'") -> str:
    """Return a command with the name of its program in quotes."""
    program, blank, rest = text.partition(" ")
    return f"{quote}{program}{quote}{blank}{rest}"


def quoted(text: str) -> Iterator[str]:
    """Yield a command with all that follows its program as one word, in quotes."""
    program, blank, rest = text.partition(" ")
    if rest and "'" not in rest:
        yield f"{program}{blank}'{rest}'"
    elif rest and _IN_QUOTES.isdisjoint(rest):
        yield f'{program}{blank}"{rest}"'


def escaped(text: str) -> str:
    """Return a command of plain words that rules which deny or ask know by *text*."""
    return text.translate(_ESCAPED)


# Texts in front of a command behind which rules know it too: ``sudo ``, ``A=1 ``, ``/bin/``.


# A command that no rule names, as it is looked for behind a prefix.
_PROBE: Final = "q7z q7y"

# What a program that runs others may be told before the command.
_TOLD: Final = ("", "5 ", "-n 5 ", "-u q7w ", "-c ")


@values.frozen
class Prefix:
    """Text in front of a command.

    Attributes:
        text: the text.
        transparent: whether rules that allow see through it.
        grantable: whether they may allow what stands behind it.
        words: by how many words before it each kind of texts knows the command.
        quiet: which samples of what runs without a rule do so behind it too.

    """

    text: str
    transparent: bool
    grantable: bool
    words: tuple[tuple[int, ...], ...]
    quiet: tuple[bool, ...]


@lru_cache(maxsize=4096)
def prefix_of(text: str, shell: Shell) -> Prefix | None:
    """Return how commands behind *text* are known; None where they are not."""
    command = read_alike(text + _PROBE, shell)
    if len(command.parts) != 1:
        return None
    (part,) = command.parts
    texts = (
        (part.text,),
        part.match_texts,
        part.grant_texts,
        part.possible_texts,
    )
    if not any(_PROBE in each for each in texts):
        return None
    words = tuple(
        tuple(sorted(text.removesuffix(_PROBE).count(" ") for text in each)) for each in texts
    )
    quiet = tuple(runs(text + each, shell) for each in quiet_commands(shell))
    return Prefix(text, part.text == _PROBE, part.grantable, words, quiet)


def prefixes(patterns: Iterable[Pattern], shell: Shell) -> tuple[Prefix, ...]:
    """Return a prefix for each way in which commands behind one are known.

    And those that lines with *patterns* begin with.
    """
    begun = dict.fromkeys(text for pattern in patterns for text in _cuts(start_of(pattern), shell))
    found = (prefix_of(text, shell) for text in begun)
    return tuple(dict.fromkeys((*_usual_prefixes(shell), *filter(None, found))))


@lru_cache(maxsize=64)  # a host has one or two
def _usual_prefixes(shell: Shell) -> tuple[Prefix, ...]:
    found: dict[object, Prefix] = {}
    for text in _usual(shell):
        prefix = prefix_of(text, shell)
        if prefix is not None:
            leads = text.partition(" ")[0] in KEYWORDS
            found.setdefault((values.evolve(prefix, text=""), leads), prefix)
    return tuple(found.values())


@lru_cache(maxsize=64)
def _usual(shell: Shell) -> tuple[str, ...]:
    """Return prefixes that a shell knows: the program of each, with and without options."""
    names = sorted(runners(shell), key=lambda name: (name != "sudo", name))
    variables = sorted({*shell.variables.harmless, *shell.variables.locales})[:1]
    return (
        *(f"{name} {told}" for told in _TOLD for name in names),
        "/q7w/",
        "./",
        *(f"{name} ./" for name in names[:1]),
        "Q7W=1 ",
        *(f"{name}=C " for name in variables),
    )


def _cuts(start: str, shell: Shell) -> Iterator[str]:
    """Yield the texts at the start of a pattern behind which a command may stand.

    What a wrapper is told before its command is left to a star, most often.
    """
    for end, letter in enumerate(start, 1):
        if letter in " /":
            yield start[:end]
        if letter == " " and start[:end].split(" ")[-2] in runners(shell):
            yield from (start[:end] + told for told in _TOLD[1:])


@lru_cache(maxsize=64)
def quiet_commands(shell: Shell) -> tuple[str, ...]:
    """Return a command that runs without a rule, behind prefixes too, if there is one."""
    names = (name for name, program in shell.programs.items() if not program.direct)
    return next((found[:1] for name in names if (found := harmless(name, shell))), ())


@lru_cache(maxsize=64)
def transparent(shell: Shell) -> tuple[str, ...]:
    """Return wrappers that allow rules unwrap, first those behind which fewer commands run unasked.

    One for each way in which commands run unasked behind them, or do not.
    """
    found: dict[tuple[bool, ...], str] = {}
    for prefix in _usual_prefixes(shell):
        leads = prefix.text.partition(" ")[0] in KEYWORDS
        if prefix.transparent and prefix.grantable and not leads:
            found.setdefault(prefix.quiet, prefix.text)
    return tuple(found[quiet] for quiet in sorted(found))


@lru_cache(maxsize=64)
def runs_another(shell: Shell) -> tuple[str, ...]:
    """Return usual commands that run another command, one that no rule names."""
    return tuple(f"{text}q7z" for text in _usual(shell) if text.endswith(" "))
