"""Rendering: nothing wider than the page, nothing hidden, nothing that breaks out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import policy
from policy.analysis.inputs import rule_span
from policy.analysis.reach.audit import Audit, audit
from policy.cli.audit import as_json, blocks
from policy.cli.report.document import Grid, Ink, Item, Labelled, Paragraph, Section, joined
from policy.cli.report.html import page
from policy.cli.report.markdown import code, markdown
from policy.cli.report.terminal import PageLayout, clipped, excerpt, terminal, width
from policy.cli.report.words import call_text, count
from policy.core import values
from policy.core.source import Source
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from tests.conftest import FIXTURES

PIECES = st.lists(st.text("ab/ ä終\u0301", min_size=1, max_size=30), min_size=1, max_size=8)


def readings(declared: str, enforced: str) -> Workspace:
    """Return a workspace whose host enforces something else than is declared."""
    ours = load_tree(Memory({"team.policy": declared})).projects[0]
    theirs = load_tree(Memory({"team.policy": enforced})).projects[0]
    project = values.evolve(ours, enforced=theirs.enforced)
    return Workspace("<memory>", (project,))


DECLARED = """\
root main

agent main {
    allow     Read, Bash(git *), Task(helper)
    deny      Write
}

agent helper {
    allow     Read, Grep
}
"""

ENFORCED = """\
root main

agent main {
    allow     Read, Bash, Task
    deny      Write
}

