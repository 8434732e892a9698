"""A3S Code: agent files, agent directories and script tools, and what a version makes of them."""

from __future__ import annotations

from policy.hosts.a3s.agent_dir import AgentDir, load_agent_dir, register
from policy.hosts.a3s.agent_files import read_agent
from policy.hosts.a3s.confirmation import ConfirmationPolicy, Provider, TimeoutAction
from policy.hosts.a3s.definitions import (
    AgentDefinition,
    AgentRegistry,
    ConfirmationInheritance,
    built_in_agents,
)
from policy.hosts.a3s.delegation import child_visible, delegate
from policy.hosts.a3s.errors import A3sError
from policy.hosts.a3s.gate import Facts, Scope, evaluate, evaluate_call
from policy.hosts.a3s.guardrail import Guardrail, Mode
from policy.hosts.a3s.loading import HOST, Options, canonical, load
from policy.hosts.a3s.neighbours import check_task, mcp_needs_confirmation, verifier_preflight
from policy.hosts.a3s.permissions import PermissionManager, PermissionPolicy
from policy.hosts.a3s.program import check_program, program_tools
from policy.hosts.a3s.scripts import ScriptToolLimits, ScriptToolSpec, Session, inner_call
from policy.hosts.a3s.skills import skill_policy
from policy.hosts.a3s.versions import Profile
from policy.hosts.a3s.writer import WRITER

__all__ = [
    "HOST",
    "WRITER",
    "A3sError",
    "AgentDefinition",
    "AgentDir",
    "AgentRegistry",
    "ConfirmationInheritance",
    "ConfirmationPolicy",
    "Facts",
    "Guardrail",
    "Mode",
    "Options",
    "PermissionManager",
    "PermissionPolicy",
    "Profile",
    "Provider",
    "Scope",
    "ScriptToolLimits",
    "ScriptToolSpec",
    "Session",
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
