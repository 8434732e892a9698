"""Pikuri: hosts, their two pools of tools, and the personas that use both."""

from __future__ import annotations

from policy.hosts.pikuri.loading import HOST, canonical, load

__all__ = ["HOST", "canonical", "load"]
