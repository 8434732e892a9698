"""What a command does, one by one, and what each of that gets: `Table.account`."""

from __future__ import annotations

import pytest

from policy.cli.check import clause_rows
from policy.cli.report.document import Labelled
from policy.cli.report.terminal import PageLayout, terminal
from policy.core.decision import Clause
from policy.tables.chain import Chain, SpawnDenied
from policy.tables.table import NOTHING, UNRESTRICTED
from tests.live.compare import batches
from tests.live.ours import Ours
from tests.live.scenario import Scenario
from tests.live.theirs import whole
from tests.strategies import table

RULES = table("allow Bash(git *)", "allow Bash(ls *)", "ask Bash(git push *)", "deny Bash(rm *)")


def _told(clauses: tuple[Clause, ...]) -> list[str]:
    return [
        " ".join([str(clause.decision.effect), clause.does.value, clause.text, *rules]).rstrip()
        for clause in clauses
        for rules in [[f"({one.rule})" for one in clause.decision.because]]
    ]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("git log", ["allow runs git log (Bash(git *))"]),
        (
            "git push x; cd x && rm y",
            [
                "ask runs git push x (Bash(git push *))",
                "deny runs cd x",
                "deny runs rm y (Bash(rm *))",
            ],
        ),
        ("git log && git log", ["allow runs git log (Bash(git *))"]),
        ("git log > x", ["allow runs git log (Bash(git *))", "deny writes x"]),
        (
            "git log $(rm x)",
            ["deny runs rm x (Bash(rm *))", "ask runs git log $(", "ask hides $(rm x)"],
        ),
    ],
)
def test_each_thing_that_a_command_does_is_told_once(command: str, told: list[str]) -> None:
    assert _told(RULES.account("Bash", {"command": command})) == told


@pytest.mark.parametrize(
    ("command", "doubts"),
    [
        ("ls a", []),
        ("ls $(make)", ["$(make) is not known before it runs"]),
        ("ls $x", ["$x is not known before it runs"]),
        ("ls a{1,2}", ["a{1,2} is not known before it runs"]),
        ("ls & ls b", ["& starts a background command"]),
        ("ls > $x", ["$x is not known before it runs"]),
        ("ls (", ["it is no command of a shell"]),
        ("(ls a; ls b)", ["(ls a; ls b) is not looked into"]),
        ("ls a =b", ["=b is not read alike by all shells"]),
        ("IFS=x ls", ["IFS=x ls may change how the rest is read, or run what it names"]),
        ("ls " + "a" * 10_000, ["it has more than 10,000 characters, so it is not looked into"]),
    ],
)
def test_why_nobody_vouches_for_a_command_is_told_with_its_text(
    command: str, doubts: list[str]
) -> None:
    ours = Ours(Scenario(settings={"project": {"permissions": {"allow": ["Bash(ls *)"]}}}))
    chain = Chain.start("main", ours.project.enforced)

    told = [each for each in chain.account("Bash", {"command": command}) if each.why]
    assert [f"{each.text or 'it'} {each.why}" for each in told] == doubts


@pytest.mark.parametrize(
    ("tool", "call"),
    [("Read", {"file_path": "a"}), ("Bash", {}), ("Bash", {"command": 1}), ("Edit", {})],
)
def test_what_is_no_command_has_no_clauses(tool: str, call: dict[str, object]) -> None:
    assert RULES.account(tool, call) == ()


def test_what_is_decided_whatever_it_runs_has_no_clauses() -> None:
    call = {"command": "a; b"}
    assert UNRESTRICTED.account("Bash", call) == NOTHING.account("Bash", call) == ()


def test_the_first_link_that_decides_is_the_one_that_is_told() -> None:
    both = RULES & table("allow Bash(git log *)", "ask Bash(ls *)")
    assert _told(both.account("Bash", {"command": "git log a; ls b"})) == [
        "allow runs git log a (Bash(git log *))",
        "ask runs ls b (Bash(ls *))",
    ]


def test_of_links_that_decide_alike_the_first_is_told_alone() -> None:
    one, other = table("ask Bash(git *)"), table("ask Bash(git a)", "allow Bash(*)")
    for both, rules in ((one & other, ["git *"]), (other & one, ["git a"])):
        (told,) = both.account("Bash", {"command": "git a"})
        assert [because.rule for because in told.decision.because] == [f"Bash({rules[0]})"]


def test_the_strictest_clause_is_what_the_command_gets() -> None:
    """For generated settings and calls of Claude Code; or a rule spells out the whole."""
    seen = 0
    for batch in batches(1, 800):
        ours = Ours(batch.scenario)
        for call in batch.calls:
            try:
                chain = Chain.start("main", ours.project.enforced)
                for agent in call.chain:
                    chain = chain.spawn(agent)
            except SpawnDenied:
                continue
            decision = chain.decide(call.tool, whole(call))
            clauses = chain.account(call.tool, whole(call))
            assert len({(clause.does, clause.text) for clause in clauses}) == len(clauses)
            if not clauses:
                continue
            strictest = min(clause.decision.effect for clause in clauses)
            spelled_out = any(
                str(call.input["command"]).strip()[-8:] in one.rule for one in decision.because
            )
            assert strictest is decision.effect or spelled_out, (call, decision, clauses)
            seen += 1
    assert seen > 300


def test_of_very_many_clauses_the_strictest_are_shown() -> None:
    command = "; ".join([*(f"git a{number}" for number in range(50)), "rm x", "ls y"])
    rows = clause_rows(RULES.account("Bash", {"command": command}))
    lines = terminal([Labelled(tuple(rows))], PageLayout()).splitlines()
    assert len(lines) == 13
    assert [line for line in lines if "rm x" in line] == [
        "       deny  runs `rm x` (deny Bash(rm *))"
    ]
    assert lines[-1].strip() == "and 40 more, none of them stricter"
