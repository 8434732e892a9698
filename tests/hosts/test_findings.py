"""The texts of findings: each is of a code that its host yields, as its page has it."""

from __future__ import annotations

from typing import Any

import pytest

from policy.analysis import catalogue
from policy.hosts.data import FindingTexts, data_table
from tests.yielded import yielded

PACKAGES = {f"policy.hosts.{host}": host for host in ("a3s", "pikuri", "zeph")}
TEXTS = [
    (host, code, texts)
    for package, host in {**PACKAGES, "policy.analysis.lint": ""}.items()
    for code, texts in data_table(package, "findings").items()
]


@pytest.mark.parametrize(("host", "code", "texts"), TEXTS, ids=lambda each: str(each)[:40])
def test_a_text_is_of_a_code_of_its_host_and_has_the_severity_of_its_page(
    host: str, code: str, texts: dict[str, Any]
) -> None:
    cases = [case for case, value in texts.items() if isinstance(value, dict)]
    severities = {{**texts, **texts[case]}["severity"] for case in cases} or {texts["severity"]}

    assert host in yielded()[code]
    assert catalogue.page(code).severity.value in severities


def test_the_words_of_a_finding_stand_in_its_texts() -> None:
    find = FindingTexts("policy.hosts.zeph")

    near = find("unknown-tool", case="near", name="`rea`", near="read")
    named = find("hook-never-fires", case="matcher", matcher="`x{y}`", help="write `z`")

    assert (str(near.severity.value), near.help) == ("warning", "did you mean `read`?")
    assert named.message.startswith("`x{y}` matches no tool")
    assert named.help == "write `z`"
