"""What is made of commands that a grammar must read, the ones it mis-reads above all."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import pytest

from policy.cli import main
from policy.commands import reader
from policy.commands.reader import read_command
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude.dialect import _SHELL as SHELL
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.claude.shell import bash
from policy.hosts.project import Project
from policy.tables.chain import Chain


def _project(**rules: list[str]) -> Project:
    files = Memory({".claude/settings.json": json.dumps({"permissions": rules})})
    (project,) = load(files, ClaudeOptions(cwd="/app", home="/home/a"))
    return project


def _effect(command: str, tool: str = "Bash", **rules: list[str]) -> Effect:
    chain = Chain.start("main", _project(**rules).enforced)
    return chain.decide(tool, {"command": command}).effect


ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

# Silent mistakes of tree-sitter-bash 0.25.1, and of other readers of shell: the
# tree is well formed, and its commands are not those that run.
MISREAD = [
    "r\\\nm x",  # a continued word falls into two
    "ls \\\nx; r\\\nm x",
    "ls `echo \\`rm x\\``",  # backquotes within backquotes are lost
    "cat <<E\n`rm x`\nE",  # no substitution in an open here-document
    "cat <<E\n\\x\nE\nrm x",  # a line that starts with `\\` becomes arguments
    "cat <<E\n` rm x`\nE",  # and one with a backquote and a blank runs on
    "! ! rm x",  # a program named `!`
    "ls ;; rm x",  # `;;` outside `case`
    "cat <<A <<B\nx\nA\n$(rm x)\nB",  # two here-documents in one line
    "{rm,x}",
    "git status # foo\nrm x",  # a comment ends with its line
    "ls \\\r\nrm x",
    "printf -v 'a[$(rm x)]' y",  # builtins that evaluate
    "let 'a[$(rm x)]=1'",
    "[[ -v 'a[$(rm x)]' ]]",
    "read 'a[$(rm x)]'",
    "/bin/r? x",
    "$X x",
    "$(echo rm) x",
    "bash <<E\nrm x\nE",
    "echo rm x | sh",
    "source x",
    "ls ${x:-$(rm x)}",
    "ls \u0024'\\'' ; rm x #'",
]


@pytest.mark.parametrize("text", MISREAD, ids=range(len(MISREAD)))
def test_no_rule_for_a_program_grants_what_is_misread(text: str) -> None:
    rules = ["Bash(ls *)", "Bash(cat *)", "Bash(echo *)", "Bash(git status *)", "Bash(x *)"]
    assert _effect(text, allow=rules) is not ALLOW


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("if ls; then make x; fi", ALLOW),
        ("if ls; then curl x; fi", ASK),
        ("while make x; do ls; done", ALLOW),
        ("until make x; do ls; done", ALLOW),
        ("for i in a; do make x; done", ASK),
        ("case a in a) make x;; esac", ASK),
        ("f() { make x; }; f", ASK),
        ("(make x)", ASK),
        ("{ make x; }", ASK),
        ("make x & make y", ASK),
        ("make $(ls)", ASK),
        ('make "$(ls)"', ASK),
        ('make "at $(date)"', ALLOW),
        ('make "at $(curl x)"', ASK),
        ('make "a$USER"', ASK),
        ('make "ab$USER"', ALLOW),
        ('make "ab$OTHER"', ASK),
        ('make "--at $(date)"', ASK),
        ("make $((1 + 2))", ALLOW),
        ("make $((a + 2))", ASK),
        ("make <<'E'\n$(curl x)\nE", ALLOW),
        ("make <<E\nx\nE", ASK),
        ("make x <<'E' | ls\na\nE", ASK),
        ("make -m \"$(cat <<'E'\nit's `x`\nE\n)\"", ALLOW),
        ("make x \\\n  y", ALLOW),
        ("make x\\ y", ASK),
        ("make x <(ls)", ASK),
        ("make {a,b}", ASK),
        ("make 2>&-", ASK),
        ("if ls | grep x; then make x; fi", ASK),
        ("[[ -f a && -d b ]] && make x", ALLOW),
        ("# only a comment", ALLOW),
        ("", ALLOW),
    ],
)
def test_a_rule_that_allows_looks_into_what_the_host_looks_into(text: str, effect: Effect) -> None:
    assert _effect(text, allow=["Bash(make *)"]) is effect


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("if ls; then rm x; fi", DENY),
        ("case a in a) rm x;; esac", DENY),
        ("f() { rm x; }; f", DENY),
        ("(ls; rm x)", DENY),
        ('echo "a $(rm x)"', DENY),
        ("echo ${a:-$(rm x)}", DENY),
        ("cat <(rm x)", DENY),
        ("cat <<E\n$(rm x)\nE", DENY),
        ("cat <<'E'\n$(rm x)\nE", ALLOW),
        ("cat <<'E'\nrm x\nE", ALLOW),
        ("R=rm; $R x", DENY),
        ("timeout -k 5 10 rm x", DENY),
        ("timeout -x 5 rm x", DENY),
        ("command -v rm", DENY),
        ("xargs rm", DENY),
        ("xargs -n1 rm", DENY),
        ("sudo -u root env A=1 rm x", DENY),
        ("bash -c 'ls; rm x'", DENY),
        ("bash -c 'curl x'", DENY),
    ],
)
def test_a_rule_that_denies_looks_as_far_as_the_host_does(text: str, effect: Effect) -> None:
    assert _effect(text, allow=["Bash"], deny=["Bash(rm *)", "Bash(curl *)"]) is effect


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("cd /app && git log", ALLOW),
        ("cd '/app/' && git log", ALLOW),
        ("cd src && git log", ASK),
        ("git log && cd src", ASK),
        ("cd src && ls", ALLOW),
        ("cd src && cd lib && ls", ASK),
        ("cd", ASK),
        ("cd -P src", ASK),
        ("cd -- src", ASK),
    ],
)
def test_a_change_of_folder_and_version_control_do_not_mix(text: str, effect: Effect) -> None:
    assert _effect(text) is effect


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("cd src && cat a", ASK),
        ("cat a && cd src", ASK),
        ("cd src && ls", ASK),
        ("cd src && cat /app/a", ALLOW),
        ("cd src && pwd", ALLOW),
        ("xargs grep x", ASK),  # nobody knows what it is given
        ("xargs grep x a", ASK),
    ],
)
def test_a_file_named_from_an_unknown_folder_asks_where_files_are_denied(
    text: str, guarded: Effect
) -> None:
    assert _effect(text) is ALLOW
    assert _effect(text, deny=["Read(.env)"]) is guarded
    assert _effect(text, allow=["Bash"], deny=["Read(.env)"]) is ALLOW


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("cd $HOME && tsort a", DENY),
        ("cd ${HOME} && tsort a", DENY),
        ("cd x=$HOME && tsort a", DENY),
        ("if cd $HOME && tsort a", DENY),  # observed of 2.1.329, though it has no end
        ("cd $X && tsort a", ASK),
        ("cd src && tsort a", ASK),
    ],
)
def test_a_file_may_be_in_the_home_folder_behind_its_variable(text: str, effect: Effect) -> None:
    assert _effect(text, allow=["Bash(cd *)"], deny=["Read(~/**)"]) is effect


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("timeout 5 ls", ALLOW),
        ("command ls", ALLOW),
        ("LANG=C ls", ALLOW),
        ("\\ls", ALLOW),
        ("nice ls", ASK),
        ("nohup ls", ASK),
        ("stdbuf -oL ls", ASK),
        ("time ls", ASK),
        ("[ -d src ]", ALLOW),
        ("timeout 5 [ -d src ]", ASK),
        ("LANG=C uniq", ASK),
    ],
)
def test_a_program_that_reads_is_not_harmless_behind_every_wrapper(
    text: str, effect: Effect
) -> None:
    assert _effect(text) is effect


def test_an_exact_rule_knows_no_folded_blanks_and_no_added_arguments() -> None:
    assert _effect("make  x", allow=["Bash(make x)"]) is ASK
    assert _effect("make  x", allow=["Bash(make *)"]) is ALLOW
    assert _effect("ls | xargs make", allow=["Bash(make)"]) is ASK
    assert _effect("ls | xargs make", allow=["Bash(make *)"]) is ALLOW


NESTED = {
    "parentheses": "(" * 10_000 + "rm x" + ")" * 10_000,
    "substitutions": 'echo "ab' + "$(echo " * 1_200 + "rm x" + ")" * 1_200 + '"',
    "negations": "! " * 4_000 + "rm x",
    "conditions": "if ls; then " * 600 + "rm x;" + "fi;" * 600,
    "documents": "cat <<A " * 300 + "\nA\nrm x",
    "unclosed quotes": 'ls "$(' * 1_000 + "rm x",
}


@pytest.mark.parametrize("name", NESTED)
def test_a_deep_command_is_never_allowed_by_accident(name: str) -> None:
    assert _effect(NESTED[name], allow=["Bash(ls *)", "Bash(echo *)"]) is not ALLOW
    assert _effect(NESTED[name], allow=["Bash"], deny=["Bash(rm *)"]) is not ALLOW


def test_an_escaped_quote_that_nothing_closes_is_asked_for_behind_a_word_of_the_shell() -> None:
    for command in ("if\\'|", "if\\' x|", "a; if\\'|"):
        assert _effect(command, allow=["Bash(if *)", "Bash(a)"]) is Effect.ASK


def test_without_the_grammar_argument_rules_fail_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash, "_language", lambda: None)
    monkeypatch.setattr(reader, "_read_short", reader._read)  # remembers nothing
    text = "if ls; then make without_grammar; fi"  # in no other test: rows remember decisions
    assert _effect(text, allow=["Bash(make *)"]) is ASK
    assert _effect(text, allow=["Bash"], deny=["Bash(rm *)"]) is ASK
    assert _effect("make x && ls", allow=["Bash(make *)"]) is ALLOW


def test_a_plain_command_needs_no_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise AssertionError

    monkeypatch.setattr(bash, "_language", fail)
    for text in ("git add . && git commit -m 'x y'", "ls -la 2>&1 | tail -5; pwd", "a > b < c"):
        read_command(text, SHELL)


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("get-childitem", ALLOW),
        ("GCI src", ALLOW),
        ("ls src | dir", ALLOW),
        ("ls src; git push", ASK),
        ("ls src && ls", ALLOW),
        ("ls $x", ASK),
        ("ls { rm x }", DENY),
        ("ls { echo x }", ASK),
        ("Remove-Item a", DENY),
        ("ls | ri a", DENY),
    ],
)
def test_powershell_knows_aliases_and_no_case(text: str, effect: Effect) -> None:
    rules = {"allow": ["PowerShell(Get-ChildItem *)"], "deny": ["PowerShell(Remove-Item *)"]}
    assert _effect(text, "PowerShell", **rules) is effect


@pytest.mark.parametrize(
    "text", ["Remove-Item -Recurse C:\\Windows", "rm build/*", "del C:\\", "ri 'd:/Users/x'"]
)
def test_powershell_removes_nothing_of_the_system_in_any_mode(text: str) -> None:
    files = Memory({".claude/settings.json": '{"permissions": {"allow": ["PowerShell"]}}'})
    for mode in ("default", "bypassPermissions"):
        (project,) = load(files, ClaudeOptions(mode=mode))
        decision = Chain.start("main", project.enforced).decide("PowerShell", {"command": text})
        assert (decision.effect, decision.reason) == (DENY, Reason.PROTECTED)


def test_a_command_that_needs_the_grammar_says_once_that_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    monkeypatch.setattr(reader, "missing_extras", missing := set[str]())
    monkeypatch.setattr(bash, "missing_extras", missing)
    monkeypatch.setattr(bash, "_language", cache(bash._language.__wrapped__))
    monkeypatch.setattr(reader, "_read_short", reader._read)  # remembers nothing
    settings = tmp_path / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Bash(ls *)", "Bash(gh *)"]}}', "utf-8")
    body = "gh pr create --body \"$(cat <<'EOF'\n- did x\nEOF\n)\""
    for calls, times in ((["ls a"], 0), ([body, f"{body}; ls"], 1)):
        main(["check", str(tmp_path), *(f"Bash({call})" for call in calls)])
        assert capsys.readouterr().err.count("the extra `bash` is not") == times
