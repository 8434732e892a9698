"""The trees of the grammar that the host reads: those of the listed shapes, and no others."""

from __future__ import annotations

import json

import pytest

from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.claude.shell import bash
from policy.tables.chain import Chain

tree_sitter = pytest.importorskip("tree_sitter")


def _is_well_formed(text: str) -> bool:
    language = bash._language()
    assert language is not None
    source = text.encode()
    return bash.ill_formed(tree_sitter.Parser(language).parse(source).root_node, source) is None


@pytest.mark.parametrize(
    "text",
    [
        "ls -la 'a b' \"c $HOME\" x{1 a\\ b 16#ff *.py ~/x [a]",
        "a; b & c\nd",
        "a && b || ! c | d",
        "a |# c\nb",
        "A=1 b <<< d > c 2>&1",
        "A=$(b)",
        "export A=1 B; unset C",
        "if a; then b; elif c; then d; else e\nf; fi",
        "while a; do b; done; until c; do d; done",
        "[ -f a ] && [[ b == c* && ! -d d ]]",
        "cat <<'E'\n$x (y\nE\nls",
        "echo \"$(cat <<'E'\nx\nE\n)\" `b`",
        'echo "a  $x   $y "  # c',
        "ls \\\n  a",
        "",
    ],
)
def test_listed_shapes_are_well_formed(text: str) -> None:
    assert _is_well_formed(text)


@pytest.mark.parametrize(
    "text",
    [
        "((make -j4))",
        "echo ((1))",
        "echo (a)",
        "a() { b; }",
        "{ a; }",
        "(a)",
        "coproc a (b)",
        "for a in b; do c; done",
        "select a in b; do c; done",
        "case a in b) c;; esac",
        "for ((;;)); do a; done",
        "a\n\\rm b",  # the break becomes part of the second name
        "a\\\nb c",
        "A=(b c)",
        "A[0]=1 b",
        "A=1 B=2",
        "a 2>&-",
        "a <> b",
        "cat <<E | b\nx\nE",
        "cat <<'E' > b\nx\nE",
        "if a; then b | c; fi",
        "echo $(a; b)",
        "echo $(a & b)",
        "a é`",
        "a 'b",
        "[[ -f a ]",
        "[ ~ = a ]",
        "[ a]",
        "[ a\n] && b",
        "!\na",
    ],
)
def test_no_other_shape_is(text: str) -> None:
    assert not _is_well_formed(text)


@pytest.mark.parametrize(
    "text", ["make ~[x]", "make <1-9>", "make a\n=_b", "!\nmake", "[ a] && make"]
)
def test_what_another_shell_reads_otherwise_is_asked_for(text: str) -> None:
    rules = {"permissions": {"allow": ["Bash(make *)"]}}
    files = Memory({".claude/settings.json": json.dumps(rules)})
    (project,) = load(files, ClaudeOptions(cwd="/app", home="/home/a"))
    chain = Chain.start("main", project.enforced)

    assert chain.decide("Bash", {"command": text}).effect is Effect.ASK


@pytest.mark.parametrize("mode", ["default", "auto", "acceptEdits", "dontAsk"])
@pytest.mark.parametrize("text", ["((make -j4))", "((a))", "for ((;;)); do :; done", "[[ a ]"])
def test_what_has_no_command_in_it_is_not_allowed_for_that(text: str, mode: str) -> None:
    rules = {"permissions": {"allow": ["Bash(make *)"], "defaultMode": mode}}
    files = Memory({".claude/settings.json": json.dumps(rules)})
    (project,) = load(files, ClaudeOptions(cwd="/app", home="/home/a", mode=mode))
    chain = Chain.start("main", project.enforced)

    assert chain.decide("Bash", {"command": text}).effect is not Effect.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        'export USER=x; foo "$USER ab"',
        'export "USER=x"; foo "$USER ab"',
        'export US\\ER=x; foo "$USER ab"',
        'unset USER; foo "$USER ab"',
        'declare -x USER=y; foo "$USER ab"',
        'export HOME=/tmp; foo "$HOME/x"',
        "export HOME=/tmp; foo $HOME/x",
    ],
)
def test_a_variable_that_the_text_may_set_is_not_one_that_every_shell_has(text: str) -> None:
    rules = {"permissions": {"allow": ["Bash(foo *)", "Bash(export *)", "Bash(unset *)"]}}
    rules["permissions"]["allow"].append("Bash(declare *)")
    files = Memory({".claude/settings.json": json.dumps(rules)})
    (project,) = load(files, ClaudeOptions(cwd="/app", home="/home/a"))
    chain = Chain.start("main", project.enforced)

    assert chain.decide("Bash", {"command": text}).effect is Effect.ASK
    plain = text.partition("; ")[2]
    assert chain.decide("Bash", {"command": plain}).effect is Effect.ALLOW


