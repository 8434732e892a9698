"""What A3S itself does with calls, and the product does not decide: a reference for tests.

Of a running session: the stages of its gate other than permissions, confirmation, skills, tools
that are hidden, the arguments and limits of programs, labels of tools of servers, verifiers, and
the risk of a call (`InteractiveToolGuardrail`), with its data in ``a3s.toml``.
"""

from __future__ import annotations

import enum
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn

from policy.commands.knowledge import Shell, Wrapping
from policy.commands.reader import read_command
from policy.core.effect import Effect
from policy.core.values import evolve, field, frozen
from policy.hosts.a3s.agents import (
    AGENT_ALIASES,
    AgentDefinition,
    Provider,
    ScriptToolSpec,
    SessionSettings,
    built_in_agents,
    excluded,
)
from policy.hosts.a3s.rules import (
    NEWEST,
    QUERIES,
    SPAWNING,
    A3sProfile,
    Lane,
    PermissionPolicy,
    PermissionRule,
    dialect,
)
from policy.hosts.a3s.scripts import check_source
from policy.hosts.fields import HostError
from policy.tables.ruleset import RuleSet

# --- skills


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


# --- the gate


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
        if profile.numbers >= (9,):
            # Two requests with one id reject each other.
            return Effect.DENY if duplicate_id else Effect.ASK
        approves = timed_out and self.timeout_action is TimeoutAction.AUTO_APPROVE
        lane = Lane.QUERY if tool in QUERIES else Lane.EXECUTE
        if approves or lane in self.yolo_lanes:
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
    hook = facts.request_hook if asking and profile.numbers >= (6, 9) else None
    # A hook answers only in place of a person, and never confirms for a tool that requires it.
    waived = hook is Effect.ALLOW and not facts.needs_confirmation
    if provider is Provider.MANAGER and (waived or hook is Effect.DENY):
        return Passage(Effect.ALLOW if waived else Effect.DENY, GateReason.REQUEST_HOOK)
    return Passage(provider.settled, _CONFIRMING[provider])


# --- tools that are hidden


def visible(policy: PermissionPolicy, tool: str) -> bool:
    """Return whether *policy* shows the model *tool*; its calls may still be denied."""
    if not policy.enabled or policy.profile.numbers < _HIDES_TOOLS:
        return True
    if any(rule.any_argument and _names(rule, tool) for rule in policy.deny):
        return False
    return policy.default_decision is not Effect.DENY or declares(policy, tool)


_HIDES_TOOLS: Final = (5, 2, 8)


def declares(policy: PermissionPolicy, tool: str) -> bool:
    """Return whether an allow rule or an ask rule names *tool*; a lane does not."""
    return any(_names(rule, tool) for rule in (*policy.allow, *policy.ask))


def _names(rule: PermissionRule, tool: str) -> bool:
    """Return whether the rule applies to some call of *tool*."""
    entries = (evolve(entry, pattern=None) for entry in rule.entries(Effect.DENY))
    rules = RuleSet(tuple(entries), Effect.ALLOW, dialect(NEWEST))
    return rules.row(tool).outcome({}).effect is Effect.DENY


def session_shows(session: SessionSettings, tool: str) -> bool:
    """Return whether the model of a session is shown *tool*; its calls may still be denied."""
    if tool in SPAWNING and not session.auto_delegation.allow_manual_delegation:
        return False
    return all(visible(p, tool) for p in (session.permissions, session.style) if p is not None)


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
    if profile.numbers < _HIDES_TOOLS:
        return True
    if not session_shows(session, tool) or (own is not None and not visible(own, tool)):
        return False
    hides = any(_names(PermissionRule.of(text, profile), tool) for text in hidden)
    return not hides or (own is not None and declares(own, tool))


# --- policies of everyone, and agents of other systems


