"""The checker inside agent runtimes: two shapes, and one thin module a runtime.

    from policy.adapters import Guard

    guard = Guard(policy.load(".").chain("main"))
    guard.check("Bash", {"command": "git push"})  # wrap a call: decide before it runs
    guard.offered(["Bash", "Edit"])               # filter a list: what can never be allowed

Each module needs its library alone, and nothing outside of this package
imports any of them: deciding knows no runtime.
"""

from __future__ import annotations

from policy.adapters.guard import Guard
from policy.adapters.verdict import CallDenied, Verdict

__all__ = ["CallDenied", "Guard", "Verdict"]
