"""The findings, and the lines of the files that they are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policy.credentials import masked
from policy.finding import Finding, Severity
from policy.render.html.text import anchor, code, prose, text
from policy.render.html.text import place as written
from policy.source import Source

__all__ = ["file_blocks", "finding_rows"]

# Lines shown before and after one that a finding is about.
_AROUND: Final = 3
_LONGEST: Final = 400  # characters of a line
_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


def finding_rows(findings: Iterable[Finding]) -> str:
    """Return the findings as a table, the worst first, each with a link to its place."""
    rows = []
    for finding in sorted(findings, key=lambda one: _RANKS[one.severity]):
        place = finding.place
        if finding.span is not None:
            at = f'<a href="#{_line(place.file, place.line)}">{written(str(place))}</a>'
        else:
            at = written(finding.file)
        severity = finding.severity.value
        help_ = f'<br><span class="dim">{prose(finding.help)}</span>' if finding.help else ""
        cells = [
            f'<td class="{severity}">{severity}</td><td class="place">{at}</td>',
            f"<td>{prose(finding.message)}{help_}</td>",
            f'<td class="code">{code(finding.code)}</td>',
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = "<th>severity</th><th>place</th><th>finding</th><th>code</th>"
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def file_blocks(findings: Iterable[Finding]) -> str:
    """Return the lines around every finding, by file."""
    sources: dict[str, Source] = {}
    marked: dict[str, set[int]] = {}
    for finding in findings:
        if finding.span is None:
            continue
        file = finding.place.file
        sources.setdefault(file, finding.span.source)
        marked.setdefault(file, set()).add(finding.place.line)
    return "".join(_file(sources[file], lines) for file, lines in sorted(marked.items()))


def _file(source: Source, marked: set[int]) -> str:
    source = Source(source.name, masked(source.text))
    last, _ = source.line_and_column(len(source.text))
    near = {
        number
        for line in marked
        for number in range(max(line - _AROUND, 1), min(line + _AROUND, last) + 1)
    }
    lines, before = [], 0
    for number in sorted(near):
        if number != before + 1:
            lines.append('<span class="gap" data-n="">⋮</span>')
        shown = source.line(number).replace("\t", "    ")
        shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
        kind = ' class="marked"' if number in marked else ""
        lines.append(
            f'<span id="{_line(source.name, number)}"{kind} data-n="{number}">{text(shown)} </span>'
        )
        before = number
    return (
        f"<details open><summary>{code(source.name)}</summary>"
        f"<div><pre>{''.join(lines)}</pre></div></details>"
    )


def _line(file: str, line: int) -> str:
    return anchor("line", file, str(line))
