"""The command as people use it: what it prints, and how it exits."""

from __future__ import annotations

import io
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec

import pytest

import policy
from policy.cli import main, verbs
from policy.cli.console import Console
from policy.cli.options import formats_of, parser_of
from tests.conftest import FIXTURES

COMMAND = FIXTURES / "command"


@pytest.fixture(autouse=True)
def in_the_fixtures(monkeypatch):
    monkeypatch.chdir(COMMAND)
    monkeypatch.delenv("POLICY_DEBUG", raising=False)


@pytest.fixture
def run(capsys):
    """Run the command; return its status, what it printed and what it complained of."""

    def running(*arguments):
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse
            status = stop.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return running


def git(*arguments, cwd):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        cwd=cwd, check=True, capture_output=True,
    )  # fmt: skip


# --- what is printed, pinned ------------------------------------------------------

PRINTED = {
    "check-ask": ["check", "team", "Bash(git push origin)"],
    "check-allow-and-deny": ["check", "team", "Read(a)", "Bash(git push --force x)", "Bash"],
    "check-parts": ["check", "team", "Bash(git diff a | tee b; git push origin $(make x))"],
    "check-parts-nobody-can-tell": ["check", "claude", "Bash(for i in a; do ls $i; done)"],
    "check-parts-markdown": ["check", "team", "Bash(git diff a > b)", "--format", "markdown"],
    "check-deep-chain": ["check", "team", "--chain", "main>worker>worker", "Edit(src/app.py)"],
    "check-spawn-denied": ["check", "team", "--chain", "main>explore>worker", "Read(a)"],
    "check-markdown": ["check", "team", "Bash(git push x)", "--format", "markdown"],
    "check-json": ["check", "team", "Bash(git push x)", "--format", "json"],
    "audit": ["audit", "team"],
    "audit-malformed": ["audit", "malformed"],
    "audit-unread": ["audit", "unread"],
    "audit-hostile-names": ["audit", "hostile"],
    "audit-markdown": ["audit", "team", "--format", "markdown"],
    "audit-claude-code": ["audit", "claude"],
    "audit-risks": ["audit", "risks"],
    "audit-monorepo": ["audit", "monorepo"],
    "audit-of-one-agent": ["audit", "claude", "--agent", "main"],
    "audit-all": ["audit", "team", "--all"],
    "audit-of-nothing": ["audit", "maximum"],
    "audit-github": ["audit", "../zeph-not-handed-down", "--format", "github"],
    "diff": ["diff", "team", "team-changed"],
    "diff-risks": ["diff", "risks", "risks-changed"],
    "diff-back": ["diff", "team-changed", "team", "--all"],
    "diff-of-nothing": ["diff", "team", "team"],
    "diff-unread": ["diff", "unread-before", "unread"],
    "diff-malformed": ["diff", "team", "malformed-team"],
    "diff-markdown": ["diff", "team", "team-changed", "--format", "markdown"],
    "diff-renamed": ["diff", "names-before", "names"],
    "diff-renamed-github": ["diff", "names-before", "names", "--format", "github"],
    "lint": ["lint", "lint"],
    "lint-diff": ["lint", "lint", "--diff"],
    "lint-markdown": ["lint", "lint", "--format", "markdown"],
    "diff-max": ["diff", "team", "team-changed", "--max", "maximum/most.policy"],
    "query": ["query", "Bash(git diff *)", "team"],
    "query-not": ["query", "Edit", "team", "--not"],
    "query-markdown": ["query", "Edit", "team", "--format", "markdown"],
    "test": ["test", "claims"],
    "test-examples": ["test", "examples", "-v"],
    "test-examples-unmet": ["test", "examples-unmet"],
    "lint-examples-unmet": ["lint", "examples-unmet"],
    "test-verbose": ["test", "claims", "-v"],
    "test-markdown": ["test", "claims", "--format", "markdown"],
    "convert": ["convert", "team", "--to", "a3s"],
    "fmt-diff": ["fmt", "--diff", "loose"],
    "fmt-malformed": ["fmt", "--check", "malformed"],
    "no-such-agent": ["check", "team", "--chain", "main>exlpore", "Read(a)"],
    "several-starts": ["check", "two-roots", "Read(a)"],
    "no-such-path": ["audit", "nowhere"],
    "no-such-verb": ["aduit"],
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed(name, run, text) -> None:
    status, out, err = run(*PRINTED[name])
    assert f"$ policy {' '.join(PRINTED[name])}\n{out}--- stderr\n{err}--- exit {status}\n" == text


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(name, columns, capsys, monkeypatch) -> None:
    if any(
        word in name for word in ("markdown", "json", "github", "fmt-diff", "lint-diff", "convert")
    ):
        return
    monkeypatch.setattr("policy.cli.console._WIDTH", columns)
    main(PRINTED[name])
    printed = capsys.readouterr()
    from policy.cli.report.terminal import width

    for line in (printed.out + printed.err).splitlines():
        assert width(line) <= columns or line.startswith("policy: error"), line


# --- exit statuses --------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["check", "team", "Read(a)"], 0),
        (["check", "team", "Read(a)", "Grep(x)"], 0),
        (["check", "team", "Edit(src/a)"], 1),
        (["check", "team", "Read(a)", "Write(a)"], 1),
        (["check", "team", "--chain", "main>explore>main", "Read(a)"], 1),
        (["check", "team"], 2),
        (["check", "team", "Bash(("], 2),
        (["check", "team", "--chain", "main>", "Read(a)"], 2),
        (["check", "team", "--chain", "nobody", "Read(a)"], 2),
        (["check", "team", 'Read({"file_path": "a"})'], 0),
        (["check", "team", "--calls", "/nowhere"], 2),
        (["check", "malformed/broken.policy", "Read(a)"], 2),
        (["check", "malformed", "--chain", "main", "Read(a)"], 0),
        (["audit", "team"], 0),
        (["audit", "malformed"], 2),
        (["diff", "team", "team-changed"], 0),
        (["diff", "team", "team-changed", "--fail-on", "widened"], 1),
        (["diff", "team-changed", "team", "--fail-on", "any"], 1),
        (["diff", "team", "team", "--fail-on", "any"], 0),
        (["diff", "team", "malformed-team"], 2),
        (["diff", "malformed-team", "team"], 0),
        (["diff", "team"], 2),
        (["diff", "team", "team", "--max", "maximum/most.policy"], 0),
        (["diff", "team", "team-changed", "--max", "maximum/most.policy"], 1),
        (["diff", "team", "team", "--max", "team/team.policy"], 2),
        (["diff", "team", "team", "--max", "nowhere"], 2),
        (["query", "Edit", "team"], 0),
        (["query", "WebFetch", "team"], 1),
        (["query", "Edit", "team", "--not"], 0),
        (["query", "Bash((", "team"], 2),
        (["query", "Edit", "malformed"], 2),
        (["lint", "team"], 0),
        (["lint", "lint"], 1),
        (["lint", "malformed"], 2),
        (["lint", "nowhere"], 2),
        (["lint", "lint", "--baseline", "nowhere"], 2),
        (["diff", "no-such-revision"], 2),
        (["test", "claims"], 1),
        (["test", "claims-that-hold"], 0),
        (["test", "examples"], 0),
        (["test", "examples-unmet"], 2),
        (["audit", "examples-unmet"], 2),
        (["check", "--chain", "main", "examples-unmet", "Bash(git log)"], 2),
        (["test", "claims-that-fail"], 1),
        (["test", "team"], 2),
        (["test", "malformed"], 2),
        (["fmt", "--check", "team"], 0),
        (["fmt", "--check", "loose"], 1),
        (["fmt", "--check", "malformed"], 2),
        (["fmt", "nowhere.policy"], 2),
        (["--version"], 0),
        (["--help"], 0),
        (["audit", "--help"], 0),
        (["audit", "--nonsense"], 2),
        ([], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)  # fmt: skip
def test_exit_status(arguments, status, run) -> None:
    assert run(*arguments)[0] == status


@pytest.mark.parametrize("verb", sorted({*verbs()["verbs"]} - {"hook"}))  # it has its own
def test_the_help_of_a_verb_fits_on_a_screen(verb: str) -> None:
    lines = parser_of(verb).format_help().splitlines()
    assert len(lines) <= 40
    assert all(len(line) <= 100 for line in lines)
    first = "\n".join(lines).partition("\noptions:")[2].partition("\n\n")[0]
    assert first.count("\n  -") <= (6 if verb in ("check", "audit", "lint", "diff") else 9)


# --- query --------------------------------------------------------------------


def test_the_shape_of_the_answer_to_a_query(run) -> None:
    _, out, _ = run("query", "Edit", "team", "--format", "json", "--reading", "enforced")
    answer = json.loads(out)
    assert answer.keys() == {"matcher", "answers", "without", "exact", "why"}
    assert {one["agent"] for one in answer["answers"]} == {"main", "worker"}
    for one in answer["answers"]:
        witness = one["witness"]
        again = run(
            "check", "team", "--chain", ">".join(one["chain"]), "--reading", one["reading"],
            f"{witness['tool']}({json.dumps(witness['input'])})", "--format", "json",
        )[1]  # fmt: skip
        assert json.loads(again)["effect"] == one["effect"]
    assert {one["agent"] for one in answer["without"]} == {"explore", "forgotten", "reviewer"}


def test_what_is_granted_beyond_a_maximum_is_in_every_format(run) -> None:
    arguments = ["diff", "team", "team-changed", "--max", "maximum/most.policy", "--format"]
    answer = json.loads(run(*arguments, "json")[1])
    assert [one["to"] for one in answer["excess"] if one["reading"] == "enforced"] == ["allow"] * 3
    assert "## beyond the maximum (3)" in run(*arguments, "markdown")[1]
    assert "title=beyond-maximum" in run(*arguments, "github")[1]
    assert "beyond-maximum" in run(*arguments, "sarif")[1]


# --- check ------------------------------------------------------------------------


def test_a_stream_of_calls_answers_line_by_line(run, monkeypatch) -> None:
    lines = [
        '{"tool": "Bash", "input": {"command": "git diff x"}}',
        "",
        '{"tool": "Read", "input": {"file_path": "a"}, "chain": ["main", "explore"]}',
        '{"tool": "Bash", "input": {"command": "ls"}, "chain": "main>explore"}',
        '{"tool": "Bash", "input": {"command": "ls"}, "chain": ["main", "nobody"]}',
        '{"tool": 1}',
        '{"tool": "Bash", "input": {"command": "a", "command": "git diff x"}}',
        "[" * 100_000,
        "nonsense",
    ]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    status, out, _ = run("check", "team", "--calls", "-", "--format", "json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert [a["effect"] for a in answers] == ["allow", "allow", *["deny"] * 6]
    assert [a["reason"] for a in answers[2:4]] == ["default", "malformed-call"]
    assert [bool(a.get("problem")) for a in answers] == [False, False, False, *[True] * 5]
    assert status == 2


def test_the_shape_of_an_answer(run) -> None:
    _, out, _ = run("check", "team", "--format", "json", "Bash(git push x)")
    answer = json.loads(out)
    assert answer["chain"] == ["main"]
    assert answer["call"] == {"tool": "Bash", "input": {"command": "git push x"}}
    assert (answer["effect"], answer["reason"], answer["reading"]) == ("ask", "rule", "attenuated")
    assert answer["because"] == [
        {
            "rule": "Bash(git push *)", "effect": "ask", "link": "main",
            "file": "team.policy", "line": 5, "column": 29,
        }
    ]  # fmt: skip
    assert answer["table"].startswith("sha256:")
    assert answer["profile"] == "policy@1"


def test_a_denied_spawn_has_the_shape_of_an_answer(run) -> None:
    arguments = ["check", "team", "--chain", "main>explore>worker", "Read(a)", "--format", "json"]
    status, out, _ = run(*arguments)
    answer = json.loads(out)
    assert status == 1
    assert (answer["effect"], answer["reason"]) == ("deny", "default")
    assert answer["denied"] == "worker"
    assert answer["message"] == "`worker` may not be started here: nothing in `explore` grants it"
    assert answer["chain"] == ["main", "explore", "worker"]
    assert answer["because"] == []
    assert answer["table"].startswith("sha256:")


def test_the_links_that_must_confirm_a_start_are_shown(run) -> None:
    _, out, _ = run("check", "team", "--chain", "main>worker", "Read(a)", "--format", "json")
    assert json.loads(out)["confirm"] == {"worker": ["main"]}


def test_all_arguments_of_a_call_can_be_given_as_json(run) -> None:
    _, out, _ = run("check", "team", "--format", "json", 'Bash({"command": "git push x"})')
    assert json.loads(out)["call"] == {"tool": "Bash", "input": {"command": "git push x"}}


# --- diff ---------------------------------------------------------------------------


def test_the_shape_of_a_diff(run) -> None:
    _, out, _ = run("diff", "team", "team-changed", "--format", "json")
    diff = json.loads(out)
    assert diff["exact"] is True
    assert diff["widened"] + diff["narrowed"] == len(diff["changes"])
    directions = [change["direction"] for change in diff["changes"]]
    assert directions == sorted(directions, reverse=True), "widened comes first"
    for change in diff["changes"]:
        assert {
            "chain",
            "direction",
            "tool",
            "from",
            "to",
            "witness",
            "because",
            "exact",
        } <= change.keys()
    assert diff["files"] == [
        {
            "path": "team.policy",
            "what": "policy",
            "status": "read",
            "errors": 0,
            "effect": "decisions",
        }
    ]


def test_every_witness_of_a_change_is_confirmed(run) -> None:
    _, out, _ = run("diff", "team", "team-changed", "--format", "json")
    sides = policy.load("team"), policy.load("team-changed")
    changes = [change for change in json.loads(out)["changes"] if change["what"] == "rule"]
    assert changes
    for change in changes:
        witness = change["witness"]
        for reading in change["readings"]:
            for chain in (change["chain"], *change["also"]):
                found = [
                    side.chain(*chain, reading=reading).decide(witness["tool"], witness["input"])
                    for side in sides
                ]
                assert [d.effect.value for d in found] == [change["from"], change["to"]]


def test_a_change_of_comments_has_no_effect_and_says_so(run, tmp_path) -> None:
    text = (COMMAND / "team" / "team.policy").read_text()
    (tmp_path / "team.policy").write_text("# changed\n" + text)
    status, out, _ = run("diff", "team", str(tmp_path), "--fail-on", "any")
    assert status == 0
    assert "changed without effect" in out
    assert "no call is decided differently" in " ".join(out.split())


def test_an_unread_file_is_never_reported_without_effect(run) -> None:
    _, out, _ = run("diff", "unread-before", "unread")
    assert "changed and not read" in out
    assert "no call is decided differently" not in out
    assert "without effect" not in out


def test_two_files_of_different_names_are_compared(run) -> None:
    status, out, _ = run("diff", "team/team.policy", "renamed/crew.policy", "--format", "json")
    assert status == 0
    assert json.loads(out)["changes"] == []


def test_two_files_of_one_name_are_compared_edit_by_edit(run, tmp_path) -> None:
    for folder, effect in (("old", "allow"), ("new", "deny")):
        (tmp_path / folder).mkdir()
        text = f"root main\nagent main {{\n    {effect} Read\n}}\n"
        (tmp_path / folder / "a.policy").write_text(text)
    sides = [str(tmp_path / folder / "a.policy") for folder in ("old", "new")]
    _, out, _ = run("diff", *sides, "--format", "json")
    (effect,) = json.loads(out)["edits"]
    assert {edit["line"] for edit in effect["edits"]} == {3}


def test_revisions_are_compared(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main", cwd=tmp_path)
    for folder in ("team", "team-changed"):
        text = (COMMAND / folder / "team.policy").read_text()
        (tmp_path / "team.policy").write_text(text)
        git("add", ".", cwd=tmp_path)
        git("commit", "-q", "-m", folder, cwd=tmp_path)
        git("tag", folder, cwd=tmp_path)
    expected = run("diff", "team..team-changed", "--format", "json")
    assert json.loads(expected[1])["widened"] > 0
    assert run("diff", "team...HEAD", "--format", "json")[0] == 0
    same = json.loads(run("diff", "team", "--format", "json")[1])
    assert same["changes"] == json.loads(expected[1])["changes"], "the working tree is the tag"
    assert run("diff", "HEAD", "--fail-on", "any")[0] == 0
    (tmp_path / "team").mkdir()
    status, _, err = run("diff", "team")
    assert status == 2, "an existing path beats a revision"
    assert "refs/heads/team" in err


# --- fmt ----------------------------------------------------------------------------


def test_fmt_writes_in_place_and_keeps_the_mode(run, tmp_path) -> None:
    file = tmp_path / "a.policy"
    file.write_text("agent   main {\n  allow Read,Grep\n}\n")
    file.chmod(0o640)
    link = tmp_path / "link.policy"
    link.symlink_to(file)
    status, out, err = run("fmt", str(tmp_path))
    assert (status, out) == (0, f"changed {file}\n")
    assert "1 of 1 file changed" in err
    assert file.read_text() == "agent main {\n    allow     Read, Grep\n}\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.policy", "link.policy"]


def test_fmt_leaves_a_malformed_file_alone(run, tmp_path) -> None:
    file = tmp_path / "a.policy"
    file.write_text("agnt main {}\n")
    status, _, err = run("fmt", str(file))
    assert status == 2
    assert "^^^^" in err
    assert file.read_text() == "agnt main {}\n"


def test_fmt_reports_a_named_file_without_a_canonical_form(run, tmp_path) -> None:
    (tmp_path / "notes.md").write_text("---\nname:   x\n---\n")

    status, _, err = run("fmt", str(tmp_path / "notes.md"))

    assert status == 2
    assert "only `*.policy` files can" in err


def test_fmt_reads_standard_input(run, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"root  a\nagent a {}\n")))
    assert run("fmt", "-") == (0, "root a\n\nagent a {}\n", "")


