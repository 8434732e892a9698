"""One rule of a settings file: text to the lines of a table, and what is wrong with it.

What a rule matches depends on its tool, its list and the scope it stands in.
Everything here is as Claude Code 2.1.329 was observed to decide. A rule that
the host skips or never matches gives no line and a finding.
"""

from __future__ import annotations

import re
from typing import Final

from policy.effect import Effect
from policy.errors import PolicyError
from policy.finding import Finding, Severity
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.lines import Line, Lines, RuleText, Scope
from policy.hosts.claude.restrictions import is_ambiguous
from policy.hosts.claude.specifiers import PARAMETER, read_parameter, read_specifier, unread
from policy.language.parse import parse_matcher
from policy.limits import PATTERN_CHARACTERS
from policy.patterns import notations
from policy.patterns.notations import is_glob, names
from policy.patterns.pattern import Pattern
from policy.source import Span

__all__ = ["read_rule"]


def read_rule(text: str, span: Span, effect: Effect, scope: Scope) -> Lines:
    """Return what one rule comes to in the list of *effect*.

    Args:
        text: the rule as its file says it.
        span: where it stands.
        effect: of the list.
        scope: of the file.

    """
    try:
        matcher = parse_matcher(text, span)
    except PolicyError as error:
        whole, closed, behind = text.rpartition(")")
        if closed and behind and not scope.behaves.text_behind_refused:
            return read_rule(whole + closed, span, effect, scope)
        if len(text) > PATTERN_CHARACTERS and effect is not Effect.ALLOW:
            found = Finding.of(error, "malformed-rule", consequence=_WIDENED)
            return read_rule(_wider(text), span, effect, scope) + Lines((), found)
        code = "unknown-tool" if _WORDS.fullmatch(text) else "malformed-rule"
        return Lines((), Finding.of(error, code, consequence=_SKIPPED))
    if "\0" in text:
        nul = PolicyError("expected a rule, found a NUL in it, which no call can hold", span)
        if effect is Effect.ALLOW:
            return Lines((), Finding.of(nul, "malformed-rule", consequence=_SKIPPED))
        found = Finding.of(nul, "malformed-rule", consequence=_WIDENED)
        return read_rule(_wider(text), span, effect, scope) + Lines((), found)
    return _read(RuleText(text, matcher, span, effect, scope))


# A rule that cannot be read here is taken for more than it says.
_WIDENED: Final = "it is taken for a rule about every call of its tool"


def _wider(text: str) -> str:
    """Return a short rule that speaks of every call that *text* may speak of."""
    tool = text.partition("(")[0]
    if len(tool) > PATTERN_CHARACTERS:
        return "*"
    # What commands do to files is spoken of by rules about paths, not by those about tools.
    return f"{tool}(//**)" if tool in known.FILE_TOOLS else tool


_SKIPPED: Final = "the host skips the rule; nothing it says is in force"

# What the host shows a tool as, e.g. `Stop Task`, instead of its name.
_WORDS: Final = re.compile(r"[A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)+")


_GIVEN_EMPTY: Final = frozenset({"Bash", "WebFetch", "WebSearch"})


def _may_be_empty(rule: RuleText) -> bool:
    """Return whether it is a flag that takes a tool away or gives it, with empty parentheses."""
    if not rule.scope.flag:
        return False
    if rule.effect is Effect.ALLOW:
        return rule.matcher.tool in _GIVEN_EMPTY and rule.text.endswith("()")
    return rule.effect is Effect.DENY and not rule.matcher.tool.startswith("mcp")


_LITERAL_SERVER: Final = re.compile(r"mcp__[^*]+?__")
_WHOLE_SERVER: Final = re.compile(r"mcp__[^*]+?__\*")


def _read(rule: RuleText) -> Lines:
    tool = rule.matcher.tool
    specifier = rule.matcher.specifier
    content = None if specifier is None else specifier.text
    if content == "" and _may_be_empty(rule):
        content = None
    if content is not None and not content.strip() and not _may_be_empty(rule):
        found = rule.skipped(
            "empty-specifier", "has an empty specifier", f"write `{tool}` for every call"
        )
        # Of blanks alone it speaks of all that is monitored (2.1.329, observed).
        monitored = tool == "Bash" and content and rule.effect is not Effect.ALLOW
        line = Line(rule.entry("Monitor", reason=rule.removal))
        return found + Lines((line,)) if monitored else found
    if tool.startswith("mcp__") and content is not None:
        return _call_of_server(rule, tool, content)
    if content is not None and not rule.scope.flag and is_ambiguous(content):
        return rule.skipped(
            "malformed-rule",
            "has an escaped parenthesis beside one that is not",
            "escape parentheses in pairs, or write `[(]`",
        )
    if "*" in tool:
        return _glob(rule, tool, content)
    if tool.startswith("mcp__"):
        return _allowed_by_server(rule, tool) or _server(rule, tool)
    if not tool[:1].isupper():
        return _unknown(rule, tool)
    return _built_in(rule, tool, content)


