"""Findings about rules, agents, directories and sessions of A3S."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from policy.core.effect import Effect
from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Source, Span
from policy.hosts.a3s.definitions import (
    LIMITS,
    AgentDefinition,
    ConfirmationInheritance,
    ScriptToolSpec,
    ToolNames,
    excluded,
    kind_of,
    policy_of,
)
from policy.hosts.a3s.files import AgentDir, McpTool, SessionSettings
from policy.hosts.a3s.gate import Provider, own_provider, settled
from policy.hosts.a3s.rules import PermissionPolicy, PermissionRule, lane_rule
from policy.hosts.a3s.versions import MODES, QUERIES, SHIPPED, SPAWNING, A3sProfile, Lane
from policy.language.mistakes import closest
from policy.language.syntax import Presence

__all__ = [
    "SEVERITIES",
    "agent_findings",
    "directory_findings",
    "finding",
    "header_findings",
    "override_findings",
    "policy_findings",
    "rule_findings",
    "session_findings",
    "unconfirmed_findings",
]


_BY_SEVERITY: Final = {
    Severity.ERROR: (
        # rules
        "a3s-inert-lane",
        "a3s-inert-spawn-rule",
        "a3s-malformed-rule",
        "a3s-rule-too-long",
        "a3s-policy-disabled",
        # agents
        "a3s-agent-skipped",
        "a3s-agent-unbounded",
        "a3s-definition-dropped",
        "a3s-empty-tools",
        "a3s-exposed-definition",
        "a3s-header-cut",
        "a3s-list-ignored",
        "a3s-list-split",
        "a3s-override-widens",
        "a3s-permissions-replaced",
        "a3s-reserved-name",
        # directories and sessions
        "a3s-bad-directory",
        "a3s-bad-session",
        "a3s-confirmation-off",
        "a3s-script-list-only",
        "a3s-script-literal",
        "a3s-script-refused",
        "a3s-script-starts-script",
    ),
    Severity.WARNING: (
        "a3s-allow-after-deny",
        "a3s-ask-after-allow",
        "a3s-empty-pattern",
        "a3s-glob-case",
        "a3s-json-arguments",
        "a3s-lane-execute",
        "a3s-literal-braces",
        "a3s-multi-file-read",
        "a3s-optional-destination",
        "a3s-path-walks-out",
        "a3s-prefix-without-boundary",
        "a3s-search-text",
        "a3s-server-prefix",
        "a3s-star-and-lines",
        "a3s-unknown-tool",
        "a3s-agent-overridden",
        "a3s-auto-approve",
        "a3s-item-dropped",
        "a3s-preset-replaced",
        "a3s-second-list",
        "a3s-unknown-key",
        "a3s-delegation-only-hidden",
        "a3s-left-out",
        "a3s-limit-ignored",
        "a3s-script-excluded-tool",
        "a3s-script-starts-agents",
        "a3s-shadowed-tool",
    ),
    Severity.NOTE: (
        "a3s-allowed-but-hidden",
        "a3s-preset-not-read-only",
        "a3s-script-without-tools",
        "a3s-nobody-asked",
        "a3s-unattended",
    ),
}

SEVERITIES: Final = {code: severity for severity, codes in _BY_SEVERITY.items() for code in codes}


def finding(
    code: str,
    message: str,
    span: Span | None = None,
    *,
    help: str = "",
    file: str = "",
    edits: Iterable[Edit] = (),
) -> Finding:
    """Return the finding of that code."""
    return Finding(code, message, SEVERITIES[code], span, file, help, tuple(edits))


# --- one rule -------------------------------------------------------------------------


_PATH_TOOLS: Final = frozenset({"read", "write", "edit", "download", "ls"})
_TEXT_TOOLS: Final = frozenset({*_PATH_TOOLS, "bash", "search"})


def rule_findings(
    rule: PermissionRule, effect: Effect, policy: PermissionPolicy, known: frozenset[str]
) -> Iterator[Finding]:
    """Yield the findings about *rule* of *policy*; *known* are tools of other programs."""
    if rule.text.startswith("lane:"):
        yield from _lane(rule, effect, policy)
    elif rule.problem:
        yield finding(
            "a3s-malformed-rule",
            f"`{rule.text}` matches no call: {rule.problem}",
            rule.span,
            help="write `Tool` or `Tool(pattern)`, without blanks and with both parentheses",
            edits=_mended(rule) if effect is Effect.DENY else (),
        )
    elif rule.is_too_long:
        does = "grants nothing" if effect is Effect.ALLOW else "denies every call of its tool"
        yield finding(
            "a3s-rule-too-long",
            f"a rule of {len(rule.text):,} characters is not read, and {does} here",
            rule.span,
            help="write several rules, or one with a `*`",
        )
    else:
        yield from _name(rule, effect, known)
        if not rule.any_argument and rule.pattern is not None:
            yield from _pattern(rule, rule.pattern, effect)


def _lane(rule: PermissionRule, effect: Effect, policy: PermissionPolicy) -> Iterator[Finding]:
    lane = lane_rule(rule.text)
    there = effect is Effect.ALLOW and policy.profile.has_lanes
    if not there or lane not in {Lane.QUERY, Lane.EXECUTE}:
        yield finding(
            "a3s-inert-lane",
            f"`{rule.text}` does nothing here",
            rule.span,
            help="lanes are allowed, since version 9, and two hold tools; name the tools instead",
        )
    elif lane is Lane.EXECUTE:
        yield finding(
            "a3s-lane-execute",
            f"`{rule.text}` allows every tool that is not read-only, known or not",
            rule.span,
            help="name the tools",
        )


def _mended(rule: PermissionRule) -> tuple[Edit, ...]:
    """Return the edit that makes a deny rule match its tool."""
    span = rule.span
    if span is None or span.text != rule.text:
        return ()
    text = re.sub(r"\s+\(", "(", rule.text.strip(), count=1)
    text += ")" if text.count("(") > text.count(")") else ""
    return () if PermissionRule.of(text).problem else (Edit(span, text),)


# --- the tool -------------------------------------------------------------------------


def _name(rule: PermissionRule, effect: Effect, known: frozenset[str]) -> Iterator[Finding]:
    name = rule.tool.lower()
    if rule.is_glob:
        tools = SHIPPED | known
        lowered = PermissionRule.of(name)
        if not any(map(rule.names, tools)) and any(map(lowered.names, tools)):
            yield finding(
                "a3s-glob-case",
                f"`{rule.tool}` matches no tool of the host: in a pattern case counts",
                rule.span,
                help=f"write `{name}`",
            )
    elif name.startswith("mcp__"):
        if name.count("__") == 1:
            narrow = f"{rule.tool}__*"
            alone = rule.span is not None and rule.text == rule.tool == rule.span.text
            yield finding(
                "a3s-server-prefix",
                f"`{rule.tool}` covers every server whose name starts so",
                rule.span,
                help=f"write `{narrow}`",
                edits=[Edit(rule.span, narrow)]
                if rule.span and alone and effect is Effect.ALLOW
                else (),
            )
    elif name not in SHIPPED | known:
        yield finding(
            "a3s-unknown-tool",
            f"the host has no tool `{rule.tool}`",
            rule.span,
            help=_name_help(name),
        )


def _name_help(name: str) -> str:
    near = closest(name.replace("-", "_"), sorted(SHIPPED))
    known = {"webfetch": "web_fetch", "websearch": "web_search", "agent": "task"}.get(name)
    return f"did you mean `{known}`?" if known else near or "remove it if no other program adds it"


# --- the pattern ----------------------------------------------------------------------

_BRACES: Final = re.compile(r"\{[^{}]*,[^{}]*\}|\[[^\[\]]+\]")


def _pattern(rule: PermissionRule, pattern: str, effect: Effect) -> Iterator[Finding]:
    name = rule.tool.lower()
    if not pattern:
        yield finding(
            "a3s-empty-pattern",
            f"`{rule.text}` matches a call without that argument, and no other",
            rule.span,
            help=f"write `{rule.tool}` for every call",
        )
    elif name in SPAWNING or name == "agent":
        if "*" not in pattern:
            yield finding(
                "a3s-inert-spawn-rule",
                f"`{rule.text}` does not match the agent that it names",
                rule.span,
                help=f"agents cannot be told apart; `{name}` is every one of them",
            )
    elif name not in _TEXT_TOOLS and not rule.is_glob:
        if not (pattern.startswith("**") and pattern.endswith(("**", ":*"))):
            yield finding(
                "a3s-json-arguments",
                f"`{rule.text}` is compared with the JSON of all arguments",
                rule.span,
                help=f"write `{rule.tool}(**{pattern.strip('*')}**)`",
            )
    elif name == "bash":
        yield from _command(rule, pattern, effect)
    elif name in _PATH_TOOLS:
        yield from _path(rule, pattern, effect)
    elif name == "search":
        yield from _search(rule, pattern)
    if name in _TEXT_TOOLS - {"bash"} and _BRACES.search(pattern):
        yield finding(
            "a3s-literal-braces",
            f"the brackets in `{rule.text}` stand for themselves",
            rule.span,
            help="write a rule for each of them",
        )


def _command(rule: PermissionRule, pattern: str, effect: Effect) -> Iterator[Finding]:
    if pattern.endswith(":*") and pattern != ":*" and effect is not Effect.ASK:
        program = pattern[:-2]
        what = "admits" if effect is Effect.ALLOW else "misses"
        shown = f"{program} x && y" if effect is Effect.ALLOW else f"cd x && {program}"
        yield finding(
            "a3s-prefix-without-boundary",
            f"`{rule.text}` {what} `{shown}`",
            rule.span,
            help="commands are not taken apart; deny the tool, or ask for all of it",
        )
    elif "*" in pattern and effect is not Effect.ASK:
        what = (
            "does not match a command of several lines"
            if "**" in pattern
            else "matches a second command on a line of its own, and no command with a path"
        )
        yield finding("a3s-star-and-lines", f"`{rule.text}` {what}", rule.span)


def _path(rule: PermissionRule, pattern: str, effect: Effect) -> Iterator[Finding]:
    name = rule.tool.lower()
    literal = pattern.split("*", maxsplit=1)[0].removesuffix(":")
    if effect is Effect.ALLOW and ("**" in pattern or pattern.endswith(":*")) and literal:
        yield finding(
            "a3s-path-walks-out",
            f"`{rule.text}` admits `{literal}../../x`",
            rule.span,
            help="deny `" + rule.tool + "(**..**)` as well",
        )
    if name == "read" and (effect is Effect.DENY or pattern.endswith(":*")):
        what = "misses" if effect is Effect.DENY else "looks at the first file alone of"
        yield finding(
            "a3s-multi-file-read", f"`{rule.text}` {what} a read of several files", rule.span
        )
    if name == "download" and effect is Effect.DENY:
        yield finding(
            "a3s-optional-destination",
            f"`{rule.text}` misses a download without a destination",
            rule.span,
        )


def _search(rule: PermissionRule, pattern: str) -> Iterator[Finding]:
    literal = re.split(r"[*?]", pattern.removesuffix(":*"), maxsplit=1)[0]
    if not any(f"{mode} ".startswith(literal) or literal.startswith(f"{mode} ") for mode in MODES):
        yield finding(
            "a3s-search-text",
            f"`{rule.text}` matches no search: its text starts with the mode",
            rule.span,
            help=f"write `{rule.tool}(** {pattern})`, or name a mode, as in `{MODES[0]} {pattern}`",
        )


# --- one policy -----------------------------------------------------------------------


def policy_findings(
    policy: PermissionPolicy, span: Span | None = None, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield the findings about *policy*, which starts at *span*.

    Args:
        policy: the permissions of a session or an agent.
        span: where it is written.
        known: tools that the host does not ship.

    """
    if not policy.enabled:
        switch = policy.enabled_span
        yield finding(
            "a3s-policy-disabled",
            "the policy is not enabled, so everything is allowed",
            switch or span,
            help="remove `enabled: false`; to allow everything write `default_decision: allow`",
            edits=[Edit(switch, "true")] if switch else (),
        )
    for effect, rules in (
        (Effect.DENY, policy.deny),
        (Effect.ALLOW, policy.allow),
        (Effect.ASK, policy.ask),
    ):
        for rule in rules:
            if rule.span is not None:  # else it is not written in a file
                yield from rule_findings(rule, effect, policy, known)
    yield from _order(policy)
    if Lane.QUERY in policy.lanes and policy.default_decision is Effect.DENY:
        hidden = [tool for tool in QUERIES if not policy.visible(tool)]
        lane = next(rule for rule in policy.allow if lane_rule(rule.text) is Lane.QUERY)
        if hidden:
            yield finding(
                "a3s-allowed-but-hidden",
                f"`{hidden[0]}` is allowed and the model is not shown it",
                lane.span,
                help="name the tools as well",
            )


