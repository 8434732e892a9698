"""Which calls two tables, or two meets of rule sets, decide differently: tool by tool.

What was found of some meets holds for all others that say the same of a tool: most chains of
a project differ in which tools they leave an agent. Of the links of a chain it counts only
which rule sets have the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, permutations

import attrs

from policy.compare.calls import remembered
from policy.compare.compare import Comparison, Difference, Known, compare
from policy.compare.names import MANY_NAMES, compare_others
from policy.compare.overlap import Tools
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.memory import Key, seldom_collecting
from policy.tables.dialect import Dialect
from policy.tables.lookup import Lookup
from policy.tables.row import Row
from policy.tables.ruleset import RuleSet
from policy.tables.table import Table

__all__ = ["Linked", "compare_meets", "decided", "differences", "internal_tools", "is_idle", "told"]


def internal_tools(dialects: Iterable[Dialect]) -> frozenset[str]:
    """Return the names that no call has: those of what shell commands do to files."""
    return frozenset[str]().union(*(dialect.shell.files.inner for dialect in dialects))


def is_idle(difference: Difference, *, checked: bool = False) -> bool:
    """Return whether a call differs that cannot be read, and that neither side allows.

    Args:
        difference: of two tables.
        checked: whether their host refuses such calls unread, whatever either says.

    """
    if Reason.MALFORMED not in (difference.before.reason, difference.after.reason):
        return False
    return checked or Effect.ALLOW not in difference.effects


def told(differences: Iterable[Difference], *tables: Table) -> tuple[Difference, ...]:
    """Return the differences of *tables* that are worth telling, each once."""
    dialects = {part.rules.dialect for table in tables for part in table.use.parts}
    internal = internal_tools(dialects)
    checked = bool(dialects) and all(dialect.checks for dialect in dialects)
    once: dict[tuple[object, ...], Difference] = {}
    # Under the name that all have for the tool, where they have one.
    common: dict[str, str] = {}
    for difference in differences:
        if difference.tool in internal or is_idle(difference, checked=checked):
            continue
        tool = difference.tool
        if tool not in common:
            names = {dialect.canonical(tool) for dialect in dialects}
            common[tool] = names.pop() if len(names) == 1 else tool
        name = common[tool]
        key = (name, str(difference.call), difference.before, difference.after)
        if key not in once or tool == name:
            once[key] = difference
    spoken = {key for key, d in once.items() if _is_spoken(d.before) or _is_spoken(d.after)}
    if not spoken:
        return tuple(once.values())
    outcomes = {(name, d.before, d.after) for (name, *_), d in once.items()}
    return tuple(
        d
        for key, d in once.items()
        if key not in spoken or (key[0], _plain(d.before), _plain(d.after)) not in outcomes
    )


def _is_spoken(decision: Decision) -> bool:
    """Return whether a host asks by a line of its own, as it does where no line speaks."""
    return (
        decision.reason is Reason.DEFAULT
        and decision.effect is Effect.ASK
        and bool(decision.because)
        and all(rule.place is None for rule in decision.because)
    )


def _plain(decision: Decision) -> Decision:
    """Return what a call gets as if no line spoke of it that a host asks by all the same."""
    return attrs.evolve(decision, because=()) if _is_spoken(decision) else decision


# A rule set, and the links of a chain that it belongs to.
Linked = tuple[RuleSet, tuple[str, ...]]


def compare_meets(
    before: Sequence[Linked], after: Sequence[Linked], known: Known | None = None
) -> Comparison:
    """Return how calls are decided differently by two meets.

    Decisions name no table, and numbers for links: equal where links are.

    Args:
        before: the rule sets of one, each with the links that it belongs to.
        after: those of the other.
        known: what was found so far, of these or of others; what is found here is added.

    """
    sets = [[rules for rules, _ in one] for one in (before, after)]
    if {*sets[0]} == {*sets[1]}:
        return Comparison()
    known = {} if known is None else known
    meets = _Meet(before, known), _Meet(after, known)
    tools = Tools.of(chain(*sets))
    found: list[Difference] = []
    why = dict.fromkeys(() if tools.exact else (MANY_NAMES,))
    # What both share cannot tell them apart.
    alone = [[rules for rules in one if rules not in two] for one, two in permutations(sets)]
    for tool in tools.spelled:
        effects = [_constant(rules, tool) for rules in alone]
        if effects[0] is not None and effects[0] is effects[1]:
            continue
        was, now = (meet.lookup(tool) for meet in meets)
        key = compare_meets, tool, was, now
        comparison = known.get(key)
        if comparison is None:
            comparison = known[key] = compare(tool, was, now, known)
        found += comparison.differences
        why.update((f"{tool}: {reason}", None) for reason in comparison.why)
    others = compare_others(sets, tools, [meet.lookup for meet in meets], known)
    why.update(dict.fromkeys(others.why))
    return Comparison((*found, *others.differences), tuple(why))


class _Meet:
    """What rule sets say of tools, one lookup for all meets that say the same.

    Args:
        sets: the rule sets, and the links of each.
        known: the lookups there are.

    """

    def __init__(self, sets: Sequence[Linked], known: Known) -> None:
        self._sets = sets
        self._known = known
        self._said: dict[Row, object] = known.setdefault(_said, {})
        # which of the sets count -> numbers for the links of each
        self._numbers: dict[tuple[int, ...], tuple[tuple[str, str], ...]] = {}

    def lookup(self, tool: str) -> Lookup:
        """Return what the sets say of *tool*."""
        rows = [rules.row(tool) for rules, _ in self._sets]
        places = tuple(range(len(rows)))
        if any(row.constant is None for row in rows):
            # A row that allows every call is reported only where no other one is.
            places = tuple([place for place in places if not _is_open(rows[place])])
            rows = [rows[place] for place in places]
        numbers = self._numbers.get(places)
        if numbers is None:
            numbers = self._numbers[places] = self._numbered(places)
        key = _Meet, tuple([self._said.get(row) or self._says(row) for row in rows]), numbers
        lookup: Lookup | None = self._known.get(key)
        if lookup is None:
            lookup = self._known[key] = Lookup(zip(rows, numbers, strict=True), "")
        return lookup

    def _numbered(self, places: Iterable[int]) -> tuple[tuple[str, str], ...]:
        whole = [self._sets[place][1] for place in places]
        first = [links[:1] for links in whole]
        return tuple((str(first.index(each[:1])), str(whole.index(each))) for each in whole)

    def _says(self, row: Row) -> object:
        """Return what a row says, the same object for all that say the same."""
        key = _said, _said(row)
        said = self._said[row] = self._known.setdefault(key, Key(key))
        return said


def _is_open(row: Row) -> bool:
    return row.constant is not None and row.constant.effect is Effect.ALLOW


def _said(row: Row) -> object:
    constant = row.constant
    if constant is not None:
        return constant.effect, constant.reason, constant.entries, row.inputs
    return row


def _constant(sets: Iterable[RuleSet], tool: str) -> Effect | None:
    """Return the effect that all calls of *tool* get of some rule sets, if it is one."""
    strictest = Effect.ALLOW
    for rules in sets:
        outcome = rules.row(tool).constant
        if outcome is None:
            return None
        strictest &= outcome.effect
    return strictest


@seldom_collecting
def differences(old: Table, new: Table, known: Known | None = None) -> Comparison:
    """Return how calls are decided differently by *old* and then by *new*.

    Exact unless the comparison says otherwise: no difference means that no
    call of any tool is decided differently. What may be delegated is not
    compared; `Table(use=table.delegated)` is the table of that.

    Args:
        old: one table.
        new: the other.
        known: what comparisons of other tables found, which share some of their
            lines with these; what is found here is added.

    """
    found = compare_meets(old.use.linked, new.use.linked, known)
    return Comparison(tuple(decided(old, new, each) for each in found.differences), found.why)


def decided(old: Table, new: Table, difference: Difference) -> Difference:
    """Return what *old* and *new* decide on the call of a difference of other tables."""
    tool, call = difference.tool, difference.call
    # Every table is asked about the same commands.
    lookups = (old.lookup(tool), new.lookup(tool))
    return Difference(
        tool, call, *(lookup.decide(call, remember=False, read=remembered) for lookup in lookups)
    )
