"""The hook's process for one call: it asks the resident process, or decides by itself.

Exit status: 0 with one JSON object on standard output, or 2, which blocks the call. Every
failure ends with 2, so that no call runs undecided.
"""

from __future__ import annotations

import posix
import sys

from policy.adapters.hook.handover import VARIABLES, Blocked, ask_resident, connect, variables

# Seconds before the process blocks the call; Claude Code waits longer.
_DEADLINE = 20.0
_LONGEST = 64 * 1024 * 1024
_BLOCKED = 2


def main(arguments: list[str] | None = None) -> int:
    """Answer the call on standard input, and return the exit status."""
    options = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _set_deadline(options)
        if {"-h", "--help"} & set(options):
            return _decide(options, b"")
        connection = connect() if "--resident" in options else None
        data = _read_input()
        if connection is not None:
            status, body = ask_resident(connection, options, data)
            return _write(body, status)
        return _decide(options, data)
    except BaseException as error:  # noqa: BLE001  # any failure must block the call
        asked = f"the policy could not be asked ({type(error).__name__})"
        return _block(str(error) if isinstance(error, Blocked) else asked)


def run() -> None:
    """Answer the call and end the process without Python's clean-up, which takes longer."""
    status = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  # the output has no reader
        status = _BLOCKED
    posix._exit(status)  # noqa: SLF001


def _decide(arguments: list[str], data: bytes) -> int:
    """Decide in this process; then start the resident process, if it is wanted."""
    import gc  # noqa: PLC0415

    gc.disable()  # one call leaves little behind
    if sys.flags.no_site:
        sys.meta_path.append(_Libraries())  # type: ignore[arg-type]  # it finds
    from policy.adapters.hook.deciding import HookDecider, block_message, options_of  # noqa: PLC0415
    from policy.core.errors import PolicyError  # noqa: PLC0415

    decider = HookDecider()
    try:
        options = options_of(arguments)
        if options is None:
            return 0
        answer = decider.answer(options, variables(VARIABLES), data)
    except PolicyError as error:
        return _write(block_message(error).encode("utf-8", "backslashreplace"), _BLOCKED)
    _write(answer)
    if options.resident:
        from policy.adapters.hook.resident import start_resident  # noqa: PLC0415

        _set_timer(0)  # the call is answered
        start_resident(decider)
    return 0


class _Libraries:
    """Adds the folders of libraries to the path when a module is not found without them."""

    def find_spec(self, name: str, path: object = None, _: object = None) -> object:
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        import site  # noqa: PLC0415
        from importlib.machinery import PathFinder  # noqa: PLC0415

        site.main()
        return PathFinder.find_spec(name, path)  # type: ignore[arg-type]


def _set_deadline(options: list[str]) -> None:
    """Block the call when the deadline passes."""
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415

    seconds = _DEADLINE
    if "--deadline" in options[:-1]:
        seconds = float(options[options.index("--deadline") + 1])
    if not 0 < seconds < 3600:
        raise ValueError("expected seconds as `--deadline`")
    _signal.signal(_signal.SIGALRM, _block_at_deadline)
    _set_timer(seconds)


def _set_timer(seconds: float) -> None:
    import _signal  # noqa: PLC0415

    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def _block_at_deadline(*_: object) -> None:
    _block("the policy gave no answer in time")
    posix._exit(_BLOCKED)  # noqa: SLF001


def _block(why: str) -> int:
    try:  # noqa: SIM105  # importing `contextlib` takes longer than all of this
        posix.write(2, f"This call is blocked: {why}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass
    return _BLOCKED


def _write(body: bytes, status: int = 0) -> int:
    """Write an answer to standard output, or a block to standard error; return *status*."""
    while body:
        body = body[posix.write(2 if status else 1, body) :]
    return status


def _read_input() -> bytes:
    pieces, size = [], 0
    while piece := posix.read(0, 65536):
        size += len(piece)
        if size > _LONGEST:
            raise Blocked("the event is too long")
        pieces.append(piece)
    return b"".join(pieces)
