"""Which rules of a table matter: proven by comparing it with the table without them.

A rule is *live* when some call is decided differently without it. If not, it is
*shadowed* where no call depends on what it says in its place, since others decide
before it; else it is *redundant*: without it, what follows says the same.
This holds across all lists that a table is the meet of.

Only calls that the rule matches can tell, so only lines that may match one of
these are compared (`policy.comparison.overlap`). For most rules one call settles it: one in
which a fresh word fills what the rule leaves open.
"""

from __future__ import annotations

from collections.abc import Container

import attrs

from policy import limits
from policy.comparison.compare import Known
from policy.decision import Because
from policy.effect import Effect
from policy.redundancy.trial import Shown, Trials, Without
from policy.redundancy.written import WrittenRule, written_rules
from policy.source import Place
from policy.table import Ceiling, Table

__all__ = ["Effort", "Minimal", "Shown", "Standing", "minimise", "shadowing"]


@attrs.frozen
class Standing:
    """What becomes of one rule.

    Attributes:
        rule: the rule, and whose it is.
        what: ``live``, ``shadowed``, ``redundant``, or ``undecided`` where the
            comparison was not exact.
        witness: a call that is decided differently without a rule that is live.
        by: the rules that each alone cover one that is not live; of a redundant rule those
            of the same effect. Empty if only several rules together cover it, or if what no
            rule speaks of gets the same.
        why: why it is undecided.
        without: what a call of a redundant rule that no other alone covers gets without it;
            None where none is at hand.

    """

    rule: Because
    what: str
    witness: Shown | None = None
    by: tuple[Because, ...] = ()
    why: tuple[str, ...] = ()
    without: Without | None = None


@attrs.frozen
class Minimal:
    """A table of fewer rules that decides as the one it is made of.

    Attributes:
        table: with the rules that are left.
        removed: the rules that are not, in the order in which they were removed.
        exact: whether none of those that are left could be removed as well.

    """

    table: Table
    removed: tuple[Standing, ...]
    exact: bool


_Mark = tuple[Place | None, str]


@attrs.define
class Effort:
    """How many lines may still be compared, beside one call for each rule."""

    left: int = limits.LINES_COMPARED


def shadowing(
    table: Table,
    *,
    known: Container[_Mark] = (),
    effort: Effort | None = None,
    compared: Known | None = None,
) -> tuple[Standing, ...]:
    """Return the standing of each rule that somebody wrote, in order.

    Args:
        table: whose rules.
        known: the places and texts of rules that need not be looked at.
        effort: what is left of it, where several tables share it.
        compared: what was compared so far, where they share some of their lines.

    """
    effort = effort or Effort()
    standings = _Standings(Trials(table.use.parts, compared), effort)
    found = tuple(
        standings.of(rule)
        for rule in written_rules(table.use.parts)
        if (rule.because.place, rule.because.rule) not in known
    )
    effort.left -= standings.trials.cost
    return found


def minimise(table: Table) -> Minimal:
    """Return a table with no rule whose removal changes nothing it says of use.

    Narrow rules are tried first, so that of two that cover the same calls the
    wide one stays.
    """
    standings = _Standings(Trials(table.use.parts), Effort())
    removed: list[Standing] = []
    left = sorted(written_rules(table.use.parts), key=lambda rule: -_literal(rule))
    # A rule that only shields others from one that is gone by now matters no longer.
    while True:
        exact = True
        kept: list[WrittenRule] = []
        for rule in left:
            standing = standings.of(rule)
            exact &= standing.what != "undecided"
            if standing.what in ("live", "undecided"):
                kept.append(rule)
            else:
                removed.append(standing)
                standings.trials.take_out(rule)
        if len(kept) == len(left):
            break
        left = kept
    use = Ceiling.of(standings.trials.parts)
    return Minimal(Table(use, table.delegated, table.bounds), tuple(removed), exact)


@attrs.frozen
class _Standings:
    """What becomes of each rule, for as long as there is effort left."""

    trials: Trials
    effort: Effort

    def of(self, rule: WrittenRule) -> Standing:
        """Return what becomes of *rule*."""
        shown = self.trials.shown(rule)
        if shown is not None:
            return Standing(rule.because, "live", shown)
        what = self.trials.read_off(rule)
        if what:
            return self._dead(rule, what)
        if self.effort.left <= self.trials.cost:
            return Standing(rule.because, "undecided", why=(_TOO_MANY,))
        without = self.trials.changed(rule, None)
        found = next(filter(self.trials.matters, without.differences), None)
        if found is not None:
            return Standing(rule.because, "live", Shown(found.tool, found.call))
        if not without.exact:
            return Standing(rule.because, "undecided", why=without.why)
        decides = self.trials.decides(rule)
        for effect in Effect:
            if effect is not rule.because.effect and not decides:
                changed = self.trials.changed(rule, effect)
                matters = any(map(self.trials.matters, changed.differences))
                decides = matters or not changed.exact
        return self._dead(rule, "redundant" if decides else "shadowed")

    def _dead(self, rule: WrittenRule, what: str) -> Standing:
        # A call that only the host itself decides alike is covered by no rule.
        by = tuple(
            one
            for one in self.trials.covering(rule)
            if what == "shadowed" or one.effect is rule.because.effect
        )
        without = None if by or what == "shadowed" else self.trials.without(rule)
        return Standing(rule.because, what, by=by, without=without)


_TOO_MANY = "the rules overlap in more ways than are tried one by one"


def _literal(rule: WrittenRule) -> int:
    patterns = (entry.pattern for entry in rule.entries)
    return max((len(str(pattern)) for pattern in patterns if pattern is not None), default=0)
