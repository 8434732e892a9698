"""A3S: the gate, and what stands beside it: guardrails, skills, verifiers, annotations."""

from __future__ import annotations

import pytest

from policy.core.effect import Effect
from policy.hosts.a3s.agents import INHERITED, Provider
from policy.hosts.a3s.gate import (
    ConfirmationPolicy,
    Facts,
    GateReason,
    Passage,
    TimeoutAction,
    check_task,
    evaluate,
    mcp_needs_confirmation,
    skill_policy,
    verifier_preflight,
)
from policy.hosts.a3s.guardrail import Guardrail, Mode
from policy.hosts.a3s.rules import A3sProfile, Lane
from policy.hosts.fields import HostError

# --- the gate (S13, A45 to A53, A56) -----------------------------------------------------------


def at_gate(effect: Effect, provider: Provider, tool: str = "bash", **facts) -> Passage:
    return evaluate(tool, [(effect, provider)], Facts(**facts))


def test_a45_a46_each_stage_stops_with_its_reason() -> None:
    allow, ask = Effect.ALLOW, Effect.ASK
    denied = [
        at_gate(allow, Provider.NONE, pre_tool_block="no"),
        at_gate(allow, Provider.NONE, active_skills=("read",)),
        at_gate(Effect.DENY, Provider.AUTO),
        at_gate(ask, Provider.NONE),
        at_gate(ask, Provider.UNAVAILABLE),
        at_gate(allow, Provider.NONE, budget_denied=True),
    ]
    passed = [
        at_gate(ask, Provider.DISABLED),
        at_gate(ask, Provider.AUTO),
        at_gate(allow, Provider.NONE),
    ]

    assert {passage.effect for passage in denied} == {Effect.DENY}
    assert [passage.reason.value for passage in denied] == [
        "hook_block",
        "skill_restriction",
        "permission_deny",
        "missing_confirmation_manager",
        "confirmation_unavailable",
        "budget",
    ]
    assert {passage.effect for passage in passed} == {allow}
    assert [passage.reason.value for passage in passed] == [
        "confirmation_not_required",
        "confirmation_not_required",
        "permission_allow",
    ]
    assert at_gate(ask, Provider.MANAGER) == Passage(ask, GateReason.ASKED)
    with pytest.raises(TypeError):
        bool(passed[0])


def test_a45_the_first_stage_that_denies_gives_the_reason() -> None:
    every = {"pre_tool_block": "no", "active_skills": ("read",), "budget_denied": True}
    scopes = [(Effect.ASK, Provider.UNAVAILABLE), (Effect.ASK, Provider.NONE)]

    assert at_gate(Effect.DENY, Provider.NONE, **every).reason is GateReason.HOOK
    del every["pre_tool_block"]
    assert at_gate(Effect.DENY, Provider.NONE, **every).reason is GateReason.SKILL
    del every["active_skills"]
    assert at_gate(Effect.DENY, Provider.NONE, **every).reason is GateReason.DENIED
    assert evaluate("bash", scopes, Facts(**every)).reason is GateReason.UNAVAILABLE
    assert evaluate("bash", scopes[::-1], Facts(**every)).reason is GateReason.NO_MANAGER


def test_a47_a_hook_answers_an_ask_and_lifts_no_deny() -> None:
    yes, no = Effect.ALLOW, Effect.DENY

    assert at_gate(Effect.ASK, Provider.MANAGER, request_hook=yes).effect is Effect.ALLOW
    assert at_gate(Effect.ASK, Provider.MANAGER, request_hook=no).effect is Effect.DENY
    assert at_gate(Effect.DENY, Provider.MANAGER, request_hook=yes).effect is Effect.DENY
    assert at_gate(Effect.ASK, Provider.NONE, request_hook=yes).effect is Effect.DENY
    confirmed = {"request_hook": yes, "needs_confirmation": True}
    assert at_gate(Effect.ASK, Provider.MANAGER, **confirmed).effect is Effect.ASK


def test_a47_a_hook_is_asked_where_a_person_would_be_and_since_6_9() -> None:
    hook = Facts(request_hook=Effect.DENY)
    disabled = [(Effect.ASK, Provider.DISABLED)]
    manager = [(Effect.ASK, Provider.MANAGER)]

    assert evaluate("bash", disabled, hook).reason is GateReason.NOT_REQUIRED
    assert evaluate("bash", manager, hook) == Passage(Effect.DENY, GateReason.REQUEST_HOOK)
    assert evaluate("bash", manager, hook, A3sProfile.of("6.8")).effect is Effect.ASK


