"""Answers as pages: they ask no network, nothing breaks out of it, every finding shows its line."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import signal
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from policy.analysis.lint import lint
from policy.analysis.reach.audit import audit
from policy.cli import main
from policy.cli.audit import blocks, elsewhere, matrix
from policy.cli.report.document import Grid, Item, Section, pieces
from policy.cli.report.html import page as page_of
from policy.core import values
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"

TEAM = """\
root main
agent main {
    allow Read, Bash(git *), Task
    ask   Edit
    deny  Read(.env)
}
agent scout {
    allow Read
}
agent idle {
    allow Write
    limit depth 0
}
"""


def audited(files: dict[str, str]):
    tree = Memory(files, "here")
    workspace = load_tree(tree)
    return values.evolve(audit(workspace), findings=lint(tree, workspace).findings)


def page(files: dict[str, str]) -> str:
    return page_of("Audit", blocks(audited(files), None))


class Reader(HTMLParser):
    """What a page refers to, and whether its elements nest."""

    VOID = frozenset({"meta", "input", "br", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attributes:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


SAMPLES = {
    "team": {"team.policy": TEAM},
    "claude": {
        ".claude/settings.json": '{"permissions": {"allow": ["Bash(npx *)"], "deny": ["Read(.env)"]}}',
        ".claude/agents/a.md": "---\nname: a\ndescription: x\ntools: Read, Agent(b)\n---\n",
    },
    "malformed": {"a.policy": "agent x {\n    alow Read\n", ".claude/settings.json": "{"},
    "hostile": {
        f"{HOSTILE.replace('/', '')}.policy": "agent m {\n    allow Bash(<b>x</b> *), Bash(npx *)\n}\n",
        ".claude/agents/a.md": f"---\nname: {HOSTILE!r}\ndescription: x\ntools: Bsah\n---\n",
    },
    "nothing": {"README.md": "x"},
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_asks_nothing_of_any_network_and_runs_no_script(name) -> None:
    text = page(SAMPLES[name])
    read = Reader(text)
    assert not read.open
    # A style of its own on an element would be refused by the page's own policy.
    assert not {"script", "img", "link", "iframe", "object", "base", "a", "input"} & {*read.tags}
    assert not [a for a in read.attributes if a.startswith("on") or a in {"src", "style", "href"}]
    assert "default-src &#x27;none&#x27;" in text
    assert "url(" not in text.replace("url(#arrow", "")


@pytest.mark.parametrize("name", ["claude", "malformed", "hostile"])
def test_every_finding_with_a_place_shows_its_line(name) -> None:
    result = audited(SAMPLES[name])
    text = page(SAMPLES[name]).replace("<wbr>", "")
    placed = [finding for finding in result.findings if finding.span]
    assert placed
    for finding in placed:
        place = finding.place
        at = text.index(f"{html.escape(str(place))}:</span>")
        assert f'<pre><span class="dim">{place.line} </span>' in text[at : at + 3000]


def test_a_page_says_what_was_not_read_and_counts_as_well() -> None:
    missing = elsewhere(audited(SAMPLES["claude"]))
    assert missing
    (shown,) = re.findall(r'<p class="dim">(not read, .*?)</p>', page(SAMPLES["claude"]))
    assert html.unescape(re.sub("</?code>", "`", shown)) == missing
    assert "<code>--managed</code>" in shown
    assert "not read, and may" not in page(SAMPLES["nothing"])


def test_the_worst_findings_stand_first() -> None:
    policy_ = "root m\nagent m {\n    allow Bash(npx *)\n    deny Bash(make\n}\n"
    text = page({**SAMPLES["claude"], "z.policy": policy_})
    shown = re.findall(r'<span class="(error|warning|note)">(?:error|warning|note):', text)
    assert len(set(shown)) > 1
    assert shown == sorted(shown, key=["error", "warning", "note"].index)


def test_a_credential_is_masked_in_the_lines_of_its_file() -> None:
    masked = "hunter2hunter2"
    rule = f"Bash(psql postgres://me:{masked}@db.example.com/x *)"
    text = page(
        {".claude/settings.json": f'{{"permissions": {{"allow": ["Bash(npx *)",\n"{rule}"]}}}}'}
    )
    assert "secret-in-policy" in text
    assert masked not in text


# --- the matrix -------------------------------------------------------------------


def cells(files: dict[str, str]) -> dict[tuple[str, str], str]:
    (project,) = audited(files).projects
    table = matrix(project)

    def plain(cell) -> str:
        return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(cell))

    return {
        (name, head): plain(cell)
        for names, *row in table.rows
        for name in plain(names).split(", ")
        for head, cell in zip(table.heads[1:], row, strict=True)
    }


def test_a_cell_names_the_tool_that_a_denial_does_not_cover() -> None:
    text = "root main\nagent main {{\n    allow Read, Grep, Glob\n    deny {}\n}}\n"
    found = cells({"team.policy": text.format("Read(.env)")})
    assert found["main", "read files"] == "any but .env (also those with Grep)"
    found = cells({"team.policy": text.format("Read(.env), Grep(.env)")})
    assert found["main", "read files"] == "any but .env"


def test_a_cell_says_what_an_agent_may_do_at_most() -> None:
    found = cells({"team.policy": TEAM})
    assert found["main", "read files"] == "any but .env"
    assert found["main", "run commands"] == "git *"
    assert found["main", "change files"] == "?"
    assert found["main", "start agents"] == "main, scout, idle"
    assert found["scout", "change files"] == "-"
    # Its parent may not write, so that it may not either.
    assert found["idle", "change files"] == "-"


def test_a_cell_names_hosts_alone_and_cuts_long_patterns() -> None:
    long = "git log " + "--oneline " * 8 + "*"
    text = (
        f"root main\nagent main {{\n    allow WebFetch(domain:docs.example.com), Bash({long})\n}}\n"
    )
    found = cells({"team.policy": text})
    assert found["main", "network"] == "docs.example.com"
    assert found["main", "run commands"] == f"{long[:31]}…"


def test_equal_agents_share_a_row() -> None:
    agents = "".join(f"agent a{n} {{\n    allow Read, Grep\n}}\n" for n in range(50))
    (project,) = audited(
        {"t.policy": f"root main\nagent main {{\n    allow *\n}}\n{agents}"}
    ).projects
    assert len(matrix(project).rows) == 2


# --- large pages -------------------------------------------------------------------


def test_a_page_of_a_thousand_agents_stays_usable() -> None:
    agents = "".join(
        f"agent a{n:03} {{\n    allow Read, Bash(tool{n % 40} *)\n}}\n" for n in range(1000)
    )
    text = page({"t.policy": f"root main\nagent main {{\n    allow *\n}}\n{agents}"})
    assert len(text) < 2_000_000
    assert text.count("<tr>") < 300
    assert text.count("<details>") < 100
    assert all(f"a{n:03}" in text for n in range(1000))  # a search finds each


# --- in a browser -----------------------------------------------------------------


BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no browser: on Debian `apt-get install chromium`")

    def run(*options: str) -> tuple[str, str]:
        command = [
            found, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr", "--log-level=0", *options,
        ]  # fmt: skip
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as started:
            try:
                out, err = started.communicate(timeout=90)
            except subprocess.TimeoutExpired:
                import os

                os.killpg(started.pid, signal.SIGKILL)
                raise
        assert started.returncode == 0, err[-2000:]
        return out, "\n".join(line for line in err.splitlines() if "CONSOLE" in line)

    return run


@pytest.fixture
def written(tmp_path) -> Path:
    file = tmp_path / "audit.html"
    file.write_text(page(SAMPLES["claude"]), encoding="utf-8")
    return file


@pytest.mark.browser
def test_a_browser_opens_the_page_and_refuses_nothing_of_it(browser, written) -> None:
    dom, console = browser("--dump-dom", written.as_uri())
    assert console == ""  # neither an error nor something that the page's own policy refuses
    assert "what runs without confirmation" in dom


@pytest.mark.browser
def test_no_script_of_a_hostile_name_runs(browser, tmp_path) -> None:
    file = tmp_path / "audit.html"
    file.write_text(page(SAMPLES["hostile"]), encoding="utf-8")
    dom, console = browser("--dump-dom", file.as_uri())
    assert console == ""
    assert "<img" not in dom


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["0", "1"])
def test_a_page_is_drawn_dark_and_light(browser, written, tmp_path, scheme) -> None:
    picture = tmp_path / "page.png"
    browser(
        f"--screenshot={picture}", "--window-size=800,600",
        f"--blink-settings=preferredColorScheme={scheme}", written.as_uri(),
    )  # fmt: skip
    assert picture.stat().st_size > 5_000


def test_the_command_writes_the_page(tmp_path, capsys) -> None:
    (tmp_path / "team.policy").write_text(TEAM)
    assert main(["audit", str(tmp_path), "--format", "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


# --- a diff -----------------------------------------------------------------------


@pytest.fixture
def diff(tmp_path, capsys) -> str:
    new = TEAM.replace("Bash(git *)", "Bash(*)").replace("allow Read\n}", "allow Read, Bash(ls)\n}")
    for name, text in (("old", TEAM), ("new", new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "team.policy").write_text(text)
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--format", "html"]) == 0
    return capsys.readouterr().out


def test_a_page_of_a_diff_names_its_one_script_and_shows_all_without_it(diff) -> None:
    read = Reader(diff)
    assert not read.open
    assert not {"img", "link", "iframe", "object", "base", "a"} & {*read.tags}
    assert not [a for a in read.attributes if a.startswith("on") or a in {"src", "style", "href"}]
    (script,) = re.findall(r"<script>(.*?)</script>", diff, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (rules,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', diff)
    assert f"script-src 'sha256-{digest}'" in html.unescape(rules)
    assert " hidden" not in re.sub(r"<(script|style)>.*?</\\1>", "", diff, flags=re.DOTALL)


def test_a_page_of_a_diff_has_edits_left_and_effects_right(diff) -> None:
    left, right = re.findall(
        r'<li class="beside"><div>(.*?)</div><div>(.*?)</div></li>', diff, re.DOTALL
    )[0]
    assert "team.policy" in left
    assert "<tr data-marks" in right
    marks = [json.loads(html.unescape(each)) for each in re.findall(r'data-marks="(.*?)"', diff)]
    assert all(mark.keys() == {"agent", "class"} for mark in marks)


@pytest.mark.browser
def test_rows_and_edits_are_chosen_by_agent_and_class(browser, tmp_path) -> None:
    rows = ((("read",), ("a",)), (("run",), ("a", "b")))
    items = [
        Item(name, (Grid(("",), ((name,),), ({"agent": agents, "class": kinds},)),), beside=True)
        for name, (kinds, agents) in zip("xy", rows, strict=True)
    ]
    text = re.sub(r"<meta http-equiv[^>]*>", "", page_of("t", [Section("widens", tuple(items))]))
    chosen = '<script>form.elements.agent.value = "b"; show()</script></body>'
    file = tmp_path / "diff.html"
    file.write_text(text.replace("</body>", chosen))
    dom, console = browser("--dump-dom", file.as_uri())
    assert console == ""
    assert re.findall(r'<li class="beside"([^>]*)><div>(.)', dom) == [
        (' hidden=""', "x"),
        ("", "y"),
    ]
    assert "1 of 2 shown" in dom


@pytest.mark.browser
def test_a_browser_runs_the_script_of_a_diff(browser, diff, tmp_path) -> None:
    file = tmp_path / "diff.html"
    file.write_text(diff)
    dom, console = browser("--dump-dom", file.as_uri())
    assert console == ""
    assert '<option value="scout">scout</option>' in dom
