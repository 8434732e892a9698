"""Links in folders: those of a user lead anywhere, and no project leads out of itself."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from policy.cli import main
from policy.core.effect import Effect
from policy.files.revisions import GitRevision
from policy.files.trees import Folder, Tree
from policy.hosts.front_ends import front_ends
from policy.hosts.workspace import load_tree
from policy.tables.chain import READINGS, Chain, SpawnDenied

REMOVING = ("Bash", {"command": "rm -rf x"})
DENYING = json.dumps({"permissions": {"deny": ["Bash(rm *)"]}})
ALLOWING = json.dumps({"permissions": {"allow": ["Bash"]}})


def agent(name: str, tools: str = "Read") -> str:
    return f"---\nname: {name}\ndescription: works\ntools: {tools}\n---\n"


@pytest.fixture
def places(tmp_path):
    """A project that allows commands, the folder of a user, and one that links lead to."""
    for name in ("project/.claude", "home/.claude", "dotfiles/agents/deep", "dotfiles/parts"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/.claude/settings.json").write_text(ALLOWING)
    (tmp_path / "dotfiles/settings.json").write_text(DENYING)
    (tmp_path / "dotfiles/agents/near.md").write_text(agent("near"))
    (tmp_path / "dotfiles/agents/deep/far.md").write_text(agent("far"))
    (tmp_path / "dotfiles/parts/10.json").write_text(DENYING)
    return tmp_path


def link(places: Path, path: str, target: str) -> None:
    file = places / path
    if file.is_file():
        file.unlink()
    elif file.is_dir():
        file.rmdir()
    file.symlink_to(places / target)


def check(places: Path, capsys, *arguments: str) -> tuple[int, str]:
    status = main(["check", str(places / "project"), "Bash(rm -rf x)", *arguments])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


# --- folders of users and of administrators -----------------------------------------------


def test_settings_of_a_user_that_are_a_link_deny(places, capsys) -> None:
    link(places, "home/.claude/settings.json", "dotfiles/settings.json")
    status, printed = check(places, capsys, "--user", str(places / "home/.claude"))
    assert status == 1
    assert printed.startswith("deny  Bash(rm -rf x)")
    assert "~/.claude/settings.json:1:" in printed


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("managed/managed-settings.json", "dotfiles/settings.json"),
        ("managed/managed-settings.d/10.json", "dotfiles/settings.json"),
        ("managed/managed-settings.d", "dotfiles/parts"),
    ],
)
def test_settings_of_an_administrator_that_are_a_link_deny(places, capsys, path, target) -> None:
    (places / path).parent.mkdir(parents=True)
    link(places, path, target)
    status, printed = check(places, capsys, "--managed", str(places / "managed"))
    assert (status, printed[:4]) == (1, "deny")


@pytest.mark.parametrize(
    ("path", "target", "names"),
    [
        ("home/.claude/agents", "dotfiles/agents", {"near", "far"}),
        ("home/.claude/agents/all", "dotfiles/agents", {"near", "far"}),
        ("home/.claude/agents/one.md", "dotfiles/agents/near.md", {"near"}),
    ],
)
def test_linked_agents_of_a_user_are_there(places, path, target, names) -> None:
    (places / path).parent.mkdir(parents=True, exist_ok=True)
    link(places, path, target)
    readers = front_ends(user=str(places / "home/.claude"))
    workspace = load_tree(Folder(places / "project"), front_ends=readers)
    (project,) = workspace.projects
    assert names <= project.agents.keys()
    assert {file.path for file in project.files if file.path.startswith("~/.claude/agents/")}
    assert not workspace.findings


@pytest.mark.parametrize("of", ["user", "managed"])
@pytest.mark.parametrize("target", ["dotfiles/nothing", "dotfiles/agents", "itself"])
def test_settings_that_cannot_be_followed_are_named_and_deny(places, capsys, of, target) -> None:
    folder = "home/.claude" if of == "user" else "managed"
    path = f"{folder}/{'settings.json' if of == 'user' else 'managed-settings.json'}"
    (places / folder).mkdir(exist_ok=True)
    link(places, path, path if target == "itself" else target)
    status, printed = check(places, capsys, f"--{of}", str(places / folder))
    if target == "dotfiles/agents":  # a folder is no settings file
        assert printed.startswith("allow")
        return
    assert (status, printed[:4]) == (2, "deny")
    assert "settings.json: error: a link to nothing [unreadable-file]" in printed
    assert main(["lint", str(places / "project"), f"--{of}", str(places / folder)]) == 2
    assert "[unreadable-file]" in capsys.readouterr().out


def test_a_circle_in_the_folder_of_a_user_ends_and_is_named(places, capsys) -> None:
    link(places, "home/.claude/agents", "dotfiles/agents")
    link(places, "dotfiles/agents/deep/again", "dotfiles/agents")
    status, printed = check(places, capsys, "--user", str(places / "home/.claude"))
    assert status == 2
    assert "~/.claude/agents/deep/again: error: a link to a folder it stands in" in printed


def test_what_else_a_user_keeps_is_not_looked_at(places) -> None:
    (places / "home/.claude/projects").mkdir()
    link(places, "home/.claude/projects/everything", "/")
    tree = front_ends(user=str(places / "home/.claude"))
    assert not load_tree(Folder(places / "project"), front_ends=tree).findings


def test_lint_says_how_much_was_read(places, capsys) -> None:
    link(places, "home/.claude/agents", "dotfiles/agents")
    lint = ["lint", str(places / "project"), "--select", "unreadable"]
    assert main([*lint, "--user", str(places / "home/.claude")]) == 0
    assert "no findings; 3 files with 3 rules read" in " ".join(capsys.readouterr().out.split())
    (places / "nothing").mkdir()
    assert main(["lint", str(places / "nothing")]) == 2
    assert "no file here says what an agent may do" in " ".join(capsys.readouterr().err.split())


# --- projects --------------------------------------------------------------------------------


def revision(folder: Path) -> Tree:
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "all"], check=True)
    return GitRevision(folder, "HEAD")


@pytest.mark.parametrize("tree", [Folder, revision])
@pytest.mark.parametrize(
    ("path", "target"),
    [
        (".claude/settings.json", "dotfiles/settings.json"),
        (".claude/settings.local.json", "dotfiles/nothing"),
        (".claude", "dotfiles"),
    ],
)
def test_a_project_whose_settings_lead_out_of_it_may_do_nothing(places, path, target, tree) -> None:
    if path == ".claude":
        (places / "project/.claude/settings.json").unlink()
    link(places, f"project/{path}", target)
    workspace = load_tree(tree(places / "project"))
    (project,) = workspace.projects
    assert [str(finding.place.file) for finding in workspace.findings] == [path]
    for reading in READINGS:
        chain = Chain.start("main", project.reading(reading))
        for call in (REMOVING, ("Bash", {"command": "ls"}), ("Read", {"file_path": "a"})):
            assert chain.decide(*call).effect is Effect.DENY


@pytest.mark.parametrize("tree", [Folder, revision])
@pytest.mark.parametrize(
    ("path", "target", "started"),
    [
        (".claude/agents/near.md", "dotfiles/agents/near.md", {"own", "Explore"}),
        (".claude/agents/Explore.md", "dotfiles/agents/near.md", {"own"}),
        (".claude/agents/all", "dotfiles/agents", set()),
        (".claude/agents", "dotfiles/agents", set()),
    ],
)
def test_an_agent_that_a_link_out_may_define_is_not_started(
    places, path, target, started, tree
) -> None:
    if path != ".claude/agents":
        (places / "project/.claude/agents").mkdir()
        (places / "project/.claude/agents/own.md").write_text(agent("own"))
    link(places, f"project/{path}", target)
    workspace = load_tree(tree(places / "project"))
    assert [finding.code for finding in workspace.findings] == ["unreadable-file"]
    (project,) = workspace.projects
    for reading in READINGS:
        found = set()
        for name in ("own", "near", "Explore"):
            with suppress(SpawnDenied):
                Chain.start("main", project.reading(reading)).spawn(name)
                found.add(name)
        assert found == started


@pytest.mark.parametrize(
    "path",
    [
        *("a.policy", "a3s.session.yaml", "pikuri.host.yaml"),
        *(".zeph/config.toml", ".zeph", ".a3s", ".zeph/agents"),
    ],
)
def test_a_link_out_that_another_host_would_read_is_an_input_error(places, capsys, path) -> None:
    (places / "project" / path).parent.mkdir(exist_ok=True)
    link(places, f"project/{path}", "dotfiles/settings.json" if "." in path[1:] else "dotfiles")
    assert main(["lint", str(places / "project")]) == 2
    assert f"{path}: error: a link that leads out of the folder" in capsys.readouterr().out
