"""The checker inside agent runtimes: one thin module a runtime.

    from policy.adapters import Guard

    guard = Guard(policy.load(".").chain("main"))
    guard.check("Bash", {"command": "git push"})  # wrap a call: decide before it runs
    guard.offered(["Bash", "Edit"])               # filter a list: drop what is never allowed

Each module needs only the library of its runtime, and no other package imports these modules.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` takes too long for a hook
if TYPE_CHECKING:
    from policy.adapters.guard import CallDenied as CallDenied
    from policy.adapters.guard import Guard as Guard
    from policy.adapters.guard import Verdict as Verdict

__all__ = ["CallDenied", "Guard", "Verdict"]  # loaded on first use


def __getattr__(name: str) -> object:
    """Return a public name; `policy.adapters.hook` must start without any of them."""
    if name not in __all__:
        msg = f"module 'policy.adapters' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415  # what a hook does not need

    return getattr(import_module("policy.adapters.guard"), name)
