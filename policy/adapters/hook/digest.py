"""Hashes of what a hook reads, by what `hashlib` has of them and imports faster."""

from __future__ import annotations

from _blake2 import blake2b
from _operator import _compare_digest as is_equal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["blake2b", "digest_of", "is_equal"]


def digest_of(texts: Iterable[bytes], key: bytes = b"") -> str:
    """Return a digest of *texts*, each by itself, 64 letters long."""
    found = blake2b(digest_size=32, key=key)
    for text in texts:
        found.update(len(text).to_bytes(8, "big"))
        found.update(text)
    return found.hexdigest()
