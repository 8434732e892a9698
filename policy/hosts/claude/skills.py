"""Skills, as far as they decide calls: one that lists tools or has hooks is asked for."""

from __future__ import annotations

import attrs

from policy.documents.frontmatter import split_front_matter
from policy.documents.node import Mapping
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.hosts.claude.tool_lists import read_list
from policy.language.syntax import Declared, Presence
from policy.source import Source

__all__ = ["Skill", "read_skill"]


@attrs.frozen
class Skill:
    """What the front matter of one skill says.

    Attributes:
        name: as it is invoked.
        allowed: what it allows while it is active.
        disallowed: what it denies while it is active.
        asked: whether invoking it is asked for.
    """

    name: str
    allowed: Declared = Declared(Presence.ABSENT)
    disallowed: Declared = Declared(Presence.ABSENT)
    asked: bool = False


def read_skill(name: str, source: Source) -> Skill:
    """Return the skill of the folder *name*; one that cannot be read is asked for."""
    try:
        front = split_front_matter(source)
        node = read_yaml(source, front.header.start, front.header.end) if front else None
    except PolicyError:
        return Skill(name, asked=True)
    if not isinstance(node, Mapping):
        return Skill(name)
    allowed, _ = read_list(node.get("allowed-tools"), "allowed-tools")
    disallowed, _ = read_list(node.get("disallowed-tools"), "disallowed-tools")
    asked = node.get("hooks") is not None or allowed.presence is not Presence.ABSENT
    return Skill(name, allowed, disallowed, asked)
