"""What a version decided otherwise than the one before it, as release notes tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from policy.core.decision import Decision
from policy.core.source import Source
from policy.files.opening import Memory
from policy.hosts.claude.data import versions
from policy.hosts.claude.data.versions import behaviour
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain

MAKE = ("Bash", {"command": "make"})
OUTSIDE = ("Read", {"file_path": "/etc/hosts"})

READING = ("Bash", {"command": "make < a"})
HOSTS = ("Read", {"file_path": "/private/etc/hosts"})


def rules(**lists: object) -> dict[str, Any]:
    return {"settings": {"permissions": lists}}


CHANGES: list[tuple[str, dict[str, Any], tuple[str, dict[str, Any]], str, str]] = [
    ("2.1.260", rules(deny=["Skill(deploy)"]), ("Skill", {"skill": "a/b:deploy"}), "allow", "deny"),
    (
        "2.1.257",
        rules(blockReadsOutsideWorkingDirectories=True, allow=["Read"]),
        OUTSIDE,
        "allow",
        "deny",
    ),
    ("2.1.257", rules(deny=["Read(a)"]), READING, "ask", "deny"),
    ("2.1.260", rules(deny=["Bash(make) x"]), MAKE, "deny", "ask"),
    ("2.1.281", {**rules(), "mode": "auto"}, ("Bash", {"command": "rm -rf /"}), "ask", "deny"),
    ("2.1.269", rules(allow=["Bash(tee *)"]), ("Bash", {"command": "tee /etc/x"}), "allow", "ask"),
    ("2.1.268", {**rules(deny=["Read(//etc/**)"]), "os": "darwin"}, HOSTS, "ask", "deny"),
]


def before(version: str) -> str:
    """Return a version just below *version*."""
    major, minor, patch = map(int, version.split("."))
    return f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}.99"


def decide(version: str, given: dict[str, Any], call: tuple[str, dict[str, Any]]) -> Decision:
    options = {key: value for key, value in given.items() if key != "settings"}
    user = Source("<user>", json.dumps(given["settings"]))
    found = ClaudeOptions(version=version, cwd="/srv/app", user=user, **options)
    (project,) = load(Memory({}), found)
    return Chain.start("main", project.enforced).decide(*call)


@pytest.mark.parametrize(
    ("since", "given", "call", "then", "now"), CHANGES, ids=[change[0] for change in CHANGES]
)
def test_a_version_decides_otherwise_than_the_one_before_it(
    since: str, given: dict[str, Any], call: tuple[str, dict[str, Any]], then: str, now: str
) -> None:
    assert str(decide(before(since), given, call).effect) == then
    assert str(decide(since, given, call).effect) == now


def test_versions_whose_behaviour_is_not_known_are_refused() -> None:
    ClaudeOptions(version=versions.OLDEST)
    with pytest.raises(
        ValueError, match=r"expected version 2\.1\.240 or a later one, found `2\.1\.239`"
    ):
        ClaudeOptions(version="2.1.239")


# Every version of which release notes and documentation tell that it decides otherwise.
_TOLD = """
2.1.246 2.1.257 2.1.260 2.1.267 2.1.268 2.1.269 2.1.280 2.1.281 2.1.282 2.1.283 2.1.287
"""


def test_each_version_that_decides_otherwise_is_reported() -> None:
    known = {change.since for change in versions.CHANGES} | {since for since, *_ in versions.UNTOLD}

    assert set(_TOLD.split()) <= known
    for change in versions.CHANGES:
        newer, older = behaviour(change.since), behaviour(_before(change.since))
        assert getattr(newer, change.field) != getattr(older, change.field) == change.before


def _before(version: str) -> str:
    """Return the version just before one of those that are told of."""
    first, second, third = map(int, version.split("."))
    return f"{first}.{second}.{third - 1}" if third else f"{first}.{second - 1}.999"
