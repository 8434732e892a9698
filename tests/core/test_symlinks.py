"""Where links lead, and how little has to be looked at to know."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.core.memory import Memo
from policy.core.symlinks import resolved

PIECES = ("a", "b", "file", "to_a", "away", "loop", "new", ".", "..", "", "é")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder that is reached by a link, with links inside."""
    root = tmp_path_factory.mktemp("links")
    real = root / "real"
    (real / "a/b").mkdir(parents=True)
    (real / "a/file").write_text("")
    (real / "to_a").symlink_to("a")
    (real / "a/away").symlink_to(root)
    (real / "loop").symlink_to("loop")
    (root / "name").symlink_to(real)
    return root


@given(st.sampled_from(["name", "real"]), st.lists(st.sampled_from(PIECES), max_size=4))
def test_a_path_below_a_resolved_folder_leads_where_the_system_says(folder, name, pieces) -> None:
    project = str(folder / name)
    path = "/".join([project, *pieces])
    assert resolved(path, project, os.path.realpath(project)) == os.path.realpath(path)


def test_a_path_beside_the_folder_is_resolved_from_the_root(folder) -> None:
    project = str(folder / "real")
    beside = f"{project}x/../name/a"
    assert resolved(beside, project, project) == os.path.realpath(beside)


def test_a_full_memo_forgets_everything() -> None:
    memo: Memo[int, str] = Memo(2)
    assert [memo.keep(number, str(number)) for number in range(3)] == ["0", "1", "2"]
    assert memo == {2: "2"}
