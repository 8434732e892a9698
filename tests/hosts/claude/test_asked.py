"""What stands near to what runs and is asked for, as Claude Code 2.1.329 was seen to do."""

from __future__ import annotations

import pytest

from policy.core.effect import Effect
from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")

ALLOWED = [
    "Bash(cp:*)",
    "Bash(foo:*)",
    "Bash(nohup:*)",
    "Bash(*=foo)",
    "Bash(test:*)",
    "Bash(getopts:*)",
    "Bash(set:*)",
    "Edit(out)",
]


@pytest.mark.parametrize(
    ("runs", "asks"),
    [
        # An option that takes a value, or speaks to another host, wherever it stands in a word.
        ("docker ps -a", "docker ps -ac"),
        ("docker images --no-trunc", "docker images --out=x"),
        ("docker logs -f x", "docker logs -- -r"),
        ("docker inspect --type container x", "docker inspect --format '{a}~' x"),
        ("grep --color x a", "grep x a --color"),
        ("grep -d skip x a", "grep -d x x /etc/passwd"),
        ("rg -d 5 x", "rg -d 5 /etc/passwd"),
        ("man -s 1:2 ls", "man -s {} ls"),
        ("man ls", "man -C x"),
        ("sed -n 1p a", "sed -n -f 1p a"),
        ("help cd", r"help 'a\b'"),
        ("ps -u bob", "ps --sid HEAD"),
        ("lsof -p 5", "lsof -c +x"),
        ("lsof -i", "lsof -i @host"),
        ("lsof -L x", "lsof -L 5x"),
        ("lsof -- x", "lsof -- -R5"),
        ("jq --arg .", "jq --rawfilex ."),
        ("cut -b ../docs/a.md a", "cut -DP -b ../docs/a.md"),
        ("cut -nb 1 a", "cut -n ../docs/a.md"),
        ("git tag -l a", "git tag a -l"),
        ("git branch --list x", "git branch -r x --list"),
        ("git blame -- a", "git blame -- --contents=x"),
        ("git diff -- a", "git diff -- --submodule"),
        # Words that a shell may make several of, and what is put into a variable.
        ("jq {a}", "jq {a},b}"),
        ("foo '{a,b}'", "foo \"{a\"'b,c}'"),
        ("NO_COLOR=x date", "NO_COLOR=$HOME date"),
        ("getopts ab: opt", "getopts ab: OPTIND"),
        ("set -e", "set -A PATH x"),
        # Tests that a grammar takes for others than a host does.
        ("[[ -f x ]]", "[[ -f -a x ]]"),
        ("[ a -nt b ]", "[ x -5 y ]"),
        ("[[ a == b ]]", "[[ ]] == b ]]"),
        # What is redirected.
        ("foo > 'out'", "foo > 'out' # x"),
        ("2>/dev/null ls", "2>/dev/null NODE_ENV=x ls"),
        ("2>/dev/null ls", "2>/dev/null NODE_ENV='x' ls"),
        ("cat < a'b'", "cat < a'$x'"),
        ("sort a <<< x", "sort a <<< ?x"),
        # A quote that is not closed.
        ("tr -d a' b", "tr -d a' $x b"),
        ("sed -n 1p b", "sed -n 1p b' a"),
        ("docker ps '-a", "docker ps '-rb"),
        ("cat 'b/a", "cat '~+/a"),
        ("cmp 'x", "cmp '= x"),
        ("cat src/'a", "cat src/'../a"),
        ("find . 'x", "find . -files0'-from"),
        ("seq 1 'x", "seq 1' -{a} "),
        ("xargs -d , echo", 'xargs -d "$HOME" echo'),
        ("cat <<'E'\nx\nE y", "cat <<'E'\nx\nE }"),
        ("cat <<'E'\nx\nE y", "cat <<'E'\nx\nE (a)"),
        ("man -k x", "man -k -- --x"),
        ("NODE_ENV=x", "NODE_ENV=x 2>&1"),
        ("NODE_ENV=x; ls 2>/dev/null", "NODE_ENV=x >/dev/null; ls"),
        ("cat < 'a'", "cat < 'a a $x"),
        ("foo 'x'", "cd src <<'E\nx\nE && foo"),
        ("nohup foo", "nohup command '|'"),
        ('nohup foo #a b "c"', 'nohup foo #a b "c${(ls)"'),
        ("foo |", "foo;|"),
        ("foo", "}=foo"),
        ("sed -n 1p -- a", "sed -n 1p -- -u"),
        ("cp a out", "cp a $((1)) out"),
        ("! CI=1 foo a=foo", "CI=1 ! foo a=foo"),
        ("foo a{b", "foo a,{b"),
        ("tr -d a b", "tr -*d a ~/x x"),
        ("hostname -f -s", "hostname -fs"),
        ("foo a=foo", "'LANG=C' a=foo"),
        ("foo a < {", "foo a < }"),
        ("foo a 2>&1", "foo a 2>&1 \\\n # x"),
        ("ls |", "ls\n|"),
        ("[[ a =~ 'b' ]]", "[[ a =~ `ls` ]]"),
        ("foo x > out", f"foo x > out/{'x' * 256}"),
        ("if foo; then foo x; fi", "if foo; then foo \ud800; fi"),
        ("CI=1 foo a=foo", "CI=1 [[ a=foo"),
        ("CI=1 true", "CI==1 true"),
        ("cd /srv/app && cd src", "cd . && cd src"),
        # What may come to an option of a test, or to nothing.
        ("test -f a$((1))", "test -f $((1))"),
        ('test -f "$PWD/a"', 'test -f "$USER..ab"'),
    ],
)
def test_near_to_what_runs_stands_what_is_asked_for(runs: str, asks: str) -> None:
    assert decide(runs, allow=ALLOWED) is Effect.ALLOW
    assert decide(asks, allow=ALLOWED) is Effect.ASK


