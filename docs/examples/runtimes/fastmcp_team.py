"""FastMCP: a server whose tools are guarded by `team.policy`.

pip install '.[bash,fastmcp]'    # in a clone of agent-policy
python fastmcp_team.py
"""

import subprocess
from pathlib import Path

from fastmcp import FastMCP

import policy
from policy.adapters import Guard
from policy.adapters.fastmcp import PolicyMiddleware


def team(project: Path):
    """Return the server. Calls that are asked for reach the person at the client."""
    server = FastMCP("project")

    @server.tool
    def read_file(path: str) -> str:
        """Return the text of a file."""
        return (project / path).read_text()

    @server.tool
    def run_shell(command: str) -> str:
        """Run a command in the project."""
        done = subprocess.run(command, shell=True, cwd=project, capture_output=True, text=True)
        return done.stdout + done.stderr

    workspace = policy.load(Path(__file__).parent / "team.policy", root=project)
    names = {"read_file": "Read", "run_shell": "Bash"}
    server.add_middleware(
        PolicyMiddleware(Guard(workspace.chain("main"), names=names, project=project))
    )
    return server


if __name__ == "__main__":
    team(Path.cwd()).run()
