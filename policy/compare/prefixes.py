"""Prefixes behind which rules still match a command: ``sudo ``, ``A=1 ``, ``/bin/``.

And commands with words in quotes, which rules that deny or ask match as if without quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import BOXES, KEYWORDS, SHELLS
from policy.compare.auto_allowed import ODD, OTHER_WORD, WORD, opening_none, read_alike, runs
from policy.compare.lists import View, start_of
from policy.core.effect import Effect
from policy.patterns.pattern import Pattern

_ODD_PROGRAM: Final = frozenset("/=!~?[")


@lru_cache(maxsize=64)  # a host has one or two
def runners(shell: Shell) -> frozenset[str]:
    """Return the programs that run a command given in their arguments."""
    running = {name for name, program in shell.programs.items() if program.runs}
    wrapping = shell.wrapping
    known = {*wrapping.names, *wrapping.transparent, *wrapping.granting}
    return frozenset(known | running | KEYWORDS | SHELLS | BOXES)


def has_other_texts(pattern: Pattern, shell: Shell) -> bool:
    """Return whether commands that *pattern* matches may have texts with another start."""
    if any(isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens):
        return True
    program, blank, _ = start_of(pattern).partition(" ")
    is_open = not (blank or pattern.exact)  # the name of the program
    return is_open or not _ODD_PROGRAM.isdisjoint(program) or program in runners(shell)


def leads_to_granted(pattern: Pattern, shell: Shell) -> bool:
    """Return whether rules that allow may match a command behind the start of *pattern*."""
    program, blank, _ = start_of(pattern).partition(" ")
    if program in runners(shell) and (blank or pattern.exact):
        return any(
            known[0] for text, known in _usual(shell).items() if text.startswith(program + " ")
        )
    return has_other_texts(pattern, shell)


def in_quotes(text: str, quote: str = "'") -> str:
    """Return a command with the name of its program in quotes."""
    program, blank, rest = text.partition(" ")
    return f"{quote}{program}{quote}{blank}{rest}"


# A command that no rule names, to try behind each prefix.
_PROBE: Final = f"{WORD} {OTHER_WORD}"

# Options and operands that a program which runs others may take before the command.
_OPERANDS: Final = ("", "5 ", "-n 5 ", f"-u {WORD} ", "-c ")


@lru_cache(maxsize=64)  # a host has one or two
def _usual(shell: Shell) -> Mapping[str, tuple[object, ...]]:
    """Return the prefixes that a shell knows, and how rules match the command behind each.

    Programs come with and without options. The values hold whether rules that allow match the
    command alone, whether any may, how many words precede it in each text, and whether it is
    auto-allowed.
    """
    names = sorted(runners(shell), key=lambda name: (name != "sudo", name))
    variables = sorted({*shell.variables.harmless, *shell.variables.locales})[:1]
    texts = (
        *(f"{name} {given}" for given in _OPERANDS for name in names),
        *(f"/{WORD}/", "./", "sudo ./", f"{WORD}=1 "),
        *(f"{name}=C " for name in variables),
    )
    return {text: known for text in texts if (known := _known_behind(text, shell))}


def _known_behind(text: str, shell: Shell) -> tuple[object, ...]:
    """Return how rules match commands behind *text*; an empty tuple where they do not."""
    parts = read_alike(text + _PROBE, shell).parts
    if len(parts) != 1:
        return ()
    part = parts[0]
    texts = (part.text,), part.match_texts, part.grant_texts, part.possible_texts
    if not any(_PROBE in each for each in texts):
        return ()
    words = (
        tuple(sorted(known.removesuffix(_PROBE).count(" ") for known in each)) for each in texts
    )
    quiet = (runs(text + each, shell) for each in quiet_commands(shell))
    return part.text == _PROBE, part.grantable, *words, *quiet


@lru_cache(maxsize=64)
def prefixes(shell: Shell) -> tuple[str, ...]:
    """Return one prefix for each way in which rules match a command behind a prefix."""
    found: dict[object, str] = {}
    for text, known in _usual(shell).items():
        found.setdefault((known, text.partition(" ")[0] in KEYWORDS), text)
    return tuple(found.values())


def quiet_commands(shell: Shell) -> tuple[str, ...]:
    """Return an auto-allowed command that opens no file, or none."""
    return opening_none(shell)[:1]


def granted_shells(views: Iterable[View], shell: Shell) -> list[str]:
    """Return the shells that all lists allow to run a script given as an argument."""
    names = sorted(SHELLS, key=lambda name: (name != "bash", name)) if shell.kinds.scripted else ()
    scripts = {name: f"{name} -c '{_PROBE}'" for name in names}
    for view in views:
        allowed = view.automaton.first
        scripts = {n: s for n, s in scripts.items() if view.effect(allowed(s)) is Effect.ALLOW}
    return [*scripts]
