"""Results as JUnit XML, which test reports of every forge read.

A file is a suite, a result a test case that failed. What is only worth knowing,
suppressed or known is skipped, so that it fails nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from policy.finding import Severity
from policy.render.results import Result
from policy.source import visible

__all__ = ["junit"]

_NOWHERE: Final = "policy"


def junit(results: Sequence[Result], name: str) -> str:
    """Return *results* as one document; *name* is that of the whole report.

    Where there are none, one test case passes, since a report without any is
    taken for one that was not run.
    """
    root = Element("testsuites", name=name)
    suites: dict[str, list[Result]] = {}
    for result in results:
        suites.setdefault(result.place.file if result.place else _NOWHERE, []).append(result)
    for file, members in suites.items():
        skipped = sum(map(_is_skipped, members))
        suite = SubElement(
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
        suite = SubElement(
            root, "testsuite", name=name, tests="1", failures="0", errors="0", skipped="0"
        )
        SubElement(suite, "testcase", classname=name, name="nothing found")
    totals = {key: sum(int(s.get(key, "0")) for s in root) for key in ("tests", "failures")}
    root.attrib.update({key: str(total) for key, total in totals.items()}, errors="0")
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, "unicode") + "\n"


def _is_skipped(result: Result) -> bool:
    return result.level is Severity.NOTE or result.suppressed is not None or result.known


def _case(suite: Element, result: Result) -> None:
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
