"""A row as the comparison sees it: patterns in order, with an index over them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import count, islice
from typing import Any, Final

from policy.commands.knowledge import Program, Programs, Shell
from policy.core.effect import Effect
from policy.core.memory import Key
from policy.core.values import Factory, evolve, field, frozen
from policy.patterns.automaton import NO_MATCH, Automaton, Indexed
from policy.patterns.pattern import (
    Pattern,
    PatternKind,
    excluded_characters,
    is_stars,
    named,
    tokens_of,
)
from policy.patterns.tokens import Alternatives, Gap, Token
from policy.tables.dialect import ArgumentKind
from policy.tables.entry import BY_DEFAULT, RowEntry, unsure
from policy.tables.lookup import Lookup
from policy.tables.row import Row

__all__ = [
    "LineIndex",
    "View",
    "by_rules",
    "deferred",
    "denies_all",
    "grants_whole",
    "is_stricter",
    "may_meet",
    "prefix_of",
    "runs_no_more",
    "unasked",
]


class LineIndex:
    """Some lines of a list.

    Args:
        lines: the number of each, its pattern and what it says, in order.

    """

    def __init__(self, lines: Iterable[tuple[int, Pattern, Effect]]) -> None:
        # effect -> what lines start with -> their numbers
        self._by_prefix: dict[Effect, dict[str, list[int]]] = {effect: {} for effect in Effect}
        self._suffixes: dict[int, str] = {}  # what each ends with
        for number, pattern, effect in lines:
            prefix, by_prefix = prefix_of(pattern), self._by_prefix[effect]
            numbers = by_prefix.get(prefix)
            if numbers is None:
                by_prefix[prefix] = [number]
            else:
                numbers.append(number)
            self._suffixes[number] = _suffix(pattern)
        self._prefixes = {effect: sorted(index) for effect, index in self._by_prefix.items()}

    def near(self, pattern: Pattern, effect: Effect, first: int, last: int) -> Iterator[int]:
        """Yield the lines of *effect* that may share a text with *pattern*.

        Only those from *first* to *last*.
        """
        index, prefix, suffix = self._by_prefix[effect], prefix_of(pattern), _suffix(pattern)
        suffixes = self._suffixes
        for start in self._starts(effect, prefix):
            numbers = index[start]
            if numbers[-1] < first or numbers[0] > last:
                continue
            for number in islice(numbers, bisect_left(numbers, first), None):
                if number > last:
                    break
                end = suffixes[number]
                if suffix.endswith(end) or end.endswith(suffix):
                    yield number

    def _starts(self, effect: Effect, prefix: str) -> Iterator[str]:
        """Yield what lines of *effect* start with, if *prefix* starts with it, or it with that."""
        index, prefixes = self._by_prefix[effect], self._prefixes[effect]
        yield from (start for n in range(len(prefix)) if (start := prefix[:n]) in index)
        for at in range(bisect_left(prefixes, prefix), len(prefixes)):
            if not prefixes[at].startswith(prefix):
                return
            yield prefixes[at]


def may_meet(one: Pattern, other: Pattern) -> bool:
    """Return whether two patterns may share a text, by how both start and end."""
    (start, end), (prefix, suffix) = ((prefix_of(p), _suffix(p)) for p in (one, other))
    return (start.startswith(prefix) or prefix.startswith(start)) and (
        end.endswith(suffix) or suffix.endswith(end)
    )


def prefix_of(pattern: Pattern) -> str:
    """Return the text that a pattern starts with."""
    first = pattern.tokens[0] if pattern.tokens else ""
    return first if isinstance(first, str) else ""


def _suffix(pattern: Pattern) -> str:
    last = pattern.tokens[-1] if pattern.tokens else ""
    return last if isinstance(last, str) else ""


# Which of two hosts runs no more commands unasked: one mode edits files where others ask.


@lru_cache(maxsize=64)  # a host has two or three
def runs_no_more(one: Shell, other: Shell) -> bool:
    """Return whether all commands that *one* runs where no rule speaks of them *other* does too.

    And whether they read commands alike in all else. False where that is not plain.
    """
    if one.traced or evolve(one, programs=other.programs) != other:
        return False
    return _within(one.programs, other.programs)


def _within(some: Programs, others: Programs) -> bool:
    return some == others or (
        some.keys() == others.keys() and all(_is_within(some[name], others[name]) for name in some)
    )


def _is_within(one: Program, other: Program) -> bool:
    """Return whether each way to call a program that *one* knows to do no harm *other* knows."""
    if one == other:
        return True
    known = _ways(one)
    alike = not known or all(getattr(one, name) == getattr(other, name) for name in _OF_ALL_FORMS)
    listed = not known or (one.flags is None) is (other.flags is None)
    return (
        alike
        and listed
        and known <= _ways(other)
        and one.opening == other.opening
        and one.subcommands.keys() == other.subcommands.keys()
        and all(_is_within(each, other.subcommands[n]) for n, each in one.subcommands.items())
    )


# What holds of a program in whichever form it is called, beside the files that it opens.
_OF_ALL_FORMS: Final = ("texts", "piped", "spelled", "spelling")


def _ways(program: Program) -> set[Program]:
    """Return the forms of a program that do no harm, each by itself."""
    forms = (evolve(form, forms=(), subcommands={}) for form in (program, *program.forms))
    return {form for form in forms if form.harmless}


# What comparisons ask of a row: what it grants by its rules, by default, and at all.


def grants_whole(row: Row) -> bool:
    """Return whether files that a command opens count only where a rule speaks of them."""
    return row.ruleset.dialect.shell.whole and row.default.effect is Effect.ALLOW


def by_rules(row: Row) -> Row:
    """Return the same row where nothing counts that is said by default."""
    entries = (
        entry._replace(effect=Effect.ALLOW) if entry.reason in BY_DEFAULT else entry
        for entry in row.entries
    )
    return Row(entries, unasked(row), row.default.reason, row.tool, row.ruleset)


def unasked(row: Row) -> Effect:
    """Return the effect of what runs where no rule speaks of it, where no entry matches."""
    by_default = row.default.reason in BY_DEFAULT
    return Effect.ALLOW if by_default else row.default.effect


def deferred(row: Row) -> Effect:
    """Return the effect of what runs unasked but for that nobody waits for it, without an entry."""
    if row.default.reason in BY_DEFAULT:
        return row.default.effect
    return row.default.effect & unsure(row.ruleset).effect


def denies_all(lookup: Lookup) -> bool:
    """Return whether it is plain that every call is denied."""
    return lookup.floor is Effect.DENY or any(_grants_nothing(row) for row, _ in lookup.rows)


def _grants_nothing(row: Row) -> bool:
    """Return whether it is plain that every call is denied; a host may know more of commands."""
    dialect, kind = row.ruleset.dialect, row.argument.kind
    plain = kind is not ArgumentKind.POWERSHELL and not (
        kind is ArgumentKind.COMMAND and dialect.shell.programs
    )
    return (
        plain
        and not dialect.links
        and row.default.effect is Effect.DENY
        and all(entry.effect is Effect.DENY for entry in row.entries)
    )


# A row as the exact comparison sees it: patterns in order, with an index over them.


_GRANTING: Final = (Effect.ALLOW, Effect.ASK)

# Of a line: what it matches, whether nobody wrote it, and what it says.
_Said = tuple[Pattern, bool, Effect]


@frozen(slots=False, eq=False)
class View:
    """An ordered first-match list over one argument.

    Attributes:
        kind: of its patterns.
        entries: each with a pattern.
        default: the effect where none matches.
        shared: lines at the start that every list it is compared with has too.
        unasked: the effect, where none matches, of what its host runs unasked.
        deferred: the same, of what it would run unasked if somebody waited for it.
        shell: what that host knows of commands.

    """

    kind: PatternKind
    entries: tuple[RowEntry, ...]
    default: Effect
    shared: int = 0
    _row: Row | None = None
    unasked: Effect = field(default=Factory(lambda view: view.default, takes_self=True))
    deferred: Effect = field(default=Factory(lambda view: view.default, takes_self=True))
    shell: Shell = Shell()

    @classmethod
    def of(cls, row: Row, parameters: Mapping[str, str], sole: str = "") -> View:
        """Return what remains of *row* for calls with these parameters and no others.

        Where the text itself is that of a *sole* parameter, rules about it remain too.
        """
        shell = row.ruleset.dialect.shell
        said: dict[str, Any] = {"shell": shell}
        if shell.programs:
            said |= {"unasked": unasked(row), "deferred": deferred(row)}
        if not row.has_parameters:
            return cls(row.kind, row.entries, row.default.effect, row=row, **said)
        entries: list[RowEntry] = []
        for entry in row.entries:
            if not entry.field or entry.field == sole:
                entries.append(entry)
            elif entry.pattern is not None and _holds(entry, parameters):
                return cls(row.kind, tuple(entries), entry.effect)
        return cls(row.kind, tuple(entries), row.default.effect, **said)

    @cached_property
    def key(self) -> Key:
        """What two views that decide alike line by line have in common."""
        effects = tuple([entry.effect for entry in self.entries])
        return Key((self.kind, self.patterns, effects, self.default))

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns in order."""
        return tuple(entry.pattern for entry in self.entries if entry.pattern is not None)

    @cached_property
    def _tokens(self) -> frozenset[Token]:
        """What the patterns are made of."""
        return tokens_of(self.patterns)

    @cached_property
    def letters(self) -> frozenset[str]:
        """Every character that some pattern names."""
        return frozenset(named(self._tokens))

    @cached_property
    def excluded(self) -> frozenset[str]:
        """The characters that some pattern excludes."""
        return excluded_characters(self._tokens)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all patterns are star patterns."""
        return is_stars(self._tokens)

    @cached_property
    def automaton(self) -> Automaton:
        """All patterns at once: those of the row itself, where these are all it has."""
        if self._row is not None:
            return self._row.automaton
        return Indexed([p.tokens for p in self.patterns], self.kind.separator)

    @cached_property
    def most(self) -> Effect:
        """The most that it grants of anything."""
        said = [entry.effect for entry in self.entries]
        return max((self.default, self.unasked, self.deferred, *said))

    @cached_property
    def nobody_said(self) -> tuple[bool, ...]:
        """Whether nobody wrote what holds without a line, and what each line says.

        Of commands such lines give way where others say something of the whole.
        """
        default = self._row is not None and self._row.default.reason in BY_DEFAULT
        return (default, *(entry.reason in BY_DEFAULT for entry in self.entries))

    @cached_property
    def last_strict(self) -> int:
        """The index of the last line that does not allow; -1 where all do."""
        strict = (n for n, e in enumerate(self.entries) if e.effect is not Effect.ALLOW)
        return max(strict, default=-1)

    @cached_property
    def halves(self) -> tuple[list[_Said], set[_Said]]:
        """The lines down to the last that does not allow, and those that follow."""
        effects = (entry.effect for entry in self.entries)
        lines = [*zip(self.patterns, self.nobody_said[1:], effects, strict=True)]
        end = self.last_strict + 1
        return lines[:end], set(lines[end:])

    @cached_property
    def _least_behind(self) -> list[Effect]:
        """The strictest effect of what stands behind each line, the default included."""
        least = [self.default]
        for entry in reversed(self.entries[1:]):
            least.append(entry.effect & least[-1])
        return least[::-1]

    def is_strictest(self, line: int) -> bool:
        """Return whether nothing behind a line grants less than it does."""
        return line == NO_MATCH or self.effect(line) <= self._least_behind[line]

    def effect(self, index: int) -> Effect:
        """Return the effect of the line at *index*, or of the default."""
        return self.default if index == NO_MATCH else self.entries[index].effect

    @cached_property
    def lines(self) -> LineIndex:
        """The lines by what they start and end with."""
        effects = (entry.effect for entry in self.entries)
        return LineIndex(zip(count(), self.patterns, effects))

    def denies(self, pattern: Pattern) -> bool:
        """Return whether it is plain that all is denied that *pattern* matches.

        But for what lines decide that every list has.
        """
        last = len(self.entries) - 1
        near = self.lines.near
        granting = (near(pattern, effect, self.shared, last) for effect in _GRANTING)
        return self.default is Effect.DENY and all(next(lines, None) is None for lines in granting)

    @cached_property
    def _wide(self) -> tuple[dict[str, int], dict[str, int]]:
        """The first line for each text that matches all that starts with it, or is below it."""
        starting: dict[str, int] = {}
        below: dict[str, int] = {}
        for number, pattern in enumerate(self.patterns):
            first, *rest = pattern.tokens or ("",)
            text, gaps = (first, rest) if isinstance(first, str) else ("", [first, *rest])
            whole = text.endswith(pattern.kind.separator) and gaps == [Gap.PART, Gap.DEEP]
            if whole or gaps == [Gap.ANY]:
                starting.setdefault(text, number)
            elif gaps == [Gap.DEEP]:
                below.setdefault(text, number)
        return starting, below

    @cached_property
    def _numbers(self) -> dict[tuple[Token, ...], int]:
        """The first line of each form."""
        return {pattern.tokens: n for n, pattern in reversed([*enumerate(self.patterns)])}

    def covering(self, pattern: Pattern) -> int:
        """Return a line that matches all that *pattern* does, or NO_MATCH where none is known.

        It is the first of those that are equal, or that leave open all that is below some
        folder, or starts with some text.
        """
        starting, below = self._wide
        prefix, separator = prefix_of(pattern), pattern.kind.separator
        found = self._numbers.get(pattern.tokens, NO_MATCH)
        for end in range(len(prefix) + 1):
            text = prefix[:end]
            found = min(found, starting.get(text, NO_MATCH))
            parted = prefix.startswith(separator, end) if end < len(prefix) else _parts(pattern)
            if separator and parted:
                found = min(found, below.get(text, NO_MATCH))
        return found

    def is_hidden(self, number: int, pattern: Pattern) -> bool:
        """Return whether a line before another is known to match all that both it and *pattern* do.

        Below a folder, what is at any depth is what is at any depth of the folder.
        """
        tokens = self.patterns[number].tokens
        separator = pattern.kind.separator
        starts = _starts(tokens[1]) if len(tokens) > 1 and tokens[0] is Gap.DEEP else ()
        if not starts:
            return False
        prefix = prefix_of(pattern)
        end = prefix.find(separator, 1)
        while end > 0:
            folder = prefix[:end]
            before = self._numbers.get((folder, *tokens), NO_MATCH)
            if before < number and not any(
                _begins_in(start, folder, separator) for start in starts
            ):
                return True
            end = prefix.find(separator, end + 1)
        return False


def is_stricter(one: View, other: View) -> bool:
    """Return whether *one* has the lines of *other*, and is known to grant no more of anything.

    Of those lines it may deny what the others ask for; what it has besides denies, and what
    it lacks allows and stands behind all that does not. Nobody is granted more so, whichever
    texts of a command the lines know.
    """
    if one.nobody_said[:1] != other.nobody_said[:1]:
        return False
    if one.shell != other.shell and not (
        one.nobody_said[0] and runs_no_more(one.shell, other.shell)
    ):
        return False  # what runs in the background is told of where somebody wrote what holds
    if one.default > other.default or one.unasked > other.unasked or one.deferred > other.deferred:
        return False
    (own, allows), (others, allowed) = one.halves, other.halves
    if not allows <= allowed:
        return False
    wanted = iter(others)
    line = next(wanted, None)
    for pattern, by_nobody, effect in own:
        if line in (
            (pattern, by_nobody, effect),
            (pattern, by_nobody, Effect.ASK if effect is Effect.DENY else effect),
        ):
            line = next(wanted, None)
        elif by_nobody or effect is not Effect.DENY:
            return False
    return line is None


def _holds(entry: RowEntry, parameters: Mapping[str, str]) -> bool:
    value = parameters.get(entry.field)
    return value is not None and entry.pattern is not None and entry.pattern.matches(value)


def _starts(token: Token) -> tuple[str, ...]:
    """Return the texts that what *token* matches starts with; none where these are not known."""
    firsts = (
        [each[:1] for each in token.alternatives] if isinstance(token, Alternatives) else [(token,)]
    )
    texts = tuple(text for first in firsts for text in first if isinstance(text, str))
    return texts if len(texts) == len(firsts) else ()


def _begins_in(text: str, folder: str, separator: str) -> bool:
    """Return whether *text* may begin at a separator of what starts with *folder*."""
    whole = folder + separator
    ends = (whole[at:] for at, letter in enumerate(folder) if letter == separator)
    return any(end.startswith(text) or text.startswith(end) for end in ends)


def _parts(pattern: Pattern) -> bool:
    """Return whether a separator, or nothing, follows the text that a pattern starts with."""
    rest = pattern.tokens[1:] if prefix_of(pattern) else pattern.tokens
    if not rest or rest == (Gap.DEEP,):
        return True
    following = rest[1] if rest[0] is Gap.DEEP else ""
    return isinstance(following, str) and following[:1] == pattern.kind.separator != ""
