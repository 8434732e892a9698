"""Runs inside the sandbox, on the standard library alone: one session of the program.

Reads ``/out/session.json``, plays the model for every agent of the session, and
writes what became of each call to ``/out/answers.json``. A permission request
is noted and refused, so that nothing that is asked for ever runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ACTOR = re.compile(r"ACTOR:(\d+):")
ACTOR_OF_USE = re.compile(r"toolu_(\d+)x")
STUBBED = "sleep watch top less more yes vim vi nano ssh tail man strace script".split()
QUIET = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING")


class Files:
    """The files of the session, put back before each call: an allowed one may change them."""

    def __init__(self, files: dict[str, str], links: dict[str, str]) -> None:
        self.files, self.links = files, links

    def restore(self) -> None:
        for name, target in self.links.items():
            link = Path(name)
            if not link.is_symlink():
                self._clear(link)
                link.symlink_to(target)
        for name, text in self.files.items():
            file = Path(name)
            try:
                if file.read_text() == text and not file.is_symlink():
                    continue
            except OSError:
                pass
            self._clear(file)
            file.write_text(text)

    def _clear(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.is_symlink() or path.exists():
            path.unlink()
        for parent in reversed(path.parents):
            if parent.is_file() or (parent.is_symlink() and not parent.exists()):
                parent.unlink()
            parent.mkdir(exist_ok=True)


class Model:
    """Plays the model: every agent makes its calls in order, then stops.

    An agent is known by the number in its prompt; how far it is, by the
    results that its request carries.
    """

    def __init__(self, actors: list[list[dict]], files: Files) -> None:
        self.actors, self.files = actors, files
        self.results: dict[str, list] = {}
        self.classified: set[str] = set()
        self.finished: set[int] = set()
        self.started: set[int] = set()
        self.last = ("", "")
        self.lock = threading.Lock()
        self.heard = time.time()

    def reply(self, request: dict) -> dict:
        with self.lock:
            self.heard = time.time()
            return self._reply(request)

    def _reply(self, request: dict) -> dict:
        texts = list(_texts(request["messages"]))
        if not request.get("tools"):
            if any("<transcript>" in text for text in texts):
                last = [text for text in texts if text.startswith('{"')]
                if last and last[-1].startswith(f'{{"{self.last[1]}"'):
                    self.classified.add(self.last[0])
                return _text("<block>no</block>")
            return _text("ok")
        found = [int(number) for text in texts for number in ACTOR.findall(text)]
        if not found or found[-1] >= len(self.actors):
            return _text("done")
        actor, done = found[-1], 0
        self.started.add(actor)
        for block in _blocks(request["messages"], "tool_result"):
            content = block.get("content")
            text = content if isinstance(content, str) else json.dumps(content)
            self.results.setdefault(block["tool_use_id"], [bool(block.get("is_error")), text])
        for block in _blocks(request["messages"], "tool_use"):
            done += block["id"].startswith(f"toolu_{actor}x")
        calls = self.actors[actor]
        if done >= len(calls):
            self.finished.add(actor)
            return _text("done")
        call = calls[done]
        self.files.restore()
        use = f"toolu_{actor}x{done}"
        self.last = (use, call["tool"])
        return {"type": "tool_use", "id": use, "name": call["tool"], "input": call["input"]}


def _blocks(messages, kind):
    for message in messages:
        if isinstance(message.get("content"), list):
            yield from (block for block in message["content"] if block.get("type") == kind)


def _texts(messages):
    for message in messages:
        if message["role"] != "user":
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield content
        else:
            yield from (block["text"] for block in content if block.get("type") == "text")


def _text(text: str) -> dict:
    return {"type": "text", "text": text}


class Handler(BaseHTTPRequestHandler):
    """The Messages API, as far as the program uses it."""

    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(b'{"data": []}')

    def do_HEAD(self) -> None:
        self._send(b"")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if "count_tokens" in self.path or not self.path.startswith("/v1/messages"):
            self._send(b'{"input_tokens": 1}')
            return
        block = self.model.reply(request)
        message = {
            "id": f"msg_{time.time_ns()}",
            "type": "message",
            "role": "assistant",
            "model": request.get("model", "m"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        if not request.get("stream"):
            self._send(json.dumps({**message, "content": [block], "stop_reason": stop}).encode())
            return
        lines = (
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            for event in _events(message, block, stop)
        )
        self._send("".join(lines).encode(), "text/event-stream")

    def _send(self, body: bytes, kind: str = "application/json") -> None:
        try:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the program gave up on the request
            pass


def _events(message, block, stop):
    if block["type"] == "tool_use":
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        begun, delta = _text(""), {"type": "text_delta", "text": block["text"]}
    ended = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


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
            "PATH": "/tmp/stubs:/usr/bin:/bin",  # noqa: S108: of the sandbox
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
        self.process = subprocess.Popen(
            ["/live/claude", *session["args"]],
            cwd=session["cwd"],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=Path("/out/stderr").open("wb"),  # noqa: SIM115: as long as the program
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
            elif message.get("subtype") == "task_notification":
                if message.get("status") == "failed":
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
            if self.answered and idle > (0.2 if self._done() else 6):
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
    stubs = Path("/tmp/stubs")  # noqa: S108: of the sandbox
    stubs.mkdir()
    for name in STUBBED:
        (stubs / name).write_text("#!/bin/sh\nexit 0\n")
        (stubs / name).chmod(0o755)
    files = Files(session["files"], session["links"])
    files.restore()
    for name, text in session["once"].items():
        Path(name).write_text(text)
    clean = {"HOME": "/tmp", "PATH": "/usr/bin"}  # noqa: S108
    subprocess.run(["git", "init", "-q", session["cwd"]], env=clean, check=False)
    files.restore()
    Handler.model = model = Model(session["actors"], files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = Program(session, server.server_address[1], model)
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