def test_a52_a_missing_provider_denies_with_its_reason() -> None:
    reasons = [at_gate(Effect.ASK, p).reason for p in (Provider.NONE, Provider.UNAVAILABLE)]

    assert reasons == [GateReason.NO_MANAGER, GateReason.UNAVAILABLE]
    assert at_gate(Effect.ALLOW, Provider.NONE, needs_confirmation=True).effect is Effect.DENY
    assert at_gate(Effect.ALLOW, Provider.MANAGER, needs_confirmation=True).effect is Effect.ASK


def test_a48_a49_a_host_is_trusted_and_a_budget_is_asked_last() -> None:
    direct = Passage(Effect.ALLOW, GateReason.HOST_DIRECT)
    assert at_gate(Effect.DENY, Provider.NONE, host_direct=True) == direct
    assert at_gate(Effect.ASK, Provider.MANAGER, budget_denied=True).effect is Effect.DENY


def test_a50_a_disabled_policy_confirms_nothing_and_timers_answer_before_9() -> None:
    before = A3sProfile.of("8.4")
    policy = ConfirmationPolicy(
        True, timeout_action=TimeoutAction.AUTO_APPROVE, yolo_lanes=frozenset({Lane.QUERY})
    )

    assert ConfirmationPolicy().request("bash") is Effect.ALLOW
    assert policy.request("read", before) is Effect.ALLOW
    assert policy.request("read") is Effect.ASK
    assert policy.request("bash", before, timed_out=True) is Effect.ALLOW
    assert policy.request("bash", timed_out=True) is Effect.ASK
    assert policy.request("bash", duplicate_id=True) is Effect.DENY


def test_a51_two_policies_combine_to_the_stricter() -> None:
    one = ConfirmationPolicy(True, 10, TimeoutAction.AUTO_APPROVE, frozenset({Lane.QUERY}))
    both = one & ConfirmationPolicy(
        True, 20, TimeoutAction.REJECT, frozenset({Lane.QUERY, Lane.EXECUTE})
    )

    assert both == ConfirmationPolicy(True, 10, TimeoutAction.REJECT, frozenset({Lane.QUERY}))


def test_a53_annotations_only_escalate() -> None:
    harmless = {"readOnlyHint": True, "openWorldHint": False}

    assert not mcp_needs_confirmation(harmless)
    assert not mcp_needs_confirmation({**harmless, "risk": ["READ", "routine"]})
    assert mcp_needs_confirmation(harmless, {"x-a3s-risk": "write"})
    assert mcp_needs_confirmation({**harmless, "risk": 1})
    assert mcp_needs_confirmation({**harmless, "destructiveHint": True})
    assert mcp_needs_confirmation(None)
    assert at_gate(Effect.DENY, Provider.AUTO, needs_confirmation=True).effect is Effect.DENY


def test_a53_keys_of_risks_are_of_any_case_and_every_label_counts() -> None:
    harmless = {"readOnlyHint": True, "openWorldHint": False}

    assert mcp_needs_confirmation(harmless, {"X-A3S-Risk": "submit"})
    assert mcp_needs_confirmation(harmless, {"risk": ["read", ["write"]]})
    assert not mcp_needs_confirmation(harmless, {"A3S.Risk": [" Routine ", "closed_world_read"]})
    assert not mcp_needs_confirmation(harmless, {"other": "write"})


def test_a56_a_skill_counts_where_it_names_every_argument() -> None:
    assert (
        at_gate(Effect.ALLOW, Provider.NONE, active_skills=("read(*), bash",)).effect
        is Effect.ALLOW
    )
    assert at_gate(Effect.ALLOW, Provider.NONE, active_skills=("Bash(gh:*)",)).effect is Effect.DENY


def test_a56_skills_that_list_nothing_restrict_nothing_and_a_star_is_the_name_of_no_tool() -> None:
    def passes(tool: str, *skills: str) -> bool:
        return (
            at_gate(Effect.ALLOW, Provider.NONE, tool, active_skills=skills).effect is Effect.ALLOW
        )

    assert passes("write")
    assert passes("write", "")
    assert passes("Write", "read, WRITE")
    assert passes("bash", "read", "bash")
    assert not passes("write", "*")
    assert not passes("search", "grep")


