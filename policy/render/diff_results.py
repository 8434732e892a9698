"""The changes of a diff as results, for code scanning, annotations and test reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from policy.decision import Decision
from policy.finding import Severity
from policy.render.changes import FILES, MEANINGS, Report, Spans, beyond, verdict
from policy.render.groups import Told, headline, pool_headline, told
from policy.render.results import Result, Rule, end_of, of_finding, rules_of
from policy.render.words import call_text, chain_text, count, explained, quoted, rule_text
from policy.source import Place, visible

if TYPE_CHECKING:
    from policy.reach.query import Excess

__all__ = ["diff_results", "diff_rules"]

_TITLES: Final = {
    "granted": "A call is granted that was denied",
    "ask-to-allow": "A call is allowed that was asked for",
    "withdrawn": "A call is denied that was granted",
    "allow-to-ask": "A call is asked for that was allowed",
}

_RULES: Final = (
    *(
        Rule(
            what,
            Severity.WARNING if MEANINGS[what].startswith("widened") else Severity.NOTE,
            title,
        )
        for what, title in _TITLES.items()
    ),
    Rule("beyond-maximum", Severity.ERROR, "A call is granted beyond the maximum"),
    Rule("not-exact", Severity.WARNING, "Not all that changed could be compared exactly"),
    Rule("not-read", Severity.WARNING, "A file changed that nobody reads"),
    Rule("in-error", Severity.ERROR, "A file changed that is not understood"),
)
_LEVELS: Final = {rule.code: rule.level for rule in _RULES}


def diff_rules(results: Iterable[Result]) -> list[Rule]:
    """Return what the codes of *results* mean, and all that a diff may tell."""
    return [*_RULES, *rules_of([one for one in results if one.code not in _LEVELS])]


def diff_results(report: Report) -> list[Result]:
    """Return the changes of *report*, causes told once; then findings and files."""
    elsewhere = _changed_file(report)
    spans = report.spans[1]
    results = [
        _change(what, group, elsewhere, spans) for what in MEANINGS for group in told(report, what)
    ]
    results += (_beyond(one, readings, spans) for one, readings in beyond(report))
    if not report.diff.exact:
        reasons = "; ".join(report.diff.why)
        message = f"more calls may be decided differently than could be compared ({reasons})"
        results.append(Result("not-exact", _LEVELS["not-exact"], message, "", elsewhere))
    results += map(of_finding, report.findings)
    for effect, code, said in (
        ("unread", "not-read", "this file changed, and nobody reads it: what it grants is unknown"),
        ("error", "in-error", "this file changed and is not understood: what it grants is unknown"),
    ):
        results += (
            Result(code, _LEVELS[code], f"{said} ({visible(file.what)})", "", Place(file.path))
            for file in report.files(effect)
        )
    return results


def _beyond(one: Excess, readings: tuple[str, ...], spans: Spans) -> Result:
    difference = one.difference
    place, end = _where(difference.after, difference.before, spans)
    call = quoted([call_text(difference.tool, difference.call)])
    chain = f"`{chain_text(one.chain)}`" + ("" if len(readings) > 1 else f" ({readings[0]} only)")
    message = f"{call} gets {difference.after.effect}, in {chain}"
    detail = (
        f"at most: {difference.before.effect}\ngranted: {_why(difference.after, one.chain[-1])}"
    )
    return Result("beyond-maximum", Severity.ERROR, message, detail, place, end)


def _changed_file(report: Report) -> Place | None:
    """Return where to tell what no rule is behind: forges show nothing that has no place."""
    order = list(FILES)[::-1]
    files = sorted(report.diff.files, key=lambda file: order.index(report.effects[file.path]))
    return Place(files[0].path) if files else None


def _change(what: str, group: Told, elsewhere: Place | None, spans: Spans) -> Result:
    change = group.lead
    first, *rest = group.in_order
    chains = f"`{chain_text(first)}`" + (f" and {count(len(rest), 'more chain')}" if rest else "")
    readings = "" if len(group.readings) > 1 else f" ({next(iter(group.readings))} only)"
    decisions = verdict(change)
    place, end = _where(change.difference.after, change.difference.before, spans)
    place = place or elsewhere
    if decisions is None:
        return Result(what, _LEVELS[what], headline(group), chains + readings, place, end)
    before, after = decisions
    if group.by_effect:
        message = f"{pool_headline(group)}: {quoted(list(group.calls))}, in {chains}"
        by_effect = sorted(group.by_effect.items(), reverse=True)
        said = "; ".join(f"{effect} {quoted(list(calls))}" for effect, calls in by_effect)
        return Result(what, _LEVELS[what], message + readings, said, place, end)
    message = f"{before.effect} -> {after.effect}: {quoted(list(group.calls))}, in {chains}"
    agent = change.chain[-1]
    detail = f"before: {_why(before, agent)}\nafter: {_why(after, agent)}"
    return Result(what, _LEVELS[what], message + readings, detail, place, end)


def _where(
    after: Decision, before: Decision, spans: Spans
) -> tuple[Place | None, tuple[int, int] | None]:
    """Return where the first rule stands that somebody wrote, as it is now or was before."""
    now = next((one for one in after.because if one.place), None)
    if now is not None and now.place is not None:
        if now in spans:
            return now.place, end_of(spans[now])
        line, column = now.place.line, now.place.column
        return now.place, (line, column + max(len(now.rule), 1))
    # The line is of the old text: only the file is still the same.
    was = next((one.place for one in before.because if one.place), None)
    return (Place(was.file), None) if was is not None else (None, None)


def _why(decision: Decision, agent: str) -> str:
    if not decision.because:
        return explained(decision, agent)
    return "; ".join(
        rule_text(one) + (f" at {one.place}" if one.place else "") for one in decision.because
    )
