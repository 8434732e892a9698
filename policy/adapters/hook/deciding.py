"""What a call gets: of our own policies, of what the host's files declare, or of both.

The host decides by its own rules in any case, after this. So nothing is said where they are
all that speak, but for what the host itself does not do: binding an agent by the lists
of those who started it. Where a policy of ours allows a call and the files of the host ask for
it, or guard it, nothing is said either, and the host asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from policy.adapters.hook.answers import joined
from policy.adapters.hook.chains import FORK, HOST, chains_of, met
from policy.adapters.hook.event import SPAWNING, Event
from policy.adapters.hook.guarded import guarded
from policy.adapters.hook.spawned import started_by
from policy.adapters.messages import question_around, refusal, remainder, spawn_denial
from policy.core.call_json import shown
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.placement import ProjectFolders, ways
from policy.tables.projects import Offered, told_apart
from policy.tables.table import Table

__all__ = [
    "OURS",
    "CallerStanding",
    "HookAnswer",
    "HookCall",
    "ProjectSaid",
    "asked",
    "decided",
    "is_told",
]

OURS: Final = "policy"
_REMEMBERED: Final = 1024
# Modes in which an allowed call runs; in others the host judges it.
_PLAIN: Final = frozenset({"", "default", "acceptEdits", "dontAsk"})


@attrs.frozen
class HookAnswer:
    """What the host is told, and why.

    Attributes:
        effect: the answer; without one the host decides as it would.
        parts: what the model is told, or a person asked; None stands for the
            arguments of the call.
        chain: who calls, from the root down; () where that is not certain.
        project: whose agents they are, where several projects have such a root; or "".
        decision: what the policy says of the call, for records.

    """

    effect: Effect | None
    parts: tuple[str | None, ...]
    chain: tuple[str, ...]
    project: str
    decision: Decision

    def message(self, event: Event) -> str:
        """Return what is told of the call of *event*."""
        return joined(self.parts, event)


@attrs.frozen
class ProjectSaid:
    """What one project says of a call."""

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

    def told(self, effect: Effect | None) -> HookAnswer:
        """Return the answer *effect*, for the reason that this is."""
        parts = self.parts if effect is self.effect else ()
        return HookAnswer(effect, parts, self.chain, self.project, self.decision)


@attrs.frozen
class CallerStanding:
    """Where whoever calls stands in one project.

    Attributes:
        project: one whose agents it may be.
        title: what tells it apart, or "".
        chain: who calls, as far as that is certain; None where there is no such chain.
        names: the agents of the chain, where it is certain.
        own: what decides.
        table: the same, where the call is made.
        denial: what is said where there is no such chain.

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
    """A call, and where whoever makes it stands in each project."""

    event: Event
    folders: ProjectFolders
    standings: tuple[CallerStanding, ...]

    def answer(self) -> HookAnswer:
        """Return what the host is told."""
        said = []
        for standing in self.standings:
            every = [*self._within(standing), *self.beside(standing)]
            said.append(self.strictest(standing, every))
        return self.met(said)

    def strictest(self, standing: CallerStanding, every: Iterable[ProjectSaid]) -> ProjectSaid:
        """Return the strictest of all that one project says of the call.

        Of two that are equally strict, that which is more than what holds by default.
        """
        said = min(every, key=lambda said: (said.effect, said.is_default))
        return attrs.evolve(said, chain=standing.names, project=standing.title)

    def met(self, said: Sequence[ProjectSaid]) -> HookAnswer:
        """Return what the host is told where each project says what it says."""
        pairs = list(zip(self.standings, said, strict=True))
        ours = [each for standing, each in pairs if standing.project.host == OURS]
        theirs = [each for standing, each in pairs if standing.project.host != OURS]
        strictest = min((*ours, *theirs), key=lambda said: said.effect)
        if strictest.effect is Effect.DENY:
            return strictest.told(Effect.DENY)
        if not ours:
            return strictest.told(None)
        own = min(ours, key=lambda said: said.effect)
        if own.effect is Effect.ASK:
            return own.told(Effect.ASK)
        silent = all(said.effect is Effect.ALLOW or said.is_default for said in theirs)
        plain = self.event.mode in _PLAIN
        return own.told(Effect.ALLOW) if silent and plain else strictest.told(None)

    def _within(self, standing: CallerStanding) -> Iterator[ProjectSaid]:
        """Yield what the table says of the call, and of the files where links lead."""
        if standing.chain is None:
            return
        event, own, placed = self.event, standing.own, standing.table
        for table, call in ways(own, placed, event.tool, event.call, self.folders, cwd=event.cwd):
            at = standing if table is placed else attrs.evolve(standing, table=table)
            yield self.said(at, table.decide_read(event.tool, call), call)

    def beside(self, standing: CallerStanding) -> Iterator[ProjectSaid]:
        """Yield all that does not depend on rules about the arguments of the call."""
        if standing.denial is not None:
            yield ProjectSaid(standing.denial.decision, (spawn_denial(standing.denial),))
        elif self.event.tool in SPAWNING and standing.chain is not None:
            try:
                yield from self._starting(standing.project, standing.chain)
            except SpawnDenied as denied:
                yield ProjectSaid(denied.decision, (spawn_denial(denied),))

    def said(
        self, standing: CallerStanding, decision: Decision, call: Mapping[str, object]
    ) -> ProjectSaid:
        """Return what one project says where its table comes to *decision* of a call."""
        tool = self.event.tool
        if decision.effect is Effect.ALLOW:
            return ProjectSaid(decision)
        clauses = standing.table.account(tool, call)
        if decision.effect is Effect.DENY:
            return ProjectSaid(
                decision, (refusal(tool, decision, clauses), _remainder(standing.table, tool))
            )
        before, behind = question_around(tool, decision, clauses)
        given = call is self.event.call
        return ProjectSaid(decision, (before, None if given else shown(call), behind))

    def _starting(self, project: Offered, chain: Chain) -> Iterator[ProjectSaid]:
        """Yield what the start of an agent gets, whatever the host takes its name for."""
        name = self.event.call["subagent_type"]
        if type(name) is not str:
            nobody = Decision(Effect.DENY, Reason.MALFORMED, table=chain.table.hash)
            yield ProjectSaid(nobody, ("This call is denied: it names no agent.",))
            return
        for agent in _meant(name, project.attenuated.agents):
            if agent != FORK and (project.host != HOST or agent in project.attenuated.agents):
                started = chain.spawning(agent, self.event.call)
                chain.spawn(agent, self.event.call)
                before, behind = question_around("Agent", started)
                yield ProjectSaid(started, (before, None, behind))


