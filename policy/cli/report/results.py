"""Findings and changes as SARIF, JUnit and annotations."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import policy
from policy.analysis import catalogue
from policy.cli.report.as_json import Object, dumps
from policy.cli.report.document import Report
from policy.core.finding import Finding, Severity
from policy.core.source import Place, Span, visible
from policy.core.values import evolve, frozen
from policy.files.trees import Folder, SingleFile, Tree

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = [
    "Result",
    "end_of",
    "github",
    "junit",
    "of_finding",
    "path_prefix",
    "report_results",
    "sarif",
]


@frozen
class Result:
    """A finding or a change, for a format that lists results one by one.

    Attributes:
        code: of its rule.
        level: its severity.
        message: on one line.
        detail: further lines, or "".
        place: of the result; None without a file.
        end: line and column behind its last character; None where the place is a whole file.
        suppressed: the reason of its suppression; None where it is not suppressed.
        known: whether it is in the baseline.
        title: what the code means, where the catalogue does not say it.

    """

    code: str
    level: Severity
    message: str
    detail: str = ""
    place: Place | None = None
    end: tuple[int, int] | None = None
    suppressed: str | None = None
    known: bool = False
    title: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash that does not change when lines move: of the file, the code and the message."""
        file = self.place.file if self.place else ""
        from hashlib import sha256  # noqa: PLC0415  # few formats have it

        return sha256(f"{file}\0{self.code}\0{self.message}".encode()).hexdigest()[:32]


def of_finding(finding: Finding, *, suppressed: str | None = None, known: bool = False) -> Result:
    """Return a finding as a result."""
    return Result(
        finding.code,
        finding.severity,
        visible(finding.message),
        visible(finding.help),
        finding.place if finding.span or finding.file else None,
        end_of(finding.span) if finding.span else None,
        suppressed,
        known,
    )


def end_of(span: Span) -> tuple[int, int]:
    """Return line and column behind the last character of *span*, or of its first line."""
    place = span.place
    line = len(span.source.line(place.line)) + 1
    return place.line, max(min(place.column + span.end - span.start, line), place.column)


# --- SARIF 2.1.0, for code scanning --------------------------------------------------------
#
# Numbers of sections are those of https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.


_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(results: Sequence[Result], *, exact: bool = True) -> Object:
    """Return the log of one run; *exact* tells whether these are all results."""
    rules = {result.code: result for result in sorted(results, key=lambda one: one.code)}
    indices = {code: index for index, code in enumerate(rules)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "agent-policy",
                        "semanticVersion": policy.__version__,
                        "rules": [_rule(result) for result in rules.values()],
                    }
                },
                # Columns are counted in characters (3.14.17).
                "columnKind": "unicodeCodePoints",
                "results": [_result(result, indices) for result in results],
                "properties": {"exact": exact},
            }
        ],
    }


def _rule(result: Result) -> Object:
    """Return the meaning of a code: the page of the catalogue, or the title of *result*."""
    page = catalogue.page(result.code) if result.code in catalogue.codes() else None
    title = page.title if page else result.title or result.code.replace("-", " ")
    shape: Object = {
        "id": result.code,
        "shortDescription": {"text": title},
        "defaultConfiguration": {"level": _LEVELS[page.severity if page else result.level]},
    }
    if page:
        shape["help"] = {"text": page.text, "markdown": f"# {title}\n\n{page.text}"}
    return shape


def _result(result: Result, indices: dict[str, int]) -> Object:
    text = f"{result.message}\n{result.detail}" if result.detail else result.message
    shape: Object = {
        "ruleId": result.code,
        "ruleIndex": indices[result.code],
        "level": _LEVELS[result.level],
        "message": {"text": text},
        "partialFingerprints": {"policyResult/v1": result.fingerprint},
    }
    if result.place is not None:
        shape["locations"] = [{"physicalLocation": _location(result)}]
    if result.suppressed is not None:
        shape["suppressions"] = [{"kind": "inSource", "justification": result.suppressed}]
    elif result.known:
        shape["suppressions"] = [{"kind": "external"}]
    return shape


def _location(result: Result) -> Object:
    place = result.place
    # A relative reference: a colon in its first segment would be a scheme (RFC 3986, 4.2).
    uri = quote(place.file.encode("utf-8", "surrogatepass")) if place else ""
    location: Object = {"artifactLocation": {"uri": uri}}
    if result.end is not None and place is not None:
        line, column = result.end
        location["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": line,
            "endColumn": column,
        }
    return location


