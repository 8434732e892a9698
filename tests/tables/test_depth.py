"""Limits of depth: what every answer says of an agent that may start nobody."""

from __future__ import annotations

from itertools import product

import pytest

from policy.analysis.reach.never import check
from policy.analysis.reach.query import query
from policy.cli import main
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.notation import DIALECT
from policy.hosts.workspace import Workspace, load_tree
from policy.language.parse import parse_matcher
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.compiled import compiled_from_json, compiled_to_json

FILE = """root a
agent a {
    allow Read
    ask Bash
    %s Task(k)
    limit depth %d
}
agent k {
    allow Read, Task
    %s
}
never %s: Task
"""


def workspace(effect: str = "allow", depth: int = 0, own: str = "", never: str = "a") -> Workspace:
    return load_tree(Memory({"a.policy": FILE % (effect, depth, own, never)}))


def spawned(chain: Chain, agent: str) -> bool:
    """Return whether a chain may start an agent, checked as the embedding program does."""
    try:
        chain.spawn(agent)
    except SpawnDenied:
        return False
    return True


@pytest.mark.parametrize(
    ("effect", "depth", "own"),
    [*product(["allow", "ask"], [0, 1, 2], ["", "limit depth 0", "limit depth 9"])],
)
def test_check_query_and_never_agree_with_who_may_be_started(
    effect: str, depth: int, own: str
) -> None:
    team = workspace(effect, depth, own)
    waiting, starting = [team.chain("a")], set()
    while waiting:
        chain = waiting.pop()
        for agent, tool, field in product("ak", ("Task", "Agent"), ("subagent_type", "agent")):
            granted = chain.decide(tool, {field: agent}).effect is not Effect.DENY
            assert granted == spawned(chain, agent), chain
            if granted:
                starting.add(chain.names[-1])
        waiting += [chain.spawn(agent) for agent in "ak" if spawned(chain, agent)]
    for matcher in ("Task", "Agent(k)", "Task(k*)"):
        answers = query(team, parse_matcher(matcher)).answers
        assert {answer.agent for answer in answers} == starting
    (verdict,) = check(team.projects[0], DIALECT)
    assert verdict.holds is ("a" not in starting)


def test_an_agent_at_its_limit_is_told_why_it_starts_nobody(tmp_path, capsys) -> None:
    decision = workspace().chain("a").decide("Task", {"subagent_type": "k"})
    assert (decision.reason, decision.links) == (Reason.DEPTH, ("a",))
    assert workspace().chain("a").decide("Read", {"file_path": "x"}).effect is Effect.ALLOW
    (tmp_path / "a.policy").write_text(FILE % ("allow", 0, "", "a"))
    assert main(["check", str(tmp_path), "Task(k)"]) == 1
    assert "a limit of depth is reached" in capsys.readouterr().out


@pytest.mark.parametrize("reading", ["attenuated", "enforced"])
def test_a_fork_on_the_last_level_of_claude_code_starts_nobody(reading: str) -> None:
    team = load_tree(Memory({".claude/settings.json": "{}"}))
    (project,) = team.projects
    chain = Chain.start("main", project.reading(reading))
    while spawned(chain, "claude"):
        assert chain.decide("Agent", {"subagent_type": "claude"}).effect is not Effect.DENY
        last, chain = chain, chain.spawn("claude")
    fork = last.spawn("fork")
    assert not spawned(fork, "claude")
    assert fork.decide("Agent", {"subagent_type": "claude"}).effect is Effect.DENY


LIMITED = """root main
agent main {
    allow Read, Task
    limit turns 5, depth 1
}
agent explore {
    allow Read, Task(worker)
}
agent worker {
    allow Read
}
"""


def test_a_refusal_names_the_limit_with_its_agent_and_place() -> None:
    team = load_tree(Memory({"t.policy": LIMITED}))
    chain = team.chain("main", "explore")
    (because,) = chain.decide("Task", {"subagent_type": "worker"}).because
    told = (because.rule, because.link, str(because.place))
    assert told == ("limit depth 1", "main", "t.policy:4:20")
    with pytest.raises(SpawnDenied, match=r"^`worker` may not be started here: .*main at t.policy"):
        chain.spawn("worker")


@pytest.mark.parametrize(("own", "whose"), [(0, "explore"), (9, "main")])
def test_the_tighter_of_two_limits_is_named(own: int, whose: str) -> None:
    text = LIMITED.replace("Task(worker)", f"Task(worker)\n    limit depth {own}")
    chain = load_tree(Memory({"t.policy": text})).chain("main", "explore")
    (because,) = chain.decide("Task", {"subagent_type": "worker"}).because
    assert because.link == whose


def test_a_compiled_policy_keeps_the_place_of_a_limit() -> None:
    team = load_tree(Memory({"t.policy": LIMITED}))
    again = compiled_from_json(compiled_to_json(team).encode()).chain("main", "explore")
    call = {"subagent_type": "worker"}
    assert again.decide("Task", call) == team.chain("main", "explore").decide("Task", call)
