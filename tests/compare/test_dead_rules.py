"""Which rules of a table decide anything: what becomes of each, and which rules cover it."""

from __future__ import annotations

import pytest

from policy.compare.compare import Known
from policy.compare.dead_rules import (
    Effort,
    RuleStanding,
    ToolLines,
    Trials,
    contains,
    is_one_text,
    is_opened,
    written_rules,
)
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from policy.core.values import evolve
from policy.patterns.pattern import Pattern
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, Form, RuleSet
from policy.tables.table import Ceiling, LinkedRules, Table
from tests.compare.test_edits import project_table
from tests.standings import shadowing
from tests.strategies import DIALECT, table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

LIVE, SHADOWED, REDUNDANT = "live", "shadowed", "redundant"


def _said(rules: Table) -> dict[str, tuple[str, list[str]]]:
    return {
        f"{each.rule.effect.value} {each.rule.rule}": (each.what, sorted(b.rule for b in each.by))
        for each in shadowing(rules)
    }


@pytest.mark.parametrize(
    ("rules", "rule", "what", "by"),
    [
        # What denies decides before what asks, and that before what allows.
        (["deny Bash(git *)", "allow Bash(git push *)"], 1, SHADOWED, ["Bash(git *)"]),
        (["deny Bash(git push *)", "allow Bash(git *)"], 0, LIVE, []),
        (["ask Bash(git *)", "deny Bash(git *)"], 0, SHADOWED, ["Bash(git *)"]),
        # A wider rule behind it says the same.
        (["allow m__a(ab*)", "allow m__a(a*)"], 0, REDUNDANT, ["m__a(a*)"]),
        (["allow m__a(ab*)", "allow m__a(a*)", "ask m__a(abc)"], 0, REDUNDANT, ["m__a(a*)"]),
        # Only two together cover it.
        (["allow Read(/a/b)", "allow Read(/a)"], 0, REDUNDANT, ["Read(/a)"]),
        (["deny m__a(a*)", "deny m__a(*b)", "allow m__a(ab)"], 2, SHADOWED, ["m__a(*b)", "m__a(a*)"]),
        # Each of its lines must be covered.
        (["deny Task(a)", "allow Task(a, b)"], 1, LIVE, []),
        (["deny Task(a)", "deny Task(b)", "allow Task(a, b)"], 2, SHADOWED, []),
        (["deny Task(a)", "deny Task(a, b)", "allow Task(a, b)"], 2, SHADOWED, ["Task(a, b)"]),
        # What no rule grants needs no denial, unless another grants some of it.
        (["deny Bash(rm *)"], 0, REDUNDANT, []),
        (["deny Bash(rm *)", "allow Bash(rm x)"], 0, LIVE, []),
        # Behind a wrapper it denies what another rule allows.
        (["deny Bash(rm *)", "allow Bash(sudo *)"], 0, LIVE, []),
        # Files that commands open.
        (["deny Read(.env)", "allow Bash(cat *)"], 0, LIVE, []),
        (["deny Read(.env)", "allow Edit"], 0, REDUNDANT, []),
        # Names with stars.
        (["deny m__a*", "allow m__ab"], 1, SHADOWED, ["m__a*"]),
        (["deny m__ab", "allow m__a*"], 0, LIVE, []),
        (["allow m__a", "allow m__*"], 0, REDUNDANT, ["m__*"]),
        (["allow m__*(k:a)"], 0, LIVE, []),
        # Parameters are of other calls than texts are.
        (["allow Task(model:x)"], 0, LIVE, []),
        (["deny Task(model:x*)", "allow Task(model:x)"], 1, SHADOWED, ["Task(model:x*)"]),
        (["deny Task(a*)", "allow Task(model:a)"], 1, LIVE, []),
        (["allow Task", "allow Task(model:x)"], 1, SHADOWED, ["Task"]),
        (["allow Task(model:x)", "allow Task(model:x*)"], 0, REDUNDANT, ["Task(model:x*)"]),
        (["allow Task(model:x)", "allow Task(a)"], 0, LIVE, []),
    ],
)  # fmt: skip
def test_a_rule_is_live_or_others_cover_it(
    rules: list[str], rule: int, what: str, by: list[str]
) -> None:
    assert _said(table(*rules))[rules[rule]] == (what, by)


