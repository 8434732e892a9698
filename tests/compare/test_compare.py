"""What `compare.tables.differences` says of edits people make, and where it stops being exact."""

from __future__ import annotations

import json

import pytest

from policy.commands.knowledge import Files, Program, Programs, Wrapping
from policy.compare.compare import DIFFERENT_KINDS, Comparison, compare
from policy.compare.tables import decided, differences, is_idle, reported, representatives
from policy.compare.witness import CallShape, Difference
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.search import classes
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import NOTHING, UNRESTRICTED, Ceiling, LinkedRules, Table
from tests.reference import Said, Scope
from tests.strategies import DIALECT, rule_set, table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_DENIED = Decision(DENY, Reason.DEFAULT)


def _shown(comparison: Comparison) -> list[tuple[str, object, Effect, Effect]]:
    return [
        (d.tool, next(iter(d.call.values()), None), d.before.effect, d.after.effect)
        for d in comparison.differences
    ]


def _last_wins(*rules: str) -> Table:
    said = tuple(Said(Effect(rule.split(" ")[0]), rule.split(" ", 1)[1]) for rule in rules)
    return Table(Ceiling.of([LinkedRules(rule_set(Scope(said, precedence="last match")))]))


# --- order ----------------------------------------------------------------------


def test_the_order_of_rules_changes_nothing_where_the_strictest_wins() -> None:
    a = table("allow Bash(git *)", "deny Bash(git push *)")
    b = table("deny Bash(git push *)", "allow Bash(git *)")
    assert differences(a, b) == Comparison()


def test_the_order_of_rules_changes_decisions_where_the_last_one_wins() -> None:
    a = _last_wins("allow m__a(a*)", "deny m__a(ab*)")
    b = _last_wins("deny m__a(ab*)", "allow m__a(a*)")
    comparison = differences(a, b)
    assert comparison.exact
    assert _shown(comparison) == [("m__a", "ab", DENY, ALLOW)]


def test_moving_rules_that_share_no_call_changes_nothing() -> None:
    a = _last_wins("allow m__a(a*)", "deny m__a(b*)", "ask m__a(c)")
    b = _last_wins("ask m__a(c)", "deny m__a(b*)", "allow m__a(a*)")
    assert differences(a, b) == Comparison()


def test_a_denial_behind_a_wrapper_holds_wherever_it_stands() -> None:
    rules = _last_wins("deny Bash(rm *)", "ask Bash(sudo *)", "allow Bash(sudo a *)")
    assert rules.decide("Bash", {"command": "sudo rm x"}).effect is DENY
    assert rules.decide("Bash", {"command": "sudo b x"}).effect is ASK
    assert rules.decide("Bash", {"command": "sudo a x"}).effect is ALLOW


# --- what has no effect ------------------------------------------------------------


@pytest.mark.parametrize(
    "added",
    ["allow m__a(ab)", "allow m__a(a*b)", "deny m__a(z)", "allow m__a(abc*)", "ask m__a(d*)"],
)
def test_a_shadowed_addition_changes_nothing(added: str) -> None:
    rules = ["allow m__a(a*)", "deny m__a(d*)"]
    assert differences(table(*rules), table(*rules, added)) == Comparison()


def test_a_rule_shadowed_only_by_several_together_changes_nothing() -> None:
    """`Read(a)` and `Read(a/**)` are all of what `Read(/a)` covers."""
    rules = ["allow Read(/a/**)", "allow Read(/a)"]
    assert differences(table(*rules), table("allow Read(/a)")) == Comparison()


def test_what_every_link_denies_needs_no_second_denial() -> None:
    a, b = table("allow m__a(a*)"), table("allow m__a(*)", "deny m__a(ab)")
    assert _shown(differences(a, a & b)) == [("m__a", "ab", ALLOW, DENY)]
    assert differences(a & b, a & b & table("allow m__a(*)", "deny m__a(b*)")) == Comparison()


# --- conjunctions -----------------------------------------------------------------------


def test_a_meet_of_two_grants_what_both_grant() -> None:
    a, b = table("allow m__a(a*)"), table("allow m__a(*b)")
    comparison = differences(a & b, a)
    assert comparison.exact
    assert {(was, now) for _, _, was, now in _shown(comparison)} == {(DENY, ALLOW)}
    assert all(d.widened for d in comparison.differences)
    assert a & b <= a
    assert not a <= a & b


