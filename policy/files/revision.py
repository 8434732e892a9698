"""A folder as it was at a revision, read from git without touching the checkout."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs

from policy import limits
from policy.errors import PolicyError
from policy.files import git
from policy.files.tree import Problem, Tree, is_skipped, too_large, too_many

__all__ = ["GitRevision"]


@attrs.frozen
class _Blob:
    """What a path is at a revision."""

    object: str
    size: int


@attrs.frozen
class _Listing:
    """Every path of a revision."""

    blobs: dict[str, _Blob]
    problems: tuple[Problem, ...]


@attrs.define(eq=False)
class GitRevision(Tree):
    """The folder *folder* as it was at *revision*: a commit, tag, branch or tree.

    Raises `PolicyError` where git knows no such revision, or there is no git.
    """

    folder: Path = attrs.field(converter=Path)
    revision: str
    _tree: str | None = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Resolve the revision once, so that it cannot move while it is read."""
        self._tree = git.tree_of(self.folder, self.revision)

    @property
    def label(self) -> str:
        """The revision as given."""
        return self.revision

    def paths(self) -> tuple[str, ...]:
        """Return every path, sorted."""
        return tuple(self._listing.blobs)

    def problems(self) -> tuple[Problem, ...]:
        """Return links that lead out or nowhere, and submodules."""
        return self._listing.problems

    def read(self, path: str, limit: int = limits.FILE_BYTES) -> bytes:
        """Return the bytes at *path*."""
        blob = self._listing.blobs.get(path)
        if blob is None:
            raise self.unread(path)
        if blob.size > limit:
            raise too_large(path, blob.size, limit)
        data = self._objects.read(blob.object)
        if data is None:
            raise PolicyError(
                "the file is not in this clone",
                file=path,
                help="fetch it with git first; nothing is fetched here",
            )
        return data

    @cached_property
    def _listing(self) -> _Listing:
        if self._tree is None:
            return _Listing({}, ())
        found = _Links(self.label)
        raw = git.output(self.folder, "ls-tree", "-r", "-z", "-l", "--full-tree", self._tree)
        for record in raw.split(b"\0")[:-1]:
            found.take(record)
        return found.listing(self._objects.read)

    @cached_property
    def _objects(self) -> git.Objects:
        return git.Objects(self.folder)


# --- what a listing says -------------------------------------------------------

_FILES: Final = frozenset({"100644", "100755", "100664"})
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"


@attrs.define
class _Links:
    """Sorts the records of a listing, and follows links as a checkout would."""

    label: str
    blobs: dict[str, _Blob] = attrs.Factory(dict)
    links: dict[str, _Blob] = attrs.Factory(dict)
    problems: list[Problem] = attrs.Factory(list)

    def take(self, record: bytes) -> None:
        """Add a record: mode, type, object, size, a tab, the path."""
        head, _, raw = record.partition(b"\t")
        mode, _, name, size = head.decode("ascii").split()
        try:
            path = raw.decode("utf-8")
        except UnicodeDecodeError:
            shown = raw.decode("utf-8", "backslashreplace")
            self.problems.append(Problem(shown, "the name is not UTF-8"))
            return
        if is_skipped(f"{path}/"):
            return
        # A clone without all its objects does not know the size of all of them.
        blob = _Blob(name, int(size) if size.isdigit() else 0)
        if mode in _FILES:
            self.blobs[path] = blob
        elif mode == _LINK:
            self.links[path] = blob
        elif mode == _SUBMODULE:
            self.problems.append(Problem(path, "a submodule, which is another repository"))
        else:
            self.problems.append(Problem(path, "neither a file nor a folder"))
        if len(self.blobs) + len(self.links) > limits.TREE_FILES:
            raise too_many(self.label)

    def listing(self, content: Callable[[str], bytes | None]) -> _Listing:
        """Return what a walk finds; *content* answers what is in a link."""
        targets = {path: self._target(path, blob, content) for path, blob in self.links.items()}
        walk = _Walk(self.label, self.blobs, targets)
        walk.run()
        files = {path: walk.files[path] for path in sorted(walk.files)}
        return _Listing(files, tuple(sorted({*self.problems, *walk.problems})))

    def _target(self, path: str, blob: _Blob, content: Callable[[str], bytes | None]) -> str | None:
        data = content(blob.object) if blob.size <= _LINK_BYTES else None
        try:
            return data.decode("utf-8") if data else None
        except UnicodeDecodeError:
            self.problems.append(Problem(path, "a link whose target is not UTF-8"))
            return None


@attrs.define
class _Walk:
    """Walks a revision as `Folder` walks a folder, so that the two can be compared."""

    label: str
    blobs: dict[str, _Blob]
    targets: dict[str, str | None]
    files: dict[str, _Blob] = attrs.Factory(dict)
    problems: list[Problem] = attrs.Factory(list)

    def run(self) -> None:
        """Fill in the files and problems."""
        children = self._children()
        # A folder as reached, where it really is, and the folders around it.
        waiting: list[tuple[str, str, frozenset[str]]] = [("", "", frozenset())]
        seen = 0
        while waiting:
            prefix, folder, around = waiting.pop()
            inside = around | {folder}
            for name in children.get(folder, ()):
                seen += 1
                if seen > limits.TREE_FILES:
                    raise too_many(self.label)
                path, real = prefix + name, f"{folder}/{name}" if folder else name
                if real in self.targets:
                    found = self._follow(path, real, inside, children)
                    if found is None:
                        continue
                    real = found
                if real in self.blobs:
                    self.files[path] = self.blobs[real]
                else:
                    waiting.append((f"{path}/", real, inside))

    def _children(self) -> dict[str, set[str]]:
        children: dict[str, set[str]] = {"": set()}
        for file in (*self.blobs, *self.targets):
            path = file
            while path:
                folder, _, name = path.rpartition("/")
                names = children.setdefault(folder, set())
                if name in names:
                    break
                names.add(name)
                path = folder
        return children

    def _follow(
        self, path: str, real: str, inside: frozenset[str], children: dict[str, set[str]]
    ) -> str | None:
        """Return where a link leads; None, and a problem, where it must not be followed."""
        found = self._real(real)
        if found is None:
            self.problems.append(Problem(path, "a link that leads out of the folder"))
        elif found in inside:
            self.problems.append(Problem(path, "a link to a folder it stands in"))
        elif is_skipped(f"{found}/"):
            self.problems.append(Problem(path, "a link into a folder that is not looked into"))
        elif found not in self.blobs and found not in children:
            self.problems.append(Problem(path, "a link to nothing"))
        else:
            return found
        return None

    def _real(self, path: str) -> str | None:
        """Return *path* with every link in it followed; None where that leads out."""
        waiting, real, hops = path.split("/")[::-1], list[str](), 0
        while waiting:
            part = waiting.pop()
            if part == ".." and not real:
                return None
            if part == "..":
                real.pop()
            elif part not in ("", "."):
                real.append(part)
            target = self.targets.get("/".join(real), "")
            if target is None or hops == limits.LINKS:
                return _NOWHERE
            if target.startswith("/"):
                return None
            if target:
                hops += 1
                real.pop()
                waiting += target.split("/")[::-1]
        return "/".join(real)


_LINK_BYTES: Final = 4096
_NOWHERE: Final = "\0"
