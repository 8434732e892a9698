"""What is declared, and what the host does: a page, worked out from the front end.

``python -m policy.hosts.claude.declared_page`` prints ``DECLARED.md``, which a test
compares with the page that is kept beside this module.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Final

import attrs

from policy.chain import Chain, SpawnDenied
from policy.decision import Reason
from policy.files.opening import Memory
from policy.hosts.claude import Options, load
from policy.hosts.claude.data.traps import DIFFERENCES, TRAPS, Trap
from policy.hosts.claude.data.versions import CHANGES, UNTOLD, Behaviour
from policy.hosts.claude.options import VERSION
from policy.project import Project

__all__ = ["page"]

# A version for each that changed something the examples show.
_VERSIONS: Final = (VERSION, "2.1.240", "2.1.200", "2.1.170", "2.1.130")

_HEAD: Final = """\
# Claude Code: declared, but does

What files declare, and what the host makes of it. *Declared* is the attenuated reading, in which a
chain only narrows; then follows what each version enforces. {observed} was run and observed; of
the others the release notes were read. Printed by `python -m policy.hosts.claude.declared_page`.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            _HEAD.format(observed=VERSION),
            *_traps(),
            "",
            "## What changed, and when\n",
            *_changes(),
            "",
            "Release notes also tell of these, before which every profile decides as since then:\n",
            "| what | since | why not |",
            "| --- | --- | --- |",
            *(f"| {what} | {since} | {why} |" for since, what, why in UNTOLD),
            "",
            f"## Where the documentation says otherwise than {VERSION} does\n",
            "| documentation | observed |",
            "| --- | --- |",
            *(f"| {says} | {does} |" for says, does in DIFFERENCES),
            "",
        ]
    )


def _traps() -> Iterator[str]:
    yield "| declared | call | declared | " + " | ".join(_VERSIONS) + " | findings |"
    yield "| --- " * (len(_VERSIONS) + 4) + "|"
    for trap in TRAPS:
        newest = _project(trap, VERSION)
        does = [_decided(trap, _project(trap, version), "enforced") for version in _VERSIONS]
        codes = dict.fromkeys(f"`{finding.code}`" for finding in newest.findings)
        call = f"`{trap.tool}` `{json.dumps(dict(trap.input))}`"
        if trap.chain:
            call = f"{'>'.join(trap.chain)}: {call}"
        cells = [trap.title, call, _decided(trap, newest, "attenuated"), *does, " ".join(codes)]
        yield "| " + " | ".join(cells) + " |"


def _project(trap: Trap, version: str) -> Project:
    files = {".claude/settings.json": f'{{"permissions": {{{trap.permissions}}}}}'}
    for name, front in trap.agents.items():
        files[f".claude/agents/{name}.md"] = f"---\nname: {name}\n{front}\n---\n"
    (project,) = load(Memory(files), Options(version=version, cwd="/srv/app", home="/home/user"))
    return project


def _decided(trap: Trap, project: Project, reading: str) -> str:
    try:
        chain = Chain.start("main", project.reading(reading))
        for agent in trap.chain:
            chain = chain.spawn(agent)
    except SpawnDenied as denied:
        return f"not started ({denied.reason})"
    decision = chain.decide(trap.tool, dict(trap.input))
    unavailable = decision.reason is Reason.UNAVAILABLE
    return "no such tool" if unavailable else str(decision.effect)


def _changes() -> Iterator[str]:
    yield "| what | since | before | since then |"
    yield "| --- | --- | --- | --- |"
    after = dict(attrs.asdict(Behaviour()))
    for change in CHANGES:
        cells = (change.field.replace("_", " "), change.since, change.before, after[change.field])
        yield "| " + " | ".join(map(_shown, cells)) + " |"
        after[change.field] = change.before


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return " ".join(sorted(value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


if __name__ == "__main__":
    sys.stdout.write(page())
