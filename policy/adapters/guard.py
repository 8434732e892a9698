"""The checker that every runtime gets: wrap a call, or filter a list."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

import attrs

from policy.adapters.messages import (
    FAILED,
    always_granted,
    may_call,
    may_start,
    question,
    refusal,
    remainder,
    spawn_denial,
)
from policy.analysis.records.record import Record, Recorder
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.tables.chain import NOTHING_SAID, Chain, SpawnDenied
from policy.tables.placement import ProjectFolders, Rootless, folders_here, ways
from policy.tables.table import Table

__all__ = ["CallDenied", "Guard", "GuardedProgram", "Running", "Seals", "Verdict", "unapproved"]


@attrs.frozen
class Verdict:
    """What a call gets before it runs.

    Attributes:
        effect: the answer.
        message: what the model is told (DENY) or a person is asked (ASK).
        decision: with its reasons; None where the checker itself failed.
        chain: in which the call would run; None where there is none.
        started: the narrower chain of the agent that the call starts, if it does.

    """

    effect: Effect
    message: str = ""
    decision: Decision | None = attrs.field(default=None, repr=False)
    chain: Chain | None = None
    started: Chain | None = None


class CallDenied(Exception):
    """A call that does not run. Its text is what the model is told."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def unapproved(verdict: Verdict) -> Verdict:
    """Return the denial of a call that was asked for and that nobody approved."""
    said = "This call needs the approval of a person, and was not approved."
    return attrs.evolve(verdict, effect=Effect.DENY, message=said)


# Approvals that come back through a program that keeps no state: bound to one call.
#
# A seal is made for a question about a call, travels to whoever asks the person,
# and comes back with the call. It is of no use for any other call, and of none
# for another process.


class Seals:
    """Makes and knows the seals of one process."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Return the seal of a call. Raises TypeError or ValueError for what is no JSON."""
        call = json.dumps([tool, arguments], sort_keys=True, allow_nan=False)
        return "policy:" + hmac.new(self._key, call.encode(), hashlib.sha256).hexdigest()

    def knows(self, seal: object, tool: str, arguments: Mapping[str, object]) -> bool:
        """Return whether *seal* was made for this call, by this process."""
        return isinstance(seal, str) and hmac.compare_digest(
            seal.encode("utf-8", "replace"), self.seal(tool, arguments).encode()
        )


# What the guards of one program share: names, folders, and which call is running.


# Tables, and answers of whether a tool can be called at all, that are kept.
_REMEMBERED = 4096


@attrs.frozen
class Running:
    """The call that is running: of which agent, and of which agent it starts one."""

    chain: Chain
    started: Chain | None


