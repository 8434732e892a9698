"""Decision tables: what an agent may use, and what it may hand on.

A table is a meet. Each of its two *ceilings* is a set of rule sets, and a call gets the strictest
answer of them. So ``&`` is the union of two sets: idempotent, commutative and associative. Equal
rule sets are one, so a chain of links with the same settings costs as much as one link.

The ceilings are what an agent may **use** and what it may **delegate**. A child
may use what its own table grants as far as its parent may delegate it
(`policy.tables.chain`):

    use(child)      = use(child)      & delegate(parent)
    delegate(child) = delegate(child) & delegate(parent)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property

from policy.core import limits
from policy.core.decision import HIDDEN_TEXT, Because, Clause, Decision, Does, Hashed, Reason
from policy.core.effect import Effect
from policy.core.memory import Memo
from policy.core.source import cited
from policy.core.values import Any, Final, evolve, field, frozen
from policy.tables.dialect import Dialect, Inputs
from policy.tables.row import NO_FIELD, UNREADABLE, Outcome, Row
from policy.tables.ruleset import Entry, RuleSet

# Starting an agent is a call like any other.
SPAWN_TOOL: Final = "Task"

# Levels of trust, the least first.
TRUST: Final = ("blocked", "quarantined", "verified", "trusted")


@frozen
class LinkedRules:
    """A rule set and the links of the chain that it belongs to."""

    rules: RuleSet
    links: tuple[str, ...] = field(default=(), eq=False)


_NO_DIALECT = Dialect("")
_DENIES_ALL = RuleSet((), Effect.DENY, _NO_DIALECT)


@cache  # few dialects and limits occur
def no_spawns(dialect: Dialect, by: Because | None = None) -> RuleSet:
    """Return the rule set that denies every start of an agent, because of the limit *by*."""
    rule, place = (by.rule, by.place) if by else ("limit depth", None)
    denied = Entry(SPAWN_TOOL, Effect.DENY, reason=Reason.DEPTH, rule=rule, place=place)
    return RuleSet((denied,), Effect.ALLOW, dialect)


@frozen(eq=False)
class Ceiling:
    """A meet of rule sets: it grants what all of them grant."""

    parts: tuple[LinkedRules, ...] = ()

    @cached_property
    def sets(self) -> frozenset[RuleSet]:
        """The rule sets; for a meet that denies everything, one canonical rule set."""
        if len(self.parts) == 1:
            (part,) = self.parts
            if part.rules.is_constant and part.rules.default is Effect.DENY:
                return frozenset({_DENIES_ALL})
        return frozenset(part.rules for part in self.parts)

    @classmethod
    def of(cls, parts: Iterable[LinkedRules]) -> Ceiling:
        """Return the canonical meet of *parts*: equal rule sets are one, with the links of all."""
        merged: dict[RuleSet, tuple[str, ...]] = {}
        for part in parts:
            rules = part.rules.interned
            merged[rules] = tuple(dict.fromkeys((*merged.get(rules, ()), *part.links)))
        kept = []
        for rules, links in merged.items():
            if not rules.is_constant or rules.default is Effect.ASK:
                kept.append(LinkedRules(rules, links))
            elif rules.default is Effect.DENY:
                refusing = evolve(_DENIES_ALL, default_reason=rules.default_reason)
                return cls((LinkedRules(refusing, links),))
        return cls(tuple(kept))

    @property
    def linked(self) -> list[tuple[RuleSet, tuple[str, ...]]]:
        """The pairs of a rule set and its links."""
        return [(part.rules, part.links) for part in self.parts]

    def without_spawns(self, by: Because | None = None) -> Ceiling:
        """Return the meet for an agent that may start no other, because of the limit *by*."""
        if any(rules == no_spawns(rules.dialect) for rules in self.sets):
            return self
        first = self.parts[0] if self.parts else LinkedRules(_DENIES_ALL)
        links = (by.link,) if by else first.links[:1]
        limit = LinkedRules(no_spawns(first.rules.dialect, by), links)
        return Ceiling.of((*self.parts, limit))

    def __and__(self, other: Ceiling) -> Ceiling:
        """Return the meet, which grants what both grant: the union of the two sets."""
        return self if self is other else Ceiling.of((*self.parts, *other.parts))

    def __eq__(self, other: object) -> bool:
        return self.sets == other.sets if isinstance(other, Ceiling) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sets)


@frozen
class Bounds:
    """Limits of an agent, such as depth and turns; None is no limit. ``&`` takes the smaller."""

    depth: int | None = None  # levels of agents that may follow below
    turns: int | None = None  # turns the agent may take
    trust: str | None = None  # one of `TRUST`
    # The statement that sets the depth, where a file does.
    by: Because | None = field(default=None, eq=False)

    @property
    def is_last(self) -> bool:
        """Whether no agent may follow."""
        return self.depth is not None and self.depth <= 0

    def __and__(self, other: Bounds) -> Bounds:
        """Return the tighter bounds."""
        depth = _least(self.depth, other.depth)
        return Bounds(
            depth,
            _least(self.turns, other.turns),
            min((t for t in (self.trust, other.trust) if t), key=TRUST.index, default=None),
            self.by if depth == self.depth else other.by,
        )


def _least(one: int | None, other: int | None) -> int | None:
    return min((n for n in (one, other) if n is not None), default=None)


# The default for arguments that a caller forgot, so that the error says what to pass.
NO_CALL: Any = None


def no_arguments(call: object, field: str) -> TypeError:
    """Return the error for arguments that are no mapping; *field* is an argument to name."""
    shown = call if isinstance(call, str) else "…"
    name = "argument" if field is NO_FIELD else field
    found = "nothing" if call is NO_CALL else cited(call)
    wanted = "expected the arguments of a call as `call`"
    return TypeError(f"{wanted}, found {found}: pass them as {{{name!r}: {shown!r}}}")


@frozen(repr=False)
class Table:
    """What an agent may use and delegate. ``&`` grants only what both grant.

    Attributes:
        use: the ceiling of the agent's own calls.
        delegate: the ceiling of the agents that it starts; None is the same as *use*.
        bounds: limits beside the rules. At depth 0 the agent may start no other.
        origin: the table that decisions name, if this table is a variant of it for some folders.
    """

    use: Ceiling = Ceiling()
    delegate: Ceiling | None = None
    bounds: Bounds = Bounds()
    origin: Table | None = field(default=None, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # Tables that mean the same are equal: `a & NOTHING` is NOTHING.
        if self.delegate == self.use:
            object.__setattr__(self, "delegate", None)
        if self.bounds.is_last:
            object.__setattr__(self, "use", self.use.without_spawns(self.bounds.by))
            if self.delegate == self.use:
                object.__setattr__(self, "delegate", None)

    @cached_property
    def _lookups(self) -> Memo[str, Lookup]:
        return Memo(limits.CACHED_NAMES)

    @classmethod
    def of(cls, rules: RuleSet, *, link: str = "") -> Table:
        """Return the table of one rule set, which belongs to *link*."""
        return cls(Ceiling.of([LinkedRules(rules, (link,) if link else ())]))

    def __and__(self, other: Table) -> Table:
        """Return the table that grants, and hands on, only what both tables do."""
        delegate = None
        if self.delegate is not None or other.delegate is not None:
            delegate = self.delegated & other.delegated
        return Table(self.use & other.use, delegate, self.bounds & other.bounds)

    @property
    def delegated(self) -> Ceiling:
        """What the agent may delegate."""
        return self.use if self.delegate is None else self.delegate

    def decide(
        self,
        tool: str,
        call: Mapping[str, object] = NO_CALL,
        checked: bool = False,  # noqa: FBT001, FBT002  # to take it by keyword alone costs a tenth
    ) -> Decision:
        """Return the decision on a call of *tool*.

        Args:
            tool: the name of the tool, or an alias of the host.
            call: the arguments, e.g. ``{"command": "git push"}``.
            checked: whether the host has accepted the arguments already. They are not checked then,
                since the host may have another version than `Dialect.inputs` describes.

        Raises:
            TypeError: *tool* is no text, or *call* no mapping; nothing else raises.
        """
        try:
            lookup = self._lookups.get(tool) or self.lookup(tool)
        except TypeError:
            raise TypeError(f"expected the name of a tool, found {tool!r}") from None
        if lookup.always is not None:
            return lookup.always
        try:
            text = call.get(lookup.field)
        except AttributeError:
            raise no_arguments(call, lookup.field) from None
        if type(text) is str and lookup.alias not in call:
            decision = lookup.remembered.get(text)
            if decision is not None and (checked or len(call) == 1 or lookup.takes(call)):
                return decision
        return lookup.decide(call, checked=checked)

    def account(self, tool: str, call: Mapping[str, object]) -> tuple[Clause, ...]:
        """Return the clauses of a shell command, each with its decision.

        The first link that decides the call decides them. Empty if the call is no command, or if
        its decision does not depend on the command. Files that every policy allows are left out. No
        clause is stricter than the call, unless a rule spells out the whole command.
        """
        return self.lookup(tool).account(call)

    def __le__(self, other: Table) -> bool:
        """Return whether *self* grants, and hands on, no more than *other*.

        False if the comparison exceeds its budget.
        """
        from policy.compare.tables import differences  # noqa: PLC0415  # deciding compares nothing

        pairs = [(other, self)]
        if self.delegate is not None or other.delegate is not None:
            pairs.append((Table(other.delegated), Table(self.delegated)))
        for larger, smaller in pairs:
            comparison = differences(larger, smaller)
            if not comparison.exact or any(d.widened for d in comparison.differences):
                return False
        return self.bounds & other.bounds == self.bounds

    def lookup(self, tool: str) -> Lookup:
        """Return the rows of the table for *tool*."""
        lookup = self._lookups.get(tool)
        if lookup is None:
            if not isinstance(tool, str):
                raise TypeError(f"expected the name of a tool, found {tool!r}")
            rows = ((part.rules.row(tool), part.links) for part in self.use.parts)
            lookup = self._lookups.keep(tool, Lookup(rows, self.origin or self))
        return lookup

    def __repr__(self) -> str:
        sets = len(self.use.parts)
        return f"<Table {self.hash[:19]}… {sets} rule set{'' if sets == 1 else 's'}>"

    @cached_property
    def hash(self) -> str:
        """Content hash of the rules and bounds, without their places: ``sha256:…``."""
        import hashlib  # noqa: PLC0415  # decisions need no hash

        ceilings = [self.use] if self.delegate is None else [self.use, self.delegate]
        digests = [sorted(rules.digest for rules in each.sets) for each in ceilings]
        bounds = self.bounds.depth, self.bounds.turns, self.bounds.trust
        return "sha256:" + hashlib.sha256(f"{digests}{bounds}".encode()).hexdigest()


_Links = tuple[str, ...]


class Lookup:
    """The rows of a table for one tool, each with the links it belongs to.

    Attributes:
        rows: the rows that depend on the arguments of the call.
        constant: the decision of every call with valid arguments if all get the same, else None.
        always: the same, if no argument is invalid.
        field: the argument that decides alone if it is text and *alias* is absent; or `NO_FIELD`.
        alias: the other name of this argument, or `NO_FIELD`.
        remembered: the cache of decisions by this argument, if it may be any text and no other
            argument of the call is invalid.
    """

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
                denial = (outcome, links)  # the first denial has the reason
        if denial is not None:
            # If one link denies every call, the other rows are not needed.
            self.rows, self._settled = [], [denial]
        else:
            # A row that always allows adds only a reason, and only if no other row has one.
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
        self._remembers = not checked or self._types.get(self.field) is str

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
            checked: whether the host has accepted the arguments already.
            remember: whether to cache the decision.
        """
        if self._checked and not checked and not self.takes(call):
            return self._combine([(UNREADABLE[Reason.MALFORMED], ())])
        if self.constant is not None:
            return self.constant
        decision = self.combined(tuple([row.outcome(call) for row, _ in self.rows]))
        if remember and self._remembers and self.alias not in call:
            text = call.get(self.field)
            if type(text) is str and len(text) <= limits.CACHED_CHARACTERS:
                self.remembered.keep(text, decision)
        return decision

    def combined(self, outcomes: tuple[Outcome, ...]) -> Decision:
        """Return the decision for *outcomes*, one of each row; equal outcomes give the same one."""
        decision = self._decisions.get(outcomes)
        if decision is None:
            pairs = [(one, links) for one, (_, links) in zip(outcomes, self.rows, strict=True)]
            decision = self._decisions.keep(outcomes, self._combine([*pairs, *self._settled]))
        return decision

    def account(self, call: Mapping[str, object]) -> tuple[Clause, ...]:
        """Return the clauses of the command of *call*, decided by the first row that decides it.

        Empty if *call* runs no command, or if its decision does not depend on what it runs.
        """
        from policy.commands.reader import SOME_VALUE  # noqa: PLC0415  # what no decision needs
        from policy.tables.command_outcome import account  # noqa: PLC0415  # as above

        decision = self.decide(call, remember=False)
        clauses: dict[tuple[Does, str], Clause] = {}
        for row, links in self.rows:
            if row.outcome(call).effect is decision.effect:
                for does, text, outcome, why in account(row, call):
                    shown = text.replace(SOME_VALUE, HIDDEN_TEXT)
                    clause = Clause(does, shown, self._combine([(outcome, links)]), why)
                    clauses[does, text] = clause
                break
        return tuple(clauses.values())

    def takes(self, call: Mapping[str, object]) -> bool:
        """Return whether every argument is valid; rules decide valid calls alone."""
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
            # Of the rows that allow, take one with a rule, at best a rule that is in a file.
            deciding = [max(deciding, key=_told_where)]
        reason = deciding[0][0].reason
        because = dict.fromkeys(each for pair in deciding for each in _because(*pair))
        links = dict.fromkeys(link for _, several in deciding for link in several)
        return Decision(effect, reason, tuple(because), tuple(links), self._table)


def _told_where(pair: tuple[Outcome, _Links]) -> tuple[bool, bool]:
    entries = pair[0].entries
    return any(entry.place for entry in entries), bool(entries)


def _says_more(outcome: Outcome, known: Outcome) -> bool:
    """Return whether a denial has a better reason than *known*: that the tool is unavailable."""
    if not outcome.entries or known.entries:
        return False
    return known.reason is not Reason.UNAVAILABLE or outcome.reason is Reason.UNAVAILABLE


def _because(outcome: Outcome, links: _Links) -> tuple[Because, ...]:
    link = links[0] if links else ""
    return tuple(Because(e.rule, e.effect, link, e.place) for e in outcome.entries)


UNRESTRICTED: Table = Table()
NOTHING: Table = Table(Ceiling.of([LinkedRules(_DENIES_ALL)]), bounds=Bounds(0, 0, TRUST[0]))