def managed(everyone: PermissionPolicy, own: PermissionPolicy | None = None) -> PermissionPolicy:
    """Return the policy in force: *own*, with the deny rules of *everyone* added."""
    first = own or everyone
    deny = dict.fromkeys((*first.deny, *everyone.deny))
    return evolve(first, deny=tuple(deny), enabled=True)


def check_projected(name: str, profile: A3sProfile = NEWEST) -> None:
    """Raise HostError for an agent of another system with an alias of an agent as its name."""
    if AGENT_ALIASES.get(name) in built_in_agents(profile):
        text = f"projected agent name '{name}' conflicts with the compatibility registry"
        raise HostError("alias_conflict", text)


# --- scripts and programs


def check_number(spec: ScriptToolSpec, number: int) -> None:
    """Raise HostError if a script may not make its *number*-th call."""
    most = 20 if spec.limits.max_tool_calls is None else spec.limits.max_tool_calls
    if number > most:
        text = f"PTC script exceeded maxToolCalls={most}"
        raise HostError("max_tool_calls_exceeded", text, spec.span)


def check_program(args: Mapping[str, Any]) -> None:
    """Raise HostError for arguments of `program` that the host does not run."""
    kind = args.get("type", "script")
    if kind != "script":
        raise HostError("unsupported_program_type", f"unsupported program type '{kind}'")
    language = args.get("language", "javascript")
    if language != "javascript":
        raise HostError("unsupported_language", f"unsupported language '{language}'")
    source = args.get("source")
    if isinstance(source, str):
        check_source(source)


def program_tools(
    args: Mapping[str, Any], registered: Iterable[str], profile: A3sProfile = NEWEST
) -> tuple[str, ...]:
    """Return the tools that a program may call, all of *registered* if it has no list."""
    listed = args.get("allowed_tools")
    tools = tuple(registered)
    if isinstance(listed, (list, tuple)):
        tools = tuple(name for name in listed if isinstance(name, str))
    return tuple(name for name in tools if name not in excluded(profile))


# --- tools of servers, and verifiers

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


# --- the guardrail


class Risk(enum.IntEnum):
    """How much harm a call may do, in the order of the values."""

    ROUTINE = 0
    BOUNDED = 1
    HIGH = 2
    CRITICAL = 3


_DATA: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_SHELL: Final = Shell(wrapping=Wrapping(names=frozenset(_DATA["wrappers"])))
_LONGEST: Final = 100_000
_CATASTROPHE: Final = [re.compile(text) for text in _DATA["catastrophes"]]
_CRITICAL: Final = re.compile("|".join(_DATA["critical"]))
_READ_ONLY: Final = {
    name: re.compile(refused)
    for names, refused in _DATA["read_only"].items()
    for name in names.split()
}
_ANY_PROGRAM: Final = _READ_ONLY.pop("any")
_GIT: Final = _DATA["git"]

_BETWEEN: Final = re.compile(r"[\s;|&()<>{}'\"`$\\]+")
_EDGES: Final = "'\"()[]{},:"

# Characters with which a command is not split into words; the only blank is the space.
_NOT_PLAIN: Final = re.compile(r"""['"*?\[\]{};<>`$&]|[^\S ]|\|\|""")


def _is_critical(command: str) -> bool:
    """Return whether a command, or one within a substitution or a script in it, is critical."""
    lowered = " ".join(command.split()).lower()
    if any(text.search(lowered) for text in _CATASTROPHE):
        return True
    read, fetched = read_command(command, _SHELL), False
    # In an unreadable command any word may be a program.
    words = _BETWEEN.split(command) if read.opaque or read.unread else ()
    if any(_is_critical_program(word, words) for word in {*words}):
        return True
    for part in read.parts:
        for text in (part.text, *part.match_texts, *part.possible_texts):
            program, *arguments = text.split() or [""]
            name = program.rpartition("/")[2]
            script = arguments[arguments.index("-c") + 1 :] if "-c" in arguments else ()
            if name not in _DATA["shells"]:
                if _is_critical_program(program, arguments):
                    return True
            elif (fetched and "|" in command) or (script and _is_critical(" ".join(script))):
                return True
            fetched |= name in _DATA["fetchers"]
    return False


