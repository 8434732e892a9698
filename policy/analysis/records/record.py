"""Records calls and their decisions as lines of JSON."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from policy.core.credentials import REDACTIONS, masked, masked_value
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve, field, frozen


@frozen
class Record:
    """A call that an agent made, with its decision. Logs may lack some of it."""

    chain: tuple[str, ...]  # from the root to the caller; () if unknown
    tool: str
    call: dict[str, object] = field(eq=False)  # its arguments, as far as they are kept
    effect: Effect | None = None  # None if the log does not say
    reason: str = ""  # a `policy.core.decision.Reason`; "" if read from a log
    rules: tuple[str, ...] = ()  # the rules that decided, as written; () if read from a log
    table: str = ""  # content hash of the table that decided; "" if read from a log
    time: str = ""  # in RFC 3339; "" if read from a log
    cwd: str = ""  # the folder of the project, absolute, or ""
    redacted: tuple[str, ...] = ()  # arguments whose value was masked or left out
    source: str = field(default="", eq=False)  # its place in a log, e.g. ``a.jsonl:12``
    times: int = 1  # how often the call occurs, in a log that was counted
    agent: str = ""  # the caller, if its chain is unknown, or ""
    project: str = ""  # the title of the project of the chain, or ""

    @classmethod
    def of(
        cls, chain: tuple[str, ...], tool: str, call: Mapping[str, object], decision: Decision
    ) -> Record:
        """Return the record of a decision."""
        rules = tuple(because.rule for because in decision.because)
        got = (decision.effect, decision.reason.value, rules, decision.table)
        return cls(chain, tool, dict(call), *got)


def line(record: Record) -> str:
    """Return *record* as one line of JSON, without a line break."""
    shape: dict[str, object] = {
        "time": record.time,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.agent.name": record.chain[-1] if record.chain else record.agent,
        "gen_ai.tool.name": record.tool,
        "gen_ai.tool.call.arguments": record.call,
        # Empty if only the caller is known, and not its chain.
        "policy.chain": record.chain or ([] if record.agent else ()),
        "policy.effect": "" if record.effect is None else record.effect.value,
        "policy.reason": record.reason,
        "policy.rules": record.rules,
        "policy.table": record.table,
        "policy.cwd": record.cwd,
        "policy.project": record.project,
        "policy.redacted": record.redacted,
    }
    filled = {name: value for name, value in shape.items() if value not in ("", ())}
    # No rule looks at an argument that is no JSON, so its type is enough.
    return json.dumps(
        filled, separators=(",", ":"), default=lambda each: f"<{type(each).__name__}>"
    )


@frozen
class Recorder:
    """Appends records to a file that only its owner can read.

    Each is one write of one line, so processes may share the file.
    """

    path: Path  # the file; made if missing
    # One of `REDACTIONS`: ``credentials`` masks what looks like a key or a password, ``all`` keeps
    # only the names of arguments.
    redact: str = "credentials"

    def __attrs_post_init__(self) -> None:
        """Refuse a value that is not in `REDACTIONS`."""
        if self.redact not in REDACTIONS:
            raise ValueError(self.redact)

    def append(self, record: Record) -> None:
        """Append *record* with the time; raise PolicyError if that fails."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = line(evolve(redacted(record, self.redact), time=now)).encode() + b"\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            file = os.open(self.path, flags, 0o600)
            try:
                # The last line has no end, say, where the disk was full. A file that may be
                # written only, or that is empty, does not say.
                with suppress(OSError), self.path.open("rb") as written:
                    written.seek(-1, os.SEEK_END)
                    text = text if written.read(1) == b"\n" else b"\n" + text
                if os.write(file, text) != len(text):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)
        except OSError as error:
            msg = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise PolicyError(msg, file=str(self.path)) from None


def redacted(record: Record, redact: str) -> Record:
    """Return *record* without the values that *redact* masks; `Record.redacted` names these."""
    if redact == "none":
        return record
    kept: dict[str, object] = {}
    changed: list[str] = []
    for name, value in record.call.items():
        kept_name, shown = masked(name), None if redact == "all" else masked_value(value, name)
        if (kept_name, shown) != (name, value):
            changed.append(kept_name)
        kept[kept_name] = shown
    rules = tuple(map(masked, record.rules))
    return evolve(record, call=kept, rules=rules, redacted=tuple(changed))
