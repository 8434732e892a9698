"""What `policy diff` compares, and which edits and limits it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.cli import main

TEAM = """root main
agent main {
    allow Read, Bash(git diff *), Task
    limit turns 5, depth 1
}
agent explore {
    allow Read
}
agent worker {
    allow Read
    trust verified
}
"""


@pytest.fixture
def diff(tmp_path, monkeypatch, capsys):
    """Write files, then compare two sides; return status, output and complaints."""
    monkeypatch.chdir(tmp_path)

    def comparing(files: dict[str, str], *arguments: str) -> tuple[int, str, str]:
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)
        status = main(["diff", *arguments])
        out, err = capsys.readouterr()
        return status, " ".join(out.split()), " ".join(err.split())

    return comparing


# --- one file beside a folder ------------------------------------------------------


def test_a_file_is_compared_with_the_only_file_of_its_kind_in_a_folder(diff) -> None:
    changed = TEAM.replace("git diff *", "git *")
    files = {"now/team.policy": TEAM, "now/README.md": "text", "proposal.policy": changed}
    _, out, _ = diff(files, "now", "proposal.policy")
    assert "now → proposal.policy in the place of team.policy: 1 edit: widens" in out
    assert "- allow Bash(git diff *) + allow Bash(git *) team.policy:3" in out
    assert "whole file" not in out
    _, out, _ = diff({}, "proposal.policy", "now")
    assert "proposal.policy in the place of team.policy → now: 1 edit: narrows" in out


def test_two_files_of_other_names_are_compared_as_one(diff) -> None:
    files = {"old.policy": TEAM, "new.policy": TEAM.replace("diff *", "*")}
    _, out, _ = diff(files, "old.policy", "new.policy")
    assert "old.policy → new.policy: 1 edit: widens" in out
    assert "+ allow Bash(git *) new.policy:3" in out
    assert "old.policy:" not in out
    assert "without effect" not in out


def test_a_rule_that_one_of_two_files_has_alone_stands_in_that_file(diff) -> None:
    less = "# A team.\n" + TEAM.replace(", Bash(git diff *)", "")
    files = {"old.policy": TEAM, "new.policy": less}
    assert "- allow Bash(git diff *) old.policy:3" in diff(files, "old.policy", "new.policy")[1]
    assert "+ allow Bash(git diff *) old.policy:3" in diff({}, "new.policy", "old.policy")[1]


def test_rules_of_an_agent_that_comes_are_not_told_as_those_of_another(diff) -> None:
    old = TEAM.replace("git diff *", "git *")
    new = TEAM + "agent b {\n    allow Edit\n}\n"
    _, out, _ = diff({"a/t.policy": old, "b/t.policy": new}, "a", "b")
    assert "+ agent b {… t.policy:13" in out
    assert "allow Edit" not in out


def test_a_list_of_lines_that_goes_is_told_by_its_key(diff) -> None:
    agent = "---\nname: a\ndescription: x\n{}---\n"
    files = {
        "a/.claude/agents/a.md": agent.format("tools:\n  - Read\n  - Glob\n"),
        "b/.claude/agents/a.md": agent.format(""),
    }
    _, out, _ = diff(files, "a", "b")
    assert "1 - tools: Read, Glob .claude/agents/a.md:4" in out


def test_many_edits_that_were_not_tried_alone_are_said_to_be_so(diff) -> None:
    # Nothing is handed on, so that none of them changes anything.
    rules = [f"Bash(make {number})" for number in range(70)]
    old = "root main\nagent main {\n    allow Task\n    delegate Read\n}\n"
    old += "agent b {\n    allow Read\n}\n"
    new = old.replace("allow Read", f"allow Read, {', '.join(rules)}")
    _, out, _ = diff({"a/t.policy": old, "b/t.policy": new}, "a", "b")
    assert "not tried one by one, being many or among many rules + allow" in out
    assert "only together" not in out


def test_a_file_is_compared_with_the_file_of_its_name_among_others(diff) -> None:
    files = {"now/team.policy": TEAM, "now/b.policy": TEAM, "new/team.policy": TEAM}
    _, out, _ = diff(files, "now", "new/team.policy")
    assert "no file that may say something about agents differs" in out


def test_settings_stand_in_the_place_of_those_of_a_folder_beside_its_other_files(diff) -> None:
    def settings(*allow: str) -> str:
        return json.dumps({"permissions": {"allow": allow}})

    now = {
        "now/.claude/settings.json": settings("Bash(make *)"),
        "now/.claude/settings.local.json": settings("Bash(npm test)"),
    }
    files = now | {"settings.json": settings("Bash(make *)", "Bash(rm *)")}
    _, out, _ = diff(files, "now", "settings.json")
    assert "in the place of .claude/settings.json: 1 edit: widens" in out


@pytest.mark.parametrize(
    ("there", "told"),
    [
        (["a.policy", "b.policy"], "could replace `a.policy` or `b.policy` of `now`"),
        (["one/t.policy", "two/t.policy"], "could replace `one/t.policy` or `two/t.policy`"),
        ([".claude/settings.json"], "replaces no file of `now`"),
    ],
)
def test_a_file_that_may_replace_several_or_none_is_refused(diff, there, told) -> None:
    files = {f"now/{name}": "{}" if name.endswith("json") else TEAM for name in there}
    status, out, err = diff(files | {"t.policy": TEAM}, "now", "t.policy")
    assert (status, out) == (2, "")
    assert told in err
    assert "name a file instead of `now`" in err


# --- limits ------------------------------------------------------------------------


def test_limits_that_decide_no_call_are_told_and_count(diff) -> None:
    raised = TEAM.replace("turns 5", "turns 50").replace("verified", "trusted")
    files = {"a/t.policy": TEAM, "b/t.policy": raised}
    status, out, _ = diff(files, "a", "b", "--fail-on", "widened")
    assert status == 1
    assert "no call is decided differently; 2 limits raised" in out
    assert "main turns 5 → 50 t.policy:2 worker trust verified → trusted t.policy:9" in out
    assert "without effect" not in out
    status, out, _ = diff({}, "b", "a", "--fail-on", "widened")
    assert (status, "2 limits lowered" in out) == (0, True)
    assert diff({}, "b", "a", "--fail-on", "any")[0] == 1


def test_a_limit_that_is_gone_is_raised(diff) -> None:
    files = {"a/t.policy": TEAM, "b/t.policy": TEAM.replace("turns 5, ", "")}
    _, out, _ = diff(files, "a", "b", "--format", "json")
    (limit,) = json.loads(out)["limits"]
    assert [limit[key] for key in ("agent", "limit", "old", "new", "direction")] == [
        *("main", "turns", 5, None, "widened")
    ]


def test_a_limit_is_a_result_of_every_format_of_results(diff) -> None:
    files = {"a/t.policy": TEAM, "b/t.policy": TEAM.replace("turns 5", "turns 50")}
    for form in ("github", "sarif", "junit"):
        assert "limit-raised" in diff(files, "a", "b", "--format", form)[1]


# --- all edits that make a change ----------------------------------------------------


def blocks(diff, old: str, new: str) -> list[tuple[set[str], set[str]]]:
    """Return the edits of each block, and the calls that they change."""
    _, out, _ = diff({"a/t.policy": old, "b/t.policy": new}, "a", "b", "--format", "json")
    found = json.loads(out)
    return [
        (
            {edit["added"] or edit["removed"] for edit in block["edits"]},
            {call["input"].get("subagent_type", call["tool"])
             for row in block["effects"] for call in row["witnesses"]},
        )
        for block in found["edits"]
    ]  # fmt: skip


def test_a_start_below_the_limit_of_depth_is_made_by_the_limit_and_the_rule(diff) -> None:
    new = TEAM.replace("depth 1", "depth 2")
    new = new.replace("agent explore {\n    allow Read", "agent explore {\n    allow Read, Task")
    assert {"depth 2", "Task"} in [edits for edits, _ in blocks(diff, TEAM, new)]


def test_a_call_that_two_agents_denied_is_made_possible_by_both_edits(diff) -> None:
    old = """root main
