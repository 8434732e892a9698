"""Every decision of every fixture: ``fixtures/<case>/requests.yaml`` is the expectation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import policy
from policy.hosts.claims import call_of
from policy.hosts.notation import DIALECT
from policy.language.parse import parse_matcher

FIXTURES = Path(__file__).parent.parent / "fixtures"


def _requests() -> Iterator[object]:
    for path in sorted(FIXTURES.glob("**/requests.yaml")):
        case = path.parent.relative_to(FIXTURES).as_posix()
        for number, request in enumerate(yaml.safe_load(path.read_text()), 1):
            yield pytest.param(path.parent, request, id=f"{case}-{number}")


@pytest.mark.parametrize(("folder", "expected"), list(_requests()))
def test_a_request_gets_what_its_fixture_says(folder: Path, expected: dict) -> None:
    unknown = expected.keys() - _KEYS
    assert not unknown, f"{folder.name}: unknown keys {sorted(unknown)}"
    workspace = policy.load(folder)
    reading = expected.get("reading", "attenuated")
    try:
        chain = workspace.chain(*expected["chain"], reading=reading)
    except policy.SpawnDenied as denied:
        assert expected["effect"] == "deny"
        assert expected.get("denied") == denied.agent, str(denied)
        return
    assert "denied" not in expected, f"{chain} came about"
    decision = chain.decide(*_call(expected))
    assert str(decision.effect) == expected["effect"], str(decision)
    if "reason" in expected:
        assert decision.reason.value == expected["reason"], str(decision)
    if "because" in expected:
        places = [f"{b.place.file}:{b.place.line}" for b in decision.because if b.place]
        assert places == expected["because"], str(decision)


_KEYS = {"note", "chain", "reading", "request", "input", "effect", "reason", "because", "denied"}


def _call(expected: dict) -> tuple[str, dict[str, object]]:
    """Return the call: ``Tool(argument)``, or a tool with its whole ``input``."""
    if "input" in expected:
        return expected["request"], expected["input"]
    return call_of(parse_matcher(expected["request"]), DIALECT)


def test_every_fixture_of_policies_has_requests_or_is_known_to_have_none() -> None:
    for folder in FIXTURES.iterdir():
        if folder.is_dir() and any(folder.glob("*.policy")):
            assert (folder / "requests.yaml").exists(), folder.name
