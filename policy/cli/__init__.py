"""The command ``policy``.

Exit status: 0 is yes, 1 is no, 2 is bad usage, an input that cannot be read, or an error of this
program. Each verb is a module, loaded when it runs. `policy.cli.options` has its options.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import policy

__all__ = ["VERBS", "main"]

# Verb -> its module, and what it does.
VERBS = {
    "check": ("check", "decide calls, and explain"),
    "audit": ("audit", "what every agent may do, through every chain"),
    "lint": ("lint", "report findings in policies, and fix some of them"),
    "diff": ("diff", "which decisions a change changes"),
    "hook": ("hook", "answer Claude Code before a call runs"),
    "install": ("install", "make Claude Code run `policy hook` before every call"),
    "compile": ("compile", "write everything that deciding needs into one file"),
    "query": ("query", "which agents can make a call, by which chain"),
    "test": ("claims", "run the `test` and `never` statements of *.policy files"),
    "replay": ("replay", "decide logged calls again, by another policy"),
    "suggest": ("suggest", "propose the smallest policy that covers logged calls"),
    "mcp-proxy": ("mcp_proxy", "run an MCP server behind the policy"),
    "rule": ("rule", "what a finding means, and how to fix it"),
    "convert": ("convert", "write policies as files of another host, and report the losses"),
    "fmt": ("fmt", "rewrite *.policy files in their canonical form"),
}

_HELP = """\
usage: policy VERB [ARGUMENTS]

Compiles the tool policies of AI agents into decision tables, and reports what
each agent may do, alone and below the agents that start it.

verbs that people need first:
{first}

further verbs:
{verbs}

`policy VERB --help` explains each verb.

options:
  -h, --help   show this message
  --version    show the version

exit status:
  0  yes: allowed, nothing widened, every test holds
  1  no: denied or needs approval, a failed test, `--fail-on`
  2  bad usage, an input that cannot be read or parsed, or an internal error

examples:
  policy check --chain 'main>explore' 'Bash(git push)'
  policy audit .
  policy diff main..HEAD --fail-on widened
"""

_BROKEN_PIPE = 141  # as a shell reports a program that the signal ended
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["hook"]:
        return _hook(given[1:])
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


def _hook(given: list[str]) -> int:
    # Its exit status is its own, and it starts for every call, so it imports as little as it can.
    status: int = import_module("policy.adapters.hook.entry").main(given)
    return status


def _run(given: list[str]) -> int:
    verb = given[0] if given else "--help"
    if verb in {"-h", "--help", "help"}:
        print(_help(), end="", file=sys.stdout if given else sys.stderr)
        return 0 if given else 2
    if verb in {"-V", "--version"}:
        print(f"policy {policy.__version__}")
        return 0
    if verb not in VERBS:
        return _unknown(verb)
    # The help of the command needs none of these.
    from policy.core.memory import never_at_the_end, seldom_collecting  # noqa: PLC0415

    never_at_the_end()
    with seldom_collecting:
        return _run_verb(VERBS[verb][0], verb, given[1:])


def _run_verb(module: str, verb: str, arguments: list[str]) -> int:
    """Run *verb*, which *module* does, and return the exit status."""
    from policy.cli.console import Console  # noqa: PLC0415
    from policy.cli.options import parse_options  # noqa: PLC0415
    from policy.core.errors import PolicyError  # noqa: PLC0415

    console = Console.of()
    try:
        options = parse_options(module, verb, arguments)
        console = Console.of(options.color)
        status: int = import_module(f"policy.cli.{module}").run(options, console)
    except PolicyError as error:
        console.error(error)
        return 2
    except (BrokenPipeError, KeyboardInterrupt):
        console.quiet()
        raise
    except Exception as error:  # noqa: BLE001  # reported as a bug
        console.internal_error(error)
        return 2
    return status


def _help() -> str:
    verbs = [f"  {verb:<9} {does}" for verb, (_, does) in VERBS.items()]
    return _HELP.format(first="\n".join(verbs[:4]), verbs="\n".join(verbs[4:]))


def _unknown(verb: str) -> int:
    from policy.core.source import visible  # noqa: PLC0415
    from policy.language.mistakes import closest  # noqa: PLC0415  # needed only here

    meant = closest(verb, list(VERBS))
    print(f"policy: error: there is no verb `{visible(verb)}`", file=sys.stderr)
    print(f"  = help: {meant or 'one of ' + ', '.join(VERBS)}", file=sys.stderr)
    return 2
