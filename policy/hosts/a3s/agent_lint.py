"""What is wrong with an agent file: each trap, where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from policy.edits import Edit
from policy.effect import Effect
from policy.finding import Finding
from policy.hosts.a3s.agents_data import kind_of, policy_of
from policy.hosts.a3s.codes import finding
from policy.hosts.a3s.confirmation import settled
from policy.hosts.a3s.definitions import AgentDefinition, ConfirmationInheritance, Listed
from policy.hosts.a3s.delegation import own_provider
from policy.hosts.a3s.lint import policy_findings
from policy.hosts.a3s.session_file import SessionSettings
from policy.language.syntax import Presence
from policy.source import Source, Span

__all__ = ["agent_findings", "header_findings", "override_findings", "unasked_findings"]

_UNRESTRICTED: Final = frozenset({Presence.EMPTY, Presence.ILL_TYPED, Presence.NULL})
_ASKS: Final = Effect.ASK

# Tables of kinds that sound as if nothing could be changed, and what their agents may do.
_NOT_READ_ONLY: Final = {
    "explore": "`find . -delete` and `cat x > y`",
    "verification": "every command",
}


def agent_findings(agent: AgentDefinition) -> Iterator[Finding]:
    """Yield what is wrong with an agent file."""
    yield from policy_findings(agent.permissions, agent.span)
    yield from _lists(agent)
    yield from _lost(agent)
    yield from _confirmation(agent)
    if agent.has_permissions and not agent.permissions.profile.parent_bounds:
        yield finding(
            "a3s-agent-unbounded",
            f"what the session denies, `{agent.name}` may do where its own permissions allow it",
            agent.span,
            help="use version 5.3.1 or later",
        )
    for key, span in agent.second:
        yield finding("a3s-second-list", f"`{key}` is not read", span, help="keep one of them")
    for key, span in agent.unknown:
        yield finding(
            "a3s-unknown-key",
            f"`{key}` means nothing to the host",
            span,
            help="remove it, or mend its name",
        )


def _lists(agent: AgentDefinition) -> Iterator[Finding]:
    tools, disallowed = agent.tools, agent.disallowed
    if tools.presence in _UNRESTRICTED:
        yield finding(
            "a3s-empty-tools",
            f"`{tools.key}` names no tool, which the host takes for no restriction",
            tools.span,
            help="deny what it must not have by `disallowedTools`, or set `tool_free: true`",
        )
    if disallowed.presence in {Presence.ILL_TYPED, Presence.NULL}:
        yield finding(
            "a3s-list-ignored",
            f"`{disallowed.key}` is no list of tools, so nothing is denied",
            disallowed.span,
            help="write the tools as a list, a name a line",
        )
    for listed in (tools, disallowed):
        yield from _items(listed)


def _items(listed: Listed) -> Iterator[Finding]:
    for span in listed.dropped:
        yield finding(
            "a3s-item-dropped",
            f"`{span.text}` is no text, so the host leaves it out of `{listed.key}`",
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
    """Yield a finding where one part of the file makes another part nothing."""
    policy, block, tools = agent.permissions, agent.block, agent.tools
    preset = kind_of(agent.kind)
    own = preset is not None and block == policy_of(preset.table, policy.profile)
    if preset is not None and (tools.items or not own):
        by = tools.key if own else "permissions"
        yield finding(
            "a3s-preset-replaced",
            f"`{by}` replaces all that `kind: {agent.kind}` stands for, also what it denies",
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
    said = policy.ask or (block is not None and block.default_decision is not _ASKS)
    if said and not agent.has_permissions and not agent.tool_free:
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
        said = agent.confirmation_said
        yield finding(
            "a3s-auto-approve",
            f"what `{agent.name}` asks for is approved at once",
            agent.span,
            help="write `confirmation_inheritance: inherit_parent`",
            edits=() if said or agent.span is None else _line_behind(agent.span, _INHERIT),
        )


_INHERIT: Final = "confirmation_inheritance: inherit_parent"


def _line_behind(name: Span, line: str) -> tuple[Edit, ...]:
    """Return the edit that adds a key behind that of the name, where each has a line."""
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
    """Yield what is wrong with *agent*, which takes the place of *earlier*."""
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
        return True  # nothing, or no more than whoever starts it
    if earlier.tool_free or not agent.has_permissions:
        return False
    return agent.permissions.table <= earlier.permissions.table


def unasked_findings(agent: AgentDefinition, session: SessionSettings) -> Iterator[Finding]:
    """Yield a finding where neither agent nor session says anything, and nobody is asked."""
    bounded = session.permissions is not None or session.style is not None
    if bounded or agent.has_permissions or agent.tool_free or agent.span is None:
        return
    if settled(own_provider(agent, session.provider)) is Effect.DENY:
        yield finding(
            "a3s-nobody-asked",
            f"every call of `{agent.name}` is refused: nothing allows one, and nobody is asked",
            agent.span,
            help="allow what it needs, or write `confirmation_inheritance: inherit_parent`",
        )


def header_findings(source: Source, end: int) -> Iterator[Finding]:
    """Yield a finding where the header of a Markdown file is cut within a line."""
    before = source.text[:end].rpartition("\n")[2]
    if before.strip():
        yield finding(
            "a3s-header-cut",
            "the header ends within this line",
            source.span(end, end + 3),
            help="write another dash, or the text in a block below",
        )
