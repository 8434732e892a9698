"""Of random policies of every host: what `lint --fix` makes of them, and every call of every chain."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from policy.analysis.diff import READINGS
from policy.analysis.lint import lint, mend
from policy.core.effect import Effect
from policy.files.trees import Memory
from policy.hosts.project import Project
from policy.hosts.workspace import load_tree
from tests.universes import UNIVERSES, Model, Universe, models, tried

_Decided = dict[tuple[str, ...], list[Effect]]


def decided(universe: Universe, project: Project, reading: str) -> _Decided:
    """Return what every call of every chain gets."""
    known: dict[object, list[Effect]] = {}
    found = {}
    for chain in universe.walks(project, reading):
        key = chain.table.use.sets
        if key not in known:
            known[key] = [chain.decide(*call).effect for call in universe.calls]
        found[chain.names] = known[key]
    return found


# What takes out a rule that does nothing changes no decision.
SILENT = {"redundant-rule", "shadowed-rule"}


# Where a rule that does nothing may have said something all the same. Claude Code takes away a
# tool that is denied as a whole: `ask: Bash(a)` does nothing beside that, though by the lists
# alone it would be asked.
_OTHERWISE = {("claude-code", "attenuated")}


def check_mended(universe: Universe, model: Model, codes: set[str] | None) -> None:
    """Compare files that were mended, by findings of some codes or all, with what they were."""
    files = dict(universe.write(model))
    tree = Memory(files)
    workspace = load_tree(tree)
    findings = [f for f in lint(tree, workspace).findings if codes is None or f.code in codes]
    mended = mend(tree, workspace, findings)
    texts = {path: text.decode() for path, (_, text) in mended.contents.items()}
    (before,) = workspace.projects
    (after,) = load_tree(Memory({**files, **texts})).projects
    for reading in READINGS:
        was, now = (decided(universe, project, reading) for project in (before, after))
        assert now.keys() <= was.keys(), (reading, texts)
        if codes == SILENT and (universe.host, reading) not in _OTHERWISE:
            assert now == was, (reading, texts)
        for names, effects in now.items():
            for call, one, other in zip(universe.calls, was[names], effects, strict=True):
                assert other <= one, (reading, names, call, texts)


def draw_mended(universe: Universe, data: st.DataObject) -> None:
    check_mended(universe, data.draw(models(universe)), data.draw(st.sampled_from([None, SILENT])))


@pytest.mark.parametrize("host", UNIVERSES)
def test_a_mended_file_grants_no_more_along_any_chain(host: str) -> None:
    tried(draw_mended, UNIVERSES[host], 5)


@pytest.mark.slow
@pytest.mark.parametrize("host", UNIVERSES)
def test_many_mended_files_grant_no_more_along_any_chain(host: str) -> None:
    tried(draw_mended, UNIVERSES[host], 60)
