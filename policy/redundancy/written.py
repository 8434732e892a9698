"""Rules as somebody wrote them, of which the lists of a table have lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from policy.decision import Because
from policy.effect import Effect
from policy.ruleset import Entry
from policy.table import Part

__all__ = ["WrittenRule", "because_of", "key_of", "replaced", "written_rules"]


@attrs.frozen
class WrittenRule:
    """A rule as somebody wrote it: several lines may come of it, of several lists.

    What denies bounds what an agent may use and what it may hand on; and lists of one agent
    are lists of those that it starts.

    Attributes:
        lists: its lines, by the number of the part that has them.
        because: the rule, as the first of these parts has it.

    """

    lists: Mapping[int, tuple[Entry, ...]]
    because: Because

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its lines, of all lists."""
        return tuple(dict.fromkeys(entry for lines in self.lists.values() for entry in lines))


def key_of(entry: Entry) -> object:
    """Return what the lines have in common that come of one rule."""
    return entry.rule, entry.effect, entry.place


def written_rules(parts: Sequence[Part]) -> Iterator[WrittenRule]:
    """Yield the rules that somebody wrote, in order."""
    rules: dict[object, dict[int, list[Entry]]] = {}
    for number, part in enumerate(parts):
        for entry in part.rules.entries:
            if entry.place is not None:
                rules.setdefault(key_of(entry), {}).setdefault(number, []).append(entry)
    for lists in rules.values():
        number, entries = next(iter(lists.items()))
        lines = {part: tuple(some) for part, some in lists.items()}
        yield WrittenRule(lines, because_of(entries[0], parts[number]))


def because_of(entry: Entry, part: Part) -> Because:
    """Return the rule that a line comes of, as a part has it."""
    link = part.links[0] if part.links else ""
    return Because(entry.rule, entry.effect, link, entry.place)


def replaced(
    kept: Sequence[Sequence[Entry]], rule: WrittenRule, effect: Effect | None
) -> list[list[Entry]]:
    """Return *kept* with another effect of a rule, or without it."""
    key = key_of(rule.entries[0])
    return [
        [
            attrs.evolve(entry, effect=effect) if effect is not None and is_rule else entry
            for entry in entries
            if not (is_rule := part in rule.lists and key_of(entry) == key) or effect is not None
        ]
        for part, entries in enumerate(kept)
    ]
