"""Which rules of a table matter: proven by comparing it with the table without them.

A rule is *live* when some call is decided differently without it. If not, it is
*shadowed* where no call depends on what it says in its place, since others decide
before it; else it is *redundant*: without it, what follows says the same.
This holds across all lists that a table is the meet of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from policy.compare import Difference
from policy.decision import Because
from policy.effect import Effect
from policy.patterns.notations import names
from policy.ruleset import Entry, RuleSet
from policy.table import Ceiling, Part, Table

__all__ = ["Minimal", "Standing", "minimise", "shadowing"]


@attrs.frozen
class Standing:
    """What becomes of one rule.

    Attributes:
        rule: the rule, and whose it is.
        what: ``live``, ``shadowed``, ``redundant``, or ``undecided`` where the
            comparison was not exact.
        witness: a call that is decided differently without a rule that is live.
        by: the rules that each alone cover one that is not live; none where
            only several together do, or what no rule speaks of gets the same.

    """

    rule: Because
    what: str
    witness: Difference | None = None
    by: tuple[Because, ...] = ()


@attrs.frozen
class Minimal:
    """A table of fewer rules that decides as the one it is made of.

    Attributes:
        table: with the rules that are left.
        removed: the rules that are not, in the order in which they were removed.
        exact: whether none of those that are left could be removed as well.

    """

    table: Table
    removed: tuple[Standing, ...]
    exact: bool


def shadowing(table: Table) -> tuple[Standing, ...]:
    """Return the standing of each rule that somebody wrote, in order."""
    parts = list(table.use.parts)
    return tuple(_standing(parts, rule) for rule in _rules(parts))


def minimise(table: Table) -> Minimal:
    """Return a table with no rule whose removal changes nothing it says of use.

    Narrow rules are tried first, so that of two that cover the same calls the
    wide one stays.
    """
    parts = list(table.use.parts)
    removed: list[Standing] = []
    exact = True
    for rule in sorted(_rules(parts), key=lambda rule: -_literal(rule)):
        standing = _standing(parts, rule)
        if standing.what == "undecided":
            exact = False
        elif standing.what != "live":
            removed.append(standing)
            parts = _replaced(parts, rule, None)
    use = Ceiling.of(parts)
    return Minimal(Table(use, table.delegated, table.bounds), tuple(removed), exact)


@attrs.frozen
class _Rule:
    """A rule as one list has it: several lines may come of it."""

    part: int
    entries: tuple[Entry, ...]
    because: Because

    def holds(self, entry: Entry) -> bool:
        """Whether *entry* comes of the rule."""
        return _key(entry) == _key(self.entries[0])


def _key(entry: Entry) -> object:
    return entry.rule, entry.effect, entry.place


def _rules(parts: Sequence[Part]) -> Iterator[_Rule]:
    for number, part in enumerate(parts):
        lines: dict[object, list[Entry]] = {}
        for entry in part.rules.entries:
            if entry.place is not None:
                lines.setdefault(_key(entry), []).append(entry)
        for entries in lines.values():
            yield _Rule(number, tuple(entries), _because(entries[0], part))


def _because(entry: Entry, part: Part) -> Because:
    link = part.links[0] if part.links else ""
    return Because(entry.rule, entry.effect, link, entry.place)


def _literal(rule: _Rule) -> int:
    patterns = (entry.pattern for entry in rule.entries)
    return max((len(str(pattern)) for pattern in patterns if pattern is not None), default=0)


def _standing(parts: Sequence[Part], rule: _Rule) -> Standing:
    table = Table(Ceiling.of(parts))
    without = table.differences(Table(Ceiling.of(_replaced(parts, rule, None))))
    if without.differences:
        return Standing(rule.because, "live", without.differences[0])
    if not without.exact:
        return Standing(rule.because, "undecided")
    decides = False
    for effect in Effect:
        if effect is not rule.because.effect:
            changed = table.differences(Table(Ceiling.of(_replaced(parts, rule, effect))))
            decides |= bool(changed.differences) or not changed.exact
    what = "redundant" if decides else "shadowed"
    return Standing(rule.because, what, by=tuple(_covering(parts[rule.part], rule)))


def _replaced(parts: Sequence[Part], rule: _Rule, effect: Effect | None) -> list[Part]:
    """Return *parts* with another effect of a rule, or without it."""
    part = parts[rule.part]
    entries = tuple(
        attrs.evolve(entry, effect=effect) if effect is not None and rule.holds(entry) else entry
        for entry in part.rules.entries
        if effect is not None or not rule.holds(entry)
    )
    rules = part.rules
    changed = RuleSet(entries, rules.default, rules.dialect, rules.default_reason)
    return [
        Part(changed, each.links) if number == rule.part else each
        for number, each in enumerate(parts)
    ]


def _covering(part: Part, rule: _Rule) -> Iterator[Because]:
    """Yield the rules of the same list that alone match all that *rule* matches."""
    found: dict[Because, set[Entry]] = {}
    for other in part.rules.entries:
        if not rule.holds(other):
            covered = {entry for entry in rule.entries if _contains(other, entry)}
            found.setdefault(_because(other, part), set()).update(covered)
    wanted = set(rule.entries)
    yield from (because for because, covered in found.items() if covered == wanted)


def _contains(wide: Entry, narrow: Entry) -> bool:
    if not names(narrow.tool) <= names(wide.tool):
        return False
    if wide.pattern is None:
        return True
    if narrow.pattern is None or (wide.field, wide.pattern.kind) != (
        narrow.field,
        narrow.pattern.kind,
    ):
        return False
    try:
        return narrow.pattern <= wide.pattern
    except OverflowError:
        return False
