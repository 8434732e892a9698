"""Exactly which tools, of those that are like any other, two tables decide differently.

Rules name tools, or match names by ``*``. To a rule that looks at no argument a
name is a text like any other, so all tools are compared at once: the text is the
name of a tool and, behind a mark, the argument that rules of any tool apply to
(`policy.compare.lists`). Left out are the tools of which a host says more, e.g. that their
argument is a command; these are compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final
from weakref import ReferenceType, WeakValueDictionary, ref

import attrs

from policy.compare.compare import DIFFERENT_KINDS, Comparison, Known, compare
from policy.compare.lists import Difference, ListSide, TextPair, View
from policy.compare.overlap import OTHER_TOOL, Tools, further_tools, glob_pattern, loosely
from policy.compare.witness import Call, CallShape
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.core.memory import alive
from policy.patterns.domains import DEAD, Domain
from policy.patterns.notations import is_glob
from policy.patterns.pattern import Pattern, PatternKind, readable
from policy.patterns.tokens import Gap, OneOf, Token
from policy.tables.dialect import Dialect
from policy.tables.entry import RowEntry
from policy.tables.lookup import Lookup
from policy.tables.parameters import TOO_MANY_PARAMETERS, parameter_cases
from policy.tables.ruleset import Entry, RuleSet

__all__ = ["MANY_NAMES", "compare_others"]

MANY_NAMES: Final = "rules tell more names of tools apart than are tried"

# Stands between the name of a tool and its argument. Patterns cannot tell it from
# other characters that they do not name.
_MARK: Final = "\uf8ff"

_BLANKS: Final = " \t\n\r\v\f"

LookUp = Callable[[str], Lookup]


def _plainly(name: str) -> str:
    return name


def compare_others(
    sides: Sequence[Sequence[RuleSet]], tools: Tools, look_up: Sequence[LookUp], known: Known
) -> Comparison:
    """Return how calls of all tools that are not special are decided differently.

    Args:
        sides: the rule sets whose meet was asked, and those whose meet is asked now.
        tools: those that are special to any of them.
        look_up: what each side says of a tool.
        known: as for `compare`.

    """
    speaking = [rules for sets in sides for rules in sets if rules.entries]
    if speaking and all(rules.dialect.fold_names for rules in speaking):
        return _by_class(speaking, tools, look_up, known)
    among = [(rules, rules.looking(tools.special)) for rules in speaking]
    looking = [entry for _, entries in among for entry in entries]
    cases = parameter_cases([looking], whole=True)
    # How a call is read matters to those alone that look at what is in it.
    reading = [rules for rules, entries in among if entries] or speaking
    others = list(dict.fromkeys(rules.dialect.other for rules in reading)) or [_ANY]
    why: dict[str, None] = {}
    if cases is None:
        why[TOO_MANY_PARAMETERS] = None
    if len(others) > 1 and looking:
        why[DIFFERENT_KINDS] = None
    loose = {rules.dialect.loose for rules in speaking}
    found: dict[object, Difference] = {}
    spells = (_plainly, loosely) if len(loose) > 1 else (_plainly,)
    shapes = CallShape.each(
        _NOWHERE, others[0], cases or [{}], {e.field for e in looking if e.field}
    )
    for shape, spell in product(shapes, spells):
        lines = _Lines(
            tools.special,
            tuple(shape.parameters.items()),
            spell is _plainly,
            looking=bool(looking),
            sole=shape.sole,
        )
        domain, wider = _domain(shape, speaking, loose=True in loose, looking=bool(looking))
        ask = _Asked(look_up, shape, spell)
        seen = [tuple(_view(ref(rules), lines) for rules in sets) for sets in sides]
        if all(any(map(_denies_all, views)) for views in seen):
            continue
        views = tuple(tuple(view for view in each if not _allows_all(view)) for each in seen)
        # A set that says nothing of these tools leaves what the others decide differently.
        key = compare_others, views, lines, frozenset(loose), domain.closed
        calls = known.get(key)
        if calls is None:
            pair = TextPair(
                *map(ListSide, views), domain=domain, wider=wider, ask=ask, words=_readable
            )
            told = [(difference.tool, difference.call) for difference in pair.differences()]
            calls = known[key] = told, tuple(pair.why)
        for tool, call in calls[0]:
            difference = ask.decided(tool, call)
            found.setdefault((difference.before, difference.after), difference)
        why.update(dict.fromkeys(calls[1]))
    return Comparison(tuple(found.values()), tuple(why))


def _by_class(
    speaking: Sequence[RuleSet], tools: Tools, look_up: Sequence[LookUp], known: Known
) -> Comparison:
    """Compare one tool of each set of names that the same globs match.

    For hosts that ignore case: a name in any case is no star pattern, so that names
    and arguments together take long to search. All names that rules give are special.
    """
    globs = {glob for rules in speaking for glob in rules.globs if not glob_pattern(glob).exact}
    others, exact = further_tools(frozenset(globs), frozenset(tools.spelled))
    compared = [compare(tool, look_up[0](tool), look_up[1](tool), known) for tool in others]
    differences = tuple(found for comparison in compared for found in comparison.differences)
    why = dict.fromkeys(reason for comparison in compared for reason in comparison.why)
    return Comparison(differences, tuple(why if exact else {**why, MANY_NAMES: None}))


_ANY: Final = Dialect("").other


@attrs.frozen
class _Asked:
    """What the call that a text stands for gets."""

    look_up: Sequence[LookUp]
    shape: CallShape
    spell: Callable[[str], str]

    def __call__(self, text: str) -> Difference:
        name, _, argument = text.partition(_MARK)
        tool = self.spell(name)
        before, after = (look_up(tool) for look_up in self.look_up)
        call: dict[str, object] = {}
        if before.constant is None or after.constant is None:
            call = self.shape.call(argument)
        return Difference(
            tool, call, before.decide(call, remember=False), after.decide(call, remember=False)
        )

    def decided(self, tool: str, call: Call) -> Difference:
        """Return what a call of *tool* gets."""
        before, after = (look_up(tool) for look_up in self.look_up)
        return Difference(
            tool, call, before.decide(call, remember=False), after.decide(call, remember=False)
        )


_NOWHERE: Final = Dialect("")


def _readable(text: str) -> Iterator[str]:
    name, _, argument = text.partition(_MARK)
    for words in (f"{OTHER_TOOL}{_MARK}{argument}", text) if len(name) == 1 else (text,):
        yield from readable(words)


@attrs.frozen
class _Lines:
    """Rule sets as lists over names and arguments.

    Attributes:
        special: the tools that are left out: a line in front of all others
            decides them alike everywhere.
        parameters: what a call has beside its argument.
        as_written: whether names are spelt as rules that take them literally do.
        looking: whether any rule looks at an argument.
        sole: the parameter whose text the argument is.

    """

    special: frozenset[str]
    parameters: tuple[tuple[str, str], ...]
    as_written: bool
    looking: bool
    sole: str = ""

    def of(self, rules: RuleSet) -> Iterator[RowEntry]:
        """Yield the lines of *rules*."""
        dialect = rules.dialect
        special = {dialect.key(name) for name in self.special}
        for name in sorted(self.special):
            yield _left_out(name, fold=dialect.fold_names, looking=self.looking)
        as_written = self.as_written or dialect.loose
        told = {
            tool
            for tool in rules.tools
            if is_glob(tool) or (as_written and dialect.key(tool) not in special)
        }
        for entry in rules.entries:
            if entry.tool not in told:
                continue
            spoken_of = not entry.field or entry.field == self.sole
            if not spoken_of and not self._holds(entry):
                continue
            argument = entry.pattern if spoken_of else None
            tool = entry.tool if is_glob(entry.tool) else dialect.canonical(entry.tool)
            pattern = _name(tool, fold=dialect.fold_names)
            yield _line(entry, _behind(pattern, argument) if self.looking else pattern)

    def _holds(self, entry: Entry) -> bool:
        value = dict(self.parameters).get(entry.field)
        return value is not None and entry.pattern is not None and entry.pattern.matches(value)


@lru_cache(maxsize=256)  # links of a chain share most of their sets
def _view(rules: ReferenceType[RuleSet], lines: _Lines) -> View:
    # Agents that are given other special tools say the same of the others.
    seen = alive(rules)
    view = View(PatternKind.TEXT, tuple(lines.of(seen)), seen.default, shared=len(lines.special))
    said = tuple((e.pattern, e.effect, e.reason, e.place is None) for e in view.entries)
    return _VIEWS.setdefault((said, view.default, view.shared, seen.dialect), view)


_VIEWS: WeakValueDictionary[object, View] = WeakValueDictionary()


def _allows_all(view: View) -> bool:
    return len(view.entries) == view.shared and view.default is Effect.ALLOW


def _denies_all(view: View) -> bool:
    return len(view.entries) == view.shared and view.default is Effect.DENY


def _line(entry: Entry, pattern: Pattern) -> RowEntry:
    return RowEntry(pattern, "", entry.effect, entry.reason, entry.rule, entry.place)


@lru_cache(maxsize=4096)
def _left_out(name: str, *, fold: bool, looking: bool) -> RowEntry:
    pattern = _behind(_name(name, fold=fold), None) if looking else _name(name, fold=fold)
    return RowEntry(pattern, "", Effect.ALLOW, Reason.RULE, name, None)


@lru_cache(maxsize=65_536)
def _name(tool: str, *, fold: bool) -> Pattern:
    """Return the pattern of the names that *tool* stands for."""
    if is_glob(tool):
        return glob_pattern(tool)
    return Pattern.of(PatternKind.TEXT, map(_either_case, tool)) if fold else Pattern.exactly(tool)


@lru_cache(maxsize=65_536)
def _behind(name: Pattern, argument: Pattern | None) -> Pattern:
    """Return the pattern of a name and an argument behind it."""
    rest = argument.tokens if argument else (Gap.ANY,)
    return Pattern.of(PatternKind.TEXT, (*name.tokens, _MARK, *rest))


def _either_case(letter: str) -> Token:
    cases = frozenset((letter.lower(), letter.upper())) if letter.isascii() else frozenset(letter)
    return OneOf(cases) if len(cases) > 1 else letter


def _domain(
    shape: CallShape, speaking: Iterable[RuleSet], *, loose: bool, looking: bool
) -> tuple[Domain, Domain | None]:
    """Return the texts to look for, and all that are possible where these are more."""
    start, inside, blank = {"": "name"}, {"": "name"}, {"": "name"}
    if loose:
        # What is left of a name: no blanks around it, no parenthesis, no capital.
        letters = {letter for rules in speaking for tool in rules.tools for letter in tool}
        odd = {"(", *(letter for letter in letters if letter.lower() != letter)}
        for state in (start, inside, blank):
            state.update(dict.fromkeys(odd, DEAD))
        start.update(dict.fromkeys(_BLANKS, DEAD))
        inside.update(dict.fromkeys(_BLANKS, "blank"))
        blank.update(dict.fromkeys(_BLANKS, "blank"))
    table = {"name?": start, "name": inside, "blank": blank}
    if not looking:
        return Domain(table, frozenset({"name"}), closed=True), None
    table["name?"][_MARK] = table["blank"][_MARK] = DEAD
    table["name"][_MARK] = "mark"
    wider = shape.wider
    return shape.domain.behind(table, _MARK), wider and wider.behind(table, _MARK)
