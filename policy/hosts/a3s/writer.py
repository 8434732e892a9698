"""Writes a project as files of A3S: a session file, and a file for each agent that it starts.

Rules of A3S match the text of a call, so commands and files can be allowed, asked for or denied
only as a whole; single plain commands are the exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from policy.core import expressions as re
from policy.core.effect import Effect
from policy.hosts.a3s.reading import MAIN
from policy.hosts.a3s.rules import TOOLS
from policy.hosts.portable import Portable, PortableAgent, ToolRules, Writer, WrittenFiles, quoted

# A command without quotes, operators and slashes.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:@+-]*(?: [A-Za-z0-9_.,:@+-]+)*")

_NAME: Final = re.compile(r"[\w-]+")
_SERVERS: Final = "mcp__"


def _write(portable: Portable) -> WrittenFiles:
    """Return the session file and the files of the agents that it starts."""
    first = portable.first
    names = {**portable.renamed([MAIN]), first.name: MAIN}
    rules = _rules(first)
    for started, effect in first.starts.items():
        if effect is not Effect.DENY and started in names and started != first.name:
            rules[effect].append(f'task({{"tasks":[{{"agent":"{names[started]}"**)')
    # Such a rule matches the first of several agents in one call only.
    rules[Effect.DENY].append('task(**},{"agent":**)')
    files = {"a3s.session.yaml": f'version: "9.0"\nconfirmation: manager\n{_block(rules)}'}
    for agent in portable.agents[1:]:
        name = names[agent.name]
        rules = _rules(agent)
        if not rules[Effect.ALLOW] and not rules[Effect.DENY]:
            rules[Effect.DENY].append("*")  # a file with only ask rules is ignored
        lines = [f"name: {quoted(name)}", f"description: {quoted(agent.one_line)}"]
        if agent.prompt:
            lines.append(f"prompt: {quoted(agent.prompt)}")
        lines.append("confirmation_inheritance: inherit_parent")
        files[f".a3s/agents/{name}.yaml"] = "\n".join([*lines, _block(rules)])
    return WrittenFiles(files, names, dropped=portable.dropped_starts)


def _rules(agent: PortableAgent) -> dict[Effect, list[str]]:
    rules: dict[Effect, list[str]] = {effect: [] for effect in Effect}
    for tool, theirs, tool_rules in agent.host_tools(WRITER.counterparts):
        if tool == "Glob":
            continue  # `search` does both
        effect = tool_rules.least
        if tool == "Grep":
            effect &= agent.about("Glob").least
        if effect is Effect.DENY:
            rules[Effect.ALLOW] += _commands(theirs, tool_rules) if tool == "Bash" else ()
        elif theirs.startswith(_SERVERS):
            longer = (other for other in agent.tools if other.startswith(tool) and other != tool)
            if _NAME.fullmatch(theirs) and all(
                agent.about(other).least is Effect.DENY for other in longer
            ):
                rules[effect].append(theirs)
                # Such a rule matches every name that starts with this one.
                rules[Effect.DENY] += (f"{theirs}?**", f"{theirs}/**")
        elif _NAME.fullmatch(theirs):
            rules[effect].append(theirs)
    return rules


def _commands(tool: str, tool_rules: ToolRules) -> Iterator[str]:
    """Yield rules for single commands; a rule with a wildcard would match operators too."""
    for number, line in enumerate(tool_rules.lines):
        before = tool_rules.lines[:number]
        text = "".join(map(str, line.pattern.tokens))
        decided = any(one.field or one.pattern.matches(text) for one in before)
        is_plain = line.pattern.exact and _PLAIN.fullmatch(text)
        if line.effect is Effect.ALLOW and is_plain and not decided:
            yield f"{tool}({text})"


def _block(rules: Mapping[Effect, list[str]]) -> str:
    lines = ["permissions:"]
    for effect in (Effect.DENY, Effect.ALLOW, Effect.ASK):
        if rules[effect]:
            lines.append(f"  {effect.value}:")
            lines += (f"    - {quoted(rule)}" for rule in dict.fromkeys(rules[effect]))
    return "\n".join([*lines, "  default_decision: deny", ""])


WRITER: Final = Writer(TOOLS["counterparts"], frozenset(TOOLS["carried"]), _write)
