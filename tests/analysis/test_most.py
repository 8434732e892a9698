"""What agents may do at most, against every call of a small universe."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.reach import privileges as module
from policy.analysis.reach.privileges import AtMost, at_most, tool_access
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.tables.table import Table
from tests.effort import examples
from tests.strategies import table

# Commands of few words, as rules see them.
_WORDS = ("a", "b", "c")
COMMANDS = [
    " ".join(words) for size in range(1, 5) for words in itertools.product(_WORDS, repeat=size)
]

_SPECIFIERS = ("a", "a *", "b *", "a b *", "* b", "a * c", "* b *", "a b", "*")

_RULES = st.lists(
    st.tuples(st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(_SPECIFIERS)).map(
        lambda rule: f"{rule[0]} Bash({rule[1]})"
    ),
    max_size=4,
)
_TABLES = st.lists(_RULES, min_size=1, max_size=2).map(
    lambda lists: Table.__and__(*[table(*rules) for rules in (lists * 2)[:2]])
)


def _bash(told: tuple[AtMost, ...]) -> AtMost:
    # Where no rule matches it, it is as any other tool.
    return next((each for each in told if each.tool == "Bash"), told[0])


def _narrowest(most: AtMost, command: str) -> Effect:
    """Return the effect of the narrowest of the told rules that match, tried on all commands."""
    matching: list[tuple[int, Effect]] = []
    for grant in most.grants[:-1]:
        for pattern in grant.patterns:
            if pattern.matches(command):
                size = sum(map(pattern.matches, COMMANDS))
                matching.append((size, grant.effect))
    return min(matching)[1] if matching else most.grants[-1].effect


def _greatest(most: AtMost, command: str) -> Effect:
    """Return the greatest effect of the told rules that match."""
    matching = [g.effect for g in most.grants for p in g.patterns if p.matches(command)]
    return max(matching, default=most.grants[-1].effect)


@given(st.lists(_TABLES, min_size=1, max_size=2))
@examples(30)
def test_the_narrowest_rule_that_is_reported_gives_the_greatest_effect(tables: list[Table]) -> None:
    most = _bash(at_most(tables))
    assert most.why in {(), (module.OVERLAPPING,)}
    for command in COMMANDS:
        call: dict[str, object] = {"command": command}
        greatest = max(each.decide("Bash", call).effect for each in tables)
        if most.why:
            assert _greatest(most, command) >= greatest, (command, most)
            continue
        assert _narrowest(most, command) is greatest, (command, most)
    for grant in most.grants:
        for pattern in grant.patterns:
            calls = [{"command": text} for text in COMMANDS if pattern.matches(text)]
            shown = {each.decide("Bash", call).effect for each in tables for call in calls}
            assert not calls or grant.effect in shown


def test_a_rule_that_adds_nothing_is_not_reported() -> None:
    told = _bash(at_most([table("allow Bash(git *)", "allow Bash(git diff *)")]))
    assert [(grant.effect, grant.rule) for grant in told.grants] == [
        (Effect.ALLOW, "Bash(git *)"),
        (Effect.DENY, ""),
    ]


def test_each_grant_is_the_greatest_at_any_position() -> None:
    left = table("allow Bash(git *)", "deny Bash(git push *)")
    right = table("ask Bash(git push *)", "allow Read")
    told = at_most([left, right])
    assert [(g.effect, g.rule) for g in _bash(told).grants] == [
        (Effect.ALLOW, "Bash(git *)"),
        (Effect.ASK, "Bash(git push *)"),
        (Effect.DENY, ""),
    ]
    read = next(each for each in told if each.tool == "Read")
    assert [grant.effect for grant in read.grants] == [Effect.ALLOW]


def test_what_two_lists_share_is_within_what_is_reported_and_is_not_exact() -> None:
    met = table("allow Bash(git *)") & table("allow Bash(* --dry-run)")
    told = _bash(at_most([met]))
    assert [(g.effect, g.rule) for g in told.grants[:-1]] == [
        (Effect.ALLOW, "Bash(git *)"),
        (Effect.ALLOW, "Bash(* --dry-run)"),
    ]
    assert told.why == (module.OVERLAPPING,)


def test_what_is_not_exact_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATTERNS", 1)
    told = _bash(at_most([table("allow Bash(a *)", "allow Bash(b *)")]))
    assert told.why == (module.MANY_PATTERNS,)


def test_a_rule_that_no_command_matches_is_not_shown_as_what_runs() -> None:
    rules = ["allow Bash(do rm x)", "allow Bash(done)", "allow Bash(ls *)", "ask Bash(then x)"]
    (bash,) = (each for each in tool_access(at_most([table(*rules)])) if each.name == "Bash")
    assert (bash.allowed, bash.asked) == (("ls *",), ("then x",))


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("make 2>&1", True),
        ("for f in a", False),
    ],
)
def test_a_rule_is_shown_as_what_runs_if_a_command_may_match_it(rule, shown) -> None:
    content = json.dumps({"permissions": {"allow": [f"Bash({rule})"]}})
    chain = load_tree(Memory({".claude/settings.json": content})).chain("main", reading="enforced")
    (bash,) = (each for each in tool_access(at_most([chain.table])) if each.name == "Bash")
    assert bool(bash.allowed) is shown