# --- servers, verifiers and task lists (A41 to A43, A54, A55, A61) ---------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "tool", "args", "effect"),
    [
        ("Bash(gh issue view:*)", "bash", {"command": "gh issue view 1"}, "allow"),
        ("read write", "write", {}, "allow"),
        ("read(*), grep(*)", "read", {}, "allow"),
        ("*", "anything", {}, "allow"),
        (None, "read", {}, "deny"),
        (["Read", "Bash(gh:*)"], "bash", {"command": "rm x"}, "deny"),
        (["read write", "bash"], "write", {}, "deny"),
        (["read write"], "write", {}, "allow"),
        (" Bash ( gh:* ) , read", "bash", {"command": "gh x"}, "allow"),
        ("Bash(gh issue:*)", "bash", {"command": "gh issue list"}, "allow"),
        ("grep", "search", {"mode": "grep", "query": "x"}, "allow"),
        ("", "read", {}, "deny"),
    ],
)
def test_a55_a_skill_has_what_it_lists(allowed: object, tool: str, args: dict, effect: str) -> None:
    assert str(skill_policy(allowed).check(tool, args).effect) == effect


def risk(tool: str, args: object, **guardrail: object) -> str:
    """The risk of a call, derived from the effects in three modes."""
    modes = (Mode.DEFAULT, Mode.AUTO, Mode.FORCE)
    answers = [Guardrail(mode, **guardrail).check(tool, args) for mode in modes]  # type: ignore[arg-type]
    return {
        ("allow", "allow", "allow"): "routine",
        ("ask", "allow", "allow"): "bounded",
        ("ask", "ask", "allow"): "high",
        ("deny", "deny", "deny"): "critical",
    }[tuple(map(str, answers))]


@pytest.mark.parametrize(
    ("expected", "commands"),
    [
        (
            "routine",
            [
                "git status | head",
                "rg mkfs src",
                "git --no-pager log -3",
                "git branch -a",
                "sort a.txt | uniq -c",
                "find src -name x",
                "date",
                "ls -la src",
            ],
        ),
        (
            "high",
            [
                "cat 'a b'",
                "cat *",
                "cat a > b",
                "cat $x",
                "cat ../x",
                "cat /etc/hosts",
                "env",
                "jq . x",
                "ls -R",
                "sort -ob a",
                "sort --output=b a",
                "uniq a b",
                "echo -n x",
                "find . -delete",
                "find -L .",
                "date -s x",
                "sed w x",
                "git -C .. status",
                "git remote add x",
                "git log --output=x",
                "git commit",
                "rg --pre=x y",
                "cat a; cat b",
                "cat a && cat b",
                "",
                "   ",
            ],
        ),
        (
            "critical",
            [
                "sudo ls",
                "env rm -rf /",
                "echo x; sudo ls",
                "rm -rf /tmp/x",
                "rm -fr ~/x",
                "rm  -rf   *",
                "rm -rf .",
                "curl x | sh",
                "wget -q x |bash",
                "/sbin/mkfs.ext4 /dev/sda",
                "dd if=x of=/dev/sda",
                "diskutil eraseDisk x",
                ":(){ :|:& };:",
                "shutdown now",
                "kill -9 -1",
                "bash -c 'doas ls'",
                "'su'do\"doas ",
                "x $(sudo'status",
                "if x; then sudo ls; fi",
            ],
        ),
    ],
)
def test_a54_a_command_only_looks_if_it_is_plain_and_known_to(
    expected: str, commands: list[str]
) -> None:
    got = {command: risk("bash", {"command": command}) for command in commands}

    assert got == dict.fromkeys(commands, expected)


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("read", {"file_path": "src/a"}, "routine"),
        ("read", {"file_path": "../x"}, "critical"),
        ("read", {"file_path": "a/../../w/x"}, "critical"),
        ("read", {"files": [{"path": "a"}, {"path": "~/x"}]}, "critical"),
        ("read", {"files": [{"path": "a"}, {}]}, "high"),
        ("read", {"files": []}, "high"),
        ("read", {}, "high"),
        ("ls", {}, "routine"),
        ("search", {"path": " "}, "routine"),
        ("search", {"path": "/etc"}, "critical"),
        ("update_plan", {}, "routine"),
        ("write", {"file_path": "x"}, "bounded"),
        ("write", {"file_path": " "}, "high"),
        ("patch", {"diff": "x"}, "high"),
        ("patch", {"file_path": "C:\\x"}, "critical"),
        ("download", {"url": "x"}, "bounded"),
        ("download", {"url": "x", "file_path": None}, "high"),
        ("download", {"url": "x", "file_path": "$HOME/x"}, "critical"),
        ("task", {"tasks": []}, "high"),
        ("list_files", {}, "high"),
        ("mcp__x__y", {}, "high"),
        ("read", "no arguments", "high"),
        ("batch", {"invocations": []}, "high"),
        ("batch", {"invocations": [{"tool": "read"}]}, "high"),
        ("batch", {"invocations": [{"tool": "read", "args": {"file_path": "a"}}]}, "routine"),
        ("git", {"command": "status"}, "routine"),
        ("git", {"command": "status", "ref": "x"}, "high"),
        ("git", {"command": "log", "limit": 0}, "high"),
        ("git", {"command": "diff", "target": "--output=x"}, "high"),
        ("git", {"command": "branch", "name": "x"}, "bounded"),
        ("git", {"command": "branch", "name": "x", "force": None}, "high"),
        ("git", {"command": "stash", "include_untracked": True}, "bounded"),
        ("git", {"command": "worktree", "subcommand": "add"}, "bounded"),
        ("git", {"command": "worktree"}, "routine"),
        ("git", {"command": "worktree", "subcommand": "remove"}, "high"),
        ("git", {"command": "push"}, "high"),
    ],
)
def test_a54_a_call_has_the_risk_of_what_it_may_reach(
    tool: str, args: object, expected: str
) -> None:
    assert risk(tool, args) == expected


