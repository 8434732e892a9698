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
from policy.compare.tables import differences
from policy.compare.witness import (
    CHANGES,
    CallShape,
    Difference,
    _commands,
    _paths,
    _texts,
    is_ordinary,
    of_direction,
    ordinary,
)
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import Workspace, load_tree
from policy.patterns.pattern import Pattern
from policy.tables.calls import Unreadable, argument_text
from policy.tables.chain import Chain
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from tests.strategies import table

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
_CLAUDE = Chain.start("main", settings("").projects[0].enforced).table.use.parts[0].rules.dialect
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


@pytest.mark.parametrize("was", Effect)
@pytest.mark.parametrize("now", Effect)
def test_a_difference_has_the_direction_of_its_effects(was: Effect, now: Effect) -> None:
    found = Difference("Bash", {}, *(Decision(each, Reason.RULE) for each in (was, now)))
    assert found.widened is (was < now)
    if was is not now:
        assert ((was, now) in of_direction(widened=True)) is (was < now)
        assert ((was, now) in of_direction(widened=False)) is (was > now)
        others = [each for each in CHANGES if found.is_like(each)]
        assert set(others) == of_direction(widened=was < now)


def test_the_first_hundred_differences_are_shown_by_calls_that_people_make() -> None:
    sides = table("allow Bash(git *)"), table("allow Bash(git *)", "ask Bash(git push *)")
    found = next(each for each in differences(*sides).differences if each.tool == "Bash")
    made_up = values.evolve(found, call={"command": "git push q"})
    look_up = [each.lookup for each in sides]
    dialect = sides[0].use.parts[0].rules.dialect
    shown = [each.call["command"] for each in ordinary([made_up] * 102, dialect, look_up)]
    assert shown == ["git push origin main"] * 100 + ["git push q"] * 2


def test_a_name_that_no_rule_names_is_free_however_many_rules_name() -> None:
    taken = {"argument", "input", "text", "value", "content", *map(str, range(150))}
    shape = CallShape(_DIALECT, Argument(_KIND.TEXT, ()), named=frozenset(taken))
    assert shape.call("x") == {"150": "x"}


@pytest.mark.parametrize(
    ("pattern", "commands"),
    [
        ("npm test", ["npm test"]),
        ("git push *", ["git push origin main", "git push --force", "git push", "git push build"]),
        ("npm:*", ["npm install", "npm run build", "npm test", "npm", "npm build", "npm main"]),
        ("sudo *", ["sudo apt install jq", "sudo", "sudo build", "sudo main", "sudo src/app.py"]),
        ("* --force", ["git push --force", "npm --force", "git push --force", "make --force"]),
        ("git * main", ["git push origin main", "git commit -m fix main"]),
        ("docker run * bash", ["docker run alpine bash", "docker run build bash"]),
        ("make*", ["make"]),
        ("*", []),
        ("* *", []),
    ],
)
def test_a_pattern_is_completed_with_words_that_people_know(pattern, commands) -> None:
    found = [*_commands(pattern)]
    assert found[: len(commands)] == commands
    assert bool(found) is bool(commands)
    wanted = Pattern.text(pattern.replace(":*", " *"))
    assert sum(wanted.matches(text) for text in found) >= len(commands) // 2


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (".env", [".env", ".env"]),
        (".env*", [".env", ".envlocal"]),
        ("src/**", ["src/app.py", "src/notes.txt", "src"]),
        ("./x/*", ["x/app.py", "x/notes.txt", "x"]),
        ("//etc/**", ["/etc/hosts", "/etc/notes.txt", "/etc", "etc/hosts", "etc/notes.txt", "etc"]),
        ("~/.ssh/**", ["~/.ssh/id_rsa", "~/.ssh/notes.txt", "~/.ssh"]),
        ("*.pem", ["key.pem"]),
        ("**/*.ts", ["app.ts"]),
        ("**", ["src/app.py", "src/notes.txt", "src"]),
        ("a/*b", ["a/b", "a/appb"]),
        ("/a", ["/a", "/a", "a", "a"]),
        ("//*", ["/app.py", "/notes.txt", "/", "app.py", "notes.txt", ""]),
    ],
)
def test_a_pattern_of_paths_is_completed_with_files_that_people_know(pattern, paths) -> None:
    assert [*_paths(pattern)] == paths


@pytest.mark.parametrize(
    ("kind", "rules", "texts"),
    [
        ("COMMAND", ["Bash(npm test)"], ["npm test"]),
        ("COMMAND", ["Read(.env)"], ["cat .env", "head .env", "git diff .env"]),
        ("COMMAND", ["Read(/a)"], ["cat /a", "head /a", "git diff /a"]),
        # One rule names the folder, and another the file in it.
        ("PATH", ["Read(src/**)", "Read(*.pem)"], ["src/app.py", "src/notes.txt", "src", "key.pem", "src/key.pem", "/app.py"]),
        ("URL", ["WebFetch(domain:*.a.com)"], ["https://api.a.com/"]),
        ("URL", ["WebFetch(domain:*)"], ["https://example/"]),
        ("TEXT", ["Task(a, b)"], ["a", "b"]),
        ("TEXT", ["Task(a*)"], []),
        ("TEXT", ["Task"], []),
    ],
)  # fmt: skip
def test_a_call_is_tried_with_the_words_of_rules_first(kind, rules, texts) -> None:
    found = [*_texts(_CLAUDE, ArgumentKind[kind], rules)]
    assert found[: len(texts)] == texts
    if kind == "COMMAND":  # and behind a program that starts it, or in quotes
        assert ("time npm test" in found) is (rules == ["Bash(npm test)"])
        assert ("echo 'npm test'" in found) is (rules == ["Bash(npm test)"])


def test_a_text_that_is_no_object_is_an_argument() -> None:
    shape = CallShape(_DIALECT, Argument(_KIND.JSON, ()))
    assert shape.call('{"a":1}') == {"a": 1}
    assert shape.call("[1]") == shape.call("[1]") == {"argument": "[1]"}
    assert shape.call("{") == {"argument": "{"}
