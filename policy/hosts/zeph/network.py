"""What an agent without network may not call."""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Final

from policy.dialect import Dialect
from policy.effect import Effect
from policy.hosts.zeph.names import NETWORK
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, OneOf, Token
from policy.ruleset import Entry, RuleSet

__all__ = ["network_rules"]

# Programs that reach the network, and those that do with an argument.
_PROGRAMS: Final = (
    ("curl",), ("wget",), ("nc",), ("ncat",), ("netcat",), ("ssh",), ("scp",), ("rsync",),
    ("socat",), ("openssl", "s_client"), ("python", "-c"), ("python3", "-c"), ("perl", "-e"),
    ("ruby", "-e"),
)  # fmt: skip
_DEVICES: Final = ("/dev/tcp", "/dev/udp")

# What cannot stand beside the name of a program.
_END: Final = OneOf(frozenset(string.ascii_letters + string.digits + "_-."), negated=True)


def network_rules(dialect: Dialect) -> RuleSet:
    """Return the rules that deny the tools and commands that reach the network.

    Tools of servers are not looked at, as in Zeph.
    """
    rule = "network denied"
    entries = [Entry(name, Effect.DENY, rule=rule) for name in NETWORK]
    entries += (
        Entry("bash", Effect.DENY, pattern, rule=f"{rule}: {' '.join(words)}")
        for words in _PROGRAMS
        for pattern in _mentions(words)
    )
    entries += (
        Entry("bash", Effect.DENY, Pattern.text(f"*{device}*"), rule=f"{rule}: {device}")
        for device in _DEVICES
    )
    return RuleSet(tuple(entries), Effect.ALLOW, dialect)


def _mentions(words: tuple[str, ...]) -> Iterator[Pattern]:
    """Yield the commands in which the words stand one after the other, with or without others."""
    middles: list[list[Token]] = [[words[0]]]
    for word in words[1:]:
        middles = [[*middle, *gap, word] for middle in middles for gap in _GAPS]
    for before in _BEFORE:
        for middle in middles:
            for after in _AFTER:
                yield Pattern.of(Kind.TEXT, [*before, *middle, *after])


# What may stand between two words, before the first and behind the last.
_GAPS: Final[tuple[list[Token], ...]] = ([_END], [_END, Gap.ANY, _END])
_BEFORE: Final[tuple[list[Token], ...]] = ([], [Gap.ANY, _END])
_AFTER: Final[tuple[list[Token], ...]] = ([], [_END, Gap.ANY])
