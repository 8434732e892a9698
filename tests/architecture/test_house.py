"""How large the package may be, and which words it uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import policy

ROOT = Path(policy.__file__).parent

LINES = 50_000
MODULES = 250
ENTRIES = 15  # files and folders directly in `policy/`
PRIVATE_WORDS = 1

# Words of a private language: a name of a thing says more.
PRIVATE = re.compile(
    r"\b(nobody|somebody|vouch\w*|likewise|told of|speaks? of|looks? through|feared|stranger\w*"
    r"|disguis\w*)\b",
    re.IGNORECASE,
)

# Two adapters, each with the class that its runtime calls so.
SAME_NAME = {"PolicyMiddleware"}

# Modules outside `hosts/claude` and `adapters` that name Claude Code.
NAMING_A_HOST = {
    "analysis/lint/suppression.py",
    "cli/install.py",
    "files/opening.py",
    "hosts/front_ends.py",
    "hosts/a3s/__init__.py",
}


def modules() -> Iterator[tuple[str, str]]:
    """Yield the path of each module below `policy/`, and its text."""
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_the_package_stays_small() -> None:
    texts = [text for _, text in modules()]
    assert sum(text.count("\n") for text in texts) <= LINES
    assert len(texts) <= MODULES


def test_the_package_has_few_rooms() -> None:
    entries = [path.name for path in ROOT.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= ENTRIES, sorted(entries)


def test_private_words_become_fewer() -> None:
    assert sum(len(PRIVATE.findall(text)) for _, text in modules()) <= PRIVATE_WORDS


def test_a_public_class_has_its_name_alone() -> None:
    homes: dict[str, list[str]] = {}
    for path, text in modules():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path)
    shared = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert shared.keys() <= SAME_NAME, shared


def test_one_host_is_named_in_its_own_folder_alone() -> None:
    naming = {path for path, text in modules() if "claude" in text.lower()}
    outside = {path for path in naming if not path.startswith(("hosts/claude/", "adapters/"))}
    assert outside - NAMING_A_HOST == set()


def test_a_module_that_names_no_host_any_more_leaves_the_list() -> None:
    naming = {path for path, text in modules() if "claude" in text.lower()}
    assert NAMING_A_HOST - naming == set()
