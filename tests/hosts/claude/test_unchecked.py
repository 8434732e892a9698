"""What Claude Code vouches for in no command, and folders in other letters, as 2.1.329 was seen."""

from __future__ import annotations

import pytest

from policy.core.effect import Effect
from tests.claude_session import table

pytest.importorskip("tree_sitter_bash")


def decide(tool: str, argument: str, mode: str = "default", **lists: list[str]) -> Effect:
    field = "command" if tool == "Bash" else "file_path"
    return table(mode, **lists).decide(tool, {field: argument}).effect


UNCHECKED = (
    *("script x", "strace -p 1", "taskset -p 1", "hash -r x", "let x=1", "mapfile x", "zmodload x"),
    *("shopt -s extglob", "nohup script x", "'zmodload' x", "e\\val 'rm x'", "timeout 5 eval x"),
    *("find . -delete", "awk -f x y", "printf -v PATH x", "read x", "unset PATH", "jobs -x x y"),
    *("export a-b c", "export IFS=1", "export A=~/x", "declare -i x=1", "declare -n x=y"),
    *("-x a", "nohup -x a", "nice -n", "stdbuf -x a", "timeout aa bb", "time -p make x"),
    *(
        "jq -f a b",
        "jq --rawfile x a .",
        "jq -rf a b",
        "jq 'include \"x\"; .'",
        "jq 'system(\"x\")'",
    ),
    *(
        "awk 'BEGIN{system(\"x\")}'",
        "awk '{print | \"sh\"}' a",
        "find . -files0-from a",
        "declare -I a",
    ),
    *("declare -xX a", "timeout 5 jq --from-file=a b", "awk '{\"x\" | getline}'"),
    *("foo = a", "make a = b", "do x", "in x", "IFS=, make x", "time HOME=/tmp rm x"),
    *("export -p A=1", "export -n A=1", "export A -p", "export -x A", "export -A a b", "local a=1"),
    *("readonly -r a", "readonly a=1 a=2", "declare -r a=1 a=2", "declare -p a=1", "declare a -x"),
    *("builtin noglob x", "command -p noglob x", "shift $((1))", "exit $((1))", "private a=1"),
    *("test a -eq 1", "test 1 -gt a", "test -t a", "test -v 'a[1]'", "print -l 'a[$(ls)]'"),
    *(
        "LANG=C shift 1",
        "LANG=C export a=1",
        "command export PATH=x",
        "'export' PATH=x",
        "env '' x",
    ),
    *("readonly HOME=x", "declare USER=x", "local ''", "export ''", "unsetenv -x a"),
    *("unset a -v", "unset -n a", "unset 'a'", "typeset -g a=1", "local -g", "readonly -p a=1"),
)


@pytest.mark.parametrize("command", UNCHECKED)
def test_no_rule_with_a_star_allows_what_the_host_does_not_vouch_for(command):
    assert decide("Bash", command, allow=["Bash(* *)"]) is Effect.ASK
    assert decide("Bash", f"make x && {command}", allow=["Bash(* *)"]) is Effect.ASK
    assert decide("Bash", f"{command} | make x", "dontAsk", allow=["Bash(* *)"]) is Effect.DENY


@pytest.mark.parametrize("command", UNCHECKED)
def test_a_rule_for_exactly_that_command_allows_it_and_nothing_around_it(command):
    exact = [f"Bash({command})", "Bash(make *)"]
    assert decide("Bash", command, allow=exact) is Effect.ALLOW
    assert decide("Bash", f"make x && {command}", allow=exact) is Effect.ASK


