"""What keeps logged calls from running without confirmation, and the rules that would let them run.

A call meets one obstacle: the rule that asks for it, a text that no rule can know, or what no rule
allows. Calls with the same obstacle that the same rule would allow are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policy.analysis import remedy
from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Undecided, each_answered
from policy.compare.tables import differences
from policy.compare.witness import Difference, witness_call
from policy.core.decision import Because, Decision, Does, Reason
from policy.core.effect import Effect
from policy.core.values import define, frozen
from policy.hosts.notation.semantics import dialect_of
from policy.tables.chain import Chain
from policy.tables.dialect import ArgumentKind

# A tool and the arguments of a call.
Call = tuple[str, dict[str, object]]


@frozen
class Obstacle:
    """What stands between a call and its running without confirmation."""

    kind: str  # as people know it, e.g. ``no rule`` or ``a redirection``
    because: Because | None = None  # the rule that asks; None for every other kind
    text: str = ""  # what no rule can know, e.g. ``$(date)``; "" where rules may help


@define
class FrictionGroup:
    """Calls with one obstacle."""

    obstacle: Obstacle
    chain: tuple[str, ...]
    example: Record  # one of them
    calls: int = 0  # how many they are
    distinct: int = 0  # how many of them differ
    # The narrowest rules that would allow all of them; () if none are known.
    rules: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # the agents that lack them
    # A further call that the rules would allow and that is not in the group; no rule allows it yet.
    grants: Difference | None = None
    exact: bool = True  # whether there is none, where *grants* is None


@frozen
class Friction:
    """The calls that do not run without confirmation, the most frequent first, of all *calls*."""

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

    Calls that a rule denies are not among them. *root* starts every chain in place of the agent in
    the log. A rule that matches more than its calls is made of *least* distinct calls or more.
    """
    # Each with its chain, and the calls of it that differ.
    groups: dict[object, tuple[FrictionGroup, Chain, list[Record]]] = {}

    def group_of(record: Record) -> FrictionGroup | None:
        chain = decider.chain(record.chain, record.cwd, record.project)
        if isinstance(chain, Decision):
            return None
        decision = chain.decide(record.tool, record.call)
        is_final = decision.reason not in (Reason.DEFAULT, Reason.UNANALYSABLE)
        if decision.effect is Effect.ALLOW or (decision.effect is Effect.DENY and is_final):
            return None
        rules = remedy.rules_for(chain, record.tool, record.call)
        obstacle = _obstacle(chain, record, decision, rules)
        if obstacle.text and (whole := remedy.rule_for_all_of(chain, record.tool, record.call)):
            obstacle, rules = Obstacle(obstacle.kind), (whole,)
        shared: list[tuple[str, str]] = []
        if obstacle.because is None and not obstacle.text:
            # The rules of one group are of one program, or folder.
            for tool, begins in (remedy.stem(rule, dialect_of([chain.table])) for rule in rules):
                shared.append((tool, begins.partition(" ")[0]))
        what = obstacle.kind, obstacle.because, *shared
        key = record.chain, record.cwd, record.project, what
        made = FrictionGroup(obstacle, record.chain, record)
        group, _, members = groups.setdefault(key, (made, chain, []))
        members.append(record)
        group.distinct += 1
        group.rules = tuple(dict.fromkeys((*group.rules, *rules)))
        return group

    undecided = Undecided()
    total = 0
    for record, group in each_answered(records, group_of, root, undecided, decider.start):
        total += record.times
        if group is not None:
            group.calls += record.times
    for group, chain, members in groups.values():
        exact, group.rules = group.rules, ()
        if group.obstacle.because is None and not group.obstacle.text:
            calls = [(each.tool, each.call) for each in members]
            _find_rules(group, chain, calls, exact, least)
    found = [group for group, *_ in groups.values()]
    found.sort(key=lambda g: (-g.calls, g.chain, g.obstacle.kind, g.rules))
    return Friction(tuple(found), total, undecided)


def _obstacle(chain: Chain, record: Record, decision: Decision, rules: Sequence[str]) -> Obstacle:
    clauses = remedy.clauses_of(chain, record.tool, record.call)
    held = [clause for clause in clauses if clause.decision.effect is not Effect.ALLOW]
    for each in (*(clause.decision for clause in held), decision):
        written = [rule for rule in each.because if rule.place is not None]
        if each.reason is Reason.RULE and written:
            return Obstacle("a rule asks", written[0])
    if decision.reason is Reason.PROTECTED or decision.because:
        return Obstacle("the host guards it", text="…")
    for clause in held:
        if clause.does is Does.HIDES:
            return Obstacle(remedy.hidden_kind(clause.text, clause.why), text=clause.text or "…")
    if not rules and remedy.holds_credential(record.call):
        return Obstacle("a credential", text="…")
    running = [clause for clause in held if clause.does is Does.RUNS]
    if running:
        if any(clause.text.startswith("cd ") for clause in running):
            return Obstacle("`cd` before it")
        several = sum(clause.does is Does.RUNS for clause in clauses) > 1
        return Obstacle("no rule for one command of several" if several else "no rule")
    command = remedy.command_of(record.tool, record.call, dialect_of([chain.table]))
    redirected = {each.target for each in command.redirections if not each.tool} if command else ()
    if any(clause.text in redirected for clause in held):
        return Obstacle("a redirection")
    named = [rule.partition("(")[2] for rule in rules] or [f"/{clause.text}" for clause in held]
    is_outside = any(text.startswith(("//", "~", "/~", "../", "/../")) for text in named)
    return Obstacle("a path outside the project" if is_outside else "a file" if held else "no rule")


def _find_rules(
    group: FrictionGroup, chain: Chain, calls: Sequence[Call], exact: tuple[str, ...], least: int
) -> None:
    """Find rules that allow the *calls* of a group, and a further call that they allow.

    *exact* are the narrowest rules for each of the calls.
    """
    dialect = dialect_of([chain.table])
    tries = dict.fromkeys((tuple(remedy.folded(exact, least, dialect)), exact))
    found = next(filter(None, (remedy.remedy_of(chain, rules, calls) for rules in tries)), None)
    if found is None:
        return
    group.rules, group.links = found.rules, found.links
    tool = group.example.tool
    argument = dialect.argument(tool)
    is_file = argument.kind is ArgumentKind.PATH
    if not found.runs and not is_file and not any("*" in rule for rule in found.rules):
        return  # each is a call of the group
    parts = remedy.lacking(chain, tool, group.example.call)
    after = remedy.with_rules(chain, found.rules, parts)
    if found.runs:
        call = witness_call(dialect, argument, found.runs)
        sides = (side.decide(tool, call) for side in (remedy.with_rules(chain, (), parts), after))
        group.grants = Difference(tool, call, *sides)
        return
    # A rule about a file may be one for several tools, so nothing of it is the call alone.
    own = [rule for rule in exact if not is_file and "*" not in rule]
    comparison = differences(remedy.with_rules(chain, own, parts), after)
    group.exact = comparison.exact
    known = [(tool, {*map(str, call.values())}) for tool, call in calls]
    for one in comparison.differences:
        of_call = {*map(str, one.call.values())}
        if one.widened and not any(one.tool == tool and of_call <= texts for tool, texts in known):
            group.grants = one
            return
