"""Patterns as values: matching, inclusion, intersection, and a text that a pattern matches.

    >>> Pattern.text("git *") >= Pattern.text("git push *")
    True
    >>> (Pattern.text("git *") & Pattern.text("* --force")).witness()
    'git --force'

Inclusion of star patterns is one match: replace every ``*`` of the smaller pattern by a character
that no pattern names; the larger pattern includes it if and only if it matches this text.
"""

from __future__ import annotations

import enum
from _thread import allocate_lock
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from weakref import WeakValueDictionary

from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, frozen
from policy.patterns.automaton import NO_MATCH, Automaton
from policy.patterns.index import Indexed
from policy.patterns.tokens import (
    Alternatives,
    Gap,
    OneOf,
    Run,
    Token,
    canonical,
    canonical_ways,
    fits,
    pieces,
    readability,
    spelled_out,
)

if TYPE_CHECKING:
    from policy.patterns.domains import Domain
    from policy.patterns.search import SearchResult


def tokens_of(patterns: Iterable[Pattern]) -> frozenset[Token]:
    """Return the tokens of *patterns*, each once."""
    return frozenset[Token]().union(*(pattern.tokens for pattern in patterns))


def named(tokens: Iterable[Token]) -> set[str]:
    """Return every character that *tokens* name, in a literal or a set."""
    letters: set[str] = set()
    for token in pieces(tokens):
        if isinstance(token, str):
            letters.update(token)
        elif not isinstance(token, Gap):
            letters |= token.characters
    return letters


def excluded_characters(tokens: Iterable[Token]) -> frozenset[str]:
    """Return the characters that *tokens* exclude, as ``[!a-z]`` does."""
    letters: set[str] = set()
    for token in pieces(tokens):
        if isinstance(token, Run) or (isinstance(token, OneOf) and token.negated):
            letters |= token.characters
    return frozenset(letters)


def is_glob(tool: str) -> bool:
    """Return whether the tool of a rule is a pattern over names of tools."""
    return "*" in tool or tool.startswith("=")


def is_stars(tokens: Collection[Token]) -> bool:
    """Whether *tokens* are literals and ANY gaps alone, so that one match decides inclusion."""
    return all(isinstance(token, str) or token is Gap.ANY for token in tokens)


def has_empty_set(tokens: Iterable[Token]) -> bool:
    """Whether *tokens* hold an empty set, which no character matches, as `[/]` in a path."""
    return any(
        isinstance(token, OneOf) and not token.negated and not token.characters
        for token in pieces(tokens)
    )


# Words for gaps in a witness, the most readable first.
_WORDS = ("x", "", "a", "file", "x1", "zz", "/x", "--x")
_FRESH = "\ue000-\ue3ff"
# Beside letters a gap becomes "": `token` shows `*token*` better than `xtokenx`.
_GLUED = rf"(?<=[^\W_])[{_FRESH}]+(?!\w)|(?<!\w)[{_FRESH}]+(?=[^\W_])"


def readable(text: str) -> Iterable[str]:
    """Yield *text* with words in place of its fresh characters, the most readable first."""
    import re  # noqa: PLC0415  # for comparisons alone

    yield re.sub(f"[{_FRESH}]", _WORDS[0], re.sub(_GLUED, "", text))
    for word in _WORDS:
        yield re.sub(f"[{_FRESH}]", word, text)


class PatternKind(enum.Enum):
    """The kind of texts that a pattern matches; it gives their separator and their domain."""

    TEXT = "text"
    PATH = "path"
    HOST = "host"

    __hash__ = object.__hash__

    @property
    def separator(self) -> str:
        """The character between the parts of a text, or ""."""
        return _SEPARATORS[self]

    @property
    def domain(self) -> Domain:
        """The texts of this kind that an argument can have."""
        from policy.patterns.domains import BY_KIND  # noqa: PLC0415  # for comparisons alone

        return BY_KIND[self.value]


