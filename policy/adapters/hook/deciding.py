"""What a call gets from our own policies, from what the host's files declare, or from both.

The host decides by its own rules afterwards. So where only the host's files apply, the hook
leaves the call to it, except for what the host does not enforce: the lists of tools of the agents
that started an agent. Where our policy allows a call and the host's files ask for it or protect
it, the hook leaves the call to the host as well, and the host asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import attrs

from policy.adapters.hook.ancestry import started_by
from policy.adapters.hook.chains import FORK, HOST, chains_of, met
from policy.adapters.hook.event import SPAWNING, Event
from policy.adapters.messages import question_around, refusal, remainder, spawn_denial
from policy.core.call_json import shown
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.patterns import notations
from policy.patterns.pattern import Pattern, PatternKind
from policy.patterns.tokens import Gap, folded, in_any_case
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.dialect import ArgumentKind, Dialect
from policy.tables.placement import ProjectFolders, ways
from policy.tables.projects import Offered, told_apart
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

__all__ = [
    "HookAnswer",
    "HookCall",
    "ProjectVerdict",
    "Standing",
    "hook_call",
    "is_remainder_known",
]

_OURS: Final = "policy"
_REMEMBERED: Final = 1024
# Modes in which an allowed call runs; in other modes the host judges it.
_PLAIN: Final = frozenset({"", "default", "acceptEdits", "dontAsk"})


@attrs.frozen
class HookAnswer:
    """What the host is answered, and why.

    Attributes:
        effect: the answer; None leaves the call to the host.
        parts: the message for the model or for the person who approves; None stands for the
            arguments of the call.
        chain: of the agent that calls, from the root down; () where it is not certain.
        project: of these agents, where several projects have such a root; or "".
        decision: of the policy, for records.

    """

    effect: Effect | None
    parts: tuple[str | None, ...]
    chain: tuple[str, ...]
    project: str
    decision: Decision


@attrs.frozen
class ProjectVerdict:
    """What one project says of a call, with the message in parts."""

    decision: Decision
    parts: tuple[str | None, ...] = ()
    chain: tuple[str, ...] = ()
    project: str = ""

    @property
    def effect(self) -> Effect:
        """The effect alone."""
        return self.decision.effect

    @property
    def is_default(self) -> bool:
        """Whether no rule is the reason."""
        return self.decision.reason is Reason.DEFAULT

    def answer(self, effect: Effect | None) -> HookAnswer:
        """Return the answer *effect*, for the reason of this verdict."""
        parts = self.parts if effect is self.effect else ()
        return HookAnswer(effect, parts, self.chain, self.project, self.decision)


@attrs.frozen
class Standing:
    """The place of the agent that calls in one project.

    Attributes:
        project: which may be that of the agent.
        title: what distinguishes the project, or "".
        chain: of the agent, as far as it is certain; None where there is no such chain.
        names: the agents of the chain, where it is certain.
        own: the table that decides.
        table: the same, placed in the folders of the call.
        denial: the reason why there is no chain.

    """

    project: Offered
    title: str
    chain: Chain | None
    names: tuple[str, ...]
    own: Table
    table: Table
    denial: SpawnDenied | None = None


@attrs.frozen
class HookCall:
    """A call, and the standing of its agent in each project."""

    event: Event
    folders: ProjectFolders
    standings: tuple[Standing, ...]

    def answer(self) -> HookAnswer:
        """Return what the host is answered."""
        return self.combined(
            [
                self.strictest(standing, [*self._from_table(standing), *self.fixed(standing)])
                for standing in self.standings
            ]
        )

    def strictest(self, standing: Standing, verdicts: Iterable[ProjectVerdict]) -> ProjectVerdict:
        """Return the strictest of the verdicts of one project; among equals, one with a rule."""
        strictest = min(verdicts, key=lambda verdict: (verdict.effect, verdict.is_default))
        return attrs.evolve(strictest, chain=standing.names, project=standing.title)

    def combined(self, verdicts: Sequence[ProjectVerdict]) -> HookAnswer:
        """Return what the host is answered where each project has one verdict."""
        pairs = list(zip(self.standings, verdicts, strict=True))
        ours = [each for standing, each in pairs if standing.project.host == _OURS]
        theirs = [each for standing, each in pairs if standing.project.host != _OURS]
        strictest = min((*ours, *theirs), key=lambda verdict: verdict.effect)
        if strictest.effect is Effect.DENY:
            return strictest.answer(Effect.DENY)
        if not ours:
            return strictest.answer(None)
        own = min(ours, key=lambda verdict: verdict.effect)
        if own.effect is Effect.ASK:
            return own.answer(Effect.ASK)
        silent = all(each.effect is Effect.ALLOW or each.is_default for each in theirs)
        plain = self.event.mode in _PLAIN
        return own.answer(Effect.ALLOW) if silent and plain else strictest.answer(None)

    def _from_table(self, standing: Standing) -> Iterator[ProjectVerdict]:
        """Yield the verdicts of the table: on the call, and on the files where links lead."""
        if standing.chain is None:
            return
        event, own, placed = self.event, standing.own, standing.table
        for table, call in ways(own, placed, event.tool, event.call, self.folders, cwd=event.cwd):
            at = standing if table is placed else attrs.evolve(standing, table=table)
            yield self.verdict(at, table.decide(event.tool, call, checked=True), call)

    def fixed(self, standing: Standing) -> Iterator[ProjectVerdict]:
        """Yield the verdicts that no rule about the arguments of the call changes."""
        if standing.denial is not None:
            yield ProjectVerdict(standing.denial.decision, (spawn_denial(standing.denial),))
        elif self.event.tool in SPAWNING and standing.chain is not None:
            try:
                yield from self._starting(standing.project, standing.chain)
            except SpawnDenied as denied:
                yield ProjectVerdict(denied.decision, (spawn_denial(denied),))

    def verdict(
        self, standing: Standing, decision: Decision, call: Mapping[str, object]
    ) -> ProjectVerdict:
        """Return the verdict with the message for the *decision* of a table."""
        tool = self.event.tool
        if decision.effect is Effect.ALLOW:
            return ProjectVerdict(decision)
        clauses = standing.table.account(tool, call)
        if decision.effect is Effect.DENY:
            why = refusal(tool, decision, clauses)
            return ProjectVerdict(decision, (why, _remainder(standing.table, tool)))
        before, behind = question_around(tool, decision, clauses)
        own = call is self.event.call
        return ProjectVerdict(decision, (before, None if own else shown(call), behind))

    def _starting(self, project: Offered, chain: Chain) -> Iterator[ProjectVerdict]:
        """Yield the verdicts on starting every agent that the host may take the name for."""
        name = self.event.call["subagent_type"]
        if type(name) is not str:
            denied = Decision(Effect.DENY, Reason.MALFORMED, table=chain.table.hash)
            yield ProjectVerdict(denied, ("This call is denied: it names no agent.",))
            return
        agents = project.attenuated.agents
        # The host ignores case and separators in the name of an agent.
        meant = [agent for agent in agents if _letters(agent) == _letters(name)] or [name]
        for agent in meant:
            if agent != FORK and (project.host != HOST or agent in agents):
                started = chain.spawning(agent, self.event.call)
                chain.spawn(agent, self.event.call)
                before, behind = question_around("Agent", started)
                yield ProjectVerdict(started, (before, None, behind))


def hook_call(
    event: Event,
    projects: Iterable[Offered],
    folders: ProjectFolders,
    root: str = "",
    files: tuple[str, ...] = (),
) -> HookCall:
    """Return a call with the standing of its agent in each project.

    Args:
        event: the call.
        projects: of every policy in force.
        folders: of the call.
        root: the agent of the main conversation.
        files: whose writing needs approval, besides those of `_protected`.

    Raises:
        PolicyError: no policy applies to this host.

    """
    offered = list(projects)
    ours = [project for project in offered if project.host == _OURS]
    declared = [each for each in offered if each.host == HOST and not each.root]
    if not ours and not declared:
        raise PolicyError("no policy here says what an agent of this host may do")
    event = event.with_agent()
    types = started_by(event)
    standings = []
    for project in (*ours, *declared):
        title = told_apart(project, offered)
        try:
            chains = chains_of(project, event, types, root)
            chain = met(chains)
        except SpawnDenied as denied:
            standings.append(Standing(project, title, None, (), Table(), Table(), denied))
            continue
        own = _protected(chain.table, files) if project.host == _OURS else chain.table
        names = chain.names if len(chains) == 1 else ()
        standings.append(Standing(project, title, chain, names, own, folders.table(own)))
    return HookCall(event, folders, tuple(standings))


# What remains allowed, by the hash of a table and a tool: finding it takes longer than deciding.
_REMAINDERS: dict[tuple[str, str], str] = {}


def is_remainder_known(standing: Standing, tool: str) -> bool:
    """Return whether it is known what remains allowed where a call of *tool* is denied."""
    return (standing.table.hash, tool) in _REMAINDERS


def _remainder(table: Table, tool: str) -> str:
    key = (table.hash, tool)
    found = _REMAINDERS.get(key)
    if found is None:
        if len(_REMAINDERS) >= _REMEMBERED:
            _REMAINDERS.clear()
        found = _REMAINDERS[key] = remainder(table, tool, str)
    return found


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


# --- the files of the policy ---------------------------------------------------------
#
# An agent that may edit any file could grant itself everything with one edit. So writing a file
# of the policy needs approval.

_WRITING: Final = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_LINK: Final = "policy hook"
# Below the project, and below the home folder.
_IN_PROJECT: Final = ("/*.policy", "/.claude/**")
_IN_HOME: Final = (
    "/.claude/**",
    "/.config/agent-policy/**",
    "/.cache/agent-policy/**",
    "/.cache/agent-policy-hook/**",
)


def _protected(table: Table, files: tuple[str, ...]) -> Table:
    """Return *table*, with rules that ask before a file of the policy is written.

    Args:
        table: of a policy of ours.
        files: more such files, or folders of them, absolute.

    """
    for dialect in dict.fromkeys(part.rules.dialect for part in table.use.parts):
        if dialect.name:
            table &= _protection(dialect, files)
    return table


@lru_cache(maxsize=16)
def _protection(dialect: Dialect, files: tuple[str, ...]) -> Table:
    rules = RuleSet(tuple(_protecting_entries(dialect, files)), Effect.ALLOW, dialect)
    return Table.of(rules, link=_LINK)


def _protecting_entries(dialect: Dialect, files: tuple[str, ...]) -> Iterator[Entry]:
    for tool in _WRITING:
        for text, pattern in _policy_files(dialect, files):
            yield Entry(tool, Effect.ASK, pattern, rule=f"{tool}({text})")
    for tool, argument in dialect.arguments.items():
        if argument.kind is ArgumentKind.COMMAND:
            # The files that a command writes are looked at where a rule applies to commands.
            yield Entry(tool, Effect.ALLOW, Pattern.text("*"), rule=tool)


def _policy_files(dialect: Dialect, files: tuple[str, ...]) -> Iterator[tuple[str, Pattern]]:
    for anchor, prefix, texts in ((dialect.cwd, "", _IN_PROJECT), (dialect.home, "~", _IN_HOME)):
        for text in texts:
            for pattern in notations.paths(
                text, anchor, fold=dialect.fold, any_case=not dialect.fold
            ):
                yield prefix + text, pattern
    for file in files:
        named = [folded(file)] if dialect.fold else list(in_any_case([file]))
        yield "/" + file, Pattern.of(PatternKind.PATH, named)
        yield f"/{file}/**", Pattern.of(PatternKind.PATH, [*named, "/", Gap.PART, Gap.DEEP])
