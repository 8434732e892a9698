"""Skills and commands, as far as they decide calls.

What `allowed-tools` lists is allowed in the turn in which the skill is invoked, to
every agent that is started in it, and whoever invokes the skill is asked. The list
takes nothing away. One that is empty, or no list, is none (2.1.329, observed).
"""

from __future__ import annotations

from typing import Final

import attrs

from policy.documents.frontmatter import Kind, split_front_matter
from policy.documents.node import Mapping, Scalar
from policy.documents.yaml_nodes import read_yaml
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.hosts.claude.salvage import salvage
from policy.hosts.claude.tool_lists import read_list
from policy.language.syntax import Declared, Presence
from policy.source import Source, Span

__all__ = ["Skill", "looks_like_skill", "read_skill"]


@attrs.frozen
class Skill:
    """What the front matter of one skill or command says.

    Attributes:
        name: as it is invoked.
        allowed: what it allows while it is active.
        disallowed: what it denies while it is active.
        asked: whether invoking it is asked for.
        typed: whether only the user may invoke it.
        hooks: what runs while it is active.
        span: of its list of allowed tools; None where it has none.
        findings: what is wrong with it.
    """

    name: str
    allowed: Declared = Declared(Presence.ABSENT)
    disallowed: Declared = Declared(Presence.ABSENT)
    asked: bool = False
    typed: bool = False
    hooks: tuple[Hook, ...] = ()
    span: Span | None = attrs.field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()


def looks_like_skill(source: Source) -> bool:
    """Return whether the front matter of a file says which tools a skill or a command has."""
    try:
        front = split_front_matter(source)
    except PolicyError:
        return False
    header = "\n" + front.header.text if front is not None else ""
    return any(f"\n{key}:" in header for key in _TELLING)


_TELLING: Final = ("allowed-tools", "disallowed-tools")


def read_skill(name: str, source: Source) -> Skill:
    """Return the skill or command *name*; one whose front matter has no end is asked for."""
    try:
        front = split_front_matter(source)
    except PolicyError:
        return Skill(name, asked=True)
    if front is None or front.kind is not Kind.YAML:
        return Skill(name)
    try:
        node = read_yaml(source, front.header.start, front.header.end)
    except PolicyError:
        # The host reads what it cannot as plain text, key by key.
        node = salvage(front.header)
    if not isinstance(node, Mapping):
        return Skill(name)
    allowed, found = read_list(node.get("allowed-tools"), "allowed-tools")
    disallowed, more = read_list(node.get("disallowed-tools"), "disallowed-tools")
    hooks = node.get("hooks")
    typed = node.get("disable-model-invocation")
    return Skill(
        name,
        allowed,
        disallowed,
        asked=hooks is not None or allowed.presence is Presence.LISTED,
        typed=isinstance(typed, Scalar) and typed.value is True,
        hooks=read_hooks(hooks)[0],
        span=allowed.span,
        findings=(*found, *more, *_misspelt(node)),
    )


def _misspelt(node: Mapping) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            "misspelt-key",
            f"`{entry.name}` means nothing to the host in a skill, so it allows nothing",
            Severity.WARNING,
            entry.key.span,
            help="write `allowed-tools`",
        )
        for entry in node.entries
        if entry.name not in ("allowed-tools", "disallowed-tools")
        and _letters(entry.name) in ("allowedtools", "allowedtool")
    )


def _letters(key: str) -> str:
    return "".join(filter(str.isalpha, key)).casefold()
