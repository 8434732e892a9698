"""What `read_command` makes of commands, the nasty ones above all."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from policy.commands import read, reader
from policy.commands.knowledge import Files, FileTools, Program, Programs, Shell, Wrapper
from policy.commands.reader import (
    DIFFER,
    HOME_MARK,
    IN_DOCUMENT,
    IN_STATEMENT,
    UNCLOSED,
    UNKNOWN,
    UNSEEN,
    Command,
    CommandPart,
    Redirection,
    has_half,
    in_home,
    is_plain,
    read_command,
    why_no_command,
)
from policy.commands.words import (
    PrefixProgram,
    Script,
    SimpleCommand,
    Word,
    WordPlace,
    script_of,
    targets_of,
)
from policy.core import limits
from policy.core.effect import Effect
from policy.core.values import attributes, evolve
from policy.hosts.claude.dialect import _SHELL as HOST
from policy.patterns.tokens import Gap
from tests.effort import is_linear
from tests.strategies import DIALECT, table

SHELL = DIALECT.shell


def _texts(command: Command) -> set[str]:
    """Return every text by which a rule may know a part of *command*."""
    return {text for part in command.parts for text in (part.text, *part.match_texts)}


def _grantable(command: Command) -> bool:
    """Whether rules could allow all of *command*, redirections aside."""
    return bool(command.parts) and all(part.grantable for part in command.parts)


# --- what is simple ------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["ls", "git status", "git log --oneline -n 5", "npm run build:all", "echo a=b ~ *.py [x] é"],
)
def test_a_simple_command_is_one_part_as_it_stands(text: str) -> None:
    command = read_command(text, SHELL)
    assert [part.text for part in command.parts] == [text]
    assert _grantable(command)
    assert not command.parts[0].harmless  # a host with a reader of its own may know better
    assert command.redirections == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a && b", ["a", "b"]),
        ("a&&b", ["a", "b"]),
        ("a || b", ["a", "b"]),
        ("a;b", ["a", "b"]),
        ("a | b", ["a", "b"]),
        ("a |& b", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("  a   x\t y ", ["a x y"]),
        ("a ; ", ["a"]),
        ("a 'x;y' \"u|v\"", ["a 'x;y' \"u|v\""]),
        ("a # b; c", ["a"]),
        ("a x#y", ["a x#y"]),
        ("a '#' b", ["a '#' b"]),
        ("a # b\nc", ["a", "c"]),
    ],
)
def test_parts_are_told_apart_as_a_shell_does(text: str, parts: list[str]) -> None:
    command = read_command(text, SHELL)
    assert [part.text for part in command.parts] == parts
    assert _grantable(command)


# --- what hides another command --------------------------------------------------

# Each runs `rm`, or may: an `allow Bash(ls *)`, or even `allow Bash(*)`, must
# not grant it without a rule having seen `rm`.
HIDING = [
    "ls $(rm x)",
    'ls "$(rm x)"',
    "ls `rm x`",
    'ls "`rm x`"',
    "ls `echo \\`rm x\\``",
    "ls ${x:-$(rm x)}",
    'ls "${x:-`rm x`}"',
    "ls <(rm x)",
    "ls >(rm x)",
    "ls & rm x",
    "ls &rm x",
    "(rm x)",
    "ls; (rm x)",
    "{ rm x; }",
    "ls() { rm x; }; ls a",
    "function ls { rm x; }; ls a",
    "if rm x; then ls; fi",
    "for i in a; do rm x; done",
    "while rm x; do ls; done",
    "case a in a) rm x;; esac",
    "! rm x",
    "time rm x",
    "coproc rm x",
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<'EOF'\nx\nEOF\nrm x",
    "cat <<-EOF\n\tx\n\tEOF\nrm x",
    "cat <<EOF; rm x\nEOF",
    "cat <<< $(rm x)",
    'cat <<< "$(rm x)"',
    "ls $'\\''; rm x #'",
    "ls $'a\\'b' ; rm x ; ls '",
    "ls \\\nx; rm x",
    "ls \\\\; rm x",
    "ls \\\n; rm x",
    "ls 'a' \"b\" ; rm x",
    "ls \"a'\" ; rm x '\"'",
    "ls a\r#; rm x",
    "ls \r# ; rm x",
    "ls a\\ # ; rm x",
    "ls ''#; rm x",
    'ls ""#; rm x',
    "ls a#b; rm x",
    "ls $# ; rm x",
    "ls ${#x} ; rm x",
    "r'm' x",
    'r"m" x',
    "\\rm x",
    "'rm' x",
    "r\\m x",
    "r$@m x",
    "r${z}m x",
    "$x",
    "$(echo rm) x",
    "{rm,x}",
    "r[m] x",
    "/bin/r? x",
    "/bin/r* x",
    "/bin/rm x",
    "../../bin/rm x",
    "A=1 rm x",
    "A=1 B=2 rm x",
    "PATH[0]=/evil rm x",
    "PATH+=:/evil rm x",
    "env rm x",
    "env -i A=1 rm x",
    "env " + "A=1 " * 100 + "rm x",
    "env -u A -C / rm x",
    "sudo -u root rm x",
    "sudo -- rm x",
    "/usr/bin/sudo rm x",
    "nohup nice -n 5 timeout -s KILL 5 rm x",
    "command rm x",
    "builtin command rm x",
    "exec -a ls rm x",
    "xargs rm x",
    "xargs -n 1 -I {} rm {}",
    "echo x | xargs rm x",
    "chroot /new rm x",
    "flock /lock rm x",
    "flock -n /lock rm x",
    "taskset ff rm x",
    "stdbuf -o L rm x",
    "strace -f -o log rm x",
    "setsid -w rm x",
    "watch -n 1 rm x",
    "r\0m x",
    "'r\0m' x",
    "ls \0; rm x",
    'r"\\\nm" x',
    '"r\\\nm" x',
    "ls &>/dev/null & rm x",
    "ls 2>&1 & rm x",
    "ls\nrm x",
    "ls\n\n rm x",
    "ls\r\nrm x\r\n",
    "\nrm x",
    ";rm x",
    "&& rm x",
    "ls | rm x",
    "ls || rm x",
    "ls |& rm x",
    "ls;;rm x",
    "ls 'unclosed ; rm x",
    'ls "unclosed ; rm x',
    "ls `unclosed ; rm x",
    "ls $(unclosed ; rm x",
    "ls $((1)) ; rm x",
    "ls $[1] ; rm x",
    "[[ a ]] ; rm x",
    "let x=1 ; rm x",
    ">x rm x",
    "<x rm x",
    "2>x rm x",
    "&>x rm x",
    "rm<y x",
    "rm>y x",
    "ls >& y ; rm x",
    "=rm x",
]


@pytest.mark.parametrize("text", HIDING, ids=range(len(HIDING)))
def test_no_rule_grants_a_command_that_hides_another(text: str) -> None:
    """Allowing anything but what removes never grants, whatever hides the removal."""
    prefix = table("allow Bash(ls *)", "allow Bash(cat *)", "allow Bash(echo *)")
    assert prefix.decide("Bash", {"command": text}).effect is not Effect.ALLOW
    anything = table(
        "allow Bash(*)", "allow Write", "allow Read", "deny Bash(rm *)", "deny Bash(rm)"
    )
    assert anything.decide("Bash", {"command": text}).effect is not Effect.ALLOW


# These are denied, not only asked about: a reader sees the command inside.
DENIED = [
    "ls $(rm x)",
    "ls $(ls $(rm x))",
    'ls "$(echo ")"; rm x)"',
    "ls `rm x`",
    'ls "$(rm x)"',
    "ls <(rm x)",
    "ls & rm x",
    "(rm x)",
    "if rm x; then ls; fi",
    "for i in a; do rm x; done",
    "'rm' x",
    "r\\m x",
    'r"m" x',
    '"r\\\nm" x',
    "rm  'x'",
    "/bin/rm x",
    "A=1 rm x",
    "env -i A=1 rm x",
    "sudo -u root rm x",
    "nohup nice -n 5 timeout -s KILL 5 rm x",
    "chroot /new rm x",
    "taskset ff rm x",
    ">x rm x",
    "rm>y x",
    "ls >; rm x",
    "ls < && rm x",
    "x=rm; $x x",
    "bash -c 'rm x'",
    "bash -c 'ls; rm x'",
    "/bin/sh -ec 'cd a && rm x' name",
    "bash --norc -x -o pipefail -c 'rm x'",
    "busybox sh -c 'rm x'",
    "sudo -u root bash -c 'rm x'",
    "xargs -I F sh -c 'rm F'",
    """bash -c "bash -c 'rm x'\"""",
    "eval rm x",
    "eval 'ls; rm x'",
    "su -c 'rm x'",
    "su root -lc 'rm x'",
    "su --command='rm x' root",
    "script -qc 'rm x' log",
    "flock lock -c 'rm x'",
    "ltrace rm x",
    "sandbox-exec -f profile rm x",
]


