"""Capability scopes: globs over qualified ids, expanded once against what is registered."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from policy.finding import Finding, Severity
from policy.hosts.zeph.errors import Kind, ZephError
from policy.hosts.zeph.globs import Unusable, glob

__all__ = ["Strictness", "ToolScope", "qualify"]

_BUILT_IN: Final = "builtin:"

# What is there when a session starts, so that a pattern without a match is a mistake.
_STATIC: Final = (_BUILT_IN, "skill:")


def qualify(name: str) -> str:
    """Return the id with its namespace; one without is built in."""
    return name if ":" in name else _BUILT_IN + name


class Strictness(enum.Enum):
    """Which patterns must match something when a session starts."""

    STRICT = "strict"
    PERMISSIVE = "permissive"
    PROVISIONAL = "provisional_for_dynamic_namespaces"  # those of what is always there

    __hash__ = object.__hash__


@attrs.frozen
class ToolScope:
    """The tools in scope: a set of ids, looked up and never searched.

    Attributes:
        tools: the ids.
        findings: patterns that match nothing as yet.

    """

    tools: frozenset[str]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(
        cls,
        patterns: Iterable[str],
        registry: Iterable[str],
        *,
        name: str = "scope",
        strictness: Strictness = Strictness.PROVISIONAL,
        general: bool = False,
    ) -> ToolScope:
        """Return what *patterns* match of *registry*.

        Args:
            patterns: globs over ids with their namespaces; one without matches none.
            registry: the ids of the tools there are.
            name: of the scope, for messages.
            strictness: which patterns must match something.
            general: whether a pattern may match the whole registry.

        Raises:
            ZephError: the first pattern that is no glob, that matches the whole
                registry, or that must match something and does not; or an id of
                the registry has no namespace.

        """
        registered = tuple(registry)
        for tool in registered:
            if ":" not in tool:
                message = f"tool id '{tool}' has no namespace prefix (expected '<namespace>:<id>')"
                raise ZephError(Kind.UNQUALIFIED_ID, message, help=f"`{_BUILT_IN}{tool}`?")
        found: set[str] = set()
        findings: list[Finding] = []
        for pattern in patterns:
            said = f"scope '{name}': pattern '{pattern}'"
            matched = _matched(pattern, registered, name)
            if registered and not general and len(matched) == len(registered):
                message = f"{said} matches the entire registry"
                help_ = 'use default_scope="general" to opt in'
                raise ZephError(Kind.ACCIDENTALLY_FULL, message, help=help_)
            if not matched:
                findings.append(_dead(pattern, f"{said} matched zero registered tools", strictness))
            found.update(matched)
        return cls(frozenset(found), tuple(findings))

    def holds(self, tool: str) -> bool:
        """Return whether a call of *tool* is in scope; else Zeph says ``OutOfScope``."""
        return qualify(tool) in self.tools

    def __and__(self, other: ToolScope) -> ToolScope:
        """Return what is in both scopes."""
        return ToolScope(self.tools & other.tools, self.findings + other.findings)


def _matched(pattern: str, registered: Iterable[str], name: str) -> list[str]:
    try:
        patterns = [each for option in _options(pattern) for each in glob(option)]
    except Unusable as unusable:
        message = f"scope '{name}': invalid glob pattern '{pattern}': {unusable}"
        raise ZephError(Kind.INVALID_PATTERN, message) from None
    return [tool for tool in registered if any(each.matches(tool) for each in patterns)]


def _dead(pattern: str, message: str, strictness: Strictness) -> Finding:
    always = pattern.startswith(_STATIC) and strictness is Strictness.PROVISIONAL
    if always or strictness is Strictness.STRICT:
        raise ZephError(Kind.DEAD_PATTERN, f"{message} (dead pattern)")
    help_ = "" if ":" in pattern else f"`{_BUILT_IN}{pattern}`?"
    return Finding("dead-scope-pattern", message, Severity.WARNING, help=help_)


# Ways in which the `{a,b}` of one pattern can be chosen.
_CHOICES: Final = 256
_STARS: Final = re.compile(r"(?<![/*])\*{2,}|\*{2,}(?![/*])")
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


def _options(pattern: str) -> Iterator[str]:
    """Yield the globs that a pattern with ``{a,b}`` is, two stars beside other text being one."""
    waiting, done = [pattern], 0
    while waiting:
        text = waiting.pop()
        braces = _BRACES.search(text)
        if braces is not None:
            before, after = text[: braces.start()], text[braces.end() :]
            waiting += (f"{before}{choice}{after}" for choice in braces[1].split(","))
        elif "{" in text or "}" in text:
            msg = "`{` is never closed" if "{" in text else "`}` closes nothing"
            raise Unusable(msg)
        else:
            yield text if set(text) == {"*"} else _STARS.sub("*", text)
        done += 1
        if done > _CHOICES:
            msg = "it has too many `{…}`"
            raise Unusable(msg)
