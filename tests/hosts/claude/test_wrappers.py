"""What Claude Code looks for behind programs that run others, as 2.1.329 was seen to."""

from __future__ import annotations

import json

import pytest

from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.opening import Memory
from policy.hosts.claude import ClaudeOptions, load
from policy.tables.chain import Chain
from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "script -cgh",
            "script -c'gh x'",
            "script -qc gh",
            "script --command=gh",
            "script f 'gh x'",
        ),
        *(
            "script -x gh",
            "script -O a gh",
            "script -q x gh y",
            "script -c '\\gh x'",
            "script -- gh",
        ),
        *("flock /tmp/l -cgh", "flock l -n gh x", "flock -xw 5 l gh x", "flock -c 'gh x' f"),
        *("env -Sgh", "env --split-string='gh x'", "env -S 'sudo gh x'", "env -iu A gh x"),
        *("sudo -Eu x gh x", "sudo -nu x gh x", "strace -fo x gh x", "ionice -tc 3 gh x"),
        *("watch -tn 5 gh x", "watch 'timeout 5 gh x'", "taskset -c0 gh"),
        *("sandbox-exec -f x gh x", "nsenter -mt 1 gh x", "builtin -x gh x", "command -pp gh x"),
        *("stdbuf -i0 -- gh x", "time -- gh x", "sudo B=1 gh x", "xargs gh x", "! gh x"),
    ],
)
def test_rules_that_deny_look_behind_options_of_any_kind(command):
    assert decide(command, deny=["Bash(gh *)"], allow=["Bash"]) is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *(
            "script -qcgh",
            "script -agh",
            "strace -cgh",
            "chrt -fgh",
            "nsenter -tgh",
            "ionice -c gh",
        ),
        *("script -c 'ls; gh x'", "script -a gh x", "script -q -- gh x", "taskset 0,1 gh x"),
        *(
            "stdbuf -oX gh x",
            "pkexec -u a gh x",
            "time -p -x gh",
            "command -v gh",
            "timeout x gh x",
        ),
    ],
)
def test_and_not_behind_what_they_take_for_an_option_or_for_a_value(command):
    assert decide(command, deny=["Bash(gh *)"], allow=["Bash"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["timeout 5 sudo gh", "stdbuf -oL sudo gh", "A=1 sudo gh"])
def test_a_wrapper_is_known_behind_those_that_rules_which_allow_look_through(command):
    assert decide(command, deny=["Bash(sudo *)"], allow=["Bash"]) is Effect.DENY


@pytest.mark.parametrize(
    "command", ["env sudo gh", "/usr/bin/sudo gh", "strace sudo gh", "exec -a x sudo gh"]
)
def test_and_not_behind_others_where_only_what_runs_in_the_end_is_known(command):
    assert decide(command, deny=["Bash(sudo *)"], allow=["Bash"]) is Effect.ALLOW
    assert decide(command, deny=["Bash(gh *)"], allow=["Bash"]) is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *("timeout -- 5 gh x", "timeout -s 'K' 5 gh x", "time -- gh x", "nice -n 5 -5 gh x"),
        *("xargs xargs gh x", "xargs timeout 5 gh x", "stdbuf -oL -- gh x", "COLUMNS=x gh"),
        *("NODE_ENV=./a gh x", "NODE_ENV=a//b gh x", "NODE_ENV=a:/b gh x", "NODE_ENV=a:.b gh x"),
        *("NODE_ENV+=1 gh x", "COLUMNS=x; gh x", "LANG=de gh x"),
    ],
)
def test_rules_that_allow_look_through_few_of_them(command):
    assert decide(command, allow=["Bash(gh *)"]) is Effect.ASK


