"""Findings about files of our own notation: probable mistakes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from policy.core.finding import Finding, Severity
from policy.files.text import line_removal
from policy.hosts.notation.semantics import DIALECT
from policy.hosts.pattern_text import looks_absolute
from policy.language.mistakes import closest
from policy.language.syntax import Agent, Agents, Delegate, Document, Grant, Inherit, Matcher, Root
from policy.tables.dialect import ArgumentKind


def document_findings(document: Document, starts: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the findings about *document*, whose chains start with *starts*."""
    agents = [node for node in document.body if isinstance(node, Agent)]
    rooted = any(isinstance(node, Root) for node in document.body)
    always = starts if rooted else starts[:1] if len(agents) == 1 else ()
    names = dict.fromkeys(agent.name for agent in agents)
    for agent in agents:
        for node in agent.body:
            if isinstance(node, Inherit) and agent.name in always:
                why = f"`{agent.name}` starts a chain, so there is no agent to inherit from"
                help_ = "grant what it needs with `allow`"
                at, edits = node.span, line_removal(node.span)
                yield Finding("root-inherits", why, Severity.WARNING, at, help=help_, edits=edits)
            elif isinstance(node, Grant | Delegate):
                for matcher in node.matchers:
                    yield from _tool(matcher)
                    yield from _path(matcher)
                    yield from _agents(matcher, names)


_KNOWN: Final = frozenset({*DIALECT.arguments, *DIALECT.aliases})

# The least similarity of a name that is reported as misspelt.
_SIMILAR: Final = 0.75
_SHORT: Final = 4


def _tool(matcher: Matcher) -> Iterator[Finding]:
    """Yield a finding for a tool whose name is close to one with known arguments.

    Other unknown names may be tools of some runtime, also in small letters. A rule for an unknown
    tool compares its argument as text, not as a command.
    """
    tool = matcher.tool
    if tool in _KNOWN or "*" in tool or tool.startswith("mcp__"):
        return
    from difflib import get_close_matches  # noqa: PLC0415  # few tools are unknown

    same = [name for name in _KNOWN if name.casefold() == tool.casefold()]
    near_in_length = [name for name in sorted(_KNOWN) if abs(len(name) - len(tool)) < 2]
    near = get_close_matches(tool, near_in_length, 1, _SIMILAR) if len(tool) >= _SHORT else []
    message = f"`{tool}` is none of the tools whose arguments are known"
    if same:
        near = same if matcher.specifier is not None else []
        message = f"`{tool}` is not `{same[0]}`: the argument in `{matcher}` is compared as text"
    for name in near:
        help_ = f"did you mean `{name}`?"
        yield Finding("unknown-tool", message, Severity.WARNING, matcher.span, help=help_)


def _path(matcher: Matcher) -> Iterator[Finding]:
    argument = DIALECT.argument(matcher.tool)
    text = matcher.specifier.text if matcher.specifier else ""
    if argument.kind is ArgumentKind.PATH and looks_absolute(text):
        message = f"`{matcher}` is a path below the project: one slash does not make it absolute"
        help_ = f"write `{matcher.tool}(/{text})` for the root of the file system"
        yield Finding("looks-absolute", message, Severity.WARNING, matcher.span, help=help_)


def _agents(matcher: Matcher, names: Collection[str]) -> Iterator[Finding]:
    if not isinstance(matcher.specifier, Agents):
        return
    for name in matcher.specifier.names:
        # A name with a colon may be an agent of another host's files.
        if name not in names and "*" not in name and ":" not in name:
            message = f"there is no agent `{name}` in this file"
            help_ = closest(name, names) or f"define it: `agent {name} {{ … }}`"
            yield Finding("unknown-agent", message, Severity.WARNING, matcher.span, help=help_)
