"""The traps of Zeph: ``fixtures/zeph-*``, what each decides and what is found in it.

``requests.yaml`` are decisions, ``findings.yaml`` is every finding in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import policy
from policy.analysis import catalogue
from policy.analysis.reach.audit import audit
from policy.hosts import zeph
from policy.hosts.zeph import HOST

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
FOLDERS = sorted(FIXTURES.glob("zeph-*"))


def _requests() -> Iterator[object]:
    for folder in FOLDERS:
        file = folder / "requests.yaml"
        requests = yaml.safe_load(file.read_text()) if file.exists() else []
        for number, request in enumerate(requests, 1):
            yield pytest.param(folder, request, id=f"{folder.name}-{number}")


@pytest.mark.parametrize(("folder", "request_"), list(_requests()))
def test_a_request_gets_what_its_fixture_says(folder: Path, request_: dict) -> None:
    workspace = policy.load(folder, front_ends=[zeph])
    reading = request_.get("reading", "attenuated")
    try:
        chain = workspace.chain(*request_["chain"], reading=reading)
    except policy.SpawnDenied as denied:
        assert (request_["effect"], request_.get("denied")) == ("deny", denied.agent), str(denied)
        return
    assert "denied" not in request_, f"{chain} came about"
    decision = chain.decide(request_["request"], request_["input"])
    assert str(decision.effect) == request_["effect"], str(decision)
    if "reason" in request_:
        assert decision.reason.value == request_["reason"], str(decision)
    if "because" in request_:
        places = [f"{b.place.file}:{b.place.line}" for b in decision.because if b.place]
        assert places == request_["because"], str(decision)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_findings_of_a_fixture_are_those_it_lists(folder: Path) -> None:
    workspace = policy.load(folder, front_ends=[zeph])
    found = []
    for finding in workspace.findings:
        line = {
            "code": finding.code,
            "severity": finding.severity.value,
            "place": str(finding.place),
        }
        if finding.span and (text := finding.span.text.split("\n")[0]):
            line["text"] = text
        found.append(line)
    assert found == yaml.safe_load((folder / "findings.yaml").read_text())


def test_every_code_has_a_page() -> None:
    text = "\n".join(file.read_text() for file in Path(zeph.__file__).parent.glob("*.py"))
    codes = re.findall(
        r"""(?:\bfind|Finding|Finding\.of|_note)\(\s*(?:error, )?"([a-z0-9-]+)\"""", text
    )
    pages = {code for code in catalogue.codes() if HOST in (catalogue.page(code).hosts or (HOST,))}
    assert set(codes) <= pages
    # The other way round as well: no page of this host is about a code that no longer exists.
    alone = {code for code in pages if catalogue.page(code).hosts == (HOST,)}
    assert alone <= set(codes)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_audit_of_a_fixture_is_exact_and_shows_no_file_unread(folder: Path) -> None:
    whole = audit(policy.load(folder, front_ends=[zeph]))
    assert all(project.exact for project in whole.projects)
    assert all(agent.exact for project in whole.projects for agent in project.agents)
