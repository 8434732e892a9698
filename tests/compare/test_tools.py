"""Names of tools: which ones are compared one by one, and which others stand for all the rest."""

from __future__ import annotations

from itertools import permutations

import pytest

from policy.compare.compare import Known
from policy.compare.tables import (
    OTHER_TOOL,
    Tools,
    _readable,
    compare_meets,
    differences,
    further_tools,
    internal_tools,
    loosely,
    reported,
    representatives,
)
from policy.compare.witness import Difference
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.patterns.pattern import Pattern, readable
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table
from tests.strategies import DIALECT, table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

_PLAIN = Dialect("test")
_FOLDED = Dialect("test", fold_names=True)
_LOOSE = Dialect("test", loose=True)
_ARGUMENT = Argument(ArgumentKind.TEXT, ("text",))


def _set(*rules: str, dialect: Dialect = _PLAIN, default: Effect = DENY) -> RuleSet:
    """Return rules such as ``allow a*`` or ``deny a(x)``, in order."""
    entries = []
    for rule in rules:
        effect, _, matcher = rule.partition(" ")
        tool, has_argument, text = matcher.removesuffix(")").partition("(")
        pattern = Pattern.text(text) if has_argument else None
        entries.append(Entry(tool, Effect(effect), pattern, rule=matcher))
    return RuleSet(tuple(entries), default, dialect)


# --- names that stand for others ---------------------------------------------------------


def test_each_set_of_globs_has_a_name_that_no_rule_has() -> None:
    names, exact = representatives([_set("allow a*", "deny *b", "deny ab", "ask =ac", "ask x")])
    assert exact
    assert names[:3] == ["ab", "x", "ac"]
    kinds = {(name[:1] == "a", name[-1:] == "b") for name in names[3:]}
    assert len(kinds) == len(names[3:]) == 4
    assert OTHER_TOOL in names


def test_tools_and_aliases_of_a_host_stand_for_themselves() -> None:
    dialect = Dialect("test", arguments={"Run": _ARGUMENT}, aliases={"Sh": "Run", "Old": "New"})
    names, _ = representatives([_set("allow z", dialect=dialect)])
    assert names == ["New", "Old", "Run", "Sh", "z", OTHER_TOOL]


@pytest.mark.parametrize("glob", ["b*", "Other*"])
def test_a_tool_that_no_glob_matches_has_a_name_of_its_own(glob: str) -> None:
    """Also where a rule has the name that else stands for all such tools."""
    written = [OTHER_TOOL, "x", "a", "file", "x1", "zz", "/x", "--x"]
    for some in (written, written[1:]):
        names, _ = representatives([_set(f"allow {glob}", *(f"deny {name}" for name in some))])
        further = names[len(some) :]
        assert set(further).isdisjoint(some)
        assert {name.startswith(glob[:-1]) for name in further} == {False, True}


def test_the_usual_name_of_another_tool_is_left_to_a_rule_that_has_it() -> None:
    assert OTHER_TOOL in further_tools(frozenset({"a*"}), frozenset())[0]
    assert OTHER_TOOL not in further_tools(frozenset({"a*"}), frozenset({OTHER_TOOL}))[0]
    assert len(further_tools(frozenset({"a*"}), frozenset({OTHER_TOOL}))[0]) == 2


