"""Tables and their rows: what single calls get, and why."""

from __future__ import annotations

import pickle
import threading
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.commands.knowledge import FileTools, Shell
from policy.core import limits, values
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.patterns.notations import paths
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.chain import Attenuated, Chain
from policy.tables.dialect import Argument, ArgumentKind, Dialect, Input, InputKind, Inputs
from policy.tables.file_outcome import named_outcome
from policy.tables.placement import ProjectFolders, Rootless
from policy.tables.row import Row
from policy.tables.ruleset import EntriesOnDemand, Entry, Form, RuleSet
from policy.tables.table import (
    NOTHING,
    UNRESTRICTED,
    Bounds,
    Ceiling,
    LinkedRules,
    Lookup,
    Table,
)
from tests.reference import Said, Scope
from tests.strategies import DIALECT, compiled, rule_set, scopes, table

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


@pytest.mark.parametrize(
    ("rules", "again"),
    [
        # What decides no call makes no other table; nor does the order of what decides alike.
        (["allow m__a", "deny m__a(x)", "allow m__b(y)"], ["allow m__b(y)", "allow m__a"]),
        (["allow m__a", "deny m__a(x)", "ask m__b(y)"], ["allow m__a", "ask m__b(y)"]),
        (["allow *", "deny m__a(x)", "ask m__b"], ["allow *"]),
        (["allow m__a(x)", "allow *", "allow m__b"], ["allow *"]),
        (["allow m__a(x)", "allow m__a", "allow m__b(y)"], ["allow m__b(y)", "allow m__a"]),
        (["deny m__a(x)", "allow m__b", "ask m__a(x)"], ["deny m__a(x)", "allow m__b"]),
        (["allow Task(x)", "deny Agent(x)"], ["allow Agent(x)"]),
    ],
)
def test_what_decides_no_call_makes_no_other_table(rules: list[str], again: list[str]) -> None:
    made, other = (
        RuleSet(
            tuple(e for rule in some for e in table(rule).use.parts[0].rules.entries), DENY, DIALECT
        )
        for some in (rules, again)
    )
    assert made == other
    assert (made.digest, hash(made)) == (other.digest, hash(other))
    for number in range(len(again)):
        less = values.evolve(other, entries=other.entries[:number] + other.entries[number + 1 :])
        assert made != less


def test_rules_for_all_calls_make_others_of_their_effect_and_reason_needless() -> None:
    every, some = Entry("*", ALLOW), Entry("*", ALLOW, Pattern.text("x"))
    host = Entry("m__a", ALLOW, Pattern.text("x"), reason=Reason.DEFAULT)
    made = [RuleSet(each, DENY, DIALECT) for each in ((some, every), (every,), (every, host))]
    assert made[0] == made[1] == made[2]
    rule = values.evolve(host, reason=Reason.RULE)
    one, other = (RuleSet((some, each), DENY, DIALECT) for each in (host, rule))
    assert one != other
    assert one.digest != other.digest


def test_where_a_limit_stands_makes_no_other_table() -> None:
    one, other = (
        Because("limit depth 1", DENY, "a", Place("a.policy", line, 1)) for line in (1, 2)
    )
    for depth in (0, 1):
        tables = [
            values.evolve(table("allow Task"), bounds=Bounds(depth, by=by))
            for by in (one, other, None)
        ]
        assert tables[0] == tables[1] == tables[2] != table("allow Task")
        assert len({each.hash for each in tables}) == len(set(tables)) == 1


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


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "rules", [[], ["allow Bash"], ["deny Bash(rm *)"], ["ask Bash(timeout:5)"]]
)
def test_a_call_without_a_command_opens_no_file(rules: list[str], whole: bool) -> None:
    """Only rules that look into commands need one, or a host that reads whole commands."""
    lines = table("deny Read(.env)", *rules, default=ALLOW).use.parts[0].rules
    dialect = values.evolve(DIALECT, shell=values.evolve(DIALECT.shell, whole=whole))
    opening = Table.of(values.evolve(lines, dialect=dialect))
    wanted = ALLOW, Reason.RULE if "allow Bash" in rules else Reason.DEFAULT
    if whole or "deny Bash(rm *)" in rules:
        wanted = DENY, Reason.MALFORMED
    for call in ({}, {"command": 5}, {"command": None}):
        decision = opening.decide("Bash", call)
        assert (decision.effect, decision.reason) == wanted, (call, decision)
    asked = opening.decide("Bash", {"timeout": "5"}).effect is ASK
    assert asked is (not whole and "ask Bash(timeout:5)" in rules)
    long = opening.decide("Bash", {"command": "a" * (limits.CALL_CHARACTERS + 1)})
    assert (long.effect, long.reason) == (DENY, Reason.TOO_LONG)


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
    monkeypatch.setattr(limits, "CACHED_NAMES", 50)
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
        ("sudo -z rm x", ASK),
        ("sudo -z rm x; a $y", DENY),
    ):
        assert rules.decide("Bash", {"command": command}).effect is effect, command


