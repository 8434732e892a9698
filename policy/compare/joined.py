"""Commands of which a rule with a star knows all at once: `make | sh`, `make && rm x > f`.

Such a rule denies or asks where something else about the command holds, its parts or the files
that it opens (`policy.tables.command_row`). So it may count on one side alone where the line of
a part was
edited, or what is said of a file. Commands that both sides decide otherwise are joined with others
to what a rule with a star matches, where that may show a change that nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Final

from policy.compare.command_pair import CommandPair
from policy.compare.pair import OVERLAPS
from policy.compare.prefixes import harmless, samples
from policy.compare.witness import CHANGES, Difference, Effects, weaker
from policy.core.effect import Effect
from policy.core.values import frozen
from policy.patterns.families import members
from policy.patterns.pattern import Pattern, freeze
from policy.tables.command_row import may_join
from policy.tables.entry import BY_DEFAULT

__all__ = ["joined_differences"]

# A file of the folder, and one elsewhere.
_FILES: Final = ("q7z", "/q7z")

# Lines whose commands are joined with others.
_LINES: Final = 200

# Commands that are tried before the answer is no longer exact.
_JOINED: Final = 4_000


def joined_differences(
    pair: CommandPair, files: Sequence[str], known: Iterable[Effects]
) -> Iterator[Difference]:
    """Yield a difference of joined commands for each change that has one.

    Args:
        pair: the calls of the tool that runs commands.
        files: those of which both sides say different things.
        known: the changes that need no further one.

    """
    wanted = {*CHANGES} - weaker({*known}) - pair.unheard
    if not pair.shell.reader or not wanted:
        return
    joined = _Joined(pair, wanted)
    for tried, text in enumerate(joined.texts(files)):
        if tried >= _JOINED:
            pair.doubts |= dict.fromkeys((OVERLAPS, each) for each in joined.wanted)
            return
        found = pair.asked(text.replace(pair.fresh, "q7z"))
        if found.effects in joined.wanted:
            yield found
            joined.wanted -= weaker([found.effects])
            if not joined.wanted:
                return


@frozen
class _Said:
    """What one side says of a command: what it comes to, and whether a rule says so."""

    effect: Effect
    by_rule: bool

    @property
    def is_open(self) -> bool:
        """Whether no rule stops it."""
        return self.effect is Effect.ALLOW or not self.by_rule


@frozen
class _Part:
    """A command to join with others, frozen, and what both sides say of it."""

    text: str
    sides: tuple[_Said, _Said]

    @property
    def differs(self) -> bool:
        """Whether it counts otherwise than before."""
        return self.sides[0] != self.sides[1]


@frozen
class _Whole:
    """What a rule with a star matches, frozen, and what it says on each side, where it is there."""

    text: str
    effects: tuple[Effect | None, Effect | None]

    def of_pipe(self, *parts: _Part) -> set[Effects]:
        """Return what both sides may say of a pipe, which the rule knows if not all is allowed."""
        sides: list[set[Effect]] = []
        for own, said in self._sides(parts):
            rest = min(each.effect for each in said)
            known = rest if own is None else rest & own
            # What is allowed may be so only as every command is, and the rule knows that.
            sides.append({known} if rest < Effect.ALLOW else {rest, known})
        return {(was, now) for was, now in product(*sides)}

    def of_file(self, *parts: _Part) -> set[Effects]:
        """Return the same of what writes a file, which the rule knows if no rule stops the rest."""
        sides: list[set[Effect]] = []
        for own, said in self._sides(parts):
            rest = min(each.effect for each in said)
            is_open = own is not None and all(each.is_open for each in said)
            sides.append({rest, rest & own} if is_open and own is not None else {rest})
        return {(was & file, now & file) for was, now in product(*sides) for file in Effect}

    def _sides(self, parts: Sequence[_Part]) -> Iterator[tuple[Effect | None, list[_Said]]]:
        for number, own in enumerate(self.effects):
            yield own, [part.sides[number] for part in parts]


class _Joined:
    """The joined commands of a comparison.

    Args:
        pair: the calls of the tool that runs commands.
        wanted: the changes that are looked for; what is found is taken out.

    """

    def __init__(self, pair: CommandPair, wanted: set[Effects]) -> None:
        self._pair = pair
        self.wanted = wanted
        self._wholes = [*self._known_wholes()]
        self._parts = [*self._known_parts()] if self._wholes else []

    def texts(self, files: Sequence[str]) -> Iterator[str]:
        """Yield joined commands that may show what is wanted, frozen: one of two parts differs.

        Or one of *files* does.
        """
        # What a rule that was edited spells out shows best what changes.
        for whole in self._wholes:
            if len({*whole.effects}) > 1:
                yield whole.text
                yield f"{self._pair.fresh} | {whole.text}"
        for whole in self._wholes:
            begun = [part for part in self._parts if self._may_begin(whole, part.text)]
            ended = [part for part in self._parts if self._may_end(whole, part.text)]
            if any(self._may_end(whole, f" > {file}") for file in _FILES):
                ended = self._parts
            begun, ended = self._unlike(whole, begun), self._unlike(whole, ended)
            was, now = ([part for part in some if part.differs] for some in (begun, ended))
            for parts in dict.fromkeys((*product(was, ended), *product(begun, now))):
                if not self.wanted.isdisjoint(whole.of_pipe(*parts)):
                    yield from self._members(whole, " | ".join(part.text for part in parts))
                yield from self._writing(whole, parts, _FILES)
        if not files:
            return
        any_ = self._part(self._pair.fresh)
        for whole, part in product(self._wholes, self._parts):
            for parts in (any_, part), (part, any_):
                yield from self._writing(whole, parts, files)

    def _unlike(self, whole: _Whole, parts: Iterable[_Part]) -> list[_Part]:
        """Return a part for each way in which both sides decide those that a rule leaves open.

        What has a text in common with the rule is told from all others.
        """
        pieces = [piece.strip() for piece in whole.text.split(self._pair.fresh)]
        found: dict[object, _Part] = {}
        for part in parts:
            texts = [text.strip() for text in part.text.split(self._pair.fresh)]
            shares = any(
                one and other and (one in other or other in one)
                for one, other in product(pieces, texts)
            )
            found.setdefault((part.sides, shares and part.text), part)
        return [*found.values()]

    def _may_begin(self, whole: _Whole, text: str) -> bool:
        """Return whether something that *text*, frozen, begins may be what a rule matches."""
        one, other = (each.partition(self._pair.fresh)[0] for each in (whole.text, text))
        return one.startswith(other) or other.startswith(one)

    def _may_end(self, whole: _Whole, text: str) -> bool:
        """Return whether something that *text*, frozen, ends may be what a rule matches."""
        one, other = (each.rpartition(self._pair.fresh)[2] for each in (whole.text, text))
        return one.endswith(other) or other.endswith(one)

    def _writing(
        self, whole: _Whole, parts: tuple[_Part, _Part], files: Iterable[str]
    ) -> Iterator[str]:
        """Yield two commands that write a file, if that may show what is wanted."""
        one, other = (part.text for part in parts)
        for file in files:
            if self.wanted.isdisjoint(whole.of_file(*parts)):
                return
            yield from self._members(whole, f"{one}; {other} > {file}")
            for text in self._members(whole, f"{one} && {other}"):
                yield f"{text} > {file}"  # to a rule with a star that is no part of it

    def _members(self, whole: _Whole, text: str) -> Iterator[str]:
        if not (self._may_begin(whole, text) and self._may_end(whole, text)):
            return
        try:
            yield from members((whole.text, text), self._pair.fresh)
        except OverflowError:
            self._pair.doubts |= dict.fromkeys((OVERLAPS, each) for each in self.wanted)

    def _known_wholes(self) -> Iterator[_Whole]:
        """Yield what the lines match that may know several commands, and no first of them.

        One that nobody wrote knows the parts of a command alone.
        """
        pair = self._pair
        found: dict[Pattern, list[Effect | None]] = {}
        for number, view in enumerate(pair.views):
            for entry, pattern in zip(view.entries, view.patterns, strict=True):
                if entry.effect is Effect.ALLOW or entry.reason in BY_DEFAULT:
                    continue
                if not may_join(pattern):
                    continue
                sides = found.setdefault(pattern, [None, None])
                for side in (0, 1):
                    if number in pair.sides[side]:
                        sides[side] = min(entry.effect, sides[side] or Effect.ALLOW)
        for pattern, (before, after) in found.items():
            yield _Whole(freeze(pattern, pair.fresh), (before, after))

    def _known_parts(self) -> Iterator[_Part]:
        """Yield commands to join: some that run unasked, and of those that nobody wrote few.

        What a line matches that knows several commands is no one of them.
        """
        for text in self._harmless():
            yield self._part(text)
        seen = set[object]()
        wholes = {whole.text for whole in self._wholes}
        written = [*islice(self._lines(written=True), _LINES)]
        for text in (self._pair.fresh, *written, *self._lines(written=False)):
            if text in wholes:
                continue
            part = self._part(text)
            if text in written or part.sides not in seen:
                seen.add(part.sides)
                yield part

    def _part(self, text: str) -> _Part:
        found = self._pair.asked(text.replace(self._pair.fresh, "q7z"))
        before, after = (
            _Said(each.effect, by_rule=each.reason not in BY_DEFAULT)
            for each in (found.before, found.after)
        )
        return _Part(text, (before, after))

    def _lines(self, *, written: bool) -> Iterator[str]:
        """Yield what lines know that are edited or allow, frozen; those somebody wrote or not."""
        edits = {*self._pair.edits}
        found = (
            freeze(pattern, self._pair.fresh)
            for number, view in enumerate(self._pair.views)
            for line, pattern in enumerate(view.patterns)
            if (view.entries[line].place is not None) is written
            and (view.entries[line].effect is Effect.ALLOW or (number, line) in edits)
        )
        yield from dict.fromkeys(found)

    def _harmless(self) -> Iterator[str]:
        """Yield commands that run where no rule speaks of them, of programs that rules name."""
        shell = self._pair.shell
        yield from samples(shell)
        texts = (whole.text.replace(self._pair.fresh, " ") for whole in self._wholes)
        for word in dict.fromkeys(word for text in texts for word in text.split()):
            yield from harmless(word, shell)[:1]