def test_a_rule_of_another_link_covers_what_is_met_with_it() -> None:
    met = table("deny m__a(a*)", link="main") & table("allow m__*", "deny m__a(ab)", link="child")
    assert _said(met)["deny m__a(ab)"][0] == SHADOWED


def test_a_rule_in_several_links_is_tried_in_all_of_them_at_once() -> None:
    """Without it the child allows what it asks for; the other link denies that all the same."""
    rule = "ask m__a(ab)"
    met = table("deny m__a(a*)", rule, link="main") & table("allow m__*", rule, link="child")
    assert _said(met)[rule] == (REDUNDANT, [])
    lenient = table("allow m__*", rule, link="main") & table("allow m__*", rule, link="child")
    assert _said(lenient)[rule] == (LIVE, [])


def _met(*lists: RuleSet) -> Table:
    return Table(Ceiling.of(LinkedRules(rules, (f"list {n}",)) for n, rules in enumerate(lists)))


def test_a_pattern_over_names_does_not_cover_a_name_of_any_case() -> None:
    """`M__a` is a call of the second rule alone."""
    for rule in ("allow m__a(x)", "allow m__a"):
        folded = _rules("deny m__*", rule, dialect=evolve(DIALECT, fold_names=True))
        assert _said(_met(folded))[rule] == (LIVE, [])
        assert _said(_met(_rules("deny m__*", rule)))[rule] == (SHADOWED, ["m__*"])


def test_a_tool_that_one_of_two_hosts_knows_by_another_name_is_tried_by_both() -> None:
    """The first host takes `Shell` for `Bash`, and the second does not."""
    first = evolve(DIALECT, aliases={**DIALECT.aliases, "Shell": "Bash"})
    lists = _rules("allow *", dialect=first), _rules("allow *", "deny Shell")
    denied = _met(lists[0], evolve(lists[1], entries=lists[1].entries[::-1]))
    assert denied.decide("Shell", {"command": "x"}).effect is DENY
    assert _said(denied)["deny Shell"] == (LIVE, [])


def test_a_rule_that_is_left_out_is_shown_by_a_call_that_others_decide() -> None:
    (denied,) = (each for each in shadowing(table("deny Bash(rm *)")) if each.what == REDUNDANT)
    assert denied.without is not None
    assert denied.without.call == {"command": "rm"}
    assert denied.without.after.effect is Effect.DENY


def test_what_is_left_of_an_effort_is_told_apart_from_what_is_live() -> None:
    # What is denied takes a comparison, and one call settles what is allowed.
    rules = table("allow m__a(a*)", "deny m__b(b)")
    left = Effort(0)
    assert [each.what for each in shadowing(rules, effort=left)] == ["undecided", LIVE]
    assert left.left == 0
    assert [each.what for each in shadowing(rules, effort=Effort(100))] == [REDUNDANT, LIVE]


# --- lines of one tool ---------------------------------------------------------


def _rules(*rules: str, dialect: Dialect = DIALECT, default: Effect = DENY) -> RuleSet:
    """Return a line of each rule in the order written: `git *` without the line for `git`."""
    each = (table(rule).use.parts[0].rules.entries for rule in rules)
    lines = (max(some, key=lambda e: len(e.pattern.tokens) if e.pattern else 0) for some in each)
    return RuleSet(tuple(lines), default, dialect)


def _lines(*rules: str, dialect: Dialect = DIALECT) -> ToolLines:
    found = _rules(*rules, dialect=dialect)
    return ToolLines(found, found.entries[0].tool)