def test_a54_a_mode_is_known_in_any_case_and_plan_denies_since_9() -> None:
    write = ("write", {"file_path": "x"})

    assert Mode.of(" YOLO ") is Mode.FORCE
    assert Mode.of("nonsense") is Mode.DEFAULT
    assert Guardrail(Mode.PLAN).check(*write) is Effect.DENY
    assert Guardrail(Mode.PLAN, profile=A3sProfile.of("8.4")).check(*write) is Effect.ASK


def test_a54_a_workspace_bounds_paths_and_no_link_may_be_on_them() -> None:
    within: dict[str, object] = {"workspace": "/w", "links": frozenset({"/w/out", "in"})}

    assert risk("read", {"file_path": "/w/a"}, **within) == "routine"
    assert risk("read", {"file_path": "/we/a"}, **within) == "critical"
    assert risk("read", {"file_path": "out/passwd"}, **within) == "critical"
    assert risk("write", {"file_path": "in/x"}, **within) == "critical"
    assert risk("bash", {"command": "cat /w/a"}, **within) == "routine"
    assert risk("bash", {"command": "cat in/x"}, **within) == "critical"


def test_a61_a_verifier_refuses_what_obviously_changes_something() -> None:
    refused = [
        ("Write", {}),
        ("task", {}),
        ("bash", {"command": "perform x"}),
        ("bash", {"command": "a", "changed_paths": []}),
        ("git", {"command": "stash", "message": ""}),
        ("git", {"command": "worktree", "subcommand": "remove"}),
    ]
    passed = [
        ("bash", {"command": "sed -i x"}),
        ("git", {"command": "branch"}),
        ("git", {"command": "worktree", "subcommand": "add"}),
        ("mcp__x__y", {}),
    ]

    assert {verifier_preflight(*call) for call in refused} == {Effect.DENY}
    assert {verifier_preflight(*call) for call in passed} == {Effect.ALLOW}
    assert verifier_preflight("mcp__x__y", {}, nested=True) is Effect.DENY


# --- starting agents (A41, A42) ----------------------------------------------------------------


def test_a41_a42_what_is_handed_on_is_a_table_and_tasks_are_counted() -> None:
    assert INHERITED["workspace"]
    assert not INHERITED["memory"]
    assert check_task({"tasks": [{"agent": "explore", "description": "d", "prompt": "p"}]}) == (
        "explore",
    )
    assert (
        check_task(
            {"tasks": [{"agent": "a", "description": "d", "prompt": "p"}] * 32, "timeoutMs": 1}
        )
        == ("a",) * 32
    )
    for bad in (
        {"tasks": []},
        {"tasks": [{"agent": "a", "prompt": "p"}]},
        {"tasks": ["a"]},
        {"tasks": [{"agent": "a", "description": "d", "prompt": "p"}] * 33},
        {"tasks": [{"agent": "a", "description": "d", "prompt": "p", "x": 1}]},
        {"agent": "a"},
    ):
        with pytest.raises(HostError):
            check_task(bad)


def test_a42_before_6_8_a_call_started_one_agent() -> None:
    old = A3sProfile.of("6.7")
    one = {"agent": "explore", "description": "d", "prompt": "p"}

    assert check_task(one, old) == ("explore",)
    with pytest.raises(HostError, match="unknown field `tasks`"):
        check_task({"tasks": [one]}, old)
