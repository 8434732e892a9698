"""OpenAI Agents: an agent and an explorer that it asks, guarded by `team.policy`.

pip install '.[bash,openai-agents]'    # in a clone of agent-policy
python openai_agents_team.py gpt-5 'What is in src?'
"""

import subprocess
import sys
from pathlib import Path

from agents import Agent, Runner, function_tool

import policy
from policy.adapters import Guard
from policy.adapters.openai_agents import guarded


def team(model, project: Path):
    """Return the agent. Calls that are asked for interrupt the run (`result.interruptions`)."""

    @function_tool
    def read_file(path: str) -> str:
        """Return the text of a file."""
        return (project / path).read_text()

    @function_tool
    def run_shell(command: str) -> str:
        """Run a command in the project."""
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True)
        return done.stdout + done.stderr

    workspace = policy.load(Path(__file__).parent / "team.policy", root=project)
    guard = Guard(
        workspace.chain("main"),
        names={"read_file": "Read", "run_shell": "Bash"},
        starts={"ask_explorer": "explore"},
        project=project,
    )
    tools = [read_file, run_shell]
    explorer = guarded(Agent(name="explore", model=model, tools=tools), guard.agent("explore"))
    ask = explorer.as_tool(
        tool_name="ask_explorer", tool_description="Have an explorer look around."
    )
    return guarded(Agent(name="main", model=model, tools=[*tools, ask]), guard)


if __name__ == "__main__":
    name, task = sys.argv[1:]
    print(Runner.run_sync(team(name, Path.cwd()), task).final_output)
