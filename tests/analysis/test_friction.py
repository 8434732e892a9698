"""What keeps logged calls from running unasked, and that the named rules let them run."""

from __future__ import annotations

import json

import pytest

from policy.analysis.friction import Friction, FrictionGroup, friction
from policy.analysis.lint import lint
from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider
from policy.cli import main
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

CWD = "/srv/app"


def decider(permissions: dict[str, list[str]]) -> RecordDecider:
    text = json.dumps({"permissions": permissions})
    return RecordDecider(load_tree(Memory({".claude/settings.json": text})), "enforced")


SETTINGS = {
    "allow": ["Bash(npm run *)", "Edit(src/**)"],
    "ask": ["Bash(git push *)"],
    "deny": ["Read(.env)", "Bash(curl *)"],
}


def bash(command: str, times: int = 1) -> Record:
    return Record(("main",), "Bash", {"command": command}, cwd=CWD, times=times)


def file(tool: str, path: str) -> Record:
    return Record(("main",), tool, {"file_path": path}, cwd=CWD)


def found(*records: Record | LogProblem) -> Friction:
    return friction(records, decider(SETTINGS))


def only(*records: Record) -> FrictionGroup:
    (group,) = found(*records).groups
    return group


# The calls, what stands in the way, and the rules that would let them run.
GROUPS = [
    ([bash("make all")], "no rule", ["Bash(make all)"]),
    ([bash(f"make {n}") for n in "ab"], "no rule", ["Bash(make a)", "Bash(make b)"]),
    ([bash(f"pytest -q {n}.py") for n in "abc"], "no rule", ["Bash(pytest -q *)"]),
    ([bash(f"git commit -m 'a {n}'") for n in range(3)], "no rule", ["Bash(git commit -m *)"]),
    (
        [bash("npm run build && make all")],
        "no rule for one command of several",
        ["Bash(make all)"],
    ),
    ([bash("npm run build > out.log")], "a redirection", ["Edit(/out.log)"]),
    ([bash("git push origin main")], "a rule asks", []),
    ([bash("echo $(rm x)")], "a command substitution", []),
    # A rule that spells all of it allows it, if the host takes that.
    ([bash("make $TARGET")], "a variable", ["Bash(make $TARGET)"]),
    (
        [bash("for f in a b; do make $f; done")],
        "a loop",
        ["Bash(for f in a b; do make $f; done)"],
    ),
    ([bash("for f in *.c; do make $f; done")], "a loop", []),
    (
        [bash("git commit -m \"$(cat <<'EOF'\nFix\n\n# Why\nEOF\n)\"")],
        "no rule for one command of several",
        ["Bash(git commit -m *)"],
    ),
    ([file("Edit", f"{CWD}/docs/a.md")], "no rule", ["Edit(/docs/a.md)"]),
    ([file("Edit", f"{CWD}/docs/{n}.md") for n in range(3)], "no rule", ["Edit(/docs/**)"]),
    ([file("Read", "/etc/hosts")], "a path outside the project", ["Read(//etc/hosts)"]),
    # Files are known by the rules of another tool, tools of servers by their names alone.
    ([file("Write", f"{CWD}/docs/a.md")], "no rule", ["Edit(/docs/a.md)"]),
    ([Record(("main",), "mcp__x__y", {"n": 1}, cwd=CWD)], "no rule", ["mcp__x__y"]),
    ([bash("PGPASSWORD=hunter22 psql")], "a credential", []),
    ([bash("cat /etc/hosts")], "a path outside the project", ["Read(//etc/hosts)"]),
    ([bash("npm run build > /tmp/x")], "a redirection", ["Edit(//tmp/x)"]),
    ([bash("wc -l < /etc/hosts")], "a redirection", ["Read(//etc/hosts)"]),
]


@pytest.mark.parametrize(("records", "kind", "rules"), GROUPS)
def test_calls_are_grouped_by_what_stands_in_the_way(records, kind, rules) -> None:
    group = only(*records)
    assert group.obstacle.kind == kind
    assert list(group.rules) == rules
    assert (group.calls, group.distinct) == (len(records), len(records))


@pytest.mark.parametrize(("records", "rules"), [(g[0], g[2]) for g in GROUPS if g[2]])
def test_calls_run_unasked_once_the_rules_are_in_the_settings(records, rules) -> None:
    changed = decider({**SETTINGS, "allow": [*SETTINGS["allow"], *rules]})
    assert {changed.decide(record).effect for record in records} == {Effect.ALLOW}
    assert not friction(records, changed).groups


def test_a_wide_rule_names_a_further_call_that_it_allows() -> None:
    records = [bash(f"git commit -m 'a {n}'") for n in range(3)]
    group = only(*records)
    assert group.grants is not None
    assert group.grants.call not in [record.call for record in records]
    assert group.grants.call["command"].startswith("git commit -m")
    assert only(bash("make all")).grants is None