def _is_critical_program(program: str, arguments: Iterable[str]) -> bool:
    return bool(_CRITICAL.fullmatch(" ".join([program.rpartition("/")[2], *arguments])))


def _words_of(command: str) -> list[str]:
    """Return the words of a command without quotes and brackets, to search them for paths."""
    return [word for word in (part.strip(_EDGES) for part in command.split()) if word]


def _command_risk(command: str, outside: Callable[[str], bool]) -> Risk:
    """Return the risk of a command: high unless it only reads, and no word leads *outside*."""
    command = command.strip()
    if len(command) > _LONGEST:
        return Risk.HIGH
    if _is_critical(command):
        return Risk.CRITICAL
    if not command or _NOT_PLAIN.search(command) or any(map(outside, _words_of(command))):
        return Risk.HIGH
    read_only = all(_is_read_only(segment.split()) for segment in command.split("|"))
    return Risk.ROUTINE if read_only else Risk.HIGH


def _is_read_only(words: list[str]) -> bool:
    program, *arguments = words or [""]
    refused = _READ_ONLY.get(program.strip(_EDGES))
    # `uniq` writes a second file.
    writes = program == "uniq" and sum(not a.startswith("-") for a in arguments) > 1
    if program == "git":
        while arguments and arguments[0] in _GIT["before"]:
            arguments = arguments[1:]
        refused = re.compile(_GIT["refused"])
        writes = not re.fullmatch(_GIT["read_only"], " ".join(arguments))
    if refused is None or writes:
        return False
    return not any(refused.fullmatch(one) or _ANY_PROGRAM.fullmatch(one) for one in arguments)


def _git_risk(args: Mapping[str, Any]) -> Risk:
    """Return the risk of a call of the tool `git`; one with `force` or unknown keys is high."""
    command = args.get("command")
    if not isinstance(command, str) or args.get("force", False) is not False:
        return Risk.HIGH
    keys = args.keys() - {"command", "force"}
    others = {key: json.dumps(args[key], default=str) for key in keys}
    routine, bounded = (_GIT[risk].get(command) for risk in ("routine", "bounded"))
    looks = routine is not None and "force" not in args and others.keys() <= routine.keys()
    if looks and all(re.fullmatch(routine[key], value) for key, value in others.items()):
        return Risk.ROUTINE
    undone = (re.fullmatch(check, others.get(key, "")) for key, check in (bounded or {}).items())
    return Risk.BOUNDED if any(undone) else Risk.HIGH


class Mode(enum.Enum):
    """How much a session does without a person."""

    DEFAULT = "default"
    PLAN = "plan"
    AUTO = "auto"
    FORCE = "force"

    @classmethod
    def of(cls, text: str) -> Mode:
        """Return the mode of that name; any other text is the default mode."""
        name = text.strip().lower()
        if name == "yolo":
            return cls.FORCE
        return next((mode for mode in cls if mode.value == name), cls.DEFAULT)


@frozen
class Guardrail:
    """The guardrail of a session."""

    mode: Mode = Mode.DEFAULT
    workspace: str | None = None  # the folder that paths may not leave, absolute
    links: frozenset[str] = field(factory=frozenset, converter=frozenset)  # symbolic links
    profile: A3sProfile = NEWEST

    def check(self, tool: str, args: Mapping[str, Any]) -> Effect:
        """Return the effect of a call."""
        plans = self.mode is not Mode.PLAN or self.profile.has_lanes
        mode = self.mode if plans else Mode.DEFAULT
        return Effect(_DATA["modes"][mode.value][assess(tool, args, self)])

    def is_outside(self, path: str) -> bool:
        """Return whether the text of *path* leads out of the workspace."""
        text = path.replace("\\", "/").strip()
        if text.startswith(("~", "$HOME", "${HOME}")) or _DRIVE.match(text):
            return True
        if not text.startswith("/"):
            return posixpath.normpath(text).split("/")[0] == ".."
        return self.workspace is None or text.startswith("//") or not self._is_below(text, ".")

    def crosses_link(self, path: str) -> bool:
        """Return whether *path* passes a link, which is critical."""
        text = path.replace("\\", "/").strip()
        known = self.workspace is not None and not self.is_outside(path)
        return known and any(self._is_below(text, link) for link in self.links)

    def _is_below(self, path: str, folder: str) -> bool:
        full, root = (posixpath.join(self.workspace or "", one) for one in (path, folder))
        return PurePosixPath(posixpath.normpath(full)).is_relative_to(posixpath.normpath(root))


