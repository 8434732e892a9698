"""Removals that are asked for: in scripts that nobody checks, and of what a variable holds.

Claude Code 2.1.329 was observed to ask for the scripts, and for a variable that holds the working
folder. Any other value that is not known before the command runs is asked for here too.
"""

from __future__ import annotations

import pytest

from tests.hosts.claude.test_opened import told

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
        *(r"find . -exec sh -c a\ b", r"echo $'rm\x20y'", "sh -c $'a b'", "{ sh -c 'ls y'; }"),
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
        ("bash --login -c 'rm y'", "ask"),
        ("bash -xc 'rm y'", "allow"),
        ("sh -c 'rm {a,b}'", "ask"),
        ("sh -c 'while IFS= read -r a; do rm x; done'", "ask"),
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


_SET: tuple[str, ...] = (
    *("D=$(pwd)", "D=`pwd`", "D=$PWD", 'D="$PWD"', "D=${PWD}", "export D=$(pwd)", "D=$(pwd)/"),
    *(
        "declare D=$(pwd)",
        "readonly D=$PWD",
        "E=$(pwd); D=$E",
        "D=$(git rev-parse --show-toplevel)",
    ),
)
_REMOVAL: tuple[str, ...] = (
    *('{}; rm -rf "$D"', "{}; rm -rf $D", '{} && rm -rf "${{D}}"', '{}; rmdir "$D"'),
    *('({}; rm -rf "$D")', 'if true; then {}; rm -rf "$D"; fi', '{}; {{ rm -rf "$D"; }}'),
    *('{}; sudo rm -rf "$D"', '{}; timeout 5 rm -rf "$D"', '{}; /bin/rm -rf "$D"'),
    *('{}; find . -exec rm -rf "$D" {{}} +', '{}; ls | xargs rm -rf "$D"', "{}; busybox rm $D"),
    *("{}; trap 'rm -rf \"$D\"' EXIT", "{}; eval 'rm -rf \"$D\"'", '{}; coproc rm -rf "$D"'),
    *('{}; $D rm "$D"', '{}; echo $(rm -rf "$D")', '{}; rm -rf "$D/"'),
)


@pytest.mark.parametrize("removal", _REMOVAL)
@pytest.mark.parametrize("setting", _SET)
def test_a_removal_of_what_a_variable_holds_is_asked_for(setting: str, removal: str) -> None:
    for mode in ("default", "bypassPermissions"):
        assert told(removal.format(setting), mode, allow=["Bash(*)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *('rm "$D"', "rm -rf $D", "rm x$D", 'for f in *.o; do rm "$f"; done', 'read D; rm "$D"'),
        *('D=x; read D; rm "$D"', 'D=x; unset D; rm "$D"', 'D=x; D+=/..; rm "$D"', "D=*; rm $D"),
        *('D=x; E=$D; D=y; rm "$D"', 'D=x; for D in /; do rm -r "$D"; done', "D='x /'; rm -r $D"),
        *('D=x; D=y; E=$D; rm "$E"', "D=f; rm -$X y", 'rm "${D:-x}"', "sh -c 'rm \"$D\"'"),
        *('rm "${HOME:?}"', 'rm -rf "${PWD:?}"'),
        'D=$(ls); docker rm "$D"',
    ],
)
def test_so_is_one_of_a_value_that_is_not_known(command: str) -> None:
    for mode in ("default", "bypassPermissions"):
        assert told(command, mode, allow=["Bash(*)"]) == "ask"


@pytest.mark.parametrize("setting", ["D={}", "export D={}", "D='{}'", "E={}; D=$E"])
@pytest.mark.parametrize("removal", _REMOVAL[:7])
def test_one_of_a_plain_name_that_a_variable_holds_is_not(setting: str, removal: str) -> None:
    for mode in ("default", "bypassPermissions"):
        harmless, critical = (removal.format(setting.format(name)) for name in ("build", "/"))
        assert told(harmless, mode, allow=["Bash(*)"]) == "allow"
        assert told(critical, mode, allow=["Bash(*)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *('rm -rf "${D:?}"/*', "rm {a,b}", "rm $'a'", 'D=$(pwd); echo "$D"; rm x'),
        *(
            'D=$(pwd); cd "$D" && rm x',
            'D=$(pwd); find "$D" -exec rm {} +',
        ),
        'f=a; rm -f "$f" b.f dir/f',
    ],
)
def test_nor_is_one_that_removes_nothing_else(command: str) -> None:
    assert told(command, allow=["Bash(*)"]) == "allow"
