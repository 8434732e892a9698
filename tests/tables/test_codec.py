"""Tables as JSON: byte for byte there and back, and nothing else gets in."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy
from policy.core import limits
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.trees import Folder
from policy.hosts.front_ends import FRONT_ENDS
from policy.tables.codec import (
    _is_host,
    dumped,
    loaded,
    sealed,
    table_from_json,
    table_to_json,
)
from policy.tables.dialect import Dialect
from policy.tables.placement import ProjectFolders
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import NOTHING, UNRESTRICTED, Bounds, LinkedRules, Table
from tests.conftest import FIXTURES
from tests.strategies import calls, tables


def same(one: Table, other: Table) -> None:
    """Assert that two tables are alike in all that they decide and explain."""
    assert one == other
    assert one.hash == other.hash
    for ceiling, twin in ((one.use, other.use), (one.delegated, other.delegated)):
        assert [part.links for part in ceiling.parts] == [part.links for part in twin.parts]
        for part, match in zip(ceiling.parts, twin.parts, strict=True):
            lines = [(e, e.rule, e.place) for e in part.rules.entries]
            assert lines == [(e, e.rule, e.place) for e in match.rules.entries]


@given(tables, calls())
def test_a_table_survives_the_round_trip_byte_for_byte(table, call) -> None:
    text = table_to_json(table)
    read = table_from_json(text)
    same(table, read)
    assert table_to_json(read) == text
    assert read.decide(*call) == table.decide(*call)


@given(tables, tables)
def test_a_chain_survives_the_round_trip(one, other) -> None:
    table = one & other
    text = table_to_json(table)
    same(table, table_from_json(text))
    assert table_to_json(table_from_json(text)) == text


@pytest.mark.parametrize(
    "table", [UNRESTRICTED, NOTHING, Table(bounds=Bounds(depth=2, turns=9, trust="verified"))]
)
def test_the_simplest_tables_survive(table) -> None:
    assert table_from_json(table_to_json(table)) == table


def test_what_is_no_table_has_no_json() -> None:
    with pytest.raises(TypeError, match="expected a table"):
        table_to_json({})  # type: ignore[arg-type]  # is refused
    with pytest.raises(TypeError, match="expected a text"):
        table_from_json(b"{}")  # type: ignore[arg-type]  # is refused


@pytest.mark.parametrize("front_end", FRONT_ENDS, ids=lambda each: each.HOST)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_every_table_of_the_fixtures_survives(front_end, step) -> None:
    seen = set()
    for project in [*front_end.load(Folder(FIXTURES))][::step]:
        for reading in (project.attenuated, project.enforced):
            for agent in reading.agents:
                try:
                    table = reading.start(agent).table
                except policy.SpawnDenied:
                    continue  # a host may refuse to start it at all
                if table.hash in seen:
                    continue
                seen.add(table.hash)
                text = table_to_json(table)
                loaded = table_from_json(text)
                same(table, loaded)
                assert table_to_json(loaded) == text
    assert seen


def test_a_table_in_folders_is_written_without_the_one_it_comes_from() -> None:
    table = policy.load(FIXTURES / "command" / "team").chain("main").table
    placed = ProjectFolders("/srv/app", "/home/alice").table(table)
    assert placed.origin is table
    assert placed.decide("Read", {"file_path": "a"}).table == table.hash
    loaded = table_from_json(table_to_json(placed))
    assert loaded == placed != table
    assert loaded.origin is None


# --- hostile input ---------------------------------------------------------------


def team() -> str:
    return table_to_json(policy.load(FIXTURES / "command" / "team").chain("main", "reviewer").table)


def changed(change) -> str:
    """Return a table whose content was changed by one who knows how to hash."""
    value = json.loads(team())["content"]
    change(value)
    return sealed(json.dumps(value, separators=(",", ":")))


def entry(value):
    """Return the first line with a pattern."""
    return next(e for rules in value["rules"] for e in rules["entries"] if "pattern" in e)


def put(path, new):
    def change(value):
        *way, last = path
        for key in way:
            value = value[key]
        value[last] = new

    return change


TABLE = ["table"]
HOSTILE = {
    "nothing": "",
    "no-object": "[]",
    "text": '"table"',
    "content-that-is-none": sealed("[]"),
    "unknown-key": changed(put(["code"], "import os")),
    "missing-key": changed(lambda value: value.pop("rules")),
    "key-twice": sealed('{"rules": 1, "rules": 1}'),
    "not-a-number": sealed('{"rules": NaN}'),
    "nested-too-deep": sealed("[" * 100_000),
    "nested-too-deep-inside": sealed('{"rules":' + "[" * 900 + "]" * 900 + "}"),
    "number-of-a-million-digits": sealed('{"rules": ' + "1" * 1_000_000 + "}"),
    "a-pickle": pickle.dumps({"version": 1}).decode("latin-1"),
    "effect-that-is-a-number": changed(lambda v: entry(v).update(effect=2)),
    "effect-that-is-unknown": changed(lambda v: entry(v).update(effect="permit")),
    "effect-that-is-null": changed(lambda v: entry(v).update(effect=None)),
    "effect-changed": team().replace('"deny"', '"allow"', 1),
    "tool-that-is-a-list": changed(lambda v: entry(v).update(tool=["Bash"])),
    "unknown-key-in-a-line": changed(lambda v: entry(v).update(alow=True)),
    "pattern-of-unknown-kind": changed(lambda v: entry(v)["pattern"].update(kind="regex")),
    "pattern-with-unknown-gap": changed(lambda v: entry(v)["pattern"].update(tokens=[{"gap": "x"}])),
    "pattern-not-canonical": changed(lambda v: entry(v)["pattern"].update(tokens=["a", "b"])),
    "pattern-with-empty-text": changed(lambda v: entry(v)["pattern"].update(tokens=[""])),
    "pattern-without-alternatives": changed(
        lambda v: entry(v)["pattern"].update(tokens=[{"alternatives": []}])
    ),
    "pattern-with-too-many-alternatives": changed(
        lambda v: entry(v)["pattern"].update(tokens=[{"alternatives": [["a"], ["b"]]}] * 40)
    ),
    "alternatives-not-canonical": changed(
        lambda v: entry(v)["pattern"].update(tokens=[{"alternatives": [["a", "b"], []]}])
    ),
    "entries-that-are-text": changed(put(["rules", 0, "entries"], "allow")),
    "default-missing": changed(lambda v: v["rules"][0].pop("default")),
    "default-changed": team().replace('"default":"deny"', '"default":"ask"', 1),
    "dialect-out-of-range": changed(put(["rules", 0, "dialect"], 99)),
    "dialect-below-range": changed(put(["rules", 0, "dialect"], -1)),
    "part-out-of-range": changed(put([*TABLE, "use", 0, "rules"], 7)),
    "part-without-rules": changed(put([*TABLE, "use"], [{}])),
    "links-that-are-text": changed(put([*TABLE, "use", 0, "links"], "main")),
    "source-moved": team().replace('"rule":"', '"rule":"Harmless', 1),
    "place-of-wrong-type": changed(put(["rules", 0, "entries", 0, "place"], {"file": "a", "line": "4"})),
    "trust-unknown": changed(put([*TABLE, "bounds"], {"trust": "absolute"})),
    "depth-that-is-true": changed(put([*TABLE, "bounds"], {"depth": True})),
    "table-that-is-a-number": changed(put(TABLE, 5)),
    "table-of-another": changed(put([*TABLE, "origin"], {})),
    "hash-changed": team().replace('"hash":"sha256:', '"hash":"sha256:0', 1),
    "hidden-characters": changed(put(["\u202eversion\x1b[2J"], 1)),
    "expression-that-is-none": changed(
        put(["dialects", 0, "shell", "programs"], {"x": {"first": "("}})
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused(name) -> None:
    with pytest.raises(PolicyError) as refused:
        table_from_json(HOSTILE[name])
    assert "\x1b" not in str(refused.value)
    assert "\u202e" not in str(refused.value)
    assert len(refused.value.message) < 500


SHELL = ["dialects", 0, "shell"]


@pytest.mark.parametrize(
    ("way", "new", "why"),
    [
        ([*SHELL, "programs"], {"": {}}, "expected the names of programs"),
        ([*SHELL, "reader"], "nobody", "no host .*nobody.* reads commands"),
        ([*SHELL, "reader"], "a.b", "no host .*a[.]b.* reads commands"),
        ([*SHELL, "compound"], [[{"alternatives": [["a"], ["b"]]}]], "without alternatives"),
        ([*SHELL, "programs"], {"x": {"first": "("}}, "is not an expression"),
        ([*SHELL, "variables"], {"guarded": "("}, "is not an expression"),
        ([*SHELL, "wrapping", "granting"], {"x": {"operands": ["("]}}, "is not an expression"),
        (["dialects", 0, "inputs"], {"x": {"each": [{"name": "a", "spelling": "("}]}}, "is not an"),
        (["dialects", 0, "other"], {"kind": "powershell", "fields": []}, "that reads PowerShell"),
        (["dialects", 0, "links"], [["/a"]], "expected 2 values, found 1"),
    ],
    ids=str,
)
def test_what_no_host_knows_is_refused(way, new, why) -> None:
    with pytest.raises(PolicyError, match=why):
        table_from_json(changed(put(way, new)))


def test_why_text_is_refused(text) -> None:
    told = []
    for name, hostile in HOSTILE.items():
        with pytest.raises(PolicyError) as refused:
            table_from_json(hostile)
        message = refused.value.message
        told.append(f"{name}: {message.split('sha256:')[0]}\n")
    assert "".join(told) == text


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: (
    st.lists(inner) | st.dictionaries(st.sampled_from(
        ["dialects", "rules", "tables", "table", "use", "delegate", "bounds", "kind"]
    ), inner)
), max_leaves=12))  # fmt: skip
def test_no_json_gets_through_or_breaks_the_reader(value) -> None:
    with pytest.raises(PolicyError):
        table_from_json(sealed(json.dumps(value, separators=(",", ":"))))


def test_equal_tables_give_equal_text() -> None:
    assert team() == team()
    assert team().endswith("}\n")
    # Another form has another number, since other versions read it.
    assert team().startswith('{"compiled":5,')


# --- limits, and what no text holds -------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        ([{"characters": ["ab"]}], "expected characters"),
        ([{"characters": []}], "expected a character"),
        ([{"excluded": ["ab"]}], "expected characters"),
        ([{"excluded": ["a", "bc"]}], "expected characters"),
        ([{"characters": ["a", ""]}], "expected characters"),
        ([{"characters": ["a"], "gap": "any"}], "is unknown"),
        ([{"letters": ["a"]}], "expected a part of a pattern"),
        ([5], "expected a part of a pattern"),
    ],
    ids=str,
)
def test_a_part_of_a_pattern_that_is_none_is_refused(tokens, why) -> None:
    with pytest.raises(PolicyError, match=why):
        table_from_json(changed(lambda v: entry(v)["pattern"].update(tokens=tokens)))


def test_a_pattern_has_as_many_alternatives_as_the_limit(monkeypatch) -> None:
    either = {"alternatives": [["a"], ["b", {"alternatives": [["c"], ["d"], ["e"]]}]]}
    text = changed(lambda v: entry(v)["pattern"].update(tokens=[either, "-", either]))
    monkeypatch.setattr(limits, "ALTERNATIVES", 16)  # four and four
    assert table_to_json(table_from_json(text)) == text
    monkeypatch.setattr(limits, "ALTERNATIVES", 15)
    with pytest.raises(PolicyError, match="at most 15 choices"):
        table_from_json(text)


def test_why_a_text_is_refused_is_told_in_part() -> None:
    keys = {f"key{number}": 1 for number in range(100)}
    with pytest.raises(PolicyError) as refused:
        table_from_json(changed(put([*TABLE], keys)))
    told = refused.value.message.removeprefix("this is not a compiled policy: ")
    assert told.startswith("the key")
    assert len(told) == 300


def test_a_name_is_that_of_a_host_with_a_reader_or_not() -> None:
    names = ["claude", "notation", "nobody", "a.b", "", "claude.shell"]
    assert [_is_host(name) for name in names] == [True, False, False, False, False, False]


def test_what_has_no_json_cannot_be_read() -> None:
    with pytest.raises(TypeError, match="there is no JSON for <class 'float'>"):
        loaded(dumped("number", 1).encode(), "number", float, "x")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Bounds, Bounds()),
        (Entry, Entry("t", Effect.ASK)),
        (LinkedRules, LinkedRules(RuleSet((), Effect.DENY, Dialect("x")))),
        (tuple[str, ...], ()),
        (str | None, None),
        (str | None, "x"),
        (object, 5),
        (tuple[str, int], ("x", 5)),
    ],
    ids=str,
)
def test_a_value_is_written_and_read(kind, value) -> None:
    text = dumped("value", value)
    found, digest = loaded(text.encode(), "value", kind, "x")
    assert found == value
    assert digest in text
    with pytest.raises(PolicyError, match="are not those of one"):
        loaded(text.encode(), "other", kind, "x")
