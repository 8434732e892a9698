"""What Claude Code takes for harmless, and what rules that deny see, as 2.1.329 was seen to."""

from __future__ import annotations

import json

import pytest

from policy.commands.knowledge import Program
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.opening import Memory
from policy.hosts.claude import ClaudeOptions, load
from policy.hosts.claude.data.programs import EDITING_PROGRAMS, READ_ONLY_PROGRAMS
from policy.tables.chain import Chain
from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")


def programs(known: dict[str, Program], before: str = "") -> list[tuple[str, Program]]:
    found = []
    for name, program in known.items():
        found.append((f"{before}{name}", program))
        found += programs(dict(program.subcommands), f"{before}{name} ")
    return found


ALL = programs(dict(READ_ONLY_PROGRAMS)) + programs(dict(EDITING_PROGRAMS))

# With any option of these the host runs them, and asks for some by name.
ANY_OPTION = frozenset(
    "ls cat stat diff cmp rev tac nl column od hexdump strings comm paste fold fmt expand unexpand"
    " tsort pr numfmt wc head tail cut readlink realpath du df basename dirname tr id uname free cal"
    " true false seq expr locale sleep groups uptime nproc type echo find jq mkdir rm rmdir".split()
) | {"[", "[[", "docker ps", "docker images"}


def test_only_listed_programs_are_harmless_with_any_option():
    assert {name for name, known in ALL if known.harmless and known.flags is None} == ANY_OPTION


@pytest.mark.parametrize("option", ["--nosuch", "--nosuch=1", "-\u00e9", "-_"])
def test_an_option_that_nobody_saw_run_is_asked_for(option):
    for name, known in ALL:
        if known.harmless and known.flags is not None:
            assert decide(f"{name} {option} a") is Effect.ASK, name


@pytest.mark.parametrize(
    "command",
    [
        *("sort -k 2 a", "sort -rn a", "grep -A5 x a", "tree -L 2"),
        *("ps -ef", "ps aux", "git log --oneline -5", "git log --format='%h %s'", "git stash list"),
        *(
            "git branch --list x",
            "git branch --merged main",
            "date +%F",
            "sed -n 1,5p a",
            "jq .a a",
        ),
        *("echo x | sed 's/a/b/g'", "xargs -I {} echo {}", "fd -e py", "rg -t py x", "tput cols"),
    ],
)
def test_what_was_seen_to_run_runs(command):
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("sort -k2 a", "tree -o out", "tree -L2", "ps e", "ps -C node", "git log --format=x"),
        *(
            "git branch x",
            "git branch -a x",
            "git reflog show expire",
            "git remote -vv",
            "date 0101",
        ),
        *(
            "sed -n '1,$p' a",
            "sed 's|a|b|'",
            "sed -n '1p;' a",
            "jq env a",
            "jq 'import \"x\" as y; .' a",
        ),
        *(
            "xargs -I{} echo {}",
            "xargs -n 1 --",
            "cat < 'a\nb'",
            "fd -x rm",
            "tput reset",
            "printf %n X",
            "printf -v PATH x",
            "uniq a",
        ),
        *("find . -files0-from a", "grep 'a{1,2}' a", "cat 'a$b'", "ls 2>&1 x", "ls > /dev/null x"),
        *("[ -f a && -f b ]", "[ -f a ]#", "echo {$((1+2))}", "test <<< find&&", "!<a diff A= b"),
        *("timeout -k 5 10 ls", "[ a -eq 0 ]", "[[ -v 'a[0]' ]]", "[ -f a? ]", "echo 'a\n#b'"),
        *(
            'echo "exit $?"',
            "LANG=C; ls",
            "CI=/a ls",
            "man -P cat ls",
            "ifconfig eth0 up",
            "which *.py",
        ),
    ],
)
def test_what_was_seen_to_be_asked_for_is(command):
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize("value", ["''", "'a'", '"a"', "a,b", "a=b", "a@b", ""])
def test_a_harmless_command_runs_behind_values_that_rules_do_not_look_through(value):
    assert decide(f"CI={value} ls") is Effect.ALLOW
    assert decide(f"CI={value} make", allow=["Bash(make *)"]) is Effect.ASK
    assert decide(f"DEBUG={value} ls") is Effect.ASK


def test_a_rule_that_denies_sees_a_command_behind_an_element_of_an_array():
    assert decide("A[0]=1 make", allow=["Bash"], deny=["Bash(make *)"]) is Effect.DENY
    assert decide("CI[0]=1 make", allow=["Bash(make *)"]) is Effect.ASK


