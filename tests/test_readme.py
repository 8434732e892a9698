"""What the README shows is what the command prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import policy
from policy.cli import main
from policy.core.source import Source
from policy.language.parse import parse_notation

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
CONSOLES = [text for language, text in BLOCKS if language == "console"]
EXAMPLE = next(text for _, text in BLOCKS if text.startswith("# team.policy"))


@pytest.mark.parametrize("text", CONSOLES, ids=lambda text: text.splitlines()[0][:40])
def test_a_command_of_the_readme_prints_what_the_readme_says(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    prompt, _, expected = text.partition("\n")
    program, *arguments = shlex.split(prompt.removeprefix("$ "))

    assert program == "policy"
    main(arguments)
    assert capsys.readouterr().out == expected


def test_the_policy_of_the_readme_compiles_and_restricts_spawns(tmp_path: Path) -> None:
    parse_notation(Source("team.policy", EXAMPLE))
    (tmp_path / "team.policy").write_text(EXAMPLE)
    workspace = policy.load(tmp_path)

    assert not workspace.findings
    with pytest.raises(policy.SpawnDenied):
        workspace.chain("main", "explore", "reviewer")


def test_the_readme_has_commands_with_their_output() -> None:
    assert len(CONSOLES) >= 2


def test_the_page_of_the_shell_names_each_of_its_modules() -> None:
    folder = ROOT / "policy" / "commands"
    page = (folder / "README.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+\.py)`", page))
    assert named == {path.name for path in folder.glob("*.py")} - {"__init__.py"}