def _order(policy: PermissionPolicy) -> Iterator[Finding]:
    """Yield a finding for every rule that another rule shadows."""
    never = _never(policy.ask, policy.allow)
    for ask, cover in never:
        yield finding(
            "a3s-ask-after-allow",
            f"`{ask.text}` is never asked for: `{cover.text}` allows it before",
            ask.span,
            help="narrow the rule that allows, or deny",
            edits=_without_line(ask, len(policy.ask) - len(never)),
        )
    never = _never(policy.allow, policy.deny)
    for allow, cover in never:
        yield finding(
            "a3s-allow-after-deny",
            f"`{allow.text}` is never allowed: `{cover.text}` denies it before",
            allow.span,
            help="remove it, or narrow the rule that denies",
            edits=_without_line(allow, len(policy.allow) - len(never)),
        )


def _never(
    rules: Sequence[PermissionRule], before: Sequence[PermissionRule]
) -> list[tuple[PermissionRule, PermissionRule]]:
    """Return the written rules that an earlier rule covers, each with that rule."""
    found = []
    for rule in rules:
        cover = next((earlier for earlier in before if _covers(earlier, rule)), None)
        if cover is not None and rule.span and not rule.problem:
            found.append((rule, cover))
    return found


def _covers(larger: PermissionRule, smaller: PermissionRule) -> bool:
    """Return whether *larger* is shown to match every call that *smaller* matches."""
    if larger.problem or smaller.problem or smaller.is_glob:
        return larger.tool == smaller.tool and larger.any_argument and not larger.problem
    if not larger.names(smaller.tool):
        return False
    if larger.any_argument:
        return True
    if smaller.any_argument:
        return False
    wide, narrow = larger.entries(Effect.ALLOW), smaller.entries(Effect.ALLOW)
    if not wide or not narrow or wide[0].pattern is None or narrow[0].pattern is None:
        return False
    try:
        return narrow[0].pattern <= wide[0].pattern
    except OverflowError:
        return False


