"""`PermissionRule`: the language of rules, which no text is a mistake in.

A rule is a tool, or a tool and a pattern in parentheses. What is malformed
becomes the name of a tool that there is none of, so it does nothing; a rule
that was to deny is then a hole. `problem` says so, and a strict reader refuses.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from policy import limits
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
    def is_too_long(self) -> bool:
        """Whether what the rule matches is not told here, though the host would."""
        return len(self.text) > _LONGEST and not self._misnamed

    @property
    def _misnamed(self) -> str:
        if not self.tool:
            return "a rule without a tool"
        return "no tool has the name" if _NO_NAME.search(self.tool) else ""

    @property
    def problem(self) -> str:
        """Why the rule matches no call, or ""."""
        if self._misnamed or self.is_too_long:
            return self._misnamed
        try:
            self._argument()
            self._tools()
        except Unusable as unusable:
            return str(unusable)
        return ""

    def checked(self) -> PermissionRule:
        """Return the rule itself.

        Raises:
            A3sError: it can match no call, which the host would not say, or is too long.

        """
        if self.is_too_long:
            msg = f"a rule has at most {_LONGEST:,} characters"
            raise A3sError(Kind.RULE, msg, self.span)
        if self.problem:
            msg = f"`{self.text}` matches no call: {self.problem}"
            raise A3sError(Kind.RULE, msg, self.span, help=_MEND)
        return self

    def names(self, tool: str) -> bool:
        """Return whether the rule is about *tool*, whatever the arguments are."""
        return not self.problem and any(names_tool(named, tool) for named in self._tools())

    def entries(self, effect: Effect) -> tuple[Entry, ...]:
        """Return the lines that the rule becomes; none where it matches no call.

        A rule that is too long grants nothing; one that was to deny or to ask denies
        every call of its tool, since it might have spoken of that call.
        """
        if self.problem or (self.is_too_long and effect is Effect.ALLOW):
            return ()
        place = self.span.place if self.span else None
        if self.is_too_long:
            return tuple(
                Entry(tool, Effect.DENY, rule=self.text, place=place) for tool in self._tools()
            )
        pattern = self._argument()
        return tuple(
            Entry(tool, effect, pattern, rule=self.text, place=place) for tool in self._tools()
        )

    def _argument(self) -> Pattern | None:
        if self.pattern is None or self.pattern == "*":
            return None
        return slashed(self.pattern)

    def _tools(self) -> tuple[str, ...]:
        if len(self.tool) > _LONGEST:
            return ("*",)
        if self.is_glob:
            slashed(self.tool)
            return (f"={self.tool}",)
        if self.tool.startswith("mcp__"):
            # A raw prefix: `mcp__pencil` is about `mcp__pencil2__wipe` too.
            return (f"={self.tool}:*", self.tool)
        return (self.tool,)


# As long as what is matched may be, with the `:*` that a prefix gets.
_LONGEST: Final = limits.PATTERN_CHARACTERS - len(":*")

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
