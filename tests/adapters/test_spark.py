"""Deciding calls in Arrow batches, and in a local session of Spark."""

from __future__ import annotations

import json
import sys

import pytest

from policy.adapters.spark import COLUMNS, SCHEMA, deciding
from policy.core.errors import PolicyError
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.tables.compiled import compiled_to_json

pa = pytest.importorskip("pyarrow", reason="pip install 'agent-policy[spark]'")

TEAM = """\
root main

agent main {
    allow     Bash(git *), Task, Read
    ask       Bash(git push *)
    deny      Read(.env)
}

agent explore {
    allow     Read
}
"""
ROWS = [
    (["main"], "Bash", '{"command": "git log"}', None, "allow", "rule"),
    (["main"], "Bash", '{"command": "git push x"}', None, "ask", "rule"),
    (["main", "explore"], "Bash", '{"command": "git log"}', None, "deny", "default"),
    (["main"], "Read", '{"file_path": "/srv/app/.env"}', "/srv/app", "deny", "rule"),
    (["main"], "Read", '{"file_path": "/srv/app/.env"}', None, "allow", "rule"),
    (["nobody"], "Read", '{"file_path": "a"}', None, "deny", "malformed-call"),
    (["main"], "Read", "[1]", None, "deny", "malformed-call"),
    (["main"], "Read", "{", None, "deny", "malformed-call"),
    (["main"], "Read", "[" * 100_000, None, "deny", "malformed-call"),
    ([], "Read", "{}", None, "deny", "malformed-call"),
    (None, None, None, None, "deny", "malformed-call"),
    (["main"], "Read", '{"file_path": "a"}', "not/absolute", "deny", "malformed-call"),
]


@pytest.fixture(scope="module")
def compiled() -> bytes:
    return compiled_to_json(load_tree(Memory({"team.policy": TEAM}))).encode()


def batch() -> pa.RecordBatch:
    kinds = [pa.list_(pa.string()), pa.string(), pa.string(), pa.string()]
    arrays = [pa.array([row[n] for row in ROWS], kind) for n, kind in enumerate(kinds)]
    return pa.RecordBatch.from_arrays(arrays, list(COLUMNS))


def test_a_batch_is_decided_row_by_row(compiled):
    (out,) = deciding(compiled)(iter([batch()]))
    assert [(row["effect"], row["reason"]) for row in out.to_pylist()] == [row[4:] for row in ROWS]
    assert out.to_pylist()[1]["rules"] == ["Bash(git push *)"]


def test_columns_that_are_not_there_say_nothing(compiled):
    given = pa.RecordBatch.from_pylist([{"tool": "Read", "input": "{}"}])
    (out,) = deciding(compiled)(iter([given]))
    assert out.to_pylist()[0]["effect"] == "deny"


def test_what_was_tampered_with_is_refused_before_anything_is_sent(compiled):
    with pytest.raises(PolicyError):
        deciding(compiled.replace(b"git", b"rm "))


@pytest.mark.slow
def test_spark_decides_as_this_process_does(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql", reason="pip install 'agent-policy[spark]'")
    spark = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(tmp_path))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        rows = [row[:4] for row in ROWS] * 50
        schema = "chain array<string>, tool string, input string, cwd string"
        frame = spark.createDataFrame(rows, schema).repartition(4)
        found = frame.mapInArrow(deciding(compiled), SCHEMA).collect()
    finally:
        spark.stop()
    told = sorted(json.dumps([*row[:4], row["effect"], row["reason"]]) for row in found)
    assert told == sorted(json.dumps(list(row)) for row in ROWS * 50)
