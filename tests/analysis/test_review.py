"""What a reviewer learns of a change: meanings, names, moves, churn, and in which formats."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import pytest

from policy.analysis.attribution import effects_of_edits
from policy.analysis.diff import Diff, changed_files, diff_workspaces
from policy.analysis.edits import Edits
from policy.analysis.lint import lint
from policy.analysis.review import (
    DiffReport,
    Rule,
    changed_rules,
    spawn_changes,
    without_effect,
)
from policy.cli import main
from policy.cli.diff import blocks, edit_text
from policy.cli.report.document import Edge, Report, edges_grid, unstyled
from policy.cli.report.markdown import LIMIT, markdown, report_markdown
from policy.core.values import frozen
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from tests.conftest import FIXTURES

NINE = FIXTURES / "nine-changes"


def agents(**bodies: str) -> dict[str, str]:
    blocks = "".join(f"agent {name} {{\n{body}\n}}\n" for name, body in bodies.items())
    return {"t.policy": f"root main\n{blocks}"}


@frozen
class Reviewed:
    """What there is to say of a change: each edit as it is shown, with its sign."""

    diff: Diff
    without_effect: list[str]
    limiting: list[str]
    rules: tuple[list[Rule], list[Rule]]


def reviewed(before: dict[str, str], after: dict[str, str]) -> Reviewed:
    trees = [Memory(files) for files in (before, after)]
    old, new = map(load_tree, trees)
    diff = diff_workspaces(old, new, files=changed_files((trees[0], old), (trees[1], new)))
    edits = Edits(*trees, diff.files)
    effects = effects_of_edits(diff, (old, new), edits, load_tree)
    rules = changed_rules(*(lint(*side, most=0) for side in zip(trees, (old, new), strict=True)))
    found = DiffReport("", "", diff, edits, tuple(effects), rules)
    idle, _ = without_effect(found.others, edits, new, load_tree, {})
    told = {edit: unstyled(edit_text(found, edit)).rpartition("  ")[0] for edit in found.others}
    return Reviewed(
        diff,
        [text for edit, text in told.items() if edit in idle],
        [text for edit, text in told.items() if edit not in idle],
        rules,
    )


# --- rules ------------------------------------------------------------------------


def test_the_order_of_rules_in_a_file_is_no_change_of_rules() -> None:
    found = reviewed(
        agents(main="allow Read, Grep\ndeny Write"), agents(main="deny Write\nallow Grep, Read")
    )
    assert (found.rules, found.diff.changes) == (([], []), ())


def test_a_rule_that_another_covers_comes_and_goes_without_effect() -> None:
    wide, both = "allow Bash(git *)", "allow Bash(git *), Bash(git log *)"
    come = reviewed(agents(main=wide), agents(main=both))
    assert (come.without_effect, come.limiting) == (["+ allow `Bash(git log *)`"], [])
    gone = reviewed(agents(main=both), agents(main=wide))
    assert (gone.without_effect, gone.limiting) == (["- allow `Bash(git log *)`"], [])


def test_among_too_many_rules_no_edit_is_tried_for_an_effect(monkeypatch) -> None:
    wide, both = "allow Bash(git *)", "allow Bash(git *), Bash(git log *)"
    monkeypatch.setattr("policy.analysis.attribution._MOST_RULES", 1)
    found = reviewed(agents(main=wide), agents(main=both))
    assert (found.without_effect, found.limiting) == ([], ["+ allow `Bash(git log *)`"])


def test_a_rule_with_an_effect_is_not_idle() -> None:
    found = reviewed(agents(main="allow Read"), agents(main="allow Read, Grep"))
    assert found.diff.widened == 1
    assert (found.without_effect, found.limiting) == ([], [])


def test_a_rule_in_another_file_is_moved_without_effect() -> None:
    rules = '{"permissions": {"allow": ["Bash(make *)"]}}'
    before = {".claude/settings.json": rules, ".claude/settings.local.json": "{}"}
    after = {".claude/settings.json": "{}", ".claude/settings.local.json": rules}
    found = reviewed(before, after)
    assert not found.diff.changes
    assert len(found.without_effect) == 2
    assert not found.limiting


def test_a_rule_that_takes_part_in_a_grant_of_two_lists_is_not_idle() -> None:
    # The decision names one of the two rules that allow it.
    before = {
        ".claude/settings.json": '{"permissions": {"allow": ["Bash(make *)"]}}',
        ".claude/agents/a.md": "---\nname: a\ndescription: x\ntools: Read\n---\n",
    }
    after = before | {
        ".claude/agents/a.md": "---\nname: a\ndescription: x\ntools: Read, Bash\n---\n"
    }
    found = reviewed(before, after)
    assert found.diff.widened
    assert (found.without_effect, found.limiting) == ([], [])


def test_an_exception_to_a_new_rule_limits_it_though_it_decides_as_before() -> None:
    after = agents(main="allow Bash(git *)\ndeny Bash(git push *)")
    found = reviewed(agents(main="allow Read"), after)
    assert (found.without_effect, found.limiting) == ([], ["+ `deny Bash(git push *)`"])


def test_a_rule_of_an_agent_whose_parent_grants_less_is_not_without_effect() -> None:
    # It decides as soon as the parent grants more.
    before = agents(main="allow Read, Task(a)", a="allow Read")
    found = reviewed(before, agents(main="allow Read, Task(a)", a="allow Read, Grep"))
    assert not found.diff.changes
    assert (found.without_effect, found.limiting) == ([], ["+ allow `Grep`"])


def test_a_rule_by_which_alone_a_script_is_doubtful_is_not_idle() -> None:
    # Nobody is asked, so that of its own commands all are denied without it too.
    def settings(*denied: str) -> dict[str, str]:
        lists = {"allow": ["Bash(bash *)"], "deny": denied, "defaultMode": "dontAsk"}
        return {".claude/settings.json": json.dumps({"permissions": lists})}

    rule = "Bash(git push *)"
    for old, new in (((), (rule,)), ((rule,), ())):
        assert reviewed(settings(*old), settings(*new)).without_effect == []


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_rule_has_the_effect_that_it_is_written_with(effect: str) -> None:
    """Claude Code asks for removals of what a rule for `Edit` denies, by the same rule."""
    before, after = (
        {".claude/settings.json": json.dumps({"permissions": {effect: rules}})}
        for rules in (["Edit(.env)"], [])
    )
    trees = [Memory(files) for files in (before, after)]
    gone, _ = changed_rules(*(lint(tree, load_tree(tree), most=0) for tree in trees))
    assert [(rule, str(said)) for rule, said, _ in gone] == [("Edit(.env)", effect)]


def test_a_rule_that_is_there_twice_and_then_once_has_no_effect() -> None:
    twice = '{"permissions": {"allow": ["Bash(make *)", "Bash(make *)"]}}'
    once = '{"permissions": {"allow": ["Bash(make *)"]}}'
    path = ".claude/settings.json"
    assert reviewed({path: twice}, {path: once}).without_effect == ["- allow `Bash(make *)`"]


# --- agents -----------------------------------------------------------------------


def test_a_renamed_agent_counts_as_one_that_may_be_started(tmp_path, capsys) -> None:
    for side, name in (("before", "explore"), ("after", "scout")):
        (tmp_path / side).mkdir()
        text = agents(main="allow Task", **{name: "allow Read"})["t.policy"]
        (tmp_path / side / "t.policy").write_text(text)
    arguments = ["diff", str(tmp_path / "before"), str(tmp_path / "after")]
    assert main([*arguments, "--fail-on", "widened"]) == 1
    assert "start scout" in capsys.readouterr().out


# --- spawn graph ------------------------------------------------------------------


def test_edges_that_come_and_go_are_reported_for_graphs_that_changed_alone() -> None:
    before = agents(main="allow Task(a)", a="allow Read", b="allow Read")
    after = agents(main="allow Task(b)", a="allow Read", b="allow Read")
    old, new = (load_tree(Memory(files)) for files in (before, after))
    (edges,) = spawn_changes(old, new).values()
    assert edges == (("main", "a", "removed"), ("main", "b", "added"))
    assert spawn_changes(old, old) == {}


def test_a_graph_is_a_list_of_who_starts_whom_in_a_comment() -> None:
    edges = (Edge("main", "a", "added"), Edge("b", "a", "added"), Edge("main", "x`\n# y"))
    assert markdown([edges_grid(edges)]).splitlines() == [
        "- main →  a (added); x\\`\\\\n\\# y",
        "- b →  a (added)",
    ]


# --- formats ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def nine():
    def printed(form: str, capsys) -> str:
        assert main(["diff", str(NINE / "before"), str(NINE / "after"), "--format", form]) == 0
        return capsys.readouterr().out

    return printed


def test_a_comment_says_first_what_is_widened(nine, capsys) -> None:
    text = nine("markdown", capsys)
    assert text.index("## widens") < text.index("<details>")
    assert text.count("<details") == text.count("</details>")
    assert "`opencode.json` (configuration of another runtime)" in text


@pytest.mark.parametrize(("length", "total"), [(10, 60), (600, 45)])
def test_a_comment_is_never_longer_than_a_forge_takes(length, total) -> None:
    word = "ä" * length
    names = [f"a{n}" for n in range(total)]
    sides = [
        agents(
            main="allow *",
            **{n: f"allow {', '.join(f'Bash({word}{n}{k} *)' for k in range(3))}" for n in some},
        )
        for some in ([], names)
    ]
    sides[0]["t.policy"] += "".join(f"agent {name} {{\n}}\n" for name in names)
    trees = [Memory(files) for files in sides]
    old, new = map(load_tree, trees)
    files = changed_files((trees[0], old), (trees[1], new))
    diff = diff_workspaces(old, new, files=files)
    edits = Edits(*trees, files)
    effects = effects_of_edits(diff, (old, new), edits, load_tree)
    found = DiffReport(
        "a", "b", diff, edits, tuple(effects),
        changed_rules(*(lint(*side, most=0) for side in zip(trees, (old, new), strict=True))),
        spawns=spawn_changes(old, new),
    )  # fmt: skip
    text = report_markdown(Report("", dict, lambda most: blocks(found, most), 40), 40)
    assert len(text.encode()) <= LIMIT < 65_536
    assert text.count("<details") == text.count("</details>")
    assert "more edits" in text


def test_the_summary_counts_the_edits_that_are_shown(nine, capsys) -> None:
    text = nine("text", capsys)
    # The heading names both folders, so where its line breaks depends on their length.
    assert "8 edits: 6 widen, 2 without effect" in " ".join(text.split())
    answer = json.loads(nine("json", capsys))
    numbers = re.findall(r"^  (\d+)  [-+]", text, re.MULTILINE)
    assert numbers == [str(number + 1) for number in range(len(answer["edits"]))]


def test_an_edit_that_widens_and_narrows_is_counted_as_both(tmp_path, capsys) -> None:
    for name, rules in (("old", "allow Bash(git push *)"), ("new", "allow Bash(git pull *)")):
        (tmp_path / name).mkdir()
        text = f"root main\nagent main {{\n    {rules}\n}}\n"
        (tmp_path / name / "a.policy").write_text(text)
    main(["diff", str(tmp_path / "old"), str(tmp_path / "new")])
    text = " ".join(capsys.readouterr().out.split())
    assert "1 edit: widens, narrows" in text


def test_each_change_has_its_edits_chain_by_chain(nine, capsys) -> None:
    answer = json.loads(nine("json", capsys))
    given = [
        (number, chain)
        for number, change in enumerate(answer["changes"])
        for chain in [change["chain"], *change["also"]]
    ]
    told = [
        (change["change"], chain)
        for effect in answer["edits"]
        for change in effect["changes"]
        for chain in change["chains"]
    ]
    assert sorted(given) == sorted(told)
    assert all(effect["edits"] for effect in answer["edits"])


def compared(tmp_path, before: str, after: str, path: str = "t.policy") -> list[str]:
    for side, text in (("before", before), ("after", after)):
        file = tmp_path / side / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return ["diff", str(tmp_path / "before"), str(tmp_path / "after")]


def test_a_change_names_the_place_of_its_rule(tmp_path, capsys) -> None:
    rules = '{"permissions": {"allow": [\n  "Bash(make *)"\n]}}'
    main(compared(tmp_path, "{}", rules, ".claude/settings.json"))
    out = capsys.readouterr().out
    assert "+ allow Bash(make *)  .claude/settings.json:2" in out


def test_a_rule_that_the_host_never_asks_is_reported_to_have_no_effect(tmp_path, capsys) -> None:
    rules = '{"permissions": {"allow": ["Read"%s]}}'
    more = rules % ', "Agent(x)",\n"Read("'
    main([*compared(tmp_path, rules % "", more, ".claude/settings.json")])
    out = capsys.readouterr().out
    told = out[out.index("without effect\n") :].splitlines()
    assert told[1] == "  + allow Agent(x)  .claude/settings.json:1"


def test_chains_that_exceed_a_maximum_by_one_rule_are_reported_once(tmp_path, capsys) -> None:
    team = "root m\nagent m {\n    allow Read, Bash(x), Task(a)\n}\nagent a {\n    inherit\n    deny Read(x)\n}\n"
    arguments = compared(tmp_path, team, team)
    (tmp_path / "most.policy").write_text("agent most {\n    allow Read, Task\n}\n")
    assert main([*arguments, "--max", str(tmp_path / "most.policy")]) == 1
    out = capsys.readouterr().out
    assert "beyond the maximum (2)" in out
    assert re.search(r"^    chain +m in policy@t.policy, and 1 more chain$", out, re.MULTILINE)


AGENT = "---\nname: a\ndescription: x\n{0}---\n"


def test_tools_that_come_and_go_by_one_edit_are_a_row_for_each_class_and_effect(
    tmp_path, capsys
) -> None:
    listed, all_ = AGENT.format("tools: Read\n"), AGENT.format("")
    arguments = compared(tmp_path, listed, all_, ".claude/agents/a.md")
    main(arguments)
    text = capsys.readouterr().out
    assert "  1  - tools: Read  .claude/agents/a.md:4" in text.splitlines()
    assert re.search(
        r"^    change files +unavailable → asked +Edit\(src/app.py\)", text, re.MULTILINE
    )
    for word, command in (("allowed", "git status"), ("asked", "npm install")):
        row = rf"^    run commands +unavailable → {word} +`{command}`"
        assert re.search(row, text, re.MULTILINE)
    main([*arguments, "--format", "markdown"])
    assert "change files · unavailable → **asked** · `Edit(src/app.py)`" in capsys.readouterr().out
    main(["diff", arguments[2], arguments[1]])
    assert re.search(r"change files +asked → unavailable", capsys.readouterr().out)


def test_an_edit_of_each_of_two_agents_is_one_block_with_both_places(tmp_path, capsys) -> None:
    for side, keys in (("a", "tools: Read\n"), ("b", "tools: Read, Skill\n")):
        for name in ("one", "two"):
            file = tmp_path / side / f".claude/agents/{name}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(AGENT.format(keys).replace("name: a", f"name: {name}"))
    main(["diff", str(tmp_path / "a"), str(tmp_path / "b")])
    text = capsys.readouterr().out
    files = ".claude/agents/one.md:4, .claude/agents/two.md:4"
    assert re.search(rf"\+ tools Skill  {re.escape(files)}\n.* one and two\n", text)


def test_results_end_where_their_rule_ends(nine, capsys) -> None:
    (run,) = json.loads(nine("sarif", capsys))["runs"]
    lines = (NINE / "after/.claude/settings.json").read_text().splitlines()
    regions = [
        location["physicalLocation"]["region"]
        for result in run["results"]
        for location in result["locations"]
        if "region" in location["physicalLocation"]
        and location["physicalLocation"]["artifactLocation"]["uri"].endswith("settings.json")
    ]
    shown = {lines[r["startLine"] - 1][r["startColumn"] - 1 : r["endColumn"] - 1] for r in regions}
    assert {'"Bash(git push:*)"', '"Bash(npm *)"'} <= shown


@pytest.mark.parametrize("form", ["text", "markdown", "sarif", "github", "junit"])
def test_a_change_repeats_no_credential(form, tmp_path, capsys) -> None:
    rules = '{"permissions": {"allow": ["Bash(API_KEY=a1b2c3d4e5f6 make *)", "Read"]}}'
    main([*compared(tmp_path, "{}", rules, ".claude/settings.json"), "--format", form])
    out = capsys.readouterr().out
    assert "make" in out
    assert "a1b2c3d4" not in out


def test_each_change_has_an_agent_and_a_meaning(nine, capsys) -> None:
    answer = json.loads(nine("json", capsys))
    meanings = {(change["agent"], change["meaning"]) for change in answer["changes"]}
    assert {("main", "ask-to-allow"), ("researcher", "granted")} <= meanings
    for change in answer["changes"]:
        assert (change["meaning"] in {"granted", "ask-to-allow"}) == (
            change["direction"] == "widened"
        )


def test_results_name_files_that_are_not_read_and_have_a_place_each(nine, capsys) -> None:
    (run,) = json.loads(nine("sarif", capsys))["runs"]
    unread = [r for r in run["results"] if r["ruleId"] == "not-read"]
    assert len(unread) == 2
    assert all(result["locations"] for result in run["results"])
    assert run["properties"] == {"exact": True}


def test_what_only_narrows_fails_no_test_report(tmp_path, capsys) -> None:
    arguments = ["diff", str(FIXTURES / "command/team-changed"), str(FIXTURES / "command/team")]
    main([*arguments, "--format", "junit"])
    root = ET.fromstring(capsys.readouterr().out)  # noqa: S314
    cases = {case.get("classname"): list(case) for case in root.iter("testcase")}
    assert [child.tag for child in cases["withdrawn"]] == ["skipped"]
    assert [child.tag for child in cases["granted"]] == ["failure"]


# --- SARIF ------------------------------------------------------------------------


LOGS = {
    "lint": ["lint", str(FIXTURES / "zeph-memory-widens")],
    "lint-nothing": ["lint", str(FIXTURES / "team")],
    "lint-hostile": ["lint", str(FIXTURES / "command/malformed")],
    "diff": ["diff", str(NINE / "before"), str(NINE / "after")],
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_keeps_what_the_standard_demands(name, capsys) -> None:
    main([*LOGS[name], "--format", "sarif"])
    log = json.loads(capsys.readouterr().out)
    # SARIF 2.1.0, sections 3.13 to 3.52: required properties and closed sets.
    assert log.keys() == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", driver["semanticVersion"])
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert rule.keys() <= {"id", "shortDescription", "defaultConfiguration", "help"}
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}
        assert rule.get("help", {"text": "x"})["text"]
    for result in run["results"]:
        assert result.keys() <= {
            "ruleId", "ruleIndex", "level", "message", "partialFingerprints", "locations",
            "suppressions",
        }  # fmt: skip
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        for location in result.get("locations", []):
            physical = location["physicalLocation"]
            uri = physical["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=@%/-]*", uri)
            region = physical.get("region")
            if region is not None:
                start = (region["startLine"], region["startColumn"])
                assert (1, 1) <= start <= (region["endLine"], region["endColumn"])
        for suppression in result.get("suppressions", []):
            assert suppression["kind"] in {"inSource", "external"}


def test_a_tool_given_back_is_reported_by_a_file_people_may_have_and_once(tmp_path, capsys) -> None:
    # What the host guards is asked for as any other file is.
    before, after = (
        AGENT.format("disallowedTools: Edit, Write\n"),
        AGENT.format("disallowedTools: Edit\n"),
    )
    main([*compared(tmp_path, before, after, ".claude/agents/a.md"), "--format", "json"])
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert [(each["tool"], each["witness"]["input"], each["to"]) for each in changes] == [
        ("Write", {"file_path": "src/app.py"}, "ask")
    ]


def test_an_edit_that_widens_in_another_permission_mode_alone_is_no_edit_without_effect(
    tmp_path, capsys
) -> None:
    for side, ask in (("old", ["Bash(rm *)"]), ("new", [])):
        file = tmp_path / side / ".claude" / "settings.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"permissions": {"ask": ask, "allow": ["Read"]}}))
    arguments = ["diff", str(tmp_path / "old"), str(tmp_path / "new")]
    assert main([*arguments, "--fail-on", "widened"]) == 1
    assert "without effect" not in capsys.readouterr().out
    main([*arguments, "--format", "json"])
    modes = json.loads(capsys.readouterr().out)["modes"]
    assert modes == dict.fromkeys(("acceptEdits", "auto", "bypassPermissions"), "widened")