def test_a_meet_of_three_is_seen_through() -> None:
    a, b, c = (
        table("allow m__a(a*)"),
        table("allow m__a(*b)"),
        table("ask m__a(*x*)", default=ALLOW),
    )
    met, wanted = a & b & c, table("ask m__a(a*x*b)", "allow m__a(a*b)")
    assert differences(met, wanted) == Comparison()
    assert met <= wanted <= met
    narrower = table("ask m__a(a*x*b)", "allow m__a(a*b)", "deny m__a(axb)")
    assert _shown(differences(met, narrower)) == [("m__a", "axb", ASK, DENY)]


def test_a_link_that_asks_for_everything_is_a_difference_too() -> None:
    a = table("allow m__a(a*)")
    asked = a & table(default=ASK)
    comparison = differences(a, asked)
    assert comparison.exact
    assert _shown(comparison) == [("m__a", "a", ALLOW, ASK)]
    assert asked <= a
    assert not a <= asked


def test_two_ways_to_say_one_meet_do_not_differ() -> None:
    a = table("allow m__a(ab*)") & table("allow m__a(*ba)")
    b = table("allow m__a(ab*ba)", "allow m__a(aba)")
    assert differences(a, b) == Comparison()
    shorter = table("allow m__a(ab*ba)")
    assert _shown(differences(a, shorter)) == [("m__a", "aba", ALLOW, DENY)]


# --- parameters ----------------------------------------------------------------------------


def test_parameters_tell_calls_apart() -> None:
    a = table("allow Task(model:opus)", "allow Task(a)")
    b = table("allow Task(model:opus*)", "allow Task(a)")
    comparison = differences(a, b)
    assert comparison.exact
    assert comparison.differences
    for difference in comparison.differences:
        assert difference.widened
        assert str(difference.call["model"]).startswith("opus")
        assert difference.call["model"] != "opus"
        assert difference.call["subagent_type"] != "a"


def test_a_parameter_that_one_rule_names_does_not_hide_another() -> None:
    a = table("deny Task(model:x)", "allow Task(model:*)")
    b = table("deny Task(model:x)", "ask Task(model:*)")
    comparison = differences(a, b)
    assert comparison.exact
    assert {(d.before.effect, d.after.effect) for d in comparison.differences} == {(ALLOW, ASK)}


def test_three_parameters_patterns_that_only_share_one_value_are_tried_together() -> None:
    rules = ["allow Task(model:a*)", "allow Task(model:*b)", "allow Task(model:*c*)"]
    texts, exact = classes([Pattern.text(p) for p in ("a*", "*b", "*c*")])
    assert exact
    assert len(texts) == 8
    assert differences(table(*rules), table(*rules)) == Comparison()


def test_the_text_of_a_tool_nobody_described_is_that_of_any_argument_alone() -> None:
    a = table("allow m__a(k:a*)", default=ASK)
    b = table("allow m__a(k:a*)", "deny m__a(ab)", default=ASK)
    found = differences(a, b)
    assert found.exact
    assert ("m__a", {"k": "ab"}, ALLOW, DENY) in [
        (d.tool, d.call, d.before.effect, d.after.effect) for d in found.differences
    ]


def test_the_text_of_a_tool_nobody_described_has_a_name_that_no_rule_names() -> None:
    rules = "deny m__a(argument:*)", "allow m__a(ab)"
    (found,) = differences(table(rules[0], default=ASK), table(*rules, default=ASK)).differences
    ((name, text),) = found.call.items()
    assert (name == "argument", text) == (False, "ab")


def test_the_text_of_a_tool_nobody_described_is_all_that_it_is_called_with() -> None:
    a, b = table("allow m__*(k:a)"), table("allow m__*(k:a)", 'deny m__a(*"k"*)')
    (difference,) = differences(a, b).differences
    assert len(difference.call) == 2
    assert difference.call["k"] == "a"
    assert (difference.before.effect, difference.after.effect) == (ALLOW, DENY)


def test_parameters_in_rules_for_many_tools_tell_calls_apart() -> None:
    (difference,) = differences(table("ask m__*(k:a)"), table()).differences
    assert difference.call["k"] == "a"
    assert not difference.widened


