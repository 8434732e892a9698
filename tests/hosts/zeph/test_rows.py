"""Every property of Zeph's seeds, by number, and the test or fixture that fails without it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

# 0: the definition, 1: issue 970, 2: the context of a start, B: what these name.
ROWS = {
    "0.1": "hosts/zeph/test_parsing::test_what_may_not_be_is_invalid_with_its_place",
    "0.2": "hosts/zeph/test_parsing::test_tabs_and_the_second_row_of_controls_may_be_in_a_description",
    "0.3": "hosts/zeph/test_parsing::test_a_whole_definition_is_read",
    "0.4": "hosts/zeph/test_parsing::test_presence_decides_and_not_emptiness",
    "0.5": "zeph-names-that-match-nothing",
    "0.6": "hosts/zeph/test_issue_970::test_deny_is_asked_first_then_a_list_that_is_not_empty",
    "0.7": "hosts/zeph/test_parsing::test_a_whole_definition_is_read",
    "0.8": "hosts/zeph/test_session::test_skills_are_what_every_filter_of_a_chain_leaves",
    "0.9": "hosts/zeph/test_parsing::test_what_closes_the_header_is_the_first_line_that_starts_so",
    "0.10": "zeph-hooks-that-do-nothing",
    "0.11": "hosts/zeph/test_loading::test_hooks_are_kept_or_stripped_by_scope",
    "0.12": "zeph-memory-widens",
    "0.13": "hosts/zeph/test_loading::test_one_file_is_named_without_its_folder",
    "0.14": "hosts/zeph/test_loading::test_no_report_has_the_path_of_a_machine",
    "0.15": "hosts/zeph/test_writing::test_what_the_derived_writer_has_is_no_file",
    "0.16": "hosts/zeph/test_parsing::test_what_cannot_be_read_is_a_parse_error_with_its_place",
    "0.17": "zeph-toml-header",
    "0.18": "hosts/zeph/test_parsing::test_what_cannot_be_read_is_a_parse_error_with_its_place",
    "0.19": "hosts/zeph/test_parsing::test_what_may_not_be_is_invalid_with_its_place",
    "0.20": "hosts/zeph/test_issue_970::test_zeph_as_shipped_refuses_what_the_issue_asks_for",
    "0.21": "hosts/zeph/test_loading::test_a_file_that_is_not_there_is_a_parse_error",
    "0.22": "hosts/zeph/test_loading::test_a_linked_folder_is_its_own_bound_unless_asked_for",
    "0.23": "hosts/zeph/test_loading::test_a_file_may_have_256_kib_and_no_more",
    "0.24": "hosts/zeph/test_loading::test_the_first_path_and_the_first_name_count",
    "0.25": "hosts/zeph/test_loading::test_the_first_path_and_the_first_name_count",
    "0.26": "hosts/zeph/test_loading::test_a_broken_file_is_skipped_unless_the_command_line_names_it",
    "0.27": "hosts/zeph/test_loading::test_a_link_must_not_lead_out_of_its_folder",
    "0.28": "hosts/zeph/test_writing::test_what_is_written_reads_back_as_the_same_definition",
    "0.29": "hosts/zeph/test_writing::test_a_file_is_saved_whole_below_new_folders_and_over_an_old_one",
    "0.30": "hosts/zeph/test_writing::test_what_cannot_be_written_or_removed_is_an_io_error",
    "0.31": "hosts/zeph/test_writing::test_a_template_has_every_tool_and_says_nothing_else",
    "0.32": "hosts/zeph/test_writing::test_what_cannot_be_written_or_removed_is_an_io_error",
    "0.33": "hosts/zeph/test_writing::test_what_is_written_reads_back_as_the_same_definition",
    "1.1": "hosts/zeph/test_issue_970::test_deny_is_asked_first_then_a_list_that_is_not_empty",
    "1.2": "hosts/zeph/test_issue_970::test_deny_is_asked_first_then_a_list_that_is_not_empty",
    "1.3": "hosts/zeph/test_issue_970::test_what_an_empty_list_means_is_said",
    "1.4": "zeph-dead-star",
    "1.5": "hosts/zeph/test_issue_970::test_zeph_as_shipped_refuses_what_the_issue_asks_for",
    "1.6": "hosts/zeph/test_issue_970::test_an_agent_starts_those_that_it_lists",
    "1.7": "hosts/zeph/test_issue_970::test_an_agent_starts_those_that_it_lists",
    "1.8": "hosts/zeph/test_writing::test_so_does_a_definition_of_issue_970",
    "1.9": "hosts/zeph/test_issue_970::test_every_link_must_allow_a_start_where_only_the_last_is_asked",
    "1.10": "hosts/zeph/test_issue_970::test_the_manager_refuses_with_an_error_of_its_own",
    "1.11": "hosts/zeph/test_issue_970::test_entries_for_the_task_are_about_starts",
    "1.12": "hosts/zeph/test_issue_970::test_a_list_of_starts_and_entries_for_the_task_are_met",
    "1.13": "zeph-spawn-rule-ignored",
    "1.14": "hosts/zeph/test_issue_970::test_an_agent_starts_those_that_it_lists",
    "1.15": "hosts/zeph/test_fixtures::test_a_request_gets_what_its_fixture_says",
    "1.16": "hosts/zeph/test_issue_970::test_zeph_as_shipped_refuses_what_the_issue_asks_for",
    "2.1": "hosts/zeph/test_spawn::test_trust_is_capped_and_never_raised",
    "2.2": "hosts/zeph/test_spawn::test_trust_is_capped_and_never_raised",
    "2.3": "hosts/zeph/test_spawn::test_no_list_and_an_empty_list_differ",
    "2.4": "hosts/zeph/test_spawn::test_a_list_is_narrowed_by_what_is_inherited",
    "2.5": "hosts/zeph/test_laws::test_a_child_never_gains",
    "2.6": "hosts/zeph/test_spawn::test_the_parent_decides_what_an_agent_inherits",
    "2.7": "hosts/zeph/test_spawn::test_a_chain_starts_at_the_session",
    "2.8": "hosts/zeph/test_spawn::test_the_engine_counts_the_depth_where_it_is_handed_on",
    **dict.fromkeys(
        ["2.9", "2.10", "2.15", "2.16", "2.17"],
        "hosts/zeph/test_spawn::test_an_audit_shows_what_the_session_hands_on",
    ),
    **dict.fromkeys(
        ["2.11", "2.12", "2.13", "2.14"],
        "hosts/zeph/test_spawn::test_what_is_not_a_permission_is_handed_on_too",
    ),
    "2.18": "hosts/zeph/test_spawn::test_the_default_context_constrains_nothing",
    "B.1": "hosts/zeph/test_spawn::test_a_list_is_narrowed_by_what_is_inherited",
    "B.2": "hosts/zeph/test_session::test_a_name_ends_before_its_parenthesis_and_case_does_not_count",
    "B.3": "hosts/zeph/test_spawn::test_a_worktree_keeps_the_folder_where_there_is_one",
    "B.4": "zeph-plan-starts-agents",
    "B.5": "zeph-argument-widened",
    "B.6": "zeph-plan-starts-agents",
    "B.7": "hosts/zeph/test_session::test_a_closed_fence_that_is_a_tool_is_a_call",
    "B.8": "zeph-skills",
    "B.9": "hosts/zeph/test_session::test_quarantine_denies_its_list_by_names_as_written",
    "B.10": "zeph-memory-after-narrowing",
    "B.11": "hosts/zeph/test_session::test_a_hook_belongs_to_tools_whose_name_has_its_matcher_in_it",
    "B.12": "hosts/zeph/test_loading::test_paths_are_searched_in_their_order_and_each_once",
    "B.13": "hosts/zeph/test_loading::test_the_gate_for_users_refuses_the_whole_load_and_the_usual_way_has_none",
    "B.14": "zeph-configuration",
    "B.15": "hosts/zeph/test_spawn::test_who_may_delegate",
    "B.16": "hosts/zeph/test_spawn::test_checks_are_made_in_the_order_of_zeph_and_in_its_words",
    "B.17": "hosts/zeph/test_spawn::test_to_go_on_is_not_to_start",
    "B.18": "hosts/zeph/test_session::test_rules_take_a_tool_away_where_they_deny_all_of_it",
    "B.19": "hosts/zeph/test_session::test_the_first_rule_decides_and_the_rest_is_asked_for",
    "B.20": "hosts/zeph/test_enforcer::test_a_table_grants_nothing_that_the_rules_do_not",
    "B.21": "hosts/zeph/test_session::test_a_scope_is_expanded_once_and_looked_up",
    "B.22": "hosts/zeph/test_session::test_a_grant_ends_what_it_names_until_there_is_a_new_one",
    "B.23": "hosts/zeph/test_session::test_commands_that_reach_the_network_are_denied_without_it",
    "B.24": "hosts/zeph/test_spawn::test_an_error_is_printed_in_the_words_of_zeph",
    "B.25": "hosts/zeph/test_fixtures::test_every_code_has_a_page",
}

TESTS = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_its_test(row: str) -> None:
    module, is_test, name = ROWS[row].partition("::")
    if is_test:
        tree = ast.parse((TESTS / f"{module}.py").read_text())
        tests = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert any(isinstance(node, ast.Assert | ast.Call) for node in ast.walk(tests[name]))
    else:
        assert yaml.safe_load((TESTS.parent / "fixtures" / module / "findings.yaml").read_text())


def test_no_row_is_left_out() -> None:
    counts = {"0": 33, "1": 16, "2": 18, "B": 25}
    assert {
        f"{part}.{n}" for part, most in counts.items() for n in range(1, most + 1)
    } == ROWS.keys()
