"""Pikuri: hosts, their two pools of tools, and the personas that draw on both."""

from __future__ import annotations

from policy.hosts.pikuri.audit import trifecta
from policy.hosts.pikuri.errors import PikuriError, PikuriErrors
from policy.hosts.pikuri.host import (
    Host,
    PersonaSet,
    Registered,
    SubAgent,
    Tool,
    available_agents,
    configure,
)
from policy.hosts.pikuri.host_file import HOST_FILE, read_host
from policy.hosts.pikuri.loading import HOST, canonical, load, project
from policy.hosts.pikuri.personas import Persona, bundled, excludes
from policy.hosts.pikuri.trifecta import Contribution, Node, Report, TrifectaLegs, walk
from policy.hosts.pikuri.versions import Profile
from policy.hosts.pikuri.workspace import AllowAll, Confirmer, Filesystem, confirmation
from policy.hosts.pikuri.writer import WRITER

__all__ = [
    "HOST",
    "HOST_FILE",
    "WRITER",
    "AllowAll",
    "Confirmer",
    "Contribution",
    "Filesystem",
    "Host",
    "Node",
    "Persona",
    "PersonaSet",
    "PikuriError",
    "PikuriErrors",
    "Profile",
    "Registered",
    "Report",
    "SubAgent",
    "Tool",
    "TrifectaLegs",
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
