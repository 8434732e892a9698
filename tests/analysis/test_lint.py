"""Lint: what it finds in tables, what takes findings away, and what --fix writes."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from policy.analysis.lint import baseline_text, lint, mend, without_known
from policy.analysis.lint.checks import Positions
from policy.analysis.lint.dead import TriedRules, dead_rule_findings
from policy.analysis.lint.suppression import suppressions
from policy.analysis.running import running
from policy.cli import main
from policy.cli.report.terminal import PageLayout, terminal
from policy.cli.report.words import finding_lines
from policy.compare import compare
from policy.compare.dead_rules import Effort, Mark, written_rules
from policy.core import values
from policy.core.errors import PolicyError
from policy.core.finding import Finding, Severity
from policy.core.source import Edit, Source
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.patterns.pattern import Pattern
from policy.tables.table import Ceiling, Table
from tests.standings import shadowing

PYTHON_AND_ENV = "root m\nagent m {{\n    allow Read, {allow}\n    deny  {deny}\n}}\n"


def linted(files: dict[str, str | bytes]):
    tree = Memory(files)
    return lint(tree, load_tree(tree))


def codes(files: dict[str, str | bytes]) -> list[str]:
    return [finding.code for finding in linted(files).findings]


def team(allow: str, deny: str = "Write") -> dict[str, str | bytes]:
    return {"team.policy": PYTHON_AND_ENV.format(allow=allow, deny=deny)}


def settings(**lists: list[str]) -> dict[str, str | bytes]:
    return {".claude/settings.json": json.dumps({"permissions": lists}, ensure_ascii=False)}


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def running(*arguments):
        status = main(["lint", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return running


def test_a_tool_that_is_nearly_one_of_a3s_is_named() -> None:
    agent = "---\nname: a\ndescription: x\npermissions:\n  deny: [web-fetch, raed, deploy]\n---\n"
    found = linted({".a3s/agents/a.md": agent}).findings
    help_ = [finding.help for finding in found if finding.code == "a3s-unknown-tool"]
    assert help_[:2] == ["did you mean `web_fetch`?", "did you mean `read`?"]
    assert "did you mean" not in help_[2]


# --- what commands show of rules --------------------------------------------------


@pytest.mark.parametrize(
    ("allow", "found"),
    [
        ("Bash(python *)", True),
        ("Bash(python -c *)", True),
        ("Bash(python manage.py *)", False),
        ("Bash(npx *)", True),
        ("Bash(npx prettier *)", False),
        ("Bash(docker run *)", True),
        ("Bash(docker run --rm mine *)", False),  # an image may have a program of its own
        ("Bash(docker exec mine *)", True),
        ("Bash(git *)", True),
        ("Bash(git log *)", False),
        ("Bash(perl -ne *)", True),
        ("Bash(node -e ' *)", True),
        ('Bash(python3 -c "import json; *)', True),
        ("Bash(python3 -c 'print(1)')", False),
        ("Bash(awk '{print $1}' *)", False),
        ("Bash(psql *)", True),
        ("Bash(psql -l *)", False),
        ("Bash(npm install *)", True),
        ("Bash(npm install left-pad)", False),
        ("Bash(npm run *)", False),
        ("Bash(cargo build *)", False),
        ("Bash(git fetch *)", True),
        ("Bash(git fetch origin *)", False),
        ("Bash(terraform *)", True),
        ("Bash(terraform apply *)", False),
        ("Bash(hg *)", True),
        ("Bash(hg log *)", False),
        ("Bash(svn status *)", False),
        ("Bash(helm upgrade *)", True),
        ("Bash(helm list *)", False),
        ("Bash(dpkg *)", True),
        ("Bash(dpkg -l *)", False),
        ("Bash(pacman -Q *)", False),
        ("Bash(ip addr *)", False),
        ("Bash(adb logcat *)", False),
        ("Bash(nvm use *)", False),
        ("Bash(code --diff *)", False),
        # These say openly that any command is allowed.
        ("Bash", False),
        ("Bash(*)", False),
    ],
)
def test_a_rule_that_allows_a_program_which_runs_anything_is_found(allow, found) -> None:
    assert ("rule-runs-anything" in codes(team(allow))) is found


@pytest.mark.parametrize(
    "program",
    "go test,make,tar,vim,psql,rsync,man,parallel,gdb,npm install,cargo run,pip install,git rebase"
    ",docker compose exec,sqlite3,fd,rg,timeout,go run,ansible-playbook,git clone,git push,git archive"
    ",pkexec,runuser,bwrap,perf stat,ip netns exec,aws-vault exec,cross-env,oc exec,limactl shell"
    ",adb shell,gcloud compute ssh,mongosh,octave,jshell,gnuplot,pandoc,yt-dlp,packer build,cdk synth"
    ",pip download,composer require,pacman,helm plugin install".split(","),
)
def test_the_finding_shows_the_call_by_which_a_program_runs_anything(program) -> None:
    files = settings(allow=[f"Bash({program} *)"])
    shown = [f.message for f in linted(files).findings if f.code == "rule-runs-anything"]
    assert len(shown) == 1
    command = shown[0].split("allows `")[1].partition("`, and")[0]
    assert "ANYTHING" in command
    chain = load_tree(Memory(files)).chain("main", reading="enforced")
    assert chain.decide("Bash", {"command": command}).effect == "allow"


def test_a_program_that_another_rule_denies_runs_nothing() -> None:
    assert "rule-runs-anything" in codes(team("Bash(bash *)"))
    assert "rule-runs-anything" not in codes(team("Bash(bash *)", "Bash(bash *)"))
    # A shell still runs what it reads.
    assert "rule-runs-anything" in codes(team("Bash(bash *)", "Bash(bash -c *)"))


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        # Options, and words of another kind, may stand before what runs a command.
        ("sed -n *", "sed -n x -e '1e ANYTHING' app.log"),
        ("tar -xzf *", "tar -xzf a --checkpoint=1 --checkpoint-action=exec=ANYTHING b"),
        (
            "tar xzf a.tgz *",
            "tar xzf a.tgz --checkpoint=1 --checkpoint-action=exec=ANYTHING b",
        ),
        ("make -j4 *", "make -j4 x -f ANYTHING"),
        ("/usr/bin/make test*", "/usr/bin/make test -f ANYTHING"),
        ("go test ./... *", "go test ./... -exec ANYTHING"),
        ("git -C . rebase -i *", "git -C . rebase -i x -x ANYTHING main"),
        ("ssh -p 22 *", "ssh -p 22 host ANYTHING"),
        ("docker exec -u root app *", "docker exec -u root app ANYTHING"),
        ("docker compose -f a.yml exec app *", "docker compose -f a.yml exec app ANYTHING"),
        ("kubectl exec -n a pod *", "kubectl exec -n a pod -- ANYTHING"),
        ("npm install --save-dev *", "npm install --save-dev ANYTHING"),
        (".venv/bin/python3.11 -u *", ".venv/bin/python3.11 -u -c ANYTHING"),
        ("A=b make *", "A=b make -f ANYTHING"),
        ("git -c a=b *", "git -c a=b -c 'alias.run=!ANYTHING' run"),
        ("python3 -m *", "python3 -m ANYTHING"),
        ("rsync -e ssh *", "rsync -e ssh -e ANYTHING a host:b"),
        ("bash -euo pipefail -c *", "bash -euo pipefail -c ANYTHING"),
        ("perl -i -pe *", "perl -i -pe ANYTHING"),
        ('bash -c "cd x && *"', 'bash -c "cd x && ANYTHING"'),
        ("rg -n '*' src", "rg -n 'x' --pre ANYTHING TODO '' src"),
        ("* --version", "sh -c ANYTHING --version"),
        # So they may behind a program that runs the next one.
        ("sudo -u a docker exec app *", "sudo -u a docker exec app ANYTHING"),
        ("uv run python *", "uv run python -c ANYTHING"),
        # What they read from the standard input.
        ("bash", "echo ANYTHING | bash"),
        ("python3 -", "echo ANYTHING | python3 -"),
        ("ssh host", "echo ANYTHING | ssh host"),
        # Options end, or the word that the star stands for is another program's.
        ("sort -u -- *", ""),
        ("rg -n -- *", ""),
        ("go test -args *", ""),
        ("git -C . log *", ""),
        ("gh -R * pr list *", ""),
        ("cargo -C *", "cargo -C x run --manifest-path ANYTHING/Cargo.toml"),
        ("composer -d * show *", "composer -d x exec ANYTHING show x"),
        ("git diff -- *", ""),
        ("sed --sandbox *", ""),
        ("psql -l *", ""),
        ("command -v *", ""),
        ("git config --get *", ""),
        ("npm install --ignore-scripts *", ""),
        ("bash a.sh *", ""),
        ("python3 -m pytest *", ""),
        ("go build ./a *", ""),
        ("cargo run --bin a -- *", ""),
        ("npm create vite *", ""),
        ("xargs grep *", ""),
        ("sudo systemctl *", ""),
        ("kubectl get *", ""),
        # Nothing can follow, and what is read is nothing that runs.
        ("bash --version", ""),
        ("node -v", ""),
        ("docker exec app sh", ""),
        ("make test", ""),
        ("sed -n", ""),
    ],
)
def test_what_the_star_of_a_rule_may_stand_for_is_found_behind_its_words(rule, shown) -> None:
    found = [each.command for each in running(Pattern.text(rule))]
    assert (found or [""])[0] == shown


@pytest.mark.parametrize(
    ("allow", "deny", "found"),
    [
        ("Bash(cat *)", "Read(.env)", True),
        ("Bash(cat *)", "Read(.env), Bash(cat *)", False),
        ("Bash(cat docs/*)", "Read(.env)", False),
        ("Bash(base64 *)", "Read(secrets/**)", True),
        ("Bash(echo *)", "Read(.env)", False),
        ("Bash(cat *)", "Edit(.env)", False),
        ("Bash", "Read(~/.ssh/**)", True),
    ],
)
def test_a_read_that_is_denied_and_reachable_through_the_shell_is_found(allow, deny, found) -> None:
    assert ("read-through-shell" in codes(team(allow, deny))) is found


def test_a_file_is_not_reachable_where_the_host_holds_commands_to_its_rules_on_files() -> None:
    # Claude Code takes `cat .env` for a read of the file.
    assert "read-through-shell" not in codes(settings(allow=["Bash(cat *)"], deny=["Read(.env)"]))
    assert "read-through-shell" in codes(settings(allow=["Bash(xxd *)"], deny=["Read(.env)"]))


@pytest.mark.parametrize(
    ("allow", "deny", "found"),
    [
        ("Read, Grep", "Read(.env)", True),
        ("Read, Grep(secrets/**)", "Read(secrets/**)", True),
        ("Read, Grep", "Read(.env), Grep(.env)", False),
        ("Read, Grep(src/**)", "Read(.env)", False),
        ("Read, Grep", "Edit(.env)", False),
        ("Read, Glob", "Read(.env)", False),
    ],
)
def test_a_read_that_is_denied_and_reachable_by_a_search_is_found(allow, deny, found) -> None:
    assert ("read-through-search" in codes(team(allow, deny))) is found


def test_a_search_is_held_to_the_rules_on_reading_where_its_host_does_so() -> None:
    assert "read-through-search" not in codes(settings(allow=["Grep"], deny=["Read(.env)"]))


@pytest.mark.parametrize(
    ("allow", "deny", "found"),
    [
        ([], "Bash(history | grep -i password*)", True),
        (["Bash(curl *)", "Bash(sh *)"], "Bash(curl * | sh*)", True),
        (["Bash"], "Bash(curl * | sh*)", False),
        ([], "Bash(curl * | sh*)", False),
        ([], "Bash(ls | wc -l)", False),
        ([], "Bash(rm *)", False),
    ],
)
def test_a_denied_pipe_that_runs_all_the_same_is_found(allow, deny, found) -> None:
    files = settings(allow=allow, deny=[deny])
    assert ("guard-misses-command" in codes(files)) is found


@pytest.mark.parametrize(
    ("written", "severity"),
    [
        ({"permisions": {"deny": ["Bash(rm *)"]}}, "error"),
        ({"permisions": {"ask": ["Bash(rm *)"]}}, "error"),
        ({"permisions": {"allow": ["Bash(ls)"]}}, "warning"),
        ({"permisions": {"deny": []}}, "warning"),
        ({"permissions": {"denny": ["Bash(rm *)"]}}, "error"),
        ({"permissions": {"alow": ["Bash(ls)"]}}, "warning"),
        ({"deny": ["Bash(rm *)"]}, "error"),
        ({"allow": ["Bash(ls)"]}, "warning"),
    ],
)
def test_a_misspelt_key_is_an_error_where_rules_that_guard_are_lost_by_it(
    written, severity
) -> None:
    (finding,) = linted({".claude/settings.json": json.dumps(written)}).findings
    assert finding.severity.value == severity


def test_rules_of_another_host_are_no_settings_of_claude_code() -> None:
    rules = json.dumps({"permissions": {"allow": ["Shell(ls)"], "deny": ["Write(**/.env)"]}})
    assert codes({"cli.json": rules})
    assert not codes({".cursor/cli.json": rules})


def test_a_command_that_a_twin_of_the_shell_may_run_is_found() -> None:
    assert "twin-shell" in codes(team("Bash, PowerShell", "Bash(rm *)"))
    assert "twin-shell" not in codes(team("Bash, PowerShell", "Bash(rm *), PowerShell(rm *)"))
    assert "twin-shell" not in codes(team("Bash", "Bash(rm *)"))


# --- rules that do not matter -----------------------------------------------------


def dead(files: dict[str, str | bytes]) -> list[tuple[str, str]]:
    return [
        (finding.code, finding.span.text)
        for finding in linted(files).findings
        if finding.code in ("shadowed-rule", "redundant-rule") and finding.span
    ]


@pytest.mark.parametrize(
    ("allow", "deny", "found"),
    [
        ("Bash(git *), Bash(git log *)", "Write", [("shadowed-rule", "Bash(git log *)")]),
        ("Bash(git log *)", "Bash(git *)", [("shadowed-rule", "Bash(git log *)")]),
        ("Bash(git *)", "Bash(git log *)", []),
        ("Bash(git *)", "Bash(git push *), Bash(git push -f *)", [("shadowed-rule", "Bash(git push -f *)")]),
        ("Bash(git *)", "Bash(git push -f *), Bash(git push *)", [("redundant-rule", "Bash(git push -f *)")]),
        # Together two rules cover a third.
        ("Bash(a *)", "Bash(a *), Bash(a b *)", [("shadowed-rule", "Bash(a *)")]),
        # A denial that nothing grants anyway is a second lock.
        ("Bash(git *)", "Bash(rm *)", []),
        ("Grep, Grep", "Write", [("shadowed-rule", "Grep")]),
    ],
)  # fmt: skip
def test_a_rule_that_does_not_matter_is_found(allow, deny, found) -> None:
    assert [one for one in dead(team(allow, deny)) if one in found] == found
    assert found or not dead(team(allow, deny))


def test_a_rule_that_none_alone_covers_adds_nothing_and_a_call_shows_why() -> None:
    files = settings(allow=["Read(src/**)", "Bash(make)"], deny=["Write(x)"])
    (finding,) = [f for f in linted(files).findings if f.code == "redundant-rule"]
    assert finding.message == (
        "`Read(src/**)` adds nothing: without it every call is decided the same;"
        " `Read(src)` is then allowed by `Read (working folder)`"
    )


def test_of_rules_that_say_the_same_one_is_kept() -> None:
    files = settings(allow=["Bash(make *)", "Bash(make:*)", "Bash(make *)"])
    tree = Memory(files)
    workspace = load_tree(tree)
    findings = [f for f in lint(tree, workspace).findings if f.code.endswith("-rule")]
    assert len(findings) == 2
    mended = mend(tree, workspace, findings)
    ((_, text),) = mended.contents.values()
    after = {".claude/settings.json": text}
    # The two edits share a comma, so that the second is for another run.
    assert json.loads(text)["permissions"]["allow"] == ["Bash(make *)", "Bash(make *)"]
    assert (
        load_tree(Memory(after)).chain("main").decide("Bash", {"command": "make x"}).effect.value
        == "allow"
    )


def test_a_rule_that_matters_to_one_agent_alone_is_no_dead_one() -> None:
    text = (
        "root m\nagent m {\n    allow Bash(git *), Task\n}\n"
        "agent n {\n    allow Bash(git log *)\n}\n"
    )
    assert dead({"t.policy": text}) == []


def agents_of_zeph() -> dict[str, str | bytes]:
    agent = "---\nname: {0}\ndescription: x\n{1}---\nYou work.\n"
    return {
        ".zeph/agents/a.md": agent.format("a", "tools:\n  allow: [read]\n"),
        ".zeph/agents/b.md": agent.format("b", ""),
        "config/default.toml": '[agents]\nenabled = true\ndefault_disallowed_tools = ["bash"]\n',
    }


def test_a_rule_that_was_not_tried_in_every_table_is_not_called_dead() -> None:
    # The second rule is redundant in one table and matters in the other, which has it alone.
    tree = Memory({"t.policy": "root m\nagent m {\n    allow Bash(git *), Bash(git log *)\n}\n"})
    (project,) = load_tree(tree).projects
    entry = project.agents["m"]
    (part,) = entry.declared.use.parts
    alone = Table.of(values.evolve(part.rules, entries=part.rules.entries[-1:]))
    agents = {"m": entry, "n": values.evolve(entry, name="n", declared=alone)}
    positions = Positions(values.evolve(project, agents=agents), tree.source)
    assert part.rules.entries[-1].rule == "Bash(git log *)"
    for most in (None, 0, 1, 2, 3):
        found = {finding.code for finding in dead_rule_findings(positions, most)}
        assert found <= {"rules-not-compared"}, most


CHILDREN = {
    ".claude/agents/planner.md": "---\nname: planner\ndescription: x\npermissionMode: plan\n---\n",
    ".claude/agents/free.md": "---\nname: free\ndescription: x\npermissionMode: auto\n"
    "tools: Read, Read, Bash, Agent(planner)\n---\n",
}


@pytest.mark.parametrize("main_agent", ["", "free"])
def test_a_rule_that_its_own_lists_make_dead_in_all_modes_decides_in_no_chain(
    main_agent: str,
) -> None:
    lists = {
        "allow": ["Bash(git *)", "Bash(git log *)", "Bash(ls *)", "Read(src/**)", "WebFetch"],
        "deny": ["Bash(rm *)", "Bash(rm -r *)", "Edit(.env)"],
        "ask": ["Bash(git log *)", "Edit(.claude/**)", "Bash(git log -p *)"],
    }
    text = json.dumps({"permissions": lists} | ({"agent": main_agent} if main_agent else {}))
    tree = Memory({".claude/settings.json": text, **CHILDREN})
    (project,) = load_tree(tree).projects
    written: set[Mark] = set()
    alone: set[Mark] = set()  # those that decide a call of their own lists
    live: set[Mark] = set()  # those that decide a call of a chain
    for each in (project, *project.modes.values()):
        positions, tried = Positions(each, tree.readable), TriedRules()
        for start in each.starts:
            table = each.enforced.start(start).table
            by_lists = [Table(Ceiling.of([part])) for part in table.use.parts]
            written |= tried.marks(table).keys()
            alone |= needed(tried, [*by_lists, *(one.declared for one in each.agents.values())])
        live |= needed(tried, [chain.table for chain in positions.chains])
    written = {mark for mark in written if mark[0] and mark[0].file == ".claude/settings.json"}
    assert not live & written - alone
    assert len(live & written) > 5
    covered = {"Bash(git log *)", "Bash(git log -p *)", "Bash(rm -r *)", "Read(src/**)"}
    assert {rule for _, rule in written - alone} == covered


def needed(tried: TriedRules, tables: list[Table]) -> set[Mark]:
    found = [tried.standings(table, {*tried.marks(table)}, Effort()) for table in tables]
    return {mark for some in found for mark, one in some.items() if one.is_live is not False}


def test_rules_that_the_host_itself_has_are_not_said_to_be_open() -> None:
    files = settings(allow=["Bash(make *)"])
    tree = Memory(files)
    positions = Positions(load_tree(tree).projects[0], tree.source)

    def source(file: str) -> Source | None:
        return tree.source(file) if file in files else None

    positions = values.evolve(positions, source=source)
    told = [finding.file for finding in dead_rule_findings(positions, 0)]
    assert told == [".claude/settings.json"]


def test_thousands_of_rules_are_all_tried() -> None:
    rules = [f"Bash(x{n} *)" for n in range(3_000)]
    found = codes(team(", ".join([*rules, "Bash(x7 y)"])))
    assert found.count("shadowed-rule") == 1
    assert "rules-not-compared" not in found


def test_projects_with_the_same_rules_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []
    search = compare._differing

    def counted(*arguments: Any) -> Any:
        searched.append(arguments)
        return search(*arguments)

    monkeypatch.setattr("policy.compare.compare._differing", counted)
    (text,) = team("Read(a/**), Read(a/[b-c])").values()
    alone = linted({"a.policy": text}).findings
    once = len(searched)
    both = linted({"a.policy": text, "b.policy": text}).findings
    assert len(searched) == 2 * once > 0
    assert len(both) == 2 * len(alone)


def test_rules_that_are_not_tried_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policy.analysis.lint.dead.Effort", lambda: Effort(0))
    found = linted(team("Read(a/**), Read(a/[b-c])")).findings
    (told,) = [each for each in found if each.code == "rules-not-compared"]
    assert told.message.startswith(
        "not compared: whether 2 rules decide anything (the rules overlap"
    )


# --- characters and credentials ---------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("Bash(rm\u200b *)", ["hidden-character"]),
        ("Bash(rm \u202e*)", ["hidden-character"]),
        ("Bash(\u0441url *)", ["look-alike-letter"]),
        ("Bash(\uff43url *)", ["look-alike-letter"]),
        ("Bash(printf привет *)", []),
        ("Bash(printf größe *)", []),
    ],
)
def test_characters_that_mislead_a_reader_are_found(rule, found) -> None:
    misleading = [c for c in codes(settings(deny=[rule])) if c in MISLEADING]
    assert misleading == found


MISLEADING = {"hidden-character", "look-alike-letter"}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("Bash(git push https://me:hunter2hunter2@example.com/x)", True),
        ("Bash(git push https://$USER:$TOKEN@example.com/x)", False),
        ("Bash(API_KEY=a1b2c3d4e5f6 make *)", True),
        ("Bash(API_KEY=$KEY make *)", False),
        ("Bash(curl -H 'Authorization: Bearer *)", False),
        ("Bash(curl -H 'Authorization: Bearer abcdefghijklmnopqrst1234' *)", True),
    ],
)
def test_a_credential_is_found_and_never_repeated(rule, found, run, tmp_path) -> None:
    files = settings(allow=[rule])
    assert ("secret-in-policy" in codes(files)) is found
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(str(files[".claude/settings.json"]))
    _, out, _ = run("--select", "secret-in-policy")
    assert not [word for word in ("hunter2", "a1b2c3d4", "abcdefghijkl") if word in out]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "sarif", "github", "junit"])
def test_no_other_finding_repeats_a_credential(form, run, tmp_path) -> None:
    # Both rules are redundant, and the line of the second holds the first.
    rules = ["Bash(API_KEY=a1b2c3d4e5f6 make *)", "Bash(make test)", "Bash(make *)", "Bash"]
    (tmp_path / ".claude").mkdir()
    text = str(settings(allow=rules)[".claude/settings.json"])
    (tmp_path / ".claude/settings.json").write_text(text)
    _, out, _ = run("--select", "redundant", "--format", form)
    assert "redundant-rule" in out
    assert "a1b2c3d4" not in out


def test_an_edit_is_made_in_a_file_with_a_credential(run, tmp_path) -> None:
    text = (
        "root m\nagent m {\n    allow Bash(API_KEY=a1b2c3d4e5f6 make), Bash(ls *), Bash(ls -l)\n}\n"
    )
    (tmp_path / "t.policy").write_text(text)
    run("--fix")
    assert (tmp_path / "t.policy").read_text() == text.replace(", Bash(ls -l)", "")


# --- in an audit ------------------------------------------------------------------

AUDITED = """root main
agent main {
    allow Bash(python *), Bash(cc *), Bash(cc test)
    # policy: ignore[read-through-shell] python is sandboxed
    deny Read(.env)
}
"""


@pytest.fixture
def audited(tmp_path, capsys):
    def told(text: str, *arguments: str) -> str:
        (tmp_path / "t.policy").write_text(text)
        main(["audit", str(tmp_path), *arguments])
        return capsys.readouterr().out

    return told


def test_an_audit_says_what_lint_lists_in_a_line_each(audited) -> None:
    text = audited(AUDITED)
    assert "2 warnings; 1 suppressed\n" in text
    assert re.search(r"^  warning  t.policy:3:11  .*", text, re.MULTILINE)
    assert "[rule-runs-anything]" in text
    assert "[shadowed-rule]" in text
    assert "^^^" not in text


def test_an_audit_holds_all_findings_for_programs(audited) -> None:
    answer = json.loads(audited(AUDITED, "--format", "json"))
    codes = [finding["code"] for finding in answer["findings"]]
    assert (codes, answer["suppressed"]) == (["rule-runs-anything", "shadowed-rule"], 1)


def test_an_audit_tells_errors_one_by_one_and_repeats_no_credential(audited) -> None:
    text = audited("agent m {\n    allow Bash(API_KEY=a1b2c3d4e5f6 make)\n}\n")
    assert "[secret-in-policy]" in text
    assert "a1b2c3d4" not in text


# --- suppressions -----------------------------------------------------------------

SUPPRESSED = "Bash(rm *)  # policy: ignore[twin-shell] there is no PowerShell here"


def test_a_comment_with_code_and_reason_suppresses_the_findings_of_its_line() -> None:
    assert "twin-shell" in codes(team("Bash(ls *), PowerShell", "Bash(rm *)"))
    report = linted(team("Bash(ls *), PowerShell", SUPPRESSED))
    assert [finding.code for finding in report.findings] == []
    ((finding, reason),) = report.suppressed
    assert (finding.code, reason) == ("twin-shell", "there is no PowerShell here")


def test_a_comment_on_a_line_of_its_own_is_about_the_next() -> None:
    text = (
        "root m\nagent m {\n    allow Bash(ls *), PowerShell\n"
        "    # policy: ignore[twin-shell] none here\n\n    # more\n    deny Bash(rm *)\n}\n"
    )
    assert codes({"t.policy": text}) == []


@pytest.mark.parametrize(
    "comment", ["# policy: ignore", "# policy: ignore[]  why", "# policy: ignore[twin-shell]"]
)
def test_a_comment_without_code_or_reason_suppresses_nothing(comment) -> None:
    found = codes(team("Bash(ls *), PowerShell", f"Bash(rm *)  {comment}"))
    assert sorted(found) == ["bad-suppression", "twin-shell"]


def test_an_unused_suppression_is_reported_and_a_misspelt_code_is_recognised() -> None:
    (finding,) = linted(team("Bash(ls *)  # policy: ignore[twin-shel] x")).findings
    assert finding.code == "unused-suppression"
    assert finding.help == "did you mean `twin-shell`?"
    assert not finding.edits  # the code is to be mended, not the comment taken away


ABSOLUTE = settings(deny=["Read(/etc/a)", "Read(/etc/b)"])


def ignoring(*entries: str) -> dict[str, str | bytes]:
    listed = "".join(f"  - {{{entry}}}\n" for entry in entries)
    return {**ABSOLUTE, "policy-lint.yaml": f"ignore:\n{listed}"}


AT = "code: looks-absolute, file: .claude/settings.json, reason: it is meant so"


def test_a_file_suppresses_findings_of_formats_without_comments() -> None:
    found = linted(ignoring(AT))
    assert found.findings == ()
    assert [(f.code, reason) for f, reason in found.suppressed] == [
        ("looks-absolute", "it is meant so")
    ] * 2


def test_an_entry_may_be_about_one_rule() -> None:
    found = linted(ignoring(f"{AT}, rule: Read(/etc/b)"))
    assert [finding.span.text for finding in found.findings] == ['"Read(/etc/a)"']
    assert len(found.suppressed) == 1


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ("code: looks-absolute, file: .claude/settings.json", "bad-suppression", "reason`"),
        ("code: looks-absolute, reason: x", "bad-suppression", "file`"),
        (f"{AT}, rules: Read(/etc/a)", "bad-suppression", "unknown field `rules`"),
        (f"{AT}, rule: [a]", "bad-suppression", "found a list"),
        (AT.replace("it is meant so", "' '"), "bad-suppression", "expected a reason"),
        (f"{AT}, rule: Read(/etc/c)", "unused-suppression", "of `Read(/etc/c)` in .claude"),
        (AT.replace("settings.json", "other.json"), "unused-suppression", "in .claude/other"),
    ],
)
def test_an_entry_that_suppresses_nothing_is_reported(entry, code, said) -> None:
    found = linted(ignoring(entry)).findings
    assert [finding.code for finding in found if finding.code != "looks-absolute"] == [code]
    assert len(found) == 3
    assert said in next(finding.message for finding in found if finding.code == code)


@pytest.mark.parametrize("text", ["ignore: yes", "- a", "ignore: [\n", "ignored: []", "a: &x 1"])
def test_a_file_that_is_none_suppresses_nothing(text) -> None:
    found = codes({**ABSOLUTE, "policy-lint.yaml": text})
    assert found.count("looks-absolute") == 2
    assert "bad-suppression" in found


def test_no_entry_suppresses_what_cannot_be_read() -> None:
    entry = "code: invalid-json, file: .claude/settings.json, reason: x"
    files = {**ignoring(entry), ".claude/settings.json": "{"}
    assert "invalid-json" in codes(files)


def test_what_cannot_be_read_is_not_suppressed() -> None:
    text = "agent m {\n    allow Bash((  # policy: ignore[unreadable-policy] later\n}\n"
    assert "unreadable-policy" in codes({"t.policy": text})


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.policy", "agent m {\n    allow Bash(x # policy: ignore[a] b)\n}\n", []),
        ("a.policy", "agent m {\n    allow Read,  # policy: ignore[a] b\n        Grep\n}\n", [2]),
        ("a.policy", "agent m {  # policy: ignore[a] b\n", []),  # not to be read
        ("a.md", "---\na: b  # policy: ignore[a] b\n---\n", [2]),
        ("a.md", "---\na: 'b # policy: ignore[a] b'\n---\n", []),
        ("a.md", "---\na: |\n  b # policy: ignore[a] b\n---\n", []),
        ("a.md", "---\na: b\n---\nc # policy: ignore[a] b\n", []),
        ("a.md", "---\r\n# policy: ignore[a] b\r\na: b\r\n---\r\n", [3]),
        ("a.yaml", "a: [b,  # policy: ignore[a] b\n  c]\n", [1]),
        ("a.toml", "[a]\nb = 'c'  # policy: ignore[a] b\n", [2]),
        ("a.toml", """b = "c \\" # policy: ignore[a] b"\n""", []),
        ("a.toml", "b = '''\n# policy: ignore[a] b\n'''\n# policy: ignore[a] b\nc = 1\n", [5]),
        ("a.md", "+++\na = 1  # policy: ignore[a] b\n+++\nc # policy: ignore[a] b\n", [2]),
        ("a.json", '{"a": "# policy: ignore[a] b"}\n', []),
    ],
)
def test_only_a_comment_suppresses(name, text, lines) -> None:
    assert [one.line for one in suppressions(Source(name, text))] == lines


