"""One-off commands of a grown list, folded into patterns."""

from __future__ import annotations

import json

import pytest

from policy.analysis.tidy import Fold, folds
from policy.cli import main
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

FILE = ".claude/settings.local.json"


def found(*allow: str, **lists: list[str]) -> list[Fold]:
    text = json.dumps({"permissions": {"allow": list(allow), **lists}}, indent=2)
    tree = Memory({FILE: text})
    return list(folds(tree, load_tree(tree)))


def test_single_commands_of_one_program_become_one_rule_in_the_place_of_the_last() -> None:
    commands = [f"Bash(npx vitest run src/{n}.ts)" for n in "abc"]
    (fold,) = found("Read(x)", *commands, "Bash(ls)", deny=["Bash(rm *)"])
    assert fold.rule == "Bash(npx vitest run *)"
    assert json.loads(fold.text)["permissions"] == {
        "allow": ["Read(x)", "Bash(npx vitest run *)", "Bash(ls)"],
        "deny": ["Bash(rm *)"],
    }
    assert fold.exact
    calls = {change.difference.call["command"] for change in fold.grants}
    assert calls
    assert not calls & {command[5:-1] for command in commands}


def test_what_a_fold_grants_is_what_the_new_file_allows() -> None:
    (fold,) = found(*(f"Bash(npx tsc -p {n})" for n in "abc"))
    before = load_tree(Memory({FILE: fold.spans[0].source.text})).projects[0]
    after = load_tree(Memory({FILE: fold.text})).projects[0]
    for change in fold.grants:
        call = change.difference.tool, change.difference.call
        old, new = (p.enforced.start("main").table.decide(*call) for p in (before, after))
        assert (old.effect, new.effect) == (Effect.ASK, Effect.ALLOW)


def test_a_pattern_that_another_rule_covers_grants_nothing() -> None:
    (fold,) = found("Bash(npx vitest *)", *(f"Bash(npx vitest run {n})" for n in "abc"))
    assert (fold.grants, fold.exact) == ((), True)


@pytest.mark.parametrize(
    "allow",
    [
        ["Bash(npx tsc -p a)", "Bash(npx tsc -p b)"],  # two are few
        ["Bash(make a)", "Bash(npx b c)", "Bash(go d e)"],  # no program is shared
        ["Bash(ls -la a)", "Bash(ls -la b)", "Bash(ls -la c)"],  # `-la` is no subcommand
        [f"Bash(uv run {n}.py)" for n in "abc"],  # lint warns about the pattern
        [f"Read(src/{n})" for n in "abc"],  # no commands
    ],
)
def test_what_is_left_alone(allow) -> None:
    assert not found(*allow)


def test_the_command_shows_folds_and_makes_those_that_are_confirmed(tmp_path, capsys) -> None:
    file = tmp_path / FILE
    file.parent.mkdir()
    commands = [f"Bash(npx vitest run src/{n}.ts)" for n in "abc"]
    text = json.dumps({"permissions": {"allow": commands}}, indent=2)
    file.write_text(text)
    assert main(["lint", str(tmp_path), "--tidy"]) == 0  # no terminal, so no one confirms
    out, err = capsys.readouterr()
    assert '+      "Bash(npx vitest run *)"' in out
    assert "grants more calls of `Bash(npx vitest run *)` than the rules that it replaces" in out
    assert "Standard input is no terminal" in err
    assert "1 fold found, 0 made" in err
    assert file.read_text() == text
    assert main(["lint", str(tmp_path), "--tidy", "--diff"]) == 1
    assert file.read_text() == text
    assert main(["lint", str(tmp_path), "--tidy", "--yes"]) == 0
    assert json.loads(file.read_text()) == {"permissions": {"allow": ["Bash(npx vitest run *)"]}}


COVERED = [f"Bash(npm run {n})" for n in ("build", "test", "lint")]
WITH_CREDENTIAL = "Bash(PGPASSWORD=hunter2xy psql -h db)"


@pytest.mark.parametrize(
    ("allow", "left"),
    [
        ([*COVERED, "Bash(npm run:*)"], ["Bash(npm run:*)"]),
        (["Bash(npm run:*)", *COVERED], ["Bash(npm run:*)"]),
        (["Read(x)", *COVERED, "Bash(npm run *)"], ["Read(x)", "Bash(npm run *)"]),
        ([f"Bash(jest {n})" for n in "abc"], ["Bash(jest *)"]),
        ([f"Bash(eslint --fix src/{n}.ts)" for n in "abc"], ["Bash(eslint *)"]),
        ([WITH_CREDENTIAL, "Read(x)", WITH_CREDENTIAL.replace("db", "*")], ["Read(x)"]),
        (["Read(x)", WITH_CREDENTIAL, "Bash(API_KEY=a1b2c3d4e5f6 make)"], ["Read(x)"]),
        ([f"Bash(git log -{n})" for n in range(3)] + ["Bash(git log:*)"], ["Bash(git log:*)"]),
    ],
)
def test_a_tidy_leaves_nothing_that_it_could_mend(allow, left, tmp_path, capsys) -> None:
    file = tmp_path / FILE
    file.parent.mkdir()
    file.write_text(json.dumps({"permissions": {"allow": allow}}))
    main(["lint", str(tmp_path), "--fix", "--tidy", "--yes"])
    assert json.loads(file.read_text()) == {"permissions": {"allow": left}}
    assert main(["lint", str(tmp_path), "--fix", "--tidy", "--diff"]) == 0
    capsys.readouterr()
    main(["lint", str(tmp_path), "--format", "json"])
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert (totals["error"], totals["warning"]) == (0, 0)


@pytest.mark.parametrize("program", ["rm", "cargo", "mytool"])
def test_a_program_alone_is_allowed_only_where_it_is_known_for_files(program) -> None:
    assert not found(*(f"Bash({program} {n})" for n in "abc"))
