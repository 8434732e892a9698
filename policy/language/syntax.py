"""The syntax tree: matchers, rules, and the statements of our own notation, as written."""

from __future__ import annotations

from re import escape, sub

from policy.core import expressions as re
from policy.core import values
from policy.core.effect import Effect
from policy.core.source import Span


def _span() -> Span:
    """Declare the attribute for the place of a node."""
    field: Span = values.field(eq=False, repr=False, kw_only=True)
    return field


# --- matchers -------------------------------------------------------------


@values.frozen
class Text:
    """``git diff *`` in ``Bash(git diff *)``: any other specifier."""

    text: str


@values.frozen
class Parameter:
    """``model:opus``: a name and a value. Some hosts read it as text, such as ``git:*``."""

    name: str
    value: str
    text: str = values.field(eq=False)


@values.frozen
class Agents:
    """``explore, reviewer`` in ``Task(explore, reviewer)`` or ``Agent(...)``."""

    names: tuple[str, ...]
    text: str = values.field(eq=False)


Specifier = Text | Parameter | Agents

_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:[ \t]*(.*)", re.DOTALL)
_AGENT = r"[\w.:/*-]+(?: +[\w.:/*-]+)*"
_AGENTS = re.compile(rf"[ \t]*{_AGENT}[ \t]*(?:,[ \t]*{_AGENT}[ \t]*)*")


def specifier(tool: str, text: str) -> Specifier:
    """Return the specifier for *text*, which is in the parentheses behind *tool*."""
    if tool in {"Task", "Agent"}:
        listed = text.split(",") if _AGENTS.fullmatch(text) else []
        names = tuple(name.strip(" \t") for name in listed)
        # `Agent(model:opus)` is a parameter, `Agent(team:a, team:b)` two agents.
        if len(names) > 1 or (names and not _PARAMETER.fullmatch(text)):
            return Agents(names, text)
    if parameter := _PARAMETER.fullmatch(text):
        return Parameter(parameter[1], parameter[2], text)
    return Text(text)


@values.frozen
class Matcher:
    """``Tool``, ``Tool()`` or ``Tool(specifier)``; the name of the tool may contain ``*``."""

    tool: str
    specifier: Specifier | None = None
    span: Span = _span()

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier.text})"


# --- rules and policies -----------------------------------------------------


@values.frozen
class Rule:
    """An effect and a matcher."""

    effect: Effect
    matcher: Matcher
    span: Span = _span()


@values.frozen
class Policy:
    """The policy of one agent in our notation; None for a statement that it does not have."""

    name: str
    rules: tuple[Rule, ...] = ()  # in the order written
    delegate: tuple[Rule, ...] | None = None  # the rules about what it may hand on
    inherit: bool = False  # whether a call without a rule gets what the parent may delegate
    trust: str | None = None  # its level of trust
    depth: int | None = None  # how many levels of agents it may start below it
    turns: int | None = None  # how many turns it may take
    span: Span | None = values.field(default=None, eq=False, repr=False, kw_only=True)
    depth_span: Span | None = values.field(default=None, eq=False, repr=False, kw_only=True)


# --- statements of our own notation ----------------------------------------


@values.frozen
class Comment:
    """``# text``; *trailing* when it follows a statement on its line."""

    text: str
    trailing: bool = False
    span: Span = _span()


# The comments in a list of several lines, each with the number of entries before it. A *trailing*
# comment is on the line of the last of these entries.
Comments = tuple[tuple[int, Comment], ...]


@values.frozen
class Grant:
    """``allow Read, Grep``: one effect for several matchers."""

    effect: Effect
    matchers: tuple[Matcher, ...]
    comments: Comments = ()
    span: Span = _span()


@values.frozen
class Expect:
    """``expect deny Bash(git push)``: calls, and the effect they get by the rules right above."""

    effect: Effect
    matchers: tuple[Matcher, ...]
    comments: Comments = ()
    span: Span = _span()


@values.frozen
class Delegate:
    """``delegate Read(docs/**)``: what the agent may hand on, in place of its own rights."""

    matchers: tuple[Matcher, ...]
    comments: Comments = ()
    span: Span = _span()


@values.frozen
class Inherit:
    """``inherit``: a call without a rule here gets what the parent may delegate."""

    span: Span = _span()


@values.frozen
class Trust:
    """``trust verified``."""

    level: str
    span: Span = _span()


@values.frozen
class Limit:
    """``limit depth 2, turns 20``: bounds by name, in the order written."""

    bounds: tuple[tuple[str, int], ...]
    comments: Comments = ()
    span: Span = _span()


Statement = Grant | Expect | Delegate | Inherit | Trust | Limit | Comment


@values.frozen
class Agent:
    """``agent main { … }``."""

    name: str
    body: tuple[Statement, ...]
    span: Span = _span()


@values.frozen
class Root:
    """``root main``: the agent with which chains start."""

    name: str
    span: Span = _span()


@values.frozen
class Test:
    """``test main > reviewer { … }``: calls of that chain, and the effects that they must get."""

    __test__ = False

    chain: tuple[str, ...]
    body: tuple[Grant | Comment, ...]
    span: Span = _span()


@values.frozen
class Never:
    """``never ** > explore: Edit, Bash``: no chain of this shape may make such a call."""

    chain: tuple[str, ...]
    matchers: tuple[Matcher, ...]
    comments: Comments = ()
    span: Span = _span()


@values.frozen
class Document:
    """A file of our own notation."""

    body: tuple[Agent | Root | Test | Never | Comment, ...]
    span: Span = _span()


_TOOL = re.compile(r"[A-Za-z0-9_.:*-]+")
_NAME = re.compile(r"[\w.@/-]+(?::[\w.@/-]+)*")


def is_tool(text: str) -> bool:
    """Return whether *text* is a valid tool of a matcher."""
    return _TOOL.fullmatch(text) is not None


def is_bare_name(text: str) -> bool:
    """Return whether *text* is a name that needs no quotes."""
    return _NAME.fullmatch(text) is not None


def unescaped(text: str, escapes: str) -> str:
    r"""Return *text* without the backslashes of *escapes*, ``\\`` and ``\n``."""
    if "\\" not in text:
        return text
    return sub(
        rf"\\([{escape(escapes)}n\\])", lambda match: "\n" if match[1] == "n" else match[1], text
    )
