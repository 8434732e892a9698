"""What hosts grant beyond what chains declare, against every chain tried one by one."""

from __future__ import annotations

import pytest
from hypothesis import given

from policy.analysis.reach import worklist as module
from policy.analysis.reach.audit import AgentAudit, Gaps, ReadingGap, audit, gap_groups
from policy.analysis.reach.chains import ComparedChains
from policy.analysis.reach.worklist import MANY_CHAINS
from policy.cli.audit import blocks
from policy.cli.report.terminal import PageLayout, terminal
from policy.cli.report.words import call_text
from policy.compare.samples import SAMPLED
from policy.core import values
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain, SpawnDenied
from tests.effort import examples
from tests.walks import CALLS, NAMES, SHIFTING, TEAMS, Shifting, team, walks


def _declared(project: Project, real: Chain) -> Chain | None:
    try:
        chain = Chain.start(real.names[0], project.attenuated)
        for name in real.names[1:]:
            chain = chain.spawn(name)
    except SpawnDenied:
        return None
    return chain


def _apart(project: Project, longest: int) -> set[tuple[str, str, bool]]:
    """Return agent, tool and direction of each call that the host decides otherwise somewhere."""
    found = set()
    for real in walks(project.enforced, project.starts, longest):
        declared = _declared(project, real)
        for tool, call in CALLS if declared is not None else ():
            before, after = (one.decide(tool, call).effect for one in (declared, real))  # type: ignore[union-attr]
            if before is not after:
                found.add((real.names[-1], tool if tool != "Other" else "", before < after))
    return found


@given(TEAMS, SHIFTING)
@examples(30)
def test_every_gap_that_some_chain_has_is_found_and_shown_by_a_chain(
    text: str, reading: Shifting
) -> None:
    project = values.evolve(team(text), enforced=reading)
    gaps = Gaps(project, {})
    named = {"Bash", "Read", "Task"}
    shown: set[tuple[str, str, bool]] = set()
    undecided = set()
    for agent in NAMES:
        found, why = gaps.find(agent)
        assert all(SAMPLED in reason for reason in why)
        undecided |= {agent} if why else set()
        for gap in found:
            _is_confirmed(project, agent, gap)
            shown.add((agent, gap.tool if gap.tool in named else "", gap.widened))
    apart = _apart(project, reading.deepest + 1)
    assert {each for each in apart if each[0] not in undecided} <= shown


def _is_confirmed(project: Project, agent: str, gap: ReadingGap) -> None:
    assert gap.chain[-1] == agent
    chains = [Chain.start(gap.chain[0], r) for r in (project.attenuated, project.enforced)]
    for name in gap.chain[1:]:
        chains = [chain.spawn(name) for chain in chains]
    decisions = [chain.decide(gap.tool, gap.call) for chain in chains]
    assert decisions == [gap.before, gap.after]
    assert gap.before.effect is not gap.after.effect


CLAUDE = {
    ".claude/agents/lead.md": "---\nname: lead\ndescription: d\ntools: Bash, Agent\n---\n",
    ".claude/agents/deep.md": "---\nname: deep\ndescription: d\ntools: Read, Agent\n---\n",
    ".claude/agents/worker.md": "---\nname: worker\ndescription: d\ntools: Bash, Read\n---\n",
}


def _agents(files: dict[str, str]) -> dict[str, AgentAudit]:
    (project,) = audit(load_tree(Memory(files))).projects
    return {agent.name: agent for agent in project.agents}


def test_an_ancestor_that_the_host_does_not_hold_to_its_list_is_an_escalation() -> None:
    worker = _agents(CLAUDE)["worker"]
    assert {chain.names for chain in worker.enforced} == {("main", "worker")}
    bash = {gap.chain for gap in worker.escalations if gap.tool == "Bash"}
    assert bash == {("main", "deep", "worker")}
    reading = {gap.chain for gap in worker.escalations if gap.tool == "Read"}
    assert reading == {("main", "lead", "worker")}
    assert all(gap.before.effect is Effect.DENY for gap in worker.escalations)


def test_what_is_compared_of_an_agent_does_not_grow_with_the_chains_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[object] = []
    compare = ComparedChains.compare
    monkeypatch.setattr(
        ComparedChains,
        "compare",
        lambda self, names: compared.append(names) or compare(self, names),
    )
    size = 6
    files = {
        f".claude/agents/a{n}.md": f"---\nname: a{n}\ndescription: d\ntools: Agent, T{n}\n---\n"
        for n in range(size)
    }
    agents = _agents(files)
    assert any(gap.widened for agent in agents.values() for gap in agent.escalations)
    # One for each list that some ancestor has, and a few on the last levels, where none of these
    # agents has a tool left; not one for each two lists.
    assert len(compared) <= (size + 6) * len(agents)


