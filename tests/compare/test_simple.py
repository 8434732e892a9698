"""Simple commands word by word: by which texts rules know them, and which are decided in some way."""

from __future__ import annotations

import os
import random

from policy.compare.auto_allowed import ACTED_ON
from policy.compare.lists import ListSide, Sides, View
from policy.compare.simple import SimpleSearch, Steps
from policy.compare.tables import differences
from policy.compare.witness import CHANGES, weaker
from policy.core.effect import Effect
from policy.hosts.notation.semantics import DIALECT
from policy.tables.table import Table
from tests.compare.test_disguise import COMMANDS, RULES
from tests.strategies import table

SHELL = DIALECT.shell
PAIRS = int(os.environ.get("PAIRS", "3"))


def _sides(before: Table, after: Table) -> Sides:
    rows = ([row for row, _ in each.lookup("Bash").rows] for each in (before, after))
    one, other = (ListSide(tuple(View.of(row, {}) for row in each)) for each in rows)
    return Sides(one, other)


def test_a_command_that_is_decided_in_some_way_is_found_or_there_is_none() -> None:
    dice = random.Random(0)
    plain = [text for text in COMMANDS if text and ACTED_ON.isdisjoint(text)]
    rules = [rule for rule in RULES if ACTED_ON.isdisjoint(rule.replace("*", ""))]
    for _ in range(PAIRS):
        lists = [f"{e} Bash({dice.choice(rules)})" for e in ("allow", "ask", "deny") * 2]
        before, after = table(*lists[1:]), table(*lists[:-1])
        for change in sorted(CHANGES, key=str):
            simple = SimpleSearch(_sides(before, after), SHELL, Effect.ASK, Steps(400_000))
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


_LEADING = (
    "sudo", "timeout 5", "timeout", "time", "nice -n 5", "env", "A=1", "xargs", "flock", "sudo -u x",
    "nohup", "if", "!", "command", "stdbuf -oL", "time -p", "chroot",
)  # fmt: skip
_LED = ("a", "a b", "rm x", "git push", "./a", "/bin/rm x", "z", "5 a", "-n a")


def _rule(dice: random.Random) -> str:
    words = [dice.choice(_LEADING) for _ in range(dice.choice([0, 0, 1, 1, 2]))]
    words = " ".join([*words, dice.choice(_LED)]).split(" ")
    starts = f"{' '.join(words[: dice.randint(1, len(words))])} *"
    whole, inside = " ".join(words), f"{words[0]} * {words[-1]}"
    return dice.choice([whole, starts, starts, inside, f"* {words[-1]}"])


def test_no_command_of_plain_words_shows_a_change_that_a_comparison_does_not_tell() -> None:
    dice = random.Random(os.environ.get("PAIRS_SEED", "0"))
    for _ in range(4 * PAIRS):
        lists = [f"{dice.choice(('allow', 'ask', 'deny'))} Bash({_rule(dice)})" for _ in range(6)]
        default = dice.choice([Effect.DENY, Effect.ASK, Effect.ALLOW])
        before, after = (table(*some, default=default) for some in (lists[1:], lists[:-1]))
        comparison = differences(before, after)
        if not comparison.exact:
            continue
        told = weaker(each.effects for each in comparison.differences)
        simple = SimpleSearch(_sides(before, after), SHELL, Effect.ASK, Steps(4_000_000))
        assert simple.search(CHANGES - told).text is None, lists
