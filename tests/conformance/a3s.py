"""A3S Code: each kind of case through the part of the front end that decides it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.a3s.agents import (
    AgentDefinition,
    AgentRegistry,
    ConfirmationInheritance,
    Provider,
    ScriptToolLimits,
    ScriptToolSpec,
    SessionSettings,
    built_in_agents,
    load_agent_dir,
    read_agent,
    register,
)
from policy.hosts.a3s.gate import (
    ConfirmationPolicy,
    Facts,
    TimeoutAction,
    check_program,
    child_visible,
    delegate,
    evaluate,
    inner_call,
    mcp_needs_confirmation,
    program_tools,
    skill_policy,
    verifier_preflight,
)
from policy.hosts.a3s.guardrail import Guardrail, Mode
from policy.hosts.a3s.rules import (
    NEWEST,
    SHIPPED,
    A3sProfile,
    Lane,
    PermissionPolicy,
    managed,
)
from policy.hosts.fields import HostError
from tests.conformance.suite import Case

__all__ = ["decide"]

Given = Mapping[str, Any]


def decide(case: Case) -> tuple[str, str]:
    """Return what *case* must get and what it gets."""
    kind = case["definition"]["type"].removeprefix("a3s.")
    try:
        got = str(_KINDS.get(kind, _of_projected)(case, _profile(case.get("profile"))))
    except HostError as error:
        got = f"error:{error.kind}"
    return str(case["expected"]), got


def _profile(text: str | None) -> A3sProfile:
    """Return the newest version of a range."""
    if not text or text == "any":
        return NEWEST
    if found := re.fullmatch(r"a3s\s*(\d+)\.x", text):
        return A3sProfile((int(found[1]), 999, 0))
    if found := re.fullmatch(r"a3s\s*<\s*(\d+)(?:\.(\d+))?(?:\.(\d+))?", text):
        major, minor, patch = (int(number or 0) for number in found.groups())
        if patch:
            return A3sProfile((major, minor, patch - 1))
        return A3sProfile((major, minor - 1, 999)) if minor else A3sProfile((major - 1, 999, 0))
    if found := re.fullmatch(r"a3s\s*(?:==?|@)?\s*(\d+(?:\.\d+){0,2})", text):
        return A3sProfile.of(found[1])
    return NEWEST


def _policy(given: Given | None, profile: A3sProfile) -> PermissionPolicy | None:
    if given is None:
        return None
    return PermissionPolicy.of(
        deny=given.get("deny", ()),
        allow=given.get("allow", ()),
        ask=given.get("ask", ()),
        default=Effect(given.get("default_decision", "ask")),
        enabled=given.get("enabled", True),
        profile=profile,
    )


def _certain(given: Given | None, profile: A3sProfile) -> PermissionPolicy:
    policy = _policy(given, profile)
    assert policy is not None
    return policy


def _provider(text: str | None) -> Provider:
    return Provider.NONE if text is None else Provider(text)


def _session(given: Given | None, text: str | None, profile: A3sProfile) -> SessionSettings:
    return SessionSettings(permissions=_policy(given, profile), provider=_provider(text))


def _call(query: Given) -> tuple[str, Given]:
    return query["tool"], query.get("args") or {}


def _shown(policy: PermissionPolicy, query: Given) -> Effect:
    if query["stage"] == "visibility":
        return _effect(policy.visible(query["tool"]))
    return policy.check(*_call(query)).effect


def _effect(passes: bool) -> Effect:
    return Effect.ALLOW if passes else Effect.DENY


def _of_policy(case: Case, profile: A3sProfile) -> Effect:
    return _shown(_certain(case["definition"], profile), case["query"])


def _of_manager(case: Case, profile: A3sProfile) -> Effect:
    given = case["definition"]
    manager = managed(_certain(given["global"], profile), _policy(given.get("session"), profile))
    return manager.check(*_call(case["query"])).effect


def _of_agent(agent: AgentDefinition, case: Case, profile: A3sProfile) -> Effect:
    query = case["query"]
    if query["stage"] == "gate":
        return _delegated(agent, case, profile)
    return _shown(agent.permissions, query)


def _of_file(case: Case, profile: A3sProfile) -> Effect:
    given = case["definition"]
    name = f"agent.{given['format']}"
    agent = read_agent(Source(name, given["text"]), profile)
    return _of_agent(agent, case, profile)


def _of_builtin(case: Case, profile: A3sProfile) -> Effect:
    registry = AgentRegistry(built_in_agents(profile))
    return _of_agent(registry.find(case["definition"]["name"]), case, profile)


def _of_projected(case: Case, profile: A3sProfile) -> Effect:
    given = case["definition"]
    name = given.get("name") or given.get("agent") or given.get("projected")
    AgentRegistry(built_in_agents(profile)).project(AgentDefinition(str(name), ""))
    return Effect.ALLOW


def _child(given: Given, profile: A3sProfile) -> AgentDefinition:
    said = given.get("confirmation_inheritance")
    return AgentDefinition(
        given.get("name") or given.get("who", "child"),
        "",
        _policy(given.get("policy"), profile) or PermissionPolicy(profile=profile),
        tool_free=bool(given.get("tool_free")),
        confirmation=ConfirmationInheritance(said) if said else None,
    )


def _of_delegation(case: Case, profile: A3sProfile) -> Effect:
    if len(case["chain"]) < 2:
        return _of_projected(case, profile)
    return _delegated(_child(case["chain"][1], profile), case, profile)


def _delegated(agent: AgentDefinition, case: Case, profile: A3sProfile) -> Effect:
    parent, query = case["chain"][0], case["query"]
    if query["stage"] == "visibility":
        return _of_visibility(case, profile)
    if query["stage"] == "spawn" or len(case["chain"]) > 2:
        return Effect.DENY  # an agent that was started starts none
    return delegate(
        _session(parent.get("policy"), parent.get("confirmation"), profile),
        agent,
        *_call(query),
        needs_confirmation=bool(query.get("tool_requires_confirmation")),
        only_permissions=query["stage"] == "permission",
    )


def _of_visibility(case: Case, profile: A3sProfile) -> Effect:
    parent, child = case["chain"]
    hides = parent.get("hides")
    hidden = (hides,) if isinstance(hides, str) else tuple(hides or ())
    return _effect(
        child_visible(
            _session(parent.get("policy"), None, profile),
            _child(child, profile),
            case["query"]["tool"],
            hidden,
        )
    )


def _of_directory(case: Case, profile: A3sProfile) -> Effect:
    query, files = case["query"], case["definition"].get("files") or {}
    directory = load_agent_dir(Memory(files))
    if query["stage"] == "load":
        return Effect.ALLOW
    if query["stage"] in {"register", "registration"}:
        _, refused = register(directory, SHIPPED)
        return _effect(not refused)
    (spec,) = (s for s in directory.scripts if s.name == query["script"])
    return inner_call(spec, *_call(query), number=query.get("nth_call", 1), profile=profile)


def _of_script(case: Case, profile: A3sProfile) -> Effect:
    given, query = case["definition"], case["query"]
    limits = given.get("limits") or {}
    listed = given.get("allowed_tools")
    spec = ScriptToolSpec(
        given.get("name", "x"),
        "",
        "x.js",
        None if listed is None and "allowed_tools" in given else tuple(listed or ()),
        ScriptToolLimits(
            limits.get("timeoutMs"), limits.get("maxToolCalls"), limits.get("maxOutputBytes")
        ),
    )
    session = None
    if "session_policy" in given:
        session = _session(given["session_policy"], given.get("confirmation"), profile)
    return inner_call(
        spec, *_call(query), session=session, number=query.get("nth_call", 1), profile=profile
    )


def _of_program(case: Case, profile: A3sProfile) -> Effect:
    given, query = case["definition"], case["query"]
    args = given.get("args") or {}
    if query["stage"] == "script_source":
        check_program(_with_source(args))
        return Effect.ALLOW
    registered = given.get("registered", sorted(SHIPPED))
    spec = ScriptToolSpec("program", "", "x.js", program_tools(args, registered, profile))
    return inner_call(spec, *_call(query), number=query.get("nth_call", 1), profile=profile)


def _with_source(args: Given) -> Given:
    """Return *args* with a source as long as they say, where they only give its length."""
    said = re.fullmatch(r"<(\d+) bytes>", str(args.get("source")))
    sizes = [v for k, v in args.items() if k.startswith("source_") and isinstance(v, int)]
    size = int(said[1]) if said else next(iter(sizes), None)
    return args if size is None else {**args, "source": "function run() {}".ljust(size)}


def _of_gate(case: Case, profile: A3sProfile) -> Effect:
    given, query = case["definition"], case["query"]
    said, hook = given.get("permission"), given.get("permission_request_hook")
    facts = Facts(
        pre_tool_block=given.get("pre_tool_hook"),
        request_hook=Effect(hook) if hook else None,
        active_skills=tuple(given.get("active_skill_allowed_tools") or ()),
        needs_confirmation=bool(query.get("tool_requires_confirmation")),
        budget_denied=given.get("budget") == "deny",
        host_direct=query.get("origin") == "host_direct",
    )
    scope = Effect(said) if said else Effect.ASK, _provider(given.get("confirmation"))
    return evaluate(query["tool"], [scope], facts, profile).effect


def _of_skill(case: Case, profile: A3sProfile) -> Effect:
    policy = skill_policy(case["definition"].get("allowed_tools"), profile)
    said = [policy.check(*_call(case["query"])).effect]
    for link in case["chain"]:
        above = _policy(link.get("policy"), profile)
        said += [above.check(*_call(case["query"])).effect] if above else []
    return min(said)


def _of_mcp(case: Case, profile: A3sProfile) -> Effect:
    given = case["definition"]
    needs = mcp_needs_confirmation(given.get("annotations"), given.get("meta"))
    said = given.get("session_permission")
    scope = Effect(said) if said else Effect.ASK, _provider(given.get("confirmation"))
    facts = Facts(needs_confirmation=needs)
    return evaluate(case["query"]["tool"], [scope], facts, profile).effect


def _of_guardrail(case: Case, profile: A3sProfile) -> Effect:
    given = case["definition"]
    guardrail = Guardrail(
        Mode.of(given.get("mode", "default")),
        given.get("workspace"),
        frozenset(given.get("symlinks") or ()),
        profile,
    )
    return guardrail.check(*_call(case["query"]))


def _of_confirmation(case: Case, profile: A3sProfile) -> Effect:
    given = case["definition"]
    actions = {"reject": TimeoutAction.REJECT, "autoapprove": TimeoutAction.AUTO_APPROVE}
    action = str(given.get("timeout_action", "reject")).replace("_", "").lower()
    policy = ConfirmationPolicy(
        bool(given.get("enabled")),
        timeout_action=actions[action],
        yolo_lanes=frozenset(Lane(lane.lower()) for lane in given.get("yolo_lanes") or ()),
    )
    return policy.request(
        case["query"]["tool"],
        profile,
        timed_out=bool(given.get("timed_out")),
        duplicate_id=bool(given.get("duplicate_tool_id")),
    )


def _of_verifier(case: Case, profile: A3sProfile) -> Effect:
    query = case["query"]
    return verifier_preflight(
        *_call(query),
        nested=bool(query.get("nested") or case["definition"].get("nested")),
        read_only=bool(query.get("read_only") or case["definition"].get("read_only")),
    )


_KINDS: dict[str, Callable[[Case, A3sProfile], Effect]] = {
    "policy": _of_policy,
    "manager": _of_manager,
    "agent_file": _of_file,
    "builtin_agent": _of_builtin,
    "projected_agent": _of_projected,
    "delegation": _of_delegation,
    "delegation_visibility": _of_visibility,
    "agent_dir": _of_directory,
    "script_tool": _of_script,
    "program": _of_program,
    "gate": _of_gate,
    "skill": _of_skill,
    "mcp_tool": _of_mcp,
    "guardrail": _of_guardrail,
    "confirmation": _of_confirmation,
    "verifier_turn": _of_verifier,
}
