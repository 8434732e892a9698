"""The files that a verb reads: trees and revisions, and the two sides of a diff."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from policy.cli.options import AS_OBSERVED, Hosts
from policy.core.decision import Because, rule_span
from policy.core.errors import PolicyError
from policy.core.source import Source, Span, visible
from policy.core.values import evolve, field, frozen
from policy.files.opening import near_name, open_tree, start_place
from policy.files.trees import Folder, Tree
from policy.hosts.front_ends import FRONT_ENDS
from policy.hosts.project import FrontEnd
from policy.hosts.workspace import Workspace, load_tree


@frozen(slots=False)
class InputTree:
    """A tree, the policies in it, and the front ends that read them."""

    tree: Tree
    workspace: Workspace
    front_ends: tuple[FrontEnd, ...] = FRONT_ENDS
    _sources: dict[str, Source | None] = field(factory=dict, init=False, repr=False)

    def source(self, file: str) -> Source | None:
        """Return the text of a file of the tree; None where it cannot be read."""
        if file not in self._sources:
            try:
                self._sources[file] = self.tree.source(file)
            except PolicyError:
                self._sources[file] = None
        return self._sources[file]

    def spans(self, because: Iterable[Because]) -> dict[Because, Span]:
        """Return the places of rules whose file can still be read."""
        found = {}
        for one in because:
            source = self.source(one.place.file) if one.place else None
            span = rule_span(one, source) if source else None
            if span is not None:
                found[one] = span
        return found


def load(
    text: str,
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
    *,
    empty: bool = False,
) -> InputTree:
    """Return the files that *text* names: a folder, a file or a revision.

    Where *hosts* say in which folder a session is started, those of its checkout. *root* is the
    folder of the project, if it is not that of the files.

    Raises:
        PolicyError: *text* names none of these, a profile is unknown, or no file is read and
            that is not called *empty*.

    """
    place = hosts.place
    if place is None:
        return read(open_tree(text), hosts, root, empty=empty)
    found = read(Folder(place.top), hosts, root, empty=empty)
    there = tuple(each for each in found.workspace.projects if each.root == place.folder)
    return evolve(found, workspace=evolve(found.workspace, projects=there))


def load_here(
    text: str,
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
    *,
    every: bool,
) -> InputTree:
    """Return the files that *text* names, or those of a session started where one stands.

    Such a session also reads files of folders above, and none of folders below. *every* is
    whether all that is found here is asked for, so that a session is only where nothing is.

    Raises:
        PolicyError: as `load` does.

    """
    found = load(text, hosts, root, empty=True)
    here = found.workspace.projects
    alone = len(here) == 1 and not start_place(".").folder
    if not (text != "." or hosts.start or alone or (every and here)):
        started = load(text, evolve(hosts, start="."), root, empty=True)
        sessions = [project for project in started.workspace.projects if project.files]
        if len(sessions) == 1 and {p.host for p in here} <= {p.host for p in sessions}:
            return started
    return with_something(found)


def read(
    tree: Tree,
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
    *,
    empty: bool = False,
) -> InputTree:
    """Return the files of *tree*. Raises PolicyError as `load` does."""
    front_ends = hosts.front_ends
    workspace = load_tree(tree, front_ends=front_ends, root=root)
    found = InputTree(tree, workspace, front_ends)
    return found if empty else with_something(found)


def with_something(found: InputTree) -> InputTree:
    """Return *found*. Raises PolicyError where no file of it is read."""
    workspace = found.workspace
    if workspace.projects or workspace.findings:
        return found
    near = [path for path in found.tree.paths() if near_name(path)]
    unread = ", ".join((near or [file.path for file in workspace.unread])[:3])
    raise PolicyError(
        "no file here says what an agent may do",
        file=workspace.label,
        help="name the folder that holds `*.policy`, or the settings or agents of a host"
        + (f"; not read: {unread}" if unread else ""),
    )


def sides(old: str, new: str | None) -> tuple[str, str]:
    """Return the two paths or revisions that ``policy diff`` compares.

    Raises:
        PolicyError: there is only one, or no common ancestor.

    """
    if new is not None:
        return old, new
    if _exists(old):
        msg = f"expected something to compare `{visible(old)}` with"
        raise PolicyError(
            msg,
            help=f"write `policy diff {visible(old)} NEW`; a revision of that name is"
            f" `refs/heads/{visible(old)}`",
        )
    if "..." in old:
        first, _, second = old.partition("...")
        return _ancestor(first or "HEAD", second or "HEAD"), second or "HEAD"
    if ".." in old:
        first, _, second = old.partition("..")
        return first or "HEAD", second or "HEAD"
    return old, "."


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        return False


def _ancestor(one: str, other: str) -> str:
    for revision in (one, other):
        if revision.startswith("-"):
            raise PolicyError(f"`{visible(revision)}` is not the name of a revision")
    from policy.files import revisions as git  # noqa: PLC0415  # starts processes

    found = git.output(Path(), "merge-base", one, other, none=True)
    if not found:
        raise PolicyError(
            f"git knows no common ancestor of `{visible(one)}` and `{visible(other)}`"
        )
    return found.decode("ascii").strip()
