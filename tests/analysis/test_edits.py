"""Which edits of texts make a change: without them it is gone, and no change is left over."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from policy.analysis.attribution import EditEffect, effects_of_edits
from policy.analysis.diff import Change, FileChange, changed_files, diff_workspaces
from policy.analysis.edits import Edits, TextEdit
from policy.analysis.reach.worklist import Chains
from policy.cli import main
from policy.core.source import Source
from policy.files.opening import is_unreadable
from policy.files.trees import Memory, Tree
from policy.hosts.workspace import Workspace, load_tree
from policy.language.parse import parse_notation
from policy.tables.chain import SpawnDenied
from tests.universes import UNIVERSES, Universe, models, tried


def attributed(
    before: dict[str, str],
    after: dict[str, str],
    load: Callable[[Tree], Workspace] = load_tree,
) -> tuple[Edits, list[EditEffect], list[Change]]:
    trees = Memory(before), Memory(after)
    sides = load_tree(trees[0]), load_tree(trees[1])
    files = changed_files((trees[0], sides[0]), (trees[1], sides[1]))
    diff = diff_workspaces(*sides, files=files)
    edits = Edits(*trees, files)
    return edits, effects_of_edits(diff, sides, edits, load), list(diff.changes)


def texts(edit: TextEdit) -> tuple[str, str]:
    return tuple(span.text if span else "" for span in (edit.removed, edit.added))  # type: ignore[return-value]


def told(
    before: dict[str, str], after: dict[str, str]
) -> dict[tuple[tuple[str, str], ...], set[str]]:
    """Return the edits of each effect, and the tools that they change."""
    _, effects, _ = attributed(before, after)
    return {
        tuple(map(texts, effect.edits)): {change.difference.tool for change in effect.changes}
        for effect in effects
    }


# --- edits ------------------------------------------------------------------------


def project(allow: list[str], deny: list[str], tools: str) -> dict[str, str]:
    lists = {"permissions": {"allow": allow, "deny": deny}}
    return {
        ".claude/settings.json": json.dumps(lists, indent=2),
        ".claude/agents/explorer.md": f"---\nname: explorer\ndescription: x\ntools: {tools}\n---\n",
    }


BEFORE = project(["Edit(src/**)"], ["Bash(rm *)", "Read(.env)"], "Read, Grep")
AFTER = project(["Edit(src/**)", "Bash(npm run:*)"], ["Bash(rm *)"], "Read, Grep, Edit")


def test_a_rule_that_moves_is_no_part_of_another_edit() -> None:
    rules = ["WebFetch(domain:a.com)", "Bash(ls)"]
    before = project(rules, [], "Read")
    after = project(["Bash(cat *)", *rules[::-1]], [], "Read")
    found = attributed(before, after)[1]
    assert [[*map(texts, effect.edits)] for effect in found] == [[("", '"Bash(cat *)"')]]


def test_each_edit_has_the_changes_of_its_own() -> None:
    found = told(BEFORE, AFTER)
    assert found.keys() == {
        (("", "Edit"),),
        (("", '"Bash(npm run:*)"'),),
        (('"Read(.env)"', ""),),
    }
    assert found[(("", "Edit"),)] == {"Edit"}
    assert found[(("", '"Bash(npm run:*)"'),)] == {"Bash", "Monitor"}


def test_tools_of_one_list_that_change_alike_are_told_together() -> None:
    before, after = (
        project([], [], f"Read{more}") for more in ("", ", mcp__s__b, mcp__s__a, Edit")
    )
    assert {edits for edits in told(before, after) if ("", "Edit") not in edits} == {
        (("", "mcp__s__b"), ("", "mcp__s__a"))
    }


def test_a_list_of_lines_that_gives_way_to_another_is_two_edits() -> None:
    agent = "---\nname: explorer\ndescription: x\n{}---\n"
    before = "tools:\n  - Glob\n  - Grep\n  - Read\n"
    after = "disallowedTools:\n  - Edit\n  - Write\n  - Bash\n"
    files = [{".claude/agents/explorer.md": agent.format(tools)} for tools in (before, after)]
    edits, _, _ = attributed(*files)
    assert [*map(texts, edits.all)] == [(before[:-1], ""), ("", after[:-1])]


def test_an_item_of_a_list_of_lines_has_the_key_of_the_list() -> None:
    agent = "---\nname: explorer\ndescription: x\ntools:\n- Read\n{}---\n"
    files = [{".claude/agents/explorer.md": agent.format(more)} for more in ("", "- Edit\n")]
    (edit,) = attributed(*files)[0].all
    assert (edit.key, texts(edit)) == ("tools", ("", "Edit"))


@pytest.mark.parametrize(
    ("old", "new", "is_one"),
    [
        ("Bash(git diff *)", "Bash(git *)", True),
        ("Read(.env)", "Edit(.env)", True),
        ("Bash", "Bash(git *)", True),
        ("Bash(mypy clone --format)", "Bash(yarn * log --global graph)", False),
        ("Bash(ls)", "Bash(rm)", False),
        ("Glob", "Read", False),
    ],
)
def test_a_rule_becomes_another_if_most_letters_of_it_stay(
    old: str, new: str, *, is_one: bool
) -> None:
    edits, _, _ = attributed(project([old], [], "Read"), project([new], [], "Read"))
    assert len(edits.all) == (1 if is_one else 2)


TEAM = "root main\nagent main {{\n{}}}\n"


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        # Lines of a word that stands often are one edited line only if they are alike.
        (
            "allow Bash(a)\nallow LS\n",
            "allow Read(b)\nallow LS\n",
            [("allow Bash(a)", ""), ("", "allow Read(b)")],
        ),
        ("allow LS\nallow A, B(x)\n", "allow LS\nallow A, C\n", [("B(x)", ""), ("", "C")]),
        ("allow LS\nallow m__*\n", "allow LS\ndeny t\n", [("allow m__*", ""), ("", "deny t")]),
        # A list of which nothing stays is one edit: half of it could not be read.
        ("allow Bash(a)\n", "allow Read(b)\n", [("allow Bash(a)", "allow Read(b)")]),
        ("trust blocked\n", "trust verified\n", [("trust blocked", "trust verified")]),
    ],
)
def test_a_line_of_a_notation_stays_one_that_can_be_read(
    old: str, new: str, edits: list[tuple[str, str]]
) -> None:
    files = [{"t.policy": TEAM.format(text)} for text in (old, new)]
    found = Edits(Memory(files[0]), Memory(files[1]), [FileChange("t.policy", "policy", "read")])
    assert [*map(texts, found.all)] == edits


@pytest.mark.parametrize(
    ("old", "new"), [("tools: Read", "tools: Grep"), ("tools:\n- Read", "tools:\n- Grep")]
)
def test_a_key_is_never_left_without_its_list(old: str, new: str) -> None:
    agent = "---\nname: explorer\ndescription: x\n{}\n---\n"
    files = [{".claude/agents/explorer.md": agent.format(tools)} for tools in (old, new)]
    assert [*map(texts, attributed(*files)[0].all)] == [(old, new)]


def test_what_differs_in_a_notation_is_as_small_as_its_items() -> None:
    team = """root main
