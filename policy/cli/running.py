"""One run of a verb: its options, what goes wrong in it, and its exit status."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from importlib import import_module

from policy.cli.console import Console
from policy.cli.options import VERBS, Verb
from policy.core.errors import PolicyError
from policy.core.source import visible

__all__ = ["internal_error", "run"]


def run(module: str, name: str, arguments: list[str]) -> int:
    """Run the verb called *name*, which *module* does, and return the exit status."""
    verb = VERBS[module]
    command: list[str] = []
    if verb.takes_command and "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
    options = _parser(verb, name).parse_intermixed_args(arguments)
    options.command = command
    console = Console.of(options.color)
    try:
        status: int = import_module(f"policy.cli.{module}").run(options, console)
    except PolicyError as error:
        console.error(error)
        return 2
    except (BrokenPipeError, KeyboardInterrupt):
        console.quiet()
        raise
    except Exception as error:  # noqa: BLE001  # the last one who can say so
        internal_error(error, console)
        return 2
    return status


def internal_error(error: Exception, console: Console, what: str = "") -> None:
    """Report a mistake of this program; with its traceback where one was asked for."""
    about = f" ({what})" if what else ""
    console.complain(
        [
            (
                f"policy: internal error{visible(about)}: {type(error).__name__}: "
                f"{visible(str(error))[:300]}"
            ),
            "  = help: this is a mistake of this program; POLICY_DEBUG=1 shows where it is",
        ]
    )
    if os.environ.get("POLICY_DEBUG") == "1":
        traceback.print_exception(error, file=sys.stderr)


def _parser(verb: Verb, name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"policy {name}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.configure(parser)
    if verb.formats:
        parser.add_argument(
            "--format",
            choices=verb.formats,
            default=verb.formats[0],
            help=f"what to print (default: {verb.formats[0]})",
        )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour; by default on a terminal, unless NO_COLOR is set",
    )
    return parser