def test_a_value_of_a_test_hides_no_pattern_behind_it() -> None:
    assert decide("find . -name '*.py'", allow=["Bash(find:*)"]) is Effect.ALLOW
    assert decide("find . -name -name '*.py'", allow=["Bash(find:*)"]) is Effect.ASK
    assert decide("find -f -name '*'", allow=["Bash(find:*)"]) is Effect.ASK


@pytest.mark.parametrize("command", ["cd -N +5 src", "cd -- -x y", "cd - x"])
def test_two_folders_are_two_whatever_they_begin_with(command: str) -> None:
    assert decide(command, allow=["Bash(cd:*)"]) is Effect.ASK


STILL = [
    *("ls && cd . && ls", "cd . ; ls", "cd . || ls", "cd . && ls | head", "cd . | ls"),
    *("cd . && cd . && ls", "cd /srv/app | cat a", "cat a && cd .", "cd . 2>/dev/null && ls"),
    *("NODE_ENV=x cd . && ls", "if cd .; then ls; fi", "! cd . && ls", "cd .\nls"),
]


@pytest.mark.parametrize("command", STILL)
def test_a_change_to_the_same_folder_is_one_where_reads_are_denied(command: str) -> None:
    assert decide(command, deny=["Read(secrets/**)"]) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        *("cd . && ls", "cd './' && cat a", "cd /srv/app/ && ls", "cd /srv/app; cat a"),
        *("foo && cd /srv/app && cat a", "foo && cd . && git status", "cd . && foo a"),
    ],
)
def test_a_chain_that_begins_with_it_stays_where_it_is(command: str) -> None:
    assert decide(command, allow=ALLOWED, deny=["Read(secrets/**)"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *(
            "IFS=, for f in a b; do ls $f; done",
            "X=a if ls; then ls; fi",
            "X='a b' done",
            "X=$(ls) then",
            ">out fi",
        ),
        *("X=a f() { ls; }", ">out while ls; do ls; done", "ls | X=a for f in a; do ls; done"),
        *("echo ${2X}", "echo ${x!}", "echo $$(ls)", "echo '$$[1]'", "echo $${x}"),
    ],
)
def test_what_shells_begin_in_different_places_is_asked_for_whatever_is_allowed(
    command: str,
) -> None:
    assert decide(command, "bypassPermissions") is Effect.ASK


@pytest.mark.parametrize("command", ["X=a; for i in a; do ls; done", "X=a { ls; }", "X=a 'for' x"])
def test_what_all_shells_read_alike_runs_where_all_is_allowed(command: str) -> None:
    assert decide(command, "bypassPermissions") is Effect.ALLOW


def test_a_text_that_is_put_on_the_input_is_part_of_what_rules_deny() -> None:
    assert decide("cat a <<< x", deny=["Bash(* x)"]) is Effect.DENY
    assert decide("cat a <<< y", deny=["Bash(* x)"]) is Effect.ALLOW
    assert decide("<<<x cat a", deny=["Bash(<<<x *)"]) is Effect.DENY


