"""Of random policies of every host: which decisions change, along every chain and for every call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial

import pytest
from hypothesis import strategies as st

from policy.analysis.diff import READINGS, Change, Diff, diff_workspaces
from policy.compare.compare import DIFFERENT_KINDS
from policy.compare.pair import OPAQUE, OVERLAPS
from policy.compare.samples import SAMPLED
from policy.core import values
from policy.core.effect import Effect
from policy.hosts.project import Project
from policy.tables.chain import Chain, SpawnDenied
from tests.told import COMMANDS, Effects, is_told
from tests.universes import UNIVERSES, Model, Universe, edits, models, tried, walks

_Names = tuple[str, ...]


@values.frozen
class Sides:
    """The chains of two projects, and what each call of them gets, in one reading."""

    universe: Universe
    projects: tuple[Project, Project]
    reading: str
    _effects: dict[object, list[Effect]] = values.field(factory=dict)

    @cached_property
    def chains(self) -> tuple[Mapping[_Names, Chain], Mapping[_Names, Chain]]:
        was, now = ({chain.names: chain for chain in self._told(each)} for each in self.projects)
        return was, now

    @cached_property
    def variants(self) -> frozenset[str]:
        """What is told of by itself, and compared where it stands on one side alone too."""
        return frozenset(name for project in self.projects for name in project.variants)

    def _told(self, project: Project) -> Iterator[Chain]:
        reading, universe = project.reading(self.reading), self.universe
        yield from walks(reading, (*self.variants,), 1)
        yield from walks(reading, project.starts, universe.longest, universe.said)

    def effects(self, chain: Chain | None) -> list[Effect]:
        """Return what each call gets: none is granted behind a chain that is not there."""
        if chain is None:
            return [Effect.DENY] * len(self.universe.calls)
        use = chain.table.use
        key = use.sets
        if key not in self._effects:
            self._effects[key] = [chain.decide(*call).effect for call in self.universe.calls]
        return self._effects[key]

    def both(self, names: _Names) -> list[Chain | None]:
        return [
            side[names] if names in side else chain_of(self, project, names)
            for side, project in zip(self.chains, self.projects, strict=True)
        ]

    def differing(self, names: _Names) -> Iterator[tuple[int, Effects]]:
        """Yield the calls that are decided differently along a chain, and what they get."""
        was, now = map(self.effects, self.both(names))
        for number, (one, other) in enumerate(zip(was, now, strict=True)):
            if one is not other:
                yield number, (one, other)

    def tool(self, number: int) -> str:
        """Return the tool of a call."""
        return self.universe.calls[number][0]

    @cached_property
    def starts(self) -> dict[_Names, bool]:
        """The chains that come or go, and their starts are no chain's that is on both sides."""
        was, now = self.chains
        return {
            names: names in now for names in was.keys() ^ now.keys() if None in self.both(names)
        }

    @cached_property
    def shared(self) -> set[_Names]:
        """The chains that both sides have, under other names as well (`Reading.step`)."""
        was, now = self.chains
        return (was.keys() | now.keys()) - self.starts.keys()

    def is_startable(self, parent: _Names, agent: str) -> list[bool]:
        """Return on which sides a call that starts an agent is not denied, whatever else it says."""
        return [
            chain is not None
            and any(
                chain.spawning(agent, said).effect is not Effect.DENY for said in self.universe.said
            )
            for chain in self.both(parent)
        ]


def chains_of(sides: Sides, change: Change) -> Iterator[_Names]:
    """Yield the chains that show a change as it is told, in one reading of those it names."""
    for names in (change.chain, *change.also):
        was, now = found = [chain_of(sides, project, names) for project in sides.projects]
        if change.what != "rule":
            if (was is None, now is None) == (change.widened, not change.widened):
                yield names
        elif was is not None and now is not None:
            said = (change.difference.before, change.difference.after)
            tool, call = change.difference.tool, change.difference.call
            effects = [chain.decide(tool, call).effect for chain in found if chain is not None]
            if effects == [decision.effect for decision in said]:
                yield names


def chain_of(sides: Sides, project: Project, names: _Names) -> Chain | None:
    """Return a chain of any length; None where it cannot come about."""
    if names[0] not in {*project.starts, *sides.variants}:
        return None
    try:
        chain = Chain.start(names[0], project.reading(sides.reading))
        for name in names[1:]:
            chain = chain.spawn(name)
    except SpawnDenied:
        return None
    return chain


def check_shared(sides: Sides, told: dict[_Names, set[tuple[str, Effects]]]) -> None:
    """What differs along a chain of both sides, some chain shows of which that is told.

    Or it is told, in the same direction, of a chain of the same agent that grants as much on
    either side, whatever is called: the chain at hand only narrows what that one shows.
    """
    shown: dict[object, list[tuple[_Names, set[Effects]]]] = {}
    for chain, effects in told.items():
        for number, _ in sides.differing(chain):
            tool = sides.tool(number)
            own = {both for name, both in effects if tool not in COMMANDS or name == tool}
            shown.setdefault((chain[-1], number), []).append((chain, own))
    for names in sides.shared:
        for number, both in sides.differing(names):
            some = shown.get((names[-1], number), [])
            call = sides.universe.calls[number]
            assert is_told(
                *both, {one for _, own in some for one in own}, sides.tool(number)
            ) or any(
                any(map(partial(_narrows, both), own)) and is_within(sides, names, chain)
                for chain, own in some
            ), (sides.reading, names, call, both)


def _narrows(both: Effects, told: Effects) -> bool:
    """Whether effects are those that are told with less granted, in the same direction."""
    return both[0] <= told[0] and both[1] <= told[1] and (both[0] < both[1]) is (told[0] < told[1])


