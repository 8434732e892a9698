"""Commands that run without a rule: the language agrees with how each command is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.commands.knowledge import Program
from policy.commands.parts import Command
from policy.commands.reader import read_command
from policy.compare import opening
from policy.compare.forms import is_unchecked
from policy.compare.reads import read_alike
from policy.compare.unasked import Unasked, runs_none
from policy.compare.view import runs_no_more
from policy.hosts.claude.data.programs import EDITING_PROGRAMS, READ_ONLY_PROGRAMS
from policy.hosts.claude.dialect import _EDITING_SHELL, _SHELL
from policy.patterns.automaton import NO_MATCH
from policy.patterns.expressions import expression
from policy.patterns.pattern import Meet, Pattern
from tests.effort import examples


def _written(programs: Mapping[str, Program]) -> Iterator[str]:
    names = ("flags", "values", "pairs", "files", "unsafe", "needs", "first", "operands")
    for program in programs.values():
        for form in (program, *program.forms):
            yield from filter(None, (getattr(form, name) for name in names))
        yield from _written(program.subcommands)


EXPRESSIONS = sorted({*_written(READ_ONLY_PROGRAMS), *_written(EDITING_PROGRAMS)})


@examples(200)
@given(st.sampled_from(EXPRESSIONS), st.data())
def test_an_expression_is_read_as_python_reads_it(text, data) -> None:
    pieces = [*re.findall(r"[a-zA-Z]+|[ -~]", text), "-", "--", "=", "1", "e", "%", "~"]
    some = expression(text).shortest()
    assert some is not None
    assert re.fullmatch(text, some)
    tried = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=5)))
    for each in (tried, some + tried, tried + some):
        assert expression(text).matches(each) is bool(re.fullmatch(text, each)), each


@pytest.mark.parametrize("text", ["(a", "a)", "a{2}", "^a", r"\ba", "*"])
def test_what_is_not_understood_is_no_expression(text) -> None:
    with pytest.raises(ValueError, match="not understood"):
        expression(text)


_SHELLS = {"reading": _SHELL, "editing": _EDITING_SHELL}
_PIECES = [
    *(
        "cat ",
        "rm ",
        "mkdir ",
        "sed -i ",
        "xargs ",
        "env ",
        "nice ",
        "git diff ",
        "/bin/mv ",
        "cd ",
    ),
    *(
        "cd /srv/app",
        "cd /srv/apps ",
        "q7z",
        " ",
        "$x",
        "| ",
        "&& ",
        "; ",
        "((",
        "> a",
        "< b",
        "mv",
    ),
    *("cp.exe ", "'rm' ", "A=1 ", "touch", "-", "--", "/", " tee"),
]
_LETTERS = list("aenp1-+/. =sx%?")


@pytest.mark.parametrize("name", _SHELLS)
@examples(200)
@given(data=st.data())
def test_the_language_of_harmless_commands_is_that_of_the_host(name, data) -> None:
    shell = _SHELLS[name]
    language = Unasked.of(shell)
    program = data.draw(st.sampled_from([each for each in shell.programs if "[" not in each]))
    text = program
    for names in (shell.programs[program].subcommands,):
        if names and data.draw(st.booleans()):
            text += " " + data.draw(st.sampled_from(sorted(names)))
    for _ in range(data.draw(st.integers(0, 8))):
        state = language.start
        for character in text:
            state = state.after(character)
        likely = sorted(each for each in state.letters() if state.after(each).alive)
        text += data.draw(st.sampled_from([*likely, " ", *_LETTERS]))
    text = " ".join(text.split())
    # What begins with an equals sign is left out: a shell may expand it.
    if " =" not in text and "\ue000" not in text:
        harmless = [part.harmless for part in read_command(text, shell).parts] == [True]
        assert language.holds(text) is harmless, text


def test_a_character_stands_for_all_that_nobody_names() -> None:
    state = Unasked.of(_SHELL).start
    for character in "ls ":
        state = state.after(character)
    assert state.letters() == {"-", "+"}
    assert state.letters(frozenset("-eg")) == {"-", "+"}
    for character in "-":
        state = state.after(character)
    assert state.after("\ue000").first != NO_MATCH


@pytest.mark.parametrize("name", _SHELLS)
@examples(40)
@given(data=st.data())
def test_a_pattern_of_which_nothing_runs_unasked_is_told_from_the_others(name, data) -> None:
    shell = _SHELLS[name]
    command = data.draw(st.sampled_from(["find . -name x", "find . -exec ls", "git log", "npm i"]))
    cut = data.draw(st.integers(0, len(command)))
    pattern = Pattern.text(f"{command[:cut]}*{data.draw(st.sampled_from(['', ' -exec *']))}")
    runs = not runs_none(shell, pattern)
    plain = Meet.of(pattern).find(domain=Unasked.of(shell))
    assert plain.exact
    assert runs is (plain.text is not None)
    if runs:
        assert [part.harmless for part in read_command(plain.text, shell).parts] == [True]


def test_a_mode_that_edits_files_runs_all_that_others_run_and_more() -> None:
    assert runs_no_more(_SHELL, _EDITING_SHELL)
    assert not runs_no_more(_EDITING_SHELL, _SHELL)
    # What is known of a program is known of it behind others too.
    for command in ("sed s/a/b/", "timeout 5 sed -E s/a/b/", "LANG=C sed -n 1p a"):
        for shell in (_SHELL, _EDITING_SHELL):
            assert [part.harmless for part in read_command(command, shell).parts] == [True]


def test_no_command_that_runs_another_one_runs_unasked() -> None:
    assert runs_none(_SHELL, Pattern.text("find * -exec *"))
    assert not runs_none(_SHELL, Pattern.text("find * -name *"))


_ARGUMENTS = ["x", "-f", "y", "-F,", "system(1)", "-name", "-exec", "import", "A=1"]


@examples(100)
@given(st.sampled_from(["awk", "jq", "find", "env", "eval", "fc"]), st.data())
def test_what_nobody_vouches_for_whatever_fills_a_pattern_no_rule_with_a_star_grants(name, data):
    pieces = data.draw(st.lists(st.sampled_from([*_ARGUMENTS, "*"]), min_size=1, max_size=4))
    pattern = Pattern.text(" ".join([name, *pieces]))
    if is_unchecked(pattern, _SHELL):
        fills = st.lists(st.sampled_from(_ARGUMENTS), min_size=1, max_size=3).map(" ".join)
        words = [data.draw(fills) if piece == "*" else piece for piece in pieces]
        command = read_command(" ".join([name, *words]), _SHELL)
        assert not any(part.grantable for part in command.parts), words


@pytest.mark.parametrize("text", ["awk * -f y", "awk -f y *", "jq * -f x *", "eval * x"])
def test_what_follows_a_star_may_leave_a_command_unchecked(text) -> None:
    assert is_unchecked(Pattern.text(text), _SHELL)


@pytest.mark.parametrize("text", ["awk * x", "awk *f y", "find * -name x", "eval*", "echo * -f y"])
def test_a_pattern_that_matches_some_command_that_is_vouched_for_is_not_unchecked(text) -> None:
    assert not is_unchecked(Pattern.text(text), _SHELL)


@pytest.mark.parametrize("name", _SHELLS)
def test_files_that_nobody_knows_are_opened_in_every_way_in_which_a_program_opens_some(
    name,
) -> None:
    shell = _SHELLS[name]

    def way(text: str) -> object:
        command = read_command(text, shell)
        files = {file for file in command.redirections if file.target is None}
        return frozenset(files), frozenset(part.harmless for part in command.parts)

    texts = {text for each in opening._openers(shell).values() for text in each}
    forms = ("{}", "cd q7y && {}", "(({}", "cd q7y & {}")
    written = {
        form.format(text.replace("q7w", file))
        for form in forms
        for text in texts
        for file in ("$x", "q7z")
    }
    known = [{way(form.format(text)) for form, text in alike} for alike in opening._unknown(shell)]
    assert set[object]().union(*known) == {each for each in map(way, written) if each[0]}
    assert sum(map(len, known)) == len(known) == len(set[object]().union(*known))


def _texts(command: Command) -> object:
    # A whole keeps the shell that it makes its texts with.
    whole = command.exact
    made = whole and (whole.spelled, whole.astray, whole.several, whole.texts, whole.bare)
    return attrs.evolve(command, exact=None), made


@examples(250)
@given(st.lists(st.sampled_from(_PIECES), max_size=6).map("".join))
def test_shells_that_know_the_same_of_each_word_read_a_command_alike(text) -> None:
    for shell in _SHELLS.values():
        here = attrs.evolve(shell, cwd="/srv/app")
        for each in (shell, here):
            assert _texts(read_alike(text, each)) == _texts(read_command(text, each)), text
