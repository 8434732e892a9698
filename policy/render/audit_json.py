"""The JSON shape of an audit."""

from __future__ import annotations

from policy.reach.audit import AgentAudit, Audit, Position, ProjectAudit
from policy.reach.gaps import Gap
from policy.reach.most import AtMost
from policy.reach.privileges import Privilege
from policy.render.as_json import (
    Object,
    because_json,
    difference_json,
    finding_json,
    place_json,
)

__all__ = ["audit_json", "privilege_json"]


def audit_json(audit: Audit) -> Object:
    """Return the audit of a workspace."""
    return {
        "label": audit.label,
        "projects": [_project(project) for project in audit.projects],
        "findings": [finding_json(finding) for finding in audit.findings],
        "suppressed": audit.suppressed,
        "explain": "policy rule CODE",
        "unread": [{"path": file.path, "what": file.what} for file in audit.unread],
        "exact": all(project.exact for project in audit.projects),
    }


def _project(audited: ProjectAudit) -> Object:
    project = audited.project
    return {
        "project": project.title,
        "host": project.host,
        "profile": project.profile,
        "root": project.root,
        "starts": list(project.starts),
        "agents": [_agent(agent) for agent in audited.agents],
        "files": [
            {"path": file.path, "role": file.role, "assumed": file.assumed or None}
            for file in project.files
        ],
        "elsewhere": list(project.elsewhere),
        "exact": audited.exact,
    }


def _agent(agent: AgentAudit) -> Object:
    return {
        "agent": agent.name,
        **place_json(agent.place),
        "attenuated": [_position(position) for position in agent.attenuated],
        "enforced": [_position(position) for position in agent.enforced],
        "at_most": {
            reading: [_most(each, positions) for each in most]
            for reading, most, positions in zip(
                ("attenuated", "enforced"),
                agent.most,
                (agent.attenuated, agent.enforced),
                strict=True,
            )
        },
        "escalations": [_gap(one) for one in agent.escalations],
        "dead_letters": [_gap(one) for one in agent.dead_letters],
        "spawns": {"attenuated": list(agent.spawns[0]), "enforced": list(agent.spawns[1])},
        "bounds": {
            "depth": agent.bounds.depth,
            "turns": agent.bounds.turns,
            "trust": agent.bounds.trust,
        },
        "exact": agent.exact,
        "why": list(agent.why),
    }


def _most(most: AtMost, positions: tuple[Position, ...]) -> Object:
    """Return what a tool may do at most; a chain is None where it is not among those told."""
    return {
        "tool": most.tool,
        **({"glob": most.glob} if most.glob else {}),
        "grants": [
            {
                "effect": grant.effect.value,
                "rule": grant.rule or None,
                "reason": grant.reason.value if grant.reason else None,
                "chain": list(positions[grant.position].chain)
                if grant.position < len(positions)
                else None,
            }
            for grant in most.grants
        ],
        "exact": not most.why,
        "why": list(most.why),
    }


def _gap(gap: Gap) -> Object:
    return {"chain": list(gap.chain), **difference_json(gap)}


def _position(position: Position) -> Object:
    return {
        "chain": list(position.chain),
        "confirm": list(position.confirm),
        "privileges": [privilege_json(privilege) for privilege in position.privileges],
    }


def privilege_json(privilege: Privilege) -> Object:
    """Return what is said of one tool."""
    answer: Object = {
        "tool": privilege.tool,
        "effect": privilege.effect.value if privilege.effect else None,
        "reason": privilege.reason.value if privilege.reason else None,
        "rules": because_json(privilege.rules),
        "otherwise": privilege.otherwise.value if privilege.otherwise else None,
    }
    if privilege.glob:
        answer["glob"] = privilege.glob
    if privilege.layers:
        answer["layers"] = [
            {
                "links": list(layer.links),
                "rules": because_json(layer.rules),
                "otherwise": layer.otherwise.value if layer.otherwise else None,
            }
            for layer in privilege.layers
        ]
    return answer
