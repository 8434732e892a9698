"""Exactly which calls of one tool two tables decide differently, with a witness for each.

The argument that rules speak of is the text of the comparison (`policy.pair`).
Other arguments that rules name are told apart first: one case for each set of
values that the same rules match.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

import attrs

from policy.dialect import Argument, ArgumentKind, Dialect
from policy.lookup import Lookup
from policy.pair import Call, Difference, Pair, Side
from policy.patterns.classes import classes
from policy.patterns.domains import ANY_TEXT, COMMANDS, OBJECTS, Domain, joined
from policy.patterns.pattern import Pattern, freeze
from policy.row import KINDS, Row, RowEntry
from policy.view import View

__all__ = ["Comparison", "Difference", "call_domain", "compare", "parameter_cases", "witness_call"]

# What a host name can hold: hardly a rule names all of it.
_HOST_LETTERS = "xyz0123456789qjkvwabcdefghilmnoprstu"

# Commands by which a rule may know one, and lines of which such are tried.
_DISGUISES = ("{}", "{} $x", "sudo {}", "A=1 {}", "./{}", "'{}'")
_DISGUISED = 64

# Combinations of parameters that are told apart before the answer is no longer exact.
_PARAMETER_CASES = 64


@attrs.frozen
class Comparison:
    """Every way in which decisions differ, one difference for each.

    Attributes:
        differences: each with other deciding rules or effects than the rest.
        exact: whether nothing else differs; False where that was not decided.

    """

    differences: tuple[Difference, ...] = ()
    exact: bool = True


def compare(tool: str, before: Lookup, after: Lookup) -> Comparison:
    """Return how the calls of *tool* are decided differently by two lookups."""
    rows = [row for lookup in (before, after) for row, _ in lookup.rows]
    if not rows:
        return _constants(tool, before, after)
    if len({row.argument.kind for row in rows}) > 1:
        return Comparison((), exact=False)
    cases = parameter_cases([entry for row in rows for entry in row.entries])
    found: dict[object, Difference] = {}
    alike = {_manner(row) for row in rows}
    exact = cases is not None and len(alike) == 1
    for parameters in cases or [{}]:
        tool_pair = _ToolPair(tool, before, after, parameters)
        for difference in tool_pair.differences():
            found.setdefault(_signature(difference), difference)
        exact &= tool_pair.exact
        if rows[0].argument.kind is ArgumentKind.COMMAND:
            directions = {difference.widened for difference in found.values()}
            for difference in tool_pair.disguised():
                if difference.widened not in directions:
                    directions.add(difference.widened)
                    found[_signature(difference)] = difference
    return Comparison(tuple(found.values()), exact)


def _manner(row: Row) -> object:
    """Return how a row reads a call: one text stands for one call only where all read alike."""
    dialect, argument = row.ruleset.dialect, row.argument
    match argument.kind:
        case ArgumentKind.COMMAND:
            # What a command opens is decided too, below the folders there are.
            return argument, attrs.evolve(dialect, name="", arguments={}, aliases={})
        case ArgumentKind.PATH:
            return argument, dialect.cwd, dialect.home, dialect.fold, dialect.links
        case _:
            return argument


def _signature(difference: Difference) -> object:
    return (
        difference.before.effect,
        difference.after.effect,
        difference.before.because,
        difference.after.because,
    )


def _constants(tool: str, before: Lookup, after: Lookup) -> Comparison:
    was, now = before.constant, after.constant
    if was is None or now is None or was.effect is now.effect:
        return Comparison()
    return Comparison((Difference(tool, {}, was, now),))


def parameter_cases(entries: Sequence[RowEntry]) -> list[dict[str, str]] | None:
    """Return parameters that tell all rules about parameters apart; None when too many."""
    patterns: dict[str, dict[Pattern, None]] = {}
    for entry in entries:
        if entry.field and entry.pattern is not None:
            patterns.setdefault(entry.field, {})[entry.pattern] = None
    choices: list[list[tuple[str, str] | None]] = []
    for field, alternatives in patterns.items():
        found, exact = classes(list(alternatives))
        if not exact:
            return None
        # A value that no rule speaks of is as good as none.
        values = [value for matching, value in found.items() if matching]
        choices.append([None, *((field, value) for value in values)])
    count = 1
    for alternatives_of_field in choices:
        count *= len(alternatives_of_field)
    if count > _PARAMETER_CASES:
        return None
    return [dict(pair for pair in case if pair is not None) for case in product(*choices)]


class _ToolPair(Pair):
    """Calls of one tool with given parameters."""

    def __init__(
        self, tool: str, before: Lookup, after: Lookup, parameters: Mapping[str, str]
    ) -> None:
        self.tool = tool
        self.lookups = (before, after)
        self.parameters = parameters
        row = (*before.rows, *after.rows)[0][0]
        self.argument, self.dialect = row.argument, row.ruleset.dialect
        domain, wider = call_domain(self.argument)
        super().__init__(
            _side(before, parameters),
            _side(after, parameters),
            domain=domain,
            wider=wider,
            ask=self.asked,
            letters=_HOST_LETTERS if self.argument.kind is ArgumentKind.URL else "",
        )

    def asked(self, text: str) -> Difference:
        """Return what the call whose argument is read as *text* gets of both."""
        call = witness_call(self.dialect, self.argument, text)
        call.update(self.parameters)
        before, after = (lookup.decide_anew(call) for lookup in self.lookups)
        return Difference(self.tool, call, before, after)

    def disguised(self) -> Iterator[Difference]:
        """Yield differences of commands that rules see through, or cannot grant.

        What rules say of simple commands is compared exactly; these are samples.
        """
        texts = {"$x": None}
        for view, line in islice(self.edits(), _DISGUISED):
            pattern = self.pattern(view, line)
            if pattern is not None:
                texts[freeze(pattern, "x")] = None
        for text, form in product(texts, _DISGUISES):
            found = self.asked(form.format(text))
            if found.before.effect is not found.after.effect:
                yield found


def _side(lookup: Lookup, parameters: Mapping[str, str]) -> Side:
    return Side(tuple(View.of(row, parameters) for row, _ in lookup.rows), lookup.floor)


def call_domain(argument: Argument) -> tuple[Domain, Domain | None]:
    """Return the texts that a witness may have, and all that are possible where these are more."""
    match argument.kind:
        case ArgumentKind.COMMAND:
            return COMMANDS, None
        case ArgumentKind.JSON:
            return OBJECTS, ANY_TEXT
        case ArgumentKind.JOINED:
            return joined(len(argument.fields)), None
        case kind:
            return KINDS[kind].domain, None


def witness_call(dialect: Dialect, argument: Argument, text: str) -> Call:
    """Return a call whose argument is read as *text*, or any call where none is."""
    match argument.kind:
        case ArgumentKind.URL:
            text = f"https://{text}/"
        case ArgumentKind.PATH:
            text = _as_typed(dialect, text)
        case ArgumentKind.JOINED:
            parts = text.split(" ", len(argument.fields) - 1)
            return dict(zip(argument.fields, parts, strict=False))
        case ArgumentKind.JSON:
            return _object(text)
        case _:
            pass
    return {argument.fields[0] if argument.fields else "argument": text}


def _object(text: str) -> Call:
    """Return the arguments that *text* is the JSON of, or else an argument that holds it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"argument": text}


def _as_typed(dialect: Dialect, path: str) -> str:
    """Return a canonical path as people write it: from the folder they are in, or from home."""
    if path == dialect.cwd:
        return "."
    if path.startswith(dialect.cwd + "/"):
        return path[len(dialect.cwd) + 1 :]
    if path == dialect.home or path.startswith(dialect.home + "/"):
        return "~" + path[len(dialect.home) :]
    return path or "/"
