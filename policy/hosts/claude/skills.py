"""Skills and commands, as far as they decide calls (2.1.329, observed).

In the turn in which a skill is invoked, `allowed-tools` allows calls, also of agents started in it,
and `disallowed-tools` denies calls. Invoking a skill with either is asked for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import Source, Span
from policy.core.values import field, frozen
from policy.files.frontmatter import HeaderLanguage, split_front_matter
from policy.files.nodes import MappingNode, Node, SequenceNode
from policy.hosts.claude.agents import header_of, letters_of, read_header, read_list
from policy.hosts.claude.data import find
from policy.hosts.claude.data.settings import EVENTS
from policy.hosts.claude.hooks import Hook, read_hooks
from policy.hosts.fields import DeclaredTools, Presence, value_of


@frozen
class Skill:
    """What the front matter of one skill or command says."""

    name: str  # as it is invoked
    allowed: DeclaredTools = DeclaredTools(Presence.ABSENT)  # what it allows while it is active
    disallowed: DeclaredTools = DeclaredTools(Presence.ABSENT)  # what it denies while it is active
    asked: bool = False  # whether invoking it is asked for
    typed: bool = False  # whether only the user may invoke it
    forked: bool = False  # whether an agent of its own runs it, which alone has what it allows
    hooks: tuple[Hook, ...] = ()  # what runs while it is active
    # Of its list of allowed tools; None where it has none.
    span: Span | None = field(default=None, repr=False)
    findings: tuple[Finding, ...] = ()  # what is wrong with it
    # The name that its header gives, by which a skill is invoked as well; "" is none.
    called: str = ""
    folder: str = ""  # where it lies, relative to the project; "" is not known


_LISTS: Final = ("allowed-tools", "disallowed-tools")


def looks_like_skill(source: Source) -> bool:
    """Return whether the front matter of a file says which tools a skill or a command has."""
    header = header_of(source)
    return any(f"\n{key}:" in header for key in _LISTS)


@lru_cache(maxsize=512)  # a diff reads the same text many times
def read_skill(name: str, source: Source, *, command: bool = False) -> Skill:
    """Return the skill or *command*; one whose front matter has no end is asked for."""
    try:
        front = split_front_matter(source)
    except PolicyError:
        return Skill(name, asked=True)
    if front is None or front.kind is not HeaderLanguage.YAML:
        return Skill(name)
    node, mistake = read_header(front.header)
    if node is None and mistake is not None:
        lost = "the host reads nothing of it, so the lists allow nothing and take nothing away"
        return Skill(name, findings=Finding.of(mistake, "bad-front-matter", consequence=lost))
    if not isinstance(node, MappingNode):
        return Skill(name)
    allowed, found = read_list(node.get("allowed-tools"), "allowed-tools")
    # Either key may hold the list; the first with a value counts.
    disallowed, more = read_list(node.get("disallowed-tools"), "disallowed-tools")
    if disallowed.presence in (Presence.ABSENT, Presence.NULL):
        disallowed, more = read_list(node.get("disallowedTools"), "disallowedTools")
    hooks = node.get("hooks")
    more += (
        find("misspelt-key", entry.key.span, case="skill", name=entry.name)
        for entry in node.entries
        if entry.name not in _LISTS and letters_of(entry.name) in ("allowedtools", "allowedtool")
    )
    return Skill(
        name,
        allowed,
        disallowed,
        asked=_has_hooks(hooks) or Presence.LISTED in (allowed.presence, disallowed.presence),
        typed=value_of(node.get("disable-model-invocation")) is True,
        forked=value_of(node.get("context")) == "fork",
        hooks=read_hooks(hooks)[0],
        span=allowed.span,
        findings=(*found, *more),
        called="" if command else _called(name, node.get("name")),
    )


def _called(name: str, node: Node | None) -> str:
    """Return another name of the skill *name*, which has the same plugin before it."""
    own = value_of(node)
    if not isinstance(own, str) or not own.strip():
        return ""
    plugin, colon, _ = name.rpartition(":")
    full = f"{plugin}{colon}{own.strip()}"
    return "" if full == name else full


def _has_hooks(node: Node | None) -> bool:
    # Hooks with a mistake count as none.
    if not isinstance(node, MappingNode) or read_hooks(node)[1]:
        return False
    return any(e.name in EVENTS and isinstance(e.value, SequenceNode) for e in node.entries)
