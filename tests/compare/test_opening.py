"""Commands that open files: which ones are tried, and which changes of files they show."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from policy.commands.knowledge import Files, Program, Programs
from policy.compare.commands import CommandPair
from policy.compare.opening import (
    _openers,
    _Openings,
    _redirected,
    opening_differences,
    reading,
)
from policy.compare.pair import OVERLAPS
from policy.compare.witness import CHANGES, CallShape, Difference, Effects
from policy.core import values
from policy.core.decision import Decision, Reason
from policy.core.effect import Effect
from policy.hosts.claude.dialect import _SHELL
from policy.hosts.notation.semantics import DIALECT
from policy.tables.table import Table
from tests.strategies import table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

_PROGRAMS = Programs(
    {
        "put": Program(harmless=False, writes=Files.ALL),
        "last": Program(harmless=False, reads=Files.BUT_LAST),
        "none": Program(),
        "cat": Program(reads=Files.ALL),
        "need": Program(flags="-i", needs="-i", reads=Files.ALL),
        "expr": Program(reads=Files.REST, first="p"),
        "del": Program(harmless=False, removes=True, writes=Files.ALL),
        "git": Program(harmless=False, subcommands={"show": Program(reads=Files.ALL)}),
    }
)
_OPENING = values.evolve(_SHELL, programs=_PROGRAMS)


def test_each_program_that_opens_files_is_tried_with_one_the_harmless_first() -> None:
    found = _openers(_OPENING)
    assert list(found) == ["Bash:write", "Bash:read", "Bash:remove"]
    assert found["Bash:read"] == [
        "cat q7w", "cat q7z q7w", "cat q7w q7z",
        "need -i q7w", "need -i q7z q7w", "need -i q7w q7z", "expr p q7w",
        "git show q7w", "git show q7z q7w", "git show q7w q7z",
        "last q7w", "last q7w q7z", "need q7w", "need q7z q7w", "need q7w q7z", "expr q7z q7w",
    ]  # fmt: skip
    assert found["Bash:remove"] == ["del q7w", "del q7z q7w", "del q7w q7z"]
    assert found["Bash:write"] == [f"{name} {rest}" for name in ("put", "del") for rest in _RESTS]
    assert _openers(DIALECT.shell) == {}


_RESTS = ("q7w", "q7z q7w", "q7w q7z")


def test_a_program_is_known_that_only_reads_its_file() -> None:
    assert reading(_OPENING) == "cat"
    only = Programs({"expr": _PROGRAMS["expr"], "show": Program(reads=Files.ALL)})
    assert reading(values.evolve(_SHELL, programs=only)) == "show"
    assert reading(DIALECT.shell) == "cat"


def test_a_redirection_opens_a_file_as_the_tool_of_its_direction() -> None:
    files = DIALECT.shell.files
    assert files.output != files.input
    assert [*_redirected("a", files.output, "f", DIALECT.shell)] == ["a > f"]
    assert [*_redirected("a", files.input, "f", DIALECT.shell)] == ["a < f"]
    assert [*_redirected("a", "Glob", "f", DIALECT.shell)] == []
    both = values.evolve(files, input=files.output)
    shell = values.evolve(DIALECT.shell, files=both)
    assert [*_redirected("a", files.output, "f", shell)] == ["a > f", "a < f"]


# --- the changes that commands show of a file ---------------------------------------------------


def _opened(
    before: Table, after: Table, tool: str, known: Iterable[Effects] = ()
) -> tuple[CommandPair, list[tuple[str, Effects]]]:
    """Return the comparison of commands, and what shows the change of a file `b`."""
    lookups = before.lookup("Bash"), after.lookup("Bash")
    pair = CommandPair("Bash", *lookups, CallShape(DIALECT, DIALECT.argument("Bash")))
    call = {"file_path": f"{DIALECT.cwd}/b"}
    file = Difference(tool, call, *(each.decide(tool, call) for each in (before, after)))
    found = opening_differences(pair, {tool: [file]}, known)
    return pair, [(str(each.call["command"]), each.effects) for each in found]


def _shown(
    before: Table, after: Table, tool: str, path: str, known: set[Effects]
) -> list[tuple[str, Effects]]:
    argument = DIALECT.argument("Bash")
    lookups = before.lookup("Bash"), after.lookup("Bash")
    pair = CommandPair("Bash", *lookups, CallShape(DIALECT, argument))
    call = {"file_path": path}
    was, now = (each.decide(tool, call) for each in (before, after))
    opened = {tool: [Difference(tool, call, was, now)]} if tool else {}
    found = opening_differences(pair, opened, known)
    return [(str(each.call["command"]), each.effects) for each in found]


@pytest.mark.parametrize(
    ("rules", "added", "path", "shown"),
    [
        # A redirection of a command that is granted more than the file.
        (["allow Bash(a *)", "allow Read(b)"], "deny Read(b)", "b", [("a < b", (ALLOW, DENY))]),
        (["ask Bash(a *)", "allow Read(b)"], "deny Read(b)", "b", [("a < b", (ASK, DENY))]),
        # Nothing is granted more than the file.
        (["deny Bash(a *)", "allow Read(b)"], "deny Read(b)", "b", []),
        # A path outside of the project, and one that must be quoted.
        (["allow Bash(a *)", "allow Read(//x/b)"], "deny Read(//x/b)", "/x/b",
         [("a < /x/b", (ALLOW, DENY))]),
        (["allow Bash(a *)", "allow Read(b c)"], "deny Read(b c)", "b c",
         [("a < 'b c'", (ALLOW, DENY))]),
    ],
)  # fmt: skip
def test_a_command_shows_the_change_of_a_file_that_it_opens(rules, added, path, shown) -> None:
    before, after = table(*rules), table(added, *rules)
    full = path if path.startswith("/") else f"{DIALECT.cwd}/{path}"
    found = _shown(before, after, "Read", full, set())
    assert [(text, effects) for text, effects in found if effects in CHANGES] == shown
    assert found == shown


def test_no_command_is_tried_where_no_file_changes() -> None:
    assert _shown(table("allow Bash(a *)"), table("allow Bash(a *)"), "", "", set()) == []


def test_a_redirection_shows_a_change_that_other_commands_have_shown() -> None:
    before, after = table("allow Bash(a *)", "allow Read(b)"), table("allow Bash(a *)")
    file = f"{DIALECT.cwd}/b"
    shown = [("a < b", (ALLOW, DENY))]
    assert _shown(before, after, "Read", file, set()) == shown
    assert _shown(before, after, "Read", file, set(CHANGES)) == shown
    assert _shown(after, before, "Read", file, set()) == [("a < b", (DENY, ALLOW))]


def test_of_lists_that_are_met_the_strictest_decides_an_unknown_file() -> None:
    asking = table("allow Bash(a *)", "ask Read(b)", default=ALLOW)
    before, after = table("allow Bash(a *)", "allow Read"), table("allow Bash(a *)", "ask Read")
    changes = {effects for _, effects in _shown(before, after, "Read", "/b", set())}
    assert changes == {(ALLOW, ASK)}
    assert {e for _, e in _shown(before & asking, after & asking, "Read", "/b", set())} == changes


def test_nothing_further_is_tried_where_each_change_of_a_file_is_shown() -> None:
    rules = ["allow Bash(a *)", "ask Bash(b *)"]
    pair, found = _opened(
        table(*rules, "allow Read(b)"), table(*rules, "deny Read(b)"), "Read", {*CHANGES}
    )
    assert [effects for _, effects in found] == [(ALLOW, DENY)]
    redirected = [text for text in pair.known if "<" in text]
    assert redirected == ["q7z < b", "a < b"]  # the first shows nothing


def test_lines_that_grant_are_completed_with_a_file_and_put_before_programs_that_open_it() -> None:
    rules = [
        *("deny Bash(rm *)", "ask Bash(b *)", "ask Bash(sudo *)", "allow Bash(a *)"),
        *("allow Bash(cat *)", "allow Bash(xargs -0 *)"),
    ]
    pair = _opened(table(*rules), table(*rules), "Read")[0]
    openings = _Openings(pair, values.evolve(_OPENING, programs=Programs(_CAT)))
    granting = [str(each) for each in openings._granting]
    granted = [text for text in granting if text.endswith(" *")]
    assert granted == ["a *", "cat *", "xargs -0 *", "b *", "sudo *"]
    assert [text for text in openings._with("Bash:read", "f") if "f" in text] == [
        *("cat f", "cat q7z f", "cat f q7z", "a f", "cat f"),
        *("xargs -0 f", "xargs -0 cat f", "xargs -0 cat q7z f", "xargs -0 cat f q7z"),
        *("b f", "sudo f", "sudo cat f", "sudo cat q7z f", "sudo cat f q7z"),
    ]
    assert next(openings._with("Bash:write", "f")) in ("a", "a f")  # no program writes


_CAT = {"cat": Program(reads=Files.ALL)}


def test_each_program_is_tried_with_a_file_of_unknown_name() -> None:
    pair = _opened(table("allow Bash(a *)"), table("allow Bash(a *)"), "Read")[0]
    texts = [*_Openings(pair, _OPENING)._opening_unknown(())]
    for name in ("put", "last", "cat", "need", "expr", "del", "git"):
        assert any(f"{name} " in text and "$x" in text for text in texts), name
    forms = {text.partition("put")[0] for text in texts if "put" in text}
    assert forms == {"", "cd q7z && ", "((", "cd q7z & "}


def test_a_file_that_more_lines_might_open_than_are_tried_is_not_compared_in_silence() -> None:
    for number, why in ((199, []), (200, []), (201, [OVERLAPS])):
        rules = [f"allow Bash(a{n})" for n in range(number)]
        before, after = table(*rules, "allow Read(b)"), table(*rules, "deny Read(b)")
        pair = _opened(before, after, "Read")[0]
        assert not pair.why  # a redirection shows it
        files = values.evolve(DIALECT.shell.files, input="")
        openings = _Openings(pair, values.evolve(DIALECT.shell, files=files))
        call = {"file_path": "b"}
        was, now = (each.decide("Read", call) for each in (before, after))
        assert list(openings.of("Read", Difference("Read", call, was, now), set())) == []
        assert [*pair.why] == why


@pytest.mark.parametrize("files", ["allow Read", "ask Read"])
def test_a_list_that_is_met_restricts_an_unknown_file(files: str) -> None:
    beside = table("allow Bash", "ask Read", default=ALLOW)
    before, after = table("allow Bash", files), table("allow Bash", "deny Read")
    pair = _opened(before & beside, after & beside, "Read")[0]
    assert _Openings(pair, _OPENING)._of_unknown("Read") == {(ASK, DENY)}


def test_of_files_with_one_outcome_and_reason_three_are_tried(monkeypatch) -> None:
    pair = _opened(table("allow Bash(a *)"), table("allow Bash(a *)"), "Read")[0]
    rule, default = (Decision(DENY, reason) for reason in (Reason.RULE, Reason.DEFAULT))
    allowed = Decision(ALLOW, Reason.RULE)
    files = [Difference("Read", {"p": f"/{n}"}, allowed, rule) for n in range(5)]
    files.insert(1, Difference("Read", {"p": "/x"}, allowed, default))
    tried: list[object] = []

    def of(self: object, tool: str, file: Difference, shown: object) -> tuple[()]:
        tried.append(file.call["p"])
        return ()

    monkeypatch.setattr(_Openings, "of", of)
    assert list(opening_differences(pair, {"Read": files}, ())) == []
    assert tried == ["/0", "/1", "/2", "/x"]
