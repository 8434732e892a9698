"""A process that stays, with the policy in memory, for the calls that follow.

It holds nothing that a call could not find out by itself: for each one the files are
read anew, and what was compiled is only taken where they are the same. It ends when
nobody asked for a while, and when this package is not the one any more that it was started from.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import threading
from typing import Final

from policy.adapters.hook.build import build
from policy.adapters.hook.decider import HookDecider, blocked, options_of
from policy.adapters.hook.event import LONGEST
from policy.adapters.hook.handover import (
    LOCATIONS,
    READY,
    is_private,
    sized,
    socket_path,
    variables,
)
from policy.core.errors import PolicyError

__all__ = ["leave_behind", "serve"]

_IDLE: Final = 900.0  # seconds without a call
_PATIENCE: Final = 20.0  # seconds for one call to be handed over
_AT_ONCE: Final = 32
_ARGUMENTS: Final = 1024 * 1024


def leave_behind(decider: HookDecider) -> None:
    """Start the process, unless there is one; it does not outlive its use, nor hold this one up."""
    path = socket_path(variables(LOCATIONS))
    if path is None or os.fork() != 0:
        return
    status = 1
    try:
        os.setsid()
        os.chdir("/")
        os.umask(0o077)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os.closerange(3, 4096)
        serve(decider, path)
        status = 0
    finally:
        os._exit(status)


def serve(decider: HookDecider, path: str, *, idle: float = _IDLE) -> None:
    """Answer at *path* until nobody asks; return at once where somebody else does."""
    folder = os.path.dirname(path)  # noqa: PTH120
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    if not is_private(folder, 0o040000):
        return
    # Appended to, since what one that is there wrote must outlive those that come too late.
    with open(f"{path}.lock", "a") as lock:  # noqa: PTH123
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")  # for whoever wants to end it
        lock.flush()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101
            listener.listen(_AT_ONCE)
            listener.settimeout(idle)
            try:
                _Serving(decider, listener).run()
            finally:
                os.unlink(path)  # noqa: PTH108


class _Serving:
    def __init__(self, decider: HookDecider, listener: socket.socket) -> None:
        self.decider = decider
        self.listener = listener
        self.build = build()
        self.room = threading.Semaphore(_AT_ONCE)

    def run(self) -> None:
        """Answer calls until nobody asks, or this package has changed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                return
            if build() != self.build:
                connection.close()  # before anything was read: it is decided elsewhere
                return
            self.room.acquire()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_PATIENCE)
                if _user(connection) != os.geteuid():
                    return
                connection.sendall(READY)
                fields = [_field(connection, most) for most in (_ARGUMENTS, _ARGUMENTS, LONGEST)]
                status, body = self._decide(*fields)
                connection.sendall(status + sized(body))
        except (OSError, ValueError):
            pass  # whoever asked is blocked, since there is no whole answer
        finally:
            self.room.release()

    def _decide(self, arguments: bytes, environment: bytes, data: bytes) -> tuple[bytes, bytes]:
        try:
            options = options_of(_texts(arguments))
            known = dict(text.partition("=")[::2] for text in _texts(environment))
            return b"0", self.decider.answer(options, known, data)
        except PolicyError as error:
            return b"2", blocked(error).encode("utf-8", "backslashreplace")
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not let the call through
            why = f"This call is blocked: the policy could not be asked ({type(error).__name__})\n"
            return b"2", why.encode()


def _texts(field: bytes) -> list[str]:
    return [text.decode("utf-8", "surrogateescape") for text in field.split(b"\0")] if field else []


def _user(connection: socket.socket) -> int:
    """Return the user that asks; where that cannot be known the folder keeps others away."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", found)[1]
    return user


def _field(connection: socket.socket, most: int) -> bytes:
    size = int.from_bytes(_exactly(connection, 8), "big")
    if size > most:
        raise ValueError("a field is too long")
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    pieces = []
    while size:
        piece = connection.recv(min(size, 1 << 20))
        if not piece:
            raise ValueError("the call is cut off")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