@pytest.mark.parametrize("text", DENIED, ids=range(len(DENIED)))
def test_a_rule_denies_a_command_however_it_is_dressed(text: str) -> None:
    dressed = table("allow Bash", "deny Bash(rm *)")
    assert dressed.decide("Bash", {"command": text}).effect is Effect.DENY


def test_each_command_of_a_script_needs_a_rule() -> None:
    rules = table("allow Bash(bash *)", "allow Bash(ls *)", "ask Bash(git push *)")
    effects = {
        text: str(rules.decide("Bash", {"command": text}).effect)
        for text in (
            "bash -c 'ls x; ls y'",
            "bash -c 'ls x; make'",
            "bash -c 'git push origin'",
            'bash -c "ls $X"',
            "bash -c ''",
            "bash build.sh",
            "bash -c 'ls x > out'",
        )
    }
    assert effects == {
        "bash -c 'ls x; ls y'": "allow",
        "bash -c 'ls x; make'": "deny",
        "bash -c 'git push origin'": "ask",
        'bash -c "ls $X"': "ask",
        "bash -c ''": "allow",
        "bash build.sh": "allow",
        "bash -c 'ls x > out'": "deny",
    }


def test_scripts_in_scripts_are_read_to_a_depth() -> None:
    rules = table("allow Bash", "deny Bash(rm *)")
    for depth, effect in ((limits.NESTING, Effect.DENY), (limits.NESTING + 1, Effect.ASK)):
        text = "eval " * depth + "rm x"
        assert rules.decide("Bash", {"command": text}).effect is effect


@pytest.mark.parametrize(
    ("text", "granted"),
    [
        ("nohup ls x", "ls x"),
        ("nice -n 5 ls x", "ls x"),
        ("timeout 5s ls x", "ls x"),
        ("time ls x", "ls x"),
        ("command ls x", "ls x"),
        ("stdbuf -oL ls x", "ls x"),
    ],
)
def test_a_rule_that_allows_looks_through_wrappers_that_only_run(text: str, granted: str) -> None:
    (part,) = read_command(text, SHELL).parts
    assert part.text == granted
    assert part.grantable


@pytest.mark.parametrize(
    "text",
    ["nohup time -f ls rm x", "command time -o ls rm x", "time -f ls rm x", "nice time -o ls rm x"],
)
def test_the_value_of_an_option_is_not_taken_for_the_program(text: str) -> None:
    assert table("allow Bash(ls *)").decide("Bash", {"command": text}).effect is Effect.DENY


