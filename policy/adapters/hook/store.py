"""Stores compiled policies on disk, by the digest of their sources.

The store only saves time. Every entry is signed: a keyed hash covers its name, which is a digest
of its sources, and its content. So an entry counts only for these sources, and only if its writer
could read the key, which lies in another folder. A program that reads and writes all files
of this user can also rewrite the policies and this package; nothing here helps against that.
"""

from __future__ import annotations

import os
import stat
from _blake2 import blake2b  # imports faster than `hashlib`, and so does the next one
from _operator import _compare_digest as is_equal

import policy
from policy.core import limits
from policy.core.values import TYPE_CHECKING, Final, define

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PACKAGE: Final = os.path.dirname(os.path.abspath(policy.__file__))  # noqa: PTH100, PTH120
_KEY_BYTES: Final = 32
_MAC_BYTES: Final = 32


def digest_of(texts: Iterable[bytes]) -> str:
    """Return a digest of a list of texts, 64 letters long."""
    found = blake2b(digest_size=32)
    for text in texts:
        found.update(len(text).to_bytes(8, "big"))
        found.update(text)
    return found.hexdigest()


def package_digest() -> str:
    """Return a digest of the files of this package, by their sizes and times."""
    found = []
    waiting = [_PACKAGE]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".json")):
                    status = entry.stat()
                    found.append((entry.path, status.st_size, status.st_mtime_ns))
                elif entry.name != "__pycache__" and entry.is_dir():
                    waiting.append(entry.path)
    found.sort()
    return blake2b(repr((policy.__version__, found)).encode(), digest_size=16).hexdigest()


@define
class Store:
    """A folder of signed entries. Every failure is a missing entry."""

    folder: str
    key: bytes  # of the keyed hashes
    most: int = 64  # entries that stay
    room: int = 128 * 1024 * 1024  # bytes that all entries may take

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Store | None:
        """Return the store in the folders of *environment*; None if there can be none."""
        home = environment.get("HOME") or ""
        folders = []
        for variable, usual in (("XDG_CACHE_HOME", ".cache"), ("XDG_CONFIG_HOME", ".config")):
            base = environment.get(variable) or (home and f"{home}/{usual}")
            if not base.startswith("/"):
                return None
            folders.append(f"{base}/agent-policy")
        try:
            key = _key(folders[1])
            return cls(_private(folders[0]), key)
        except OSError:
            return None

    def get(self, name: str) -> bytes | None:
        """Return the content of the entry *name*; None if it is missing or its hash is wrong."""
        try:
            data = read_own_file(f"{self.folder}/{name}", limits.COMPILED_BYTES + _MAC_BYTES)
        except OSError:
            return None
        mac, content = data[:_MAC_BYTES], data[_MAC_BYTES:]
        return content if is_equal(mac, self._mac(name, content)) else None

    def put(self, name: str, content: bytes) -> None:
        """Write the entry *name*, and delete the oldest entries beyond the limits."""
        try:
            _write(self.folder, name, self._mac(name, content) + content)
            self._shrink()
        except OSError:
            return

    def _mac(self, name: str, content: bytes) -> bytes:
        found = blake2b(name.encode() + b"\0", key=self.key, digest_size=_MAC_BYTES)
        found.update(content)
        return found.digest()

    def _shrink(self) -> None:
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


def read_own_file(path: str, most: int, *, private: bool = True) -> bytes:
    """Return the bytes of a regular file of this user; a link is not followed.

    Raises OSError for another file, more than *most* bytes, or others' access to a *private* one.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_own(status, 0o077 if private else 0):
            raise OSError
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise OSError
    return data


def _key(folder: str) -> bytes:
    """Return the key of this user, made if there is none."""
    name = f"{_private(folder)}/cache.key"
    try:
        key = read_own_file(name, _KEY_BYTES)
    except FileNotFoundError:
        # Two processes may make one at once: both use the one that is linked first.
        handle, made = _temporary(folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(os.urandom(_KEY_BYTES))
            try:  # noqa: SIM105  # importing `contextlib` takes too long
                os.link(made, name)
            except FileExistsError:
                pass
        finally:
            os.unlink(made)  # noqa: PTH108
        key = read_own_file(name, _KEY_BYTES)
    if len(key) != _KEY_BYTES:
        raise OSError
    return key


def _private(folder: str) -> str:
    """Return *folder*, made if missing. Raises OSError if other users have access."""
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or not _is_own(status, 0o077):
        raise OSError
    return folder


def _is_own(status: os.stat_result, others: int) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & others


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
    """Return the handle and the name of a new file in *folder* with mode 0600."""
    from tempfile import mkstemp  # noqa: PLC0415  # only for writing

    return mkstemp(dir=folder)
