"""Scripts in arguments that remove files, and that nobody checks, as Claude Code 2.1.329 asks for them.

All of it observed.
"""

from __future__ import annotations

import pytest

from tests.test_claude_opened import told

pytest.importorskip("tree_sitter_bash")


@pytest.mark.parametrize(
    "command",
    [
        *(rf"{runner} sh -c rm\ y" for runner in ("find . -exec", "parallel", "ssh h", "echo")),
        *(r"find . -exec sh -c 'rm'\ y", r'find . -exec sh -c "rm"\ y \;', r'echo "sh" -c rm\ y'),
        *(r'sh -c "make"\;"rm y"', r'sh -c "make"\&\&"rm y"', r'sh -c "rm"\ y 2>/dev/null'),
        *(r"sh -c $'rm\x20y'", r"sh -c $'\162\155 y'", "sh -c $'a\\nrm y'"),
    ],
)
def test_a_script_is_asked_for_of_which_nobody_knows_which_words_are_quoted(command: str) -> None:
    for mode in ("default", "bypassPermissions"):
        assert told(command, mode, allow=["Bash"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *(f"{runner} sh -c 'rm y'" for runner in ("find . -exec", "parallel", "ssh h", "echo")),
        *(r"find . -exec sh -c a\ b", r'echo "sh -c rm"\ y', r"echo $'rm\x20y'", "sh -c $'a b'"),
        *(r"sh -c 'rm y' && echo a\ b", r"sh -c 'rm y'; echo $'a\x20b'", "{ sh -c 'rm y'; }"),
    ],
)
def test_and_not_where_all_words_are_known_or_nothing_is_removed(command: str) -> None:
    assert told(command, allow=["Bash"]) == "allow"


@pytest.mark.parametrize("innermost", ["rm y", "a; rm y", "sh -c rm"])
def test_what_removes_in_three_scripts_within_one_another_is_asked_for(innermost: str) -> None:
    two = f"sh -c 'sh -c \"{innermost}\"'" if '"' not in innermost else ""
    three = f'sh -c \'sh -c "sh -c \\"{innermost}\\""\''

    assert told(two, allow=["Bash"]) == ("ask" if innermost == "sh -c rm" else "allow")
    assert told(three, allow=["Bash"]) == "ask"
    assert told(three.replace("rm", "ls"), allow=["Bash"]) == "allow"


@pytest.mark.parametrize(
    "script",
    [
        *("{rm,y}", "r{m,x} y", "rm {/,y}", "rm {a{b,c},d}", "rm a{,~}"),
        *("IFS=x; rm y", "alias a=rm; a y", "rm " + "x" * 2000),
    ],
)
def test_a_script_that_removes_is_asked_for_where_no_host_looks_at_what_it_does(
    script: str,
) -> None:
    assert told(f"sh -c '{script}'", allow=["Bash"]) == "ask"
    assert told(f"sh -c '{script.replace('rm', 'ls').replace('r{m', 'l{m')}'", allow=["Bash"]) == (
        "allow"
    )


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("bash --foo -c 'rm y'", "ask"),
        ("bash -Zc 'rm y'", "ask"),
        ("dash --login -c 'rm y'", "ask"),
        ("bash --login -c 'rm y'", "allow"),
        ("bash -xc 'rm y'", "allow"),
        ("sh -c 'rm {a,b}'", "allow"),
        ("sh -c 'while IFS= read -r a; do rm x; done'", "allow"),
        ("bash --foo 'rm y'", "allow"),
        ("zsh -c 'argv; rm y'", "ask"),
        ("zsh -c '$a[1]; rm y'", "ask"),
        ("sh -c 'argv; rm y'", "allow"),
    ],
)
def test_a_script_is_asked_for_behind_an_option_and_in_a_shell_that_no_host_knows(
    command: str, effect: str
) -> None:
    assert told(command, allow=["Bash"]) == effect