def test_no_denial_counts_behind_a_rule_that_allows_or_asks_for_a_file() -> None:
    said = (
        *(Said(ALLOW, "Bash"), Said(DENY, "Bash(rm *)"), Said(ALLOW, "Bash(rm x)")),
        *(Said(DENY, "Write(b)"), Said(ASK, "Write(b)"), Said(DENY, "Bash(b)")),
        *(Said(DENY, "Bash(timeout:*)"), Said(ASK, "Bash(c *)")),
    )
    rules = Table.of(rule_set(Scope(said, precedence="last match")))
    for command, effect in (
        ("rm x", ALLOW),
        ("rm x; a $y", ASK),
        ("rm z; a $y", DENY),
        ("a $y > b", ASK),
        ("a > b", ASK),
        ("c; a $y", ASK),
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


def test_what_denies_everything_is_one_table_whatever_its_reason_and_host() -> None:
    nothing = Table.of(RuleSet((), DENY, Dialect("")))
    assert nothing == _of() == _of(reason=Reason.UNAVAILABLE)
    assert nothing.hash == _of(reason=Reason.UNAVAILABLE).hash
    for other in (_of(default=ASK), _of(default=ALLOW), _of(Entry("t", ALLOW)), Table()):
        assert nothing != other
        assert nothing.hash != other.hash
    assert _of(default=ALLOW) == Table()
    assert (_of(default=ASK) & nothing) == nothing
    alone = Ceiling((LinkedRules(RuleSet((), DENY, Dialect("x"))),))
    assert alone == nothing.use


def test_a_rule_set_is_shown_by_the_number_of_its_lines() -> None:
    one, two = (RuleSet((Entry("t", ALLOW),) * size, ASK, Dialect("host")) for size in (1, 2))
    assert repr(one) == "<RuleSet host: 1 line, otherwise ask>"
    assert repr(two) == "<RuleSet host: 2 lines, otherwise ask>"
    assert (one == "x") is False
    assert two == one  # the second line says nothing


_LINES = (
    Entry("Sh", ALLOW, Pattern.text("a*")),
    Entry("t", DENY),
    Entry("m__*", ASK, Pattern.text("b")),
    Entry("=q?", ALLOW),
    Entry("Sh", ASK),
)


def test_a_rule_set_knows_the_tools_that_it_names() -> None:
    rules = RuleSet(_LINES, ASK, Dialect("test", aliases={"Sh": "bash"}))
    assert rules.names == {"bash", "t"}
    assert rules.globs == ("m__*", "=q?")
    assert rules.looking == {"bash", "m__*"}
    assert rules.by_tool == {"Sh": [0, 4], "t": [1], "m__*": [2], "=q?": [3]}
    for tool, lines in (("bash", [0, 4]), ("Sh", [0, 4]), ("qx", [3]), ("m__a", [2]), ("x", [])):
        assert rules.lines(tool) == [_LINES[number] for number in lines]


def test_lines_that_are_built_when_they_are_looked_at_are_as_good() -> None:
    built: list[int] = []

    def build(number: int) -> Entry:
        built.append(number)
        return _LINES[number]

    later = EntriesOnDemand([entry.tool for entry in _LINES], build)
    rules = RuleSet(later, ASK, Dialect("test"))  # type: ignore[arg-type]  # as good as a tuple
    assert rules.row("t").default.effect is DENY
    assert rules.row("t").default.effect is DENY
    assert built == [1]
    assert len(later) == 5
    assert tuple(later) == _LINES
    assert rules == RuleSet(_LINES, ASK, Dialect("test"))
    assert rules.written_tools == [entry.tool for entry in _LINES]


def test_only_a_rule_for_every_tool_is_one_for_a_tool_that_no_agent_calls() -> None:
    lines = (Entry("r*", DENY), Entry("*", ASK), Entry("r", ALLOW, Pattern.text("x")))
    for inner, found in ((frozenset({"r"}), [1, 2]), (frozenset(), [0, 1, 2])):
        files = FileTools(input="r", inner=inner)
        rules = RuleSet(lines, ALLOW, Dialect("test", shell=Shell(files=files)))
        assert rules.lines("r") == [lines[number] for number in found]


def test_a_pattern_over_names_matches_other_names_if_the_host_does_that() -> None:
    lines = (Entry("S*", DENY),)
    for aliased, found in ((True, [*lines]), (False, [])):
        dialect = Dialect("test", aliases={"Sh": "bash", "Q": "t"}, aliased=aliased)
        assert RuleSet(lines, ALLOW, dialect).lines("bash") == found
        assert RuleSet(lines, ALLOW, dialect).lines("t") == []


def test_each_thing_that_a_line_says_is_part_of_its_table() -> None:
    line = Entry("t", ALLOW, Pattern.text("a"))
    known = _of(line)
    assert known == _of(values.evolve(line, rule="x", place=Place("f")))
    changes: list[dict[str, Any]] = [
        {"form": Form.PREFIX},
        {"field": "n"},
        {"reason": Reason.DEPTH},
        {"effect": ASK},
        {"tool": "u"},
        {"pattern": None},
        {"pattern": Pattern.exactly("a", PatternKind.HOST)},
    ]
    for change in changes:
        other = _of(values.evolve(line, **change))
        assert (known == other, known.hash == other.hash) == (False, False), change


def test_rule_sets_with_these_rules_and_places_are_one() -> None:
    dialect = Dialect("test")
    here, there = (RuleSet((Entry("t", ALLOW, place=Place(name)),), DENY, dialect) for name in "ab")
    again = RuleSet((Entry("t", ALLOW, place=Place("a")),), DENY, dialect)
    assert here == there == again
    assert here.interned is again.interned
    assert here.interned is not there.interned


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


# --- values of arguments ------------------------------------------------------------------------

_GIVEN = Argument(ArgumentKind.TEXT, ("x",))


def _of(*entries: Entry, default: Effect = DENY, reason: Reason = Reason.DEFAULT, **host: Any):
    """Return the table of some entries of a host whose tool `t` takes a text."""
    dialect = Dialect("test", arguments={"t": _GIVEN}, **host)
    return Table.of(RuleSet(entries, default, dialect, reason))


_TAKES = {"t": Inputs((Input("x"), Input("n", InputKind.NUMBER)))}


def _places(rules: Table) -> list[Any]:
    """Return what decides calls by *rules*: the table, and chains with and without a place."""
    reading = Attenuated({"main": rules})
    places = [None, Rootless(), ProjectFolders("/srv/app")]
    return [rules, *(Chain.start("main", reading, place) for place in places)]


@pytest.mark.parametrize(
    ("kind", "value", "pattern"),
    [
        (ArgumentKind.TEXT, "a", Pattern.text("a")),
        (ArgumentKind.COMMAND, "a", Pattern.text("a")),
        (ArgumentKind.COMMAND, "a 'b'", Pattern.text("a *")),
        (ArgumentKind.PATH, "a", paths("a", "/@project")[0]),
        (ArgumentKind.URL, "https://a.com/b", Pattern.exactly("a.com", PatternKind.HOST)),
        (ArgumentKind.URL, "https://a.com/b", Pattern.exactly("a.com/b", PatternKind.HOST)),
    ],
)
def test_of_rules_about_several_arguments_the_first_that_matches_decides(
    kind: ArgumentKind, value: str, pattern: Pattern
) -> None:
    own = Entry("t", ALLOW, pattern)
    one, other = (
        Entry("t", effect, Pattern.text("y"), field=effect.value) for effect in (DENY, ASK)
    )
    dialect = Dialect("test", {"t": Argument(kind, ("x",))})
    for lines in permutations((own, one, other)):
        rules = Table.of(RuleSet(lines, ALLOW, dialect))
        for named in ((), ("deny",), ("ask",), ("ask", "deny")):
            call = {"x": value, **dict.fromkeys(named, "y")}
            matching = [line for line in lines if not line.field or line.field in named]
            assert rules.decide("t", call).effect is matching[0].effect
            others = {"x": value, **dict.fromkeys(named, "z")}
            assert rules.decide("t", others).effect is ALLOW


def test_a_table_is_below_another_if_no_call_gets_more() -> None:
    a, b = table("allow Task(a)"), table("allow Task(b)")
    assert not a <= b and not b <= a
    assert (a & b) <= a <= a
    assert table("ask Task(a)") <= a
    assert not a <= table("ask Task(a)")
    for bounds, more in ((Bounds(depth=1), Bounds(depth=2)), (Bounds(turns=1), Bounds())):
        less, wide = (values.evolve(a, bounds=each) for each in (bounds, more))
        assert less <= wide
        assert not wide <= less


def test_a_value_that_a_host_does_not_take_is_denied_if_the_host_did_not_look_itself() -> None:
    for decider in _places(_of(Entry("t", ALLOW, Pattern.text("a*")), inputs=_TAKES)):
        for number in (1, "many", 1, "many"):
            call = {"x": "a", "n": number}
            decision = decider.decide("t", call)
            assert decision.effect is (ALLOW if number == 1 else DENY)
            assert decision.reason is (Reason.RULE if number == 1 else Reason.MALFORMED)
            assert decider.decide("t", call, checked=True).effect is ALLOW


def test_a_value_is_looked_at_where_every_call_is_allowed_and_not_where_all_are_denied() -> None:
    for effect, reason in ((ALLOW, Reason.MALFORMED), (ASK, Reason.MALFORMED), (DENY, Reason.RULE)):
        rules = _of(Entry("t", effect), inputs=_TAKES)
        assert rules.decide("t", {"n": "many"}).reason is reason
        assert rules.decide("t", {"n": 1}).effect is effect
        assert (rules.lookup("t").always is None) is (effect is not DENY)


def test_what_a_host_may_refuse_is_not_remembered() -> None:
    words = {"t": Inputs((Input("x", words=("a",)),))}
    rules = _of(Entry("t", ALLOW, Pattern.text("*")), inputs=words)
    for text in ("", "b", "a"):
        assert rules.decide("t", {"x": text}, checked=True).effect is ALLOW
        assert rules.decide("t", {"x": text}).effect is (ALLOW if text == "a" else DENY)


def test_a_meet_of_hosts_takes_what_both_take() -> None:
    one = _of(Entry("t", ALLOW, Pattern.text("*")), inputs=_TAKES)
    other = _of(
        Entry("t", ALLOW, Pattern.text("*")), inputs={"t": Inputs((Input("n", InputKind.FLAG),))}
    )
    met = one & other
    for call in ({"x": "a"}, {"x": "a", "n": "true"}, {"x": "a", "n": 1}, {"x": 1}):
        both = min(each.decide("t", call).effect for each in (one, other))
        assert met.decide("t", call).effect is both
    assert one.lookup("t").takes({"x": "a", "n": 1}) is True
    assert one.lookup("t").takes({"x": "a", "n": "many"}) is False
    assert _of().lookup("t").takes({"n": "many"}) is True


# --- what is said -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "call", "said"),
    [
        ("Bash", (), r"found nothing: pass them as {'command': '…'}"),
        ("Bash", ("ls",), r"found `\"ls\"`: pass them as {'command': 'ls'}"),
        ("Bash", (5,), r"found `5`: pass them as {'command': '…'}"),
        ("Task", ("a",), r"found `\"a\"`: pass them as {'argument': 'a'}"),
    ],
)
def test_arguments_that_are_none_are_told_with_those_to_pass(
    tool: str, call: tuple[Any, ...], said: str
) -> None:
    rules = table("allow Bash(ls *)", "allow Task(model:x)", "allow Task(a)")
    for decider in _places(rules):
        with pytest.raises(TypeError, match=said):
            decider.decide(tool, *call)


