"""The scripts of A3S: which tools they may call, and which sources the host runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.source import place_of
from policy.hosts.a3s.agents import ScriptToolSpec, excluded
from policy.hosts.a3s.rules import MODES, NEWEST, A3sProfile, dialect, refused
from policy.patterns.notations import slashed
from policy.tables.ruleset import Entry, RuleSet


def script_rules(
    spec: ScriptToolSpec, profile: A3sProfile = NEWEST, *, without: Collection[str] = ()
) -> RuleSet:
    """Return the list of a script as a rule set over exact names, without the tools *without*."""
    place = place_of(spec.list_span)
    entries = [_ONE_TASK] if profile.one_search else []
    listed = spec.effective_tools(profile)
    if listed is None:
        entries += (Entry(f"={tool}", Effect.DENY) for tool in sorted(excluded(profile)))
        return RuleSet(tuple(entries), Effect.ALLOW, dialect(profile))
    for tool in listed:
        # No tool is called `*` or `Bash(ls:*)`; a name that is too long grants nothing.
        is_name = 0 < len(tool) < limits.PATTERN_CHARACTERS and not set(tool) & set("*?()\\ ")
        if is_name and tool not in without:
            entries.append(Entry(f"={tool}", Effect.ALLOW, rule=tool, place=place))
        if tool in MODES and profile.one_search:
            # A mode of `search` counts as the tool that it replaced.
            mode = slashed(f"{tool} :*")
            entries.append(Entry("=search", Effect.ALLOW, mode, rule=tool, place=place))
    return RuleSet(tuple(entries), Effect.DENY, dialect(profile), Reason.UNAVAILABLE)


# A script starts one agent a call. Keys are sorted where arguments are compared as JSON, so
# `agent` is the first key of every task; within a text its quote would be escaped.
_ONE_TASK: Final = Entry(
    "=task", Effect.DENY, slashed('**},{"agent":**'), rule="a script starts one agent a call"
)

SOURCE_BYTES: Final = 192 * 1024

# Texts that the host refuses anywhere in a source, also in strings.
_FORBIDDEN: Final = "import |import(|eval(|Function(|Worker(|WebSocket|fetch(".split("|")

# The host searches for this text, so `function runner` is accepted.
_ENTRY: Final = "function run"


def check_source(source: str) -> None:
    """Raise HostError for a source that the host does not run."""
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > SOURCE_BYTES:
        raise refused("script_source_too_large", size=size, most=SOURCE_BYTES)
    for text in _FORBIDDEN:
        if text in source:
            raise refused("script_source_forbidden", text=text.strip())
    if _ENTRY not in source:
        raise refused("script_no_entrypoint")
