"""The checker inside agent runtimes: two shapes, and one thin module a runtime.

    from policy.adapters import Guard

    guard = Guard(policy.load(".").chain("main"))
    guard.check("Bash", {"command": "git push"})  # wrap a call: decide before it runs
    guard.offered(["Bash", "Edit"])               # filter a list: what can never be allowed

Each module needs its library alone, and nothing outside of this package
imports any of them: deciding knows no runtime.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from policy.adapters.guard import CallDenied as CallDenied
    from policy.adapters.guard import Guard as Guard
    from policy.adapters.guard import Verdict as Verdict

__all__ = ["CallDenied", "Guard", "Verdict"]  # loaded when they are first used


def __getattr__(name: str) -> object:
    """Return a public name; `policy.adapters.hook` must start without any of them."""
    if name not in __all__:
        msg = f"module 'policy.adapters' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415  # what a hook does not need

    return getattr(import_module("policy.adapters.guard"), name)
