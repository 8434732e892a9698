"""Plays the model of a session over HTTP, and keeps its files as they were."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ACTOR = re.compile(r"ACTOR:(\d+):")


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
        if not request.get("tools") and any("<transcript>" in text for text in texts):
            last = [text for text in texts if text.startswith('{"')]
            if last and last[-1].startswith(f'{{"{self.last[1]}"'):
                self.classified.add(self.last[0])
            return _text("<block>no</block>")
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


def serve(model: Model) -> int:
    """Serve *model* on loopback, and return the port."""
    Handler.model = model
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])
