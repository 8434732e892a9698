"""Keys of settings that switch tools and modes off, beside `permissions`."""

from __future__ import annotations

import json

import pytest

from policy.core.decision import Reason
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.claude.front_end import ClaudeOptions, load
from policy.tables.chain import Chain


def decide(tool: str, project: dict[str, object], user: dict[str, object], mode: str) -> str:
    options = ClaudeOptions(
        cwd="/srv/app", mode=mode, user=Source("settings.json", json.dumps(user))
    )
    files = {".claude/settings.json": json.dumps(project)}
    (found,) = load(Memory(files), options)
    call = {"command": "npm test"} if tool == "Bash" else {}
    decision = Chain.start("main", found.enforced).decide(tool, call)
    return "unavailable" if decision.reason is Reason.UNAVAILABLE else str(decision.effect)


@pytest.mark.parametrize(
    ("project", "user", "there"),
    [
        ({}, {}, True),
        ({"disableWorkflows": True}, {}, False),
        ({"disableWorkflows": False}, {"disableWorkflows": True}, True),
        ({"disableWorkflows": True}, {"disableWorkflows": False}, False),
        ({}, {"disableWorkflows": True}, False),
        ({"enableWorkflows": False}, {"enableWorkflows": True}, False),
        ({"enableWorkflows": True}, {"enableWorkflows": False}, True),
        ({"disableWorkflows": False, "enableWorkflows": False}, {}, False),
    ],
)
def test_the_strongest_settings_that_say_so_switch_workflows_off(
    project: dict[str, object], user: dict[str, object], *, there: bool
) -> None:
    assert decide("Workflow", project, user, "default") == ("ask" if there else "unavailable")


def test_artifacts_are_switched_off() -> None:
    assert decide("Artifact", {}, {}, "default") == "ask"
    assert decide("Artifact", {"disableArtifact": True}, {}, "default") == "unavailable"
    assert decide("Artifact", {"enableArtifact": False}, {}, "default") == "unavailable"


@pytest.mark.parametrize("beside", [True, False])
def test_no_model_judges_where_any_settings_say_so(beside: bool) -> None:
    said = {"disableAutoMode": "disable"}
    settings = said if beside else {"permissions": said}
    (files, options) = ({".claude/settings.json": json.dumps(settings)}, ClaudeOptions(mode="auto"))
    (judged,) = load(Memory({".claude/settings.json": "{}"}), options)
    (asked,) = load(Memory(files), options)

    def reason(project: object) -> str:
        chain = Chain.start("main", project.enforced)  # type: ignore[attr-defined]
        return chain.decide("Bash", {"command": "npm test"}).reason.value

    assert (reason(judged), reason(asked)) == ("classifier", "default")


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
def test_no_server_is_waited_for_where_it_is_known_what_all_offer(mode: str) -> None:
    for servers, there in ((None, True), ({}, False), ({"github": ("get_issue",)}, False)):
        (found,) = load(
            Memory({".claude/settings.json": "{}"}), ClaudeOptions(mode=mode, servers=servers)
        )
        decision = Chain.start("main", found.enforced).decide("WaitForMcpServers", {})
        assert (decision.reason is not Reason.UNAVAILABLE) is there, servers
