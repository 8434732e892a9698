"""Every chain up to a length, one spawn at a time: the oracle of what searches over chains find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hypothesis import strategies as st

from policy.core import values
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain, Link, Reading, SpawnDenied, usual_spawn_call
from policy.tables.table import Table
from tests.strategies import table

__all__ = ["CALLS", "NAMES", "SHIFTING", "TEAMS", "Shifting", "team", "walks"]

NAMES = ("ann", "ben", "cat")

_MATCHERS = (
    "Bash(a *)",
    "Bash(b *)",
    "Bash",
    "Read",
    *(f"Task({name})" for name in (*NAMES, "nobody")),
    "Task",
    "Task(model:m)",
)

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("Bash", {"command": "a x"}),
    ("Bash", {"command": "b x"}),
    ("Bash", {"command": "c"}),
    ("Read", {"file_path": "f"}),
    *(("Task", {"subagent_type": name}) for name in (*NAMES, "nobody")),
    ("Other", {}),
)


@st.composite
def _agents(draw: st.DrawFn) -> str:
    some = st.lists(st.sampled_from(_MATCHERS), max_size=3, unique=True)
    text = "root ann\n" if draw(st.booleans()) else ""
    for name in NAMES:
        inherits = draw(st.integers(0, 3)) == 0 and name != "ann"
        body = ["inherit"] if inherits else ["allow Task"] * draw(st.integers(0, 1))
        for statement in ("allow", "allow", "ask", "deny"):
            if matchers := draw(some):
                body.append(f"{statement} {', '.join(matchers)}")
        delegate = draw(st.integers(0, 3))
        if delegate == 0:
            body.append("delegate *")
        elif delegate == 1 and (matchers := draw(some)):
            body.append(f"delegate {', '.join(matchers)}")
        if draw(st.integers(0, 3)) == 0:
            body.append(f"limit depth {draw(st.integers(0, 2))}")
        text += f"agent {name} {{\n" + "".join(f"    {line}\n" for line in body) + "}\n"
    return text


TEAMS: st.SearchStrategy[str] = _agents()


def team(text: str) -> Project:
    """Return the project that a policy in our notation is."""
    (project,) = load_tree(Memory({"team.policy": text})).projects
    return project


def walks(reading: Reading, starts: Iterable[str], longest: int) -> Iterator[Chain]:
    """Yield every chain of at most so many agents, the shortest first."""
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
            for agent in (*reading.agents, "nobody"):
                try:
                    longer.append(chain.spawn(agent))
                except SpawnDenied:
                    continue
        chains = longer


@values.frozen(eq=False)
class Shifting:
    """A host in which nothing only narrows.

    What an agent may do depends on a number that each step moves on, on whether
    the agent before it was the same, and on how many there were.

    Attributes:
        tables: agent -> what it may do by that number.
        deepest: agents that may stand before one.

    """

    tables: dict[str, tuple[Table, ...]]
    deepest: int = 3
    name: str = "enforced"

    spawn_call = staticmethod(usual_spawn_call)

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self.tables)

    def start(self, agent: str) -> Link:
        return Link(agent, self.tables[agent][0], 0, 0)

    def step(self, parent: Link, agent: str) -> Link:
        if parent.depth >= self.deepest:
            raise SpawnDenied(agent, parent.name, "depth")
        if parent.name == agent:
            return Link(agent, parent.table, parent.depth + 1, parent.state)
        choices = self.tables[agent]
        state = (int(str(parent.state)) + 1) % len(choices)
        return Link(agent, choices[state], parent.depth + 1, state)


_RULES = (
    "deny Task(ann)",
    "ask Task(ben)",
    "deny Task(cat)",
    "allow Bash(a *)",
    "ask Bash(b *)",
    "allow Read",
)

SHIFTING: st.SearchStrategy[Shifting] = st.builds(
    Shifting,
    st.fixed_dictionaries(
        {
            name: st.lists(
                st.lists(st.sampled_from(_RULES), max_size=3, unique=True),
                min_size=1,
                max_size=3,
            ).map(lambda choices: tuple(table("allow Task", *rules) for rules in choices))
            for name in NAMES
        }
    ),
    deepest=st.integers(0, 4),
)
