"""Syntax that Claude Code 2.1.329 does not read: denials apply in it, and no rule allows it."""

from __future__ import annotations

import pytest

from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")

_FILES = ("Read(//**)", "Edit(//**)")


def told(command: str, mode: str = "default", **lists: list[str]) -> str:
    return str(decide(command, mode, **lists))


@pytest.mark.parametrize(
    "command",
    [
        *("cat a $X", "cat a ${X}", "cat a $1", "cat a $(ls)", "cat a `ls`"),
        *("cat a <(ls)", "cat a $'b'", "cat a $((x + 2))", "cat a; ls $X"),
        *("case x in a) cat a;; esac", "{ cat a; }", "f() { ls; }; cat a", "(cat a; ls)"),
        *("select i in a; do cat a; done", "for ((i=0; i<3; i++)); do cat a; done"),
        *("a=(1 2); cat a", "a[0]=1; cat a", "IFS=x cat a", "COLUMNS='a b' cat a"),
        *("FOO=$BAR cat a", 'FOO="a$(ls)" cat a', 'x="$(cat a)"', "x=$(cat a; ls)", "FOO=~ cat a"),
        *("cat a > $X", 'cat a > "$PWD/x"', "cat a <<< $X", "cat a 2>&-", "cat a > b c"),
        *("cat a <<E\nx\nE", "cat a <<'E' | cat\nx\nE", "cat a <<'E' && cat b\nx\nE"),
        *("cat a\\ b", "cat a; =b", "cat a ~[b]", "cat a {x}>b", "cat a > b #x"),
        *("(cat a) > out", "cat a &&", "cat a ; ; ls", "cat a )", "(cat a", "{ cat a", "x=$(cat a"),
        *("cat a | | ls", "&& cat a", "cat a <> b", "cat a = b", "cat a \\"),
    ],
)
def test_file_rules_deny_what_stands_in_unsupported_syntax(command: str) -> None:
    assert told(command, deny=[*_FILES]) == "deny"
    assert told(command, deny=["Bash(cat *)"]) == "deny"


@pytest.mark.parametrize("command", ['cat "$X"', "cat {a,b}", "ca\\\nt a"])
def test_a_command_whose_words_are_unknown_is_asked_for(command: str) -> None:
    assert told(command, deny=[*_FILES]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("cat a", "cat a | cat", "(cat a)", "cat a; ls 'x'", "cat a '$X'", "cat a \\$X"),
        *("F=a; cat $F", 'F=a; cat "$F"', "export F=a; cat $F"),
        *("if true; then cat a; fi", "for i in a b; do cat a; done", "while cat a; do ls; done"),
        *("FOO=$(ls) cat a", "FOO=`ls` cat a", "x=$(cat a)", "x=$(cat a\nls)", "x=$(cat a && ls)"),
        *("FOO=$PWD cat a", "x=$?; cat a", "FOO=x cat a", "PATH=x cat a", "LANG=C cat a"),
        *("cat a <<'E'\nx\nE", "cat a <<'E'\nx\nE && cat b", "cat a <<< x", "cat a > '$X'"),
        *("cat a && (", "cat a && {", 'cat a "', "cat a |", "cat a; ;; ls", "cat a \\\n| cat"),
        *("cat a \\\n b", "[[ a == b* ]]; cat a", "cat a ;;", "cat a 10>b", "eval ls; cat a"),
    ],
)
def test_rules_about_files_deny_what_the_host_takes_apart(command: str) -> None:
    assert told(command, deny=[*_FILES]) == "deny"


def test_file_rules_deny_there_where_all_commands_are_allowed() -> None:
    for mode, rules in (("default", ["Bash"]), ("bypassPermissions", [])):
        for command in ("cat a $X > .git/config", "{ cat a; }", "case x in a) tac a;; esac"):
            assert told(command, mode, allow=rules, deny=[*_FILES]) == "deny"


def test_what_is_removed_is_looked_for_all_the_same() -> None:
    for command in ("rm -rf / $X", "{ rm -rf /; }", "case x in a) rm -rf ~;; esac"):
        assert told(command, allow=["Bash"]) == "ask"


def test_a_substitution_behind_an_escaped_dollar_is_asked_for_whatever_allows_it() -> None:
    assert told("echo \\$$(ls)", allow=["Bash"]) == "ask"
    assert told("echo \\$(ls", "bypassPermissions") == "allow"
    assert told("echo \\$$x", "bypassPermissions") == "allow"


@pytest.mark.parametrize(
    "behind",
    [
        *("E && make", "E | make", "E |& make x", "E; make", "E make", "E & make", "EE\nmake"),
        *("E && ls\nmake\nE", "E \nmake", "make", "E # make"),
    ],
)
@pytest.mark.parametrize("sign", ["<<'E'", '<<"E"', "<<E", "<<-'E'"])
def test_a_here_document_goes_on_until_its_word_is_all_of_a_line(sign: str, behind: str) -> None:
    command = f"jest {sign}\nx\n{behind}"
    quoted = not sign.endswith("E")

    assert told(command, "bypassPermissions", deny=["Bash(make:*)"]) == "allow"
    assert told(command, allow=["Bash(jest:*)"]) == ("allow" if quoted else "ask")
    assert told(command, deny=["Bash(jest:*)"]) == "deny"


