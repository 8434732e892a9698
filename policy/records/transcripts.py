"""Transcripts of Claude Code: which calls were made, by which chain, and what they got.

A session is a file ``SESSION.jsonl``; what its subagents did lies beside it, in
``SESSION/subagents/agent-ID.jsonl``, and ``agent-ID.meta.json`` says who each of
them is and who started it. The format is private to the host; what is read here
is what 2.1.329 and 2.1.330 write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from policy.effect import Effect
from policy.errors import PolicyError
from policy.records.record import Record

__all__ = ["ROOT", "chain_of_agent", "is_transcript", "read_transcript"]

# The agent that a session is.
ROOT = "main"

# More levels than any version of the host starts; a circle ends here.
_DEEPEST = 16


def is_transcript(value: Mapping[str, object]) -> bool:
    """Return whether a line, parsed, is one of a transcript."""
    return "type" in value and ("sessionId" in value or "leafUuid" in value)


def chain_of_agent(folder: Path, agent: str) -> tuple[str, ...]:
    """Return the chain of the subagent with the id *agent*, by the files in *folder*.

    Args:
        folder: ``SESSION/subagents``.
        agent: its id.

    Raises:
        PolicyError: the files do not say who started it.

    """
    names: list[str] = []
    parent: str | None = agent
    for _ in range(_DEEPEST):
        if parent is None:
            return (ROOT, *reversed(names))
        name, parent = _started(folder / f"agent-{parent}.meta.json")
        names.append(name)
    msg = "the agents that started one another go round in a circle"
    raise PolicyError(msg, file=str(folder))


def _started(file: Path) -> tuple[str, str | None]:
    """Return the name of an agent, and the id of the one that started it."""
    try:
        said = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None
    name = said.get("agentType") if isinstance(said, dict) else None
    parent = said.get("parentAgentId") if isinstance(said, dict) else None
    depth = said.get("spawnDepth") if isinstance(said, dict) else None
    # An id is the name of a file in the same folder, and of no other.
    if not isinstance(name, str) or not (parent is None or _is_id(parent)):
        msg = "it does not say which agent made the calls, or who started it"
        raise PolicyError(msg, file=str(file))
    if parent is None and depth not in (None, 1):
        msg = f"an agent at depth {depth} was started by another, and it does not say by which"
        raise PolicyError(msg, file=str(file))
    return name, parent if isinstance(parent, str) else None


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum()


def read_transcript(
    file: Path, name: str, lines: Iterable[Mapping[str, object]]
) -> Iterator[Record]:
    """Yield the calls of one transcript, in the order of their results.

    Args:
        file: where it lies, which tells whose it is.
        name: what its places are told by.
        lines: its lines, parsed, in order.

    Raises:
        PolicyError: it does not say which chain made the calls.

    """
    chain = _chain(file)
    cwd = ""
    open_calls: dict[str, Record] = {}
    for number, said in enumerate(lines, 1):
        folder = said.get("cwd")
        cwd = cwd or (folder if isinstance(folder, str) else "")
        time = said.get("timestamp")
        for block in _blocks(said):
            match block:
                case {"type": "tool_use", "id": str(key), "name": str(tool), "input": dict(call)}:
                    open_calls[key] = Record(
                        chain,
                        tool,
                        call,
                        time=time if isinstance(time, str) else "",
                        cwd=cwd,
                        source=f"{name}:{number}",
                    )
                case {"type": "tool_result", "tool_use_id": str(key)} if key in open_calls:
                    effect = _effect(said.get("permissionDecision"))
                    yield attrs.evolve(open_calls.pop(key), effect=effect)
    yield from open_calls.values()


def _chain(file: Path) -> tuple[str, ...]:
    if file.parent.name == "subagents" and file.stem.startswith("agent-"):
        return chain_of_agent(file.parent, file.stem.removeprefix("agent-"))
    return (ROOT,)


def _blocks(said: Mapping[str, object]) -> list[object]:
    message = said.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _effect(said: object) -> Effect | None:
    """Return what the host decided, without the answer of a person who was asked."""
    if not isinstance(said, dict):
        return None
    source = said.get("source")
    if isinstance(source, str) and source.startswith("user_"):
        return Effect.ASK
    match said.get("decision"), source:
        case "accept", "config":
            return Effect.ALLOW
        case "reject", "config":
            return Effect.DENY
        case _:
            return None  # a hook, say: it was not the host's rules that decided