agent main {
    allow Bash, Task
    deny Bash(git push *)
}
agent explore {
    allow Bash
    deny Bash(rm *), Bash(git push *)
}
"""
    new = "\n".join(line for line in old.splitlines() if "deny" not in line)
    first, second = "deny Bash(git push *)", "deny Bash(rm *), Bash(git push *)"
    found = [edits for edits, _ in blocks(diff, old, new)]
    assert {first} in found
    assert {first, second} in found


def test_an_edit_that_a_start_does_not_need_is_not_named(diff) -> None:
    old = TEAM.replace("allow Read\n}", "allow Read, Task(worker)\n}", 1)
    new = old.replace("depth 1", "depth 2").replace("diff *), Task", "diff *), Task(*)")
    assert ({"depth 2"}, {"worker"}) in [
        (edits, calls & {"worker"}) for edits, calls in blocks(diff, old, new)
    ]


def test_rules_that_run_anything_lead_the_changes_of_their_edit(tmp_path, capsys) -> None:
    allowed = [f"Bash({name}:*)" for name in ("ls", "mv", "mkdir", "touch", "bash")]
    (tmp_path / "old").mkdir()
    (tmp_path / "new/.claude").mkdir(parents=True)
    settings = {"permissions": {"allow": [*allowed, "mcp__db__query"]}}
    (tmp_path / "new/.claude/settings.json").write_text(json.dumps(settings))
    main(["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--all"])
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in lines if line.startswith("run ") and "→ allowed" in line]
    assert rows[0].startswith("run bash … asked → allowed `bash run.sh`")
    assert rows[-1].startswith("run ls … asked → allowed `time ls src`")  # `ls` needs no rule
