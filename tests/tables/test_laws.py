"""The laws of the engine, each as a property; its name is the law as a sentence.

``HYPOTHESIS_PROFILE=thorough`` tries many more examples.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from policy.compare.compare import Comparison
from policy.compare.tables import differences
from policy.core import values
from policy.core.decision import Reason
from policy.core.effect import Effect
from policy.tables.chain import attenuate
from policy.tables.ruleset import RuleSet
from policy.tables.table import NOTHING, UNRESTRICTED, Bounds, Ceiling, LinkedRules, Table
from tests import reference
from tests.reference import Said, Scope
from tests.strategies import bounds, calls, compiled, effects, rule_set, scopes, tables
from tests.told import is_told

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
some_calls = st.lists(calls(), min_size=1, max_size=8)
links = st.lists(scopes(4, delegating=True), min_size=1, max_size=3)


def _used(table: Table) -> tuple[Ceiling, Ceiling]:
    return table.use, table.delegated


def _unlimited(table: Table) -> Table:
    """Return a table without limits: that of depth counts the links of a chain."""
    return values.evolve(table, bounds=Bounds())


# --- effects ------------------------------------------------------------------------


@given(effects, effects, effects)
def test_the_stricter_of_effects_is_a_semilattice(a: Effect, b: Effect, c: Effect) -> None:
    assert a & a is a
    assert a & b is b & a
    assert (a & b) & c is a & (b & c)
    assert (a & b is a) == (a <= b)
    assert Effect.DENY & a is Effect.DENY
    assert Effect.ALLOW & a is a


# --- tables meet ----------------------------------------------------------------------


@given(tables)
def test_a_meet_is_idempotent(a: Table) -> None:
    assert a & a == a
    copy = Table(Ceiling.of(a.use.parts), a.delegate, a.bounds)
    assert a & copy == a
    assert (a & copy).hash == a.hash


@given(tables, tables)
def test_a_meet_is_commutative(a: Table, b: Table) -> None:
    assert a & b == b & a
    assert hash(a & b) == hash(b & a)
    assert (a & b).hash == (b & a).hash


@given(tables, tables, tables)
def test_a_meet_is_associative(a: Table, b: Table, c: Table) -> None:
    assert (a & b) & c == a & (b & c)
    assert ((a & b) & c).hash == (a & (b & c)).hash


@given(tables)
def test_unrestricted_is_the_identity_of_meets(a: Table) -> None:
    assert a & UNRESTRICTED == a == UNRESTRICTED & a


@given(tables)
def test_nothing_absorbs(a: Table) -> None:
    assert a & NOTHING == NOTHING == NOTHING & a


@given(tables, tables, some_calls)
def test_a_meet_grants_the_lesser_of_both(a: Table, b: Table, asked: list[Any]) -> None:
    met = a & b
    for tool, call in asked:
        wanted = min(a.decide(tool, call).effect, b.decide(tool, call).effect)
        assert met.decide(tool, call).effect is wanted
        assert met.decide(tool, call).effect is wanted  # and so does the memory


@given(tables, tables)
def test_a_meet_is_below_both(a: Table, b: Table) -> None:
    met = a & b
    if _exact(a, met):
        assert met <= a
    assert NOTHING <= a <= UNRESTRICTED


def _exact(a: Table, b: Table) -> bool:
    pairs = [(a, b), (Table(a.delegated), Table(b.delegated))]
    return all(differences(one, other).exact for one, other in pairs)


# --- chains -------------------------------------------------------------------------------


@given(links, scopes(delegating=True), some_calls)
def test_a_child_never_gains(above: list[Scope], child: Scope, asked: list[Any]) -> None:
    parent = reduce(attenuate, map(compiled, above))
    spawned = attenuate(parent, compiled(child))
    handed_on = Table(parent.delegated)
    for tool, call in asked:
        most = handed_on.decide(tool, call).effect
        assert spawned.decide(tool, call).effect <= most
        assert Table(spawned.delegated).decide(tool, call).effect <= most


@given(tables, tables)
def test_what_a_child_has_is_below_what_its_parent_delegates(parent: Table, child: Table) -> None:
    spawned = attenuate(parent, child)
    for ceiling in (spawned.use, spawned.delegated):
        if differences(Table(parent.delegated), Table(ceiling)).exact:
            assert Table(ceiling) <= Table(parent.delegated)
    assert spawned.bounds & child.bounds == spawned.bounds
    turns = parent.bounds.turns
    assert turns is None or (spawned.bounds.turns or 0) <= turns


@given(tables, tables, tables)
def test_attenuation_is_associative(a: Table, b: Table, c: Table) -> None:
    a, b, c = map(_unlimited, (a, b, c))
    assert _used(attenuate(attenuate(a, b), c)) == _used(attenuate(a, attenuate(b, c)))


@given(tables, tables)
def test_attenuation_is_the_meet_where_nothing_is_delegated(a: Table, b: Table) -> None:
    a, b = (values.evolve(_unlimited(table), delegate=None) for table in (a, b))
    assert _used(attenuate(a, b)) == _used(a & b)


@given(tables, tables)
def test_who_is_at_the_limit_of_depth_is_granted_no_start(a: Table, b: Table) -> None:
    for table in (a, b, a & b, attenuate(a, b)):
        if table.bounds.depth is not None and table.bounds.depth <= 0:
            for tool in ("Task", "Agent"):
                decision = table.decide(tool, {"subagent_type": "main"})
                assert decision.effect is Effect.DENY
        else:
            assert table.use == values.evolve(table, bounds=Bounds()).use


@given(tables, tables, tables)
def test_leaving_out_a_link_never_narrows(a: Table, b: Table, c: Table) -> None:
    longer, shorter = attenuate(attenuate(a, b), c), attenuate(a, c)
    assert longer.use & shorter.use == longer.use
    assert longer.delegated & shorter.delegated == longer.delegated


@given(bounds, bounds, bounds)
def test_bounds_are_a_semilattice(a: Any, b: Any, c: Any) -> None:
    assert a & a == a
    assert a & b == b & a
    assert (a & b) & c == a & (b & c)


# --- decisions ---------------------------------------------------------------------------------


@given(links, some_calls)
def test_a_compiled_chain_agrees_with_the_reference(above: list[Scope], asked: list[Any]) -> None:
    chain = reduce(attenuate, map(compiled, above))
    for tool, call in asked:
        wanted = reference.decide_in_chain(above, tool, call)
        assert chain.decide(tool, call).effect is wanted, (tool, call)
        assert chain.decide(tool, dict(call)).effect is wanted, "and so does the memory"


@given(scopes(), some_calls)
def test_deny_trumps_allow(scope: Scope, asked: list[Any]) -> None:
    """In our notation: where a rule that denies matches, nothing grants."""
    scope = values.evolve(scope, precedence="strictest")
    denying = [said for said in scope.rules if said.effect is Effect.DENY]
    table = compiled(scope)
    for tool, call in asked:
        for said in denying:
            alone = compiled(Scope((said,), Effect.ALLOW))
            if alone.decide(tool, call).effect is Effect.DENY:
                assert table.decide(tool, call).effect is Effect.DENY


@given(scopes(), some_calls)
def test_what_no_rule_speaks_of_gets_the_default(scope: Scope, asked: list[Any]) -> None:
    table = compiled(values.evolve(scope, rules=()))
    for tool, call in asked:
        decision = table.decide(tool, call)
        assert decision.effect is scope.default
        assert decision.because == ()
        assert decision.reason in (Reason.DEFAULT, Reason.UNRESTRICTED)


@given(scopes(), st.permutations(range(6)), some_calls)
def test_the_order_of_rules_does_not_matter_in_our_notation(
    scope: Scope, order: list[int], asked: list[Any]
) -> None:
    scope = values.evolve(scope, precedence="strictest")
    shuffled = tuple(scope.rules[i] for i in order if i < len(scope.rules))
    other = compiled(values.evolve(scope, rules=shuffled))
    for tool, call in asked:
        assert compiled(scope).decide(tool, call).effect is other.decide(tool, call).effect


@given(scopes(), some_calls)
def test_one_lookup_decides_and_explains(scope: Scope, asked: list[Any]) -> None:
    """The reasons are rules of the table, match the call, say what was decided, and matter."""
    table = compiled(scope)
    for tool, call in asked:
        decision = table.decide(tool, call)
        assert decision.table == table.hash
        given_as = {because.rule for because in decision.because}
        reasons = [said for said in scope.rules if said.matcher in given_as]
        if decision.reason is not Reason.RULE:
            assert not decision.because
            continue
        assert decision.because
        assert all(because.effect is decision.effect for because in decision.because)
        assert any(_speaks(said, tool, call) for said in reasons if said.effect is decision.effect)
        left = tuple(said for said in scope.rules if said not in reasons)
        without = compiled(values.evolve(scope, rules=left)).decide(tool, call)
        assert (without.effect, without.because) != (decision.effect, decision.because)


def _speaks(said: Said, tool: str, call: dict[str, Any]) -> bool:
    others = Effect.DENY if said.effect is not Effect.DENY else Effect.ALLOW
    alone = Scope((said,), others)
    text = call.get("command")
    if isinstance(text, str):  # some part of the command is what the rule speaks of
        parts = text.replace("&&", ";").replace("|", ";").split(";")
        return any(_decided(alone, tool, {**call, "command": part}) for part in parts)
    return _decided(alone, tool, call)


def _decided(alone: Scope, tool: str, call: dict[str, Any]) -> bool:
    return reference.decide(alone, tool, call) is alone.rules[0].effect


@given(tables, tables, some_calls)
def test_reasons_of_a_chain_belong_to_a_link_that_decided(
    a: Table, b: Table, asked: list[Any]
) -> None:
    met = a & b
    for tool, call in asked:
        decision = met.decide(tool, call)
        assert {because.link for because in decision.because} <= set(decision.links)
        if decision.effect is Effect.ASK:
            asking = [t for t in (a, b) if t.decide(tool, call).effect is Effect.ASK]
            assert set(decision.links) >= {link for t in asking for link in _links(t)} - {""}


def _links(table: Table) -> set[str]:
    return {link for part in table.use.parts for link in part.links}


@given(tables, some_calls)
def test_asking_again_or_elsewhere_changes_no_decision(a: Table, asked: list[Any]) -> None:
    again = Table(a.use, a.delegate, a.bounds)
    first = [a.decide(tool, call) for tool, call in asked]
    assert [a.decide(tool, call) for tool, call in reversed(asked)] == first[::-1]
    assert [again.lookup(tool).decide(call, remember=False) for tool, call in asked] == first


@given(scopes(), some_calls)
def test_what_is_remembered_is_what_reading_the_call_says(scope: Scope, asked: list[Any]) -> None:
    table = compiled(scope)
    for tool, call in (*asked, *asked):  # looked up, and known to the row
        table.lookup(tool).remembered.clear()
        decision = table.decide(tool, call)
        for row, _ in table.lookup(tool).rows:
            read = row._outcome_of_argument(call)
            assert (decision.effect, decision.reason) == (read.effect, read.reason)
            assert [each.rule for each in decision.because] == [each.rule for each in read.entries]


@given(scopes(), calls(), st.sampled_from(["", "extra", "zz"]), st.text(max_size=3))
def test_an_argument_that_no_rule_names_changes_nothing(
    scope: Scope, asked: tuple[str, dict[str, Any]], name: str, value: str
) -> None:
    tool, call = asked
    assume(tool in reference.FIELDS and name not in call)
    table = compiled(scope)
    table.decide(tool, {name: value})
    for _ in range(2):
        decision = table.decide(tool, {**call, name: value})
        assert decision == compiled(scope).decide(tool, call)


# --- tables as values ------------------------------------------------------------------------------


@given(tables)
def test_a_table_cannot_be_changed(a: Table) -> None:
    parts: list[Any] = [a, a.use, a.bounds, *a.use.parts, *(part.rules for part in a.use.parts)]
    for value in parts:
        for name in values.attributes(type(value)):
            with pytest.raises(AttributeError):
                setattr(value, name, None)


@given(scopes(), st.randoms(use_true_random=False))
def test_the_order_of_neighbours_and_places_are_not_part_of_a_table(
    scope: Scope, dice: random.Random
) -> None:
    rules = rule_set(scope)
    runs = [list(run) for _, run in itertools.groupby(rules.entries, lambda e: e.effect)]
    for run in runs:
        dice.shuffle(run)
    moved = [values.evolve(entry, place=None, rule="elsewhere") for run in runs for entry in run]
    other = RuleSet((*moved, *moved[:1]), rules.default, rules.dialect)
    a, b = Table.of(rules, link="a"), Table.of(other, link="b")
    assert a == b
    assert hash(a) == hash(b)
    assert a.hash == b.hash


@given(tables, tables, some_calls)
def test_equal_hashes_mean_equal_decisions(a: Table, b: Table, asked: list[Any]) -> None:
    assert (a == b) == (a.hash == b.hash)
    different = any(a.decide(t, c).effect is not b.decide(t, c).effect for t, c in asked)
    if different:
        assert a.hash != b.hash
        assert a != b


# --- exact comparison: every text up to a length is tried ----------------------------------------------

_PAIRS = 5_000 if THOROUGH else 40


@values.frozen
class Family:
    """Random rules of one kind, and every call of that kind up to a size.

    Attributes:
        rule: makes a matcher.
        calls: all small calls.
    """

    rule: Callable[[random.Random], str]
    calls: tuple[tuple[str, dict[str, Any]], ...]


def _texts(alphabet: Iterable[str], most: int, least: int = 0) -> Iterator[str]:
    letters = tuple(alphabet)
    for length in range(least, most + 1):
        yield from map("".join, itertools.product(letters, repeat=length))


def _some(dice: random.Random, pieces: str | list[str], most: int, least: int = 1) -> str:
    return "".join(dice.choices(pieces, k=dice.randint(least, most)))


def _path(dice: random.Random) -> str:
    parts = [dice.choice(["a", "b", "*", "**", "a*", "?", "*b"]) for _ in range(dice.randint(1, 3))]
    glob = dice.choice(["", "/"]) + "/".join(parts) + dice.choice(["", "", "/**", "/"])
    return f"Read({glob})" if glob.strip("/") else "Read(a)"


FAMILIES = {
    "text": Family(
        lambda dice: f"m__a({_some(dice, 'ab**', 4)})",
        tuple(("m__a", {"argument": text}) for text in _texts("abz", 4)),
    ),
    "command": Family(
        lambda dice: f"Bash({_some(dice, ['a', 'b', '*', ' *', ' ', 'a', ':*'], 4)})",
        tuple(
            ("Bash", {"command": text})
            for text in _texts("ab z", 5)
            if text.strip() == text and "  " not in text and text
        ),
    ),
    "path": Family(
        _path,
        tuple(
            ("Read", {"file_path": "/@project" + "".join(parts)})
            for size in range(4)
            for parts in itertools.product(["/a", "/b", "/z", "/ab", "/zb", "/az"], repeat=size)
        ),
    ),
    "host": Family(
        lambda dice: "WebFetch(domain:{}{})".format(
            dice.choice(["", "*."]),
            ".".join(_some(dice, "ab*", 2) for _ in range(dice.randint(1, 2))),
        ),
        tuple(
            ("WebFetch", {"url": "https://" + ".".join(labels)})
            for size in range(1, 4)
            for labels in itertools.product(["a", "b", "z", "ab", "az", "zb"], repeat=size)
        ),
    ),
    "name": Family(
        lambda dice: _some(dice, "ab*", 4),
        tuple((name, {"argument": "x"}) for name in _texts("abz", 4, 1)),
    ),
    "name and text": Family(
        lambda dice: f"{_some(dice, 'ab*', 2)}({_some(dice, 'a*', 2)})",
        tuple(
            (name, {"argument": text})
            for name in _texts("abz", 3, 1)
            for text in ("", "a", "z", "aa", "az", "za", "zz")
        ),
    ),
    "parameter": Family(
        lambda dice: "Skill({}{})".format(
            dice.choice(["", "k:", "k:", "j:"]), _some(dice, "ab*", 3)
        ),
        tuple(
            ("Skill", {"skill": text, **k, **j})
            for text in _texts("abz", 2)
            for k in ({}, *({"k": value} for value in _texts("abz", 3)))
            for j in ({}, {"j": "a"}, {"j": "z"})
        ),
    ),
}


def _scope(dice: random.Random, rule: Callable[[random.Random], str], most: int) -> Scope:
    said = [Said(dice.choice(list(Effect)), rule(dice)) for _ in range(dice.randint(0, most))]
    default = dice.choice(list(Effect))
    return Scope(tuple(said), default, dice.choice(["strictest", "last match", "exact first"]))


def _edited(dice: random.Random, scope: Scope, rule: Callable[[random.Random], str]) -> Scope:
    """Return *scope* with one rule put in, taken out or moved: what people change."""
    rules = list(scope.rules)
    if rules and dice.random() < 0.6:
        moved = rules.pop(dice.randrange(len(rules)))
        if dice.random() < 0.5:
            rules.insert(dice.randint(0, len(rules)), moved)
    if dice.random() < 0.7:
        rules.insert(dice.randint(0, len(rules)), Said(dice.choice(list(Effect)), rule(dice)))
    return values.evolve(scope, rules=tuple(rules))


def _usable(dice: random.Random, make: Callable[[], Scope]) -> Table:
    while True:
        scope = make()
        try:
            return compiled(scope)
        except Exception:  # noqa: BLE001  # a matcher that no call can match is refused
            continue


def _pair(dice: random.Random, family: Family) -> tuple[Table, Table]:
    """Return two tables to compare: unrelated ones, an edit, or meets of several."""
    form = dice.random()
    if form < 0.4:
        while True:
            scope = _scope(dice, family.rule, 5)
            try:
                return compiled(scope), compiled(_edited(dice, scope, family.rule))
            except Exception:  # noqa: BLE001
                continue
    size = 3 if form < 0.7 else 2
    counts = (1, 1) if form < 0.7 else (dice.randint(1, 3), dice.randint(1, 3))
    before, after = (
        reduce(
            Table.__and__,
            [_usable(dice, lambda: _scope(dice, family.rule, size)) for _ in range(count)],
        )
        for count in counts
    )
    if dice.random() < 0.3:
        after &= before  # shares lists with the other side
    return before, after


@pytest.mark.parametrize("name", FAMILIES)
def test_a_difference_is_empty_just_when_no_call_is_decided_differently(name: str) -> None:
    family = FAMILIES[name]
    dice = random.Random(f"{name} {os.environ.get('PAIRS_SEED', '')}")
    exact = 0
    for _ in range(_PAIRS):
        before, after = _pair(dice, family)
        comparison = differences(before, after)
        exact += comparison.exact
        _check(before, after, comparison, family)
    assert exact > 0.98 * _PAIRS


def _check(before: Table, after: Table, comparison: Comparison, family: Family) -> None:
    for difference in comparison.differences:
        was = before.decide(difference.tool, difference.call)
        now = after.decide(difference.tool, difference.call)
        assert (was, now) == (difference.before, difference.after)
        assert was.effect is not now.effect
        assert difference.widened == (was.effect < now.effect)
    if not comparison.exact:
        return
    told = {difference.effects for difference in comparison.differences}
    for tool, call in family.calls:
        effects = before.decide(tool, call).effect, after.decide(tool, call).effect
        assert is_told(*effects, told, tool), (tool, call)
    reported = {difference.widened for difference in comparison.differences}
    assert (after <= before) == (True not in reported)
    assert (before <= after) == (False not in reported)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_pair_of_effects_that_changes_is_shown(name: str) -> None:
    """From what to what: each such change has a witness of its own."""
    family = FAMILIES[name]
    dice = random.Random(f"{name} {os.environ.get('PAIRS_SEED', '')}")
    for _ in range(_PAIRS // 5):
        before, after = _pair(dice, family)
        comparison = differences(before, after)
        if not comparison.exact:
            continue
        shown = {(d.before.effect, d.after.effect) for d in comparison.differences}
        for tool, call in family.calls:
            was, now = before.decide(tool, call).effect, after.decide(tool, call).effect
            assert was is now or (was, now) in shown, (tool, call)


@given(scopes(4), scopes(4), some_calls)
@example(
    Scope((Said(Effect.DENY, "ab"), Said(Effect.ALLOW, "a*"))),
    Scope((Said(Effect.DENY, "ab"), Said(Effect.DENY, "*b"), Said(Effect.ALLOW, "a*"))),
    [("axb", {})],
)
def test_sampled_calls_never_contradict_a_comparison(
    before: Scope, after: Scope, asked: list[Any]
) -> None:
    a, b = compiled(before), compiled(after)
    comparison = differences(a, b)
    assume(comparison.exact)
    for tool, call in asked:
        was, now = a.decide(tool, call), b.decide(tool, call)
        if was.effect is not now.effect:
            reported = {(d.before.effect, d.after.effect) for d in comparison.differences}
            assert (was.effect < now.effect) in {x < y for x, y in reported}


@given(tables)
def test_a_table_does_not_differ_from_itself(a: Table) -> None:
    copy = Table(
        Ceiling.of([LinkedRules(values.evolve(part.rules), ("x",)) for part in a.use.parts])
    )
    assert differences(a, copy) == Comparison()
