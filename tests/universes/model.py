"""What a small universe is, how policies of one are drawn, and which chains they have.

What a search says of all calls is compared with the calls of these: a few of each
tool, such that whatever two rules here tell apart some call shows. A *model* is what
files of a host list, list by list, so that an item can be put in or left out of the
files without knowing how they are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from policy.core import values
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.chain import Chain, Reading, SpawnDenied
from tests.effort import examples

__all__ = [
    "AGENTS",
    "COMMANDS",
    "HOSTS",
    "PATHS",
    "SAID",
    "Call",
    "Model",
    "Universe",
    "calls_of",
    "edits",
    "header",
    "models",
    "saying",
    "starting",
    "tried",
    "walks",
]

Call = tuple[str, dict[str, object]]


@values.frozen
class Model:
    """What files of a host say.

    Attributes:
        lists: list -> its items; a list that is not there is not written.
        options: what they say beside lists.

    """

    lists: Mapping[str, tuple[str, ...]]
    options: Mapping[str, object]

    @property
    def items(self) -> Iterator[tuple[str, int]]:
        """Every item, as its list and its place there."""
        for name, items in self.lists.items():
            for place in range(len(items)):
                yield name, place

    def without(self, name: str, place: int) -> Model:
        """Return the model without one item."""
        items = self.lists[name]
        return self.replaced(name, (*items[:place], *items[place + 1 :]))

    def replaced(self, name: str, items: tuple[str, ...]) -> Model:
        """Return the model with other items of a list."""
        return values.evolve(self, lists={**self.lists, name: items})


@values.frozen
class Universe:
    """Files of one host, and calls.

    Attributes:
        host: its name.
        lists: list -> what may stand in it.
        required: lists that are written always.
        options: what files may say beside lists, by their names.
        write: the files of a model.
        calls: every call that is tried.
        matchers: questions, and the calls they are about, as expressions over
            the tool and the arguments of a call.
        said: what a call says beside the agent that it starts.
        longest: how many agents chains have that are tried.
        themes: items that one model has, in whichever list, beside those that no theme
            has: where there are many, those of two tools seldom meet.

    """

    host: str
    lists: Mapping[str, tuple[str, ...]]
    required: frozenset[str]
    options: Mapping[str, tuple[object, ...]]
    write: Callable[[Model], dict[str, str]] = values.field(repr=False)
    calls: tuple[Call, ...] = values.field(repr=False)
    matchers: Mapping[str, str]
    longest: int = 4
    said: tuple[dict[str, object], ...] = ({},)
    themes: tuple[tuple[str, ...], ...] = ((),)

    def load(self, model: Model) -> Workspace:
        """Return the workspace that the files of a model are."""
        return load_tree(Memory(self.write(model)))

    def project(self, model: Model) -> Project:
        """Return the one project of a model."""
        (project,) = self.load(model).projects
        return project

    def walks(self, project: Project, reading: str) -> Iterator[Chain]:
        """Yield the chains of a project, the shortest first."""
        return walks(project.reading(reading), project.all_starts, self.longest, self.said)

    def items(self, name: str, theme: tuple[str, ...]) -> list[str]:
        """Return what may stand in a list of a model that has a theme."""
        themed = {item for each in self.themes for item in each}
        listed = self.lists[name]
        return [item for item in listed if item in theme or item not in themed] or [*listed]

    def is_about(self, matcher: str, call: Call) -> bool:
        """Whether *matcher* matches *call*, both of this universe."""
        tool, arguments = call
        text = f"{tool} " + " ".join(map(str, arguments.values()))
        return re.fullmatch(self.matchers[matcher], text, re.DOTALL) is not None


@st.composite
def models(
    draw: st.DrawFn, universe: Universe, most: int = 3, theme: tuple[str, ...] | None = None
) -> Model:
    """Return a model of some lists, with at most so many items each."""
    if theme is None:
        theme = draw(st.sampled_from(universe.themes))
    lists = {}
    for name in universe.lists:
        if name in universe.required or draw(st.booleans()):
            items = st.sampled_from(universe.items(name, theme))
            lists[name] = tuple(draw(st.lists(items, max_size=most, unique=True)))
    options = {name: draw(st.sampled_from(some)) for name, some in universe.options.items()}
    return Model(lists, options)


def tried(law: Callable[[Universe, st.DataObject], None], universe: Universe, number: int) -> None:
    """Draw *number* policies of *universe* and assert that *law* holds of each.

    A policy of Claude Code has hundreds of lines of its own, so a third as many are drawn.
    """
    few = max(2, number // 3) if universe.host == "claude-code" else number

    def holds(data: st.DataObject) -> None:
        law(universe, data)

    holds.__name__ = law.__name__  # each law draws its own policies
    examples(few)(given(data=st.data())(holds))()


@st.composite
def edits(draw: st.DrawFn, universe: Universe, most: int = 3) -> tuple[Model, Model]:
    """Return a model, and the same with one or two items put in or left out, or options changed."""
    theme = draw(st.sampled_from(universe.themes))
    before = after = draw(models(universe, most, theme))
    for _ in range(draw(st.integers(1, 2))):
        if universe.options and draw(st.integers(0, 3)) == 0:
            name = draw(st.sampled_from(sorted(universe.options)))
            option = draw(st.sampled_from(universe.options[name]))
            after = values.evolve(after, options={**after.options, name: option})
            continue
        name = draw(st.sampled_from(sorted(universe.lists)))
        items = after.lists.get(name, ())
        if items and draw(st.booleans()):
            after = after.without(name, draw(st.integers(0, len(items) - 1)))
        else:
            new = draw(st.sampled_from(universe.items(name, theme)))
            after = after.replaced(name, (*items, *((new,) if new not in items else ())))
    return before, after


def walks(
    reading: Reading,
    starts: tuple[str, ...],
    longest: int,
    said: tuple[dict[str, object], ...] = ({},),
) -> Iterator[Chain]:
    """Yield every chain of at most so many agents, the shortest first.

    An agent is started by whichever call does, and by one that nobody asks about, if there is one.
    """
    chains = []
    for agent in starts:
        try:
            chains.append(Chain.start(agent, reading))
        except SpawnDenied:
            continue
    for _ in range(longest):
        yield from chains
        longer = []
        for chain in chains:
            for agent in reading.agents:
                started = []
                for each in said:
                    with suppress(SpawnDenied):
                        started.append(chain.spawn(agent, each))
                longer += sorted(started, key=lambda one: bool(one.links[-1].confirm))[:1]
        chains = longer


def calls_of(tool: str, field: str, texts: Iterator[str] | list[str] | str) -> list[Call]:
    return [(tool, {field: text}) for text in (texts.split() if isinstance(texts, str) else texts)]


def header(keys: dict[str, object]) -> str:
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    return f"---\n{lines}---\nYou work.\n"


# Commands of two words of two letters, and of one; paths of two segments.
COMMANDS = [*"abz", *(f"{one} {other}" for one, other in product("abz", repeat=2)), "a a b", "ab"]
PATHS = ["a", "b", "z", "a/a", "a/b", "a/z", "b/a", "z/a", "z/z", "a/z/b", "z/a/b"]
HOSTS = ["a.b", "z.b", "a.a.b", "z.a.b", "z.z.a.b", "a.z", "z.z"]
AGENTS = ("ann", "bob", "cy")

# What a call says beside the agent that it starts.
Beside = tuple[dict[str, object], ...]


def saying(*models: str) -> Beside:
    return tuple(
        {key: value for key, value in (("model", model), ("isolation", isolation)) if value}
        for model, isolation in product(("", *models), ("", "worktree"))
    )


SAID = saying("ma", "mz")


def starting(tool: str, agents: str, beside: Beside) -> list[Call]:
    return [(tool, {"subagent_type": agent, **said}) for agent in agents.split() for said in beside]