def test_a_comment_of_toml_suppresses() -> None:
    files = agents_of_zeph()
    line = 'default_disallowed_tools = ["web_*"]'
    key = "config/default.toml"
    files[key] = f"[agents]\nenabled = true\n{line}\n"
    assert "dead-star" in codes(files)
    files[key] = f"[agents]\nenabled = true\n{line}  # policy: ignore[dead-star] it is gone soon\n"
    assert "dead-star" not in codes(files)


# --- selection and baselines ------------------------------------------------------


@pytest.fixture
def project(tmp_path) -> Path:
    (tmp_path / ".claude").mkdir()
    file = tmp_path / ".claude/settings.json"
    file.write_text(
        str(settings(allow=["Bash(python *)"], deny=["Read(.env)"])[".claude/settings.json"])
    )
    return file


def test_findings_are_selected_and_ignored_by_the_beginning_of_their_code(run, project) -> None:
    def found(*options):
        return [f["code"] for f in json.loads(run("--format", "json", *options)[1])["findings"]]

    assert sorted(found()) == ["read-through-shell", "rule-runs-anything"]
    assert found("--select", "read") == ["read-through-shell"]
    assert found("--ignore", "read,x") == ["rule-runs-anything"]
    assert found("--select", "r", "--ignore", "rule-,read") == []


