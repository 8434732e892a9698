"""Chains of many agents: no answer takes a frame of the stack for each of them."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from policy.cli import main

_AGENTS = 300


@pytest.fixture(name="shallow")
def _shallow() -> Iterator[None]:
    """Leave less of the stack than a chain has agents."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(list(traceback.walk_stack(None))) + _AGENTS - 50)
    yield
    sys.setrecursionlimit(limit)


def _notation(number: int) -> dict[str, str]:
    agents = (
        f"agent a{each} {{\nallow Read, Task(a{each + 1})\ndelegate *\n}}" for each in range(number)
    )
    return {"a.policy": "\n".join(["root a0", *agents])}


def _write(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


@pytest.mark.usefixtures("shallow")
@pytest.mark.parametrize(
    "arguments",
    [["audit"], ["audit", "--all"], ["audit", "--format", "json"], ["query", "Read", "--all"]],
)
def test_every_agent_of_a_long_chain_is_reported(tmp_path, capsys, arguments: list[str]) -> None:
    assert main([*arguments, _write(tmp_path, _notation(_AGENTS))]) == 0
    if arguments != ["audit"]:
        assert f"a{_AGENTS - 1}" in capsys.readouterr().out


@pytest.mark.usefixtures("shallow")
def test_an_agent_at_the_end_of_a_long_chain_comes_and_goes(tmp_path, capsys) -> None:
    sides = [_write(tmp_path / str(number), _notation(number)) for number in (_AGENTS - 1, _AGENTS)]
    assert main(["diff", *sides, "--fail-on", "widened"]) == 1
    assert f"start a{_AGENTS - 1}" in capsys.readouterr().out
    assert main(["diff", *sides[::-1], "--fail-on", "widened"]) == 0


def test_json_has_each_position_once_and_says_who_confirms(tmp_path, capsys) -> None:
    text = "root a\nagent a {\nallow Task(b)\ndelegate *\n}\nagent b { ask Task(c) }\nagent c { }\n"
    assert main(["audit", "--format", "json", _write(tmp_path, {"a.policy": text})]) == 0
    (project,) = json.loads(capsys.readouterr().out)["projects"]
    assert project["positions"] == [
        {"agent": "a", "parent": None, "confirm": False},
        {"agent": "b", "parent": 0, "confirm": False},
        {"agent": "c", "parent": 1, "confirm": True},
    ]
    for reading in ("attenuated", "enforced"):
        numbers = [each["position"] for agent in project["agents"] for each in agent[reading]]
        assert numbers == [0, 1, 2]


def test_json_grows_with_the_agents_of_a_chain_and_not_with_its_square(tmp_path, capsys) -> None:
    lengths = []
    for number in (100, 200):
        folder = _write(tmp_path / str(number), _notation(number))
        assert main(["audit", "--format", "json", folder]) == 0
        lengths.append(len(capsys.readouterr().out))
    assert lengths[1] < 2.1 * lengths[0]