@pytest.mark.parametrize(
    "command",
    [
        *("timeout -k5 5 gh x", "timeout 5 time gh x", "nice -5 gh x", "command -p -- gh x"),
        *("LANG=de_DE.utf8 gh x", "LANG=c gh x", "DEBIAN_FRONTEND=x gh x", "CI=/x; gh x"),
        *("NODE_ENV=a..b gh x", "COLUMNS=80 gh x", "stdbuf -oL -e0 gh x"),
    ],
)
def test_and_through_these(command):
    assert decide(command, allow=["Bash(gh *)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["COLUMNS=x ls", "LINES=08 ls", "CI=~ ls", "CI='a:~' ls"])
def test_a_value_that_a_shell_works_out_is_asked_for(command):
    assert decide(command) is Effect.ASK


@pytest.mark.parametrize(
    "command", ["NODE_ENV='a b' ls", "LANG='' ls", "NODE_ENV=", "NODE_ENV='a b'", "TZ=/a; ls"]
)
def test_a_quoted_or_empty_value_changes_nothing(command):
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize(
    ("stronger", "file", "effect"),
    [
        ("flag", "/srv/app/a", Effect.ASK),
        ("flag", "/etc/policies/a", Effect.ALLOW),
        ("managed", "/srv/app/a", Effect.ALLOW),
    ],
)
def test_of_two_scopes_that_allow_the_same_path_the_stronger_counts(stronger, file, effect):
    settings = json.dumps({"permissions": {"allow": ["Edit(/**)"]}})
    options = ClaudeOptions(
        cwd="/srv/app",
        home="/home/alice",
        flag_folder="/etc/policies",
        **{stronger: Source(stronger, settings)},
    )
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    main = Chain.start("main", project.enforced)
    assert main.decide("Edit", {"file_path": file}).effect is effect


def test_and_both_deny():
    settings = json.dumps({"permissions": {"deny": ["Edit(/**)"]}})
    flag = Source("flag", settings)
    options = ClaudeOptions(
        cwd="/srv/app", home="/home/alice", flag_folder="/etc/policies", flag=flag
    )
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    main = Chain.start("main", project.enforced)
    for file in ("/srv/app/a", "/etc/policies/a"):
        assert main.decide("Edit", {"file_path": file}).effect is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *("popd; cat a.txt", "pushd +1; head a.txt", "cd -; cat a.txt", "cd s*; cat a.txt"),
        *(
            "cd src sub; cat a.txt",
            "cd ~bob; sort a.txt",
            "popd; echo x < a.txt",
            "cd -x y; cat a.txt",
        ),
        *("pushd src; popd; popd; cat a.txt", "cd src; cat a.txt", "pushd src && cat ./a.txt"),
    ],
)
@pytest.mark.parametrize("rule", ["Read(src/a.txt)", "Read(//srv/app/src/a.txt)"])
def test_what_is_read_in_a_folder_nobody_knows_is_denied_by_its_name(command, rule):
    assert decide(command, "bypassPermissions", deny=[rule]) is Effect.DENY


@pytest.mark.parametrize(
    "command",
    [
        *("popd; cat b.txt", "pushd -n src; cat a.txt", "cd src && cd - && cat a.txt", "popd; ls"),
        *("pushd src; popd; pushd /tmp; cat a.txt", "cat a.txt; cd src", "cd sub; cat a.txt"),
    ],
)
def test_and_not_where_it_can_be_followed_or_has_another_name(command):
    deny = ["Read(/lib/a.txt)"]
    assert decide(command, "bypassPermissions", deny=deny) is Effect.ALLOW


def test_a_rule_about_all_in_a_folder_denies_every_name_there_may_be_in_it():
    for rule, effect in (("Read(src/**)", Effect.DENY), ("Read(src)", Effect.ALLOW)):
        assert decide("popd; cat b.txt", "bypassPermissions", deny=[rule]) is effect


@pytest.mark.parametrize(
    "command",
    [
        *("rm */*", "rm src/*/*", "rm **", "rm ../*", "rm /srv/*", "rm /tmp/*", "rm ~root/*"),
        *("rm '~root/*'", "rmdir ~bob/x/*", "rmdir -p src/*", "cd src && rm *", "cd src; rm sub/*"),
    ],
)
def test_a_removal_that_empties_folders_nobody_named_is_asked_for_in_every_mode(command):
    assert decide(command, "bypassPermissions") is Effect.ASK
    assert decide(command, allow=["Bash(rm *)", "Bash(rmdir *)"]) is Effect.ASK


