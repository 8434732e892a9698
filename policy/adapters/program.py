"""What the guards of one program share: names, folders, and which call is running."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

import attrs

from policy.adapters.messages import question, refusal, remainder, spawn_denial
from policy.adapters.remaining import may_call, may_start
from policy.adapters.verdict import Verdict
from policy.anchors import Folders
from policy.chain import Chain, SpawnDenied
from policy.decision import Decision
from policy.effect import Effect
from policy.placing import Rootless, ways
from policy.records.record import Record
from policy.records.recorder import Recorder
from policy.table import Table

__all__ = ["Program", "Running"]

# Tables, and answers of whether a tool can be called at all, that are kept.
_REMEMBERED = 4096


@attrs.frozen
class Running:
    """The call that is running: of which agent, and of which agent it starts one."""

    chain: Chain
    started: Chain | None


@attrs.frozen(eq=False)
class Program:
    """What the guards of one program share."""

    chain: Chain
    names: Mapping[str, str]
    prefix: str
    starts: Mapping[str, str]
    folders: Folders | None
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
