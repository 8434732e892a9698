"""Commands whose reads nobody can follow, where reads are kept inside, as 2.1.329 was observed."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.opening import Memory
from policy.hosts.claude import ClaudeOptions, load
from policy.tables.chain import Chain
from tests import claude_session

pytest.importorskip("tree_sitter_bash")


def decide(
    command: str, mode: str = "default", *, inside: bool = True, deny: Sequence[str] = ()
) -> Effect:
    kept = {"blockReadsOutsideWorkingDirectories": inside}
    return claude_session.decide(command, mode, allow=["Bash"], deny=[*deny], **kept)


UNTRACED = (
    *('cat "$X"', "make $X", 'make "ab $(ls)"', 'echo "ab $X"', "echo {a,b}", "make <(ls)", "'' x"),
    *("(make)", "{ make; }", "f() { make; }; f", "case x in a) make;; esac", "make <<E\nx\nE"),
    *("cd src", "cd src && make", "cd .", 'cd "$PWD"', "pushd src", "command cd src", "cd -"),
    *(
        "eval ls",
        "source a",
        "exec make",
        "bash -c ls",
        "trap ls EXIT",
        "xargs make",
        "make | xargs",
    ),
    *(
        "python3 -c 1",
        "python3 - < a",
        "node -e 1",
        "perl -e 1",
        "deno eval 1",
        "awk 'getline<\"a\"'",
    ),
    *(
        "x=1 make",
        "env A=1 make",
        *("NODE_ENV=test make", "env make", "timeout 5 make", "sudo make", "x=1", "node -v"),
        *('echo "ab $HOME"', 'echo "ab $(ls)"'),
        "A=1 B=2",
        "IFS=,",
        "HOME=/tmp",
        "LD_PRELOAD=x make",
        "time -p make",
    ),
    *("sed s/a/b/ a", "jq -f a b", "find . -delete", "find . -exec cat {} +", "awk -f a b"),
    *("make /etc/passwd", "foo ../docs/a.md", "foo ~/x", "foo ~bob", "foo --file=/etc/passwd"),
    *(
        "foo -f/etc/passwd",
        "dd if=/etc/passwd",
        "foo src/../a",
        'foo "$HOME/x"',
        "realpath /etc/passwd",
    ),
    *(
        "export A=/etc/passwd",
        "make -C /tmp",
        "cat /etc/passwd",
        "ls 'a\n#b'",
        "ls &&",
        "&& ls",
        "-x a",
    ),
)


@pytest.mark.parametrize("command", UNTRACED)
def test_what_nobody_can_follow_is_asked_for_where_reads_are_kept_inside(command):
    assert decide(command) is Effect.ASK
    assert decide(f"make && {command}", "bypassPermissions") is Effect.ASK
    assert decide(command, "dontAsk") is Effect.DENY
    assert decide(command, inside=False) is Effect.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        *("make", "foo a b", "/usr/bin/make", "'make' x", "ls -la | head", "make; ls", "cat < a"),
        *("python3 a.py", "python3 -m pytest", "bash a.sh", "git push", "docker run x"),
        *("cp a /opt/x", "touch /opt/x", "echo /etc/passwd", "test -f /etc/passwd", "df /"),
        *("make > /opt/x", "cd /srv/app && make", "make # $X", "make a=b"),
        *("cat a*", "cat /srv/app/a", "make <<'E'\n$X\nE", "if make; then ls; fi", "make --file=a"),
    ],
)
def test_what_names_no_file_elsewhere_runs_where_reads_are_kept_inside(command):
    assert decide(command) is Effect.ALLOW
    assert decide(command, "bypassPermissions") is Effect.ALLOW


def test_somebody_is_asked_though_a_model_judges_the_rest():
    permissions = {"blockReadsOutsideWorkingDirectories": True}
    settings = json.dumps({"permissions": permissions})
    options = ClaudeOptions(cwd="/srv/app", home="/home/alice", mode="auto")
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    chain = Chain.start("main", project.enforced)
    assert chain.decide("Bash", {"command": "eval ls"}).reason is Reason.PROTECTED
    assert chain.decide("Bash", {"command": "dd x"}).reason is Reason.CLASSIFIER


@pytest.mark.parametrize(
    "command", ["ls | node -v", "ls || python3 -V", "ls | ruby", "ls | cat; node -v"]
)
def test_an_interpreter_that_is_named_no_script_may_be_given_one_by_a_pipe(command: str) -> None:
    assert decide(command) is Effect.ASK
    assert decide(command, inside=False) is Effect.ALLOW


@pytest.mark.parametrize(
    "command", ["node a.js", "node a.js | cat", "ls | node a.js", "ls | python3 -m x"]
)
def test_an_interpreter_that_is_given_a_script_by_its_name_runs(command: str) -> None:
    assert decide(command) is Effect.ALLOW


@pytest.mark.parametrize("command", ["foo a", "foo --x=a", "make -f a", "foo b; foo a", "yarn x a"])
def test_any_word_may_name_a_file_that_a_rule_denies_where_reads_are_kept_inside(
    command: str,
) -> None:
    assert decide(command, deny=["Read(a)"]) is Effect.ASK
    assert decide(command, deny=["Read(z)"]) is Effect.ALLOW
    assert decide(command, inside=False, deny=["Read(a)"]) is Effect.ALLOW
