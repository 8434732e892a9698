"""LangChain: an agent and an explorer that it asks, guarded by `team.policy`.

pip install '.[bash,langchain]' langchain-anthropic    # in a clone of agent-policy
python langchain_team.py anthropic:claude-sonnet-4-5 'What is in src?'
"""

import subprocess
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

import policy
from policy.adapters import Guard
from policy.adapters.langchain import PolicyMiddleware


def team(model, project: Path):
    """Return the agent. Calls that are asked for interrupt it, as LangChain does it."""

    @tool
    def read_file(path: str) -> str:
        """Return the text of a file."""
        return (project / path).read_text()

    @tool
    def run_shell(command: str) -> str:
        """Run a command in the project."""
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True)
        return done.stdout + done.stderr

    @tool
    def ask_explorer(task: str) -> str:
        """Have an explorer look around."""
        state = explorer.invoke({"messages": [{"role": "user", "content": task}]})
        return state["messages"][-1].content

    workspace = policy.load(Path(__file__).parent / "team.policy", root=project)
    guard = Guard(
        workspace.chain("main"),
        names={"read_file": "Read", "run_shell": "Bash"},
        starts={"ask_explorer": "explore"},
        project=project,
    )
    tools = [read_file, run_shell]
    explorer = create_agent(model, tools, middleware=[PolicyMiddleware(guard.agent("explore"))])
    return create_agent(
        model,
        [*tools, ask_explorer],
        middleware=[PolicyMiddleware(guard)],
        checkpointer=InMemorySaver(),
    )


if __name__ == "__main__":
    name, task = sys.argv[1:]
    state = team(name, Path.cwd()).invoke(
        {"messages": [{"role": "user", "content": task}]}, {"configurable": {"thread_id": "1"}}
    )
    print(state["messages"][-1].content)