def test_a_file_that_cannot_be_read_counts_whatever_is_selected(run, project) -> None:
    project.write_text("{")
    assert run("--select", "nothing")[0] == 2
    assert run("--ignore", "invalid")[0] == 2
    assert run("--write-baseline", "b.json")[0] == 2
    assert run("--baseline", "b.json")[0] == 2


def test_a_baseline_knows_findings_again_when_lines_move_and_no_others(run, project) -> None:
    assert run()[0] == 1
    assert run("--write-baseline", "b.json")[0] == 0
    assert run("--baseline", "b.json")[0] == 0
    project.write_text("\n\n" + project.read_text())
    status, out, _ = run("--baseline", "b.json", "--format", "json")
    known = json.loads(out)["suppressed"]
    assert (status, [each["suppression"] for each in known]) == (0, ["in the baseline"] * 2)
    project.write_text(project.read_text().replace("python *", "bash *"))
    assert run("--baseline", "b.json")[0] == 1


def test_a_baseline_knows_a_finding_as_often_as_it_was_there() -> None:
    finding = Finding("x", "message", file="a")
    baseline = Source("b.json", baseline_text([finding, finding]))
    assert without_known([finding] * 3, baseline) == ([finding], [finding] * 2)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2}', '{"version": 1}', '{"version": 1, "findings": [{}]}']
)
def test_what_is_no_baseline_is_refused(text) -> None:
    with pytest.raises(PolicyError):
        without_known([], Source("b.json", text))