@pytest.mark.parametrize("command", UNCHECKED)
def test_a_rule_for_any_command_allows_it(command):
    assert decide("Bash", command, allow=["Bash"]) is Effect.ALLOW
    assert decide("Bash", command, "bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("nice -n 5", "nohup x", "timeout -k 5 10", "command -v make", "fc -l", "jobs x"),
        *("test 1 -eq 2", "test -t 1", "test -v a", "shift 1", "NODE_ENV=x export A=1", "exit 1"),
        *("export -- A=1", "declare +x A=1", "export PATH=x", "readonly TERM=x", "unsetenv a"),
        *("export A=1 B", "export -p x", "declare -x A=1", "export A='a-b c.d'", "make a=b"),
        *("unset X", "unset -f x", "printf x y", "awk x y", "sudo -x", "awk -F'|' '{print $1}' a"),
        *(
            "jq .includes a",
            "jq -r .x a",
            "awk '{print > \"x\"}' a",
            "declare -fx a",
            "awk 'a || b' c",
        ),
    ],
)
def test_what_stands_near_to_it_is_allowed_by_a_rule_with_a_star(command):
    assert decide("Bash", command, allow=["Bash(* *)"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    ["cd a b && make x", "pushd src; git status", "pushd src && cd b", "cd src && xargs git x"],
)
def test_several_folders_and_repositories_behind_them_are_asked_for(command):
    assert decide("Bash", command, allow=["Bash(* *)"]) is Effect.ASK


def test_a_rule_against_every_read_is_one_against_a_read_behind_a_change_of_folder():
    for rule in ("Read(*)", "Read"):
        assert decide("Bash", "cd src && numfmt 1", deny=[rule]) is Effect.ASK
        assert decide("Bash", "cd src && seq 3", deny=[rule]) is Effect.ALLOW
        assert decide("Bash", "numfmt 1", deny=[rule]) is Effect.ALLOW


def test_a_quote_that_is_not_closed_belongs_to_its_word():
    assert decide("Bash", "sed -n '1p") is Effect.ASK
    assert decide("Bash", "cat 'a") is Effect.ALLOW


@pytest.mark.parametrize("path", ["/SRV/app/a", "/srv/APP/a", "../App/a"])
def test_a_working_folder_has_letters_of_its_own(path):
    absolute = path.replace("../", "/srv/")
    assert decide("Read", absolute) is Effect.ASK
    assert decide("Bash", f"cat {path}") is Effect.ASK
    assert decide("Bash", f"echo x > {path}", "acceptEdits") is Effect.ASK
    assert decide("Write", absolute, "acceptEdits") is Effect.ASK
    assert decide("Read", absolute, allow=["Read"]) is Effect.ALLOW
    assert decide("Read", absolute, "bypassPermissions", deny=["Read(//srv/app/a)"]) is Effect.DENY


@pytest.mark.parametrize("path", ["A", "/srv/app/SRC/a", "SRC/A.py"])
def test_below_a_working_folder_letters_do_not_count(path):
    assert decide("Bash", f"cat {path}") is Effect.ALLOW
    assert decide("Bash", f"cat {path}", deny=["Read(a)", "Read(src/**)"]) is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *("test a -nt b", "test 1 -eq 2", "test -nt b", "tput setaf -- a", "tput xx", "ps - 1"),
        *(
            "ifconfig eth0.1",
            "ifconfig a:b",
            "ls |&",
            "[[ -f a ]]",
            "while ls; do [[ -f a ]]; done",
        ),
    ],
)
def test_near_to_what_is_asked_for_stands_what_runs(command):
    assert decide("Bash", command) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("test a -nt", "test a -eq 2", "tput reset", "tput mc5p", "tput smcup", "ifconfig 0"),
        *("[[ -f a ]] > out", "while ls; do [ -f a ] > out; done", "[[a ]]", "|&"),
    ],
)
def test_near_to_what_runs_stands_what_is_asked_for(command):
    assert decide("Bash", command, "acceptEdits") is Effect.ASK


