"""Nine changes of one commit, as a reviewer meets them: seven in files that are read, two in files that are not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from policy.analysis.diff import Change, Diff, changed_files, diff_workspaces
from policy.files.trees import Folder
from policy.hosts.workspace import load_tree

FOLDER = Path(__file__).parent.parent / "fixtures/nine-changes"


@cache
def difference() -> Diff:
    trees = [Folder(FOLDER / side) for side in ("before", "after")]
    old, new = ((tree, load_tree(tree)) for tree in trees)
    return diff_workspaces(old[1], new[1], files=changed_files(old, new))


def changes(tool: str, *chain: str) -> list[tuple[str, str, str]]:
    """Return (command or "", effect before, effect after) of the chain that only narrows."""
    return [
        (
            str(dict(change.difference.call).get("command", "")),
            str(change.difference.before.effect),
            str(change.difference.after.effect),
        )
        for change in difference().changes
        if change.difference.tool == tool and concerns(change, chain)
    ]


def concerns(change: Change, chain: tuple[str, ...]) -> bool:
    return chain in (change.chain, *change.also) and "attenuated" in change.readings


def test_a_wider_pattern_is_told_with_a_call_that_only_it_matches() -> None:
    assert ("npm install", "ask", "allow") in changes("Bash", "main")


def test_a_rule_moved_from_ask_to_allow_is_told() -> None:
    assert ("git push origin main", "ask", "allow") in changes("Bash", "main")


def test_a_rule_that_denied_and_is_gone_is_told() -> None:
    assert ("rm -rf build", "deny", "ask") in changes("Bash", "main")


def test_tools_that_an_agent_gained_are_told() -> None:
    assert ("git push origin main", "deny", "allow") in changes("Bash", "main", "researcher")
    assert [c[1:] for c in changes("Agent", "main", "researcher")] == [("deny", "allow")]


def test_what_an_agent_may_now_start_is_told() -> None:
    added = [c.chain for c in difference().changes if c.what == "agent-added"]
    assert ("main", "researcher", "fork") in added


def test_reads_in_the_working_folder_never_needed_the_rule_that_was_widened() -> None:
    assert changes("Read", "main") == []


@pytest.mark.parametrize("path", ["opencode.json", ".codex/rules/default.rules"])
def test_a_changed_file_that_nobody_reads_is_named(path: str) -> None:
    assert [f.status for f in difference().files if f.path == path] == ["not read"]
