"""Further arguments of a call (parameters), in each combination that rules decide differently."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, product

from policy.patterns.pattern import Pattern
from policy.patterns.search import classes
from policy.tables.dialect import Inputs
from policy.tables.row import Outcome, Row
from policy.tables.ruleset import Entry

TOO_MANY_PARAMETERS = "rules name more combinations of arguments than are told apart"

# The most combinations that are tried; with more, the answer is not exact. The second bound applies
# where each combination is decided as one call, without a search.
_CASES = 64
_CASES_OF_ONE_CALL = 1024


def beside(rows: Sequence[Row], most: int = _CASES) -> list[dict[str, str]] | None:
    """Return the combinations of further arguments that the rules of *rows* tell apart, {} first.

    None if there are more than *most*.
    """
    entries = [[e for e in row.entries if e.field not in row.argument.fields] for row in rows]
    return parameter_cases(entries, most, inputs=[row.inputs for row in rows if row.inputs])


def calls_beside(
    rows: Sequence[Row], call: Mapping[str, object]
) -> Iterator[tuple[dict[str, object], tuple[Outcome, ...]]]:
    """Yield *call* with each combination of further arguments, and the outcome of each row for it.

    If there are too many combinations, yield *call* alone, with the least strict outcome that each
    row may have.
    """
    cases = beside(rows, _CASES_OF_ONE_CALL) if any(row.has_parameters for row in rows) else [{}]
    for case in cases or ():
        full = {**case, **call}
        yield full, tuple(row.outcome(full) for row in rows)
    if cases is None:
        any_of = (
            [row.outcome(call), *(row.at(n) for n, entry in enumerate(row.entries) if entry.field)]
            for row in rows
        )
        yield {**call}, tuple(max(each, key=lambda one: one.effect) for each in any_of)


def parameter_cases(
    lists: Iterable[Iterable[Entry]],
    most: int = _CASES,
    *,
    whole: bool = False,
    inputs: Collection[Inputs] = (),
) -> list[dict[str, str]] | None:
    """Return sets of parameters that match different rules about parameters; None for too many.

    The first set is empty. A line looks at one argument, and the first line that matches decides.
    So one parameter for each list is enough: the line that decides still matches, and fewer other
    lines do.

    Args:
        lists: the lines of each list.
        most: the most sets that are returned.
        whole: whether lines may match all parameters together, as one text.
        inputs: the values that the arguments may have; no set has another value.
    """
    patterns: dict[str, dict[Pattern, None]] = {}
    together = 0
    for entries in lists:
        named = [(e.field, e.pattern) for e in entries if e.field and e.pattern is not None]
        together += bool(named)
        for field, pattern in named:
            patterns.setdefault(field, {})[pattern] = None
    values: dict[str, list[str]] = {}
    for field, known in patterns.items():
        alternatives = list(known)
        found, exact = classes(alternatives)
        if not exact:
            return None
        values[field] = []
        for matching, text in found.items():
            if not matching:
                continue  # a value that no rule matches is as good as none
            value = _taken(inputs, field, text, alternatives)
            if value is not None:
                values[field].append(value)
            elif not any(each.exact and each.matches(text) for each in alternatives):
                return None  # the argument may be another text that they match
    fields = len(values) if whole else min(together, len(values))
    cases = [*islice(_cases(values, fields), most + 1)]
    return cases if len(cases) <= most else None


def _taken(
    inputs: Collection[Inputs], field: str, text: str, patterns: Sequence[Pattern]
) -> str | None:
    """Return *text*, or another valid value that the same patterns match; None if there is none."""
    told = [pattern.matches(text) for pattern in patterns]
    named = (each for one in inputs for each in one.each if each.name == field)
    words = chain.from_iterable(each.words for each in named)
    valid = (
        near
        for near in (text, *words, "true", "false", "1", f"{text}000")
        if all(one.takes({field: near}) for one in inputs)
    )
    return next((v for v in valid if told == [pattern.matches(v) for pattern in patterns]), None)


def _cases(values: Mapping[str, Sequence[str]], most: int) -> Iterator[dict[str, str]]:
    """Yield each choice of values for at most *most* of the fields."""
    for count in range(most + 1):
        for fields in combinations(values, count):
            for chosen in product(*(values[field] for field in fields)):
                yield dict(zip(fields, chosen, strict=True))
