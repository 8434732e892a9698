"""What users and administrators keep beside a project of Claude Code, and homes that are audited."""

from __future__ import annotations

import json

import pytest

from policy.cli import main
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Folder, Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.hosts.project import Project
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain

PLACES = {"cwd": "/srv/app", "home": "/home/alice"}


def agent(name: str, tools: str) -> str:
    return f"---\nname: {name}\ndescription: d\ntools: {tools}\n---\n"


def rules(**lists: object) -> str:
    return json.dumps({"permissions": lists})


def only(files: dict[str, str], **options: object) -> Project:
    (project,) = load(Memory(files), ClaudeOptions(**{**PLACES, **options}))  # type: ignore[arg-type]
    return project


def decide(project: Project, chain: str, tool: str, **call: object) -> str:
    first, *rest = chain.split(">")
    link = Chain.start(first, project.enforced)
    for name in rest:
        link = link.spawn(name)
    found = link.decide(tool, call)
    return "unavailable" if found.reason.value == "unavailable" else str(found.effect)


def test_agents_and_settings_of_a_user_count_beside_those_of_a_project() -> None:
    user = Memory(
        {
            "agents/mine.md": agent("mine", "Read"),
            "agents/sub/both.md": agent("both", "Read"),
            "settings.json": rules(deny=["WebFetch"], allow=["Edit(/x/**)"]),
            "settings.local.json": rules(deny=["WebSearch"]),
        }
    )
    project = only({".claude/agents/both.md": agent("both", "Bash")}, user_files=user)

    assert decide(project, "main>mine", "Bash", command="make") == "unavailable"
    assert decide(project, "main>both", "Read", file_path="a") == "unavailable"
    assert decide(project, "main", "WebFetch", url="https://x.com") == "unavailable"
    assert decide(project, "main", "WebSearch", query="x") == "ask"
    assert decide(project, "main", "Edit", file_path="/home/alice/x/a") == "ask"


def test_agents_of_an_administrator_come_before_those_of_a_project() -> None:
    managed = Memory(
        {
            ".claude/agents/both.md": agent("both", "Read"),
            "managed-settings.json": rules(deny=["WebFetch"]),
            "managed-settings.d/10-more.json": rules(deny=["WebSearch"]),
        }
    )
    project = only({".claude/agents/both.md": agent("both", "Bash")}, managed_files=managed)

    assert decide(project, "main>both", "Bash", command="ls") == "unavailable"
    assert decide(project, "main", "WebFetch", url="https://x.com") == "unavailable"
    assert decide(project, "main", "WebSearch", query="x") == "unavailable"


def test_what_is_wrong_in_the_folder_of_a_user_is_found_with_its_place() -> None:
    user = Memory({"agents/a.md": agent("a", "Bash(git *), Nope"), "settings.json": "{"})
    project = only({}, user_files=user)

    files = {finding.place.file for finding in project.findings if finding.place}
    assert files == {"~/.claude/agents/a.md", "~/.claude/settings.json"}


def test_the_own_home_folder_is_one_whatever_lies_in_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder, denied in (("", ["Bash(rm *)"]), ("work/", ["WebFetch"])):
        file = tmp_path / folder / ".claude/settings.json"
        file.parent.mkdir(parents=True)
        file.write_text(rules(deny=denied))
    home, below = load_tree(Folder(tmp_path)).projects
    assert [decide(each, "main", "Bash", command="rm x") for each in (home, below)] == ["deny"] * 2
    assert [finding.code for each in (home, below) for finding in each.findings] == [
        "settings-of-folder"
    ]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("web/.claude/settings.json", rules(deny=["Read(.env)"]), 1),
        ("web/.claude/settings.local.json", rules(deny=["Read(.env)"]), 1),
        (".claude/settings.local.json", rules(deny=["Read(.env)"]), 0),
        ("web/.claude/settings.json", "{}", 0),
    ],
)
def test_settings_with_rules_of_a_folder_below_are_told_of(name, content, told) -> None:
    found = load_tree(Memory({".claude/settings.json": "{}", name: content})).findings
    assert [f.file for f in found if f.code == "settings-of-folder"] == [name] * told


