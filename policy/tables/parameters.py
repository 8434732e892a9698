"""Arguments beside the one that rules apply to: the combinations that rules tell apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, product

from policy.patterns.pattern import Pattern
from policy.patterns.search import classes
from policy.tables.dialect import Inputs
from policy.tables.row import Outcome, Row
from policy.tables.ruleset import Entry

TOO_MANY_PARAMETERS = "rules name more combinations of arguments than are told apart"

# Combinations that are told apart before the answer is no longer exact, and where each is one call
# and nothing is searched for.
_CASES = 64
_CASES_OF_ONE_CALL = 1024


def beside(rows: Sequence[Row], most: int = _CASES) -> list[dict[str, str]] | None:
    """Return what calls of one tool that name an argument may say beside it, nothing at first.

    None where that is more than *most*.
    """
    entries = [[e for e in row.entries if e.field not in row.argument.fields] for row in rows]
    return parameter_cases(entries, most, inputs=[row.inputs for row in rows if row.inputs])


def calls_beside(
    rows: Sequence[Row], call: Mapping[str, object]
) -> Iterator[tuple[dict[str, object], tuple[Outcome, ...]]]:
    """Yield *call* with all that it may say beside, and what each of some rows says of that.

    Where that is too much to try: *call*, and the most that each row may say, whatever the others
    do.
    """
    cases = beside(rows, _CASES_OF_ONE_CALL) if any(row.has_parameters for row in rows) else [{}]
    for case in cases or ():
        said = {**case, **call}
        yield said, tuple(row.outcome(said) for row in rows)
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
    """Return parameters that tell all rules about parameters apart; None when too many.

    The first case says nothing. A line looks at one argument, and the first that matches decides.
    So for each list it is enough to say one thing: with no more than that fewer lines match, and
    the one that decides does.

    Args:
        lists: the lines of each list.
        most: how many cases are not too many.
        whole: whether lines may look at all that is said as one text, so that all counts.
        inputs: what the arguments may be: no call says what one of them does not take.
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
    """Return *text*, or another that the argument may be and the same patterns match, if any."""
    if not inputs:
        return text
    told = [pattern.matches(text) for pattern in patterns]
    named = (each for one in inputs for each in one.each if each.name == field)
    words = chain.from_iterable(each.words for each in named)
    for near in (text, *words, "true", "false", "1", f"{text}000"):
        if all(one.takes({field: near}) for one in inputs) and told == [
            pattern.matches(near) for pattern in patterns
        ]:
            return near
    return None


def _cases(values: Mapping[str, Sequence[str]], most: int) -> Iterator[dict[str, str]]:
    """Yield each way in which at most so many fields have a value."""
    for count in range(most + 1):
        for fields in combinations(values, count):
            for chosen in product(*(values[field] for field in fields)):
                yield dict(zip(fields, chosen, strict=True))
