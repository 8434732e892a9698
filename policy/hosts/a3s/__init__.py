"""A3S Code: agent files, agent directories and script tools, and what a version makes of them."""

from __future__ import annotations

from policy.hosts.a3s.definitions import (
    AgentDefinition,
    AgentRegistry,
    ConfirmationInheritance,
    ScriptToolLimits,
    ScriptToolSpec,
    built_in_agents,
)
from policy.hosts.a3s.files import AgentDir, load_agent_dir, read_agent, register
from policy.hosts.a3s.gate import (
    ConfirmationPolicy,
    Facts,
    GateScope,
    Provider,
    ScriptSession,
    TimeoutAction,
    check_program,
    check_task,
    child_visible,
    delegate,
    evaluate,
    evaluate_call,
    inner_call,
    mcp_needs_confirmation,
    program_tools,
    skill_policy,
    verifier_preflight,
)
from policy.hosts.a3s.guardrail import Guardrail, Mode
from policy.hosts.a3s.loading import HOST, A3sOptions, canonical, load
from policy.hosts.a3s.rules import PermissionManager, PermissionPolicy
from policy.hosts.a3s.versions import A3sProfile
from policy.hosts.a3s.writer import WRITER
from policy.hosts.errors import HostError

__all__ = [
    "HOST",
    "WRITER",
    "A3sOptions",
    "A3sProfile",
    "AgentDefinition",
    "AgentDir",
    "AgentRegistry",
    "ConfirmationInheritance",
    "ConfirmationPolicy",
    "Facts",
    "GateScope",
    "Guardrail",
    "HostError",
    "Mode",
    "PermissionManager",
    "PermissionPolicy",
    "Provider",
    "ScriptSession",
    "ScriptToolLimits",
    "ScriptToolSpec",
    "TimeoutAction",
    "built_in_agents",
    "canonical",
    "check_program",
    "check_task",
    "child_visible",
    "delegate",
    "evaluate",
    "evaluate_call",
    "inner_call",
    "load",
    "load_agent_dir",
    "mcp_needs_confirmation",
    "program_tools",
    "read_agent",
    "register",
    "skill_policy",
    "verifier_preflight",
]