def test_no_chain_of_a_team_in_our_own_notation_escalates() -> None:
    text = "agent main {\n    allow Task, Bash\n}\nagent worker {\n    allow Bash(a *)\n}\n"
    for agent in _agents({"team.policy": text}).values():
        assert not agent.escalations
        assert not agent.why


def test_gaps_beyond_the_bound_are_said_to_be_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAIRS", 1)
    assert _agents(CLAUDE)["worker"].why == (MANY_CHAINS,)


def test_gaps_of_two_agents_with_equal_rules_are_reported_with_their_own_places() -> None:
    definition = "---\nname: {}\ndescription: d\ntools:\n  deny: [bash]\n---\nx\n"
    agents = _agents(
        {f".zeph/agents/{name}.md": definition.format(name) for name in ("one", "two")}
    )
    for name in ("one", "two"):
        files = {
            because.place.file
            for gap in agents[name].escalations
            for because in gap.before.because
            if because.place is not None and len(gap.chain) == 2
        }
        assert files == {f".zeph/agents/{name}.md"}


def test_a_file_that_commands_may_read_is_no_dead_letter() -> None:
    settings = '{"permissions": {"allow": ["Bash(cat:*)", "Read(~/.bashrc)", "Edit(~/notes)"]}}'
    workspace = load_tree(Memory({".claude/settings.json": settings}))
    main = next(agent for agent in audit(workspace).projects[0].agents if agent.name == "main")
    assert main.dead_letters == ()
    assert main.escalations == ()


def test_a_tool_is_reported_by_its_name_where_nothing_of_it_is_declared() -> None:
    lead = "---\nname: lead\ndescription: d\ntools: Read, Agent(worker)\n---\n"
    worker = CLAUDE[".claude/agents/worker.md"].replace("Read", "WebSearch")
    files = {".claude/agents/lead.md": lead, ".claude/agents/worker.md": worker}
    agents = _agents({**CLAUDE, **files})
    (own, *_), handed = (
        gap_groups(some, "escalations") for some in (agents.values(), [agents["worker"]])
    )
    # `lead` may start `worker`, and by the host whom it likes.
    assert [call_text(gap.tool, gap.call) for gap in own.gaps] == ["Agent(Explore)"]
    told = {call_text(gap.tool, gap.call) for group in handed for gap in group.gaps}
    # Some commands are auto-allowed.
    assert told == {"WebSearch", "Bash(npm install)", "Bash(git status)"}


def test_what_a_host_cuts_off_a_rule_of_a_tool_without_a_description_is_compared_exactly() -> None:
    text = "---\nname: ann\ndescription: works\ntools:\n  allow: ['other(a)']\n---\nYou work.\n"
    (project,) = load_tree(Memory({".zeph/agents/ann.md": text})).projects
    found, why = Gaps(project, {}).find("ann")
    assert not why
    gap, deeper = found
    # Zeph counts the depth anew for each agent, so its limit is never reached.
    assert (deeper.tool, len(deeper.chain)) == ("Task", 4)
    assert (gap.tool, gap.effects) == ("other", (Effect.DENY, Effect.ALLOW))
    assert gap.call["argument"] != "a"


def test_an_escalation_says_below_which_agent_it_is() -> None:
    text = "---\nname: {}\ndescription: d\ntools: {}\n---\nx\n"
    lists = {"mid": "Read, Agent", "low": "Read, Grep", "top": "Read, Agent, Grep"}
    tree = Memory({f".claude/agents/{n}.md": text.format(n, tools) for n, tools in lists.items()})
    found = [
        (group.agents, group.gaps[0].below, group.gaps[0].chain)
        for group in gap_groups(audit(load_tree(tree)).projects[0].agents, "escalations")
        if any(gap.tool == "Grep" for gap in group.gaps)
    ]
    # Nothing is taken from `low` where `main` or `top` starts it.
    assert found
    assert {below[0] for _, below, _ in found} == {"mid"}
    assert all({*below} <= {*chain[1:-1]} for _, below, chain in found)
    shown = terminal(blocks(audit(load_tree(tree)), 60), PageLayout(400))
    assert " started below mid: the host allows Grep(src/app.py)" in shown