# --- whatever happens -----------------------------------------------------------------


def test_an_internal_error_is_short(run, monkeypatch) -> None:
    import policy.cli.audit as verb

    def fail(*_, **__):
        raise RuntimeError("out\x1b[31m of order")

    monkeypatch.setattr(verb, "audit", fail)
    status, _, err = run("audit", "two-roots")
    assert status == 2
    assert "internal error" in err
    assert "Traceback" not in err
    assert "\x1b" not in err


def test_debugging_shows_the_traceback(run, monkeypatch) -> None:
    import policy.cli.check as verb

    monkeypatch.setenv("POLICY_DEBUG", "1")
    monkeypatch.setattr(verb, "Checker", lambda *_: 1 / 0)
    status, _, err = run("check", "team", "Read(a)")
    assert status == 2
    assert "Traceback" in err


def test_a_reader_that_goes_away_is_no_error(tmp_path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(FIXTURES.parent)}
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"tool": "Read", "input": {"file_path": "a"}}\n' * 5000)
    command = [sys.executable, "-m", "policy", "check", "team", "--calls", str(calls)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], ["attrs", "argparse", "policy.core.errors"]),
        (["check", "team", "Read(a)"], ["policy.analysis.reach.audit", "policy.analysis.diff", "policy.analysis.lint", "policy.tables.codec"]),
        (["fmt", "--check", "team/team.policy"], ["policy.analysis.lint", "policy.analysis.reach.audit"]),
        (["rule", "shadowed-rule"], ["policy.hosts", "policy.hosts.workspace", "policy.language.parse"]),
        (["install", "claude-code", "--undo"], ["policy.hosts", "policy.language.parse", "yaml"]),
        (["audit", "team"], ["policy.cli.report.html", "policy.cli.report.markdown", "policy.analysis.review"]),
        (["diff", "../claude-settings-and-agents", "../claude-child-modes"], ["policy.hosts.notation", "policy.files.revisions"]),
    ],
)  # fmt: skip
def test_a_verb_loads_nothing_that_it_does_not_need(arguments, unneeded) -> None:
    assert _loaded(arguments, unneeded) == []
    for module in unneeded:
        assert find_spec(module) is not None


