"""What lint looks at: every rule that is written, and every table that can come about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import attrs

from policy.chain import Chain
from policy.decision import Because
from policy.project import Project
from policy.reach.worklist import reach
from policy.ruleset import Entry, RuleSet
from policy.source import Place, Source, Span
from policy.written import rule_span

__all__ = ["Positions"]


@attrs.frozen(slots=False)
class Positions:
    """The positions of one project as its host has them, and the rules behind them.

    Attributes:
        project: whose.
        source: file -> its text, or None where it cannot be read.

    """

    project: Project
    source: Callable[[str], Source | None] = attrs.field(repr=False)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """A shortest chain for each table."""
        found: dict[object, Chain] = {}
        project = self.project
        for chains in reach(project, project.enforced, alone=project.asides).chains.values():
            for chain in chains:
                known = found.setdefault(chain.table.use.sets, chain)
                if len(chain.links) < len(known.links):
                    found[chain.table.use.sets] = chain
        return tuple(found.values())

    @property
    def modes(self) -> Iterator[Positions]:
        """The same in each other permission mode that a session may be started in."""
        for project in self.project.modes.values():
            yield Positions(project, self.source)

    @cached_property
    def lines(self) -> Mapping[tuple[Place, str], tuple[Entry, ...]]:
        """Place and text of every rule that is written somewhere -> its lines in tables."""
        sets: dict[int, RuleSet] = {}
        tables = [chain.table for chain in self.chains]
        for table in [*tables, *(entry.declared for entry in self.project.agents.values())]:
            for ceiling in (table.use, table.delegated):
                sets |= {id(part.rules): part.rules for part in ceiling.parts}
        found: dict[tuple[Place, str], list[Entry]] = {}
        for rules in sets.values():
            for entry in rules.entries:
                if entry.place is not None and entry.rule:
                    found.setdefault((entry.place, entry.rule), []).append(entry)
        return {key: tuple(entries) for key, entries in found.items()}

    def span(self, because: Because) -> Span | None:
        """Return where a rule stands, if its file can be read."""
        source = self.source(because.place.file) if because.place else None
        return rule_span(because, source) if source is not None else None
