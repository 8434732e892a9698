"""Rules with assignments, quotes, blanks and operators, as Claude Code 2.1.329 matches them."""

from __future__ import annotations

import pytest

from policy.core.effect import Effect
from tests.claude_session import decide

pytest.importorskip("tree_sitter_bash")

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

# A rule, and a command that it matches.
_PAIRS = (
    ("X=1 foo *", "X=1 foo a"),
    ('"jq" *', '"jq" x'),
    ("'jq':*", "'jq' x"),
    ("foo 'a'", "foo 'a'"),
    ('foo "a b"', 'foo "a b"'),
    ("foo a\\ b", "foo a\\ b"),
    ('foo "*', 'foo "a" b'),
    ("\\rm *", "\\rm x"),
    ("npm  x", "npm  x"),
    ("npm\tx", "npm\tx"),
)
_AROUND = (
    *("{}", "CI=1 {}", "A=1 B='2 3' {}", "timeout 5 {}", "X=1 timeout 5 {}", "nice -n 5 {}"),
    *("time -p {}", "time -p A=1 {}", "! {}", "ls && {}", "ls; {}", "ls || {}", "ls | {}"),
    *("{} | ls", "{} && ls", "{}; ls", "({})", "{{ {}; }}", "if true; then {}; fi", "{} &"),
    *("for i in 1; do {}; done", "if CI=1 {}; then ls; fi", "f() {{ CI=1 {}; }}", "ls\n{}"),
    *("foo $({})", 'echo "$(CI=1 {})"', "CI=1 {} | ls", "ls | CI=1 {}", "(CI=1 {})"),
)


@pytest.mark.parametrize("around", _AROUND)
@pytest.mark.parametrize(("rule", "command"), _PAIRS)
def test_a_rule_is_found_as_it_is_written_wherever_the_command_stands(
    rule: str, command: str, around: str
) -> None:
    text = around.format(command)
    assert decide(text, deny=[f"Bash({rule})"], allow=["Bash"]) is DENY
    assert decide(text, ask=[f"Bash({rule})"], allow=["Bash"]) is ASK


@pytest.mark.parametrize("command", ["npm x", "CI=1 npm x", "foo a", "CI=1 foo a", "jq x"])
def test_a_rule_with_quotes_or_blanks_does_not_match_the_plain_text(command: str) -> None:
    rules = [f"Bash({rule})" for rule, _ in _PAIRS[1:]]
    assert decide(command, deny=rules, allow=["Bash"]) is ALLOW


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ('"jq" x', ALLOW),
        ('CI=1 "jq" x', ASK),
        ('timeout 5 "jq" x', ASK),
        ('ls && CI=1 "jq" x', ASK),
    ],
)
def test_quotes_around_a_program_count_for_a_grant_at_the_beginning_alone(
    command: str, effect: Effect
) -> None:
    assert decide(command, allow=['Bash("jq" *)']) is effect


@pytest.mark.parametrize(
    ("command", "ask"),
    [
        ("xargs foo a", "foo a"),
        ("CI=1 xargs foo a", "foo a"),
        ("ls | xargs foo 'a'", "foo a"),
        ("env foo 'a'", "foo 'a'"),
        ("xargs X=1 foo", "X=1 foo"),
    ],
)
def test_an_exact_rule_that_asks_hides_no_denial_behind_a_wrapper(command: str, ask: str) -> None:
    denies = ["Bash(foo *)", "Bash(X=1 *)"]
    assert decide(command, deny=denies, ask=[f"Bash({ask})"], allow=["Bash"]) is DENY


@pytest.mark.parametrize("operator", ["&&", "||", ";", "&"])
@pytest.mark.parametrize("rule", ["py {} tr *", "py {} tr x", "py {} tr:*", "py {} *"])
@pytest.mark.parametrize(
    "around",
    [
        *("foo | {}", "foo |& {}", "foo |\n{}", "foo | X=1 {}", "foo | timeout 5 {}"),
        *("foo | bar | {}", "foo && bar | {}", "foo; bar | {}", "foo | {} > /dev/null"),
    ],
)
def test_a_rule_over_an_operator_is_found_behind_a_pipe(
    rule: str, operator: str, around: str
) -> None:
    text = around.format(f"py {operator} tr x")
    assert decide(text, deny=[f"Bash({rule.format(operator)})"], allow=["Bash"]) is DENY


def test_and_denies_nothing_else_that_stands_there() -> None:
    rules = ["Bash(py && tr *)", "Bash(rm; ls)"]
    for command in ("foo | py || tr x", "foo | py; tr x", "foo | grep rm && ls", "py | tr x"):
        assert decide(command, deny=rules, allow=["Bash"]) is ALLOW


def test_a_prefix_of_a_group_that_is_not_read_is_denied() -> None:
    text = "((python3 -V > ../out))"
    assert decide(text, deny=[f"Bash({text} *)"]) is DENY


@pytest.mark.parametrize("command", ["script 'nohup'", "watch 'nohup'", "timeout 5 'nohup'"])
def test_a_wrapper_with_no_command_is_the_program_that_another_wrapper_runs(command):
    assert decide(command, allow=["Bash"], deny=["Bash(nohup*)"]) is Effect.DENY