_ITEM = re.compile(r"[ \t]*-[ \t]+(?:\{[ \t]*rule:[ \t]*)?['\"]?")
_REST = re.compile(r"['\"]?[ \t]*\}?[ \t]*\r?(?:\n|\Z)")


def _without_line(rule: PermissionRule, others: int) -> tuple[Edit, ...]:
    """Return the edit that removes the line of a rule that never decides.

    There is no edit if the line contains anything else, or if the list would become empty.
    """
    span = rule.span
    # The prefix of a server matches names with a slash, which an earlier `*` may not.
    if span is None or others < 1 or rule.tool.startswith("mcp__"):
        return ()
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    rest = _REST.match(text, span.end)
    if rest is None or not _ITEM.fullmatch(text, start, span.start):
        return ()
    return (Edit(span.source.span(start, rest.end()), ""),)


# --- one agent ------------------------------------------------------------------------


_UNRESTRICTED: Final = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})
_ASKS: Final = Effect.ASK

# Tables of kinds that sound read-only -> what their agents may do.
_NOT_READ_ONLY: Final = {
    "explore": "`find . -delete` and `cat x > y`",
    "verification": "every command",
}


def agent_findings(agent: AgentDefinition) -> Iterator[Finding]:
    """Yield the findings about an agent file."""
    yield from policy_findings(agent.permissions, agent.span)
    yield from _lists(agent)
    yield from _lost(agent)
    yield from _confirmation(agent)
    if agent.has_permissions and not agent.permissions.profile.parent_bounds:
        yield finding(
            "a3s-agent-unbounded",
            f"`{agent.name}` may do what the session denies if its own permissions allow it",
            agent.span,
            help="use version 5.3.1 or later",
        )
    for key, span in agent.second:
        yield finding("a3s-second-list", f"`{key}` is not read", span, help="keep one of them")
    for key, span in agent.unknown:
        yield finding(
            "a3s-unknown-key",
            f"the host ignores `{key}`",
            span,
            help="remove it, or correct its name",
        )