_SEPARATORS = {PatternKind.TEXT: "", PatternKind.PATH: "/", PatternKind.HOST: "."}


@frozen(eq=False)
class Pattern:
    """A set of texts of one kind. `of` returns the same object for the same canonical form."""

    kind: PatternKind
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, kind: PatternKind, tokens: Iterable[Token]) -> Pattern:
        """Return the canonical pattern of *tokens*."""
        return cls.canonical(kind, canonical(tokens, kind.separator))

    @classmethod
    def canonical(cls, kind: PatternKind, tokens: tuple[Token, ...]) -> Pattern:
        """Return the pattern of *tokens*, which are canonical."""
        form = kind, tokens
        pattern = _PATTERNS.get(form)
        if pattern is None:
            with _MAKING:
                pattern = _PATTERNS.setdefault(form, cls(*form))
        return pattern

    def __reduce__(self) -> tuple[object, ...]:
        return Pattern.of, (self.kind, self.tokens)

    @classmethod
    def text(cls, stars: str) -> Pattern:
        """Return the pattern of *text*, in which ``*`` is any text."""
        first, *literals = stars.split("*")
        tokens: list[Token] = [first] if first else []
        for literal in literals:
            if not tokens or tokens[-1] is not Gap.ANY:
                tokens.append(Gap.ANY)
            if literal:
                tokens.append(literal)
        return cls.canonical(PatternKind.TEXT, tuple(tokens))

    @classmethod
    def exactly(cls, text: str, kind: PatternKind = PatternKind.TEXT) -> Pattern:
        """Return the pattern that matches *text* alone."""
        return cls.of(kind, [text])

    @property
    def exact(self) -> bool:
        """Whether the pattern is one text."""
        # A canonical literal is one token, or none.
        tokens = self.tokens
        return not tokens or (len(tokens) == 1 and isinstance(tokens[0], str))

    @cached_property
    def spelled_out(self) -> tuple[Pattern, ...]:
        """The patterns without alternatives whose union is this pattern."""
        ways = canonical_ways(self.tokens, self.kind.separator)
        return tuple(Pattern.canonical(self.kind, tuple(way)) for way in ways)

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton of this pattern alone."""
        return Indexed([self.tokens], self.kind.separator)

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches *text*; linear in its length."""
        separator = self.kind.separator
        return any(fits(way, text, separator) for way in spelled_out(self.tokens))

    def __le__(self, other: Pattern | Meet) -> bool:
        """Return whether *other* includes *self*; exact."""
        return Meet.of(self) <= other

    def __ge__(self, other: Pattern) -> bool:
        """Return whether *self* includes *other*; exact."""
        return other <= self

    def __and__(self, other: Pattern | Meet) -> Meet:
        """Return the intersection, as a list of patterns."""
        return Meet.of(self) & other

    def witness(self) -> str | None:
        """Return a text that the pattern matches and an argument can have, or None."""
        return Meet.of(self).witness()

    def __str__(self) -> str:
        return "".join(_shown(token) for token in self.tokens)


# Patterns by their form, as long as they are in use.
_PATTERNS: WeakValueDictionary[tuple[PatternKind, tuple[Token, ...]], Pattern] = (
    WeakValueDictionary()
)
_MAKING: Final = allocate_lock()

_GAPS = {Gap.ANY: "*", Gap.PART: "*", Gap.DEEP: "/**", Gap.ONE: "?"}


def _shown(token: Token) -> str:
    if isinstance(token, str):
        return token
    if isinstance(token, Gap):
        return _GAPS[token]
    if isinstance(token, Run):
        return "**" if token.excluded <= {"\n"} else "*"
    if isinstance(token, Alternatives):
        return f"{{{','.join(''.join(map(_shown, each)) for each in token.alternatives)}}}"
    return f"[{'!' if token.negated else ''}{''.join(sorted(token.characters))}]"


