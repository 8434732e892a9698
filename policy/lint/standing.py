"""Rules by which no call is decided: proven by deciding without them, in every table.

A rule counts as dead only where it is so in each table that has it, among those
of the agents themselves and of the positions where chains start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from policy.comparison.compare import Known
from policy.edits import Edit
from policy.effect import Effect
from policy.finding import Finding, Severity
from policy.lint.positions import Positions
from policy.lint.separate import Standings, separated
from policy.redundancy.rules import Effort, Standing
from policy.source import Place, Span
from policy.table import Table

__all__ = ["standing_findings"]

_Mark = tuple[Place | None, str]


def standing_findings(
    positions: Positions, most: int | None = None, compared: Known | None = None
) -> Iterator[Finding]:
    """Yield the rules of a project that could be left out, and how many were not decided.

    Args:
        positions: of the project.
        most: how many rules to try, in all its tables; None is no bound.
        compared: what was compared so far, of other projects.

    """
    found: dict[_Mark, list[Standing]] = {}
    open_: dict[_Mark, tuple[str, ...]] = {}
    known, effort = Standings({} if compared is None else compared), Effort()
    for table in _tables(positions):
        entries = [entry for part in table.use.parts for entry in part.rules.entries]
        rules = {(entry.place, entry.rule) for entry in entries if entry.place is not None}
        if most is not None and known.tried + len(rules) > most:
            open_.update(dict.fromkeys(rules, (_TOO_MANY,)))
            continue
        for separate in separated(table):
            for standing in known.of(separate, effort):
                mark = (standing.rule.place, standing.rule.rule)
                found.setdefault(mark, []).append(standing)
                if standing.what == "undecided":
                    open_[mark] = standing.why
    live = {mark for mark, standings in found.items() if any(s.what == "live" for s in standings)}
    dead = {
        mark: standings
        for mark, standings in found.items()
        if mark not in live and mark not in open_
    }
    for mark, standings in dead.items():
        if _is_told(positions, standings) and not _is_kept(mark, dead):
            yield _finding(positions, standings)
    written = {mark: why for mark, why in open_.items() if _is_written(positions, mark[0])}
    yield from _undecided({mark: why for mark, why in written.items() if mark not in live})


def _is_written(positions: Positions, place: Place | None) -> bool:
    """Return whether somebody wrote what is at *place*: agents of the host itself have no file."""
    return place is not None and positions.source(place.file) is not None


_TOO_MANY: Final = "there are more than are tried at once"


def _undecided(rules: dict[_Mark, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield, for each file, how many rules of it may matter or not, and why that is open."""
    totals: Counter[str] = Counter()
    why: dict[str, dict[str, None]] = {}
    for (place, _), reasons in rules.items():
        if place is not None:
            totals[place.file] += 1
            why.setdefault(place.file, {}).update(dict.fromkeys(reasons))
    for file, total in sorted(totals.items()):
        what = "a rule matters" if total == 1 else f"{total:,} rules matter"
        yield Finding(
            "rules-not-compared",
            f"whether {what} is not decided: {'; '.join(why[file])}",
            Severity.NOTE,
            file=file,
        )


def _tables(positions: Positions) -> list[Table]:
    """Return the tables that say what each rule is there for, each once."""
    project = positions.project
    starts = [project.enforced.start(agent).table for agent in project.starts]
    declared = [entry.declared for entry in project.agents.values()]
    tables: dict[object, Table] = {}
    for table in (*starts, *declared):
        tables.setdefault(tuple(part.rules.interned for part in table.use.parts), table)
    return list(tables.values())


def _marks(standings: list[Standing]) -> set[_Mark]:
    """Return the rules that cover one, in every table that has it."""
    return set[_Mark].intersection(*({(b.place, b.rule) for b in one.by} for one in standings))


def _is_kept(mark: _Mark, dead: dict[_Mark, list[Standing]]) -> bool:
    """Return whether the rule is the first of several that say the same: one must stay."""
    covers = _marks(dead[mark])
    alike = [other for other in covers if other in dead and mark in _marks(dead[other])]
    # Where a wider rule covers them all, none must.
    return len(alike) == len(covers) > 0 and all(_before(mark[0], other[0]) for other in alike)


def _before(one: Place | None, other: Place | None) -> bool:
    return one is not None and other is not None and one < other


def _is_told(positions: Positions, standings: list[Standing]) -> bool:
    """Return whether a dead rule is worth telling: one that denies may well be a second lock."""
    rule = standings[0].rule
    span = positions.span(rule)
    if span is None or rule.rule not in span.text:
        return False  # the host's words for something that is not written as a rule
    shadowed = all(one.what == "shadowed" for one in standings)
    return shadowed or rule.effect is Effect.ALLOW or bool(_marks(standings))


def _finding(positions: Positions, standings: list[Standing]) -> Finding:
    one = next((s for s in standings if s.what == "redundant"), standings[0])
    rule, span = one.rule, positions.span(one.rule)
    by = next(iter(one.by), None)
    files = {found.place.file for found in (rule, by) if found and found.place is not None}
    same = by is not None and by.place is not None and len(files) == 1
    cover = f" `{by.rule}`{f' at {by.place}' if by.place else ''} covers it" if by else ""
    if one.what == "shadowed":
        code, said = "shadowed-rule", "decides nothing: every call it matches is decided before it"
    else:
        code, said = "redundant-rule", "adds nothing: without it every call is decided alike"
    return Finding(
        code,
        f"`{rule.rule}` {said}{';' if cover else ''}{cover}",
        Severity.WARNING if one.what == "shadowed" else Severity.NOTE,
        span,
        file=rule.place.file if rule.place else "",
        help="take it out, or mend what it was meant to say",
        # A rule of another file may be there for others, or be gone tomorrow.
        edits=_removal(span) if span is not None and same else (),
    )


def _removal(span: Span) -> tuple[Edit, ...]:
    """Return what takes an item out of a list that commas separate; nothing where it is alone."""
    text = span.source.text
    after = len(text) - len(text[span.end :].lstrip(" \t\r\n"))
    if text[after : after + 1] == ",":
        rest = text[after + 1 :]
        following = after + 1 + len(rest) - len(rest.lstrip(" \t\r\n"))
        if text[following : following + 1] not in ("", "]", "#", "/"):
            return (Edit(span.source.span(span.start, following), ""),)
    before = len(text[: span.start].rstrip(" \t\r\n"))
    if text[before - 1 : before] == ",":
        return (Edit(span.source.span(before - 1, span.end), ""),)
    return ()
