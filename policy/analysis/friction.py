"""What keeps logged calls from running without confirmation, and the rules that would let them run.

A call meets one obstacle: the rule that asks for it, a text that no rule can know, or what no rule
allows. Calls with the same obstacle that the same rule would allow are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Undecided, each_answered
from policy.analysis.remedy import (
    clauses_of,
    command_of,
    folded,
    hidden_kind,
    holds_credential,
    kin,
    lacking,
    remedy_of,
    rules_for,
    with_rules,
)
from policy.compare.tables import differences
from policy.compare.witness import Difference, witness_call
from policy.core.decision import Because, Clause, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.values import define, field, frozen
from policy.hosts.notation.semantics import dialect_of
from policy.tables.chain import Chain
from policy.tables.dialect import ArgumentKind, Dialect

__all__ = ["Friction", "FrictionGroup", "Obstacle", "friction"]


@frozen
class Obstacle:
    """What stands between a call and its running without confirmation.

    Attributes:
        kind: as people know it, e.g. ``no rule`` or ``a redirection``.
        because: the rule that asks; None for every other kind.
        text: what no rule can know, e.g. ``$(date)``; "" where rules may help.

    """

    kind: str
    because: Because | None = None
    text: str = ""

    @property
    def has_rules(self) -> bool:
        """Whether rules that allow more may help."""
        return self.because is None and not self.text


@define
class FrictionGroup:
    """Calls with one obstacle.

    Attributes:
        obstacle: theirs.
        chain: who made them.
        example: one of them.
        calls: how many they are.
        distinct: how many of them differ.
        rules: that would allow all of them, the narrowest; () where none is known.
        links: the agents that lack them.
        grants: a call that the rules allow beside those of the group, which no rule allows yet.
        exact: whether there is none, where *grants* is None.

    """

    obstacle: Obstacle
    chain: tuple[str, ...]
    example: Record
    calls: int = 0
    distinct: int = 0
    rules: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    grants: Difference | None = None
    exact: bool = True
    members: list[Record] = field(factory=list, repr=False)


@frozen
class Friction:
    """The calls of a log that do not run without confirmation.

    Attributes:
        groups: the most frequent first.
        calls: how many calls were decided.
        undecided: why calls were not decided.

    """

    groups: tuple[FrictionGroup, ...]
    calls: int
    undecided: Undecided

    @property
    def held(self) -> int:
        """How many calls do not run without confirmation."""
        return sum(group.calls for group in self.groups)


def friction(
    records: Iterable[Record | LogProblem],
    decider: RecordDecider,
    *,
    root: str = "",
    least: int = 3,
) -> Friction:
    """Return what keeps the calls of a log from running without confirmation, by a policy.

    Calls that a rule denies are not among them.

    Args:
        records: of `policy.analysis.records.logs.read_log`.
        decider: the policy.
        root: the agent that starts every chain, in place of the one in the log.
        least: how many distinct calls one rule is made of that matches more than they.

    """
    groups: dict[object, FrictionGroup] = {}
    undecided = Undecided()
    calls = 0
    grouped = partial(_grouped, decider, groups)
    for record, group in each_answered(records, grouped, root, undecided, decider.start):
        calls += record.times
        if group is not None:
            group.calls += record.times
    for group in groups.values():
        _remedy(group, decider, least)
    found = sorted(groups.values(), key=lambda g: (-g.calls, g.chain, g.obstacle.kind, g.rules))
    return Friction(tuple(found), calls, undecided)


def _grouped(
    decider: RecordDecider, groups: dict[object, FrictionGroup], record: Record
) -> FrictionGroup | None:
    """Return the group of a call; None for one that runs without confirmation, or never runs."""
    chain = decider.chain(record.chain, record.cwd, record.project)
    if isinstance(chain, Decision):
        return None
    decision = chain.decide(record.tool, record.call)
    if decision.effect is Effect.ALLOW or _is_final(decision):
        return None
    rules = rules_for(chain, record.tool, record.call)
    obstacle = _obstacle(chain, record, decision, rules)
    if obstacle.has_rules and not rules and holds_credential(record.call):
        obstacle = Obstacle("a credential", text="…")
    dialect = dialect_of([chain.table])
    shared = tuple(_program(rule, dialect) for rule in rules) if obstacle.has_rules else ()
    what = obstacle.kind, obstacle.because, shared
    key = record.chain, record.cwd, record.project, what
    group = groups.setdefault(key, FrictionGroup(obstacle, record.chain, record))
    group.members.append(record)
    group.distinct += 1
    return group


def _program(rule: str, dialect: Dialect) -> tuple[str, str]:
    """Return what the rules of one group share: the program, or the folder."""
    tool, shared = kin(rule, dialect)
    return tool, shared.partition(" ")[0]


def _is_final(decision: Decision) -> bool:
    return decision.effect is Effect.DENY and decision.reason not in _BY_DEFAULT


_BY_DEFAULT: Final = frozenset({Reason.DEFAULT, Reason.UNANALYSABLE})


def _obstacle(chain: Chain, record: Record, decision: Decision, rules: Sequence[str]) -> Obstacle:
    clauses = clauses_of(chain, record.tool, record.call)
    held = [clause for clause in clauses if clause.decision.effect is not Effect.ALLOW]
    for each in (*(clause.decision for clause in held), decision):
        written = [rule for rule in each.because if rule.place is not None]
        if each.reason is Reason.RULE and written:
            return Obstacle("a rule asks", written[0])
    if decision.reason is Reason.PROTECTED or decision.because:
        return Obstacle("the host guards it", text="…")
    if any(clause.does in {Does.RUNS, Does.HIDES} for clause in held):
        return _of_command(clauses, held)
    dialect = dialect_of([chain.table])
    command = command_of(record.tool, record.call, dialect)
    redirected = {each.target for each in command.redirections if not each.tool} if command else ()
    if any(clause.text in redirected for clause in held):
        return Obstacle("a redirection")
    named = [rule.partition("(")[2] for rule in rules] or [f"/{clause.text}" for clause in held]
    is_outside = any(text.startswith(("//", "~", "/~", "../", "/../")) for text in named)
    return Obstacle("a path outside the project" if is_outside else "a file" if held else "no rule")


def _of_command(clauses: Sequence[Clause], held: Sequence[Clause]) -> Obstacle:
    hidden = [clause for clause in held if clause.does is Does.HIDES]
    if hidden:
        return Obstacle(hidden_kind(hidden[0].text, hidden[0].why), text=hidden[0].text or "…")
    if any(clause.does is Does.RUNS and clause.text.startswith("cd ") for clause in held):
        return Obstacle("`cd` before it")
    running = [clause for clause in clauses if clause.does is Does.RUNS]
    return Obstacle("no rule for one command of several" if len(running) > 1 else "no rule")


def _remedy(group: FrictionGroup, decider: RecordDecider, least: int) -> None:
    """Find the rules that allow the calls of *group*, and what else they allow."""
    if not group.obstacle.has_rules:
        return
    example = group.example
    chain = decider.chain(example.chain, example.cwd, example.project)
    assert isinstance(chain, Chain)  # noqa: S101  # its calls were decided
    exact = tuple(
        dict.fromkeys(
            rule for each in group.members for rule in rules_for(chain, each.tool, each.call)
        )
    )
    calls = [(each.tool, each.call) for each in group.members]
    patterns = tuple(folded(exact, least, dialect_of([chain.table])))
    for rules in dict.fromkeys((patterns, exact)):
        found = remedy_of(chain, rules, calls)
        if found is not None:
            group.rules, group.links = found.rules, found.links
            _compare(group, exact, chain, found.runs)
            return


def _compare(group: FrictionGroup, exact: Sequence[str], chain: Chain, runs: str) -> None:
    """Find a call that the rules of *group* allow beside its own: *runs*, or any other."""
    example, dialect = group.example, dialect_of([chain.table])
    argument = dialect.argument(example.tool)
    is_file = argument.kind is ArgumentKind.PATH
    if not runs and not is_file and not any("*" in rule for rule in group.rules):
        return  # each is a call of the group
    parts = lacking(chain, example.tool, example.call)
    if runs:
        call = witness_call(dialect, argument, runs)
        sides = with_rules(chain, (), parts), with_rules(chain, group.rules, parts)
        before, after = (side.decide(example.tool, call) for side in sides)
        group.grants = Difference(example.tool, call, before, after)
        return
    # A rule about a file may be one for several tools, so nothing of it is the call alone.
    own = [rule for rule in exact if not is_file and "*" not in rule]
    found = differences(with_rules(chain, own, parts), with_rules(chain, group.rules, parts))
    known = [(each.tool, {*map(str, each.call.values())}) for each in group.members]
    group.grants = next((each for each in found.differences if _is_new(each, known)), None)
    group.exact = found.exact


def _is_new(one: Difference, known: Iterable[tuple[str, set[str]]]) -> bool:
    """Return whether a call is allowed that is none of those *known*: tools and arguments."""
    said = {*map(str, one.call.values())}
    return one.widened and not any(one.tool == tool and said <= texts for tool, texts in known)