@pytest.mark.parametrize("command", ["cp -f a b", "mv -n a b", "touch -d now a", "cp *.txt src"])
def test_the_mode_that_accepts_edits_takes_no_option_of_these(command):
    assert decide(command, "acceptEdits") is Effect.ASK
    assert decide(command.split()[0] + " a b", "acceptEdits") is Effect.ALLOW


@pytest.mark.parametrize("command", ["ls &", "ls & pwd"])
def test_a_harmless_command_in_the_background_is_asked_for_though_any_is_allowed(command):
    assert decide(command, allow=["Bash"]) is Effect.ASK
    assert decide("make &", allow=["Bash"]) is Effect.ALLOW
    assert decide(command, "bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize("command", ["((ls 'a'))", "((ls); pwd)", "echo $(("])
def test_a_sum_that_may_be_two_groups_is_asked_for_in_any_mode(command):
    assert decide(command, "bypassPermissions") is Effect.ASK
    assert decide("((1+2))", "bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize(
    "words", ["test $X", "$X test", "test ''", "test $(ls)", "test `ls`", "test ${X:-y}", "test $@"]
)
def test_a_rule_that_denies_sees_a_command_without_words_that_may_vanish(words):
    assert decide(f"make {words}", allow=["Bash"], deny=["Bash(make test)"]) is Effect.DENY
    assert decide('make test "$X"', allow=["Bash"], deny=["Bash(make test)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["ls", "find", "rg x", "grep -r x", "git grep x"])
def test_what_reads_the_working_folder_is_denied_with_it(command):
    assert decide(command, deny=["Read(//srv/**)"]) is Effect.DENY
    assert decide(command, deny=["Read(src/**)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["grep -f .env a", "rg --file=.env a", "sed -f .env a"])
def test_a_file_that_is_the_value_of_an_option_is_read(command):
    assert decide(command, deny=["Read(.env)"]) is Effect.DENY


def test_text_on_standard_input_is_part_of_a_command_for_an_exact_rule():
    assert decide("make <<< x", allow=["Bash(make)"]) is Effect.ASK
    assert decide("make <<< x", allow=["Bash(make *)"]) is Effect.ALLOW
    assert decide("make a <<< x", allow=["Bash(* a)"]) is Effect.ASK
    assert decide("timeout 5 make a <<< x", allow=["Bash(timeout 5 make a)"]) is Effect.ASK
    assert decide("make a <<< x", allow=["Bash(* a)", "Bash(make*)"]) is Effect.ALLOW


@pytest.mark.parametrize("glob", ["//", "/", "///"])
def test_slashes_alone_match_no_file(glob):
    assert decide("cat a", deny=[f"Read({glob})"]) is Effect.ALLOW
    assert decide("cat /etc/hosts", allow=[f"Read({glob})"]) is Effect.ASK


def test_stars_and_a_slash_match_what_is_in_folders():
    assert decide("cat a", deny=["Read(**/)"]) is Effect.ALLOW
    assert decide("cat src/a", deny=["Read(**/)"]) is Effect.DENY


def test_in_a_plan_a_model_decides_where_there_is_one():
    (judged,) = load(Memory({".claude/settings.json": "{}"}), ClaudeOptions(mode="plan"))
    switch = '{"permissions": {"disableAutoMode": "disable"}}'
    (asked,) = load(Memory({".claude/settings.json": switch}), ClaudeOptions(mode="plan"))
    reasons = [
        Chain.start("main", each.enforced).decide("Bash", {"command": "make"}).reason
        for each in (judged, asked)
    ]
    assert reasons == [Reason.CLASSIFIER, Reason.DEFAULT]


def test_a_switch_against_bypassing_permissions_is_stronger_than_the_flag():
    switch = '{"permissions": {"disableBypassPermissionsMode": "disable"}}'
    options = ClaudeOptions(mode="bypassPermissions")
    (project,) = load(Memory({".claude/settings.json": switch}), options)
    decision = Chain.start("main", project.enforced).decide("Bash", {"command": "make"})
    assert decision.effect is Effect.ASK


@pytest.mark.parametrize("glob", ["sub/**", "**/sub/**", "sub", "b.md", "*.md", "./sub/**", "**"])
def test_a_rule_without_a_prefix_denies_in_every_working_folder(glob):
    folders = ["/srv/docs"]
    command = "cat /srv/docs/sub/b.md"
    given = {"additionalDirectories": folders, "deny": [f"Read({glob})"]}
    assert decide(command, additionalDirectories=folders) is Effect.ALLOW
    assert decide(command, **given) is Effect.DENY
    assert decide("cat /srv/docs/x", additionalDirectories=folders, deny=["Read(/sub/**)"]) is (
        Effect.ALLOW
    )
    writing = "echo x > /srv/docs/sub/b.md"
    assert decide(writing, additionalDirectories=folders, allow=[f"Edit({glob})"]) is Effect.ASK


def test_in_a_plan_with_a_model_rules_that_allow_anything_are_left_to_it():
    assert decide("python3 a.py", "plan", allow=["Bash(python3 *)"]) is Effect.ASK
    assert decide("make", "plan", allow=["Bash(make *)"]) is Effect.ALLOW


@pytest.mark.parametrize("rule", ["Agent", "Task", "Agent(*)", "Agent(nosuch)"])
def test_a_rule_that_allows_agents_makes_none_be_there(rule):
    settings = json.dumps({"permissions": {"allow": [rule]}})
    (project,) = load(Memory({".claude/settings.json": settings}), ClaudeOptions())
    main = Chain.start("main", project.enforced)
    assert main.decide("Agent", {"subagent_type": "nosuch"}).effect is Effect.DENY
    assert main.decide("Agent", {"subagent_type": "Explore"}).effect is Effect.ALLOW


@pytest.mark.parametrize("command", ["eval ls", "exec ls", "trap ls EXIT", "eval 'ls'"])
def test_what_evaluates_text_is_asked_for_though_a_rule_with_a_star_allows_it(command):
    assert decide(command, allow=[f"Bash({command.split()[0]} *)"]) is Effect.ASK
    assert decide(command, allow=["Bash"]) is Effect.ALLOW


def test_a_target_that_goes_down_and_up_again_is_asked_for():
    assert decide("echo a > src/../out", "acceptEdits") is Effect.ASK
    assert decide("echo a > ./out", "acceptEdits") is Effect.ALLOW
    assert decide("echo a > src/../out", allow=["Bash"], deny=["Edit(out)"]) is Effect.DENY


@pytest.mark.parametrize("ahead", ["", "-L ", "-H -- ", "-- ", "-O3 "])
def test_folders_that_find_is_given_count_behind_what_may_stand_before_them(ahead):
    assert decide(f"find {ahead}. -name x") is Effect.ALLOW
    assert decide(f"find {ahead}/etc -name x") is Effect.ASK


@pytest.mark.parametrize("action", ["-delete", "-exec rm {} +", "-fprint a", "-ok rm {} +"])
def test_two_dashes_end_no_options_of_find(action):
    # What follows is an expression all the same, and is run.
    assert decide(f"find -- . {action}") is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.py' {}",
        "git log 'a*' {}",
        "sort 'a?' {}",
        "printf '[a]' {}",
        "timeout 5 id 'a*' {}",
        "xargs grep 'a*' {}",
    ],
)
@pytest.mark.parametrize("more", ["\\\n x", "'$X'"])
def test_a_star_is_quoted_no_more_in_a_command_that_is_put_together_anew(command, more):
    assert decide(command.format(more)) is Effect.ASK
    assert decide(command.format("x")) is Effect.ALLOW


@pytest.mark.parametrize("command", ["ls 'a*' {}", "grep 'a*' {}", "echo '?' {}"])
def test_programs_that_take_stars_run_behind_a_line_break_too(command):
    assert decide(command.format("\\\n x")) is Effect.ALLOW


@pytest.mark.parametrize("command", ["xargs echo *.py", "xargs -t grep x -- [a]", "date +*"])
def test_a_star_that_a_shell_expands_is_asked_for(command):
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize(
    ("rule", "command", "effect"),
    [
        ("foo 'a' *", "foo 'a' x", Effect.ALLOW),
        ("foo 'a' *", "foo 'a' \\\n x", Effect.ASK),
        ("foo a *", "foo 'a' \\\n x", Effect.ALLOW),
        ('foo "$HOME" *', 'foo "$HOME" x', Effect.ASK),
        ('foo "$HOME" *', 'foo "$HOME"', Effect.ASK),
        ("foo */x", 'foo "$HOME/x"', Effect.ALLOW),
        ('foo -m "*', 'foo -m "a\nb"', Effect.ASK),
        ("foo -m '*", 'foo -m "a\nb"', Effect.ALLOW),
        ('foo -m "$(cat <<*', "foo -m \"$(cat <<'E'\nx\nE\n)\" '$X'", Effect.ASK),
        ('foo "ab$(ls)" *', 'foo "ab$(ls)" x', Effect.ALLOW),
        ('foo "ab$(ls)" *', 'foo "ab$(ls)" \\\n x', Effect.ASK),
        ("foo && bar *", "foo && bar", Effect.ASK),
        ("foo && bar", "foo && bar", Effect.ALLOW),
    ],
)
def test_a_rule_with_quotes_speaks_of_what_is_put_together_anew(rule, command, effect):
    assert decide(command, allow=[f"Bash({rule})"]) is effect


def test_a_rule_that_denies_sees_through_what_is_put_together_anew():
    for command in ("foo 'a' \\\n x", "foo {} '$X'", "foo a \\\n '*'"):
        assert decide(command, allow=["Bash"], deny=["Bash(foo *)"]) is Effect.DENY


MISREAD = ["x~1", "a~2/b", "x.", "a /b", ".../x", "x.con", "y.LPT9"]


@pytest.mark.parametrize("name", MISREAD)
def test_a_file_that_windows_takes_for_another_is_asked_for(name):
    settings = json.dumps({"permissions": {"allow": ["Bash", "Edit(/**)", "Read(/**)"]}})
    for mode in ("default", "acceptEdits"):
        options = ClaudeOptions(cwd="/srv/app", home="/home/alice", mode=mode)
        (project,) = load(Memory({".claude/settings.json": settings}), options)
        chain = Chain.start("main", project.enforced)
        for tool in ("Edit", "Write", "Read"):
            assert chain.decide(tool, {"file_path": f"/srv/app/{name}"}).effect is Effect.ASK
        for command in ("echo a > '{}'", "touch '{}'", "rm '{}'", "cp a '{}'"):
            asked = chain.decide("Bash", {"command": command.format(name)})
            assert asked.effect is Effect.ASK, command
        assert chain.decide("Bash", {"command": f"cat '{name}'"}).effect is Effect.ALLOW
    assert decide(f"touch '{name}'", mode="bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    ["> x cat a", "2> x git log", "> x mkdir b", "hostname '-f'", "uniq <<< x", "cat '=a'"],
)
def test_what_is_read_by_its_spelling_is_asked_for_where_it_is_spelled_otherwise(command):
    assert decide(command, mode="acceptEdits") is Effect.ASK


@pytest.mark.parametrize("command", ["cat a > x", ">/dev/null ls", "hostname -f", "jq . <<< x"])
def test_what_is_read_by_its_spelling_runs_as_it_is_spelled(command):
    assert decide(command, mode="acceptEdits") is Effect.ALLOW


@pytest.mark.parametrize("name", ["'x*'", "a\\?", "'[a]'", "'{a}'", "'a}'", "'=a'"])
@pytest.mark.parametrize(
    "command", ["mkdir {}", "touch {}", "rm {}", "cp a {}", "cp {} b", "mv {} b", "echo a > {}"]
)
def test_nothing_is_written_under_a_name_that_is_a_pattern(command, name):
    text = command.format(name)
    allow = ["Edit(/**)", *(f"Bash({program} *)" for program in "mkdir touch rm cp mv".split())]
    assert decide(text, mode="acceptEdits") is Effect.ASK
    assert decide(text, allow=allow) is Effect.ASK
    assert decide(text, allow=["Bash"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "find . 'a?' -name x",
        "find . -name '*' '[a]'",
        "find -f '*' x",
        "find . -name *.py",
        'find . -newer "$HOME/x"',
        "find . -rm",
        "find -df x",
        "awk '{print}' *.py",
        "gawk 'BEGIN{system(\"ls\")}'",
        "mawk '{print | \"sh\"}' a",
        "awk '@load \"x\"'",
        "awk -i x a",
        "awk '{print \"/inet/tcp\"}'",
        "printf '%s' \"a$(ls)b\"",
        "nohup 'foo b' c",
        "nohup CI=1 foo b",
        "env -C x foo b",
        "env -i0 foo",
        "print -rP a",
        "jobs -lx foo",
        "stat -nA a b",
        "xargs awk -F:",
        "xargs env find x",
        "foo /proc/self/environ",
        "foo < /proc/1/environ",
    ],
)
def test_no_rule_with_a_star_allows_what_nobody_vouches_for(command):
    names = "find awk gawk mawk printf nohup foo env print jobs stat xargs ls"
    rules = [f"Bash({name} *)" for name in names.split()]
    assert decide(command, allow=[*rules, "Read(//proc/**)"]) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.py' -o -path '*/a'",
        "awk '/a|b/' a",
        "awk -F '|' '{print $1}' a",
        "awk '{getline x; print}' a",
        "env -v foo -x",
        "env A=1 foo -C",
        "xargs awk '{print}'",
        "nohup foo b",
    ],
)
def test_a_rule_with_a_star_allows_what_the_host_vouches_for(command):
    rules = [f"Bash({name} *)" for name in "awk foo env xargs".split()]
    assert decide(command, allow=rules) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "ls 10>&1",
        "echo 12>/dev/null",
        "echo { 'a'",
        "cat { <<'E'\nx\nE",
        '[ -f "$HOME" ]',
        '[[ "$HOME" == a ]]',
        "[[ -f /usr/bin/a // ]]",
        "[[ a = ]]",
        "git grep x src/../a",
        "git diff src/../a",
        "CI=1 command sort a",
        "TERM='a b' timeout 5 git log",
    ],
)
def test_what_shells_may_read_in_two_ways_is_asked_for(command):
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        "ls 2>&1",
        "echo {} 'a'",
        "echo '{' 'a'",
        "[ -n '$HOME' ]",
        "[[ a && ! -f b ]]",
        "[ a = b ]",
        "CI=1 command ls",
        "CI=1 sort a",
    ],
)
def test_what_every_shell_reads_alike_runs(command):
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "grep -e x {}",
        "grep --regexp=x {}",
        "grep --exclude-from {} x a",
        "git grep -e x {}",
        "git grep -f a x {}",
        "sort -t {} a",
        "file -F {} a",
        "find . -newer {}",
        "find . -path {}",
        "find . -newermt {}",
        "find a -- {}",
        "cat a -x/../{}",
    ],
)
def test_a_file_is_read_behind_options_that_make_it_one(command):
    assert decide(command.format("/etc/x")) is Effect.ASK