def is_within(sides: Sides, names: _Names, others: _Names) -> bool:
    """Whether no call gets more along one chain than along another, on either side."""
    pairs = zip(sides.both(names), sides.both(others), strict=True)
    return all(
        one <= other
        for chain, another in pairs
        for one, other in zip(sides.effects(chain), sides.effects(another), strict=True)
    )


def check_lonely(
    sides: Sides,
    rules: dict[tuple[str, bool], set[_Names]],
    lonely: dict[tuple[str, bool], set[_Names]],
) -> None:
    """A chain of one side is told, or else what starts it, and all that it grants some chain does."""
    for names, widened in sides.starts.items():
        key = (names[-1], widened)
        own = sides.effects(sides.chains[widened][names])
        alike = {each for each in sides.shared if each[-1:] == names[-1:]}
        others = [
            sides.effects(sides.both(each)[widened]) for each in (*alike, *lonely.get(key, set()))
        ]
        for number, effect in enumerate(own):
            most = max((other[number] for other in others), default=Effect.DENY)
            assert effect <= most, (sides.reading, names, sides.universe.calls[number])
        first = next(names[:n] for n in range(1, len(names) + 1) if names[:n] in sides.starts)
        parent, agent = first[:-1], first[-1]
        by_call = [not widened, widened] == sides.is_startable(parent, agent) if parent else False
        if not by_call:
            assert lonely.get((agent, widened)), (sides.reading, first)
        else:
            chains = rules.get((parent[-1], widened), set())
            same = ([not widened, widened] == sides.is_startable(each, agent) for each in chains)
            assert lonely.get((agent, widened)) or any(same), (sides.reading, first)


# What files say beside rules by which a host reads calls otherwise than without it.
READING = {"a3s": ("version",), "pikuri": ("pikuri", "workspace")}


def is_undecided(universe: Universe, diff: Diff, sides: tuple[Model, Model]) -> bool:
    """Whether each reason why a diff is not exact holds of the policies.

    As docs/limits.md says: several rules of Claude Code share calls, some know commands by other
    texts than the one written, or a rule leaves open a program that the host runs unasked. Of the
    other hosts calls are read otherwise.
    """
    if universe.host == "claude-code":
        written = {item for side in sides for items in side.lists.values() for item in items}
        if not any(item.startswith(("Bash", "Monitor")) for item in written):
            return False
        return all(any(each in why for each in (OVERLAPS, SAMPLED, OPAQUE)) for why in diff.why)
    said = READING.get(universe.host, ())
    before, after = ([side.options.get(name) for name in said] for side in sides)
    return before != after and any(DIFFERENT_KINDS in reason for reason in diff.why)


def check_diff(universe: Universe, before: Model, after: Model) -> None:
    """Compare what is told to change with every chain and call of both sides."""
    one, other = (universe.load(model) for model in (before, after))
    diff = diff_workspaces(one, other)
    assert diff.exact or is_undecided(universe, diff, (before, after)), diff.why
    shown: dict[int, tuple[Change, set[_Names]]] = {}
    for reading in READINGS:
        sides = Sides(universe, (one.projects[0], other.projects[0]), reading)
        rules: dict[tuple[str, bool], set[_Names]] = {}
        lonely: dict[tuple[str, bool], set[_Names]] = {}
        effects: dict[_Names, set[tuple[str, Effects]]] = {}
        for change in diff.changes:
            if reading in change.readings:
                told = rules if change.what == "rule" else lonely
                found = set(chains_of(sides, change))
                assert change.chain in found, change
                shown.setdefault(id(change), (change, set()))[1].update(found)
                for names in found:
                    told.setdefault((names[-1], change.widened), set()).add(names)
                    if change.what == "rule":
                        shows = change.difference.tool, change.difference.effects
                        effects.setdefault(names, set()).add(shows)
        if diff.exact:
            check_shared(sides, effects)
        check_lonely(sides, rules, lonely)
    for change, found in shown.values():
        assert found == {change.chain, *change.also}, change


def draw_diff(universe: Universe, data: st.DataObject) -> None:
    pairs = edits(universe) | st.tuples(models(universe), models(universe))
    check_diff(universe, *data.draw(pairs))


@pytest.mark.parametrize("host", UNIVERSES)
def test_what_no_change_tells_of_is_decided_as_before(host: str) -> None:
    tried(draw_diff, UNIVERSES[host], 6)


def test_agents_that_some_calls_started_are_gone_with_these_calls() -> None:
    # Behind `ann`, `bob` starts others with the model `ma` alone, and then with none.
    universe = UNIVERSES["policy"]
    options = {name: some[0] for name, some in universe.options.items()} | {"ann starts": False}
    before = Model({"ann allow": ("Task(model:ma)",)}, options)
    check_diff(universe, before, before.replaced("ann delegate", ("Bash",)))


def test_an_agent_that_starts_no_more_on_the_last_level_alone_is_told_there() -> None:
    # There nobody starts others, and of the other tools `ann` is left none.
    universe = UNIVERSES["claude-code"]
    options = {name: some[0] for name, some in universe.options.items()}
    lists = {"allow": (), "ask": (), "deny": ("mcp__a__b",)}
    before = Model({**lists, "ann tools": ("Bash", "Agent", "mcp__a__b")}, options)
    check_diff(universe, before, before.replaced("ann tools", ("Agent", "mcp__a__b")))


@pytest.mark.slow
@pytest.mark.parametrize("host", UNIVERSES)
def test_of_many_policies_what_no_change_tells_of_is_decided_as_before(host: str) -> None:
    tried(draw_diff, UNIVERSES[host], 40)