def _built_in(rule: RuleText, tool: str, content: str | None) -> Lines:
    name = known.ALIASES.get(tool, tool)
    if tool == "Agent" and not rule.scope.behaves.tool_is_agent:
        return _unknown(rule, tool)
    if content is None or (_is_every(name, content) and rule.scope.behaves.star_is_every):
        if name not in known.NAMES and name != known.ENTER:
            return _unknown(rule, tool)
        below = {"Read", *known.FILE_TOOLS["Edit"]}
        if name in below and content is not None and rule.effect is Effect.ALLOW:
            return rule.lines([name], notations.paths("**", rule.scope.anchors.cwd, fold=True))
        return _whole(rule, name)
    found = read_specifier(rule, name, content)
    if found is not None:
        return found
    if name not in known.NAMES:
        return _unknown(rule, tool)
    return rule.skipped(
        "specifier-not-accepted",
        f"has a specifier, which `{name}` does not take",
        f"write `{name}`",
    )


def _is_every(tool: str, content: str) -> bool:
    # For a shell a star with blanks behind it is a pattern like others.
    return (content if tool in _SHELLS else content.rstrip(" ")) == "*"


_SHELLS: Final = ("Bash", "Monitor", "PowerShell")


def _call_of_server(rule: RuleText, tool: str, content: str) -> Lines:
    parameter = PARAMETER.fullmatch(content)
    if rule.scope.flag and rule.effect is Effect.DENY and parameter and "*" not in tool:
        return read_parameter(rule, tool, parameter[1], parameter[2].strip())
    return rule.skipped(
        "mcp-specifier",
        "has a specifier, which rules for MCP tools cannot have",
        f"write `{tool}`",
    )


def _glob(rule: RuleText, tool: str, content: str | None) -> Lines:
    if content not in (None, "*"):
        return rule.skipped("glob-specifier", "has a specifier behind a glob of tools")
    behaves = rule.scope.behaves
    if not rule.scope.flag and "_" not in tool and tool[0].islower():
        return rule.skipped(
            "malformed-rule",
            "names tools by a glob that begins in lower case, without `_`, as no tool does",
            "write `mcp__*` for the tools of servers",
        )
    if _WHOLE_SERVER.fullmatch(tool):
        if not behaves.server_stars:
            return rule.skipped("tool-glob-too-new", "ends in a star, which came with 2.0.70")
    elif rule.effect is not Effect.ALLOW and not behaves.tool_globs:
        return rule.skipped("tool-glob-too-new", "names tools by a glob, which came with 2.1.166")
    if rule.effect is Effect.ALLOW and not _LITERAL_SERVER.match(tool):
        return rule.skipped(
            "allow-glob-ignored",
            "allows tools by a glob, which the host ignores in `allow`",
            "name the tools, or a server as in `mcp__github__*`",
        )
    return _allowed_by_server(rule, tool) or _whole(rule, tool)


def _allowed_by_server(rule: RuleText, tool: str) -> Lines | None:
    """Return the tools that a rule allows where their names do not tell whose they are.

    Of a server `x__y` the tool `z` is called as `y__z` of the server `x` is, and what allows
    all of `x` allows nothing of `x__y`. None where no server has such a name.
    """
    servers = rule.scope.servers or {}
    if rule.effect is not Effect.ALLOW or not any("__" in server for server in servers):
        return None
    found = []
    for server, offered in servers.items():
        whole, behind = f"mcp__{server}", tool.removeprefix(f"mcp__{server}__")
        alike = Pattern.text("*" if tool == whole and "__" not in server else behind)
        if behind != tool or tool == whole:
            found += [f"{whole}__{name}" for name in offered if alike.matches(name)]
    return Lines(tuple(Line(rule.entry(name)) for name in found))


def _server(rule: RuleText, tool: str) -> Lines:
    server, _, name = tool.removeprefix("mcp__").partition("__")
    if server and not name and not tool.endswith("_"):
        return _whole(rule, tool + "__*") + _unverified(rule, tool)
    return _whole(rule, tool) + _unverified(rule, tool)


def _unverified(rule: RuleText, tool: str) -> Lines:
    # Nothing in the files says which tools a server offers.
    if rule.effect is Effect.ALLOW:
        return Lines()
    message = f"nothing here tells whether there is a tool `{tool}`, and the host does not check"
    return rule.finding("unknown-tool-unreported", message, Severity.NOTE)


def _unknown(rule: RuleText, tool: str) -> Lines:
    unreported = rule.effect is Effect.ALLOW or "_" in tool or tool in known.REMOVED
    code = "unknown-tool-unreported" if unreported else "unknown-tool"
    entry = Line(rule.entry(tool, reason=rule.removal))
    found = rule.finding(
        code, f"there is no tool `{tool}`", help="tool names are written as in `Bash`"
    )
    return Lines((entry,) if rule.matcher.specifier is None else ()) + found


def _whole(rule: RuleText, tool: str) -> Lines:
    lines = [Line(rule.entry(tool, reason=rule.removal))]
    # As a flag it takes the tool away, and says nothing of files but that some are denied.
    if _speaks_of("Read", tool) and rule.effect is Effect.DENY and not rule.scope.flag:
        lines += [Line(rule.entry(name)) for name in (*unread(rule), known.ANY_READ)]
    elif tool == "Read" and rule.effect is Effect.DENY:
        lines.append(Line(rule.entry(known.ANY_READ)))
    if rule.effect is not Effect.ALLOW and _speaks_of("Bash", tool):
        lines.append(Line(rule.entry("Monitor", reason=rule.removal)))
    return Lines(tuple(lines))


def _speaks_of(name: str, tool: str) -> bool:
    return names(tool).matches(name) if is_glob(tool) else tool == name