def decided(
    event: Event,
    projects: Iterable[Offered],
    folders: ProjectFolders,
    root: str = "",
    files: tuple[str, ...] = (),
) -> HookAnswer:
    """Return what the host is told of a call, which is `asked` and answered."""
    return asked(event, projects, folders, root, files).answer()


def asked(
    event: Event,
    projects: Iterable[Offered],
    folders: ProjectFolders,
    root: str = "",
    files: tuple[str, ...] = (),
) -> HookCall:
    """Return a call, and where whoever makes it stands.

    Args:
        event: the call.
        projects: of every policy that is in force.
        folders: where the call is made.
        root: the agent that the main conversation is.
        files: what is not written unasked, besides what `guarded` knows.

    Raises:
        PolicyError: no policy says anything of this host.

    """
    found = list(projects)
    ours = [project for project in found if project.host == OURS]
    declared = [p for p in found if p.host == HOST and not p.root]
    if not ours and not declared:
        msg = "no policy here says what an agent of this host may do"
        raise PolicyError(msg)
    event = event.named()
    types = started_by(event)
    standings = []
    for project in (*ours, *declared):
        title = told_apart(project, found)
        try:
            chains = chains_of(project, event, types, root)
            chain = met(chains)
        except SpawnDenied as denied:
            standings.append(CallerStanding(project, title, None, (), Table(), Table(), denied))
            continue
        own = guarded(chain.table, files) if project.host == OURS else chain.table
        names = chain.names if len(chains) == 1 else ()
        standings.append(CallerStanding(project, title, chain, names, own, folders.table(own)))
    return HookCall(event, folders, tuple(standings))


# What remains of a table takes longer to tell than what it denies: by its hash, and the tool.
_TOLD: dict[tuple[str, str], str] = {}


def is_told(standing: CallerStanding, tool: str) -> bool:
    """Return whether it is known what remains where a call of *tool* is denied."""
    return (standing.table.hash, tool) in _TOLD


def _remainder(table: Table, tool: str) -> str:
    key = (table.hash, tool)
    told = _TOLD.get(key)
    if told is None:
        if len(_TOLD) >= _REMEMBERED:
            _TOLD.clear()
        told = _TOLD[key] = remainder(table, tool, str)
    return told


def _meant(name: str, agents: Sequence[str]) -> Sequence[str]:
    return [agent for agent in agents if _folded(agent) == _folded(name)] or [name]


def _folded(name: str) -> str:
    # The host finds an agent whatever the case and the separators are.
    return "".join(letter for letter in name.casefold() if letter.isalnum())
