"""What a call gets before it runs, and what is raised for one that does not."""

from __future__ import annotations

import attrs

from policy.chain import Chain
from policy.decision import Decision
from policy.effect import Effect

__all__ = ["CallDenied", "Verdict", "unapproved"]


@attrs.frozen
class Verdict:
    """What a call gets before it runs.

    Attributes:
        effect: the answer.
        message: what the model is told (DENY) or a person is asked (ASK).
        decision: with its reasons; None where the checker itself failed.
        chain: in which the call would run; None where there is none.
        started: the narrower chain of the agent that the call starts, if it does.

    """

    effect: Effect
    message: str = ""
    decision: Decision | None = attrs.field(default=None, repr=False)
    chain: Chain | None = None
    started: Chain | None = None


class CallDenied(Exception):
    """A call that does not run. Its text is what the model is told."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def unapproved(verdict: Verdict) -> Verdict:
    """Return the denial of a call that was asked for and that nobody approved."""
    said = "This call needs the approval of a person, and was not approved."
    return attrs.evolve(verdict, effect=Effect.DENY, message=said)
