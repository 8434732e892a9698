"""What a hook costs as a process, against the start of an interpreter that does nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from policy.adapters.hook import client, handover
from tests.benchmark.figures import Figure, Scale
from tests.benchmark.workload import policy_text, settings

__all__ = ["process_figures"]

_BARE = [sys.executable, "-c", "pass"]
_HOOK = [sys.executable, "-I", "-S", client.__file__]
# What settings that a project shares name: where this package is installed, it is there.
_SCRIPT = Path(sys.executable).with_name("policy-hook")
_RESIDENT, _ALONE = 2.0, 3.0


def process_figures(scale: Scale) -> Iterator[Figure]:
    """Yield what one hook process costs, with a resident process and without."""
    runs = 30 if scale.calls >= 1_000 else 3
    rules = min(scale.largest, 1_000)
    some = scale.workload(rules).rules
    for path, text, of in (
        ("team.policy", policy_text(some), "rules"),
        (".claude/settings.json", json.dumps(settings(some)), "rules of Claude settings"),
    ):
        with tempfile.TemporaryDirectory(prefix="hook-") as folder:
            session = _Session(Path(folder), path, text)
            try:
                yield from session.figures(runs, f"{rules:,} {of}")
            finally:
                session.end()


class _Session:
    def __init__(self, folder: Path, path: str, text: str) -> None:
        self.folder = folder
        self.runtime = folder / "run"
        project = folder / "project"
        for each in (project, self.runtime, folder / "home"):
            each.mkdir(mode=0o700)
        file = project / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        self.environment = {
            "HOME": str(folder / "home"),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "CLAUDE_PROJECT_DIR": str(project),
        }
        self.project = project
        self.number = 0

    def event(self, tool: str, call: dict[str, object]) -> bytes:
        """Return the event of a call."""
        event = {
            "hook_event_name": "PreToolUse",
            "cwd": str(self.project),
            "tool_name": tool,
            "tool_input": call,
        }
        return json.dumps(event).encode()

    def command(self) -> bytes:
        """Return the event of a command that is the same every time."""
        return self.event("Bash", {"command": "git status --short"})

    def path(self) -> bytes:
        """Return the event of a read of a file that was not read before."""
        self.number += 1
        return self.event("Read", {"file_path": str(self.project / f"src/{self.number}.py")})

    def plain(self) -> bytes:
        """Return the event of a command that was not run before."""
        self.number += 1
        return self.event("Bash", {"command": f"git log -{self.number}"})

    def compound(self) -> bytes:
        """Return the event of commands that were not run before."""
        self.number += 1
        return self.event("Bash", {"command": f"git status && git log -{self.number}"})

    def figures(self, runs: int, rules: str) -> Iterator[Figure]:
        """Yield the figures of *runs* processes of each kind, by turns."""
        resident = [*_HOOK, "--resident"]
        kinds: dict[str, tuple[Sequence[str], Callable[[], bytes]]] = {
            "bare": (_BARE, self.command),
            "resident": (resident, self.command),
            "path": (_HOOK, self.path),
            "plain": (_HOOK, self.plain),
            "compound": (_HOOK, self.compound),
        }
        if _SCRIPT.exists():
            kinds["script"] = ([str(_SCRIPT), "--resident"], self.command)
        first = self._run(resident, self.command())  # which leaves the process behind
        path = Path(str(handover.socket_path(self.environment)))
        while not path.exists():
            time.sleep(0.01)
        same = [command for name, (command, of) in kinds.items() if of == self.command]
        answers = {self._run(command, self.command()) for command in same[1:]} | {first}
        if len(answers) > 1 or b"" in answers:
            msg = f"hooks disagree: {answers}"
            raise AssertionError(msg)
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(runs):
            for name, (command, of) in kinds.items():
                event = of()
                start = time.perf_counter()
                self._run(command, event)
                times[name].append((time.perf_counter() - start) * 1e3)
        bare = median(times["bare"])
        for name, what, target in (
            ("resident", "one hook process", _RESIDENT),
            ("script", "the same by `policy-hook`", _RESIDENT),
            ("path", "one that decides alone, another path each time", _ALONE),
            ("plain", "the same, another command each time", _ALONE),
            ("compound", "the same, another compound command each time", _ALONE),
        ):
            if name not in times:
                continue
            took = median(times[name])
            ratio = took / bare
            yield Figure(
                f"{what}, {rules}",
                {"median_ms": took, "bare_ms": bare, "ratio": ratio},
                f"{took:.1f} ms = {ratio:.2f}x python -c pass",
                f"≤ {target:g}x" if target else "",
                ratio <= target if target else None,
            )
        yield self._at_once(resident, rules)
        yield self._at_once(_HOOK, rules)

    def _run(self, command: Sequence[str], event: bytes) -> bytes:
        return subprocess.run(
            command,
            input=event,
            stdout=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
            check=False,  # of a call that is blocked for lack of time there is no answer
        ).stdout

    def _at_once(self, command: Sequence[str], rules: str, number: int = 20) -> Figure:
        """Return how many of *number* processes that are started at once answer, and how soon."""
        events = [self.compound() for _ in range(number)]
        start = time.perf_counter()
        with ThreadPoolExecutor(number) as pool:
            answers = list(pool.map(lambda event: self._run(command, event), events))
        took, answered = time.perf_counter() - start, sum(map(bool, answers))
        how = "with a resident process" if "--resident" in command else "alone"
        return Figure(
            f"{number} hook processes at once {how}, a new command each, {rules}",
            {"answered": answered, "seconds": took},
            f"{answered} answer, all in {took:.2f} s",
            "all answer",
            answered == number,
        )

    def end(self) -> None:
        """End the process that stayed."""
        for lock in self.runtime.rglob("*.lock"):
            if pid := lock.read_text().strip():
                os.kill(int(pid), signal.SIGTERM)
