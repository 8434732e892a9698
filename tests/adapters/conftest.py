"""The policy that every runtime is tested with."""

from __future__ import annotations

from pathlib import Path

import pytest

import policy
from policy.adapters import Guard
from policy.tables.chain import Chain

TEAM = """
root main

agent main {
    allow     look, ask_explorer, Bash(ls *), Task(explore, careless)
    ask       send, Task(careful)
    deny      Bash(rm *)
}

agent explore {
    allow     look, Bash(ls *), Bash(cat *)
}

agent careless {
    allow     *
    deny      look
}

agent careful {
    allow     look
}
"""
STARTS = {"ask_explore": "explore", "ask_careless": "careless", "ask_careful": "careful"}


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    """The chain of the agent that starts."""
    (tmp_path / "team.policy").write_text(TEAM)
    workspace = policy.load(tmp_path)
    assert not workspace.findings
    return workspace.chain("main")


@pytest.fixture
def guard(chain: Chain) -> Guard:
    """Guards of `main` and the agents that it starts, by their tools."""
    return Guard(chain, names={"shell": "Bash"}, starts=STARTS)