def test_the_exit_status_is_of_the_least_severity_that_counts(run, project) -> None:
    assert run()[0] == 1
    assert run("--fail-on", "error")[0] == 0
    assert run("--fail-on", "note")[0] == 1
    project.write_text("{}")
    assert run("--fail-on", "note")[0] == 0
    project.unlink()
    assert run("--fail-on", "error")[0] == 2, "there is nothing to lint"


# --- fixing -----------------------------------------------------------------------

COMMENTED = (
    "\ufeffroot main\r\n\r\nagent main {\r\n    allow Read  # policy: ignore[twin-shell] no\r\n"
    "    # kept  \r\n\tdeny Write\r\n}"
)


def test_fix_keeps_everything_else_byte_for_byte(run, tmp_path) -> None:
    file = tmp_path / "t.policy"
    file.write_bytes(COMMENTED.encode())
    file.chmod(0o640)
    status, _, err = run("--fix")
    assert (status, err) == (0, "1 finding fixed in 1 file\n")
    expected = COMMENTED.replace("  # policy: ignore[twin-shell] no", "")
    assert file.read_bytes() == expected.encode()
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["t.policy"]


def test_diff_shows_what_fix_would_do_and_changes_nothing(run, tmp_path) -> None:
    file = tmp_path / "t.policy"
    file.write_bytes(COMMENTED.encode())
    status, out, _ = run("--diff")
    assert status == 1
    assert "-    allow Read  # policy: ignore[twin-shell] no\n+    allow Read\n" in out
    assert file.read_bytes() == COMMENTED.encode()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_fix_writes_through_a_link_and_leaves_the_link(run, tmp_path) -> None:
    (tmp_path / "real.txt").write_text(
        "root m\nagent m {\n    allow Read  # policy: ignore[x-y] no\n}\n"
    )
    (tmp_path / "t.policy").symlink_to("real.txt")
    assert run("--fix")[0] == 0
    assert (tmp_path / "t.policy").is_symlink()
    assert "ignore" not in (tmp_path / "real.txt").read_text()


