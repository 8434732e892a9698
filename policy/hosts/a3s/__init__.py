"""A3S Code: agent files, agent directories and script tools, and what a version makes of them."""

from __future__ import annotations

from policy.hosts.a3s.loading import HOST, A3sOptions, canonical, load
from policy.hosts.a3s.writer import WRITER

__all__ = ["HOST", "WRITER", "A3sOptions", "canonical", "load"]
