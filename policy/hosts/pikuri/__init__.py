"""Pikuri: hosts, their two pools of tools, and the personas that use both."""

from __future__ import annotations

from policy.hosts.pikuri.audit import trifecta
from policy.hosts.pikuri.host import (
    AllowAll,
    Confirmer,
    Filesystem,
    Host,
    Persona,
    PersonaSet,
    Registered,
    SubAgent,
    Tool,
    available_agents,
    bundled,
    configure,
    confirmation,
    excludes,
)
from policy.hosts.pikuri.loading import HOST, HOST_FILE, canonical, load, project, read_host
from policy.hosts.pikuri.trifecta import AgentNode, Contribution, TrifectaLegs, TrifectaReport, walk
from policy.hosts.pikuri.versions import PikuriProfile
from policy.hosts.pikuri.writer import WRITER

__all__ = [
    "HOST",
    "HOST_FILE",
    "WRITER",
    "AgentNode",
    "AllowAll",
    "Confirmer",
    "Contribution",
    "Filesystem",
    "Host",
    "Persona",
    "PersonaSet",
    "PikuriProfile",
    "Registered",
    "SubAgent",
    "Tool",
    "TrifectaLegs",
    "TrifectaReport",
    "available_agents",
    "bundled",
    "canonical",
    "configure",
    "confirmation",
    "excludes",
    "load",
    "project",
    "read_host",
    "trifecta",
    "walk",
]
