"""Texts in front of a command behind which rules know it too: ``sudo ``, ``A=1 ``, ``/bin/``.

And commands with words in quotes, which to rules that deny or ask are the same text all the same.
Of prefixes, one is kept for each way of reading commands behind it, and of telling them apart that
the open lines of some lists have: those that may know a command by another text than its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Final

from policy.commands.knowledge import Shell
from policy.commands.reader import BOXES, KEYWORDS, SHELLS
from policy.compare.auto_allowed import ODD, harmless, read_alike, runs
from policy.compare.lists import counterparts, start_of
from policy.core import values
from policy.patterns.pattern import Pattern, freeze
from policy.tables.entry import RowEntry

__all__ = [
    "NO_PREFIX",
    "Prefix",
    "escaped",
    "in_quotes",
    "is_disguise",
    "is_joined",
    "is_led",
    "is_odd",
    "leads_another",
    "left_open",
    "pipelines",
    "prefixes",
    "quoted",
    "runs_another",
    "samples",
    "start_of",
    "transparent",
]


_ODD_PROGRAM: Final = frozenset("/=!~?[")


@lru_cache(maxsize=64)  # a host has one or two
def runners(shell: Shell) -> frozenset[str]:
    """Return the programs that run what their arguments say."""
    running = {name for name, program in shell.programs.items() if program.runs}
    wrapping = shell.wrapping
    known = {*wrapping.names, *wrapping.transparent, *wrapping.denying, *wrapping.granting}
    return frozenset(known | running | KEYWORDS | SHELLS | BOXES)


def is_disguise(pattern: Pattern, shell: Shell) -> bool:
    """Return whether commands that *pattern* matches may have texts that start otherwise."""
    if any(isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens):
        return True
    start = pattern.tokens[0] if pattern.tokens else ""
    program, blank, _ = (start if isinstance(start, str) else "").partition(" ")
    if not blank and not pattern.exact:
        return True  # the name of the program is open
    return leads_another(program, shell)


def leads_another(program: str, shell: Shell) -> bool:
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

_GLOBS: Final = frozenset("*?[")

# What the lines that may decide a text leave open, for each list.
_Left = Sequence[Sequence[tuple[str, ...]]]


@values.frozen
class Prefix:
    """Text in front of a command.

    Attributes:
        text: the text.
        transparent: whether rules that allow see through it.
        behind: what is left of the lines that may decide a command behind it, frozen:
            each combination of lines, and that of none.

    """

    text: str
    transparent: bool
    behind: tuple[tuple[str, ...], ...]


NO_PREFIX: Final = Prefix("", transparent=False, behind=((),))


@values.frozen
class _Way:
    """How commands behind a prefix are known: by how many words before them, and as what.

    *quiet* is which samples of what runs without a rule do so behind it too.
    """

    words: tuple[tuple[int, ...], ...]
    transparent: bool
    grantable: bool
    inexact: bool
    quiet: tuple[bool, ...]


@lru_cache(maxsize=64)  # rules are tried one by one beside the same open lines
def prefixes(
    lists: tuple[tuple[RowEntry, ...], ...], fresh: str, shell: Shell
) -> tuple[Prefix, ...]:
    """Return the prefixes that tell commands apart.

    Args:
        lists: the open lines of each list.
        fresh: a character that no pattern names.
        shell: how commands are read.

    """
    found: dict[object, Prefix] = {}
    patterns = [e.pattern for entries in lists for e in entries if e.pattern is not None]
    starts = dict.fromkeys(map(start_of, patterns))
    kept: dict[tuple[int, int], dict[int, int]] = {}
    inside = (text for pattern in patterns for text in _cuts_inside(pattern))
    for text in dict.fromkeys(
        (*_usual(shell), *(p for s in starts for p in _cuts(s, shell)), *inside)
    ):
        way = _way(text, shell)
        if way is None:
            continue
        left = [
            [left_open(e.pattern, text, fresh) if e.pattern else () for e in entries]
            for entries in lists
        ]
        # Two prefixes are alike where the same lines leave the same open behind both.
        key = way, tuple(map(tuple, left))
        if key not in found:
            behind = tuple(dict.fromkeys(_together(lists, left, kept)))
            found[key] = Prefix(text, way.transparent, behind)
    return tuple(found.values())


def _together(
    lists: Sequence[Sequence[RowEntry]], left: _Left, pairs: dict[tuple[int, int], dict[int, int]]
) -> Iterator[tuple[str, ...]]:
    """Yield what the lines that decide a text leave open, one line or none of each list.

    What decides in two lists that have the same line in the same order is that line in
    both, or one that the other has not (`policy.compare.lists.counterparts`).
    """
    speaking = [number for number, each in enumerate(left) if any(each)]
    if len(speaking) != 2:
        choices = [[(), *_singly(left[number])] for number in speaking]
        for chosen in product(*choices):
            yield tuple(dict.fromkeys(rest for rests in chosen for rest in rests))
        return
    first, second = speaking
    if (first, second) not in pairs:
        pairs[first, second] = counterparts(lists[first], lists[second])
    kept = pairs[first, second]
    one, other = left[first], left[second]
    yield ()
    own = [rests for line, rests in enumerate(one) if line not in kept]
    others = {*kept.values()}
    new = [rests for line, rests in enumerate(other) if line not in others]
    for some, every in ((own, other), (new, one)):
        for (rest,) in _singly(some):
            yield (rest,)
            yield from ((rest, more) for (more,) in _singly(every) if more != rest)
    yield from _singly([one[line] for line in kept])


@lru_cache(maxsize=64)  # a host has one or two
def _usual(shell: Shell) -> tuple[str, ...]:
    """Return prefixes that a shell knows: the program of each, with and without options."""
    names = sorted(runners(shell), key=lambda name: (name != "sudo", name))
    variables = sorted({*shell.variables.harmless, *shell.variables.locales})[:1]
    return (
        *(f"{name} {told}" for told in _TOLD for name in names),
        "/q7w/",
        "./",
        "Q7W=1 ",
        *(f"{name}=C " for name in variables),
    )


@lru_cache(maxsize=4096)
def _way(text: str, shell: Shell) -> _Way | None:
    """Return how commands behind *text* are known; None where they are not."""
    command = read_alike(text + _PROBE, shell)
    if len(command.parts) != 1:
        return None
    (part,) = command.parts
    if _PROBE not in (part.text, *part.match_texts, *part.grant_texts, *part.possible_texts):
        return None
    texts = (
        (part.text,),
        part.match_texts,
        part.grant_texts,
        part.script_texts,
        part.possible_texts,
    )
    words = tuple(
        tuple(sorted(text.removesuffix(_PROBE).count(" ") for text in each)) for each in texts
    )
    quiet = tuple(runs(text + each, shell) for each in samples(shell))
    return _Way(words, part.text == _PROBE, part.grantable, part.inexact, quiet)


@lru_cache(maxsize=64)
def samples(shell: Shell) -> tuple[str, ...]:
    """Return commands that run without a rule: one for each way behind prefixes."""
    found: dict[bool, str] = {}
    for name, program in shell.programs.items():
        if not program.direct and program.carried not in found:
            found.update((program.carried, text) for text in harmless(name, shell)[:1])
    return tuple(found.values())


@lru_cache(maxsize=64)
def transparent(shell: Shell) -> tuple[str, ...]:
    """Return prefixes that rules which allow see through, those first behind which less is quiet.

    One for each way in which commands run unasked behind them, or do not.
    """
    found: dict[tuple[bool, ...], str] = {}
    for text in _usual(shell):
        way = _way(text, shell) if text.partition(" ")[0] not in KEYWORDS else None
        if way and way.transparent and way.grantable:
            found.setdefault(way.quiet, text)
    return tuple(found[quiet] for quiet in sorted(found))


def is_led(text: str, patterns: Iterable[Pattern], shell: Shell) -> bool:
    """Return whether no rule allows what begins as *text* does, since no program does so.

    A word that leads other commands, or stands for names of files, does whatever follows it;
    *patterns* are those that *text* is of, one of which must spell it out.
    """
    program, blank, _ = text.partition(" ")
    if program not in KEYWORDS and _GLOBS.isdisjoint(program):
        return False
    spelled_out = any(start_of(pattern).startswith(program + " ") for pattern in patterns)
    parts = read_alike(f"{program} q7z", shell).parts
    return bool(blank) and spelled_out and not any(part.grantable for part in parts)


@lru_cache(maxsize=64)
def runs_another(shell: Shell) -> tuple[str, ...]:
    """Return commands that run another one, which no rule names, in the ways that are usual."""
    return tuple(f"{text}q7z" for text in _usual(shell) if text.endswith(" "))


@lru_cache(maxsize=64)
def pipelines(shell: Shell) -> tuple[str, ...]:
    """Return pipelines of which no rule allows all: what is said of a whole one counts there."""
    plain = (
        text
        for name, program in shell.programs.items()
        if not program.direct
        for text in harmless(name, shell)[:1]
    )
    return tuple(f"{text} | q7z" for text in ("q7z", *islice(plain, 1)))


def _singly(lines: Iterable[tuple[str, ...]]) -> list[tuple[str]]:
    """Return all that *lines* leave open, each once and alone."""
    return [(rest,) for rest in dict.fromkeys(rest for rests in lines for rest in rests)]


@lru_cache(maxsize=65_536)  # rules are tried one by one beside the same open lines
def left_open(pattern: Pattern, text: str, fresh: str) -> tuple[str, ...]:
    """Return what a pattern leaves open behind *text*; nothing where it does not match."""
    frozen = freeze(pattern, fresh)
    start = frozen.partition(fresh)[0]
    if not (start.startswith(text) or text.startswith(start)):
        return ()
    places = {0}
    for letter in text:
        following = set()
        for place in _with_gaps(frozen, places, fresh):
            if frozen[place : place + 1] == fresh:
                following.add(place)
            elif frozen[place : place + 1] == letter:
                following.add(place + 1)
        places = following
    return tuple(sorted({frozen[place:] for place in places}))


def _with_gaps(frozen: str, places: Iterable[int], fresh: str) -> set[int]:
    found = set(places)
    for place in places:
        at = place
        while frozen[at : at + 1] == fresh:
            at += 1
            found.add(at)
    return found


def _cuts(start: str, shell: Shell) -> Iterator[str]:
    """Yield the texts at the start of a pattern behind which a command may stand.

    What a wrapper is told before its command is left to a star, most often.
    """
    for end, letter in enumerate(start, 1):
        if letter in " /":
            yield start[:end]
        if letter == " " and start[:end].split(" ")[-2] in runners(shell):
            yield from (start[:end] + told for told in _TOLD[1:])


def _cuts_inside(pattern: Pattern) -> Iterator[str]:
    """Yield the same of what follows the first star of a pattern, behind words that it may be."""
    start = start_of(pattern)
    behind = next((t for t in pattern.tokens[bool(start) :] if isinstance(t, str)), "")
    if not behind.startswith(" ") or (start and not start.endswith(" ")):
        return
    for end, letter in enumerate(behind[1:], 2):
        if letter in " /":
            yield (f"{start}-n" if start else "sudo") + behind[:end]
