"""The JSON shape of a diff."""

from __future__ import annotations

from policy.changes.changed_files import FileChange
from policy.changes.diff import Change
from policy.changes.review import RuleChange
from policy.changes.spawn_changes import Spawn
from policy.render.as_json import Object, difference_json, finding_json, place_json
from policy.render.changes import Report, meaning, subject
from policy.render.privileges import Summary

__all__ = ["diff_json"]


def diff_json(report: Report) -> Object:
    """Return the JSON shape of *report*."""
    diff = report.diff
    return {
        "old": report.old,
        "new": report.new,
        "changes": [
            _change(change, report.grants.get(number)) for number, change in enumerate(diff.changes)
        ],
        "renamed": [
            {"project": one.project, "from": one.old, "to": one.new}
            for one in report.review.renamed
        ],
        "rules": [_rule(rule) for rule in report.review.rules],
        "spawns": {
            project: [_spawn(edge) for edge in edges if edge.change]
            for project, edges in report.spawns.items()
        },
        "excess": [
            {
                "project": one.project,
                "reading": one.reading,
                "chain": list(one.chain),
                **difference_json(one.difference),
            }
            for one in report.excess
        ],
        "findings": [finding_json(finding) for finding in report.findings],
        "widened": diff.widened,
        "narrowed": diff.narrowed,
        "exact": diff.exact,
        "why": list(diff.why),
        "files": [_file(file, report) for file in diff.files],
    }


def _change(change: Change, grants: Summary | None) -> Object:
    shape: Object = {
        "project": change.project,
        "agent": change.chain[-1],
        "meaning": meaning(change),
        "chain": list(change.chain),
        "also": [list(chain) for chain in change.also],
        "reading": list(change.readings),
        "what": change.what,
        "about": subject(change),
        "direction": change.direction,
        **difference_json(change.difference),
        "exact": change.exact,
        "why": list(change.why),
    }
    if grants is not None:
        shape["grants"] = {
            **{label: list(items) for label, items in grants.lines.items()},
            "depends": {tool: list(layers) for tool, layers in grants.layered.items()},
        }
    return shape


def _file(file: FileChange, report: Report) -> Object:
    return {
        "path": file.path,
        "what": file.what,
        "status": file.status,
        "errors": file.errors,
        "effect": report.effects.get(file.path),
    }


def _rule(change: RuleChange) -> Object:
    effects = [effect.value if effect else None for effect in change.effects]
    return {
        "what": change.what,
        "rule": change.rule,
        "from": effects[0],
        "to": effects[1],
        "before": place_json(change.places[0]),
        "after": place_json(change.places[1]),
        "effect": "decisions" if change.named else "none",
    }


def _spawn(edge: Spawn) -> Object:
    return {
        "parent": edge.parent or None,
        "child": edge.child,
        "change": edge.change,
        "before": sorted(edge.before),
        "after": sorted(edge.after),
    }
