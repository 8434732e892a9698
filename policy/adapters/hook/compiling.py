"""Compiles the files of a session. A module of its own, since it loads the parsers."""

from __future__ import annotations

from typing import Final

from policy.adapters.hook.sources import MANAGED, USER, Sources
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.opening import is_unreadable
from policy.files.text import decode
from policy.files.trees import Memory
from policy.hosts import notation
from policy.hosts.claude import front_end as claude
from policy.hosts.workspace import load_tree
from policy.tables.codec.writing import compiled_to_json

__all__ = ["compiled_sources"]

_USER: Final = f".claude/{USER}/settings.json"


def compiled_sources(sources: Sources) -> bytes:
    """Return the compiled policy of *sources*.

    Raises:
        PolicyError: a file cannot be read, or there is no file.

    """
    files = dict(sources.files)
    if not files:
        msg = "no policy here says what an agent of this host may do"
        raise PolicyError(msg, file=sources.places.project)
    options = claude.ClaudeOptions(
        # The host itself asks for what its mode asks for.
        mode="default",
        cwd=sources.places.project.rstrip("/"),
        home=sources.places.home.rstrip("/"),
        # Unknown agents have the rights of the agent that starts them.
        unknown_agents=True,
        user=_settings(files.pop(_USER, None), _USER),
        managed=_settings(files.pop(MANAGED, None), MANAGED),
    )
    tree = Memory(files, sources.places.project)
    workspace = load_tree(tree, front_ends=(claude.ClaudeFrontEnd(options), notation))
    for finding in workspace.findings:
        if is_unreadable(finding):
            raise PolicyError(finding.message, finding.span, help=finding.help, file=finding.file)
    # A hook never needs the `enforced` reading, which takes longest to compile.
    return compiled_to_json(workspace, positions=0).encode()


def _settings(data: bytes | None, name: str) -> Source | None:
    return None if data is None else decode(name, data)
