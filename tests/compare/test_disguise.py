"""Commands that rules know by other texts than the one written: no change of theirs is missed.

Random edits of random lists, and every command of a small universe: programs behind
wrappers, assignments and folders, quoted, joined, and with what no rule can grant.
``PAIRS`` in the environment is how many edits are tried of each host.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator

import pytest

from policy.compare.compare import Comparison
from policy.compare.samples import SAMPLED
from policy.compare.tables import differences
from policy.compare.witness import weakened
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.patterns.notations import Unusable
from policy.tables.chain import Chain
from policy.tables.table import Table
from tests.strategies import table
from tests.told import Effects, is_told

PAIRS = int(os.environ.get("PAIRS", "25"))

_FORMS = (
    "{}", "sudo {}", "timeout 5 {}", "nice -n 5 {}", "A=1 {}", "LANG=C {}", "./{}", "/bin/{}",
    "'{}'", "\\{}", "{} 'q'", "{} && a", "{} | b", "{} > o", "$({})", "{} $x", "xargs {}",
    "env {}", "sudo timeout 5 {}", "A=1 sudo {}", "! {}", "({})",
)  # fmt: skip
_PROGRAMS = ("a", "a b", "rm x", "rm", "git push x", "git status", "ls", "cat a", "z", "npm x")
COMMANDS = [form.format(program) for program in _PROGRAMS for form in _FORMS]
COMMANDS += ["", ";", "$x", "a && b", "echo x > .env"]

RULES = (
    "a", "a *", "*", "rm *", "rm x", "git push *", "git *", "git status", "sudo *", "sudo rm *",
    "timeout *", "timeout 5 rm *", "nice *", "A=1 *", "./a *", "/bin/*", "* x", "ls *", "cat *",
    "a b", "npm *", "a && b", "xargs *", "env *", "timeout 5 rm x", "sudo timeout *", "timeout 5 a",
    "A=1 rm *", "/bin/rm x", "git push x | b", "nice -n 5 git *",
)  # fmt: skip

Lists = dict[str, list[str]]


def _lists(dice: random.Random) -> Lists:
    return {
        effect: [f"Bash({dice.choice(RULES)})" for _ in range(dice.randint(0, 3))]
        for effect in ("allow", "ask", "deny")
    }


def _edited(dice: random.Random, lists: Lists) -> Lists:
    edited = {effect: list(rules) for effect, rules in lists.items()}
    rules = edited[dice.choice(list(edited))]
    if rules and dice.random() < 0.5:
        moved = rules.pop(dice.randrange(len(rules)))
        if dice.random() < 0.3:
            edited[dice.choice(list(edited))].append(moved)
    else:
        rules.append(f"Bash({dice.choice(RULES)})")
    return edited


def _ours(dice: random.Random, lists: Lists) -> Table:
    effects = ("allow", "ask", "deny")
    written = [f"{effect} {rule}" for effect in effects for rule in lists[effect]]
    return table(*written, default=Effect[lists.get("default", ["DENY"])[0]])


def _claude(dice: random.Random, lists: Lists) -> Table:
    mode = lists.get("default", [""])[0]
    settings: dict[str, object] = {key: lists[key] for key in ("allow", "ask", "deny")}
    if mode:
        settings["defaultMode"] = mode
    (project,) = load_tree(
        Memory({".claude/settings.json": json.dumps({"permissions": settings})})
    ).projects
    return Chain.start("main", project.enforced).table


MAKERS = {
    "policy": (_ours, ["DENY", "ASK", "ALLOW"]),
    "claude-code": (_claude, ["", "", "dontAsk", "acceptEdits"]),
}


def _pairs(host: str, count: int) -> Iterator[tuple[Lists, Lists, Table, Table]]:
    make, defaults = MAKERS[host]
    dice = random.Random(f"{host} {os.environ.get('PAIRS_SEED', '')}")
    while count:
        lists = _lists(dice)
        edited = _edited(dice, lists)
        default = [dice.choice(defaults)]
        try:
            before, after = (
                make(dice, {**side, "default": default} if default[0] else side)
                for side in (lists, edited)
            )
        except (PolicyError, Unusable):
            continue
        count -= 1
        if dice.random() < 0.2:
            other = make(dice, _lists(dice))
            before, after = before & other, after & other
        yield lists, edited, before, after


@pytest.mark.parametrize("host", MAKERS)
def test_no_command_is_decided_differently_that_a_difference_does_not_tell_of(host: str) -> None:
    exact = 0
    for lists, edited, before, after in _pairs(host, PAIRS):
        comparison = differences(before, after)
        _confirm(comparison, before, after)
        exact += comparison.exact
        told = {difference.effects for difference in comparison.differences}
        for command in COMMANDS if comparison.exact else ():
            call = {"command": command}
            was, now = before.decide("Bash", call).effect, after.decide("Bash", call).effect
            assert is_told(was, now, told, "Bash"), (lists, edited, command)
    # Here nearly every rule is about a wrapper: of few files that people write this is so.
    assert exact > 0.6 * PAIRS
    # Of our notation all that is generated here is compared exactly.
    assert host != "policy" or exact == PAIRS


def _confirm(comparison: Comparison, before: Table, after: Table) -> None:
    for difference in comparison.differences:
        was = before.decide(difference.tool, difference.call)
        now = after.decide(difference.tool, difference.call)
        assert (was.effect, now.effect) == (difference.before.effect, difference.after.effect)
        assert was.effect is not now.effect


@pytest.mark.parametrize(
    ("before", "after", "widened"),
    [
        # What a rule that asks knows behind a wrapper was not granted before.
        (["allow Bash(rm *)"], ["ask Bash(rm *)"], {False, True}),
        # Rules that allow see through `timeout 5`.
        (["allow Bash(rm *)"], ["allow Bash(rm *)", "deny Bash(timeout *)"], {False}),
        (["allow Bash(sudo rm *)"], ["allow Bash(sudo rm *)", "deny Bash(rm x)"], {False}),
        (["allow Bash(A=1 *)"], ["allow Bash(A=1 *)", "deny Bash(a *)"], {False}),
        (["allow Bash(* x)"], ["allow Bash(* x)", "deny Bash(rm x)"], {False}),
        # No program has blanks in its name, unless it is quoted.
        (["allow Bash(a  b)"], ["allow Bash(a  b)", "ask Bash(a  c)"], {True}),
    ],
)
def test_commands_behind_wrappers_are_compared(
    before: list[str], after: list[str], widened: set[bool]
) -> None:
    comparison = differences(table(*before), table(*after))
    assert {difference.widened for difference in comparison.differences} == widened
    assert comparison.exact


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({}, {"ask": ["Bash(git *)"]}, {("allow", "ask")}),  # `git status` runs unasked
        ({"allow": ["Bash(rm *)"]}, {"allow": ["Bash(rm *)"], "ask": ["Bash(timeout *)"]}, {("allow", "ask")}),
        ({"allow": ["Bash(a && b)"]}, {"allow": ["Bash(a && b)"], "ask": ["Bash(a)"]}, {("allow", "ask")}),
        ({"allow": ["Bash(sudo *)"], "ask": ["Bash(rm *)"]}, {"allow": ["Bash(sudo *)"]}, {("ask", "allow")}),
        # A wrapper was allowed all along: taking out what denied the command behind it allows it.
        (
            {"allow": ["Bash(timeout 5 npm test)"], "deny": ["Bash(npm test)"]},
            {"allow": ["Bash(timeout 5 npm test)"]},
            {("deny", "ask"), ("deny", "allow")},
        ),
        # In quotes it is a word, and the command runs unasked.
        ({"deny": ["Bash(echo $*)"]}, {}, {("deny", "ask"), ("deny", "allow")}),
        # What a wrapper is told before its command is left to a star, and of texts the strictest counts.
        (
            {"deny": ["Bash(sudo timeout *)"]},
            {"deny": ["Bash(sudo timeout *)"], "ask": ["Bash(a b)"]},
            set(),
        ),
    ],
)  # fmt: skip
def test_what_the_host_knows_of_commands_is_compared(
    before: Lists, after: Lists, shown: set[tuple[str, str]]
) -> None:
    empty: Lists = {"allow": [], "ask": [], "deny": []}
    dice = random.Random(0)
    tables = [_claude(dice, {**empty, **side}) for side in (before, after)]
    found = differences(tables[0], tables[1]).differences
    told = {(d.before.effect.value, d.after.effect.value) for d in found if d.tool == "Bash"}
    assert told == shown


@pytest.mark.parametrize(
    ("lists", "edited", "shown"),
    [
        # Rules that allow know none of it by what is written: `nice` is seen through.
        ([], ["allow Bash(nice -n 5 git *)"], set()),
        (["ask Bash(b)"], ["ask Bash(b)", "allow Bash(timeout 5 rm *)"], set()),
        # A rule that asks, or denies, knows all of it behind what it begins with.
        (["deny Bash(a *)"], ["deny Bash(a *)", "allow Bash(./a *)"], set()),
        (["ask Bash(timeout *)"], ["ask Bash(timeout *)", "allow Bash(sudo timeout *)"], set()),
        (["allow Bash(A=1 rm *)", "deny Bash(A=1 *)", "deny Bash(rm *)"],
         ["allow Bash(A=1 rm *)", "deny Bash(rm *)"], set()),
        # What is set may change what a program does: it is asked for.
        ([], ["allow Bash(A=1 *)"], {(Effect.DENY, Effect.ASK)}),
        # Some of it is allowed.
        (["deny Bash(* x)"], ["deny Bash(* x)", "allow Bash(sudo rm *)"], {(Effect.DENY, Effect.ALLOW)}),
    ],
)  # fmt: skip
def test_what_begins_alike_is_compared_exactly(
    lists: list[str], edited: list[str], shown: set[Effects]
) -> None:
    for default in (Effect.DENY, Effect.ASK):
        comparison = differences(table(*lists, default=default), table(*edited, default=default))
        assert comparison.exact
        if default is Effect.DENY:
            assert {difference.effects for difference in comparison.differences} == shown


@pytest.mark.parametrize(
    ("rules", "edit", "shown", "default"),
    [
        # A wrapper of some folder begins as the rule that allows does: `A/sudo flock ! x`.
        (["allow Bash(A*)"], "deny Bash(flock * x)", (Effect.ALLOW, Effect.DENY), Effect.DENY),
        (["allow Bash(rm*)"], "ask Bash(nohup /bin/rm x)", (Effect.ALLOW, Effect.ASK), Effect.DENY),
        # Behind an option that nobody knows any word may be a program, and is asked about.
        (["allow Bash(sudo -Z z *)", "ask Bash(z x)"], "deny Bash(z *)", (Effect.ALLOW, Effect.DENY), Effect.DENY),
        # What begins with a dash is no program behind what a wrapper is to be told.
        (["allow Bash(timeout *)"], "ask Bash(-Q a)", (Effect.ALLOW, Effect.ASK), Effect.DENY),
        # What a wrapper is told is no program, whatever rules say of that.
        (["allow Bash(xargs z)"], "ask Bash(5 *)", None, Effect.ASK),
        (["allow Bash(git *)"], "deny Bash(rm *)", None, Effect.DENY),
        (["ask Bash(git *)"], "deny Bash(rm *)", None, Effect.DENY),
    ],
)  # fmt: skip
def test_changes_are_searched_among_all_commands_of_plain_words(
    rules: list[str], edit: str, shown: Effects | None, default: Effect
) -> None:
    found = differences(table(*rules, default=default), table(*rules, edit, default=default))
    assert found.exact
    told = {each.effects for each in found.differences}
    assert shown in told if shown else (Effect.ALLOW, _effect_of(edit)) not in told


def test_files_hide_no_change_of_commands_that_another_rule_asks_for() -> None:
    # Whatever file is removed: what `A=1 rm x` runs is asked for on both sides.
    dice, lists = (
        random.Random(0),
        {"allow": [], "ask": ["Bash(rm *)", "Bash(xargs *)"], "deny": []},
    )
    before, after = (_claude(dice, {**lists, "allow": some}) for some in ([], ["Bash(A=1 rm *)"]))
    found = differences(before, after)
    assert found.exact
    assert not found.differences


def test_lines_that_deny_are_compared_exactly_where_every_command_is_allowed() -> None:
    # Of scripts that remove files what is denied in them is doubted, whichever line denies it.
    dice = random.Random(0)
    lists = {"ask": [], "deny": ["Bash(/bin/rm x)", "Bash(git *)", "Bash(a && b)"]}
    before, after = (
        _claude(dice, {**lists, "allow": allowed, "default": ["dontAsk"]})
        for allowed in (["Bash(a)"], ["Bash(a)", "Bash(*)"])
    )
    assert differences(before, after).exact


def test_what_a_further_list_takes_away_is_compared_exactly() -> None:
    dice = random.Random(0)
    deny = ["Bash(git *)", "Bash(sudo *)"]
    own = _claude(dice, {"allow": ["Bash(rm *)"], "ask": ["Bash(git push *)"], "deny": deny})
    other = _claude(dice, {"allow": [], "ask": ["Bash(sudo *)"], "deny": ["Bash(ls *)"]})
    for before, after, widened in ((own, own & other, False), (own & other, own, True)):
        found = differences(before, after)
        assert found.exact
        assert {each.widened for each in found.differences} == {widened}


def _effect_of(rule: str) -> Effect:
    return Effect[rule.partition(" ")[0].upper()]


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("allow Bash(timeout)", (Effect.ASK, Effect.DENY)),
        # More than that: both allow `timeout time x b`, which has no duration to look behind.
        ("allow Bash(timeout *)", (Effect.ALLOW, Effect.DENY)),
    ],
)
def test_three_rules_may_know_a_command_by_two_texts(rule: str, change: Effects) -> None:
    # What is written, what it is allowed by and what is asked for: `time z x b`.
    lists = table("allow Bash(* b)") & table("ask Bash(z *)", rule)
    found = differences(lists, lists & table("deny Bash(time *)", default=Effect.ALLOW))
    assert change in {difference.effects for difference in found.differences}


def test_what_one_list_asks_for_behind_a_wrapper_is_gone_with_what_another_one_allows() -> None:
    # `timeout 5 z b`: one list asks for it, and so grants what it allows nowhere.
    asking = table("allow Bash(timeout *)", "ask Bash(timeout 5 *)")
    found = differences(asking & table("allow Bash(z b)"), asking & table("allow Bash(a)"))
    assert (Effect.ASK, Effect.DENY) in {difference.effects for difference in found.differences}


def test_a_program_in_a_folder_behind_a_wrapper_is_compared() -> None:
    before, after = table("ask Bash(* ./a)"), table("ask Bash(* ./a)", "deny Bash(a)")
    found = differences(before, after).differences
    assert {each.effects for each in found} == {(Effect.ASK, Effect.DENY)}


def test_rules_that_spell_out_operators_beside_stars_are_not_compared_in_silence() -> None:
    rules = "allow Bash(a *)", "allow Bash(sudo *)"
    comparison = differences(table(*rules), table(*rules, "deny Bash(a '*)"))
    assert comparison.differences or comparison.why


def test_a_rule_for_a_wrapper_takes_away_what_was_allowed_behind_it() -> None:
    # Another rule allows a wrapper as well, and the command behind it is known by neither.
    rules = "allow Bash(timeout 5 rm *)", "allow Bash(rm x)", "deny Bash(git *)"
    before, after = (
        table(*some, *rules, default=Effect.ASK) for some in ((), ["ask Bash(nice *)"])
    )
    shown = differences(before, after).differences
    assert {each.effects for each in shown} == {(Effect.ALLOW, Effect.ASK)}


def test_a_rule_for_an_assignment_denies_what_another_rule_asks_for_behind_it() -> None:
    # Two commands in one that a rule spells out show nothing of one that is asked for.
    rules = "ask Bash(a && b)", "ask Bash(git status)"
    shown = differences(table(*rules), table("deny Bash(A=1 *)", *rules)).differences
    assert {each.effects for each in shown} == {(Effect.ASK, Effect.DENY)}


def test_files_that_rules_no_longer_deny_are_read_unasked_by_some_commands() -> None:
    dice = random.Random(0)
    rules = {"allow": ["Bash(cat:*)"], "ask": [], "deny": ["Read(.env)"]}
    before, after = (_claude(dice, each) for each in (rules, {**rules, "deny": []}))
    found = differences(before, after).differences
    shown = {each.effects for each in found if each.tool == "Bash"}
    assert (Effect.DENY, Effect.ALLOW) in shown


@pytest.mark.parametrize(
    ("denied", "allow"),
    [
        ("Edit(src/**)", ("Bash(bash *)",)),
        ("Edit(src/**)", ("Bash(sh -ec *)", "Bash(cd *)")),
        ("Read(src/**)", ("Bash(zsh *)",)),
        ("Edit(src/it's)", ("Bash",)),
    ],
)
def test_scripts_that_open_files_are_compared_where_rules_on_files_differ(
    denied: str, allow: Iterable[str]
) -> None:
    # Outside of a script such a file is denied, which tells nothing of what is asked for.
    dice = random.Random(0)
    rules = {"allow": [*allow], "ask": [], "deny": [denied]}
    before, after = (_claude(dice, each) for each in (rules, {**rules, "deny": []}))
    found = differences(before, after)
    assert found.exact
    shown = {each.effects for each in found.differences if each.tool == "Bash"}
    assert (Effect.DENY, Effect.ALLOW) in shown


_SHELL = {"allow": ["Bash(bash *)"]}


@pytest.mark.parametrize(
    ("base", "effect", "rule", "changes"),
    [
        ({}, "ask", "npm test && rm *", set()),
        ({}, "ask", "git status; *", {"allow>ask"}),
        ({}, "ask", "awk * | head", set()),
        ({}, "deny", "git log * | head", {"ask>deny", "allow>deny"}),
        (_SHELL, "ask", "npm test && rm *", set()),
        (_SHELL, "deny", "npm test && rm *", {"ask>deny"}),
        (_SHELL, "deny", "head * | sort *", {"ask>deny", "allow>deny"}),
        ({"allow": ["Bash(timeout *)"]}, "deny", "npm i; rm *", {"ask>deny"}),
        ({"ask": ["Bash(* *)"]}, "allow", "* | head", set()),
        ({"deny": ["Bash(npm *)"]}, "deny", "npm test && rm *", set()),
        ({"ask": ["Bash(* *)"]}, "deny", "* && rm *", {"ask>deny"}),
    ],
)
def test_rules_that_spell_out_operators_are_compared_by_samples(
    base: Lists, effect: str, rule: str, changes: set[str]
) -> None:
    # What a shell acts on may stand in quotes, behind a prefix, or in a script.
    dice = random.Random(0)
    lists: Lists = {"allow": [], "ask": [], "deny": [], **base}
    edited = {**lists, effect: [*lists[effect], f"Bash({rule})"]}
    found = differences(_claude(dice, lists), _claude(dice, edited))
    assert all(SAMPLED in why for why in found.why)
    shown = {each.effects for each in found.differences if each.tool == "Bash"}
    # Of a command of two parts one may be asked for on both sides.
    expected = (change.upper().split(">") for change in changes)
    assert weakened(shown) == weakened((Effect[was], Effect[now]) for was, now in expected)
