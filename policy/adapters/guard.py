"""The checker that every runtime is given: wrap a call, or filter a list.

A guard is made from the chain of the agent that a program starts with. Agents
that this one starts have guards of their own, by name (`Guard.agent`), whose
chain follows from who is running when they call: while a tool runs, the
context (`contextvars`) holds the chain of the agent that called it. Tasks and threads
that copy the context carry it along, so calls of several agents at once do
not mix, and no agent can choose another chain than the one it was started in. Where no
context leads to an agent, its calls are denied.

Whatever goes wrong here denies. What goes wrong elsewhere, say in the program
that asks a person, is raised, and the call does not run.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

import attrs

from policy.adapters.messages import FAILED, denial, question, spawn_denial
from policy.adapters.remaining import always_granted, may_call, may_start
from policy.anchors import Folders
from policy.chain import Chain, SpawnDenied
from policy.decision import Decision
from policy.effect import Effect
from policy.table import Table

__all__ = ["CallDenied", "Guard", "Verdict", "unapproved"]

_T = TypeVar("_T")


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


_FAILED: Final = Verdict(Effect.DENY, FAILED)
_ALLOWED: Final = Effect.ALLOW


@attrs.frozen
class _Running:
    """The call that is running: of which agent, and of which agent it starts one."""

    chain: Chain
    started: Chain | None


@attrs.frozen(eq=False)
class _Root:
    """What the guards of one program share."""

    chain: Chain
    names: Mapping[str, str]
    prefix: str
    starts: Mapping[str, str]
    folders: Folders | None
    # One for each program that is guarded: chains of two policies are not compared.
    running: ContextVar[_Running | None] = attrs.field(
        factory=lambda: ContextVar("policy_running", default=None)
    )
    offered: dict[tuple[str, str, str], bool] = attrs.field(factory=dict)
    tables: dict[str, Table] = attrs.field(factory=dict)

    def table(self, chain: Chain) -> Table:
        """Return what a chain may do on this machine."""
        if self.folders is None:
            return chain.table
        key = chain.table.hash
        table = self.tables.get(key)
        if table is None:
            if len(self.tables) >= _REMEMBERED:
                self.tables.clear()
            table = self.tables[key] = self.folders.table(chain.table)
        return table

    def runtime_name(self, tool: str) -> str:
        """Return what the runtime calls a tool of the policy."""
        named = next((name for name, other in self.names.items() if other == tool), None)
        return named or tool.removeprefix(self.prefix)


# Tables, and answers of whether a tool can be called at all, that are kept.
_REMEMBERED = 4096


class Guard:
    """Decides the calls of one agent before they run.

    Immutable, and the same from every thread and task.

    Args:
        chain: of the agent that starts.
        names: what the runtime calls a tool -> what the policy calls it.
        prefix: of all other names, e.g. ``mcp__github__``.
        starts: what the runtime calls a tool -> the agent that it starts. Such
            a call is decided as the start of that agent, and nothing else.
        project: the folder of the project on this machine, which rules about
            files speak of; None where the runtime's tools take relative paths alone.
        home: the home folder, likewise.

    """

    __slots__ = ("_agent", "_root")

    def __init__(
        self,
        chain: Chain,
        *,
        names: Mapping[str, str] | None = None,
        prefix: str = "",
        starts: Mapping[str, str] | None = None,
        project: str | os.PathLike[str] | None = ".",
        home: str | os.PathLike[str] = "~",
    ) -> None:
        folders = None if project is None else _folders(project, home)
        self._root = _Root(chain, dict(names or {}), prefix, dict(starts or {}), folders)
        self._agent = chain.names[-1]

    def agent(self, name: str) -> Guard:
        """Return the guard of agents called *name*, whoever starts them."""
        other = object.__new__(type(self))
        other._root, other._agent = self._root, name
        return other

    @property
    def name(self) -> str:
        """The agent whose calls it decides."""
        return self._agent

    def starts(self, tool: str) -> str | None:
        """Return the agent that a tool of the runtime starts, if it starts one."""
        return self._root.starts.get(tool)

    def named(self, tool: str) -> str:
        """Return what the policy calls a tool of the runtime."""
        return self._root.names.get(tool) or self._root.prefix + tool

    @property
    def chain(self) -> Chain:
        """The chain in which a call made here and now would run.

        Raises:
            SpawnDenied: nothing that is running leads to this agent, or what
                does may not start it unasked.

        """
        running = self._root.running.get()
        if running is None:
            if self._agent != self._root.chain.names[-1]:
                raise SpawnDenied(self._agent, self._root.chain.names[-1], "not-started")
            return self._root.chain
        if running.started is not None and running.started.names[-1] == self._agent:
            return running.started
        chain = running.chain.spawn(self._agent)
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
        running = self._root.running.get()
        if running is not None and running.chain.names[-1] == self._agent:
            return running.chain
        return self.chain

    def check(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        chain_of: Callable[[], Chain] | None = None,
    ) -> Verdict:
        """Return what a call gets. Never raises: what goes wrong denies.

        Args:
            tool: as the runtime calls it.
            arguments: by name.
            chain_of: finds the chain, where the runtime itself keeps it.

        """
        return self._checked(chain_of, lambda chain: self._check(chain, tool, arguments))

    def check_start(self, agent: str, *, chain_of: Callable[[], Chain] | None = None) -> Verdict:
        """Return what the start of *agent* gets. Never raises: what goes wrong denies.

        Args:
            agent: as the policy calls it.
            chain_of: finds the chain, where the runtime itself keeps it.

        """
        return self._checked(chain_of, lambda chain: _start(chain, agent, agent, {}))

    def _checked(
        self, chain_of: Callable[[], Chain] | None, check: Callable[[Chain], Verdict]
    ) -> Verdict:
        try:
            return check(self.chain if chain_of is None else chain_of())
        except SpawnDenied as denied:
            return Verdict(Effect.DENY, spawn_denial(denied))
        except Exception:  # noqa: BLE001  # whatever it is, it must not grant
            return _FAILED

    def _check(self, chain: Chain, tool: str, arguments: Mapping[str, object]) -> Verdict:
        agent = self._root.starts.get(tool)
        if agent is not None:
            return _start(chain, agent, tool, arguments)
        table = self._root.table(chain)
        decision = table.decide(self.named(tool), dict(arguments))
        if decision.effect is _ALLOWED:
            return Verdict(_ALLOWED, "", decision, chain)
        if decision.effect is Effect.ASK:
            return Verdict(Effect.ASK, question(tool, arguments, decision), decision, chain)
        said = denial(table, self.named(tool), decision, self._root.runtime_name)
        return Verdict(Effect.DENY, said, decision, chain)

    @contextmanager
    def running(self, verdict: Verdict) -> Iterator[None]:
        """Say that the call of *verdict* runs: agents started meanwhile are below its chain.

        Raises:
            CallDenied: it may not run.

        """
        if verdict.effect is Effect.DENY or verdict.chain is None:
            raise CallDenied(verdict)
        token = self._root.running.set(_Running(verdict.chain, verdict.started))
        try:
            yield
        finally:
            self._root.running.reset(token)

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
            return [tool for tool in tools if self._is_offered(chain, tool)]
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
            table = self._root.table(self.chain if chain_of is None else chain_of())
            return [tool for tool in tools if always_granted(table, self.named(tool))]
        except Exception:  # noqa: BLE001  # what cannot be decided is not granted
            return []

    def _is_offered(self, chain: Chain, tool: str) -> bool:
        known = self._root.offered
        key = (str(chain), chain.table.hash, tool)
        found = known.get(key)
        if found is None:
            agent = self._root.starts.get(tool)
            if agent is not None:
                found = may_start(chain, agent)
            else:
                found = may_call(self._root.table(chain), self.named(tool))
            if len(known) >= _REMEMBERED:
                known.clear()
            known[key] = found
        return found

    def __repr__(self) -> str:
        return f"<Guard {self._agent} below {self._root.chain}>"


def _folders(project: str | os.PathLike[str], home: str | os.PathLike[str]) -> Folders:
    """Return two folders of this machine; the project under every name that it has."""
    # `Path` follows links, or keeps `..`.
    named = os.path.abspath(project)  # noqa: PTH100
    real = os.path.realpath(named)
    return Folders(
        named,
        os.path.abspath(os.path.expanduser(home)),  # noqa: PTH100, PTH111
        () if real == named else (real,),
    )


def _start(chain: Chain, agent: str, tool: str, arguments: Mapping[str, object]) -> Verdict:
    """Return what the call of *tool* gets that starts an agent. Raises SpawnDenied."""
    started = chain.spawn(agent)
    decision = chain.spawning(agent)
    said = "" if decision.effect is _ALLOWED else question(tool, arguments, decision)
    return Verdict(decision.effect, said, decision, chain, started)


def unapproved(verdict: Verdict) -> Verdict:
    """Return the denial of a call that was asked for and that nobody approved."""
    said = "This call needs the approval of a person, and was not approved."
    return attrs.evolve(verdict, effect=Effect.DENY, message=said)