@pytest.mark.parametrize("command", ["rm src/*", "rm src/**", "rm *.txt", "rm ~bob", "rm -r x*/a"])
def test_and_one_of_a_named_folder_is_not(command):
    assert decide(command, "bypassPermissions") is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("cat ~bob/x", "ls ~+", "echo '~bob'", "which ~bob", "[ -f ~bob ]", "xargs echo ~bob"),
        *("timeout 5 cd src", "timeout 5 command ls", "cd ~bob", "git status ~bob"),
    ],
)
def test_the_home_of_somebody_else_is_asked_for_and_so_is_what_a_wrapper_cannot_run(command):
    assert decide(command) is Effect.ASK
    assert decide("cat ~bob/x", allow=["Bash(cat *)"]) is Effect.ASK
    assert decide("touch ~bob", "acceptEdits") is Effect.ASK


@pytest.mark.parametrize(
    "command", ["xargs grep x", "ls | xargs head", "xargs -0 tail", "xargs -r egrep x"]
)
def test_what_is_piped_to_a_program_may_be_denied_files(command):
    assert decide(command) is Effect.ALLOW
    assert decide(command, deny=["Edit(build)"]) is Effect.ALLOW
    assert decide(command, deny=["Read(build)"]) is Effect.ASK
    assert decide(command, deny=["Read(build)"], allow=["Bash(xargs *)"]) is Effect.ALLOW


@pytest.mark.parametrize("command", ["set -k", "set -o posix", "set -ea", "set -e -o x; make"])
def test_options_of_set_that_change_how_commands_are_read_are_not_vouched_for(command):
    rules = ["Bash(set *)", "Bash(make)"]
    assert decide(command, allow=rules) is Effect.ASK
    for known in ("set -e; make", "set -euo pipefail; make", "set +x", "set -- -k; make", "set -o"):
        assert decide(known, allow=rules) is Effect.ALLOW


def test_where_a_command_cannot_be_read_a_rule_that_denies_beats_one_that_asks_for_it_exactly():
    rules = {"ask": ["Bash(make)"], "deny": ["Bash(*make*)"]}
    for command in ("make", "ls; make", "make &", "if make; then ls; fi"):
        assert decide(command, **rules) is Effect.ASK
    for command in ("(make)", "{ make; }", "f() { make; }", "(ls; make)", "make &&"):
        assert decide(command, **rules) is Effect.DENY


def test_a_star_before_the_end_of_a_prefix_is_a_character():
    for command, effect in (("rm *.txt x", Effect.DENY), ("rm a.txt", Effect.ALLOW)):
        assert decide(command, deny=["Bash(rm *.txt:*)"], allow=["Bash"]) is effect


@pytest.mark.parametrize(
    "command", ["gh.exe x", "/bin/gh.EXE", "timeout.exe 5 gh", "sudo.exe gh x"]
)
def test_the_ending_of_a_program_on_windows_is_looked_through(command):
    assert decide(command, deny=["Bash(gh *)"], allow=["Bash"]) is Effect.DENY


@pytest.mark.parametrize(
    "command", ["touch a.", "touch 'a '", "rm a~1", "mkdir .../a", "mv a b.", "echo x > x.nul"]
)
def test_names_that_windows_takes_for_others_are_not_written_unasked(command):
    assert decide(command, "acceptEdits") is Effect.ASK
    for known in ("touch a~", "mkdir x.con/a", "touch a...b", "touch lpt1", "echo x > a.b"):
        assert decide(known, "acceptEdits") is Effect.ALLOW


def test_a_parenthesis_in_quotes_ends_no_substitution():
    command = "echo x | x=$(python3 -c 'print(1)' $$; node a.js"
    assert decide(command, "bypassPermissions") is Effect.ASK


@pytest.mark.parametrize(
    "command", ["time '{print}' a", "time a,b c", "time a=b c", "time '[' -f a ]", "time time ls x"]
)
def test_time_runs_programs_with_plain_names_alone(command):
    assert decide(command, allow=["Bash(* *)"]) is Effect.ASK
    for known in ("time ~/x a", "time a+b c", "time 'x' a", "timeout 5 '{print}' a"):
        assert decide(known, allow=["Bash(* *)"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command", ["ls && # x\nls", "test -f a ||\n# x\ncat a", "ls && # x\n# y\nls"]
)
def test_a_comment_where_a_command_is_expected_is_asked_for(command):
    assert decide(command) is Effect.ASK
    for known in ("ls; # x\nls", "ls | # x\ncat", "# x\nls", "ls &&\nls # x"):
        assert decide(known) is Effect.ALLOW