@pytest.mark.parametrize("command", ["sed -e 1p {}", "gawk '1' {}", "awk -e 1 {}", "sort -k {} a"])
def test_a_rule_that_denies_a_file_sees_it_behind_options_that_make_it_one(command):
    lists = {"allow": ["Bash"], "deny": ["Read(.env)"]}
    assert decide(command.format(".env"), **lists) is Effect.DENY
    assert decide(command.format("b"), **lists) is Effect.ALLOW


@pytest.mark.parametrize(
    ("rule", "command", "effect"),
    [
        ("npm*", "npm test", Effect.ALLOW),
        ("npm*", "npmx/a.b-c~1 a", Effect.ALLOW),
        ("npm*", "npm=x a", Effect.ASK),
        ("npm*", "npm{a} a", Effect.ASK),
        ("npm*", "npm^x", Effect.ASK),
        ("npm*", "npm/../x a", Effect.ASK),
        ("npm*", "npm'x' a", Effect.ALLOW),
        ("env ba*", "env baz", Effect.ALLOW),
        ("env ba*", "env ba'z' x", Effect.ASK),
        ("git p*", "git p'ush' x", Effect.ALLOW),
        ("./foo*", "./foo'x'", Effect.ALLOW),
        ("make -*", 'make -"$HOME"', Effect.ALLOW),
    ],
)
def test_a_rule_that_breaks_off_in_the_name_of_a_program_goes_on_plainly(rule, command, effect):
    assert decide(command, allow=[f"Bash({rule})"]) is effect