_DRIVE: Final = re.compile(r"[A-Za-z]:")

_TOOLS: Final = _DATA["tools"]
_DEEPEST: Final = 16


def assess(tool: str, args: object, guardrail: Guardrail, depth: int = 0) -> Risk:
    """Return the risk of a call; an unknown tool is high."""
    name = tool.lower()
    if not isinstance(args, Mapping):
        return Risk.HIGH
    if name == "batch":
        return max(_calls(args, guardrail, depth), default=Risk.HIGH)
    paths = _paths(name, args)
    if any(map(guardrail.crosses_link, paths)):
        return Risk.CRITICAL
    if name == "bash":
        command = args.get("command")
        known = isinstance(command, str)
        return _command_risk(str(command), guardrail.is_outside) if known else Risk.HIGH
    if name == "git":
        return _git_risk(args)
    if name == "read":
        listed, one = args.get("files"), isinstance(args.get("file_path"), str)
        known = one or (isinstance(listed, (list, tuple)) and len(paths) == len(listed))
        risks = [_at(path, Risk.ROUTINE, guardrail, absent=Risk.HIGH) for path in paths]
        return max(risks, default=Risk.HIGH) if known else Risk.HIGH
    if name in _TOOLS["quiet"]:
        return Risk.ROUTINE
    if name in _TOOLS["searches"] or (name in _TOOLS["modes"] and not guardrail.profile.one_search):
        return _at(args.get("path"), Risk.ROUTINE, guardrail, absent=Risk.ROUTINE)
    if name in _TOOLS["writes"]:
        # A download without a destination is written into the workspace.
        absent = Risk.BOUNDED if name == "download" and "file_path" not in args else Risk.HIGH
        return _at(args.get("file_path"), Risk.BOUNDED, guardrail, absent=absent)
    return Risk.HIGH


def _at(path: object, inside: Risk, guardrail: Guardrail, *, absent: Risk) -> Risk:
    if not isinstance(path, str) or not path.strip():
        return absent
    return Risk.CRITICAL if guardrail.is_outside(path) else inside


def _paths(name: str, args: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a call that are paths."""
    if name == "bash":
        command = args.get("command")
        words = _words_of(command) if isinstance(command, str) else []
        return [word for word in words if not word.startswith("-")]
    one = args.get("path" if name in (*_TOOLS["searches"], *_TOOLS["modes"]) else "file_path")
    if isinstance(one, str):
        return [one]
    several = args.get("files") if name == "read" else ()
    if not isinstance(several, (list, tuple)):
        return []
    found = (entry.get("path") for entry in several if isinstance(entry, Mapping))
    return [path for path in found if isinstance(path, str)]


def _calls(args: Mapping[str, Any], guardrail: Guardrail, depth: int) -> Iterator[Risk]:
    """Yield the risk of each call of a batch."""
    calls = args.get("invocations")
    for call in calls if isinstance(calls, (list, tuple)) and depth < _DEEPEST else ():
        tool = call.get("tool") if isinstance(call, Mapping) else None
        known = isinstance(tool, str)
        yield assess(str(tool), call.get("args"), guardrail, depth + 1) if known else Risk.HIGH
