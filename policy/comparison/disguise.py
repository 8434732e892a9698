"""Commands that rules know by other texts than the one that is written.

A rule that denies or asks knows ``sudo rm x`` as ``rm x`` too, and one that allows may
know ``timeout 5 rm x`` so. Where two tables decide such a command differently, a line
of one matches what is written, and a line of the other what is behind a *prefix*
(``sudo ``, ``A=1 ``, ``/bin/``). As in `policy.comparison.pair` it is enough to try members of
what both lines share, the prefix taken off. Of prefixes, one is tried for each way of
reading commands behind it, and of telling them apart that patterns have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Final

import attrs

from policy.comparison.overlap import ODD, is_disguise, runners
from policy.comparison.view import View, counterparts
from policy.dialect import Shell
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH
from policy.patterns.members import members
from policy.patterns.pattern import Pattern, freeze
from policy.programs import Program
from policy.rows.entry import RowEntry
from policy.shell.commands import read_command

__all__ = ["ODD_LINES", "SAMPLES", "Disguises", "harmless", "is_odd", "loud"]

# Why an answer is not exact where rules spell out what a shell acts on.
ODD_LINES: Final = "rules that spell out quotes or operators beside stars are compared by samples"

# Commands that no rule can grant, or that open files nobody knows.
SAMPLES: Final = ("", ";", "$x", "q7z $x", "q7z > $x", "q7z < $x", "cat $x", "q7z; q7y")

# A command that no rule names, as it is looked for behind a prefix.
_PROBE: Final = "q7z q7y"

_FORMS: Final = ("'{0}'{1}", "'{0}{1}'", "\\{0}{1}", "{0}{1} 'q7y'", "{0}{1} $x")

# Combinations of lines that are tried for one edit.
_COMBINATIONS: Final = 512


@attrs.frozen
class _Prefix:
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


_NOTHING: Final = _Prefix("", transparent=False, behind=((),))


@attrs.frozen
class _Way:
    """How commands behind a prefix are known: by how many words before them, and as what.

    What runs where no rule speaks of it does so behind a *quiet* one too.
    """

    words: tuple[tuple[int, ...], ...]
    transparent: bool
    grantable: bool
    inexact: bool
    quiet: bool


class Disguises:
    """What some lists over commands tell apart beyond what is written.

    Args:
        views: the lists.
        fresh: a character that no pattern names.
        shell: how commands are read.

    Attributes:
        exhausted: whether some combinations were left out.

    """

    def __init__(self, views: Sequence[View], fresh: str, shell: Shell) -> None:
        self._views = views
        self._fresh = fresh
        self._shell = shell
        self.exhausted = False
        self._open = [
            [e for e in view.entries if e.pattern is not None and is_disguise(e.pattern, shell)]
            for view in views
        ]
        self._pairs: dict[tuple[int, int], dict[int, int]] = {}
        self._prefixes = list(self._telling_apart())
        self._tried: set[object] = set()

    def _telling_apart(self) -> Iterator[_Prefix]:
        seen: set[object] = set()
        starts = (_start(pattern) for pattern in self._open_patterns)
        for text in dict.fromkeys((*_usual(self._shell), *(p for s in starts for p in _cuts(s)))):
            way = _way(text, self._shell)
            if way is None:
                continue
            left = [[self._behind(e, text) for e in entries] for entries in self._open]
            # Two prefixes are alike where the same lines leave the same open behind both.
            key = way, tuple(map(tuple, left))
            if key not in seen:
                seen.add(key)
                yield _Prefix(text, way.transparent, tuple(dict.fromkeys(self._together(left))))

    def _together(self, left: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
        """Yield what the lines that decide a text leave open, one line or none of each list.

        What decides in two lists that have the same line in the same order is that line in
        both, or one that the other has not (`policy.comparison.view.counterparts`).
        """
        speaking = [number for number, lists in enumerate(left) if any(lists)]
        if len(speaking) != 2:
            choices = [[(), *_singly(left[number])] for number in speaking]
            for chosen in product(*choices):
                yield tuple(dict.fromkeys(rest for rests in chosen for rest in rests))
            return
        one, other = (left[number] for number in speaking)
        kept = self._kept(*speaking)
        yield ()
        own = [rests for line, rests in enumerate(one) if line not in kept]
        others = {*kept.values()}
        new = [rests for line, rests in enumerate(other) if line not in others]
        for first, second in ((own, other), (new, one)):
            for (rest,) in _singly(first):
                yield (rest,)
                yield from ((rest, more) for (more,) in _singly(second) if more != rest)
        yield from _singly([one[line] for line in kept])

    def _kept(self, one: int, other: int) -> dict[int, int]:
        """Return which open lines of one list stand in another one too."""
        if (one, other) not in self._pairs:
            self._pairs[one, other] = counterparts(self._open[one], self._open[other])
        return self._pairs[one, other]

    def _behind(self, entry: RowEntry, text: str) -> tuple[str, ...]:
        return () if entry.pattern is None else self._left(entry.pattern, text)

    def _left(self, pattern: Pattern, text: str) -> tuple[str, ...]:
        """Return what a pattern leaves open behind *text*, frozen."""
        return _quotients(pattern, text, self._fresh)

    @property
    def _open_patterns(self) -> Iterator[Pattern]:
        return (e.pattern for entries in self._open for e in entries if e.pattern is not None)

    def spelled_out(self) -> Iterator[str]:
        """Yield the commands that lines spell out and that are no one command of plain words."""
        odd = (pattern for pattern in self._open_patterns if pattern.exact)
        for number, pattern in enumerate(dict.fromkeys(odd)):
            if number >= _COMBINATIONS:
                self.exhausted = True
                return
            yield str(pattern)

    def of(self, pattern: Pattern, *, reads: bool, hides: bool) -> Iterator[str]:
        """Yield commands that a line with *pattern* knows by some of their texts, frozen.

        Args:
            pattern: of the line.
            reads: whether what the line says of a text that is not written counts.
            hides: whether it counts in that it hides what other lines say.

        """
        frozen = freeze(pattern, self._fresh)
        yield frozen
        for text in self._harmless(pattern):
            # Behind some prefixes they are not, though rules that allow see through them.
            yield text
            yield from (prefix.text + text for prefix in self._prefixes if prefix.transparent)
        for text in self._hidden(frozen) if hides else (frozen,) if reads else ():
            for prefix in self._prefixes:
                tells = any(rest != self._fresh for rests in prefix.behind for rest in rests)
                if tells or self._is_new(prefix.text, prefix.text + text, text):
                    yield from self._shared(prefix, text)
            program, blank, rest = text.partition(" ")
            for form in _FORMS:
                written = form.format(program, blank + rest)
                if self._is_new(form, written, text):
                    yield written
        if is_disguise(pattern, self._shell):
            for prefix in self._prefixes:
                for rest in self._left(pattern, prefix.text):
                    yield prefix.text + rest
                    for text in self._known(prefix, rest):
                        if self._is_new(prefix.text, text, text.removeprefix(prefix.text)):
                            yield text

    def _shared(self, prefix: _Prefix, frozen: str) -> Iterator[str]:
        """Yield commands behind *prefix* that are *frozen*, for all that lists say of both."""
        for tried, chosen in enumerate(prefix.behind):
            if tried >= _COMBINATIONS:
                self.exhausted = True
                return
            yield from self._members(prefix, (frozen, *chosen))

    def _harmless(self, pattern: Pattern) -> Iterator[str]:
        """Yield commands that *pattern* matches and that run where no rule speaks of them."""
        program, blank, _ = _start(pattern).partition(" ")
        known = harmless(self._shell)
        complete = blank or pattern.exact
        for texts in (known.get(program, ()),) if complete else known.values():
            yield from filter(pattern.matches, texts)

    def _is_new(self, way: str, written: str, text: str) -> bool:
        """Return whether *written* may show more than another command known as *way*.

        All depends on which lines match what is written, on what each list says of *text*,
        by which it is known as well, and on which of both comes first.
        """
        key = way, tuple(self._told(view, written, text) for view in self._views)
        known = key in self._tried
        self._tried.add(key)
        return not known

    def _told(self, view: View, written: str, text: str) -> object:
        first, line = view.automaton.first(text), view.automaton.first(written)
        if first == NO_MATCH:
            return line
        entry = view.entries[first]
        exact = entry.pattern is not None and entry.pattern.exact
        return line, first < line, entry.effect, entry.reason, exact

    def _hidden(self, frozen: str) -> Iterator[str]:
        """Yield what *frozen* shares with lines that deny or ask."""
        yield frozen
        yield from self._known(_NOTHING, frozen)

    def _known(self, prefix: _Prefix, rest: str) -> Iterator[str]:
        """Yield commands behind *prefix* that other lines know there, and are *rest* as well."""
        start = rest.partition(self._fresh)[0]
        whole = Pattern.text(rest.replace(self._fresh, "*"))
        yield from (prefix.text + text for text in islice(self._harmless(whole), 1))
        tried = 0
        for view in self._views:
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                other = _start(pattern)
                hidden = entry.effect is Effect.ALLOW and not prefix.transparent
                if hidden or not (start.startswith(other) or other.startswith(start)):
                    continue
                tried += 1
                if tried > _COMBINATIONS:
                    self.exhausted = True
                    return
                yield from self._members(prefix, (rest, freeze(pattern, self._fresh)))

    def _members(self, prefix: _Prefix, frozen: tuple[str, ...]) -> Iterator[str]:
        try:
            for member in members(list(frozen), self._fresh):
                yield prefix.text + member
        except OverflowError:
            self.exhausted = True


def is_odd(pattern: Pattern) -> bool:
    """Whether a line with stars spells out what a shell acts on."""
    return not pattern.exact and any(
        isinstance(token, str) and not ODD.isdisjoint(token) for token in pattern.tokens
    )


def _start(pattern: Pattern) -> str:
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _cuts(start: str) -> Iterator[str]:
    """Yield the texts at the start of a pattern behind which a command may stand."""
    for end, letter in enumerate(start, 1):
        if letter in " /":
            yield start[:end]


@lru_cache(maxsize=64)  # a host has one or two
def _usual(shell: Shell) -> tuple[str, ...]:
    """Return prefixes that a shell knows: the program of each, with and without options."""
    names = sorted(runners(shell), key=lambda name: (name != "sudo", name))
    forms = ("{} ", "{} 5 ", "{} -n 5 ", "{} -u q7w ", "{} -c ")
    variables = sorted({*shell.variables, *shell.locales})[:1]
    return (
        *(form.format(name) for form in forms for name in names),
        "/q7w/",
        "./",
        "Q7W=1 ",
        *(f"{name}=C " for name in variables),
    )


@lru_cache(maxsize=4096)
def _way(text: str, shell: Shell) -> _Way | None:
    """Return how commands behind *text* are known; None where they are not."""
    command = read_command(text + _PROBE, shell)
    if len(command.parts) != 1:
        return None
    (part,) = command.parts
    if _PROBE not in (part.text, *part.readings, *part.written):
        return None
    texts = ((part.text,), part.readings, part.written, part.doubtful)
    words = tuple(
        tuple(sorted(text.removesuffix(_PROBE).count(" ") for text in each)) for each in texts
    )
    plain = (each[0] for name, each in harmless(shell).items() if not shell.programs[name].direct)
    quiet = any(
        [part.harmless for part in read_command(text + each, shell).parts] == [True]
        for each in islice(plain, 1)
    )
    return _Way(words, part.text == _PROBE, part.grantable, part.inexact, quiet)


@lru_cache(maxsize=64)
def loud(shell: Shell) -> tuple[str, ...]:
    """Return prefixes that rules which allow see through, and behind which nothing runs unasked."""
    ways = ((text, _way(text, shell)) for text in _usual(shell))
    return tuple(
        text for text, way in ways if way and way.transparent and way.grantable and not way.quiet
    )


@lru_cache(maxsize=64)
def harmless(shell: Shell) -> dict[str, list[str]]:
    """Return commands that run where no rule speaks of them, some for each program."""
    found: dict[str, list[str]] = {}
    for text in _calls("", shell.programs):
        if [part.harmless for part in read_command(text, shell).parts] == [True]:
            found.setdefault(text.partition(" ")[0], []).append(text)
    return found


def _calls(before: str, programs: Mapping[str, Program]) -> Iterator[str]:
    for name, program in programs.items():
        yield before + name
        yield f"{before}{name} q7z" + (" " + "]" * len(name) if set(name) == {"["} else "")
        for option in program.needs:
            yield f"{before}{name} {option}"
        yield from _calls(f"{before}{name} ", program.subcommands)


def _singly(lines: Iterable[tuple[str, ...]]) -> list[tuple[str]]:
    """Return all that *lines* leave open, each once and alone."""
    return [(rest,) for rest in dict.fromkeys(rest for rests in lines for rest in rests)]


@lru_cache(maxsize=65_536)  # rules are tried one by one beside the same open lines
def _quotients(pattern: Pattern, text: str, fresh: str) -> tuple[str, ...]:
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