@pytest.mark.parametrize("mark", [".claude.json", ".claude/.credentials.json"])
def test_settings_in_a_home_folder_are_those_of_its_user_in_every_folder_below(mark: str) -> None:
    files = {
        mark: "{}",
        ".claude/settings.json": rules(allow=["Edit(/x/**)"], deny=["WebFetch", "Read(~/k)"]),
        ".claude/settings.local.json": rules(deny=["WebSearch"]),
        ".claude/agents/mine.md": agent("mine", "Read"),
        "work/app/.claude/settings.json": rules(ask=["Bash(make)"]),
    }
    home, below = load(Memory(files), ClaudeOptions())

    assert decide(below, "main", "WebFetch", url="https://x.com") == "unavailable"
    assert decide(below, "main", "WebSearch", query="x") == "ask"
    assert decide(below, "main", "Read", file_path="~/k") == "deny"
    assert decide(below, "main", "Edit", file_path="x/a") == "ask"
    assert decide(below, "main>mine", "Bash", command="ls") == "unavailable"
    assert decide(home, "main", "WebSearch", query="x") == "unavailable"
    assert decide(home, "main", "Edit", file_path="x/a") == "allow"
    assert decide(home, "main", "Edit", file_path="~/x/a") == "allow"


def test_settings_of_a_folder_that_is_no_home_are_in_force_in_it_alone() -> None:
    files = {
        ".claude/settings.json": rules(deny=["WebFetch"]),
        "app/.claude/settings.json": rules(ask=["Bash(make)"]),
    }
    _, below = load(Memory(files), ClaudeOptions())

    assert decide(below, "main", "WebFetch", url="https://x.com") == "ask"


def test_an_audit_says_which_places_were_not_read_and_how_to_give_them() -> None:
    plain = only({})
    given = only({}, user_files=Memory({}), managed_files=Memory({}))

    assert [text for text in plain.elsewhere if "~/.claude" in text and "--user" in text]
    assert [text for text in plain.elsewhere if "/etc/claude-code" in text and "--managed" in text]
    assert len(given.elsewhere) == len(plain.elsewhere) - 2


def test_plugins_that_are_switched_on_are_reported_where_they_are_not_read() -> None:
    text = json.dumps({"enabledPlugins": {"a@x": False, "b@x": True, "c@x": ["1.0"]}})
    project = only({".claude/settings.json": text})
    (finding,) = [each for each in project.findings if each.code == "plugins-not-read"]

    assert finding.message.startswith("`b@x` and 1 more ")
    assert finding.span is not None
    assert finding.span.text == '"b@x"'


def test_the_command_reads_the_folders_of_a_user_and_of_an_administrator(tmp_path, capsys) -> None:
    folders = {"project/.claude": ["allow"], "user": ["ask"], "managed": ["deny"]}
    for folder, lists in folders.items():
        name = "managed-settings.json" if folder == "managed" else "settings.json"
        file = tmp_path / folder / name
        file.parent.mkdir(parents=True)
        file.write_text(rules(**{each: ["Bash(make)"] for each in lists}))
    asked = ["check", str(tmp_path / "project"), "Bash(make)"]
    user, managed = ["--user", str(tmp_path / "user")], ["--managed", str(tmp_path / "managed")]

    for more, effect in (([], "allow"), (user, "ask"), ([*user, *managed], "deny")):
        main([*asked, *more])
        assert capsys.readouterr().out.startswith(effect)
    assert main([*asked, "--user", str(tmp_path / "nowhere")]) == 2
    assert "expected a folder" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("stronger", "file", "effect"),
    [
        ("flag", "/srv/app/a", Effect.ASK),
        ("flag", "/etc/policies/a", Effect.ALLOW),
        ("managed", "/srv/app/a", Effect.ALLOW),
    ],
)
def test_of_two_scopes_that_allow_the_same_path_the_stronger_counts(stronger, file, effect):
    settings = json.dumps({"permissions": {"allow": ["Edit(/**)"]}})
    options = ClaudeOptions(
        cwd="/srv/app",
        home="/home/alice",
        flag_folder="/etc/policies",
        **{stronger: Source(stronger, settings)},
    )
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    main = Chain.start("main", project.enforced)
    assert main.decide("Edit", {"file_path": file}).effect is effect


def test_of_two_scopes_that_deny_the_same_path_both_count():
    settings = json.dumps({"permissions": {"deny": ["Edit(/**)"]}})
    flag = Source("flag", settings)
    options = ClaudeOptions(
        cwd="/srv/app", home="/home/alice", flag_folder="/etc/policies", flag=flag
    )
    (project,) = load(Memory({".claude/settings.json": settings}), options)
    main = Chain.start("main", project.enforced)
    for file in ("/srv/app/a", "/etc/policies/a"):
        assert main.decide("Edit", {"file_path": file}).effect is Effect.DENY
