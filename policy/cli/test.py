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
from policy.cli.report.results import Result, path_prefix
from policy.cli.report.words import because_text, call, chain_text
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.files.opening import is_unreadable
from policy.hosts.claims import ClaimVerdict
from policy.hosts.notation.semantics import dialect_of

# Whether a claim holds -> the word for one, the word for several, and their role.
_WORDS: Final = {
    True: ("pass", "passed", "good"),
    False: ("FAIL", "failed", "error"),
    None: ("not proven", "not proven", "warning"),
}
# The finding that a claim is which does not.
_KINDS: Final = {
    False: ("claim-fails", Severity.ERROR),
    None: ("claim-not-proven", Severity.WARNING),
}

# The title of a project, and the verdict on one of its claims.
_Tested = tuple[str, ClaimVerdict]


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the results of the claims, and return the exit status."""
    found = load(options.path, Hosts.of(options))
    tested: list[_Tested] = []
    for project in found.workspace.projects:
        if project.claims:
            reading = project.attenuated
            dialect = dialect_of(reading.start(agent).table for agent in reading.agents[:1])
            tested += ((project.title, verdict) for verdict in check(project, dialect))
    totals = Counter(verdict.holds for _, verdict in tested)
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
        msg = "there is no `expect`, `test` or `never` statement to run"
        raise PolicyError(msg, file=found.tree.label)
    if totals[None] or broken:
        return 2
    return 1 if totals[False] else 0


def _blocks(
    tested: Sequence[_Tested], totals: Counter[bool | None], *, verbose: bool
) -> list[doc.Block]:
    """Return the totals, and the claims that do not hold; *verbose* shows the others as well."""
    parts = [
        doc.Ink(f"{totals[holds]} {word}", role if totals[holds] else "")
        for holds, (_, word, role) in _WORDS.items()
        if totals[holds] or holds
    ]
    shown = [(title, verdict) for title, verdict in tested if verbose or not verdict.holds]
    sections = (
        doc.Section(group[0][0], tuple(_item(verdict) for _, verdict in group))
        for group in doc.grouped(shown, lambda one: one[0])
    )
    return [doc.Paragraph(doc.joined(parts)), *sections]


def _item(verdict: ClaimVerdict) -> doc.Item:
    word, _, role = _WORDS[verdict.holds]
    head = (doc.Ink(word, role), "  ", verdict.claim)
    if verdict.holds:
        return doc.Item(head)
    decision = verdict.decision
    why: doc.Text = verdict.why
    if decision is not None:
        # The result instead of the claimed one, and its reason.
        text: tuple[doc.Text, ...] = (f"{decision.effect}: ", because_text(decision))
        why = ("it is ", *text)
        if verdict.call is not None:
            why = (chain_text(verdict.chain), " can: ", call(*verdict.call), " is ", *text)
    place = doc.Ink(str(verdict.span.place), "file")
    excerpt = doc.Excerpt(verdict.span, role)
    return doc.Item(head, (doc.Paragraph(why), doc.Paragraph(place), excerpt))


def _json(tested: Sequence[_Tested], totals: Counter[bool | None]) -> Object:
    claims = []
    for title, verdict in tested:
        content = {key: value for key, value in shape(verdict).items() if key != "call"}
        witness = verdict.call and dict(zip(("tool", "input"), verdict.call, strict=True))
        claims.append({"project": title, **content, "witness": witness})
    numbers = {"passed": totals[True], "failed": totals[False], "not_proven": totals[None]}
    return {"claims": claims, **numbers}


def _results(tested: Sequence[_Tested]) -> list[Result]:
    """Return the claims that do not hold, or are not proven."""
    found = []
    for verdict in (one for _, one in tested if not one.holds):
        kind, severity = _KINDS[verdict.holds]
        finding = Finding(kind, f"{verdict.claim}: {verdict.why}", severity, verdict.span)
        found.append(Result(finding))
    return found