TEAM = "root m\nagent m {\n    allow Read(src/**)\n    deny Read(src/x)\n}\n"


def edited_by(*edits: tuple[str, str]):
    tree = Memory({"t.policy": TEAM})
    source = tree.source("t.policy")
    findings = []
    for number, (old, new) in enumerate(edits):
        start = TEAM.index(old)
        edit = Edit(source.span(start, start + len(old)), new)
        findings.append(Finding(f"x{number}", "m", Severity.WARNING, edit.span, edits=(edit,)))
    return mend(tree, load_tree(tree), findings)


def test_an_edit_that_grants_more_is_refused_with_a_witness() -> None:
    mended = edited_by(("    deny Read(src/x)\n", ""))
    assert not mended.contents
    assert "`m` would get allow instead of deny for `Read(src/x)`" in mended.refused["t.policy"]


def test_an_edit_that_leaves_a_file_unreadable_is_refused() -> None:
    mended = edited_by(("allow", "alow"))
    assert not mended.contents
    assert "expected a statement" in mended.refused["t.policy"]


def test_of_edits_that_overlap_the_first_is_made() -> None:
    mended = edited_by(("Read(src/**)", "Read(src/a)"), ("(src/**)", "(src/b)"))
    assert [finding.code for finding in mended.made] == ["x0"]
    assert b"Read(src/a)" in mended.contents["t.policy"][1]


