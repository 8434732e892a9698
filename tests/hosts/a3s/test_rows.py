"""A3S: every row of what its seed and its permissions need, and the test or fixture that fails without it.

S are features of script tools, A what stands beside them: policies, agents and
delegation, the gate. Rows without a test are plumbing of another language.
"""

from __future__ import annotations

import contextvars
from pathlib import Path

import pytest
import yaml

import policy
from policy.analysis.reach.audit import audit
from policy.hosts import a3s
from policy.hosts.a3s.rules import PermissionPolicy

TESTS = Path(__file__).resolve().parents[2]
FOLDERS = sorted((TESTS.parent / "fixtures").glob("a3s-*"))

ROWS = {
    # script tools
    "S1": "hosts/a3s/test_scripts::test_s1_s2_s3_s19_a_script_is_a_value_named_by_its_header_or_its_file",
    "S2": "hosts/a3s/test_scripts::test_s1_s2_s3_s19_a_script_is_a_value_named_by_its_header_or_its_file",
    "S3": "hosts/a3s/test_session::test_s3_a_description_of_blanks_is_none",
    "S4": "hosts/a3s/test_scripts::test_s4_a_path_is_one_of_a_script_in_the_workspace",
    "S5": "a3s-directory-script",
    "S6": "a3s-directory-script",
    "S7": "hosts/a3s/test_scripts::test_s7_limits_out_of_range_refuse_the_directory",
    "S8": "hosts/a3s/test_scripts::test_s8_limits_that_are_not_set_have_defaults",
    "S9": "a3s-directory-script",
    "S10": "hosts/a3s/test_session::test_s10_the_header_of_a_tool_ends_at_a_line_of_dashes",
    "S11": "hosts/a3s/test_scripts::test_s11_arguments_widen_neither_list_nor_limits",
    "S12": "hosts/a3s/test_scripts::test_s12_s14_the_session_bounds_a_script_since_version_5",
    "S13": "a3s-directory-script",
    "S14": "a3s-script-list-only",
    "S15": "a3s-script-list-only",
    "S16": "a3s-script-starts-agents",
    "S17": "hosts/a3s/test_scripts::test_s17_the_host_keeps_its_own_tool_of_a_name",
    "S18": "hosts/a3s/test_scripts::test_s18_a_source_is_checked_and_never_run",
    "S19": "hosts/a3s/test_scripts::test_s1_s2_s3_s19_a_script_is_a_value_named_by_its_header_or_its_file",
    "S20": "hosts/a3s/test_a3s::test_a16_s20_a_policy_is_one_value_for_every_thread",
    "S21": "hosts/a3s/test_scripts::test_s21_nothing_of_a_directory_with_a_mistake_is_in_force",
    "S22": None,  # BorrowMut, CloneToUninit, CastableFrom
    "S23": "hosts/a3s/test_rows::test_s23_context_variables_pass_through_a_decision",
    "S24": None,  # IntoEither
    "S25": "hosts/a3s/test_session::test_s25_a_directory_is_refused_in_the_words_of_the_host",
    "S26": "hosts/a3s/test_scripts::test_s10_s25_s26_a_mistake_refuses_the_whole_directory",
    # policies
    "A1": "a3s-deny-before-allow",
    "A2": "hosts/a3s/test_a3s::test_a2_a_rule_has_a_tool_and_everything_between_the_outer_parentheses",
    "A3": "hosts/a3s/test_a3s::test_a3_a33_composition_is_the_stricter_of_two",
    "A4": "a3s-allow-before-ask",
    "A5": "a3s-rule-traps",
    "A6": "a3s-deny-before-allow",
    "A7": "hosts/a3s/test_a3s::test_a7_each_tool_has_its_own_text",
    "A8": "hosts/a3s/test_a3s::test_a8_a_glob_matches_what_its_expression_matches",
    "A9": "a3s-before-5-3",
    "A10": "a3s-allow-before-ask",
    "A11": "hosts/a3s/test_a3s::test_a11_a_tool_may_be_allowed_and_hidden",
    "A12": "hosts/a3s/test_a3s::test_a12_every_matching_rule_is_listed_with_its_place",
    "A13": "hosts/a3s/test_a3s::test_a13_an_ask_is_not_allowed",
    "A14": "hosts/a3s/test_a3s::test_a14_a_policy_without_rules_asks",
    "A15": "hosts/a3s/test_a3s::test_a15_a_session_replaces_all_but_the_denies_of_everyone",
    "A16": "hosts/a3s/test_a3s::test_a16_s20_a_policy_is_one_value_for_every_thread",
    "A17": "hosts/a3s/test_a3s::test_a10_a17_a_lane_is_every_tool_of_it_and_only_where_something_is_allowed",
    # agents and delegation
    "A18": "hosts/a3s/test_agents::test_a18_all_fields_of_a_definition_are_read",
    "A19": "hosts/a3s/test_agents::test_a19_a62_a_child_never_gains_in_the_attenuated_reading",
    "A20": "hosts/a3s/test_agents::test_a20_a_kind_brings_a_policy_and_steps_which_permissions_replace",
    "A21": "hosts/a3s/test_agents::test_a21_there_are_eight_agents_and_their_plan_tool_came_later",
    "A22": "a3s-script-starts-agents",
    "A23": "hosts/a3s/test_agents::test_a22_a23_other_names_are_known_by_case_and_cannot_be_projected",
    "A24": "hosts/a3s/test_agents::test_a24_the_first_name_of_a_list_that_is_there_counts_even_empty",
    "A25": "a3s-dropped-definition",
    "A26": "a3s-dropped-definition",
    "A27": "hosts/a3s/test_agents::test_a27_a_text_is_split_at_every_comma",
    "A28": "hosts/a3s/test_session::test_a28_an_item_becomes_a_rule",
    "A29": "a3s-rule-traps",
    "A30": "hosts/a3s/test_agents::test_a30_the_header_ends_at_the_second_fence_wherever_it_stands",
    "A31": "a3s-skipped-agent",
    "A32": "hosts/a3s/test_session::test_a32_an_agent_file_is_refused_by_what_it_is_written_in",
    "A33": "a3s-allow-before-ask",
    "A34": "a3s-dropped-definition",
    "A35": "hosts/a3s/test_agents::test_a35_what_a_child_asks_goes_to_whom_it_says",
    "A36": "a3s-allow-before-ask",
    "A37": "hosts/a3s/test_agents::test_a37_what_a_tool_wants_confirmed_goes_to_the_parent",
    "A38": "hosts/a3s/test_agents::test_a38_without_any_permissions_everything_is_asked",
    "A39": "hosts/a3s/test_agents::test_a39_a40_an_agent_without_tools_and_one_that_would_start_another_are_denied",
    "A40": "a3s-allow-before-ask",
    "A41": "hosts/a3s/test_gate::test_a41_a42_what_is_handed_on_is_a_table_and_tasks_are_counted",
    "A42": "hosts/a3s/test_gate::test_a42_before_6_8_a_call_started_one_agent",
    "A43": "hosts/a3s/test_session::test_a43_hiding_the_tools_that_start_agents_denies_nothing",
    "A44": "hosts/a3s/test_agents::test_a44_a_style_bounds_the_session_since_8_3",
    # the gate, confirmation, neighbours
    "A45": "hosts/a3s/test_gate::test_a45_a46_each_stage_stops_with_its_reason",
    "A46": "hosts/a3s/test_gate::test_a45_a46_each_stage_stops_with_its_reason",
    "A47": "hosts/a3s/test_gate::test_a47_a_hook_is_asked_where_a_person_would_be_and_since_6_9",
    "A48": "hosts/a3s/test_gate::test_a48_a49_a_host_is_trusted_and_a_budget_is_asked_last",
    "A49": "hosts/a3s/test_gate::test_a48_a49_a_host_is_trusted_and_a_budget_is_asked_last",
    "A50": "hosts/a3s/test_gate::test_a50_a_disabled_policy_confirms_nothing_and_timers_answer_before_9",
    "A51": "hosts/a3s/test_gate::test_a51_two_policies_combine_to_the_stricter",
    "A52": "hosts/a3s/test_gate::test_a52_a_missing_provider_denies_with_its_reason",
    "A53": "hosts/a3s/test_gate::test_a53_keys_of_risks_are_of_any_case_and_every_label_counts",
    "A54": "hosts/a3s/test_gate::test_a54_a_call_has_the_risk_of_what_it_may_reach",
    "A55": "hosts/a3s/test_gate::test_a55_a_skill_has_what_it_lists",
    "A56": "hosts/a3s/test_gate::test_a56_a_skill_counts_where_it_names_every_argument",
    "A57": "hosts/a3s/test_scripts::test_a57_program_has_the_opposite_default",
    "A58": "a3s-script-starts-agents",
    "A59": "a3s-directory-script",
    "A60": "hosts/a3s/test_scripts::test_a60_a_schedule_is_an_entry_without_anybody_there",
    "A61": "hosts/a3s/test_gate::test_a61_a_verifier_refuses_what_obviously_changes_something",
    "A62": "a3s-before-5-3",
    "A63": "a3s-before-5-3",
    "A64": "hosts/a3s/test_a3s::test_a64_a_difference_is_exact",
}


