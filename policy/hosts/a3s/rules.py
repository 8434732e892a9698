"""`PermissionRule`: the language of rules, which no text is a mistake in.

A rule is a tool, or a tool and a pattern in parentheses. What is malformed
becomes the name of a tool that there is none of, so it does nothing; a rule
that was to deny is then a hole. `problem` says so, and a strict reader refuses.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy.effect import Effect
from policy.hosts.a3s.errors import A3sError, Kind
from policy.hosts.a3s.names import MODES, Lane
from policy.hosts.a3s.versions import NEWEST, Profile
from policy.patterns.notations import Unusable, names, slashed
from policy.patterns.pattern import Pattern
from policy.ruleset import Entry
from policy.source import Span

__all__ = ["PermissionRule", "lane_rule", "names_tool"]


@attrs.frozen
class PermissionRule:
    """One rule, e.g. ``Bash(cargo:*)``.

    Attributes:
        text: as written.
        tool: the tool it names, or a glob over names.
        pattern: what the argument must be; None and ``*`` are any.
        span: where it is written.

    """

    text: str
    tool: str
    pattern: str | None
    span: Span | None = attrs.field(default=None, eq=False, repr=False)

    @classmethod
    def of(cls, text: str, profile: Profile = NEWEST, span: Span | None = None) -> PermissionRule:
        """Return what *text* says; nothing is trimmed, and nothing is refused."""
        tool, opened, rest = text.partition("(")
        pattern: str | None = None
        if opened and text.endswith(")"):
            pattern = rest[:-1]
        else:
            tool = text
        mode = tool.lower()
        if profile.one_search and mode in MODES:
            tool = "search"
            pattern = f"{mode} **" if pattern in (None, "*") else f"{mode} {pattern}"
        return cls(text, tool, pattern, span)

    @property
    def any_argument(self) -> bool:
        """Whether every call of the tool is meant."""
        return self.pattern in (None, "*")

    @property
    def is_glob(self) -> bool:
        """Whether the tool is a glob over names, in which case counts."""
        return "*" in self.tool or "?" in self.tool

    @property
    def problem(self) -> str:
        """Why the rule matches no call, or ""."""
        if not self.tool:
            return "a rule without a tool"
        if _NO_NAME.search(self.tool):
            return "no tool has the name"
        try:
            self._argument()
            self._tools()
        except Unusable as unusable:
            return str(unusable)
        return ""

    def checked(self) -> PermissionRule:
        """Return the rule itself.

        Raises:
            A3sError: it can match no call, which the host would not say.

        """
        if self.problem:
            msg = f"`{self.text}` matches no call: {self.problem}"
            raise A3sError(Kind.RULE, msg, self.span, help=_MEND)
        return self

    def names(self, tool: str) -> bool:
        """Return whether the rule is about *tool*, whatever the arguments are."""
        return not self.problem and any(names_tool(named, tool) for named in self._tools())

    def entries(self, effect: Effect) -> tuple[Entry, ...]:
        """Return the lines that the rule becomes; none where it matches no call."""
        if self.problem:
            return ()
        place = self.span.place if self.span else None
        pattern = self._argument()
        return tuple(
            Entry(tool, effect, pattern, rule=self.text, place=place) for tool in self._tools()
        )

    def _argument(self) -> Pattern | None:
        if self.pattern is None or self.pattern == "*":
            return None
        return slashed(self.pattern)

    def _tools(self) -> tuple[str, ...]:
        if self.is_glob:
            slashed(self.tool)
            return (f"={self.tool}",)
        if self.tool.startswith("mcp__"):
            # A raw prefix: `mcp__pencil` is about `mcp__pencil2__wipe` too.
            return (f"={self.tool}:*", self.tool)
        return (self.tool,)


# What no name of a tool holds.
_NO_NAME: Final = re.compile(r"[\s()]|^=")

_MEND: Final = "write `Tool` or `Tool(pattern)` without a blank around the parentheses"


def names_tool(named: str, tool: str) -> bool:
    """Return whether the tool of a line is, or is a pattern over, *tool*."""
    if named.startswith("="):
        return names(named).matches(tool)
    return _folded(named) == _folded(tool)


def _folded(name: str) -> str:
    # Letters of ASCII alone: a Kelvin sign is no `k`.
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def lane_rule(text: str) -> Lane | None:
    """Return the lane that ``lane:query`` names; None for every other rule."""
    kind, _, name = text.partition(":")
    if kind != "lane":
        return None
    return next((lane for lane in Lane if lane.value == name), None)
