"""What Pikuri itself does, and the product does not decide: a reference for tests.

A write is confirmed if it replaces a file by other content. The product does not know the files.
"""

from __future__ import annotations

from policy.core.effect import Effect
from policy.hosts.pikuri.host import Confirmer, Host, Tool, configure, declared_reading


def confirmation(
    confirmer: Confirmer, tool: str, *, exists: bool = False, identical: bool = False
) -> Effect:
    """Return the effect of a call of *tool* that the workspace allows."""
    if tool == "write" and (identical or not exists):
        return Effect.ALLOW
    host = Host("host", (Tool(tool),), confirmer=confirmer)
    table = declared_reading(host, configure(host)).tables["host"]
    return table.decide(tool, {"path": "x", "command": "x"}).effect
