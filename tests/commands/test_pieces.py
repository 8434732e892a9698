"""Commands put together of their pieces come to what they are when all of them is read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import attrs
import pytest

from policy.commands import read as commands
from policy.commands.knowledge import Shell
from policy.commands.scripts import together
from policy.files.opening import Memory
from policy.hosts.claude import ClaudeOptions, load
from policy.hosts.claude.dialect import _EDITING_SHELL, _SHELL, _shell_below
from policy.tables.chain import Chain
from tests.live import vocabulary as words
from tests.live.wide import wide_command
from tests.strategies import DIALECT

_HOST = _shell_below("/srv/app", "/home/a", _SHELL)
_WAITED = _HOST.awaited
assert _WAITED is not None
SHELLS = {
    "own": DIALECT.shell,
    "claude-code": _HOST,
    "editing": _shell_below("/srv/app", "/home/a", _EDITING_SHELL),
    "waited": _WAITED,
    "tracing": attrs.evolve(_HOST, traced=True),
    "spanning": attrs.evolve(_HOST, folding=False, spanning=True),
}
_JOINING = (
    *(" && ", " && ", " | ", " | ", " || ", "; ", ";", "&&", "||", "|", "\n"),
    *(" |& ", " & ", "  &&  ", " &&\n", "\n\n", ";; ", ";"),
)
# What one piece has and another may be read by.
_ODD = (
    *("'# x'", '"a > b"', "'x; y'", "'{a}'", '"it\'s"', "'${2X}'", "'$$('", "b'c'", "'a' 'b'"),
    *("'<<<'", "'!'", "'('", "> HEAD", "> hooks/x", "'> a'", "'b #c'", "=", "=b", "#"),
)


def _simple(chance: random.Random) -> str:
    programs = [f"{name} {rest}".strip() for name, all_ in words.PROGRAMS.items() for rest in all_]
    kinds = (programs, words.READ_ONLY, [f"git {each}" for each in words.GIT], words.OPENERS)
    text = chance.choice(chance.choice(kinds)).replace("{}", chance.choice(words.PATHS))
    if chance.random() < 0.15:
        text = wide_command(chance)
    if chance.random() < 0.12:
        text = f"{chance.choice(words.WRAPPERS)} {text}"
    if chance.random() < 0.1:
        text = f"{chance.choice(words.ASSIGNMENTS)} {text}"
    for more, often in ((words.WORDS, 0.2), (words.REDIRECTIONS, 0.3), (_ODD, 0.15)):
        if chance.random() < often:
            text = f"{text} {chance.choice(more)}"
    if chance.random() < 0.05:
        text = text.replace(" ", chance.choice(("  ", "\t")), 1)
    return text


def _texts(chance: random.Random, number: int) -> Iterator[str]:
    for _ in range(number):
        text = _simple(chance)
        for _ in range(chance.choice((0, 1, 1, 2, 3))):
            text += chance.choice(_JOINING) + _simple(chance)
        yield text


def _is_lawful(text: str, shell: Shell) -> bool:
    """Return whether a command was put together, which must be what it is read as."""
    put, read = together(text, shell, commands.read_piece), commands.read_whole(text, shell)
    if put is None:
        return False
    assert put == read, text
    assert not (put.whole and read.whole) or put.whole.bare == read.whole.bare, text
    return True


def _law(shell: Shell, seed: int, number: int) -> int:
    """Return how many commands were put together."""
    texts = _texts(random.Random(seed), number)
    return sum(_is_lawful(text, shell) for text in texts if not 0 < shell.longest < len(text))


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_pieces_come_to_what_the_whole_is_read_as(shell: Shell) -> None:
    assert (_law(shell, 1, 600) > 60) is not shell.traced


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_many_pieces_come_to_what_the_whole_is_read_as(shell: Shell) -> None:
    assert (_law(shell, 2, 8_000) > 800) is not shell.traced


@pytest.mark.parametrize(
    "text",
    [
        *("cd src && npm test", "A=1; ls", "export PATH=x; ls", "ls & cat a"),
        *("ls &&", "&& ls", "ls;; cat a", "ls |& cat", "git status; cp a HEAD", "ls\t-l;  cat a"),
        *("bash -c ls; cat a", "echo $X; ls", "(ls; cat a)", "ls # x; cat a", "ls \\; cat a", ""),
        *("git log > hooks/x; git status", "cat <<E; ls\nE", "ls; " * 70 + "ls", "ls " + "a" * 300),
    ],
)
def test_what_reaches_into_the_rest_is_read_as_a_whole(text: str) -> None:
    assert together(text, _HOST, commands.read_piece) is None


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize(
    "text",
    [
        *("cd src; ls > out", "/usr/bin/cd src; ls > out", "pushd src && cat a", "ls 22> a; cat a"),
        *("echo '$$('; cat a", "bash --foo -c 'rm x'; cat a", "cat a; bash -xc 'rm x'; cat b"),
        *("ls > x -la; cat a", "COLUMNS=a ls; cat a", "echo do; ls", "A=~ ls; ls"),
        *("timeout 5 ls > a; B=1 cat b", "'=ls' a; cat a", "printf a\tb;  cat a"),
    ],
)
def test_pieces_of_every_kind_come_to_what_the_whole_is_read_as(text: str, shell: Shell) -> None:
    _is_lawful(text, shell)


@pytest.mark.parametrize(
    "text",
    [
        *("git status && git diff", "npm test 2>&1 | tail -20", "echo 'a; b' > out; cat a"),
        *("ls", "make test || echo no", "git add . && git commit -m 'x'\ngit push"),
        "awk '{print $1}' a | sort | uniq -c",
    ],
)
def test_what_stands_by_itself_is_put_together(text: str) -> None:
    assert together(text, _HOST, commands.read_piece) == commands.read_whole(text, _HOST)


def test_a_rule_for_one_part_counts_in_every_command() -> None:
    reads = [commands.read_command(f"cat a{each}cat .env", _HOST) for each in (" && ", " | ", ";")]
    for read in reads:
        assert [(file.target, file.part) for file in read.redirections if file.tool] == [
            ("a", 0),
            (".env", 1),
        ]


def test_a_row_keeps_nothing_long() -> None:
    settings = {"permissions": {"allow": ["Bash(cat *)"]}}
    files = Memory({".claude/settings.json": json.dumps(settings)})
    (project,) = load(files, ClaudeOptions(cwd="/app", home="/home/a"))
    table = Chain.start("main", project.enforced).table
    long = "x" * 3_000
    for text in ("cat a && cat b", f"cat a <<< {long}", f"if cat {long}; then ls; fi | cat"):
        table.decide_anew("Bash", {"command": text})
    ((row, _),) = table.lookup("Bash").rows
    assert {"cat a", "cat b"} <= {part.text for part in row.parts}
    assert all(long not in str(part) for part in row.parts)