def test_of_several_denials_the_one_of_a_rule_is_told_unless_the_tool_is_not_there() -> None:
    default, rule = _of(), _of(Entry("t", DENY, rule="t"))
    gone = _of(reason=Reason.UNAVAILABLE)
    removed = _of(Entry("t", DENY, reason=Reason.UNAVAILABLE, rule="u"))
    for tables, reason, rules in (
        ((default, rule), Reason.RULE, ["t"]),
        ((rule, default), Reason.RULE, ["t"]),
        ((gone, rule), Reason.UNAVAILABLE, []),
        ((rule, gone), Reason.RULE, ["t"]),
        ((gone, removed), Reason.UNAVAILABLE, ["u"]),
        ((default, gone), Reason.DEFAULT, []),
    ):
        rows = [(part.rules.row("t"), ()) for each in tables for part in each.use.parts]
        decision = Lookup(rows, "").decide({"x": "a"})
        assert (decision.reason, [each.rule for each in decision.because]) == (reason, rules)


def test_of_several_grants_the_one_of_a_rule_in_a_file_is_told() -> None:
    default = _of(Entry("t", DENY, Pattern.text("b")), default=ALLOW)
    plain = _of(Entry("t", ALLOW, Pattern.text("a*"), rule="plain"))
    filed = _of(Entry("t", ALLOW, Pattern.text("a"), rule="filed", place=Place("f")))
    for tables, rules in (
        ((default, plain), ["plain"]),
        ((plain, default), ["plain"]),
        ((plain, filed), ["filed"]),
        ((filed, plain), ["filed"]),
        ((filed, default), ["filed"]),
    ):
        met = tables[0] & tables[1]
        decision = met.decide("t", {"x": "a"})
        assert decision.effect is ALLOW
        assert [each.rule for each in decision.because] == rules


