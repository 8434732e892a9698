"""What remains of a table: which tools and agents are worth offering, and what to tell a model.

A tool is left out where no call of it can ever be anything but denied. That is
one comparison with the table that denies everything, so it holds for a chain
whose links each grant something and together nothing. Where the comparison is
not decided the tool is offered: leaving out is for the model's sake, and the
call itself is decided when it is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from policy.chain import Chain, SpawnDenied
from policy.comparison.compare import Comparison, compare
from policy.comparison.witness import witness_call
from policy.effect import Effect
from policy.patterns.pattern import freeze
from policy.source import visible
from policy.table import NOTHING, Table

__all__ = ["always_granted", "granting_rules", "may_call", "may_start", "named_tools", "quoted"]

# Rules of one tool that are compared for the sake of a message.
_RULES_LOOKED_AT = 512
_TOOLS_LOOKED_AT = 512
_SHOWN = 8
# Calls that are made before any is searched for.
_CALLS_TRIED = 16
_LONGEST_RULE = 200


def always_granted(table: Table, tool: str) -> bool:
    """Return whether every call of *tool* is allowed, whatever its arguments are."""
    constant = table.lookup(tool).constant
    return constant is not None and constant.effect is Effect.ALLOW


def may_call(table: Table, tool: str) -> bool:
    """Return whether some call of *tool* is not denied; True where that is not decided."""
    if _is_shown(table, tool):
        return True
    granted = _granted(table, tool)
    return bool(granted.differences) or not granted.exact


def may_start(chain: Chain, agent: str) -> bool:
    """Return whether the last agent of *chain* may start *agent*, asked for or not."""
    try:
        chain.spawn(agent)
    except SpawnDenied:
        return False
    return True


def granting_rules(table: Table, tool: str) -> dict[Effect, list[str]]:
    """Return the rules by which calls of *tool* are allowed or asked for, by effect.

    Each really decides some call of the whole chain. Empty where there are too
    many rules to look at.
    """
    lookup = table.lookup(tool)
    if sum(len(row.entries) for row, _ in lookup.rows) > _RULES_LOOKED_AT:
        return {}
    found: dict[Effect, dict[str, None]] = {}
    for difference in _granted(table, tool).differences:
        decision = difference.before
        rules = dict.fromkeys(because.rule for because in decision.because)
        found.setdefault(decision.effect, {}).update(rules or {tool: None})
    return {effect: list(rules) for effect, rules in found.items()}


def named_tools(table: Table) -> list[str]:
    """Return the tools that rules of *table* name and of which some call is not denied.

    Empty where there are too many to look at: nobody waits for a list of thousands.
    """
    names = {name: None for part in table.use.parts for name in sorted(part.rules.names)}
    if len(names) > _TOOLS_LOOKED_AT:
        return []
    return [name for name in names if may_call(table, name)]


def quoted(texts: Iterable[str]) -> str:
    """Return rules or names as a message shows them: escaped, and not too many."""
    shown = [f"`{visible(text)[:_LONGEST_RULE]}`" for text in texts]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _is_shown(table: Table, tool: str) -> bool:
    """Return whether a call that one of the first rules is about is not denied.

    Where none is, others may be: a search finds them, and takes far longer.
    """
    lookup = table.lookup(tool)
    granting = (
        witness_call(row.ruleset.dialect, row.argument, freeze(entry.pattern, "x"))
        for row, _ in lookup.rows
        for entry in row.entries
        if entry.effect is not Effect.DENY and entry.pattern is not None and not entry.field
    )
    calls = islice(granting, _CALLS_TRIED)
    return any(lookup.decide_anew(call).effect is not Effect.DENY for call in calls)


def _granted(table: Table, tool: str) -> Comparison:
    return compare(tool, table.lookup(tool), NOTHING.lookup(tool))