def test_no_row_is_left_out() -> None:
    wanted = [f"S{n}" for n in range(1, 27)] + [f"A{n}" for n in range(1, 65)]

    assert list(ROWS) == wanted


@pytest.mark.parametrize("row", [row for row, where in ROWS.items() if where])
def test_a_row_has_a_test_or_a_fixture_that_names_it(row: str) -> None:
    where = ROWS[row]
    assert where is not None
    module, _, name = where.partition("::")
    if name:
        assert f"\ndef {name}(" in (TESTS / f"{module}.py").read_text()
        assert row.lower() in name.split("_")
        return
    folder = TESTS.parent / "fixtures" / module
    notes = folder.joinpath("requests.yaml")
    text = notes.read_text() if notes.exists() else ""
    assert f"({row})" in text or f", {row})" in text or f"({row}," in text or _finds(folder, row)


# Rows that a finding of a fixture shows.
_FOUND = {
    "A5": "a3s-malformed-rule",
    "A29": "a3s-inert-spawn-rule",
    "A31": "a3s-exposed-definition",
}


def _finds(folder: Path, row: str) -> bool:
    return f"code: {_FOUND.get(row)}\n" in (folder / "findings.yaml").read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_findings_of_a_fixture_are_those_it_lists(folder: Path) -> None:
    found = []
    for finding in policy.load(folder, front_ends=[a3s]).findings:
        line = {
            "code": finding.code,
            "severity": finding.severity.value,
            "place": str(finding.place),
        }
        if finding.span:
            line["text"] = finding.span.text
        found.append(line)

    assert found == yaml.safe_load((folder / "findings.yaml").read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_audit_of_a_fixture_is_exact(folder: Path) -> None:
    whole = audit(policy.load(folder, front_ends=[a3s]))

    assert all(agent.exact for project in whole.projects for agent in project.agents)


def test_s23_context_variables_pass_through_a_decision() -> None:
    trace = contextvars.ContextVar("trace", default="")
    trace.set("outside")
    decide = PermissionPolicy.of(allow=["bash"]).check

    context = contextvars.copy_context()
    context.run(trace.set, "inside")

    assert context.run(lambda: (decide("bash", {}).effect.value, trace.get())) == (
        "allow",
        "inside",
    )
    assert trace.get() == "outside"