def test_what_is_denied_is_denied_behind_whatever_env_takes_for_a_variable() -> None:
    lists = {"allow": ["Bash(env:*)"], "deny": ["Read(.env)"]}
    assert decide("env A:=1 cat a", **lists) is Effect.ALLOW
    assert decide("env A:=1 cat .env", **lists) is Effect.DENY
    assert decide("env A:=1 eval x", **lists) is Effect.ASK


@pytest.mark.parametrize("command", ["grep x'", "grep x' a"])
def test_rules_that_ask_know_a_word_whose_quote_is_not_closed_as_it_is_read(command: str) -> None:
    assert decide(command, ask=["Bash(* x)"]) is Effect.ASK
    assert decide(command, ask=["Bash(* y)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["foo a\rb", "foo '\x01'", "foo \x85", "foo \x7f", "\x1bfoo"])
def test_a_command_with_a_character_that_controls_a_terminal_is_refused(command: str) -> None:
    for allowed in ("Bash", "Bash(foo *)"):
        assert decide(command, allow=[allowed]) is Effect.DENY
        assert decide("foo a\tb\nfoo \xa0", allow=["Bash"]) is Effect.ALLOW


@pytest.mark.parametrize(
    ("runs", "asks"),
    [
        ("foo < a*", "foo < ~+"),
        ("foo < 'a'", "foo < '$x'"),
        ("expr -1.", "expr -1.."),
        ('foo >> "$HOME/x"', "foo >> $HOME"),
    ],
)
def test_where_reads_are_kept_inside_files_are_told_by_name(runs: str, asks: str) -> None:
    for kept in (True, False):
        lists = {"allow": ["Bash"], "blockReadsOutsideWorkingDirectories": kept}
        assert decide(runs, **lists) is Effect.ALLOW
        assert decide(asks, **lists) is (Effect.ASK if kept else Effect.ALLOW)


@pytest.mark.parametrize(
    "command",
    [
        *("cd src &&foo", "cd src  &&  foo", "cd src && foo 2>&1", "cd src >/dev/null && foo"),
        *("nice cd src && foo", "X=1 cd src && foo", "cd src && foo > out", "cd src && foo # x"),
    ],
)
def test_a_rule_that_denies_knows_all_of_a_command_without_what_is_around_it(command: str) -> None:
    assert decide(command, allow=ALLOWED, deny=["Bash(cd src && foo)"]) is Effect.DENY
    assert decide(command, allow=ALLOWED, deny=["Bash(cd src && fo)"]) is not Effect.DENY


def test_blanks_at_the_ends_of_a_command_are_no_part_of_it_to_rules_that_deny() -> None:
    assert decide("grep 'x '", ask=["Bash(* x)"]) is Effect.ASK
    assert decide("grep a 'x '", deny=["Bash(grep * x)"]) is Effect.DENY
    assert decide("' foo' x", deny=["Bash(foo *)"]) is Effect.DENY


@pytest.mark.parametrize("command", ['foo "a  b" c', "foo 'a\tb' c", "make && foo a\\ \\ b c"])
def test_several_quoted_blanks_are_one_to_a_star_that_denies(command: str) -> None:
    for rule in ("Bash(foo a b *)", "Bash(foo a b:*)", "Bash(*a b c*)"):
        assert decide(command, allow=["Bash"], deny=[rule]) is Effect.DENY, rule
        assert decide(command, allow=["Bash"], ask=[rule]) is Effect.ASK, rule
    assert decide(command, allow=["Bash"], deny=["Bash(foo a bc*)"]) is Effect.ALLOW


def test_behind_xargs_a_star_must_stand_at_the_end_of_what_allows() -> None:
    for pattern, effect in (("foo *", Effect.ALLOW), ("foo:*", Effect.ALLOW), ("f* x", Effect.ASK)):
        assert decide("xargs foo x", allow=[f"Bash({pattern})"]) is effect, pattern
    assert decide("xargs foo x", allow=["Bash(xargs * x)"]) is Effect.ALLOW


def test_a_rule_spells_out_the_whole_of_a_command_without_a_star() -> None:
    assert decide("foo {a,b}", allow=["Bash(foo {a,b})"]) is Effect.ALLOW
    assert decide("foo {a,b}", allow=["Bash(foo {a,b}:*)"]) is Effect.ASK


def test_no_rule_spells_out_a_quote_that_nobody_wrote() -> None:
    assert decide("foo 'x'", allow=["Bash(foo 'x')"]) is Effect.ALLOW
    assert decide("foo 'x", allow=["Bash(foo 'x')"]) is Effect.ASK


@pytest.mark.parametrize("command", ["./ set -e", "~/ set -e"])
def test_a_folder_is_no_program_to_rules_that_deny(command: str) -> None:
    assert decide(command, allow=["Bash(* -e)"], deny=["Bash(set *)"]) is Effect.DENY


def test_what_env_sets_may_lead_reads_elsewhere() -> None:
    kept = {"allow": ["Bash(env:*)", "Bash(id:*)"], "blockReadsOutsideWorkingDirectories": True}
    assert decide("env a IFS=5", **kept) is Effect.ASK
    assert decide("id IFS=5", **kept) is Effect.ALLOW


@pytest.mark.parametrize("command", ['git log b" \u00e9', 'foo "\u00e9', "foo a $[1;]"])
def test_what_does_not_end_is_asked_for_in_any_letters(command: str) -> None:
    assert decide(command, allow=ALLOWED) is Effect.ASK


@pytest.mark.parametrize(
    ("runs", "asks"),
    [
        ("export 'a' A=1", "export 'a'b A=1"),
        ("export A='x'", "export A=1 a'b'c"),
        ("typeset 'ab' A=1", "typeset a'b' A=1"),
    ],
)
def test_a_name_that_is_partly_quoted_is_none_to_declare(runs: str, asks: str) -> None:
    lists = {"allow": ["Bash(export *)", "Bash(typeset *)"]}
    assert (decide(runs, **lists), decide(asks, **lists)) == (Effect.ALLOW, Effect.ASK)


def test_a_comment_runs_nothing_that_stars_take() -> None:
    for rule in ("Bash( *)", "Bash(**)"):
        assert decide("# a", deny=[rule]) is Effect.ALLOW
        assert decide("# a", ask=[rule]) is Effect.ALLOW
        assert decide("ls # a", deny=[rule]) is Effect.DENY
    assert decide("# a", deny=["Bash(# a)"]) is Effect.DENY


@pytest.mark.parametrize(
    ("runs", "asks"),
    [
        *(("((x[a]))", "((x[a))"), ("((x))", "((x]a[b))"), ("((x[a]))", "ls; ((x[a)); ls")),
        ("(((x)))", "((x)&&(y))"),
        ("for ((i=0; i<1; i++)); do ls; done", "for ((i=0; i[1; i++)); do ls; done"),
        ("for ((i=(1)*2;;)); do ls; done", "for ((i='1';;)); do ls; done"),
    ],
)
def test_a_sum_ends_with_its_brackets_to_every_reader_or_is_asked_for(runs: str, asks: str) -> None:
    assert decide(runs, allow=["Bash"]) is Effect.ALLOW
    assert decide(asks, allow=["Bash"]) is Effect.ASK
    assert decide(asks, "bypassPermissions") is Effect.ASK


def test_where_reads_are_kept_inside_command_is_given_options_that_start_nothing() -> None:
    lists = {"allow": ["Bash(* a)"], "blockReadsOutsideWorkingDirectories": True}
    assert decide("command -v -- cat a", **lists) is Effect.ALLOW
    assert decide("command -v -o cat a", **lists) is Effect.ASK
    assert decide("nice command -v -o cat a", **lists) is Effect.ASK


@pytest.mark.parametrize("command", ['foo "rc: $?"', 'foo; foo "$# of $$"', 'foo "a $-" | foo'])
def test_what_a_shell_sets_may_be_put_into_a_text_that_rules_allow(command: str) -> None:
    assert decide(command, allow=["Bash(foo *)"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *('foo "$?"', "foo $?", 'foo "a $!"', 'foo "a $0"', 'foo "a $@"', 'foo "a $1"'),
        *('foo "a ${?}"', 'foo x"$?"', 'foo > "a $?"', 'echo "a $?"', '"foo $?" x'),
    ],
)
def test_other_parameters_may_not_nor_without_a_rule(command: str) -> None:
    assert decide(command, allow=["Bash(foo *)"]) is Effect.ASK
