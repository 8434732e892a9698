"""What is wrong with the rules of one policy, taken together, and with each by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from policy.edits import Edit
from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.a3s.codes import finding
from policy.hosts.a3s.names import QUERIES, Lane
from policy.hosts.a3s.permissions import PermissionPolicy
from policy.hosts.a3s.rule_lint import rule_findings
from policy.hosts.a3s.rules import PermissionRule, lane_rule
from policy.source import Span

__all__ = ["policy_findings"]


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
            if rule.span is not None:  # else nobody wrote it
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
    """Yield a finding for every rule that another one leaves nothing."""
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
    """Return the written rules that one of those asked before covers, each with that one."""
    found = []
    for rule in rules:
        cover = next((earlier for earlier in before if _covers(earlier, rule)), None)
        if cover is not None and rule.span and not rule.problem:
            found.append((rule, cover))
    return found


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


_ITEM = re.compile(r"[ \t]*-[ \t]+(?:\{[ \t]*rule:[ \t]*)?['\"]?")
_REST = re.compile(r"['\"]?[ \t]*\}?[ \t]*\r?(?:\n|\Z)")


def _without_line(rule: PermissionRule, others: int) -> tuple[Edit, ...]:
    """Return the edit that takes out the line of a rule that never decides.

    None where the line holds anything else, or where no item would be left: a list
    without items is none.
    """
    span = rule.span
    # A server's prefix reaches names with a slash, which `*` before it may not.
    if span is None or others < 1 or rule.tool.startswith("mcp__"):
        return ()
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    rest = _REST.match(text, span.end)
    if rest is None or not _ITEM.fullmatch(text, start, span.start):
        return ()
    return (Edit(span.source.span(start, rest.end()), ""),)
