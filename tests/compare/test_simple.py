"""Simple commands word by word: by which texts rules know them, and which are decided in some way."""

from __future__ import annotations

import os
import random
from functools import reduce
from operator import and_

import pytest

from policy.commands.knowledge import Wrapping
from policy.compare.auto_allowed import ACTED_ON
from policy.compare.commands import CommandPair
from policy.compare.lists import ListSide, Sides, View
from policy.compare.simple import Names, SimpleSearch, Steps, simple_differences
from policy.compare.tables import differences
from policy.compare.witness import CHANGES, CallShape, weakened
from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.notation.semantics import DIALECT
from policy.patterns.pattern import Pattern
from policy.patterns.search import SearchResult
from policy.tables.ruleset import RuleSet
from policy.tables.table import Table
from tests.compare.test_disguise import COMMANDS, RULES
from tests.strategies import table

SHELL = DIALECT.shell
PAIRS = int(os.environ.get("PAIRS", "3"))


def _sides(before: Table, after: Table) -> Sides:
    rows = ([row for row, _ in each.lookup("Bash").rows] for each in (before, after))
    one, other = (ListSide(tuple(View.of(row, {}) for row in each)) for each in rows)
    return Sides(one, other)


def test_a_command_that_is_decided_in_some_way_is_found_or_there_is_none() -> None:
    dice = random.Random(0)
    plain = [text for text in COMMANDS if text and ACTED_ON.isdisjoint(text)]
    rules = [rule for rule in RULES if ACTED_ON.isdisjoint(rule.replace("*", ""))]
    for _ in range(PAIRS):
        lists = [f"{e} Bash({dice.choice(rules)})" for e in ("allow", "ask", "deny") * 2]
        before, after = table(*lists[1:]), table(*lists[:-1])
        for change in sorted(CHANGES, key=str):
            simple = SimpleSearch(_sides(before, after), SHELL, Effect.ASK, Steps(400_000))
            found = simple.search({change})
            if found.text is not None:
                call = {"command": found.text}
                assert (
                    before.decide("Bash", call).effect,
                    after.decide("Bash", call).effect,
                ) == change
                continue
            assert found.exact, (lists, change)
            for text in plain:
                call = {"command": text}
                said = before.decide("Bash", call).effect, after.decide("Bash", call).effect
                assert said != change, (lists, text)


@pytest.mark.parametrize(
    ("rules", "more", "default", "change", "found"),
    [
        # Of some rules, and another one: the change that this makes in some command.
        ("allow git push", "deny ls", "allow", "ask>deny", True),  # `! ls`
        ("deny ti*t", "deny 5*5", "allow", "ask>deny", True),  # `nohup Q=7 5=75`
        ("allow nic* * nic*", "deny ! 1", "deny", "ask>deny", True),
        ("allow 1A=x /A=1 *", "ask A+=1 /o/* *", "deny", "allow>ask", True),
        ("allow 1A=x *", "ask A+=1 *", "deny", "allow>ask", True),
        # Words with `=` are assignments where the first letters may name a variable.
        ("deny a* & ask timeout 5 ./a", "allow *a1=b", "deny", "deny>allow", True),
        ("deny a* & ask timeout 5 ./a", "allow *a1=b", "deny", "deny>ask", True),
        ("deny *a & ask nice -n 5 *", "allow A+=1 ls*", "ask", "ask>allow", False),
        ("deny *a & ask nice -n 5 *", "allow A1=1 ls*", "ask", "ask>allow", False),
        ("deny *a & ask nice -n 5 *", "allow 1A=1 ls*", "ask", "ask>allow", True),
        # Rules that allow know a command behind `time`, and so does no rule what precedes it.
        ("deny * x", "allow git push*", "deny", "deny>ask", False),
        ("ask * x", "allow 1 *", "deny", "deny>ask", False),
        ("deny a1*b", "allow a * b", "deny", "deny>ask", False),
    ],
)
def test_a_search_finds_what_one_more_rule_changes(rules, more, default, change, found) -> None:
    said = [rule.replace(" ", " Bash(", 1) + ")" for rule in (*rules.split(" & "), more)]
    before, after = (table(*some, default=Effect(default)) for some in (said[:-1], said))
    was, now = map(Effect, change.split(">"))
    simple = SimpleSearch(_sides(before, after), SHELL, Effect.ASK, Steps(400_000))
    shown = simple.search({(was, now)})
    assert shown.exact
    assert (shown.text is not None) is found
    if shown.text is not None:
        call = {"command": shown.text}
        assert before.decide("Bash", call).effect is was
        assert after.decide("Bash", call).effect is now


