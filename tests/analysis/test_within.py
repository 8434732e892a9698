"""Which chains an audit leaves out, against what the tables of all of them decide."""

from __future__ import annotations

from hypothesis import given

from policy.analysis.reach.audit import _distinct
from policy.analysis.reach.worklist import reach
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from tests.effort import examples
from tests.walks import CALLS, SHIFTING, TEAMS, Shifting, team

CLAUDE = {
    ".claude/settings.json": '{"permissions": {"allow": ["Bash(git *)"], "deny": ["Read(.env)"]}}',
    ".claude/agents/lead.md": "---\nname: lead\ndescription: d\ntools: Bash, Agent, TaskList\n---\n",
    ".claude/agents/reader.md": "---\nname: reader\ndescription: d\ntools: Read\n---\n",
}


@given(TEAMS, SHIFTING)
@examples(60)
def test_what_is_left_out_grants_nothing_beyond_what_is_kept(text: str, reading: Shifting) -> None:
    for agent, chains in reach(team(text), reading).chains.items():
        kept = _distinct(chains)
        assert kept[:1] == chains[:1], agent
        for left in (chain for chain in chains if chain not in kept):
            assert any(
                all(left.decide(*call).effect <= one.decide(*call).effect for call in CALLS)
                for one in kept
            )


def test_agents_of_agents_are_reported_where_they_get_other_tools() -> None:
    (project,) = load_tree(Memory(CLAUDE)).projects
    found = reach(project, project.enforced).widest
    told = {agent: [chain.names for chain in _distinct(chains)] for agent, chains in found.items()}
    assert told["reader"] == [("main", "reader")]
    # `TaskList` is there for agents of agents alone.
    assert told["lead"] == [("main", "lead"), ("main", "claude", "lead")]
    assert told["fork"] == [("main", "fork")]
    assert len(found["fork"]) > 1
