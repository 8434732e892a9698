"""Compiles the tool policies of AI agents into decision tables.

    >>> import policy
    >>> chain = policy.load("fixtures/team").chain("main", "reviewer")
    >>> decision = chain.decide("Bash", {"command": "git push origin main"})
    >>> decision.effect, decision.reason, decision.because[0].rule
    (<Effect.ASK: 'ask'>, <Reason.RULE: 'rule'>, 'Bash(git push *)')
    >>> str(decision)
    'ask: ask Bash(git push *) (main at team.policy:6:29)'

Names are loaded when they are first used, so that deciding from a compiled
table needs neither a parser nor YAML.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from policy.analysis.conversion.converting import convert as convert
    from policy.analysis.diff import diff_workspaces as diff_workspaces
    from policy.analysis.reach.audit import audit as audit
    from policy.core.decision import Because as Because
    from policy.core.decision import Clause as Clause
    from policy.core.decision import Decision as Decision
    from policy.core.decision import Does as Does
    from policy.core.decision import Reason as Reason
    from policy.core.effect import Effect as Effect
    from policy.core.errors import PolicyError as PolicyError
    from policy.core.errors import PolicyErrors as PolicyErrors
    from policy.core.source import Source as Source
    from policy.hosts.workspace import Workspace as Workspace
    from policy.hosts.workspace import load as load
    from policy.language.parse import parse_matcher as parse_matcher
    from policy.language.parse import parse_notation as parse_notation
    from policy.language.printer import print_document as print_document
    from policy.patterns.pattern import Pattern as Pattern
    from policy.tables.chain import Chain as Chain
    from policy.tables.chain import SpawnDenied as SpawnDenied
    from policy.tables.codec import table_from_json as table_from_json
    from policy.tables.codec import table_to_json as table_to_json
    from policy.tables.compiled import compiled_from_json as compiled_from_json
    from policy.tables.compiled import compiled_to_json as compiled_to_json
    from policy.tables.compiled import load_compiled as load_compiled
    from policy.tables.projects import Compiled as Compiled
    from policy.tables.table import NOTHING as NOTHING
    from policy.tables.table import UNRESTRICTED as UNRESTRICTED
    from policy.tables.table import Table as Table

__version__ = "0.1.0"

_HOMES = {
    "Because": "policy.core.decision",
    "Chain": "policy.tables.chain",
    "Clause": "policy.core.decision",
    "Compiled": "policy.tables.projects",
    "Decision": "policy.core.decision",
    "Does": "policy.core.decision",
    "Effect": "policy.core.effect",
    "NOTHING": "policy.tables.table",
    "Pattern": "policy.patterns.pattern",
    "PolicyError": "policy.core.errors",
    "PolicyErrors": "policy.core.errors",
    "Reason": "policy.core.decision",
    "Source": "policy.core.source",
    "SpawnDenied": "policy.tables.chain",
    "Table": "policy.tables.table",
    "UNRESTRICTED": "policy.tables.table",
    "Workspace": "policy.hosts.workspace",
    "audit": "policy.analysis.reach.audit",
    "compiled_from_json": "policy.tables.compiled",
    "compiled_to_json": "policy.tables.compiled",
    "convert": "policy.analysis.conversion.converting",
    "diff_workspaces": "policy.analysis.diff",
    "load": "policy.hosts.workspace",
    "load_compiled": "policy.tables.compiled",
    "parse_matcher": "policy.language.parse",
    "parse_notation": "policy.language.parse",
    "print_document": "policy.language.printer",
    "table_from_json": "policy.tables.codec",
    "table_to_json": "policy.tables.codec",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604  # the names, in the one table that has them


def __getattr__(name: str) -> object:
    """Return a public name from the module that defines it."""
    home = _HOMES.get(name)
    if home is None:
        msg = f"module 'policy' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415  # what a hook does not need

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