@pytest.mark.parametrize(
    "command",
    ["printf ? '%s' a", "test -f *.py", "set *.py a", "exit * a", "wait *", "print ~bob a"],
)
def test_a_builtin_is_asked_for_with_what_a_shell_expands(command):
    names = "printf test set exit wait print".split()
    assert decide(command, allow=[f"Bash({name} *)" for name in names]) is Effect.ASK


@pytest.mark.parametrize("rule", [" foo *", "foo  bar *", " foo * a ", "*  a", "\tfoo *", " * "])
def test_blanks_of_a_rule_with_a_star_are_folded(rule):
    assert decide("foo bar a", allow=["Bash"], deny=[f"Bash({rule})"]) is Effect.DENY


@pytest.mark.parametrize("rule", [" foo bar", " foo:*", "foo  bar"])
def test_blanks_of_any_other_rule_stand_as_they_are(rule):
    assert decide("foo bar", allow=["Bash"], deny=[f"Bash({rule})"]) is Effect.ALLOW


@pytest.mark.parametrize(
    ("rule", "command", "effect"),
    [
        (r"foo \* *", "foo '*' a", Effect.DENY),
        (r"foo \* *", "foo x a", Effect.ALLOW),
        (r"foo \* a", "foo '*' a", Effect.ALLOW),
        (r"foo \* a", r"foo \* a", Effect.DENY),
        (r"foo \* a", "foo b a", Effect.ALLOW),
    ],
)
def test_a_backslash_spells_a_star_beside_another(rule, command, effect):
    assert decide(command, allow=["Bash"], deny=[f"Bash({rule})"]) is effect