@pytest.mark.parametrize("behind", ["E\nmake", "E && ls\nE\nmake", ".\nE\nmake x"])
@pytest.mark.parametrize("sign", ["<<'E'", "<<E", "<<-'E'"])
def test_behind_that_line_commands_are_found(sign: str, behind: str) -> None:
    command = f"jest {sign}\nx\n{behind}"

    assert told(command, "bypassPermissions", deny=["Bash(make:*)"]) == "deny"
    assert told(command, allow=["Bash(jest:*)"]) == "ask"


def test_a_substitution_in_a_longer_here_document_is_found() -> None:
    assert told("jest <<E\n$(make)\nE && ls", deny=["Bash(make:*)"]) == "deny"
    assert told("jest <<'E'\nx\nE && ls; rm -rf /", allow=["Bash"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "((gh a",
            "(( gh a",
            "foo; ((gh a",
            "((gh a)",
            "((gh a) && b)",
            "((a && gh b",
        ),
        *("$((gh a", 'echo "$((gh a"', "echo `((gh a`", "{ ((gh a", "((CI=1 gh a", "((gh a > x"),
    ],
)
def test_no_command_stands_in_a_sum_that_ends_nowhere(command: str) -> None:
    assert told(command, deny=["Bash(gh *)"], allow=["Bash"]) == "ask"


@pytest.mark.parametrize(
    "command", ["( ( gh a", "((a; gh b", "((a; gh b))", "((gh a); gh b", "((gh a | gh b", "$(gh a"]
)
def test_behind_it_commands_are_denied(command: str) -> None:
    assert told(command, deny=["Bash(gh *)"], allow=["Bash"]) == "deny"


@pytest.mark.parametrize(
    "command", ["foo '{a", "foo 'a {b,c}", "echo '{a,b}", "foo; foo '{a..b}", "cat 'src/{a,b}"]
)
def test_braces_behind_a_quote_that_begins_a_word_are_quoted(command: str) -> None:
    assert told(command, allow=["Bash(foo *)"]) == "allow"


@pytest.mark.parametrize("command", ["foo x'{a,b}", "foo a'{x,y}' 'b{", "foo '{a,b}'c", "rm '{a"])
def test_elsewhere_nobody_knows_which_braces_are_quoted(command: str) -> None:
    assert told(command, allow=["Bash(foo *)"]) == "ask"


@pytest.mark.parametrize("command", ["foo &&", "foo && for", "foo && `", "foo |& a )", "foo && )"])
def test_no_rule_allows_what_is_no_command_if_somebody_may_not_wait_for_a_part(
    command: str,
) -> None:
    assert told(command, allow=[f"Bash({command})"]) == "ask"


@pytest.mark.parametrize("command", ["foo ||", "foo (", "foo )"])
def test_a_rule_that_is_what_is_no_command_allows_it(command: str) -> None:
    assert told(command, allow=[f"Bash({command})"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("mkdir d > a rm x", "mkdir d > ! rm x", "touch d >> a rm x", "mkdir d > a x; rm y"),
        *("mkdir d > a rmdir x", 'mkdir d > a "rm" x', "mkdir d > a echo rm", "rm d > a b"),
        *("mkdir d > a rm x && ls", "ls | mkdir d > a rm x", "mkdir d > a b < c rm", "rm x > a d"),
        *("mkdir x > a rm b > d/y", "mkdir d > a r\\m x", "if mkdir d > a rm x; then ls; fi"),
    ],
)
def test_words_behind_a_redirection_are_arguments_too(command: str) -> None:
    for mode, rules in (("default", ["Bash"]), ("bypassPermissions", [])):
        assert told(command, mode, allow=rules, deny=["Edit(d/**)"]) == "deny"
        assert told(command, mode, allow=rules, ask=["Edit(d/**)"]) == "allow"


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        *((one, "deny") for one in ("mkdir d > a x", "mkdir x > d/y rm b", "mkdir $X d > a rm")),
        *((one, "deny") for one in ("mkdir d > a rmx", "touch d > a x; rm-x y", "rm x > d/y b")),
        ("cat x > a d rm", "allow"),
    ],
)
def test_so_they_are_where_nothing_is_removed(command: str, effect: str) -> None:
    for mode, rules in (("default", ["Bash"]), ("bypassPermissions", [])):
        assert told(command, mode, allow=rules, deny=["Edit(d/**)"]) == effect


def test_a_critical_folder_is_guarded_there() -> None:
    for mode, rules in (("default", ["Bash"]), ("bypassPermissions", [])):
        assert told("mkdir a > b c; rm -rf ~", mode, allow=rules) == "ask"


@pytest.mark.parametrize(
    "begun", ["if ", "while ", "for i in a; do ", "! ", "until ", "if true; then ", "ls && if "]
)
def test_files_behind_a_word_that_begins_a_statement_are_looked_for_in_one_that_ends_nowhere(
    begun: str,
) -> None:
    assert told(f'{begun}tee d/z "q', allow=["Bash"], deny=["Edit(d/**)"]) == "deny"
