"""A proxy in front of any MCP server that speaks over standard input and output.

It starts the server, and stands between it and whoever started the proxy. Where the
proxy ends, for whatever reason, the server is cut off: there is no way past it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import IO, Final, NoReturn

from policy.adapters.guard import Guard
from policy.adapters.mcp_besides import Besides
from policy.adapters.mcp_messages import LINE_BYTES, Gate, Sent
from policy.errors import PolicyError
from policy.source import visible

__all__ = ["run_proxy"]

# Seconds for a server to end when its input has ended, and when it was told to.
_PATIENCE: Final = 5.0
_PIECE: Final = 1 << 16
_KILLED: Final = 128  # and the number of the signal, as a shell reports it


def run_proxy(command: Sequence[str], guard: Guard, besides: Besides | None = None) -> int:
    """Run *command* behind *guard* until it or its client ends; return its exit status.

    The client is at standard input and output.

    Raises:
        PolicyError: the server cannot be started.

    """
    try:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        msg = f"the server `{visible(command[0])}` cannot be started: {reason}"
        raise PolicyError(msg) from None
    relay = _Relay(Gate(guard, besides), server)
    signal.signal(signal.SIGTERM, _told_to_end)
    try:
        # It may wait for a client that sends nothing when the server has ended.
        threading.Thread(target=relay.upwards, daemon=True).start()
        relay.downwards()
        status = server.wait()
    finally:
        _end(server)
    return status if status >= 0 else _KILLED - status


class _Relay:
    """The lines between a client and a server that runs."""

    def __init__(self, gate: Gate, server: subprocess.Popen[bytes]) -> None:
        assert server.stdin is not None  # noqa: S101  # both are pipes
        assert server.stdout is not None  # noqa: S101
        self._gate = gate
        self._server = server
        self._from_server, self._to_server = server.stdout, server.stdin
        self._locks = threading.Lock(), threading.Lock()

    def upwards(self) -> None:
        """Pass on what the client sends, until it ends; then end the server."""
        try:
            for line in _lines(sys.stdin.fileno()):
                self._send(self._gate.from_client(line))
        except OSError:
            pass  # one of them is gone, and with it the other
        finally:
            _end(self._server)

    def downwards(self) -> None:
        """Pass on what the server sends, until it ends."""
        for line in _lines(self._from_server.fileno()):
            self._send(self._gate.from_server(line))

    def _send(self, sent: Sent) -> None:
        for text, stream, lock in zip(
            (sent.to_server, sent.to_client),
            (self._to_server, sys.stdout.buffer),
            self._locks,
            strict=True,
        ):
            if text:
                _write(text, stream, lock)


def _write(text: bytes, stream: IO[bytes], lock: threading.Lock) -> None:
    with lock:
        stream.write(text)
        stream.flush()


def _lines(file: int) -> Iterator[bytes]:
    """Yield the lines of a file as they come. Raises OSError for one that is too long."""
    # Not by a buffered reader: a thread that waits in one keeps the program from ending.
    kept, looked_at = bytearray(), 0
    while piece := os.read(file, _PIECE):
        kept += piece
        while (end := kept.find(b"\n", looked_at)) >= 0:
            yield bytes(kept[: end + 1])
            del kept[: end + 1]
            looked_at = 0
        looked_at = len(kept)
        if looked_at > LINE_BYTES:
            msg = "a message is too long"
            raise OSError(msg)
    if kept:
        yield bytes(kept)


def _end(server: subprocess.Popen[bytes]) -> None:
    """Let a server end by itself, or see to it."""
    try:
        if server.stdin is not None:
            server.stdin.close()
    except OSError:
        pass
    for end in (server.poll, server.terminate, server.kill):
        end()
        try:
            server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        return


def _told_to_end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(_KILLED + number)
