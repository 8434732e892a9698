"""Claude Agent SDK: a session and an explorer that it starts, guarded by `team.policy`.

pip install '.[bash,claude-agent-sdk]'    # in a clone of agent-policy
python claude_agent_sdk_team.py 'What is in src?'
"""

import asyncio
import sys
from pathlib import Path

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, query

import policy
from policy.adapters import Guard
from policy.adapters.claude_agent_sdk import guarded


def team(project: Path, **more):
    """Return the options of a session. Without `ask`, calls that are asked for are denied."""
    workspace = policy.load(Path(__file__).parent / "team.policy", root=project)
    explorer = AgentDefinition(description="Looks around.", prompt="Answer what you are asked.")
    options = ClaudeAgentOptions(cwd=project, agents={"explore": explorer}, **more)
    return guarded(options, Guard(workspace.chain("main"), project=project))


async def main(task: str) -> None:
    """Print the messages of one session."""
    async for message in query(prompt=task, options=team(Path.cwd())):
        print(message)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