@pytest.mark.parametrize(
    ("rules", "line", "wider"),
    [
        (["allow m__a(ab)", "deny m__a(a*)", "ask m__a(b)", "allow m__*"], 0, [0, 1, 3]),
        (["allow m__a(ab)", "deny m__a(a*)", "ask m__a(b)", "allow m__*"], 1, [1, 3]),
        (["allow m__a(a*)", "allow m__a(*)", "allow m__a"], 0, [0, 1, 2]),
        (["allow m__a", "allow m__a(*)"], 0, [0]),
        # Parameters are of other calls.
        (["allow m__a(k:x)", "allow m__a(k:*)", "allow m__a(l:*)", "allow m__a(*)"], 0, [0, 1]),
        (["allow m__a(x)", "allow m__a(k:*)"], 0, [0]),
        (["allow Read(/a/b)", "allow Read(/a/**)", "allow Read(/b/**)"], 0, [0, 1]),
    ],
)
def test_the_lines_that_match_all_of_a_line_are_known(rules, line, wider) -> None:
    lines = _lines(*rules)
    assert lines.wider(lines.entries[line]) == wider


def test_a_text_has_the_effect_of_the_first_line_that_matches_it() -> None:
    lines = _lines("deny m__a(ab)", "allow m__a(a*)", "ask m__a(k:x)", "ask m__a(a)")
    assert lines.matching("ab") == [0, 1]
    assert lines.matching("b") == []
    assert lines.named == {"k"}
    assert [lines.effect(text) for text in ("ab", "a", "b")] == [DENY, ALLOW, DENY]
    assert lines.effect("ab", lines.entries[:1]) is ALLOW
    assert lines.effect("a", lines.entries[:2]) is ASK


@pytest.mark.parametrize(
    ("rules", "earlier", "later"),
    [
        # Of the last of these rules: whether an earlier one matches all that it matches.
        (["deny m__a(a*)", "allow m__a(ab)"], True, True),
        (["allow m__a(*)", "allow m__a(ab)"], True, True),
        (["allow m__a(b*)", "allow m__a(ab)"], False, False),
        (["allow m__a", "allow m__a(ab)"], True, True),
        (["allow Bash", "allow Bash(git *)"], True, True),
    ],
)
def test_a_line_is_idle_behind_one_that_matches_all_of_it(rules, earlier, later) -> None:
    lines = _lines(*rules)
    entry = lines.entries[-1]
    assert lines.is_idle([entry], entry, later=False) is earlier
    assert lines.is_idle([entry], entry, later=True) is later
    assert not lines.is_idle(lines.entries, entry, later=True)  # of its own rule


def test_a_host_may_ask_for_what_a_rule_for_all_commands_runs_in_the_background() -> None:
    whole = evolve(DIALECT, shell=evolve(DIALECT.shell, whole=True))
    for rules, idle in (
        (["allow Bash", "allow Bash(git *)"], False),
        (["allow Bash(*)", "allow Bash(git *)"], True),
        (["deny Bash", "allow Bash(git *)"], True),
        (["ask Bash", "ask Bash(git *)"], True),
        (["allow m__a", "allow m__a(x)"], True),
    ):
        lines = _lines(*rules, dialect=whole)
        assert lines.is_idle(lines.entries[1:], lines.entries[1], later=False) is idle, rules


@pytest.mark.parametrize(
    ("rules", "idle"),
    [
        # Of the first of these rules: whether the last one decides alike where it is left out.
        (["allow m__a(ab)", "allow m__a(a*)"], True),
        (["allow m__a(ab)", "ask m__a(a*)"], False),
        (["allow m__a(ab)", "allow m__a(b*)"], False),
        (["allow m__a(ab)", "allow m__a"], False),  # a call that cannot be read
        (["allow m__a", "allow m__a"], False),
        # No line between them has another effect.
        (["allow m__a(ab*)", "ask m__a(abc)", "allow m__a(a*)"], False),
        (["allow m__a(ab*)", "ask m__a(x)", "allow m__a(a*)"], True),
        (["allow m__a(ab*)", "ask m__a(k:x)", "allow m__a(a*)"], False),
        (["ask m__a(abc)", "allow m__a(ab*)", "allow m__a(a*)"], False),
        # Commands: words of one command, and what follows them.
        (["allow Bash(git push *)", "allow Bash(git *)"], True),
        (["ask Bash(git push *)", "ask Bash(git *)"], True),
        (["allow Bash(git push *)", "allow Bash(git*)"], False),
        (["allow Bash(git * x)", "allow Bash(git *)"], False),
        (["allow Bash(* x)", "allow Bash(*)"], False),
        (["allow Bash(git ; x *)", "allow Bash(git *)"], False),
        # Files that commands open are looked up in other ways where they are denied.
        (["allow Read(/a/b)", "allow Read(/a/*)"], True),
        (["deny Read(/a/b)", "deny Read(/a/*)"], False),
        (["deny Grep(/a/b)", "deny Grep(/a/*)"], True),
        # Hosts are told apart by parts of a path too.
        (["allow WebFetch(a.b.c)", "allow WebFetch(*.b.c)"], True),
    ],
)
def test_a_line_is_idle_before_one_that_decides_alike(rules: list[str], idle: bool) -> None:
    lines = _lines(*rules)
    assert lines.is_idle(lines.entries[:1], lines.entries[0], later=True) is idle
    assert not lines.is_idle(lines.entries[:1], lines.entries[0], later=False)