@pytest.mark.parametrize(
    ("glob", "calls", "exact"),
    [
        ('*"k":*', [{"k": ""}], True),
        ('{"a":*"b"*}', [{"a": "b"}], True),
        ("[*", [], True),  # the arguments of a call are no array
        ('{"a":1}', [], False),
    ],
)
def test_of_a_tool_that_is_matched_as_json_a_call_has_the_arguments_of_the_text(
    glob: str, calls: list[object], exact: bool
) -> None:
    dialect = Dialect("test", arguments={"a": Argument(ArgumentKind.JSON, ())})
    denied = Entry("a", DENY, Pattern.text(glob))
    before, after = (Table.of(RuleSet(each, ALLOW, dialect)) for each in ((), (denied,)))
    found = differences(before, after)
    assert [each.call for each in found.differences] == calls
    assert found.exact is exact


def test_of_several_arguments_a_text_is_compared_as_json_writes_it() -> None:
    shape = CallShape(DIALECT, Argument(ArgumentKind.TEXT, ()), {"k": "a"})
    (name,) = shape.call("x").keys() - {"k"}
    for number in range(0x21):
        text = json.dumps({name: "x", "k": "a"}, sort_keys=True, separators=(",", ":"))
        assert shape.domain.holds(text)
        assert shape.domain.holds(text.replace("x", chr(number))) is (number == 0x20)


# --- calls that cannot be read --------------------------------------------------------------


@pytest.mark.parametrize("tool", ["Skill", "Read", "WebFetch", "Task", "Bash", "Grep"])
def test_calls_that_no_rule_can_be_asked_about_are_compared(tool: str) -> None:
    """Where a rule must be asked they are denied, else they are as good as any other."""
    everything, some = table(f"allow {tool}"), table(f"allow {tool}(a)", default=ALLOW)
    found = differences(everything, some)
    shown = {(d.before.effect, d.after.effect): d.call for d in found.differences}
    assert everything.decide(tool, shown[ALLOW, DENY]).effect is ALLOW
    assert some.decide(tool, shown[ALLOW, DENY]).reason is Reason.MALFORMED


@pytest.mark.parametrize(
    ("before", "reason", "checked", "is_told"),
    [
        (ALLOW, Reason.RULE, False, True),
        (ALLOW, Reason.RULE, True, False),  # the host refuses it whatever its rules say
        (ASK, Reason.DEFAULT, False, False),
    ],
)
def test_a_call_that_cannot_be_read_is_told_where_a_side_allows_it(
    before: Effect, reason: Reason, checked: bool, is_told: bool
) -> None:
    unread, read = (Decision(DENY, each) for each in (Reason.MALFORMED, Reason.DEFAULT))
    found = Difference("Read", {"file_path": 1}, Decision(before, reason), unread)
    assert is_idle(found, checked=checked) is (not is_told)
    assert not is_idle(values.evolve(found, after=read), checked=checked)


def test_a_rule_beside_one_for_every_call_changes_nothing_even_for_odd_calls() -> None:
    """They have one hash, so they must decide alike what no rule can be asked about."""
    a, b = table("allow Bash", "allow Bash(a)"), table("allow Bash")
    assert a == b
    for command in (None, "$(b)", "", "a"):
        call = {"command": command}
        assert a.decide("Bash", call).effect is b.decide("Bash", call).effect is ALLOW


# --- tool names -------------------------------------------------------------------------------


def test_a_name_in_two_globs_is_not_hidden_by_one_that_is_written() -> None:
    a = table("deny ab", "allow a*")
    b = table("deny ab", "deny *b", "allow a*")
    (difference,) = differences(a, b).differences
    assert difference.tool.startswith("a")
    assert difference.tool.endswith("b")
    assert difference.tool != "ab"


def test_a_name_in_three_globs_is_tried() -> None:
    """Whatever stands for `a*` and `*b` need not match `*c*`."""
    names, exact = representatives(
        [rule_set(Scope((Said(DENY, "a*"), Said(DENY, "*b"), Said(DENY, "*c*"))))]
    )
    assert exact
    assert any(n[0] == "a" and n[-1] == "b" and "c" in n for n in names)
    assert any(n[0] == "a" and n[-1] == "b" and "c" not in n for n in names)


