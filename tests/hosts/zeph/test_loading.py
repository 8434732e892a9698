"""Files to definitions: rows 0.11, 0.13, 0.14, 0.21 to 0.27, B.12 and B.13."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from policy.files.trees import Memory
from policy.hosts import zeph
from policy.hosts.fields import HostError
from policy.hosts.workspace import load_tree
from policy.hosts.zeph.definition import DEFINITION_BYTES, parse, upstream_text
from policy.hosts.zeph.loading import (
    MOST_FILES,
    load,
    load_all_with_sources,
    load_definitions,
    resolve_paths,
    scope_label,
    with_scope,
)


def _text(name: str = "a", keys: str = "") -> str:
    return f"---\nname: {name}\ndescription: b\n{keys}---\n\nbody\n"


HOOKS = "hooks:\n  PreToolUse:\n  - matcher: bash\n    hooks:\n    - {type: command, command: x}\n"


def _refused(kind: str, message: str, call: object) -> None:
    with pytest.raises(HostError) as caught:
        call()
    assert caught.value.kind == kind
    assert message in upstream_text(caught.value)


def test_one_file_is_named_without_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(_text())
    definition = load(file)

    assert definition.source == "a.md"
    assert definition.file_path == file.resolve()
    assert str(tmp_path) not in repr(definition)


def test_a_file_that_is_not_there_is_a_parse_error(tmp_path: Path) -> None:
    _refused("Parse", "cannot resolve path", lambda: load(tmp_path / "none.md"))


def test_a_file_may_have_256_kib_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(_text().replace("body", "x" * (DEFINITION_BYTES - len(_text()) + 4)))
    assert file.stat().st_size == DEFINITION_BYTES == 262_144
    assert load(file).name == "a"

    file.write_text(file.read_text() + "x")
    _refused("Parse", "definition file exceeds maximum size of 256 KiB", lambda: load(file))


def test_bytes_that_are_no_text_are_a_parse_error(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"---\nname: a\xff\n---\n")
    _refused("Parse", "`0xff` is not UTF-8", lambda: load(tmp_path / "a.md"))


def test_a_link_must_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "real.md").write_text(_text(folder.name))
    (inside / "link.md").symlink_to(outside / "real.md")
    (inside / "twin.md").symlink_to(inside / "real.md")
    message = "escapes allowed directory boundary"
    _refused("Parse", message, lambda: load(inside / "link.md", inside))
    assert load(inside / "twin.md", inside).name == "in"

    assert [d.name for d in load_all_with_sources([inside]).definitions] == ["in"]
    named = load_all_with_sources([inside], [inside], "")
    assert [d.name for d in named.definitions] == ["out", "in"]


def test_a_linked_folder_is_its_own_bound_unless_asked_for(tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    (work / ".zeph").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "x.md").write_text(_text("x"))
    (work / ".zeph/agents").symlink_to(elsewhere)

    loaded = load_all_with_sources([".zeph/agents"], folder=work)
    assert [d.source for d in loaded.definitions] == ["project/x.md"]
    strict = load_all_with_sources([".zeph/agents"], folder=work, strict=True)
    assert strict.definitions == ()
    assert [error.kind for error in strict.errors] == ["Parse"]


def test_the_first_path_and_the_first_name_count(tmp_path: Path) -> None:
    for path, name in (
        ("one/z.md", "bot"),
        ("one/a.md", "bot"),
        ("two/a.md", "bot"),
        ("two/b.md", "Bot"),
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(_text(name).replace("body", path))
    loaded = load_all_with_sources(["none", "one", "two"], folder=tmp_path)

    assert {d.name: d.system_prompt for d in loaded.definitions} == {
        "bot": "one/a.md",
        "Bot": "two/b.md",
    }
    assert loaded.absent == ["none"]
    assert [f.code for f in loaded.findings] == ["shadowed-definition"] * 2


def test_a_broken_file_is_skipped_unless_the_command_line_names_it(tmp_path: Path) -> None:
    for folder in ("high", "low"):
        (tmp_path / folder).mkdir()
    (tmp_path / "high/bot.md").write_text(_text("bot", "tools: {allow: [], deny: []}\n"))
    (tmp_path / "low/other.md").write_text(_text("bot"))
    loaded = load_all_with_sources(["high", "low"], folder=tmp_path)

    assert [d.source for d in loaded.definitions] == ["unknown/other.md"]
    assert [f.code for f in loaded.findings] == ["unreadable-definition", "exposed-definition"]
    message = "tools.allow and tools.deny are mutually exclusive"
    by_folder = lambda: load_all_with_sources(["high"], ["high"], folder=tmp_path)  # noqa: E731
    _refused("Invalid", message, by_folder)
    file = ["high/bot.md"]
    _refused("Invalid", message, lambda: load_all_with_sources(file, file, folder=tmp_path))
    assert [error.kind for error in load_all_with_sources(file, folder=tmp_path).errors] == [
        "Invalid"
    ]


def test_a_folder_below_one_of_the_command_line_is_labelled_so_and_bound_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "cli/sub").mkdir(parents=True)
    (tmp_path / "cli/sub/good.md").write_text(_text("good"))
    (tmp_path / "cli/sub/bad.md").write_text("junk")
    (tmp_path / "cli/sub/folder.md").mkdir()
    (tmp_path / "out.md").write_text(_text("out"))
    (tmp_path / "cli/sub/link.md").symlink_to(tmp_path / "out.md")
    loaded = load_all_with_sources(["cli/sub"], ["cli"], folder=tmp_path)

    assert [d.source for d in loaded.definitions] == ["cli/good.md"]
    assert [Path(error.file).name for error in loaded.errors] == ["bad.md", "folder.md", "link.md"]


def test_a_finding_tells_files_that_zeph_reads_from_files_that_it_skips() -> None:
    shared = "tools: {allow: &t [read], except: *t}\n"
    tree = Memory(
        {".zeph/agents/a.md": _text(keys=shared), ".zeph/agents/b.md": _text(keys="x: 1\n")}
    )
    helps = [f.help for f in load_tree(tree, front_ends=[zeph]).findings]
    assert [("Zeph reads it" in help_, "Zeph skips" in help_) for help_ in helps] == [
        (True, False),
        (True, False),
        (False, True),
    ]


def test_a_hundred_files_of_a_folder_are_read_broken_ones_among_them(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 1):
        text = "junk" if number == 0 else _text(f"a{number:03}")
        (tmp_path / f"{number:03}.md").write_text(text)
    loaded = load_all_with_sources([tmp_path])

    assert len(loaded.definitions) == MOST_FILES - 1
    assert "too-many-definitions" in [f.code for f in loaded.findings]
    assert "a100" not in loaded.by_name


def test_a_tree_is_bound_by_the_same_limits() -> None:
    files = {f".zeph/agents/{n:03}.md": _text(f"a{n:03}") for n in range(MOST_FILES + 1)}
    files["home/.zeph/agents/big.md"] = _text("big") + "x" * DEFINITION_BYTES
    first, second = zeph.load(Memory(files))

    assert len(first.agents) == MOST_FILES + 1  # the session is one of them
    assert [f.code for f in first.findings] == ["too-many-definitions"]
    assert second.root == "home"
    assert [f.message for f in second.findings] == [
        "definition file exceeds maximum size of 256 KiB"
    ]


@pytest.mark.parametrize(
    ("scope", "kept", "strictly"),
    [
        ("cli", True, True),
        ("project", True, True),
        (None, True, True),
        ("user", False, False),
        ("extra", True, False),
        ("unknown", True, False),
    ],
)
def test_hooks_are_kept_or_stripped_by_scope(scope: str | None, kept: bool, strictly: bool) -> None:
    definition = parse(_text(keys=HOOKS))
    for strict, expected in ((False, kept), (True, strictly)):
        left, findings = with_scope(definition, scope, strict=strict)
        assert bool(len(left.hooks)) is expected
        assert [f.code for f in findings] == ([] if expected else ["hooks-stripped"])


def test_a_scope_is_the_start_of_a_path_as_written() -> None:
    assert scope_label(".zeph/agents/a.md") == "project"
    assert scope_label("/w/.zeph/agents/a.md") == "unknown"
    assert scope_label("/u/a.md", ["/u"], "/u", ["/u"]) == "cli"
    assert scope_label("/u/a.md", (), "/u", ["/u"]) == "user"
    assert scope_label("/u/a.md", (), "", ["/u"]) == "extra"
    assert scope_label("/usr/a.md", (), "/u") == "unknown"


def test_paths_are_searched_in_their_order_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / ".zeph").mkdir()
    (tmp_path / ".zeph/agents").symlink_to(tmp_path / "c")
    home = tmp_path / "home"
    paths = resolve_paths(["c"], None, ["e", "c", "e"], folder=tmp_path, home=home)
    assert paths == (Path("c"), home / ".config/zeph/agents", Path("e"))
    assert resolve_paths((), "", folder=tmp_path) == (Path(".zeph/agents"),)
    message = "--agents path does not exist: none"
    _refused("String", message, lambda: resolve_paths(["none"], folder=tmp_path))


@pytest.mark.parametrize("mode", ["default", "plan"])
def test_the_gate_for_users_refuses_the_whole_load_and_the_usual_way_has_none(
    tmp_path: Path, mode: str
) -> None:
    user, project = tmp_path / ".zeph/agents", tmp_path / "work/.zeph/agents"
    for folder in (user, project):
        folder.mkdir(parents=True)
    (project / "a.md").write_text(_text("a", f"permissions: {{permission_mode: {mode}}}\n"))
    assert len(load_definitions([project], home=tmp_path).definitions) == 1
    assert len(load_definitions([project, "x/.zeph/agents"], home=Path("x")).definitions) == 1
    assert len(load_all_with_sources([project, user]).definitions) == 1
    if mode == "plan":
        message = "sub-agent 'a': non-default permission_mode is not allowed for user-level"
        _refused("Invalid", message, lambda: load_definitions([project, user], home=tmp_path))


def test_no_report_has_the_path_of_a_machine(tmp_path: Path) -> None:
    (tmp_path / ".zeph/agents").mkdir(parents=True)
    (tmp_path / ".zeph/agents/a.md").write_text(_text(keys="memory: global\n"))
    loaded = load_all_with_sources([".zeph/agents"], folder=tmp_path)

    assert os.fspath(tmp_path) not in "".join(map(str, loaded.findings))