def test_a_host_that_checks_arguments_reads_every_call() -> None:
    lines = _lines("allow m__a(ab)", "allow m__a", dialect=evolve(DIALECT, checks=True))
    assert lines.is_idle(lines.entries[:1], lines.entries[0], later=True)


def test_lines_with_another_reason_or_form_decide_otherwise() -> None:
    narrow, wide = _rules("allow Bash(git push *)", "allow Bash(git *)").entries
    exact = evolve(narrow, pattern=Pattern.text("git push"))
    by_host = evolve(wide, reason=Reason.DEFAULT)
    for one, other, idle in (
        (narrow, by_host, False),
        (narrow, evolve(narrow, reason=Reason.DEFAULT), False),
        (exact, wide, False),
        (evolve(exact, form=Form.PREFIX), wide, True),
        (evolve(exact, form=Form.BARE), wide, True),
        (evolve(exact, form=Form.PREFIX, effect=ASK), evolve(wide, effect=ASK), False),
        (evolve(exact, form=Form.PREFIX), evolve(exact, form=Form.ORDINARY), False),
    ):
        lines = ToolLines(RuleSet((one, other), DENY, DIALECT), "Bash")
        assert lines.is_idle([one], one, later=True) is idle


@pytest.mark.parametrize(
    ("wide", "narrow", "all_of_it"),
    [
        ("allow m__a", "deny m__a(x)", True),
        ("allow m__a(x)", "deny m__a", False),
        ("allow m__a", "allow m__b", False),
        ("allow m__*", "allow m__b", True),
        ("allow m__*", "allow m__b*", True),
        ("allow m__b*", "allow m__*", False),
        ("allow m__b", "allow m__b*", False),
        ("allow m__*(x*)", "allow m__b(xy)", True),
        ("allow m__a(k:x*)", "allow m__a(k:xy)", True),
        ("allow m__a(k:x*)", "allow m__a(l:xy)", False),
        ("allow m__a(k:*)", "allow m__a(x)", False),
    ],
)
def test_a_line_contains_another_one(wide: str, narrow: str, all_of_it: bool) -> None:
    one, other = _rules(wide, narrow).entries
    assert contains(one, other) is all_of_it
    assert contains(one, one)


@pytest.mark.parametrize(
    ("tool", "text", "is_one"),
    [
        ("m__a", "x", True),
        ("Bash", "git push", True),
        ("Bash", "sudo rm x", False),
        ("Bash", "a && b", False),
        ("Read", "/a/b", True),
        ("Read", "a/../b", False),
        ("WebFetch", "a.com", True),
    ],
)
def test_one_text_may_decide_a_call(tool: str, text: str, is_one: bool) -> None:
    assert is_one_text(DIALECT, tool, text) is is_one


def test_no_text_decides_alone_where_links_or_several_arguments_do() -> None:
    linked = evolve(DIALECT, links={"/a": "/b"})
    assert not is_one_text(linked, "Read", "/a/b")
    assert is_one_text(linked, "m__a", "x")
    for kind in (ArgumentKind.JSON, ArgumentKind.JOINED, ArgumentKind.POWERSHELL):
        dialect = Dialect("test", arguments={"x": Argument(kind, ("a",))})
        assert not is_one_text(dialect, "x", "a")