def _effect(text: str, mode: str = "default", **lists: list[str]) -> Effect:
    files = Memory({".claude/settings.json": json.dumps({"permissions": lists})})
    (project,) = load(files, ClaudeOptions(cwd="/app", home="/home/a", mode=mode))
    return Chain.start("main", project.enforced).decide("Bash", {"command": text}).effect


@pytest.mark.parametrize(
    "text",
    [
        "((git log -p {a,b}))",
        "((file -B'*.py' -- a))",
        "((a b))",
        "((a); b)",
        "! ((CI=1 é))",
        "a; ((b {c,d}))",
        "$((git log {a,b}))",
        "echo ${x",
        "echo $(a; (b)",
        "$(mkdir a <(b)",
        "echo $(a;;)",
        "echo $(then)",
        "echo $(a `b)",
        "echo ${x:-{0}}",
        "echo $(`a`)",
        "((a #b))",
        "echo $({git log; })",
        "[[ -n $(a=(b)) ]]",
        "echo ${x/{/b}",
        'echo ${x:-"{"}',
        "echo $(( 'a' ))",
        'echo $((echo "a"))',
        *("(a", "if a", "a ||", "echo $(a))"),
    ],
)
@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_what_may_not_end_is_asked_for_whatever_allows_commands(text: str, mode: str) -> None:
    assert _effect(text, mode, allow=["Bash"]) is Effect.ASK


@pytest.mark.parametrize(
    "text",
    ["echo $(( (1+2)*3 ))", "echo ${x:-${y}}", "echo ${x:-a}}", 'echo $(( "a" + 1 ))'],
)
def test_what_ends_in_one_place_is_not_asked_for_beside_such_a_rule(text: str) -> None:
    assert _effect(text, allow=["Bash"]) is Effect.ALLOW


def test_a_line_whose_program_is_escaped_is_a_command_of_its_own() -> None:
    assert _effect("awk 1 a\n\\rm b", allow=["Bash"], deny=["Bash(rm *)"]) is Effect.DENY
    assert _effect("awk 1 a\n\\rm b", allow=["Bash(awk *)"]) is Effect.ASK


def test_a_here_document_within_a_substitution_ends_at_a_line_of_its_own() -> None:
    rules = ["Bash(git *)", "Bash(cat *)"]
    ended, *others = ("E\n)", "E)", "E \n)", "E;\nls)")

    assert _effect(f"git log \"$(cat <<'E'\nx\n{ended}\"", allow=rules) is Effect.ALLOW
    for other in others:
        assert _effect(f"git log \"$(cat <<'E'\nx\n{other}\"", allow=rules) is Effect.ASK
    assert _effect("echo $(cat <<'E'\nx\nE &&\nls)", allow=["Bash"]) is Effect.ASK


@pytest.mark.parametrize(
    "text", ["< a", "ls; < a", "< a; ls", "> /dev/null", "ls; 2>&1", "< a | ls", "<<< x"]
)
def test_a_redirection_without_a_program_is_not_allowed_by_what_stands_beside_it(text: str) -> None:
    assert _effect(text, allow=["Bash(ls *)", "Edit(a)"]) is Effect.ASK
    assert _effect(text, allow=["Bash"]) is Effect.ALLOW
