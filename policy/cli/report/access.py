"""What an agent may do, tool by tool and in the classes of what tools do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from policy.analysis.reach.audit import AgentAudit
from policy.analysis.reach.privileges import AtMost, Privilege
from policy.cli.report import document as doc
from policy.cli.report.words import relative
from policy.compare.tables import OTHER_TOOL
from policy.core import expressions as re
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.core.values import frozen

# The classes of tools, and what their columns are called.
CLASSES: Final = {
    "read": "read files",
    "change": "change files",
    "run": "run commands",
    "network": "network",
    "start": "start agents",
    "other": "other tools",
}

# The name for all tools that no rule names.
ANY_OTHER: Final = "any other tool"

# Calls that no rule has words for.
_SOME: Final = "some"

_GRANTED: Final = frozenset({"allow", "ask"})

# The cell of a class of which an agent may do nothing.
NOTHING: Final = doc.Ink("-", "dim")

# Patterns and names in one cell.
_MOST = 3

# A rule: its tool, and its specifier or, of a built-in rule, why the host has it.
_WORDS: Final = re.compile(r"[\w -]+")  # `working folder`
_RULE: Final = re.compile(r"[^\s()]+( ?)\((.*)\)", re.DOTALL)


@frozen
class ToolAccess:
    """What some calls of a tool get, by patterns of their argument.

    Attributes:
        name: of the tool, or a pattern over names.
        allowed: what runs without confirmation.
        asked: what must be confirmed.
        denied: what is denied by a rule.
        otherwise: what all other calls get; "" where the agent does not have the tool.

    """

    name: str
    allowed: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    otherwise: str = ""


def access_of(agent: AgentAudit, *, enforced: bool = True) -> list[ToolAccess]:
    """Return what *agent* may do at most, as its host enforces it or as its files declare it."""
    positions = agent.enforced if enforced else agent.attenuated
    return tool_access(agent.most[enforced], *(each.privileges for each in positions))


def tool_access(most: Iterable[AtMost], *positions: Iterable[Privilege]) -> list[ToolAccess]:
    """Return what an agent may do at most; *positions* are its privileges by each chain."""
    privileges = [privilege for position in positions for privilege in position]
    written = {because.rule for privilege in privileges for because in privilege.rules}
    first = {privilege.tool: privilege for privilege in reversed(privileges)}
    return [_tool(each, first.get(each.tool), written) for each in most]


def _tool(most: AtMost, privilege: Privilege | None, written: set[str]) -> ToolAccess:
    rest = most.grants[-1]
    otherwise = "" if rest.reason is Reason.UNAVAILABLE else rest.effect.value
    found: dict[Effect, dict[str, None]] = {effect: {} for effect in Effect}
    for grant in most.grants[:-1]:
        # What two rules share has no words of its own.
        found[grant.effect][_specifier(grant.rule) if grant.rule in written else _SOME] = None
    # There are too many patterns to be taken together: the rules of the first chain.
    if most.why and len(most.grants) == 1 and privilege is not None:
        for because in _rules(privilege):
            found[because.effect][_specifier(because.rule)] = None
    name = ANY_OTHER if most.tool == OTHER_TOOL else most.glob or most.tool
    allowed, asked, denied = (
        tuple(found[effect]) for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY)
    )
    return ToolAccess(name, allowed, asked, denied, otherwise)


def _rules(privilege: Privilege) -> list[Because]:
    """Return the rules of a tool; of those that allow, what no other link refuses."""
    allowing = [
        {because.rule for because in layer.rules if because.effect is Effect.ALLOW}
        for layer in privilege.layers
        if layer.otherwise is not Effect.ALLOW
    ]
    return [
        because
        for because in privilege.rules
        if because.effect is not Effect.ALLOW or all(because.rule in some for some in allowing)
    ]


def _specifier(rule: str) -> str:
    """Return what a rule says of the argument, or why the host has it."""
    found = _RULE.fullmatch(rule)
    return relative(found[2]) if found else "any"


# --- the classes of what tools do ----------------------------------------------------------


def by_class(
    tools: Iterable[ToolAccess], classes: Mapping[str, tuple[str, ...]]
) -> dict[str, list[ToolAccess]]:
    """Return class, a key of `CLASSES` -> its tools, the most ordinary first.

    Args:
        tools: what an agent may do with each.
        classes: class -> tools, as the host has them.

    """
    found: dict[str, list[ToolAccess]] = {kind: [] for kind in CLASSES}
    for tool in tools:
        kind = next((each for each, names in classes.items() if tool.name in names), "other")
        found[kind].append(tool)
    for kind, members in found.items():
        order = classes.get(kind, ())
        members.sort(key=lambda tool: order.index(tool.name) if tool.name in order else 0)
    # Of a host whose rules name no tool of a class, any other tool may be of it.
    anything = [tool for tool in found["other"] if tool.name == ANY_OTHER]
    return {kind: members or anything for kind, members in found.items()}


def cell(kind: str, tools: Sequence[ToolAccess]) -> doc.Text:
    """Return what *tools* of one class do without confirmation, in a few words."""
    if kind == "other":
        return _names(tools)
    parts = dict.fromkeys(part for tool in tools for part in _allowed(tool))
    allowed = sorted(parts, key=_SOME.__eq__)
    denied = dict.fromkeys(part for tool in tools[:1] for part in tool.denied)
    mark = _mark(tools)
    if not allowed:
        return doc.Ink("?", "ask") if mark else NOTHING
    within = [each for each in denied if any(_holds(kind, wide, each) for wide in allowed)]
    unless = f" but {_listed(within)}" if within else ""
    if "any" in allowed:
        risky = kind in {"change", "run", "network"}
        return (doc.Ink(f"any{unless}", "warning" if risky else "allow"), mark)
    return (doc.Ink(_listed(allowed) + unless, "allow"), mark)


def _holds(kind: str, wide: str, pattern: str) -> bool:
    """Return whether what is *wide* may hold a *pattern*: by its start, or in words of a host."""
    if wide == "any" or (kind in {"read", "change"} and _WORDS.fullmatch(wide)):
        return True
    return wide.endswith("*") and pattern.startswith(wide.rstrip("*").rstrip(" :"))


def _mark(tools: Sequence[ToolAccess]) -> doc.Text:
    """Return that more is asked for; "" where nothing is."""
    asks = any(tool.asked or tool.otherwise == "ask" for tool in tools)
    return (" ", doc.Ink("+?", "ask")) if asks else ""


def _allowed(tool: ToolAccess) -> tuple[str, ...]:
    return ("any",) if tool.otherwise == "allow" else tool.allowed


def _names(tools: Sequence[ToolAccess]) -> doc.Text:
    """Return the tools by name, those with a pattern over names first."""
    everything = [tool for tool in tools if tool.name == ANY_OTHER and _allowed(tool)]
    names = sorted((tool.name for tool in tools if _allowed(tool)), key=lambda n: "__" not in n)
    mark = _mark(tools)
    if everything:
        return (doc.Ink("any", "warning"), mark)
    if not names:
        return doc.Ink("?", "ask") if mark else NOTHING
    shown = _listed(names) if len(names) <= _MOST else f"{len(names)} tools"
    return (doc.Ink(shown, "allow"), mark)


def _listed(parts: Iterable[str]) -> str:
    shown = [*parts]
    left = len(shown) - _MOST
    return ", ".join(shown if left <= 0 else [*shown[:_MOST], f"{left} more"])


# --- all tools of an agent -----------------------------------------------------------------


def access_table(tools: Iterable[ToolAccess], most: int | None) -> doc.Block:
    """Return a row for the tools that are alike."""
    alike: dict[object, list[ToolAccess]] = {}
    for tool in tools:
        key = tool.allowed, tool.asked, tool.denied, tool.otherwise
        # What is denied as any other tool is needs no line.
        if tool.name == ANY_OTHER or tool.allowed or tool.asked or tool.otherwise in _GRANTED:
            alike.setdefault(key, []).append(tool)
    rows = tuple(
        (
            doc.joined((doc.Ink(tool.name, "strong") for tool in members), most=most),
            *(
                doc.joined((doc.Ink(part, role) for part in parts), most=most)
                for role, parts in (
                    ("allow", members[0].allowed),
                    ("ask", members[0].asked),
                    ("deny", members[0].denied),
                )
            ),
            doc.Ink(members[0].otherwise or "not available", members[0].otherwise or "dim"),
        )
        for members in alike.values()
    )
    return doc.Grid(("tool", "allowed", "asked", "denied", "otherwise"), rows)