# --- JUnit XML, for test reports -----------------------------------------------------------
#
# A file is a suite, and a result is a failed test case. Notes, suppressed and known results are
# skipped, so that they fail nothing.


_NOWHERE: Final = "policy"


def junit(results: Sequence[Result], name: str) -> str:
    """Return *results* as one document; *name* is that of the whole report.

    Without results one test case passes, since a report without test cases counts as not run.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415  # of one format

    root = ET.Element("testsuites", name=name)
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.place.file if result.place else _NOWHERE, []).append(result)
    for file, members in suites.items():
        skipped = sum(map(_is_skipped, members))
        suite = ET.SubElement(
            root,
            "testsuite",
            name=visible(file),
            tests=str(len(members)),
            failures=str(len(members) - skipped),
            errors="0",
            skipped=str(skipped),
        )
        for result in members:
            _case(suite, result)
    if not suites:
        suite = ET.SubElement(
            root, "testsuite", name=name, tests="1", failures="0", errors="0", skipped="0"
        )
        ET.SubElement(suite, "testcase", classname=name, name="nothing found")
    totals = {key: sum(int(s.get(key, "0")) for s in root) for key in ("tests", "failures")}
    root.attrib.update({key: str(total) for key, total in totals.items()}, errors="0")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _is_skipped(result: Result) -> bool:
    return result.level is Severity.NOTE or result.suppressed is not None or result.known


def _case(suite: Element, result: Result) -> None:
    from xml.etree.ElementTree import SubElement  # noqa: PLC0415  # as above

    place = result.place
    at = f"{place.line}:{place.column}: " if place and result.end else ""
    case = SubElement(
        suite,
        "testcase",
        classname=result.code,
        name=visible(f"{at}{result.message}"),
        file=visible(place.file) if place else "",
        line=str(place.line) if place and result.end else "1",
    )
    if _is_skipped(result):
        why = result.suppressed or ("in the baseline" if result.known else result.level.value)
        SubElement(case, "skipped", message=visible(why))
        return
    failure = SubElement(case, "failure", message=visible(result.message), type=result.code)
    failure.text = visible(f"{place or ''} {result.level.value}: {result.message}".strip())
    if result.detail:
        failure.text += "\n" + "\n".join(map(visible, result.detail.splitlines()))


# --- workflow commands of GitHub Actions, which annotate lines of a change -----------------
#
# https://docs.github.com/actions/reference/workflow-commands-for-github-actions


_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def github(results: Iterable[Result]) -> str:
    """Return a line for each result that is neither suppressed nor in the baseline."""
    lines = [_line(result) for result in results if result.suppressed is None and not result.known]
    return "".join(f"{line}\n" for line in lines)


def _line(result: Result) -> str:
    properties = {}
    place = result.place
    if place is not None:
        properties["file"] = visible(place.file)
    if place is not None and result.end is not None:
        line, column = result.end
        properties |= {"line": str(place.line), "endLine": str(line)}
        # Without an end on the same line the column would be shown from 1.
        properties |= {"col": str(place.column), "endColumn": str(max(column - 1, place.column))}
    properties["title"] = result.code
    text = "%0A".join(map(_data, (result.message, *result.detail.splitlines())))
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[result.level]} {shown}::{text}"


def _data(text: str) -> str:
    # The runner decodes these; `visible` spells out all other control characters.
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# --- a report in one of these formats ------------------------------------------------------


def report_results(report: Report, form: str) -> str:
    """Return the results of *report* as ``sarif``, ``junit`` or ``github``."""
    found = [_located(result, report.prefix) for result in report.results()]
    match form:
        case "sarif":
            return dumps(sarif(found, exact=report.exact)) + "\n"
        case "junit":
            return junit(found, report.title)
        case _:
            return github(found)


def path_prefix(tree: Tree) -> str:
    """Return the path of *tree* from the working folder, with a slash; or ""."""
    if not isinstance(tree, Folder | SingleFile):
        return ""
    folder = tree.path if isinstance(tree, Folder) else tree.path.parent
    try:
        relative = Path(os.path.relpath(folder)).as_posix()
    except ValueError:  # on another drive
        return ""
    return "" if relative == "." or relative.startswith("..") else f"{relative}/"


def _located(result: Result, prefix: str) -> Result:
    if result.place is None or not prefix:
        return result
    place = evolve(result.place, file=prefix + result.place.file)
    return evolve(result, place=place)
