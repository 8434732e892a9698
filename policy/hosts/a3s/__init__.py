"""A3S Code: agent files, agent directories and script tools, and what a version makes of them."""

from __future__ import annotations

from policy.hosts.a3s.loading import HOST, A3sOptions, canonical, load

__all__ = ["HOST", "A3sOptions", "canonical", "load"]
