"""The rows of one tool, met: the only way to a decision and its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policy.core import limits
from policy.core.decision import Because, Clause, Decision, Hashed, Reason
from policy.core.effect import Effect
from policy.core.memory import Memo
from policy.core.values import Final
from policy.tables.dialect import Inputs
from policy.tables.entry import UNREADABLE, Outcome
from policy.tables.row import NO_FIELD, Row

_Links = tuple[str, ...]

# The longest argument whose decision is kept.
_LONGEST: Final = 1024


class Lookup:
    """What a table says of one tool: each row with the links it belongs to.

    Attributes:
        rows: the rows that depend on the arguments of the call.
        constant: the decision of every call, where all get the same one.
        always: the same, where no argument is refused either.
        field: the argument that decides alone where it is a text and *alias*
            is not in the call; `NO_FIELD` where there is none such.
        alias: the other name of that argument, or `NO_FIELD`.
        remembered: decisions by that argument, if it may be any text and no other argument of
            the call is refused.
    """

    __slots__ = (
        *("_checked", "_decisions", "_remembers", "_settled", "_table", "_types", "alias"),
        *("always", "constant", "field", "remembered", "rows"),
    )

    def __init__(self, rows: Iterable[tuple[Row, _Links]], table: str | Hashed) -> None:
        self._table = table
        self.rows: list[tuple[Row, _Links]] = []
        fixed: list[tuple[Outcome, _Links]] = []
        denial: tuple[Outcome, _Links] | None = None
        checked: dict[Inputs, None] = {}
        for row, links in rows:
            if row.inputs is not None:
                checked[row.inputs] = None
            outcome = row.constant
            if outcome is None:
                self.rows.append((row, links))
                continue
            fixed.append((outcome, links))
            if outcome.effect is Effect.DENY and (denial is None or _says_more(outcome, denial[0])):
                denial = (outcome, links)  # the first one that says why
        if denial is not None:
            # Where one link denies whatever the arguments are, the others are not asked.
            self.rows, self._settled = [], [denial]
        else:
            # A row that always allows adds no more than a reason, if there is no other.
            asking = [pair for pair in fixed if pair[0].effect is Effect.ASK]
            self._settled = asking or ([] if self.rows else fixed)
        self.constant = None if self.rows else self._combine(self._settled)
        if self.constant is not None and self.constant.effect is Effect.DENY:
            checked = {}  # why all calls are denied says more than why one is
        self._checked = tuple(checked)
        self.always = None if checked else self.constant
        self.remembered: Memo[str, Decision] = Memo(limits.CACHE_ENTRIES)
        self._decisions: Memo[tuple[Outcome, ...], Decision] = Memo(limits.CACHE_ENTRIES)
        names = {(row.field, row.alias) for row, _ in self.rows}
        self.field: str = NO_FIELD
        self.alias: str = NO_FIELD
        if len(names) == 1:
            self.field, self.alias = names.pop()
        # Arguments that may be every value of a type by all of *checked*, and that type.
        types = [set(inputs.types.items()) for inputs in checked]
        self._types = dict(set.intersection(*types)) if types else {}
        # Of a text that may be refused no decision is kept: a *checked* call is not refused.
        takes_any = not checked or self._types.get(self.field) is str
        self._remembers = _LONGEST if takes_any else -1

    @property
    def floor(self) -> Effect:
        """The effect of the rows that do not depend on the arguments."""
        return min((outcome.effect for outcome, _ in self._settled), default=Effect.ALLOW)

    def decide(
        self, call: Mapping[str, object], *, checked: bool = False, remember: bool = True
    ) -> Decision:
        """Return the decision of a call with these arguments. Never raises.

        Args:
            call: the arguments.
            checked: whether the host has read the call, so that it refuses no argument.
            remember: whether such calls may come again.
        """
        if self._checked and not checked and not self.takes(call):
            return self._combine([(UNREADABLE[Reason.MALFORMED], ())])
        if self.constant is not None:
            return self.constant
        decision = self.combined(tuple([row.outcome(call) for row, _ in self.rows]))
        if remember:
            text = call.get(self.field)
            if type(text) is str and len(text) <= self._remembers and self.alias not in call:
                self.remembered.keep(text, decision)
        return decision

    def combined(self, outcomes: tuple[Outcome, ...]) -> Decision:
        """Return the decision where the rows say *outcomes*, one each; equal ones get the same."""
        decision = self._decisions.get(outcomes)
        if decision is None:
            pairs = [(one, links) for one, (_, links) in zip(outcomes, self.rows, strict=True)]
            decision = self._decisions.keep(outcomes, self._combine([*pairs, *self._settled]))
        return decision

    def account(self, call: Mapping[str, object]) -> tuple[Clause, ...]:
        """Return what the command of *call* does, and what the first row that decides says of each.

        Nothing of a call that is no command, or that is decided whatever it runs.
        """
        from policy.tables.command_row import pieces  # noqa: PLC0415  # what no decision needs

        decision = self.decide(call, remember=False)
        for row, links in self.rows:
            if row.outcome(call).effect is decision.effect:
                return tuple(
                    Clause(does, text, self._combine([(outcome, links)]), why)
                    for does, text, outcome, why in pieces(row, call)
                )
        return ()

    def takes(self, call: Mapping[str, object]) -> bool:
        """Return whether every argument is what it may be; no rule is asked otherwise."""
        if not self._checked:
            return True
        types = self._types
        for name in call:
            if type(call[name]) is not types.get(name):
                return all(inputs.takes(call) for inputs in self._checked)
        return True

    def _combine(self, outcomes: list[tuple[Outcome, _Links]]) -> Decision:
        if not outcomes:
            return Decision(Effect.ALLOW, Reason.UNRESTRICTED, table=self._table)
        effect = min(outcome.effect for outcome, _ in outcomes)
        deciding = [pair for pair in outcomes if pair[0].effect is effect]
        if effect is Effect.DENY:  # one is enough
            deciding = [next((pair for pair in deciding if pair[0].entries), deciding[0])]
        elif effect is Effect.ALLOW:
            # Of those who allow, one who says why, and best of all where it is written.
            deciding = [max(deciding, key=_told_where)]
        outcome, links = deciding[0]
        because = _because(outcome, links)
        for other, more in deciding[1:]:
            because = tuple(dict.fromkeys((*because, *_because(other, more))))
            links = tuple(dict.fromkeys((*links, *more)))
        return Decision(effect, outcome.reason, because, links, self._table)


def _told_where(pair: tuple[Outcome, _Links]) -> tuple[bool, bool]:
    entries = pair[0].entries
    return any(entry.place for entry in entries), bool(entries)


def _says_more(outcome: Outcome, known: Outcome) -> bool:
    """Return whether a denial says why where *known* does not: a tool that is lacking is why."""
    if not outcome.entries or known.entries:
        return False
    return known.reason is not Reason.UNAVAILABLE or outcome.reason is Reason.UNAVAILABLE


def _because(outcome: Outcome, links: _Links) -> tuple[Because, ...]:
    link = links[0] if links else ""
    return tuple(Because(e.rule, e.effect, link, e.place) for e in outcome.entries)