agent helper {
    allow     Read, WebFetch
}
"""


# --- audits ---------------------------------------------------------------------


def test_readings_stand_side_by_side(text) -> None:
    assert terminal(blocks(audit(readings(DECLARED, ENFORCED)), None), PageLayout(80)) == text


def test_readings_stand_side_by_side_in_markdown(text) -> None:
    assert markdown(blocks(audit(readings(DECLARED, ENFORCED)), None)) == text


def test_the_witness_of_an_escalation_is_confirmed() -> None:
    workspace = readings(DECLARED, ENFORCED)
    found = audit(workspace)
    escalations = [(a, d) for p in found.projects for a in p.agents for d in a.escalations]
    assert escalations
    for agent, difference in escalations:
        assert difference.chain == agent.enforced[0].names
        for reading, decision in (
            ("attenuated", difference.before),
            ("enforced", difference.after),
        ):
            answer = workspace.chain(*difference.chain, reading=reading)
            assert answer.decide(difference.tool, difference.call).effect is decision.effect


def many(agents: int) -> Audit:
    names = [f"worker-{number}" for number in range(agents)]
    lines = ["root main", f"agent main {{ allow Read, Bash(git *), Task({', '.join(names)}) }}"]
    lines += [f"agent {name} {{ allow Read, Grep }}" for name in names]
    return audit(load_tree(Memory({"team.policy": "\n".join(lines) + "\n"})))


def test_four_hundred_agents_fit_on_a_page(text) -> None:
    shown = terminal(blocks(many(400), 6), PageLayout(80))
    assert shown == text
    assert len(shown.splitlines()) < 45


def test_all_of_them_can_be_asked_for() -> None:
    shown = terminal(blocks(many(400), None), PageLayout(80))
    assert all(f"worker-{number}" in shown for number in range(400))


def test_an_audit_says_the_same_as_json() -> None:
    (project,) = as_json(many(3))["projects"]
    assert project["starts"] == ["main"]
    assert project["agents"][0]["name"] == "main"
    worker = project["agents"][1]
    at = project["positions"][worker["attenuated"][0]["position"]]
    assert at == {"agent": "worker-0", "parent": 0, "confirm": False}
    assert project["positions"][0] == {"agent": "main", "parent": None, "confirm": False}
    read = next(each for each in worker["most"]["attenuated"] if each["tool"] == "Read")
    assert [grant["effect"] for grant in read["grants"]] == ["allow"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_of_an_audit_is_wider_than_the_page(columns) -> None:
    for name in ("claude", "hostile", "team"):
        found = audit(policy.load(FIXTURES / "command" / name))
        for colour in (False, True):
            shown = terminal(blocks(found, None), PageLayout(columns, colour))
            assert max(map(width, shown.splitlines())) <= columns


# --- pages -----------------------------------------------------------------------


@given(PIECES, st.integers(20, 60), st.sampled_from(["", "  allow  ", "終わり: "]))
def test_no_line_is_wider_than_its_page(pieces, columns, head) -> None:
    for text in (joined(Ink(piece, "strong") for piece in pieces), " ".join(pieces)):
        lines = PageLayout(columns).fill(text, head)
        assert all(width(line) <= columns for line in lines), lines


@given(PIECES, st.integers(30, 60))
def test_no_text_is_lost(pieces, columns) -> None:
    lines = PageLayout(columns).fill(joined(map(Ink, pieces)), "head ")
    told, shown = "".join(pieces), "".join(lines).removeprefix("head ")
    strip = str.maketrans("", "", " ,")
    assert shown.translate(strip) == told.translate(strip)


def test_colour_takes_up_no_room() -> None:
    plain = PageLayout(30).fill(joined(c * 9 for c in "abc"), "x ")
    painted = PageLayout(30, colour=True).fill(joined(Ink(c * 9, "allow") for c in "abc"), "x ")
    assert [width(line) for line in painted] == [width(line) for line in plain]


CELLS = st.lists(st.text("ab/ ä終", max_size=30), min_size=3, max_size=3)


@given(st.lists(CELLS, min_size=1, max_size=5), st.integers(20, 90))
def test_a_table_fits_its_page_and_loses_nothing(rows, columns) -> None:
    table = Grid(("one", "two", "three"), tuple(map(tuple, rows)))
    shown = terminal([table], PageLayout(columns))
    assert all(width(line) <= columns for line in shown.splitlines())
    letters = sorted("".join(cell for row in rows for cell in row).replace(" ", ""))
    found = re.sub(r"one|two|three|\s", "", shown)
    assert sorted(found) == letters


HOSTILE = "</style><script>alert(1)</script>`|\n# x"


def test_no_text_breaks_out_of_a_format() -> None:
    found = [
        Section(HOSTILE, (Paragraph(HOSTILE),)),
        Item((Ink(HOSTILE, "call"), HOSTILE), (Labelled(((HOSTILE, HOSTILE),)),)),
        Grid((HOSTILE,), ((HOSTILE,),)),
    ]
    assert "<script" not in page(HOSTILE, found)
    shown = markdown(found)
    assert not re.search(r"^# x|(?<!\\)<script(?![^`]*`)", shown, re.MULTILINE)


@given(st.text(max_size=40), st.integers(1, 20))
def test_what_is_clipped_fits(shown, columns) -> None:
    assert width(clipped(shown, columns)) <= columns


@given(st.text("ab \t\u202e終\x1b", min_size=1, max_size=300), st.data())
def test_an_excerpt_fits_and_hides_nothing(line, data) -> None:
    source = Source("a", line)
    start = data.draw(st.integers(0, len(line) - 1))
    end = data.draw(st.integers(start, len(line)))
    lines = excerpt(source.span(start, end), PageLayout(60))
    assert all(width(shown) <= 60 for shown in lines)
    assert not {"\x1b", "\u202e"} & set("".join(lines))
    assert lines[1].rstrip().endswith("^")


@given(st.text(max_size=30))
def test_code_does_not_end_before_it_ends(shown) -> None:
    fenced = code(shown)
    if shown:
        fence = fenced[: len(fenced) - len(fenced.lstrip("`"))]
        assert fence not in fenced[len(fence) : -len(fence)]
        assert "\n" not in fenced


@pytest.mark.parametrize(
    ("text", "in_text", "in_cell"),
    [
        ("a | b", "`a | b`", "`a \\| b`"),
        ("a `b` | c", "`` a `b` | c ``", "`` a `b` \\| c ``"),
        # Renderers differ on whether a bar behind two backslashes ends the cell.
        ("a \\| b", "`a \\| b`", "<code>a&#32;&#92;&#124;&#32;b</code>"),
        ("<b>", "`<b>`", "`<b>`"),
    ],
)
def test_a_bar_in_code_is_escaped_in_a_table_alone(text, in_text, in_cell) -> None:
    grid = Grid(("", "call"), (("1", Ink(text, "call")),))
    assert markdown([Item(Ink(text, "call"))]) == f"- {in_text}\n"
    assert markdown([grid]).splitlines()[-1] == f"| 1 | {in_cell} |"


# --- words -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "call", "shown"),
    [
        ("Bash", {"command": "git push x"}, "Bash(git push x)"),
        ("Read", {}, "Read"),
        ("Read", {"file_path": "/@project/src/a"}, "Read(src/a)"),
        ("Read", {"file_path": "/@project"}, "Read(.)"),
        ("Read", {"file_path": "/@home/.ssh"}, "Read(~/.ssh)"),
        ("Read", {"file_path": "/@projects"}, "Read(/@projects)"),
        ("Bash:read", {"file": "/etc/passwd"}, "Bash reading /etc/passwd"),
        ("Bash", {"command": "a\nb\x1b[2J"}, "Bash(a\\nb\\x1b[2J)"),
        ("mcp__x", {"a": 1, "b": "c"}, 'mcp__x {"a": 1, "b": "c"}'),
    ],
)
def test_a_call_is_readable(tool, call, shown) -> None:
    assert call_text(tool, call) == shown


def test_what_is_counted_is_counted_in_words() -> None:
    assert [count(n, "agent") for n in (0, 1, 2, 1200)] == [
        "no agents",
        "1 agent",
        "2 agents",
        "1,200 agents",
    ]


def test_a_rule_is_found_in_quotes_and_without() -> None:
    from policy.core.decision import Because
    from policy.core.effect import Effect
    from policy.core.source import Place

    source = Source("a", '{"deny": ["Bash(git push *)", x]}\n')
    because = Because("Bash(git push *)", Effect.DENY, "main", Place("a", 1, 11))
    span = rule_span(because, source)
    assert span is not None
    assert span.text == '"Bash(git push *)"'
    moved = values.evolve(because, place=Place("a", 9, 1))
    assert rule_span(moved, source) is None, "the file is another one by now"


def test_values_of_the_engine_have_a_short_repr() -> None:
    workspace = policy.load(FIXTURES / "command" / "team")
    chain = workspace.chain("main", "worker")
    (project,) = workspace.projects
    for value in (workspace, project, chain, chain.table, chain.table.use.parts[0].rules):
        assert len(repr(value)) < 200
        assert repr(value).startswith("<")


# --- tables -----------------------------------------------------------------------


def test_a_row_of_one_cell_spans_the_table() -> None:
    rows = (("a/long/path/of/a/project", "", ""), ("main", "any", "-"))
    assert terminal([Grid(("agent", "x", "y"), rows)], PageLayout(30)).splitlines() == [
        "agent  x    y",
        "a/long/path/of/a/project",
        "main   any  -",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_word_of_a_table_is_broken_where_it_fits_a_line(width) -> None:
    words = ["mcp__github__list", "deployment", "settings.local", "npm run build", "secrets/**"]
    text = terminal([Grid(tuple("abcde"), (tuple(words),) * 2)], PageLayout(width))
    for word in " ".join(words).replace("/", "/ ").split():
        assert text.count(word) == 2
