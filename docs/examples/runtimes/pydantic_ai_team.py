"""Pydantic AI: an agent and an explorer that it asks, guarded by `team.policy`.

pip install '.[bash,pydantic-ai]' 'pydantic-ai-slim[anthropic]'    # in a clone of agent-policy
python pydantic_ai_team.py anthropic:claude-sonnet-4-5 'What is in src?'
"""

import subprocess
import sys
from pathlib import Path

from pydantic_ai import Agent

import policy
from policy.adapters import Guard
from policy.adapters.pydantic_ai import PolicyCapability


def team(model, project: Path):
    """Return the agent. Calls that are asked for are deferred, as Pydantic AI does it."""

    def read_file(path: str) -> str:
        """Return the text of a file."""
        return (project / path).read_text()

    def run_shell(command: str) -> str:
        """Run a command in the project."""
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True)
        return done.stdout + done.stderr

    async def ask_explorer(task: str) -> str:
        """Have an explorer look around."""
        return (await explorer.run(task)).output

    workspace = policy.load(Path(__file__).parent / "team.policy", root=project)
    guard = Guard(
        workspace.chain("main"),
        names={"read_file": "Read", "run_shell": "Bash"},
        starts={"ask_explorer": "explore"},
        project=project,
    )
    tools = [read_file, run_shell]
    explorer = Agent(model, tools=tools, capabilities=[PolicyCapability(guard.agent("explore"))])
    return Agent(model, tools=[*tools, ask_explorer], capabilities=[PolicyCapability(guard)])


if __name__ == "__main__":
    name, task = sys.argv[1:]
    print(team(name, Path.cwd()).run_sync(task).output)
