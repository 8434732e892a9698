"""From the files of one host to those of another, with every loss and a witness for it.

A project is read into common words (`policy.portable`), written by the other
host, and what was written is read back by that host's own front end. What then
differs, for any chain and call, is a loss. Where the other host cannot say
something, it is made to say less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from policy.conversion.about import about
from policy.conversion.across import Known, Unproven
from policy.conversion.handing import COMMON, portable_of
from policy.conversion.losses import Loss, Side, losses
from policy.conversion.weaken import weakened
from policy.effect import Effect
from policy.errors import PolicyError
from policy.files.opening import Tree, open_tree
from policy.files.tree import Memory
from policy.files.unread import is_unreadable
from policy.hosts import FRONT_ENDS, notation
from policy.portable import Dropped, Portable, Written
from policy.project import FrontEnd, Project
from policy.workspace import load_tree

__all__ = ["Conversion", "convert", "hosts"]


@attrs.frozen
class Conversion:
    """A project as another host's files.

    Attributes:
        source: the title of the project.
        host: the other host.
        files: path -> text, below the folder of the tree.
        losses: calls that are decided differently as the hosts enforce it, looser first.
        unproven: where it was not proven that nothing else gets looser.
        dropped: what no file of the other host says.
        declared: the losses of what the files declare along a chain, whatever is enforced.
        names: agent -> what the other host's files call it, where that differs.
        tools: tools without a counterpart, which keep their names.

    """

    source: str
    host: str
    files: Mapping[str, str] = attrs.field(hash=False)
    losses: tuple[Loss, ...]
    unproven: tuple[Unproven, ...]
    dropped: tuple[Dropped, ...]
    declared: tuple[Loss, ...] = ()
    names: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    tools: tuple[str, ...] = ()

    @property
    def looser(self) -> tuple[Loss, ...]:
        """The losses by which more is granted."""
        return tuple(loss for loss in self.losses if loss.looser)

    def refusal(self, *, looser: bool = False, unproven: bool = False) -> str:
        """Return why nobody should use the files, or "".

        Args:
            looser: whether more may be granted.
            unproven: whether it need not be proven that no more is.

        """
        title = f"{self.source} -> {self.host}"
        if self.looser and not looser:
            return f"refused: {title} would grant more; allow that with --allow-looser"
        if self.unproven and not unproven and not looser:
            tools = ", ".join(one.tool for one in self.unproven)
            return (
                f"refused: {title} is not proven to grant no more by {tools};"
                " allow that with --allow-unproven"
            )
        return ""

    @property
    def stricter(self) -> tuple[Loss, ...]:
        """The losses by which less is granted."""
        return tuple(loss for loss in self.losses if not loss.looser)


def hosts(front_ends: Iterable[FrontEnd] = FRONT_ENDS) -> tuple[str, ...]:
    """Return the hosts that can be converted to."""
    return tuple(sorted(front_end.HOST for front_end in front_ends))


def convert(
    path: Tree | str | Path,
    to: str,
    *,
    source: str = "",
    allow_looser: bool = False,
    front_ends: Iterable[FrontEnd] = FRONT_ENDS,
) -> tuple[Conversion, ...]:
    """Return every project at *path* as files of the host *to*.

    Projects of that host itself are left out, unless there are no others; these
    come out in canonical form. Nothing is written.

    Args:
        path: a folder, a file or a git revision, or a tree of files.
        to: a host, as in `hosts`.
        source: convert the projects of this host alone.
        allow_looser: leave a rule as it is where the other host grants more by it;
            else it is made to grant less, as long as that helps.
        front_ends: who reads and writes.

    Raises:
        PolicyError: there is no such host or no project, a file of a project cannot
            be read, or two projects come to the same file.

    """
    tree = path if isinstance(path, Tree) else open_tree(str(path))
    ends = {front_end.HOST: front_end for front_end in front_ends}
    for name in filter(None, (to, source)):
        if name not in ends:
            msg = f"there is no host `{name}`"
            raise PolicyError(msg, help="known are " + ", ".join(f"`{h}`" for h in sorted(ends)))
    workspace = load_tree(tree, front_ends=ends.values())
    projects = [p for p in workspace.projects if not source or p.host == source]
    projects = [p for p in projects if p.host != to] or projects
    if not projects:
        msg = f"no project of {source or 'any host'} to convert"
        raise PolicyError(msg, file=tree.label)
    for project in projects:
        _check(project)
    found = tuple(
        _conversion(tree, project, ends[project.host], ends[to], allow_looser=allow_looser)
        for project in projects
    )
    files: dict[str, str] = {}
    for conversion in found:
        for name in conversion.files:
            if name in files:
                msg = f"`{files[name]}` and `{conversion.source}` both come to this file"
                raise PolicyError(msg, file=name, help="convert one host at a time, with `--from`")
            files[name] = conversion.source
    return found


def _conversion(
    tree: Tree, project: Project, reader: FrontEnd, writer: FrontEnd, *, allow_looser: bool
) -> Conversion:
    said_of = about(tree, project, reader.WRITER.carried)
    portable = portable_of(project, reader, said_of)
    known = Known((reader.WRITER.counterparts, writer.WRITER.counterparts), COMMON)
    for _ in range(_ROUNDS):
        if reader is writer:
            written = _canonical(tree, project, reader, portable)
        else:
            written = writer.WRITER.write(portable)
        target = _read_back(written, writer, project)
        sides = Side(project), Side(target, written.names, written.above)
        compared = partial(losses, *sides, portable.starts, known, fixed=written.fixed)
        enforced = compared(reading="enforced")
        weaker = weakened(portable, (loss for loss in enforced.found if loss.looser), COMMON)
        if allow_looser or reader is writer or weaker == portable:
            break
        portable = weaker
    same = reader is writer
    folder = project.root
    if project.host == notation.HOST:
        folder = folder.rpartition("/")[0]
    prefix = f"{folder}/" if folder and not same else ""
    claims = len(project.claims)
    said = [Dropped(f"{claims} `test` and `never` statements")] if claims else []
    return Conversion(
        project.title,
        writer.HOST,
        {prefix + path: text for path, text in written.files.items()},
        enforced.found,
        enforced.unproven,
        ()
        if same
        else (*said_of.dropped, *said, *written.dropped, *_bounds(portable, target, written)),
        compared(reading="attenuated").found,
        {old: new for old, new in written.names.items() if old != new},
        tuple(_without_counterpart(portable, writer, written)),
    )


# Times that what came out looser is said with less.
_ROUNDS: Final = 12


def _check(project: Project) -> None:
    """Raise where a file of the project was not understood: what it says would be lost."""
    for finding in project.findings:
        if is_unreadable(finding):
            msg = f"{finding.message} [{finding.code}]"
            raise PolicyError(msg, finding.span, help=finding.help, file=finding.place.file)


def _canonical(tree: Tree, project: Project, reader: FrontEnd, portable: Portable) -> Written:
    """Return the files of the project itself, laid out."""
    files = {}
    for file in project.files:
        source = tree.source(file.path)
        files[file.path] = reader.canonical(file.path, source) or source.text
    return Written(files, {agent.name: agent.name for agent in portable.agents})


def _read_back(written: Written, writer: FrontEnd, source: Project) -> Project:
    projects = [p for p in writer.load(Memory(dict(written.files))) if p.host == writer.HOST]
    if len(projects) > 1:
        projects = [p for p in projects if p.root == source.root]
    if len(projects) != 1:
        msg = f"what was written is not read back as one project of {writer.HOST}"
        raise PolicyError(msg, file=source.title)
    _check(projects[0])
    return projects[0]


def _bounds(portable: Portable, target: Project, written: Written) -> Iterator[Dropped]:
    for agent in portable.agents:
        entry = target.agents.get(written.names.get(agent.name, ""))
        kept = entry.declared.bounds if entry is not None else None
        for name in ("turns", "trust"):
            bound = getattr(agent.bounds, name)
            if bound is not None and getattr(kept, name, None) != bound:
                yield Dropped(
                    f"`{name} {bound}`" if name == "trust" else f"`limit {name} {bound}`",
                    agent.name,
                )


def _without_counterpart(portable: Portable, writer: FrontEnd, written: Written) -> Iterator[str]:
    text = "\n".join(written.files.values())
    granted = {
        tool
        for agent in portable.agents
        for tool, one in agent.tools.items()
        if one.constant is not Effect.DENY and agent.otherwise is Effect.DENY
    }
    yield from sorted(t for t in granted if t in text and not writer.WRITER.knows(t))
