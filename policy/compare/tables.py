"""Which calls two tables decide differently: tool by tool, and all other tools at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, filterfalse, permutations
from typing import Final
from weakref import ReferenceType, WeakValueDictionary, ref

from policy.compare.compare import Comparison, Known, compare
from policy.compare.lists import ListSide, View
from policy.compare.pair import TextPair
from policy.compare.witness import Difference, LookUps, ordinary
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.core.memory import Key, alive, seldom_collecting
from policy.core.values import evolve, frozen
from policy.patterns.automaton import AutomatonState
from policy.patterns.domains import DEAD, Domain
from policy.patterns.index import Index
from policy.patterns.notations import names
from policy.patterns.pattern import Pattern, PatternKind, is_glob, readable
from policy.patterns.search import classes
from policy.patterns.tokens import OneOf, Token
from policy.tables.dialect import Dialect
from policy.tables.row import Row
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Lookup, Table

# How many spellings of one name are compared before the answer is inexact.
_SPELLINGS: Final = 256

# The name that represents every tool to which no rule applies.
OTHER_TOOL = "OtherTool"


def representatives(sets: Iterable[RuleSet]) -> tuple[list[str], bool]:
    """Return names that represent all tools, and whether they surely represent all."""
    names: dict[str, None] = {}
    globs: dict[str, None] = {}
    for rules in sets:
        names.update(dict.fromkeys(sorted({*_known(rules.dialect), *rules.names})))
        for glob in rules.globs:
            # `=read` is one name, in that case only.
            pattern = glob_pattern(glob)
            (names if pattern.exact else globs)[str(pattern) if pattern.exact else glob] = None
    taken = frozenset(names)
    index = glob_index(tuple(globs))
    if OTHER_TOOL not in names and not [*index.matching(OTHER_TOOL)]:
        # It represents what no glob matches, so the names that none matches are no others.
        taken = frozenset(name for name in names if [*index.matching(name)])
    further, exact = further_tools(frozenset(globs), taken)
    return list(dict.fromkeys((*names, *further))), exact


@lru_cache(maxsize=64)  # the agents of a project have the same settings
def glob_index(globs: tuple[str, ...]) -> Index:
    """Return an index of globs over tool names."""
    return Index([glob_pattern(glob).tokens for glob in globs])


@lru_cache(maxsize=1024)  # most agents of a project share their globs
def further_tools(globs: frozenset[str], names: frozenset[str]) -> tuple[tuple[str, ...], bool]:
    """Return a name outside *names* for each set of globs that share one; and if these are all."""
    patterns = [glob_pattern(glob) for glob in sorted(globs)]
    found, exact = classes(patterns, names)
    if OTHER_TOOL not in names:
        alike = frozenset(i for i, glob in enumerate(patterns) if glob.matches(OTHER_TOOL))
        found[alike] = OTHER_TOOL
    return tuple(found.values()), exact


@lru_cache(maxsize=4096)
def glob_pattern(glob: str) -> Pattern:
    """Return the pattern of a glob over tool names."""
    return names(glob)


@frozen
class Tools:
    """The tools that some rule sets distinguish.

    Attributes:
        special: the tools that are compared one by one, as rules name them.
        spelled: the special tools in every spelling that matters.
        exact: whether *spelled* has all such spellings.
        by_class: whether all names in rules are special, and one other name for each set of
            globs is compared: where globs have arguments.

    """

    special: frozenset[str]
    spelled: tuple[str, ...]
    exact: bool
    by_class: bool

    @classmethod
    def of(cls, sets: Iterable[RuleSet]) -> Tools:
        """Return the tools of *sets*."""
        ruled = [rules for rules in sets if rules.entries]
        dialects = list(dict.fromkeys(rules.dialect for rules in ruled))
        special = dict.fromkeys(name for dialect in dialects for name in _known(dialect))
        by_class = any(is_glob(tool) for rules in ruled for tool in rules.looking)
        for rules in ruled:
            # `=read` is one name, in that case only.
            alone = {str(p) for glob in rules.globs if (p := glob_pattern(glob)).exact}
            named = rules.looking - set(rules.globs)
            if by_class or rules.dialect.fold_names:
                named = rules.names | alone
            special.update(dict.fromkeys(sorted(named)))
        globs = sorted({glob for rules in ruled for glob in rules.globs})
        spelled = dict.fromkeys(special)
        exact = len({dialect.fold_names for dialect in dialects}) < 2
        if any(dialect.fold_names for dialect in dialects):
            for name in special:
                found = _spellings(name, globs)
                spelled.update(dict.fromkeys(found))
                exact &= len(found) < _SPELLINGS
        if len({dialect.loose for dialect in dialects}) > 1:
            exact &= not by_class
            # Some hosts read a name as written, others trim it.
            written = [rules for rules in ruled if not rules.dialect.loose]
            for rules in written:
                odd = (n for n in rules.names if any(d.canonical(n) != n for d in dialects))
                spelled.update(dict.fromkeys(sorted(odd)))
                exact &= set(rules.globs) <= {"*"}
            spelled.update(dict.fromkeys(map(loosely, special)))
        return cls(frozenset(special), tuple(spelled), exact, by_class)


def _known(dialect: Dialect) -> list[str]:
    return sorted({*dialect.arguments, *dialect.aliases, *dialect.aliases.values()})


_Reached = dict[object, tuple[str, tuple[AutomatonState, ...]]]


def _spellings(name: str, globs: Sequence[str]) -> list[str]:
    """Return *name* in each mixture of cases that *globs* distinguish; at most `_SPELLINGS`."""
    patterns = [glob_pattern(glob) for glob in globs]
    reached: _Reached = {(): ("", tuple(p.automaton.start for p in patterns))}
    for letter in name:
        following: _Reached = {}
        for text, states in reached.values():
            for spelled in dict.fromkeys((letter, letter.lower(), letter.upper())):
                if spelled.isascii() or spelled == letter:
                    after = tuple(state.after(spelled) for state in states)
                    key = tuple(state.key for state in after)
                    following.setdefault(key, (text + spelled, after))
        reached = dict(list(following.items())[:_SPELLINGS])
    return [text for text, _ in reached.values()]


def loosely(name: str) -> str:
    """Return another spelling of *name* for a host that reads names loosely."""
    return name + " "


MANY_NAMES: Final = "rules tell more names of tools apart than are tried"

_BLANKS: Final = " \t\n\r\v\f"


def compare_others(
    sides: Sequence[Sequence[RuleSet]], tools: Tools, look_up: LookUps, known: Known
) -> Comparison:
    """Return how calls of all tools that are not special are decided differently.

    Args:
        sides: the rule sets of each side; a side is their meet.
        tools: the tools that are special to any of the rule sets.
        look_up: a function for each side that returns the lookup of a tool.
        known: as for `compare`.

    """
    ruled = [rules for sets in sides for rules in sets if rules.entries]
    if tools.by_class:
        return _by_class(ruled, tools, look_up, known)
    loose = {rules.dialect.loose for rules in ruled}
    domain = _names_of_tools(ruled, loose=True in loose)
    found: dict[object, Difference] = {}
    why: dict[str, None] = {}
    for spell in (str, loosely) if len(loose) > 1 else (str,):
        lists = [[_view(ref(r), tools.special, spell is str) for r in sets] for sets in sides]
        # A set that allows all these tools does not change the decisions of the others.
        views = tuple(tuple(filterfalse(_allows_all, each)) for each in lists)

        def ask(name: str, spell: Callable[[str], str] = spell) -> Difference:
            tool = spell(name)
            was, now = (look(tool).decide({}, remember=False) for look in look_up)
            return Difference(tool, {}, was, now)

        key = compare_others, views, spell, frozenset(loose)
        names = known.get(key)
        if names is None:
            pair = TextPair(*map(ListSide, views), domain=domain, ask=ask, words=_readable)
            names = known[key] = [each.tool for each in pair.differences()], tuple(pair.why)
        for tool in names[0]:
            difference = ask(tool, str)
            found.setdefault((difference.before, difference.after), difference)
        why.update(dict.fromkeys(names[1]))
    return Comparison(tuple(found.values()), tuple(why))


def _by_class(ruled: Sequence[RuleSet], tools: Tools, look_up: LookUps, known: Known) -> Comparison:
    """Compare one tool of each set of names that the same globs match."""
    globs = {glob for rules in ruled for glob in rules.globs if not glob_pattern(glob).exact}
    others, exact = further_tools(frozenset(globs), frozenset(tools.spelled))
    compared = [compare(tool, look_up[0](tool), look_up[1](tool), known) for tool in others]
    differences = tuple(found for comparison in compared for found in comparison.differences)
    why = dict.fromkeys(reason for comparison in compared for reason in comparison.why)
    return Comparison(differences, tuple(why if exact else {**why, MANY_NAMES: None}))


def _readable(name: str) -> Iterator[str]:
    for word in (OTHER_TOOL, name) if len(name) == 1 else (name,):
        yield from readable(word)


@lru_cache(maxsize=256)  # links of a chain share most of their sets
def _view(rules: ReferenceType[RuleSet], special: frozenset[str], as_written: bool) -> View:  # noqa: FBT001  # cached
    """Return *rules* as a list over names of tools, after a line for each *special* tool.

    Unless names are *as_written*, the list has no names of rules that take names literally.
    """
    read = alive(rules)
    dialect = read.dialect
    fold = dialect.fold_names
    keys = {dialect.key(name) for name in special}
    lines = [Entry(name, Effect.ALLOW, _name(name, fold=fold)) for name in sorted(special)]
    for entry in read.entries:
        tool = entry.tool
        if not is_glob(tool):
            if dialect.key(tool) in keys or not (as_written or dialect.loose):
                continue
            tool = dialect.canonical(tool)
        pattern = _name(tool, fold=fold)
        reason, rule, place = entry.reason, entry.rule, entry.place
        line = Entry(tool, entry.effect, pattern, reason=reason, rule=rule, place=place)
        lines.append(line)
    # Lists that differ in special tools alone give the other tools the same effects.
    view = View(PatternKind.TEXT, tuple(lines), read.default, shared=len(special))
    key = tuple((e.pattern, e.effect, e.reason, bool(e.place)) for e in lines)
    return _VIEWS.setdefault((key, view.default, view.shared, dialect), view)


_VIEWS: WeakValueDictionary[object, View] = WeakValueDictionary()


def _allows_all(view: View) -> bool:
    return len(view.entries) == view.shared and view.default is Effect.ALLOW


@lru_cache(maxsize=65_536)
def _name(tool: str, *, fold: bool) -> Pattern:
    """Return the pattern of the names that a tool name or glob in a rule matches."""
    if is_glob(tool):
        return glob_pattern(tool)
    return Pattern.of(PatternKind.TEXT, map(_either_case, tool)) if fold else Pattern.exactly(tool)


def _either_case(letter: str) -> Token:
    cases = frozenset((letter.lower(), letter.upper())) if letter.isascii() else frozenset(letter)
    return OneOf(cases) if len(cases) > 1 else letter


def _names_of_tools(ruled: Iterable[RuleSet], *, loose: bool) -> Domain:
    """Return the domain of tool names to search."""
    start, inside, blank = {"": "name"}, {"": "name"}, {"": "name"}
    if loose:
        # A trimmed name has no blanks around it, no parenthesis and no capital.
        letters = {letter for rules in ruled for tool in rules.by_tool for letter in tool}
        odd = {"(", *(letter for letter in letters if letter.lower() != letter)}
        for state in (start, inside, blank):
            state.update(dict.fromkeys(odd, DEAD))
        start.update(dict.fromkeys(_BLANKS, DEAD))
        inside.update(dict.fromkeys(_BLANKS, "blank"))
        blank.update(dict.fromkeys(_BLANKS, "blank"))
    table = {"name?": start, "name": inside, "blank": blank}
    return Domain(table, frozenset({"name"}))


# A rule set, and the links of a chain that it belongs to.
Linked = tuple[RuleSet, tuple[str, ...]]


def compare_meets(
    before: Sequence[Linked], after: Sequence[Linked], known: Known | None = None
) -> Comparison:
    """Return how calls are decided differently by two meets, by calls that people would make.

    Decisions name no table, and have numbers in place of links: equal where links are equal.

    Args:
        before: the rule sets of one meet, each with the links that it belongs to.
        after: the rule sets of the other meet.
        known: the results so far, of any meets; new results are added.

    """
    sets = [[rules for rules, _ in one] for one in (before, after)]
    if {*sets[0]} == {*sets[1]}:
        return Comparison()
    known = {} if known is None else known
    look_up = _Meet(before, known).lookup, _Meet(after, known).lookup
    dialect = next(rules.dialect for one in sets for rules in one)
    tools = Tools.of(chain(*sets))
    found: list[Difference] = []
    why = dict.fromkeys(() if tools.exact else (MANY_NAMES,))
    # The rule sets that both meets share make no difference.
    alone = [[rules for rules in one if rules not in two] for one, two in permutations(sets)]
    for tool in tools.spelled:
        effects = [_constant(rules, tool) for rules in alone]
        if effects[0] is not None and effects[0] is effects[1]:
            continue
        was, now = (each(tool) for each in look_up)
        key = compare_meets, tool, was, now, dialect
        comparison = known.get(key)
        if comparison is None:
            raw = compare(tool, was, now, known)
            shown = tuple(ordinary(raw.differences, dialect, look_up))
            comparison = known[key] = Comparison(shown, raw.why)
        found += comparison.differences
        why.update((f"{tool}: {reason}", None) for reason in comparison.why)
    others = compare_others(sets, tools, look_up, known)
    found += ordinary(others.differences, dialect, look_up)
    why.update(dict.fromkeys(others.why))
    return Comparison(tuple(found), tuple(why))


class _Meet:
    """The lookups of a meet of rule sets, shared with all meets that decide the same way."""

    def __init__(self, sets: Sequence[Linked], known: Known) -> None:
        self._sets = sets
        self._known = known
        self._said: dict[Row, object] = known.setdefault(_Meet, {})
        # which of the sets count -> numbers for the links of each
        self._numbers: dict[tuple[int, ...], tuple[tuple[str, str], ...]] = {}

    def lookup(self, tool: str) -> Lookup:
        """Return the lookup of *tool* in all rule sets of the meet."""
        rows = [rules.row(tool) for rules, _ in self._sets]
        constants = [row.constant for row in rows]
        # A row that allows every call is reported only where no other one is.
        allows = [one is not None and one.effect is Effect.ALLOW for one in constants]
        is_left_out = None in constants
        places = tuple([n for n, each in enumerate(allows) if not (is_left_out and each)])
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
        """Return a key of what a row decides: one object for all rows that decide the same."""
        one = row.constant
        key = _Meet, row if one is None else (one.effect, one.reason, one.entries, row.inputs)
        found = self._said[row] = self._known.setdefault(key, Key(key))
        return found


def _constant(sets: Iterable[RuleSet], tool: str) -> Effect | None:
    """Return the effect that rule sets give all calls of *tool*; None if calls may differ."""
    strictest = Effect.ALLOW
    for rules in sets:
        outcome = rules.row(tool).constant
        if outcome is None:
            return None
        strictest &= outcome.effect
    return strictest


@seldom_collecting()
def differences(old: Table, new: Table, known: Known | None = None) -> Comparison:
    """Return how calls are decided differently by *old* and then by *new*.

    Exact unless the comparison says otherwise: no difference means that no
    call of any tool is decided differently. What may be delegated is not
    compared; `Table(use=table.delegated)` is the table of that.

    Args:
        old: one table.
        new: the other table.
        known: the results for other tables that share some of their lines with these;
            new results are added.

    """
    found = compare_meets(old.use.linked, new.use.linked, known)
    return Comparison(tuple(decided(old, new, each) for each in found.differences), found.why)


def decided(old: Table, new: Table, difference: Difference) -> Difference:
    """Return what *old* and *new* decide on the call of a difference of other tables."""
    tool, call = difference.tool, difference.call
    # Every table is asked about the same commands.
    lookups = (old.lookup(tool), new.lookup(tool))
    return Difference(tool, call, *(lookup.decide(call, remember=False) for lookup in lookups))


def internal_tools(dialects: Iterable[Dialect]) -> frozenset[str]:
    """Return the tool names that no call has: names for what shell commands do to files."""
    return frozenset[str]().union(*(dialect.shell.files.inner for dialect in dialects))


def is_idle(difference: Difference, *, checked: bool = False) -> bool:
    """Return whether a difference is of an unreadable call that neither side allows.

    Args:
        difference: a difference of two tables.
        checked: whether their host refuses such calls unread, whatever the tables decide.

    """
    if Reason.MALFORMED not in (difference.before.reason, difference.after.reason):
        return False
    return checked or Effect.ALLOW not in difference.effects


def reported(differences: Iterable[Difference], *tables: Table) -> tuple[Difference, ...]:
    """Return the differences of *tables* that are worth reporting, each once."""
    dialects = {part.rules.dialect for table in tables for part in table.use.parts}
    internal = internal_tools(dialects)
    checked = bool(dialects) and all(dialect.checks for dialect in dialects)
    # Under the name that all have for the tool, where they have one.
    once: dict[tuple[str, str, Decision, Decision], Difference] = {}
    for difference in differences:
        tool = difference.tool
        if tool in internal or is_idle(difference, checked=checked):
            continue
        names = {dialect.canonical(tool) for dialect in dialects}
        name = names.pop() if len(names) == 1 else tool
        key = (name, str(difference.call), difference.before, difference.after)
        if key not in once or tool == name:
            once[key] = difference
    outcomes = {(name, *decisions) for name, _, *decisions in once}
    return tuple(
        difference
        for (name, _, *decisions), difference in once.items()
        if (bare := [*map(_without_rules, decisions)]) == decisions or (name, *bare) not in outcomes
    )


def _without_rules(decision: Decision) -> Decision:
    """Return a decision without its rules where the host asks by a line of its own."""
    is_asked = decision.reason is Reason.DEFAULT and decision.effect is Effect.ASK
    if not is_asked or any(rule.place is not None for rule in decision.because):
        return decision
    return evolve(decision, because=())
