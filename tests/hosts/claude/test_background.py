"""Commands that nobody waits for, where a rule allows every command, as 2.1.329 was seen to."""

from __future__ import annotations

import pytest

from policy.compare.compare import compare
from policy.compare.dead_rules import minimise, shadowing
from policy.core.effect import Effect
from tests.claude_session import decide, table

pytest.importorskip("tree_sitter_bash")


@pytest.mark.parametrize(
    "command",
    [
        *("npm test &", "npm test & ls", "ls; npm test &", "npm test && make &", "npm test&make"),
        *("timeout 5 npm test &", "nohup npm test &", "npm test | cat &", "npm test 2>&1 &"),
        *("npm test > /dev/null &", "! npm test &", "while make; do npm test; done &"),
        *("for i in 1 2; do npm test; done &", "for i; do make; done; npm test &"),
        *("FOO=1; npm test &", "alias; npm test &", "x=$(ls); npm test &", "npm 'a & b' &"),
    ],
)
def test_what_other_rules_allow_is_asked_for_in_the_background(command):
    others = ["Bash(npm *)", "Bash(make)"]
    for allow in (["Bash", *others], [*others, "Bash"], ["Bash(*)", *others]):
        assert decide(command, allow=allow) is Effect.ASK
    assert decide(command, "dontAsk", allow=["Bash", *others]) is Effect.DENY
    assert decide(command, "bypassPermissions", allow=others) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("npm start &", "npm test & npm start", "npm start & npm test", "(npm test) &"),
        *("npm test > out.txt &", "npm test &> out", "FOO=1 npm test &", "npm test $X &"),
        *("npm $(make) &", "{ npm test; } &", "npm test 'a & b'", "env npm test &"),
        *("while npm test; do npm test & done", "if npm test; then npm test & fi"),
        *("export A=1; npm test &", "npm test; cat /etc/passwd &", "npm test & cat /etc/passwd"),
    ],
)
def test_what_only_the_rule_for_every_command_allows_runs_in_the_background(command):
    assert decide(command, allow=["Bash", "Bash(npm test)", "Bash(cat *)"]) is Effect.ALLOW


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        *((command, "ask") for command in ("make | ls &", "make; make | ls &", "make |& ls &")),
        *((command, "ask") for command in ("make | ls > out &", "make > out | ls &")),
        *((command, "ask") for command in ("if make; then ls; fi | head &", "make 'a|b' | ls &")),
        *((command, "allow") for command in ("make & ls | make", "make | ls & make")),
        *((command, "allow") for command in ("make || ls &", "(make | ls) &", "make 'a | b' & ls")),
        *((command, "allow") for command in ("make | { ls; } &", "make $X | ls &")),
    ],
)
def test_of_a_pipe_each_stage_is_looked_at_alone(command, effect):
    assert str(decide(command, allow=["Bash"])) == effect


@pytest.mark.parametrize(
    "begun", ["&& ( &", "; ( ; ls", "&& ( && ls", "| ( &", "&& (&", "&& {&", "&& {; ls", "; {a &"]
)
def test_a_group_that_ends_nowhere_hides_no_file_in_front_of_it(begun):
    assert decide(f"make > .git/config {begun}", allow=["Bash"]) is Effect.ASK
    assert decide("make > .git/config && { &", allow=["Bash"]) is Effect.ASK


def test_a_wrong_tree_hides_no_file_that_was_found_in_it():
    assert decide("A=1 > out; make > .git/config &", allow=["Bash"]) is Effect.ASK
    assert decide("A=1 > out; make &", allow=["Bash"]) is Effect.ALLOW


def test_a_rule_that_spells_the_background_out_is_asked_for_too():
    assert decide("npm test & make", allow=["Bash", "Bash(npm test & make)"]) is Effect.ASK
    assert decide("npm test & make &", allow=["Bash", "Bash(npm test & make)"]) is Effect.ALLOW


def test_who_runs_commands_by_another_name_asks_alike():
    rules = table(allow=["Monitor", "Bash(npm test)"])
    call = {"command": "npm test &", "description": "x"}
    assert rules.decide("Monitor", call).effect is Effect.ASK


def test_such_a_rule_is_an_edit_that_counts():
    before, after = table(allow=["Bash"]), table(allow=["Bash", "Bash(npm *)"])
    lookups = before.lookup("Bash"), after.lookup("Bash")

    found = compare("Bash", *lookups)
    assert [(d.call["command"], d.effects) for d in found.differences] == [
        ("npm &", (Effect.ALLOW, Effect.ASK))
    ]
    assert found.exact
    assert compare("Bash", *reversed(lookups)).differences[0].effects == (Effect.ASK, Effect.ALLOW)


def test_it_is_not_redundant_and_not_taken_out():
    rules = table(allow=["Bash", "Bash(npm *)", "Bash(npm test)"])
    standing = {each.rule.rule: each.what for each in shadowing(rules)}
    assert standing == {"Bash": "live", "Bash(npm *)": "live", "Bash(npm test)": "redundant"}
    assert [each.rule.rule for each in minimise(rules).removed] == ["Bash(npm test)"]


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        *((f"time {rest} &", "time *") for rest in ("-p make", "-- make", "-x make", "-p", "--")),
        *(("nice -x make &", "nice *"), ("command -x make &", "command *")),
        *((f"{wrapper} -- make x &", "make *") for wrapper in ("time", "nohup", "nice")),
        ("timeout -- 5 make x &", "make *"),
    ],
)
def test_a_wrapper_with_an_option_it_has_not_is_asked_for_in_the_background(command, allowed):
    rule = f"Bash({allowed})"

    assert decide(command, allow=["Bash", rule]) is Effect.ASK
    assert decide(command, allow=["Bash"]) is Effect.ALLOW
    if "make x" not in command and command != "time -- &":
        assert decide(command.removesuffix(" &"), allow=[rule]) is Effect.ASK


@pytest.mark.parametrize(
    ("command", "allowed"),
    [("time -p make x &", "make *"), ("nice -x make x &", "make *"), ("-p make &", "time *")],
)
def test_and_by_no_rule_for_what_stands_behind_it(command, allowed):
    assert decide(command, allow=["Bash", f"Bash({allowed})"]) is Effect.ALLOW


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        *((f"{rest} &", rest.split()[0]) for rest in ("eval x", "source a", "find . -delete")),
        *((f"{rest} &", rest.split()[0]) for rest in ("jq -f a", "alias a=b", "read x", "set -k")),
        *((f"{rest} &", rest.split()[0]) for rest in ("setsid make", "env -- make", "xargs awk")),
        *((f"{rest} &", rest.split()[0]) for rest in ("trap x EXIT", "declare PATH=1", "-x y")),
        *(("time -p eval x &", "time"), ("foo /proc/1/environ &", "foo")),
        *(("ls & echo x <<<", "foo"), ("foo x & foo y <<<", "foo")),
    ],
)
def test_what_nobody_vouches_for_is_asked_for_there_too(command, allowed):
    assert decide(command, allow=["Bash", f"Bash({allowed} *)"]) is Effect.ASK
    assert decide(command, "bypassPermissions", allow=[f"Bash({allowed} *)"]) is Effect.ALLOW


@pytest.mark.parametrize(
    "command", ["declare -i x=1", "unset PATH", "read PATH", "printf -v PATH b", "foo $X"]
)
def test_what_is_taken_for_no_command_of_a_rule_is_not(command):
    rule = f"Bash({command.split()[0]} *)"
    assert decide(f"{command} &", allow=["Bash", rule]) is Effect.ALLOW
