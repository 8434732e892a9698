"""Values that are built when they are asked for."""

from __future__ import annotations

import pytest

from policy.core.memory import OnDemand
from policy.files.trees import Memory
from policy.hosts.claude.front_end import load


def test_builds_what_is_asked_for_once_and_nothing_else() -> None:
    built: list[str] = []

    def build(name: str) -> int:
        built.append(name)
        return len(name)

    values = OnDemand(["b", "aa", "b"], build)
    assert list(values) == ["b", "aa"]
    assert "aa" in values
    assert "c" not in values
    assert len(values) == 2
    assert built == []
    assert values["aa"] == values["aa"] == 2
    assert built == ["aa"]
    with pytest.raises(KeyError):
        values["c"]
    assert values == {"b": 1, "aa": 2}


def test_a_chain_is_started_without_what_files_declare_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = {".claude/agents/a.md": "---\nname: a\ndescription: d\ntools: Read\n---\n"}
    (project,) = load(Memory(files))

    def refuse(*_: object) -> None:
        raise AssertionError("declared rules were built")

    monkeypatch.setattr("policy.hosts.claude.front_end.declared", refuse)
    monkeypatch.setattr("policy.hosts.claude.reading.declared", refuse)
    link = project.enforced.step(project.enforced.start("main"), "a")
    assert str(link.table.decide("Read", {"file_path": "/elsewhere/x"}).effect) == "ask"
    with pytest.raises(AssertionError, match="were built"):
        project.attenuated.start("main")
