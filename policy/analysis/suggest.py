"""The smallest policy that covers what was used, proven not to exceed the one in force.

`usage_of` reads the distinct calls of a log that the policy in force grants, and the narrowest
rules that each needs. Rules that share a beginning or a folder become one. This draft is compared
with the policy in force and narrowed where it grants more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from policy.analysis.lint import lint
from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Undecided, each_answered
from policy.analysis.remedy import (
    clauses_of,
    command_of,
    folded,
    folders_of,
    hidden_kind,
    holds_credential,
    rules_of,
)
from policy.commands.reader import Ambiguity
from policy.compare.tables import differences
from policy.compare.witness import Difference
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.source import Source
from policy.core.values import evolve, field, frozen
from policy.files.opening import Memory
from policy.hosts.notation.semantics import DIALECT, compile_policy, dialect_of
from policy.hosts.portable import RuleFile
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_matcher, parse_notation
from policy.language.printer import print_document, print_matcher, print_name
from policy.language.syntax import Policy, Rule
from policy.tables.chain import Chain, attenuate
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.placement import ProjectFolders
from policy.tables.table import SPAWN_TOOL, Table

__all__ = ["Proposal", "Usage", "propose", "usage_of"]


def _decider(text: str, file: RuleFile | None) -> RecordDecider:
    """Return what decides calls by *text*: rules of a host, or a policy in our notation."""
    return RecordDecider(load_tree(_tree(text, file)), "enforced", DIALECT.home)


def _tree(text: str, file: RuleFile | None) -> Memory:
    return Memory({file.path if file else "suggested.policy": text})


# An agent that may do nothing, with rules about commands so that these are read.
_NOTHING: Final = "agent main { ask Bash(:), Monitor(:) }"


class _Bare:
    """What calls get where no rule is written."""

    def __init__(self, file: RuleFile | None) -> None:
        self._agent = file.agent if file else "main"
        self._decider = _decider(file.write({}) if file else _NOTHING, file)
        self.dialect = dialect_of([self._chain("").table])

    def _chain(self, cwd: str) -> Chain:
        chain = self._decider.chain((self._agent,), cwd)
        assert isinstance(chain, Chain)  # noqa: S101  # it is one agent, who is there
        return chain

    def rules_for(self, call: Record) -> tuple[str, ...]:
        """Return the narrowest rules that a call needs; none for one that none can name alone.

        Raises:
            PolicyError: no rule can allow it, or should name it.

        """
        asked, dialect = (call.tool, call.call), self.dialect
        chain = self._chain(call.cwd)
        if chain.decide(*asked).effect is Effect.ALLOW:
            return ()
        _check_command(*asked, dialect)
        every = clauses_of(chain, *asked)
        clauses = [clause for clause in every if clause.decision.effect is not Effect.ALLOW]
        folders = folders_of(chain) or ProjectFolders(dialect.cwd, dialect.home)
        rules = rules_of(*asked, clauses, dialect, folders)
        if not rules and holds_credential(call.call):
            raise PolicyError("no rule may hold a credential")
        return tuple(self._anchored(rule) for rule in rules)

    def _anchored(self, rule: str) -> str:
        """Return a rule about a file of the project as one about no other of its name."""
        tool, parenthesis, text = rule.partition("(")
        is_path = self.dialect.argument(tool).kind is ArgumentKind.PATH
        is_relative = parenthesis and is_path and text[0] not in "/~" and text != ".)"
        return f"{tool}(/{text}" if is_relative else rule


def _check_command(tool: str, call: Mapping[str, object], dialect: Dialect) -> None:
    """Raise PolicyError for a command that no rule can allow."""
    command = command_of(tool, call, dialect)
    if command is None:
        return
    if command.unread or command.opaque or not all(part.grantable for part in command.parts):
        hidden = command.ambiguities[0] if command.ambiguities else Ambiguity("", "")
        raise PolicyError(f"no rule can allow {hidden_kind(hidden.text, hidden.why)}")


_SPAWNS = frozenset({SPAWN_TOOL, "Agent"})


@frozen
class UsedCall:
    """A distinct call that was made.

    Attributes:
        chain: who called.
        tool: the tool.
        arguments: of the call.
        effect: what it gets of the policy in force, or got, as the log has it.
        cwd: the folder of the project, or "".
        project: whose agents they are, as the log says, or "".
        times: how often it was made.
        rules: that it needs, the narrowest.
        why: why no rule covers it, or "".

    """

    chain: tuple[str, ...]
    tool: str
    arguments: dict[str, object] = field(eq=False)
    effect: Effect
    cwd: str = ""
    project: str = ""
    times: int = field(default=1, eq=False)
    rules: tuple[str, ...] = ()
    why: str = field(default="", eq=False)

    @property
    def record(self) -> Record:
        """The call as a line of a log."""
        return Record(self.chain, self.tool, self.arguments, cwd=self.cwd)


@frozen
class Usage:
    """What was used.

    Attributes:
        calls: that are allowed or asked for.
        left_out: why calls are not covered.

    """

    calls: tuple[UsedCall, ...]
    left_out: Undecided

    @property
    def chains(self) -> tuple[tuple[str, ...], ...]:
        """Every chain that called, and those it came about by, the shortest first."""
        found = {call.chain[:n] for call in self.calls for n in range(1, len(call.chain) + 1)}
        return tuple(sorted(found, key=lambda chain: (len(chain), chain)))

    def projects(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        """Return whose agents *chain* is made of, as the log says of calls by it and below it."""
        length = len(chain)
        return tuple(dict.fromkeys(c.project for c in self.calls if c.chain[:length] == chain))


def usage_of(
    records: Iterable[Record | LogProblem],
    decider: RecordDecider | None = None,
    *,
    root: str = "",
    file: RuleFile | None = None,
) -> Usage:
    """Return what the calls of a log use.

    Args:
        records: of `policy.analysis.records.logs.read_log`.
        decider: the policy in force; without one a log says what its calls got.
        root: the agent that starts every chain, in place of the one in the log.
        file: of a host, which is to cover them for every agent; None is a policy in our notation.

    """
    bare = _Bare(file)

    def used(call: Record) -> UsedCall:
        effect = _effect(call, decider)
        chain = call.chain if file is None else call.chain[:1]
        asked = chain, call.tool, call.call, effect, call.cwd, call.project
        return UsedCall(*asked, times=0, rules=bare.rules_for(call))

    found: dict[object, UsedCall] = {}
    left_out = Undecided()
    start = decider.start if decider else file.agent if file else ""
    for record, call in each_answered(records, used, root, left_out, start):
        arguments = json.dumps(call.arguments, sort_keys=True)
        key = call.project, call.chain, call.tool, call.cwd, arguments
        # Where the log says of a call what it got, the last time counts.
        times = record.times + (found[key].times if key in found else 0)
        found[key] = evolve(call, times=times)
    return Usage(tuple(found.values()), left_out)


def _effect(call: Record, decider: RecordDecider | None) -> Effect:
    """Return what the call got. Raises PolicyError where it is none to cover."""
    effect = call.effect if decider is None else decider.decide(call).effect
    if effect is None:
        raise PolicyError("the log does not say what the call got")
    if effect is Effect.DENY:
        raise PolicyError("the call is denied")
    if call.tool in _SPAWNS:
        raise PolicyError("the chains of the other calls say which agents are started")
    return effect


# An effect and a rule -> the rules for single calls that this one stands for.
_Rules = dict[tuple[Effect, str], tuple[str, ...]]


def _rules_for(calls: Iterable[UsedCall], least: int, dialect: Dialect) -> _Rules:
    """Return the rules of one agent for its *calls*.

    What is allowed by itself is not what a call of several parts is asked for.
    """
    calls = list(calls)
    allowed = {rule for call in calls if call.effect is Effect.ALLOW for rule in call.rules}
    asked: set[str] = set()
    for call in calls:
        if call.effect is Effect.ASK:
            asked.update([rule for rule in call.rules if rule not in allowed] or call.rules)
    return {
        (effect, rule): members
        for effect, rules in ((Effect.ALLOW, allowed - asked), (Effect.ASK, asked))
        for rule, members in sorted(folded(sorted(rules), least, dialect).items())
    }


_ROUNDS = 64  # each mends what the comparison found in the one before

# Where a rule stands that is written in no file.
_NOWHERE: Final = Source("suggested", "").whole()


class _Draft:
    """Rules for each agent that called, and which agents they start."""

    def __init__(
        self, usage: Usage, decider: RecordDecider | None, least: int, file: RuleFile | None
    ) -> None:
        self._file = file
        self._usage = usage
        self._chains = usage.chains
        self._decider = decider
        self.agents = list(dict.fromkeys(chain[-1] for chain in self._chains))
        dialect = _Bare(file).dialect
        self._rules = {
            agent: _rules_for(
                (call for call in usage.calls if call.chain[-1] == agent), least, dialect
            )
            for agent in self.agents
        }
        # Rules of the policy in force that take something away.
        self._taken_over: dict[str, dict[tuple[Effect, str], None]] = {a: {} for a in self.agents}
        # Rules for tools that no call used -> the rules that are for them too.
        self._kept: dict[str, dict[tuple[Effect, str], set[str]]] = {a: {} for a in self.agents}
        self._asked = {
            one
            for rules in self._rules.values()
            for (effect, _), members in rules.items()
            if effect is Effect.ASK
            for one in members
        }
        self._exceeding: dict[str, str] = {}
        self._reported: dict[str, str] = {}
        if file is not None:
            self._leave_asking_to_host()
        self._narrow_what_lint_finds()

    def _keep(self, kept: Callable[[Effect, str], bool]) -> None:
        self._rules = {
            agent: {key: members for key, members in rules.items() if kept(*key)}
            for agent, rules in self._rules.items()
        }

    def _narrow(self, agent: str, blamed: Collection[str]) -> set[str]:
        """Write rules for single calls instead of wide ones; take out those of single calls.

        Returns those of *blamed* that there were.
        """
        rules: _Rules = {}
        found = set()
        for (effect, rule), members in self._rules[agent].items():
            if rule not in blamed:
                rules[effect, rule] = members
                continue
            found.add(rule)
            if len(members) > 1:
                rules |= {(effect, one): (one,) for one in members}
        self._rules[agent] = rules
        return found

    def _narrow_what_lint_finds(self) -> None:
        for _ in range(2):  # then those of single calls are taken out
            tree = _tree(self.text(), self._file)
            found = lint(tree, load_tree(tree), most=0).findings
            shown = {
                each.span.text: each.code
                for each in found
                if each.span and each.severity is not Severity.NOTE
            }
            for agent in self.agents:
                blamed = {
                    one: shown[text]
                    for _, one in self._rules[agent]
                    for text in (one, json.dumps(one))
                    if text in shown
                }
                self._narrow(agent, blamed.keys())
                self._reported |= blamed

    def _leave_asking_to_host(self) -> None:
        """Take out the rules that ask, but for calls that a rule would allow then."""
        rules, asked = self._rules, self.decisions()
        self._keep(lambda effect, _: effect is Effect.ALLOW)
        needed = {
            because.rule
            for call, before, after in zip(self._usage.calls, asked, self.decisions(), strict=True)
            if call.effect is before.effect is Effect.ASK and after.effect is Effect.ALLOW
            for because in before.because
        }
        self._rules = rules
        self._keep(lambda effect, rule: effect is Effect.ALLOW or rule in needed)

    def decisions(self) -> list[Decision]:
        """Return what each call gets of the policy as it is printed."""
        printed = _decider(self.text(), self._file)
        return [printed.decide(call.record) for call in self._usage.calls]

    def uncovered(self) -> Iterator[UsedCall]:
        """Yield the calls that do not get what they got, each with the reason."""
        for call, got in zip(self._usage.calls, self.decisions(), strict=True):
            # The host allows some without a rule.
            if got.effect is not call.effect and (call.rules or got.effect is not Effect.ALLOW):
                yield evolve(call, why=self._why_not(call, got))

    def _why_not(self, call: UsedCall, got: Decision) -> str:
        rules = [because.rule for because in got.because if because.place is not None]
        if rules:
            does = {Effect.ALLOW: "allows it", Effect.ASK: "asks for it", Effect.DENY: "denies it"}
            return f"`{rules[0]}` {does[got.effect]}"
        for rule in call.rules:
            if rule in self._asked:
                return (
                    f"another call with `{rule.removesuffix(')').partition('(')[2]}` was asked for"
                )
        for rule in call.rules:
            if rule in self._reported:
                return f"lint reports its rule: {self._reported[rule]}"
            if rule in self._exceeding:
                tool = self._exceeding[rule]
                return f"its rule would grant more calls of `{tool}` than the policy in force"
        return "no rule can name it alone"

    def mend(self, decider: RecordDecider) -> tuple[str, ...]:
        """Take away what the policy in force does not grant, and return why not all was found."""
        why: tuple[str, ...] = ()
        for _ in range(_ROUNDS):
            excess: list[tuple[str, Difference]] = []
            why = ()
            for chain in self._chains:
                for project in self._usage.projects(chain):
                    found, unproven = self._compared(chain, project, decider)
                    excess += ((chain[-1], difference) for difference in found)
                    why = tuple(dict.fromkeys((*why, *unproven)))
            if not excess:
                return why
            # A rule that is taken over may mend more than it was taken over for.
            if not [None for agent, one in excess if self._take_over(agent, one)]:
                for agent, one in excess:
                    self._narrow_excess(agent, one)
        return (*why, f"after {_ROUNDS} rounds of mending some rule still grants more")

    def _compared(
        self, chain: tuple[str, ...], project: str, decider: RecordDecider
    ) -> tuple[list[Difference], tuple[str, ...]]:
        """Return what *chain* would be granted beyond the policy, and why that may not be all."""
        current = decider.chain(chain, project=project)
        if not isinstance(current, Chain):
            return [], (f"the policy in force has no chain {' > '.join(chain)}",)
        proposed = self._table(chain, current.table)
        comparison = differences(current.table & proposed, proposed)
        return [
            difference
            for difference in comparison.differences
            if difference.widened and not _is_guarded(difference.before)
        ], comparison.why

    def _table(self, chain: tuple[str, ...], current: Table) -> Table:
        """Return what *chain* may do, its calls read as the host of the policy in force does."""
        if self._file is not None:
            (project,) = load_tree(_tree(self.text(), self._file)).projects
            return Chain.start(self._file.agent, project.enforced).table
        dialect = dialect_of([current])
        root, *others = (self._policy(agent) for agent in chain)
        table = compile_policy(root, dialect, root=True)
        for policy in others:
            table = attenuate(table, compile_policy(policy, dialect))
        return table

    def _policy(self, agent: str) -> Policy:
        rules = self._granted(agent, spawns=False)
        handed = [(Effect.ALLOW, rule) for rule in self._handed_on(agent)]
        made, delegated = (
            tuple(Rule(effect, parse_matcher(rule), span=_NOWHERE) for effect, rule in each)
            for each in (rules, handed)
        )
        return Policy(agent, made, delegated or None)

    def _take_over(self, agent: str, difference: Difference) -> bool:
        """Give *agent* the rule that *difference* lacks, if there is one.

        A tool that no call used gets back what it had: rules of a host may be for several tools.
        """
        taken = self._taken_over[agent]
        for because in difference.before.because:
            rule, tool = because.rule, difference.tool
            if self._file is None:
                rule = "(".join((tool, *rule.partition("(")[2:])) if "(" in rule else tool
            key = because.effect, rule
            if because.effect is not Effect.ALLOW and "*" not in tool and key not in taken:
                with suppress(PolicyError):
                    parse_matcher(rule)
                    taken[key] = None
                    return True
        key = difference.before.effect, difference.tool
        used = {call.tool for call in self._usage.calls if call.chain[-1] == agent}
        own = {rule for _, rule in self._rules[agent]}
        by = {because.rule for because in difference.after.because}
        known = difference.tool in used or key in {*taken, *self._kept_tools(agent)}
        if known or own.isdisjoint(by) or "*" in key[1]:
            return False
        self._kept[agent].setdefault(key, set()).update(own & by)
        return True

    def _kept_tools(self, agent: str) -> list[tuple[Effect, str]]:
        """Return the rules for tools without a call, as long as rules of *agent* are for them."""
        own = {rule for _, rule in self._rules[agent]}
        return [key for key, rules in self._kept[agent].items() if not own.isdisjoint(rules)]

    def _narrow_excess(self, agent: str, difference: Difference) -> None:
        blamed = {because.rule for because in difference.after.because}
        # A rule of an agent above may be named: then the tool is what is too wide.
        of_tool = {rule for _, rule in self._rules[agent] if _tool(rule) == difference.tool}
        narrowed = self._narrow(agent, blamed) or self._narrow(agent, of_tool)
        self._exceeding |= dict.fromkeys(narrowed, difference.tool)

    def text(self) -> str:
        """Return the policy as a file."""
        if self._file is not None:
            rules: dict[Effect, dict[str, None]] = {}
            for agent in self.agents:
                for effect, rule in self._granted(agent):
                    rules.setdefault(effect, {})[rule] = None
            return self._file.write({effect: tuple(texts) for effect, texts in rules.items()})
        lines = [f"root {print_name(name)}" for name in dict.fromkeys(c[0] for c in self._chains)]
        for agent in self.agents:
            granted = [(e.value, rule) for e, rule in self._granted(agent)]
            granted += [("delegate", rule) for rule in self._handed_on(agent)]
            lines.append(f"agent {print_name(agent)} {{")
            for word in ("allow", "ask", "deny", "delegate"):
                listed = [
                    print_matcher(parse_matcher(rule)) for one, rule in granted if one == word
                ]
                lines += [f"{word} {', '.join(listed)}"] if listed else []
            lines.append("}")
        return print_document(parse_notation(Source("suggested", "\n".join([*lines, ""]))))

    @property
    def rules(self) -> int:
        """How many rules it has."""
        return sum(len(self._granted(agent)) for agent in self.agents)

    def _granted(self, agent: str, *, spawns: bool = True) -> list[tuple[Effect, str]]:
        """Return what *agent* may do: its rules, whom it starts, what is taken away."""
        started = self._spawns(agent) if spawns else ()
        kept = self._kept_tools(agent)
        return list(dict.fromkeys((*self._rules[agent], *started, *kept, *self._taken_over[agent])))

    def _spawns(self, agent: str) -> Iterator[tuple[Effect, str]]:
        for chain in self._chains:
            if len(chain) > 1 and chain[-2] == agent:
                yield self._starting(chain), f"{SPAWN_TOOL}({chain[-1]})"

    def _starting(self, chain: tuple[str, ...]) -> Effect:
        if self._decider is None:
            return Effect.ALLOW
        above, agent = chain[:-1], chain[-1]
        parents = [self._decider.chain(above, project=p) for p in self._usage.projects(chain)]
        said = [one.spawning(agent).effect for one in parents if isinstance(one, Chain)]
        return min(said, default=Effect.ALLOW)

    def _handed_on(self, agent: str) -> tuple[str, ...]:
        """Return what the agents below need, where *agent* may not do all of it itself."""
        below = {
            later
            for chain in self._chains
            if agent in chain
            for later in chain[chain.index(agent) + 1 :]
        }
        own = {rule: effect for effect, rule in reversed(self._granted(agent))}
        needed = [
            granted
            for later in self.agents
            if later in below
            for granted in self._granted(later)
            if granted[0] is not Effect.DENY
        ]
        if all(own.get(rule, Effect.DENY) >= effect for effect, rule in needed):
            return ()
        kept = [rule for effect, rule in self._granted(agent) if effect is not Effect.DENY]
        return tuple(dict.fromkeys((*kept, *(rule for _, rule in needed))))


def _tool(rule: str) -> str:
    return rule.partition("(")[0]


def _is_guarded(decision: Decision) -> bool:
    """Return whether the host itself keeps the call back, whatever rules say."""
    if decision.reason in {Reason.PROTECTED, Reason.MALFORMED}:
        return True
    return bool(decision.because) and all(one.place is None for one in decision.because)


@frozen
class Proposal:
    """A policy that covers what was used.

    Attributes:
        text: in our notation.
        agents: how many agents it is about.
        rules: how many rules it has.
        covered: how many calls get what they got.
        uncovered: calls that no rule could be written for, or that get less.
        why: why it is not proven that nothing exceeds the policy in force;
            nothing where it is, or where there is none.

    """

    text: str
    agents: int
    rules: int
    covered: int
    uncovered: tuple[UsedCall, ...]
    why: tuple[str, ...] = ()


def propose(
    usage: Usage,
    decider: RecordDecider | None = None,
    *,
    least: int = 3,
    file: RuleFile | None = None,
) -> Proposal:
    """Return the smallest policy found that covers *usage*.

    Args:
        usage: what was used.
        decider: the policy in force, which nothing of the proposal exceeds but
            what its host guards against every rule.
        least: how many distinct calls one rule is made of, at least, that
            matches more than they.
        file: of a host that it is written as, as *usage* was read; None is our notation.

    Raises:
        PolicyError: nothing was used.

    """
    if not usage.calls:
        msg = "the logs hold no call to cover"
        if usage.left_out:
            whys = [f"{first}: {why}" for why, (_, first) in usage.left_out.items()]
            msg += f": {'; '.join(whys)}"
        told = "name the policy in force with --policy, other logs, or the first agent with --root"
        raise PolicyError(msg, help=told)
    draft = _Draft(usage, decider, least, file)
    why = () if decider is None else draft.mend(decider)
    uncovered = tuple(draft.uncovered())
    missing = sum(call.times for call in uncovered)
    return Proposal(
        text=draft.text(),
        agents=len(draft.agents),
        rules=draft.rules,
        covered=sum(call.times for call in usage.calls) - missing,
        uncovered=uncovered,
        why=why,
    )