@pytest.mark.parametrize("verb", verbs()["verbs"])
def test_a_verb_explains_itself_without_a_parser(verb) -> None:
    parsers = ["policy.hosts", "policy.hosts.workspace", "policy.language.parse", "yaml"]
    assert _loaded([verb, "--help"], parsers) == []


def _loaded(arguments: list[str], modules: list[str]) -> list[str]:
    """Return those of *modules* that the command has loaded at its end."""
    script = (
        "import json, sys\n"
        "from policy.cli import main\n"
        "try:\n"
        "    main(sys.argv[2:])\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(json.dumps([m for m in sys.argv[1].split() if m in sys.modules]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(FIXTURES.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script, " ".join(modules), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_colour_is_for_terminals_and_can_be_forced_and_refused(run, monkeypatch) -> None:
    assert "\x1b" not in run("check", "team", "Read(a)")[1]
    assert "\x1b[32m" in run("check", "team", "Read(a)", "--color", "always")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert Console.of().page.colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not Console.of().page.colour
    assert Console.of("always").page.colour


def test_suggest_takes_the_hosts_that_keep_rules_in_a_file() -> None:
    from policy.hosts.front_ends import RULE_FILES

    options = verbs()["verbs"]["suggest"]["options"]
    assert options["--to"]["choices"] == list(RULE_FILES)


def test_no_public_name_is_that_of_a_module() -> None:
    # Importing the module would put it in the place of what the package offers by that name.
    modules = {module.name for module in pkgutil.iter_modules(policy.__path__)}
    assert modules.isdisjoint(policy.__all__)


def test_a_folder_that_is_not_there_is_no_call(run, tmp_path, monkeypatch) -> None:
    (tmp_path / "t.policy").write_text("agent m {\n    allow Read, bash\n}\n")
    monkeypatch.chdir(tmp_path)
    status, out, err = run("check", "nofolder", "Read(a)")
    assert (status, out) == (2, "")
    assert "`nofolder` is neither a folder nor a file" in err
    assert run("check", ".", "nofolder", "Read(a)")[0] == 1
    assert run("check", "Read", "Read(a)")[0] == 0


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Raed(a)", "no rule names a tool `Raed`; did you mean `Read`?"),
        ("bash(ls)", "no rule names a tool `bash`; did you mean `Bash`?"),
        ("Task(explroe)", "there is no agent `explroe`; did you mean `explore`?"),
        ("Read(a) Read(b)", "this is one call: write each call as an argument of its own"),
        ('Bash({"cmd": "ls"})', "expected `command`, found `cmd`"),
        ('Bash({"command": 3})', "expected a text as `command`, found `3`"),
        ("Bash", "expected `command`, found no argument"),
        ("Frobnicate(a)", ""),
        ("Task(explore)", ""),
        ("Bash(f() { ls; }; f (a))", ""),
    ],
)
def test_a_call_that_is_probably_mistaken_is_answered_with_a_hint(asked, told, run) -> None:
    _, out, _ = run("check", "team", asked, "--format", "json")
    assert json.loads(out).get("hint", "") == told


