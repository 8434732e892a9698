"""Simple commands letter by letter: by which texts rules know them, and which are decided in some way."""

from __future__ import annotations

import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from policy.comparison.edited import Side
from policy.comparison.effects import CHANGES
from policy.comparison.sides import Sides
from policy.comparison.simple import Simple
from policy.comparison.view import View
from policy.comparison.words import ACTED_ON, Names, Place
from policy.effect import Effect
from policy.hosts.notation_semantics import SEMANTICS
from policy.shell.commands import read_command
from policy.table import Table
from tests.strategies import table
from tests.test_disguise import COMMANDS, RULES

SHELL = SEMANTICS.dialect.shell
PAIRS = int(os.environ.get("PAIRS", "3"))

_WORDS = (
    "sudo", "timeout", "5", "-n", "-x=1", "time", "-p", "nice", "env", "A=1", "B+=2", "=x", "a", "rm",
    "./a", "/bin/rm", "x/sudo", "flock", "function", "if", "xargs", "!", "1.5h", "nohup", "10", "x/",
    "a=b/c", "/", "stdbuf", "--a=b", "-", "2=3", "bin/time", "time/", "done", "command", "chroot",
)  # fmt: skip


@given(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6))
@settings(max_examples=300)
def test_letter_by_letter_rules_know_a_command_as_it_is_read(words: list[str]) -> None:
    command, names = " ".join(words), Names.of(SHELL, ())
    place, granted, known = Place(), "", [""]
    named: str | None = None
    for letter in command:
        if letter == " ":
            place = place.ended(names)
            known = [f"{text} " for text in (*known, *([] if named is None else [named]))]
            known += [""] * place.leads
            granted, named = "" if place.granted == "skip" else f"{granted} ", None
            continue
        before, place = place, place.with_letter(letter, names)
        if before.granted == "time" and place.granted == "skip":
            granted = ""
        granted, known = granted + letter, [text + letter for text in known]
        named = "" if letter == "/" and before.leads else None if named is None else named + letter
    known += [] if named is None else [named]
    (part,) = read_command(command, SHELL).parts
    assert (granted, not place.is_refused(names)) == (part.text, part.grantable)
    assert {granted, *known} == {part.text, *part.readings}


def _sides(before: Table, after: Table) -> Sides:
    rows = ([row for row, _ in each.lookup("Bash").rows] for each in (before, after))
    one, other = (Side(tuple(View.of(row, {}) for row in each)) for each in rows)
    return Sides(one, other)


def test_a_command_that_is_decided_in_some_way_is_found_or_there_is_none() -> None:
    dice = random.Random(0)
    plain = [text for text in COMMANDS if text and ACTED_ON.isdisjoint(text)]
    rules = [rule for rule in RULES if ACTED_ON.isdisjoint(rule.replace("*", ""))]
    for _ in range(PAIRS):
        lists = [f"{e} Bash({dice.choice(rules)})" for e in ("allow", "ask", "deny") * 2]
        before, after = table(*lists[1:]), table(*lists[:-1])
        for change in sorted(CHANGES, key=str):
            simple = Simple(_sides(before, after), SHELL, Effect.ASK, 20_000)
            found = simple.search({change})
            if found.text is not None:
                call = {"command": found.text}
                assert (
                    before.decide("Bash", call).effect,
                    after.decide("Bash", call).effect,
                ) == change
                continue
            assert found.exact, (lists, change)
            for text in plain:
                call = {"command": text}
                said = before.decide("Bash", call).effect, after.decide("Bash", call).effect
                assert said != change, (lists, text)
