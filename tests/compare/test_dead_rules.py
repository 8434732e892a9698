"""Which rules of a table decide anything: what becomes of each, and which rules cover it."""

from __future__ import annotations

import pytest

from policy.compare.dead_rules import Effort
from policy.core.effect import Effect
from policy.tables.table import Table
from tests.standings import shadowing
from tests.strategies import table

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