@pytest.mark.parametrize(
    ("text", "granted"),
    [
        ("timeout -k 5 --signal KILL 10 ls x", "ls x"),
        ("stdbuf -o L ls x", "ls x"),
        ("nice -n 5 -n 6 nohup ls x", "ls x"),
        # Options that it does not have, operands that are none, and a program that is no number.
        ("nice -q ls x", "nice -q ls x"),
        ("nice -n a ls x", "nice -n a ls x"),
        ("timeout ls x", "timeout ls x"),
        ("timeout 5 10 ls x", "10 ls x"),
        ("nohup 5 ls x", "5 ls x"),
        ("time -o .profile ls x", "time -o .profile ls x"),
    ],
)
def test_a_rule_that_allows_looks_behind_what_a_wrapper_is_known_to_take(
    text: str, granted: str
) -> None:
    (part,) = read_command(text, SHELL).parts
    assert part.text == granted


@pytest.mark.parametrize(
    ("text", "program", "told"),
    [
        ("timeout 5 xargs rm x", "rm x", {"5 xargs rm x"}),
        ("flock rm flock git push", "push", {"rm flock git push", "git push"}),
        ("sudo -u rm -n git push", "git push", {"rm -n git push", "push"}),
        ("chroot --skip-chdir rm git x", "git x", {"rm git x"}),
        ("env -u A B=1 rm x", "rm x", {"A B=1 rm x"}),
        ("nice -- rm x", "rm x", {"-- rm x"}),
    ],
)
def test_what_a_wrapper_is_told_is_no_program(text: str, program: str, told: set[str]) -> None:
    (part,) = read_command(text, SHELL).parts
    assert program in {part.text, *part.match_texts}
    assert told.isdisjoint({part.text, *part.match_texts, *part.possible_texts})


def test_behind_an_option_that_nobody_knows_any_program_is_feared() -> None:
    text = "sudo -Q git -Z rm x"
    call = {"command": text}
    (part,) = read_command(text, SHELL).parts
    assert {"git -Z rm x", "rm x"} <= {*part.possible_texts}
    # What a rule denies or asks for is not granted, and what one would ask for is not asked.
    assert table("allow Bash(sudo *)").decide("Bash", call).effect is Effect.ALLOW
    for rule, effect in (("deny Bash(rm *)", Effect.DENY), ("ask Bash(git *)", Effect.ASK)):
        assert table("allow Bash(sudo *)", rule).decide("Bash", call).effect is effect
        assert table(rule).decide("Bash", call).effect is Effect.DENY


# --- what is doubted, and what commands are known by --------------------------------


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        ("ls {a", [("{a", UNKNOWN)]),
        ("ls a}", [("a}", UNKNOWN)]),
        ("ls a\\", [("\\", UNCLOSED)]),
        ("ls \\\nx", [("\\\n", UNCLOSED)]),
        ("ls \\a", []),
        ("ls 'a", [("'a", UNCLOSED)]),
        ("ls 'a' 'b'", []),
        ('ls x "a', [('"a', UNCLOSED)]),
        ('ls "a\\b\\$c"', []),
        ("ls `a`", [("`a`", UNKNOWN)]),
        ("ls $(a; b)", [("$(a; b)", UNKNOWN)]),
        ('ls "`a`" b', [("`a`", UNKNOWN)]),
        ('ls "$(a)" b', [("$(a)", UNKNOWN)]),
        ("ls >", [(">", UNCLOSED)]),
        ("ls a\0", [("a\0", DIFFER)]),
        ("ls 'a\0'", [("'a\0'", DIFFER)]),
        ('ls \\x "a\0"', [("a\0", DIFFER)]),
        ('ls "a\\\nb"', [("\\\n", DIFFER)]),
        ("ls a\r", [("a\r", DIFFER)]),
        ("ls $x $y", [("$x", UNKNOWN)]),
        ("ls $", [("$", UNKNOWN)]),
        ('ls "$HOME"', []),
        ("ls $HOME", [("$HOME", UNKNOWN)]),
        ("(ls)", [("(", UNSEEN), (")", UNSEEN)]),
        ("ls & x", [("&", UNSEEN)]),
        ("ls ;; x", [(";;", UNSEEN)]),
        ("ls <<E", [("<<", UNSEEN)]),
        ("ls <>f", [("<>", UNSEEN)]),
        ("ls <<<f", []),
        ("ls <<<$x", [("$x", UNKNOWN)]),
        ("test 'a[$(ls)]'", [("test 'a[$(ls)]'", DIFFER)]),
        ("test 'a[`ls`]'", [("test 'a[`ls`]'", DIFFER)]),
        ("test 'a[0]' '$(ls)' '`ls`'", []),
        ("ls 'a[$(ls)]'", []),
        ("l* a", [("l* a", DIFFER)]),
        ("sudo l* a", [("sudo l* a", DIFFER)]),
        ("=ls a", [("=ls a", DIFFER)]),
        ("ls =a [ab] *", []),
        ("[ a ]", []),
        ("A=1 B=2", [("A=1 B=2", DIFFER)]),
        ("A=1", [("A=1", "is no plain name of a program")]),
        ("A=1 ls", [("A=1", "is no plain name of a program")]),
        ("A.b=1 ls", []),
        ("'ls' a", [("'ls'", "is no plain name of a program")]),
        ("if ls", [("if", "is no plain name of a program")]),
        ("cd a; cd b >f", [("cd a; cd b >f", "goes to more than one folder")]),
        ("cd a; cd b", []),
        ("cd a; ls >f", []),
        # Of what a command holds that is doubted as a whole nothing more is told.
        ("(A=1 ls)", [("(", UNSEEN), (")", UNSEEN)]),
    ],
)
def test_what_no_rule_may_allow_is_told_with_its_reason(
    text: str, doubts: list[tuple[str, str]]
) -> None:
    command = read_command(text, SHELL)
    assert [(each.text, each.why) for each in command.ambiguities] == doubts
    assert _grantable(command) is not bool(doubts)


