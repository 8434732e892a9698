"""What Claude Code allows without a rule, spelled out as rules that take it away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from policy.hosts.claude.data.programs import READ_ONLY_PROGRAMS
from policy.hosts.claude.data.web import PREAPPROVED
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.portable import covers
from policy.programs import Program

__all__ = ["HOSTS", "commands"]

# The hosts that are fetched from without asking, be it a section of them: rules name whole ones.
HOSTS: Final = tuple(
    (name, notations.hosts(name)[0])
    for name in dict.fromkeys(address.partition("/")[0] for address in PREAPPROVED)
)


def commands(granted: Sequence[Pattern]) -> Iterator[str]:
    """Yield the commands that run without a rule and of which not all calls are *granted*.

    Where some are, the rest cannot be told apart from them, and all are yielded.
    """
    yield from _below("", READ_ONLY_PROGRAMS, granted)


def _below(
    before: str, programs: Mapping[str, Program], granted: Sequence[Pattern]
) -> Iterator[str]:
    for name, program in programs.items():
        text = f"{before}{name}"
        wanted = notations.commands(f"{text} *")
        if all(covers(pattern, granted) for pattern in wanted):
            continue
        if program.subcommands:
            yield from _below(f"{text} ", program.subcommands, granted)
        if not program.harmless:
            continue
        if program.subcommands and any(_starts(pattern, text) for pattern in granted):
            yield text
        else:
            yield f"{text} *"


def _starts(pattern: Pattern, text: str) -> bool:
    first = pattern.tokens[0] if pattern.tokens else ""
    return isinstance(first, str) and first.startswith(f"{text} ")