@pytest.mark.parametrize(
    ("rules", "more", "default", "change", "steps"),
    [
        ("deny Bash(* x)", "allow Bash(git push*)", Effect.DENY, "allow>ask", 40),
        ("deny Bash(* x)", "allow Bash(git push*)", Effect.DENY, "ask>deny", 600),
        ("allow Bash(a *)", "ask Bash(sudo a *)", Effect.ALLOW, "allow>deny", 1_700),
    ],
)
def test_a_search_leaves_out_what_can_change_nothing(rules, more, default, change, steps) -> None:
    before, after = (table(*some, default=default) for some in ((rules,), (rules, more)))
    simple = SimpleSearch(_sides(before, after), SHELL, Effect.ASK, Steps(steps))
    was, now = map(Effect, change.split(">"))
    assert simple.search({(was, now)}) == SearchResult(None)


_LEADING = (
    "sudo", "timeout 5", "timeout", "time", "nice -n 5", "env", "A=1", "xargs", "flock", "sudo -u x",
    "nohup", "if", "!", "command", "stdbuf -oL", "time -p", "chroot",
)  # fmt: skip
_LED = ("a", "a b", "rm x", "git push", "./a", "/bin/rm x", "z", "5 a", "-n a")


def _rule(dice: random.Random) -> str:
    words = [dice.choice(_LEADING) for _ in range(dice.choice([0, 0, 1, 1, 2]))]
    words = " ".join([*words, dice.choice(_LED)]).split(" ")
    starts = f"{' '.join(words[: dice.randint(1, len(words))])} *"
    whole, inside = " ".join(words), f"{words[0]} * {words[-1]}"
    return dice.choice([whole, starts, starts, inside, f"* {words[-1]}"])


def test_no_command_of_plain_words_shows_a_change_that_a_comparison_does_not_tell() -> None:
    dice = random.Random(os.environ.get("PAIRS_SEED", "0"))
    for _ in range(4 * PAIRS):
        lists = [f"{dice.choice(('allow', 'ask', 'deny'))} Bash({_rule(dice)})" for _ in range(6)]
        default = dice.choice([Effect.DENY, Effect.ASK, Effect.ALLOW])
        before, after = (table(*some, default=default) for some in (lists[1:], lists[:-1]))
        comparison = differences(before, after)
        if not comparison.exact:
            continue
        told = weakened(each.effects for each in comparison.differences)
        simple = SimpleSearch(_sides(before, after), SHELL, Effect.ASK, Steps(4_000_000))
        assert simple.search(CHANGES - told).text is None, lists


@pytest.mark.parametrize("known", [{"whole": True}, {"reader": "claude"}])
def test_a_change_that_only_the_search_shows_stays_undecided_where_a_host_knows_more(known) -> None:
    """Without more knowledge the answer is exact: `time z x b` is asked for, and then denied."""
    lists = ("allow Bash(* b)",), ("ask Bash(z *)", "allow Bash(timeout)"), ("deny Bash(time *)",)
    for shell, exact in ((SHELL, True), (evolve(SHELL, **known), False)):
        *met, last = (
            Table.of(evolve(rules, dialect=evolve(rules.dialect, shell=shell)))
            for rules in map(_rules, lists, (Effect.DENY, Effect.DENY, Effect.ALLOW))
        )
        before = met[0] & met[1]
        assert differences(before, before & last).exact is exact


def _rules(rules: tuple[str, ...], default: Effect) -> RuleSet:
    return table(*rules, default=default).use.parts[0].rules


@pytest.mark.parametrize(
    "prefix",
    [
        "", "/opt/", "timeout 5 ", "timeout -k 5 7 ", "timeout ", "sudo ", "sudo -u x ", "sudo -z ",
        "/opt/sudo ", "time ", "nice -n 5 ", "A=1 ", "env A=1 ", "if ", "! ",
    ],
)  # fmt: skip
def test_what_a_prefix_hides_from_some_of_several_lists_is_compared(prefix: str) -> None:
    """No two lines together have a command that shows it, so that no sample does."""
    behind = f"{prefix}z c"
    for rules, default, last in (
        (["allow Bash(* b)", "allow Bash(* d *)", "ask Bash(z *)"], Effect.DENY, behind),
        (["allow Bash(* b)", f"allow Bash({prefix}*)", "allow Bash(* d *)"], Effect.DENY, "z c"),
        (["ask Bash(* b)", "allow Bash(z *)", "ask Bash(* d *)"], Effect.ASK, behind),
    ):
        before = reduce(and_, [table(rule, default=default) for rule in rules])
        after = before & table(f"deny Bash({last} *)", default=Effect.ALLOW)
        call = {"command": f"{behind} d b"}
        shown = before.decide("Bash", call).effect, after.decide("Bash", call).effect
        comparison = differences(before, after)
        assert comparison.exact
        assert {each.effects for each in comparison.differences} >= {shown} & CHANGES, rules