def test_every_class_of_names_has_its_own_name() -> None:
    written = {"a", "ab", "b", "aa"}
    globs = [Pattern.text(glob) for glob in ("a*", "*b", "*a*b*", "*")]
    found, exact = classes(globs, written)
    assert exact
    assert not written & set(found.values())
    for matching, name in found.items():
        assert matching == {i for i, glob in enumerate(globs) if glob.matches(name)}


def test_a_tool_nobody_named_has_the_default() -> None:
    comparison = differences(table(default=DENY), table(default=ASK))
    assert ("OtherTool", None, DENY, ASK) in _shown(comparison)


def test_a_name_that_rules_find_in_any_case_is_tried_in_the_case_that_a_glob_knows() -> None:
    """A rule that names a tool ignores case; one with a star does not."""
    folded = values.evolve(DIALECT, fold_names=True, arguments={}, aliases={})
    said = (Said(DENY, "abc"), Said(ALLOW, "*c"))
    both = [
        Table.of(values.evolve(rule_set(Scope(rules)), dialect=folded))
        for rules in (said, (said[1],), (*said, Said(DENY, "x*C")))
    ]
    comparison = differences(both[0], both[1])
    assert comparison.exact
    (shown,) = _shown(comparison)
    assert shown[0].lower() == "abc"
    assert shown[0].endswith("c")
    assert differences(both[0], both[2]) == Comparison()
    capital = [
        Table.of(values.evolve(rule_set(Scope(rules)), dialect=folded))
        for rules in ((Said(DENY, "abc"), Said(ALLOW, "*C")), (Said(ALLOW, "*C"),))
    ]
    assert _shown(differences(*capital)) == [("abC", None, DENY, ALLOW)]


def test_a_name_read_loosely_is_not_the_same_to_whoever_reads_it_as_written() -> None:
    loose = values.evolve(DIALECT, loose=True, arguments={}, aliases={})
    written = values.evolve(DIALECT, arguments={}, aliases={})
    by_name = values.evolve(rule_set(Scope((Said(ALLOW, "abc"),))), dialect=loose)
    as_is = values.evolve(rule_set(Scope((Said(DENY, "abc"),), ALLOW)), dialect=written)
    comparison = differences(Table.of(by_name), Table.of(by_name) & Table.of(as_is))
    assert comparison.exact
    assert _shown(comparison) == [("abc", None, ALLOW, DENY)]
    assert not Table.of(by_name) & Table.of(as_is) <= NOTHING  # `ABC` is granted still


def test_a_name_in_capitals_is_shown_as_a_host_reads_it_that_ignores_case() -> None:
    loose = values.evolve(DIALECT, loose=True, arguments={}, aliases={})
    none, one = (
        Table.of(values.evolve(rule_set(Scope(said)), dialect=loose))
        for said in ((), (Said(ALLOW, "Abc"),))
    )
    assert _shown(differences(none, one)) == [("abc", None, DENY, ALLOW)]


def test_thousands_of_names_with_stars_are_compared_exactly() -> None:
    rules = [f"{'deny' if n % 5 == 0 else 'allow'} mcp__s{n % 50}__a{n}_*" for n in range(2_000)]
    comparison = differences(table(*rules), table(*rules[:700], *rules[701:]))
    assert comparison.exact
    assert not comparison.differences  # what nothing grants needs no denial
    assert not table(*rules) <= table(*rules[:701], *rules[702:])


def test_an_alias_is_the_tool_it_stands_for() -> None:
    assert table("allow Agent(a)") == table("allow Task(a)")
    assert differences(table("allow Agent(a)"), table("allow Task(a)")) == Comparison()


def test_a_call_under_an_alias_alone_is_told() -> None:
    before, after = table("deny Task(a)"), table("allow Task(a)")
    task, agent = (
        decided(before, after, Difference(tool, {"subagent_type": "a"}, *[_DENIED] * 2))
        for tool in ("Task", "Agent")
    )
    assert reported([agent], before, after) == (agent,)
    assert reported([agent, task], before, after) == (task,)