agent main {{
    allow Read, Bash({} *), Task
    limit turns 5, depth {}
}}
{}"""
    before = {"t.policy": team.format("git diff", 1, "")}
    after = {"t.policy": team.format("git", 2, "agent b {\n    allow Read\n}\n")}
    edits = Edits(Memory(before), Memory(after), [FileChange("t.policy", "policy", "read")])
    assert [*map(texts, edits.all)] == [
        ("Bash(git diff *)", "Bash(git *)"),
        ("depth 1", "depth 2"),
        ("", "agent b {\n    allow Read\n}"),
    ]
    for edit in edits.all:
        text = edits.without(frozenset({edit})).read("t.policy").decode()
        assert text.count(",") == 3
        parse_notation(Source("t.policy", text))


def test_an_edit_by_which_a_decision_stays_as_it_is_is_not_told_with_another() -> None:
    before = project([], [], "Read, Bash")
    after = project(["Bash(make *)"], [], "Read, Bash")
    path = ".claude/agents/explorer.md"
    before[path] = before[path].replace("tools: Read, Bash\n", "")
    found = told(before, after)
    assert found[("", '"Bash(make *)"'),] == {"Bash", "Monitor"}
    assert not any(len(edits) > 1 and "Bash" in tools for edits, tools in found.items())


def test_many_edits_are_tried_together() -> None:
    rules = [f"Bash(make {name} *)" for name in "abcdefghijklmnopqrstuvwxyz"]
    before, after = (
        project(allow, deny, "Read") for allow, deny in (([], rules[:13]), (rules, []))
    )
    loads = 0

    def load(tree: Tree) -> Workspace:
        nonlocal loads
        loads += 1
        return load_tree(tree)

    _, effects, _ = attributed(before, after, load)
    assert {len(effect.edits) for effect in effects} == {1, 2}
    assert loads < 30


def test_edits_that_many_others_share_are_tried_together_with_each() -> None:
    flags = dict.fromkeys("abcdefgh", "--all") | dict.fromkeys("ijklmnop", "--force")
    gone = [f"Bash(make {name} * {flag})" for name, flag in flags.items()]
    shared = [f"Bash(* {flag})" for flag in dict.fromkeys(flags.values())]
    before = project(gone, [], "Read")
    after, tree_loads = project([], shared, "Read"), 0

    def load(tree: Tree) -> Workspace:
        nonlocal tree_loads
        tree_loads += 1
        return load_tree(tree)

    _, effects, _ = attributed(before, after, load)
    pairs = {
        tuple(sorted(text.strip('"') for edit in effect.edits for text in texts(edit) if text))
        for effect in effects
        if len(effect.edits) == 2
    }
    assert pairs == {
        (f"Bash(* {flag})", f"Bash(make {name} * {flag})") for name, flag in flags.items()
    }
    assert tree_loads < 30


def test_rules_that_allow_the_same_call_are_told_together_with_few_loads() -> None:
    others = [f"Bash({name} *)" for name in "abcdefghijklmnopqrstuvwxyz"]
    before = project([], [], "Read")
    after, tree_loads = project(["mcp__x__y", "mcp__x__*", *others], [], "Read"), 0

    def load(tree: Tree) -> Workspace:
        nonlocal tree_loads
        tree_loads += 1
        return load_tree(tree)

    _, effects, _ = attributed(before, after, load)
    assert any(len(e.edits) == 2 and e.changes[0].difference.tool == "mcp__x__y" for e in effects)
    assert tree_loads < 25


def test_edits_among_too_many_rules_are_named_by_the_rules_that_decide(monkeypatch) -> None:
    rules = [f"Bash(make {name} *)" for name in "abcdefghijklmnopqrstuvwxyz"]
    sides = project([], [], "Read"), project(rules, [], "Read")
    tree_loads = 0

    def load(tree: Tree) -> Workspace:
        nonlocal tree_loads
        tree_loads += 1
        return load_tree(tree)

    _, tried, _ = attributed(*sides)
    monkeypatch.setattr("policy.analysis.attribution._MOST_RULES", 30)
    _, untried, _ = attributed(*sides, load)
    assert all(effect.is_tried for effect in tried)
    assert not any(effect.is_tried for effect in untried)
    assert [effect.edits and texts(effect.edits[0]) for effect in untried] == [
        texts(effect.edits[0]) for effect in tried
    ]
    assert tree_loads == 0


def test_an_edit_that_undoes_a_change_alone_is_not_told_with_another() -> None:
    agent = "---\nname: {}\ndescription: x\n{}---\n"
    tools = {"ann": "Read, Agent", "bob": "Read", "general-purpose": "Read, WebFetch, Agent"}
    before, after = (
        {
            f".claude/agents/{name}.md": agent.format(name, line and f"{line}{of}\n")
            for name, of in tools.items()
        }
        for line in ("", "tools: ")
    )
    _, effects, _ = attributed(before, after)
    found = 0
    for effect in effects:
        for chain in (chain for change in effect.changes for chain in change.chains):
            if len(chain) == 2:
                files = {edit.place.file for edit in effect.edits}
                assert files == {f".claude/agents/{chain[-1]}.md"}
                found += 1
    assert found > 10


def test_a_change_names_the_agents_of_its_own_chain() -> None:
    agent = "---\nname: {}\ndescription: x\ntools: Read{}\n---\n"
    before, after = (
        {f".claude/agents/{name}.md": agent.format(name, tools) for name in ("ann", "bob")}
        for tools in ("", ", mcp__s__a")
    )
    _, effects, _ = attributed(before, after)
    assert len(effects) == 2
    for effect in effects:
        (change,) = effect.changes
        assert change.difference.before.links == change.chain[-1:]


def test_what_is_below_a_header_is_one_edit() -> None:
    header = "---\nname: explorer\ndescription: x\ntools: Read{}\n---\n"
    before = {".claude/agents/explorer.md": header.format("") + "# Find\n\n- one\n- two\n"}
    after = {".claude/agents/explorer.md": header.format(", Edit") + "# Search\n\n- one\n\n\nx"}
    edits, effects, _ = attributed(before, after)
    assert [edit.added.text for edit in edits.all if edit.added] == [
        "Edit",
        "# Search\n\n- one\n\n\nx",
    ]
    assert [texts(edit) for effect in effects for edit in effect.edits] == [("", "Edit")]


def test_edits_that_are_needed_together_are_told_together() -> None:
    before, after = (
        {".claude/settings.json": f'{{"permissions": {{"ask": [{ask}], "allow": [{allow}]}}}}'}
        for ask, allow in (('"Bash(make *)"', ""), ("", '"Bash(make *)"'))
    )
    assert told(before, after).keys() == {(('"Bash(make *)"', ""), ("", '"Bash(make *)"'))}


def test_what_no_rule_says_has_its_edit_too() -> None:
    before, after = (
        {".claude/settings.json": '{"permissions": {"defaultMode": "%s"}}' % mode}  # noqa: UP031
        for mode in ("default", "acceptEdits")
    )
    (edits,) = told(before, after)
    assert edits == (('"defaultMode": "default"', '"defaultMode": "acceptEdits"'),)
    assert [*told(before, {})] == [((before[".claude/settings.json"], ""),)] or not told(before, {})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"a": ["x"]}', '{"a": ["x", "y"]}'),
        ('{"a": ["x", "y", "z"]}', '{"a": ["z"]}'),
        ('{"a": [\n  "x"\n]}', '{\n  "a": ["w", "x"]\n}'),
        ("{}", '{"p": {"a": [\n"x",\n"y"]}}'),
    ],
)
def test_each_edit_of_a_list_can_be_taken_back_alone(old: str, new: str) -> None:
    trees = Memory({"s.json": old}), Memory({"s.json": new})
    edits = Edits(*trees, [FileChange("s.json", "settings", "read")])

    def left(taken_back: frozenset[TextEdit]) -> object:
        return json.loads(edits.without(taken_back).read("s.json"))

    assert left(frozenset()) == json.loads(new)
    assert left(frozenset(edits.all)) == json.loads(old)
    for edit in edits.all:
        left(frozenset({edit}))


def test_a_change_of_three_lines_is_told_in_fifteen(tmp_path, capsys) -> None:
    for side, files in (("before", BEFORE), ("after", AFTER)):
        for path, text in files.items():
            file = tmp_path / side / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    assert main(["diff", str(tmp_path / "before"), str(tmp_path / "after")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("widens")
    assert [" ".join(line.split()) for line in lines[start:]] == [
        "widens",
        "1 + tools Edit .claude/agents/explorer.md:4",
        "change src/** unavailable → allowed Edit(src/app.py) explorer",
        "change files unavailable → asked Edit(README.md) explorer",
        "",
        "2 + allow Bash(npm run:*) .claude/settings.json:5",
        "run npm run … asked → allowed `npm run build` main and 5 agents",
        "",
        "3 - deny Read(.env) .claude/settings.json:8",
        "read .env denied → allowed Read(.env), `cat .env`, Grep, 2 more main and 7 agents",
        "change .env denied → allowed Edit(src/.env), Write main and 4 agents",
        "change .env denied → asked Edit(.env), Write main and 4 agents",
    ]


def test_an_edit_that_is_alike_in_several_files_is_printed_once(tmp_path, capsys) -> None:
    agent = "---\nname: {}\ndescription: x\n{}---\n"
    for side, tools in (("before", ""), ("after", "tools: Read\n")):
        folder = tmp_path / side / ".claude" / "agents"
        folder.mkdir(parents=True)
        for name in ("ann", "bob", "cleo"):
            (folder / f"{name}.md").write_text(agent.format(name, tools))
    assert main(["diff", str(tmp_path / "before"), str(tmp_path / "after")]) == 0
    lines = capsys.readouterr().out.splitlines()
    blocks = [line for line in lines if "tools: Read" in line]
    files = ".claude/agents/ann.md:4, .claude/agents/bob.md:4, .claude/agents/cleo.md:4"
    assert blocks == [f"  1  + tools: Read  {files}"]
    assert "3 edits: 3 narrow" in " ".join(lines[:3])


# --- the laws ---------------------------------------------------------------------


def unreadable(workspace: Workspace) -> set[tuple[str, str]]:
    return {(f.code, f.place.file) for f in workspace.findings if is_unreadable(f)}


def draw_edits(universe: Universe, data: st.DataObject) -> None:
    sides = [dict(universe.write(data.draw(models(universe)))) for _ in range(2)]
    trees = [Memory(files) for files in sides]
    loaded = [load_tree(tree) for tree in trees]
    files = changed_files(*zip(trees, loaded, strict=True))
    edits = Edits(*trees, files)
    known = unreadable(loaded[0]) | unreadable(loaded[1])
    draw = random.Random(str(sides))
    some = [[edit for edit in edits.all if draw.random() < 0.5] for _ in range(4)]
    for taken_back in (*([edit] for edit in edits.all), *some):
        left = edits.without(frozenset(taken_back))
        assert unreadable(load_tree(left)) <= known, (sides, [*map(texts, taken_back)])
    before = edits.without(frozenset(edits.all))
    for file in files:
        if file.path in sides[0]:
            assert before.read(file.path).decode() == sides[0][file.path]


@pytest.mark.parametrize("host", UNIVERSES)
def test_with_some_edits_taken_back_files_can_be_read(host: str) -> None:
    tried(draw_edits, UNIVERSES[host], 12)


def effects_of(workspace: Workspace, change: Change, names: tuple[str, ...]) -> set[str]:
    """Return what the call of a change gets at the end of a chain, in each of its readings."""
    found = set()
    for reading in change.readings:
        (project,) = [p for p in workspace.projects if p.title == change.project] or [None]
        try:
            assert project is not None
            # A comparison decides calls of `main with skills` where no skill allows anything, too.
            assert change.what == "rule" or names[0] in project.all_starts
            chain = Chains(project.reading(reading)).chain(names)
            difference = change.difference
            effect = str(chain.table.decide(difference.tool, difference.call).effect)
            found.add(effect if change.what == "rule" else "allow")
        except (AssertionError, SpawnDenied):
            found.add("deny")
    return found


def check_attribution(universe: Universe, before: dict[str, str], after: dict[str, str]) -> None:
    edits, effects, changes = attributed(before, after)
    given = Counter((c.key, names) for c in changes for names in c.chains)
    again = Counter((c.key, names) for one in effects for c in one.changes for names in c.chains)
    assert given == again, "each change has its edits, chain by chain"
    for effect in effects:
        assert effect.edits, (before, after, effect.changes)
        taken_back = load_tree(edits.without(frozenset(effect.edits)))
        for change in effect.changes:
            was = {"rule": str(change.difference.before.effect), "agent-added": "deny"}
            for names in (change.chain, *change.also):
                found = effects_of(taken_back, change, names)
                assert was.get(change.what, "allow") in found, (before, after, change, names)


def draw_attribution(universe: Universe, data: st.DataObject) -> None:
    sides = [dict(universe.write(data.draw(models(universe)))) for _ in range(2)]
    check_attribution(universe, *sides)


@pytest.mark.parametrize("host", UNIVERSES)
def test_without_its_edits_a_change_is_gone(host: str) -> None:
    tried(draw_attribution, UNIVERSES[host], 8)


@pytest.mark.slow
@pytest.mark.parametrize("host", UNIVERSES)
def test_without_their_edits_many_changes_are_gone(host: str) -> None:
    tried(draw_attribution, UNIVERSES[host], 80)
