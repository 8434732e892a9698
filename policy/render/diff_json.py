"""The JSON shape of a diff."""

from __future__ import annotations

from policy.diff import Change, FileChange
from policy.render.as_json import Object, difference_json
from policy.render.changes import Report, subject
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
        "widened": diff.widened,
        "narrowed": diff.narrowed,
        "exact": diff.exact,
        "files": [_file(file, report) for file in diff.files],
    }


def _change(change: Change, grants: Summary | None) -> Object:
    shape: Object = {
        "project": change.project,
        "chain": list(change.chain),
        "also": [list(chain) for chain in change.also],
        "reading": list(change.readings),
        "what": change.what,
        "about": subject(change),
        "direction": change.direction,
        **difference_json(change.difference),
        "exact": change.exact,
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
        "effect": report.effects.get(file.path),
    }
