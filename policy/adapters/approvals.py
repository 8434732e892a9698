"""Approvals that come back through a program that keeps no state: bound to one call.

A seal is made for a question about a call, travels to whoever asks the person,
and comes back with the call. It is of no use for any other call, and of none
for another process.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping

__all__ = ["Seals"]


class Seals:
    """Makes and knows the seals of one process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Return the seal of a call. Raises TypeError or ValueError for what is no JSON."""
        call = json.dumps([tool, arguments], sort_keys=True, allow_nan=False)
        return "policy:" + hmac.new(self._key, call.encode(), hashlib.sha256).hexdigest()

    def knows(self, seal: object, tool: str, arguments: Mapping[str, object]) -> bool:
        """Return whether *seal* was made for this call, by this process."""
        return isinstance(seal, str) and hmac.compare_digest(
            seal.encode("utf-8", "replace"), self.seal(tool, arguments).encode()
        )
