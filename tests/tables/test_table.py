"""Tables and their rows: what single calls get, and why."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.core import limits, values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.tables.table import NOTHING, UNRESTRICTED, Bounds, Ceiling, LinkedRules, Table
from tests.reference import Said, Scope
from tests.strategies import compiled, rule_set, scopes, table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def test_a_decision_says_which_rule_decided() -> None:
    rules = table("allow Bash(git *)", "deny Bash(git push *)", link="main")
    decision = rules.decide("Bash", {"command": "git push x"})
    assert decision.effect is DENY
    assert [because.rule for because in decision.because] == ["Bash(git push *)"]
    assert decision.links == ("main",)
    assert decision.table == rules.hash
    assert str(decision).startswith("deny: deny Bash(git push *) (main at ")


def test_a_decision_hashes_its_table_where_somebody_asks_which_it_was() -> None:
    rules = table("allow Bash(git *)", "deny Bash(git push *)")
    decision = rules.decide("Bash", {"command": "git push x"})
    assert "hash" not in vars(rules)
    copied = pickle.loads(pickle.dumps(decision))  # noqa: S301  # our own
    assert copied == decision == values.evolve(decision, table="")
    assert hash(copied) == hash(decision)
    assert copied.table == decision.table == rules.hash


@given(scopes(delegating=True), scopes(), st.integers(0, 3))
def test_tables_have_one_hash_where_they_are_equal(one, other, depth) -> None:
    met = compiled(one, bounds=Bounds(depth=depth)) & compiled(other)
    again = compiled(other) & compiled(one, bounds=Bounds(depth=depth))
    assert met.hash == again.hash
    alone = compiled(one)
    assert (alone.hash == met.hash) is (alone == met)


def test_rules_that_match_alike_are_walked_together_wherever_they_stand() -> None:
    one, other = table("allow Bash(git *)", link="a"), table("deny Bash(git *)", link="b")
    (mine, _), (yours, _) = one.lookup("Bash").rows[0], other.lookup("Bash").rows[0]
    assert mine is not yours
    assert mine.automaton is yours.automaton
    assert table("allow Bash(ls *)").lookup("Bash").rows[0][0].automaton is not mine.automaton


def test_a_decision_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(table("allow Bash").decide("Bash", {}))


def test_an_ask_names_every_link_that_asks() -> None:
    met = table("ask Bash", link="main") & table("ask Bash(a)", "allow Bash", link="worker")
    decision = met.decide("Bash", {"command": "a"})
    assert set(decision.links) == {"main", "worker"}
    assert {because.link for because in decision.because} == {"main", "worker"}
    assert met.decide("Bash", {"command": "b"}).links == ("main",)


def test_unrestricted_allows_and_nothing_denies() -> None:
    assert UNRESTRICTED.decide("Bash", {}).reason is Reason.UNRESTRICTED
    assert UNRESTRICTED.decide("Bash", {}).effect is ALLOW
    assert NOTHING.decide("Bash", {"command": "ls"}).effect is DENY


def test_nothing_absorbs_bounds_and_what_may_be_handed_on() -> None:
    a = Table(table("allow Bash").use, table("allow Read").use, Bounds(3, 4, "trusted"))
    assert a & NOTHING == NOTHING
    assert (a & NOTHING).hash == NOTHING.hash


# --- calls that cannot be read --------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [{}, {"command": None}, {"command": 5}, {"command": ["a"]}, {"cmd": "a"}, {"": "a"}],
    ids=str,
)
def test_a_command_that_cannot_be_read_is_denied(call: dict[str, Any]) -> None:
    decision = table("allow Bash(*)", default=ALLOW).decide("Bash", call)
    assert decision.effect is DENY
    assert decision.reason is Reason.MALFORMED


def test_a_call_that_no_rule_looks_into_need_not_be_read() -> None:
    assert table("allow Bash").decide("Bash", {}).effect is ALLOW


def test_a_contradicting_path_is_denied() -> None:
    rules = table("allow Read(**)")
    assert rules.decide("Read", {"file_path": "a", "path": "a"}).effect is ALLOW
    assert rules.decide("Read", {"file_path": "a", "path": "b"}).reason is Reason.MALFORMED


def test_a_remembered_answer_is_not_that_of_a_call_with_a_second_name() -> None:
    a = table("allow Read(a)")
    for _ in range(2):
        assert a.decide("Read", {"file_path": "a"}).effect is ALLOW
        assert a.decide("Read", {"file_path": "a", "path": "a"}).effect is ALLOW
        assert a.decide("Read", {"path": "a"}).effect is ALLOW
        assert a.decide("Read", {"file_path": "a", "path": "b"}).reason is Reason.MALFORMED
        assert a.decide("Read", {"file_path": "a", "path": None}).reason is Reason.MALFORMED


def test_a_call_that_is_too_long_is_denied() -> None:
    longest = {"subagent_type": "a" * limits.CALL_CHARACTERS}
    assert table("allow Task(*)").decide("Task", longest).effect is ALLOW
    text = "a" * (limits.CALL_CHARACTERS + 1)
    for tool, field in (("Bash", "command"), ("Task", "subagent_type")):
        decision = table(f"allow {tool}(*)", default=ALLOW).decide(tool, {field: text})
        assert decision.reason is Reason.TOO_LONG
        assert decision.effect is DENY


@pytest.mark.parametrize("name", ["", "x", "path "])
def test_a_stray_argument_stands_for_no_other(name: str) -> None:
    """Not even one without a name, whose decision is remembered."""
    rules = table("allow Read(src/**)", "allow Task(model:x)", "allow Task(a)")
    for tool, field, good, bad in (
        ("Read", "file_path", "src/a", "/etc/passwd"),
        ("Task", "agent", "a", "b"),
    ):
        for value in ("src/a", "/@project/src/a", "a"):
            assert rules.decide(tool, {name: value, field: good}).effect is ALLOW
            assert rules.decide(tool, {name: value, field: bad}).effect is DENY
            assert rules.decide(tool, {name: value, field: good}).effect is ALLOW


# --- names ---------------------------------------------------------------------------------


def test_names_and_globs_of_tools() -> None:
    rules = table("allow m__*", "deny m__b*", "ask m__bc", "allow Agent(a)")
    assert rules.decide("m__a", {}).effect is ALLOW
    assert rules.decide("m__b", {}).effect is DENY
    assert rules.decide("m__bc", {}).effect is DENY
    assert rules.decide("M__a", {}).effect is DENY
    assert rules.decide("m__*", {}).effect is ALLOW
    assert rules.decide("Task", {"agent": "a"}).effect is ALLOW
    assert rules.decide("Agent", {"subagent_type": "a"}).effect is ALLOW


def test_a_glob_finds_a_tool_under_its_other_name() -> None:
    assert table("deny Ag*", default=ALLOW).decide("Task", {"agent": "a"}).effect is DENY


def test_unknown_names_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policy.tables.table._REMEMBERED_TOOLS", 50)
    rules = table("allow a*(b)")
    for number in range(500):
        assert rules.decide(f"a{number}", {"x": "b"}).effect is ALLOW
    assert len(rules._lookups) <= 50


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CACHE_ENTRIES", 50)
    rules = table("allow Bash(a *)", "deny Bash(a b*)")
    for number in range(500):
        command = f"a {'b' * (number % 3)}{number}"
        wanted = DENY if number % 3 else ALLOW
        assert rules.decide("Bash", {"command": command}).effect is wanted
        assert rules.decide("Bash", {"command": command}).effect is wanted
    assert len(rules.lookup("Bash").remembered) <= 50


@pytest.mark.parametrize(
    ("written", "behind", "effect"),
    [(DENY, ASK, DENY), (ASK, DENY, DENY), (ALLOW, ASK, ASK), (ASK, ALLOW, ASK)],
)
def test_of_the_texts_of_a_command_the_strictest_counts(written, behind, effect) -> None:
    rules = table(f"{written} Bash(sudo rm *)", f"{behind} Bash(rm *)")
    assert rules.decide("Bash", {"command": "sudo rm x"}).effect is effect


def test_a_denial_behind_a_rule_that_asks_counts_for_a_command_that_is_not_sure() -> None:
    """Some hosts look at exact rules first; what a shell may read otherwise is denied all the same."""
    said = (Said(ASK, "Bash(rm x)"), Said(DENY, "Bash(rm *)"), Said(ALLOW, "Bash"))
    rules = Table.of(rule_set(Scope(said, precedence="exact first")))
    for command, effect in (
        ("rm x", ASK),
        ("rm x; a", ASK),
        ("rm x; a $y", DENY),
        ("a $y", ASK),
        ("sudo rm x; a $y", DENY),
    ):
        assert rules.decide("Bash", {"command": command}).effect is effect, command


# --- values -----------------------------------------------------------------------------------


def test_equality_and_hash_cover_rules_and_nothing_else() -> None:
    a = table("allow Bash(a)", "allow Bash(b)", link="x")
    assert a == table("allow Bash(b)", "allow Bash(a)", "allow Bash(b)", link="y")
    assert hash(a) == hash(table("allow Bash(b)", "allow Bash(a)"))
    for other in (
        table("allow Bash(a)"),
        table("allow Bash(a)", "ask Bash(b)"),
        table("allow Bash(a)", "allow Bash(c)"),
        table("allow Bash(a)", "allow Bash(b)", default=ASK),
        table("allow Bash(a)", "allow Task(b)"),
        table("allow Task(model:a)", "allow Task(b)"),
        Table(a.use, NOTHING.use),
        Table(a.use, bounds=Bounds(depth=1)),
    ):
        assert a != other
        assert a.hash != other.hash


def test_a_table_is_shown_by_the_number_of_its_rule_sets() -> None:
    one = table("allow Bash(a)")
    assert repr(one).endswith(" 1 rule set>")
    assert repr(one & table("allow Bash(b)")).endswith(" 2 rule sets>")


def test_a_dialect_is_part_of_a_table() -> None:
    rules = rule_set(Scope((Said(ALLOW, "Read(a)"),)))
    moved = values.evolve(rules, dialect=values.evolve(rules.dialect, cwd="/elsewhere"))
    assert Table.of(rules) != Table.of(moved)
    assert Table.of(rules).hash != Table.of(moved).hash


def test_a_rule_that_another_always_precedes_is_not_part_of_a_table() -> None:
    assert table("deny Bash", "allow Bash(a)") == table("deny Bash")
    assert table("deny *", "ask Bash", "allow Read(a)") == table("deny *")
    assert table("deny Bash(a)", "allow Bash(a)") == table("deny Bash(a)")


def test_threads_get_the_same_answers() -> None:
    rules = table("allow Bash(a *)", "deny Bash(a b*)", "ask m__*")
    wrong: list[object] = []

    def ask(seed: int) -> None:
        for number in range(300):
            text = f"a {'b' if (seed + number) % 2 else 'c'}{number}"
            wanted = DENY if (seed + number) % 2 else ALLOW
            if rules.decide("Bash", {"command": text}).effect is not wanted:
                wrong.append(text)
            if rules.decide(f"m__{number}", {}).effect is not ASK:
                wrong.append(number)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_ceiling_holds_each_rule_set_once_with_all_its_links() -> None:
    rules = rule_set(Scope((Said(ALLOW, "Bash(a)"),)))
    ceiling = Ceiling.of([LinkedRules(rules, ("a",)), LinkedRules(values.evolve(rules), ("b",))])
    assert [part.links for part in ceiling.parts] == [("a", "b")]


def test_a_denial_of_everything_leaves_nothing_else() -> None:
    met = table("allow Bash(a)") & compiled(Scope())
    assert len(met.use.parts) == 1
    assert met.decide("Bash", {"command": "a"}).effect is DENY


@pytest.mark.parametrize("effect", ["allow", "ask"])
def test_a_rule_for_any_command_does_not_open_files_that_another_denies(effect):
    opening = table(f"{effect} Bash", "deny Read(.env)", "deny Write(src/**)")
    for command in ("cat < .env", "make > src/a", "make && cat 0< conf/../.env"):
        assert opening.decide("Bash", {"command": command}).effect is Effect.DENY, command
    for command in ("cat < a", "make > a", "make"):
        assert str(opening.decide("Bash", {"command": command}).effect) == effect, command
    assert opening.decide("Bash", {"command": "cat < $X"}).effect is Effect.ASK


def test_a_table_that_hands_on_more_is_not_below_one_that_grants_as_much() -> None:
    use, less = table("allow Read", "allow Bash"), table("allow Read")
    wide, narrow = Table(use.use, use.use), Table(use.use, less.use)
    assert narrow <= wide
    assert not wide <= narrow
