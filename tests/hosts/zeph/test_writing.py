"""Definitions to files: rows 0.15, 0.28 to 0.33."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.core import values
from policy.hosts.fields import HostError
from policy.hosts.zeph.definition import (
    HookDef,
    HookMatcher,
    MemoryScope,
    PermissionMode,
    Permissions,
    SkillFilter,
    SubAgentDef,
    ToolPolicy,
    ZephProfile,
    as_derived,
    as_zeph_saves,
    default_template,
    delete_file,
    parse,
    save_atomic,
    serialize_to_markdown,
    upstream_text,
)
from policy.hosts.zeph.loading import load

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.lists(
    TEXTS | st.sampled_from(["*", "Bash(git *)", "yes", "5", "---", "+++"]), max_size=3
).map(tuple)
NUMBERS = st.integers(0, 2**32 - 1)
HOOKS = st.builds(
    HookDef,
    st.just("command"),
    TEXTS,
    timeout_secs=NUMBERS,
    fail_closed=st.booleans(),
    condition=st.none() | TEXTS,
) | st.builds(HookDef, st.just("mcp_tool"), server=TEXTS, tool=TEXTS)
MATCHERS = st.lists(
    st.builds(HookMatcher, TEXTS, st.lists(HOOKS, max_size=2).map(tuple)), min_size=1, max_size=2
).map(tuple)
DESCRIPTIONS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t"), min_size=1
).filter(str.strip)


def definitions(tools: object) -> st.SearchStrategy[SubAgentDef]:
    """Return definitions of every kind, with the lists of *tools*."""
    return st.builds(
        SubAgentDef,
        name=st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}", fullmatch=True),
        description=DESCRIPTIONS,
        model=st.none() | TEXTS,
        tools=tools,
        disallowed_tools=NAMES,
        permissions=st.builds(
            Permissions,
            NAMES,
            NUMBERS,
            st.booleans(),
            NUMBERS,
            NUMBERS,
            st.sampled_from(PermissionMode),
            NUMBERS,
            st.booleans(),
        ),
        skills=st.builds(SkillFilter, NAMES, NAMES),
        system_prompt=TEXTS.map(str.strip),
        hooks=st.dictionaries(st.sampled_from(("PreToolUse", "PostToolUse")), MATCHERS),
        memory=st.none() | st.sampled_from(MemoryScope),
    )


LISTS = st.just(ToolPolicy()) | st.builds(ToolPolicy, NAMES) | st.builds(ToolPolicy, deny=NAMES)


@settings(deadline=None)
@given(definitions(LISTS))
def test_what_is_written_reads_back_as_the_same_definition(definition: SubAgentDef) -> None:
    assert parse(serialize_to_markdown(definition)) == definition


@settings(deadline=None)
@given(definitions(st.builds(ToolPolicy, NAMES, NAMES)), st.none() | NAMES)
def test_so_does_a_definition_of_issue_970(definition: SubAgentDef, spawns: tuple | None) -> None:
    definition = values.evolve(definition, allowed_spawns=spawns)
    assert parse(serialize_to_markdown(definition), ZephProfile.ISSUE_970) == definition


def test_zeph_itself_drops_two_permissions() -> None:
    alone = SubAgentDef("a", "b", permissions=Permissions(worktree=True, max_history_messages=5))
    assert as_zeph_saves(alone).permissions == Permissions()
    with_turns = SubAgentDef("a", "b", permissions=Permissions(worktree=True, max_turns=5))
    assert as_zeph_saves(with_turns) == with_turns


def test_what_the_derived_writer_has_is_no_file() -> None:
    definition = SubAgentDef("a", "b", tools=ToolPolicy(("x",)), disallowed_tools=("y",))
    with pytest.raises(HostError) as caught:
        parse(as_derived(definition))
    assert caught.value.kind == "Parse"


def test_a_file_is_saved_whole_below_new_folders_and_over_an_old_one(tmp_path: Path) -> None:
    definition = SubAgentDef("a", "b", system_prompt="x" * 10_000)
    path = save_atomic(default_template("a", "old"), tmp_path / "x/y")
    assert save_atomic(definition, tmp_path / "x/y") == path
    assert load(path) == definition
    assert [file.name for file in path.parent.iterdir()] == ["a.md"]


@pytest.mark.parametrize("name", ["../../etc/cron.d/a", "", "a b", "a\n"])
def test_a_name_that_is_no_file_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(HostError) as caught:
        save_atomic(SubAgentDef(name, "b"), tmp_path / "new")
    assert caught.value.kind == "Invalid"
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_or_removed_is_an_io_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for call in (
        lambda: save_atomic(default_template("a", "b"), tmp_path / "file"),
        lambda: delete_file(tmp_path / "none.md"),
    ):
        with pytest.raises(HostError) as caught:
            call()
        assert caught.value.kind == "Io"
        assert upstream_text(caught.value).startswith(f"I/O error at {tmp_path}")
    path = save_atomic(default_template("a", "b"), tmp_path)
    delete_file(path)
    assert not path.exists()


def test_a_template_has_every_tool_and_says_nothing_else() -> None:
    assert default_template("a", "b") == SubAgentDef("a", "b")
    assert parse(serialize_to_markdown(default_template("a", "b"))) == SubAgentDef("a", "b")