@pytest.mark.parametrize("command", ["ss -1", "rg --file a x", "ps --width x", "git grep -f a x"])
def test_an_option_that_the_host_does_not_list_is_asked_for(command):
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize("command", ["ss -0", "rg -f a x", "ps --width 5", "date -- +%F"])
def test_an_option_that_the_host_lists_runs(command):
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    ["jq . -", "jq '.a'b x", "jq -r'' .a x", r'jq ".[\"a\"]" x', "sed -n 1p -", "jq '.a' 'x'y"],
)
def test_an_argument_that_is_spelled_otherwise_is_asked_for(command):
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize(
    "command", ["jq -r .a'b' x", "jq --indent=2 '.a | .b' \"x\"", "jq '.[]' x"]
)
def test_an_argument_that_is_spelled_as_the_host_reads_it_runs(command):
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize("command", ["x=1", "x=1; foo a", "PATH=/x; foo a", "ls; x=1"])
def test_no_rule_with_a_star_allows_a_variable_to_be_set(command):
    assert decide(command, allow=["Bash(x=1 *)", "Bash(PATH=*)", "Bash(foo *)"]) is Effect.ASK
    assert decide(command, allow=[f"Bash({command})"]) is Effect.ALLOW


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("while foo; do ls; done", Effect.ALLOW),
        ("while foo; do ls; done > x", Effect.DENY),
        ("(while foo; do ls; done)", Effect.DENY),
        ("(foo a)", Effect.DENY),
        ("(bar a)", Effect.ALLOW),
    ],
)
def test_what_is_not_looked_into_is_denied_by_the_text_of_its_statement(command, effect):
    deny = ["Bash(w*)", "Bash((foo*)", "Bash((while *)"]
    assert decide(command, allow=["Bash"], deny=deny) is effect


