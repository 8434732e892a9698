"""What is said of rules in one permission mode holds in every mode of a session."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.analysis.checking import Checker
from policy.analysis.lint import lint, mend
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.claude import front_end as claude
from policy.hosts.claude.data.tools import MODES
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.chain import READINGS, Chain
from tests.live import ours, sandbox, theirs
from tests.live.scenario import CWD, Call, Scenario
from tests.live.theirs import whole
from tests.universes.model import calls_of

PATH = ".claude/settings.json"

GUARDED = (
    ".claude/settings.json",
    "~/.claude/settings.json",
    ".git/config",
    ".vscode/x",
    ".bashrc",
)
CALLS = (
    *(
        call
        for tool in ("Edit", "Write", "Read")
        for path in (*GUARDED, "src/a", ".claude/agents/x.md", "/etc/x")
        for call in calls_of(tool, "file_path", [path if path[0] in "~/" else f"/@project/{path}"])
    ),
    *calls_of(
        "Bash",
        "command",
        [
            *("npm test", "npm i", "rm a", "ls", "cat .claude/settings.json", "cat src/a"),
            *("echo x > .claude/settings.json", "echo x > src/a", "npm test && rm a"),
        ],
    ),
    *calls_of("WebSearch", "query", "a"),
    *calls_of("mcp__s__a", "argument", "a"),
    *calls_of("Agent", "subagent_type", ["Explore"]),
)
RULES = (
    *(f"Edit({path})" for path in GUARDED),
    *("Edit", "Edit(.claude/**)", "Edit(~/.claude/**)", "Edit(.git/**)", "Edit(src/**)", "Write"),
    *("Read", "Read(.claude/**)", "Read(src/**)", "Read(//etc/**)"),
    *("Bash", "Bash(npm *)", "Bash(npm test)", "Bash(npm test *)", "Bash(rm *)", "Bash(cat *)"),
    *("WebSearch", "mcp__s", "mcp__s__a", "Agent(Explore)"),
)

listed = st.lists(st.sampled_from(RULES), max_size=4)
permissions = st.fixed_dictionaries(
    {"allow": listed, "ask": listed, "deny": st.lists(st.sampled_from(RULES), max_size=2)},
    optional={"defaultMode": st.sampled_from(MODES)},
)


def written(said: dict[str, object]) -> str:
    return json.dumps({"permissions": said}, indent=1)


def decided(text: str) -> list[tuple[str, str, list[Effect]]]:
    """Return what every call gets in every mode, each with a session of its own."""
    found = []
    for mode in MODES:
        front_end = claude.ClaudeFrontEnd(claude.ClaudeOptions(mode=mode))
        (project,) = load_tree(Memory({PATH: text}), front_ends=[front_end]).projects
        for name in READINGS:
            chain = Chain.start("main", project.reading(name))
            found.append((mode, name, [chain.decide(*call).effect for call in CALLS]))
    return found


def mended(text: str) -> str:
    """Return what `lint --fix` makes of the rules that it says do nothing."""
    tree = Memory({PATH: text})
    workspace = load_tree(tree)
    findings = [f for f in lint(tree, workspace).findings if f.code in DEAD]
    contents = mend(tree, workspace, findings).contents
    return contents[PATH][1].decode() if contents else text


DEAD = ("redundant-rule", "shadowed-rule")


def check(said: dict[str, object]) -> None:
    text = written(said)
    expected = decided(text)
    assert decided(mended(text)) == expected


@given(permissions)
@settings(max_examples=4)
def test_a_rule_that_is_taken_out_changes_no_decision_in_any_mode(said) -> None:
    check(said)


@pytest.mark.slow
@given(permissions)
@settings(max_examples=20)
def test_many_rules_that_are_taken_out_change_no_decision_in_any_mode(said) -> None:
    check(said)


@pytest.mark.parametrize(
    "said",
    [
        {
            "ask": ["Edit(~/.claude/settings.json)", "Edit(.claude/settings.json)"],
            "allow": ["Edit(~/.claude/**)", "Edit(.claude/**)"],
        },
        {"ask": ["Edit(.git/config)"], "allow": ["Edit(.git/**)"]},
        {"ask": ["Edit(src/**)"], "allow": ["Edit"], "defaultMode": "plan"},
        {"allow": ["Edit(src/**)"], "defaultMode": "acceptEdits"},
        {"ask": ["Bash(rm *)"], "allow": ["Bash(npm *)"]},
        {"allow": ["Bash(npm *)"], "defaultMode": "bypassPermissions"},
        # Whoever switches a mode off may do so in another file.
        {"ask": ["Bash(rm *)"], "disableBypassPermissionsMode": "disable"},
    ],
)
def test_a_rule_that_counts_in_another_mode_is_no_finding_and_stays(said) -> None:
    text = written(said)
    tree = Memory({PATH: text})
    assert not [f for f in lint(tree, load_tree(tree)).findings if f.code in DEAD]
    assert json.loads(mended(text)) == json.loads(text)


def test_a_guard_is_no_rule_that_covers_another() -> None:
    said = {"ask": ["Edit(.claude/settings.json)"], "allow": ["Edit(.claude/**)"]}
    tree = Memory({PATH: written(said)})
    findings = lint(tree, load_tree(tree)).findings
    assert not [f for f in findings if f.code in DEAD and f.edits]


def test_a_rule_that_does_nothing_in_any_mode_is_taken_out() -> None:
    said = {"ask": ["Edit(.claude/*)", "Edit(.claude/settings.json)"], "allow": ["Edit"]}
    assert json.loads(mended(written(said)))["permissions"]["ask"] == ["Edit(.claude/*)"]
    assert decided(mended(written(said))) == decided(written(said))


@pytest.mark.parametrize("tool", ["WebSearch", "Bash", "Read", "Skill", "mcp__hub", "mcp__*"])
def test_a_rule_that_takes_a_tool_away_decides_something(tool: str) -> None:
    tree = Memory({PATH: written({"deny": [tool]})})
    assert not [each for each in lint(tree, load_tree(tree)).findings if each.code in DEAD]


def modes_told(text: str) -> dict[tuple[Effect, str], tuple[str, set[str]]]:
    """Return the rules that decide in other modes only: the mode of the session, and the others."""
    tree = Memory({PATH: text})
    found = {}
    for finding in lint(tree, load_tree(tree)).findings:
        if finding.code == "rule-of-other-modes":
            assert finding.span is not None
            mode, *others = re.findall(r"`(\w+)`", finding.message.partition(" in the mode ")[2])
            before = text[: finding.span.start]
            effect = max(("allow", "ask", "deny"), key=lambda word: before.rfind(f'"{word}": ['))
            found[Effect(effect), json.loads(finding.span.text)] = mode, set(others)
    return found


def modes_with_a_difference(said: dict[str, Any], effect: Effect, rule: str) -> set[str]:
    """Return the modes in which some call gets another effect without a rule."""
    word = str(effect)
    without = {**said, word: [each for each in said[word] if each != rule]}
    return {
        mode
        for (mode, _, before), (_, _, after) in zip(
            decided(written(said)), decided(written(without)), strict=True
        )
        if before != after
    }


@given(permissions)
@settings(max_examples=6)
def test_a_rule_decides_in_no_mode_but_those_that_lint_names(said) -> None:
    for (effect, rule), (mode, others) in modes_told(written(said)).items():
        assert mode == said.get("defaultMode", "default")
        assert modes_with_a_difference(said, effect, rule) <= others - {mode}


@pytest.mark.parametrize(
    ("said", "rule", "others"),
    [
        (
            {"allow": ["Edit(src/**)"], "defaultMode": "acceptEdits"},
            (Effect.ALLOW, "Edit(src/**)"),
            {"default", "dontAsk"},
        ),
        (
            {"allow": ["Edit"], "defaultMode": "plan"},
            (Effect.ALLOW, "Edit"),
            {"default", "acceptEdits", "dontAsk"},
        ),
    ],
)
def test_a_rule_decides_in_each_mode_that_lint_names(said, rule, others) -> None:
    mode, told = modes_told(written(said))[rule]
    assert mode == said["defaultMode"]
    assert others <= told == modes_with_a_difference(said, *rule)


SAID_IN_MODES = {
    "allow": ["Bash(npm test)", "Bash(mv *)", "Edit(docs/**)", "WebFetch(domain:example.com)"],
    "ask": ["Bash(git push *)", "Edit(src/**)"],
    "deny": ["Read(.env)", "Bash(rm -rf *)"],
}
CALLS_IN_MODES = (
    *(
        Call("Bash", {"command": command})
        for command in (
            *("ls", "rm -rf build", "mkdir -p out", "touch out/x", "cp a.txt b.txt", "npm test"),
            *("npm test && git push", "git push origin main", "echo hi > notes.txt", "rm a.txt"),
            *("echo hi > /etc/x", "sed -i s/x/y/ a.txt", "git commit -m x", "mv a.txt /tmp/x"),
            *("for f in a b; do touch $f; done", "cd src && touch y", "tee out.txt", "cat .env"),
        )
    ),
    *(Call("Read", {"file_path": path}) for path in (f"{CWD}/a.py", f"{CWD}/.env", "/opt/data/x")),
    *(Call("Edit", {"file_path": f"{CWD}/{path}"}) for path in ("src/a.py", "docs/a.md", "a.py")),
    *(Call("Write", {"file_path": path}) for path in (f"{CWD}/new.txt", "/opt/data/n")),
    *(Call("WebFetch", {"url": url}) for url in ("https://example.com", "https://x.org")),
    *(Call("WebSearch", {"query": "xyz"}), Call("Agent", {"subagent_type": "general-purpose"})),
)


@pytest.mark.live
@pytest.mark.parametrize("mode", MODES)
def test_the_program_decides_in_each_mode_as_check_says(mode: str) -> None:
    if lacking := sandbox.missing():
        pytest.skip(lacking)
    scenario = Scenario({"project": {"permissions": SAID_IN_MODES}}, automatic=mode == "auto")
    project = ours.Ours(scenario).project
    checker = Checker(Workspace("", projects=(project,)), ("main",), "enforced", modes=True)
    told = [checker._by_mode(project, ("main",), c.tool, whole(c))[mode] for c in CALLS_IN_MODES]
    done = theirs.decide(attrs.evolve(scenario, mode=mode), CALLS_IN_MODES)
    # A classifier asks nobody; what it decides is not known.
    words = [answer.word.replace("classifier", "ask") for answer in done]
    assert words == list(map(str, told))
