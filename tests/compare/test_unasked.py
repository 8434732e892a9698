"""Commands that run without a rule: what is known of them agrees with how each is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.commands.knowledge import Files, Program, Programs, Shell
from policy.commands.reader import read_command
from policy.compare.auto_allowed import (
    _VALUES,
    auto_allowed,
    known_differently,
    knows_no_more,
    may_run,
    runs,
    sample_of,
)
from policy.core import values
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


# Programs that show one thing each.
_PROGRAMS = Programs(
    {
        "any": Program(),
        "none": Program(harmless=False),
        "alone": Program(flags="", most=0),
        "flags": Program(flags="-a|-b", values="-v", files="-f"),
        "pairs": Program(flags="-a", pairs="-n [0-9]+"),
        "unsafe": Program(unsafe="-x|--exec.*", ends=False),
        "ended": Program(unsafe="-x"),
        "git": Program(
            harmless=False,
            subcommands={
                "log": Program(unsafe="-o", ends=False),
                "branch": Program(flags="-a", most=0),
                "stash": Program(harmless=False, subcommands={"list": Program()}),
            },
        ),
        "both": Program(flags="-a", forms=(Program(flags="-c"),)),
        "runner": Program(harmless=False, runs=True),
    }
)
_KNOWING = values.evolve(_SHELL, programs=_PROGRAMS)


@pytest.mark.parametrize(
    ("pattern", "may"),
    [
        # The name of the program.
        ("any *", True),
        ("an*", True),
        ("x*", False),
        ("x *", False),
        ("* x", True),
        ("none *", False),
        # What no plain word holds.
        ("any '*", False),
        ("any *;*", False),
        ("any  *", False),
        # A program that takes nothing more.
        ("alone*", True),
        ("alone *", False),
        # Subcommands.
        ("git *", True),
        ("git lo*", True),
        ("git pu*", False),
        ("git push *", False),
        ("git log *", True),
        ("git branch *", True),
        ("git stash *", True),
        ("git stash li*", True),
        ("git stash list *", True),
        ("git stash drop *", False),
        # The first option.
        ("flags -a *", True),
        ("flags -v *", True),
        ("flags -f *", True),
        ("flags -c *", False),
        ("flags - *", True),
        ("flags -- *", True),
        ("flags x *", True),
        ("pairs -n *", True),
        ("pairs -m *", False),
        ("both -a *", True),
        ("both -c *", True),
        ("both -d *", False),
        # An option that is never harmless, wherever it stands.
        ("unsafe -x *", False),
        ("unsafe * -x *", False),
        ("unsafe * -x*", True),
        ("unsafe * --exec*", False),
        ("unsafe *-x *", True),
        ("unsafe -y *", True),
        ("ended * -x *", True),
        ("git log * -o *", False),
        ("git * -o *", True),
        # One command.
        ("any x", True),
        ("none x", False),
        ("unsafe -x", False),
    ],
)
def test_a_pattern_may_match_an_auto_allowed_command(pattern: str, may: bool) -> None:
    assert may_run(_KNOWING, Pattern.text(pattern)) is may


def test_only_programs_that_count_may_be_matched() -> None:
    names = frozenset({"any", "unknown"})
    assert may_run(_KNOWING, Pattern.text("any *"), names)
    assert may_run(_KNOWING, Pattern.text("a*"), names)
    assert not may_run(_KNOWING, Pattern.text("git *"), names)
    assert not may_run(_KNOWING, Pattern.text("gi*"), names)


def test_some_commands_of_each_program_are_listed_the_shortest_first() -> None:
    texts = auto_allowed(_KNOWING)
    assert texts == tuple(sorted(texts, key=lambda text: (len(text), text)))
    assert {"any", "any q7z", "alone", "git log", "git log q7z", "git stash list"} <= {*texts}
    assert {"none", "git", "git stash", "alone q7z"}.isdisjoint(texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("expression", "word"),
    [("", ""), ("-n|--quiet", "-n"), ("--quiet", "--quiet"), ("[pq]", "p"), ("x+", "x"), ("-[ab]", "-a"), ("[0-9]", "0")],
)  # fmt: skip
def test_the_shortest_word_is_found_that_an_expression_matches(expression, word) -> None:
    assert sample_of(expression) == word


def _knowing(**programs: Program) -> Shell:
    return values.evolve(_SHELL, programs=Programs(programs))


def test_shells_differ_in_the_programs_that_one_of_them_knows_otherwise() -> None:
    one = _knowing(a=Program(), b=Program(), c=Program())
    other = _knowing(a=Program(), b=Program(flags="-x"), d=Program())
    assert known_differently((one,), (other,)) == {"b", "c", "d"}
    assert known_differently((one, one), (one,)) == set()
    assert known_differently((one, other), (one,)) == {"b", "c", "d"}
    assert known_differently((one, other), ()) is None


_READS = Program(flags="-a", reads=Files.ALL)


@pytest.mark.parametrize(
    ("some", "others", "more"),
    [
        (Program(flags="-a"), Program(flags="-a"), True),
        # Another form beside the same one.
        (_READS, values.evolve(_READS, forms=(Program(flags="-i"),)), True),
        (values.evolve(_READS, forms=(Program(flags="-i"),)), _READS, False),
        (Program(harmless=False), Program(harmless=False, flags="-a"), True),
        # What is harmless in no form is within anything that opens the same files.
        (Program(harmless=False), Program(flags="-a"), True),
        (Program(harmless=False), Program(flags="-a", reads=Files.ALL), False),
        (Program(flags="-a"), Program(flags="-b"), False),
        (Program(flags="-a"), Program(harmless=False, flags="-a"), False),
        # A form that takes any option beside those that take some.
        (Program(flags="-a"), Program(forms=(Program(flags="-a"),)), False),
        (Program(subcommands={"x": Program()}), Program(), False),
    ],
)
def test_a_shell_knows_no_more_than_one_with_all_its_forms(some, others, more) -> None:
    one, other = Programs({"p": some}), Programs({"p": others})
    assert knows_no_more(one, other) is more
    assert knows_no_more(one, Programs({"p": others, "q": Program()})) is False
