"""Calls that Claude Code 2.1.329 was observed to decide: the files in `observed/`.

An `[[observed]]` says what its calls show. Its other keys are a project, or a list of `projects`: the
`permissions` of its settings, and the calls that are `allowed`, `asked` for and `denied` there, which
are commands of `Bash`, or files of another `tool`. In a rule `<command>` stands for the call itself.
"""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from policy.tables.table import Table
from tests.claude_session import table

pytest.importorskip("tree_sitter_bash")

FOLDER = Path(__file__).with_name("observed")
EFFECTS = {"allowed": "allow", "asked": "ask", "denied": "deny"}
ARGUMENTS = {"Bash": "command", "Read": "file_path", "Write": "file_path", "Edit": "file_path"}
OWN_KEYS = {"shows", "tool", "mode", "links", *EFFECTS}


def observed() -> list[Any]:
    return [
        pytest.param(each.get("projects", [each]), id=f"{path.stem}: {each['shows']}")
        for path in sorted(FOLDER.glob("*.toml"))
        for each in tomllib.loads(path.read_text(encoding="utf-8"))["observed"]
    ]


@pytest.mark.parametrize("projects", observed())
def test_a_call_is_decided_as_it_was_observed(projects: list[dict[str, Any]]) -> None:
    wrong = [
        (call, found, effect)
        for project in projects
        for word, effect in EFFECTS.items()
        for call in project.get(word, ())
        if (found := _decided(project, call)) != effect
    ]
    assert not wrong


def _decided(project: dict[str, Any], call: str) -> str:
    permissions = {key: value for key, value in project.items() if key not in OWN_KEYS}
    text = json.dumps(permissions)
    if "<command>" in text:
        text = text.replace("<command>", json.dumps(call)[1:-1])
    links = json.dumps(project.get("links"))
    rules = _table(project.get("mode", "default"), links, text)
    tool = project.get("tool", "Bash")
    return str(rules.decide(tool, {ARGUMENTS[tool]: call}).effect)


@lru_cache(maxsize=1)  # most projects decide many calls
def _table(mode: str, links: str, permissions: str) -> Table:
    return table(mode, json.loads(links), **json.loads(permissions))
