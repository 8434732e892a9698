"""Zeph: projects of agent definitions, with the gates of their session.

Of the profiles, `zeph` is the program, `issue-970` the proposal in its issue 970, and `zeph-spec`
its specification of chains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from policy.core.finding import Finding
from policy.core.values import evolve
from policy.files.trees import Tree
from policy.hosts.data import tool_classes
from policy.hosts.project import Project, ReadFile, agent_entries
from policy.hosts.zeph.definition import TOOLS, SubAgentDef
from policy.hosts.zeph.findings import definition_findings, session_findings
from policy.hosts.zeph.loading import Configured, discover, read, read_config
from policy.hosts.zeph.session import ZephSession
from policy.hosts.zeph.spawning import (
    MAIN,
    AgentsConfig,
    SpawnOrigin,
    ZephOptions,
    declared_reading,
    enforced_reading,
)

HOST: Final = "zeph"


def load(tree: Tree, options: ZephOptions | None = None) -> tuple[Project, ...]:
    """Return a project for each folder of *tree* with definitions."""
    return tuple(_project(tree, root, options or ZephOptions()) for root in discover(tree))


def _project(tree: Tree, root: str, options: ZephOptions) -> Project:
    configured = Configured()
    if options.config == AgentsConfig():
        configured = read_config(tree, frozenset(tree.named()), root, options)
        options = evolve(options, config=configured.config)
    if configured.files:
        # A person may request each agent, so its start counts as a request.
        asked = evolve(options.context, origin=SpawnOrigin.EXPLICIT)
        options = evolve(options, context=asked)
    if options.session == ZephSession():
        options = evolve(options, session=configured.session)
    loaded, files = read(tree, root, options.profile, configured.folders)
    files, findings = (*configured.files, *files), (*configured.findings, *loaded.findings)
    return project(loaded.by_name, options, root=root, files=files, findings=findings)


def project(
    definitions: Mapping[str, SubAgentDef],
    options: ZephOptions | None = None,
    *,
    root: str = "",
    files: tuple[ReadFile, ...] = (),
    findings: Iterable[Finding] = (),
) -> Project:
    """Return the project of *definitions* (name -> definition)."""
    options = options or ZephOptions()
    attenuated = declared_reading(definitions, options)
    noted = [*findings]
    for definition in definitions.values():
        scope, slash, _ = (definition.source or "").partition("/")
        noted += definition_findings(definition, options, scope if slash else None)
    noted += session_findings(options)
    tables = {MAIN: attenuated.roots[MAIN], **attenuated.tables}
    spans = {name: definition.span("name") for name, definition in definitions.items()}
    return Project(
        host=HOST,
        profile=options.profile.value,
        root=root,
        agents=agent_entries(tables, spans),
        starts=(MAIN,),
        attenuated=attenuated,
        enforced=enforced_reading(definitions, options),
        files=files,
        findings=tuple(sorted(dict.fromkeys(noted), key=lambda finding: finding.place)),
        tool_classes=tool_classes(TOOLS["classes"]),
    )
