"""Writing records: one line a decision, appended."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import attrs

from policy.credentials import masked
from policy.decision import Decision
from policy.errors import PolicyError
from policy.records.record import REDACTIONS, Record, line

__all__ = ["Recorder", "redacted"]


@attrs.frozen
class Recorder:
    """Appends the decisions it is told of to a file.

    Each is one write of one line to a file that only its owner can read, so
    processes may share it.

    Attributes:
        path: the file; it is made where there is none.
        redact: one of `REDACTIONS`: ``credentials`` puts stars for what looks
            like a key or a password, ``all`` leaves the names of arguments only.

    """

    path: Path
    redact: str = attrs.field(default="credentials", validator=attrs.validators.in_(REDACTIONS))

    def write(
        self,
        chain: tuple[str, ...],
        tool: str,
        call: Mapping[str, object],
        decision: Decision,
        *,
        cwd: str = "",
    ) -> None:
        """Write down what a call got.

        Raises:
            PolicyError: the file cannot be written.

        """
        self.append(attrs.evolve(Record.of(chain, tool, call, decision), cwd=cwd))

    def append(self, record: Record) -> None:
        """Write down *record*, with the time that it is now.

        Raises:
            PolicyError: the file cannot be written.

        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        text = line(attrs.evolve(redacted(record, self.redact), time=now)) + "\n"
        try:
            self._append(text.encode())
        except OSError as error:
            msg = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise PolicyError(msg, file=str(self.path)) from None

    def _append(self, text: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self.path, flags, 0o600)
        try:
            if self._ends_halfway(file):
                text = b"\n" + text
            if os.write(file, text) != len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)

    def _ends_halfway(self, file: int) -> bool:
        """Return whether the last line has no end, e.g. since the disk was full."""
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or not found.st_size:
            return False
        try:
            with self.path.open("rb") as written:
                written.seek(found.st_size - 1)
                return written.read(1) not in {b"\n", b""}
        except PermissionError:
            return False  # it may be written only, which is as good


def redacted(record: Record, redact: str) -> Record:
    """Return *record* without the values that *redact* keeps from logs; it says which."""
    if redact == "none":
        return record
    kept: dict[str, object] = {}
    changed: list[str] = []
    for name, value in record.call.items():
        told, shown = masked(name), None if redact == "all" else _masked(value)
        if (told, shown) != (name, value):
            changed.append(told)
        kept[told] = shown
    return attrs.evolve(
        record,
        call=kept,
        rules=tuple(map(masked, record.rules)),
        redacted=tuple(changed),
    )


def _masked(value: object) -> object:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {masked(str(name)): _masked(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(each) for each in value]
    return value
