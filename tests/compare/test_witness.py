"""Witnesses that people would type: of pairs of rules, the call that shows the change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from policy.analysis.attribution import EditEffect
from policy.analysis.diff import Change, diff_workspaces
from policy.cli.report.changes import change_rows
from policy.cli.report.words import call_text
from policy.compare.witness import CallShape, is_ordinary
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.tables.calls import Unreadable, argument_text
from policy.tables.dialect import Argument, ArgumentKind, Dialect

# Rules before, rules after, and what shows the change: a row each.
ROWS = [
    [cell.strip() for cell in re.split(r"=>|\|", line)]
    for line in (Path(__file__).parent / "witnesses.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def settings(rules: str) -> Workspace:
    """Return the workspace of some rules, in a mode if they begin as `in plan`."""
    mode = re.match(r"in (\w+)", rules)
    lists: dict[str, list[str] | str] = {"defaultMode": mode[1]} if mode else {}
    for effect, rule in re.findall(r"(allow|ask|deny) ([^ (]+(?:\([^)]*\))?)", rules):
        lists.setdefault(effect, []).append(rule)
    return load_tree(Memory({".claude/settings.json": json.dumps({"permissions": lists})}))


def shown(before: str, after: str) -> list[tuple[str, Change]]:
    """Return the witnesses of a change in the order in which they are told."""
    old, new = settings(before), settings(after)
    diff = diff_workspaces(old, new, readings=("enforced",))
    changes = tuple(change for change in diff.changes if change.chain == ("main",))
    classes = {project.title: project.tool_classes for project in new.projects}
    rows = change_rows(EditEffect((), changes), classes)
    return [(call_text(*call), row.changes[0]) for row in rows for call in row.calls]


def test_there_are_sixty_pairs_of_rules() -> None:
    assert len(ROWS) >= 60


@pytest.mark.parametrize(("before", "after", "witness"), ROWS)
def test_a_change_is_shown_by_the_call_that_people_think_of(before, after, witness) -> None:
    found = shown(before, after)
    assert found[0][0] == witness
    assert is_ordinary({"": found[0][0].partition("(")[2].rstrip(")")})


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/w/a/x", "x"),
        ("/w/a", "."),
        ("/w/a/ x", "./ x"),  # else its blank could be trimmed
        ("/h/x", "~/x"),
        ("/h", "~"),
        ("/hx", "/hx"),
        ("/w/ab", "/w/ab"),
        ("", "/"),
    ],
)
def test_a_path_is_shown_as_people_type_it(path: str, typed: str) -> None:
    shape = CallShape(Dialect("test", cwd="/w/a", home="/h"), Argument(ArgumentKind.PATH, ("p",)))
    assert shape.call(path) == {"p": typed}


_KIND = ArgumentKind
_DIALECT = Dialect("test", cwd="/w/a", home="/h")


@pytest.mark.parametrize(
    ("argument", "texts", "impossible"),
    [
        (Argument(_KIND.TEXT, ("a",)), ["x", "a b", ""], []),
        (Argument(_KIND.TEXT, ()), ["x", ""], []),
        (Argument(_KIND.LENIENT, ("a",)), ["x", ""], []),
        (Argument(_KIND.COMMAND, ("a",)), ["git status", "ls 'a b'"], ["", " x", "a;b", "x "]),
        (Argument(_KIND.PATH, ("a",)), ["/w/a/x", "/w/a", "/w/a/ x", "/h/x", "/x ", ""], ["x", "/x/"]),
        (Argument(_KIND.PATH, ("a",), trimmed=True), ["/w/a/x", "/w/a/ x", "/a b"], ["/x "]),
        (Argument(_KIND.URL, ("a",)), ["example.com", "a.b"], ["", "a..b"]),
        (Argument(_KIND.JOINED, ("a", "b")), ["x y", "x y z", "x ", " y"], ["x"]),
        (Argument(_KIND.JSON, ()), ['{"a":"x y"}', "{}", '{"a":"\\n"}'], ["x", '{"a":1}']),
        (Argument(_KIND.FILES, ("a", "b")), ["x", ""], []),
    ],
)  # fmt: skip
def test_a_call_that_shows_a_text_is_read_as_this_text(argument, texts, impossible) -> None:
    shape = CallShape(_DIALECT, argument)
    for text in texts:
        assert argument_text(argument, _DIALECT, shape.call(text)) == text
        assert shape.domain.holds(text)
    assert not any(map(shape.domain.holds, impossible))


def test_a_path_is_shown_with_its_folders_in_their_own_letters() -> None:
    dialect = Dialect("test", cwd="/w", fold=True, cased=("/P", "/P/Docs", "/Q"))
    shape = CallShape(dialect, Argument(_KIND.PATH, ("a",)))
    assert [shape.call(text)["a"] for text in ("/p/docs/x", "/p/docs", "/p/x", "/px", "/q")] == [
        "/P/Docs/x",
        "/P/Docs",
        "/P/x",
        "/px",
        "/Q",
    ]


def test_a_call_of_several_arguments_is_read_as_their_json() -> None:
    argument = Argument(_KIND.TEXT, ())
    shape = CallShape(_DIALECT, argument, {"k": "v"}, named=frozenset({"k", "argument"}))
    text = '{"input":"x y","k":"v"}'
    assert shape.domain.holds(text)
    assert not shape.domain.holds('{"input":"x","k":"w"}')
    assert not shape.domain.holds('{"input":"\t","k":"v"}')
    assert shape.call(text) == {"input": "x y", "k": "v"}
    assert argument_text(argument, _DIALECT, shape.call(text)) == text


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        (Argument(_KIND.TEXT, ()), None),
        (Argument(_KIND.LENIENT, ("a",)), None),
        (Argument(_KIND.JSON, ()), None),
        (Argument(_KIND.TEXT, ("a",)), {}),
        (Argument(_KIND.PATH, ("a",), absent="."), {"a": None}),
    ],
)
def test_a_call_that_cannot_be_read_is_one_that_no_rule_is_asked_about(argument, call) -> None:
    shape = CallShape(_DIALECT, argument)
    assert shape.unreadable() == call
    if call is not None:
        with pytest.raises(Unreadable):
            argument_text(argument, _DIALECT, call)