@pytest.mark.parametrize(
    ("text", "granted", "known", "possible"),
    [
        ("ls a", "ls a", set(), set()),
        ("ls 'a'", "ls 'a'", {"ls a"}, set()),
        ("ls '' a", "ls '' a", {"ls  a"}, set()),
        ("'' rm x", "'' rm x", {" rm x", "rm x"}, set()),
        ("'ls' ''", "'ls' ''", {"ls ", "ls"}, set()),
        ("'ls' a", "'ls' a", {"ls a"}, set()),
        ('ls "a\\$b\\c"', 'ls "a\\$b\\c"', {"ls a$b\\c"}, set()),
        ("/bin/rm x", "/bin/rm x", {"rm x"}, set()),
        ("timeout.EXE 5 rm x", "timeout.EXE 5 rm x", {"rm x"}, set()),
        ("C:\\\\bin\\\\sudo rm x", "C:\\\\bin\\\\sudo rm x", {"C:\\bin\\sudo rm x", "rm x"}, set()),
        ("nice --adjustment=5 ls x", "ls x", {"nice --adjustment=5 ls x"}, set()),
        # An option that nobody knows, with its value and perhaps with one.
        ("nice --foo=5 ls x", "nice --foo=5 ls x", {"ls x"}, set()),
        ("nice --foo ls x", "nice --foo ls x", set(), {"ls x", "x"}),
        ("stdbuf --foo L ls x", "stdbuf --foo L ls x", set(), {"L ls x", "ls x"}),
        ("env - ls x", "env - ls x", set(), {"ls x", "x"}),
        # Behind it the wrapper may be another, of which all that a word may be counts.
        (
            "env --foo flock a rm x",
            "env --foo flock a rm x",
            set(),
            {"flock a rm x", "a rm x", "rm x"},
        ),
        (
            "timeout --foo flock 5 rm x",
            "timeout --foo flock 5 rm x",
            set(),
            {"flock 5 rm x", "5 rm x", "rm x"},
        ),
        ("nice -- ls x", "ls x", {"nice -- ls x"}, set()),
        ("timeout -- 5 ls x", "ls x", {"timeout -- 5 ls x"}, set()),
        ("timeout -- -5 ls x", "timeout -- -5 ls x", {"-5 ls x"}, set()),
        ("timeout 5 -- ls x", "ls x", {"timeout 5 -- ls x"}, set()),
        ("sudo A=1 ls", "sudo A=1 ls", {"A=1 ls", "ls"}, set()),
        ("A+=1 ls", "A+=1 ls", {"ls"}, set()),
        ("x=rm; $x y", "$x y", {"rm y", "y"}, set()),
        ("x='rm'; $x y", "$x y", {"rm y", "y"}, set()),
        ("x=r*; $x y", "$x y", set(), set()),
        ("x=1 ls; $x y", "$x y", set(), set()),
    ],
)
def test_rules_know_a_command_by_these_texts(
    text: str, granted: str, known: set[str], possible: set[str]
) -> None:
    part = read_command(text, SHELL).parts[-1]
    assert part.text == granted
    assert ({*part.match_texts}, {*part.possible_texts}) == (known, possible)


def test_a_text_with_half_a_character_is_no_plain_command() -> None:
    # A lone surrogate: no program is given one.
    assert [is_plain(f"ls {letter}", SHELL) for letter in "a\u00e9\ue000\U0001f600\ud800"] == [
        *[True] * 4,
        False,
    ]


def test_the_scanner_notes_what_is_written_in_front_of_a_program() -> None:
    for text, redirected_first in (
        (">f ls", True),
        ("&>f ls", True),
        ("2>f ls", True),
        ("ls >f", False),
        ("x=1 >f ls", False),
        ("<f ls", False),
        ("<>f ls", False),
    ):
        assert read.Scanner(text).run().commands[0].redirected_first is redirected_first


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("ls (a) b x", ["ls", "a", "b x", "ls b x"]),
        ("(a) b", ["a", "b"]),
        ("ls a (b) c d", ["ls a", "b", "c d", "ls a c d"]),
        ("f (a (b) c d) e f", ["f", "a", "b", "c d", "a c d", "e f", "f e f"]),
        ("f ((a) b) c", ["f", "a", "b", "c", "f c"]),
        ("a) b", ["a", "b"]),
        ("a (b", ["a", "b"]),
        ("a (b) c (d) e", ["a", "b", "c", "a c", "d", "e", "a c e"]),
        ("ls (a b) c > d e", ["ls", "a b", "c e", "ls c e"]),
    ],
)
def test_to_some_a_command_goes_on_behind_a_group(text: str, commands: list[str]) -> None:
    script = read.Scanner(text, resumes=True).run()
    texts = [" ".join(word.raw for word in each.words) for each in script.commands]
    assert [each for each in texts if each] == commands


def test_to_some_a_command_goes_on_behind_a_group_with_nested_commands() -> None:
    # Beyond the limit of nesting a substitution is read as if it stood there.
    deep = read.Scanner("ls ($(a) b) c", depth=limits.NESTING, resumes=True).run()
    texts = [" ".join(word.raw for word in each.words) for each in deep.commands]
    assert texts[-3:] == ["c", "ls c", ""]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("make all", True),
        ("a b", True),
        ("make ", False),
        (" make", False),
        ("", False),
        ("make  all", False),
        ("make;", False),
        ("./make", False),
        ("if x", False),
        ("sudo make", False),
    ],
)
def test_a_plain_command_is_a_program_and_words(text: str, is_one: bool) -> None:
    assert is_plain(text, SHELL) is is_one


def test_a_plain_command_needs_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "host_shell", None)
    assert read_command("make all", Shell()) == Command((CommandPart("make all"),))


@pytest.mark.parametrize("longest", [1, 5, 10_000])
def test_a_host_takes_commands_apart_up_to_a_length(longest: int) -> None:
    host = evolve(HOST, longest=longest)
    assert read_command("m" * longest, host) == Command((CommandPart("m" * longest),))
    assert read_command("m" * (longest + 1), host).ambiguities