def test_edits_that_widen_together_are_refused_though_each_would_pass_alone() -> None:
    # Two links deny the same; taking one denial away changes nothing.
    files = {
        "a/.claude/settings.json": '{"permissions": {"deny": ["Bash(x)", "Bash(x)"]}}',
    }
    tree = Memory(files)
    source = tree.source("a/.claude/settings.json")
    text = source.text
    first, second = text.index('"Bash(x)", '), text.index(', "Bash(x)"]')
    alone = [
        Finding("x", "m", span=source.span(0, 1), edits=(Edit(source.span(start, end), ""),))
        for start, end in ((first, first + 11), (second, second + 11))
    ]
    for finding in alone:
        assert mend(tree, load_tree(tree), [finding]).contents
    # Both edits share the comma, so the second waits for another run.
    assert len(mend(tree, load_tree(tree), alone).made) == 1
    whole = values.evolve(alone[0], edits=(Edit(source.span(first, second + 11), ""),))
    assert mend(tree, load_tree(tree), [whole]).refused


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path) -> None:
    from policy.files.writing import replace_files

    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    other.write_bytes(b"changed")
    with pytest.raises(PolicyError, match="changed since"):
        replace_files({one: (b"1", b"new"), other: (b"2", b"new")})
    assert (one.read_bytes(), other.read_bytes()) == (b"1", b"changed")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_revision_cannot_be_mended(run, capsys) -> None:
    os.system("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x")  # noqa: S605
    assert run("HEAD", "--fix")[0] == 2


