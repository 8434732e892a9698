"""Findings about an agent point at the line with the cause."""

from __future__ import annotations

import pytest

from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

HEADER = "---\nname: a\ndescription: Helps.\ntools: Read\n{}\n---\nYou help.\n"


@pytest.mark.parametrize(
    ("key", "mode", "code"),
    [
        ("permissionMode: acceptEdits", "default", "mode-widens"),
        ("permissionMode: default", "acceptEdits", "permission-mode-ignored"),
        ("memory: user", "default", "memory-widens-tools"),
    ],
)
def test_a_finding_points_at_the_line_of_its_key(key: str, mode: str, code: str) -> None:
    settings = f'{{"permissions": {{"defaultMode": "{mode}"}}}}'
    files = {".claude/settings.json": settings, ".claude/agents/a.md": HEADER.format(key)}
    found = [one for one in load_tree(Memory(files)).findings if one.code == code]
    assert [(str(one.place.file), one.place.line) for one in found] == [(".claude/agents/a.md", 5)]
