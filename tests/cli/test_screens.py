"""The first screen of an audit: one page, what matters first, for every fixture."""

from __future__ import annotations

import json
import re

import pytest

from policy.cli import main
from tests.conftest import FIXTURES

NAMES = sorted(
    path.name
    for path in FIXTURES.iterdir()
    if path.is_dir() and path.name not in {"command", "errors"}
)


FORMATS = ("json", "markdown", "html", "sarif", "junit", "github")


@pytest.mark.parametrize("name", NAMES)
def test_an_audit_fits_one_screen_and_says_in_order_what_matters(name, capsys, tmp_path) -> None:
    outputs = [f"--output={form}={tmp_path / form}" for form in FORMATS]
    main(["audit", str(FIXTURES / name), *outputs])
    lines = capsys.readouterr().out.splitlines()
    if not lines:
        return  # nothing to audit, which standard error says
    assert all((tmp_path / form).exists() for form in FORMATS)
    projects = json.loads((tmp_path / "json").read_text())["projects"]
    assert len(lines) <= (60 if len(projects) > 1 else 45), len(lines)
    assert lines[0].startswith(projects[0]["profile"])
    order = (r"\d+ (error|warning|note)", "host and files", "what runs", "more:")
    ranks = [n for line in lines for n, start in enumerate(order) if re.match(start, line)]
    assert ranks == sorted(ranks)
    assert 2 in ranks or not any(project["agents"] for project in projects)
