"""How a hook process sends its call to the resident process: the socket and the messages.

The resident process sends `READY`. The hook sends three fields: its options, the variables that
the answer depends on, and the event. The reply is the exit status and the text to print.
"""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterable

# The resident process sends this before it reads, so a hook that gets nothing has lost nothing.
READY = b"r"

# The variables with the places of the files of a session.
VARIABLES = ("HOME", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")

# The variables with the place of the socket of the resident process.
LOCATIONS = ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME")


class Blocked(Exception):
    """The call is blocked. The text of the exception says why."""


def variables(names: tuple[str, ...]) -> dict[str, str]:
    """Return the variables *names*, as far as they are set."""
    found = {}
    for name in names:
        value = posix.environ.get(name.encode())
        if value is not None:
            found[name] = value.decode("utf-8", "surrogateescape")
    return found


def socket_path(environment: dict[str, str]) -> str | None:
    """Return the path of the socket; None if no folder can hold it."""
    base = environment.get("XDG_RUNTIME_DIR") or ""
    if not base:
        home = environment.get("XDG_CACHE_HOME") or ""
        base = home or (environment.get("HOME") or "") + "/.cache"
    if not base.startswith("/") or base == "/.cache":
        return None
    package = posix.stat(__file__.rpartition("/")[0])
    return f"{base}/agent-policy-hook/{package.st_dev:x}-{package.st_ino:x}"


def is_private(path: str, kind: int) -> bool:
    """Return whether *path* has the file type *kind* and only this user has access."""
    status = posix.lstat(path)
    own = status.st_uid == posix.geteuid() and not status.st_mode & 0o077
    return own and status.st_mode & 0o170000 == kind


def sized(field: bytes) -> bytes:
    """Return *field* with its size in front."""
    return len(field).to_bytes(8, "big") + field


def connect() -> socket | None:
    """Return a connection to the resident process; None if there is none to trust."""
    try:
        import _socket  # noqa: PLC0415

        path = socket_path(variables(LOCATIONS))
        if path is None or not is_private(path.rpartition("/")[0], 0o040000):
            return None
        if not is_private(path, 0o140000):
            return None
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.connect(path)
        return connection if connection.recv(1) == READY else None
    except (OSError, ImportError, AttributeError):
        return None


def ask_resident(connection: socket, options: list[str], data: bytes) -> tuple[int, bytes]:
    """Return the exit status and the text that the resident process replies, or raise Blocked."""
    environment = (f"{name}={value}" for name, value in variables(VARIABLES).items())
    try:
        for field in (_joined(options), _joined(environment), data):
            connection.sendall(sized(field))
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    except OSError:
        raise Blocked("the connection to the resident process broke") from None
    reply = b"".join(pieces)
    status, body = reply[:1], reply[9:]
    if status not in (b"0", b"2") or reply[1:] != sized(body) or not body:
        raise Blocked("the resident process gave no answer")
    return int(status), body


def _joined(texts: Iterable[str]) -> bytes:
    """Return *texts*, none of which contains a NUL, as one field."""
    return b"\0".join(text.encode("utf-8", "surrogateescape") for text in texts)
