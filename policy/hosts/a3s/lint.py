"""What is wrong with the rules of one policy: each trap of the language, where it is written."""

from __future__ import annotations

from collections.abc import Iterator

from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.a3s.codes import finding
from policy.hosts.a3s.names import QUERIES, SHIPPED, SPAWNING, Lane
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule, lane_rule
from policy.source import Span

__all__ = ["policy_findings"]

_PATH_TOOLS = frozenset({"read", "write", "edit", "download", "ls"})
_TEXT_TOOLS = frozenset({*_PATH_TOOLS, "bash", "search"})


def policy_findings(
    policy: PermissionPolicy, span: Span | None = None, known: frozenset[str] = frozenset()
) -> Iterator[Finding]:
    """Yield what is wrong with *policy*, which starts at *span*.

    Args:
        policy: what one scope says.
        span: where it is written.
        known: tools that there are beside those of the host.

    """
    if not policy.enabled:
        yield finding(
            "a3s-policy-disabled",
            "the policy is not enabled, so everything is allowed",
            span,
            help="remove `enabled: false`; to allow everything write `default_decision: allow`",
        )
    for effect, rules in (
        (Effect.DENY, policy.deny),
        (Effect.ALLOW, policy.allow),
        (Effect.ASK, policy.ask),
    ):
        for rule in rules:
            if rule.span is not None:  # else nobody wrote it
                yield from _rule(rule, effect, policy, known)
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


def _rule(
    rule: PermissionRule, effect: Effect, policy: PermissionPolicy, known: frozenset[str]
) -> Iterator[Finding]:
    if rule.text.startswith("lane:"):
        if effect is not Effect.ALLOW or not policy.profile.has_lanes or not lane_rule(rule.text):
            yield finding(
                "a3s-inert-lane",
                f"`{rule.text}` does nothing here",
                rule.span,
                help="a lane is allowed, since version 9; name the tools instead",
            )
        return
    if rule.problem:
        yield finding(
            "a3s-malformed-rule",
            f"`{rule.text}` matches no call: {rule.problem}",
            rule.span,
            help="write `Tool` or `Tool(pattern)`, without blanks and with both parentheses",
        )
        return
    name = rule.tool.lower()
    if not rule.is_glob and not name.startswith("mcp__") and name not in SHIPPED | known:
        yield finding(
            "a3s-unknown-tool",
            f"the host has no tool `{rule.tool}`",
            rule.span,
            help=_name_help(name),
        )
    if name.startswith("mcp__") and not rule.is_glob and name.count("__") < 2:
        yield finding(
            "a3s-server-prefix",
            f"`{rule.tool}` covers every server whose name starts so",
            rule.span,
            help=f"write `{rule.tool}__*`",
        )
    if not rule.any_argument and rule.pattern is not None:
        yield from _pattern(rule, name, rule.pattern, effect)


def _name_help(name: str) -> str:
    known = {"webfetch": "web_fetch", "websearch": "web_search", "agent": "task"}.get(name)
    return f"did you mean `{known}`?" if known else "if no other program adds it, remove the rule"


def _pattern(rule: PermissionRule, name: str, pattern: str, effect: Effect) -> Iterator[Finding]:
    if name in SPAWNING or name == "agent":
        if "*" not in pattern:
            yield finding(
                "a3s-inert-spawn-rule",
                f"`{rule.text}` does not speak of the agent it names",
                rule.span,
                help=f"agents cannot be told apart; `{name}` is every one of them",
            )
        return
    if name not in _TEXT_TOOLS and not rule.is_glob:
        if not (pattern.startswith("**") and pattern.endswith(("**", ":*"))):
            yield finding(
                "a3s-json-arguments",
                f"`{rule.text}` is compared with the JSON of all arguments",
                rule.span,
                help=f"write `{rule.tool}(**{pattern.strip('*')}**)`",
            )
        return
    if name == "bash":
        yield from _command(rule, pattern, effect)
    elif name in _PATH_TOOLS:
        yield from _path(rule, name, pattern, effect)


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


def _path(rule: PermissionRule, name: str, pattern: str, effect: Effect) -> Iterator[Finding]:
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


def _order(policy: PermissionPolicy) -> Iterator[Finding]:
    for ask in policy.ask:
        cover = next((rule for rule in policy.allow if _covers(rule, ask)), None)
        if cover is not None and ask.span and not ask.problem:
            yield finding(
                "a3s-ask-after-allow",
                f"`{ask.text}` is never asked for: `{cover.text}` allows it before",
                ask.span,
                help="narrow the rule that allows, or deny",
            )
    for allow in policy.allow:
        cover = next((rule for rule in policy.deny if _covers(rule, allow)), None)
        if cover is not None and allow.span and not allow.problem:
            yield finding(
                "a3s-allow-after-deny",
                f"`{allow.text}` is never allowed: `{cover.text}` denies it before",
                allow.span,
            )


def _covers(larger: PermissionRule, smaller: PermissionRule) -> bool:
    """Return whether *larger* surely matches all that *smaller* matches."""
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
