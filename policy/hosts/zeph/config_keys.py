"""The keys of a configuration of Zeph that say something about permissions.

Read in the configuration types and the default file of its repository in 2026.
"""

from __future__ import annotations

from typing import Final

from policy.hosts.keys import Keys

__all__ = ["BLOCKED", "CONFIRMED", "NETWORK", "SECTIONS"]

# Commands that the shell refuses unless `allowed_commands` lists them.
BLOCKED: Final = (
    "rm -rf /", "sudo", "mkfs", "dd if=", "curl", "wget", "nc", "ncat", "netcat", "shutdown",
    "reboot", "halt",
)  # fmt: skip
# Those that it refuses in any case where `allow_network` is false.
NETWORK: Final = ("curl", "wget", "nc", "ncat", "netcat")
# Text in a command that the shell asks for where `confirm_patterns` is not written.
CONFIRMED: Final = (
    "rm ", "git push -f", "git push --force", "drop table", "drop database", "truncate ", "$(",
    "`", "<(", ">(", "<<<", "eval ",
)  # fmt: skip

_OFF: Final = {"enabled": False}

SECTIONS: Final = {
    "agents": Keys(
        "enabled delegation_mode max_concurrent max_spawns_per_session max_spawn_depth extra_dirs"
        " user_agents_dir default_permission_mode default_disallowed_tools default_memory_scope"
        " allow_bypass_permissions transcript_dir transcript_enabled transcript_max_files hooks"
        " context_window_turns context_injection_mode max_tool_iterations".split()
    ),
    "security": Keys(
        "autonomy_level redact_secrets env_blocklist content_isolation".split(),
        {"guardrail": _OFF, "capability_scopes": None, "trajectory": None},
        is_open=True,
    ),
    "tools": Keys(
        "permissions summarize_output audit filters overflow anomaly result_cache tafc retry egress"
        " speculative compression".split(),
        {
            "enabled": True,
            "max_tool_calls_per_session": None,
            "adversarial_policy": _OFF,
            "utility": _OFF,
            "dependencies": _OFF,
            "sandbox": _OFF,
            "pre_execution_verify": None,
        },
    ),
    "tools.shell": Keys(
        "blocked_commands allowed_commands confirm_patterns allow_network timeout transactional"
        " transaction_scope auto_rollback auto_rollback_exit_codes snapshot_required"
        " max_snapshot_bytes max_background_runs background_timeout_secs checkpoints_enabled"
        " max_checkpoints env_blocklist".split(),
        {"allowed_paths": [], "risk_chain_threshold": None},
    ),
    "tools.policy": Keys(
        "enabled default_effect rules policy_file".split(), {"policy_provider": ""}
    ),
    "tools.file": Keys((), {"deny_read": [], "allow_read": []}),
    "tools.scrape": Keys(
        "timeout max_body_bytes ipi_filter_threshold".split(),
        {"allowed_domains": [], "denied_domains": []},
    ),
    "tools.authorization": Keys(("rules",), {"enabled": False}),
}