@pytest.mark.parametrize(
    "command", ["\\command git log", "'timeout' 5 sort a", "xargs echo $((1+1))"]
)
def test_a_wrapper_that_is_quoted_vouches_for_no_listed_options(command):
    assert decide(command) is Effect.ASK


def test_behind_options_every_operand_of_cp_may_be_what_it_writes():
    lists = {"allow": ["Bash"], "deny": ["Edit(src/**)"]}
    assert decide("cp -r src build", **lists) is Effect.DENY
    assert decide("cp src/a.py b", **lists) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "echo ((1))",
        "a((1)) | cat",
        "echo $x((1))",
        "echo $''((1+1))",
        'echo $""((1+1))',
        "time ((1))",
    ],
)
def test_two_parentheses_behind_a_word_are_asked_for(command):
    assert decide(command, allow=["Bash"]) is Effect.ASK
    for known in ("ls; ((1))", "((1)) x", "echo a( (1) )", "echo a$((1))", "cat <<E\na ((b\nE"):
        assert decide(known, allow=["Bash"]) is Effect.ALLOW


@pytest.mark.parametrize("command", [r'"$(docker ps -a \)"', r"echo $(ls \)", r'ls "$(rm x \)"'])
def test_a_substitution_does_not_end_at_a_parenthesis_that_is_escaped(command):
    assert decide(command, "bypassPermissions") is Effect.ASK
    assert decide(r'echo "$(ls a\)b)"', "bypassPermissions") is Effect.ALLOW


def test_what_stands_in_a_pipeline_is_denied_by_its_whole_text():
    deny = {"allow": ["Bash"], "deny": ["Bash(while *)"]}
    for command in (
        "while a; do ls; done | cat",
        "ls; cat | while a; do ls; done",
        "while a; do ls; done | cat && ls",
    ):
        assert decide(command, **deny) is Effect.DENY
    for command in (
        "while a; do ls; done",
        "while a; do ls; done; cat",
        "until a; do ls; done | cat",
    ):
        assert decide(command, **deny) is Effect.ALLOW


def test_a_dash_is_no_page_of_a_manual():
    assert decide("man -k -") is Effect.ASK
    assert decide("man -k x") is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *(f"{before} sed s/a/b/ a" for before in ("nohup", "nice", "time", "timeout 5", "command")),
        *("nohup sed -n 1p a", "time sed -n 1p a", "LANG=C sed s/a/b/ a", "nohup sed s/a/b/ a b"),
        *("sed -n 1p '*'", "sed -n 1p 'a?'", "nohup sed -n 1p '[a]'", "sed s/a/b/ a"),
    ],
)
def test_sed_is_asked_for_in_the_background_where_edits_are_accepted(command: str) -> None:
    assert decide(f"{command} &", "acceptEdits", allow=["Bash"]) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        *("nohup sed -i s/a/b/ a", "nohup sed s/a/b/w a", "nohup sed 1d a", "nohup sed -e 1p a"),
        *("nohup sed s/a/b/ /etc/hosts", "nohup sed s/a/b/ .git/config", "sed s/a/b/ '*'"),
        *("sed -n 1p *", "sed -n 1p '$X'", "nohup sed -n 1p /etc/hosts", "nohup touch a"),
    ],
)
def test_but_not_where_it_would_be_asked_for_alone(command: str) -> None:
    assert decide(command, "acceptEdits") is Effect.ASK


