"""What a comparison has to tell of a call: what it gets on both sides, not only whether more."""

from __future__ import annotations

from collections.abc import Container

from policy.core.effect import Effect

__all__ = ["COMMANDS", "Effects", "is_told"]

Effects = tuple[Effect, Effect]

# Tools that run commands, of which one may have several parts.
COMMANDS = frozenset({"Bash", "Monitor"})


def is_told(was: Effect, now: Effect, told: Container[Effects], tool: str) -> bool:
    """Whether these effects are told, or for a command what a part of it that is asked for leaves.

    A command of two parts, one of which is allowed where it was denied and the other
    asked for, is asked for where it was denied.
    """
    parts = {(Effect.DENY, Effect.ASK), (Effect.ASK, Effect.DENY)}
    whole = tuple(Effect.ALLOW if effect is Effect.ASK else effect for effect in (was, now))
    return (
        was is now
        or (was, now) in told
        or (tool in COMMANDS and (was, now) in parts and whole in told)
    )
