"""Files of every host in one tree: each is read by its own, and every verb works on all."""

from __future__ import annotations

from pathlib import Path

import pytest

import policy
from policy.analysis.diff import diff_workspaces
from policy.analysis.reach.audit import ProjectAudit, audit
from policy.cli import main
from policy.core.finding import Severity
from policy.files.trees import Folder, Memory
from policy.hosts.workspace import Workspace, load_tree
from tests.conftest import FIXTURES

MIXED = FIXTURES / "mixed"


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    tree = Folder(MIXED)
    return {p: tree.read(p).decode() for p in tree.paths() if p != "requests.yaml"}


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return policy.load(MIXED)


def _listing(workspace: Workspace) -> list[str]:
    lines = []
    for project in workspace.projects:
        written = [entry for entry in project.agents.values() if entry.place]
        agents = ", ".join(f"{entry.name} at {entry.place}" for entry in written)
        read = ", ".join(f"{file.path} ({file.role})" for file in project.files)
        lines += [
            project.title,
            f"  profile  {project.profile}",
            f"  read     {read}",
            f"  agents   {agents or 'none of its own'}",
        ]
    return lines


def test_what_each_host_reads_of_a_mixed_tree(workspace: Workspace, files, text) -> None:
    assert "\n".join([*_listing(workspace), ""]) == text
    assert workspace.unread == ()
    assert workspace.files == files.keys()


def test_a_file_of_one_host_is_read_by_no_other(files: dict[str, str]) -> None:
    for path, content in files.items():
        alone = load_tree(Memory({path: content}))
        together = {p.host for p in policy.load(MIXED).projects for f in p.files if f.path == path}

        # A3S looks for agents in the folder of Claude Code too, where it is at work itself.
        expected = {project.host for project in alone.projects}
        shared = {"a3s"} if path == ".claude/agents/reviewer.md" else set()
        assert together == expected | shared, path
        assert len(expected) == 1, path


@pytest.mark.parametrize(
    ("chain", "call", "status"),
    [
        ("claude-code:main>reviewer", "Read(src/a)", 0),
        ("zeph@services/api:main>explorer", "grep(x)", 1),
        ("policy@services/api/api.policy:api", "Read(src/x)", 0),
        ("main", "Read(x)", 2),  # of several hosts
        ("api", "Read(x)", 2),
    ],
)
def test_check_finds_the_agents_of_every_host(
    chain: str, call: str, status: int, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(MIXED)

    assert main(["check", ".", "--chain", chain, call]) == status, capsys.readouterr().out


CHANGES = {
    ".claude/settings.json": ('"deny": [', '"deny": [\n      "WebSearch",'),
    ".zeph/agents/explorer.md": ("[read, grep]", "[read]"),
    ".a3s/agents/builder.yaml": ("bash(make:*)", "bash(make test)"),
    "pikuri.host.yaml": ("tool_names: [web_search]", "tool_names: []"),
    "team.policy": ("deny      Edit", "deny      Edit, Read"),
    "services/api/api.policy": ("src/**", "docs/**"),
}


@pytest.mark.parametrize("path", CHANGES)
def test_a_change_of_one_file_is_reported_for_its_own_project_only(
    path: str, files: dict[str, str], workspace: Workspace
) -> None:
    changed = load_tree(Memory(files | {path: files[path].replace(*CHANGES[path])}))

    projects = {change.project for change in diff_workspaces(workspace, changed).changes}
    owners = {p.title for p in workspace.projects for f in p.files if f.path == path}
    assert projects == owners


def test_one_diff_of_files_of_every_host(tmp_path: Path, files, monkeypatch, capsys, text) -> None:
    for path, content in files.items():
        place = tmp_path / "after" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content.replace(*CHANGES[path]) if path in CHANGES else content)
    (tmp_path / "before").symlink_to(MIXED)
    monkeypatch.chdir(tmp_path)

    assert main(["diff", "before", "after"]) == 0
    assert capsys.readouterr().out == text


def test_what_is_broken_for_one_host_costs_no_other_anything(files: dict[str, str]) -> None:
    whole = {project.title for project in load_tree(Memory(files)).projects}
    for path in files:
        found = load_tree(Memory(files | {path: "{ ["}))

        assert any(f.severity is Severity.ERROR and f.place.file == path for f in found.findings)
        others = {p.title for p in found.projects if path not in {f.path for f in p.files}}
        owners = {p.title for p in policy.load(MIXED).projects if path in {f.path for f in p.files}}
        assert whole - owners <= others, path


def test_what_cannot_be_looked_at_is_a_finding_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "team.policy").write_text("agent a {}\n")
    (tmp_path / "shared.policy").symlink_to("/dev/null")

    found = policy.load(tmp_path)
    assert [(f.code, f.file) for f in found.findings] == [("unreadable", "shared.policy")]
    assert [project.title for project in found.projects] == ["policy@team.policy"]


def test_every_project_of_the_tree_is_audited(workspace: Workspace) -> None:
    audited: tuple[ProjectAudit, ...] = audit(workspace).projects

    assert [one.project.title for one in audited] == [p.title for p in workspace.projects]
    assert all(one.exact for one in audited)
