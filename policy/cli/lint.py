"""``policy lint``: what is the matter with policies, and the mending of it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import attrs

from policy.cli.console import Console
from policy.cli.hosts import AS_OBSERVED, Hosts
from policy.cli.inputs import Input, read
from policy.cli.mending import mend_files, show_mending
from policy.cli.options.lint import FORMATS
from policy.cli.outputs import outputs_of, write_outputs
from policy.cli.results import machine_text
from policy.documents.text import decode
from policy.errors import PolicyError
from policy.files.disk import File, Folder
from policy.files.opening import open_tree
from policy.files.tree import Tree
from policy.files.unread import is_unreadable
from policy.finding import Finding, Severity
from policy.lint import baseline_text, compare_with_baseline, lint
from policy.render.as_json import dumps
from policy.render.excerpt import finding_report
from policy.render.layout import Page
from policy.render.lint_report import (
    LintReport,
    lint_json,
    lint_markdown,
    lint_results,
    lint_text,
)
from policy.render.words import count
from policy.source import Source, visible

__all__ = ["run"]


_SEVERITIES = {severity.value: severity for severity in Severity}
_ORDER = (Severity.NOTE, Severity.WARNING, Severity.ERROR)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the findings, mend some of them, and return the exit status."""
    outputs = outputs_of(options.output, FORMATS)
    tree = open_tree(options.path)
    changing = options.fix or options.diff
    if changing and not isinstance(tree, Folder | File):
        raise PolicyError("a revision cannot be mended", file=tree.label)
    look = _Look(
        _codes(options.select),
        _codes(options.ignore),
        _baseline(options.baseline),
        console,
        Hosts.of(options),
    )
    found, report = look.at(tree)
    if options.write_baseline:
        return _write_baseline(Path(options.write_baseline), report.findings, console)
    if options.diff:
        return show_mending(found, report.findings, console)
    if options.fix:
        found, report = mend_files(found, report, look.at, console)
    written = partial(_text, report=report, tree=found.tree, options=options, page=console.page)
    write_outputs(outputs, written)
    console.write(written(options.format))
    return _status(report, _SEVERITIES[options.fail_on])


def _status(report: LintReport, least: Severity) -> int:
    if any(map(is_unreadable, report.findings)):
        return 2
    counting = _ORDER[_ORDER.index(least) :]
    return int(any(finding.severity in counting for finding in report.findings))


@attrs.frozen
class _Look:
    """How a tree is looked at: which findings count."""

    select: tuple[str, ...]
    ignore: tuple[str, ...]
    baseline: Source | None
    console: Console
    hosts: Hosts = AS_OBSERVED

    def at(self, tree: Tree) -> tuple[Input, LintReport]:
        """Return what is in *tree*, and what there is to say of it."""
        found = read(tree, self.console.progress, self.hosts)
        linted = lint(found.tree, found.workspace, progress=self.console.progress)
        findings = tuple(filter(self._counts, linted.findings))
        report = LintReport(
            found.workspace.label,
            findings,
            tuple(pair for pair in linted.suppressed if self._counts(pair[0])),
            unread=len(found.workspace.unread),
            read=len(found.workspace.files),
        )
        if self.baseline is not None:
            compared = compare_with_baseline(findings, self.baseline)
            report = attrs.evolve(
                report, findings=compared.new, known=compared.known, gone=compared.gone
            )
        return found, report

    def _counts(self, finding: Finding) -> bool:
        if is_unreadable(finding):
            return True
        selected = not self.select or finding.code.startswith(self.select)
        return selected and not (self.ignore and finding.code.startswith(self.ignore))


def _codes(given: Iterable[str]) -> tuple[str, ...]:
    """Return the beginnings of codes that options give, separated by commas."""
    return tuple(code.strip() for text in given for code in text.split(",") if code.strip())


def _baseline(name: str | None) -> Source | None:
    if name is None:
        return None
    path = Path(name)
    if not path.is_file():
        raise PolicyError("there is no such file", file=name, help="--write-baseline writes one")
    return decode(name, File(path).read(path.name))


def _write_baseline(path: Path, findings: tuple[Finding, ...], console: Console) -> int:
    text = baseline_text(findings)
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PolicyError(f"cannot be written: {why}", file=str(path)) from None
    unreadable = [finding for finding in findings if is_unreadable(finding)]
    for finding in unreadable:
        console.complain(finding_report(finding, console.errors))
    written = count(len(findings) - len(unreadable), "finding")
    console.complain([f"{written} written to {visible(str(path))}"])
    return 2 if unreadable else 0


def _text(
    form: str, *, report: LintReport, tree: Tree, options: argparse.Namespace, page: Page
) -> str:
    """Return *report* in a format."""
    match form:
        case "json":
            return dumps(lint_json(report)) + "\n"
        case "markdown":
            return lint_markdown(report)
        case "text":
            return lint_text(report, page, everything=options.all)
        case _:
            return machine_text(form, lint_results(report), tree, "policy lint")
