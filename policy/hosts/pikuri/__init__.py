"""Pikuri: one project for each ``pikuri.host.yaml`` below a tree."""

from policy.hosts.pikuri.host import HOST, load

__all__ = ["HOST", "load"]
