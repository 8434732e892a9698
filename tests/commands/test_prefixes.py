"""What wrappers take, against the programs of this machine: which word they run."""

from __future__ import annotations

import shutil
import string
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from policy.commands.words import Word, command_prefix, prefix_programs
from policy.hosts.notation.semantics import SEMANTICS

SHELL = SEMANTICS.dialect.shell

# Those that need no rights, with what each has to be told before the program.
OPERANDS = {
    "chrt": ("0",),
    "env": (),
    "flock": ("/dev/null",),
    "ionice": (),
    "nice": (),
    "nohup": (),
    "setsid": (),
    "stdbuf": (),
    "taskset": ("1",),
    "timeout": ("5",),
    "xargs": (),
}
_PROGRAMS = ("q1", "q2", "q3")
# With a word that may be the value of an option, or the program.
_VALUES = ((), ("q1",), ("1",), ("L",))


def _options() -> Iterator[str]:
    yield from ("-", "--", "--q", "-5", "--5", "-n5", "-n-5")
    yield from (f"-{letter}" for letter in string.ascii_letters + string.digits)
    known = {name for each in prefix_programs().values() for name in _long(each.flags, each.values)}
    yield from sorted(f"--{name}" for name in known)
    yield from (f"-{one}{other}" for one, other in product("cnv", "fks5"))


def _long(*expressions: str) -> Iterator[str]:
    for text in expressions:
        _, found, names = text.partition("--(")
        yield from names.partition(")")[0].split("|") if found else ()


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder of programs that write their names."""
    for name in _PROGRAMS:
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho runs ${0##*/}\n", encoding="utf-8")
        program.chmod(0o755)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERANDS)
def test_a_program_that_a_wrapper_runs_is_known(name: str, programs: Path) -> None:
    wrapper = shutil.which(name)
    if wrapper is None:
        pytest.skip(f"no {name} here")
    for option, value in product(_options(), _VALUES):
        words = [name, option, *value, *OPERANDS[name], "q2", "q3"]
        try:
            ran = subprocess.run(
                words, env={"PATH": f"{programs}:/usr/bin:/bin"}, cwd=programs, timeout=5,
                capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue
        _, runs, program = ran.stdout.partition("runs ")
        if not runs or program.strip() not in words:
            continue
        found = command_prefix([Word(word, word) for word in words], SHELL)
        known = {words[number] for number in (*found.starts, *found.possible)}
        assert program.strip() in known, words
        if found.granted and name in SHELL.wrapping.transparent:
            assert words[found.granted] == program.strip(), words
