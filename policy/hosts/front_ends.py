"""Front ends: each reads the files of one host and states how it decides."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.values import evolve, frozen
from policy.files.opening import StartPlace
from policy.files.trees import Folder, Memory, Tree
from policy.hosts.project import FrontEnd, Project

if TYPE_CHECKING:  # reading needs nothing of what writes
    from policy.hosts.portable import RuleFile, Writer
    from policy.tables.dialect import Dialect
    from policy.tables.ruleset import Entry


@frozen
class FrontEndOnDemand:
    """A front end without options, whose module is imported when a tree has a file for it."""

    HOST: str  # the name of the host
    module: str  # the module of the front end, in this package
    rules: str  # the module whose `entries_of` reads a rule of the host
    files: re.Pattern[str]  # found in the path of at least one file of each of its projects

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*."""
        if not any(map(self.files.search, tree.named())):
            return ()
        found: tuple[Project, ...] = import_module(f"policy.hosts.{self.module}").load(tree)
        return found


_OURS: Final = "notation.semantics"  # for hosts that spell rules as our notation does

# In the order of their names.
_ON_DEMAND: Final = tuple(
    FrontEndOnDemand(host, module, rules, re.compile(files))
    for host, module, rules, files in (
        ("a3s", "a3s", _OURS, r"(^|/)(\.a3s/|(a3s\.session\.yaml|agent\.acl|instructions\.md)\Z)"),
        ("claude-code", "claude.front_end", "claude.rules", r"(^|/)\.claude(/|\Z)|\.(md|json)\Z"),
        ("pikuri", "pikuri", _OURS, r"(^|/)pikuri\.host\.yaml\Z"),
        ("policy", "notation", _OURS, r"\.policy\Z"),
        ("zeph", "zeph", _OURS, r"(^|/)\.(zeph|config/zeph)/agents/"),
    )
)
FRONT_ENDS: Final[tuple[FrontEnd, ...]] = _ON_DEMAND


def rule_file_of(host: str) -> RuleFile:
    """Return the file in which the host named *host*, one of `RULE_FILES`, keeps rules."""
    found: RuleFile = import_module(f"policy.hosts.{RULE_FILES[host]}").RULE_FILE
    return found


# Hosts with a file of rules for every agent -> the module that describes it.
RULE_FILES: Final = {"claude-code": "claude.writer"}


def writer_of(front_end: FrontEnd) -> Writer:
    """Return what writes the files of a host."""
    home = {"policy": "notation", "claude-code": "claude"}.get(front_end.HOST, front_end.HOST)
    writer: Writer = import_module(f"policy.hosts.{home}.writer").WRITER
    return writer


def entries_of(rule: str, effect: Effect, dialect: Dialect) -> tuple[Entry, ...]:
    """Return the entries of a rule as the host of *dialect* reads it.

    Raises PolicyError for a rule that the host cannot read, and LookupError for a host that is not
    registered: its name is the start of the name of the dialect.
    """
    modules = {each.HOST: each.rules for each in _ON_DEMAND}
    host = import_module(f"policy.hosts.{modules[re.split('[@,]', dialect.name)[0]]}")
    entries: tuple[Entry, ...] = host.entries_of(rule, effect, dialect)
    return entries


def front_ends(
    user: str = "", managed: str = "", start: StartPlace | None = None
) -> tuple[FrontEnd, ...]:
    """Return the front ends; that of Claude Code also reads files outside of projects.

    These are in the folders of a user, e.g. ``~/.claude``, and of an administrator, e.g.
    ``/etc/claude-code``; "" is none. Without *start* a session is started in each folder with files
    of a host. Raises PolicyError for a folder that does not exist.
    """
    if not (user or managed or start):
        return FRONT_ENDS
    from policy.hosts.claude import discovery  # noqa: PLC0415  # loaded where it is needed
    from policy.hosts.claude.front_end import ClaudeFrontEnd  # noqa: PLC0415  # as above
    from policy.hosts.claude.options import ClaudeOptions  # noqa: PLC0415  # as above

    options = ClaudeOptions(
        user_files=_folder(user, discovery.OF_USERS),
        managed_files=_folder(managed, discovery.OF_ADMINISTRATORS),
    )
    if start is not None:
        main = _within(start.main, discovery.read_of_main(start)) if start.main else None
        files = tuple(_within(each, discovery.OF_ABOVE) for each in start.above)
        options = evolve(options, start=start.folder, main_files=main, above_files=files)
    chosen = ClaudeFrontEnd(options)
    return tuple(chosen if each.HOST == chosen.HOST else each for each in FRONT_ENDS)


def read_beside(start: StartPlace, hosts: Collection[str]) -> tuple[Path, ...]:
    """Return the existing files outside of its checkout that a session of *hosts* reads."""
    if "claude-code" not in hosts:
        return ()
    from policy.hosts.claude import discovery  # noqa: PLC0415  # as above

    return discovery.read_beside(start)


def _folder(text: str, top: frozenset[str]) -> Folder | None:
    if text and not Path(text).expanduser().is_dir():
        raise PolicyError("expected a folder", file=text)
    # People link such a folder to a repository of their settings, so links are followed.
    return Folder(Path(text).expanduser(), follows=True, top=top) if text else None


def _within(folder: Path, top: frozenset[str]) -> Tree:
    own = folder / ".claude"
    return Folder(own, follows=True, top=top) if own.is_dir() else Memory({})