@pytest.mark.parametrize("asked", ['Bash({"command": ls})', 'Bash({"command": "ls"'])
def test_arguments_that_are_no_json_are_no_command(asked, run) -> None:
    status, _, err = run("check", "team", asked)
    assert status == 2
    assert "expected" in err


def test_a_path_stands_before_a_call_or_behind_it(run) -> None:
    assert run("check", "team", "Read(a)") == run("check", "Read(a)", "team")
    assert run("query", "Bash(git *)", "team") == run("query", "team", "Bash(git *)")


def test_no_rule_for_a_command_makes_the_others_run_without_one(run, tmp_path) -> None:
    (tmp_path / "a.policy").write_text("root main\nagent main {\n    allow Bash(ls *)\n}\n")
    _, out, _ = run("audit", str(tmp_path))
    assert "ls *" in out
    assert "read-only" not in out


def test_check_decides_in_every_mode(run, tmp_path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Edit(src/**)"]}}')
    status, out, _ = run("check", str(tmp_path), "--modes", "Edit(docs/a)", "--format", "json")
    assert status == 1
    assert json.loads(out)["modes"] == {
        "default": "ask",
        "acceptEdits": "allow",
        "plan": "ask",
        "auto": "allow",
        "dontAsk": "deny",
        "bypassPermissions": "allow",
    }
    _, out, _ = run("check", str(tmp_path), "--modes", "Edit(docs/a)")
    assert "deny in `dontAsk`" in " ".join(out.split())
    status, _, err = run("compile", str(tmp_path), "-o", str(tmp_path / "p.json"))
    assert status == 0
    status, _, err = run("check", str(tmp_path / "p.json"), "--modes", "Edit(docs/a)")
    assert (status, "holds one mode" in err) == (2, True)


def test_an_audit_shows_what_agents_may_do_in_each_mode(run, tmp_path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Edit(docs/**)"]}}')
    _, out, _ = run("audit", str(tmp_path), "--modes", "--format", "json")
    edits = {
        mode: next(
            (tool["allowed"], tool["otherwise"])
            for row in rows
            if "main" in row["agents"]
            for tool in row["change"]
            if tool["name"] == "Edit"
        )
        for mode, rows in json.loads(out)["projects"][0]["modes"].items()
    }
    assert edits == {
        "default": (["docs/**"], "ask"),
        "acceptEdits": (["a worktree", "mode acceptEdits"], "ask"),
        "plan": ([], "ask"),
        "auto": (["a worktree", "mode auto"], "ask"),
        "dontAsk": (["docs/**"], "deny"),
        "bypassPermissions": ([], "allow"),
    }
    _, out, _ = run("audit", str(tmp_path), "--modes")
    (row,) = [line for line in out.splitlines() if line.startswith("  dontAsk ")]
    assert "docs/**" in row
    _, out, _ = run("audit", str(tmp_path), "--format", "json")
    assert "modes" not in json.loads(out)["projects"][0]


def test_a_diff_shows_that_a_mode_allows_edits(tmp_path, capsys) -> None:
    for side, mode in (("old", "default"), ("new", "acceptEdits")):
        (tmp_path / side / ".claude").mkdir(parents=True)
        settings = {"permissions": {"allow": ["Bash(ls)"], "defaultMode": mode}}
        (tmp_path / side / ".claude/settings.json").write_text(json.dumps(settings))
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
    assert re.search(r"change files +asked → allowed +Edit\(src/app.py\)", capsys.readouterr().out)


def test_a_diff_says_which_tool_changes_where_it_is_not_the_usual_one(tmp_path, capsys) -> None:
    for side, rules in (("old", ["Bash"]), ("new", ["Bash", "Bash(npm test)"])):
        (tmp_path / side / ".claude").mkdir(parents=True)
        settings = json.dumps({"permissions": {"allow": rules}})
        (tmp_path / side / ".claude/settings.json").write_text(settings)
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new")]) == 0
    assert re.search(r"run npm test with `Monitor` +asked → allowed +main", capsys.readouterr().out)


# --- credentials ------------------------------------------------------------------

LEAKS = [
    *(
        [*asked, "--format", form]
        for asked in (
            ["lint", "."],
            ["audit", "."],
            ["query", ".", "Bash"],
            ["diff", "../before", "."],
            ["check", ".", "Bash(PGPASSWORD=hunter2xy psql -h db)"],
            ["replay", "calls.jsonl", "--policy", ".", "--root", "main"],
            ["replay", "calls.jsonl", "--policy", ".", "--root", "main", "--friction"],
        )
        for form in ("text", "json", "markdown", "html")
    ),
    *(["lint", ".", "--format", form] for form in ("sarif", "junit", "github")),
    *(["diff", "../before", ".", "--format", form] for form in ("sarif", "junit", "github")),
    ["lint", ".", "--fix", "--diff"],
    ["lint", ".", "--fix", "--tidy"],
    ["fmt", "--diff", "other"],
]


@pytest.mark.parametrize("asked", LEAKS, ids=" ".join)
def test_nothing_that_is_shown_repeats_a_credential(asked, run, tmp_path, monkeypatch) -> None:
    rule = "Bash(PGPASSWORD=hunter2xy psql -h db)"
    for name, rules in (("before", ["Bash(ls)"]), ("after", ["Bash(done)", rule, rule, "Bash(b)"])):
        (tmp_path / name / ".claude").mkdir(parents=True)
        settings = json.dumps({"permissions": {"allow": rules}})
        (tmp_path / name / ".claude/settings.json").write_text(settings)
    monkeypatch.chdir(tmp_path / "after")
    (tmp_path / "after/other").mkdir()
    text = f"root main\nagent main {{\n allow {rule},\n Bash(b)\n}}\n"
    (tmp_path / "after/other/a.policy").write_text(text)
    calls = [
        {"tool": "Bash", "input": {"command": "PGPASSWORD=hunter2xy psql -h db2"}},
        {"tool": "mcp__db__query", "input": {"password": "hunter2xy"}},
    ]
    lines = [json.dumps(call | {"chain": ["main"]}) + "\n" for call in calls]
    (tmp_path / "after/calls.jsonl").write_text("".join(lines))
    _, out, err = run(*asked)
    assert "hunter2xy" not in out + err
    if "json" in asked:
        for line in [out] if out.startswith("{\n") else out.splitlines():
            json.loads(line)
    assert rule in (tmp_path / "after/.claude/settings.json").read_text()


def test_a_difference_shows_that_a_credential_changed_and_not_which(capsys) -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", "a1B2", "-----END PRIVATE KEY-----", "x"]
    after = [line.replace("a1B2", "c3D4") for line in lines]
    Console.of("never").difference("a", "\n".join(lines), "\n".join(after), "b")
    out = capsys.readouterr().out
    assert "a1B2" not in out
    assert "c3D4" not in out
    assert out.splitlines()[4:6] == ["-****", "+****"]


def test_an_audit_of_nothing_says_so_beside_what_it_found(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "only").mkdir()
    (tmp_path / "only/away").symlink_to(tmp_path)
    status, out, _ = run("audit", "only")
    assert status == 2
    assert out.startswith("only: no file here says what an agent may do\n")
    assert "away  a link that leads out of the folder" in out


CALL = '{"tool": "Read", "input": {"file_path": "x"}, "chain": ["main"], "effect": "allow"}'
ASKING = {
    "audit": ["audit", "here"],
    "check": ["check", "here", "Read(x)"],
    "lint": ["lint", "here"],
    "query": ["query", "Read(x)", "here"],
    "replay": ["replay", "calls.jsonl", "--policy", "here"],
    "friction": ["replay", "calls.jsonl", "--policy", "here", "--friction"],
    "suggest": ["suggest", "calls.jsonl", "--policy", "here"],
    "convert": ["convert", "here", "--to", "zeph"],
    "compile": ["compile", "here"],
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return a folder of nothing, beside a log of one call."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.jsonl").write_text(CALL)
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.mark.parametrize("arguments", ASKING.values(), ids=ASKING)
def test_every_verb_says_the_same_of_a_folder_of_nothing(arguments, run, here) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("here: error: no file here says what an agent may do\n  help  name the ")


# Name of the file -> its content, and what is said of it.
UNREADABLE = {
    ".claude/settings.json": (
        b'{"permissions": {"deny": ["Read",',
        "expected a value, found the end",
    ),
    ".claude/settings.local.json": (b'{"permissions": {"deny": ["\xff"]}}', "is not UTF-8"),
    ".claude/agents/a.md": (b"---\nname: [a\n---\n", "the `[` is not closed"),
    "team.policy": (b"agent main {\n    alow Read\n}\n", "alow"),
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("arguments", ASKING.values(), ids=ASKING)
def test_no_verb_answers_yes_where_a_file_cannot_be_read(arguments, name, run, here) -> None:
    content, message = UNREADABLE[name]
    (here / name).parent.mkdir(parents=True, exist_ok=True)
    (here / name).write_bytes(content)
    status, out, err = run(*arguments)
    assert status == 2
    assert message in " ".join((out + err).split())


@pytest.mark.parametrize("verb", [verb for verb in verbs()["verbs"] if formats_of(verb)])
def test_a_format_that_a_verb_does_not_have_names_those_that_it_has(verb, run) -> None:
    given = {"convert": ["convert", "x", "--to", "y"]}.get(verb, [verb, "x"])
    for option in (["--format", "pdf"], ["--output", "pdf=x"]):
        status, out, err = run(*given, *option)
        assert (status, out) == (2, "")
        assert f"`policy {verb}` has no format `pdf`" in err
        assert f"the formats are {', '.join(formats_of(verb))}" in err


LOOP = "for f in a b; do echo $f; done"
DOCUMENT = "cat <<EOF\nhello && rm x\nEOF\necho a"


@pytest.mark.parametrize(
    ("command", "grammar", "runs"),
    [
        (LOOP, ["for f in a b", "do echo $f", "done"], []),
        (DOCUMENT, ["hello", "rm x", "EOF"], ["cat", "echo a"]),
        ("if true; then ls; fi", ["if true", "then ls", "fi"], []),
        ("ls <<< x", [], ["ls"]),
    ],
)
def test_grammar_and_lines_of_documents_are_not_told_as_commands_that_run(
    command: str, grammar: list[str], runs: list[str], run, tmp_path
) -> None:
    file = tmp_path / "t.policy"
    file.write_text("agent main {\n    allow Read, Bash(git *)\n}\n")
    call = f"Bash({json.dumps({'command': command})})"
    _, out, _ = run("check", str(file), call, "--format", "json")
    clauses = json.loads(out)["clauses"]
    told = {does: [c["text"] for c in clauses if c["does"] == does] for does in ("runs", "hides")}
    assert told["runs"] == runs
    assert told["hides"][: len(grammar)] == grammar


def test_a_rule_that_denies_a_line_of_a_document_is_told(run, tmp_path) -> None:
    file = tmp_path / "t.policy"
    file.write_text("agent main {\n    allow Read, Bash(git *)\n    deny Bash(rm *)\n}\n")
    call = f"Bash({json.dumps({'command': DOCUMENT})})"
    _, out, _ = run("check", str(file), call)
    assert "deny  runs `rm x` (deny Bash(rm *))" in out


@pytest.mark.parametrize("number", [1, 2])
def test_a_closed_stream_gets_nothing(number: int) -> None:
    """A scheduler may close one: the status still answers."""
    command = [sys.executable, "-m", "policy", "check", str(FIXTURES / "team"), "Bash(git diff)"]
    closed = shlex.join(command) + f" {number}>&-"
    environment = {**os.environ, "PYTHONPATH": str(FIXTURES.parent)}
    done = subprocess.run(
        ["sh", "-c", closed], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout[:5], done.stderr) == (
        0,
        "" if number == 1 else "allow",
        "",
    )