# --- formats ----------------------------------------------------------------------


def test_results_of_a_folder_below_have_paths_that_a_forge_knows(run, project, tmp_path) -> None:
    below = tmp_path / "sub dir"
    below.mkdir()
    project.parent.rename(below / ".claude")
    _, out, _ = run("sub dir", "--format", "github", "--select", "read")
    assert out.startswith("::warning file=sub dir/.claude/settings.json,line=1,")
    log = json.loads(run("sub dir", "--format", "sarif")[1])
    locations = [result["locations"][0] for result in log["runs"][0]["results"]]
    uris = {one["physicalLocation"]["artifactLocation"]["uri"] for one in locations}
    assert uris == {"sub%20dir/.claude/settings.json"}


def test_an_annotation_cannot_be_broken_out_of() -> None:
    from policy.cli.report.results import Result, github
    from policy.core.source import Source

    span = Source("a,line=9:x\n::error::y", "text").span(0, 1)
    finding = Finding("c", "100%\n::set-output name=a::b", Severity.WARNING, span)
    (line,) = github([Result(finding)]).splitlines()
    assert line.startswith("::warning file=a%2Cline=9%3Ax\\n%3A%3Aerror%3A%3Ay,line=1,")
    assert line.endswith("::100%25\\n::set-output name=a::b")


def test_junit_fails_what_counts_and_skips_the_rest(run, tmp_path) -> None:
    (tmp_path / "t.policy").write_text(
        str(team("Bash(ls *), PowerShell", SUPPRESSED)["team.policy"])
    )
    (tmp_path / "u.policy").write_text(str(team("Bash(npx *)")["team.policy"]))
    root = ET.fromstring(run("--format", "junit")[1])  # noqa: S314
    suites = {suite.get("name"): suite for suite in root}
    assert suites["t.policy"].get("skipped") == "1"
    assert suites["u.policy"].get("failures") == "1"
    (failure,) = root.iter("failure")
    assert failure.get("type") == "rule-runs-anything"


def test_a_junit_report_of_nothing_has_a_test_that_passes(run, tmp_path) -> None:
    (tmp_path / "t.policy").write_text("agent m {\n    allow Read\n}\n")
    root = ET.fromstring(run("--format", "junit")[1])  # noqa: S314
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


def test_a_rule_for_commands_is_compared_once_with_the_files_that_these_open(monkeypatch) -> None:
    compared: list[str] = []

    def counted(tool: str, *rest: object) -> object:
        compared.append(tool)
        return compare.compare(tool, *rest)

    monkeypatch.setattr("policy.compare.dead_rules.compare", counted)

    def narrow(*rules: str) -> str:
        content = json.dumps({"permissions": {"allow": rules}})
        (project,) = load_tree(Memory({".claude/settings.json": content})).projects
        return shadowing(project.enforced.start("main").table)[0].what

    assert narrow("Bash(xargs -n 1 * x)", "Bash(xargs *)") == "redundant"
    # Without the rule for both tools that run commands; where it asks or denies, the first tells.
    assert compared == ["Bash", "Monitor", "Bash", "Bash"]
    compared.clear()
    # A later rule that is wider in plain words needs no comparison.
    assert narrow("Bash(make -n *)", "Bash(make *)") == "redundant"
    assert compared == []


@pytest.mark.parametrize(
    ("effect", "rule", "found", "mended"),
    [
        ("allow", "Bash(done)", True, True),
        ("allow", "Bash(EOF)", True, True),
        ("allow", "Bash( make)", True, True),
        # A denial is looked for in pieces too; one that holds nothing back is to be mended.
        ("deny", "Bash(done)", False, False),
        ("ask", "Bash(EOF)", False, False),
        ("deny", "Bash( make)", True, False),
        ("ask", "Bash(make )", True, False),
    ],
)
def test_a_rule_of_no_command_is_taken_out_unless_it_was_to_hold_one_back(
    effect, rule, found, mended
) -> None:
    findings = linted(settings(**{effect: [rule]})).findings
    some = [each for each in findings if each.code == "rule-of-no-command"]
    assert (bool(some), any(each.edits for each in some)) == (found, mended)


