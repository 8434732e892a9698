"""The checker for every runtime: it wraps calls and filters lists of tools.

A guard is made from the chain of the agent that a program starts with; agents that this one starts
have guards of their own, by name (`Guard.agent`). While a tool runs, the context (`contextvars`)
holds the chain of the agent that called it, and agents started then are below that chain. Tasks and
threads copy the context, so calls of several agents do not mix, and no agent can choose another
chain. The calls of an agent to which no context leads are denied.

Every failure here denies. A failure elsewhere, as in the program that asks a person, is raised, and
the call does not run.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import partial
from typing import Any, Final, TypeVar

from policy.adapters import messages
from policy.analysis.records.record import Record, Recorder
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import A_CHAIN, AN_AGENT, PolicyError, expect
from policy.core.memory import Memo
from policy.core.source import quoted, visible
from policy.core.values import evolve, field, frozen
from policy.tables.chain import NO_ARGUMENTS, Chain, SpawnDenied
from policy.tables.placement import PlacedTable, Rooted, Rootless, folders_here

_T = TypeVar("_T")

Arguments = Mapping[str, object]

# The question to a person by elicitation (MCP): its name, the key of the answer, the form.
APPROVAL_QUESTION: Final = "agent-policy"
APPROVAL_KEY: Final = "allow"
APPROVAL_FORM: Final = {
    "type": "object",
    "properties": {APPROVAL_KEY: {"type": "boolean", "title": "Allow this call"}},
    "required": [APPROVAL_KEY],
}

# Tables and answers that a program remembers.
_REMEMBERED: Final = 4096


@frozen
class Verdict:
    """The answer to a call before it runs.

    Attributes:
        message: for the model (DENY) or for the person who approves (ASK).
        decision: with its reasons; None if the checker itself failed.
        chain: in which the call would run; None if there is none.
        started: the narrower chain of the agent that the call starts, if any.
    """

    effect: Effect
    message: str = ""
    decision: Decision | None = field(default=None, repr=False)
    chain: Chain | None = None
    started: Chain | None = None


class CallDenied(Exception):
    """A call that does not run. Its text is for the model."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def unapproved(verdict: Verdict) -> Verdict:
    """Return the denial of a call that needed approval and did not get it."""
    message = "This call needs the approval of a person, and was not approved."
    return evolve(verdict, effect=Effect.DENY, message=message)


