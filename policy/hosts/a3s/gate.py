"""The gate of A3S: the stages that a call passes, in order, and its confirmation.

Permissions are one stage. No later stage lifts a denial, and no earlier stage grants a call.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NoReturn

from policy.core import expressions as re
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.source import Source, place_of
from policy.core.values import frozen
from policy.files.json_nodes import read_json
from policy.hosts.a3s.agents import (
    AgentDefinition,
    Provider,
    ScriptToolSpec,
    SessionSettings,
    excluded,
)
from policy.hosts.a3s.rules import (
    MODES,
    NEWEST,
    SPAWNING,
    A3sProfile,
    Lane,
    PermissionPolicy,
    PermissionRule,
    dialect,
    lane_of,
    refused,
)
from policy.hosts.fields import Fields
from policy.patterns.notations import slashed
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table


def _grants(text: str) -> tuple[tuple[str, str], ...]:
    """Return the tools in the text of ``allowed-tools``, each with its pattern.

    It is cut at commas if it has any, else at blanks, unless all blanks are in parentheses.
    """
    alone = re.fullmatch(r"\s*[^\s(]*\([^(]*\)\s*", text)
    parts = text.split(",") if "," in text else [text] if alone else text.split()
    found = []
    for part in filter(None, map(str.strip, parts)):
        opened, closed = part.find("("), part.rfind(")")
        has_pattern = 0 <= opened < closed
        pattern = part[opened + 1 : closed].strip() if has_pattern else "*"
        found.append((part[:opened].strip() if has_pattern else part, pattern))
    return tuple(found)


def skill_policy(
    allowed: str | Iterable[str] | None, profile: A3sProfile = NEWEST
) -> PermissionPolicy:
    """Return the policy of a running skill: it allows the tools of ``allowed-tools`` alone."""
    text = allowed if isinstance(allowed, str) else ", ".join(allowed or ())
    rules = (PermissionRule.of(f"{tool}({pattern})", profile) for tool, pattern in _grants(text))
    return PermissionPolicy(allow=tuple(rules), default_decision=Effect.DENY, profile=profile)


def _skill_restricts(tool: str, active: Iterable[str]) -> bool:
    """Return whether the active skills forbid a call of *tool*.

    One skill that names it, in any case and without a pattern, permits it. A name with a pattern
    permits no call, and an empty list restricts none.
    """
    lists = [_grants(text) for text in active]
    through = (tool.lower(), "*")
    return bool(lists) and not any(
        not grants or any((name.lower(), pattern) == through for name, pattern in grants)
        for grants in lists
    )


class TimeoutAction(enum.Enum):
    """What happened after a timeout before version 9."""

    REJECT = "reject"
    AUTO_APPROVE = "auto_approve"


@frozen
class ConfirmationPolicy:
    """How a scope confirms calls. By default it confirms none, and calls that ask are allowed."""

    enabled: bool = False
    default_timeout_ms: int = 30_000
    timeout_action: TimeoutAction = TimeoutAction.REJECT  # before version 9
    yolo_lanes: frozenset[Lane] = frozenset()  # allowed without confirmation before version 9

    def request(
        self,
        tool: str,
        profile: A3sProfile = NEWEST,
        *,
        timed_out: bool = False,
        duplicate_id: bool = False,
    ) -> Effect:
        """Return the effect of a request for confirmation before any answer."""
        if not self.enabled:
            return Effect.ALLOW
        if profile.waits_for_people:
            # Two requests with one id reject each other.
            return Effect.DENY if duplicate_id else Effect.ASK
        approves = timed_out and self.timeout_action is TimeoutAction.AUTO_APPROVE
        if approves or lane_of(tool) in self.yolo_lanes:
            return Effect.ALLOW
        return Effect.DENY if timed_out else Effect.ASK

    def __and__(self, other: ConfirmationPolicy) -> ConfirmationPolicy:
        """Return the stricter value of both scopes in each field."""
        rejects = TimeoutAction.REJECT in (self.timeout_action, other.timeout_action)
        return ConfirmationPolicy(
            self.enabled or other.enabled,
            min(self.default_timeout_ms, other.default_timeout_ms),
            TimeoutAction.REJECT if rejects else TimeoutAction.AUTO_APPROVE,
            self.yolo_lanes & other.yolo_lanes,
        )


class GateReason(enum.Enum):
    """The stage that decided, by its name in the host, if it has one."""

    HOOK = "hook_block"
    SKILL = "skill_restriction"
    DENIED = "permission_deny"
    NO_MANAGER = "missing_confirmation_manager"
    UNAVAILABLE = "confirmation_unavailable"
    ALLOWED = "permission_allow"
    NOT_REQUIRED = "confirmation_not_required"
    HOST_DIRECT = "host_direct_trusted"
    INTERNAL = "runtime_internal"  # of calls that only the host makes
    # Stages that have no name in the host.
    ASKED = "confirmation_required"
    REQUEST_HOOK = "permission_request_hook"
    BUDGET = "budget"


@frozen
class Passage:
    """The effect of the gate on a call, and the stage that decided."""

    effect: Effect
    reason: GateReason

    def __bool__(self) -> NoReturn:
        raise TypeError("a Passage is neither true nor false; compare its effect")


# Provider -> the reason of its answer to a call that asks.
_CONFIRMING: Final = {
    Provider.NONE: GateReason.NO_MANAGER,
    Provider.UNAVAILABLE: GateReason.UNAVAILABLE,
    Provider.DISABLED: GateReason.NOT_REQUIRED,
    Provider.AUTO: GateReason.NOT_REQUIRED,
    Provider.MANAGER: GateReason.ASKED,
}

# The effect of the permissions of a session or agent on a call, and who confirms it.
GateScope = tuple[Effect, Provider]


@frozen
class Facts:
    """Facts of a running session that no file contains."""

    pre_tool_block: str | None = None  # why a hook blocks the call
    request_hook: Effect | None = None  # the answer of a hook to a request for confirmation
    active_skills: tuple[str, ...] = ()  # `allowed-tools` of each active skill, if enforced
    needs_confirmation: bool = False  # whether the tool itself requires confirmation
    budget_denied: bool = False
    host_direct: bool = False  # whether the host program itself makes the call


_NO_FACTS: Final = Facts()


def evaluate(
    tool: str, scopes: Iterable[GateScope], facts: Facts = _NO_FACTS, profile: A3sProfile = NEWEST
) -> Passage:
    """Return the passage of a call of *tool* through *scopes*, the outermost first."""
    passed = list(scopes)
    if facts.host_direct:
        return Passage(Effect.ALLOW, GateReason.HOST_DIRECT)
    if facts.pre_tool_block is not None:
        return Passage(Effect.DENY, GateReason.HOOK)
    if _skill_restricts(tool, facts.active_skills):
        return Passage(Effect.DENY, GateReason.SKILL)
    if any(effect is Effect.DENY for effect, _ in passed):
        return Passage(Effect.DENY, GateReason.DENIED)
    passage = _confirmed(passed, facts, profile)
    if facts.budget_denied and passage.effect is not Effect.DENY:
        return Passage(Effect.DENY, GateReason.BUDGET)
    return passage


def _confirmed(passed: list[GateScope], facts: Facts, profile: A3sProfile) -> Passage:
    """Return the passage of a call that no scope denies."""
    asking = [provider for effect, provider in passed if effect is Effect.ASK]
    if not asking and not facts.needs_confirmation:
        return Passage(Effect.ALLOW, GateReason.ALLOWED)
    # If only the tool itself requires confirmation, the outermost scope confirms.
    confirming = asking or [provider for _, provider in passed[:1]]
    provider = min(confirming, key=lambda one: one.settled, default=Provider.DISABLED)
    hook = facts.request_hook if asking and profile.has_request_hooks else None
    # A hook answers only in place of a person, and never confirms for a tool that requires it.
    waived = hook is Effect.ALLOW and not facts.needs_confirmation
    if provider is Provider.MANAGER and (waived or hook is Effect.DENY):
        return Passage(Effect.ALLOW if waived else Effect.DENY, GateReason.REQUEST_HOOK)
    return Passage(provider.settled, _CONFIRMING[provider])


# The name and rules of a scope, and who confirms its calls.
Scope = tuple[str, RuleSet, Provider]


def child_scopes(
    parent: Iterable[Scope], agent: AgentDefinition, confirmation: Provider
) -> list[Scope]:
    """Return the scopes that calls of a started agent pass: of *parent*, and its own."""
    profile, confirms = agent.permissions.profile, agent.provider(confirmation)
    if agent.has_permissions:
        own = (agent.name, agent.permissions.rules, confirms)
        return [*parent, own] if profile.parent_bounds else [own]
    found = [*parent] if profile.children_are_checked else []
    return found or [(agent.name, RuleSet((), Effect.ASK, dialect(profile)), confirms)]


def delegate(
    session: SessionSettings,
    agent: AgentDefinition,
    tool: str,
    args: Mapping[str, Any],
    *,
    needs_confirmation: bool = False,
    only_permissions: bool = False,
) -> Effect:
    """Return the effect of a call of a started agent; *only_permissions*: before confirmation."""
    if agent.tool_free or tool.lower() in SPAWNING:
        return Effect.DENY
    own = (policy for policy in (session.permissions, session.style) if policy is not None)
    above = [("parent", policy.rules, session.provider) for policy in own]
    bounds = child_scopes(above, agent, session.provider)
    scopes = [(Table.of(rules).decide(tool, args).effect, by) for _, rules, by in bounds]
    if only_permissions:
        return min(effect for effect, _ in scopes)
    if needs_confirmation and bounds[0][0] != "parent":
        scopes.insert(0, (Effect.ALLOW, session.provider))
    facts = Facts(needs_confirmation=needs_confirmation)
    return evaluate(tool, scopes, facts, agent.permissions.profile).effect


def child_visible(
    session: SessionSettings, agent: AgentDefinition, tool: str, hidden: Iterable[str] = ()
) -> bool:
    """Return whether the model of a started agent is shown *tool*.

    *hidden* are rules by which the host program hides tools and does not deny them. An agent whose
    permissions name such a tool is shown it.
    """
    if tool.lower() in SPAWNING or agent.tool_free:
        return False
    profile, own = agent.permissions.profile, agent.permissions if agent.has_permissions else None
    if not profile.hides_tools:
        return True
    if not session.visible(tool) or (own is not None and not own.visible(tool)):
        return False
    hides = any(PermissionRule.of(text, profile).names(tool) for text in hidden)
    return not hides or (own is not None and own.declares(tool))


_TASK_NEEDS: Final = ("agent", "description", "prompt")
_TASK_FIELDS: Final = (*_TASK_NEEDS, "background", "max_steps", "output_schema")
_CALL_FIELDS: Final = (
    "tasks allow_partial_failure timeout_ms timeoutMs min_success_count minSuccessCount".split()
)
_MOST_TASKS: Final = 32


def check_task(args: Mapping[str, Any], profile: A3sProfile = NEWEST) -> tuple[str, ...]:
    """Return the agents that a call of `task` starts; raise HostError for wrong arguments."""
    source = Source("<task>", json.dumps(args, default=str))
    call = Fields.read(lambda: read_json(source), "task_arguments")
    tasks = [call]
    if profile.one_search:
        call.known(*_CALL_FIELDS)
        tasks = [*call.each("tasks")]
        if not 1 <= len(tasks) <= _MOST_TASKS:
            call.note(f"expected 1 to {_MOST_TASKS} entries in `tasks`")
    for task in tasks:
        task.known(*_TASK_FIELDS)
    texts = [[task.text(name) for name in _TASK_NEEDS] for task in tasks]
    call.check()
    return tuple(agent for agent, *_ in texts)


def script_rules(
    spec: ScriptToolSpec, profile: A3sProfile = NEWEST, *, without: Collection[str] = ()
) -> RuleSet:
    """Return the list of a script as a rule set over exact names, without the tools *without*."""
    place = place_of(spec.list_span)
    entries = [_ONE_TASK] if profile.one_search else []
    listed = spec.effective_tools(profile)
    if listed is None:
        entries += (Entry(f"={tool}", Effect.DENY) for tool in sorted(excluded(profile)))
        return RuleSet(tuple(entries), Effect.ALLOW, dialect(profile))
    for tool in listed:
        # No tool is called `*` or `Bash(ls:*)`; a name that is too long grants nothing.
        is_name = 0 < len(tool) < limits.PATTERN_CHARACTERS and not set(tool) & set("*?()\\ ")
        if is_name and tool not in without:
            entries.append(Entry(f"={tool}", Effect.ALLOW, rule=tool, place=place))
        if tool in MODES and profile.one_search:
            # A mode of `search` counts as the tool that it replaced.
            mode = slashed(f"{tool} :*")
            entries.append(Entry("=search", Effect.ALLOW, mode, rule=tool, place=place))
    return RuleSet(tuple(entries), Effect.DENY, dialect(profile), Reason.UNAVAILABLE)


# A script starts one agent a call. Keys are sorted where arguments are compared as JSON, so
# `agent` is the first key of every task; within a text its quote would be escaped.
_ONE_TASK: Final = Entry(
    "=task", Effect.DENY, slashed('**},{"agent":**'), rule="a script starts one agent a call"
)


def inner_call(  # a call has a script, a tool, arguments, a number, a session, a version
    spec: ScriptToolSpec,
    tool: str,
    args: Mapping[str, Any],
    *,
    session: SessionSettings | None = None,
    number: int = 1,
    profile: A3sProfile = NEWEST,
) -> Effect:
    """Return the effect of the *number*-th call of a script.

    Without a session the list alone decides, as before version 5. Raises HostError for too many
    calls.
    """
    _, most, _ = spec.limits.effective(spec.allowed_tools or ())
    if number > most:
        raise refused("max_tool_calls_exceeded", spec.span, most=most)
    tasks = args.get("tasks") if tool == "task" else None
    several = isinstance(tasks, (list, tuple)) and len(tasks) > 1
    if several or Table.of(script_rules(spec, profile)).decide(tool, args).effect is Effect.DENY:
        return Effect.DENY
    if session is None or not profile.governs_inner_calls:
        return Effect.ALLOW
    policy = session.permissions or PermissionPolicy()
    scope = policy.check(tool, args).effect, session.provider
    return evaluate(tool, [scope], profile=policy.profile).effect


SOURCE_BYTES: Final = 192 * 1024

# Texts that the host refuses anywhere in a source, also in strings.
_FORBIDDEN: Final = "import |import(|eval(|Function(|Worker(|WebSocket|fetch(".split("|")

# The host searches for this text, so `function runner` is accepted.
_ENTRY: Final = "function run"


def check_program(args: Mapping[str, Any]) -> None:
    """Raise HostError for arguments of `program` that the host does not run."""
    kind = args.get("type", "script")
    if kind != "script":
        raise refused("unsupported_program_type", found=kind)
    language = args.get("language", "javascript")
    if language != "javascript":
        raise refused("unsupported_language", found=language)
    source = args.get("source")
    if isinstance(source, str):
        check_source(source)


def check_source(source: str) -> None:
    """Raise HostError for a source that the host does not run."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > SOURCE_BYTES:
        raise refused("script_source_too_large", size=size, most=SOURCE_BYTES)
    for text in _FORBIDDEN:
        if text in source:
            raise refused("script_source_forbidden", text=text.strip())
    if _ENTRY not in source:
        raise refused("script_no_entrypoint")


