"""Commands that run without a rule: what is known of them agrees with how each is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.commands.knowledge import Program
from policy.commands.reader import read_command
from policy.compare.auto_allowed import (
    _VALUES,
    auto_allowed,
    knows_no_more,
    may_run,
    runs,
    sample_of,
)
from policy.hosts.claude.data.programs import EDITING_PROGRAMS, READ_ONLY_PROGRAMS
from policy.hosts.claude.dialect import _EDITING_SHELL, _SHELL
from policy.patterns.pattern import Pattern
from tests.effort import examples


def _written(programs: Mapping[str, Program], *names: str) -> Iterator[str]:
    for program in programs.values():
        for form in (program, *program.forms):
            yield from filter(None, (getattr(form, name) for name in names))
        yield from _written(program.subcommands, *names)


def _expressions(*names: str) -> list[str]:
    return sorted({t for p in (READ_ONLY_PROGRAMS, EDITING_PROGRAMS) for t in _written(p, *names)})


@pytest.mark.parametrize("text", _expressions("unsafe", "needs", "first"))
def test_a_word_is_found_that_an_expression_matches(text) -> None:
    assert re.fullmatch(text, sample_of(text))


@pytest.mark.parametrize("text", _expressions("pairs"))
def test_a_value_is_found_for_every_option_that_takes_one(text) -> None:
    for option in re.findall(r"(?:^|\|)((?:\([^)]*\)|[^| (])+) ", text):
        word = sample_of(option)
        assert word
        assert any(re.fullmatch(text, f"{word} {value}") for value in _VALUES), option


_SHELLS = {"reading": _SHELL, "editing": _EDITING_SHELL}
_LETTERS = list("aenp1-+/. =sx%?")


@pytest.mark.parametrize("name", _SHELLS)
@examples(200)
@given(data=st.data())
def test_a_pattern_of_a_command_that_runs_without_a_rule_may_match_one(name, data) -> None:
    shell = _SHELLS[name]
    text = data.draw(st.sampled_from(auto_allowed(shell)))
    for _ in range(data.draw(st.integers(0, 3))):
        text += " " + "".join(data.draw(st.lists(st.sampled_from(_LETTERS), min_size=1)))
    at, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    for pattern in (f"{text[:at]}*", f"{text[:at]}*{text[end:]}", f"*{text[at:]}"):
        if runs(text, shell) and "  " not in text and text == text.strip():
            assert may_run(shell, Pattern.text(pattern)), (text, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "find * -exec *",
        "rm *",
        "git push *",
        "npm *",
        "git branch -D *",
        "find . -delete *",
        "ls 'a*",
    ],
)
def test_a_pattern_whose_words_do_harm_matches_no_command_that_runs_without_a_rule(pattern):
    assert not may_run(_SHELL, Pattern.text(pattern))


def test_letters_that_name_an_option_may_end_another_word() -> None:
    """`find a-delete x` deletes nothing."""
    assert runs("find a-delete x", _SHELL)
    assert may_run(_SHELL, Pattern.text("find *-delete x"))
    assert not may_run(_SHELL, Pattern.text("find * -delete x"))


def test_a_mode_that_edits_files_runs_all_that_others_run_and_more() -> None:
    assert knows_no_more(_SHELL.programs, _EDITING_SHELL.programs)
    assert not knows_no_more(_EDITING_SHELL.programs, _SHELL.programs)
    # What is known of a program is known of it behind others too.
    for command in ("sed s/a/b/", "timeout 5 sed -E s/a/b/", "LANG=C sed -n 1p a"):
        for shell in (_SHELL, _EDITING_SHELL):
            assert [part.harmless for part in read_command(command, shell).parts] == [True]
