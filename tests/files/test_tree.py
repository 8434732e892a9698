"""Files come from folders, revisions and mappings, and never from outside them."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from policy.core import limits
from policy.core.errors import PolicyError
from policy.core.source import Span
from policy.files import trees as files
from policy.files.opening import open_tree
from policy.files.revisions import GitRevision
from policy.files.trees import Folder, Memory, Problem, SingleFile, Tree
from tests.conftest import FIXTURES


def write(root: Path, contents: Mapping[str, str | bytes]) -> None:
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)


def git(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-C", str(folder), *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str = "x") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def contents(tree: Tree) -> dict[str, str]:
    return {path: tree.source(path).text for path in tree.paths()}


def refused(tree: Tree, path: str, limit: int = limits.FILE_BYTES) -> str:
    with pytest.raises(PolicyError) as caught:
        tree.source(path, limit)
    assert caught.value.file == path
    return caught.value.message


# --- every kind of tree -----------------------------------------------------


@pytest.fixture(params=["folder", "revision", "memory"])
def tree(request: pytest.FixtureRequest, repository: Path) -> Tree:
    """The same four files, in each kind of tree."""
    given: dict[str, str | bytes] = {
        "b.json": "{}",
        "a/c.md": "\ufeffc\r\n",
        "a/latin.md": b"caf\xe9\n",
        "a/\u00e9t\u00e9 \U0001f680.md": "x" * 100,
    }
    write(repository, given)
    if request.param == "memory":
        return Memory(given)
    if request.param == "folder":
        return Folder(repository)
    commit(repository)
    return GitRevision(repository, "HEAD")


def test_paths_are_relative_and_sorted(tree: Tree) -> None:
    assert tree.paths() == ("a/c.md", "a/latin.md", "a/\u00e9t\u00e9 \U0001f680.md", "b.json")
    assert tree.problems() == ()


def test_a_file_is_read_as_bytes_and_as_text_without_its_mark(tree: Tree) -> None:
    assert tree.read("a/c.md") == b"\xef\xbb\xbfc\r\n"
    assert tree.source("a/c.md").text == "c\r\n"
    assert tree.source("a/c.md").byte_order_mark
    assert not tree.source("b.json").byte_order_mark
    assert tree.source("b.json").name == "b.json"


def test_text_that_is_not_utf8_is_refused_in_its_place(tree: Tree) -> None:
    with pytest.raises(PolicyError, match="the byte `0xe9` is not UTF-8") as caught:
        tree.source("a/latin.md")

    assert isinstance(caught.value.span, Span)
    assert (caught.value.place.line, caught.value.place.column) == (1, 4)


def test_a_file_that_is_too_large_is_refused(tree: Tree) -> None:
    path = "a/\u00e9t\u00e9 \U0001f680.md"

    assert tree.read(path, 100) == b"x" * 100
    assert refused(tree, path, 99) == "the file has 100 bytes; at most 99 are read"


@pytest.mark.parametrize(
    "path", ["x", "a", "", "../repository/b.json", "/etc/passwd", "a/../b.json", "a//c.md"]
)
def test_what_is_not_in_the_tree_is_not_read(tree: Tree, path: str) -> None:
    assert refused(tree, path).startswith("there is no such file in")


# --- folders ----------------------------------------------------------------


def test_folders_of_others_are_not_looked_into(tmp_path: Path) -> None:
    write(tmp_path, {f"a/{name}/x.md": "" for name in files.SKIPPED} | {"a/.claude/x.md": ""})
    write(tmp_path, {"b/.git": "gitdir: elsewhere"})

    assert Folder(tmp_path).paths() == ("a/.claude/x.md",)


def test_links_are_followed_within_and_reported_without(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, {"outside/secret.md": "secret", "root/agents/a.md": "a", "root/.git/x": ""})
    links = {
        "inside.md": "agents/a.md",
        "folder": "agents",
        "agents/loop": "..",
        "out.md": "../outside/secret.md",
        "outside": "../outside",
        "absolute": str(tmp_path / "outside"),
        "nothing.md": "missing.md",
        "itself": "itself",
        "inner": ".git",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    tree = Folder(root)

    linked = {"folder/a.md": "a", "inside.md": "a", "inner/x": ""}
    assert contents(tree) == {"agents/a.md": "a", **linked}
    assert tree.problems() == (
        Problem("absolute", "a link that leads out of the folder"),
        Problem("agents/loop", "a link to a folder it stands in"),
        Problem("folder/loop", "a link to a folder it stands in"),
        Problem("itself", "a link to nothing"),
        Problem("nothing.md", "a link to nothing"),
        Problem("out.md", "a link that leads out of the folder"),
        Problem("outside", "a link that leads out of the folder"),
    )


def test_a_file_that_became_a_link_after_the_walk_is_not_followed_out(tmp_path: Path) -> None:
    write(tmp_path, {"secret": "secret", "root/a.md": "a", "root/b/c.md": "c"})
    tree = Folder(tmp_path / "root")
    assert tree.paths() == ("a.md", "b/c.md")

    (tmp_path / "root/a.md").unlink()
    (tmp_path / "root/a.md").symlink_to("../secret")
    (tmp_path / "root/b/c.md").unlink()

    assert refused(tree, "a.md") == "a link that leads out of the folder"
    assert refused(tree, "b/c.md") == "cannot be read: no such file or directory"


def test_a_root_that_is_a_link_is_the_folder_it_names(tmp_path: Path) -> None:
    write(tmp_path, {"real/a.md": "a"})
    (tmp_path / "link").symlink_to("real")

    assert contents(Folder(tmp_path / "link")) == {"a.md": "a"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_reported_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    tree = Folder(tmp_path)

    assert tree.paths() == ()
    assert tree.problems() == (Problem("pipe.md", "neither a file nor a folder"),)
    assert refused(SingleFile(tmp_path / "pipe.md"), "pipe.md") == "not a file"


@pytest.mark.skipif(os.name != "posix", reason="names are text on this system")
def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    try:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))).write_bytes(b"")
    except OSError:
        pytest.skip("the file system takes UTF-8 only")

    assert Folder(tmp_path).problems() == (Problem("caf\\xe9.md", "the name is not UTF-8"),)


def test_what_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    assert Folder(tmp_path / "missing").problems() == (
        Problem(".", "cannot be read: no such file or directory"),
    )


def test_a_tree_of_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TREE_FILES", 3)
    write(tmp_path, {f"{name}.md": "" for name in "abc"})
    assert len(Folder(tmp_path).paths()) == 3

    write(tmp_path, {"d.md": ""})
    with pytest.raises(PolicyError, match="there are more than 3 files"):
        Folder(tmp_path).paths()


def test_links_that_fan_out_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TREE_FILES", 10_000)
    for level in range(30):
        write(tmp_path, {f"{level}/a.md": ""})
        for name in ("left", "right"):
            (tmp_path / str(level) / name).symlink_to(f"../{level + 1}")

    with pytest.raises(PolicyError, match="there are more than"):
        Folder(tmp_path).paths()


# --- revisions --------------------------------------------------------------


def test_a_revision_is_what_was_committed(repository: Path) -> None:
    write(repository, {"a.md": "old", "b/c.md": "c"})
    old = commit(repository)
    git(repository, "tag", "-a", "-m", "x", "first")
    write(repository, {"a.md": "new"})
    commit(repository)
    write(repository, {"a.md": "not committed"})

    for name in (old, old[:8], "first", "HEAD~1", "main^", "first^{tree}"):
        assert contents(GitRevision(repository, name)) == {"a.md": "old", "b/c.md": "c"}
    assert contents(GitRevision(repository, "main"))["a.md"] == "new"
    assert contents(GitRevision(repository, "main:b")) == {"c.md": "c"}
    assert GitRevision(repository, "main").label == "main"


def test_a_folder_within_a_repository_is_that_folder_at_the_revision(repository: Path) -> None:
    write(repository, {"a.md": "a"})
    commit(repository)
    write(repository, {"b/c.md": "c"})
    commit(repository)

    assert contents(GitRevision(repository / "b", "HEAD")) == {"c.md": "c"}
    assert GitRevision(repository / "b", "HEAD~1").paths() == ()
    assert contents(GitRevision(repository / "b", "HEAD:")) == {"a.md": "a", "b/c.md": "c"}


def test_a_revision_and_its_checkout_are_the_same_tree(repository: Path) -> None:
    write(repository, {"agents/a.md": "a", "x/y/z.md": "z", "node_modules/m.md": ""})
    links = {
        "folder": "agents",
        "x/up.md": "../agents/a.md",
        "x/chain": "../folder",
        "agents/loop": "..",
        "out": "../../..",
        "nothing": "missing",
        "itself": "itself",
        "through": "folder/a.md",
        "inner": "node_modules",
    }
    for name, target in links.items():
        (repository / name).symlink_to(target)
    commit(repository)
    folder, revision = Folder(repository), GitRevision(repository, "HEAD")

    assert contents(revision) == contents(folder)
    assert revision.problems() == folder.problems()
    assert "x/chain/a.md" in folder.paths()


def test_submodules_are_reported(repository: Path) -> None:
    commit(repository)
    oid = git(repository, "rev-parse", "HEAD")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{oid},module")
    git(repository, "commit", "-q", "-m", "x")

    assert GitRevision(repository, "HEAD").problems() == (
        Problem("module", "a submodule, which is another repository"),
    )


@pytest.mark.parametrize(
    "name", ["", "-h", "--upload-pack=x", "nope", "a..b", "HEAD\n", "HEAD\0", "HEAD:a.md", "a b"]
)
def test_what_is_no_revision_is_refused(repository: Path, name: str) -> None:
    write(repository, {"a.md": "a"})
    commit(repository)

    with pytest.raises(PolicyError):
        GitRevision(repository, name)


def test_outside_a_repository_there_are_no_revisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(FIXTURES.parent / ".git"))

    with pytest.raises(PolicyError, match="git cannot read") as caught:
        GitRevision(tmp_path, "HEAD")
    assert "not a git repository" in caught.value.help


def test_without_git_there_are_no_revisions(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.devnull)

    with pytest.raises(PolicyError, match="git cannot be started"):
        GitRevision(repository, "HEAD")


def test_nothing_a_repository_configures_is_run(repository: Path, tmp_path: Path) -> None:
    write(repository, {"a.md": "a", ".gitattributes": "*.md filter=x diff=x\n"})
    commit(repository)
    script, ran = tmp_path / "script", tmp_path / "ran"
    script.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    script.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        (repository / ".git/hooks").mkdir(exist_ok=True)
        (repository / ".git/hooks" / hook).symlink_to(script)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "filter.x.smudge",
        "diff.x.textconv",
        "core.sshCommand",
    ):
        git(repository, "config", key, str(script))
    # A clone without its objects would ask this remote for them.
    git(repository, "config", "remote.origin.url", f"ext::{script}")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "protocol.ext.allow", "always")
    ran.unlink(missing_ok=True)
    tree = GitRevision(repository, "HEAD")
    assert tree.source("a.md").text == "a"

    blob = git(repository, "rev-parse", "HEAD:a.md")
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(PolicyError):
        contents(GitRevision(repository, "HEAD"))
    assert not ran.exists()


def test_the_process_ends_with_the_tree(repository: Path) -> None:
    write(repository, {"a.md": "a"})
    commit(repository)
    tree = GitRevision(repository, "HEAD")
    assert tree.source("a.md").text == "a"
    process = tree._objects
    assert process.poll() is None

    del tree
    gc.collect()
    assert process.poll() is not None


# --- what a text names ------------------------------------------------------


def test_a_path_beats_a_revision(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"a.md": "a", "main/b.md": "b"})
    commit(repository)
    monkeypatch.chdir(repository)

    assert open_tree("main") == Folder(Path("main"))
    assert open_tree("a.md") == SingleFile(Path("a.md"))
    assert isinstance(open_tree("HEAD"), GitRevision)
    assert isinstance(open_tree("main^{commit}"), GitRevision)
    with pytest.raises(PolicyError, match="neither a file nor a folder nor a revision"):
        open_tree("nope")
    with pytest.raises(PolicyError, match="neither a file nor a folder nor a revision"):
        open_tree("x" * 10_000)


def test_a_file_is_alone_in_its_folder(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "a", "b.md": "b"})
    tree = SingleFile(tmp_path / "a.md")

    assert contents(tree) == {"a.md": "a"}
    assert refused(tree, "b.md").startswith("there is no such file in")


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "../a", "a/./b", "a\\b"])
def test_a_mapping_has_relative_paths_only(path: str) -> None:
    with pytest.raises(ValueError, match="expected a relative path"):
        Memory({path: ""})
