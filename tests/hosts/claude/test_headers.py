"""Headers that are no YAML, as 2.1.329 was observed to read them."""

from __future__ import annotations

import pytest

from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.files.nodes import MappingNode, ScalarNode, python_value
from policy.files.trees import Memory
from policy.files.yaml_nodes import read_loosely
from policy.hosts.claude.agents import read_header
from policy.hosts.claude.front_end import load
from policy.hosts.project import Project
from policy.tables.chain import Chain, SpawnDenied

MAKE = {"command": "make"}

# What a line besides the list may hold: with quotes around its value the header is YAML.
MENDED = [
    "x: a: b",
    "x: a: b  ",
    "x: [a",
    "x: {a",
    "x: [a] [b]",
    "x: *a b",
    "x: &a b",
    "x: | a",
    "x: %a",
    "x: @a",
    "x: `a`",
    'x: "a: b',
    "x: 'a: b",
    'x: "a" b: c',
    'x: "a" [b]',
    'x: a: b \\" c',
    "x_y: a: b",
    "-x: a: b",
    "x:\ta: b",
    "# a\nx: a: b",
    "x: &a b\ny: *a",
    "x: a\nx: b",
    "x:\n\ta: b",
    "x: a\x07b",
]
# The same without hope: nothing that is in the header counts.
LOST = [
    'x: "a',
    "x: 'a",
    'x: "a" b',
    'x: "a" & "b"',
    'x: "a\\d: b"',
    "x: a:",
    "x: ? a",
    "x: - a",
    "x1: a: b",
    "x.y: a: b",
    "x y: a: b",
    '"x": a: b',
    "x : a: b",
    " x: a: b",
    "x: a: b\r",
    "x:\n  y: a: b",
    "x: a: b\n  more",
    "x: > a\n  more",
    "garbage",
]


def only(files: dict[str, str]) -> Project:
    (project,) = load(Memory(files))
    return project


def header(*lines: str) -> str:
    return "---\n" + "\n".join(lines) + "\n---\nText.\n"


def effect(project: Project, chain: str, tool: str, call: dict[str, object]) -> str:
    first, *rest = chain.split(">")
    try:
        found = Chain.start(first, project.enforced)
        for agent in rest:
            found = found.spawn(agent)
    except SpawnDenied:
        return "no such agent"
    decision = found.decide(tool, call)
    return "no such tool" if decision.reason.value == "unavailable" else str(decision.effect)


@pytest.mark.parametrize("line", MENDED)
def test_a_header_that_quotes_mend_counts(line: str) -> None:
    agent = header("name: a", "description: d", line, "disallowedTools: Bash")
    skill = header(line, "allowed-tools: Bash(make)")
    for path in (".claude/skills/s/SKILL.md", ".claude/commands/s.md"):
        project = only({".claude/agents/a.md": agent, path: skill})
        assert effect(project, "main>a", "Bash", MAKE) == "no such tool"
        assert effect(project, "main", "Skill", {"skill": "s"}) == "ask"
        assert effect(project, "main with skills", "Bash", MAKE) == "allow"


@pytest.mark.parametrize("line", LOST)
def test_a_header_that_quotes_do_not_mend_says_nothing(line: str) -> None:
    agent = header("name: a", "description: d", "disallowedTools: Bash", line)
    skill = header("allowed-tools: Bash(make)", line)
    for path in (".claude/skills/s/SKILL.md", ".claude/commands/s.md"):
        project = only({".claude/agents/a.md": agent, path: skill})
        assert effect(project, "main>a", "Bash", MAKE) == "no such agent"
        assert effect(project, "main", "Skill", {"skill": "s"}) == "allow"
        assert project.variants == ()
        codes = [finding.code for finding in project.findings]
        assert codes.count("bad-front-matter") == 2


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    text = header("name: a", "description: d", "tools: Bash", "tools: Read")
    assert effect(only({".claude/agents/a.md": text}), "main>a", "Bash", MAKE) == "no such tool"


@pytest.mark.parametrize("value", ["[Edit, Bash]", '["Bash"]', "[Edit, Bash(a)]", "Bash # all"])
def test_a_list_in_brackets_stays_one_beside_a_line_that_needs_quotes(value: str) -> None:
    text = header("name: a", "description: d", "x: a: b", f"disallowedTools: {value}")
    assert effect(only({".claude/agents/a.md": text}), "main>a", "Bash", MAKE) == "no such tool"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("[Bash, 5]", "no such tool"),
        ("[Bash, {a: b}]", "no such tool"),
        ("[Bash, [Edit]]", "no such tool"),
        ("[5]", "ask"),
        ("[[Bash]]", "ask"),
        ("Bash, *", "ask"),
        ('["*", Bash]', "ask"),
        ('"[Bash]"', "ask"),
    ],
)
def test_of_what_is_taken_away_texts_count_unless_one_is_a_star(value: str, expected: str) -> None:
    text = header("name: a", "description: d", f"disallowedTools: {value}")
    assert effect(only({".claude/agents/a.md": text}), "main>a", "Bash", MAKE) == expected


def test_a_mapping_that_is_merged_counts() -> None:
    text = header("name: a", "description: d", "<<: {disallowedTools: Bash}")
    assert effect(only({".claude/agents/a.md": text}), "main>a", "Bash", MAKE) == "no such tool"


def test_places_are_those_of_the_file_though_quotes_were_added() -> None:
    source = Source("a.md", 'x: a: "b\\c"\ntools: Read, Edit # all\n')
    node, mistake = read_header(source.span(0, len(source.text)))
    assert mistake is not None
    assert isinstance(node, MappingNode)
    assert python_value(node) == {"x": 'a: "b\\c"', "tools": "Read, Edit # all"}
    x, tools = node.get("x"), node.get("tools")
    assert isinstance(x, ScalarNode)
    assert isinstance(tools, ScalarNode)
    assert x.part(3, 7).text == '"b\\c'
    assert tools.part(6, 10).text == "Edit"
    assert tools.part(6, 10).place.line == 2


def test_what_an_alias_stands_for_counts_towards_the_limit() -> None:
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
    source = Source("a.md", "a0: &a0 [x, x]\n" + levels)
    with pytest.raises(PolicyError, match="values"):
        read_loosely(source, 0, len(source.text))
