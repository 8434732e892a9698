"""What wrappers take, against the programs of this machine: which word they run."""

from __future__ import annotations

import json
import shutil
import string
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis import lint
from policy.commands.reader import read_command
from policy.commands.words import (
    CommandPrefix,
    Word,
    WordPlace,
    command_prefix,
    prefix_programs,
)
from policy.hosts.claude.data.programs import WRAPPING
from policy.hosts.notation.semantics import DIALECT
from policy.hosts.zeph.session import DECLARED
from tests.effort import examples

SHELL = DIALECT.shell
RUNNERS = json.loads(Path(lint.__file__).with_name("data").joinpath("commands.json").read_text())[
    "runners"
]

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


def test_each_wrapper_is_known_wherever_wrappers_are() -> None:
    """Claude Code runs what is behind `chroot` and `parallel` without a look at it."""
    known = prefix_programs().keys() - {"function"}
    assert SHELL.wrapping.names == DECLARED.shell.wrapping.names == known
    assert known - WRAPPING == {"chroot", "parallel"}
    assert known - RUNNERS.keys() == set()


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


def _prefix(text: str) -> CommandPrefix:
    return command_prefix([Word(word, word) for word in text.split()], SHELL)


@pytest.mark.parametrize(
    ("text", "starts", "possible", "granted"),
    [
        ("", (), (), 0),
        ("rm x", (0,), (), 0),
        ("env", (0,), (), 0),
        ("nohup rm x", (0, 1), (), 1),
        ("sudo -u a rm", (0, 3), (), 0),
        ("timeout 5 rm", (0, 2), (), 2),
        ("A=1 rm", (0, 1), (), 0),
        ("sudo -Q rm x", (0,), (2, 3), 0),
        ("nohup rm" + " a" * 100, (0, 1), (), 1),
        # Beyond the limit of nesting a command may begin with any word.
        (" ".join(["nohup"] * 63 + ["rm"]), (*range(64),), (), 63),
        (" ".join(["nohup"] * 64), (*range(64),), (), 63),
        (" ".join(["nohup"] * 64 + ["rm"]), (*range(64),), (64,), 63),
    ],
)
def test_where_the_commands_of_a_command_begin(
    text: str, starts: tuple[int, ...], possible: tuple[int, ...], granted: int
) -> None:
    program = max([0, *starts, *possible])
    assert _prefix(text) == CommandPrefix(starts, possible, program, granted)


def test_a_command_of_more_wrappers_than_are_read_is_allowed_by_no_rule() -> None:
    for wrappers, is_grantable in ((63, True), (64, False)):
        (part,) = read_command("nohup " * wrappers + "rm x", SHELL).parts
        assert part.grantable is is_grantable
        assert (part.text == "rm x") is is_grantable
        assert ("rm x" in part.possible_texts) is not is_grantable


_PLACED = (
    "sudo", "timeout", "5", "-n", "-x=1", "time", "-p", "nice", "env", "A=1", "B+=2", "=x", "a", "rm",
    "./a", "/bin/rm", "x/sudo", "flock", "function", "if", "xargs", "!", "1.5h", "nohup", "10", "x/",
    "a=b/c", "/", "-q", "--", "stdbuf", "--a=b", "-", "2=3", "bin/time", "time/", "done", "command", "chroot",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PLACED), min_size=1, max_size=6))
@examples(200)
def test_word_by_word_rules_know_a_command_as_it_is_read(words: list[str]) -> None:
    place, granted, known, possible = WordPlace(), 0, set[str](), set[str]()
    for number, text in enumerate(words):
        word = Word(text, text)
        if place.begins(word):
            names = text, text.rpartition("/")[2]
            found = {" ".join([name, *words[number + 1 :]]) for name in names}
            (known if place.sure else possible).update(found)
        granted = number if place.grants(word) else granted
        place = place.after(word, SHELL)
    (part,) = read_command(" ".join(words), SHELL).parts
    assert " ".join(words[granted:]) == part.text
    assert known == {part.text, *part.match_texts}
    assert possible == {*part.possible_texts}
