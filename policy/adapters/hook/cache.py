"""Compiled policies, kept by the content of the files that they come from.

What is kept only saves time. Every entry carries a keyed hash over the digest of the
sources and its text, so that it is taken for those sources alone, and from nobody who
cannot read the key, which lies in another folder. Who can read and write all files of this
user can also rewrite the policies, and this program: against that nothing here helps.
"""

from __future__ import annotations

import os
import stat

from policy.adapters.hook.digest import blake2b, is_equal
from policy.core import limits

TYPE_CHECKING = False  # `typing` takes longer to import than a hook has
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

__all__ = ["Cache"]

_KEPT: Final = 64
_ROOM: Final = 128 * 1024 * 1024
_KEY_BYTES: Final = 32
_MAC_BYTES: Final = 32


class Cache:
    """A folder of what was compiled; whatever fails, nothing was kept.

    Attributes:
        folder: where it is.
        key: what the hashes are keyed with.
        most: entries that are kept.
        room: bytes that all of them may take.

    """

    __slots__ = ("folder", "key", "most", "room")

    def __init__(self, folder: str, key: bytes, most: int = _KEPT, room: int = _ROOM) -> None:
        self.folder = folder
        self.key = key
        self.most = most
        self.room = room

    @classmethod
    def of(cls, environment: Mapping[str, str], below: str = "", most: int = _KEPT) -> Cache | None:
        """Return the cache of this user; None where there can be none.

        Args:
            environment: where the folders of the user are.
            below: the folder in that of the cache, if any.
            most: entries that are kept.

        """
        home = environment.get("HOME") or ""
        folders = []
        for variable, usual in (("XDG_CACHE_HOME", ".cache"), ("XDG_CONFIG_HOME", ".config")):
            base = environment.get(variable) or (home and f"{home}/{usual}")
            if not base.startswith("/"):
                return None
            folders.append(f"{base}/agent-policy")
        try:
            key = _key(folders[1])
            folder = _private(folders[0])
            return cls(_private(f"{folder}/{below}") if below else folder, key, most)
        except OSError:
            return None

    def get(self, digest: str) -> bytes | None:
        """Return what was compiled from the sources of *digest*, if that is kept."""
        try:
            data = _read(f"{self.folder}/{digest}")
        except OSError:
            return None
        mac, text = data[:_MAC_BYTES], data[_MAC_BYTES:]
        return text if is_equal(mac, self._mac(digest, text)) else None

    def put(self, digest: str, text: bytes) -> None:
        """Keep what was compiled from the sources of *digest*."""
        try:
            _write(self.folder, digest, self._mac(digest, text) + text)
            self._forget()
        except OSError:
            return

    def _mac(self, digest: str, text: bytes) -> bytes:
        found = blake2b(digest.encode() + b"\0", key=self.key, digest_size=_MAC_BYTES)
        found.update(text)
        return found.digest()

    def _forget(self) -> None:
        with os.scandir(self.folder) as entries:
            found = [
                (entry.stat(follow_symlinks=False), entry.path)
                for entry in entries
                if not entry.is_dir(follow_symlinks=False)
            ]
        found.sort(key=lambda each: each[0].st_mtime_ns, reverse=True)
        size = 0
        for number, (status, path) in enumerate(found):
            size += status.st_size
            if number >= self.most or (number and size > self.room):
                os.unlink(path)  # noqa: PTH108


def _key(folder: str) -> bytes:
    """Return the key of this user, which is made where there is none."""
    name = f"{_private(folder)}/cache.key"
    try:
        key = _read(name)
    except FileNotFoundError:
        # Two may make one at once: that which is in its place first is taken by both.
        handle, made = _temporary(folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(os.urandom(_KEY_BYTES))
            try:  # noqa: SIM105  # no time to import `contextlib`
                os.link(made, name)
            except FileExistsError:
                pass
        finally:
            os.unlink(made)  # noqa: PTH108
        key = _read(name)
    if len(key) != _KEY_BYTES:
        raise OSError
    return key


def _private(folder: str) -> str:
    """Return *folder*, made if need be; raise OSError unless it is this user's alone."""
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or not _own(status, 0o077):
        raise OSError
    return folder


def _own(status: os.stat_result, others: int) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & others


def _read(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _own(status, 0o077):
            raise OSError
        data = stream.read(limits.COMPILED_BYTES + _MAC_BYTES + 1)
    if len(data) > limits.COMPILED_BYTES + _MAC_BYTES:
        raise OSError
    return data


def _write(folder: str, name: str, data: bytes) -> None:
    handle, made = _temporary(folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(made, f"{folder}/{name}")  # noqa: PTH105
    except BaseException:
        os.unlink(made)  # noqa: PTH108
        raise


def _temporary(folder: str) -> tuple[int, str]:
    """Return a new file in *folder* that is this user's alone, and its name."""
    from tempfile import mkstemp  # noqa: PLC0415  # needed where something is written

    return mkstemp(dir=folder)  # with mode 0600
