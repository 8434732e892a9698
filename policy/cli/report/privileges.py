"""What an agent may do, as lists of matchers by effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import attrs

from policy.analysis.reach.audit import AgentAudit, AuditPosition
from policy.analysis.reach.privileges import AtMost, Layer, MostGranted, Privilege
from policy.cli.report.document import Ink, Text, joined
from policy.cli.report.words import chain_text
from policy.compare.overlap import OTHER_TOOL
from policy.core.credentials import masked
from policy.core.decision import Because, Reason
from policy.core.effect import Effect
from policy.core.source import visible

__all__ = [
    "LABELS",
    "MOST_LABELS",
    "Most",
    "MostRules",
    "PositionSummary",
    "Summary",
    "beyond",
    "mosts",
    "position_summaries",
    "rule_parts",
    "side_by_side",
    "summarise",
]


# The lines of a summary, in the order they are shown.
LABELS = ("allow", "ask", "deny", "not available", "otherwise")

# Names that built-in rules of a host have in common are shown up to this number.
_MOST_NAMES = 8

# Characters of one rule.
_LONGEST = 160

# A built-in rule of a host: its subject, and why the host has it.
_BUILT_IN = re.compile(r"(\S+) \((.+)\)")


@attrs.frozen
class Summary:
    """The privileges of one position.

    Attributes:
        lines: label, one of `LABELS` -> matchers.
        layered: tool -> the rules of several links, of which the strictest counts.

    """

    lines: dict[str, tuple[str, ...]]
    layered: dict[str, tuple[str, ...]]

    def __bool__(self) -> bool:
        return bool(self.lines or self.layered)

    @property
    def texts(self) -> list[Text]:
        """A line for each label, and for each tool of which several links have rules."""
        found: list[Text] = [
            (Ink(label, label), " ", joined(Ink(each, "rule") for each in self.lines[label]))
            for label in LABELS
            if label in self.lines
        ]
        for tool, layers in self.layered.items():
            found.append((Ink(tool, "rule"), f": the strictest of {'; '.join(layers)}"))
        return found

    @property
    def json(self) -> dict[str, object]:
        """Its JSON shape."""
        depends = {tool: list(layers) for tool, layers in self.layered.items()}
        return {**{label: list(items) for label, items in self.lines.items()}, "depends": depends}

    @property
    def size(self) -> int:
        """The number of matchers."""
        return sum(map(len, (*self.lines.values(), *self.layered.values())))


def summarise(
    privileges: Iterable[Privilege], agent: str = "", *, everything: bool = False
) -> Summary:
    """Return *privileges* by effect; rules of *agent* itself do not name it."""
    by_tool = {privilege.tool: privilege for privilege in privileges}
    other = by_tool.pop(OTHER_TOOL, None)
    told = [p for p in by_tool.values() if other is None or _needs_line(p, other)]
    return _summary(told, other, agent, everything=everything)


def side_by_side(
    declared: Iterable[Privilege],
    real: Iterable[Privilege],
    agent: str = "",
    *,
    everything: bool = False,
) -> tuple[Summary, Summary, Summary]:
    """Return what two readings have in common, and what each has for the tools they differ in."""
    pairs, others = _paired(declared, real)
    common: list[Privilege] = []
    apart: tuple[list[Privilege], list[Privilege]] = ([], [])
    for pair in pairs:
        if _key(pair[0]) != _key(pair[1]):
            apart[0].append(pair[0])
            apart[1].append(pair[1])
        elif any(_needs_line(*each) for each in zip(pair, others, strict=True)):
            # The one with a reason, where it is a built-in rule of the host.
            common.append(pair[0] if _reason(pair[0].rules) else pair[1])
    same = _key(others[0]) == _key(others[1])
    shared = _summary(common, others[1] if same else None, agent, everything=everything)
    if not same:
        labels = [_label(other) for other in others]
        rest = f"anything else: {labels[0]} attenuated, {labels[1]} enforced"
        lines = {**shared.lines, "otherwise": (*shared.lines.get("otherwise", ()), rest)}
        shared = attrs.evolve(shared, lines=lines)
    return (
        shared,
        _summary(apart[0], None, agent, everything=everything),
        _summary(apart[1], None, agent, everything=everything),
    )


def beyond(first: Iterable[Privilege], then: Iterable[Privilege], agent: str = "") -> Summary:
    """Return what *then* has for the tools in which it differs from *first*."""
    pairs, others = _paired(first, then)
    told = [other for one, other in pairs if _key(one) != _key(other)]
    same = _key(others[0]) == _key(others[1])
    return _summary(told, None if same else others[1], agent, everything=False)


def _paired(
    one: Iterable[Privilege], other: Iterable[Privilege]
) -> tuple[list[tuple[Privilege, Privilege]], tuple[Privilege, Privilege]]:
    """Return the privileges of both sides for each tool that either names, and any other."""
    left, right = ({each.tool: each for each in side} for side in (one, other))
    others = left.pop(OTHER_TOOL, _NOTHING), right.pop(OTHER_TOOL, _NOTHING)
    pairs = [
        (
            left.get(tool) or attrs.evolve(others[0], tool=tool),
            right.get(tool) or attrs.evolve(others[1], tool=tool),
        )
        for tool in dict.fromkeys((*left, *right))
    ]
    return pairs, others


_NOTHING = Privilege(OTHER_TOOL, Effect.DENY, reason=Reason.UNAVAILABLE)


def rule_parts(layer: str) -> list[str]:
    """Return the text of a layer in pieces, between which a line may be broken."""
    return re.split(r"(?<=[,;]) ", layer)


def _needs_line(privilege: Privilege, other: Privilege) -> bool:
    """Return whether a tool needs more text than any other tool."""
    if _key(privilege) != _key(other):
        return True
    return _is_written(privilege) and privilege.rules != other.rules


def _is_written(privilege: Privilege) -> bool:
    return any(because.place for because in privilege.rules)


def _key(privilege: Privilege) -> object:
    """Return a key that is equal for tools with the same text."""
    if privilege.effect is not None:
        return _label(privilege)
    rules = frozenset((because.effect, because.rule) for because in privilege.rules)
    layers = frozenset(
        (frozenset((b.effect, b.rule) for b in layer.rules), layer.otherwise)
        for layer in privilege.layers
    )
    return rules, privilege.otherwise, layers


def _summary(
    privileges: Iterable[Privilege], other: Privilege | None, agent: str, *, everything: bool
) -> Summary:
    lines: dict[str, dict[str, None]] = {label: {} for label in LABELS}
    built_in: dict[tuple[str, str], dict[str, None]] = {}
    layered: dict[str, tuple[str, ...]] = {}
    rest: dict[str, list[str]] = {}
    for privilege in privileges:
        name = visible(privilege.glob or privilege.tool)
        if privilege.effect is not None:
            label, why = _label(privilege), _reason(privilege.rules)
            if why or not _is_written(privilege):
                built_in.setdefault((label, why), {})[name] = None
            else:
                lines[label][name] = None
        elif privilege.layers:
            layered[name] = tuple(_layer(layer, agent) for layer in privilege.layers)
            continue
        for because in privilege.rules if privilege.effect is None else ():
            if why := _reason([because]):
                built_in.setdefault((because.effect.value, why), {})[name] = None
            else:
                rule = visible(masked(because.rule))
                lines[because.effect.value][rule if everything else _short(rule)] = None
        if privilege.otherwise is not None and _differs(privilege.otherwise, other):
            rest.setdefault(privilege.otherwise.value, []).append(name)
    for (label, why), names in built_in.items():
        if why or (len(names) > _MOST_NAMES and not everything):
            lines[label][_named(list(names), why, everything=everything)] = None
        else:
            lines[label] |= names
    shown = {label: tuple(sorted(items, key=_simple_first)) for label, items in lines.items()}
    shown["otherwise"] = _rest(rest, other, everything=everything)
    return Summary({label: items for label, items in shown.items() if items}, layered)


def _rest(
    rest: Mapping[str, list[str]], other: Privilege | None, *, everything: bool
) -> tuple[str, ...]:
    parts = [
        f"{_named(names, '', everything=everything)}: {effect}" for effect, names in rest.items()
    ]
    if other is not None:
        parts.append(f"anything else: {_label(other)}" if parts else _label(other))
    return tuple(parts)


def _differs(otherwise: Effect, other: Privilege | None) -> bool:
    return other is None or other.effect is not otherwise or other.reason is Reason.UNAVAILABLE


def _reason(rules: Iterable[Because]) -> str:
    """Return the reason of a built-in rule of a host, or ""."""
    for because in rules:
        found = None if because.place else _BUILT_IN.fullmatch(because.rule)
        return visible(found[2]) if found else ""
    return ""


def _named(names: list[str], why: str, *, everything: bool) -> str:
    """Return tools with the same built-in rule; many of them by their number."""
    if len(names) > _MOST_NAMES and not everything:
        return f"{len(names)} tools ({why or 'of the host'})"
    return f"{'/'.join(names)} ({why})" if why else ", ".join(names)


def _short(rule: str) -> str:
    """Return *rule*, without its middle where it is very long."""
    if len(rule) <= _LONGEST:
        return rule
    return f"{rule[: _LONGEST - 20]} … {rule[-15:]}"


def _simple_first(item: str) -> tuple[bool, str]:
    return "(" in item, item


def _label(privilege: Privilege) -> str:
    if privilege.reason is Reason.UNAVAILABLE:
        return "not available"
    return (privilege.effect or Effect.DENY).value


def _layer(layer: Layer, agent: str) -> str:
    who = ", ".join("itself" if link == agent else visible(link) for link in layer.links)
    said: dict[Effect, list[str]] = {}
    for because in layer.rules:
        said.setdefault(because.effect, []).append(visible(masked(because.rule)))
    parts = [f"{effect} {', '.join(rules)}" for effect, rules in said.items()]
    if layer.otherwise is not None:
        parts.append(f"otherwise {layer.otherwise}" if parts else f"{layer.otherwise} at most")
    return f"{who}: {'; '.join(parts)}" if who else "; ".join(parts)


# --- the chains of an agent: each in full, or by its difference from an earlier one --------


@attrs.frozen
class PositionSummary:
    """The text on an agent at the end of one chain.

    Attributes:
        position: the chain, and the agents whose start must be confirmed.
        reading: ``attenuated`` or ``enforced`` for text on one reading alone, or "".
        but_for: the chain by which the agent may do the same except for this text; or ().
        common: what both readings have, or the only one.
        attenuated: what is declared for the tools in which two readings differ.
        enforced: what the host does for these tools.

    """

    position: AuditPosition
    reading: str
    but_for: tuple[str, ...]
    common: Summary
    attenuated: Summary = Summary({}, {})
    enforced: Summary = Summary({}, {})


def position_summaries(
    agent: AgentAudit, *, everything: bool = False
) -> tuple[PositionSummary, ...]:
    """Return the text on each chain of *agent*, both readings together."""
    declared = {position.chain: position for position in agent.attenuated}
    real = {position.chain: position for position in agent.enforced}
    return tuple(
        _told(agent, declared.get(chain), real.get(chain), everything=everything)
        for chain in {**declared, **real}
    )


def _told(
    agent: AgentAudit,
    declared: AuditPosition | None,
    real: AuditPosition | None,
    *,
    everything: bool,
) -> PositionSummary:
    if declared and real:
        sides = declared.privileges, real.privileges
        found = side_by_side(*sides, agent.name, everything=everything)
        return PositionSummary(real, "", (), *found)
    reading = "attenuated" if declared else "enforced"
    positions = agent.attenuated if declared else agent.enforced
    (position,) = filter(None, (declared, real))
    return _alone(agent, position, reading, positions, everything=everything)


def _alone(
    agent: AgentAudit,
    position: AuditPosition,
    reading: str,
    positions: Sequence[AuditPosition],
    *,
    everything: bool,
) -> PositionSummary:
    """Return the text on a chain of one reading alone: in full, or by a difference."""
    said = summarise(position.privileges, agent.name, everything=everything)
    first = positions[0]
    if first is not position and not everything:
        differing = beyond(first.privileges, position.privileges, agent.name)
        if differing.size < said.size:
            return PositionSummary(position, reading, first.chain, differing)
    return PositionSummary(position, reading, (), said)


# --- what an agent may do at most, where no single chain shows it --------------------------


# The labels of these lines, in the order they are shown.
MOST_LABELS = ("allow", "ask", "never", "otherwise", "not exact")

_LABELS = {Effect.ALLOW: "allow", Effect.ASK: "ask", Effect.DENY: "never"}


@attrs.frozen
class MostRules:
    """Calls with the same label and chain.

    Attributes:
        label: of `MOST_LABELS`.
        by: the chain by which they are granted; "" is the first chain.
        calls: as patterns, or whole tools.

    """

    label: str
    by: str
    calls: tuple[str, ...]


@attrs.frozen
class Most:
    """What an agent may do at most, in one reading or in both.

    Attributes:
        reading: ``attenuated``, ``enforced``, or "" where both are the same.
        said: in the order of `MOST_LABELS`.
        tools: the tools that are covered completely.

    """

    reading: str
    said: tuple[MostRules, ...]
    tools: frozenset[str]

    def labelled(self, label: str) -> tuple[MostRules, ...]:
        """Return the calls with *label*."""
        return tuple(each for each in self.said if each.label == label)


def mosts(agent: AgentAudit, shown: str | None = None) -> tuple[Most, ...]:
    """Return what *agent* may do at most: nothing where a single list shows it.

    Args:
        agent: to show.
        shown: replaces its name at the end of a chain; None keeps the name.

    """
    name = agent.name if shown is None else shown
    told = [
        Most(reading, *_said(most, positions, name))
        for reading, most, positions in zip(
            ("attenuated", "enforced"),
            agent.most,
            (agent.attenuated, agent.enforced),
            strict=True,
        )
    ]
    if told[0].said == told[1].said:
        return (attrs.evolve(told[0], reading=""),) if told[0].said else ()
    return tuple(each for each in told if each.said)


def _said(
    most: Sequence[AtMost], positions: Sequence[AuditPosition], shown: str
) -> tuple[tuple[MostRules, ...], frozenset[str]]:
    lines: dict[tuple[str, str], dict[str, None]] = {}
    tools = set()
    for each in most:
        if not _needs_text(each, positions):
            continue
        name = visible(each.glob or each.tool)
        if not each.why:
            tools.add(name)
        for grant in each.grants:
            label = _LABELS[grant.effect] if grant.rule else "otherwise"
            said = visible(grant.rule) if grant.rule else f"{name}: {_rest_text(grant)}"
            if len(each.grants) == 1 and not each.why:
                label, said = _LABELS[grant.effect], name
            lines.setdefault((label, _by(grant, positions, shown)), {})[said] = None
        for why in each.why:
            lines.setdefault(("not exact", ""), {})[f"{name}: {why}"] = None
    told = [MostRules(label, by, tuple(calls)) for (label, by), calls in lines.items()]
    told.sort(key=lambda said: MOST_LABELS.index(said.label))
    return tuple(told), frozenset(tools)


def _needs_text(most: AtMost, positions: Sequence[AuditPosition]) -> bool:
    """Return whether the first chain does not show everything, or only in several lists."""
    if any(grant.position and grant.effect is not Effect.DENY for grant in most.grants):
        return True
    first = positions[0].privileges if positions else ()
    return any(privilege.layers for privilege in first if privilege.tool == most.tool)


def _rest_text(grant: MostGranted) -> str:
    return "not available" if grant.reason is Reason.UNAVAILABLE else grant.effect.value


def _by(grant: MostGranted, positions: Sequence[AuditPosition], shown: str) -> str:
    """Return the chain of a grant, where it is not the first."""
    if grant.effect is Effect.DENY or not grant.position:
        return ""
    if grant.position >= len(positions):
        return "some chain, perhaps"
    return chain_text((*positions[grant.position].chain[:-1], shown))
