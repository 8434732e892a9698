"""Zeph: definitions of agents, what chains of them may do, and the gates of a session.

Three profiles: `zeph` is what exists, `issue-970` what its issue of that
number asks for, `zeph-spec` what its specification says of chains.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import attrs

from policy.documents.layout import layout_markdown_file
from policy.files.opening import Tree
from policy.finding import Finding
from policy.hosts.zeph.config_file import read_config
from policy.hosts.zeph.context import AgentsConfig, Origin, SpawnContext
from policy.hosts.zeph.definition import Profile, SubAgentDef
from policy.hosts.zeph.discovery import Found, discover, is_definition, read
from policy.hosts.zeph.findings import definition_findings
from policy.hosts.zeph.options import Options, Session
from policy.hosts.zeph.readings import MAIN, Declared, Enforced
from policy.hosts.zeph.session_findings import session_findings
from policy.hosts.zeph.writer import WRITER
from policy.project import AgentEntry, Project, ReadFile
from policy.source import Source

__all__ = [
    "HOST",
    "MAIN",
    "WRITER",
    "AgentsConfig",
    "Declared",
    "Enforced",
    "FrontEnd",
    "Options",
    "Profile",
    "Session",
    "SpawnContext",
    "SubAgentDef",
    "canonical",
    "load",
    "project",
]

HOST: Final = "zeph"


def load(tree: Tree, options: Options | None = None) -> tuple[Project, ...]:
    """Return a project for each folder of *tree* that has definitions of Zeph.

    A configuration beside them is read unless *options* have one.
    """
    options = options or Options()
    known = frozenset(tree.named())
    return tuple(_project(tree, known, found, options) for found in discover(tree))


def canonical(path: str, source: Source) -> str | None:
    """Return a definition with its header laid out, None for any other file.

    Raises:
        PolicyError: the header cannot be read, or not be laid out without loss.

    """
    return layout_markdown_file(source) if is_definition(path) else None


@attrs.frozen
class FrontEnd:
    """Reads definitions by *options*, e.g. of another profile."""

    options: Options
    HOST = HOST
    WRITER = WRITER

    def load(self, tree: Tree) -> tuple[Project, ...]:
        """Return every project below *tree*."""
        return load(tree, self.options)

    def canonical(self, path: str, source: Source) -> str | None:
        """Return a definition with its header laid out, None for any other file."""
        return canonical(path, source)


def _project(tree: Tree, known: Collection[str], found: Found, options: Options) -> Project:
    configured = None
    if options.config == AgentsConfig():
        configured = read_config(tree, known, found.root, options)
    if configured is not None:
        # Somebody may ask for an agent, so what can happen is told with that.
        asked = attrs.evolve(options.context, origin=Origin.EXPLICIT)
        options = attrs.evolve(options, config=configured.config, context=asked)
        if options.session == Session():
            options = attrs.evolve(options, session=configured.session)
    loader, files = read(tree, found, options, configured)
    findings = [*(configured.findings if configured else ()), *loader.findings]
    if configured is not None:
        files = (*configured.files, *files)
    return project(loader.definitions, options, root=found.root, files=files, findings=findings)


def project(
    definitions: Mapping[str, SubAgentDef],
    options: Options | None = None,
    *,
    root: str = "",
    files: tuple[ReadFile, ...] = (),
    findings: Iterable[Finding] = (),
) -> Project:
    """Return the project that *definitions* are, by name, wherever they come from."""
    options = options or Options()
    attenuated = Declared.of(definitions, options)
    noted = [*findings]
    for definition in definitions.values():
        scope, slash, _ = (definition.source or "").partition("/")
        noted += definition_findings(definition, options, scope if slash else None)
    noted += session_findings(options)
    entries = {name: _entry(definitions[name], attenuated) for name in sorted(definitions)}
    entries.setdefault(MAIN, AgentEntry(MAIN, None, attenuated.root))
    return Project(
        host=HOST,
        profile=options.profile.value,
        root=root,
        agents=dict(sorted(entries.items())),
        starts=(MAIN,),
        attenuated=attenuated,
        enforced=Enforced(definitions, options),
        files=files,
        findings=tuple(sorted(dict.fromkeys(noted), key=lambda finding: finding.place)),
    )


def _entry(definition: SubAgentDef, reading: Declared) -> AgentEntry:
    span = definition.span("name")
    return AgentEntry(
        definition.name, span.place if span else None, reading.tables[definition.name]
    )
