"""Every host of Pikuri below a tree, with what is the matter with it."""

from __future__ import annotations

from typing import Final

from policy.documents.layout import layout_yaml_file
from policy.errors import PolicyError
from policy.files.opening import Tree
from policy.finding import Finding
from policy.hosts.pikuri.audit import findings
from policy.hosts.pikuri.host import configure
from policy.hosts.pikuri.host_file import HOST_FILE, read_host
from policy.hosts.pikuri.reading import Enforced, declared_reading
from policy.hosts.pikuri.versions import NEWEST
from policy.project import AgentEntry, Attenuated, Project, ReadFile
from policy.source import Source

__all__ = ["HOST", "canonical", "load", "project"]

HOST: Final = "pikuri"


def load(tree: Tree) -> tuple[Project, ...]:
    """Return the project of every ``pikuri.host.yaml`` below *tree*."""
    return tuple(
        _loaded(tree, path) for path in tree.paths() if path.rpartition("/")[2] == HOST_FILE
    )


def canonical(path: str, source: Source) -> str | None:
    """Return a ``pikuri.host.yaml`` laid out, None for any other file.

    Raises:
        PolicyError: it cannot be read.

    """
    return layout_yaml_file(source) if path.rpartition("/")[2] == HOST_FILE else None


def _loaded(tree: Tree, path: str) -> Project:
    root = path.rpartition("/")[0]
    try:
        return project(tree.source(path), root)
    except PolicyError as error:
        nobody = Attenuated({})
        consequence = "nothing of the host is in force"
        found = Finding.of(error, "pikuri-unreadable-host", consequence=consequence)
        files = (ReadFile(path, "host"),)
        return Project(HOST, str(NEWEST), root, {}, (), nobody, nobody, files, found)


def project(source: Source, root: str = "") -> Project:
    """Return the project that one file is.

    Raises:
        PikuriErrors: the file, or the host that it is of, has a mistake.

    """
    host = read_host(source)
    done = configure(host)
    reading = declared_reading(host, done)
    spans = {persona.name: persona.span for persona in done.personas}
    entries = {
        name: AgentEntry(name, span.place if (span := spans.get(name)) else None, table)
        for name, table in sorted(reading.tables.items())
    }
    return Project(
        host=HOST,
        profile=str(host.profile),
        root=root,
        agents=entries,
        starts=(host.name,),
        attenuated=reading,
        enforced=Enforced(reading, done),
        files=(ReadFile(source.name, "host"),),
        findings=tuple(findings(host, done, source.whole())),
    )
