"""What the site is made of besides the pages of `docs`."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import policy
from policy import adapters
from policy.cli import verbs
from policy.cli.options import formats_of

ROOT = Path(__file__).parent.parent
SPEC = importlib.util.spec_from_file_location("site_of_docs", ROOT / "docs" / "site.py")
assert SPEC
site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site)


def test_the_page_of_the_command_line_has_every_verb_and_option() -> None:
    text = site.command_line()
    assert re.findall(r"^## policy (\S+)$", text, re.MULTILINE) == list(verbs()["verbs"])
    assert "| `--fail-on WHAT` |" in text
    assert "{}" not in re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def test_the_page_of_python_names_what_is_public_and_no_more() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    listed = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    public = {f"policy.{name}" for name in policy.__all__} - {"policy.__version__"}
    assert {*listed} == public | {f"policy.adapters.{name}" for name in adapters.__all__}
    assert site.public("policy.load") == "::: policy.hosts.workspace.load"
    assert site.public("policy.adapters.Guard") == "::: policy.adapters.guard.Guard"
    assert "`Effect.ASK` (`ask`)" in site.public("policy.Effect")
    reasons = site.public("policy.Reason")
    assert "| `Reason.DEFAULT` (`default`) | no rule matches the call, so the" in reasons
    assert "|  |" not in reasons


def test_every_answer_in_json_has_its_shape_on_the_page() -> None:
    assert {*site.RUNS} == {verb for verb in verbs()["verbs"] if "json" in formats_of(verb)}


def test_a_shape_merges_the_items_of_a_list() -> None:
    found = json.loads('[{"a": 1, "b": null}, {"a": "x", "c": [{}, {"d": true}]}]')
    assert site.shape(site.kinds(found)) == (
        '[{\n  "a": string or number,\n  "b": null,\n  "c": [{\n    "d": boolean\n  }, …]\n}, …]'
    )


def test_links_lead_to_pages_of_the_site_or_to_the_repository() -> None:
    text = "[a](../policy/analysis/catalogue/README.md) [b](../action.yml#x) [c](limits.md#paths)"
    assert site.relinked(text, "review.md") == (
        f"[a](reference/findings.md) [b]({site.REPOSITORY}action.yml#x) [c](limits.md#paths)"
    )
    assert site.relinked("[a](README.md)", "reference/findings/unreadable.md") == (
        "[a](../findings.md)"
    )


def test_pages_beside_the_code_exist_and_each_host_says_which_files_it_reads() -> None:
    assert all((ROOT / source).exists() for source in site.PAGES.values())
    titles = re.findall(r"^## (.+)$", site.files_of_hosts(), re.MULTILINE)
    assert titles == ["Claude Code", "Zeph", "A3S Code", "Pikuri"]


def test_no_code_of_a_table_has_a_stroke_which_pages_show_in_two_ways() -> None:
    # GitHub wants a backslash before it, and the site shows that backslash.
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / source for source in site.PAGES.values())]
    written = [(str(page), page.read_text("utf-8")) for page in pages]
    made = [(name, write()) for name, write in site.WRITERS.items()]
    assert not [
        (name, found)
        for name, text in (*written, *made)
        for found in re.findall(r"^\|.*`[^`]*\\\|[^`]*`.*$", text, re.MULTILINE)
    ]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
