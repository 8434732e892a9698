"""Commands that the shell of Zeph refuses, whatever the rules of a session say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from policy.dialect import Dialect
from policy.effect import Effect
from policy.hosts.zeph.dialects import SHELLS
from policy.hosts.zeph.globs import cased
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, Token
from policy.ruleset import Entry, RuleSet
from policy.source import Span

__all__ = ["BlockedCommand", "blocked_rules"]


@attrs.frozen
class BlockedCommand:
    """A program, or the start of a command.

    Attributes:
        text: as written. One word is a program, several are how a command starts.
        span: where it is written, or None.

    """

    text: str
    span: Span | None = attrs.field(default=None, eq=False, repr=False)


def blocked_rules(commands: Iterable[BlockedCommand], dialect: Dialect) -> RuleSet:
    """Return rules that deny the *commands*. By a loose dialect, names are compared so too.

    Each part of a command is looked at, without its quotes and behind wrappers. Zeph does so
    with fewer wrappers.
    """
    entries = (
        Entry(
            "bash",
            Effect.DENY,
            pattern,
            rule=f"blocked command: {command.text}",
            place=command.span.place if command.span else None,
        )
        for command in commands
        for pattern in _patterns(command.text.split())
    )
    return RuleSet(tuple(entries), Effect.ALLOW, SHELLS[dialect.loose])


# What may stand before the name of a program, and behind it: a folder; arguments or a suffix.
_BEFORE: tuple[list[Token], ...] = ([], [Gap.ANY, "/"])
_BEHIND: tuple[list[Token], ...] = ([], [" ", Gap.ANY], [".", Gap.ANY])


def _patterns(words: list[str]) -> Iterator[Pattern]:
    text = [piece for letter in " ".join(words).lower() for piece in cased(letter)]
    behind: tuple[list[Token], ...] = _BEHIND if len(words) == 1 else ([Gap.ANY],)
    for before in _BEFORE:
        for after in behind:
            yield Pattern.of(Kind.TEXT, [*before, *text, *after])
