"""Write findings and changes as SARIF, JUnit XML, and annotations of GitHub."""

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
from policy.cli.report.words import sentences
from policy.core.credentials import masked
from policy.core.finding import Finding, Severity
from policy.core.source import Place, visible
from policy.core.values import evolve, frozen
from policy.files.trees import Tree

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


@frozen
class Result:
    """A finding, a change or a claim, for formats that list them one by one."""

    finding: Finding
    suppression: str = ""  # ``inSource`` for a comment, ``external`` for a baseline, "" for none
    why: str = ""  # the reason of its suppression
    prefix: str = ""  # path from the working folder to its file

    @property
    def place(self) -> Place | None:
        """The place from the working folder; None without a file."""
        place = self.finding.place
        known = self.finding.span or self.finding.file
        return evolve(place, file=self.prefix + place.file) if known else None

    @property
    def end(self) -> tuple[int, int] | None:
        """The line and column behind the span, on its first line; None without a span."""
        span = self.finding.span
        if span is None:
            return None
        place, line = span.place, len(span.source.line(span.place.line)) + 1
        return place.line, max(min(place.column + span.end - span.start, line), place.column)

    @property
    def fingerprint(self) -> str:
        """A hash of the file, the code and the message, which stays when lines move."""
        file = self.place.file if self.place else ""
        from hashlib import sha256  # noqa: PLC0415  # few formats have it

        text = f"{file}\0{self.finding.code}\0{visible(self.finding.message)}"
        return sha256(text.encode()).hexdigest()[:32]


# Numbers of sections are those of https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(results: Sequence[Result], *, exact: bool = True) -> Object:
    """Return the SARIF log of one run; *exact* if *results* are complete."""
    findings = sorted((result.finding for result in results), key=lambda finding: finding.code)
    rules = {finding.code: finding for finding in findings}
    indices = {code: index for index, code in enumerate(rules)}
    shown = [_rule(finding) for finding in rules.values()]
    driver = {"name": "agent-policy", "semanticVersion": policy.__version__, "rules": shown}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",  # columns are counted in characters (3.14.17)
        "results": [_result(result, indices) for result in results],
        "properties": {"exact": exact},
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> Object:
    """Return the SARIF rule for the code of *finding*, with the page of the catalogue, if any."""
    code = finding.code
    page = catalogue.page(code) if code in catalogue.codes() else None
    title = page.title if page else sentences()["codes"].get(code, code.replace("-", " "))
    shape: Object = {
        "id": code,
        "shortDescription": {"text": title},
        "defaultConfiguration": {"level": (page or finding).severity.value},
    }
    if page:
        shape["help"] = {"text": page.text, "markdown": f"# {title}\n\n{page.text}"}
    return shape


def _result(result: Result, indices: dict[str, int]) -> Object:
    finding = result.finding
    shape: Object = {
        "ruleId": finding.code,
        "ruleIndex": indices[finding.code],
        "level": finding.severity.value,
        "message": {"text": "\n".join(_lines(finding))},
        "partialFingerprints": {"policyResult/v1": result.fingerprint},
    }
    if result.place is not None:
        shape["locations"] = [{"physicalLocation": _location(result, result.place)}]
    if result.suppression:
        shape["suppressions"] = [{"kind": result.suppression, "justification": result.why}]
    return shape


def _lines(finding: Finding) -> list[str]:
    """Return the message and the lines of the help; no credentials."""
    lines = [finding.message, *finding.help.splitlines()]
    return [visible(masked(line)) for line in lines]


def _location(result: Result, place: Place) -> Object:
    # A relative reference: a colon in its first segment would be a scheme (RFC 3986, 4.2).
    uri = quote(place.file.encode("utf-8", "surrogatepass"))
    location: Object = {"artifactLocation": {"uri": uri}}
    if result.end is not None:
        start = {"startLine": place.line, "startColumn": place.column}
        location["region"] = start | dict(zip(("endLine", "endColumn"), result.end, strict=True))
    return location


