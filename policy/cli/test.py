"""``policy test``: run the ``expect``, ``test`` and ``never`` statements of *.policy files."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from policy.analysis.inputs import Hosts, load
from policy.analysis.reach.never import check
from policy.cli.console import Console, publish
from policy.cli.report import document as doc
from policy.cli.report.as_json import Object, shape
from policy.cli.report.results import Result, path_prefix, result
from policy.cli.report.words import because_text, call, chain_text
from policy.core.errors import PolicyError
from policy.core.finding import Severity
from policy.files.opening import is_unreadable
from policy.hosts.claims import ClaimVerdict
from policy.hosts.notation.semantics import dialect_of
from policy.hosts.project import Project
from policy.tables.dialect import Dialect

# Whether a claim holds -> how it is told of one, and of their number, and in which role.
_WORDS: Final = {
    True: ("pass", "passed", "good"),
    False: ("FAIL", "failed", "error"),
    None: ("not proven", "not proven", "warning"),
}

# The title of a project, and the verdicts on its claims.
_Tested = tuple[str, tuple[ClaimVerdict, ...]]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the results of the claims, and return the exit status."""
    found = load(options.path, Hosts.of(options))
    tested = [
        (project.title, tuple(check(project, _dialect(project))))
        for project in found.workspace.projects
        if project.claims
    ]
    totals = Counter(verdict.holds for _, verdicts in tested for verdict in verdicts)
    report = doc.Report(
        "Claims of policies",
        partial(_json, tested, totals),
        lambda _: _blocks(tested, totals, verbose=options.verbose),
        results=partial(_results, tested),
        prefix=path_prefix(found.tree),
    )
    if tested or options.format != "text":
        publish(report, options, console)
    # A file that cannot be parsed may hold further claims. One whose examples fail is reported
    # above.
    broken = [
        finding
        for finding in found.workspace.findings
        if finding.code in {"unreadable-policy", "unreadable"} and is_unreadable(finding)
    ]
    console.unreadable(broken)
    if not tested and not broken:
        raise PolicyError(
            "there is no `expect`, `test` or `never` statement to run", file=found.tree.label
        )
    if totals[None] or broken:
        return 2
    return 1 if totals[False] else 0


def _dialect(project: Project) -> Dialect:
    reading = project.attenuated
    return dialect_of(reading.start(agent).table for agent in reading.agents[:1])


def _blocks(
    tested: Sequence[_Tested], totals: Counter[bool | None], *, verbose: bool
) -> list[doc.Block]:
    """Return the numbers, and the claims that do not hold; *verbose* shows those that do."""
    said = [
        doc.Ink(f"{totals[holds]} {word}", role if totals[holds] else "")
        for holds, (_, word, role) in _WORDS.items()
        if totals[holds] or holds
    ]
    blocks: list[doc.Block] = [doc.Paragraph(doc.joined(said))]
    for title, verdicts in tested:
        shown = tuple(_item(verdict) for verdict in verdicts if verbose or not verdict.holds)
        blocks += [doc.Section(title, shown)] if shown else []
    return blocks


def _item(verdict: ClaimVerdict) -> doc.Item:
    word, _, role = _WORDS[verdict.holds]
    head = (doc.Ink(word, role), "  ", verdict.claim)
    if verdict.holds:
        return doc.Item(head)
    place = doc.Paragraph(doc.Ink(str(verdict.span.place), "file"))
    return doc.Item(head, (doc.Paragraph(_why(verdict)), place, doc.Excerpt(verdict.span, role)))


def _why(verdict: ClaimVerdict) -> doc.Text:
    """Return the result instead of the claimed one, and its reason."""
    decision = verdict.decision
    if decision is None:
        return verdict.why
    told: tuple[doc.Text, ...] = (f"{decision.effect}: ", because_text(decision))
    if verdict.call is None:
        return ("it is ", *told)
    return (chain_text(verdict.chain), " can: ", call(*verdict.call), " is ", *told)


def _json(tested: Sequence[_Tested], totals: Counter[bool | None]) -> Object:
    claims = [
        {
            "project": title,
            **{key: value for key, value in shape(verdict).items() if key != "call"},
            "witness": verdict.call and dict(zip(("tool", "input"), verdict.call, strict=True)),
        }
        for title, verdicts in tested
        for verdict in verdicts
    ]
    numbers = {"passed": totals[True], "failed": totals[False], "not_proven": totals[None]}
    return {"claims": claims, **numbers}


def _results(tested: Sequence[_Tested]) -> list[Result]:
    """Return the claims that do not hold, or are not proven."""
    kinds = {False: ("claim-fails", Severity.ERROR), None: ("claim-not-proven", Severity.WARNING)}
    found = []
    for verdict in (one for _, verdicts in tested for one in verdicts if not one.holds):
        kind, severity = kinds[verdict.holds]
        message = f"{verdict.claim}: {verdict.why}"
        found.append(result(kind, message, severity, verdict.span))
    return found
