"""Commands that two sides decide differently: which others are tried, and what is left undecided."""

from __future__ import annotations

import pytest

from policy.compare.commands import CommandPair, _AutoAllowedPair, auto_allowed_differences
from policy.compare.pair import OPAQUE
from policy.compare.witness import CHANGES, CallShape, Difference
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.hosts.claude.dialect import _EDITING_SHELL, _SHELL
from policy.hosts.notation.semantics import DIALECT
from policy.patterns.automaton import NO_MATCH
from policy.tables.table import Table
from tests.compare.test_edits import project_table
from tests.strategies import table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


def _pair(before: Table, after: Table) -> CommandPair:
    lookups = before.lookup("Bash"), after.lookup("Bash")
    dialect = lookups[0].rows[0][0].ruleset.dialect
    return CommandPair("Bash", *lookups, CallShape(dialect, dialect.argument("Bash")))


def _of_claude(before: str, after: str) -> CommandPair:
    return _pair(project_table(before), project_table(after))


def _auto(before: str, after: str) -> set[tuple[str, tuple[Effect, Effect]]]:
    found = auto_allowed_differences(_of_claude(before, after))
    return {(str(each.call["command"]), each.effects) for each in found}


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("deny Bash(rm *)", "deny Bash(rm *) ask Bash(git status)", {("git status", (ALLOW, ASK))}),
        (
            "deny Bash(rm *)",
            "deny Bash(rm *) deny Bash(git log *)",
            {("git log", (ALLOW, DENY)), ("git log x", (ALLOW, DENY))},
        ),
        # A rule that allows changes nothing.
        ("deny Bash(rm *)", "deny Bash(rm *) allow Bash(ls *)", set()),
        # What runs needs no rule, and what does not run is no auto-allowed command.
        ("deny Bash(rm *)", "deny Bash(rm *) ask Bash(npm *)", set()),
    ],
)
def test_auto_allowed_commands_differ_where_a_default_decides_on_one_side(
    before: str, after: str, shown: set[tuple[str, tuple[Effect, Effect]]]
) -> None:
    assert _auto(before, after) == shown


def test_an_auto_allowed_command_that_opens_no_file_shows_what_files_hide() -> None:
    """Any file that `cat` reads is denied."""
    found = _auto("deny Read(**)", "deny Read(**) ask Bash(cat *)")
    assert {effects for _, effects in found} == {(ALLOW, ASK)}
    assert any(text.startswith("cat --") for text, _ in found)


# --- the same lines, by other texts


def test_gaps_are_filled_with_other_words_where_the_same_lines_decide_that() -> None:
    pair = _pair(table("allow Bash(a*)", "deny Bash(a$*)"), table("allow Bash(a*)"))
    line = next(n for n, each in enumerate(pair.views[0].patterns) if str(each) == "a*")
    text = f"a{pair.fresh}"
    assert [*pair.filled(text, {0: line})] == ["a", "aq7z", 'a""']
    assert [*pair.filled(text, {0: NO_MATCH})] == []
    spaced = _pair(table("allow Bash(a *)"), table())
    line = next(n for n, each in enumerate(spaced.views[0].patterns) if str(each) == "a *")
    assert [*spaced.filled(f"a {spaced.fresh}", {0: line})] == ["a q7z", 'a ""']


def test_other_texts_are_behind_wrappers_and_in_quotes() -> None:
    pair = _pair(table("allow Bash(a *)"), table())
    line = next(n for n, each in enumerate(pair.views[0].patterns) if str(each) == "a *")
    texts = [*pair.other_texts(f"a {pair.fresh}", {0: line})]
    assert {"sudo a q7z", "timeout 5 a q7z", "a q7z", "'a' q7z", '"a" q7z'} <= {*texts}
    assert len({*texts}) == len(texts)


def test_lines_alone_decide_a_command_that_needs_a_rule_and_opens_no_file() -> None:
    pair = _of_claude("deny Bash(rm *)", "ask Bash(rm *)")
    assert pair.is_by_lines_alone("npm test")
    assert not pair.is_by_lines_alone("ls")  # it runs without one
    assert not pair.is_by_lines_alone("npm test > x")
    assert not pair.is_by_lines_alone("npm $(x")  # which cannot be read
    assert _pair(table("allow Bash(a *)"), table()).is_by_lines_alone("a b")


def test_a_change_that_lines_may_cause_and_none_showed_is_left_undecided() -> None:
    pair = _of_claude("allow Bash(npm *)", "ask Bash(npm *)")
    pair.leave_undecided(OPAQUE, (ALLOW, ASK))
    assert [*pair.left(())] == [OPAQUE]
    assert [*pair.left({(ALLOW, ASK)})] == []
    assert [*pair.left({(ASK, DENY)})] == [OPAQUE]
    assert [*pair.left(CHANGES)] == []


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("a *", {(DENY, ALLOW)}),
        ("a", set()),  # its one text was tried
        ("if *", set()),  # a keyword is no program
        ("if", set()),
        ("a '*", set()),  # in quotes it has other texts, which samples show
    ],
)
def test_lines_of_plain_words_are_searched_where_no_text_showed_their_change(rule, kept) -> None:
    pair = _pair(table(f"allow Bash({rule})", "allow Bash(z)"), table("allow Bash(z)"))
    view, line = next(
        (view, line)
        for view, line in pair.edits
        if line != NO_MATCH and str(pair.pattern(view, line)) == rule
    )
    assert DIALECT.shell == pair.shell
    text = rule.replace("*", pair.fresh)
    assert list(pair.otherwise(text, {view: line}, (DENY, ALLOW))) == []
    assert pair.unshown == kept