def program_tools(
    args: Mapping[str, Any], registered: Iterable[str], profile: A3sProfile = NEWEST
) -> tuple[str, ...]:
    """Return the tools that a program may call, all of *registered* if it has no list."""
    listed = args.get("allowed_tools")
    tools = tuple(registered)
    if isinstance(listed, (list, tuple)):
        tools = tuple(name for name in listed if isinstance(name, str))
    return tuple(name for name in tools if name not in excluded(profile))


_RISK_KEYS: Final = frozenset({"x-a3s-risk", "a3s/risk", "a3s.risk", "risk"})
_LOW_RISK: Final = frozenset({"read", "read_only", "read-only", "routine", "closed_world_read"})


def mcp_needs_confirmation(
    annotations: Mapping[str, Any] | None, meta: Mapping[str, Any] | None = None
) -> bool:
    """Return whether a tool of a server requires confirmation."""
    given = annotations or {}
    harmless = (
        given.get("readOnlyHint") is True
        and given.get("openWorldHint") is False
        and given.get("destructiveHint") is not True
    )
    labels = (*given.items(), *(meta or {}).items())
    return not harmless or any(_risky_label(v) for key, v in labels if key.lower() in _RISK_KEYS)


def _risky_label(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_risky_label, value))
    return not isinstance(value, str) or value.strip().lower() not in _LOW_RISK


_REFUSED: Final = frozenset({"write", "edit", "patch", "download", "skill", "task", "batch"})
_CHANGES: Final = (">", "rm ", "mv ", "tee ")


def verifier_preflight(
    tool: str, args: Mapping[str, Any], *, nested: bool = False, read_only: bool = False
) -> Effect:
    """Return DENY for a call that a verifier refuses, else ALLOW. *nested* is within a program."""
    name = tool.lower()
    if name in _REFUSED:
        return Effect.DENY
    if name == "bash":
        text = str(args.get("command"))
        changes = "changed_paths" in args or any(sign in text for sign in _CHANGES)
    elif name == "git":
        stashes = isinstance(args.get("message"), str) or args.get("include_untracked") is True
        changing = {
            "checkout": True,
            "branch": isinstance(args.get("name"), str),
            "stash": stashes,
            "worktree": args.get("subcommand") in ("create", "remove"),
        }
        changes = changing.get(str(args.get("command")), False)
    else:
        changes = nested and name != "program" and not read_only
    return Effect.DENY if changes else Effect.ALLOW
