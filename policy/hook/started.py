"""What a process does that was started for one call. It imports next to nothing at first.

With ``--resident`` it hands the call to a process that has the policy in memory, and
leaves one behind where there is none. That process looks at the files of the policy anew for
every call. Without one the call is decided here: by walks that an earlier process left behind,
where these suffice (`policy.hook.walked`), and else at length (`policy.hook.process`).

Exit status: 0 with one JSON object on standard output, or 2, which blocks the call. It is 2
whatever goes wrong: a call is never let through since nobody looked at it.
"""

from __future__ import annotations

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

__all__ = [
    "LOCATIONS",
    "VARIABLES",
    "give_up_later",
    "is_private",
    "main",
    "run",
    "socket_path",
    "variables",
]

# Seconds before a call is blocked that nobody has decided: less than the host waits.
_DEADLINE = 20.0
_LONGEST = 64 * 1024 * 1024
_BLOCKED = 2

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


class _Unsure(Exception):
    """The resident process did not answer as it should."""


def main(arguments: list[str] | None = None) -> int:
    """Answer the call on standard input, and return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _watch(given)
        if {"-h", "--help"} & set(given):
            return _at_length(given)
        if "--resident" in given:
            connection = _connected()
            if connection is not None:
                return _asked(connection, given)
        return _here(given)
    except BaseException as error:  # noqa: BLE001  # whatever it is, it must not let the call through
        return _block(_told(error))


def run() -> None:
    """Answer the call, and end: whatever Python would clear away takes longer than the answer."""
    status = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  # nobody reads it
        status = _BLOCKED
    posix._exit(status)  # noqa: SLF001


def _here(given: list[str]) -> int:
    from policy.hook.walked import answered, is_plain  # noqa: PLC0415  # what is needed only here

    if not is_plain(given):
        return _at_length(given)
    data = _input()
    try:
        answer = answered(given, variables(VARIABLES), data)
    except Exception:  # noqa: BLE001  # whatever it is, it is looked at again, at length
        answer = None
    return _at_length(given, data) if answer is None else _written(1, answer)


def _at_length(given: list[str], data: bytes | None = None) -> int:
    """Decide with everything there is, once the folders of libraries are known."""
    if sys.flags.no_site:
        import site  # noqa: PLC0415

        site.main()
    from policy.hook.process import answered  # noqa: PLC0415  # what is needed only here

    return answered(given, data)


def _watch(given: list[str]) -> None:
    """Block the call when the deadline is over."""
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415

    seconds = _DEADLINE
    if "--deadline" in given[:-1]:
        seconds = float(given[given.index("--deadline") + 1])
    if not 0 < seconds < 3600:
        raise ValueError("expected seconds as `--deadline`")
    _signal.signal(_signal.SIGALRM, _late)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def give_up_later() -> None:
    """End without an error when the deadline is over, since the call was answered."""
    import _signal  # noqa: PLC0415

    _signal.signal(_signal.SIGALRM, lambda *_: posix._exit(0))  # noqa: SLF001


def _late(*_: object) -> None:
    _block("the policy was not asked in time")
    posix._exit(_BLOCKED)  # noqa: SLF001


def _block(why: str) -> int:
    try:  # noqa: SIM105  # `contextlib` takes longer to import than all of this
        posix.write(2, f"This call is blocked: {why}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass
    return _BLOCKED


def _told(error: BaseException) -> str:
    if isinstance(error, _Unsure):
        return str(error)
    return f"the policy could not be asked ({type(error).__name__})"


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


def _connected() -> socket | None:
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
        # It says so before anything was read, so that nothing is lost where it is of no use.
        return connection if connection.recv(1) == b"r" else None
    except (OSError, ImportError, AttributeError):
        return None


def _asked(connection: socket, given: list[str]) -> int:
    """Hand the call over, print the answer, and return the exit status."""
    known = variables(VARIABLES)
    fields = [b"\0".join(text.encode("utf-8", "surrogateescape") for text in given)]
    fields.append(
        b"\0".join(f"{k}={v}".encode("utf-8", "surrogateescape") for k, v in known.items())
    )
    fields.append(_input())
    try:
        for field in fields:
            connection.sendall(len(field).to_bytes(8, "big") + field)
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    except OSError:
        raise _Unsure("the resident process was lost") from None
    reply = b"".join(pieces)
    status, size, body = reply[:1], int.from_bytes(reply[1:9], "big"), reply[9:]
    if status not in (b"0", b"2") or size != len(body) or not body:
        raise _Unsure("the resident process gave no answer")
    _written(1 if status == b"0" else 2, body)
    return 0 if status == b"0" else _BLOCKED


def _written(stream: int, body: bytes) -> int:
    while body:
        body = body[posix.write(stream, body) :]
    return 0


def _input() -> bytes:
    pieces, size = [], 0
    while piece := posix.read(0, 65536):
        size += len(piece)
        if size > _LONGEST:
            raise _Unsure("the event is too long")
        pieces.append(piece)
    return b"".join(pieces)
