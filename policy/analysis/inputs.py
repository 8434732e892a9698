"""The policy that is asked: files and revisions that are read, or a compiled policy.

A compiled policy needs no parser, so what reads files is imported where it reads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from policy.core.decision import Because
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span, quoted
from policy.core.values import evolve, frozen
from policy.tables.projects import Projects

if TYPE_CHECKING:
    from argparse import Namespace

    from policy.files.opening import StartPlace
    from policy.files.trees import Tree
    from policy.hosts.project import FrontEnd
    from policy.hosts.workspace import Workspace


@frozen
class Hosts:
    """The options of ``--user``, ``--managed`` and ``--from``: how files of hosts are read."""

    user: str = ""  # the folder of a user, "" for none
    managed: str = ""  # the folder of an administrator, "" for none
    start: str = ""  # the folder that a session is started in, "" for every one

    @classmethod
    def of(cls, options: Namespace) -> Hosts:
        """Return the values of these three options in *options*."""
        return cls(options.user, options.managed, getattr(options, "start", ""))

    @property
    def place(self) -> StartPlace | None:
        """The folder where a session is started. Raises PolicyError for a missing folder."""
        from policy.files.opening import start_place  # noqa: PLC0415  # compiled policies need none

        return start_place(self.start) if self.start else None

    @property
    def front_ends(self) -> tuple[FrontEnd, ...]:
        """The front ends that read files. Raises PolicyError for a missing folder."""
        from policy.hosts.front_ends import front_ends  # noqa: PLC0415  # compiled policies need none

        return front_ends(self.user, self.managed, self.place)


# No options: only the files of a project are read.
AS_OBSERVED: Final = Hosts()


@frozen
class InputTree:
    """A tree, the policies in it, and the front ends that read them."""

    tree: Tree
    workspace: Workspace
    front_ends: tuple[FrontEnd, ...]

    @cached_property
    def source(self) -> Callable[[str], Source | None]:
        """Returns the text of a file of the tree, or None where it cannot be read."""
        return cache(self.tree.readable)

    @cached_property
    def guesses(self) -> str:
        """A clause about files in places that no host reads; "" for none, or for a single file."""
        from policy.files.trees import SingleFile  # noqa: PLC0415  # as below

        files = [each for one in self.workspace.projects for each in one.files if each.assumed]
        if isinstance(self.tree, SingleFile) or not files:
            return ""
        return f"read on a guess: {quoted([each.path for each in files], 1)}: {files[0].assumed}"

    @cached_property
    def beside(self) -> tuple[Path, ...]:
        """Files outside this folder that a session started here also reads."""
        from policy.files.opening import start_place  # noqa: PLC0415  # as below
        from policy.files.trees import Folder  # noqa: PLC0415  # as below
        from policy.hosts.front_ends import read_beside  # noqa: PLC0415  # as below

        tree = self.tree
        if not isinstance(tree, Folder) or tree.follows:  # it is a session's already
            return ()
        return read_beside(start_place(tree.path), {p.host for p in self.workspace.projects})

    @property
    def worktrees(self) -> tuple[str, ...]:
        """Linked worktrees in the folder that are copies of no checkout in it."""
        from policy.files.opening import start_place  # noqa: PLC0415  # as below
        from policy.files.trees import Folder  # noqa: PLC0415  # as below

        tree = self.tree
        if not isinstance(tree, Folder):
            return ()
        mains = {each: start_place(tree.path / each).main for each in tree.worktrees()}
        here = tree.path.resolve()
        return tuple(
            each
            for each, main in mains.items()
            if not (main and main.is_relative_to(here) and (main / ".git").exists())
        )

    @property
    def not_read(self) -> str:
        """A sentence that names the files of `beside` and `worktrees`; "" if there are none."""
        named, copies = quoted([*map(str, self.beside)]), quoted(self.worktrees, 3)
        told = f"not read, and in force for a session there: {named} (`--from`)" if named else ""
        linked = f"not read, as linked worktrees: {copies}" if copies else ""
        return "; ".join(filter(None, (told, linked)))

    def spans(self, because: Iterable[Because]) -> dict[Because, Span]:
        """Return the places of rules whose file can still be read."""
        sources = {one: self.source(one.place.file) for one in because if one.place}
        spans = {one: rule_span(one, source) for one, source in sources.items() if source}
        return {one: span for one, span in spans.items() if span is not None}


def load(
    text: str, hosts: Hosts = AS_OBSERVED, root: str | None = None, *, empty: bool = False
) -> InputTree:
    """Return the files that *text* names: a folder, a file or a revision.

    Where *hosts* say in which folder a session is started, those of its checkout. *root* is the
    folder of the project, if it is not that of the files. Raises PolicyError: *text* names none of
    these, a profile is unknown, or no file is read and that is not called *empty*.
    """
    from policy.files.opening import open_tree  # noqa: PLC0415  # as above

    place = hosts.place
    if place is None:
        return read(open_tree(text), hosts, root, empty=empty)
    found = read(place.tree, hosts, root, empty=empty)
    there = tuple(each for each in found.workspace.projects if each.root == place.folder)
    return evolve(found, workspace=evolve(found.workspace, projects=there))


def load_here(
    text: str,
    hosts: Hosts = AS_OBSERVED,
    root: str | None = None,
    *,
    every: bool,
    empty: bool = False,
) -> InputTree:
    """Return the files that *text* names, or those of a session started where one stands.

    Such a session also reads files of folders above or of the main checkout, and none of folders
    below. *every* is whether all that is found here is asked for, of which a session reads but one
    project. Raises PolicyError as `load` does.
    """
    from policy.files.opening import start_place  # noqa: PLC0415  # as above

    found = load(text, hosts, root, empty=True)
    here = found.workspace.projects
    is_one = len(here) == 1 and not start_place(".").folder
    enough = not found.beside if is_one else every and here
    if text == "." and not (hosts.start or enough):
        started = load(text, evolve(hosts, start="."), root, empty=True)
        sessions = [project for project in started.workspace.projects if project.files]
        if len(sessions) == 1 and {p.host for p in here} <= {p.host for p in sessions}:
            return started
    return found if empty else with_something(found)


def read(
    tree: Tree, hosts: Hosts = AS_OBSERVED, root: str | None = None, *, empty: bool = False
) -> InputTree:
    """Return the files of *tree*. Raises PolicyError as `load` does."""
    from policy.hosts.workspace import load_tree  # noqa: PLC0415  # as above

    front_ends = hosts.front_ends
    workspace = load_tree(tree, front_ends=front_ends, root=root)
    found = InputTree(tree, workspace, front_ends)
    return found if empty else with_something(found)


def load_sides(names: Iterable[str], hosts: Hosts) -> tuple[InputTree, InputTree]:
    """Return the two sides of a comparison.

    One file beside a folder or a revision stands in the place of the file there that has its name,
    or else of the only one of its kind. Of two files of one host, the first is read as if it had
    the name of the second. Raises PolicyError as `load` does, or for no such file.
    """
    from policy.files.opening import Overlay  # noqa: PLC0415  # as above
    from policy.files.trees import SingleFile  # noqa: PLC0415  # as above

    one, other = (load(name, hosts, empty=True) for name in names)
    is_file = [isinstance(side.tree, SingleFile) for side in (one, other)]
    if is_file == [True, False]:
        return _put_into(one, other, hosts), other
    if is_file == [False, True]:
        return one, _put_into(other, one, hosts)
    was, now = ([each.host for each in side.workspace.projects] for side in (one, other))
    if all(is_file) and was == now and len(was) == 1:
        (name,), (place,) = one.tree.paths(), other.tree.paths()
        label = one.tree.label
        tree = Overlay(other.tree, {place: one.tree.read(name)}, label, {place: label})
        return read(tree, hosts, empty=True), other
    return one, other


def _put_into(lone: InputTree, whole: InputTree, hosts: Hosts) -> InputTree:
    """Return the files of *whole* with the *lone* file in place of one of them."""
    from policy.files.opening import Overlay  # noqa: PLC0415  # as above

    (name,) = lone.tree.paths()
    kinds = {(p.host, file.role) for p in lone.workspace.projects for file in p.files}
    there = {f.path: (p.host, f.role) for p in whole.workspace.projects for f in p.files}
    same = [path for path in there if path.rpartition("/")[2] == name]
    found = same or [path for path, kind in there.items() if kind in kinds]
    label, other = lone.tree.label, whole.tree.label
    if len(found) != 1:
        could = f"could replace {quoted(found, 3, last='or')}" if found else "replaces no file"
        help_ = f"name a file instead of `{other}`: two files are compared as they are"
        raise PolicyError(f"`{label}` {could} of `{other}`", help=help_)
    place = "" if found == [name] else f" in the place of {found[0]}"
    tree = Overlay(whole.tree, {found[0]: lone.tree.read(name)}, f"{label}{place}")
    return read(tree, hosts, empty=True)


# The message of verbs if no file is read, though there may be findings.
NOTHING_READ: Final = "no file here says what an agent may do"


def with_something(found: InputTree) -> InputTree:
    """Return *found*. Raises PolicyError if it has no project and no finding."""
    workspace = found.workspace
    if workspace.projects or workspace.findings:
        return found
    from policy.files.opening import near_name, start_place  # noqa: PLC0415  # as above

    names = ((path, near_name(path)) for path in found.tree.paths())
    near = [f"{path} (its name is not `{name}`)" for path, name in names if name]
    unread = ", ".join((near or [file.path for file in workspace.unread])[:3])
    help_ = "name the folder that holds `*.policy`, or the settings or agents of a host"
    if unread:
        help_ += f"; not read: {unread}"
    if found.worktrees:
        help_ += f"; or a linked worktree: {quoted(found.worktrees, 3)}"
    if found.tree.root is not None and start_place(found.tree.root).folder:
        help_ += "; `policy audit --from` shows what a session reads that starts here"
    raise PolicyError(NOTHING_READ, file=workspace.label, help=help_)


@frozen
class DecidingPolicy:
    """A policy to decide calls by: *projects* of a workspace, or compiled ones without *files*."""

    projects: Projects[Any]
    files: InputTree | None = None

    def spans(self, because: Iterable[Because]) -> Mapping[Because, Span]:
        """Return the places of rules whose text is available."""
        return self.files.spans(because) if self.files is not None else {}

    def findings(self, projects: Iterable[Any] | None = None) -> tuple[Finding, ...]:
        """Return the findings of the files, or of *projects* alone; none for a compiled policy."""
        if self.files is None:
            return ()
        workspace = self.files.workspace
        if projects is None:
            return workspace.findings
        return (*workspace.problems, *(each for project in projects for each in project.findings))


def open_policy(text: str, hosts: Hosts = AS_OBSERVED, *, here: bool = False) -> DecidingPolicy:
    """Return the policy that *text* names, compiled or in files; raises PolicyError as `load`.

    With *here*, files are read as `load_here` does.
    """
    found = compiled_at(text, hosts)
    if found is not None:
        return found
    files = load_here(text, hosts, every=True) if here else load(text, hosts)
    return DecidingPolicy(files.workspace, files)


# The beginning of every compiled policy, whatever its version.
_BEGINNING: Final = b'{"compiled":'


def compiled_at(
    text: str, hosts: Hosts = AS_OBSERVED, root: str | None = None
) -> DecidingPolicy | None:
    """Return the compiled policy in the file *text*; None where it is no compiled policy.

    Raises PolicyError where it is invalid, or *hosts* has options.
    """
    try:
        # Without blocking, since a pipe may have no writer.
        with os.fdopen(os.open(text, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            is_compiled = file.read(len(_BEGINNING)) == _BEGINNING
    except (OSError, ValueError):
        is_compiled = False
    if not is_compiled:
        return None
    if hosts != AS_OBSERVED:
        msg = "a compiled policy has the folders that it was compiled with"
        raise PolicyError(msg, file=text, help="give these options to `policy compile`")
    from policy.tables.compiled import load_compiled  # noqa: PLC0415  # files do without

    return DecidingPolicy(load_compiled(Path(text), root=root))


def rule_span(because: Because, source: Source) -> Span | None:
    """Return the span of a rule in *source*, if its text is found there."""
    place = because.place
    if place is None or not because.rule:
        return None
    try:
        start = source.offset(place.line, place.column)
        line = source.line(place.line)
    except IndexError:  # the file is another one by now
        return None
    rest = line[place.column - 1 :]
    for quote in ('"', "'", ""):
        if rest.startswith(f"{quote}{because.rule}{quote}"):
            return source.span(start, start + len(because.rule) + 2 * len(quote))
    # The first word, with what its parentheses hold, or quotes as JSON and YAML write them.
    word = re.match(r"""("(?:\\.|[^"\\])*")|'(?:[^']|'')*'|[^\s,\]}("']+(?:\(.*?\))?""", rest)
    return source.span(start, start + max(len(word[0] if word else rest), 1))
