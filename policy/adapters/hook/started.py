"""What a process does that was started for one call: the ways to an answer, in their order.

It imports next to nothing at first. `policy.adapters.hook` tells why there are three ways.

Exit status: 0 with one JSON object on standard output, or 2, which blocks the call. It is 2
whatever goes wrong: a call is never let through since nobody looked at it.
"""

from __future__ import annotations

import posix
import sys

from policy.adapters.hook.handover import VARIABLES, Unsure, asked, connected, variables

__all__ = ["main", "run"]

# Seconds before a call is blocked that nobody has decided: less than the host waits.
_DEADLINE = 20.0
_LONGEST = 64 * 1024 * 1024
_BLOCKED = 2


def main(arguments: list[str] | None = None) -> int:
    """Answer the call on standard input, and return the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _watch(given)
        if {"-h", "--help"} & set(given):
            return _at_length(given, b"")
        if "--resident" in given:
            connection = connected()
            if connection is not None:
                status, body = asked(connection, given, _input())
                return _written(body, status)
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
    from policy.adapters.hook.walked import answered  # noqa: PLC0415  # what is needed only here

    data = _input()
    try:
        answer = answered(given, variables(VARIABLES), data)
    except Exception:  # noqa: BLE001  # whatever it is, it is looked at again, at length
        answer = None
    return _at_length(given, data) if answer is None else _written(answer)


def _at_length(given: list[str], data: bytes) -> int:
    """Decide with everything there is, once the folders of libraries are known."""
    if sys.flags.no_site:
        import site  # noqa: PLC0415

        site.main()
    from policy.adapters.hook.process import answered  # noqa: PLC0415  # what is needed only here

    return answered(given, data, _give_up_later)


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


def _give_up_later() -> None:
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
    if isinstance(error, Unsure):
        return str(error)
    return f"the policy could not be asked ({type(error).__name__})"


def _written(body: bytes, status: int = 0) -> int:
    """Write the answer, or what is said of a call that is blocked; return the exit status."""
    while body:
        body = body[posix.write(2 if status else 1, body) :]
    return status


def _input() -> bytes:
    pieces, size = [], 0
    while piece := posix.read(0, 65536):
        size += len(piece)
        if size > _LONGEST:
            raise Unsure("the event is too long")
        pieces.append(piece)
    return b"".join(pieces)
