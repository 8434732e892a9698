"""A call is handed to the resident process: where that listens, and what both ends say.

The resident process says `READY`. It is told the options of the hook, the variables that the
answer depends on, and the event, and replies with the exit status and what is printed.
"""

from __future__ import annotations

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterable

__all__ = [
    "LOCATIONS",
    "READY",
    "VARIABLES",
    "Unsure",
    "asked",
    "connected",
    "is_private",
    "joined",
    "sized",
    "socket_path",
    "variables",
]

# Said before anything was read, so that nothing is lost where the process is of no use.
READY = b"r"

# What the answer depends on besides the files: whatever says where they are.
VARIABLES = (
    "HOME",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CONFIG_DIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
)

# Where the resident process listens.
LOCATIONS = ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME")


class Unsure(Exception):
    """The call is blocked, for the reason that this says."""


def socket_path(environment: dict[str, str]) -> str | None:
    """Return where the resident process of this package listens, or None where it cannot."""
    base = environment.get("XDG_RUNTIME_DIR") or ""
    if not base:
        home = environment.get("XDG_CACHE_HOME") or ""
        base = home or (environment.get("HOME") or "") + "/.cache"
    if not base.startswith("/") or base == "/.cache":
        return None
    package = posix.stat(__file__.rpartition("/")[0])
    return f"{base}/agent-policy-hook/{package.st_dev:x}-{package.st_ino:x}"


def variables(names: tuple[str, ...]) -> dict[str, str]:
    """Return variables of the environment that are there, as text."""
    found = {}
    for name in names:
        value = posix.environ.get(name.encode())
        if value is not None:
            found[name] = value.decode("utf-8", "surrogateescape")
    return found


def is_private(path: str, kind: int) -> bool:
    """Return whether *path* is of *kind*, no link, and of this user alone."""
    status = posix.lstat(path)
    own = status.st_uid == posix.geteuid() and not status.st_mode & 0o077
    return own and status.st_mode & 0o170000 == kind


def sized(field: bytes) -> bytes:
    """Return *field* behind its size."""
    return len(field).to_bytes(8, "big") + field


def joined(texts: Iterable[str]) -> bytes:
    """Return *texts* as one field; none of them has a NUL."""
    return b"\0".join(text.encode("utf-8", "surrogateescape") for text in texts)


def connected() -> socket | None:
    """Return a connection to the resident process; None where there is none to rely on."""
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


def asked(connection: socket, given: list[str], data: bytes) -> tuple[int, bytes]:
    """Return the exit status and what is printed, as the resident process has it.

    Args:
        connection: to that process.
        given: the options of the hook.
        data: the event.

    Raises:
        Unsure: it does not answer, or not as it should.

    """
    known = (f"{name}={value}" for name, value in variables(VARIABLES).items())
    try:
        for field in (joined(given), joined(known), data):
            connection.sendall(sized(field))
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    except OSError:
        raise Unsure("the resident process was lost") from None
    reply = b"".join(pieces)
    status, body = reply[:1], reply[9:]
    if status not in (b"0", b"2") or reply[1:] != sized(body) or not body:
        raise Unsure("the resident process gave no answer")
    return int(status), body
