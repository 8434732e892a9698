"""Runs inside the sandbox, on the standard library alone: one session of the program.

Reads ``/out/session.json``, plays the model for every agent of the session, and
writes what became of each call to ``/out/answers.json``. A permission request
is noted and refused, so that nothing that is asked for ever runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from pathlib import Path

from model import Files, Model, serve

ACTOR_OF_USE = re.compile(r"toolu_(\d+)x")
# Programs that would wait for somebody; the real ones of the others run, in the sandbox.
STUBS = Path("/srv/stubs")
STUBBED = "sleep watch top less more yes vim vi nano ssh tail man strace script".split()
TASK_FAILED = ("task_notification", "failed")
QUIET = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING")


class Program:
    """The program, over its control protocol."""

    def __init__(self, session: dict, port: int, model: Model) -> None:
        self.model = model
        self.granted = set(session["granted"])
        self.spawns: list[str] = session["spawns"]
        self.asked: dict[str, str] = {}
        self.failed: set[str] = set()
        self.answered = False
        env = {
            "HOME": session["home"],
            "PATH": f"{STUBS}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "USER": "alice",
            "SHELL": "/bin/bash",
            "TERM": "dumb",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "dummy-not-a-key",
            "DISABLE_AUTOUPDATER": "1",
            "BASH_DEFAULT_TIMEOUT_MS": "3000",
            "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",
            "API_TIMEOUT_MS": "5000",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            **({} if session["classifier"] else dict.fromkeys(QUIET, "1")),
            **session["env"],
        }
        stderr = os.open("/out/stderr", os.O_WRONLY | os.O_CREAT)
        self.process = subprocess.Popen(
            ["/live/claude", *session["args"]],
            cwd=session["cwd"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        threading.Thread(target=self._listen, daemon=True).start()
        self._say("control_request", request_id="init", request={"subtype": "initialize"})
        prompt = {"role": "user", "content": "ACTOR:0: go"}
        self._say("user", message=prompt, parent_tool_use_id=None, session_id="default")

    def _say(self, kind: str, **rest: object) -> None:
        try:
            self.process.stdin.write((json.dumps({"type": kind, **rest}) + "\n").encode())
            self.process.stdin.flush()
        except OSError:  # it has ended, which `wait` sees
            pass

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.model.heard = time.time()
            try:
                message = json.loads(line)
            except ValueError:
                continue
            kind = message.get("type")
            if kind == "control_request":
                self._answer(message["request_id"], message["request"])
            elif kind == "result":
                self.answered = True
            elif (message.get("subtype"), message.get("status")) == TASK_FAILED:
                self.failed.add(message.get("tool_use_id") or "")

    def _answer(self, number: str, request: dict) -> None:
        answer: dict = {}
        if request.get("subtype") == "can_use_tool":
            use = request.get("tool_use_id")
            if use in self.granted:
                answer = {"behavior": "allow", "updatedInput": request.get("input", {})}
            else:
                told = ("decision_reason", "decision_reason_type", "blocked_path")
                self.asked[use] = "; ".join(str(request[k]) for k in told if request.get(k))
                answer = {"behavior": "deny", "message": "refused: only watched"}
        response = {"subtype": "success", "request_id": number, "response": answer}
        self._say("control_response", response=response)

    def wait(self, seconds: float) -> None:
        """Return when every agent is done, nothing happens any more, or time is up."""
        end = time.time() + seconds
        while time.time() < end and self.process.poll() is None:
            time.sleep(0.05)
            idle = time.time() - self.model.heard
            if self.answered and idle > (0.2 if self._done() else 20):
                break
        try:
            self.process.stdin.close()
            self.process.wait(1)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()

    def _done(self) -> bool:
        finished = self.model.finished
        return all(actor in finished or self._dead(actor) for actor in range(len(self.spawns)))

    def _dead(self, actor: int) -> bool:
        """Return whether an agent was not started, or one above it."""
        use = self.spawns[actor]
        if not use:
            return False
        refused = use in self.failed or self.model.results.get(use, [False])[0]
        return refused or self._dead(int(ACTOR_OF_USE.match(use)[1]))


def main() -> None:
    session = json.loads(Path("/out/session.json").read_text())
    STUBS.mkdir()
    for name in STUBBED:
        (STUBS / name).write_text("#!/bin/sh\nexit 0\n")
        (STUBS / name).chmod(0o755)
    files = Files(session["files"], session["links"])
    files.restore()
    for name, text in session["once"].items():
        Path(name).write_text(text)
    clean = {"HOME": "/srv", "PATH": "/usr/bin"}
    subprocess.run(
        ["git", "init", "-q", session.get("repository", session["cwd"])], env=clean, check=False
    )
    files.restore()
    model = Model(session["actors"], files)
    program = Program(session, serve(model), model)
    program.wait(session["seconds"])
    answers = {
        "results": model.results,
        "asked": program.asked,
        "classified": sorted(model.classified),
        "failed": sorted(program.failed),
        "started": sorted(model.started),
        "errors": Path("/out/stderr").read_text(errors="replace")[-2000:],
    }
    Path("/out/answers.json").write_text(json.dumps(answers))
    os._exit(0)


if __name__ == "__main__":
    main()
