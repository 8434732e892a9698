"""A session of Claude Code with the hook: its project, its notes, and the answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from policy.adapters.hook import client
from policy.adapters.hook.deciding import HookDecider, block_message, options_of
from policy.core.errors import PolicyError

__all__ = ["CLIENT", "POLICY", "WIDER", "Session", "end_residents", "said"]

CLIENT = client.__file__
POLICY = """\
root main
agent main {
    allow Read, Bash(git *), Task(lead, helper, worker, fork), mcp__db__*, Edit(src/**)
    ask   Bash(git push *)
    deny  Bash(git push --force *), Edit(src/secret/**)
}
agent lead {
    allow Read, Bash(git status), Task(worker, fork)
}
agent worker {
    allow Read, Bash, Edit
}
agent helper {
    allow Read, Bash(git log *), Task(worker)
}
"""
WIDER = POLICY.replace("deny  Bash(git push --force *),", "deny ").replace(
    "ask   Bash(git push *)", ""
)


class Session:
    """A project, a home folder, and the hook run in them."""

    def __init__(self, folder: Path, home: Path | None) -> None:
        self.project = folder / "project"
        (self.project / ".claude" / "agents").mkdir(parents=True)
        self.home = home or folder / "home"
        self.home.mkdir(exist_ok=True)
        self.runtime = Path(tempfile.mkdtemp(prefix="hook-"))
        self.transcript = folder / "session.jsonl"
        self.notes = folder / "session" / "subagents"
        self.decider = HookDecider()
        self.environment = {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "CLAUDE_PROJECT_DIR": str(self.project),
        }

    def write(self, name: str, text: str) -> None:
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def note(self, agent: str, kind: str, parent: str | None, depth: int, **more) -> Path:
        self.notes.mkdir(parents=True, exist_ok=True)
        file = self.notes / f"agent-{agent}.meta.json"
        value = {"agentType": kind, "parentAgentId": parent, "spawnDepth": depth, **more}
        file.write_text(json.dumps({key: v for key, v in value.items() if v is not None}))
        return file

    def event(self, tool: str, call: object, **more) -> dict[str, object]:
        return {
            "session_id": "s",
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": call,
            "tool_use_id": "t",
            **more,
        }

    def run(self, data: bytes, *options: str, environment: dict[str, str] | None = None):
        """Return a process that was given *data*: a busy machine keeps it from no answer."""
        patient = () if "--deadline" in options else ("--deadline", "300")
        return subprocess.run(
            [sys.executable, "-I", "-S", CLIENT, *patient, *options],
            input=data,
            capture_output=True,
            env=self.environment if environment is None else environment,
            cwd=self.project,
            check=False,
        )

    def answer(self, tool: str, call: object, *options: str, **more) -> tuple[str, str]:
        """Return what the host is told, and why; "" where it decides by itself."""
        data = json.dumps(self.event(tool, call, **more)).encode()
        return said(self.decider.answer(options_of(options), self.environment, data))

    def effect(self, tool: str, call: object, *options: str, **more) -> str:
        return self.answer(tool, call, *options, **more)[0]

    def bash(self, command: str, *options: str, **more) -> str:
        return self.effect("Bash", {"command": command}, *options, **more)

    def new_process(self, command: str, *options: str, **more) -> str:
        """Return the answer of a new process."""
        data = json.dumps(self.event("Bash", {"command": command})).encode()
        done = self.run(data, *options, **more)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        return said(done.stdout)[0]

    def blocked(self, data: bytes, *options: str) -> str:
        with pytest.raises(PolicyError) as error:
            self.decider.answer(options_of(options), self.environment, data)
        return why(block_message(error.value))

    def blocked_process(self, data: bytes, *options: str, **more) -> str:
        done = self.run(data, *options, **more)
        assert (done.returncode, done.stdout) == (2, b"")
        return why(done.stderr.decode())

    def good(self) -> bytes:
        return json.dumps(self.event("Read", {"file_path": str(self.project / "a")})).encode()


def said(printed: bytes) -> tuple[str, str]:
    """Return what one JSON object on one line says."""
    assert printed.count(b"\n") == 1
    found = json.loads(printed)
    if found == {}:
        return "", ""
    found = found["hookSpecificOutput"]
    assert found.pop("hookEventName") == "PreToolUse"
    return found["permissionDecision"], found.get("permissionDecisionReason", "")


def why(told: str) -> str:
    assert told.startswith("This call is blocked: ")
    assert told.count("\n") == 1
    assert told.isascii()
    return told.removeprefix("This call is blocked: ").strip()


def end_residents(runtime: Path) -> None:
    for lock in runtime.rglob("*.lock"):
        if pid := lock.read_text().strip():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