# --- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "widened"),
    [
        (["allow Bash"], ["allow Bash(*)"], False),
        (["allow Bash(*)"], ["allow Bash"], True),
        (["allow Bash(sudo *)"], ["allow Bash(sudo *)", "deny Bash(b)"], False),
        (["allow Bash(./b *)"], ["allow Bash(./b *)", "deny Bash(b *)"], False),
        (["allow Bash(echo *)"], ["allow Bash(echo *)", "deny Bash(echo $*)"], False),
    ],
)
def test_commands_that_rules_see_through_are_compared_too(
    before: list[str], after: list[str], widened: bool
) -> None:
    comparison = differences(table(*before), table(*after))
    assert {d.widened for d in comparison.differences} == {widened}
    for difference in comparison.differences:
        assert table(*before).decide("Bash", difference.call) == difference.before
        assert table(*after).decide("Bash", difference.call) == difference.after


def test_a_redirection_is_compared_as_a_call_of_its_tool() -> None:
    a, b = table("allow Bash(*)"), table("allow Bash(*)", "allow Write(out/**)")
    assert {tool for tool, *_ in _shown(differences(a, b))} == {"Bash", "Write"}


# --- where it is not exact -------------------------------------------------------------------------


def _other_kind() -> Table:
    arguments = {**DIALECT.arguments, "Task": Argument(ArgumentKind.PATH, ("subagent_type",))}
    rules = rule_set(Scope((Said(ALLOW, "Task(a)"),)))
    return Table.of(values.evolve(rules, dialect=values.evolve(DIALECT, arguments=arguments)))


def test_arguments_of_different_kinds_are_not_compared() -> None:
    comparison = differences(table("allow Task(a)"), _other_kind())
    assert not comparison.exact
    assert "Task: some rules read their calls otherwise than others do" in comparison.why
    assert not table("allow Task(a)") <= _other_kind()
    # A call that is denied by the one kind and allowed by the other is told all the same.
    found = differences(table("allow Task"), _other_kind())
    assert ("Task", ALLOW, DENY) in [(tool, *effects) for tool, _, *effects in _shown(found)]
    assert all(was is not now for *_, was, now in _shown(found))


@pytest.mark.parametrize(
    "known",
    [
        {"wrapping": Wrapping()},
        {"programs": Programs({"a": Program(reads=Files.ALL)})},  # other rules decide these files
    ],
)
def test_commands_that_two_shells_read_differently_are_not_compared_in_silence(
    known: dict[str, object],
) -> None:
    rules = rule_set(Scope((Said(ALLOW, "Bash(a *)"), Said(DENY, "Bash(b *)"))))
    shell = values.evolve(DIALECT.shell, **known)
    other = values.evolve(rules, dialect=values.evolve(DIALECT, shell=shell))
    comparison = differences(Table.of(rules), Table.of(other))
    assert "Bash: some rules read their calls otherwise than others do" in comparison.why


_ADDRESS = {**DIALECT.arguments, "WebFetch": Argument(ArgumentKind.URL, ("address",))}


@pytest.mark.parametrize(
    ("rule", "read", "alike"),
    [
        ("Read(src/**)", {"cwd": "/other"}, False),
        ("Read(src/**)", {"home": "/other"}, False),
        ("Read(src/**)", {"fold": True}, False),
        ("Read(src/**)", {"links": True}, False),
        ("Read(src/**)", {"cased": ("/W",)}, False),
        ("Read(src/**)", {"name": "other", "aliases": {"Show": "Read"}}, True),
        ("Bash(a *)", {"cwd": "/other"}, False),
        ("Bash(a *)", {"cased": ("/W",)}, False),
        ("Bash(a *)", {"name": "other", "aliases": {"Run": "Bash"}, "asks": False}, True),
        ("WebFetch(domain:a.com)", {"cwd": "/other"}, True),
        ("WebFetch(domain:a.com)", {"arguments": _ADDRESS}, False),
    ],
)
def test_sides_that_read_calls_differently_are_not_compared_exactly(
    rule: str, read: dict[str, object], *, alike: bool
) -> None:
    rules = rule_set(Scope((Said(ALLOW, rule),)))
    dialect = values.evolve(DIALECT, **read)
    other = values.evolve(rules, dialect=dialect)
    tool = rule.partition("(")[0]
    found = compare(tool, Table.of(rules).lookup(tool), Table.of(other).lookup(tool), {})
    assert (DIFFERENT_KINDS not in found.why) is alike