def _lists(agent: AgentDefinition) -> Iterator[Finding]:
    tools, disallowed = agent.tools, agent.disallowed
    if tools.presence in _UNRESTRICTED:
        yield finding(
            "a3s-empty-tools",
            f"`{tools.key}` names no tool, which the host reads as no restriction",
            tools.span,
            help="deny tools with `disallowedTools`, or set `tool_free: true`",
        )
    if disallowed.presence in {Presence.ILL_TYPED, Presence.NULL}:
        yield finding(
            "a3s-list-ignored",
            f"`{disallowed.key}` is not a list of tools, so nothing is denied",
            disallowed.span,
            help="write the tools as a list, a name a line",
        )
    for listed in (tools, disallowed):
        yield from _items(listed)


def _items(listed: ToolNames) -> Iterator[Finding]:
    for span in listed.dropped:
        yield finding(
            "a3s-item-dropped",
            f"`{span.text}` is not a string, so the host leaves it out of `{listed.key}`",
            span,
            help="put it into quotes, or remove it",
        )
    for item, span in zip(listed.items, listed.spans, strict=True):
        if item.count("(") > item.count(")"):
            yield finding(
                "a3s-list-split",
                f"`{item}` is cut at a comma between parentheses",
                span,
                help="write the tools as a list, a rule a line",
            )


