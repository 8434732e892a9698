"""What a file that a command is redirected to or from needs, whichever other rules there are."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from policy.commands.knowledge import FileTools, Shell, Wrapping
from policy.compare.tables import differences
from policy.compare.witness import weakened
from policy.core import limits
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.workspace import load_tree
from policy.patterns import notations
from policy.patterns.pattern import Pattern
from policy.tables.command_outcome import may_join
from policy.tables.dialect import Argument, ArgumentKind, Dialect
from policy.tables.ruleset import Entry, RuleSet
from policy.tables.table import Table

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

RULES = (
    "allow Bash",
    "ask Bash",
    "allow Bash(g)",
    "deny Bash(p)",
    "ask Bash(p)",
    "allow Write(d)",
    "ask Write(d)",
    "deny Write(d)",
    "allow Read",
)
# What each command runs, and which files it opens.
COMMANDS = {
    "g": (["g"], []),
    "p": (["p"], []),
    "g > d": (["g"], ["Write(d)"]),
    "g > e": (["g"], ["Write(e)"]),
    "g < d": (["g"], ["Read"]),
    "p > d": (["p"], ["Write(d)"]),
    "h >> d": (["h"], ["Write(d)"]),
    "g && p > e": (["g", "p"], ["Write(e)"]),
    "g < d > e": (["g"], ["Read", "Write(e)"]),
}


@cache
def notation(*rules: str) -> Table:
    """Return what one agent may do by some rules."""
    text = "\n".join(["agent main {", *rules, "}"])
    return load_tree(Memory({"a.policy": text})).chain("main").table


def meant(rules: tuple[str, ...], command: str) -> Effect:
    """Return what the README says of a command."""

    def strictest(*matchers: str) -> Effect | None:
        said = [rule.split(" ", 1) for rule in rules]
        return min((Effect(effect) for effect, one in said if one in matchers), default=None)

    runs, opens = COMMANDS[command]
    whole = strictest("Bash")
    parts = [strictest("Bash", f"Bash({part})") for part in runs]
    files = [strictest(file, file.partition("(")[0]) for file in opens]
    opened = [whole if effect is None else effect for effect in files]
    return min(DENY if effect is None else effect for effect in (*parts, *opened))


def policies() -> list[tuple[str, ...]]:
    """Return every policy of at most four of the rules."""
    return [some for size in range(5) for some in combinations(RULES, size)]


def test_a_redirection_needs_a_rule_about_files_or_one_for_the_whole_tool() -> None:
    for rules in policies():
        table = notation(*rules)
        for command in COMMANDS:
            effect = table.decide("Bash", {"command": command}).effect
            assert effect is meant(rules, command), (rules, command)


@cache
def decided(rules: tuple[str, ...]) -> dict[str, Effect]:
    """Return what each command gets by some rules."""
    table = notation(*rules)
    return {command: table.decide("Bash", {"command": command}).effect for command in COMMANDS}


def test_every_redirection_that_changes_with_a_rule_is_compared() -> None:
    small = [rules for rules in policies() if len(rules) < 4]
    for fewer in small:
        for rule in RULES:
            if rule in fewer:
                continue
            more = tuple(each for each in RULES if each in (*fewer, rule))
            for before, after in ((fewer, more), (more, fewer)):
                compared = differences(notation(*before), notation(*after))
                assert compared.exact
                told = weakened(
                    each.effects for each in compared.differences if each.tool == "Bash"
                )
                pairs = zip(decided(before).values(), decided(after).values(), strict=True)
                changes = {(was, now) for was, now in pairs if was is not now}
                assert changes <= told, (before, after)


@pytest.mark.parametrize(
    "command", ["g > d", "g < d", "> d", "g > $x", "g >> ~/d 2>&1", "g > 'a b'"]
)
@pytest.mark.parametrize(
    "rule", ["deny Bash(p)", "ask Bash(p *)", "allow Bash(g *)", "deny Glob(d)"]
)
@pytest.mark.parametrize(
    "whole", ["allow Bash", "ask Bash", "allow *", "allow Bash, Write(src/**)"]
)
def test_a_rule_about_another_command_changes_no_redirection(
    whole: str, rule: str, command: str
) -> None:
    call = {"command": command}
    alone, beside = notation(whole), notation(whole, rule)
    assert beside.decide("Bash", call).effect is alone.decide("Bash", call).effect


def test_a_star_grants_commands_and_no_files() -> None:
    assert notation("allow Bash(*)").decide("Bash", {"command": "g"}).effect is ALLOW
    assert notation("allow Bash(*)").decide("Bash", {"command": "g > d"}).effect is DENY
    compared = differences(notation("allow Bash(*)"), notation("allow Bash"))
    assert {each.call["command"] for each in compared.differences} >= {"x > x"}


def test_a_rule_about_files_that_goes_is_told_by_a_command_that_it_denied() -> None:
    before = notation("allow Bash", "deny Bash(rm *), Write(.bashrc)")
    compared = differences(before, notation("allow Bash"))
    told = {each.call["command"] for each in compared.differences}
    assert any(command.split(" ")[0] == "rm" for command in told)
    assert any(command.endswith(" > .bashrc") for command in told)


@pytest.mark.parametrize("other", ["p", "p *"])
def test_no_host_lets_a_redirection_depend_on_a_rule_about_another_command(other: str) -> None:
    denied = {"permissions": {"allow": ["Bash"], "deny": [f"Bash({other})"]}}
    files = {
        ".claude/settings.json": json.dumps(denied),
        ".zeph/agents/main.md": "---\nname: main\ndescription: x\ntools:\n"
        f"  allow: [bash]\n  except: ['bash({other})']\n---\n",
        "a3s.session.yaml": json.dumps(denied),
        "a.policy": f"agent main {{\nallow Bash\ndeny Bash({other})\n}}",
    }
    for path, text in files.items():
        (project,) = load_tree(Memory({path: text})).projects
        for reading in (project.attenuated, project.enforced):
            link = reading.start(project.starts[0])
            if path.startswith(".zeph"):  # what its list says holds for who is started
                link = reading.step(link, "main")
            tool = "bash" if path.startswith(".zeph") else "Bash"
            effects = [
                link.table.decide(tool, {"command": command}).effect
                for command in ("g", "g > d", "g < d")
            ]
            assert len(set(effects)) == 1, (path, reading.name)


# --- hosts with other shells --------------------------------------------------------------------

_RUN = {"run": Argument(ArgumentKind.COMMAND, ("command",))}
_FILES = {name: Argument(ArgumentKind.PATH, ("path",)) for name in ("r", "w")}


def host(
    *entries: Entry, default: Effect = ASK, reason: Reason = Reason.DEFAULT, **shell: Any
) -> RuleSet:
    """Return the rules of a host with such a shell."""
    files = FileTools(output="w", input="r")
    dialect = Dialect("test", {**_RUN, **_FILES}, shell=Shell(**{"files": files, **shell}))
    return RuleSet(entries, default, dialect, reason)


def run(rules: RuleSet, command: str) -> tuple[Effect, Reason]:
    decision = Table.of(rules).decide("run", {"command": command})
    return decision.effect, decision.reason


def allow(stars: str, effect: Effect = ALLOW) -> Entry:
    return Entry("run", effect, Pattern.text(stars), rule=f"run({stars})")


def test_a_redirection_of_a_host_without_file_tools_needs_no_rule() -> None:
    rules = host(allow("g*"), default=DENY, files=FileTools())
    assert run(rules, "g > d < e") == (ALLOW, Reason.RULE)
    assert run(rules, "p > d") == (DENY, Reason.DEFAULT)
    told = Table.of(rules).account("run", {"command": "g > d; g a > $x"})
    assert [(each.does.value, each.text) for each in told] == [("runs", "g"), ("runs", "g a")]
    writes = host(allow("g*"), default=DENY, files=FileTools(output="w"))
    assert run(writes, "g < d") == (ALLOW, Reason.RULE)
    assert run(writes, "g > d") == (DENY, Reason.DEFAULT)


def test_a_file_that_no_program_can_name_is_not_known() -> None:
    rules = host(allow("g*"), Entry("w", ALLOW, pattern=notations.paths("**")[0]), default=DENY)
    assert run(rules, "g > d") == (ALLOW, Reason.RULE)
    assert run(rules, "g > ''") == (ASK, Reason.UNANALYSABLE)


_WRITES = Entry("w", DENY, notations.paths("d")[0])
_ALL = Entry("run", ALLOW)


@pytest.mark.parametrize(
    ("rules", "opens"),
    [
        # A rule about files that is stricter than the one for all commands.
        (host(_ALL), False),
        (host(_ALL, _WRITES), True),
        (host(Entry("run", ASK), Entry("w", ASK)), False),
        (host(Entry("run", ASK), Entry("w", DENY)), True),
        (host(Entry("run", DENY), _WRITES), False),
        (host(_WRITES), True),
        (host(Entry("w", ALLOW)), False),
        (host(_ALL, _WRITES, files=FileTools()), False),
        # A host that lets a rule for all commands allow the files too.
        (host(whole=True), True),
        (host(default=ALLOW, whole=True), False),
        (host(default=ALLOW, whole=True, traced=True), True),
        (host(_WRITES, default=ALLOW, whole=True), True),
        (host(_ALL, whole=True), True),
        (host(_ALL, reason=Reason.UNAVAILABLE, whole=True), False),
        (host(default=DENY, whole=True), False),
    ],
)
def test_a_row_opens_files_where_rules_about_files_can_decide(rules: RuleSet, opens: bool) -> None:
    row = rules.row("run")
    assert row.opens_files is opens
    assert (row.constant is None) is opens


def test_the_row_of_another_tool_opens_no_files() -> None:
    assert host(_ALL, _WRITES).row("r").opens_files is False


def test_of_rules_that_are_as_strict_the_first_is_told() -> None:
    wrapping = Wrapping(names=frozenset({"sudo"}))
    for stars in (("rm *", "sudo *"), ("sudo *", "rm *")):
        rules = host(*(allow(each, DENY) for each in stars), wrapping=wrapping)
        (because,) = Table.of(rules).decide("run", {"command": "sudo rm x"}).because
        assert because.rule == f"run({stars[0]})"


def test_a_rule_about_another_argument_denies_no_part_of_a_command_that_is_not_sure() -> None:
    asked = allow("rm x", ASK)
    for behind, effect in (
        (allow("rm *", DENY), DENY),
        (allow("ls *", DENY), ASK),
        (Entry("run", DENY, Pattern.text("*"), field="timeout"), ASK),
        (Entry("run", ALLOW, Pattern.text("*")), ASK),
    ):
        assert run(host(asked, behind, default=ALLOW), "rm x; a $y")[0] is effect


@pytest.mark.parametrize("command", ["", "# x", " ;"])
def test_a_rule_for_the_whole_tool_alone_allows_a_command_that_runs_nothing(command: str) -> None:
    assert run(host(_ALL, _WRITES), command) == (ALLOW, Reason.RULE)
    assert run(host(allow("*")), command) == (ASK, Reason.UNANALYSABLE)
    assert run(host(allow("*"), default=ALLOW), command)[0] is ALLOW


def test_a_command_that_is_not_read_to_its_end_is_asked_for_where_a_rule_might_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "COMMAND_PIECES", 6)
    command = "; ".join(f"unread{number}" for number in range(12))
    assert run(host(allow("rm *", DENY), _ALL), command) == (ASK, Reason.UNANALYSABLE)
    assert run(host(allow("unread0", DENY), _ALL), command) == (DENY, Reason.RULE)


@pytest.mark.parametrize(
    ("stars", "joins"),
    [
        ("git", False),
        ("", False),
        ("*", False),
        ("git *", False),
        ("* x", True),
        ("git * x", True),
        ("*git*", True),
        ("a;*", True),
        ("a&*", True),
        ("(*", True),
        ("a\n*", True),
        ("a;b", False),
    ],
)
def test_a_pattern_may_match_several_commands_and_not_the_first_alone(
    stars: str, joins: bool
) -> None:
    assert may_join(Pattern.text(stars)) is joins


CLAUDE = {
    "permissions": {
        "allow": ["PowerShell(Get-ChildItem *)"],
        "ask": ["Bash(git *)"],
        "deny": ["PowerShell(Remove-Item *)"],
    }
}


@pytest.mark.parametrize(
    ("allow", "effect"), [(["Bash"], ALLOW), (["Bash", "Bash(git *)"], ASK), (["Bash(*)"], ALLOW)]
)
def test_a_host_may_ask_for_a_background_command(allow: list[str], effect: Effect) -> None:
    settings = json.dumps({"permissions": {"allow": allow}})
    chain = load_tree(Memory({".claude/settings.json": settings})).chain("main", reading="enforced")
    for command in ("make a & make b", "make a & git b"):
        assert chain.decide("Bash", {"command": command}).effect is effect
    assert chain.decide("Bash", {"command": "make a; make b"}).effect is ALLOW


@pytest.mark.parametrize(
    ("tool", "command", "told"),
    [
        ("PowerShell", "gci a", ["allow runs get-childitem a"]),
        ("PowerShell", "gci a; rm b", ["allow runs get-childitem a", "deny runs remove-item b"]),
        ("Bash", "rm x", ["ask runs rm x", "allow writes x", "allow removes x"]),
        ("Bash", "git push > x", ["ask runs git push", "ask writes x"]),
    ],
)
def test_what_a_command_of_claude_code_does_is_told(
    tool: str, command: str, told: list[str]
) -> None:
    team = load_tree(Memory({".claude/settings.json": json.dumps(CLAUDE)}))
    chain = team.chain("main", reading="enforced")
    found = [
        f"{each.decision.effect} {each.does.value} {each.text}"
        for each in chain.account(tool, {"command": command})
    ]
    assert found == told


def test_what_stands_beyond_the_pieces_that_are_read_is_allowed_where_no_rule_could_match() -> None:
    long = {"command": "g;" * limits.COMMAND_PIECES + "p"}
    assert notation("allow Bash").decide("Bash", long).effect is ALLOW
    for rule in ("deny Bash(p)", "ask Bash(p)"):
        assert notation("allow Bash", rule).decide("Bash", long).effect is not ALLOW
