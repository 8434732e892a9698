"""What is wrong with one rule: each trap of the language, where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policy.edits import Edit
from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.a3s.codes import finding
from policy.hosts.a3s.names import MODES, SHIPPED, SPAWNING, Lane
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rules import PermissionRule, lane_rule
from policy.language.mistakes import closest

__all__ = ["rule_findings"]

_PATH_TOOLS: Final = frozenset({"read", "write", "edit", "download", "ls"})
_TEXT_TOOLS: Final = frozenset({*_PATH_TOOLS, "bash", "search"})


def rule_findings(
    rule: PermissionRule, effect: Effect, policy: PermissionPolicy, known: frozenset[str]
) -> Iterator[Finding]:
    """Yield what is wrong with *rule* of *policy*; *known* are tools beside those of the host."""
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
        told = "grants nothing" if effect is Effect.ALLOW else "denies every call of its tool"
        yield finding(
            "a3s-rule-too-long",
            f"a rule of {len(rule.text):,} characters is not read, and {told} here",
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
            f"`{rule.text}` allows every tool that does not only look, known or not",
            rule.span,
            help="name the tools",
        )


def _mended(rule: PermissionRule) -> tuple[Edit, ...]:
    """Return the edit that makes a rule one that matches; for one that denies."""
    span = rule.span
    if span is None or span.text != rule.text:
        return ()
    text = re.sub(r"\s+\(", "(", rule.text.strip(), count=1)
    text += ")" if text.count("(") > text.count(")") else ""
    return () if PermissionRule.of(text).problem else (Edit(span, text),)


# --- the tool ----------------------------------------------------------------


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


# --- the pattern -------------------------------------------------------------

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
                f"`{rule.text}` does not speak of the agent it names",
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