@attrs.frozen(eq=False)
class GuardedProgram:
    """What the guards of one program share."""

    chain: Chain
    names: Mapping[str, str]
    prefix: str
    starts: Mapping[str, str]
    folders: ProjectFolders | None
    recorder: Recorder | None = None
    # One for each program that is guarded: chains of two policies are not compared.
    running: ContextVar[Running | None] = attrs.field(
        factory=lambda: ContextVar("policy_running", default=None)
    )
    offered: dict[tuple[str, str, str], bool] = attrs.field(factory=dict)
    remaining: dict[tuple[str, str, str], str] = attrs.field(factory=dict)
    tables: dict[tuple[str, str], Table] = attrs.field(factory=dict)
    rootless: Rootless = attrs.field(factory=Rootless)

    def table(self, chain: Chain) -> Table:
        """Return what a chain may do on this machine."""
        if self.folders is None:
            return chain.table
        # Chains whose tables are equal have other links to name.
        key = (str(chain), chain.table.hash)
        table = self.tables.get(key)
        if table is None:
            if len(self.tables) >= _REMEMBERED:
                self.tables.clear()
            table = self.tables[key] = self.folders.table(chain.table)
        return table

    def verdict(
        self, chain: Chain, tool: str, arguments: Mapping[str, object], *, recorded: bool
    ) -> Verdict:
        """Return what a call of a tool of the runtime gets."""
        agent = self.starts.get(tool)
        if agent is not None:
            return self.start(chain, agent, tool, arguments, recorded=recorded)
        named, call = self.named(tool), dict(arguments)
        decision = self.decide(chain, named, call)
        if recorded:
            self._record(chain.names, named, call, decision)
        if decision.effect is Effect.ALLOW:
            return Verdict(Effect.ALLOW, "", decision, chain)
        clauses = self.table(chain).account(named, call)
        if decision.effect is Effect.ASK:
            asked = question(tool, arguments, decision, clauses)
            return Verdict(Effect.ASK, asked, decision, chain)
        said = refusal(tool, decision, clauses) + self.remains(chain, named)
        return Verdict(Effect.DENY, said, decision, chain)

    def start(
        self,
        chain: Chain,
        agent: str,
        tool: str,
        arguments: Mapping[str, object],
        *,
        recorded: bool,
    ) -> Verdict:
        """Return what the call of *tool* gets that starts an agent."""
        decision = chain.spawning(agent, arguments)
        try:
            started, said = chain.spawn(agent, arguments), ""
        except SpawnDenied as denied:
            started, said = None, spawn_denial(denied)
            if decision.effect is not Effect.DENY:
                # Of a depth, or of no such agent, no rule speaks.
                decision = attrs.evolve(denied.decision, table=decision.table)
        if recorded:
            self._record(chain.names, *chain.start_call(agent, arguments), decision)
        if started is not None and decision.effect is Effect.ASK:
            said = question(tool, arguments, decision)
        return Verdict(decision.effect, said, decision, chain, started)

    def stray(
        self,
        agent: str,
        denied: SpawnDenied,
        tool: str,
        arguments: Mapping[str, object],
        *,
        recorded: bool,
    ) -> Verdict:
        """Return what the call of an *agent* gets that no chain leads to."""
        decision = denied.decision
        if recorded:
            self._record((), self.named(tool), dict(arguments), decision, agent)
        return Verdict(Effect.DENY, spawn_denial(denied), decision)

    def _record(
        self,
        chain: tuple[str, ...],
        tool: str,
        call: Mapping[str, object],
        decision: Decision,
        agent: str = "",
    ) -> None:
        if self.recorder is not None:
            cwd = self.folders.cwd if self.folders is not None else ""
            record = Record.of(chain, tool, call, decision)
            self.recorder.append(attrs.evolve(record, agent=agent, cwd=cwd))

    def decide(self, chain: Chain, tool: str, call: dict[str, object]) -> Decision:
        """Return what a call of a tool of the policy gets, wherever links lead from its paths."""
        if self.folders is None:
            return self.rootless.decide_read(chain.table, tool, call)
        placed = self.table(chain)
        found = ways(chain.table, placed, tool, call, self.folders)
        return min(
            (table.decide_read(tool, meant) for table, meant in found), key=lambda one: one.effect
        )

    def remains(self, chain: Chain, tool: str) -> str:
        """Return what a model is told of what remains where a call of *tool* is denied."""
        # To find it out takes a comparison, and models try again.
        key = (str(chain), chain.table.hash, tool)
        found = self.remaining.get(key)
        if found is None:
            found = remainder(self.table(chain), tool, self.runtime_name)
            if len(self.remaining) >= _REMEMBERED:
                self.remaining.clear()
            self.remaining[key] = found
        return found

    def runtime_name(self, tool: str) -> str:
        """Return what the runtime calls a tool of the policy."""
        named = next((name for name, other in self.names.items() if other == tool), None)
        return named or tool.removeprefix(self.prefix)

    def named(self, tool: str) -> str:
        """Return what the policy calls a tool of the runtime."""
        return self.names.get(tool) or self.prefix + tool

    def is_offered(self, chain: Chain, tool: str) -> bool:
        """Return whether some call of a tool of the runtime can be allowed, or asked for."""
        known = self.offered
        key = (str(chain), chain.table.hash, tool)
        found = known.get(key)
        if found is None:
            agent = self.starts.get(tool)
            if agent is not None:
                found = may_start(chain, agent)
            else:
                found = may_call(self.table(chain), self.named(tool))
            if len(known) >= _REMEMBERED:
                known.clear()
            known[key] = found
        return found


# The checker that every runtime is given: wrap a call, or filter a list.
#
# A guard is made from the chain of the agent that a program starts with. Agents
# that this one starts have guards of their own, by name (`Guard.agent`), whose
# chain follows from who is running when they call: while a tool runs, the
# context (`contextvars`) holds the chain of the agent that called it. Tasks and threads
# that copy the context carry it along, so calls of several agents at once do
# not mix, and no agent can choose another chain than the one it was started in. Where no
# context leads to an agent, its calls are denied.
#
# Whatever goes wrong here denies. What goes wrong elsewhere, say in the program
# that asks a person, is raised, and the call does not run.


