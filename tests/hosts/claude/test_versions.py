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

EDIT = ("Edit", {"file_path": "/srv/app/a"})
GUARDED = ("Edit", {"file_path": "/srv/app/.npmrc"})
MAKE = ("Bash", {"command": "make"})
HOST = ("WebFetch", {"url": "https://nodejs.org/x"})
ISSUE = ("mcp__github__get_issue", {})
NAMED = ("Agent", {"subagent_type": "Explore", "name": "x"})
UNNAMED = ("Agent", {"subagent_type": "Explore"})
OUTSIDE = ("Read", {"file_path": "/etc/hosts"})
LINK = ("Read", {"file_path": "/srv/app/link/x"})
LONG = ("Bash", {"command": "make " + "x" * 10_001})

PUSH_MAIN = ("Bash", {"command": "git push origin main"})
READING = ("Bash", {"command": "make < a"})
PIPED = ("Bash", {"command": "git show | sh -s"})
ASKS = '{"permissions": {"ask": ["Bash(make)"]}}'
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
    (
        "2.1.236",
        {**rules(allow=["Monitor"]), "mode": "auto"},
        ("Monitor", {"command": "make"}),
        "allow",
        "ask",
    ),
    ("2.1.214", rules(allow=["Bash(make *)"]), LONG, "allow", "ask"),
    ("2.1.200", rules(defaultMode="manual", deny=["Bash(make)"]), MAKE, "ask", "deny"),
    (
        "2.1.199",
        {**rules(allow=["mcp__github"]), "interactive": (ISSUE[0],)},
        ISSUE,
        "allow",
        "ask",
    ),
    ("2.1.186", rules(deny=["Agent(Explore)"]), NAMED, "allow", "deny"),
    ("2.1.162", rules(deny=["WebFetch(domain:nodejs.org)"]), HOST, "allow", "deny"),
    ("2.1.140", rules(), ("Agent", {"subagent_type": "EXPLORE"}), "deny", "allow"),
    ("2.1.139", rules(deny=["Skill(deploy *)"]), ("Skill", {"skill": "deploy-x"}), "allow", "deny"),
    ("2.1.126", {**rules(), "mode": "bypassPermissions"}, GUARDED, "ask", "allow"),
    ("2.1.232", rules(deny=["Read(a)"]), READING, "ask", "deny"),
    ("2.1.233", rules(deny=["Read(a)"]), READING, "deny", "ask"),
    ("2.1.257", rules(deny=["Read(a)"]), READING, "ask", "deny"),
    ("2.1.260", rules(deny=["Bash(make) x"]), MAKE, "deny", "ask"),
    ("2.1.281", {**rules(), "mode": "auto"}, ("Bash", {"command": "rm -rf /"}), "ask", "deny"),
    ("2.1.269", rules(allow=["Bash(tee *)"]), ("Bash", {"command": "tee /etc/x"}), "allow", "ask"),
    ("2.1.268", {**rules(deny=["Read(//etc/**)"]), "os": "darwin"}, HOSTS, "ask", "deny"),
    ("2.1.145", rules(), ("Bash", {"command": "FOO=bar"}), "allow", "ask"),
    ("2.1.145", rules(), ("Bash", {"command": "PATH=bar"}), "ask", "ask"),
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


def test_an_agent_in_the_background_cannot_ask_before_2_1_186() -> None:
    for version, effect in (("2.1.185", "deny"), ("2.1.186", "ask")):
        options = ClaudeOptions(version=version, background=True)
        (project,) = load(Memory({".claude/settings.json": "{}"}), options)
        chain = Chain.start("main", project.enforced)
        assert str(chain.decide(*MAKE).effect) == "ask"
        assert str(chain.spawn("general-purpose").decide(*MAKE).effect) == effect


def test_versions_whose_behaviour_is_not_known_are_refused() -> None:
    ClaudeOptions(version=versions.OLDEST)
    with pytest.raises(
        ValueError, match=r"expected version 2\.1\.101 or a later one, found `2\.1\.100`"
    ):
        ClaudeOptions(version="2.1.100")


def test_local_settings_of_the_top_count_below_it_since_2_1_211() -> None:
    files = {
        ".claude/settings.local.json": json.dumps({"permissions": {"deny": ["Bash(make)"]}}),
        "web/.claude/settings.json": "{}",
    }
    for version, effect in (("2.1.210", "ask"), ("2.1.211", "deny")):
        projects = load(Memory(files), ClaudeOptions(version=version))
        (found,) = [project for project in projects if project.root == "web"]
        assert str(Chain.start("main", found.enforced).decide(*MAKE).effect) == effect


# Every version of which release notes and documentation tell that it decides otherwise.
_TOLD = """
2.1.119 2.1.126 2.1.136 2.1.139 2.1.140 2.1.142 2.1.145 2.1.147
2.1.152 2.1.162 2.1.163 2.1.166 2.1.172 2.1.178 2.1.186 2.1.198 2.1.199 2.1.200 2.1.208 2.1.211
2.1.212 2.1.214 2.1.217 2.1.218 2.1.219 2.1.223 2.1.228 2.1.232 2.1.236 2.1.238 2.1.246 2.1.257
2.1.260 2.1.267 2.1.268 2.1.269 2.1.280 2.1.281 2.1.282 2.1.283 2.1.287
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
