"""Results as SARIF 2.1.0, for code scanning.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; the numbers of
sections below are its.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

import policy
from policy.finding import Severity
from policy.render.as_json import Object
from policy.render.results import Result, Rule, rules_of

__all__ = ["sarif"]

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(
    results: Sequence[Result], rules: Iterable[Rule] | None = None, *, exact: bool = True
) -> Object:
    """Return the log of one run.

    Args:
        results: in their order.
        rules: what their codes mean; by default what the catalogue says.
        exact: whether these are all; said as a property of the run.

    """
    known = list(rules_of(list(results)) if rules is None else rules)
    indices = {rule.code: index for index, rule in enumerate(known)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "agent-policy",
                        "semanticVersion": policy.__version__,
                        "rules": [_rule(rule) for rule in known],
                    }
                },
                # Columns are counted in characters (3.14.17).
                "columnKind": "unicodeCodePoints",
                "results": [_result(result, indices) for result in results],
                "properties": {"exact": exact},
            }
        ],
    }


def _rule(rule: Rule) -> Object:
    shape: Object = {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }
    if rule.text:
        shape["help"] = {"text": rule.text, "markdown": f"# {rule.title}\n\n{rule.text}"}
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
