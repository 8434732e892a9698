"""The catalogue of findings: every page is true of the files it shows."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from policy.analysis import catalogue
from policy.analysis.diff import diff_workspaces
from policy.analysis.lint import lint
from policy.core.finding import Finding
from policy.core.source import Edit, edited
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from tests.catalogue import INDEX, files, index, sections
from tests.yielded import yielded

ROOT = Path(__file__).parent.parent
PAGES = [catalogue.page(code) for code in catalogue.codes()]


def found(files: dict[str, str]) -> list[Finding]:
    tree = Memory(files)
    return list(lint(tree, load_tree(tree)).findings)


@cache
def shown(code: str) -> list[Finding]:
    """Return the findings of the example of a page."""
    return found(files(catalogue.page(code), "Example"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_says_what_why_how_it_looks_and_how_to_mend_it(
    page: catalogue.CataloguePage,
) -> None:
    assert list(sections(page)) == ["Meaning", "Why it matters", "Example", "Fix"]
    assert all(sections(page).values())


@pytest.mark.parametrize(
    "page", [page for page in PAGES if not page.shown], ids=lambda page: page.code
)
def test_the_example_of_a_page_has_its_finding_and_the_fix_has_not(
    page: catalogue.CataloguePage,
) -> None:
    example, fix = files(page, "Example"), files(page, "Fix")
    assert example, "no file"
    before = {(finding.code, finding.severity) for finding in shown(page.code)}
    assert (page.code, page.severity) in before, sorted(code for code, _ in before)

    assert fix, "no file"
    mended = {path: text for path, text in {**example, **fix}.items() if text}
    assert page.code not in {finding.code for finding in found(mended)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_the_edits_of_a_finding_mend_the_example_of_its_page_and_widen_nothing(
    page: catalogue.CataloguePage,
) -> None:
    edits = [e for f in shown(page.code) if f.code == page.code for e in f.edits]
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.span.source.name, []).append(edit)
    example = files(page, "Example")
    mended = example | {path: edited(example[path], edits) for path, edits in by_file.items()}

    assert not edits or page.code not in {finding.code for finding in found(mended)}
    before, after = (load_tree(Memory(some)) for some in (example, mended))
    assert not [c for c in diff_workspaces(before, after).changes if c.direction == "widened"]


@pytest.mark.parametrize("page", [page for page in PAGES if page.shown], ids=lambda page: page.code)
def test_a_finding_that_files_alone_cannot_show_names_the_test_that_does(
    page: catalogue.CataloguePage,
) -> None:
    path, _, name = page.shown.partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    tests = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert page.code in ast.unparse(tests[name])


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert set(catalogue.codes()) == set(yielded())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_names_the_hosts_whose_files_have_its_code(page: catalogue.CataloguePage) -> None:
    where = yielded()[page.code]
    # What is found without the front end of a host may be found of its files.
    assert not page.hosts or where - {""} <= set(page.hosts)
    assert "" in where or set(page.hosts) == where


def test_the_index_is_up_to_date() -> None:
    # `python -m tests.catalogue` writes it.
    assert INDEX.read_text("utf-8") == index()