def test_of_several_denials_one_is_told_and_of_those_that_ask_all() -> None:
    asked = _of(Entry("t", ASK, Pattern.text("a*"), rule="x"))
    other = _of(Entry("t", ASK, Pattern.text("a"), rule="y"))
    denied = _of(Entry("t", DENY, Pattern.text("a"), rule="z"), Entry("t", ALLOW))
    silent = _of(Entry("t", ALLOW, Pattern.text("b")))
    for met, rules in (
        (asked & other, ["x", "y"]),
        (asked & other & denied, ["z"]),
        (asked & silent & denied, ["z"]),
        (silent & denied & denied, ["z"]),
    ):
        assert [each.rule for each in met.decide("t", {"x": "a"}).because] == rules


# --- limits of depth ----------------------------------------------------------------------------


def _started(rules: Table) -> tuple[str, ...]:
    decision = rules.decide("Task", {"subagent_type": "x"})
    assert (decision.effect, decision.reason) == (DENY, Reason.DEPTH)
    return decision.links


def test_a_limit_of_depth_belongs_to_the_agent_that_has_it() -> None:
    a, b = table("allow Task", link="a"), table("allow Read", "allow Task", link="b")
    last = Table(a.use, bounds=Bounds(depth=0))
    assert _started(last) == ("a",)
    assert _started(b & last) == ("a",)
    assert _started(Table((a & b).use, bounds=Bounds(depth=0))) == ("a",)
    joined = Ceiling.of([LinkedRules(a.use.parts[0].rules, ("a", "b"))])
    assert _started(Table(joined, bounds=Bounds(depth=0))) == ("a",)
    assert _started(Table(bounds=Bounds(depth=0))) == ()
    below = Table(a.use, bounds=Bounds(depth=1))
    assert below.decide("Task", {"subagent_type": "x"}).effect is ALLOW


