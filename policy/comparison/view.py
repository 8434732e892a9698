"""A row as the exact comparison sees it: patterns in order, with an index over them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import count
from typing import Any, Final

import attrs

from policy.comparison.near import Lines, prefix_of
from policy.comparison.rows import deferred, unasked
from policy.comparison.vouched import runs_no_more
from policy.effect import Effect
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.ends import Indexed
from policy.patterns.letters import excluded_characters, is_stars, named, tokens_of
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Either, Gap, Token
from policy.rows.alike import Key
from policy.rows.entry import RowEntry
from policy.rows.outcome import BY_DEFAULT
from policy.rows.row import Row
from policy.shells import Shell

__all__ = ["View", "is_stricter"]

_GRANTING: Final = (Effect.ALLOW, Effect.ASK)

# Of a line: what it matches, whether nobody wrote it, and what it says.
_Said = tuple[Pattern, bool, Effect]


@attrs.frozen(slots=False, eq=False)
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

    kind: Kind
    entries: tuple[RowEntry, ...]
    default: Effect
    shared: int = 0
    _row: Row | None = None
    unasked: Effect = attrs.field(default=attrs.Factory(lambda view: view.default, takes_self=True))
    deferred: Effect = attrs.field(
        default=attrs.Factory(lambda view: view.default, takes_self=True)
    )
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
    def lines(self) -> Lines:
        """The lines by what they start and end with."""
        effects = (entry.effect for entry in self.entries)
        return Lines(zip(count(), self.patterns, effects))

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
    firsts = [each[:1] for each in token.alternatives] if isinstance(token, Either) else [(token,)]
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