# Each beside a whole command like it; bash has said of each whether it accepts it.
@pytest.mark.parametrize(
    ("fragment", "whole"),
    [
        ("$(", "$(x)"),
        ("x=$(y", "x=$(y)"),
        ("echo `x", "echo `x`"),
        ("${x", "${x}"),
        ("x=(", "x=(a b)"),
        ("foo <(bar", "foo <(bar)"),
        ('echo "$(x)', 'echo "$(x "(")"'),
        ('foo "a', "foo \"it's $(x) isn't\""),
        ("foo 'a", "foo 'it\"s ('"),
        ("echo $((1+", "echo $((1+1))"),
        ("function f", "function f { x; }"),
        ("f() {", "f() { x; }"),
        ("f()", "f() (x)"),
        ("then foo", "thenfoo"),
        ("select x in", "selectx in"),
        ("case $x in", "case x in y) z;; esac"),
        ("x &&", "x '&&'"),
        ("x 2>", "x 2>&1"),
    ],
)
def test_a_fragment_that_a_shell_refuses_is_the_rule_of_no_command(fragment, whole) -> None:
    for text, known in ((fragment, True), (whole, False)):
        assert ("rule-of-no-command" in codes(settings(allow=[f"Bash({text})"]))) is known, text


def test_a_piece_that_is_denied_is_denied_in_what_the_host_cannot_read() -> None:
    chain = load_tree(Memory(settings(deny=["Bash(do *)"]))).chain("main", reading="enforced")
    command = {"command": "for ((i=0;i<3;i++)); do rm x; done"}
    assert chain.decide("Bash", command).effect == "deny"


def test_a_rule_counts_as_dead_where_no_session_that_reads_it_needs_it() -> None:
    rules = json.dumps(
        {"permissions": {"allow": ["Bash(npm test *)", "Bash(make x)", "Bash(make *)"]}}
    )
    # A session in `a` reads the local settings at the top too, behind its own.
    top, below = ".claude/settings.local.json", "a/.claude/settings.local.json"
    found = linted({top: rules, below: rules}).findings
    (dead,) = [f for f in found if f.code in {"redundant-rule", "shadowed-rule"} and f.file == top]
    assert (dead.code, "make x" in dead.message, f"at {top}" in dead.message, len(dead.edits)) == (
        "redundant-rule",
        True,
        True,
        1,
    )
    files = {top: rules, below: json.dumps({"permissions": {"deny": ["Bash(make *)"]}})}
    assert "shadowed-rule" not in codes(files)


def test_tables_share_what_becomes_of_a_rule_where_they_say_the_same_of_its_tools() -> None:
    agents = {
        "all": "allow *",
        "web": "allow *\n    deny WebFetch",
        "less": "allow Bash(git log *)",
    }
    text = "root main\nagent main {\n    allow Bash(git *), Task\n}\n"
    for name, rules in agents.items():
        text += f"agent {name} {{\n    {rules}\n}}\n"
    workspace = load_tree(Memory({"a.policy": text}))
    main_ = workspace.chain("main").table
    rule = next(e for part in main_.use.parts for e in part.rules.entries if "git" in e.rule)
    mark, tried, keys = (rule.place, rule.rule), TriedRules(), dict[str, object]()
    for name in agents:
        parts = workspace.chain("main", name).table.use.parts
        (found,) = written_rules(parts, {mark})
        keys[name] = tried.key(parts, found)
    assert keys["all"] is not None
    assert keys["all"] == keys["web"] != keys["less"]


def test_errors_stand_first_in_every_text(run) -> None:
    Path("a.policy").write_text("root main\nagent main {\n    allow Read, Read, Bash(git *)\n}\n")
    Path("b.policy").write_text("agent x {\n    alow Read\n")
    for form in ("text", "markdown"):
        _, out, _ = run("--format", form)
        told = re.findall(r"\b(error|warning|note)\b(?=:|\*\*)", out)
        assert len(set(told)) > 1
        assert told == sorted(told, key=["error", "warning", "note"].index)


def test_a_screen_counts_by_severity_what_it_leaves_out() -> None:
    severities = (Severity.NOTE, Severity.ERROR, Severity.WARNING, Severity.NOTE)
    findings = [Finding(f"c{n}", "m", each) for n, each in enumerate(severities)]
    shown = terminal(finding_lines(findings, 1), PageLayout()).splitlines()
    assert shown[0].startswith("error")
    assert shown[1] == "… 3 more (1 warning, 2 notes), shown with --all"


LIMITED = """root main
agent main {
    allow Read, %s
    limit depth 1
}
agent explore {
    allow Read, Task(worker)
}
agent worker {
    allow Read
}
"""


@pytest.mark.parametrize(
    ("starts", "told"),
    [
        (
            "Task",
            "`Task(worker)` grants nothing in any chain: `limit depth 1` of `main` is reached",
        ),
        # Without the limit `main` would not hand it on either.
        ("Task(explore)", "`Task(worker)` grants nothing in any chain: `main` may not hand it on"),
    ],
)
def test_a_rule_that_a_limit_of_depth_keeps_from_granting_names_the_limit(starts, told) -> None:
    found = linted({"t.policy": LIMITED % starts}).findings
    assert [each.message for each in found if each.code == "not-handed-on"] == [told]


def test_a_limit_of_depth_is_no_rule_that_decides_nothing() -> None:
    text = (LIMITED % "Task(explore)").replace(", Task(worker)", "")
    assert codes({"t.policy": text}) == []


@pytest.mark.parametrize("rule", ["Bash", "Bash(*)", "Bash(**)", "PowerShell(*)"])
def test_a_rule_for_every_command_is_told(rule: str) -> None:
    found = linted(settings(allow=[rule, "Bash(ls)"])).findings
    told = [each.message for each in found if each.code == "rule-allows-every-command"]
    assert told == [f"`{rule}` allows every command that no other rule denies or asks for"]


@pytest.mark.parametrize("rule", ["Bash(git *)", "Read", "Edit(**)"])
def test_a_rule_for_some_commands_allows_not_every_one(rule: str) -> None:
    assert "rule-allows-every-command" not in codes(settings(allow=[rule]))
    assert "rule-allows-every-command" not in codes(settings(ask=["Bash"], allow=["Bash(*)"]))


def test_a_rule_that_can_allow_no_command_is_not_reported_as_shadowed_too() -> None:
    assert codes(settings(allow=["Bash(source:*)", "Bash(watch *)"])) == [
        "exec-wrapper-not-approvable",
        "exec-wrapper-not-approvable",
    ]


def test_a_skill_that_allows_every_command_has_one_finding_for_it() -> None:
    skill = "---\nname: deploy\ndescription: Deploys.\nallowed-tools: Read, Bash\n---\nDeploy.\n"
    files: dict[str, str | bytes] = {".claude/skills/deploy/SKILL.md": skill}
    assert codes(files) == ["skill-allows-every-command"]
