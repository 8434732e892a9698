"""Pikuri: hosts, their two pools of tools, and the personas that use both."""

from __future__ import annotations

from policy.hosts.pikuri.loading import HOST, canonical, load
from policy.hosts.pikuri.writer import WRITER

__all__ = ["HOST", "WRITER", "canonical", "load"]