_NOWHERE: Final = "policy"


def junit(results: Sequence[Result], name: str) -> str:
    """Return *results* as JUnit XML; *name* is the name of the report.

    A file is a suite, and a result a failed test case. Notes, suppressed results and results of the
    baseline are skipped test cases. Without results one test case passes, since a report without
    test cases counts as not run.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415  # only this format needs it

    suites: dict[str, list[Result]] = {} if results else {name: []}
    for result in results:
        suites.setdefault(result.place.file if result.place else _NOWHERE, []).append(result)
    failing = [result for result in results if not _skipped(result)]
    totals = {"tests": str(len(results) or 1), "failures": str(len(failing)), "errors": "0"}
    root = ET.Element("testsuites", {"name": name, **totals})
    for file, members in suites.items():
        skipped = sum(bool(_skipped(result)) for result in members)
        counts = {"tests": len(members) or 1, "failures": len(members) - skipped, "errors": 0}
        shown = {key: str(count) for key, count in {**counts, "skipped": skipped}.items()}
        suite = ET.SubElement(root, "testsuite", {"name": visible(file), **shown})
        for result in members:
            _case(suite, result)
        if not members:
            ET.SubElement(suite, "testcase", classname=name, name="nothing found")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _skipped(result: Result) -> str:
    """Return why the test case of a result is skipped; "" if it fails."""
    is_note = result.finding.severity is Severity.NOTE
    return result.why or result.suppression or ("note" if is_note else "")


def _case(suite: Element, result: Result) -> None:
    from xml.etree.ElementTree import SubElement  # noqa: PLC0415  # as above

    finding, place = result.finding, result.place
    message, *details = _lines(finding)
    at = f"{place.line}:{place.column}: " if place and result.end else ""
    where = {"file": visible(place.file) if place else "", "line": at.partition(":")[0] or "1"}
    name = {"classname": finding.code, "name": f"{at}{message}"}
    case = SubElement(suite, "testcase", {**name, **where})
    if why := _skipped(result):
        SubElement(case, "skipped", message=visible(masked(why)))
        return
    failure = SubElement(case, "failure", message=message, type=finding.code)
    word = finding.severity.value
    failure.text = "\n".join((f"{place or ''} {word}: {message}".strip(), *details))


def github(results: Iterable[Result]) -> str:
    """Return an annotation for each result that is neither suppressed nor in the baseline.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    return "".join(f"{_command(result)}\n" for result in results if not result.suppression)


def _command(result: Result) -> str:
    properties: dict[str, object] = {}
    place = result.place
    if place is not None:
        properties["file"] = place.file
    if place is not None and result.end is not None:
        line, column = result.end
        # GitHub ignores the column without an end column on the same line.
        last = max(column - 1, place.column)
        properties |= {"line": place.line, "endLine": line, "col": place.column, "endColumn": last}
    properties["title"] = result.finding.code
    text = "%0A".join(map(_data, _lines(result.finding)))
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    severity = result.finding.severity
    word = "notice" if severity is Severity.NOTE else severity.value
    return f"::{word} {shown}::{text}"


def _data(text: str) -> str:
    # The runner decodes these; `visible` spells out all other control characters.
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def report_results(report: Report, form: str) -> str:
    """Return the results of *report* as ``sarif``, ``junit`` or ``github``."""
    results = [evolve(result, prefix=report.prefix) for result in report.results()]
    match form:
        case "sarif":
            return dumps(sarif(results, exact=report.exact)) + "\n"
        case "junit":
            return junit(results, report.title)
        case _:
            return github(results)


def path_prefix(tree: Tree) -> str:
    """Return the path of *tree* from the working folder, with a slash; or ""."""
    if tree.root is None:
        return ""
    try:
        relative = Path(os.path.relpath(tree.root)).as_posix()
    except ValueError:  # on another drive
        return ""
    return "" if relative == "." or relative.startswith("..") else f"{relative}/"
