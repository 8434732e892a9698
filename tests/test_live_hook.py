"""The hook in the real program: what the policy denies does not run, at any depth."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import policy
from policy.adapters.hook.settings import command, entry
from tests.cli.test_install import SILENCING
from tests.live import sandbox
from tests.live.scenario import CWD, HOME, Scenario
from tests.live.theirs import _Script, _session

pytestmark = pytest.mark.live

POLICY = """\
root main
agent main {
    allow Bash(touch a*), Bash(ls *), Bash(stat *), Agent(lead, worker)
}
agent lead {
    allow Bash(ls *), Bash(stat *), Agent(worker)
}
agent worker {
    allow Bash
    deny  Bash(stat *)
}
"""
AGENT = {"description": "d"}
# Without the hook, everything runs.
FREE = Scenario(
    settings={"user": {"permissions": {"allow": ["Bash", "Read", "Agent"]}}},
    agents={"lead": AGENT, "worker": AGENT},
    background=False,
)
PLACES = {
    "local": f"{CWD}/.claude/settings.local.json",
    "project": f"{CWD}/.claude/settings.json",
    "user": f"{HOME}/.claude/settings.json",
}
MANAGED = "claude-code/managed-settings.json"  # below /etc
SHOWN = sorted(
    {Path(sys.base_prefix), Path(sys.prefix), Path(policy.__file__).parents[1]},
    key=lambda path: len(path.parts),
)


def results(hook, calls, text=POLICY, settings=None):
    """Return, for each chain and command, whether it failed, and what the model was told.

    What *settings* say, by scope, is put into the files, beside the hook in the local ones.
    """
    if missing := sandbox.missing():
        pytest.skip(missing)
    script = _Script(FREE.background)
    uses = [script.add(script.actor(chain), "Bash", given(each)) for chain, each in calls]
    session = _session(FREE, script)
    said = {"local": {}, **(settings or {})}
    if hook:
        said["local"] = {**said["local"], "hooks": {"PreToolUse": [hook]}}
    session["files"][f"{CWD}/team.policy"] = text
    for scope, file in PLACES.items():
        if scope in said:
            old = json.loads(session["files"].get(file, "{}"))
            session["files"][file] = json.dumps({**old, **said[scope]})
    managed = {MANAGED: json.dumps(said["managed"])} if "managed" in said else {}
    found = sandbox.run(session, managed, SHOWN)["results"]
    return [found.get(use, (None, "never called")) for use in uses]


def given(text):
    return {"command": text, "description": "d"}


def installed(text=None, **more):
    group = entry(command([]) if text is None else text)
    group["hooks"][0].update(more)
    return group


def test_what_the_policy_denies_is_blocked_at_every_depth() -> None:
    lead, worker, direct = ("lead",), ("lead", "worker"), ("worker",)
    calls = {
        ((), "touch a0"): True,
        ((), "touch b0"): False,
        ((), "ls a0"): True,
        (lead, "ls a0"): True,
        (lead, "touch a1"): False,  # which `main` may, and `lead` may not
        (worker, "ls a0"): True,
        (worker, "touch a2"): False,  # which both `main` and `worker` may
        (worker, "stat a0"): False,
        (direct, "touch a3"): True,
        (direct, "touch b3"): False,
    }
    told = results(installed(), calls)
    for (call, may_run), (failed, text) in zip(calls.items(), told, strict=True):
        denied = failed is True and "is denied" in text
        assert (denied, failed is None) == (not may_run, False), (call, text)


def test_without_the_hook_all_of_it_runs() -> None:
    told = results(None, [((), "touch b0"), (("lead", "worker"), "touch a2")])
    assert [failed for failed, _ in told] == [False, False]


FAILING = {
    "killed": installed("kill -9 $$"),
    "killed, its shell with it": installed("kill -9 0"),
    "missing": installed("/no/such/program || exit 2"),
    "slow": installed("/usr/bin/sleep 30", timeout=1),
    "garbage for an event": installed(f"echo garbage | {command([])}"),
    "past its deadline": installed(command(["--deadline", "0.001"])),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_hook_that_fails_blocks(name) -> None:
    ((failed, text),) = results(FAILING[name], [((), "touch a0")])
    assert failed is True, text


@pytest.mark.parametrize("name", SILENCING)
def test_what_install_warns_of_is_what_silences_the_hook(name) -> None:
    settings, runs = SILENCING[name]
    ((failed, text),) = results(installed("exit 2"), [((), "touch a0")], settings=settings)
    assert failed is runs, text


def test_a_policy_that_cannot_be_read_blocks() -> None:
    ((failed, text),) = results(installed(), [((), "touch a0")], "agent main {")
    assert failed is True
    assert "This call is blocked: team.policy:1:" in text