@pytest.mark.parametrize(("length", "times"), [(1024, 1), (1025, 2)])
def test_a_short_command_is_read_once(
    length: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_texts: list[str] = []

    def reading(text: str, shell: Shell) -> Command:
        read_texts.append(text)
        return read.read(text, shell)

    monkeypatch.setattr(reader, "host_shell", lambda _: SimpleNamespace(read=reading))
    text = "ls; " + "x" * (length - 4)
    assert read_command(text, SHELL) == read_command(text, SHELL)
    assert read_texts == [text] * times


@pytest.mark.parametrize(
    ("part", "text", "why"),
    [
        ("ls", "ls; x", ""),
        ("if x", "if x; then y; fi", IN_STATEMENT),
        ("do", "for a; do", IN_STATEMENT),
        ("time x", "time x", ""),
        ("iffy x", "iffy x", ""),
        ("x", "cat <<E\nx\nE\n", IN_DOCUMENT),
        ("cat", "cat <<E\nx\nE\n", ""),
        ("y", "cat <<'E'\nx\nE\ny", ""),
        ("y z", "cat <<E; y  z\nx\nE\n", ""),
        ("x", "cat <<-E\n\tx\n\tE", IN_DOCUMENT),
        ("x", "cat <<E\nx", IN_DOCUMENT),
    ],
)
def test_why_a_part_is_no_command_is_told(part: str, text: str, why: str) -> None:
    assert why_no_command(CommandPart(part), text) == why


@pytest.mark.parametrize(
    ("text", "has"), [("a", False), ("\u00e9", False), ("\ud800", True), ("a\udc1e", True)]
)
def test_half_a_character_is_found(text: str, has: bool) -> None:
    assert has_half(text) is has


def test_a_command_of_words_that_a_host_reads_is_no_plain_one() -> None:
    shell = Shell(compound=(("git ", Gap.ANY),))
    assert not is_plain("git log", shell)
    assert is_plain("ls git", shell)
    assert is_plain("git log", Shell())


def test_what_is_known_of_programs_is_a_value() -> None:
    known = Programs({"ls": Program()})
    assert known == Programs({"ls": Program()})
    assert known != Programs({"ls": Program(harmless=False)})
    assert (known == {"ls": Program()}) is False
    assert hash(known) == hash(Programs({"ls": Program()}))
    assert len(known) == 1
    assert [Programs().value, Programs({}, "d").value, Programs({"ls": Program()}, "d").value] == [
        "",
        "d",
        "d",
    ]
    assert len(known.value) == 64
    assert hash(Program(subcommands={"x": Program()})) == hash(Program())


def test_of_a_program_that_is_not_harmless_the_files_that_it_opens_are_known() -> None:
    opens = Program(flags="-a", values="-o", reads=Files.ALL, harmless=False)
    spares = Program(flags="-a", spares=True)
    given = evolve(opens, forms=(spares, Program()), subcommands={"x": opens})
    known = Program(values="-o", reads=Files.ALL)
    assert opens.opening == known
    assert given.opening == evolve(known, forms=(spares,), subcommands={"x": known})
    assert evolve(spares, forms=(opens,)).opening.forms == (evolve(spares, forms=(opens,)),)


@pytest.mark.parametrize(
    ("value", "so"),
    [
        (Program(), {"harmless", "ends", "globs", "trailing"}),
        (Wrapper(), set()),
        (Shell(), set()),
        (PrefixProgram(), {"harmless"}),
        (CommandPart("ls"), {"grantable"}),
        (Redirection("f", writes=False), set()),
        (Command(()), set()),
        (Word(), {"literal", "known"}),
        (SimpleCommand(), set()),
        (Script(), set()),
        (WordPlace(), {"sure"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_said_is_not_so_but_for_this(value: object, so: set[str]) -> None:
    """Data of hosts and compiled policies say nothing of what is as usual."""
    said = {name: getattr(value, name) for name in attributes(type(value))}
    assert {name for name, each in said.items() if isinstance(each, int) and each} == so


def test_a_word_holds_no_commands_at_first() -> None:
    assert Word().inner == (0, 0)


def test_what_a_host_knows_of_a_command_is_no_part_of_it() -> None:
    known, unknown = SimpleCommand(own=object()), SimpleCommand()
    assert (known, repr(known)) == (unknown, repr(unknown))


def test_the_tools_of_files_are_told_once_each() -> None:
    files = FileTools(output="w", input="r", reads="r", removes="rm", shadows="s")
    assert files.opening == ("w", "r", "rm", "s")


# --- redirections ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "redirections"),
    [
        ("ls >f", [("f", True)]),
        ("ls > f", [("f", True)]),
        ("ls >>f", [("f", True)]),
        ("ls >|f", [("f", True)]),
        ("ls &>f", [("f", True)]),
        ("ls &>>f", [("f", True)]),
        ("ls >&f", [("f", True)]),
        ("ls 2>f", [("f", True)]),
        ("ls 2>&1 >f", [("f", True)]),
        (">f ls", [("f", True)]),
        ("ls >f x", [("f", True)]),
        ("ls <f", [("f", False)]),
        ("ls <f >g", [("f", False), ("g", True)]),
        ("ls 'a>b' \"c>d\" e\\>f", []),
        ("ls >'f g'", [("f g", True)]),
        ('ls >"f"', [("f", True)]),
        ("ls >$f", [(None, True)]),
        ("ls >f*", [("f*", True), (None, True)]),
        ("ls >~/f", [("~/f", True), (None, True)]),
        ("ls >$(f)", [(None, True)]),
        ("ls >\u00b2", [("\u00b2", True)]),
        ("ls >&\u00b2", [("\u00b2", True)]),
        ("ls 2>&1", []),
        ("ls >&2", []),
        ("ls 2>&-", []),
        ("ls >/dev/null 2>&1", []),
        ("ls a2>f", [("f", True)]),
        ("ls 1<f", [("f", False)]),
        ("ls >1 2>3", [("1", True), ("3", True)]),
        ("ls 0<2 >x", [("2", False), ("x", True)]),
        ('ls >"$HOME/f"', [("~/f", True), (None, True)]),
        ('ls >"$PWD/f"', [("./f", True)]),
        ('ls >"a$HOME/f"', [(None, True)]),
        ("ls >$HOME/f", [(None, True)]),
        ("ls >//f", [("//f", True), (None, True)]),
        ("ls >/f", [("/f", True)]),
        ("ls >'//f'", [("//f", True), (None, True)]),
        ("ls >~", [("~", True), (None, True)]),
        ("ls >~f", [(None, True)]),
        ("ls <'f*'", [("f*", False), (None, False)]),
        ("ls >'{f}'", [("{f}", True), (None, True)]),
        ("ls <'{f}'", [("{f}", False)]),
        ('ls "$(a >f)" >g', [("f", True), ("g", True)]),
        ("ls <<<f", []),
        # What follows a change of folder.
        ("cd a >f", [("f", True), (None, True)]),
        ("cd a <f", [("f", False), (None, False)]),
        ("cd a </f", [("/f", False), ("/f", False)]),
        ("cd a >/f", [("/f", True), (None, True)]),
    ],
)
def test_a_redirection_is_a_file_that_is_read_or_written(
    text: str, redirections: list[tuple[str | None, bool]]
) -> None:
    found = read_command(text, SHELL).redirections
    assert list(found) == [Redirection(target, writes) for target, writes in redirections]
    assert not any(file.shadowed or file.adrift for file in found)  # each counts by any rule


def test_the_word_before_a_redirection_is_no_descriptor() -> None:
    assert [part.text for part in read_command("ls a2>f", SHELL).parts] == ["ls a2"]
    assert [part.text for part in read_command("ls 2>f", SHELL).parts] == ["ls"]


@pytest.mark.parametrize(
    "text",
    [
        "cd /etc && cat <shadow",
        "cd ~; echo x >.bashrc",
        "echo x >.bashrc | cd ~",
        "pushd / && ls >x",
        "builtin cd / && ls >x",
        "(cd /; ls >x)",
    ],
)
def test_nobody_knows_the_file_behind_a_change_of_folder(text: str) -> None:
    granting = table("allow Bash(*)", "allow Read(**)", "allow Write(**)")
    assert granting.decide("Bash", {"command": text}).effect is not Effect.ALLOW
    assert table("allow Bash(*)").decide("Bash", {"command": text}).effect is Effect.DENY


def test_a_redirection_is_decided_as_a_call_of_its_tool() -> None:
    rules = table("allow Bash(echo *)", "allow Write(out/**)", "ask Write(ask)")

    def effect(command: str) -> Effect:
        return rules.decide("Bash", {"command": command}).effect

    assert effect("echo a >out/a") is Effect.ALLOW
    assert effect("echo a >ask") is Effect.ASK
    assert effect("echo a >other") is Effect.DENY
    assert effect("echo a >out/a/../../other") is Effect.DENY
    assert effect("echo a <out/a") is Effect.DENY


@pytest.mark.parametrize("name", ["\x1e/x", "\udc1e/x", "\x1f/x", "out\x1e/x", "$HOME/x"])
def test_no_character_of_a_name_stands_for_a_folder(name: str) -> None:
    rules = table("allow Bash(echo *)", "allow Write(~/**)")
    assert rules.decide("Bash", {"command": f"echo a >'{name}'"}).effect is Effect.DENY
    assert rules.decide("Bash", {"command": f"echo a >{name}"}).effect is not Effect.ALLOW


def test_what_denies_every_file_denies_one_nobody_knows() -> None:
    assert table("allow Bash(*)").decide("Bash", {"command": "ls >*"}).effect is Effect.DENY


@pytest.mark.parametrize(
    ("plain", "vetted", "known", "writes", "home"),
    [
        ("$HOME/f", True, False, True, f"{HOME_MARK}/f"),
        ("$HOME/f", True, False, False, None),
        ("$HOME/f", False, False, True, None),
        ("$HOME/f", True, True, True, None),
        ("$HOME/$x", True, False, True, None),
        ("$HOME/`x`", True, False, True, None),
        ("/f", True, False, True, None),
    ],
)
def test_a_file_is_in_the_home_folder_where_the_host_takes_that_variable(
    plain: str, vetted: bool, known: bool, writes: bool, home: str | None
) -> None:
    word = Word(plain, plain, literal=False, known=known, vetted=vetted)
    files = [home, None] if home else [None]
    assert targets_of(word, writes=writes) == [Redirection(name, writes) for name in files]
    assert in_home(home or "", "/h") == ("/h/f" if home else "")


# --- no parts, odd characters, size -------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n", "# rm x", "\t\n ", "> f", ";"])
def test_a_command_without_parts_is_never_allowed(text: str) -> None:
    granting = table("allow Bash(*)", "allow Write", "allow Read")
    assert granting.decide("Bash", {"command": text}).effect is Effect.ASK
    assert table("allow Bash(ls)").decide("Bash", {"command": text}).effect is Effect.DENY


@pytest.mark.parametrize("blank", ["\xa0", "\u2003", "\u3000", "\v", "\f", "\x85", "\u2028"])
def test_what_is_no_blank_to_a_shell_separates_no_words(blank: str) -> None:
    command = read_command(f"ls{blank}-a", SHELL)
    assert [part.text for part in command.parts] == [f"ls{blank}-a"]
    assert (
        table("allow Bash(ls *)").decide("Bash", {"command": f"ls{blank}-a"}).effect is Effect.DENY
    )


_LONG = 3 * 1024 * 1024
HUGE = {
    "one word": "a" * _LONG,
    "many words": "ls " + "a " * (_LONG // 2),
    "a quoted word": "ls '" + "a" * _LONG + "'",
    "a word in double quotes": 'ls "' + "a" * _LONG + '"',
    "many quotes": "ls " + "''" * (_LONG // 2),
    "many stars": "*" * _LONG,
    "many escapes": "\\a" * (_LONG // 2),
    "many parts": "a;" * (_LONG // 2),
    "nothing but operators": ";" * _LONG,
    "nested substitutions": "$(" * 100_000,
    "deeper substitutions": "$(" * (_LONG // 2),
    "closed substitutions": "$(" * 100_000 + "rm x" + ")" * 100_000,
    "quoted substitutions": '"$(' * (_LONG // 3),
    "backquotes": "`a` " * (_LONG // 4),
    "parentheses": "(" * _LONG,
    "variables": "$a" * (_LONG // 2),
    "redirections": ">a" * (_LONG // 2),
    "wrappers": "env " * (_LONG // 4),
    "transparent wrappers": "time " * (_LONG // 5),
    "assignments": "A=1 " * (_LONG // 4),
    "digits": "1" * _LONG,
    "comments": "#\n" * (_LONG // 2),
    "here-documents": "<<E " * (_LONG // 4),
    "braces": "{" * _LONG,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_reading_a_huge_command_is_linear(name: str) -> None:
    assert is_linear(lambda size: read_command(HUGE[name][:size], SHELL), _LONG)
    assert len(read_command(HUGE[name], SHELL).parts) <= limits.COMMAND_PIECES + 2


@pytest.mark.parametrize("name", HUGE)
def test_deciding_a_long_command_is_linear(name: str) -> None:
    rules = table("allow Bash(ls *)", "deny Bash(rm *)", "allow Write", "allow Read")
    assert is_linear(lambda size: rules.decide("Bash", {"command": HUGE[name][:size]}), 150_000)


def test_a_command_of_too_many_pieces_is_not_vouched_for(monkeypatch) -> None:
    text = "a;" * 1_000 + "rm x"
    assert _grantable(read_command(text, SHELL))
    assert not read_command("; " * 1_000, SHELL).ambiguities
    monkeypatch.setattr(limits, "COMMAND_PIECES", 900)
    assert not _grantable(read_command(text, SHELL))
    assert read_command("; " * 1_000, SHELL).unread


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("; " * 6, 6),
        ("''" * 6, 5),
        ("a" * 50, 0),
        ("a b;", 2),
        ("a $(b c) d", 5),
        ("a $(b $(c) d)", 7),
        ("$(a; a; a) ; ; ; ; ; ; ;", 13),
        ("`a b` c", 4),
        ("`a;a` `a;a` `a;a`", 13),
        ('"a b" c', 3),
    ],
)
def test_each_word_quote_and_operator_is_a_piece(
    text: str, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, is_unread in ((pieces, False), (pieces - 1, True)):
        monkeypatch.setattr(limits, "COMMAND_PIECES", most)
        assert read.Scanner(text).run().unread is is_unread


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("a", "literal known"),
        ("'$x'", "literal known"),
        ("\\$x", "literal known"),
        ("$x", "guessed"),
        ("$known", "known guessed"),
        ('"$known"', "known guessed"),
        ('"$HOME"', "literal known"),
        ("$HOME", "guessed"),
        ("{a}", ""),
        ("a}", ""),
        ("'{a}'", "literal known"),
        ("$(a)", ""),
        ("`a`", ""),
        ("a*", "literal known glob"),
        ("a?b", "literal known glob"),
        ("'*'", "literal known"),
        ("$known$x", "guessed"),
    ],
)
def test_the_scanner_notes_what_is_known_of_a_word(word: str, said: str) -> None:
    script = read.Scanner(f"known=1; ls {word}").run()
    (found,) = script.commands[-2].words[1:]
    flags = ("literal", "known", "guessed", "glob", "vetted")
    assert " ".join(flag for flag in flags if getattr(found, flag)) == said


def test_so_many_substitutions_are_read_one_within_another() -> None:
    for depth, first in ((64, "a"), (65, "$(a")):
        script = read.Scanner("$(" * depth + "a" + ")" * depth).run()
        assert script.commands[0].words[0].raw == first


def test_so_many_words_are_held_before_a_group() -> None:
    for words, goes_on in ((64, True), (65, False)):
        script = read.Scanner("a " * words + "(b) c d", resumes=True).run()
        assert (len(script.commands[-2].words) == words + 2) is goes_on


def test_so_many_doubts_are_told() -> None:
    assert len(read.Scanner("(" * 7).run().ambiguities) == 7
    assert len(read.Scanner("(" * 20).run().ambiguities) == 8


def test_reading_ends_where_a_substitution_does() -> None:
    command = read_command("a $(b 'x)' \"y)\") c; d", SHELL)
    assert [part.text for part in command.parts][-1] == "d"
    assert "b 'x)' \"y)\"" in _texts(command)


# --- against a real shell -------------------------------------------------------------

_PROGRAMS = ["ls", "cat", "rm", "git"]
_WORDS = [
    "a", "b", "-x", "'a b'", '"a b"', "'a;b'", '"a|b"', "a\\ b", "\\;", "'#'", "x#y", "''", '""', "a'b'\"c\"",
    "$x", '"$x"', "${x}", "${x:-b}", "$'a'", "$'\\''", "$((1+1))", "a\\\nb", '"a\\\nb"', "\r", "a\rb", "\v", "\xa0",
    "=", "x=1", "[", "~", "a{b,c}", "\\'", '\\"', "2", "a2", "!", "if", "done", "{", "}", "%", "\\\\",
]  # fmt: skip
_REDIRECTIONS = [
    ">f",
    "> f",
    "2>&1",
    "<f",
    "&>f",
    ">&f",
    ">|f",
    ">>f",
    "1>f",
    "<<<a",
    "<<E\na\nE\n",
    "a2>f",
]
_AROUND = [
    "$({})", '"$({})"', "`{}`", '"`{}`"', "<({})", "${{x:-$({})}}", "'{}'", '"{}"', "$'{}'", "\\$({})",
]  # fmt: skip
_GROUPS = [
    "({})", "{{ {}; }}", "if {}; then ls; fi", "for i in a; do {}; done", "! {}",
    "case a in a) {};; esac", "{} &", "# {}", "ls # {}", "ls a#{}", "ls \r# ; {}", "ls ''# ; {}",
    "cat <<E\n{}\nE", "cat <<E\n$({})\nE", "cat <<'E'\n{}\nE\n{}", "x=rm; {}",
]  # fmt: skip
# Claude Code looks into scripts for rules that deny alone.
_SCRIPTS = [
    "bash -c '{}'", 'bash -xc "{}" b', "eval '{}'", "eval {}", "bash -c {}", "env bash -c '{}'",
]  # fmt: skip
_BEFORE = [
    "x=1 ",
    "env ",
    "env x=1 ",
    "nohup ",
    "command ",
    "time ",
    "'r'm ",
    "\\rm ",
    "r\\\nm ",
    '"r\\\nm" ',
    ">f ",
]
_JOINTS = ["; ", ";", " && ", " || ", " | ", "|&", "&", "\n", "\r\n", " ;; "]


def _nasty(dice: random.Random, groups: Sequence[str], depth: int = 2) -> str:
    """Return a command, mostly well formed, that uses what shells have to offer."""
    chance = dice.random()
    if depth and chance < 0.25:
        form = dice.choice(groups)
        return form.format(*(_nasty(dice, groups, depth - 1) for _ in range(form.count("{}"))))
    if depth and chance < 0.55:
        return (
            _nasty(dice, groups, depth - 1) + dice.choice(_JOINTS) + _nasty(dice, groups, depth - 1)
        )
    words = [dice.choice(_PROGRAMS)]
    for _ in range(dice.randint(0, 3)):
        if depth and dice.random() < 0.2:
            words.append(dice.choice(_AROUND).format(_nasty(dice, groups, depth - 1)))
        else:
            words.append(dice.choice(_WORDS if dice.random() < 0.8 else _REDIRECTIONS))
    return (dice.choice(_BEFORE) if dice.random() < 0.2 else "") + " ".join(words)


def _mangled(dice: random.Random, text: str) -> str:
    """Return *text* with something put in, or taken out."""
    position = dice.randrange(len(text) + 1)
    if dice.random() < 0.3:
        return text[:position] + text[position + 1 :]
    return text[:position] + dice.choice("'\"`$(){}#\\\n;&|<> \t\r=") + text[position:]


def _run(command: str, folder: Path, path: str) -> set[str]:
    """Return what really ran: each program with its arguments.

    What the command starts is a process group of its own, all of which ends
    with it; nothing in it can call itself for long.
    """
    # A log of its own: what is about to end may still write to the last one.
    log = folder / f"log{len(list(folder.iterdir()))}"
    log.write_text("")
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "f").write_text("")
    bash = shutil.which("bash") or "bash"
    running = subprocess.Popen(
        [bash, "-c", 'ulimit -t 2 -v 262144 -f 1024; exec "$0" -c "$1"', bash, command],
        cwd=work,
        env={"PATH": path, "LOG": str(log), "HOME": "~", "FUNCNEST": "3"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(timeout=1)
    # All of it at once, whatever it started: a command may call itself.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    return {line for line in log.read_text("utf-8", "replace").split("\x1e") if line}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize("shell", [SHELL, HOST], ids=["own notation", "a host with a grammar"])
def test_whatever_a_shell_runs_is_a_part_or_nothing_is_granted(
    tmp_path: Path, shell: Shell
) -> None:
    # A host takes arguments that it cannot know; the programs it must know.
    folded = _program if shell.reader else _folded
    """Stubs on the search path record what runs; the reader must have seen all of it."""
    stubs = tmp_path / "bin"
    stubs.mkdir()
    for name in _PROGRAMS:
        stub = stubs / name
        stub.write_text(f'#!/bin/bash\nIFS=" "; printf "%s\\036" "{name}${{*:+ $*}}" >>"$LOG"\n')
        stub.chmod(0o755)
    for name in ("env", "nohup", "bash"):
        where = shutil.which(name)
        if where:
            (stubs / name).symlink_to(where)
    dice = random.Random(int(os.environ.get("SHELL_SEED", "7")))
    groups = _GROUPS if shell.reader else _GROUPS + _SCRIPTS
    ran_something = vouched = 0
    for _ in range(int(os.environ.get("SHELL_COMMANDS", "300"))):
        text = _nasty(dice, groups)
        if dice.random() < 0.3 and "bash" not in text:  # without its `-c` it runs a file
            text = _mangled(dice, text)
        ran = _run(text, tmp_path, str(stubs))
        command = read_command(text, shell)
        ran_something += bool(ran)
        if _grantable(command):
            vouched += bool(ran)
            known = {folded(each) for each in _texts(command)}
            if not {folded(each) for each in ran} <= known:
                ran &= _run(
                    text, tmp_path, str(stubs)
                )  # what a busy machine mixed up is not there twice
            assert {folded(each) for each in ran} <= known, text
    assert ran_something > 30
    assert vouched > 5


def _folded(text: str) -> str:
    return " ".join(text.split())


def _program(text: str) -> str:
    return text.split()[0] if text.split() else ""


def test_shells_that_know_nothing_still_take_commands_apart() -> None:
    command = read_command("sudo ls; A=1 rm x", Shell())
    assert [part.text for part in command.parts] == ["sudo ls", "A=1 rm x"]
    assert [part.grantable for part in command.parts] == [True, False]


@pytest.mark.parametrize(
    ("words", "script"),
    [
        ("bash -c x", "x"),
        ("/bin/sh -xc x", "x"),
        ("busybox sh -c x", "x"),
        ("busybox ls -c", None),
        ("busybox", None),
        ("bash", None),
        ("bash x", None),
        ("env -c x", None),
    ],
)
def test_a_shell_runs_the_script_behind_its_option(words: str, script: str | None) -> None:
    assert script_of([Word(each, each) for each in words.split()]) == script
