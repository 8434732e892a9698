"""The commands that a host runs where no rule applies to them.

A pattern matches no auto-allowed command if it names an unknown program or subcommand, or an
option that is never harmless. Else some commands of each program are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from re import findall, fullmatch
from typing import Final

from policy.commands.knowledge import Program, Programs, Shell
from policy.commands.reader import read_command
from policy.compare.lists import start_of
from policy.core import limits
from policy.core.values import evolve
from policy.patterns.pattern import Pattern

# Words that no rule names, in commands that are tried; a witness has readable words instead
# (`CommandPair.in_words`).
WORD: Final = "q7z"
OTHER_WORD: Final = "q7y"
FILE: Final = "q7w"

# Characters that give a command, or its program, further texts than the written one.
ODD: Final = frozenset(";&|<>()`$\\{}\"'#\t\n\r\v\f\0")

# Characters that a shell acts on, or that it replaces by names of files.
ACTED_ON: Final = frozenset(ODD | {*"*?["})

# Most commands are read for several rows, lists and tables.
read_alike: Final = lru_cache(maxsize=limits.CACHE_ENTRIES)(read_command)


# Characters that no plain word holds.
_ODD: Final = ODD - {"#"}


def runs(text: str, shell: Shell) -> bool:
    """Return whether a host runs a command where no rule applies to it."""
    return [part.harmless for part in read_alike(text, shell).parts] == [True]


@lru_cache(maxsize=16)  # a host has two or three
def auto_allowed(shell: Shell) -> tuple[str, ...]:
    """Return some auto-allowed commands of all programs, the shortest first."""
    texts = {text for text in _calls("", shell.programs) if runs(text, shell)}
    return tuple(sorted(texts, key=lambda text: (len(text), text)))


@lru_cache(maxsize=16)
def opening_none(shell: Shell) -> tuple[str, ...]:
    """Return the commands of `auto_allowed` that open no file."""
    return tuple(t for t in auto_allowed(shell) if not read_alike(t, shell).redirections)


def _calls(before: str, programs: Mapping[str, Program]) -> Iterator[str]:
    for name, program in programs.items():
        yield before + name
        yield f"{before}{name} {WORD}" + (" " + "]" * len(name) if set(name) == {"["} else "")
        for form in (program, *program.forms):
            words = (sample_of(form.needs), sample_of(form.first))
            yield f"{before}{name} {' '.join(filter(None, words))}".rstrip()
        yield from _calls(f"{before}{name} ", program.subcommands)


# Words that most expressions over a word match, in addition to the options that they name; and
# values that most expressions over an option and its value match.
_SAMPLES: Final = ("", "p", "0", "s///")
_VALUES: Final = ("", "1", "%", "oneline", "+M", "{}")


@lru_cache(maxsize=1024)
def sample_of(text: str) -> str:
    """Return a short word that an expression of a table of programs matches, or ""."""
    names = [*findall("[a-zA-Z]+", text), *"".join(findall(r"\[([a-zA-Z]+)\]", text))]
    tried = {*_SAMPLES, *(dash + name for name in names for dash in ("", "-", "--"))}
    ordered = sorted(tried, key=lambda word: (len(word), word))
    return next((word for word in ordered if fullmatch(text, word)), "")


@lru_cache(maxsize=64)  # a host has two or three
def known_differently(some: tuple[Shell, ...], others: tuple[Shell, ...]) -> frozenset[str] | None:
    """Return the programs that the shells know differently; None, for all, without *others*."""
    if not others:
        return None
    first, *rest = (shell.programs.known for shell in (*some, *others))
    names = {name for each in (first, *rest) for name in each}
    return frozenset(n for n in names if any(each.get(n) != first.get(n) for each in rest))


@lru_cache(maxsize=4096)  # agents and projects share most of their rules
def may_run(shell: Shell, pattern: Pattern, names: frozenset[str] | None = None) -> bool:
    """Return whether a command of plain words that *pattern* matches may run without a rule.

    Args:
        shell: what the host knows of programs.
        pattern: a pattern over commands.
        names: the programs that count; None is all.

    """
    if pattern.exact:
        return runs(str(pattern), shell)
    spelled = [token for token in pattern.tokens if isinstance(token, str)]
    if any("  " in text or not _ODD.isdisjoint(text) for text in spelled):
        return False
    words = start_of(pattern).split(" ")
    last = words.pop()
    program, below = None, shell.programs.known
    if names is not None:
        below = {name: below[name] for name in names if name in below}
    for word in words:
        if program is not None and (not below or word[:1] == "-"):
            is_refused = all(_is_refused(form, word) for form in _forms(program))
            return not (is_refused or _does_harm(program, spelled))
        program = below.get(word)
        if program is None:
            return False
        below = program.subcommands
    if program is None or (below and last[:1] not in ("", "-")):
        return any(name.startswith(last) for name in below)
    takes_more = any(form.most != 0 or form.flags != "" for form in _forms(program))
    return (takes_more or bool(below)) and not _does_harm(program, spelled)


def _forms(program: Program) -> list[Program]:
    return [form for form in (program, *program.forms) if form.harmless or form.runs]


def _does_harm(program: Program, spelled: Iterable[str]) -> bool:
    """Return whether a word that a pattern spells keeps a program from being auto-allowed."""
    for text in spelled:
        *words, last = text.split(" ")
        # A star may end the last: what matches letters that no table names matches all of them.
        behind = [[word] for word in words[1:]]
        behind += [[last, f"{last}\uf8ff", last + "\uf8ff" * 9]] if words else []
        if any(_is_unsafe(program, each) for each in behind):
            return True
    return False


def _is_unsafe(program: Program, words: Sequence[str]) -> bool:
    """Return whether no form of a program is auto-allowed with an option out of *words*."""
    for form in _forms(program):
        is_unsafe = form.unsafe and all(fullmatch(form.unsafe, word) for word in words)
        if form.ends or form.runs or form.pairs or not is_unsafe:
            return False
    return all(_is_unsafe(one, words) for one in program.subcommands.values())


def _is_refused(form: Program, option: str) -> bool:
    """Return whether *option*, as the first one, keeps a form from being auto-allowed."""
    has_value = any(fullmatch(form.pairs, f"{option} {value}") for value in _VALUES)
    if option[:1] != "-" or option in ("-", "--") or has_value:
        return False
    known = (text for text in (form.flags, form.values, form.files) if text)
    if form.flags is not None and not any(fullmatch(text, option) for text in known):
        return True
    return bool(form.unsafe) and fullmatch(form.unsafe, option) is not None


# Which of two hosts auto-allows no more commands: one mode edits files where others ask.


@lru_cache(maxsize=64)
def knows_no_more(some: Programs, others: Programs) -> bool:
    """Return whether *others* has every harmless form of each program in *some*."""
    return some == others or (
        some.keys() == others.keys() and all(_is_within(some[name], others[name]) for name in some)
    )


def _is_within(one: Program, other: Program) -> bool:
    """Return whether *other* is harmless in each form that *one* is, and opens the same files."""
    known, ways = (
        {evolve(form, forms=(), subcommands={}) for form in (each, *each.forms) if form.harmless}
        for each in (one, other)
    )
    # The attributes that hold for all forms of a program.
    names = ["opening", "subcommands", *("texts piped spelled spelling".split() if known else ())]
    return one == other or (
        known <= ways
        and all(getattr(one, name) == getattr(other, name) for name in names)
        and (not known or (one.flags is None) is (other.flags is None))
    )
