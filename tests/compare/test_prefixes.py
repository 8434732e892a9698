"""Prefixes behind which rules still match a command, and which patterns may match behind them."""

from __future__ import annotations

import pytest

from policy.compare.lists import View
from policy.compare.prefixes import (
    granted_shells,
    has_other_texts,
    in_quotes,
    leads_to_granted,
    prefixes,
    quiet_commands,
    runners,
)
from policy.core import values
from policy.core.effect import Effect
from policy.hosts.claude.dialect import _SHELL
from policy.hosts.notation.semantics import DIALECT
from policy.patterns.pattern import Pattern, PatternKind
from policy.tables.ruleset import Entry

SHELL = DIALECT.shell


@pytest.mark.parametrize(
    ("pattern", "further", "granted"),
    [
        # The name of a program that is no wrapper: only this text.
        ("git *", False, False),
        ("git", False, False),
        # A name that goes on may be that of a wrapper; so may any.
        ("git*", True, True),
        ("* x", True, True),
        # A wrapper: rules that deny match behind each, rules that allow behind some.
        ("sudo *", True, False),
        ("sudo", True, False),
        ("timeout *", True, True),
        ("timeout", True, True),
        ("if *", True, False),
        # Folders, assignments and globs.
        ("./git *", True, True),
        ("A=1 git *", True, True),
        ("gi? x", True, True),
        # What a shell acts on.
        ("git ; *", True, True),
        ("git 'x' *", True, True),
    ],
)
def test_some_patterns_match_commands_by_texts_with_another_start(
    pattern: str, further: bool, granted: bool
) -> None:
    assert has_other_texts(Pattern.text(pattern), SHELL) is further
    assert leads_to_granted(Pattern.text(pattern), SHELL) is granted


def test_wrappers_keywords_and_shells_run_a_command_given_in_their_arguments() -> None:
    assert {"sudo", "timeout", "if", "bash"} <= runners(SHELL)
    assert {"xargs", "time", "nohup"} <= runners(_SHELL)
    assert {"git", "q7z"}.isdisjoint(runners(_SHELL))


def test_there_is_a_prefix_for_each_way_in_which_rules_match_a_command_behind_one() -> None:
    found = prefixes(SHELL)
    assert found[0] == "sudo "  # as people type it
    assert {"timeout 5 ", "/q7z/", "q7z=1 ", "! "} <= {*found}
    # One of each kind.
    assert len({"nice ", "nohup ", "stdbuf ", "command "} & {*found}) == 1
    assert {"git ", "5 "}.isdisjoint(found)


def test_the_name_of_a_program_is_put_in_quotes() -> None:
    assert in_quotes("git push x") == "'git' push x"
    assert in_quotes("git", '"') == '"git"'


def test_a_command_that_opens_no_file_is_quiet() -> None:
    assert len(quiet_commands(_SHELL)) == 1
    assert quiet_commands(SHELL) == ()


def test_shells_run_scripts_where_every_list_allows_it() -> None:
    def view(*lines: tuple[str, Effect]) -> View:
        entries = tuple(Entry("", effect, Pattern.text(text)) for text, effect in lines)
        return View(PatternKind.TEXT, entries, Effect.ASK)

    both = view(("sh *", Effect.ALLOW), ("bash *", Effect.ALLOW))
    assert granted_shells([both], _SHELL) == ["bash", "sh"]
    asked = view(("bash *", Effect.ASK), ("* -c *", Effect.ALLOW))
    assert granted_shells([both, asked], _SHELL) == ["sh"]
    assert "zsh" in granted_shells([asked], _SHELL)
    assert granted_shells([view()], _SHELL) == []
    # A host that looks into no script runs none that counts.
    kinds = values.evolve(_SHELL.kinds, scripted=frozenset())
    assert granted_shells([both], values.evolve(_SHELL, kinds=kinds)) == []