def _lost(agent: AgentDefinition) -> Iterator[Finding]:
    """Yield a finding where one part of the file cancels another part."""
    policy, block, tools = agent.permissions, agent.block, agent.tools
    preset = kind_of(agent.kind)
    own = preset is not None and block == policy_of(preset.table, policy.profile)
    if preset is not None and (tools.items or not own):
        by = tools.key if own else "permissions"
        yield finding(
            "a3s-preset-replaced",
            f"`{by}` replaces every rule of `kind: {agent.kind}`, also those that deny",
            agent.kind_span or agent.span,
            help="write down what is denied, or remove `kind`",
        )
    elif preset is not None and preset.table in _NOT_READ_ONLY:
        yield finding(
            "a3s-preset-not-read-only",
            f"`kind: {agent.kind}` allows {_NOT_READ_ONLY[preset.table]}",
            agent.kind_span or agent.span,
            help="deny `bash` if it must change nothing",
        )
    if tools.items and block is not None and not agent.kind:
        lost = [*block.deny, *block.ask, *block.allow]
        yield finding(
            "a3s-permissions-replaced",
            f"`{tools.key}` replaces `permissions`"
            + (f": `{lost[0].text}` is lost" if lost else ""),
            lost[0].span if lost else tools.span,
            help="write what is denied under `disallowedTools`",
        )
    only_asks = policy.ask or (block is not None and block.default_decision is not _ASKS)
    if only_asks and not agent.has_permissions and not agent.tool_free:
        yield finding(
            "a3s-definition-dropped",
            f"`{agent.name}` neither allows nor denies anything, so its permissions are dropped",
            policy.ask[0].span if policy.ask else agent.span,
            help="allow or deny something by name",
        )


