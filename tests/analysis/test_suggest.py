"""Proposed policies: they cover what was used, and exceed nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.analysis.records.record import Record
from policy.analysis.records.replay import RecordDecider
from policy.analysis.suggest import Proposal, propose
from policy.cli import main
from policy.core import values
from policy.core.decision import Decision
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.trees import Memory
from policy.hosts.front_ends import rule_file_of
from policy.hosts.workspace import load_tree
from policy.tables.chain import Chain
from tests.effort import examples

CLAUDE = rule_file_of("claude-code")

TEAM = """\
root main

agent main {
    allow     Bash(git *), Bash(npm test), Edit(src/**), Read, Task, mcp__x__*
    ask       Bash(git push *)
    deny      Bash(git diff --output *), Edit(src/secret/**), Read(.env)
}

agent explore {
    allow     Read, Grep
}
"""


def decider(text: str = TEAM, **files: str) -> RecordDecider:
    return RecordDecider(load_tree(Memory(files or {"team.policy": text})), "attenuated")


def bash(command: str, *chain: str) -> Record:
    return Record(chain or ("main",), "Bash", {"command": command})


def file(tool: str, path: str, *chain: str, cwd: str = "") -> Record:
    return Record(chain or ("main",), tool, {"file_path": path}, cwd=cwd)


def proposed(
    records: list[Record], current: RecordDecider | None = None, least: int = 3
) -> Proposal:
    current = current or decider()
    return propose(records, current, least=least)


def lines(proposal: Proposal) -> list[str]:
    return [" ".join(line.split()) for line in proposal.text.splitlines() if line.startswith(" ")]


def test_a_call_made_once_is_granted_by_itself():
    assert lines(proposed([bash("git status"), bash("npm test"), bash("git push origin")])) == [
        "allow Bash(git status), Bash(npm test)",
        "ask Bash(git push origin)",
    ]


def test_calls_that_share_a_beginning_are_granted_by_it():
    found = proposed([bash(f"git log {n}") for n in range(3)])
    assert lines(found) == ["allow Bash(git log *)"]
    found = proposed([bash(f"git log {n}") for n in range(3)], least=4)
    assert lines(found) == ["allow Bash(git log 0), Bash(git log 1), Bash(git log 2)"]


def test_what_the_policy_takes_away_is_taken_over():
    found = proposed([bash(f"git diff {n}") for n in range(3)])
    assert lines(found) == ["allow Bash(git diff *)", "deny Bash(git diff --output *)"]
    assert not found.why


def test_a_rule_about_files_that_decides_a_command_is_taken_over_as_it_is():
    policy = "root main\nagent main { allow Bash, Read\n deny Read(.env) }\n"
    found = proposed([bash("git diff --stat"), file("Read", "src/app.py")], decider(policy))
    assert lines(found) == ["allow Bash(git diff --stat), Read(/src/app.py)", "deny Read(.env)"]


def test_files_are_granted_by_their_folder_and_no_more():
    found = proposed([file("Edit", f"src/a/{n}.py") for n in range(3)] + [file("Edit", "src/b.py")])
    assert lines(found) == ["allow Edit(/src/a/**), Edit(/src/b.py)"]


def test_folders_that_share_a_folder_are_granted_by_it():
    records = [file("Edit", f"src/{folder}/{n}.py") for folder in "abc" for n in range(3)]
    found = proposed([*records, file("Edit", "src/d/only.py")])
    assert lines(found) == ["allow Edit(/src/**)", "deny Edit(src/secret/**)"]


def test_the_project_itself_is_never_the_folder():
    found = proposed([file("Read", f"{name}.md") for name in "abcd"])
    assert lines(found)[0] == "allow Read(/a.md), Read(/b.md), Read(/c.md), Read(/d.md)"


def test_a_file_is_named_as_it_is_spelled_wherever_the_project_lies():
    found = proposed([file("Read", "/srv/app/README.md", cwd="/srv/app"), file("Read", "/etc/x")])
    assert lines(found)[0] == "allow Read(//etc/x), Read(/README.md)"


def test_a_command_of_parts_is_granted_part_by_part():
    found = proposed([bash("git add . && git commit -m 'a b'")])
    assert lines(found) == ["allow Bash(git add .), Bash(git commit -m 'a b')"]
    assert not found.uncovered


def test_a_file_that_a_command_writes_is_granted_too():
    text = TEAM.replace("Edit(src/**)", "Edit(src/**), Write(src/**), Bash(sort *)")
    found = proposed([bash("sort a > src/b")], decider(text))
    assert not found.uncovered
    assert lines(found) == ["allow Bash(sort a), Write(/src/b)"]


def test_agents_are_started_as_they_were_and_get_what_they_need():
    found = proposed([file("Read", "docs/a", "main", "explore"), bash("git log")])
    assert lines(found) == [
        "allow Bash(git log), Task(explore)",
        "delegate Bash(git log), Task(explore), Read(/docs/a)",
        "allow Read(/docs/a)",
        "deny Read(.env)",
    ]
    assert not found.uncovered
    assert not found.why


def test_what_is_denied_is_left_out():
    current = decider()
    found = propose([bash("curl x"), bash("git log")], current)
    assert found.left_out == {"the call is denied": (1, ("",))}
    assert lines(found) == ["allow Bash(git log)"]


@pytest.mark.parametrize("command", ["git log '*'", "git log \\*", "git add *"])
def test_a_call_that_a_rule_would_take_for_others_is_not_covered_but_named(command):
    found = proposed([bash(command), bash("npm test")])
    assert [call.arguments["command"] for call in found.uncovered] == [command]
    assert lines(found) == ["allow Bash(npm test)"]


def test_a_tool_whose_arguments_are_its_own_is_granted_as_it_was_called():
    found = proposed([Record(("main",), "mcp__x__y", {"a": 1, "b": 2})])
    assert not found.uncovered
    assert not found.why


def test_without_calls_there_is_nothing_to_propose():
    with pytest.raises(PolicyError, match="no call to cover"):
        proposed([bash("curl x")])


def test_without_a_policy_the_log_says_what_calls_got():
    records = [
        Record(("main",), "Bash", {"command": "ls"}, Effect.ALLOW),
        Record(("main",), "Bash", {"command": "rm x"}, Effect.ASK),
        Record(("main",), "Bash", {"command": "rm y"}, Effect.DENY),
        Record(("main",), "Bash", {"command": "rm z"}),
    ]
    found = propose(records)
    assert lines(found) == ["allow Bash(ls)", "ask Bash(rm x)"]
    assert set(found.left_out) == {"the call is denied", "the log does not say what the call got"}


def test_settings_of_a_host_are_not_exceeded():
    settings_ = {
        "permissions": {
            "allow": ["Bash(git:*)", "Edit(src/**)"],
            "ask": ["Bash(git push:*)"],
            "deny": ["Read(./.env)", "Edit(src/secret/**)"],
        }
    }
    current = decider(**{".claude/settings.json": json.dumps(settings_)})
    records = [bash(f"git log {n}") for n in range(3)] + [bash("git push x")]
    found = proposed(records + [file("Edit", f"src/{n}.py") for n in range(3)], current)
    assert not found.why
    text = found.text
    assert "Bash(git log *)" in text
    assert "ask       Bash(git push x)" in text
    printed = RecordDecider(load_tree(Memory({"a.policy": text})), "attenuated")
    for path in ("src/.env", "src/secret/a", "src/secret", ".env"):
        assert printed.decide(file("Edit", path)).effect is Effect.DENY


# --- over a small universe, by brute force -----------------------------------------------------

_COMMANDS = [
    f"{p} {s}" for p in ("git", "npm") for s in ("log", "push", "log a", "log b", "log --x")
]
_PATHS = [f"{a}/{b}" for a in ("src", "docs", "src/x") for b in ("a", "b", "c", ".env")]
_UNIVERSE = [("Bash", {"command": c}) for c in _COMMANDS] + [
    (tool, {"file_path": p}) for tool in ("Read", "Edit") for p in _PATHS
]
_MATCHERS = st.sampled_from(
    [
        *("Bash", "Bash(git *)", "Bash(git log *)", "Bash(git log --x)", "Bash(npm log a)", "Read"),
        *("Read(src/**)", "Read(.env)", "Edit(docs/**)", "Edit(src/x/**)", "Edit(src/**)", "Edit"),
    ]
)
_GRANTS = st.lists(st.tuples(st.sampled_from(["allow", "ask", "deny"]), _MATCHERS), max_size=5)


@st.composite
def policies(draw) -> str:
    text = "root main\n"
    for agent in ("main", "explore"):
        body = [f"    {effect} {matcher}" for effect, matcher in draw(_GRANTS)]
        text += (
            f"agent {agent} {{\n    allow Task\n" + "".join(f"{line}\n" for line in body) + "}\n"
        )
    return text


@examples(50)
@given(policies(), st.lists(st.tuples(st.booleans(), st.sampled_from(_UNIVERSE)), max_size=12))
def test_a_proposal_covers_what_was_used_and_exceeds_nothing(text, used):
    current = decider(text)
    records = [Record(("main", "explore") if below else ("main",), *call) for below, call in used]
    try:
        found = propose(records, current)
    except PolicyError:
        assert all(current.decide(record).effect is Effect.DENY for record in records)
        return
    assert not found.why
    assert not found.uncovered
    printed = RecordDecider(load_tree(Memory({"a.policy": found.text})), "attenuated")
    for names in [("main",), ("main", "explore")]:
        before, after = current.chain(names), printed.chain(names)
        assert isinstance(before, Chain)
        if isinstance(after, Decision):
            continue
        for tool, call in _UNIVERSE:
            assert after.decide(tool, call).effect <= before.decide(tool, call).effect


# --- the command -------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "team.policy").write_text(TEAM)
    commands = [*(f"git diff {n}" for n in range(3)), "git push x", "curl x"]
    said = [
        {"tool": "Bash", "input": {"command": command}, "chain": ["main"]} for command in commands
    ]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_exceeded_is_the_policy_of_the_project_that_called():
    texts = {
        "one/team.policy": "root main\nagent main { allow Bash(git *) }\n",
        "two/team.policy": "root main\nagent main { allow Bash(git *)\ndeny Bash(git log --output *) }\n",
    }
    current = decider(**texts)
    records = [bash(f"git log {name}") for name in ("a", "b", "c", "d")]

    def of(*projects: str) -> Proposal:
        named = [
            values.evolve(record, project=f"policy@{project}/team.policy")
            for record in records
            for project in projects
        ]
        return proposed(named, current)

    assert lines(of("one")) == ["allow Bash(git log *)"]
    for projects in (("two",), ("one", "two")):
        assert "deny Bash(git log --output *)" in lines(of(*projects)), projects
        assert not of(*projects).why


def test_the_command_prints_a_policy_and_what_it_covers(folder, capsys, snapshot):
    assert main(["suggest", "calls.jsonl", "--policy", "."]) == 0
    out = capsys.readouterr()
    assert out.out == snapshot(name="policy")
    assert out.err == snapshot(name="what it covers")
    (folder / "suggested.policy").write_text(out.out)
    assert main(["fmt", "--check", "suggested.policy"]) == 0


def test_json_tells_the_same(folder, capsys):
    assert main(["suggest", "calls.jsonl", "--policy", ".", "--format", "json"]) == 0
    shape = json.loads(capsys.readouterr().out)
    assert (shape["covered"], shape["agents"], shape["rules"], shape["exact"]) == (4, 1, 3, True)
    assert shape["left_out"][0]["why"] == "the call is denied"


def test_what_is_not_covered_fails(folder, capsys):
    with Path("calls.jsonl").open("a") as log:
        log.write('{"tool": "Bash", "input": {"command": "git log *"}, "chain": ["main"]}\n')
    assert main(["suggest", "calls.jsonl", "--policy", "."]) == 1
    assert "not covered: allow Bash(git log *)" in capsys.readouterr().err


# Commands as agents write them: loops, here-documents, pipes, substitutions.
COMMANDS = [
    "for f in a b; do echo $f; done",
    "cat <<'EOF' > out.txt\nhello\nEOF",
    "jq . package.json",
    "jq .name package.json | head -1",
    "npm run build 2>&1 | tail -20",
    "cd src && npm test",
    "if [ -f x ]; then echo y; fi",
    "while read l; do echo $l; done < f.txt",
    "python3 - <<'EOF'\nprint(1)\nEOF",
    "echo $(git rev-parse HEAD)",
    "make all > build.log",
    "find . -name '*.py' -exec grep foo {} \\;",
    "git commit -m 'a (b)'",
]


@pytest.mark.parametrize("settings", [False, True])
def test_no_rule_is_made_of_shell_grammar_and_what_is_left_out_is_named(settings):
    records = [
        Record(("main",), "Bash", {"command": command}, Effect.ALLOW, source=f"log:{number}")
        for number, command in enumerate(COMMANDS)
    ]
    found = propose(records, file=CLAUDE if settings else None)
    left_out = sum(count for count, _ in found.left_out.values())
    assert found.covered + len(found.uncovered) + left_out == len(COMMANDS)
    said = ("no rule can allow", "only a rule that spells all of it can allow")
    assert all(why.startswith(said) for why in found.left_out)
    name = ".claude/settings.json" if settings else "t.policy"
    workspace = load_tree(Memory({name: found.text}))
    assert not [finding for finding in workspace.findings if str(finding.severity) != "note"]
    # What `python3 -` runs, stands on its input.
    reported = [f"{call.why}: {call.rules}" for call in found.uncovered]
    assert (
        reported == ["lint reports its rule: rule-runs-anything: ('Bash(python3 -)',)"] * settings
    )
    words = {"for", "do", "done", "if", "then", "fi", "while", "EOF", "hello"}
    assert words.isdisjoint(re.findall(r"\w+(?=[ )])", found.text))


def test_settings_hold_what_the_policy_in_force_takes_away():
    text = json.dumps({"permissions": {"allow": ["Bash(npm run build *)"], "deny": ["Read(.env)"]}})
    tree = Memory({".claude/settings.json": text})
    current = RecordDecider(load_tree(tree), "enforced")
    records = [bash(f"npm run build {n}") for n in range(3)]
    found = propose(records, current, file=CLAUDE)
    assert json.loads(found.text) == {
        "permissions": {"allow": ["Bash(npm run build *)"], "deny": ["Read(.env)"]}
    }
    assert (found.rules, found.covered, found.why) == (2, 3, ())


def test_a_command_is_not_allowed_and_asked_for_at_once():
    records = [
        Record(("main",), "Bash", {"command": "jq ."}, Effect.ALLOW),
        Record(("main",), "Bash", {"command": "jq . | rm x"}, Effect.ASK),
    ]
    assert lines(propose(records)) == ["allow Bash(jq .)", "ask Bash(rm x)"]


def test_no_rule_holds_a_credential():
    found = propose(
        [
            Record(("main",), "Bash", {"command": "sshpass -p hunter22 ssh x"}, Effect.ALLOW),
            Record(("main",), "Bash", {"command": "make"}, Effect.ALLOW),
        ]
    )
    assert list(found.left_out) == ["no rule may hold a credential"]
    assert lines(found) == ["allow Bash(make)"]


def called(tool: str, effect: Effect = Effect.ALLOW, **arguments: object) -> Record:
    return Record(("main",), tool, arguments, effect, cwd="/p", source="log:1")


def settings_of(*records: Record) -> dict[str, list[str]]:
    found = propose(records, file=CLAUDE)
    permissions: dict[str, list[str]] = json.loads(found.text).get("permissions", {})
    return {effect: sorted(rules) for effect, rules in permissions.items()}


def test_settings_name_tools_as_the_host_reads_them():
    rules = settings_of(
        called("Write", file_path="/p/docs/a.md", content="x"),
        called("NotebookEdit", notebook_path="/p/a.ipynb", new_source="x"),
        called("Grep", pattern="x", path="/etc"),
        called("mcp__github__get_issue", number=1),
        called("WebSearch", query="x"),
        # The host allows these by itself.
        called("Read", file_path="/p/a.py"),
        called("Glob", pattern="*.py"),
        called("Skill", skill="pdf"),
    )
    assert rules == {
        "allow": [
            "Edit(/a.ipynb)",
            "Edit(/docs/a.md)",
            "Read(//etc)",
            "WebSearch",
            "mcp__github__get_issue",
        ]
    }


def test_a_rule_of_our_notation_names_the_project_as_people_do():
    found = propose([called("Glob", pattern="*.py")])
    assert lines(found) == ["allow Glob(.)"]


def test_a_rule_ends_in_a_star_where_a_command_is_not_known_before_it_runs():
    command = "gh pr create --title x --body \"$(cat <<'EOF'\n# Summary\n- `a` (b)\nEOF\n)\""
    assert settings_of(called("Bash", command=command)) == {
        "allow": ["Bash(gh pr create --title x --body *)"]
    }


def test_a_call_that_was_asked_for_is_asked_for_under_a_wide_rule():
    rules = settings_of(
        called("Bash", Effect.ASK, command="gh pr view 3 --web"),
        called("Bash", Effect.ASK, command="gh issue close 3"),
        *(called("Bash", command=f"gh pr view {n}") for n in range(3)),
    )
    assert rules == {"allow": ["Bash(gh pr view *)"], "ask": ["Bash(gh pr view 3 --web)"]}


@pytest.mark.parametrize("file", [None, CLAUDE])
def test_no_wide_rule_is_proposed_that_runs_anything(file):
    commands = [f"docker compose {verb}" for verb in ("up", "down", "build")]
    found = propose([called("Bash", command=command) for command in commands], file=file)
    assert (found.rules, found.covered, "*" in found.text) == (3, 3, False)


def test_a_rule_that_allows_no_call_of_the_log_is_left_out():
    guarded = called("Write", file_path="~/.bashrc", content="")
    both = called("Bash", command="cat x >> ~/.bashrc && gcc a.c")
    assert settings_of(guarded, both, called("Bash", command="make")) == {"allow": ["Bash(make)"]}
    assert settings_of(both, called("Bash", command="gcc a.c")) == {"allow": ["Bash(gcc a.c)"]}


def test_each_call_that_is_not_covered_has_a_reason():
    records = [
        called("Bash", Effect.ASK, command="npm test"),
        called("Bash", command="ls && npm test"),
        called("Bash", command="find . -name '*.py'"),
    ]
    found = propose(records)
    assert [call.why for call in found.uncovered] == [
        "another call with `npm test` was asked for",
        "no rule can name it alone",
    ]
    (found,) = propose(records[:2], file=CLAUDE).uncovered
    assert found.why == "another call with `npm test` was asked for"


def test_a_line_that_starts_an_agent_is_named():
    found = propose([called("Agent", subagent_type="x"), called("Bash", command="make")])
    assert list(found.left_out) == ["the chains of the other calls say which agents are started"]


def test_a_rule_that_would_exceed_the_policy_in_force_is_the_reason():
    settings = json.dumps({"permissions": {"allow": ["Bash(make *)"]}})
    current = RecordDecider(load_tree(Memory({".claude/settings.json": settings})), "enforced")
    found = propose([bash("cat x | jq ."), bash("make a")], current)
    why = {call.why for call in found.uncovered}
    assert why == {"its rule would grant more calls of `Bash` than the policy in force"}


@pytest.mark.parametrize(
    ("permissions", "calls", "rules"),
    [
        # Rules of `Bash` are for `Monitor` too, those of `Edit` for all that writes the file.
        (
            {"allow": ["Bash"]},
            [bash("npm test")],
            {"allow": ["Bash(npm test)"], "ask": ["Monitor"]},
        ),
        (
            {"allow": ["Bash"], "deny": ["Monitor"]},
            [bash("npm test")],
            {"allow": ["Bash(npm test)"], "deny": ["Monitor"]},
        ),
        (
            {"allow": ["Edit", "Write"]},
            [file("Edit", "src/a.py")],
            {"allow": ["Edit(/src/a.py)"], "ask": ["Bash", "Monitor", "NotebookEdit"]},
        ),
    ],
)
def test_a_tool_that_a_rule_is_also_for_keeps_what_it_had(permissions, calls, rules):
    text = json.dumps({"permissions": permissions})
    current = RecordDecider(load_tree(Memory({".claude/settings.json": text})), "enforced")
    found = propose(calls, current, file=CLAUDE)
    assert json.loads(found.text) == {"permissions": rules}
    assert not found.uncovered
    assert not found.why


def test_nothing_is_kept_back_for_a_rule_that_was_taken_out():
    text = json.dumps({"permissions": {"allow": ["Bash", "Monitor"]}})
    current = RecordDecider(load_tree(Memory({".claude/settings.json": text})), "enforced")
    calls = [bash("npm test"), bash("npm run x > out"), file("Edit", "src/a.ts")]
    found = propose(calls, current, file=CLAUDE)
    assert [call.arguments["command"] for call in found.uncovered] == ["npm run x > out"]
    assert "ask" not in json.loads(found.text)["permissions"]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("if [ -f x ]; then echo y; fi", "a condition"),
        ("until x; do y; done", "a loop"),
        ("select x in a; do ls; done", "a loop"),
        ("{ ls; pwd; }", "a group of commands"),
        ("! ls", "a negation"),
        ("FOO=1 make", "an assignment"),
        ("FOO=$X make", "an assignment"),
        ("'my prog' x", "a program whose name is not plain"),
        ("ls {a,b}", "text that is not known before it runs"),
    ],
)
def test_a_call_that_no_rule_can_say_is_left_out_for_what_it_is(command, kind):
    with pytest.raises(PolicyError) as raised:
        propose([Record(("main",), "Bash", {"command": command}, Effect.ALLOW)])
    assert raised.value.message.endswith(f": no rule can allow {kind}")


def test_an_error_names_the_line_of_the_log():
    call = Record((), "Bash", {"command": "ls"}, Effect.ALLOW, source="a:7")
    with pytest.raises(PolicyError, match="a:7: the log does not say which agent called"):
        propose([call])


LEFT_OUT = [
    ("garbage", 1, "left out: this is not JSON (calls.jsonl:"),
    (
        json.dumps({"tool": "Bash", "input": {"command": "git diff $x"}, "chain": ["main"]}),
        1,
        "left",
    ),
    (json.dumps({"tool": "Bash", "input": {"command": "rm x"}, "chain": ["main"]}), 0, "is denied"),
]


@pytest.mark.parametrize(("line", "status", "told"), LEFT_OUT)
def test_a_line_that_is_left_out_fails_unless_its_call_is_denied(
    line: str, status: int, told: str, folder, capsys
) -> None:
    with Path("calls.jsonl").open("a") as log:
        log.write(f"{line}\n")
    assert main(["suggest", "calls.jsonl", "--policy", "."]) == status
    assert told in capsys.readouterr().err


def test_every_line_that_is_left_out_is_named(folder, capsys) -> None:
    with Path("calls.jsonl").open("a") as log:
        log.writelines("garbage\n" for _ in range(6))
    before = len(Path("calls.jsonl").read_text().splitlines()) - 6
    main(["suggest", "calls.jsonl", "--policy", "."])
    err = " ".join(capsys.readouterr().err.split())
    named = ", ".join(f"calls.jsonl:{before + number}" for number in (1, 2, 3))
    assert f"this is not JSON ({named}, 3 more)" in err
    main(["suggest", "calls.jsonl", "--policy", ".", "--all"])
    assert f"calls.jsonl:{before + 6})" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "docker build -t api:$(git rev-parse HEAD) .",
        "source .venv/bin/activate && pytest -q",
        "kill $(lsof -t -i:3000)",
    ],
)
def test_a_command_of_one_line_that_a_rule_can_only_spell_is_spelled(command):
    assert settings_of(called("Bash", command=command)) == {"allow": [f"Bash({command})"]}


def test_our_notation_has_no_rule_that_spells_what_is_not_known():
    with pytest.raises(PolicyError, match="no rule can allow a command substitution"):
        propose([called("Bash", command="kill $(lsof -t -i:3000)")])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("for i in 1 2; do make $i; done", "only a rule that spells all of it can allow a loop"),
        ("for f in *.c; do make $f; done", "no rule can allow a loop"),
        ("find . -name '*.o' -delete", "no rule can allow text that may change"),
    ],
)
def test_a_script_is_left_out_with_what_could_allow_it(command, why):
    with pytest.raises(PolicyError, match=re.escape(f": {why}")):
        settings_of(called("Bash", command=command))


def test_a_text_that_another_program_prints_is_a_star_in_a_here_document_too():
    text = "## Summary\n\n## Test plan\n- [ ] x"
    command = f'gh pr create --title "A" --body "$(cat <<\'EOF\'\n{text}\nEOF\n)"'
    rules = settings_of(called("Bash", command=command))
    assert rules == {"allow": ["Bash(gh pr create --title A --body *)"]}


def test_calls_of_a_tool_that_the_host_does_not_know_are_folded():
    asked = [called("mcp__db__query", sql=f"select {number}") for number in range(3)]
    other = called("mcp__db__query_all", sql="select 1")
    found = propose([*asked, other, called("TodoWrite", todos=[{"content": "x"}])])
    assert "mcp__db__query, mcp__db__query_all(select 1)" in lines(found)[-1]
    assert found.covered == 5


def test_a_text_that_reads_as_a_parameter_is_no_rule():
    found = propose([called("mcp__web__open", url="http://localhost:3000")])
    assert lines(found) == ["allow mcp__web__open"]
    assert found.covered == 1
    found = propose([called("Skill", skill="web:deploy"), called("Skill", skill="pdf")])
    assert lines(found) == ["allow Skill(pdf)"]
    assert [call.arguments for call in found.uncovered] == [{"skill": "web:deploy"}]


def test_a_rule_with_a_star_stands_for_those_that_it_matches():
    calls = [called("Bash", command=text) for text in ("npx eslint a.ts", "ls | xargs npx eslint")]
    assert settings_of(*calls) == {"allow": ["Bash(npx eslint *)"]}


def test_a_call_that_was_asked_for_is_named_where_its_rule_has_no_text():
    calls = [called("WebSearch", Effect.ASK, query="a"), called("WebSearch", query="b")]
    (left,) = propose(calls, file=CLAUDE).uncovered
    assert (left.effect, left.why) == (Effect.ALLOW, "another call with `WebSearch` was asked for")


def in_force(permissions: dict[str, list[str]]) -> RecordDecider:
    return decider(**{".claude/settings.json": json.dumps({"permissions": permissions})})


def test_the_rule_in_force_is_proposed_where_a_narrower_one_grants_more():
    # A rule for a file also lets commands write it; one for every file does not.
    permissions = {"allow": ["Edit", "Bash(pytest *)"], "deny": ["Edit(**/*.lock)"]}
    current = in_force(permissions)
    calls = [file("Edit", "src/a.py"), file("Edit", "b.py"), bash("pytest -q")]
    found = propose(calls, current, file=CLAUDE)
    assert json.loads(found.text)["permissions"] == {
        "allow": ["Bash(pytest -q)", "Edit"],
        "deny": ["Edit(**/*.lock)"],
    }
    assert (found.covered, found.uncovered) == (3, ())


def test_no_rule_is_taken_over_beside_one_that_decides_before_it():
    permissions = {
        "allow": ["Bash(gh *)", "Bash(npm *)"],
        "ask": ["Bash(gh pr create *)"],
        "deny": ["Bash(rm -rf *)"],
    }
    commands = ["gh pr create --fill", "gh pr list", "gh pr view 1", "gh pr view 2", "npm test"]
    found = propose(map(bash, commands), in_force(permissions), file=CLAUDE)
    rules = json.loads(found.text)["permissions"]
    assert rules["ask"] == ["Bash(gh pr create *)", "Monitor"]  # the rules are for both tools
    assert not set(rules["ask"]) & set(rules.get("deny", ()))
    assert found.covered == len(commands)


def test_what_is_asked_for_is_the_part_that_the_policy_in_force_does_not_allow():
    found = proposed([bash("npm test && git push origin main"), bash("git status")])
    assert lines(found) == [
        "allow Bash(git status), Bash(npm test)",
        "ask Bash(git push origin main)",
    ]
    assert (found.covered, found.uncovered) == (2, ())


def test_a_part_asks_where_allowing_it_would_grant_more():
    # The host allows `tail -5`, and no wrapper of it.
    found = propose([bash("npm test | tail -5")], in_force({"ask": ["Bash(npm *)"]}))
    assert lines(found) == ["ask Bash(tail -5), Bash(npm test)"]
    assert (found.covered, found.uncovered) == (1, ())


def test_a_rule_that_grants_more_takes_no_others_with_it():
    # The comparison names no rule for `xargs tail`.
    commands = ["tail -f a.log | head", "terraform plan", "ls | xargs tail -n +2 | terraform apply"]
    found = propose(map(bash, commands), in_force({"allow": ["Bash(terraform *)"]}))
    assert "Bash(terraform plan)" in found.text


def test_a_rule_that_spells_a_command_is_not_folded():
    commands = ["kill -9 $(lsof -ti:3000)", "ls | xargs kill -9"]
    assert settings_of(*(called("Bash", command=text) for text in commands)) == {
        "allow": ["Bash(kill -9 $(lsof -ti:3000))", "Bash(kill -9 *)"]
    }
