"""What a call says beside the agent that it starts, e.g. the model, and who is reached by it."""

from __future__ import annotations

import pytest

from policy.adapters import Guard
from policy.analysis.reach.never import check
from policy.analysis.reach.query import query
from policy.analysis.reach.worklist import reach
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.notation import DIALECT
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_matcher
from policy.tables.chain import Chain, SpawnDenied
from tests.standings import shadowing

HAIKU = {"model": "haiku"}


def team(*lead: str, worker: str = "allow Read") -> str:
    lines = "".join(f"    {line}\n" for line in lead)
    return f"root lead\nagent lead {{\n{lines}}}\nagent worker {{\n    {worker}\n}}\n"


def lead(*rules: str) -> Chain:
    (project,) = load_tree(Memory({"team.policy": team(*rules)})).projects
    return Chain.start("lead", project.attenuated)


def reached(*rules: str) -> bool:
    """Whether the search over chains finds the worker, and a chain of it can be made."""
    chain = lead(*rules)
    (project,) = load_tree(Memory({"team.policy": team(*rules)})).projects
    found = "worker" in reach(project, project.attenuated).chains
    try:
        chain.spawn("worker")
    except SpawnDenied:
        assert not found
        return False
    assert found
    return True


def test_an_agent_that_one_model_alone_may_run_is_reached() -> None:
    text = team("allow Read, Task(model:haiku)") + "never lead > worker: Read\n"
    workspace = load_tree(Memory({"team.policy": text}))
    (project,) = workspace.projects
    (verdict,) = check(project, DIALECT)
    assert verdict.holds is False
    found = query(workspace, parse_matcher("Read"), readings=["attenuated"])
    assert [answer.agent for answer in found.answers] == ["lead", "worker"]


@pytest.mark.parametrize(
    ("rules", "can"),
    [
        (["allow Task(model:haiku)"], True),
        (["ask Task(model:haiku)"], True),
        (["allow Task(worker)", "deny Task(model:haiku)"], True),
        (["allow Task(model:haiku)", "deny Task(worker)"], False),
        (["allow Task(model:haiku)", "deny Task(model:h*)"], False),
        # One call says both, and what says neither is denied.
        (["allow Task(model:haiku)", "ask Task(isolation:worktree)"], True),
        (["deny Task(model:haiku)"], False),
        # More values than are tried together.
        ([f"allow Task(p{number}:x)" for number in range(1100)], True),
    ],
)
def test_an_agent_is_reached_where_some_call_may_start_it(rules: list[str], can: bool) -> None:
    assert reached(*rules) is can


def test_one_call_has_to_do_for_every_link_of_a_chain() -> None:
    text = """root lead
agent lead {
    allow Task(model:haiku), Task(middle), Read
}
agent middle {
    allow Task(model:opus), Read
}
agent worker {
    allow Read
}
"""
    (project,) = load_tree(Memory({"team.policy": text})).projects
    assert "worker" in reach(project, project.attenuated).chains  # of the lead
    middle = Chain.start("lead", project.attenuated).spawn("middle")
    with pytest.raises(SpawnDenied):
        middle.spawn("worker")
    assert {chain.names for chain in reach(project, project.attenuated).chains["worker"]} == {
        ("lead", "worker")
    }


def test_who_starts_an_agent_is_confirmed_where_no_call_goes_without() -> None:
    asked = lead("ask Task(model:haiku)").spawn("worker")
    assert asked.links[-1].confirm == ("lead",)
    free = lead("ask Task(worker)", "allow Task(model:haiku)").spawn("worker")
    assert free.links[-1].confirm == ("lead",)  # what asks stands before what allows
    assert not lead("allow Task(model:haiku)").spawn("worker").links[-1].confirm


def test_a_call_at_hand_is_decided_by_what_it_says() -> None:
    chain = lead("allow Task(model:haiku)")
    assert chain.spawning("worker").effect is Effect.DENY
    assert chain.spawning("worker", HAIKU).effect is Effect.ALLOW
    assert chain.spawning("worker", {"model": "opus"}).effect is Effect.DENY
    assert chain.most_starting("worker")[2].effect is Effect.ALLOW
    # Whom it starts is said once.
    assert chain.start_call("worker", {**HAIKU, "agent": "lead", "prompt": "x"}) == (
        "Task",
        {"subagent_type": "worker", **HAIKU},
    )


def test_a_guard_starts_an_agent_just_as_the_call_says() -> None:
    guard = Guard(lead("allow Task(model:haiku)"), starts={"ask_worker": "worker"})
    assert guard.check("ask_worker", HAIKU).effect is Effect.ALLOW
    assert guard.check("ask_worker", {}).effect is Effect.DENY
    assert guard.check("ask_worker", {"model": "opus"}).effect is Effect.DENY
    assert guard.check_start("worker").effect is Effect.DENY
    assert guard.check_start("worker", HAIKU).effect is Effect.ALLOW


def test_a_rule_is_no_more_redundant_because_another_looks_at_the_model() -> None:
    text = "root lead\nagent lead {\n    allow Task\n}\nagent worker {\n    inherit\n    allow Task(lead), Task(model:m)\n}\n"
    (project,) = load_tree(Memory({"team.policy": text})).projects
    found = {one.rule.rule: one for one in shadowing(project.attenuated.tables["worker"])}
    # Without it a call that names nobody is granted.
    assert found["Task(lead)"].what == "live"
    assert found["Task(model:m)"].what == "redundant"


def test_a_question_names_a_model_as_rules_do() -> None:
    workspace = load_tree(Memory({"team.policy": team("allow Task", "deny Task(model:opus)")}))
    asked = {
        model: [
            answer.agent
            for answer in query(
                workspace, parse_matcher(f"Task(model:{model})"), readings=["attenuated"]
            ).answers
        ]
        for model in ("opus", "haiku")
    }
    assert asked == {"opus": [], "haiku": ["lead"]}
