"""One call that an agent made, and what it got, as a line of JSON.

Names of attributes are those of OpenTelemetry's conventions for generative AI
(status: development) where they have one; all others start with ``policy.``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import attrs

from policy.decision import Decision
from policy.effect import Effect

__all__ = ["REDACTIONS", "Record", "line"]

# What becomes of the values of arguments, the least first.
REDACTIONS = ("none", "credentials", "all")


@attrs.frozen
class Record:
    """A call that was made.

    Attributes:
        chain: who called, from the root down; () where that is not known.
        tool: the tool.
        call: its arguments, those that are kept.
        effect: what it got; None where the log does not say.
        reason: why, as `policy.decision.Reason` has it, or "".
        rules: the rules that decided, as written.
        table: content hash of the table that decided, or "".
        time: when, as RFC 3339 has it, or "".
        cwd: the folder of the project, absolute, or "".
        redacted: arguments whose value is not the one of the call.
        source: where it was read, e.g. ``a.jsonl:12``.
        times: how many calls were like this one, where a log was counted first.
        agent: the agent that called, where its chain is not known, or "".
        project: whose agents they are, as chains are qualified by it, or "".

    """

    chain: tuple[str, ...]
    tool: str
    call: dict[str, object] = attrs.field(eq=False)
    effect: Effect | None = None
    reason: str = ""
    rules: tuple[str, ...] = ()
    table: str = ""
    time: str = ""
    cwd: str = ""
    redacted: tuple[str, ...] = ()
    source: str = attrs.field(default="", eq=False)
    times: int = 1
    agent: str = ""
    project: str = ""

    @classmethod
    def of(
        cls, chain: tuple[str, ...], tool: str, call: Mapping[str, object], decision: Decision
    ) -> Record:
        """Return the record of a decision."""
        rules = tuple(because.rule for because in decision.because)
        return cls(
            chain, tool, dict(call), decision.effect, decision.reason.value, rules, decision.table
        )


def line(record: Record) -> str:
    """Return a record as one line of JSON, without the line's end."""
    shape: dict[str, object] = {
        "time": record.time,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": record.chain[-1] if record.chain else record.agent,
        "gen_ai.tool.name": record.tool,
        "gen_ai.tool.call.arguments": record.call,
        # Empty where somebody called of whom nobody knows who started them.
        "policy.chain": record.chain or ([] if record.agent else ()),
        "policy.effect": record.effect.value if record.effect else "",
        "policy.reason": record.reason,
        "policy.rules": record.rules,
        "policy.table": record.table,
        "policy.cwd": record.cwd,
        "policy.project": record.project,
        "policy.redacted": record.redacted,
    }
    said = {name: value for name, value in shape.items() if value not in ("", ())}
    return json.dumps(said, ensure_ascii=True, separators=(",", ":"), default=_unwritable)


def _unwritable(value: object) -> str:
    # What is no JSON was no argument that a rule could be asked about.
    return f"<{type(value).__name__}>"
