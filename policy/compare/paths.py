"""Paths that name a working folder in other letters than its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from policy.compare.calls import ToolPair
from policy.compare.lists import Difference, ListSide, View
from policy.core.effect import Effect
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run, Token, folded
from policy.tables.calls import case_variant
from policy.tables.dialect import Dialect
from policy.tables.entry import RowEntry
from policy.tables.lookup import Lookup

__all__ = [
    "NESTED",
    "Strange",
    "behind",
    "folder_case_differences",
    "left_behind",
    "strange_folders",
]

NESTED = "folders inside one another are named in other letters than their own"


@attrs.frozen
class Strange:
    """A folder in other letters than its own.

    Attributes:
        name: the folder, in letters that are not all its own.
        hidden: for each dialect, under which name it is judged as well; "" is no other.

    """

    name: str
    hidden: dict[Dialect, str]


def strange_folders(sides: Sequence[Lookup]) -> tuple[list[Strange], bool]:
    """Return the folders that rows judge differently in other letters, and whether that is all."""
    dialects = list(dict.fromkeys(row.ruleset.dialect for side in sides for row, _ in side.rows))
    found: list[Strange] = []
    exact = True
    if len({dialect.cased for dialect in dialects}) < 2:
        return found, exact
    everywhere = list(dict.fromkeys(folder for each in dialects for folder in each.cased))
    for folder in everywhere:
        name = _in_other_letters(folder, everywhere)
        hidden = {dialect: _hidden(name, dialect) for dialect in dialects}
        if name == folder or len(set(hidden.values())) < 2:
            continue
        exact &= not any(_hides_deeper(name, dialect) for dialect in dialects)
        found.append(Strange(name, hidden))
    return found, exact


def _in_other_letters(folder: str, others: Iterable[str]) -> str:
    """Return the name of a folder with other letters, but for the part of those it is below."""
    own = max((len(one) for one in others if folder.startswith(one + "/")), default=0)
    rest = folder[own:]
    return folder[:own] + (rest.lower() if rest.lower() != rest else rest.upper())


def _hidden(name: str, dialect: Dialect) -> str:
    hidden = case_variant(name, dialect)
    return "" if hidden == folded(name) else hidden


def _hides_deeper(name: str, dialect: Dialect) -> bool:
    """Whether some paths below a folder are hidden by another name than the folder is."""
    for folder in dialect.cased:
        if (folded(name) + "/").startswith(folded(folder) + "/"):
            return False
        if folded(folder).startswith(folded(name) + "/"):
            return True
    return False


def behind(view: View, text: str) -> View:
    """Return what a list says of the texts that follow *text*."""
    entries = tuple(
        entry._replace(pattern=rest) for entry in view.entries for rest in _left(entry, text)
    )
    return attrs.evolve(view, entries=entries, row=None)


def _left(entry: RowEntry, text: str) -> Iterator[Pattern]:
    return iter(()) if entry.pattern is None else left_behind(entry.pattern, text)


def left_behind(pattern: Pattern, text: str) -> Iterator[Pattern]:
    """Yield patterns that together match what may follow *text* in a text of *pattern*."""
    start = pattern.tokens[0] if pattern.tokens else ""
    if isinstance(start, str) and not (start.startswith(text) or text.startswith(start)):
        return
    rests: dict[tuple[Token, ...], None] = {pattern.tokens: None}
    for character in text:
        separates = character == pattern.kind.separator
        following = (one for rest in rests for one in _after(rest, character, separates=separates))
        rests = dict.fromkeys(following)
    yield from dict.fromkeys(Pattern.of(pattern.kind, rest) for rest in rests)


def _after(
    tokens: tuple[Token, ...], character: str, *, separates: bool
) -> Iterator[tuple[Token, ...]]:
    """Yield what may follow *character* at the start of a text."""
    if not tokens:
        return
    token, rest = tokens[0], tokens[1:]
    if isinstance(token, str):
        if token[0] == character:
            yield (token[1:], *rest) if len(token) > 1 else rest
        return
    if isinstance(token, Alternatives):
        for each in token.alternatives:
            yield from _after((*each, *rest), character, separates=separates)
        return
    if token is Gap.ANY or (token is Gap.PART and not separates):
        yield tokens
    elif token is Gap.DEEP and separates:
        yield (Gap.ANY, *rest)  # of a path no part is empty
    elif isinstance(token, Run) and character not in token.excluded:
        yield tokens
    elif token is Gap.ONE or isinstance(token, OneOf):
        negated = not isinstance(token, OneOf) or token.negated
        named = isinstance(token, OneOf) and character in token.characters
        if named is not negated and not separates:
            yield rest
        return
    yield from _after(rest, character, separates=separates)


# Paths that name folders in other letters than their own, as two lookups decide them.


def folder_case_differences(
    pair: ToolPair, seen: set[tuple[Effect, Effect]]
) -> Iterator[Difference]:
    """Yield differences of paths that name folders in other letters than their own.

    One for each pair of effects that was not *seen* in others.
    """
    folders, exact = strange_folders(pair.lookups)
    if not exact:
        pair.why[NESTED] = None
    for folder in folders:
        yield from _FolderCasePair(pair, folder, seen).differences()


class _FolderCasePair(ToolPair):
    """Paths below a folder, in other letters than its own."""

    def __init__(self, pair: ToolPair, folder: Strange, shown: set[tuple[Effect, Effect]]) -> None:
        self._folder = folder
        self._shown_effects = shown
        super().__init__(pair.tool, *pair.lookups, attrs.evolve(pair.shape, behind=folder.name))
        self.why, self.doubts = pair.why, pair.doubts

    def differences(self) -> Iterator[Difference]:
        """Yield a difference for each pair of effects that no other path shows."""
        # The widest first, of which there are short paths.
        for view, line in sorted(self.edits, key=lambda edit: len(str(self.pattern(*edit) or ""))):
            yield from self.by_line(view, line, self._shown_effects)

    def seen_as(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        before, after = (
            attrs.evolve(
                side,
                views=tuple(
                    behind(view, name)
                    for view, (row, _) in zip(side.views, lookup.rows, strict=True)
                    for name in (
                        folded(self._folder.name),
                        self._folder.hidden[row.ruleset.dialect],
                    )
                    if name
                ),
            )
            for side, lookup in zip(sides, self.lookups, strict=True)
        )
        return before, after
