"""The texts of findings: each is of a code that its host yields, as its page has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policy import hosts
from policy.analysis import catalogue
from policy.hosts.data import FindingTexts, data_table
from tests.yielded import HOSTS, yielded

PACKAGES = {f"policy.hosts.{host}": host for host in HOSTS if host != "claude"}
OTHERS = {"policy.hosts.claude": "claude-code", "policy.analysis.lint": ""}
TEXTS = [
    (host, code, texts)
    for package, host in {**PACKAGES, **OTHERS}.items()
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


@pytest.mark.parametrize("package", [*PACKAGES, *OTHERS])
def test_a_text_has_a_severity_a_message_and_a_help_and_no_other_key(package: str) -> None:
    for texts in data_table(package, "findings").values():
        cases = [value for value in texts.values() if isinstance(value, dict)] or [{}]
        own = {key for key, value in texts.items() if isinstance(value, str)}
        for case in cases:
            assert {"severity", "message"} <= own | case.keys() <= {"severity", "message", "help"}


@pytest.mark.parametrize(
    ("package", "name", "section", "needed", "allowed"),
    [
        ("a3s", "agents", "tables", {"allow", "deny", "default"}, set()),
        (
            *("a3s", "agents", "agents", {"table", "description"}),
            {"hidden", "tool_free", "confirmation", "aliases"},
        ),
        ("a3s", "agents", "kinds", {"table", "max_steps"}, {"aliases"}),
        ("pikuri", "tools", "legs", set(), {"private", "untrusted", "destination", "payload"}),
        *(
            (host, "tools", "arguments", {"kind", "fields"}, {"absent"})
            for host in PACKAGES.values()
        ),
        ("zeph", "config", "", set(), {"known", "skipped", "unless", "is_open"}),
    ],
)
def test_a_table_of_data_has_the_keys_that_are_read(
    package: str, name: str, section: str, needed: set[str], allowed: set[str]
) -> None:
    data = data_table(f"policy.hosts.{package}", name)
    for entry in (data[section] if section else data).values():
        assert needed <= entry.keys() <= needed | allowed


def calls_of(host: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls in the modules of a host, each with the name of what is called."""
    for module in Path(hosts.__file__).with_name(host).glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Call):
                yield getattr(node.func, "attr", getattr(node.func, "id", "")), node


@pytest.mark.parametrize("host", PACKAGES.values())
def test_the_kinds_of_errors_stand_in_the_data_of_their_host(host: str) -> None:
    places = {"HostError": 0, "refused": 0, "as_host_errors": 1, "Fields": 1, "read": 1}
    named = set()
    for name, call in calls_of(host):
        given = call.args[places[name] :][:1] if name in places else []
        given += [each.value for each in call.keywords if each.arg == "kind"]
        named |= {each.value for each in given if isinstance(each, ast.Constant)}

    assert named
    assert named <= data_table(f"policy.hosts.{host}", "errors").keys()


@pytest.mark.parametrize("host", PACKAGES.values())
def test_the_text_of_an_error_has_the_words_that_it_is_given(host: str) -> None:
    data = data_table(f"policy.hosts.{host}", "errors")
    calls = [call for name, call in calls_of(host) if name == "refused"]

    assert calls
    for call in calls:
        kind, case = call.args[0], call.args[2] if call.args[2:] else ast.Constant("other")
        if isinstance(kind, ast.Constant) and isinstance(case, ast.Constant):
            texts = data[str(kind.value)][str(case.value)]
            words = {str(each.arg): 0 for each in call.keywords if each.arg != "file"}
            for text in [texts] if isinstance(texts, str) else texts:
                text.format(**words)