# Commands of two words, of which the first is no path.
_PAIRS = "deny Bash(* * *)", "deny Bash(*/*)"


def check_search(rules: list[str], denied: str, command: str | None, was: Effect) -> None:
    before = table(*rules)
    after = before & table(f"deny Bash({denied})", default=Effect.ALLOW)
    lists, change = _sides(before, after), (was, Effect.DENY)
    found = SimpleSearch(lists, SHELL, Effect.ASK, Steps(400_000)).search({change})
    assert found.exact
    assert (found.text is None) is (command is None)
    for text in filter(None, (found.text, command)):
        call = {"command": text.replace(lists.fresh, "q")}
        assert (before.decide("Bash", call).effect, after.decide("Bash", call).effect) == change


@pytest.mark.parametrize(
    ("rules", "denied", "command"),
    [
        # A wrapper that a star leaves open.
        (["allow Bash(sudo chr*oot 5 z b)"], "z b", "sudo chroot 5 z b"),
        (["allow Bash(se*id a)", *_PAIRS], "a", "setsid a"),
        (["allow Bash(*etsid a)", *_PAIRS], "a", "setsid a"),
        (["allow Bash(setsi* a)", *_PAIRS], "a", "setsid a"),
        (["allow Bash(*etsi* a)", *_PAIRS], "a", "setsid a"),
        (["allow Bash(*setsids a)", *_PAIRS], "a", None),
        # In a folder that a rule names, whole or in part.
        (["allow Bash(/o/se*id a)", _PAIRS[0], "deny Bash(/*/*/*)"], "a", "/o/setsid a"),
        (["allow Bash(*/se*id a)", _PAIRS[0], "deny Bash(/*/*)"], "a", "o/setsid a"),
        (["allow Bash(/o/se* a)", _PAIRS[0], "deny Bash(/*/*/*)"], "a", "/o/setsid a"),
        (["allow Bash(/o/*tsid a)", _PAIRS[0], "deny Bash(/*/*/*)"], "a", "/o/setsid a"),
        (["allow Bash(/o*tsid a)", _PAIRS[0], "deny Bash(/*/*/*)"], "a", "/o/setsid a"),
        # Words that begin as in one rule and end as in another.
        (["allow Bash(flock t*q a)", "deny Bash(flock * * *)"], "a", "flock tq a"),
        (["allow Bash(xargs *0 a)", "deny Bash(xargs * * *)"], "a", "xargs -0 a"),
        # An option that no wrapper is known to take, and a value of one that is known.
        (["allow Bash(sudo -Z* z b)"], "z b", "sudo -Z z b"),
        (["allow Bash(timeout -Z z b)"], "z b", "timeout -Z z b"),
        (["allow Bash(sudo -u z b)"], "b", "sudo -u z b"),
        (["allow Bash(sudo -u z b)"], "z b", None),
        (["allow Bash(xargs -n 5 z b)"], "5 z b", None),
        # A folder of the program, and an assignment, which no rule allows.
        (["allow Bash(/o*/z b)"], "z b", "/o/z b"),
        (["allow Bash(sudo */z b)"], "z b", "sudo /z b"),
        (["allow Bash(zz/y b)"], "y b", "zz/y b"),
        # A keyword in a folder is a program.
        (["allow Bash(/o/if)"], "if", "/o/if"),
        (["allow Bash(A=1 z b)"], "z b", None),
    ],
)
def test_a_command_that_two_lists_decide_is_found_or_there_is_none(
    rules: list[str], denied: str, command: str | None
) -> None:
    """One list allows it by its words, and another denies what its wrapper runs."""
    check_search(rules, denied, command, Effect.ALLOW)


