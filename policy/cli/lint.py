"""``policy lint``: report findings, and fix some of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import attrs

from policy.analysis.lint import Mended, baseline_text, compare_with_baseline, lint, mend
from policy.cli.console import Console
from policy.cli.inputs import InputTree, Watched, read
from policy.cli.options import Hosts
from policy.cli.outputs import (
    file_errors,
    outputs_of,
    replace_files,
    write_outputs,
)
from policy.cli.report.as_json import dumps
from policy.cli.report.findings import LintReport, lint_json, lint_markdown, lint_results, lint_text
from policy.cli.report.results import machine_formats
from policy.cli.report.text import count, finding_report
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Source, visible
from policy.files.opening import is_unreadable, open_tree
from policy.files.text import decode
from policy.files.trees import Folder, SingleFile, Tree
from policy.hosts.workspace import load_tree

__all__ = ["run"]

# Overlapping edits take one run each.
_MOST_RUNS = 8

_SEVERITIES = {severity.value: severity for severity in Severity}
_ORDER = (Severity.NOTE, Severity.WARNING, Severity.ERROR)


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the findings, fix some of them, and return the exit status."""
    outputs = outputs_of(options)
    tree = open_tree(options.path)
    changing = options.fix or options.diff
    if changing and not isinstance(tree, Folder | SingleFile):
        raise PolicyError("a revision cannot be mended", file=tree.label)
    linter = _Linter(
        _codes(options.select),
        _codes(options.ignore),
        _baseline(options.baseline),
        console,
        Hosts.of(options),
    )
    found, report = linter.lint(tree)
    if options.write_baseline:
        return _write_baseline(Path(options.write_baseline), report.findings, console)
    if options.diff:
        return _show_mending(found, report.findings, console)
    if options.fix:
        found, report = _mend_files(found, report, linter.lint, console)
    formats = {
        "text": lambda: lint_text(report, console.page, everything=options.all),
        "json": lambda: dumps(lint_json(report)) + "\n",
        "markdown": lambda: lint_markdown(report),
        **machine_formats(lambda: lint_results(report), found.tree, "policy lint"),
    }
    write_outputs(outputs, formats)
    console.write(formats[options.format]())
    return _status(report, _SEVERITIES[options.fail_on])


def _status(report: LintReport, least: Severity) -> int:
    if any(map(is_unreadable, report.findings)):
        return 2
    counting = _ORDER[_ORDER.index(least) :]
    return int(any(finding.severity in counting for finding in report.findings))


@attrs.frozen
class _Linter:
    """Lints trees; the options choose the findings that count."""

    select: tuple[str, ...]
    ignore: tuple[str, ...]
    baseline: Source | None
    console: Console
    hosts: Hosts

    def lint(self, tree: Tree) -> tuple[InputTree, LintReport]:
        """Return the files of *tree*, and the report on them."""
        found = read(tree, self.console.progress, self.hosts)
        linted = lint(found.tree, found.workspace, progress=self.console.progress)
        findings = tuple(filter(self._counts, linted.findings))
        report = LintReport(
            found.workspace.label,
            findings,
            tuple(pair for pair in linted.suppressed if self._counts(pair[0])),
            unread=tuple(file.path for file in found.workspace.unread),
            read=len(found.workspace.files),
            rules=linted.rules,
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
    """Return the prefixes of codes in options, which commas separate."""
    return tuple(code.strip() for text in given for code in text.split(",") if code.strip())


def _baseline(name: str | None) -> Source | None:
    if name is None:
        return None
    path = Path(name)
    if not path.is_file():
        raise PolicyError("there is no such file", file=name, help="--write-baseline writes one")
    return decode(name, SingleFile(path).read(path.name))


def _write_baseline(path: Path, findings: tuple[Finding, ...], console: Console) -> int:
    with file_errors(path):
        path.write_text(baseline_text(findings), "utf-8")
    unreadable = [finding for finding in findings if is_unreadable(finding)]
    for finding in unreadable:
        console.complain(finding_report(finding, console.errors))
    written = count(len(findings) - len(unreadable), "finding")
    console.complain([f"{written} written to {visible(str(path))}"])
    return 2 if unreadable else 0


def _mend_files(
    found: InputTree,
    report: LintReport,
    look: Callable[[Tree], tuple[InputTree, LintReport]],
    console: Console,
) -> tuple[InputTree, LintReport]:
    """Make the edits of *report* in place, and return what is left.

    Raises:
        PolicyError: a file cannot be written.

    """
    made, files, last = 0, set[str](), Mended({}, (), ())
    for _ in range(_MOST_RUNS):
        last = _mended(found, report.findings)
        if not last.contents:
            break
        replace_files({_path(found.tree, path): both for path, both in last.contents.items()})
        made += len(last.made)
        files |= last.contents.keys()
        found, report = look(_fresh(found.tree))
    _complain(last, console)
    console.complain([f"{count(made, 'finding')} mended in {count(len(files), 'file')}"])
    return found, report


def _show_mending(found: InputTree, findings: Iterable[Finding], console: Console) -> int:
    """Show what `--fix` would do; return 1 if that is anything."""
    mended = _mended(found, findings)
    for path, (old, new) in sorted(mended.contents.items()):
        console.difference(path, decode(path, old).text, decode(path, new).text, "mended")
    _complain(mended, console)
    told = f"{count(len(mended.made), 'finding')} would be mended"
    console.complain([f"{told} in {count(len(mended.contents), 'file')}"])
    return int(bool(mended.contents))


def _mended(found: InputTree, findings: Iterable[Finding]) -> Mended:
    load = partial(load_tree, front_ends=found.front_ends)
    return mend(found.tree, found.workspace, findings, load=load)


def _complain(mended: Mended, console: Console) -> None:
    for refused in mended.refused:
        files = ", ".join(map(visible, refused.files))
        console.complain(console.errors.prose(f"{files}: not mended: {refused.why}", indent=4))


def _fresh(tree: Tree) -> Tree:
    """Return the tree without remembered files, so that it is read again."""
    inner = tree.tree if isinstance(tree, Watched) else tree
    return type(inner)(inner.path) if isinstance(inner, Folder | SingleFile) else inner


def _path(tree: Tree, path: str) -> Path:
    inner = tree.tree if isinstance(tree, Watched) else tree
    if isinstance(inner, SingleFile):
        return inner.path
    if isinstance(inner, Folder):
        return inner.path / path
    raise TypeError(f"nothing is written to {inner!r}")
