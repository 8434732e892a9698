"""``policy lint``: report findings, and fix some of them."""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from pathlib import Path

from policy.analysis.inputs import Hosts, InputTree, load_here, read, with_something
from policy.analysis.lint import Linted, baseline_text, lint, mend, without_known
from policy.cli.console import Console, publish
from policy.cli.report.as_json import Object, shape
from policy.cli.report.document import Block, Paragraph, Report
from policy.cli.report.results import Result, path_prefix
from policy.cli.report.words import (
    EXPLAIN,
    call_text,
    count,
    findings_blocks,
    findings_summary,
    is_reached,
)
from policy.core.errors import PolicyError
from policy.core.finding import Finding
from policy.core.source import quoted
from policy.core.values import evolve
from policy.files.opening import is_unreadable, open_tree
from policy.files.text import decode
from policy.files.trees import Folder, SingleFile, Tree
from policy.files.writing import file_errors, replace_files
from policy.hosts.workspace import load_tree

# Findings of one code that are shown; others are counted.
_MOST_ALIKE = 5
# Files that were not read and are named.
_MOST_UNREAD = 3
# Overlapping edits take one run each.
_MOST_RUNS = 8
# Why a finding of the baseline does not count.
_KNOWN = "in the baseline"


def _summary(report: Linted) -> str:
    """Return a summary on one line."""
    held = f" with {count(len(report.rules), 'rule')}" if report.rules else ""
    parts = [findings_summary(report.findings), f"{count(report.read, 'file')}{held} read"]
    fixable = sum(bool(finding.edits) for finding in report.findings)
    numbers = ((fixable, "can be fixed with --fix"), (len(report.suppressed), "suppressed"))
    parts += [f"{number:,} {what}" for number, what in numbers if number]
    if report.unread:
        named = quoted(report.unread, _MOST_UNREAD)
        parts.append(f"{count(len(report.unread), 'file')} not read: {named}")
    return f"{report.label}: {'; '.join(parts)}"


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the findings, fix some of them, and return the exit status."""
    found = load_here(options.path, Hosts.of(options), every=True, empty=True)
    console.note(found.not_read)
    console.note(found.guesses)
    if options.fix or options.diff or options.tidy:
        _check_fixable(found.tree, options.path)
    report = _linted(found, options)
    if options.write_baseline:
        return _write_baseline(Path(options.write_baseline), report.findings, console)
    changed = False
    if options.fix or options.diff:
        found, report, changed = _mended(found, report, options, console)
    if options.tidy and _tidied(found, options, console):
        changed = True
        if not options.diff:
            found, report = _look_again(found, options)
            if options.fix and any(finding.edits for finding in report.findings):
                found, report, _ = _mended(found, report, options, console)
    if options.diff:
        return int(changed)
    page = Report(
        f"Findings in `{report.label}`",
        partial(_json, report),
        partial(_blocks, report),
        _MOST_ALIKE,
        partial(_results, report),
        path_prefix(found.tree),
    )
    publish(page, options, console)
    if not found.workspace.projects or any(map(is_unreadable, report.findings)):
        return 2
    return int(is_reached(report.findings, options.fail_on))


def _check_fixable(tree: Tree, path: str) -> None:
    if not isinstance(tree, Folder | SingleFile):
        raise PolicyError("a revision cannot be fixed", file=tree.label)
    if path == "." and tree.root.resolve() != Path.cwd():
        msg = "a session that starts here has its settings from folders above"
        help_ = f"`policy lint {tree.label}` with the same options mends them"
        raise PolicyError(msg, help=help_)


def _linted(found: InputTree, options: argparse.Namespace) -> Linted:
    """Return the findings in the files of *found* that count by the options.

    Those in the baseline are suppressed.
    """
    select, ignore = (
        tuple(code.strip() for text in given for code in text.split(",") if code.strip())
        for given in (options.select, options.ignore)
    )

    def counts(finding: Finding) -> bool:
        selected = not select or finding.code.startswith(select)
        return is_unreadable(finding) or (selected and not finding.code.startswith(ignore))

    linted = lint(found.tree, found.workspace)
    if not linted.findings:
        with_something(found)
    findings = [finding for finding in linted.findings if counts(finding)]
    known: list[Finding] = []
    if options.baseline is not None:
        path = Path(options.baseline)
        if not path.is_file():
            help_ = "--write-baseline writes one"
            raise PolicyError("there is no such file", file=options.baseline, help=help_)
        baseline = decode(options.baseline, SingleFile(path).read(path.name))
        findings, known = without_known(findings, baseline)
    taken = [pair for pair in linted.suppressed if counts(pair[0])]
    taken += ((finding, _KNOWN) for finding in known)
    return evolve(linted, findings=tuple(findings), suppressed=tuple(taken))


def _look_again(found: InputTree, options: argparse.Namespace) -> tuple[InputTree, Linted]:
    """Return the files and the report on them after a change."""
    # A new tree, since the one before remembers what it has read.
    found = read(open_tree(found.tree.label), Hosts.of(options), empty=True)
    return found, _linted(found, options)


def _write_baseline(path: Path, findings: tuple[Finding, ...], console: Console) -> int:
    with file_errors(path):
        path.write_text(baseline_text(findings), "utf-8")
    unreadable = console.unreadable(findings)
    written = sum(not is_unreadable(finding) for finding in findings)
    console.say(f"{count(written, 'finding')} written to {path}")
    return 2 if unreadable else 0


def _mended(
    found: InputTree, report: Linted, options: argparse.Namespace, console: Console
) -> tuple[InputTree, Linted, bool]:
    """Make or show the edits of *report*; return the files and findings left, and if it had any."""
    load = partial(load_tree, front_ends=found.front_ends)
    made, files = 0, set[str]()
    for _ in range(1 if options.diff else _MOST_RUNS):
        mended = mend(found.tree, found.workspace, report.findings, load=load)
        if not mended.contents:
            break
        made += len(mended.made)
        files |= mended.contents.keys()
        if options.diff:
            for path, (old, new) in sorted(mended.contents.items()):
                console.difference(path, decode(path, old).text, decode(path, new).text, "fixed")
        else:
            folder = found.tree.root or Path()
            replace_files({folder / path: both for path, both in mended.contents.items()})
            found, report = _look_again(found, options)
    for path, why in mended.refused.items():
        console.say(f"{path}: not fixed: {why}")
    where = f" in {count(len(files), 'file')}" if files else ""
    console.say(f"{count(made, 'finding')} {'would be fixed' if options.diff else 'fixed'}{where}")
    return found, report, bool(files)


def _tidied(found: InputTree, options: argparse.Namespace, console: Console) -> bool:
    """Show each fold of single commands, make it if confirmed; return whether there is a change."""
    from policy.analysis.tidy import folds  # noqa: PLC0415  # it compares

    load = partial(load_tree, front_ends=found.front_ends)
    tree, seen, made = found.tree, set[tuple[str, ...]](), 0
    # A fold that is made moves the places of the others.
    while fold := next((f for f in folds(tree, load(tree), load=load) if f.key not in seen), None):
        seen.add(fold.key)
        file, old = fold.key[0], fold.spans[0].source.text
        console.difference(file, old, fold.text, fold.title)
        sentence = "no more than before"
        if fold.grants:
            calls = (call_text(each.difference.tool, each.difference.call) for each in fold.grants)
            some = quoted([*dict.fromkeys(calls)], _MOST_ALIKE)
            sentence = f"more calls of `{fold.rule}` than the rules that it replaces, e.g. {some}"
        console.line(f"grants {sentence}{'' if fold.exact else '; there may be others'}\n")
        if not options.diff and (options.yes or console.confirms("Make this fold?")):
            path = (found.tree.root or Path()) / file
            replace_files({path: (tree.read(file), fold.text.encode())})
            tree, made = open_tree(found.tree.label), made + 1
    console.say(f"{count(len(seen), 'fold')} found, {made:,} made")
    return bool(made or (seen and options.diff))


def _blocks(report: Linted, most: int | None) -> list[Block]:
    found: list[Block] = [Paragraph(_summary(report), "strong")]
    if report.findings:
        found += [Paragraph(EXPLAIN, "dim"), *findings_blocks(report.findings, most)]
    return found


def _json(report: Linted) -> Object:
    totals = Counter(finding.severity.value for finding in report.findings)
    return {
        **shape(evolve(report, rules={})),
        "rules": len(report.rules),
        "suppressed": [{**shape(one), "suppression": reason} for one, reason in report.suppressed],
        "totals": {word: totals[word] for word in ("error", "warning", "note")},
    }


def _results(report: Linted) -> list[Result]:
    """Return *report* as results; suppressed findings are marked."""
    return [
        *map(Result, report.findings),
        *(
            Result(finding, "external" if reason == _KNOWN else "inSource", reason)
            for finding, reason in report.suppressed
        ),
    ]
