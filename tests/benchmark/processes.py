"""What a hook costs as a process, against the start of an interpreter that does nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from policy.hook import client
from tests.benchmark.figures import Figure, Scale
from tests.benchmark.workload import policy_text

__all__ = ["process_figures"]

_BARE = [sys.executable, "-c", "pass"]
_HOOK = [sys.executable, "-I", "-S", client.__file__]
# What settings that a project shares name: where this package is installed, it is there.
_SCRIPT = Path(sys.executable).with_name("policy-hook")
_TARGET = 2.0


def process_figures(scale: Scale) -> Iterator[Figure]:
    """Yield what one hook process costs, with a resident process and without."""
    runs = 30 if scale.calls >= 1_000 else 3
    rules = min(scale.largest, 1_000)
    with tempfile.TemporaryDirectory(prefix="hook-") as folder:
        session = _Session(Path(folder), policy_text(scale.workload(rules).rules))
        try:
            yield from session.figures(runs, rules)
        finally:
            session.end()


class _Session:
    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        self.runtime = folder / "run"
        project = folder / "project"
        for each in (project, self.runtime, folder / "home"):
            each.mkdir(mode=0o700)
        (project / "team.policy").write_text(text)
        self.environment = {
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "CLAUDE_PROJECT_DIR": str(project),
        }
        event = {
            "hook_event_name": "PreToolUse",
            "cwd": str(project),
            "tool_name": "Bash",
            "tool_input": {"command": "git status --short"},
        }
        self.event = json.dumps(event).encode()

    def figures(self, runs: int, rules: int) -> Iterator[Figure]:
        """Yield the figures of *runs* processes of each kind, by turns."""
        kinds = {
            "bare": _BARE,
            "resident": [*_HOOK, "--resident"],
            "alone": _HOOK,
        }
        if _SCRIPT.exists():
            kinds["script"] = [str(_SCRIPT), "--resident"]
        first = self._run(kinds["resident"])  # which leaves the process behind
        path = Path(str(client.socket_path(self.environment)))
        while not path.exists():
            time.sleep(0.01)
        answers = {self._run(kinds[name]) for name in kinds if name != "bare"} | {first}
        if len(answers) > 1:
            msg = f"hooks disagree: {answers}"
            raise AssertionError(msg)
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(runs):
            for name, command in kinds.items():
                start = time.perf_counter()
                self._run(command)
                times[name].append((time.perf_counter() - start) * 1e3)
        bare = median(times["bare"])
        for name, what, target in (
            ("resident", "one hook process", _TARGET),
            ("script", "the same by `policy-hook`", _TARGET),
            ("alone", "the same, no resident process", None),
        ):
            if name not in times:
                continue
            took = median(times[name])
            ratio = took / bare
            yield Figure(
                f"{what}, {rules:,} rules",
                {"median_ms": took, "bare_ms": bare, "ratio": ratio},
                f"{took:.1f} ms = {ratio:.2f}x python -c pass",
                f"≤ {target:g}x" if target else "",
                ratio <= target if target else None,
            )

    def _run(self, command: Sequence[str]) -> bytes:
        return subprocess.run(
            command,
            input=self.event,
            stdout=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
            check=True,
        ).stdout

    def end(self) -> None:
        """End the process that stayed."""
        for lock in self.runtime.rglob("*.lock"):
            if pid := lock.read_text().strip():
                os.kill(int(pid), signal.SIGTERM)
