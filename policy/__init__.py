"""Compiles the tool policies of AI agents into decision tables.

    import policy

    workspace = policy.load(".")
    chain = workspace.chain("main", "explore")
    decision = chain.decide("Bash", {"command": "git push origin main"})
    decision.effect, decision.because, decision.reason

Names are loaded when they are first used, so that deciding from a compiled
table needs neither a parser nor YAML.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from policy.chain import Chain as Chain
    from policy.chain import SpawnDenied as SpawnDenied
    from policy.changes.diff import diff_workspaces as diff_workspaces
    from policy.codec import compiled_from_json as compiled_from_json
    from policy.codec import compiled_to_json as compiled_to_json
    from policy.codec import load_compiled as load_compiled
    from policy.codec import table_from_json as table_from_json
    from policy.codec import table_to_json as table_to_json
    from policy.compiled import Compiled as Compiled
    from policy.conversion.converting import convert as convert
    from policy.decision import Because as Because
    from policy.decision import Clause as Clause
    from policy.decision import Decision as Decision
    from policy.decision import Does as Does
    from policy.decision import Reason as Reason
    from policy.effect import Effect as Effect
    from policy.errors import PolicyError as PolicyError
    from policy.errors import PolicyErrors as PolicyErrors
    from policy.language.parse import parse_matcher as parse_matcher
    from policy.language.parse import parse_notation as parse_notation
    from policy.language.printer import print_document as print_document
    from policy.patterns.pattern import Pattern as Pattern
    from policy.reach.audit import audit as audit
    from policy.table import NOTHING as NOTHING
    from policy.table import UNRESTRICTED as UNRESTRICTED
    from policy.table import Table as Table
    from policy.workspace import Workspace as Workspace
    from policy.workspace import load as load

__version__ = "0.1.0"

_HOMES = {
    "Because": "policy.decision",
    "Chain": "policy.chain",
    "Clause": "policy.decision",
    "Compiled": "policy.compiled",
    "Decision": "policy.decision",
    "Does": "policy.decision",
    "Effect": "policy.effect",
    "NOTHING": "policy.table",
    "Pattern": "policy.patterns.pattern",
    "PolicyError": "policy.errors",
    "PolicyErrors": "policy.errors",
    "Reason": "policy.decision",
    "SpawnDenied": "policy.chain",
    "Table": "policy.table",
    "UNRESTRICTED": "policy.table",
    "Workspace": "policy.workspace",
    "audit": "policy.reach.audit",
    "compiled_from_json": "policy.codec",
    "compiled_to_json": "policy.codec",
    "convert": "policy.conversion.converting",
    "diff_workspaces": "policy.changes.diff",
    "load": "policy.workspace",
    "load_compiled": "policy.codec",
    "parse_matcher": "policy.language.parse",
    "parse_notation": "policy.language.parse",
    "print_document": "policy.language.printer",
    "table_from_json": "policy.codec",
    "table_to_json": "policy.codec",
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
