"""Writes a project in our own notation: one file, whatever host it comes from.

Here ask rules decide before allow rules. So a tool that a host asks for by default, with rules that
allow some of its calls, is denied by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from policy.compare.tables import glob_pattern
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.source import Source
from policy.core.values import evolve
from policy.hosts.notation.semantics import DIALECT, matcher_entries
from policy.hosts.pattern_text import host, path, stars
from policy.hosts.portable import (
    Dropped,
    Portable,
    PortableAgent,
    PortableLine,
    ToolRules,
    Writer,
    WrittenFiles,
    covers,
    ranked,
)
from policy.language.parse import parse_matcher, parse_notation
from policy.language.printer import print_document, print_matcher, print_name
from policy.language.syntax import Matcher, specifier
from policy.patterns.pattern import PatternKind
from policy.tables.dialect import ArgumentKind
from policy.tables.ruleset import Entry
from policy.tables.table import SPAWN_TOOL

_Rules = dict[Effect, list[str]]


def _write(portable: Portable) -> WrittenFiles:
    """Return the file of a project."""
    names = {agent.name: agent.name for agent in portable.agents}
    if any(":" in name for name in names):  # `Task(a:b)` is about the argument `a`
        names = portable.renamed()
    agents = []
    for agent in portable.agents:
        starts = {names.get(other, other): effect for other, effect in agent.starts.items()}
        agents.append(evolve(agent, name=names[agent.name], starts=starts))
    starting = tuple(names[name] for name in portable.starts)
    portable = evolve(portable, agents=tuple(agents), starts=starting)
    dropped: list[Dropped] = []
    lines = [f"root {print_name(name)}" for name in portable.starts]
    for agent in portable.agents:
        lines += ["", *_agent(agent, portable, dropped)]
        if agent.description or agent.prompt:
            dropped.append(Dropped("its description and its prompt", agent.name))
    text = print_document(parse_notation(Source("<converted>", "\n".join([*lines, ""]))))
    name = portable.title.partition("@")[0]
    return WrittenFiles({f"{name}.policy": text}, names, dropped=tuple(dropped))


def _agent(agent: PortableAgent, portable: Portable, dropped: list[Dropped]) -> Iterator[str]:
    rules: _Rules = {effect: [] for effect in Effect}
    _add_tools(agent, rules, dropped)
    _add_starts(agent, portable, rules)
    yield f"agent {print_name(agent.name)} {{"
    for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY):
        if rules[effect]:
            yield f"    {effect.value} {', '.join(rules[effect])}"
    if agent.starts:
        # The rules of each agent already include the bounds of its parents.
        yield "    delegate *"
    if agent.bounds.trust is not None:
        yield f"    trust {agent.bounds.trust}"
    depth = agent.bounds.depth
    if agent.name in portable.starts and agent.starts:
        depth = min((d for d in (depth, portable.depth) if d is not None), default=None)
    limits = [("depth", depth), ("turns", agent.bounds.turns)]
    if written := [f"{name} {bound}" for name, bound in limits if bound is not None]:
        yield f"    limit {', '.join(written)}"
    yield "}"


def _add_tools(agent: PortableAgent, rules: _Rules, dropped: list[Dropped]) -> None:
    if agent.otherwise is Effect.ALLOW:
        rules[Effect.ALLOW].append("*")
    granting = [*_globs(agent, rules)]
    for tool, tool_rules in agent.tools.items():
        around = [e for glob, e in granting if glob_pattern(glob).matches(tool)]
        around += [Effect.ALLOW] if agent.otherwise is Effect.ALLOW else []
        try:
            for effect, matcher in _tool_matchers(tool, tool_rules, around):
                rules[effect].append(print_matcher(matcher))
        except PolicyError:
            dropped.append(Dropped(f"`{tool}`, which cannot be written as a tool", agent.name))


def _add_starts(agent: PortableAgent, portable: Portable, rules: _Rules) -> None:
    started = {name: effect for name, effect in agent.starts.items() if effect is not Effect.DENY}
    for name, effect in started.items():
        rules[effect].append(f"{SPAWN_TOOL}({name})")
    if agent.otherwise is Effect.ALLOW:
        others = (other.name for other in portable.agents if other.name not in started)
        rules[Effect.DENY] += [f"{SPAWN_TOOL}({name})" for name in others]


def _globs(agent: PortableAgent, rules: _Rules) -> Iterator[tuple[str, Effect]]:
    """Yield each glob that becomes a rule for all its tools, and add that rule to *rules*."""
    for glob, effect in agent.globs.items():
        if effect is Effect.DENY or agent.otherwise is Effect.ALLOW:
            if effect is not Effect.ALLOW:
                rules[effect].append(glob)
            continue
        # A glob must not grant all calls of a tool that has some denied.
        named = (tool for tool in agent.tools if glob_pattern(glob).matches(tool))
        if all(agent.tools[tool].constant in (effect, Effect.DENY) for tool in named):
            rules[effect].append(glob)
            yield glob, effect


def _tool_matchers(
    tool: str, tool_rules: ToolRules, around: list[Effect]
) -> Iterator[tuple[Effect, Matcher]]:
    parse_matcher(tool)
    whole = _whole(tool)
    constant = tool_rules.constant
    if constant is not None:
        if (constant is not Effect.DENY and constant not in around) or (
            constant is not Effect.ALLOW and any(effect > constant for effect in around)
        ):
            yield constant, whole
        return
    lists, default = ranked(tool_rules)
    if default is Effect.ASK and lists[Effect.ALLOW]:
        # An ask rule for the default would win over every allow rule, so the default denies. It
        # covers built-in ask rules too, unless these match allowed calls.
        default = Effect.DENY
        asking, lines = lists[Effect.ASK], tool_rules.lines
        lists[Effect.ASK] = [ln for ln in asking if ln.written or _meets_allowed(ln, lines)]
    written = {
        effect: _matchers(tool, tuple(lists[effect]), effect)
        for effect in Effect
        if effect is Effect.DENY or effect is not default
    }
    granted = default is not Effect.DENY or written[Effect.ASK] or written[Effect.ALLOW]
    if whole in written[Effect.DENY] or not granted or (around and default is Effect.DENY):
        if around:
            yield Effect.DENY, whole
        return
    if default is not Effect.DENY:
        yield default, whole
    yield from ((effect, matcher) for effect, matchers in written.items() for matcher in matchers)


def _whole(tool: str) -> Matcher:
    return Matcher(tool, span=Source("<rule>", tool).whole())


def _meets_allowed(line: PortableLine, lines: Sequence[PortableLine]) -> bool:
    """Return whether a line after *line* may allow calls that *line* matches."""
    later = lines[lines.index(line) + 1 :]
    return any(one.effect is Effect.ALLOW and _may_meet(line, one) for one in later)


@lru_cache(maxsize=4096)  # most agents of a project have the same rules
def _may_meet(one: PortableLine, other: PortableLine) -> bool:
    """Return whether a call may match both lines."""
    if one.field != other.field or one.pattern.kind is not other.pattern.kind:
        return True
    try:
        return not (one.pattern & other.pattern).is_empty()
    except OverflowError:
        return True


@lru_cache(maxsize=1024)  # most agents of a project have the same lines
def _matchers(tool: str, lines: tuple[PortableLine, ...], effect: Effect) -> tuple[Matcher, ...]:
    """Return matchers for *lines*: they allow no more, and deny or ask for no less."""
    found: dict[int, Matcher] = {}
    done: list[Entry] = []
    # A pattern with a star may cover one without; the result keeps the order of the rules.
    for number, line in sorted(enumerate(lines), key=lambda pair: pair[1].pattern.exact):
        if any(_covers(entry, line) for entry in done):
            continue
        matcher, entries = _written(tool, line, effect)
        if effect is Effect.ALLOW:
            wanted = [one.pattern for one in lines if one.field == line.field]
            is_safe = bool(entries) and all(
                e.field == line.field and e.pattern and covers(e.pattern, wanted) for e in entries
            )
        else:
            is_safe = any(_covers(entry, line) for entry in entries)
            if not is_safe:
                # A rule that cannot be written applies to the whole tool.
                return (_whole(tool),)
        if matcher is not None and is_safe:
            done += entries
            found[number] = matcher
    return tuple(found[number] for number in sorted(found))


def _covers(entry: Entry, line: PortableLine) -> bool:
    is_any = entry.pattern is None or covers(line.pattern, [entry.pattern])
    return entry.field == line.field and is_any


def _written(
    tool: str, line: PortableLine, effect: Effect
) -> tuple[Matcher | None, tuple[Entry, ...]]:
    """Return the matcher of a line and its entries; no entries if it cannot be written."""
    text = _text(tool, line, effect)
    if text is None or not text.strip():
        return None, ()
    matcher = Matcher(tool, specifier(tool, text), span=Source("<rule>", text).whole())
    try:
        return matcher, matcher_entries(parse_matcher(str(matcher)), effect)
    except PolicyError:
        return matcher, ()


def _text(tool: str, line: PortableLine, effect: Effect) -> str | None:
    if line.field:
        value = stars(line.pattern, effect)
        return None if value is None else f"{line.field}:{value}"
    kind = DIALECT.argument(tool).kind
    if kind is ArgumentKind.PATH:
        found = path(line.pattern, DIALECT.cwd, DIALECT.home, effect)
        if found is None:
            return None
        anchor, glob = found
        if not glob:
            return {"cwd": ".", "home": "~", "root": "//**"}[anchor]
        return {"cwd": glob, "home": f"~{glob}", "root": f"/{glob}"}[anchor]
    if kind is ArgumentKind.URL:
        name = host(line.pattern, effect) if line.pattern.kind is PatternKind.HOST else None
        return None if name is None else f"domain:{name}"
    return stars(line.pattern, effect)


# The common names are our own; any tool can be written.
WRITER: Final = Writer(
    {**{tool: tool for tool in DIALECT.arguments}, "Agent": SPAWN_TOOL},
    frozenset(),
    _write,
)