@pytest.mark.parametrize(
    "command", ["python3 - <<'EOF'\nprint(1)\nEOF", "echo x | sh", "bash -s", "node -"]
)
def test_a_rule_by_which_any_command_runs_comes_with_that_command(command) -> None:
    group = only(bash(command))
    (rule,) = group.rules
    assert group.grants is not None
    assert "ANYTHING" in group.grants.call["command"]
    assert group.grants.widened
    text = json.dumps({"permissions": {"allow": [rule]}})
    tree = Memory({".claude/settings.json": text})
    assert "rule-runs-anything" in [one.code for one in lint(tree, load_tree(tree)).findings]


def test_what_runs_or_is_denied_is_no_friction() -> None:
    log = found(bash("npm run build"), bash("curl x"), bash("git status"), file("Read", ".env"))
    assert not log.groups
    assert log.calls == 4


def test_the_most_frequent_comes_first_and_calls_are_counted() -> None:
    log = found(bash("make a"), bash("git push x", times=3), bash("make a"), bash("go build"))
    assert [(g.calls, g.distinct) for g in log.groups] == [(3, 1), (2, 1), (1, 1)]
    assert (log.held, log.calls) == (6, 6)


def test_a_line_that_holds_no_call_is_named() -> None:
    log = found(bash("make a"), LogProblem("a.jsonl:2", "this is not JSON"))
    assert log.undecided == {"this is not JSON": (1, ("a.jsonl:2",))}


def test_a_rule_of_an_agent_above_is_named_with_the_agent() -> None:
    team = "root main\nagent main {\n allow Read, Task\n}\nagent w {\n allow Read\n}\n"
    policy = RecordDecider(load_tree(Memory({"t.policy": team})), "attenuated")
    call = Record(("main", "w"), "Bash", {"command": "make all"})
    (group,) = friction([call], policy).groups
    assert (group.rules, group.links) == (("Bash(make all)",), ("w", "main"))


def test_the_command_shows_groups_and_rules(tmp_path, capsys) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": SETTINGS}))
    log = tmp_path / "calls.jsonl"
    lines = [
        {"tool": "Bash", "chain": ["main"], "input": {"command": f"make -j {n}"}} for n in "abc"
    ]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{\n")
    asked = ["replay", str(log), "--policy", str(tmp_path), "--friction"]
    assert main(asked) == 0
    text = capsys.readouterr().out
    assert "3 of 3 calls need confirmation, or no rule allows them" in text
    assert "Bash(make -j *)" in text
    assert "calls.jsonl:4" in text
    assert main([*asked, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["groups"][0]["rules"] == ["Bash(make -j *)"]
    assert answer["groups"][0]["grants"]["witness"]["tool"] == "Bash"


def test_the_command_shows_one_row_for_each_cause(tmp_path, capsys) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": SETTINGS}))
    log = tmp_path / "calls.jsonl"
    commands = ["make all", "go build", "go build", "python3 -", "for f in *; do x $f; done"]
    calls = [{"tool": "Bash", "chain": ["main"], "input": {"command": each}} for each in commands]
    log.write_text("".join(json.dumps(call) + "\n" for call in calls))
    asked = ["replay", str(log), "--policy", str(tmp_path), "--friction", "--format", "markdown"]
    assert main(asked) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[4:]]
    assert rows == [
        [
            "| 4 (3 distinct)",
            "no rule",
            "`Bash(go build)`",
            "`Bash(go build)`, `Bash(make all)`, `Bash(python3 -)`",
            "`Bash(echo ANYTHING \\| python3 -)` |",
        ],
        ["| 1", "a loop", "`Bash(for f in *; do x $f; done)`", "no rule can", " |"],
    ]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("for f in a b; do echo $f; done", "a loop"),
        ("cat <<EOF\nhello\nEOF", "a here-document"),
        ("if true; then ls; fi", "a condition"),
        ("echo $(date)", "a command substitution"),
        ("echo $x", "a variable"),
    ],
)
def test_under_our_notation_what_no_rule_can_know_is_a_group_of_its_own(command, kind) -> None:
    text = "root main\nagent main {\n    allow Read, Bash(echo *), Bash(date)\n}\n"
    policy = RecordDecider(load_tree(Memory({"t.policy": text})), "attenuated")
    (group,) = friction([Record(("main",), "Bash", {"command": command})], policy).groups
    assert group.obstacle.kind == kind


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([{"tool": "Read", "input": {"file_path": "a"}}], "every call of the logs runs without"),
        ([{"tool": 3}], "no call of the logs was decided"),
    ],
)
def test_the_command_says_in_a_sentence_that_nothing_is_held_back(
    lines: list[object], told: str, tmp_path, capsys
) -> None:
    log, policy = tmp_path / "calls.jsonl", tmp_path / "t.policy"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    policy.write_text("root main\nagent main {\n    allow Read\n}\n")
    main(["replay", str(log), "--policy", str(policy), "--friction"])
    assert told in " ".join(capsys.readouterr().out.split())
