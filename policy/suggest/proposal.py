"""A proposed policy, as it is printed, and what it covers."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from policy.errors import PolicyError
from policy.files.opening import Memory
from policy.language.printer import print_document
from policy.language.syntax import Agent, Grant
from policy.records.decider import Decider
from policy.records.record import Record
from policy.suggest.draft import Draft
from policy.suggest.usage import Call, Usage
from policy.workspace import load_tree

__all__ = ["Proposal", "propose"]


@attrs.frozen
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
    uncovered: tuple[Call, ...]
    why: tuple[str, ...] = ()


def propose(usage: Usage, decider: Decider | None = None, *, least: int = 3) -> Proposal:
    """Return the smallest policy found that covers *usage*.

    Args:
        usage: what was used.
        decider: the policy in force, which nothing of the proposal exceeds but
            what its host guards against every rule.
        least: how many distinct calls one rule is made of, at least, that
            matches more than they.

    Raises:
        PolicyError: nothing was used.

    """
    if not usage.calls:
        msg = "the logs hold no call to cover"
        raise PolicyError(msg, help="name other logs, or the agent that starts chains with --root")
    draft = Draft(usage, decider, least)
    why = draft.mend()
    document = draft.document()
    text = print_document(document)
    agents = [node for node in document.body if isinstance(node, Agent)]
    grants = [grant for agent in agents for grant in agent.body if isinstance(grant, Grant)]
    uncovered = tuple(_uncovered(usage, text))
    missing = sum(call.times for call in uncovered)
    return Proposal(
        text=text,
        agents=len(agents),
        rules=sum(len(grant.matchers) for grant in grants),
        covered=sum(call.times for call in usage.calls) - missing,
        uncovered=uncovered,
        why=why,
    )


def _uncovered(usage: Usage, text: str) -> Iterator[Call]:
    """Yield the calls that do not get what they got, of the policy as it is printed."""
    printed = Decider(load_tree(Memory({"suggested.policy": text})), "attenuated")
    for call in usage.calls:
        asked = Record(call.chain, call.tool, call.arguments, cwd=call.cwd)
        if printed.decide(asked).effect is not call.effect:
            yield call
