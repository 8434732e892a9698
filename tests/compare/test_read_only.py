"""What a host knows of read-only programs: its expressions, and which mode runs more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.commands.knowledge import Program
from policy.commands.reader import read_command
from policy.compare.lists import runs_no_more
from policy.hosts.claude.data.programs import EDITING_PROGRAMS, READ_ONLY_PROGRAMS
from policy.hosts.claude.dialect import _EDITING_SHELL, _SHELL
from policy.patterns.expressions import expression
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


def test_a_mode_that_edits_files_runs_all_that_others_run_and_more() -> None:
    assert runs_no_more(_SHELL, _EDITING_SHELL)
    assert not runs_no_more(_EDITING_SHELL, _SHELL)
    # What is known of a program is known of it behind others too.
    for command in ("sed s/a/b/", "timeout 5 sed -E s/a/b/", "LANG=C sed -n 1p a"):
        for shell in (_SHELL, _EDITING_SHELL):
            assert [part.harmless for part in read_command(command, shell).parts] == [True]
