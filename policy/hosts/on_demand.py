"""Front ends that are loaded for trees with a file they may read: most trees are of one host."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, Final

import attrs

from policy.core.source import Source
from policy.files.opening import Tree
from policy.hosts.project import FrontEnd, Project, Writer

__all__ = ["ON_DEMAND", "FrontEndOnDemand"]


@attrs.frozen
class FrontEndOnDemand:
    """A front end as it is without options, whose module is imported where it is needed.

    Attributes:
        HOST: the name of the host.
        module: of the front end, in this package.
        files: what is found in the path of some file of each of its projects.

    """

    HOST: str
    module: str
    files: re.Pattern[str]

    @property
    def _loaded(self) -> FrontEnd:
        module: Any = import_module(f"policy.hosts.{self.module}")
        front_end: FrontEnd = module
        return front_end

    @property
    def WRITER(self) -> Writer:  # noqa: N802  # as front ends are
        """What writes its files."""
        return self._loaded.WRITER

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*."""
        return self._loaded.load(tree) if any(map(self.files.search, tree.named())) else ()

    def canonical(self, path: str, source: Source) -> str | None:
        """Return a file with its text laid out, None for one of another host."""
        return self._loaded.canonical(path, source)


# In the order of their names.
ON_DEMAND: Final = tuple(
    FrontEndOnDemand(host, module, re.compile(files))
    for host, module, files in (
        ("a3s", "a3s", r"(^|/)(\.a3s/|(a3s\.session\.yaml|agent\.acl|instructions\.md)\Z)"),
        ("claude-code", "claude", r"(^|/)\.claude(/|\Z)|\.(md|json)\Z"),
        ("pikuri", "pikuri", r"(^|/)pikuri\.host\.yaml\Z"),
        ("policy", "notation", r"\.policy\Z"),
        ("zeph", "zeph", r"(^|/)\.(zeph|config/zeph)/agents/"),
    )
)
