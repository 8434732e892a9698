"""The first screen of an audit: one page, what matters first, for every fixture."""

from __future__ import annotations

import json
import re

import pytest

from policy.analysis.catalogue import codes
from policy.cli import main
from policy.cli.report.words import sentences
from policy.core.decision import Does, Reason
from tests.cli.texts import FILES, compiled
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
    own = [
        a for each in projects for a in each["agents"] if a["file"] or a["name"] in each["starts"]
    ]
    assert len(lines) <= (60 if len(own) > 12 else 45), len(lines)
    assert lines[0].startswith(projects[0]["profile"])
    order = (r"\d+ (error|warning|note)", "host and files", "what runs", "more:")
    ranks = [n for line in lines for n, start in enumerate(order) if re.match(start, line)]
    assert ranks == sorted(ranks)
    assert 2 in ranks or not any(project["agents"] for project in projects)


def test_a_screen_of_many_projects_and_agents_is_bounded_and_counts_what_is_left_out(
    tmp_path, capsys
) -> None:
    def agent(folder: int, number: int, tools: str) -> None:
        file = tmp_path / f"p{folder}" / f".claude/agents/agent-{folder}-{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = f"name: agent-{folder}-{number}\ndescription: x\ntools: {tools}"
        file.write_text(f"---\n{header}\n---\n")

    tools = ("Read", "Read, Grep", "Bash(a *)", "Bash(b *)", "Edit", "Agent", "WebFetch", "Nothing")
    for folder in range(5):
        for number in range(24):
            agent(folder, number, ", ".join((tools[number % 8], tools[number // 8], "MultiEdit")))
    main(["audit", str(tmp_path)])
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 60
    assert re.search(r"… \d+ more projects?, shown with --all", out)
    assert re.search(r"^  … \d+ more$", out, re.MULTILINE)
    main(["audit", str(tmp_path), "--all"])
    assert len(capsys.readouterr().out.splitlines()) > 200


def test_a_screen_of_many_edits_is_bounded_and_counts_what_is_left_out(tmp_path, capsys) -> None:
    for side, word in (("before", "ask"), ("after", "allow")):
        (tmp_path / side).mkdir()
        rules = "".join(f"    {word} Bash(program-{n} *)\n" for n in range(40))
        (tmp_path / side / "t.policy").write_text(f"root main\nagent main {{\n{rules}}}\n")
    main(["diff", str(tmp_path / "before"), str(tmp_path / "after")])
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 60
    assert re.search(r"… \d+ more edits, shown with --all", out)


def test_what_runs_any_command_stands_first_and_a_row_says_what_is_as_main(capsys) -> None:
    main(["audit", str(FIXTURES / "command" / "risks")])
    out = capsys.readouterr().out
    finding, *_ = re.findall(r"^  (?:error|warning) .*", out, re.MULTILINE)
    assert "Write(secrets/**)" in finding  # an error: what is denied is not
    order = [out.index(each) for each in ("[dead-file-rule]", "[rule-runs-anything]", "python3:*,")]
    assert order == sorted(order)
    assert re.search(r"python3:\*,.*\n.*git \*,.*\n.*read-only", out)  # what is risky, then broad
    assert re.search(r"^  reviewer, +as main ", out, re.MULTILINE)


def test_projects_with_equal_rows_share_them_and_the_one_that_grants_most_is_first(capsys) -> None:
    main(["audit", str(FIXTURES / "command" / "monorepo")])
    out = capsys.readouterr().out
    first = next(line for line in out.splitlines() if line.startswith("  warning"))
    assert "`Bash` allows every command" in first
    assert out.index("(this folder)") < out.index("services/api, services/jobs, services/web")


def test_codes_that_come_first_have_a_page() -> None:
    assert {*sentences()["first"]["codes"]} <= {*codes()}


def test_every_reason_and_every_part_has_a_sentence() -> None:
    assert {reason.value for reason in Reason} == sentences()["reasons"].keys()
    assert {does.value for does in Does} == sentences()["unknown"].keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_texts_as_json_are_those_of_their_source(file) -> None:
    assert file.with_suffix(".json").read_text("utf-8") == compiled(file)
