"""A process that stays running, with compiled policies in memory, and answers later calls.

For each call it reads the files again, and uses a compiled policy only for equal files. It ends
after a time without calls, and when a file of this package has changed since it started.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import socket
import struct
import threading
from typing import IO, Final

from policy.adapters.hook import handover
from policy.adapters.hook.deciding import HookDecider, block_message, options_of
from policy.adapters.hook.event import LONGEST
from policy.adapters.hook.store import package_digest
from policy.core.errors import PolicyError

_IDLE: Final = 900.0  # seconds without a call
_PATIENCE: Final = 20.0  # seconds for one call to be handed over
_AT_ONCE: Final = 32
_ARGUMENTS: Final = 1024 * 1024


def start_resident(decider: HookDecider) -> None:
    """Start the resident process, unless there is one, and do not wait for it."""
    path = handover.socket_path(handover.variables(handover.LOCATIONS))
    if path is None or os.fork() != 0:
        return
    status = 1
    gc.enable()
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
    """Answer calls at *path* until none come; return at once if another process does."""
    folder = os.path.dirname(path)  # noqa: PTH120
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    if not handover.is_private(folder, 0o040000):
        return
    # Opened to append: a process that comes too late must not empty the file.
    with open(f"{path}.lock", "a") as lock:  # noqa: PTH123
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")  # to find the process by
        lock.flush()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101
            listener.listen(_AT_ONCE)
            listener.settimeout(idle)
            try:
                _Server(decider, listener).run()
            finally:
                os.unlink(path)  # noqa: PTH108


class _Server:
    def __init__(self, decider: HookDecider, listener: socket.socket) -> None:
        self.decider = decider
        self.listener = listener
        self.slots = threading.Semaphore(_AT_ONCE)

    def run(self) -> None:
        """Answer calls until there are none for a while, or this package has changed."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except TimeoutError:
                return
            if package_digest() != self.decider.package:
                connection.close()  # without `READY`, so the hook decides by itself
                return
            self.slots.acquire()
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_PATIENCE)
                if _user(connection) != os.geteuid():
                    return
                connection.sendall(handover.READY)
                with connection.makefile("rb") as stream:
                    fields = [_field(stream, most) for most in (_ARGUMENTS, _ARGUMENTS, LONGEST)]
                status, body = self._decide(*fields)
                connection.sendall(status + handover.sized(body))
        except (OSError, ValueError):
            pass  # the reply is incomplete, so the hook blocks the call
        finally:
            self.slots.release()

    def _decide(self, arguments: bytes, environment: bytes, data: bytes) -> tuple[bytes, bytes]:
        try:
            options = options_of(_texts(arguments))
            if options is None:
                raise ValueError("help is for people")  # noqa: TRY301
            known = dict(text.partition("=")[::2] for text in _texts(environment))
            return b"0", self.decider.answer(options, known, data)
        except PolicyError as error:
            return b"2", block_message(error).encode("utf-8", "backslashreplace")
        except Exception as error:  # noqa: BLE001  # any failure must block the call
            why = f"This call is blocked: the policy could not be asked ({type(error).__name__})\n"
            return b"2", why.encode()


def _texts(field: bytes) -> list[str]:
    return [text.decode("utf-8", "surrogateescape") for text in field.split(b"\0")] if field else []


def _user(connection: socket.socket) -> int:
    """Return the user at the other end; if unknown, this user, since the folder is private."""
    if not hasattr(socket, "SO_PEERCRED"):
        return os.geteuid()
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", found)[1]
    return user


def _field(stream: IO[bytes], most: int) -> bytes:
    size = int.from_bytes(_exactly(stream, 8), "big")
    if size > most:
        raise ValueError("a field is too long")
    return _exactly(stream, size)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise ValueError("the call is incomplete")
    return data
