"""The TOML files of `policy/hosts/claude/data`."""

from __future__ import annotations

import re

import pytest

from policy.commands.knowledge import Program, Wrapper
from policy.core import values
from policy.hosts.claude.data import table
from policy.hosts.claude.data.programs import (
    EDITING_PROGRAMS,
    GRANTING,
    READ_ONLY_PROGRAMS,
)
from policy.hosts.claude.data.tools import ALIASES, INPUTS, NAMES, SPECIFIED
from tests.hosts.claude.tables import TABLES, text

# Attributes of programs and wrappers that are names, and no expressions.
PLAIN = {"subcommands", "forms"}


def test_the_compiled_file_is_of_the_toml_files():
    assert TABLES.read_text(encoding="utf-8") == text(), "run python -m tests.hosts.claude.tables"


@pytest.mark.parametrize("programs", [READ_ONLY_PROGRAMS, EDITING_PROGRAMS])
def test_every_expression_of_a_program_compiles(programs):
    for program in _below(programs.values()):
        _compile(program)


def test_every_expression_of_a_wrapper_compiles():
    for wrapper in GRANTING.values():
        _compile(wrapper)


def test_every_shared_expression_and_template_has_a_user():
    for name in ("programs", "wrappers"):
        read = table(name)
        whole = repr(read)
        unused = [each for each in read.get("expressions", {}) if f"<{each}>" not in whole]
        unused += [each for each in read["templates"] if f"'like': {each!r}" not in whole]
        assert not unused


def test_no_program_is_listed_twice():
    for name, sections in (
        ("programs", ("programs", "editing")),
        ("wrappers", ("granting",)),
    ):
        for section in sections:
            names = [each for names in table(name)[section] for each in names.split()]
            assert len(names) == len(set(names))


def test_tools_that_a_list_names_have_a_table_of_their_own():
    read = table("tools")
    listed = {*read["aliases"].values()}
    listed |= {tool for names in read["file_tools"].values() for tool in names.split()}
    for key in ("shells", "interactive", "memory", "background"):
        listed |= set(read["names"][key].split())
    assert listed <= NAMES
    assert INPUTS.keys() <= NAMES
    assert ALIASES.keys() & SPECIFIED == SPECIFIED - NAMES


def _below(programs):
    for program in programs:
        yield program
        yield from _below(program.subcommands.values())
        yield from _below(program.forms)


def _compile(known: Program | Wrapper):
    for name in values.attributes(type(known)):
        value = getattr(known, name)
        if name not in PLAIN:
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, str):
                    assert not re.search("<[A-Z_]+>", each)
                    re.compile(each)
