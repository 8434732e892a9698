"""What a call gets: of our own policies, of what the host's files declare, or of both.

The host decides by its own rules in any case, after this. So nothing is said where they are
all that speak, but for what the host itself does not do: binding an agent by the lists
of those who started it. Where a policy of ours allows a call and the files of the host ask for
it, or guard it, nothing is said either, and the host asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from policy.adapters.messages import question, refusal, remainder, spawn_denial
from policy.anchors import Folders
from policy.chain import Chain, SpawnDenied
from policy.decision import Decision, Reason
from policy.effect import Effect
from policy.errors import PolicyError
from policy.followed import beyond_links, followed, path_fields
from policy.hook.chains import FORK, HOST, chains_of, met
from policy.hook.event import Event
from policy.hook.guarded import guarded
from policy.hook.spawned import started_by
from policy.projects import Offered, told_apart
from policy.table import Table

__all__ = ["OURS", "Answer", "decided"]

OURS: Final = "policy"
_SPAWNING: Final = frozenset({"Agent", "Task"})
# What the host starts where nobody says which agent.
_GENERAL: Final = "general-purpose"
_REMEMBERED: Final = 1024
# Modes in which an allowed call runs; in others the host judges it.
_PLAIN: Final = frozenset({"", "default", "acceptEdits", "dontAsk"})


@attrs.frozen
class Answer:
    """What the host is told, and why.

    Attributes:
        effect: the answer; without one the host decides as it would.
        message: what the model is told, or a person asked.
        chain: who calls, from the root down; () where that is not certain.
        project: whose agents they are, where several projects have such a root; or "".
        decision: what the policy says of the call, for records.

    """

    effect: Effect | None
    message: str
    chain: tuple[str, ...]
    project: str
    decision: Decision


@attrs.frozen
class _Asked:
    """A call, and everything about it that is not the project's."""

    event: Event
    types: tuple[str, ...] | None
    folders: Folders
    root: str
    files: tuple[str, ...]


@attrs.frozen
class _Said:
    """What one project says of a call."""

    decision: Decision
    message: str = ""
    chain: tuple[str, ...] = ()
    project: str = ""

    @property
    def effect(self) -> Effect:
        return self.decision.effect

    @property
    def is_default(self) -> bool:
        return self.decision.reason is Reason.DEFAULT

    def told(self, effect: Effect | None) -> Answer:
        """Return the answer *effect*, for the reason that this is."""
        message = self.message if effect is self.effect else ""
        return Answer(effect, message, self.chain, self.project, self.decision)


def decided(
    event: Event,
    projects: Iterable[Offered],
    folders: Folders,
    root: str = "",
    files: tuple[str, ...] = (),
) -> Answer:
    """Return what the host is told of a call.

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
    asked = [project for project in found if project.host == OURS]
    declared = [p for p in found if p.host == HOST and not p.root]
    if not asked and not declared:
        msg = "no policy here says what an agent of this host may do"
        raise PolicyError(msg)
    if event.tool in _SPAWNING and event.call.get("subagent_type") is None:
        named = {**event.call, "subagent_type": event.call.get("agent", _GENERAL)}
        event = attrs.evolve(event, call=named)
    call = _Asked(event, started_by(event), folders, root, files)
    ours = [attrs.evolve(_of(one, call), project=told_apart(one, found)) for one in asked]
    theirs = [attrs.evolve(_of(one, call), project=told_apart(one, found)) for one in declared]
    strictest = min((*ours, *theirs), key=lambda said: said.effect)
    if strictest.effect is Effect.DENY:
        return strictest.told(Effect.DENY)
    if not ours:
        return strictest.told(None)
    own = min(ours, key=lambda said: said.effect)
    if own.effect is Effect.ASK:
        return own.told(Effect.ASK)
    silent = all(said.effect is Effect.ALLOW or said.is_default for said in theirs)
    return own.told(Effect.ALLOW) if silent and event.mode in _PLAIN else strictest.told(None)


def _of(project: Offered, asked: _Asked) -> _Said:
    """Return what one project says of a call."""
    try:
        chains = chains_of(project, asked.event, asked.types, asked.root)
        chain = met(chains)
    except SpawnDenied as denied:
        return _Said(denied.decision, spawn_denial(denied))
    # Of two that are equally strict, that which is more than what holds by default.
    said = min(_within(project, chain, asked), key=lambda said: (said.effect, said.is_default))
    return attrs.evolve(said, chain=chain.names) if len(chains) == 1 else said


def _within(project: Offered, chain: Chain, asked: _Asked) -> Iterator[_Said]:
    """Yield all that one project says of a call of the last agent of *chain*."""
    event, folders = asked.event, asked.folders
    own = guarded(chain.table, asked.files) if project.host == OURS else chain.table
    table = folders.table(own)
    for call in _spelled(table, event, folders):
        yield _said(table, event.tool, call, table.decide(event.tool, call))
    linked = beyond_links(table, event.tool, event.call, folders, event.cwd)
    if linked is not None:
        table = linked.table(own)
        yield _said(table, event.tool, event.call, table.decide(event.tool, event.call))
    if event.tool in _SPAWNING:
        try:
            yield from _starting(project, chain, event)
        except SpawnDenied as denied:
            yield _Said(denied.decision, spawn_denial(denied))


def _said(table: Table, tool: str, call: dict[str, object], decision: Decision) -> _Said:
    message = ""
    if decision.effect is Effect.DENY:
        message = _denial(table, tool, decision)
    elif decision.effect is Effect.ASK:
        message = question(tool, call, decision)
    return _Said(decision, message)


# What remains of a table takes longer to tell than what it denies: by its hash, and the tool.
_TOLD: dict[tuple[str, str], str] = {}


def _denial(table: Table, tool: str, decision: Decision) -> str:
    key = (table.hash, tool)
    told = _TOLD.get(key)
    if told is None:
        if len(_TOLD) >= _REMEMBERED:
            _TOLD.clear()
        told = _TOLD[key] = remainder(table, tool, str)
    return refusal(tool, decision) + told


def _spelled(table: Table, event: Event, folders: Folders) -> Iterator[dict[str, object]]:
    """Yield the call, and the same call of the files that its paths lead to."""
    yield event.call
    real = followed(event.call, path_fields(table, event.tool), folders, event.cwd)
    if real is not None and real != event.call:
        yield real


def _starting(project: Offered, chain: Chain, event: Event) -> Iterator[_Said]:
    """Yield what the start of an agent gets, whatever the host takes its name for."""
    name = event.call["subagent_type"]
    if type(name) is not str:
        nobody = Decision(Effect.DENY, Reason.MALFORMED, table=chain.table.hash)
        yield _Said(nobody, "This call is denied: it names no agent.")
        return
    for agent in _meant(name, project.attenuated.agents):
        if agent != FORK and (project.host != HOST or agent in project.attenuated.agents):
            started = chain.spawning(agent)
            chain.spawn(agent)
            yield _Said(started, question("Agent", event.call, started))


def _meant(name: str, agents: Sequence[str]) -> Sequence[str]:
    return [agent for agent in agents if _folded(agent) == _folded(name)] or [name]


def _folded(name: str) -> str:
    # The host finds an agent whatever the case and the separators are.
    return "".join(letter for letter in name.casefold() if letter.isalnum())