def _confirmation(agent: AgentDefinition) -> Iterator[Finding]:
    policy = agent.permissions
    approves = agent.confirms is ConfirmationInheritance.AUTO_APPROVE and agent.has_permissions
    if approves and (policy.ask or policy.default_decision is _ASKS):
        is_explicit = agent.has_confirmation_key
        yield finding(
            "a3s-auto-approve",
            f"calls that `{agent.name}` asks for are approved without a person",
            agent.span,
            help="write `confirmation_inheritance: inherit_parent`",
            edits=() if is_explicit or agent.span is None else _line_behind(agent.span, _INHERIT),
        )


_INHERIT: Final = "confirmation_inheritance: inherit_parent"


def _line_behind(name: Span, line: str) -> tuple[Edit, ...]:
    """Return the edit that adds a line after that of the name, if the name has its own line."""
    text = name.source.text
    start = text.rfind("\n", 0, name.start) + 1
    end = text.find("\n", name.end)
    if end < 0 or not re.fullmatch(r"name:[ \t]+['\"]?", text[start : name.start]):
        return ()
    if not re.fullmatch(r"['\"]?[ \t]*(?:#.*)?\r?", text[name.end : end]):
        return ()
    broken = "\r\n" if text[end - 1] == "\r" else "\n"
    return (Edit(name.source.span(end + 1, end + 1), f"{line}{broken}"),)


def override_findings(earlier: AgentDefinition, agent: AgentDefinition) -> Iterator[Finding]:
    """Yield the findings about *agent*, which replaces *earlier*."""
    by = agent.span.place if agent.span else agent.name
    help_ = "" if earlier.span else "the host ships an agent of this name"
    yield finding(
        "a3s-agent-overridden",
        f"`{agent.name}` is replaced by the definition at {by}",
        earlier.span or agent.span,
        help=help_,
    )
    if not _grants_no_more(agent, earlier):
        yield finding(
            "a3s-override-widens",
            f"`{agent.name}` may do more than the agent it replaces",
            agent.span,
            help="give it another name, or deny what the other does not allow",
        )


def _grants_no_more(agent: AgentDefinition, earlier: AgentDefinition) -> bool:
    if agent.tool_free or not (earlier.has_permissions or earlier.tool_free):
        return True  # it has no tool, or those of its parent
    if earlier.tool_free or not agent.has_permissions:
        return False
    return agent.permissions.table <= earlier.permissions.table


def unconfirmed_findings(agent: AgentDefinition, session: SessionSettings) -> Iterator[Finding]:
    """Yield a finding if neither agent nor session has rules and no person can confirm."""
    bounded = session.permissions is not None or session.style is not None
    if bounded or agent.has_permissions or agent.tool_free or agent.span is None:
        return
    if settled(own_provider(agent, session.provider)) is Effect.DENY:
        yield finding(
            "a3s-nobody-asked",
            f"every call of `{agent.name}` is refused: no rule allows one, and no person is asked",
            agent.span,
            help="allow what it needs, or write `confirmation_inheritance: inherit_parent`",
        )


def header_findings(source: Source, end: int) -> Iterator[Finding]:
    """Yield a finding if the header of a Markdown file ends within a line."""
    before = source.text[:end].rpartition("\n")[2]
    if before.strip():
        yield finding(
            "a3s-header-cut",
            "the header ends within this line",
            source.span(end, end + 3),
            help="write another dash, or the text in a block below",
        )


# --- directories, scripts and sessions ------------------------------------------------


