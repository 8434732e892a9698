"""What a diff tells of mistakes: those that came with the change, and what they concern."""

from __future__ import annotations

import json

import pytest

from policy.cli import main

SETTINGS = ".claude/settings.json"
DEAD = "Write(.env)"


def rules(*deny: str, mode: str = "default") -> str:
    listed = ",\n    ".join(json.dumps(rule) for rule in deny)
    return f'{{"permissions": {{"defaultMode": "{mode}",\n  "deny": [\n    {listed}]}}}}\n'


@pytest.fixture
def compare(tmp_path, capsys):
    """Compare two texts of a settings file; return exit status, stdout and stderr."""

    def comparing(old: str, new: str, *options: str) -> tuple[int, str, str]:
        for side, text in (("old", old), ("new", new)):
            file = tmp_path / side / SETTINGS
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        status = main(["diff", str(tmp_path / "old"), str(tmp_path / "new"), *options])
        return status, *capsys.readouterr()

    return comparing


def found(compare, old: str, new: str) -> list[tuple[str, int]]:
    _, out, _ = compare(old, new, "--format", "json")
    return [(one["code"], one["line"]) for one in json.loads(out)["findings"]]


def test_a_mistake_that_came_is_reported_with_its_place(compare) -> None:
    _, out, _ = compare(rules("Read(.env)"), rules("Read(.env)", DEAD))
    assert "findings that came with the change (1)" in out
    assert f"{SETTINGS}:4:5: error: `{DEAD}` is never consulted" in out
    assert "1 new finding" in " ".join(out.split("\n\n")[0].split())


def test_a_mistake_that_was_there_is_not_new_wherever_its_line_is_now(compare) -> None:
    old, new = rules(DEAD), rules("Read(.env)", DEAD)
    assert found(compare, old, new) == []
    assert found(compare, new, rules("Read(.env)", DEAD, DEAD)) == [("dead-file-rule", 5)]


def test_a_file_with_a_mistake_in_it_is_read_all_the_same(compare) -> None:
    _, out, _ = compare(rules(DEAD), rules(DEAD, "Read(x)", "Read(x)"), "--format", "json")
    (file,) = json.loads(out)["files"]
    assert (file["status"], file["effect"], file["errors"]) == ("read", "decisions", 1)
    _, out, _ = compare(rules(DEAD, "Read(x)"), rules(DEAD, "Read(x)", "Read(x)"))
    assert f"changed without effect\n  {SETTINGS} (settings, 1 error)" in out


def test_notes_are_left_to_lint_and_warnings_come_behind_errors(compare) -> None:
    new = rules(DEAD, "Bash(/etc/**)", mode="bypassPermissions")
    codes = found(compare, "{}", new)
    assert codes[0][0] == "dead-file-rule"
    assert "project-mode-ignored" in {code for code, _ in codes[1:]}


@pytest.mark.parametrize("form", ["sarif", "github", "junit", "markdown"])
def test_every_format_tells_it(compare, form) -> None:
    _, out, _ = compare("{}", rules(DEAD), "--format", form)
    match form:
        case "sarif":
            (run,) = json.loads(out)["runs"]
            (result,) = (one for one in run["results"] if one["ruleId"] == "dead-file-rule")
            region = result["locations"][0]["physicalLocation"]["region"]
            assert (result["level"], region["startLine"]) == ("error", 3)
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "dead-file-rule"
        case "github":
            assert f"::error file={SETTINGS},line=3," in out
        case "junit":
            assert '<failure message="`Write(.env)` is never consulted' in out
            assert f'file="{SETTINGS}" line="3"' in out
        case _:
            assert "## findings that came with the change (1)" in out
            assert f"**{SETTINGS}:3:5:** **error:**" in out


def test_what_is_not_understood_is_reported_once_and_fails(compare) -> None:
    status, out, err = compare(rules("Read(.env)"), '{"permissions": ')
    assert status == 2
    assert "changed and not understood: what these files grant is not known" in out
    assert (out + err).count("[invalid-json]") == 1


def test_calls_that_the_host_refuses_unread_are_no_change(compare) -> None:
    _, out, _ = compare(
        '{"permissions": {"deny": ["Read(.env)"]}}',
        '{"permissions": {"allow": ["Read"]}}',
        "--format",
        "json",
    )
    changes = json.loads(out)["changes"]
    assert changes
    assert not [one for one in changes if "malformed-call" in (one["reason_before"], one["reason"])]