@pytest.mark.parametrize(
    ("rules", "denied", "command"),
    [
        # A rule that asks knows a program without its folder, and behind a wrapper.
        (["ask Bash(z b)"], "*/z b", "/z b"),
        (["ask Bash(z b)"], "sudo */z b", "sudo /z b"),
        # Between words there is one blank, and none behind the last.
        (["ask Bash(z  b)"], "z  b", None),
        (["ask Bash(sudo  b)"], "sudo  b", None),
    ],
)
def test_a_command_that_is_asked_for_is_found_by_any_of_its_texts(
    rules: list[str], denied: str, command: str | None
) -> None:
    check_search(rules, denied, command, Effect.ASK)


@pytest.mark.parametrize("rules", [["deny Bash(* x)"], ["allow Bash(a *)", "ask Bash(z *)"]])
def test_a_search_is_exact_just_where_its_steps_suffice(rules: list[str], monkeypatch) -> None:
    lists = _sides(table(*rules), table(*rules, "allow Bash(git push*)"))
    asked: list[object] = []
    effects = SimpleSearch._effects
    monkeypatch.setattr(
        SimpleSearch, "_effects", lambda self, at: (asked.append(at), effects(self, at))[1]
    )
    tried = 0
    steps, letters = Names.steps, SimpleSearch._letters

    def counted(method):
        def called(*given: object) -> object:
            nonlocal tried
            found = method(*given)
            tried += len(found)
            return found

        return called

    monkeypatch.setattr(Names, "steps", counted(steps))
    monkeypatch.setattr(SimpleSearch, "_letters", counted(letters))
    change = {(Effect.ALLOW, Effect.DENY)} | {(Effect.ASK, Effect.DENY)}
    enough = Steps(400_000)
    assert SimpleSearch(lists, SHELL, Effect.ASK, enough).search(change) == SearchResult(None)
    taken = 400_000 - enough.left
    assert taken == tried  # each word and each letter is a step
    assert len(asked) == len({*asked})  # no state is looked at twice
    found = SimpleSearch(lists, SHELL, Effect.ASK, Steps(taken)).search(change)
    assert found == SearchResult(None)
    for fewer in (taken - 1, taken // 2, 0):
        found = SimpleSearch(lists, SHELL, Effect.ASK, Steps(fewer)).search(change)
        assert found == SearchResult(None, exact=False)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("sudo -Z a", True),
        ("sudo * -x", True),
        # Whatever leads to a word behind a gap, the same line matches it without.
        ("* --force", False),
        ("*-x", True),
        ("A=1 -z a", True),
        ("timeout 5 *", False),
        # Of a program that is no wrapper the options are its own.
        ("git -C src *", False),
        ("ls -l", False),
        ("a-b", False),
    ],
)
def test_options_that_no_wrapper_is_known_to_take_are_tried_where_lines_tell_them(
    pattern: str, told: bool
) -> None:
    assert ("-Q" in Names(SHELL).leading([Pattern.text(pattern)], "q")) is told


def _undecided(*lists: Table) -> set[tuple[Effect, Effect]]:
    """Return the changes that a search leaves undecided of lists beside one that denies more."""
    before = reduce(and_, lists)
    lookups = [each.lookup("Bash") for each in (before, before & table("deny Bash(z)", default=_A))]
    pair = CommandPair("Bash", *lookups, CallShape(DIALECT, DIALECT.argument("Bash")))
    search = simple_differences(pair, {(Effect.DENY, _A)}, Steps(400_000))
    while True:
        try:
            next(search)
        except StopIteration as end:
            return end.value


_A = Effect.ALLOW


def test_changes_stay_undecided_where_one_of_several_lists_knows_more_than_wrappers() -> None:
    plain = table("allow Bash(a *)")
    assert _undecided(plain, table("allow Bash(b *)")) == set()
    assert _undecided(plain, table("allow Bash(b *)", "ask Bash(timeout:5)")) != set()
    for known in ({"whole": True}, {"reader": "claude"}, {"wrapping": Wrapping()}):
        rules = _rules(("allow Bash(b *)",), Effect.DENY)
        dialect = evolve(rules.dialect, shell=evolve(SHELL, **known))
        assert _undecided(plain, Table.of(evolve(rules, dialect=dialect))) != set()
    asking = _rules(("allow Bash(b *)",), Effect.DENY)
    refusing = evolve(asking, dialect=evolve(asking.dialect, asks=not asking.dialect.asks))
    assert _undecided(plain, Table.of(refusing)) != set()
