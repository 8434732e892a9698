"""What an agent may do: the cells of the matrix by class of tools, and the table by tool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from policy.analysis.reach.audit import AgentAudit
from policy.analysis.reach.privileges import ANY_OTHER, SOME, ToolAccess, tool_access
from policy.cli.report import document as doc
from policy.cli.report.terminal import clipped
from policy.cli.report.words import count, sentences
from policy.core import expressions as re
from policy.core.finding import Finding
from policy.core.values import evolve
from policy.tables.chain import READINGS

# Class of tools -> the head of its column.
CLASSES: Final[Mapping[str, str]] = sentences()["classes"]

# The cell of a class of tools that an agent may not use.
NOTHING: Final = doc.Ink("-", "dim")

# Classes of tools for which the cell "any" is a warning.
RISKY: Final = frozenset({"change", "run", "network"})

# How many patterns or names a cell shows, how many denied ones, and the length of each.
_MOST = 3
_MOST_DENIED = 1
_LONGEST = 32

# Tools that list names of files, but do not read files.
_LISTING: Final = frozenset("Glob LS glob ls list_files find_path list_directory".split())

_WORDS: Final = re.compile(r"[\w -]+")  # `working folder`


def risky_patterns(findings: Iterable[Finding]) -> set[str]:
    """Return the patterns of rules that allow a program which runs any command it is given."""
    return {
        finding.span.text.partition("(")[2].rpartition(")")[0]
        for finding in findings
        if finding.code == "rule-runs-anything" and finding.span
    }


def access_of(agent: AgentAudit, *, enforced: bool = True) -> list[ToolAccess]:
    """Return the widest rights of *agent*, by tool: as enforced, or else as declared."""
    return tool_access(agent.most[READINGS[enforced]])


def cell(kind: str, tools: Sequence[ToolAccess], risky: Collection[str] = ()) -> doc.Text:
    """Return the cell for *tools* of the class *kind*: what they allow, *risky* patterns first."""
    if kind == "other":
        return _names(tools)
    parts = dict.fromkeys(part.removeprefix("domain:") for tool in tools for part in _allowed(tool))
    allowed = sorted(parts, key=lambda part: (part == SOME, part not in risky))
    denied = dict.fromkeys(part for tool in tools[:1] for part in tool.denied)
    mark = _mark(tools)
    if not allowed:
        return doc.Ink("?", "ask") if mark else NOTHING
    within = _within(kind, allowed, denied)
    shown = [tool for tool in tools if _allowed(tool) and tool.name not in _LISTING]
    by = [tool.name for tool in shown if not {*within} <= {*tool.denied}]
    unless: list[doc.Text] = [" but ", _listed(within, _MOST_DENIED)] if within else []
    unless += [" (also those with ", _listed(by), ")"] if within and by else []
    if "any" in allowed:
        role = "warning" if kind in RISKY else "allow"
        return (doc.Ink("any", role), *unless, mark)
    roles = {part: "warning" if part in risky else "allow" for part in allowed}
    return (_listed(allowed, roles=roles), *unless, mark)


def _within(kind: str, allowed: Collection[str], denied: Collection[str]) -> Collection[str]:
    """Return those of the *denied* patterns that may overlap one of the *allowed* patterns."""
    files = kind in {"read", "change"}
    if any(wide == "any" or (files and _WORDS.fullmatch(wide)) for wide in allowed):
        return denied
    starts = tuple([wide.rstrip("*").rstrip(" :") for wide in allowed if wide.endswith("*")])
    return [each for each in denied if each.startswith(starts)]


def _mark(tools: Sequence[ToolAccess]) -> doc.Text:
    """Return the mark of a cell for calls that are asked for; "" if there are none."""
    asks = any(tool.asked or tool.otherwise == "ask" for tool in tools)
    return (" ", doc.Ink("+?", "ask")) if asks else ""


def _allowed(tool: ToolAccess) -> tuple[str, ...]:
    return ("any",) if tool.otherwise == "allow" else tool.allowed


def _names(tools: Sequence[ToolAccess]) -> doc.Text:
    """Return the cell with the names of allowed tools, those of MCP servers first."""
    everything = [tool for tool in tools if tool.name == ANY_OTHER and _allowed(tool)]
    names = sorted((tool.name for tool in tools if _allowed(tool)), key=lambda n: "__" not in n)
    mark = _mark(tools)
    if everything:
        return (doc.Ink("any", "warning"), mark)
    if not names:
        return doc.Ink("?", "ask") if mark else NOTHING
    if len(names) > _MOST or any(len(name) > _LONGEST for name in names):
        servers = sum("__" in name for name in names)
        others = len(names) - servers
        names = [f"{servers} of MCP"] if servers else []
        names += [count(others, "tool")] if others else []
    return (_listed(names, roles=dict.fromkeys(names, "allow")), mark)


def _listed(
    parts: Iterable[str], most: int = _MOST, roles: Mapping[str, str] | None = None
) -> doc.Text:
    inks = (doc.Ink(clipped(each, _LONGEST), (roles or {}).get(each, "")) for each in parts)
    return doc.joined(inks, most=most)


def access_table(tools: Iterable[ToolAccess], most: int | None) -> doc.Block:
    """Return the table of the rights of an agent; tools with the same rights share a row."""
    # A denied tool has no row, as a tool without a rule.
    shown = (
        one
        for one in tools
        if one.name == ANY_OTHER or one.allowed or one.asked or one.otherwise in {"allow", "ask"}
    )
    rows: list[tuple[doc.Text, ...]] = []
    for members in doc.grouped(shown, lambda one: evolve(one, name="")):
        first, named = members[0], [tool.name for tool in members]
        columns = {
            "strong": named,
            "allow": first.allowed,
            "ask": first.asked,
            "deny": first.denied,
        }
        cells = (
            doc.joined((doc.Ink(part, role) for part in parts), most=most)
            for role, parts in columns.items()
        )
        rows.append((*cells, doc.Ink(first.otherwise or "not available", first.otherwise or "dim")))
    return doc.Grid(("tool", "allowed", "asked", "denied", "otherwise"), tuple(rows))
