"""Google ADK: an agent and an explorer that it asks, guarded by `team.policy`.

pip install '.[bash,google-adk]'    # in a clone of agent-policy
python google_adk_team.py gemini-2.5-flash 'What is in src?'
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool

import policy
from policy.adapters import Guard
from policy.adapters.google_adk import PolicyPlugin


def team(model, project: Path):
    """Return a runner. Calls that are asked for request a confirmation, as ADK does it."""

    def read_file(path: str) -> str:
        """Return the text of a file."""
        return (project / path).read_text()

    def run_shell(command: str) -> str:
        """Run a command in the project."""
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True)
        return done.stdout + done.stderr

    workspace = policy.load(Path(__file__).parent / "team.policy", root=project)
    guard = Guard(
        workspace.chain("main"), names={"read_file": "Read", "run_shell": "Bash"}, project=project
    )
    tools = [read_file, run_shell]
    # The name of the agent is that of the policy: the tool that runs it starts `explore`.
    explorer = LlmAgent(name="explore", model=model, tools=tools, description="Looks around.")
    agent = LlmAgent(name="main", model=model, tools=[*tools, AgentTool(explorer)])
    return InMemoryRunner(app=App(name="team", root_agent=agent, plugins=[PolicyPlugin(guard)]))


if __name__ == "__main__":
    name, task = sys.argv[1:]
    asyncio.run(team(name, Path.cwd()).run_debug(task))
