"""Files that links lead to: what is decided of the name that is used and of the file."""

from __future__ import annotations

from itertools import product

import pytest

from policy.core.effect import Effect
from policy.core.values import evolve
from policy.hosts.notation.semantics import DIALECT
from policy.patterns import notations
from policy.tables.file_outcome import path_outcome
from policy.tables.ruleset import Entry, RuleSet

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_HERE = DIALECT.cwd


@pytest.mark.parametrize("default", Effect)
@pytest.mark.parametrize(("name", "real"), [(f"{_HERE}/l/x", "/o/x"), ("/l/x", f"{_HERE}/x")])
def test_for_a_tool_the_stricter_of_a_name_and_its_file_decides(default, name, real) -> None:
    links = ((name.removesuffix("/x"), real.removesuffix("/x")),)
    shell = evolve(DIALECT.shell, files=type(DIALECT.shell.files)())
    dialect = evolve(DIALECT, links=links, shell=shell)
    for of_name, of_file in product((None, *Effect), repeat=2):
        rules = {name: of_name, real: of_file}
        entries = [
            Entry("Read", effect, notations.paths(path)[0], rule=path)
            for path, effect in rules.items()
            if effect is not None
        ]
        row = RuleSet(tuple(entries), default, dialect).row("Read")
        found = path_outcome(row, name)
        strictest = min(default if each is None else each for each in (of_name, of_file))
        ruled = [path for path, effect in rules.items() if effect is not None]
        if strictest is ALLOW and len(ruled) == 1 and not ruled[0].startswith(f"{_HERE}/"):
            strictest = ASK  # a rule about files elsewhere says nothing of the other name
        elif strictest is ALLOW:
            assert found == row.at(row.first(name))  # the name that is used is reported
        assert found.effect is strictest, rules
    assert path_outcome(row, real) == row.at(row.first(real))  # no link leads there
