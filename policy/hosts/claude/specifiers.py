"""What stands between the parentheses of a rule, tool by tool.

As Claude Code 2.1.329 was observed to read it. A specifier that no call can
match gives no line and a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from policy.effect import Effect
from policy.finding import Severity
from policy.hosts.absolute import looks_absolute
from policy.hosts.claude.command_rules import command_lines, power_shell_lines
from policy.hosts.claude.data import tools as known
from policy.hosts.claude.globs import Negation
from policy.hosts.claude.lines import Line, Lines, RuleText
from policy.hosts.claude.paths import path_patterns
from policy.patterns import notations
from policy.patterns.pattern import Kind, Pattern
from policy.patterns.tokens import Gap, OneOf, Token
from policy.rows.entry import Form

__all__ = ["PARAMETER", "agent_pattern", "read_parameter", "read_specifier", "unread"]

PARAMETER: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*(.*)", re.DOTALL)


def read_specifier(rule: RuleText, tool: str, content: str) -> Lines | None:
    """Return what ``tool(content)`` comes to; None for a tool that has no specifiers."""
    parameter = PARAMETER.fullmatch(content)
    if (
        parameter
        and parameter[1] == known.PRIMARY.get(tool)
        and not (tool == "Bash" and content == "command:*")  # the program of that name
    ):
        return rule.skipped(
            "primary-field-param",
            f"speaks of `{parameter[1]}`, which is what `{tool}(...)` itself speaks of",
            f"write `{tool}({parameter[2]})`",
        )
    of_files = tool in _DEAD or tool in known.FILE_TOOLS
    if of_files and ":*" in content and rule.effect is not Effect.ALLOW and not rule.scope.flag:
        if tool not in _DEAD:
            return rule.skipped(
                "dead-path-rule",
                "has a `:*`, with which the host takes no rule about files from settings",
                f"write `{tool}({content.partition(':*')[0]}*)`",
            )
    elif parameter and _has_parameter(rule, tool, parameter[1]):
        own = _own(rule, tool, content)
        if tool == "Bash" and content.endswith(":*") and not _may_have_parameters(rule):
            return own  # it is the name of a program
        found = read_parameter(rule, tool, parameter[1], parameter[2].strip())
        # A rule speaks of a command of that name as well, and where it denies or asks of a file.
        return found + own if tool == "Bash" or rule.effect is not Effect.ALLOW else found
    if tool in _DEAD:
        return rule.skipped(
            "dead-file-rule",
            f"is never consulted: files are governed by `{_DEAD[tool]}(...)` rules",
            f"write `{_DEAD[tool]}({content})`",
        )
    if tool == "Monitor":
        return rule.skipped(
            "monitor-rule-ignored",
            "is never consulted: what is monitored is governed by `Bash(...)` rules",
            f"write `Bash({content})`",
        )
    if tool == "PowerShell":
        return power_shell_lines(rule, content)
    if tool == "Bash" or tool in known.FILE_TOOLS:
        return _own(rule, tool, content)
    reader = _READERS.get(tool)
    return reader(rule, content) if reader else None


def _own(rule: RuleText, tool: str, content: str) -> Lines:
    """Return what a rule says of the commands, or of the files, that *content* spells."""
    if tool == "Bash":
        return command_lines(rule, content)
    return _path(rule, tool, content) if tool in known.FILE_TOOLS else Lines()


def _may_have_parameters(rule: RuleText) -> bool:
    return rule.effect is not Effect.ALLOW and rule.scope.behaves.parameters


def _has_parameter(rule: RuleText, tool: str, name: str) -> bool:
    if tool == "WebFetch":  # rules about which settings have for domains alone
        return rule.scope.flag and rule.effect is Effect.DENY and name == "prompt"
    # A tool without specifiers of its own takes those of any parameter.
    if tool in known.NAMES and tool not in known.SPECIFIED and tool not in known.PARAMETERS:
        return True
    return name in known.PARAMETERS.get(tool, ())


def read_parameter(rule: RuleText, tool: str, name: str, value: str) -> Lines:
    """Return what ``tool(name:value)`` comes to."""
    if rule.effect is Effect.ALLOW:
        return rule.skipped(
            "param-in-allow",
            f"allows by the parameter `{name}`, which only `deny` and `ask` can",
        )
    if not rule.scope.behaves.parameters:
        return rule.skipped("param-too-new", "speaks of a parameter, which came with 2.1.178")
    if tool == "WebSearch" and "*" in value and not rule.scope.flag:
        return rule.skipped(
            "specifier-not-accepted",
            "has a star, with which the host takes no rule about searches from settings",
        )
    values = [value]
    if (tool, name, rule.effect) == ("Skill", "skill", Effect.DENY) and not value.startswith("/"):
        if "*" not in value:
            return _skill(rule, value)
        values.append("/" + value)
    patterns = [notations.single(text) for text in values]
    found = Lines(tuple(Line(rule.entry(tool, pattern, name)) for pattern in patterns))
    assumed = known.ASSUMED.get((tool, name))
    if assumed is not None and any(pattern.matches(assumed) for pattern in patterns):
        # It speaks of calls that do not say it too, and so of more than can be told here.
        return Lines((Line(rule.entry(tool)),)) + found
    return found


def _path(rule: RuleText, tool: str, content: str) -> Lines:
    try:
        anywhere = not rule.scope.behaves.folder_in_place
        effect = Effect.DENY if anywhere else rule.effect
        patterns = path_patterns(content, rule.scope.anchors, effect)
    except Negation:
        if rule.effect is Effect.ALLOW:
            return rule.skipped("negation-in-allow", "is a negation, which `allow` has not")
        return _counted(rule, tool)
    except notations.Unusable as unusable:
        dead = rule.skipped("dead-path-rule", f"matches no file: {unusable}")
        return _counted(rule, tool) + dead
    findings = Lines()
    if content.startswith("/") and looks_absolute(content):
        findings = rule.finding(
            "looks-absolute",
            "a path with one slash is relative to the folder of the settings",
            help=f"write `{tool}(/{content})` for the root of the file system",
        )
    form = Form.WITHIN if content.endswith("**") else Form.PLAIN
    lines = rule.lines(_governed(rule, tool), patterns, form=form) + findings
    if (tool, rule.effect) == ("Edit", Effect.ALLOW):
        lines += rule.lines(known.FILE_TOOLS["Read"], patterns, form=Form.LENT)
    return lines


def _counted(rule: RuleText, tool: str) -> Lines:
    """Return what a rule comes to that matches no file: it counts as one that denies reads."""
    if (tool, rule.effect) != ("Read", Effect.DENY):
        return Lines()
    return rule.lines([known.ANY_READ], [_NO_FILE])


_NO_FILE: Final = Pattern.exactly("", Kind.PATH)


def unread(rule: RuleText) -> tuple[str, ...]:
    """Return the tools that may not edit or write what a rule keeps from being read."""
    behaves = rule.scope.behaves
    names = ("Edit", behaves.read_blocks_edit), ("Write", behaves.read_blocks_write)
    return tuple(name for name, blocked in names if blocked)


def _governed(rule: RuleText, tool: str) -> tuple[str, ...]:
    # What commands do to files is denied and allowed by rules about files, but
    # never asked for.
    tools = known.FILE_TOOLS
    match tool, rule.effect:
        case "Read", Effect.DENY:
            return (*known.READING, *unread(rule))
        case _, Effect.ASK:
            return tools[tool]
        case "Read", _:
            return known.READING
        case _:
            return known.EDITING


# However many dots stand at the end of a name, they are no part of it.
_FINAL_DOTS: Final = re.compile(r"(?<=[^*.])\.+\Z")


_BRACKETS: Final = frozenset("[]")


def _host(rule: RuleText, content: str) -> Lines:
    if not content.startswith("domain:"):
        return rule.skipped(
            "unprefixed-webfetch-specifier",
            "names no domain",
            f"write `WebFetch(domain:{content.removeprefix('https://').split('/')[0]})`",
        )
    if "*" in content and not rule.scope.behaves.host_wildcards:
        return rule.skipped("dead-host-rule", "has a star, which came with 2.1.172")
    if rule.effect is Effect.ALLOW and "*" in content and not _BRACKETS.isdisjoint(content):
        return rule.skipped("dead-host-rule", "has a star beside an address in brackets")
    try:
        patterns = notations.hosts(_FINAL_DOTS.sub("", content.removeprefix("domain:")))
    except notations.Unusable as unusable:
        return rule.skipped("dead-host-rule", f"matches no host: {unusable}")
    return rule.lines(["WebFetch"], patterns)


def _skill(rule: RuleText, content: str) -> Lines:
    if rule.effect is Effect.ASK:
        return rule.skipped(
            "ask-ignored",
            "asks for nothing: skills are asked for by a parameter only",
            f"write `Skill(skill:{content})`",
        )
    name, prefix = content, False
    for tail in (" *", ":*") if rule.scope.behaves.skill_prefixes else (":*",):
        if content.endswith(tail):
            name, prefix = content[: -len(tail)], True
    name = name.removeprefix("/")
    if "*" in name:
        return rule.skipped("dead-skill-rule", "has a star that names no skill")
    texts = [name, "/" + name]
    if rule.effect is Effect.DENY:
        if rule.scope.behaves.nested_skills:
            texts.append("*:" + name)
        aliases = rule.scope.aliases
        skill = aliases.get(name, name)
        known = [skill, *(alias for alias, real in aliases.items() if real == skill)]
        texts += [*known, *(f"/{each}" for each in known)]
    if prefix:
        texts += [text + "*" for text in (name, "/" + name)]
    return rule.lines(["Skill"], map(Pattern.text, texts))


def _agent(rule: RuleText, content: str) -> Lines:
    if rule.effect is Effect.ALLOW:
        return rule.finding(
            "agent-allow-ignored", "starting an agent needs no permission", Severity.NOTE
        )
    if rule.effect is Effect.ASK:
        return rule.skipped(
            "ask-ignored",
            "asks for nothing: agents are asked for by a parameter only",
            f"write `Agent(subagent_type:{content})`",
        )
    if not rule.scope.behaves.agents_denied:
        return rule.skipped("specifier-not-accepted", "names an agent, which came with 2.1.0")
    if content in rule.scope.agents:
        return rule.lines(["Agent"], [agent_pattern(content)])
    found = rule.finding(
        "unknown-agent", f"there is no agent `{content}`", help="names are matched exactly"
    )
    return Lines((Line(rule.entry("Agent", Pattern.exactly(content))),)) + found


def _folder(rule: RuleText, content: str) -> Lines:
    try:
        patterns = path_patterns(content, rule.scope.anchors, Effect.ALLOW)
    except notations.Unusable as unusable:
        return rule.skipped("dead-path-rule", f"matches no folder: {unusable}")
    if not content.endswith("/**"):
        # It names the folder itself, not what is below it.
        patterns = tuple(
            Pattern.of(Kind.PATH, pattern.tokens[:-1] if _is_tree(pattern) else pattern.tokens)
            for pattern in patterns
        )
    return rule.lines([known.ENTER], patterns)


def _is_tree(pattern: Pattern) -> bool:
    return pattern.tokens[-1] is Gap.DEEP


_READERS: Final = {known.ENTER: _folder, "WebFetch": _host, "Skill": _skill, "Agent": _agent}

_DEAD: Final = {
    "Write": "Edit",
    "NotebookEdit": "Edit",
    "MultiEdit": "Edit",
    "Update": "Edit",
    "Glob": "Read",
    "Grep": "Read",
    "LS": "Read",
    "View": "Read",
    "LSP": "Read",
}


@lru_cache(maxsize=4096)  # each agent may be started from many positions
def agent_pattern(name: str) -> Pattern:
    """Return the names of a call that the host resolves to the agent *name*."""
    return Pattern.of(Kind.TEXT, _spellings(name))


_BETWEEN: Final = OneOf(frozenset("-_ "))


def _spellings(name: str) -> Iterator[Token]:
    for character in name:
        if character in "-_ ":
            yield _BETWEEN
        elif len(character.lower()) == len(character.upper()) == 1:
            yield OneOf(frozenset({character.lower(), character.upper()}))
        else:
            yield character