def directory_findings(directory: AgentDir, profile: A3sProfile) -> Iterator[Finding]:
    """Yield the findings about the tools and schedules of an agent directory."""
    if directory.acl and directory.acl.strip():
        yield Finding(
            "key-not-applied",
            "`agent.acl` may contain permissions, and is not read",
            Severity.WARNING,
            file=f"{directory.root}/agent.acl".lstrip("/"),
        )
    for tool in directory.tools:
        if isinstance(tool, McpTool):
            yield from (key.finding for key in tool.unapplied)
        if tool.name in SHIPPED:
            yield finding(
                "a3s-shadowed-tool",
                f"the host has a tool `{tool.name}`, which stays",
                tool.span,
                help="give the tool another name",
            )
    scripts = frozenset(script.name for script in directory.scripts)
    for script in directory.scripts:
        yield from _listed(script, profile, scripts)
        yield from _script(script, profile)
    for path in directory.skipped:
        yield finding(
            "a3s-left-out",
            "the file leads out of the folder",
            file=path,
            help="put the file itself there",
        )
    for schedule in directory.schedules:
        yield from (key.finding for key in schedule.unapplied)
        if schedule.enabled:
            yield finding(
                "a3s-unattended",
                f"`{schedule.name}` starts the agent by itself",
                schedule.span,
                help="see that nothing it needs must be confirmed; `enabled: false` turns it off",
            )


def _listed(
    script: ScriptToolSpec, profile: A3sProfile, scripts: Collection[str]
) -> Iterator[Finding]:
    """Yield the findings about the items in the list of a script."""
    for name, span in zip(script.allowed_tools or (), script.spans, strict=True):
        if name in excluded(profile):
            yield finding(
                "a3s-script-excluded-tool", f"no script may call `{name}`", span, help="remove it"
            )
        elif set(name) & set("*?()") or (name not in SHIPPED and name.lower() in SHIPPED):
            yield finding(
                "a3s-script-literal",
                f"`{name}` is the name of no tool",
                span,
                help="name each tool exactly, without patterns",
            )
        elif name in scripts:
            yield finding(
                "a3s-script-starts-script",
                f"`{name}` is a script, which `{script.name}` may start",
                span,
                help="leave it out; no script is to start a script",
            )
        elif name == "task":
            yield finding(
                "a3s-script-starts-agents",
                f"`{script.name}` may start agents, which may do what is not in its list",
                span,
                help="leave `task` out, or deny it in the session",
            )


def _script(script: ScriptToolSpec, profile: A3sProfile) -> Iterator[Finding]:
    span = script.list_span or script.span
    if script.omitted:
        yield finding(
            "a3s-script-without-tools",
            f"`{script.name}` may call no tool",
            span,
            help="list the tools under `allowed_tools`",
        )
    if script.effective_tools(profile) and not profile.governs_inner_calls:
        yield finding(
            "a3s-script-list-only",
            f"the calls of `{script.name}` do not pass the permissions of the session",
            span,
            help="use version 5 or later",
        )
    keys = ", ".join(f"`{limit.key}`" for limit in LIMITS)
    for key, at in script.unknown_limits:
        yield finding("a3s-limit-ignored", f"`{key}` is not a limit", at, help=f"known are {keys}")
    for key, at in script.unknown:
        close = key.lower().replace("-", "").replace("_", "") == "allowedtools"
        help_ = "did you mean `allowed_tools`?" if close else "remove it, or correct its name"
        yield finding("a3s-unknown-key", f"the host ignores `{key}`", at, help=help_)


_UNASKED: Final = frozenset({Provider.DISABLED, Provider.AUTO})


def session_findings(
    session: SessionSettings, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield the findings about a session; *known* are the tools of its directory."""
    if session.permissions is not None:
        yield from policy_findings(session.permissions, session.span, known)
    if session.provider in _UNASKED:
        span = session.confirmation_span
        yield finding(
            "a3s-confirmation-off",
            "no person is asked, so calls that ask rules match go on",
            span,
            help="write `confirmation: manager`",
            edits=[Edit(span, Provider.MANAGER.value)] if span else (),
        )
    task = [p.rules.row("task").constant for p in (session.permissions, session.style) if p]
    denied = any(outcome is not None and outcome.effect is Effect.DENY for outcome in task)
    if not session.auto_delegation.allow_manual_delegation and not denied:
        yield finding(
            "a3s-delegation-only-hidden",
            "the tools that start agents are hidden from the model, but calls are allowed",
            session.hiding_span,
            help="deny `task` as well",
        )