def test_a_table_that_hands_on_what_it_may_use_says_so_once() -> None:
    a = table("allow Task", "allow Read")
    assert Table(a.use, a.use).delegate is None
    last = Table(a.use, a.use.without_spawns(), Bounds(depth=0))
    assert last.delegate is None
    assert last == Table(a.use, bounds=Bounds(depth=0))
    assert a.use.without_spawns().without_spawns() == a.use.without_spawns() != a.use


# --- what is kept -------------------------------------------------------------------------------


def test_decisions_are_remembered_by_a_text_of_the_length_that_caches_hold() -> None:
    rules = table("allow Bash(a*)")
    lookup = rules.lookup("Bash")
    (row, _), = lookup.rows  # fmt: skip
    for length, is_kept in ((1024, True), (1025, False)):
        command = "a" * length
        assert rules.decide("Bash", {"command": command}).effect is ALLOW
        assert (command in lookup.remembered) is is_kept
        assert (command in row._known) is is_kept
    assert lookup.decide({"command": "ab"}, remember=False).effect is ALLOW
    assert "ab" not in lookup.remembered
    rules.account("Bash", {"command": "abc"})
    assert "abc" not in lookup.remembered


def test_a_call_that_was_decided_is_not_decided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = table("allow Bash(a*)", "allow Read(a)")
    calls = (("Bash", {"command": "a"}), ("Bash", {"command": "b"}), ("Read", {"file_path": "a"}))
    first = [rules.decide(tool, call) for tool, call in calls]
    monkeypatch.setattr(Lookup, "decide", None)
    assert [rules.decide(tool, call) for tool, call in calls] == first
    with pytest.raises(TypeError):
        rules.decide("Bash", {"command": "c"})


