"""The sections ``[tools]`` and ``[security]`` of a configuration: what its session allows.

What is not written has the default of Zeph. A file with neither section says nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Source, Span
from policy.hosts.fields import Fields
from policy.hosts.zeph.config_keys import BLOCKED, CONFIRMED, NETWORK
from policy.hosts.zeph.session import (
    Autonomy,
    BlockedCommand,
    PolicyEnforcer,
    PolicyRule,
    SessionPermissions,
    ZephSession,
    read_rules,
    rules_at,
)

__all__ = ["NOTHING", "Open", "ReadSession", "read_session"]

Open = Callable[[str], Source]


@attrs.frozen
class ReadSession:
    """What a configuration says of a session.

    Attributes:
        session: its gates.
        findings: what is wrong with them.
        policy_file: the path of the file that holds the policy rules, or "".

    """

    session: ZephSession
    findings: tuple[Finding, ...] = ()
    policy_file: str = ""


def read_session(root: Fields, opened: Open) -> ReadSession:
    """Return what the sections say. A value of another type is among the errors of *root*.

    Args:
        root: the configuration.
        opened: returns the file at a path from the folder of the project.

    """
    tools, security = root.below("tools"), root.below("security")
    if tools.node is None and security.node is None:
        return ReadSession(ZephSession())
    shell = tools.below("shell")
    autonomy = security.choice("autonomy_level", Autonomy.SUPERVISED)
    policy = attrs.evolve(_permissions(tools, shell), autonomy=autonomy)
    session = ZephSession(policy, blocked=tuple(_blocked(shell)))
    section = tools.below("policy")
    enabled = section.truth("enabled")
    rules, default = rules_at(section)
    name = section.text("policy_file", "")
    if not enabled:
        return ReadSession(session, (_switched_off(section),) if rules or name else ())
    file = ""
    try:
        if name:
            source = opened(name)
            file = source.name
            rules = read_rules(source)
        enforcer = _enforcer(rules, default)
    except PolicyError as error:
        span = section.spans.get("tools.policy.policy_file")
        placed = error if error.span else PolicyError(error.message, span, help=error.help)
        findings = Finding.of(placed, "unreadable-config", consequence=_ALL_DENIED)
        return ReadSession(attrs.evolve(session, rules=NOTHING), findings, file)
    return ReadSession(attrs.evolve(session, rules=enforcer), policy_file=file)


# The rules that hold where the written ones cannot be read: they may have denied any call.
NOTHING: Final = PolicyEnforcer.of(())
_ALL_DENIED: Final = "every call is denied here, since the policy rules cannot be read"


def _switched_off(section: Fields) -> Finding:
    return Finding(
        "policy-switched-off",
        "`enabled` is not `true` in `[tools.policy]`, so none of its rules is in force",
        Severity.WARNING,
        section.spans.get("tools.policy.enabled") or section.spans.get("tools.policy"),
        help="write `enabled = true`, or take the rules out",
    )


def _enforcer(rules: tuple[PolicyRule, ...], default: Effect) -> PolicyEnforcer:
    """Return the rules, of which those that deny do so in every environment.

    Which variables there are is not known, so a rule that needs one may be in force.
    """
    always = (attrs.evolve(rule, env=()) if rule.effect is Effect.DENY else rule for rule in rules)
    return PolicyEnforcer.of(always, default)


# --- permissions --------------------------------------------------------------------


def _permissions(tools: Fields, shell: Fields) -> SessionPermissions:
    """Return the rules of each tool: ``permissions``, or else those of the shell."""
    blocked, confirmed = shell.texts("blocked_commands"), shell.optional_texts("confirm_patterns")
    if tools.entry("permissions") is None:
        policy = SessionPermissions.from_legacy(
            blocked, CONFIRMED if confirmed is None else confirmed
        )
        found = [shell.spans.get(f"tools.shell.blocked_commands[{i}]") for i in range(len(blocked))]
        found += [
            shell.spans.get(f"tools.shell.confirm_patterns[{i}]")
            for i in range(len(confirmed or ()))
        ]
        return attrs.evolve(policy, spans={"bash": tuple(found)})
    section = tools.below("permissions")
    rules: dict[str, tuple[tuple[str, Effect], ...]] = {}
    spans: dict[str, tuple[Span | None, ...]] = {}
    for entry in section.node.entries if section.node else ():
        items = [
            section.item(node, f"{entry.name}[{index}]")
            for index, node in enumerate(section.sequence(entry.name))
        ]
        for item in items:
            if item.node and item.entry("action") is None:
                item.missing("action")
        rules[entry.name] = tuple(
            (item.text("pattern"), item.choice("action", Effect.ASK, Effect)) for item in items
        )
        spans[entry.name] = tuple(item.node.span if item.node else None for item in items)
    # The shell looks at the rules itself, and asks where there are none for it.
    rules.setdefault("bash", (("*", Effect.ASK),))
    return SessionPermissions(rules=rules, spans=spans)


def _blocked(shell: Fields) -> list[BlockedCommand]:
    """Return the commands that the shell refuses, whatever the rules say."""
    allowed = {text.strip().lower() for text in shell.texts("allowed_commands")}
    written = shell.texts("blocked_commands")
    found = [BlockedCommand(text) for text in BLOCKED if text not in allowed]
    if not shell.truth("allow_network", default=True):
        span = shell.spans.get("tools.shell.allow_network")
        found += [BlockedCommand(text, span) for text in NETWORK]
    found += [
        BlockedCommand(text, shell.spans.get(f"tools.shell.blocked_commands[{index}]"))
        for index, text in enumerate(written)
    ]
    return [each for each in found if each.text.split()]