@pytest.mark.parametrize("name", ["'*'", '"*"', "'a?'", "'[a]'"])
@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
def test_sed_that_only_reads_runs_on_a_name_in_quotes_that_would_be_a_pattern(name, mode) -> None:
    assert decide(f"sed -n 1p {name}", mode) is Effect.ALLOW
    assert decide(f"sed -n 1p {name[1:-1]}", mode) is Effect.ASK
    assert decide(f"sed s/a/b/ {name}", mode) is Effect.ASK


@pytest.mark.parametrize("command", ["sed 1d a", "sed -n '$p' a", "sed s/x/y/ a", "sed -e 1d a"])
def test_a_script_of_sed_that_may_write_counts_as_an_edit_of_its_files(command: str) -> None:
    assert decide(command, allow=["Bash(sed *)"]) is Effect.ALLOW
    assert decide(command, allow=["Bash(sed *)"], deny=["Edit(a)"]) is Effect.DENY
    assert decide(command.replace(" a", " .git/config"), allow=["Bash"]) is Effect.ASK


def test_one_that_prints_lines_does_not() -> None:
    assert decide("sed -n 1p a", deny=["Edit(a)"]) is Effect.ALLOW


@pytest.mark.parametrize("rule", ["Read(!.env)", "Read(./)", "Read(x/../..)", "Read(y)"])
def test_a_denial_of_reads_counts_behind_a_change_of_folder_whatever_it_matches(rule: str) -> None:
    assert decide("cd src && cat a", allow=["Read"]) is Effect.ALLOW
    assert decide("cd src && cat a", allow=["Read"], deny=[rule]) is Effect.ASK
    assert decide("cat a", allow=["Read"], deny=[rule]) is Effect.ALLOW


@pytest.mark.parametrize(
    "inner", ["mkdir d", "rm f", "touch f", "cp a b", "ls > f", "ls && mkdir d"]
)
def test_what_runs_unasked_changes_no_file_within_its_words(inner: str) -> None:
    command = f'echo "ab $({inner})"'
    assert decide(command, "acceptEdits") is Effect.ASK
    assert decide(command, "acceptEdits", allow=["Bash(echo *)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ['echo "ab $(ls)" > f', 'echo "ab $(ls)"; mkdir d'])
def test_beside_them_it_may_where_edits_are_accepted(command: str) -> None:
    assert decide(command, "acceptEdits") is Effect.ALLOW


def test_two_dashes_are_none_that_list_every_process_with_others() -> None:
    assert decide("ps -ef") is Effect.ALLOW
    assert decide("ps aux --") is Effect.ALLOW
    assert decide("ps -ef --") is Effect.ASK


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("node -v", Effect.ALLOW),
        ("node --version", Effect.ALLOW),
        ("node -v -v", Effect.ASK),
        ("node -v --version", Effect.ASK),
        ("node -v --", Effect.ASK),
        ("python3 --version", Effect.ALLOW),
        ("python3 --version --version", Effect.ASK),
    ],
)
def test_programs_that_run_scripts_tell_their_version_unasked_and_nothing_else(command, effect):
    assert decide(command) is effect


@pytest.mark.parametrize(
    ("rule", "command", "effect"),
    [
        ("Read(-)", "cat -", Effect.DENY),
        ("Read(/**)", "echo x | head -n 3 -", Effect.DENY),
        ("Read(src/**)", "cat -", Effect.ALLOW),
        ("Edit(-)", "tee -", Effect.DENY),
        ("Edit(-)", "cat -", Effect.ALLOW),
    ],
)
def test_a_dash_is_the_name_of_a_file_to_rules_that_deny(rule, command, effect):
    assert decide(command, deny=[rule]) is effect


@pytest.mark.parametrize("command", ["touch -", "cp a -", "cp - a", "mv a -", "sed s/a/b/ -"])
def test_the_mode_that_accepts_edits_asks_for_a_dash(command):
    assert decide(command, "acceptEdits") is Effect.ASK
    assert decide(command.replace(" -", " d"), "acceptEdits") is Effect.ALLOW


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("man a", Effect.ALLOW),
        ("man 3 a", Effect.ALLOW),
        ("man ./a", Effect.DENY),
        ("man ..", Effect.ASK),
    ],
)
def test_what_is_looked_up_in_a_manual_is_a_file_where_it_can_be_no_name(command, effect):
    assert decide(command, deny=["Read(a)"]) is effect


@pytest.mark.parametrize("command", ["hostname", "hostname -I", "git remote", "git remote -v"])
def test_two_dashes_are_no_option_of_some_programs(command):
    assert decide(command) is Effect.ALLOW
    assert decide(f"{command} --") is Effect.ASK


