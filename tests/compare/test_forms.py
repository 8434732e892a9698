"""Tables of Claude Code that differ by the form of a rule, by links, or by rules on whole commands."""

from __future__ import annotations

import pytest

from policy.compare.samples import SAMPLED
from policy.compare.tables import differences, reported
from policy.compare.witness import Difference
from policy.core.decision import Because, Decision, Reason
from policy.core.effect import Effect
from policy.core.source import Place
from tests.claude_session import table
from tests.standings import shadowing

pytest.importorskip("tree_sitter_bash")

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY


@pytest.mark.parametrize(
    ("before", "after", "call"),
    [
        ({"deny": ["Read(src/**)"]}, {"deny": ["Read(src)"]}, {"command": "popd; cat x"}),
        ({"allow": ["Bash(a {b,c} *)"]}, {"allow": ["Bash(a {b,c})", "Bash(a {b,c} *)"]}, None),
    ],
)
def test_rules_that_match_the_same_in_another_form_differ(before, after, call) -> None:
    tables = table(**before), table(**after)
    assert tables[0] != tables[1]
    assert tables[0].hash != tables[1].hash
    comparison = differences(tables[0], tables[1])
    shown = [each for each in comparison.differences if each.tool == "Bash"]
    assert comparison.exact
    assert shown
    assert call in (None, shown[0].call)


def test_rules_for_edits_and_for_reads_do_not_differ_for_reads_behind_links() -> None:
    lists = [{"allow": [f"{tool}(//opt/**)", "Edit(src/**)"]} for tool in ("Edit", "Read")]
    links = {"/srv/app/src/x": "/opt/x"}
    path = {"file_path": "/srv/app/src/x/q7z"}
    before, after = (table(links=links, **each) for each in lists)
    assert [each.decide("Read", path).effect for each in (before, after)] == [ASK, ASK]
    found = differences(before, after).differences
    assert not any(each.tool == "Read" and not each.widened for each in found)


def test_a_rule_about_whole_pipes_counts_where_no_other_rule_allows_them() -> None:
    tables = table(allow=["Bash"]), table(allow=["Bash"], ask=["Bash(* | tee)"])
    (shown,) = [e for e in differences(tables[0], tables[1]).differences if e.tool == "Bash"]
    assert shown.call == {"command": "echo hello | tee"}


def test_a_rule_for_some_commands_counts_beside_one_for_all_commands() -> None:
    """`Bash` alone also allows background commands."""
    both, one = table(allow=["Bash", "Bash(npm *)"]), table(allow=["Bash(npm *)", "Bash(npm test)"])
    found = {each.rule.rule: each.what for rules in (both, one) for each in shadowing(rules)}
    assert found == {"Bash": "live", "Bash(npm *)": "live", "Bash(npm test)": "redundant"}


def test_a_rule_that_no_sample_shows_is_undecided_and_says_why() -> None:
    (found,) = shadowing(table(allow=["Bash(* > out)"]))
    assert (found.what, found.why) == ("undecided", (SAMPLED,))


_HOST = Because("Edit (ambiguous name)", ASK, "main")
_FILE = Because("Edit(src/**)", ASK, "main", Place("settings.json", 3, 9))


@pytest.mark.parametrize(
    ("before", "number"),
    [
        (Decision(ASK, Reason.DEFAULT, (_HOST,)), 1),
        # Anything else is told apart from the default.
        (Decision(ASK, Reason.DEFAULT, (_HOST, _FILE)), 2),
        (Decision(ASK, Reason.RULE, (_HOST,)), 2),
        (Decision(DENY, Reason.DEFAULT, (_HOST,)), 2),
    ],
)
def test_a_line_of_the_host_that_asks_is_told_as_the_default(before: Decision, number: int) -> None:
    after = Decision(ALLOW, Reason.RULE, (_FILE,))
    default = Decision(before.effect, before.reason)
    both = [Difference("Edit", {"file_path": "a"}, each, after) for each in (default, before)]
    assert len(reported(both, table())) == number
    assert len(reported(both[1:], table())) == 1
