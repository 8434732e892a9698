"""Rules that decide only because of their place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy.compare.dead_rules import placed
from policy.core.effect import Effect
from policy.hosts.notation import SEMANTICS
from policy.hosts.zeph.session import SessionPermissions
from policy.patterns.pattern import Pattern
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

GLOBS = ["a", "b", "ab", "a*", "*b", "*a*", "*"]


def ordered(*rules: tuple[str, Effect], default: Effect = Effect.DENY) -> RuleSet:
    entries = (Entry("Tool", effect, Pattern.text(text), rule=text) for text, effect in rules)
    return RuleSet(tuple(entries), default, SEMANTICS.dialect)


def pairs(*rules: tuple[str, Effect]) -> list[tuple[str, str]]:
    return [(one.rule, one.before) for one in placed(ordered(*rules))]


def test_an_exception_stands_before_what_it_is_an_exception_of() -> None:
    assert pairs(("push dry", Effect.ALLOW), ("push*", Effect.DENY)) == [("push dry", "push*")]


def test_rules_that_share_no_call_or_say_the_same_may_change_places() -> None:
    assert pairs(("push", Effect.ALLOW), ("pull*", Effect.DENY)) == []
    assert pairs(("push", Effect.ALLOW), ("push*", Effect.ALLOW)) == []


def test_a_default_at_the_end_is_not_told() -> None:
    assert pairs(("push", Effect.ALLOW), ("*", Effect.DENY)) == []
    assert pairs(("push", Effect.ALLOW), ("*", Effect.DENY), ("pull", Effect.ALLOW)) == [
        ("push", "*"),
        ("*", "pull"),
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(GLOBS), st.sampled_from(Effect)),
        min_size=2,
        max_size=5,
        unique_by=lambda rule: rule[0],
    )
)
def test_every_witness_is_decided_so_in_either_order(rules) -> None:
    whole = ordered(*rules)
    for one in placed(whole):
        at, behind = (
            next(i for i, (text, _) in enumerate(rules) if text == name)
            for name in (one.rule, one.before)
        )
        moved = [*rules[:at], *rules[at + 1 : behind + 1], rules[at], *rules[behind + 1 :]]
        call = dict(one.witness.call)
        assert Table.of(whole).decide("Tool", call).effect is one.witness.before.effect
        assert Table.of(ordered(*moved)).decide("Tool", call).effect is one.witness.after.effect
        assert one.witness.before.effect is not one.witness.after.effect


def test_the_rules_of_a_session_of_zeph_are_told_with_a_call() -> None:
    rules = {"bash": (("git push --dry-run", Effect.ALLOW), ("git push*", Effect.DENY))}
    (found,) = SessionPermissions(rules=rules).findings()
    assert found.code == "order-matters"
    assert "`git push --dry-run` would get deny instead of allow" in found.message
