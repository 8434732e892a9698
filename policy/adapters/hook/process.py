"""A process that decides one call at length, and what it leaves for those that follow."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence

from policy.adapters.hook.decider import HookDecider, blocked, options_of
from policy.adapters.hook.handover import VARIABLES, variables
from policy.core.errors import PolicyError

__all__ = ["answered"]


def answered(arguments: Sequence[str], data: bytes, told: Callable[[], None]) -> int:
    """Answer the call of the event *data*, and return the exit status.

    Args:
        arguments: of the hook.
        data: the event.
        told: called once the call is answered: what goes wrong afterwards blocks nothing.

    """
    decider = HookDecider()
    environment = variables(VARIABLES)
    try:
        try:
            options = options_of(arguments)
        except SystemExit:  # `--help` was all that was asked
            return 0
        found = decider.found(options, environment, data)
        written = found.answer(options)
    except PolicyError as error:
        sys.stderr.write(blocked(error))
        sys.stderr.flush()
        return 2
    # Not buffered: what cannot be written is not an answer, and is seen at once.
    while written:
        written = written[os.write(1, written) :]
    told()
    if options.resident:
        from policy.adapters.hook.resident import leave_behind  # noqa: PLC0415  # what is needed only here

        leave_behind(decider)
    if not options.record:
        # The call is answered, whatever becomes of this.
        with contextlib.suppress(Exception):
            found.leave(arguments, environment)
    return 0
