"""Changes of rules about agents, of which some come and some go: what `check` decides is reported."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from itertools import islice, permutations

import pytest

from policy.analysis.diff import Change, Diff, diff_workspaces
from policy.cli import main
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.chain import Chain, SpawnDenied

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

NAMES = ("main", "u", "w", "u2", "zz")
CALLS = [
    ("Task", {"subagent_type": name, **model}) for name in NAMES for model in ({}, {"model": "x"})
] + [("Task", {}), ("Read", {"file_path": "a"}), ("Write", {"file_path": "a"})]

# What an agent may say of the agents that it starts.
SAID = (
    "",
    "allow Task",
    "ask Task",
    "allow Task(u, main)",
    "allow Task(u*, *)",
    "allow Task(u*)",
    "allow Task(u, zz)",
    "allow Task(zz)",
    "ask Task(u, w)",
    "allow Task(u, w)",
    "allow Task(u)",
    "ask Task(u)",
    "allow Task(*); deny Task(u)",
    "allow Task(u, w); deny Task(model:x)",
    "allow Task(model:x)",
    "allow Task(u, w); delegate Read, Task(w)",
    "allow Task(u, w); delegate Task(u*)",
    "allow Task; limit depth 1",
)
OTHERS = (
    None,
    "allow Read",
    "allow Read, Task(w)",
    "inherit",
    "allow Task(u*, w)",
    "allow Write; ask Task(main)",
)


def text(said: str, **others: str | None) -> str:
    """Return a file in which main says something, and others do that are there."""
    agents = {"main": f"allow Read; {said}", **others}
    return "root main\n" + "\n".join(
        f"agent {name} {{\n{body.replace('; ', chr(10))}\n}}"
        for name, body in agents.items()
        if body is not None
    )


def workspace(file: str) -> Workspace:
    return load_tree(Memory({"a.policy": file}))


def chains(of: Workspace) -> Iterator[Chain]:
    """Yield every chain of at most three agents."""
    waiting = [of.chain("main")]
    while waiting:
        chain = waiting.pop()
        yield chain
        for name in NAMES if len(chain.links) < 3 else ():
            with contextlib.suppress(SpawnDenied):
                waiting.append(chain.spawn(name))


def told(diff: Diff, agent: str) -> list[Change]:
    """Return the changes of chains that end in an agent."""
    return [
        change
        for change in diff.changes
        if any(chain[-1] == agent for chain in (change.chain, *change.also))
    ]


def check(before: str, after: str) -> None:
    """Compare what is told of two files with what each chain decides of each call."""
    old, new = workspace(before), workspace(after)
    diff = diff_workspaces(old, new)
    sides = [{chain.names: chain for chain in chains(side)} for side in (old, new)]
    for names in {*sides[0], *sides[1]}:
        own = told(diff, names[-1])
        if any(names not in side for side in sides):
            parents = [side.get(names[:-1]) for side in sides]
            call = {"subagent_type": names[-1]}
            if all(chain and chain.decide("Task", call).effect is not DENY for chain in parents):
                what = "agent-added" if names in sides[1] else "agent-removed"
                assert what in [change.what for change in own], names
            continue  # or the call that starts it is told, or an agent in front of it
        rules = [change.difference.effects for change in own if change.what == "rule"]
        for tool, call in CALLS:
            effects = tuple(side[names].decide(tool, call).effect for side in sides)
            if not call and ALLOW not in effects:
                continue  # it starts no agent, and no side takes it
            if effects[0] is not effects[1]:
                assert effects in rules or not diff.exact, (names, tool, call, effects)
    for change in diff.changes:
        there = [side.get(change.chain) for side in sides]
        difference = change.difference
        if change.what != "rule":  # its call is the one that starts the last agent
            chain = sides[change.what == "agent-added"][change.chain[:-1]]
            effect = (difference.before, difference.after)[change.what == "agent-added"].effect
            assert chain.decide(difference.tool, difference.call).effect is effect
            continue
        decided = [
            chain.decide(difference.tool, difference.call).effect for chain in there if chain
        ]
        assert decided == [*difference.effects]


@pytest.mark.parametrize("u", [None, "allow Read"])
@pytest.mark.parametrize("v", [None, "allow Read"])
def test_every_rule_about_agents_that_come_or_go_is_reported(u: str | None, v: str | None) -> None:
    # A third of all pairs, and together each of them: by whether `u` comes, goes or stays.
    for before, after in islice(permutations(SAID, 2), (u is None) + (v is None), None, 3):
        check(text(before, u=u, w="allow Read"), text(after, u=v, w="allow Read"))


@pytest.mark.parametrize("seed", range(8))
def test_what_is_reported_of_drawn_agents_is_what_is_decided(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(25):
        files = [
            text(draw.choice(SAID), **{name: draw.choice(OTHERS) for name in ("u", "w", "zz")})
            for _ in range(2)
        ]
        check(*files)


def test_a_widened_rule_counts_though_the_first_agent_that_it_names_is_gone() -> None:
    before = text("ask Task(x, w)", x="allow Read", w="allow Read")
    after = text("allow Task(x, w)", w="allow Read")
    diff = diff_workspaces(workspace(before), workspace(after))
    assert diff.exact
    assert [(c.what, c.difference.effects) for c in diff.changes] == [
        ("rule", (ASK, ALLOW)),
        ("agent-removed", (ASK, DENY)),
    ]


@pytest.mark.parametrize("rule", ["Task(u, main)", "Task(u*, *)", "Task(u*)", "Task(u, zz)"])
def test_a_rule_whose_first_agent_goes_fails_on_widened(tmp_path, capsys, rule: str) -> None:
    for name, file in (
        ("old", text("", u="allow Read")),
        ("new", text(f"allow {rule}")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.policy").write_text(file)
    sides = [str(tmp_path / name) for name in ("old", "new")]
    assert main(["diff", *sides, "--fail-on", "widened"]) == 1
    assert f"allow {rule}" in capsys.readouterr().out
    assert main(["diff", *sides[::-1], "--fail-on", "widened"]) == 0


@pytest.mark.parametrize("effect", ["allow", "ask"])
def test_an_agent_that_comes_is_reported_with_what_its_start_gets(effect: str) -> None:
    before, after = text(f"{effect} Task"), text(f"{effect} Task", u="allow Read")
    (change,) = diff_workspaces(workspace(before), workspace(after)).changes
    assert (change.what, change.difference.effects) == ("agent-added", (DENY, Effect(effect)))
    (change,) = diff_workspaces(workspace(after), workspace(before)).changes
    assert (change.what, change.difference.effects) == ("agent-removed", (Effect(effect), DENY))