_T = TypeVar("_T")


_FAILED: Final = Verdict(Effect.DENY, FAILED)


class Guard:
    """Decides the calls of one agent before they run.

    Immutable, and the same from every thread and task.

    Args:
        chain: of the agent that starts.
        names: what the runtime calls a tool -> what the policy calls it.
        prefix: of all other names, e.g. ``mcp__github__``.
        starts: what the runtime calls a tool -> the agent that it starts. Such
            a call is decided as the start of that agent, and nothing else.
        project: the folder of the project on this machine, which rules about files speak
            of; None where it is not known, so that paths which are absolute or leave it are denied.
        home: the home folder, likewise.
        recorder: writes every decision down; a call that cannot be written down
            is denied.

    """

    __slots__ = ("_agent", "_fixed", "_program")

    def __init__(
        self,
        chain: Chain,
        *,
        names: Mapping[str, str] | None = None,
        prefix: str = "",
        starts: Mapping[str, str] | None = None,
        project: str | os.PathLike[str] | None = ".",
        home: str | os.PathLike[str] = "~",
        recorder: Recorder | None = None,
    ) -> None:
        folders = None if project is None else folders_here(project, home)
        self._program = GuardedProgram(
            chain, dict(names or {}), prefix, dict(starts or {}), folders, recorder
        )
        self._agent = chain.names[-1]
        self._fixed: Chain | None = None

    def agent(self, name: str) -> Guard:
        """Return the guard of agents called *name*, whoever starts them."""
        return self._other(name, None)

    def at(self, chain: Chain) -> Guard:
        """Return the guard of the last agent of *chain*, where the runtime hands the chain on."""
        return self._other(chain.names[-1], chain)

    def _other(self, agent: str, fixed: Chain | None) -> Guard:
        other = object.__new__(type(self))
        other._program, other._agent, other._fixed = self._program, agent, fixed
        return other

    @property
    def name(self) -> str:
        """The agent whose calls it decides."""
        return self._agent

    def starts(self, tool: str) -> str | None:
        """Return the agent that a tool of the runtime starts, if it starts one."""
        return self._program.starts.get(tool)

    def named(self, tool: str) -> str:
        """Return what the policy calls a tool of the runtime."""
        return self._program.named(tool)

    @property
    def chain(self) -> Chain:
        """The chain in which a call made here and now would run.

        Raises:
            SpawnDenied: nothing that is running leads to this agent, or what
                does may not start it unasked.

        """
        if self._fixed is not None:
            return self._fixed
        running = self._program.running.get()
        if running is None:
            if self._agent != self._program.chain.names[-1]:
                raise SpawnDenied(self._agent, self._program.chain.names[-1], "not-started")
            return self._program.chain
        if running.started is not None and running.started.names[-1] == self._agent:
            return running.started
        chain = running.chain.spawn(self._agent, NOTHING_SAID)
        if chain.links[-1].confirm:
            # Nobody was asked: the tool that is running is not known to start it.
            raise SpawnDenied(self._agent, running.chain.names[-1], "not-started")
        return chain

    @property
    def calling(self) -> Chain:
        """The chain of a call that continues one of this agent, e.g. one tool by means of another.

        Raises:
            SpawnDenied: as for `chain`.

        """
        running = self._program.running.get()
        if running is not None:
            for chain in (running.started, running.chain):
                if chain is not None and chain.names[-1] == self._agent:
                    return chain
        return self.chain

    def check(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        chain_of: Callable[[], Chain] | None = None,
        recorded: bool = True,
    ) -> Verdict:
        """Return what a call gets. Never raises: what goes wrong denies.

        Args:
            tool: as the runtime calls it.
            arguments: by name.
            chain_of: finds the chain, where the runtime itself keeps it.
            recorded: whether it is written down, if anything is; False where it
                is asked about once more.

        """
        program = self._program
        return self._checked(
            chain_of,
            lambda chain: program.verdict(chain, tool, arguments, recorded=recorded),
            lambda denied: program.stray(self._agent, denied, tool, arguments, recorded=recorded),
        )

    def check_start(
        self,
        agent: str,
        said: Mapping[str, object] = NOTHING_SAID,
        *,
        chain_of: Callable[[], Chain] | None = None,
        recorded: bool = True,
    ) -> Verdict:
        """Return what the start of *agent*, as the policy calls it, gets (see `check`).

        Args:
            agent: whom.
            said: what else the call says that starts it, e.g. the model.
            chain_of: as for `check`.
            recorded: likewise.

        """
        program = self._program
        return self._checked(
            chain_of,
            lambda chain: program.start(chain, agent, agent, said, recorded=recorded),
            lambda denied: program.stray(self._agent, denied, agent, said, recorded=recorded),
        )

    def _checked(
        self,
        chain_of: Callable[[], Chain] | None,
        check: Callable[[Chain], Verdict],
        stray: Callable[[SpawnDenied], Verdict],
    ) -> Verdict:
        try:
            try:
                chain = self.chain if chain_of is None else chain_of()
            except SpawnDenied as denied:
                return stray(denied)
            return check(chain)
        except Exception:  # noqa: BLE001  # whatever it is, it must not grant
            return _FAILED

    @contextmanager
    def running(self, verdict: Verdict) -> Iterator[None]:
        """Say that the call of *verdict* runs: agents started meanwhile are below its chain.

        Raises:
            CallDenied: it may not run.

        """
        if verdict.effect is Effect.DENY or verdict.chain is None:
            raise CallDenied(verdict)
        token = self._program.running.set(Running(verdict.chain, verdict.started))
        try:
            yield
        finally:
            self._program.running.reset(token)

    def run_on(self, verdict: Verdict) -> None:
        """Say that the call of *verdict* runs, for the rest of this task and what it starts.

        For a runtime that tells of a call before it runs, and runs each in a
        task of its own. Raises CallDenied where it may not run.
        """
        if verdict.effect is Effect.DENY or verdict.chain is None:
            raise CallDenied(verdict)
        self._program.running.set(Running(verdict.chain, verdict.started))

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        run: Callable[[], _T],
        *,
        ask: Callable[[Verdict], bool] | None = None,
    ) -> _T:
        """Return what *run* returns, if the call may run.

        Args:
            tool: as the runtime calls it.
            arguments: by name.
            run: runs the call.
            ask: whether a person approves; nobody does where there is none.

        Raises:
            CallDenied: it may not; its text is for the model.

        """
        verdict = self.check(tool, arguments)
        if verdict.effect is Effect.ASK and (ask is None or ask(verdict) is not True):
            raise CallDenied(unapproved(verdict))
        with self.running(verdict):
            return run()

    async def acall(
        self,
        tool: str,
        arguments: Mapping[str, object],
        run: Callable[[], Awaitable[_T]],
        *,
        ask: Callable[[Verdict], Awaitable[bool]] | None = None,
    ) -> _T:
        """Return what *run* returns, if the call may run (see `call`)."""
        verdict = self.check(tool, arguments)
        if verdict.effect is Effect.ASK and (ask is None or await ask(verdict) is not True):
            raise CallDenied(unapproved(verdict))
        with self.running(verdict):
            return await run()

    def offered(
        self, tools: Iterable[str], *, chain_of: Callable[[], Chain] | None = None
    ) -> list[str]:
        """Return those of the runtime's *tools* that can be allowed, or asked for, by some call.

        None where no chain leads here, or where the checker fails.

        Args:
            tools: as the runtime calls them.
            chain_of: finds the chain, where the runtime itself keeps it.

        """
        try:
            chain = self.chain if chain_of is None else chain_of()
            return [tool for tool in tools if self._program.is_offered(chain, tool)]
        except Exception:  # noqa: BLE001  # its calls are denied, so none is worth offering
            return []

    def granted(
        self, tools: Iterable[str], *, chain_of: Callable[[], Chain] | None = None
    ) -> list[str]:
        """Return those of *tools* of which every call is allowed.

        For tools that run where no call can be decided, e.g. at the provider of a model.

        Args:
            tools: as the runtime calls them.
            chain_of: finds the chain, where the runtime itself keeps it.

        """
        try:
            table = self._program.table(self.chain if chain_of is None else chain_of())
            return [tool for tool in tools if always_granted(table, self.named(tool))]
        except Exception:  # noqa: BLE001  # what cannot be decided is not granted
            return []

    def __repr__(self) -> str:
        return f"<Guard {self._agent} below {self._program.chain}>"