# --- tools that are compared one by one ---------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "special", "spelled", "exact", "by_class"),
    [
        # Names are compared at once, and tools with arguments one by one.
        ([_set("allow a", "deny b*")], {""}, {""}, True, False),
        ([_set("allow a(x)", "deny b*")], {"a"}, {"a"}, True, False),
        ([_set()], {""}, {""}, True, False),
        # Where a glob has arguments, so do names.
        ([_set("allow a", "deny b*(x)", "ask =c")], {"a", "c"}, {"a", "c"}, True, True),
        ([_set("allow a*", "deny b(x)")], {"b"}, {"b"}, True, False),
        # Names in any case, as globs distinguish them.
        ([_set("allow ab", dialect=_FOLDED)], {"ab"}, {"ab"}, True, False),
        ([_set("allow ab", "ask *B", dialect=_FOLDED)], {"ab"}, {"ab", "aB"}, True, False),
        ([_set("allow ab", "ask A*", "ask *B", dialect=_FOLDED)],
         {"ab"}, {"ab", "Ab", "aB", "AB"}, True, False),
        ([_set("allow ab", dialect=_FOLDED), _set("allow c")], {"ab"}, {"ab"}, False, False),
        # Names as written, and names that are trimmed.
        ([_set("allow a(x)", dialect=_LOOSE)], {"a"}, {"a"}, True, False),
        ([_set("allow a(x)", dialect=_LOOSE), _set("deny b", "deny C")],
         {"a"}, {"a", "a ", "C"}, True, False),
        ([_set("allow a(x)", dialect=_LOOSE), _set("deny *")], {"a"}, {"a", "a "}, True, False),
        ([_set("allow a(x)", dialect=_LOOSE), _set("deny b*")], {"a"}, {"a", "a "}, False, False),
        ([_set("allow a*(x)", dialect=_LOOSE), _set("deny b")], {"b"}, {"b", "b "}, False, True),
    ],
)  # fmt: skip
def test_tools_that_rules_distinguish_are_special(sets, special, spelled, exact, by_class) -> None:
    tools = Tools.of(sets)
    assert tools.special == special - {""}
    assert {*tools.spelled} == spelled - {""}
    assert len(tools.spelled) == len(spelled - {""})
    assert (tools.exact, tools.by_class) == (exact, by_class)


def test_tools_and_aliases_of_a_host_are_special() -> None:
    dialect = Dialect("test", arguments={"Run": _ARGUMENT}, aliases={"Sh": "Run"})
    assert Tools.of([_set("allow z", dialect=dialect)]).special == {"Run", "Sh"}
    assert Tools.of([_set(dialect=dialect)]).special == frozenset()


def test_a_name_with_many_spellings_is_not_compared_in_silence() -> None:
    globs = [f"ask {'?' * 0}*{letter}*" for letter in "ABCDEFGHI"]
    assert Tools.of([_set("allow abcdefg", *globs, dialect=_FOLDED)]).exact
    assert not Tools.of([_set("allow abcdefgh", *globs, dialect=_FOLDED)]).exact  # 256
    assert not Tools.of([_set("allow abcdefghi", *globs, dialect=_FOLDED)]).exact


# --- names of tools that two tables decide differently ------------------------------------------


def _shown(before: RuleSet, after: RuleSet) -> list[tuple[str, Effect, Effect]]:
    found = differences(Table.of(before), Table.of(after))
    assert found.exact
    return sorted((each.tool, *each.effects) for each in found.differences)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (_set("allow a"), _set("allow a", "allow b"), [("b", DENY, ALLOW)]),
        (_set("allow a*"), _set("deny ab*", "allow a*"), [("ab", ALLOW, DENY)]),
        (_set(), _set(default=ASK), [(OTHER_TOOL, DENY, ASK)]),
        (_set("allow a"), _set("allow a", default=ASK), [(OTHER_TOOL, DENY, ASK)]),
        (_set("allow *"), _set("deny a", "allow *"), [("a", ALLOW, DENY)]),
        # Names in any case.
        (_set(dialect=_FOLDED), _set("allow ab", dialect=_FOLDED), [("ab", DENY, ALLOW)]),
        (_set("ask *B", dialect=_FOLDED), _set("allow ab", "ask *B", dialect=_FOLDED),
         [("aB", ASK, ALLOW), ("ab", DENY, ALLOW)]),
        # Names that are trimmed: in small letters, with a blank inside of them or none.
        (_set(dialect=_LOOSE), _set("allow Ab C", dialect=_LOOSE), [("ab c", DENY, ALLOW)]),
        (_set(dialect=_LOOSE), _set("allow *A", dialect=_LOOSE), []),
        (_set(dialect=_LOOSE), _set("allow * ", dialect=_LOOSE), []),
    ],
)  # fmt: skip
def test_names_are_compared_as_their_host_reads_them(before, after, shown) -> None:
    assert _shown(before, after) == shown
    assert _shown(after, before) == sorted((tool, now, was) for tool, was, now in shown)


