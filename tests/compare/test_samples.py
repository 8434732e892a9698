"""The sample commands of a change: which lines are combined, and how many commands are tried."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import count, islice
from operator import and_

import pytest

from policy.compare import samples
from policy.compare.auto_allowed import runs
from policy.compare.commands import CommandPair
from policy.compare.samples import SAMPLED, _ChangedLines, _Samples, sampled_differences
from policy.compare.simple import Steps
from policy.compare.witness import CallShape
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.hosts.notation.semantics import DIALECT
from policy.patterns.automaton import NO_MATCH
from policy.patterns.pattern import Pattern
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table
from tests.compare.test_commands import _of_claude
from tests.strategies import table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def _pair(before: Table, after: Table) -> CommandPair:
    lookups = before.lookup("Bash"), after.lookup("Bash")
    return CommandPair("Bash", *lookups, CallShape(DIALECT, DIALECT.argument("Bash")))


def test_lines_that_allow_are_combined_first_and_then_strict_ones_some_of_each() -> None:
    allowing = [f"allow Bash(a{n} *)" for n in range(50)]
    strict = [f"{effect} Bash({effect}{n} *)" for n in range(25) for effect in ("ask", "deny")]
    pair = _pair(table(*strict, *allowing), table(*allowing))
    found = [str(each) for each in _Samples(pair, pair.shell)._others]
    allowed = [text for text in found if text.startswith("a") and not text.startswith("ask")]
    assert found[: len(allowed)] == allowed
    assert (len(allowed), len(found) - len(allowed)) == (48, 48)


@pytest.mark.parametrize("endless", ["all", "one line"])
def test_so_many_commands_are_tried_and_no_more(endless: str, monkeypatch) -> None:
    def texts(*given: object) -> Iterator[str]:
        return (f"q{number}" for number in count())

    if endless == "all":
        monkeypatch.setattr(samples, "_tried", texts)
    else:
        monkeypatch.setattr(_Samples, "of", texts)
    before, after = table("allow Bash(sudo *)"), table("allow Bash(sudo *)", "deny Bash(rm)")
    pair = _pair(before, after)
    asked: list[str] = []
    decided = pair.asked
    monkeypatch.setattr(pair, "asked", lambda text: (asked.append(text), decided(text))[1])
    assert list(islice(sampled_differences(pair, (), Steps(0)), 1)) == []
    assert sum(text[:1] == "q" and text[1:].isdecimal() for text in asked) == (
        1_000 if endless == "all" else 300
    )
    assert (SAMPLED, (ALLOW, DENY)) in pair.undecided


# --- the changes that a line may cause by another text


def _of_lines(before: Table, after: Table) -> dict[str, set[tuple[Effect, Effect]]]:
    lines = _ChangedLines(_pair(before, after)).lines
    return {str(line.pattern): {*line.changes} for line in lines}


@pytest.mark.parametrize(
    ("rules", "line", "changes"),
    [
        # It denies the most that is granted by another text, and what of that is asked for.
        (["allow Bash(sudo *)"], "deny rm *", {(ASK, DENY), (ALLOW, DENY)}),
        (["ask Bash(sudo *)"], "deny rm *", {(ASK, DENY)}),
        (["allow Bash(sudo *)"], "ask rm *", {(ALLOW, ASK), (DENY, ASK)}),
        # Nothing is granted behind a wrapper.
        (["allow Bash(git *)"], "deny rm *", set()),
        (["ask Bash(git *)"], "deny rm *", {(ASK, DENY)}),  # what is asked for has any text
        (["allow Bash(git *)"], "deny sudo *", set()),
        # What the line itself leads to may be all that is granted.
        (["allow Bash(git *)"], "deny timeout *", {(ASK, DENY), (ALLOW, DENY)}),
        (["allow Bash(git *)"], "deny * x", {(ASK, DENY), (ALLOW, DENY)}),
        (["allow Bash(git *)"], "deny a * x", {(ASK, DENY), (ALLOW, DENY)}),
        # A line that allows and hides no strict one is shown by its own text.
        (["ask Bash(git *)"], "allow a *", set()),
        (["deny Bash(git *)"], "allow a *", set()),
    ],
)
def test_a_line_may_cause_what_others_grant_by_another_text(rules, line, changes) -> None:
    effect, text = line.split(" ", 1)
    before, after = table(*rules), table(f"{effect} Bash({text})", *rules)
    found = _of_lines(before, after)
    assert found.get(text, set()) == changes
    turned = {(now, was) for was, now in changes}
    assert _of_lines(after, before).get(text, set()) == turned


def _rules(*lines: str, default: Effect = DENY) -> Table:
    """Return lists of lines such as ``allow a *`` in this order, `&` between lists that are met."""
    made = []
    for each in " | ".join(lines).split(" | & | "):
        entries = tuple(_entry(line) for line in each.split(" | ") if line)
        made.append(Table.of(RuleSet(entries, default, DIALECT)))
    return reduce(and_, made)


_ALL = ("allow *",)


@pytest.mark.parametrize(
    ("before", "after", "directions"),
    [
        # Lines that deny on one side alone, and such as allow behind all others.
        (("deny a", "allow b"), ("allow b",), {True}),
        (("allow b",), ("deny a", "allow b"), {False}),
        (("deny a",), ("deny a", "allow b"), {True}),
        (("deny a", "ask c", "allow b"), ("deny a", "ask c"), {False}),
        (("deny a", "allow b"), (), {True, False}),
        (("ask a",), ("deny b", "ask a", "allow c"), {True, False}),
        # Any other line may do either.
        (("deny a",), ("allow b", "deny a"), {True, False}),
        (("deny a",), ("deny a", "ask b"), {True, False}),
        (("ask a",), (), {True, False}),
        # All lists of the other side, and more.
        ((*_ALL, "&", "ask a"), ("ask a",), {True}),
        (("ask a",), ("ask a", "&", "allow b", "deny c"), {False}),
        (("ask a", "&", "deny b"), ("ask a", "&", "allow b", "deny c"), {True, False}),
        (("deny a", "&", "deny b"), ("deny a", "&", "deny c", "deny b"), {True, False}),
    ],
)
def test_lines_that_only_deny_or_only_allow_change_in_one_direction(
    before, after, directions
) -> None:
    lines = _ChangedLines(_pair(_rules(*before), _rules(*after)))
    assert lines._directions == directions


def test_a_default_may_change_either_way() -> None:
    for before, after in ((DENY, ASK), (ASK, ALLOW), (ALLOW, DENY)):
        pair = _pair(*(_rules("deny a", default=each) for each in (before, after)))
        assert _ChangedLines(pair)._directions == {True, False}


@pytest.mark.parametrize(
    ("before", "after", "default", "possible"),
    [
        # No side grants more than its lists, and what cannot be read is asked for.
        (("ask a",), ("ask b",), DENY, "deny>ask ask>deny"),
        (("allow a",), ("ask b",), DENY, "deny>ask ask>deny allow>ask allow>deny"),
        (("ask a", "&", "allow b"), ("ask b",), DENY, "deny>ask ask>deny"),
        (("ask a",), ("ask a", "allow b"), DENY, "deny>ask deny>allow ask>allow"),
        # None gives less either.
        (("ask a",), ("ask b",), ALLOW, "ask>allow allow>ask"),
        (("ask a",), ("deny b",), ALLOW, "ask>allow allow>ask ask>deny allow>deny"),
    ],
)
def test_changes_are_possible_between_what_both_sides_may_give(
    before, after, default, possible
) -> None:
    pair = _pair(*(_rules(*each, default=default) for each in (before, after)))
    assert _ChangedLines(pair)._possible == _changes(possible)


def _changes(text: str) -> set[tuple[Effect, Effect]]:
    pairs = (change.split(">") for change in text.split())
    return {(Effect(was), Effect(now)) for was, now in pairs}


@pytest.mark.parametrize(
    ("before", "after", "line", "changes"),
    [
        # Of lists that are met, the one that grants least counts.
        (("allow sudo *",), ("allow sudo *", "&", "deny rm *", "allow *"), "rm *", "ask>deny allow>deny"),
        (("allow sudo *", "&", "allow git *"), ("allow sudo *", "&", "allow git *", "&", "deny rm *", "allow *"), "rm *", ""),
        (("allow sudo *", "&", "ask nice *"), ("allow sudo *", "&", "ask nice *", "&", "deny rm *", "allow *"), "rm *", "ask>deny"),
        # A line that allows hides strict ones behind it: without it they may ask as well.
        (("deny a b", "ask * c"), ("allow a *", "deny a b", "ask * c"), "a *", "deny>allow ask>allow deny>ask ask>deny"),
        (("allow a *", "deny a b", "ask * c"), ("deny a b", "ask * c"), "a *", "allow>deny allow>ask ask>deny deny>ask"),
        (("deny b a", "ask c"), ("allow a *", "deny b a", "ask c"), "a *", ""),
        (("deny a b", "ask * c"), ("deny a b", "ask * c", "allow a *"), "a *", ""),
        # One that spells an operator may allow a command by it.
        (("ask c",), ("ask c", "allow a '*"), "a '*", "deny>allow ask>allow"),
        (("ask c",), ("ask c", "allow a; *"), "a; *", ""),
        # Of several lists, one may allow what is written and another what is behind a wrapper.
        (("ask c", "&", "ask d"), ("ask c", "&", "ask d", "allow a *"), "a *", "deny>ask"),
        # Without a line that asks, its commands may be denied.
        (("allow sudo *",), ("ask rm *", "allow sudo *"), "rm *", "allow>ask deny>ask"),
        (("ask rm *", "allow sudo *"), ("allow sudo *",), "rm *", "ask>allow ask>deny"),
    ],
)  # fmt: skip
def test_a_line_may_cause_what_its_side_and_the_other_one_allow_of(
    before, after, line, changes
) -> None:
    lines = _ChangedLines(_pair(_rules(*before), _rules(*after))).lines
    found = {str(each.pattern): {*each.changes} for each in lines}
    assert found.get(line, set()) == _changes(changes)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        # Where a default is gone, lines that ask match by all texts.
        (("ask a *",), ("ask a *", "&", "allow b *"), {("a *", "ask>deny")}),
        (("ask a *", "&", "allow b *"), ("ask a *",), {("a *", "deny>ask")}),
        # What allows has no other text, unless it is a wrapper beside other lists.
        (("allow a *",), ("allow a *", "&", "allow b *"), set()),
        (
            ("allow sudo *", "&", "allow a *"),
            ("allow sudo *", "&", "allow a *", "&", "allow b *"),
            {("sudo *", "allow>deny")},
        ),
        (
            ("deny sudo *", "&", "allow a *"),
            ("deny sudo *", "&", "allow a *", "&", "allow b *"),
            set(),
        ),
    ],
)
def test_a_default_takes_what_lines_of_the_other_side_match_by_another_text(
    before, after, found
) -> None:
    lines = _ChangedLines(_pair(_rules(*before), _rules(*after)))
    number = next(number for number, line in lines._pair.edits if line == NO_MATCH)
    changes = lines._without_line(number)
    shown = {(str(each.pattern), _shown(each.changes)) for each in changes if each.changes}
    assert shown == found


def _shown(changes: frozenset[tuple[Effect, Effect]]) -> str:
    return " ".join(sorted(f"{was.value}>{now.value}" for was, now in changes))


@pytest.mark.parametrize(
    ("before", "after", "shown", "more"),
    [
        # A command of two that a rule denies: it is asked for, or part of it is allowed.
        ("", "deny Bash(a && *)", "", "ask>deny"),
        ("deny Bash(a && *)", "", "", "deny>ask"),
        ("", "deny Bash(a) deny Bash(* | b)", "", "ask>deny"),
        ("allow Bash(x)", "deny Bash(a && *) allow Bash(x)", "allow>ask", "ask>deny allow>deny"),
        ("deny Bash(a && *)", "deny Bash(a && *) allow Bash(x)", "", "ask>deny deny>ask"),
        ("", "deny Bash(a)", "", ""),
        ("", "ask Bash(a && *)", "", ""),
        ("deny Bash(a && *)", "deny Bash(a && *)", "", ""),
    ],
)
def test_a_rule_that_denies_several_commands_may_deny_what_is_not_allowed(
    before, after, shown, more
) -> None:
    pair = _of_claude(before, after)
    possible = _ChangedLines(pair)._possible
    found = _ChangedLines(pair).of_wholes(_changes(shown)) - _changes(shown)
    assert found == _changes(more) & possible
    assert _ChangedLines(_pair(_rules("deny a && b"), _rules())).of_wholes(()) == set()


def test_behind_the_words_of_a_line_some_command_of_each_line_is_tried() -> None:
    pair = _of_claude("allow Bash(git log *)", "allow Bash(git log *) ask Bash(npm *)")
    behind = [*_Samples(pair, pair.shell)._behind]
    runs_too, *rest = behind
    assert runs(runs_too, pair.shell)
    assert "git log q7z" in rest
    assert f"git log {pair.fresh}" in rest


def _by_host(effect: Effect, text: str) -> Entry:
    return Entry("Bash", effect, Pattern.text(text), reason=Reason.DEFAULT)


@pytest.mark.parametrize(
    ("lines", "strict", "most"),
    [
        # One line decides all commands of the strict line, by whichever text.
        (["ask *", "allow sudo *"], "deny rm *", ASK),
        (["deny *", "allow sudo *"], "deny rm *", DENY),
        (["ask *", "allow sudo *"], "ask rm *", ASK),
        # A line of the host does not, where a rule grants the whole command.
        ([_by_host(ASK, "*"), "allow sudo *"], "deny rm *", ALLOW),
        ([_by_host(ASK, "*"), "allow git *"], "deny rm *", ASK),
        ([_by_host(DENY, "*"), "allow git *"], "deny rm *", DENY),
        # None decides all of them: what wrappers, and lines that ask, grant behind other words.
        (["allow git *"], "deny rm *", DENY),
        (["allow git *", "ask npm *"], "deny rm *", ASK),
        (["allow timeout *"], "deny rm *", ALLOW),
        # The words of the strict line may be a wrapper, or any words.
        (["allow git *"], "deny timeout *", ALLOW),
        (["ask git *"], "deny timeout *", ASK),
        (["allow git *"], "deny * x", ALLOW),
        (["allow git *"], "deny a * x", ALLOW),
        (["allow git *"], "deny a x", DENY),
    ],
)
def test_a_list_grants_so_much_where_a_strict_line_matches_by_another_text(
    lines, strict, most
) -> None:
    effect, text = strict.split(" ", 1)
    given = [each if isinstance(each, Entry) else _entry(each) for each in lines]
    before = Table.of(RuleSet(tuple(given), DENY, DIALECT))
    pair = _pair(before, before & _rules(strict, "allow *"))
    (number,) = pair.sides[0]
    assert _ChangedLines(pair)._granted(number, Pattern.text(text), Effect(effect)) is most


def _entry(line: str) -> Entry:
    effect, text = line.split(" ", 1)
    return Entry("Bash", Effect(effect), Pattern.text(text), rule=text)


@pytest.mark.parametrize(("strict", "most"), [("ls *", ALLOW), ("npm *", ASK), ("ls", ALLOW)])
def test_a_host_grants_what_it_runs_without_a_rule(strict: str, most: Effect) -> None:
    pair = _of_claude("", f"deny Bash({strict})")
    (number,) = pair.sides[0]
    assert _ChangedLines(pair)._granted(number, Pattern.text(strict), DENY) is most
