"""Our own deciders, made of the policy's text, and the check that all deciders agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts import notation
from policy.hosts.notation.semantics import compile_policy
from policy.hosts.workspace import Workspace, load_tree
from policy.language.parse import parse_notation
from policy.language.syntax import Document
from policy.tables.table import Table
from tests.benchmark.peers import Decider
from tests.benchmark.workload import Call, Compound, Rule, Workload, policy_text

__all__ = [
    "OURS",
    "Disagreement",
    "anew",
    "check",
    "check_compounds",
    "compiled",
    "parsed",
    "ready",
    "table_of",
    "workspace_of",
]

Deciding = Callable[[str, dict[str, object]], Decision]


def parsed(text: str) -> Document:
    """Return the tree of a policy in our notation."""
    return parse_notation(Source("main.policy", text))


def compiled(document: Document) -> Table:
    """Return the table of the only agent of a document."""
    (policy,) = notation.policies(document)
    return compile_policy(policy)


def ready(table: Table, tools: Iterable[str]) -> Table:
    """Return *table* after it has looked up *tools*, as their first calls would make it do."""
    for tool in tools:
        table.lookup(tool)
    return table


def table_of(rules: Iterable[Rule]) -> Table:
    """Return the table of *rules*, by way of our notation."""
    return compiled(parsed(policy_text(rules)))


def workspace_of(text: str) -> Workspace:
    """Return the workspace in which a policy in our notation is the only file."""
    return load_tree(Memory({"main.policy": text}))


def anew(table: Table) -> Deciding:
    """Return ``decide`` without its memory of decisions: every call is matched again."""

    def decide(tool: str, call: dict[str, object]) -> Decision:
        lookup = table.lookup(tool)
        lookup.remembered.clear()
        return lookup.decide(call)

    return decide


def _remembering(table: Table) -> Deciding:
    def decide(tool: str, call: dict[str, object]) -> Decision:
        first = table.decide(tool, call)
        again = table.decide(tool, call)
        assert first == again, (tool, call, first, again)
        return again

    return decide


def _of(make: Callable[[Table], Deciding]) -> Callable[[Sequence[Rule]], Decider]:
    def load(rules: Sequence[Rule]) -> Decider:
        decide = make(table_of(rules))

        def allowed(tool: str, argument: str) -> bool:
            return decide(tool, Call(tool, argument).input).effect is Effect.ALLOW

        return allowed

    return load


# By name: every way in which we decide.
OURS: dict[str, Callable[[Sequence[Rule]], Decider]] = {
    "matched anew": _of(anew),
    "remembered": _of(_remembering),
}


@attrs.frozen
class Disagreement:
    """A call that a decider answers otherwise than the reference."""

    decider: str
    rules: int
    call: str
    expected: bool

    def __str__(self) -> str:
        wrong, right = ("refuses", "allows") if self.expected else ("allows", "refuses")
        return (
            f"{self.decider} {wrong} {self.call}, which the reference {right} ({self.rules} rules)"
        )


def check(
    name: str, decider: Decider, work: Workload, most: int | None = None
) -> Iterator[Disagreement]:
    """Yield the calls of *work*, the first *most* of them, that *decider* answers wrongly."""
    for call, expected in zip(work.calls[:most], work.allowed, strict=False):
        if decider(call.tool, call.argument) is not expected:
            yield Disagreement(name, len(work.rules), f"{call.tool} {call.argument!r}", expected)


def check_compounds(
    decider: Decider, work: Workload, commands: Iterable[Compound]
) -> Iterator[Disagreement]:
    """Yield the commands that are not decided as the strictest of their parts."""
    known = dict(zip(work.calls, work.allowed, strict=True))
    for command in commands:
        expected = all(known[call] for call in command.calls)
        if decider("Bash", command.text) is not expected:
            yield Disagreement("compound", len(work.rules), f"Bash {command.text!r}", expected)
