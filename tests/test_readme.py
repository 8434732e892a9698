"""What the README and the pages of `docs` show is what the command prints."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

import policy
from policy.cli import main
from policy.cli.options import parse_options
from policy.core.source import Source
from policy.hosts.notation.semantics import DIALECT
from policy.language.parse import parse_notation
from tests.screens import PICTURES, SCREENS, picture

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the fenced blocks of a page: what stands behind the fence, and the text."""
    text = page.read_text("utf-8")
    return re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def consoles(page: Path) -> list[str]:
    return [text for language, text in blocks(page) if language == "console"]


def printed(text: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return what the command of a block prints, and what the block says."""
    prompt, _, expected = text.partition("\n")
    program, *arguments = shlex.split(prompt.removeprefix("$ "))
    assert program == "policy"
    main(arguments)
    # A hash is of the form of the file too, which may change.
    found = re.sub(r"sha256:[0-9a-f]{64}", "sha256:…", capsys.readouterr().out)
    return found, expected


# A page can say where its commands run: in an empty folder, or in a copy of a folder.
WHERE = re.compile(
    r"^<!-- commands run in (an empty folder|(\S+), as a repository) -->$", re.MULTILINE
)
GUIDES = [page for page in PAGES if WHERE.search(page.read_text("utf-8"))]

SHOWN = [
    pytest.param(text, id=f"{page.stem}: {text.splitlines()[0][2:42]}")
    for page in PAGES
    if page not in GUIDES
    for text in consoles(page)
]


@pytest.mark.parametrize("text", SHOWN)
def test_a_command_prints_what_a_page_says(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    found, expected = printed(text, capsys)
    assert found == expected


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_steps_of_a_guide_print_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = WHERE.search(page.read_text("utf-8"))
    assert where
    folder = tmp_path / "folder"
    if where[2]:
        shutil.copytree(ROOT / where[2], folder)
        (folder / ".git").mkdir()
    else:
        folder.mkdir()
    monkeypatch.chdir(folder)
    for language, text in blocks(page):
        if language == "console":
            found, expected = printed(text, capsys)
            assert found == expected
        elif name := re.match(r"# (\S+\.policy)(, at the end)?\n", text):
            path = folder / name[1]
            path.parent.mkdir(exist_ok=True)
            before = path.read_text() + "\n" if name[2] else ""
            path.write_text(before + text.partition("\n")[2] if name[2] else text)
        elif language == "python":
            exec(compile(text, str(page), "exec"), {})  # noqa: S102  # code of our own pages


# What a page tells people to run and this test cannot: it needs their logs, settings or servers.
TOLD = [
    pytest.param(line, id=f"{page.stem}: {line[:40]}")
    for page in PAGES
    for language, text in blocks(page)
    if language in {"sh", "yaml"}
    for line in re.findall(r"^\s*(?:- |\S+ && )*(policy \w.*)$", text, re.MULTILINE)
]


@pytest.mark.parametrize("line", TOLD)
def test_a_command_that_a_page_tells_has_verbs_and_options_that_are_there(line: str) -> None:
    _, verb, *arguments = shlex.split(line, comments=True)
    if verb != "hook":
        parse_options(verb, arguments)


def test_the_tutorial_and_the_guides_have_steps() -> None:
    steps = {page.stem: len(consoles(page)) for page in GUIDES}
    assert steps.keys() == {"start", "testing", "monorepos", "compiled"}
    assert steps["start"] > 5
    assert min(steps.values()) > 1


def test_the_policy_of_the_readme_compiles_and_restricts_spawns(tmp_path: Path) -> None:
    example = next(text for _, text in blocks(PAGES[0]) if text.startswith("# team.policy"))
    parse_notation(Source("team.policy", example))
    (tmp_path / "team.policy").write_text(example)
    workspace = policy.load(tmp_path)

    assert not workspace.findings
    with pytest.raises(policy.SpawnDenied):
        workspace.chain("main", "explore", "reviewer")


def test_the_example_of_the_package_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert doctest.testmod(policy).failed == 0
    assert doctest.testmod(policy).attempted == 5


@pytest.mark.parametrize("name", ["README.md", "docs/embed.md"])
def test_the_first_program_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "fixtures" / "team" / "team.policy").read_text("utf-8")
    explorer = "agent explore {\n    allow     Task(worker)\n}\n\nagent worker { allow Read }\n"
    text = text.partition("agent explore")[0].replace("Task(", "Task(worker, ") + explorer
    (tmp_path / "team.policy").write_text(text)
    monkeypatch.chdir(tmp_path)
    program = next(text for language, text in blocks(ROOT / name) if language == "python")
    names: dict[str, object] = {}
    exec(compile(program, name, "exec"), names)  # noqa: S102  # code of our own pages
    assert isinstance(names["decision"], policy.Decision)


def test_the_guide_names_the_argument_of_each_tool_that_rules_match() -> None:
    page = (ROOT / "docs" / "embed.md").read_text("utf-8")
    table = page.partition("| tool | argument")[2].partition("| any other |")[0]
    named = {
        tool: tuple(re.findall(r"`(\w+)`", row[1]))
        for row in re.findall(r"^\| (.+?) \| (.+) \|$", table, re.MULTILINE)
        for tool in re.findall(r"`(\w+)`", row[0])
    }
    tools = DIALECT.arguments.items()
    assert named == {"Agent": DIALECT.arguments["Task"].fields} | {t: a.fields for t, a in tools}


def test_the_readme_is_short_and_shows_commands_with_their_output() -> None:
    assert len(consoles(PAGES[0])) >= 2
    assert len(PAGES[0].read_text("utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
    for link in links:
        assert link.startswith("https://") or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tests_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?)`", page.read_text("utf-8"))
    assert all((ROOT / name).exists() for name in named), named


@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_shows_what_its_command_prints(name: str) -> None:
    written = (PICTURES / f"{name}.svg").read_text("utf-8")
    assert written == picture(SCREENS[name]), "out of date: python -m tests.screens"


def test_every_picture_is_of_a_command_and_stands_on_a_page() -> None:
    assert {path.stem for path in PICTURES.glob("*.svg")} == {*SCREENS}
    shown = {
        name for page in PAGES for name in re.findall(r"pictures/(\w+)\.svg\)", page.read_text())
    }
    assert shown == {*SCREENS}


def test_the_page_of_the_tests_names_what_is_there_and_every_group() -> None:
    page = (ROOT / "tests" / "README.md").read_text("utf-8")
    for module in re.findall(r"python -m (tests[.\w]*)", page):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = {
        text.partition(":")[0] for text in settings["tool"]["pytest"]["ini_options"]["markers"]
    }
    assert {*re.findall(r"^\| `(\w+)` \|.*-m \1`", page, re.MULTILINE)} == groups


def test_the_guide_of_contributors_names_files_that_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`((?:policy|tests|docs|grammar)/[\w/.*]+)`", page)
    assert not [name for name in named if not [*ROOT.glob(name.replace("CODE", "*"))]]
    modules = re.findall(r"python -m (tests[.\w]*)", page)
    paths = [ROOT / module.replace(".", "/") for module in modules]
    assert all(p.with_suffix(".py").exists() or (p / "__main__.py").exists() for p in paths)


@pytest.mark.parametrize(
    "page", sorted((ROOT / "policy").rglob("README.md")), ids=lambda page: page.parent.name
)
def test_a_page_names_modules_that_exist(page: Path) -> None:
    modules = {path.name for room in ("policy", "tests") for path in (ROOT / room).rglob("*.py")}
    named = set(re.findall(r"`(?:[\w/.]+/)?([a-z_]+\.py)`", page.read_text("utf-8")))
    assert named <= modules


def test_the_page_of_the_shell_names_each_of_its_modules() -> None:
    folder = ROOT / "policy" / "commands"
    page = (folder / "README.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+\.py)`", page))
    assert named == {path.name for path in folder.glob("*.py")} - {"__init__.py"}
