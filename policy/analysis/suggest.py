"""The smallest policy that covers what was used, proven not to exceed the one in force.

The distinct calls of a log that the policy in force grants are read, with the narrowest rules that
each needs. Rules that share a beginning or a folder become one. This draft is compared with the
policy in force and narrowed where it grants more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from policy.analysis.lint import lint
from policy.analysis.records.logs import LogProblem
from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider, Undecided, each_answered
from policy.analysis.remedy import (
    begin_of,
    command_of,
    folded,
    hidden_kind,
    holds_credential,
    rule_for_all_of,
    rules_for,
)
from policy.compare.tables import differences
from policy.compare.witness import Difference
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.core.source import Source
from policy.core.values import evolve, field, frozen
from policy.files.trees import Memory
from policy.hosts.notation.semantics import DIALECT, compile_policy, dialect_of
from policy.hosts.portable import RuleFile
from policy.hosts.workspace import load_tree
from policy.language.parse import parse_matcher
from policy.language.printer import print_document
from policy.language.syntax import Agent, Delegate, Document, Grant, Matcher, Policy, Root, Rule
from policy.tables.chain import Chain, attenuate
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.table import SPAWN_TOOL, Table


def _tree(text: str, file: RuleFile | None) -> Memory:
    """Return a folder with *text*: rules of a host, or a policy in our notation."""
    return Memory({file.path if file else "suggested.policy": text})


def _decider(text: str, file: RuleFile | None) -> RecordDecider:
    return RecordDecider(load_tree(_tree(text, file)), "enforced", DIALECT.home)


_SPAWNS: Final = frozenset({SPAWN_TOOL, "Agent"})

# Why calls are left out that no policy is to cover.
_DENIED: Final = "the call is denied"
_START: Final = "the chains of the other calls say which agents are started"


@frozen
class UsedCall:
    """A distinct call that was made *times* times, as `Record` has it."""

    chain: tuple[str, ...]
    tool: str
    arguments: dict[str, object] = field(eq=False)
    effect: Effect  # what it gets of the policy in force, or got, as the log has it
    cwd: str = ""
    project: str = ""
    times: int = field(default=1, eq=False)
    rules: tuple[str, ...] = ()  # that it needs, the narrowest
    held: tuple[str, ...] = ()  # those for what is asked for, as far as that is known
    is_spelled: bool = False  # whether the one rule is the whole command
    why: str = field(default="", eq=False)  # why no rule covers it, or ""


_SHELLS: Final = frozenset(
    tool for tool, argument in DIALECT.arguments.items() if argument.kind is ArgumentKind.COMMAND
)

# What a command of one line is seldom run with twice.
_SCRIPTS: Final = frozenset(
    {"a loop", "a condition", "a group of commands", "syntax that is not looked into"}
)

# An agent that may do nothing, with rules about commands so that these are read.
_NOTHING: Final = "agent main { ask Bash(:), Monitor(:) }"


class _Bare:
    """A policy without rules, which shows for each call the rules that it needs."""

    def __init__(self, file: RuleFile | None) -> None:
        self._file = file
        self._agent = file.agent if file else "main"
        self._decider = _decider(file.write({}) if file else _NOTHING, file)
        self.dialect = dialect_of([self._chain("").table])

    def _chain(self, cwd: str) -> Chain:
        chain = self._decider.chain((self._agent,), cwd)
        assert isinstance(chain, Chain)  # noqa: S101  # it is one agent, who is there
        return chain

    def used(
        self, records: Iterable[Record | LogProblem], decider: RecordDecider | None, root: str
    ) -> tuple[list[UsedCall], Undecided]:
        """Return the calls of a log that are allowed or asked for, and why others are left out."""

        def used(call: Record) -> UsedCall:
            effect = call.effect if decider is None else decider.decide(call).effect
            if effect is None:
                raise PolicyError("the log does not say what the call got")
            if effect is Effect.DENY:
                raise PolicyError(_DENIED)
            if call.tool in _SPAWNS:
                raise PolicyError(_START)
            chain = call.chain if self._file is None else call.chain[:1]
            asked = chain, call.tool, call.call, effect, call.cwd, call.project
            rules, is_spelled = self._rules_for(call)
            lacking: tuple[str, ...] = ()
            in_force = decider and decider.chain(call.chain, call.cwd, call.project)
            if effect is Effect.ASK and len(rules) > 1 and isinstance(in_force, Chain):
                lacking = rules_for(in_force, call.tool, call.call, lacking=True)
            held = tuple(rule for rule in rules if rule in lacking) or rules
            return UsedCall(*asked, times=0, rules=rules, held=held, is_spelled=is_spelled)

        found: dict[object, UsedCall] = {}
        left_out = Undecided()
        start = decider.start if decider else self._agent if self._file else ""
        for record, call in each_answered(records, used, root, left_out, start):
            arguments = json.dumps(call.arguments, sort_keys=True)
            key = call.project, call.chain, call.tool, call.cwd, arguments
            # If the log has the effect of a call, that of the last time counts.
            times = record.times + (found[key].times if key in found else 0)
            found[key] = evolve(call, times=times)
        return [*found.values()], left_out

    def _rules_for(self, record: Record) -> tuple[tuple[str, ...], bool]:
        """Return the narrowest rules that a call needs; none for one that none can name alone.

        Also returns whether there is one that spells the whole command. Raises PolicyError where no
        rule can allow the call, or should name it.
        """
        tool, call, chain = record.tool, record.call, self._chain(record.cwd)
        if chain.decide(tool, call, checked=True).effect is Effect.ALLOW:
            return (), False
        command = command_of(tool, call, self.dialect)
        is_hidden = command is not None and (
            command.unread or command.opaque or not all(part.grantable for part in command.parts)
        )
        rules = () if is_hidden else rules_for(chain, tool, call, lacking=True)
        whole = None if rules or command is None else rule_for_all_of(chain, tool, call)
        kinds = (
            [hidden_kind(each.text, each.why) for each in command.ambiguities] if command else []
        )
        if whole and "\n" not in whole and _SCRIPTS.isdisjoint(kinds):
            return (whole,), True
        if not rules and holds_credential(call):
            raise PolicyError("no rule may hold a credential")
        if is_hidden:
            only = "only a rule that spells all of it can" if whole else "no rule can"
            raise PolicyError(f"{only} allow {(kinds or [hidden_kind('', '')])[0]}")
        return rules, False


# An effect and a rule -> the rules for single calls that this one replaces.
_Rules = dict[tuple[Effect, str], tuple[str, ...]]


def _folded_rules(calls: Iterable[UsedCall], least: int, dialect: Dialect) -> _Rules:
    """Return rules for *calls* of one agent; a rule of an allowed call asks only if it must."""
    calls = list(calls)
    # A rule that spells a whole command may allow what no pattern does.
    spelled = {rule for call in calls if call.is_spelled for rule in call.rules}
    allowed: set[str] = set()
    for call in calls:
        is_asked = call.effect is Effect.ASK
        allowed.update(rule for rule in call.rules if not is_asked or rule not in call.held)
    asked: set[str] = set()
    for call in calls:
        if call.effect is Effect.ASK:
            asked.update([rule for rule in call.held if rule not in allowed] or call.held)
    return {
        (effect, rule): members
        for effect, rules in ((Effect.ALLOW, allowed - asked), (Effect.ASK, asked))
        for rule, members in sorted(
            (
                folded(sorted(rules - spelled), least, dialect)
                | {rule: (rule,) for rule in rules & spelled}
            ).items()
        )
    }


_ROUNDS = 64  # each mends what the comparison found in the one before

# Where a rule stands that is written in no file.
_NOWHERE: Final = Source("suggested", "").whole()


class _Draft:
    """Rules for each agent that called, and which agents they start."""

    def __init__(
        self,
        calls: list[UsedCall],
        decider: RecordDecider | None,
        least: int,
        file: RuleFile | None,
        dialect: Dialect,
    ) -> None:
        self._calls = calls
        self._decider = decider
        self._file = file
        # Every chain that called, and those it came about by -> whose agents it is made of.
        projects: dict[tuple[str, ...], dict[str, None]] = {}
        for call in calls:
            for length in range(1, len(call.chain) + 1):
                projects.setdefault(call.chain[:length], {})[call.project] = None
        self._chains = dict(sorted(projects.items(), key=lambda item: (len(item[0]), item[0])))
        self.agents = list(dict.fromkeys(chain[-1] for chain in self._chains))
        self._rules = {
            agent: _folded_rules((one for one in calls if one.chain[-1] == agent), least, dialect)
            for agent in self.agents
        }
        # Rules that take away what the policy in force does not grant.
        self._taken_over: dict[str, dict[tuple[Effect, str], None]] = {a: {} for a in self.agents}
        # Rules of calls that were asked for.
        self._asked = {rule for call in calls if call.effect is Effect.ASK for rule in call.rules}
        # A rule for a single call -> why it is not among those that allow.
        self._missing: dict[str, str] = {}
        # The same -> the rule in force that allows the call, which grants nothing new.
        self._in_force: dict[str, str] = {}
        for rules in self._rules.values():
            for (effect, _), members in rules.items():
                for one in members if effect is Effect.ASK else ():
                    text = one.removesuffix(")").partition("(")[2] or one
                    self._missing[one] = f"another call with `{text}` was asked for"
        if file is not None:
            self._leave_asking_to_host()
        self._narrow_what_lint_finds()

    def _leave_asking_to_host(self) -> None:
        """Take out the rules that ask, but for those that a rule would allow then."""
        for agent, rules in self._rules.items():
            wide = [begin_of(rule) for effect, rule in rules if effect is Effect.ALLOW]
            self._rules[agent] = {
                (effect, rule): members
                for (effect, rule), members in rules.items()
                if effect is Effect.ALLOW or rule.startswith(tuple(wide))
            }

    def _narrow(self, agent: str, blamed: Mapping[str, str]) -> bool:
        """Write rules for single calls instead of wide ones; take out those for single calls.

        One that allows what is part of a call that was asked for asks instead. Returns whether
        *agent* had one of the rules *blamed*, each with why it must not be there.
        """
        kept: _Rules = {}
        for (effect, rule), members in self._rules[agent].items():
            wide = self._in_force.get(rule)
            if rule not in blamed:
                kept[effect, rule] = (*kept.get((effect, rule), ()), *members)
            elif rule not in self._in_force.values() and len(members) > 1:
                kept |= {(effect, one): (one,) for one in members}
            elif wide and wide not in blamed:
                kept[effect, wide] = (*kept.get((effect, wide), ()), rule)
            else:
                self._missing |= dict.fromkeys(members, blamed[rule])
                if effect is Effect.ALLOW and rule in self._asked and self._file is None:
                    kept[Effect.ASK, rule] = members
        changed = kept != self._rules[agent]
        self._rules[agent] = kept
        return changed

    def _narrow_what_lint_finds(self) -> None:
        for _ in range(2):  # then those of single calls are taken out
            tree = _tree(self.text(), self._file)
            codes = {
                each.span.text: each.code
                for each in lint(tree, load_tree(tree), most=0).findings
                if each.span is not None and each.severity is not Severity.NOTE
            }
            for agent in self.agents:
                blamed = {}
                for _, rule in self._rules[agent]:
                    text = json.dumps(rule, ensure_ascii=False) if self._file else rule
                    if text in codes:
                        blamed[rule] = f"lint reports its rule: {codes[text]}"
                self._narrow(agent, blamed)

    def decisions(self) -> list[Decision]:
        """Return the decision of the printed policy for each call."""
        printed = _decider(self.text(), self._file)
        records = (Record(c.chain, c.tool, c.arguments, cwd=c.cwd) for c in self._calls)
        return [printed.decide(record) for record in records]

    def uncovered(self) -> Iterator[UsedCall]:
        """Yield the calls whose effect is not that in the log, each with the reason."""
        does = {Effect.ALLOW: "allows it", Effect.ASK: "asks for it", Effect.DENY: "denies it"}
        for call, got in zip(self._calls, self.decisions(), strict=True):
            if _is_covered(call, got):
                continue
            rules = [because.rule for because in got.because if because.place is not None]
            missing = [self._missing[rule] for rule in call.rules if rule in self._missing]
            why = f"`{rules[0]}` {does[got.effect]}" if rules else "no rule can name it alone"
            yield evolve(call, why=missing[0] if missing and not rules else why)

    def drop_unneeded(self) -> None:
        """Remove the rules that allow and that only calls need which are not covered."""
        needed: set[tuple[str, str]] = set()
        for call, got in zip(self._calls, self.decisions(), strict=True):
            if _is_covered(call, got):
                rules = (*call.rules, *(because.rule for because in got.because))
                needed.update((call.chain[-1], rule) for rule in rules)
        for agent, found in self._rules.items():
            self._rules[agent] = {
                (effect, rule): members
                for (effect, rule), members in found.items()
                if effect is Effect.ASK or any((agent, one) in needed for one in (rule, *members))
            }

    def mend(self, decider: RecordDecider) -> tuple[str, ...]:
        """Remove grants that the policy in force does not have; return why some may be left."""
        why: dict[str, None] = {}
        for call in self._calls if self._file is not None else ():
            given = Record(
                call.chain, call.tool, call.arguments, cwd=call.cwd, project=call.project
            )
            because = decider.decide(given).because
            if len(call.rules) == len(because) == 1 and because[0].place is not None:
                self._in_force[call.rules[0]] = because[0].rule
        for _ in range(_ROUNDS):
            excess: list[tuple[str, Difference]] = []
            why = {}
            for chain, projects in self._chains.items():
                for project in projects:
                    current = decider.chain(chain, project=project)
                    if not isinstance(current, Chain):
                        why[f"the policy in force has no chain {' > '.join(chain)}"] = None
                        continue
                    proposed = self._table(chain, current.table)
                    found = differences(current.table & proposed, proposed)
                    why.update(dict.fromkeys(found.why))
                    excess += ((chain[-1], one) for one in found.differences if _is_excess(one))
            if not excess:
                return tuple(why)
            # A rule that is taken over may mend more than it was taken over for.
            taken_over = [self._take_over(agent, one) for agent, one in excess]
            if not any(taken_over):
                narrowed = [self._narrow_excess(agent, one) for agent, one in excess]
                if not any(narrowed):
                    break
                # What is narrower may need less to be taken away.
                self._taken_over = {agent: {} for agent in self.agents}
        return (*why, "some rule still grants more")

    def _table(self, chain: tuple[str, ...], current: Table) -> Table:
        """Return what *chain* may do, its calls read as the host of the policy in force does."""
        if self._file is not None:
            (project,) = load_tree(_tree(self.text(), self._file)).projects
            return Chain.start(self._file.agent, project.enforced).table
        dialect = dialect_of([current])
        table: Table | None = None
        for agent in chain:
            handed = [(Effect.ALLOW, rule) for rule in self._handed_on(agent)]
            made, delegated = (
                tuple(Rule(effect, parse_matcher(rule), span=_NOWHERE) for effect, rule in each)
                for each in (self._granted(agent, spawns=False), handed)
            )
            policy = Policy(agent, made, delegated or None)
            own = compile_policy(policy, dialect, root=table is None)
            table = own if table is None else attenuate(table, own)
        assert table is not None  # noqa: S101  # a chain has an agent
        return table

    def _take_over(self, agent: str, difference: Difference) -> bool:
        """Give *agent* the rule that *difference* lacks; return whether there is one.

        A tool that no call used keeps what it had: rules of a host may be for several tools.
        """
        tool, taken = difference.tool, self._taken_over[agent]
        lacking = []
        for because in difference.before.because:
            named, parenthesis, rest = because.rule.partition("(")
            # A rule about files may decide a command, and stays a rule about files.
            keeps = self._file is not None or (tool in _SHELLS and named not in _SHELLS)
            rule = because.rule if keeps else f"{tool}{parenthesis}{rest}"
            lacking.append((because.effect, rule))
        own = {rule for _, rule in self._rules[agent]}
        is_used = any((call.chain[-1], call.tool) == (agent, tool) for call in self._calls)
        if not is_used and not own.isdisjoint(one.rule for one in difference.after.because):
            lacking.append((difference.before.effect, tool))
        for effect, rule in lacking:
            is_new = (effect, rule) not in taken and "*" not in tool
            if effect is not Effect.ALLOW and is_new:
                with suppress(PolicyError):
                    parse_matcher(rule)
                    taken[effect, rule] = None
                    return True
        return False

    def _narrow_excess(self, agent: str, difference: Difference) -> bool:
        why = f"its rule would grant more calls of `{difference.tool}` than the policy in force"
        blamed = dict.fromkeys((because.rule for because in difference.after.because), why)
        # A rule of an agent above may be named, or none: then rules whose text the call has, or
        # all of the tool, are too wide.
        named = (rule.removesuffix(")").partition("(") for _, rule in self._rules[agent])
        of_tool = {f"{t}({x})" if b else t: x for t, b, x in named if t == difference.tool}
        texts = "\n".join(map(str, difference.call.values()))
        within = (rule for rule, text in of_tool.items() if text and text in texts)
        tries = (blamed, dict.fromkeys(within, why), dict.fromkeys(of_tool, why))
        return any(self._narrow(agent, each) for each in tries)

    def text(self) -> str:
        """Return the policy as a file."""
        if self._file is not None:
            lists: dict[Effect, dict[str, None]] = {}
            for agent in self.agents:
                for effect, rule in self._granted(agent):
                    lists.setdefault(effect, {})[rule] = None
            return self._file.write({effect: tuple(rules) for effect, rules in lists.items()})
        roots = dict.fromkeys(chain[0] for chain in self._chains)
        body: list[Root | Agent] = [Root(name, span=_NOWHERE) for name in roots]
        for agent in self.agents:
            granted, handed = self._granted(agent), self._handed_on(agent)
            statements: list[Grant | Delegate] = [
                Grant(effect, matchers, span=_NOWHERE)
                for effect in (Effect.ALLOW, Effect.ASK, Effect.DENY)
                if (matchers := _matchers(rule for one, rule in granted if one is effect))
            ]
            statements += [Delegate(_matchers(handed), span=_NOWHERE)] if handed else []
            body.append(Agent(agent, tuple(statements), span=_NOWHERE))
        return print_document(Document(tuple(body), span=_NOWHERE))

    @property
    def rules(self) -> int:
        """How many rules it has."""
        return sum(len(self._granted(agent)) for agent in self.agents)

    def _granted(self, agent: str, *, spawns: bool = True) -> list[tuple[Effect, str]]:
        """Return what *agent* may do: its rules, whom it starts, what is taken away."""
        found = dict.fromkeys(self._rules[agent])
        for chain in self._chains if spawns else ():
            if len(chain) > 1 and chain[-2] == agent:
                found[self._starting(chain), f"{SPAWN_TOOL}({chain[-1]})"] = None
        taken = self._taken_over[agent]

        def is_decided(effect: Effect, rule: str) -> bool:
            return any(
                (rule == wide and other < effect)
                or (rule.startswith(begin_of(wide)) and rule != wide and other <= effect)
                for other, wide in taken
            )

        return [key for key in found | taken if not is_decided(*key)]

    def _starting(self, chain: tuple[str, ...]) -> Effect:
        """Return the effect in the policy in force of the call that starts the last of *chain*."""
        effect = Effect.ALLOW
        if self._decider is not None:
            for project in self._chains[chain]:
                parent = self._decider.chain(chain[:-1], project=project)
                if isinstance(parent, Chain):
                    effect &= parent.spawning(chain[-1]).effect
        return effect

    def _handed_on(self, agent: str) -> tuple[str, ...]:
        """Return the rules that later agents need, if *agent* does not have all of them itself."""
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


def _matchers(rules: Iterable[str]) -> tuple[Matcher, ...]:
    return tuple(map(parse_matcher, rules))


def _is_covered(call: UsedCall, got: Decision) -> bool:
    # The host allows some without a rule.
    return got.effect is call.effect or (got.effect is Effect.ALLOW and not call.rules)


def _is_excess(difference: Difference) -> bool:
    """Return whether more is granted, and the host itself does not keep the call back."""
    before = difference.before
    if not difference.widened or before.reason in {Reason.PROTECTED, Reason.MALFORMED}:
        return False
    return not before.because or any(one.place is not None for one in before.because)


@frozen
class Proposal:
    """A policy that covers what was used."""

    text: str  # the file
    agents: int  # how many agents it is about
    rules: int  # how many rules it has
    covered: int  # how many calls get what they got
    uncovered: tuple[UsedCall, ...]  # calls that no rule could be written for, or that get less
    left_out: Undecided  # why other calls are not to be covered
    # Why it is not proven that nothing exceeds the policy in force, if there is one.
    why: tuple[str, ...] = ()

    @property
    def lost(self) -> int:
        """How many lines are left out that a policy might have to cover."""
        expected = (_DENIED, _START)
        return sum(lines for why, (lines, _) in self.left_out.items() if why not in expected)


def propose(
    records: Iterable[Record | LogProblem],
    decider: RecordDecider | None = None,
    *,
    root: str = "",
    least: int = 3,
    file: RuleFile | None = None,
) -> Proposal:
    """Return the smallest policy found that covers what the calls of a log use.

    Nothing of it exceeds the policy in force, of *decider*, but for what the host guards against
    every rule. Without one the log says what its calls got. *root* starts every chain in place of
    the agent in the log. A rule that matches more than its calls is made of *least* distinct calls
    or more. It is written as *file* of a host, or in our notation. Raises PolicyError where nothing
    was used.
    """
    bare = _Bare(file)
    calls, left_out = bare.used(records, decider, root)
    if not calls:
        msg = "the logs hold no call to cover"
        if left_out:
            whys = (f"{places[0]}: {why}" for why, (_, places) in left_out.items())
            msg += f": {'; '.join(whys)}"
        told = "name the policy in force with --policy, other logs, or the first agent with --root"
        raise PolicyError(msg, help=told)
    draft = _Draft(calls, decider, least, file, bare.dialect)
    draft.drop_unneeded()
    why = () if decider is None else draft.mend(decider)
    uncovered = tuple(draft.uncovered())
    draft.drop_unneeded()
    covered = sum(call.times for call in calls) - sum(call.times for call in uncovered)
    agents, rules = len(draft.agents), draft.rules
    return Proposal(draft.text(), agents, rules, covered, uncovered, left_out, why)
