"""Pikuri: every ``pikuri.host.yaml`` below a tree, each the host that it describes."""

from policy.hosts.pikuri.host import HOST, load

__all__ = ["HOST", "load"]