class Seals:
    """Makes and checks seals, which bind an approval to one call and this process.

    A seal goes out with the question about a call and comes back with the call, through a
    program that keeps no state. For another call or another process it is invalid.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, tool: str, arguments: Arguments) -> str:
        """Return the seal of a call. Raises TypeError or ValueError if it has no JSON."""
        call = json.dumps([tool, arguments], sort_keys=True, allow_nan=False)
        return "policy:" + hmac.new(self._key, call.encode(), hashlib.sha256).hexdigest()

    def knows(self, seal: object, tool: str, arguments: Arguments) -> bool:
        """Return whether this process made *seal* for this call."""
        return isinstance(seal, str) and hmac.compare_digest(
            seal.encode("utf-8", "replace"), self.seal(tool, arguments).encode()
        )


@frozen
class _Running:
    """The chain of the call that is running, and of the agent that it starts."""

    chain: Chain
    started: Chain | None


_UNKNOWN: Final[Any] = object()


class Guard:
    """Decides the calls of one agent before they run.

    Immutable, and safe in every thread and task.

    Args:
        chain: of the agent that starts.
        names: name of a tool in the runtime -> its name in the policy.
        prefix: of all other names, e.g. ``mcp__github__``.
        starts: name of a tool in the runtime -> the agent that it starts. Such
            a call is decided as the start of that agent, and nothing else.
        project: the folder of the project on this machine, for rules about files; None if
            it is unknown, so that absolute paths and paths out of it are denied.
        home: the home folder, for the same rules.
        recorder: records every decision; a call that cannot be recorded is denied.

    Raises:
        PolicyError: the policy has no agent that *starts* names.
    """

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
        expect(A_CHAIN, "chain", chain, Chain)
        for argument, named in (("names", names), ("starts", starts)):
            wanted = 'a mapping of names, e.g. `{"search": "WebSearch"}`,'
            expect(wanted, argument, {} if named is None else named, Mapping)
        # The guards of all agents of a program share these, but for the last two.
        self._root = chain
        self._names, self._prefix = dict(names or {}), prefix
        self._starts = dict(starts or {})
        self._place = Rootless() if project is None else Rooted(folders_here(project, home))
        self._recorder = recorder
        # One for each program, so that the chains of two policies never mix.
        self._context: ContextVar[_Running | None] = ContextVar("policy_running", default=None)
        self._known: Memo[tuple[str, ...], Any] = Memo(_REMEMBERED)
        self._agent = chain.names[-1]
        self._find: Callable[[], Chain] | None = None
        for started in self._starts.values():
            self._check_known(started)

    def _check_known(self, agent: str) -> None:
        known = dict.fromkeys((*self._root.names, *self._root.reading.agents))
        if agent not in known:
            help_ = f"there are {quoted([*known])}"
            raise PolicyError(f"there is no agent `{visible(agent)}`", help=help_)

    def _other(self, agent: str, find: Callable[[], Chain] | None) -> Guard:
        other = copy.copy(self)
        vars(other).update(_agent=agent, _find=find)
        return other

    def agent(self, name: str) -> Guard:
        """Return the guard of the agent *name*, below any agent that starts it.

        Raises:
            PolicyError: the policy has no such agent.
        """
        expect(AN_AGENT, "name", name, str)
        self._check_known(name)
        return self._other(name, None)

    def at(self, chain: Chain) -> Guard:
        """Return the guard of the last agent of *chain*, for a runtime that passes chains on."""
        expect(A_CHAIN, "chain", chain, Chain)
        return self._other(chain.names[-1], lambda: chain)

    def where(self, find: Callable[[], Chain]) -> Guard:
        """Return the guard of calls whose chain *find* returns, for a runtime that keeps chains."""
        return self._other(self._agent, find)

    @property
    def name(self) -> str:
        """The agent whose calls this guard decides."""
        return self._agent

    def named(self, tool: str) -> str:
        """Return the name in the policy of a tool of the runtime."""
        return self._names.get(tool) or self._prefix + tool

    def _runtime_name(self, tool: str) -> str:
        """Return the name in the runtime of a tool of the policy."""
        named = next((name for name, other in self._names.items() if other == tool), None)
        return named or tool.removeprefix(self._prefix)

    @property
    def chain(self) -> Chain:
        """The chain in which a call made here and now would run.

        Raises:
            SpawnDenied: no running call leads to this agent, or it may not be started
                without approval.
        """
        if self._find is not None:
            return self._find()
        running = self._context.get()
        if running is None:
            if self._agent != self._root.names[-1]:
                raise SpawnDenied(self._agent, self._root.names[-1], "not-started")
            return self._root
        if running.started is not None and running.started.names[-1] == self._agent:
            return running.started
        chain = running.chain.spawn(self._agent, NO_ARGUMENTS)
        if chain.links[-1].confirm:
            # Without approval: the running tool is not known to start this agent.
            raise SpawnDenied(self._agent, running.chain.names[-1], "not-started")
        return chain

    @property
    def calling(self) -> Chain:
        """The chain of a call that continues one of this agent, e.g. one tool by means of another.

        Raises:
            SpawnDenied: as for `chain`.
        """
        running = self._context.get()
        if running is not None:
            for chain in (running.started, running.chain):
                if chain is not None and chain.names[-1] == self._agent:
                    return chain
        return self.chain

    def check(self, tool: str, arguments: Arguments, *, recorded: bool = True) -> Verdict:
        """Return the verdict on a call of a runtime tool. Never raises: every failure denies.

        A second check of the same call need not be *recorded*.
        """
        return self._checked(tool, arguments, None, recorded=recorded)

    def check_start(
        self, agent: str, arguments: Arguments = NO_ARGUMENTS, *, recorded: bool = True
    ) -> Verdict:
        """Return the verdict on starting *agent*, by its name in the policy (see `check`).

        *arguments* are those of the call that starts it, e.g. the model.
        """
        return self._checked(agent, arguments, agent, recorded=recorded)

    def _checked(
        self, tool: str, arguments: Arguments, agent: str | None, *, recorded: bool
    ) -> Verdict:
        """Return the verdict on a call of *tool*, which starts *agent* unless that is None."""
        try:
            agent = agent or self._starts.get(tool)
            try:
                chain = self.chain
            except SpawnDenied as denied:
                if recorded:
                    call = dict(arguments)
                    self._record((), self.named(tool), call, denied.decision, self._agent)
                return Verdict(Effect.DENY, messages.spawn_denial(denied), denied.decision)
            if agent is None:
                return self._verdict(chain, tool, arguments, recorded=recorded)
            return self._start(chain, agent, tool, arguments, recorded=recorded)
        except Exception:  # noqa: BLE001  # no failure may grant
            return Verdict(Effect.DENY, messages.FAILED)

    def _verdict(self, chain: Chain, tool: str, arguments: Arguments, *, recorded: bool) -> Verdict:
        """Return the verdict on a call that starts no agent."""
        named, call, table = self.named(tool), dict(arguments), self._table(chain)
        decision = table.decide(named, call, checked=True)
        if recorded:
            self._record(chain.names, named, call, decision)
        if decision.effect is Effect.ALLOW:
            return Verdict(Effect.ALLOW, "", decision, chain)
        clauses = table.account(named, call)
        if decision.effect is Effect.ASK:
            message = messages.question(tool, arguments, decision, clauses)
            return Verdict(Effect.ASK, message, decision, chain)
        # Kept, since the remainder takes a comparison, and models try again.
        find = partial(messages.remainder, table.moved, named, self._runtime_name)
        message = messages.refusal(tool, decision, clauses)
        message += self._kept("remainder", chain, named, find)
        return Verdict(Effect.DENY, message, decision, chain)

    def _start(
        self, chain: Chain, agent: str, tool: str, arguments: Arguments, *, recorded: bool
    ) -> Verdict:
        """Return the verdict on a call of *tool* that starts *agent*."""
        decision = chain.spawning(agent, arguments)
        try:
            started, message = chain.spawn(agent, arguments), ""
        except SpawnDenied as denied:
            started, message = None, messages.spawn_denial(denied)
            if decision.effect is not Effect.DENY:
                # No rule applies to the depth of a chain, or to an unknown agent.
                decision = evolve(denied.decision, table=decision.table)
        if recorded:
            self._record(chain.names, *chain.start_call(agent, arguments), decision)
        if started is not None and decision.effect is Effect.ASK:
            message = messages.question(tool, arguments, decision)
        return Verdict(decision.effect, message, decision, chain, started)

    def _record(
        self, chain: tuple[str, ...], tool: str, call: Arguments, found: Decision, agent: str = ""
    ) -> None:
        """Record a decision, if there is a recorder; *agent* is a caller without a chain."""
        if self._recorder is not None:
            cwd = self._place.folders.cwd if isinstance(self._place, Rooted) else ""
            record = Record.of(chain, tool, call, found)
            self._recorder.append(evolve(record, agent=agent, cwd=cwd))

    def _kept(self, what: str, chain: Chain, tool: str, make: Callable[[], _T]) -> _T:
        """Return the result of *make* for a chain and a tool, from a cache."""
        # Chains with equal tables name different links.
        key = (what, str(chain), chain.table.hash, tool)
        # Another thread may drop it meanwhile.
        found: _T = self._known.get(key, _UNKNOWN)
        return self._known.keep(key, make()) if found is _UNKNOWN else found

    def _table(self, chain: Chain) -> PlacedTable:
        """Return the table of *chain* in the folder of its calls."""
        return self._kept("table", chain, "", lambda: self._place.decider(chain.table))

    @contextmanager
    def running(self, verdict: Verdict) -> Iterator[None]:
        """Run the call of *verdict* in this context: agents started in it are below its chain.

        Raises:
            CallDenied: it may not run.
        """
        token = self.run_on(verdict)
        try:
            yield
        finally:
            self._context.reset(token)

    def run_on(self, verdict: Verdict) -> Token[_Running | None]:
        """Run the call of *verdict* for the rest of this task and the tasks that it starts.

        For a runtime that announces a call before it runs, and runs each call in a separate task.

        Raises:
            CallDenied: it may not run.
        """
        if verdict.effect is Effect.DENY or verdict.chain is None:
            raise CallDenied(verdict)
        return self._context.set(_Running(verdict.chain, verdict.started))

    def call(
        self,
        tool: str,
        arguments: Arguments,
        run: Callable[[], _T],
        *,
        ask: Callable[[Verdict], bool] | None = None,
    ) -> _T:
        """Return what *run* returns, if the call may run.

        A person approves a call if *ask* returns so; without it no call is approved.

        Raises:
            CallDenied: it may not run; the text is for the model.
        """
        verdict = self.check(tool, arguments)
        if verdict.effect is Effect.ASK and (ask is None or ask(verdict) is not True):
            raise CallDenied(unapproved(verdict))
        with self.running(verdict):
            return run()

    async def acall(
        self,
        tool: str,
        arguments: Arguments,
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

    def offered(self, tools: Iterable[str]) -> list[str]:
        """Return the *tools* of the runtime that have a call which is allowed or asked for.

        Empty if no chain leads here, or if the checker fails.
        """
        return self._tools_that(tools, self._is_offered)

    def granted(self, tools: Iterable[str]) -> list[str]:
        """Return the *tools* of which every call is allowed (see `offered`).

        For tools whose calls run elsewhere undecided, e.g. at the provider of a model.
        """
        return self._tools_that(tools, self._is_granted)

    def _tools_that(self, tools: Iterable[str], holds: Callable[[Chain, str], bool]) -> list[str]:
        try:
            chain = self.chain
            return [tool for tool in tools if holds(chain, tool)]
        except Exception:  # noqa: BLE001  # its calls are denied, so none is offered
            return []

    def _is_offered(self, chain: Chain, tool: str) -> bool:
        agent = self._starts.get(tool)
        if agent is not None:
            return self._kept("offered", chain, tool, partial(messages.may_start, chain, agent))
        find = partial(messages.may_call, self._table(chain).moved, self.named(tool))
        return self._kept("offered", chain, tool, find)

    def _is_granted(self, chain: Chain, tool: str) -> bool:
        constant = self._table(chain).moved.lookup(self.named(tool)).constant
        return constant is not None and constant.effect is Effect.ALLOW

    def __repr__(self) -> str:
        return f"<Guard {self._agent} below {self._root}>"