@pytest.mark.parametrize(
    ("rule", "text", "undecided"),
    [
        ("ls *", "ls {}", True),  # it runs without the rule
        ("npm *", "npm {}", False),
        ("npm * > x", "npm {} > x", True),  # it opens a file
    ],
)
def test_a_change_is_undecided_where_more_than_lines_decides_each_text(
    rule: str, text: str, undecided: bool
) -> None:
    pair = _of_claude("deny Bash(rm *)", f"deny Bash(rm *) allow Bash({rule})")
    view, line = _line(pair, rule)
    change = (DENY, ALLOW)  # which no text shows
    assert list(pair.otherwise(text.format(pair.fresh), {view: line}, change)) == []
    assert pair.undecided == dict.fromkeys([(OPAQUE, change)] if undecided else [])


def _line(pair: CommandPair, rule: str) -> tuple[int, int]:
    return next(
        (number, line)
        for number, view in enumerate(pair.views)
        for line, pattern in enumerate(view.patterns)
        if str(pattern) == rule
    )


def test_a_keyword_in_one_of_several_lists_is_no_program() -> None:
    lists = table("allow Bash(if *)") & table("allow Bash(* x)")
    pair = _pair(lists, lists & table("deny Bash(q)", default=ALLOW))
    chosen = dict([_line(pair, "if *"), _line(pair, "* x")])
    assert list(pair.otherwise(f"if {pair.fresh} x", chosen, (ALLOW, DENY))) == []
    assert pair.unshown == set()


@pytest.mark.parametrize(
    ("effect", "reason", "rule", "by_rules"),
    [
        (ALLOW, Reason.RULE, "Bash(a *)", True),
        (DENY, Reason.RULE, "Bash(a *)", False),  # as wanted
        (ALLOW, Reason.DEFAULT, "Bash(a *)", False),
        (ALLOW, Reason.RULE, "Read(x)", False),  # about files
    ],
)
def test_another_text_is_by_rules_where_one_for_commands_decides_it(
    effect: Effect, reason: Reason, rule: str, by_rules: bool
) -> None:
    pair = _pair(table("allow Bash(a *)", "allow Read(x)"), table("allow Read(x)"))
    name = next(e.rule for e in pair.views[0].entries) if rule == "Bash(a *)" else rule
    decision = Decision(effect, reason, (Because(name, effect, "main"),))
    found = Difference("Bash", {}, decision, Decision(ASK, Reason.DEFAULT))
    assert pair._is_by_rules(found, (DENY, ASK)) is by_rules
    turned = Difference("Bash", {}, found.after, found.before)
    assert pair._is_by_rules(turned, (ASK, DENY)) is by_rules


# --- several shells


@pytest.mark.parametrize(
    ("running", "others", "held"),
    [
        ((_SHELL,), (), {"ls"}),
        ((_EDITING_SHELL,), (), {"ls", "mkdir x"}),
        ((_SHELL, _EDITING_SHELL), (), {"ls"}),
        ((_EDITING_SHELL,), (_SHELL,), {"mkdir x"}),
        ((_SHELL,), (_EDITING_SHELL,), set()),
    ],
)
def test_commands_are_compared_that_all_shells_run_and_no_others(running, others, held) -> None:
    pair = _AutoAllowedPair(_of_claude("allow Bash(a)", "allow Bash(b)"), running, others)
    assert {text for text in ("ls", "mkdir x", "npm x") if pair.holds(text)} == held


def test_an_auto_allowed_command_is_found_that_lines_decide_or_it_is_undecided() -> None:
    rules = "deny Bash(git status *) deny Bash(ls -l)"
    base = _of_claude(rules, f"{rules} ask Bash(cat x*y) ask Bash(cat *) ask Bash(npm *)")
    for rule, text in (
        ("cat *", "cat q7z"),
        ("cat x*y", "cat xq7zy"),
        ("ls -l", "ls -l"),
        ("npm *", None),
    ):
        pair = _AutoAllowedPair(base, base.shells, ())
        pair.undecided = {}
        assert pair._text(dict([_line(pair, rule)])) == text
        assert not pair.undecided  # where none may run there is none
    pair = _AutoAllowedPair(base, base.shells, ())
    pair.undecided = {}
    chosen = dict([_line(pair, "cat *"), _line(pair, "git status *")])
    assert pair._text(chosen) is None
    assert pair.undecided
