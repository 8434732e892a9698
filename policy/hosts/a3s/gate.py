"""The gate: everything one call passes, in the order of A3S, and who confirms it.

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
from policy.core.source import Source
from policy.core.values import field, frozen
from policy.files.json_nodes import read_json
from policy.hosts.a3s.agents import AgentDefinition, Provider, ScriptToolSpec, excluded
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
from policy.hosts.data import host_table
from policy.hosts.fields import Fields
from policy.patterns.notations import slashed
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table


def _grants(text: str) -> tuple[tuple[str, str], ...]:
    """Return the tools that the text of ``allowed-tools`` names, each with its pattern.

    It is split at commas if it has any. Otherwise it is one rule if all its blanks are between
    parentheses, and is split at blanks if not.
    """
    if "," in text:
        parts = text.split(",")
    else:
        alone = re.fullmatch(r"\s*[^\s(]*\([^(]*\)\s*", text)
        parts = [text] if alone else text.split()
    return tuple(_grant(part.strip()) for part in parts if part.strip())


def _grant(text: str) -> tuple[str, str]:
    opened, closed = text.find("("), text.rfind(")")
    if 0 <= opened < closed:
        return text[:opened].strip(), text[opened + 1 : closed].strip()
    return text, "*"


def skill_policy(
    allowed: str | Iterable[str] | None, profile: A3sProfile = NEWEST
) -> PermissionPolicy:
    """Return the policy of a running skill: the tools that it lists, and no others.

    ``allowed-tools`` may be a list, which is read as one text with commas; if it is absent, the
    skill has no tool.
    """
    text = allowed if isinstance(allowed, str) else ", ".join(allowed or ())
    rules = (PermissionRule.of(f"{tool}({pattern})", profile) for tool, pattern in _grants(text))
    return PermissionPolicy(allow=tuple(rules), default_decision=Effect.DENY, profile=profile)


def _skill_restricts(tool: str, active: Iterable[str]) -> bool:
    """Return whether the active skills, by their ``allowed-tools``, forbid a call of *tool*.

    One skill that names the tool, in any case and for every argument, is enough. Patterns over
    names or arguments match nothing, and an empty list restricts nothing.
    """
    lists = [_grants(text) for text in active]
    through = (tool.lower(), "*")
    return bool(lists) and not any(
        not grants or any((name.lower(), pattern) == through for name, pattern in grants)
        for grants in lists
    )


# --- confirmation ---------------------------------------------------------------------


class TimeoutAction(enum.Enum):
    """What happened after a timeout before version 9."""

    REJECT = "reject"
    AUTO_APPROVE = "auto_approve"


@frozen
class ConfirmationPolicy:
    """How a scope confirms calls. By default the host confirms none.

    Attributes:
        enabled: whether calls are confirmed; if not, calls that ask go on.
        default_timeout_ms: the time for an answer.
        timeout_action: what happens after that, before version 9.
        yolo_lanes: lanes that are not confirmed, before version 9.
    """

    enabled: bool = False
    default_timeout_ms: int = 30_000
    timeout_action: TimeoutAction = TimeoutAction.REJECT
    yolo_lanes: frozenset[Lane] = frozenset()

    def request(
        self,
        tool: str,
        profile: A3sProfile = NEWEST,
        *,
        timed_out: bool = False,
        duplicate_id: bool = False,
    ) -> Effect:
        """Return the effect of a request for confirmation that gets no answer."""
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
        """Return the policy of two scopes together: the stricter in every respect."""
        rejects = TimeoutAction.REJECT in (self.timeout_action, other.timeout_action)
        return ConfirmationPolicy(
            self.enabled or other.enabled,
            min(self.default_timeout_ms, other.default_timeout_ms),
            TimeoutAction.REJECT if rejects else TimeoutAction.AUTO_APPROVE,
            self.yolo_lanes & other.yolo_lanes,
        )


# --- the stages of the gate -----------------------------------------------------------


class GateReason(enum.Enum):
    """Why the gate decides as it does. The values are those of the host."""

    SKILL = "skill_restriction"
    HOOK = "hook_block"
    DENIED = "permission_deny"
    NO_MANAGER = "missing_confirmation_manager"
    UNAVAILABLE = "confirmation_unavailable"
    ALLOWED = "permission_allow"
    NOT_REQUIRED = "confirmation_not_required"
    HOST_DIRECT = "host_direct_trusted"
    INTERNAL = "runtime_internal"
    # Stages that have no name in the host.
    ASKED = "confirmation_required"
    REQUEST_HOOK = "permission_request_hook"
    BUDGET = "budget"


@frozen
class Passage:
    """The decision of the gate on a call.

    Attributes:
        effect: the effect.
        reason: the stage that decided.
        confirm: the scopes that must confirm, if the effect is ASK.
    """

    effect: Effect
    reason: GateReason
    confirm: tuple[str, ...] = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a Passage is neither true nor false; compare its effect")


def _asked(effect: Effect | None) -> Effect:
    return Effect.ASK if effect is None else effect


@frozen
class GateScope:
    """One scope that a call passes: a session, or an agent that it started.

    Attributes:
        name: its name in `Passage.confirm`.
        effect: the effect of its permissions; None if it has none, which asks.
        provider: who confirms its calls.
    """

    name: str
    effect: Effect = field(converter=_asked)
    provider: Provider


@frozen
class Facts:
    """Facts of a running session that no file contains.

    Attributes:
        pre_tool_block: the reason for which a hook blocks the call, or None.
        request_hook: the answer of a hook to a request for confirmation, or None.
        active_skills: the tools of the active skills; None if the session does not enforce
            them.
        needs_confirmation: whether the tool itself requires confirmation.
        budget_denied: whether the budget is used up.
        host_direct: whether the host program itself makes the call.
    """

    pre_tool_block: str | None = None
    request_hook: Effect | None = None
    active_skills: tuple[str, ...] | None = None
    needs_confirmation: bool = False
    budget_denied: bool = False
    host_direct: bool = False


_NO_FACTS: Final = Facts()


def evaluate(
    tool: str, scopes: Iterable[GateScope], facts: Facts = _NO_FACTS, profile: A3sProfile = NEWEST
) -> Passage:
    """Return the decision on a call of *tool* that passes *scopes*, the outermost first."""
    if facts.host_direct:
        return Passage(Effect.ALLOW, GateReason.HOST_DIRECT)
    if facts.pre_tool_block is not None:
        return Passage(Effect.DENY, GateReason.HOOK)
    if _skill_restricts(tool, facts.active_skills or ()):
        return Passage(Effect.DENY, GateReason.SKILL)
    passage = _permitted(list(scopes), facts, profile)
    if passage.effect is not Effect.DENY and facts.budget_denied:
        return Passage(Effect.DENY, GateReason.BUDGET)
    return passage


def _permitted(scopes: list[GateScope], facts: Facts, profile: A3sProfile) -> Passage:
    if any(scope.effect is Effect.DENY for scope in scopes):
        return Passage(Effect.DENY, GateReason.DENIED)
    asking = [scope for scope in scopes if scope.effect is Effect.ASK]
    if not asking and not facts.needs_confirmation:
        return Passage(Effect.ALLOW, GateReason.ALLOWED)
    # If only the tool itself requires confirmation, the outermost scope confirms.
    passage = _confirmed(asking or scopes[:1])
    if passage.effect is not Effect.ASK or not asking or not profile.has_request_hooks:
        return passage
    match facts.request_hook:
        case Effect.DENY:
            return Passage(Effect.DENY, GateReason.REQUEST_HOOK)
        case Effect.ALLOW if not facts.needs_confirmation:
            # A hook answers instead of a person, and only where a person would be asked.
            return Passage(Effect.ALLOW, GateReason.REQUEST_HOOK)
        case _:
            return passage


def _confirmed(asking: list[GateScope]) -> Passage:
    for scope in asking:
        if scope.provider is Provider.NONE:
            return Passage(Effect.DENY, GateReason.NO_MANAGER)
        if scope.provider is Provider.UNAVAILABLE:
            return Passage(Effect.DENY, GateReason.UNAVAILABLE)
    people = tuple(scope.name for scope in asking if scope.provider.settled is Effect.ASK)
    if people:
        return Passage(Effect.ASK, GateReason.ASKED, people)
    return Passage(Effect.ALLOW, GateReason.NOT_REQUIRED)


# --- started agents -------------------------------------------------------------------
#
# An agent whose permissions are not in force (`PermissionPolicy.is_in_force`) has those of its
# parent.

# A name, the rules of a scope, and who confirms its calls.
Scope = tuple[str, RuleSet, Provider]


def child_scopes(
    parent: Iterable[Scope], agent: AgentDefinition, confirmation: Provider
) -> list[Scope]:
    """Return the scopes that a call of a started agent passes: of *parent*, and its own.

    A *parent* without permissions has no scope; *confirmation* is who confirms its calls.
    """
    profile, confirms = agent.permissions.profile, agent.provider(confirmation)
    if agent.has_permissions:
        own = (agent.name, agent.permissions.rules, confirms)
        return [*parent, own] if profile.parent_bounds else [own]
    found = [*parent] if profile.children_are_checked else []
    return found or [(agent.name, RuleSet((), Effect.ASK, dialect(profile)), confirms)]


def delegate(  # a parent, who confirms for it, an agent and a call
    parent: PermissionPolicy | None,
    confirmation: Provider,
    agent: AgentDefinition,
    tool: str,
    args: Mapping[str, Any],
    *,
    needs_confirmation: bool = False,
    only_permissions: bool = False,
) -> Passage:
    """Return the decision on a call of an agent that *parent*, with these permissions, started.

    A tool may itself need confirmation. With *only_permissions* it does not matter who confirms.
    """
    if agent.tool_free:
        return Passage(Effect.DENY, GateReason.NO_MANAGER)
    if tool.lower() in SPAWNING:
        return Passage(Effect.DENY, GateReason.DENIED)
    above = () if parent is None else (("parent", parent.rules, confirmation),)
    scopes = [
        GateScope(name, Table.of(rules).decide(tool, args).effect, provider)
        for name, rules, provider in child_scopes(above, agent, confirmation)
    ]
    if only_permissions:
        effect = min(scope.effect for scope in scopes)
        return Passage(effect, GateReason.DENIED if effect is Effect.DENY else GateReason.ALLOWED)
    facts = Facts(needs_confirmation=needs_confirmation)
    if needs_confirmation and scopes[0].name != "parent":
        scopes.insert(0, GateScope("parent", Effect.ALLOW, confirmation))
    return evaluate(tool, scopes, facts, agent.permissions.profile)


def child_visible(
    tool: str,
    parent: PermissionPolicy | None,
    agent: AgentDefinition,
    *,
    hidden: tuple[str, ...] = (),
) -> bool:
    """Return whether the model of a started agent is shown *tool*.

    The host program may hide tools from the parent without denying them, by rules; an agent
    whose own rules name such a tool is shown it.
    """
    if tool.lower() in SPAWNING or agent.tool_free:
        return False
    profile, own = agent.permissions.profile, agent.permissions if agent.has_permissions else None
    if not profile.hides_tools:
        return True
    if not all(policy.visible(tool) for policy in (own, parent) if policy is not None):
        return False
    if own is not None and own.declares(tool):
        return True
    return not any(PermissionRule.of(text, profile).names(tool) for text in hidden)


# --- calls that a script makes --------------------------------------------------------


def script_rules(
    spec: ScriptToolSpec, profile: A3sProfile = NEWEST, *, without: Collection[str] = ()
) -> RuleSet:
    """Return the list of a script as rules over exact names, except the tools *without*.

    A script without a list may call every tool that scripts may call at all.
    """
    place = spec.list_span.place if spec.list_span else None
    entries = [_ONE_TASK] if profile.one_search else []
    listed = spec.effective_tools(profile)
    if listed is None:
        entries += (Entry(f"={tool}", Effect.DENY) for tool in sorted(excluded(profile)))
        return RuleSet(tuple(entries), Effect.ALLOW, dialect(profile))
    for tool in listed:
        if _listable(tool) and tool not in without:
            entries.append(Entry(f"={tool}", Effect.ALLOW, rule=tool, place=place))
        if tool in MODES and profile.one_search:
            # A mode of `search` stands for the tool that it was.
            mode = slashed(f"{tool} :*")
            entries.append(Entry("=search", Effect.ALLOW, mode, rule=tool, place=place))
    return RuleSet(tuple(entries), Effect.DENY, dialect(profile), Reason.UNAVAILABLE)


# A script starts one agent a call. Keys are sorted where arguments are compared as JSON, so
# `agent` is the first key of every task; within a text its quote would be escaped.
_ONE_TASK: Final = Entry(
    "=task", Effect.DENY, slashed('**},{"agent":**'), rule="a script starts one agent a call"
)


def _listable(name: str) -> bool:
    # No tool is called `*` or `Bash(ls:*)`; a name that is too long grants nothing.
    return 0 < len(name) < limits.PATTERN_CHARACTERS and not set(name) & set("*?()\\ ")


@frozen
class ScriptSession:
    """The session that bounds the calls of a script.

    Attributes:
        policy: its policy, or None if it has none, which asks.
        provider: who confirms its calls.
        facts: facts of the running session.
    """

    policy: PermissionPolicy | None = None
    provider: Provider = Provider.NONE
    facts: Facts = Facts()


def inner_call(  # a call has a script, a tool, arguments, a number, a session, a version
    spec: ScriptToolSpec,
    tool: str,
    args: Mapping[str, Any],
    *,
    session: ScriptSession | None = None,
    number: int = 1,
    profile: A3sProfile = NEWEST,
) -> Effect:
    """Return the effect of the *number*-th call of a script, whose list no argument can widen.

    Without a session the list alone decides, as before version 5.

    Raises:
        HostError: it has made too many calls.
    """
    limit = spec.limits.effective(spec.allowed_tools or ())[1]
    if number > limit:
        raise refused("max_tool_calls_exceeded", spec.span, most=limit)
    tasks = args.get("tasks") if tool == "task" else None
    several = isinstance(tasks, (list, tuple)) and len(tasks) > 1
    if several or Table.of(script_rules(spec, profile)).decide(tool, args).effect is Effect.DENY:
        return Effect.DENY
    if session is None or not profile.governs_inner_calls:
        return Effect.ALLOW
    policy = session.policy
    effect = None if policy is None else policy.check(tool, args).effect
    scope = GateScope("session", effect, session.provider)
    return evaluate(tool, [scope], session.facts, policy.profile if policy else NEWEST).effect


# --- the `program` tool: which sources the host runs. No source is run here. ----------


SOURCE_BYTES: Final = 192 * 1024

# Refused anywhere in the source, also in strings.
_FORBIDDEN: Final = "import |import(|eval(|Function(|Worker(|WebSocket|fetch(".split("|")

# The host searches for this text, so `function runner` is accepted.
_ENTRY: Final = "function run"


def check_program(args: Mapping[str, Any]) -> None:
    """Refuse arguments of `program` that the host does not run.

    Raises:
        HostError: the first reason.
    """
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
    """Refuse a source that the host does not run.

    Raises:
        HostError: it is too long, has no function `run`, or contains a refused text.
    """
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
    """Return the tools that a program may call.

    Without a list it may call every registered tool, unlike a script tool, which may call none.
    """
    listed = args.get("allowed_tools")
    tools = tuple(registered)
    if isinstance(listed, (list, tuple)):
        tools = tuple(name for name in listed if isinstance(name, str))
    return tuple(name for name in tools if name not in excluded(profile))


# --- tools of servers -----------------------------------------------------------------

_RISK_KEYS: Final = frozenset({"x-a3s-risk", "a3s/risk", "a3s.risk", "risk"})
_LOW_RISK: Final = frozenset({"read", "read_only", "read-only", "routine", "closed_world_read"})


def mcp_needs_confirmation(
    annotations: Mapping[str, Any] | None, meta: Mapping[str, Any] | None = None
) -> bool:
    """Return whether a tool of a server requires confirmation. It never lifts a denial."""
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


# --- turns of a verifier --------------------------------------------------------------

_REFUSED: Final = frozenset({"write", "edit", "patch", "download", "skill", "task", "batch"})
_CHANGES: Final = (">", "rm ", "mv ", "tee ")


def verifier_preflight(
    tool: str, args: Mapping[str, Any], *, nested: bool = False, read_only: bool = False
) -> Effect:
    """Return DENY for a call that a turn of a verifier refuses, else ALLOW.

    The call may be *nested* in a program, and its tool may declare itself read-only.
    """
    name = tool.lower()
    if name in _REFUSED:
        return Effect.DENY
    if name == "bash":
        text = str(args.get("command"))
        changes = "changed_paths" in args or any(sign in text for sign in _CHANGES)
    elif name == "git":
        changes = _git_changes(args)
    else:
        changes = nested and name != "program" and not read_only
    return Effect.DENY if changes else Effect.ALLOW


def _git_changes(args: Mapping[str, Any]) -> bool:
    command = args.get("command")
    match command:
        case "checkout":
            return True
        case "branch":
            return isinstance(args.get("name"), str)
        case "stash":
            return isinstance(args.get("message"), str) or args.get("include_untracked") is True
        case "worktree":
            return args.get("subcommand") in ("create", "remove")
        case _:
            return False


# --- starting agents ------------------------------------------------------------------

_TASK_NEEDS: Final = ("agent", "description", "prompt")
_TASK_FIELDS: Final = (*_TASK_NEEDS, "background", "max_steps", "output_schema")
_CALL_FIELDS: Final = (
    "tasks allow_partial_failure timeout_ms timeoutMs min_success_count minSuccessCount".split()
)
_MOST_TASKS: Final = 32


def check_task(args: Mapping[str, Any], profile: A3sProfile = NEWEST) -> tuple[str, ...]:
    """Return the agents that a call of `task` starts; before 6.8 a call started one.

    Raises:
        HostError: there is no task, there are too many, or a field is unknown or missing.
    """
    source = Source("<task>", json.dumps(args, default=str))
    call = Fields.read(lambda: read_json(source), "task_arguments")
    items = [call]
    if profile.one_search:
        call.known(*_CALL_FIELDS)
        items = [*call.each("tasks")]
        if not 1 <= len(items) <= _MOST_TASKS:
            call.note(f"expected 1 to {_MOST_TASKS} entries in `tasks`")
    for task in items:
        task.known(*_TASK_FIELDS)
    texts = [[task.text(name) for name in _TASK_NEEDS] for task in items]
    call.check()
    return tuple(agent for agent, *_ in texts)


# What a started agent inherits from the agent that starts it, apart from permissions.
INHERITED: Final = host_table("a3s", "agents")["inherited"]