def freeze(pattern: Pattern, fresh: str) -> str:
    """Return a text of the pattern: *fresh* for every gap, but "" for an open depth."""
    return _frozen(pattern.tokens, fresh)


def _frozen(tokens: Iterable[Token], fresh: str) -> str:
    texts = []
    for token in tokens:
        if isinstance(token, str):
            texts.append(token)
        elif isinstance(token, Alternatives):
            texts.append(_frozen(token.alternatives[0], fresh))
        elif isinstance(token, OneOf) and not token.negated:
            texts.append(min(token.characters, key=readability))
        elif token is not Gap.DEEP:
            texts.append(fresh)
    return "".join(texts)


@frozen(order=False)
class Meet:
    """The intersection of patterns; as a union it could have exponentially many members."""

    patterns: frozenset[Pattern]
    kind: PatternKind

    @classmethod
    def of(cls, *patterns: Pattern) -> Meet:
        """Return the intersection of *patterns*, which have one kind."""
        kind = patterns[0].kind
        if any(pattern.kind is not kind for pattern in patterns):
            msg = "patterns of different kinds have no meet"
            raise TypeError(msg)
        return cls(frozenset(patterns), kind)

    def __and__(self, other: Pattern | Meet) -> Meet:
        """Return the intersection."""
        others = other.patterns if isinstance(other, Meet) else {other}
        return Meet.of(*self.patterns, *others)

    def matches(self, text: str) -> bool:
        """Return whether every pattern matches *text*."""
        return all(pattern.matches(text) for pattern in self.patterns)

    def __le__(self, other: Pattern | Meet) -> bool:
        """Return whether *other* includes *self*. Raises OverflowError beyond the budget."""
        if isinstance(other, Meet):
            return all(self <= pattern for pattern in other.patterns)
        if other.kind is not self.kind:
            msg = "patterns of different kinds cannot be compared"
            raise TypeError(msg)
        if other in self.patterns:
            return True
        from policy.patterns.search import fresh_character  # noqa: PLC0415  # as above

        everyone = (*self.patterns, other)
        fresh = fresh_character(named(tokens_of(everyone)))
        (only, *more) = self.patterns
        if not more and not has_empty_set(only.tokens):
            frozen = freeze(only, fresh)
            matched = other.matches(frozen)
            if matched and is_stars(tokens_of(everyone)):
                return True
            if not matched and self.kind.domain.holds(frozen):
                return False  # one text outside of *other* refutes inclusion
        return self._decided(self.find(without=[other])) is None

    def find(
        self,
        *,
        without: Sequence[Pattern] = (),
        domain: Domain | None = None,
        budget: int = limits.SEARCH_STATES,
    ) -> SearchResult:
        """Return a shortest text of the intersection that no pattern of *without* matches."""
        from policy.patterns.search import fresh_character, search  # noqa: PLC0415  # as above

        tokens = tokens_of((*self.patterns, *without))
        guides = [pattern.automaton for pattern in sorted(self.patterns, key=str)]
        return search(
            [domain or self.kind.domain, *guides],
            [(pattern.automaton, NO_MATCH) for pattern in without],
            fresh=fresh_character(named(tokens)),
            extra=excluded_characters(tokens),
            budget=budget,
        )

    def is_empty(self) -> bool:
        """Return whether it has no text that an argument can have. Raises OverflowError as `<=`."""
        return self._decided(self.find()) is None

    def witness(self) -> str | None:
        """Return a short, readable text of it, or None. Raises OverflowError as `<=`."""
        text = self._decided(self.find())
        if text is None:
            return None
        holds = self.kind.domain.holds
        return next((word for word in readable(text) if self.matches(word) and holds(word)), text)

    @staticmethod
    def _decided(result: SearchResult) -> str | None:
        if not result.exact:
            msg = "the patterns are too many or too long to compare within the budget"
            raise OverflowError(msg)
        return result.text
