"""The command ``policy``.

Exit status: 0 is yes, 1 is no, 2 is bad usage, an input that cannot be read, or an error of this
program. Each verb is a module, loaded when it runs; `verbs.toml` has its options and its help.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module

import policy

TYPE_CHECKING = False  # `typing` takes longer to import than a call to decide
if TYPE_CHECKING:
    from typing import Any

_BROKEN_PIPE = 141  # as a shell reports a program that the signal ended
_INTERRUPTED = 130


@cache
def verbs() -> dict[str, Any]:
    """Return the content of `verbs.toml`: the verbs, and the options that several of them have."""
    file = os.path.join(os.path.dirname(__file__), "verbs.json")  # noqa: PTH118, PTH120
    with open(file, encoding="utf-8") as opened:  # noqa: PTH123
        found: dict[str, Any] = json.load(opened)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["hook"]:
        # The hook has other exit statuses. It starts for every call, so it imports little.
        hooked: int = import_module("policy.adapters.hook.entry").main(given[1:])
        return hooked
    if sys.stdout is None or sys.stderr is None:  # closed by who runs it
        nothing = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        sys.stdout, sys.stderr = sys.stdout or nothing, sys.stderr or nothing
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader is gone. Keep Python from reporting that when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _run(given: list[str]) -> int:
    verb = given[0] if given else "--help"
    if verb in {"-h", "--help", "help"}:
        lines = [f"  {verb:<9} {about['does']}" for verb, about in verbs()["verbs"].items()]
        first, others = "\n".join(lines[:4]), "\n".join(lines[4:])
        text = str(verbs()["help"]).format(first=first, verbs=others)
        print(text, end="", file=sys.stdout if given else sys.stderr)
        return 0 if given else 2
    if verb in {"-V", "--version"}:
        print(f"policy {policy.__version__}")
        return 0
    if verb not in verbs()["verbs"]:
        return _unknown(verb)
    # The help of the command needs none of these.
    from policy.core.memory import never_at_the_end, seldom_collecting  # noqa: PLC0415

    never_at_the_end()
    with seldom_collecting():
        return _run_verb(verb, given[1:])


def _run_verb(verb: str, arguments: list[str]) -> int:
    from policy.cli.console import Console  # noqa: PLC0415
    from policy.cli.options import parse_options  # noqa: PLC0415
    from policy.core.errors import PolicyError  # noqa: PLC0415
    from policy.core.progress import watched  # noqa: PLC0415

    console = Console.of()
    try:
        options = parse_options(verb, arguments)
        console = Console.of(options.color)
        module = import_module(f"policy.cli.{verb.replace('-', '_')}")
        with watched(console.progress):
            status: int = module.run(options, console)
        reader = sys.modules.get("policy.commands.reader")
        for name in sorted(reader.missing_extras) if reader is not None else ():
            console.say(
                f"note: commands of more than plain words are asked for, since the extra `{name}`"
                f" is not installed: pip install '.[{name}]' in a clone of agent-policy"
            )
    except PolicyError as error:
        console.error(error)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  # reported as a bug
        console.internal_error(error)
        return 2
    finally:
        console.clear()
    return status


def _unknown(verb: str) -> int:
    from policy.core.source import visible  # noqa: PLC0415
    from policy.language.mistakes import closest  # noqa: PLC0415  # needed only here

    known = list(verbs()["verbs"])
    meant = closest(verb, known)
    print(f"policy: error: there is no verb `{visible(verb)}`", file=sys.stderr)
    print(f"  = help: {meant or 'one of ' + ', '.join(known)}", file=sys.stderr)
    return 2
