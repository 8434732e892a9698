"""Paths in other letters than a folder's own, and commands of which the form of a rule decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policy.compare.auto_allowed import WORD, read_alike
from policy.compare.lists import ListSide, View
from policy.compare.opening import reading
from policy.compare.pair import ToolPair
from policy.compare.witness import Difference
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.patterns.pattern import Pattern
from policy.patterns.tokens import Alternatives, Gap, OneOf, Run, Token, folded
from policy.tables.calls import case_variant
from policy.tables.dialect import Dialect
from policy.tables.row import Row
from policy.tables.ruleset import Form
from policy.tables.table import Lookup

_Forms = dict[Pattern, set[tuple[Effect, Form]]]


def formed_commands(pair: ToolPair) -> Iterator[Difference]:
    """Yield differences of commands that rules match by one pattern, in different forms."""
    shell = pair.shape.dialect.shell
    rows = [*map(_rows, pair.lookups)]
    for pattern in _reformed(*map(_forms, rows)):
        if pattern.exact:
            yield from _changed(pair, str(pattern))
    for tool in dict.fromkeys((shell.files.reads, shell.files.input)):
        if not tool:
            continue
        files = [[row.opening(tool) for row in side] for side in rows]
        if any(_reformed(*map(_forms, files))):
            for mover in sorted(shell.kinds.movers):
                text = f"{mover}; {reading(shell)} {WORD}"
                if any(file.adrift for file in read_alike(text, shell).redirections):
                    yield from _changed(pair, text)


def _rows(lookup: Lookup) -> list[Row]:
    return [row for row, _ in lookup.rows]


def _forms(rows: list[Row]) -> _Forms:
    found: _Forms = {}
    for row in rows:
        for entry in row.entries:
            if entry.pattern is not None and not entry.field:
                found.setdefault(entry.pattern, set()).add((entry.effect, entry.form))
    return found


def _reformed(before: _Forms, after: _Forms) -> list[Pattern]:
    """Return the patterns that lines of both sides have with the same effects in other forms."""
    return [
        pattern
        for pattern, forms in before.items()
        if after.get(pattern, forms) != forms
        and {effect for effect, _ in forms} == {effect for effect, _ in after[pattern]}
    ]


def _changed(pair: ToolPair, text: str) -> Iterator[Difference]:
    found = pair.asked(text)
    if found.before.effect is not found.after.effect:
        yield found


NESTED = "folders inside one another are named in other letters than their own"


# The name of a folder in letters that are not all its own, and for each dialect under which name
# paths below it are judged as well; "" is no other.
_OtherCase = tuple[str, dict[Dialect, str]]


def other_case_folders(sides: Sequence[Lookup]) -> tuple[list[_OtherCase], bool]:
    """Return the folders that rows judge differently in other letters, and whether that is all."""
    dialects = list(dict.fromkeys(row.ruleset.dialect for side in sides for row, _ in side.rows))
    found: list[_OtherCase] = []
    exact = True
    if len({dialect.cased for dialect in dialects}) < 2:
        return found, exact
    everywhere = list(dict.fromkeys(folder for each in dialects for folder in each.cased))
    for folder in everywhere:
        name = _in_other_letters(folder, everywhere)
        variants = ((dialect, case_variant(name, dialect)) for dialect in dialects)
        hidden = {dialect: "" if v == folded(name) else v for dialect, v in variants}
        if name != folder and len(set(hidden.values())) > 1:
            exact &= not any(_hides_deeper(name, dialect) for dialect in dialects)
            found.append((name, hidden))
    return found, exact


def _in_other_letters(folder: str, others: Iterable[str]) -> str:
    """Return the name of a folder in another case, except the part that names a folder above."""
    own = max((len(one) for one in others if folder.startswith(one + "/")), default=0)
    rest = folder[own:]
    return folder[:own] + (rest.lower() if rest.lower() != rest else rest.upper())


def _hides_deeper(name: str, dialect: Dialect) -> bool:
    """Whether some paths below a folder are hidden by another name than the folder is."""
    for folder in dialect.cased:
        if (folded(name) + "/").startswith(folded(folder) + "/"):
            return False
        if folded(folder).startswith(folded(name) + "/"):
            return True
    return False


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


def unnamed_differences(pair: ToolPair, seen: set[tuple[Effect, Effect]]) -> Iterator[Difference]:
    """Yield differences of paths that name folders in other letters than their own.

    There is one for each change that is not *seen* in other paths.
    """
    folders, exact = other_case_folders(pair.lookups)
    if not exact:
        pair.why[NESTED] = None
    for name, hidden in folders:
        yield from _OtherCasePair(pair, name, hidden, seen).differences()


class _OtherCasePair(ToolPair):
    """Paths below a folder, in other letters than its own."""

    def __init__(
        self,
        pair: ToolPair,
        name: str,
        hidden: dict[Dialect, str],
        shown: set[tuple[Effect, Effect]],
    ) -> None:
        self._name, self._hidden, self._shown_effects = name, hidden, shown
        super().__init__(pair.tool, *pair.lookups, evolve(pair.shape, behind=name))
        self.why, self.undecided = pair.why, pair.undecided

    def differences(self) -> Iterator[Difference]:
        """Yield a difference for each pair of effects that no other path shows."""
        # The widest patterns first, since they match short paths.
        for view, line in sorted(self.edits, key=lambda edit: len(str(self.pattern(*edit) or ""))):
            yield from self.by_line(view, line, self._shown_effects)

    def adapted(self, sides: tuple[ListSide, ListSide]) -> tuple[ListSide, ListSide]:
        before, after = (
            evolve(
                side,
                views=tuple(
                    _behind(view, name)
                    for view, (row, _) in zip(side.views, lookup.rows, strict=True)
                    for name in (folded(self._name), self._hidden[row.ruleset.dialect])
                    if name
                ),
            )
            for side, lookup in zip(sides, self.lookups, strict=True)
        )
        return before, after


def _behind(view: View, text: str) -> View:
    """Return a list over what follows *text*: its lines have the rests of their patterns."""
    entries = tuple(
        evolve(entry, pattern=rest)
        for entry, pattern in zip(view.entries, view.patterns, strict=True)
        for rest in left_behind(pattern, text)
    )
    return evolve(view, entries=entries, row=None)