def test_rules_of_a_file_are_listed_with_their_lines_in_every_list() -> None:
    place, other = Place("a.policy", 1, 1), Place("a.policy", 2, 1)
    one, two = (Entry(tool, ALLOW, rule="m__*", place=place) for tool in ("m__a", "m__b"))
    by_depth = Entry("Task", DENY, rule="limit", place=other, reason=Reason.DEPTH)
    unwritten = Entry("m__c", ALLOW, rule="host")
    last = Entry("m__d", ASK, rule="m__d", place=other)
    sets = [RuleSet(e, DENY, DIALECT) for e in ((one, unwritten, two, by_depth, last), (two,))]
    parts = [LinkedRules(rules, links) for rules, links in zip(sets, (("m", "c"), ()), strict=True)]
    first, second = written_rules(parts)
    assert first.lists == {0: (one, two), 1: (two,)}
    assert first.entries == (one, two)
    assert first.because == Because("m__*", ALLOW, "m", place)
    assert second.because == Because("m__d", ASK, "m", other)
    known: Known = {}
    assert [*written_rules(parts[1:], known=known)] == [*written_rules(parts[1:], known=known)]
    assert next(written_rules(parts[1:])).because == Because("m__*", ALLOW, "", place)
    marked = written_rules(parts, {(other, "m__d"), (other, "limit")}, known)
    assert [each.because.rule for each in marked] == ["m__d"]


@pytest.mark.parametrize(
    ("is_live", "decides", "what", "by"),
    [
        (None, True, "undecided", ["a", "d"]),
        (True, True, "live", ["a", "d"]),
        (False, True, "redundant", ["a"]),
        (False, False, "shadowed", ["a", "d"]),
    ],
)
def test_a_redundant_rule_is_covered_by_rules_of_its_effect(is_live, decides, what, by) -> None:
    covering = [Because("a", ALLOW, "m"), Because("d", DENY, "m")]
    rule = Because("x", ALLOW, "m")
    found = RuleStanding(rule, is_live, covering=lambda: covering, decides=lambda: decides)
    assert found.what == what
    assert [each.rule for each in found.by] == by


def test_each_comparison_takes_effort_for_itself_and_for_the_lines_of_its_lists() -> None:
    rules = table("allow m__a(a*)", "deny m__b(b)")
    left = Effort(100)
    assert [each.what for each in shadowing(rules, effort=left)] == [REDUNDANT, LIVE]
    assert left.left == 100 - (15 + 2)
    assert Effort().left > 10_000


def test_rules_on_files_may_apply_to_files_that_commands_open() -> None:
    for rule, opened in (("deny Read(a)", True), ("deny *", True), ("deny m__a", False)):
        (found,) = written_rules(table(rule).use.parts)
        assert is_opened(DIALECT, found) is opened


def test_one_call_settles_most_rules_without_a_comparison(monkeypatch) -> None:
    def compared(*given: object) -> object:
        raise AssertionError(given)

    monkeypatch.setattr(Trials, "_changed", compared)
    for rules in ("deny Bash(ls *)", "allow Bash(npm *) deny Bash(npm publish *)", "deny Read(a)"):
        for each in shadowing(project_table(rules)):
            assert each.what == "live"
            tool, call = each.witness
            assert project_table(rules).decide(tool, call).because[0].rule == each.rule.rule


def test_a_rule_takes_as_much_effort_as_its_lists_have_lines_and_a_fixed_one() -> None:
    for rules in (["allow m__a(a*)"], ["allow m__a(a*)", "deny m__a(ab)", "ask m__b"]):
        effort = Effort(1_000)
        trials = Trials(table(*rules), effort, {})
        rule = next(iter(written_rules(trials.parts)))
        lines = len(trials.parts[0].rules.entries)
        trials._sides(rule, None)
        assert effort.left == 1_000 - 15 - lines
