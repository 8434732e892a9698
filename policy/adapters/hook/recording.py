"""Calls that were answered, as lines of a log that `policy replay` reads."""

from __future__ import annotations

import attrs

from policy.adapters.hook.deciding import HookAnswer
from policy.adapters.hook.event import Event
from policy.analysis.records.record import Record

__all__ = ["record_of"]


def record_of(event: Event, answer: HookAnswer, project: str) -> Record:
    """Return the record of a call, without an effect where it is left to the host.

    Args:
        event: the call.
        answer: what the host is told of it.
        project: the folder of the project.

    """
    record = Record.of(answer.chain, event.tool, event.call, answer.decision)
    agent = "" if answer.chain else event.agent_type
    return attrs.evolve(
        record, agent=agent, effect=answer.effect, cwd=project, project=answer.project
    )