def test_a_name_with_arguments_in_a_glob_is_compared_for_each_set_of_globs() -> None:
    before, after = _set("allow a*(x)", "allow b"), _set("allow a*(x)", "ask a*", "allow b")
    found = differences(Table.of(before), Table.of(after))
    assert found.exact
    assert {(each.tool[:1], each.effects) for each in found.differences} == {("a", (DENY, ASK))}
    assert OTHER_TOOL not in {each.tool for each in found.differences}


def test_a_name_is_no_other_for_a_blank_behind_it() -> None:
    assert _LOOSE.canonical(loosely("ab")) == "ab" != loosely("ab")


def test_known_answers_are_those_of_the_same_tables_alone() -> None:
    tables = [
        table("allow m__*", "deny m__a(ab)", link="main"),
        table("allow m__*", "deny m__a(ab)", link="child"),
        table("allow m__*", "ask m__a(a*)", "deny m__b"),
        table("allow m__a(a*)", default=ASK),
        table("allow m__*") & table("deny m__a(b*)", default=ALLOW, link="child"),
        table("deny m__*(k:a)", "allow m__*"),
    ]
    known: Known = {}
    for one, other in [*permutations(tables, 2)] * 2:
        assert differences(one, other, known) == differences(one, other)


def test_decisions_on_meets_have_numbers_in_place_of_links() -> None:
    rules = [_set("allow a(x)", default=ASK), _set("deny a(y)", "deny b", default=ALLOW)]
    found = compare_meets([(rules[0], ("main",))], [(rules[0], ("main",)), (rules[1], ("child",))])
    assert found.exact
    assert {(d.tool, *d.effects) for d in found.differences} == {("a", ASK, DENY), ("b", ASK, DENY)}
    links = {because.link for d in found.differences for because in d.after.because}
    assert links <= {"0", "1"}
    assert compare_meets([(rules[0], ())], [(rules[0], ("main",))]).differences == ()


# --- which differences are reported ---------------------------------------------------------


def _difference(tool: str, before: Reason = Reason.RULE) -> Difference:
    return Difference(tool, {}, Decision(ALLOW, before), Decision(DENY, Reason.MALFORMED))


def test_tools_that_no_call_has_are_not_reported() -> None:
    files = values.evolve(DIALECT.shell.files, inner=frozenset({"Inner"}))
    dialect = values.evolve(_PLAIN, shell=values.evolve(DIALECT.shell, files=files))
    assert internal_tools([_PLAIN, dialect]) == {"Inner"}
    side = Table.of(_set("allow a", dialect=dialect))
    assert reported([_difference("Inner"), _difference("a")], side) == (_difference("a"),)


def test_calls_that_every_host_refuses_are_not_reported() -> None:
    checking = values.evolve(_PLAIN, checks=True)
    one, other = Table.of(_set("allow a", dialect=checking)), Table.of(_set("allow a"))
    assert reported([_difference("a")], one, one) == ()
    assert reported([_difference("a")], one, other) == (_difference("a"),)
    assert reported([_difference("a")], Table()) == (_difference("a"),)


def test_a_tool_is_reported_once_under_the_name_that_all_hosts_have_for_it() -> None:
    dialect = Dialect("test", arguments={"Run": _ARGUMENT}, aliases={"Sh": "Run"})
    side, other = Table.of(_set("allow z", dialect=dialect)), Table.of(_set("allow z"))
    both = [_difference("Sh"), _difference("Run")]
    assert reported(both, side) == reported(both[::-1], side) == (both[1],)
    assert reported(both, side, other) == tuple(both)


def test_a_name_of_one_letter_that_a_search_made_up_is_shown_by_a_readable_one() -> None:
    assert [*_readable("x")] == [*readable(OTHER_TOOL), *readable("x")]
    assert [*_readable("xy")] == [*readable("xy")]