def test_a_side_without_rules_is_compared_with_rules_of_two_kinds() -> None:
    """A tool whose argument is a path to some rules, and a text to others."""
    both = table("allow Task(a)") & _other_kind()
    found = compare("Task", both.lookup("Task"), UNRESTRICTED.lookup("Task"), {})
    assert {each.effects for each in found.differences} == {(DENY, ALLOW)}
    assert found.why == (DIFFERENT_KINDS,)


def test_too_many_parameters_are_not_compared_in_silence() -> None:
    # Of a tool that nobody described, rules may look at all arguments as one text.
    many = [f"allow m__a(p{name}:x)" for name in "abcdefgh"]
    assert not differences(table(*many), table(*many[1:])).exact


def test_of_many_parameters_one_counts_for_each_list() -> None:
    many = [f"allow Task(p{name}:x)" for name in "abcdefgh"]
    comparison = differences(table(*many), table(*many[1:]))
    assert comparison.exact
    assert {each.call.get("pa") for each in comparison.differences} == {"x"}
    # One says what decides on one side, another on the other.
    asked = [f"ask Task(p{name}:x)" for name in "abcdefgh"]
    comparison = differences(table(*many), table(*asked))
    assert comparison.exact
    assert {(d.before.effect.value, d.after.effect.value) for d in comparison.differences} == {
        ("allow", "ask")
    }


# --- the ends ------------------------------------------------------------------------------------


def test_nothing_is_below_everything() -> None:
    a = table("allow m__a(a*)", "ask Bash(b *)")
    assert NOTHING <= a <= UNRESTRICTED
    assert not a >= UNRESTRICTED
    assert not a <= NOTHING


def test_what_may_be_handed_on_counts_too() -> None:
    use = table("allow m__a").use
    a, b = Table(use, table("allow m__a").use), Table(use, table("allow m__b").use)
    assert not b <= a
    assert not a <= b
    assert Table(use, NOTHING.use) <= a
    assert Table(use, use) == Table(use)


def test_what_denies_every_call_is_not_searched(monkeypatch) -> None:
    before, after = table("deny Bash(a *)", "deny Read(b/**)"), table("deny Bash(timeout *)")
    monkeypatch.setattr("policy.compare.compare._differing", None)
    assert differences(before, after) == Comparison()
    with pytest.raises(TypeError):
        differences(before, table("deny Bash(a *)", "ask Bash(b *)"))


# --- files that commands open ---------------------------------------------------------


def test_a_command_that_is_allowed_as_a_whole_opens_each_file_that_no_rule_speaks_of() -> None:
    # Nobody is granted `Read`: by default it is denied, and a command is asked nothing of that.
    rules = ("allow Bash", "deny Read(a/**)")
    comparison = differences(table(*rules), table(*rules, "deny Read(b)"))
    assert comparison.exact
    assert _shown(comparison) == [("Bash", "x < b", ALLOW, DENY)]


# --- the call that is shown ---------------------------------------------------------


def test_a_change_is_shown_by_a_call_that_its_own_rule_decides() -> None:
    before = table("allow Bash(git push origin main)", "allow Bash(git push *)", default=ASK)
    comparison = differences(before, table(default=ASK))
    shown = [(d.call, [b.rule for b in d.before.because]) for d in comparison.differences]
    assert ({"command": "git push origin main"}, ["Bash(git push origin main)"]) in shown
    assert ["Bash(git push *)"] in [rules for _, rules in shown]


def test_arguments_of_two_kinds_are_compared_kind_by_kind() -> None:
    """Two hosts read the argument of a tool differently: as a path, and as a text."""
    path = values.evolve(DIALECT, arguments={"Open": Argument(ArgumentKind.PATH, ("name",))})
    text = values.evolve(DIALECT, arguments={"Open": Argument(ArgumentKind.TEXT, ("name",))})

    def of(dialect: Dialect, effect: Effect) -> RuleSet:
        kind = PatternKind.PATH if dialect is path else PatternKind.TEXT
        return RuleSet((Entry("Open", effect, Pattern.exactly("/a", kind)),), ALLOW, dialect)

    for shared, changes in ((ASK, [(ASK, DENY)]), (DENY, [])):
        old, new = (
            Table(Ceiling.of(LinkedRules(rules) for rules in (of(path, shared), of(text, effect))))
            for effect in (ASK, DENY)
        )
        comparison = differences(old, new)
        assert not comparison.exact
        assert [each.effects for each in comparison.differences] == changes
