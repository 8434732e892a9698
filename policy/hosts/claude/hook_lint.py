"""What is wrong with hooks: those that never run, and those that see less than they seem to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.hosts.claude.conditions import Condition, of_conditions, why_never
from policy.hosts.claude.data import hooks as known
from policy.hosts.claude.data.tools import FILE_TOOLS
from policy.hosts.claude.dialect import dialect
from policy.hosts.claude.hooks import Hook, takes
from policy.hosts.claude.lines import Scope
from policy.hosts.claude.paths import Anchors
from policy.hosts.claude.rules import read_rule
from policy.hosts.claude.session import SCOPES, Session
from policy.hosts.claude.settings import Settings
from policy.ruleset import RuleSet
from policy.table import Table

__all__ = ["hook_findings", "switch_findings"]

_EDITING: Final = FILE_TOOLS["Edit"]


def hook_findings(hooks: Iterable[Hook], session: Session) -> Iterator[Finding]:
    """Yield what is wrong with the hooks of one file."""
    guards: dict[str, list[Hook]] = {}
    wrapped: list[Finding] = []
    for hook in hooks:
        why = why_never(hook)
        if why:
            in_condition = bool(hook.condition) and hook.event in known.EVENTS
            span = hook.span if in_condition and "the matcher `" not in why else hook.place
            yield Finding("hook-never-fires", f"the hook never runs: {why}", Severity.ERROR, span)
        elif hook.event == "PreToolUse" and hook.waits:
            guards.setdefault(hook.runs, []).append(hook)
            wrapped += _wrapped(hook, session)
    # Conditions are written one beside the other: what is true of all is told of the first.
    yield from wrapped[:1]
    for same in guards.values():
        yield from _missing(same)


def _missing(hooks: list[Hook]) -> Iterator[Finding]:
    """Yield that what guards some of the tools that edit files does not guard the others."""
    seen = [tool for tool in _EDITING if any(takes(h.matcher, tool) is not False for h in hooks)]
    missing = [tool for tool in _EDITING if tool not in seen]
    if seen and missing:
        yield Finding(
            "hook-misses-tools",
            f"the hook sees {' and '.join(seen)}, and not {' or '.join(missing)}, which"
            " edit files as well",
            Severity.NOTE,
            hooks[0].place,
            help=f"write `{'|'.join(_EDITING)}`",
        )


def _wrapped(hook: Hook, session: Session) -> Iterator[Finding]:
    """Yield a command that the condition of a hook misses, and a rule of the same text stops."""
    if not hook.condition:
        return
    condition = Condition(hook.condition, hook.span)
    if condition.tool != "Bash" or not condition.content:
        return
    anchors = Anchors(session.cwd, session.home, session.cwd)
    reading = dialect(session, "default")
    rule = read_rule(hook.condition, hook.span, Effect.DENY, Scope(anchors))
    entries = tuple(line.entry for line in rule.lines)
    table = Table.of(RuleSet(entries, Effect.ALLOW, reading))
    for entry in entries:
        text = entry.pattern.witness() if entry.pattern is not None else None
        call: dict[str, object] = {"command": f"timeout 5 {text}"}
        if text is None or table.decide("Bash", call).effect is not Effect.DENY:
            continue
        if not condition.sees("Bash", call, of_conditions(reading), anchors):
            yield Finding(
                "hook-sees-less",
                f"the hook does not see `{call['command']}`, which a rule of `deny` with the"
                " same text stops",
                Severity.NOTE,
                hook.span,
                help="leave `if` out and look at the command in the hook, or deny it by a rule",
            )
            return


def switch_findings(files: Iterable[Settings]) -> Iterator[Finding]:
    """Yield that settings which are no administrator's switch hooks off."""
    for settings in sorted(files, key=lambda each: SCOPES.index(each.scope)):
        if settings.hooks_off is None:
            continue
        off, span = settings.hooks_off
        if off and settings.scope != "managed":
            yield Finding(
                "hooks-disabled",
                "no hook runs but those of an administrator: neither those of the project nor"
                " those of the user",
                Severity.WARNING,
                span,
            )
        return  # the strongest that says so counts
