"""The rows of one tool, met: where a call is decided and explained.

This is the only way to a decision. The outcome of each entry holds its rule,
so no second path could give other reasons, and a decision is made once and
handed out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from policy.commands.read import read_command
from policy.core import limits
from policy.core.decision import Because, Clause, Decision, Hashed, Reason
from policy.core.effect import Effect
from policy.patterns.automaton import AutomatonState
from policy.tables.calls import NO_FIELD
from policy.tables.dialect import Inputs
from policy.tables.entry import UNREADABLE, Outcome
from policy.tables.row import ReadCommand, Row
from policy.tables.walk import NO_WALK

__all__ = ["Lookup"]

_Links = tuple[str, ...]
_Told = tuple[Outcome, _Links]

# The longest argument whose decision is kept.
_REMEMBERED_TEXT = 1024


class Lookup:
    """What a table says of one tool: each row with the links it belongs to.

    Its decisions name the *table* that it is of; "" where it is of none.

    Attributes:
        rows: the rows that depend on the arguments of the call.
        field: the argument that decides alone where it is a text and *alias*
            is not in the call; `NO_FIELD` where there is none such.
        alias: the other name of that argument, or `NO_FIELD`.
        remembered: decisions by that argument where it may be any text, of calls of which no
            other argument is refused.

    """

    __slots__ = (
        "__weakref__",
        "_checked",
        "_constant",
        "_decisions",
        "_plain",
        "_remembers",
        "_settled",
        "_table",
        "_types",
        "_walk",
        "alias",
        "field",
        "remembered",
        "rows",
    )

    def __init__(self, rows: Iterable[tuple[Row, _Links]], table: str | Hashed) -> None:
        self._table = table
        self.rows: list[tuple[Row, _Links]] = []
        fixed: list[_Told] = []
        denial: _Told | None = None
        self._checked: dict[Inputs, None] = {}
        for row, links in rows:
            if row.inputs is not None:
                self._checked[row.inputs] = None
            outcome = row.constant
            if outcome is None:
                self.rows.append((row, links))
                continue
            fixed.append((outcome, links))
            if outcome.effect is Effect.DENY and (denial is None or _says_more(outcome, denial[0])):
                denial = (outcome, links)  # the first one that says why
        if denial is not None:
            # What one link denies whatever the arguments are, nobody needs to look at.
            self.rows, self._settled = [], [denial]
        else:
            # A row that always allows adds no more than a reason, if there is no other.
            asking = [pair for pair in fixed if pair[0].effect is Effect.ASK]
            self._settled = asking or ([] if self.rows else fixed)
        self._constant = None if self.rows else self._combine(self._settled)
        if self._constant is not None and self._constant.effect is Effect.DENY:
            self._checked = {}  # why all calls are denied says more than why one is
        self._types = _common_types(self._checked)
        self.remembered: dict[str, Decision] = {}
        self._decisions: dict[tuple[Outcome, ...], Decision] = {}
        # Of one row that looks at one text, the decisions by where a walk of it ends.
        self._plain: dict[int | None, Decision] = {}
        self._walk = self.rows[0][0].walk if len(self.rows) == 1 else NO_WALK
        names = {(row.field, row.alias) for row, _ in self.rows}
        self.field, self.alias = names.pop() if len(names) == 1 else (NO_FIELD, NO_FIELD)
        # A text that may be refused is remembered by nobody: `decide_read` takes what `decide`
        # does not.
        self._remembers = _REMEMBERED_TEXT if self.takes_any(self.field) else -1

    @property
    def constant(self) -> Decision | None:
        """The decision of every call, where all get the same one."""
        return self._constant

    @property
    def floor(self) -> Effect:
        """The effect of the rows that do not depend on the arguments."""
        return min((outcome.effect for outcome, _ in self._settled), default=Effect.ALLOW)

    def decide(self, call: Mapping[str, object]) -> Decision:
        """Return the decision, and remember it where one text alone decides."""
        return self.decide_read(call) if self.takes(call) else self._refusal

    def decide_read(self, call: Mapping[str, object]) -> Decision:
        """Return the decision of a call that its host has read, so that it refuses no argument."""
        decision = self._read(call, read_command)
        text = call.get(self.field)
        if type(text) is str and len(text) <= self._remembers and self.alias not in call:
            if len(self.remembered) >= limits.CACHE_ENTRIES:
                self.remembered.clear()
            self.remembered[text] = decision
        return decision

    def decide_anew(self, call: Mapping[str, object], read: ReadCommand = read_command) -> Decision:
        """Return the decision without remembering it.

        Args:
            call: the arguments.
            read: `read_command`, or what remembers its answers.

        """
        return self._read(call, read) if self.takes(call) else self._refusal

    def _read(self, call: Mapping[str, object], read: ReadCommand) -> Decision:
        """Return the decision of a call of which no argument is refused."""
        if self._constant is not None:
            return self._constant
        # `Walk.state`, written out: this is where a call spends its time.
        walk = self._walk
        text = call.get(walk.direct)  # type: ignore[arg-type]  # no call has None
        if type(text) is not str or len(text) > walk.longest or walk.alias in call:
            return self._met(call, read)
        edges: Any = walk.automaton.start.edges
        try:
            for character in text:
                edges = edges[character]
            state: AutomatonState = edges[""]
        except KeyError:
            state = walk.automaton.walk(text)
        decision = self._plain.get(state.plain)
        if decision is None:
            row, _ = self.rows[0]
            decision = self._made((row.outcome_behind(state, call, read),))
            if state.plain is not None:
                self._plain[state.plain] = decision
        return decision

    def account(self, call: Mapping[str, object]) -> tuple[Clause, ...]:
        """Return what the command of *call* does, and what the first row that decides says of each.

        Nothing of a call that is no command, or that is decided whatever it runs.
        """
        from policy.tables.command_row import account  # noqa: PLC0415  # what no decision needs

        read = cache(read_command)
        decision = self.decide_anew(call, read)
        for row, links in self.rows:
            if row.outcome(call, read).effect is decision.effect:
                return tuple(
                    Clause(each.does, each.text, self._combine([(each.outcome, links)]), each.why)
                    for each in account(row, call, read)
                )
        return ()

    def decide_once(self, call: Mapping[str, object], read: ReadCommand = read_command) -> Decision:
        """Return the decision of a call that hardly anybody asks about again.

        What would make the next call faster is not built for it.

        Args:
            call: the arguments.
            read: `read_command`, or what remembers its answers.

        """
        if not self.takes(call):
            return self._refusal
        if self._constant is not None:
            return self._constant
        return self._made(tuple([row.outcome_once(call, read) for row, _ in self.rows]))

    def _met(self, call: Mapping[str, object], read: ReadCommand) -> Decision:
        """Return the decision by every row."""
        return self._made(tuple([row.outcome(call, read) for row, _ in self.rows]))

    def takes(self, call: Mapping[str, object]) -> bool:
        """Return whether every argument is what it may be; no rule is asked otherwise."""
        types = self._types
        for name in call:
            if type(call[name]) is not types.get(name):
                return all(inputs.takes(call) for inputs in self._checked)
        return True

    def takes_any(self, name: str) -> bool:
        """Return whether an argument may be any text."""
        return not self._checked or self._types.get(name) is str

    @property
    def _refusal(self) -> Decision:
        return self._combine([(UNREADABLE[Reason.MALFORMED], ())])

    def _made(self, outcomes: tuple[Outcome, ...]) -> Decision:
        """Return the one decision that these outcomes, one of each row, come to."""
        decision = self._decisions.get(outcomes)
        if decision is None:
            told = zip(outcomes, (links for _, links in self.rows), strict=True)
            decision = self._combine([*told, *self._settled])
            if len(self._decisions) >= limits.CACHE_ENTRIES:
                self._decisions.clear()
            self._decisions[outcomes] = decision
        return decision

    def combined(self, outcomes: tuple[Outcome, ...]) -> Decision:
        """Return the decision where the rows say *outcomes*, one each, and remember it."""
        decision = self._decisions.get(outcomes)
        if decision is None:
            told = [(one, links) for one, (_, links) in zip(outcomes, self.rows, strict=True)]
            decision = self._decisions[outcomes] = self._combine([*told, *self._settled])
        return decision

    def _combine(self, outcomes: list[tuple[Outcome, _Links]]) -> Decision:
        if not outcomes:
            return Decision(Effect.ALLOW, Reason.UNRESTRICTED, table=self._table)
        effect = min(outcome.effect for outcome, _ in outcomes)
        deciding = [pair for pair in outcomes if pair[0].effect is effect]
        if effect is Effect.DENY:  # one is enough
            deciding = [next((pair for pair in deciding if pair[0].entries), deciding[0])]
        elif effect is Effect.ALLOW:
            # Of those who allow, one who says why, and best of all where it is written.
            deciding = [max(deciding, key=lambda pair: _told_where(pair[0]))]
        if len(deciding) == 1:
            outcome, links = deciding[0]
            because = _because(outcome, links)
        else:
            told = (one for outcome, links in deciding for one in _because(outcome, links))
            because = tuple(dict.fromkeys(told))
            links = tuple(dict.fromkeys(link for _, links in deciding for link in links))
        return Decision(effect, deciding[0][0].reason, because, links, self._table)


def _common_types(checked: Iterable[Inputs]) -> dict[str, type]:
    """Return the arguments that may be every value of a type by all that is said of them."""
    types: dict[str, type] | None = None
    for inputs in checked:
        own = inputs.types
        types = own if types is None else dict(types.items() & own.items())
    return types or {}


def _told_where(outcome: Outcome) -> tuple[bool, bool]:
    return any(entry.place for entry in outcome.entries), bool(outcome.entries)


def _says_more(outcome: Outcome, known: Outcome) -> bool:
    """Return whether a denial says why where *known* does not: a tool that is lacking is why."""
    if not outcome.entries or known.entries:
        return False
    return known.reason is not Reason.UNAVAILABLE or outcome.reason is Reason.UNAVAILABLE


def _because(outcome: Outcome, links: _Links) -> tuple[Because, ...]:
    link = links[0] if links else ""
    return tuple(Because(e.rule, e.effect, link, e.place) for e in outcome.entries)
