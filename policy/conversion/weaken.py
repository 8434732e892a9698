"""Projects that grant less, where a conversion of them granted more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from policy.calls import Unreadable, argument_text
from policy.chain import SPAWN_TOOL
from policy.conversion.losses import Loss
from policy.dialect import ArgumentKind, Dialect
from policy.effect import Effect
from policy.portable import Agent, Portable, Said
from policy.shell.commands import read_command

__all__ = ["weakened"]


def weakened(portable: Portable, losses: Iterable[Loss], common: Dialect) -> Portable:
    """Return *portable* with less said where *losses* show that more came of it.

    What matches the call of a loss gets no more than the source has that call get.
    Where nothing matches it, this holds for all of the tool.

    Args:
        portable: what was written.
        losses: those that are looser.
        common: how calls are read in common words.

    """
    written = {agent.name: agent for agent in portable.agents}
    agents = dict(written)
    for loss in losses:
        effect = loss.before.effect
        for name in dict.fromkeys(chain[-1] for chain in (loss.chain, *loss.also)):
            agent = agents.get(name)
            if agent is None:
                continue
            if loss.tool == SPAWN_TOOL:
                agents[name] = _starting(agent, str(loss.call.get("subagent_type")), effect)
            elif loss.tool in agent.tools:
                texts = _texts(loss.tool, loss.call, common)
                said = _less(agent.tools[loss.tool], texts, effect)
                tools = {**agent.tools, loss.tool: said}
                agents[name] = attrs.evolve(agent, tools=tools)
            elif _others(written[name], effect) != written[name]:
                agents[name] = _others(agent, effect)
            else:
                agents[name] = _beginning(agent, loss.tool, effect)
    return attrs.evolve(portable, agents=tuple(agents.values()))


def _starting(agent: Agent, name: str, effect: Effect) -> Agent:
    starts = {one: e & effect if one == name else e for one, e in agent.starts.items()}
    return attrs.evolve(agent, starts=starts)


def _others(agent: Agent, effect: Effect) -> Agent:
    """Return *agent* with no more than *effect* for tools that it does not name."""
    globs = {glob: one & effect for glob, one in agent.globs.items()}
    return attrs.evolve(agent, globs=globs, otherwise=agent.otherwise & effect)


def _beginning(agent: Agent, tool: str, effect: Effect) -> Agent:
    """Return *agent* with no more than *effect* for tools whose names *tool* begins with.

    To some hosts the name of a server, or of a tool of it, stands for all such names.
    """
    begun = {name: said for name, said in agent.tools.items() if tool.startswith(name)}
    less = {name: _less(said, (), effect) for name, said in begun.items()}
    return attrs.evolve(agent, tools={**agent.tools, **less})


def _texts(tool: str, call: Mapping[str, object], common: Dialect) -> list[str]:
    argument = common.argument(tool)
    try:
        text = argument_text(argument, common, call)
    except Unreadable:
        return []
    if argument.kind is not ArgumentKind.COMMAND:
        return [text]
    parts = read_command(text, common.shell).parts
    return [
        text,
        *(reading for part in parts for reading in (part.text, *part.readings, *part.feared)),
    ]


def _less(said: Said, texts: Iterable[str], effect: Effect) -> Said:
    """Return *said* with no more than *effect* for the lines that match one of *texts*."""
    texts = list(texts)
    lines = tuple(
        attrs.evolve(line, effect=line.effect & effect)
        if any(line.pattern.matches(text) for text in texts)
        else line
        for line in said.lines
    )
    if lines != said.lines:
        return attrs.evolve(said, lines=lines)
    every = tuple(attrs.evolve(line, effect=line.effect & effect) for line in said.lines)
    return Said(said.default & effect, every, said.kind)