def test_behind_an_escaped_blank_a_comment_is_none_to_rules_that_deny():
    for command in ("touch a \\ # (rm x)", "touch a \\ # case x in a) ls;; *) rm x;; esac"):
        assert decide("Bash", command, allow=["Bash"], deny=["Bash(rm *)"]) is Effect.DENY
    assert decide("Bash", "touch a # (rm x)", allow=["Bash"], deny=["Bash(rm *)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["touch /srv/app/q", "mkdir /srv/app/z", "echo x > /srv/app/y"])
def test_no_name_of_what_is_written_behind_a_change_of_folder_is_believed(command):
    assert decide("Bash", f"cd src && {command}", "acceptEdits") is Effect.ASK
    assert decide("Bash", f"cd . && {command}", "acceptEdits") is Effect.ALLOW
    assert decide("Bash", f"cd src && {command}", allow=["Bash"]) is Effect.ALLOW


def test_a_star_for_every_file_means_those_of_the_working_folder_where_it_allows():
    assert decide("Read", "/data/d/f", allow=["Read(*)"]) is Effect.ASK
    assert decide("Read", "/srv/app/a", "dontAsk", allow=["Read(*)"]) is Effect.ALLOW
    assert decide("Read", "/data/d/f", allow=["Read"]) is Effect.ALLOW
    assert decide("Read", "/data/d/f", deny=["Read(*)"]) is Effect.DENY


def test_what_is_denied_in_a_folder_is_denied_behind_a_change_to_it():
    for command in ("cd src; mv a b", "cd src && touch a", "cd ./src && rm a", "cd src && ls > a"):
        assert decide("Bash", command, deny=["Edit(src/**)"]) is Effect.DENY
        assert decide("Bash", command, allow=["Bash"], deny=["Edit(src/**)"]) is Effect.DENY
    assert decide("Bash", "touch a; cd src", deny=["Edit(src/**)"]) is Effect.ASK


def test_a_descriptor_with_a_name_is_asked_for():
    assert decide("Bash", "realpath {fd}>out", "acceptEdits") is Effect.ASK
    assert decide("Bash", "realpath a >out", "acceptEdits") is Effect.ALLOW


def test_a_command_too_long_to_be_taken_apart_is_asked_for_however_plain_it_is():
    for command in ("make " + "a" * 10_000, "make" + " a" * 5_000):
        assert decide("Bash", command, allow=["Bash(make *)"]) is Effect.ASK
        assert decide("Bash", command, allow=["Bash(make *)"], deny=["Bash(* a*)"]) is Effect.DENY
    assert decide("Bash", "make " + "a" * 9_000, allow=["Bash(make *)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["cd a b", "cd src b"])
def test_no_rule_allows_to_go_to_two_folders_at_once_but_one_for_any_command(command):
    assert decide("Bash", command, allow=[f"Bash({command})", "Bash(cd *)"]) is Effect.ASK
    assert decide("Bash", command, allow=["Bash"]) is Effect.ALLOW


def test_an_option_alone_is_no_program_that_a_star_stands_for():
    assert decide("Bash", "-x", allow=["Bash(-x *)"]) is Effect.ASK
    assert decide("Bash", "-x", allow=["Bash(-x)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["'' x", '"" x', "A=1 B=2", "NODE_ENV=a LANG=C", "\\\nmake x"])
def test_what_names_no_program_is_granted_by_no_star(command):
    assert decide("Bash", command, allow=["Bash(* *)", "Bash(make *)"]) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        *("((", "((ls", "((make x", "ls ((", "for ((", "((1", "echo $((1+2)", "((ls; ls"),
        *("$(rm x; ls", "x=$(make", "echo $(ls", 'ls "$(rm', "{ $(ls", "x=$(ls # a)"),
    ],
)
def test_nothing_allows_what_opens_and_is_never_closed(command):
    assert decide("Bash", command, "bypassPermissions") is Effect.ASK
    assert decide("Bash", command, allow=["Bash"]) is Effect.ASK
    assert decide("Bash", command, "dontAsk", allow=["Bash"]) is Effect.DENY


@pytest.mark.parametrize("command", ["((1+2))", "{ ls", "(ls", "<(ls", "ls (x", "echo $(ls)", "if"])
def test_other_fragments_run_where_anything_does(command):
    assert decide("Bash", command, "bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize(
    "command", ["rm ''", 'rm ""', "rm -r ''", "rmdir ''", "rm a ''", "rm 'a", "rm x '"]
)
def test_the_removal_of_no_name_is_one_of_the_working_folder(command):
    assert decide("Bash", command, "bypassPermissions") is Effect.ASK
    assert decide("Bash", "rm 'a b' \"c\"", "bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("cat <<-E\n\t$(gh api x)\n\tE", "cat <<-E\n\t`gh api x`\n\tE"),
        *("echo `echo \\`gh api x\\``", "cat <<E\n$(gh api x)\nE"),
    ],
)
def test_what_is_substituted_in_a_text_is_denied_wherever_it_stands(command):
    assert decide("Bash", command, allow=["Bash"], deny=["Bash(gh *)"]) is Effect.DENY
    assert (
        decide("Bash", command.replace("gh", "ls"), allow=["Bash"], deny=["Bash(gh *)"])
        is Effect.ALLOW
    )


def test_a_text_is_no_command_though_it_reads_like_one():
    command = "cat <<-E\n\tgh api x $(ls)\n\tE"
    assert decide("Bash", command, allow=["Bash"], deny=["Bash(gh *)"]) is Effect.ALLOW


def test_a_pattern_that_is_read_from_is_denied_where_one_of_its_files_would_be():
    for command in ("cat < src/*", "ls < src/a*", "cat b < src/[ab]"):
        assert decide("Bash", command, allow=["Bash"], deny=["Read(src/**)"]) is Effect.DENY
        assert decide("Bash", command, allow=["Bash(cat *)", "Bash(ls *)"]) is Effect.ASK


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        *(
            (f"tr {given}", Effect.ASK)
            for given in ("-d x ~/y", "a b /etc/x", "a b c ~/x", "-cd x /y")
        ),
        *(
            (f"tr {given}", Effect.ALLOW)
            for given in ("a ~/x", "-d /", "/a /b", "-s /", "-dc a-z/")
        ),
        *((f"base64 {given}", Effect.ASK) for given in ("-i /etc/x", "/etc/x")),
        ("base64 -i a", Effect.ALLOW),
    ],
)
def test_files_elsewhere_are_asked_for_wherever_a_program_names_them(command, effect):
    assert decide("Bash", command) is effect


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cd src && cat a.txt",
            "cd src; head -5 a.txt",
            "pushd src; uniq a.txt",
            "chdir src && cat a.txt",
        ),
        *("cd ./src && cat a.txt", "cd /srv/app/src && cat A.TXT", 'cd "src/" && cat ./a.txt'),
        *("cd src/sub && cat ../a.txt", "cd src && cd sub && cat c.py", "cd src && cp a.txt b"),
        *("cd src && cat < a.txt", "if cd src; then cat a.txt; fi", "cd src && sort a.txt | head"),
    ],
)
def test_what_may_not_be_read_may_not_be_read_from_its_folder(command):
    deny = ["Read(src/a.txt)", "Read(src/sub/c.py)"]
    assert decide("Bash", command, "bypassPermissions", deny=deny) is Effect.DENY
    assert decide("Bash", command, allow=["Bash"], deny=deny) is Effect.DENY
    assert decide("Bash", command, deny=deny) is Effect.DENY