@pytest.mark.parametrize("command", ["alias &", "ls; alias &", "x=1 &", "x=1; ls &", "X=$(ls) &"])
def test_what_does_nothing_beyond_the_shell_is_asked_for_in_the_background(command) -> None:
    """2.1.329: its `&` defers it beyond what was checked; `make &` is what bare `Bash` allows."""
    assert decide(command, allow=["Bash"]) is Effect.ASK
    assert decide(f"{command} make &", allow=["Bash"]) is Effect.ALLOW


def test_a_rule_that_spells_out_a_command_in_the_background_denies_it_and_allows_it_not() -> None:
    """2.1.329."""
    assert decide("make &", allow=["Bash(make &)", "Bash(make *)"]) is Effect.ASK
    assert decide("make &", allow=["Bash"], deny=["Bash(make &)"]) is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ x.py",
        "sed -i 's/a b/c d/g' package.json docs/x.md",
        "sed -Ei s/a/b/ x.py",
        "sed s/a/b/ -i x.py",
        "sed --in-place s/a/b/2 ./x.py",
        "sed -i -- s/a/b/ README.md",
    ],
)
def test_files_are_edited_in_place_where_edits_are_accepted(command: str) -> None:
    assert decide(command, "acceptEdits") is Effect.ALLOW
    assert decide(command, "default") is Effect.ASK
    assert decide(command, "plan") is Effect.ASK
    assert decide(command, "acceptEdits", deny=[f"Edit({command.split()[-1]})"]) is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *(
            f"sed -i s/a/b/ {name}"  # what could be a command of it, behind a suffix `s/a/b/`
            for name in "a e.py web.py s.py s/c/d/ r/x 3d tests/t/t.we q.. é.py".split()
        ),
        "sed -i.bak s/a/b/ x.py",
        "sed -i -i s/a/b/ x.py",
        "sed -i -e s/a/b/ x.py",
        "sed -i s/a/b/w x.py",
        "sed -i 1d x.py",
        "sed -i s/a/b/ *.py",
        "sed -i s/a/b/ ../x.py",
        "sed -i s/a/b/ .git/config",
        "nice sed -i s/a/b/ x.py",
    ],
)
def test_what_may_be_more_than_an_edit_in_place_is_asked_for(command: str) -> None:
    assert decide(command, "acceptEdits") is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        *("\\history 5", "builtin type ls", "command help cd", "NO_COLOR=1 type ls", "'help' cd"),
        *("git log 'a\nb'", "man ls 'a\nb'", "sort 'a\nb'", 'printf a "$HOME"', "printf $HOME"),
        *('find . -name "$HOME"', "ss .", "ss -a 10", "ss '' -"),
    ],
)
def test_these_run_unasked_as_the_program_was_seen_to_run_them(command: str) -> None:
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("time type ls", "timeout 5 help cd", "nohup history", "env type ls", "grep 'a\nb' a"),
        *("rg x 'a\nb'", "git log '-x\nb'", 'printf a "$PWD"', "printf a $X", "ss x", "ss -a /x"),
        *("ss *", "time ss"),
    ],
)
def test_these_are_asked_for_as_the_program_was_seen_to_ask_for_them(command: str) -> None:
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize(
    "command", ["docker ps | CI=1; ls", "CI=1 | ls", "ls |& CI='a b' > /dev/null"]
)
def test_a_part_of_a_pipeline_that_sets_variables_is_asked_for(command):
    assert decide(command) is Effect.ASK
    assert decide(command, allow=["Bash(docker *)", "Bash(ls *)"]) is Effect.ASK
    assert decide(command, allow=["Bash"]) is Effect.ALLOW
    assert decide("CI=1; ls | cat a") is Effect.ALLOW


@pytest.mark.parametrize("command", ["test 'a[b]'", "test -f 'a['", "test a' [ab]", "test \\["])
def test_a_bracket_may_begin_a_subscript_in_a_test(command):
    assert decide(command) is Effect.ASK
    assert decide("[ 'a[b]' ]") is Effect.ALLOW
    assert decide("test 'a*'") is Effect.ALLOW


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("time for a", "time make a"),
        ("! for a", "! make a"),
        ("builtin [[ a", "builtin a b"),
        ("command [[", "command make"),
        ("A=1 }b", "A=1 b"),
        ("sort =$((1+2))", "sort a=$((1+2))"),
        ("sort '='$((1))", "sort 'a='$((1))"),
    ],
)
def test_what_shells_may_read_otherwise_no_rule_for_its_program_allows(asked, allowed):
    allow = [f"Bash({name} *)" for name in "time for make builtin [[ command A=1 sort".split()]

    assert decide(asked, allow=allow) is Effect.ASK
    assert decide(allowed, allow=allow) is Effect.ALLOW
