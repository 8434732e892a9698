"""Spark: decides logged calls on many machines, as a function for ``mapInArrow``.

    from policy.adapters.spark import SCHEMA, deciding

    calls = spark.read.parquet("calls")  # columns as in `COLUMNS`
    decided = calls.mapInArrow(deciding(Path("policy.json").read_bytes()), SCHEMA)

The function contains the compiled policy, so workers need only this package. Each process reads
the policy once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.tables.compiled import compiled_from_json

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "SCHEMA", "deciding"]

# The input: the chain, the tool, its arguments as JSON text, the project's folder.
COLUMNS: Final = ("chain", "tool", "input", "cwd")

# The output: the columns of the input, and the decision.
SCHEMA: Final = (
    "chain array<string>, tool string, input string, cwd string, "
    "effect string, reason string, rules array<string>"
)

_Batches = Iterator["pa.RecordBatch"]


def deciding(
    compiled: bytes, *, reading: str = "attenuated", home: str = ""
) -> Callable[[_Batches], _Batches]:
    """Return a function that decides the calls of Arrow batches, for ``mapInArrow``.

    An invalid call (no chain, arguments that are no JSON object, an unknown agent) is denied
    with the reason ``malformed-call``.

    Args:
        compiled: the bytes of a compiled policy (`policy compile`).
        reading: ``attenuated`` or ``enforced``.
        home: the home folder of the users of the log, absolute; "" where unknown.

    Raises PolicyError: *compiled* is no compiled policy; raised here and not on the workers.
    """
    compiled_from_json(compiled)

    def decide(batches: _Batches) -> _Batches:
        decider = _decider(compiled, reading, home)
        for batch in batches:
            yield _decided(batch, decider)

    return decide


@lru_cache(maxsize=8)
def _decider(compiled: bytes, reading: str, home: str) -> RecordDecider:
    return RecordDecider(compiled_from_json(compiled), reading, home)


def _decided(batch: pa.RecordBatch, decider: RecordDecider) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415  # Spark brings it

    names = batch.schema.names
    asked = [
        batch.column(names.index(name)).to_pylist() if name in names else [None] * batch.num_rows
        for name in COLUMNS
    ]
    found = [_decision(decider, *row) for row in zip(*asked, strict=True)]
    columns = [
        *asked,
        [decision.effect.value for decision in found],
        [decision.reason.value for decision in found],
        [[because.rule for because in decision.because] for decision in found],
    ]
    text = pa.string()
    kinds = [pa.list_(text), *[text] * 5, pa.list_(text)]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, [*COLUMNS, "effect", "reason", "rules"])


def _decision(decider: RecordDecider, chain: Any, tool: Any, text: Any, cwd: Any) -> Decision:
    # Columns may hold anything.
    with suppress(ValueError, RecursionError, PolicyError):
        call = json.loads(text or "{}")
        if chain and tool and isinstance(call, dict):
            return decider.decide(Record(tuple(chain), tool, call, cwd=cwd or ""))
    return Decision(Effect.DENY, Reason.MALFORMED)