@pytest.mark.parametrize(
    "command", ["cat a.txt && cd src", "cd docs && cat a.txt", "cd src && cat b"]
)
def test_what_is_read_elsewhere_may_be_read(command):
    assert decide("Bash", command, "bypassPermissions", deny=["Read(src/a.txt)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["touch ''", 'touch ""', "touch a ''", "touch '"])
def test_what_touches_no_name_is_asked_for_where_edits_are_accepted(command):
    assert decide("Bash", command, "acceptEdits") is Effect.ASK
    assert decide("Bash", "touch 'a b' c", "acceptEdits") is Effect.ALLOW


@pytest.mark.parametrize("command", ["cp b a ''", "cp a 'b", "touch a '"])
def test_an_empty_name_is_no_file_that_is_written(command):
    assert decide("Bash", command, "bypassPermissions", deny=["Edit(a)"]) is Effect.DENY


@pytest.mark.parametrize(("command", "effect"), [("ps aux", Effect.ALLOW), ("ps M", Effect.ALLOW)])
def test_the_letter_that_shows_the_environment_is_asked_for_in_either_case(command, effect):
    assert decide("Bash", command) is effect
    assert decide("Bash", f"{command}E") is Effect.ASK
    assert decide("Bash", f"{command}e") is Effect.ASK


@pytest.mark.parametrize("tool", ["Write", "Edit", "Read"])
def test_a_star_allows_the_files_of_the_working_folder_alone(tool):
    assert decide(tool, "/opt/data/x", allow=[f"{tool}(*)"]) is Effect.ASK
    assert decide(tool, "/srv/app/x", allow=[f"{tool}(*)"]) is Effect.ALLOW
    assert decide(tool, "/opt/data/x", allow=[tool]) is Effect.ALLOW


def test_what_sets_a_variable_of_the_environment_runs_beside_what_rules_allow_alone():
    rules = ["Bash(export *)", "Bash(make *)"]
    assert decide("Bash", "export PATH=x && make x", allow=rules) is Effect.ALLOW
    assert decide("Bash", "export FOO=x && ls", allow=rules) is Effect.ALLOW
    assert decide("Bash", "export PATH=x && ls", allow=rules) is Effect.ASK
    assert decide("Bash", "export USER=x | make x", allow=rules) is Effect.ASK


@pytest.mark.parametrize("name", ["LANGUAGE", "LC_TIME", "lc_time", "Path"])
def test_a_variable_by_which_a_shell_finds_what_follows_is_asked_for(name):
    assert decide("Bash", f"{name}=C; ls") is Effect.ASK
    assert decide("Bash", "TZ=UTC; ls") is Effect.ALLOW


@pytest.mark.parametrize("command", ["cd -x", "cd -L -P", "cd --", "cd src -d"])
def test_without_a_folder_a_change_is_one_to_the_home_folder(command):
    assert decide("Bash", command, allow=["Bash(cd *)"]) is Effect.ASK
    assert decide("Bash", "cd -P src", allow=["Bash(cd *)"]) is Effect.ALLOW


def test_a_text_ends_with_no_escape():
    assert decide("Bash", "'make' a\\", allow=["Bash(make *)"]) is Effect.ASK


PLANTED = (
    *("mkdir hooks && git status", "git log; touch HEAD", "echo x > refs/x && git log"),
    *("mkdir -p ./Hooks/a | git log", "mv a /srv/app/objects && git log", "git log > HEAD"),
    *("cp hooks/a b && timeout 5 git log", "cp /srv/app/src/HEAD . && NODE_ENV=x git log"),
)


@pytest.mark.parametrize("command", PLANTED)
def test_nobody_makes_a_repository_that_git_then_runs_in_unasked(command):
    rules = [
        "Bash(git *)",
        "Bash(mkdir *)",
        "Bash(touch *)",
        "Bash(mv *)",
        "Bash(cp *)",
        "Edit(/**)",
    ]
    assert decide("Bash", command, "acceptEdits") is Effect.ASK
    assert decide("Bash", command, "acceptEdits", allow=rules) is Effect.ASK
    assert decide("Bash", command, "dontAsk", allow=rules) is Effect.DENY
    assert decide("Bash", command, allow=["Bash"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("mkdir hooks && ls", "touch src/refs/x && git log", "touch HEAD.txt && git log"),
        *("rm -r hooks && git log", "cat HEAD && git log", "cp a src && git log", "git log < HEAD"),
    ],
)
def test_other_files_are_written_beside_git(command):
    assert decide("Bash", command, "acceptEdits") is Effect.ALLOW


def test_what_edits_is_substituted_in_no_text_unasked():
    assert decide("Bash", "mkdir", "acceptEdits") is Effect.ALLOW
    assert decide("Bash", 'echo "ab$(mkdir)"', "acceptEdits") is Effect.ASK


@pytest.mark.parametrize(
    "argument",
    [
        *('"$HOME:h"', '"ab$USER[1]"', '"$HOME[1]"', '"ab$USER:h x"', '"$=x"', '"a $^x"', '"$+x"'),
        *("'x '=a", '"x;"=ls', "'~'[x]", "a'~'[x]"),
    ],
)
def test_what_one_shell_reads_in_a_text_is_asked_for(argument):
    assert decide("Bash", f"make {argument}", allow=["Bash(make *)"]) is Effect.ASK
    assert decide("Bash", f"echo {argument}") is Effect.ASK


@pytest.mark.parametrize("argument", ['"$HOME:/x"', '"$HOME x"', '"ab$USER"', "'x'=a", "'$x:h'"])
def test_what_every_shell_reads_alike_is_allowed(argument):
    assert decide("Bash", f"make {argument}", allow=["Bash(make *)"]) is Effect.ALLOW


@pytest.mark.parametrize("program", ["make", "./make", "/usr/bin/make", "nohup ./make"])
def test_a_word_that_may_be_left_out_hides_no_program_of_some_folder(program):
    for word in ("$x", "$(ls)", "''"):
        assert decide("Bash", f"{program} a {word}", deny=["Bash(make a)"]) is Effect.DENY