def test_a_row_decides_a_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    row = table("allow Bash(a*)").lookup("Bash").rows[0][0]
    first = [row.outcome({"command": text}) for text in ("a", "b", "a; b")]
    files = table("allow Read(a*)").lookup("Read").rows[0][0]
    named = named_outcome(files, "a")
    monkeypatch.setattr(Row, "first", None)
    assert [row.outcome({"command": text}) for text in ("a", "b", "a; b")] == first
    assert named_outcome(files, "a") is named


def test_a_row_keeps_so_many_calls_and_files() -> None:
    (row, _), = table("allow Bash(a *)", "allow Read(b*)").lookup("Bash").rows  # fmt: skip
    for number in range(2048):
        row.outcome({"command": f"a {number}"})
    assert len(row._known) == 2048
    row.outcome({"command": "a"})
    assert len(row._known) == 1
    files = row.ruleset.row("Read")
    for number in range(2048):
        named_outcome(files, f"b{number}")
    assert len(files.named) == 2048
    named_outcome(files, "b" * 1024)
    assert len(files.named) == 1
    named_outcome(files, "b" * 1025)
    assert len(files.named) == 1


def test_a_table_keeps_so_many_names_that_no_rule_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CACHED_NAMES", 5)
    rules = rule_set(Scope((Said(ALLOW, "a*"), Said(ALLOW, "Bash(ls)"))))
    found = [rules.row(f"a{number}") for number in range(9)]
    assert [rules.row(f"a{number}") is row for number, row in enumerate(found)] == [
        number < 5 for number in range(9)
    ]
    assert rules.row("Bash") is rules.row("Bash")


def test_rows_that_look_at_no_argument_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CACHED_NAMES", 5)
    rules = rule_set(Scope(tuple(Said(ALLOW, f"a{number}") for number in range(9))))
    assert sum(rules.row(f"a{number}") is rules.row(f"a{number}") for number in range(9)) == 5


def test_an_argument_that_no_rule_looks_at_need_not_be_read() -> None:
    for kind in (ArgumentKind.TEXT, ArgumentKind.PATH, ArgumentKind.URL, ArgumentKind.COMMAND):
        dialect = Dialect("test", {"t": Argument(kind, ("x",))})
        entry = Entry("t", ALLOW, Pattern.text("y"), field="n")
        rules = Table.of(RuleSet((entry,), DENY, dialect))
        for other in ({}, {"x": 5}, {"x": ""}):
            assert rules.decide("t", {**other, "n": "y"}).reason is Reason.RULE
            assert rules.decide("t", {**other, "n": "z"}).reason is Reason.DEFAULT


def test_a_meet_hands_on_what_both_hand_on() -> None:
    a, b = table("allow *"), table("allow Read", "allow Task")
    handing = Table(a.use, b.use)
    for one, other in ((a, handing), (handing, a), (handing, handing & b), (a, b)):
        assert (one & other).delegated == one.delegated & other.delegated
        assert (one & other).use == one.use & other.use


def test_where_a_host_ignores_the_case_of_names_sets_that_differ_in_a_glob_differ() -> None:
    dialect = Dialect("test", fold_names=True)
    small, capital, name, other = (
        RuleSet((Entry(tool, Effect.ASK, None),), Effect.DENY, dialect, Reason.DEFAULT)
        for tool in ("*b", "*B", "b", "B")
    )
    assert name == other
    assert small != capital
    asked = [Table.of(each).decide("ab", {}).effect for each in (small, capital)]
    assert asked == [Effect.ASK, Effect.DENY]
