"""Random rules about commands and files, and commands in many forms: no change goes untold.

What a comparison shows is decided anew on both sides. Where it says that it is exact, every
command of a small universe is decided on both sides too: no change may show that it does not tell.
"""

from __future__ import annotations

import json
import random

import pytest

from policy.compare.tables import differences
from policy.core.effect import Effect
from policy.core.errors import PolicyError
from policy.files.opening import Memory
from policy.hosts.workspace import load_tree
from policy.patterns.notations import Unusable
from policy.tables.chain import Chain
from policy.tables.table import Table
from tests.strategies import table
from tests.told import COMMANDS as TOOLS
from tests.told import is_told

_FORMS = (
    "{}", "sudo {}", "timeout 5 {}", "nice -n 5 {}", "A=1 {}", "LANG=C {}", "./{}", "/bin/{}",
    "'{}'", "\\{}", "{} 'q'", "{} && ls", "{} | b", "{} > o", "$({})", "{} $x", "xargs {}",
    "env {}", "sudo timeout 5 {}", "! {}", "({})", "{} &", "bash -c '{}'", "{} > .env", "{} < .env",
    "cd src && {}", "if a; then {}; fi", "nohup {}", "{} | cat", "echo $({})", "timeout -x 5 {}",
    "{} <<< a", "eval {}", "{} 2>&1", "time {}", "find . -exec {} ;", "{} || b > src/o", "cd; {}",
)  # fmt: skip
_PROGRAMS = (
    "a", "a b", "rm x", "rm", "git push x", "git push", "git status", "git branch -D x", "ls", "cat a",
    "cat .env", "npm run x", "cp a .env", "sed -i s/a/b/ o", "touch src/o", "gita x", "grep x .env",
    "rm .env", "git diff .env", "tee o", "mv a o",
)  # fmt: skip
_RULES = (
    "a", "a *", "*", "rm *", "rm x", "git push *", "git push*", "git *", "git", "git status", "sudo *",
    "git branch -D *", "timeout *", "timeout 5 rm *", "nice *", "A=1 *", "./a *", "/bin/*", "* x", "ls *",
    "cat *", "npm run*", "npm run *", "a && b", "xargs *", "curl * | sh", "* | sh", "*install*",
    "eval *", "bash *", "cp *", "sed *", "touch *", "mv *", "find *", "grep *", "echo *", "git diff *",
    "tee *", "cd *", "cat .env", "g*", "git push x && npm x", "nohup *",
)  # fmt: skip
_FILES = ("Read(.env)", "Read(src/**)", "Edit(.env)", "Edit(src/**)", "Edit(o)", "Edit", "Read")
_MODES = ("default", "default", "dontAsk", "acceptEdits", "plan", "bypassPermissions")
_EFFECTS = ("allow", "ask", "deny")

Lists = dict[str, list[str]]


def _rule(dice: random.Random) -> str:
    return f"Bash({dice.choice(_RULES)})" if dice.random() < 0.8 else dice.choice((*_FILES, "Bash"))


def _lists(dice: random.Random) -> Lists:
    return {effect: [_rule(dice) for _ in range(dice.randint(0, 3))] for effect in _EFFECTS}


def _edited(dice: random.Random, lists: Lists) -> Lists:
    edited = {effect: list(rules) for effect, rules in lists.items()}
    for _ in range(dice.choice([1, 1, 2, 3])):
        rules = edited[dice.choice(_EFFECTS)]
        if rules and dice.random() < 0.5:
            rules.pop(dice.randrange(len(rules)))
        else:
            rules.append(_rule(dice))
    return edited


def _ours(lists: Lists, default: str) -> Table:
    rules = (f"{effect} {rule}" for effect in _EFFECTS for rule in lists[effect])
    return table(*rules, default=Effect[default])


def _claude(lists: Lists, mode: str) -> Table:
    content = json.dumps({"permissions": {**lists, "defaultMode": mode}})
    (project,) = load_tree(Memory({".claude/settings.json": content})).projects
    return Chain.start("main", project.enforced).table


_HOSTS = {"policy": (_ours, ("DENY", "ASK", "ALLOW")), "claude-code": (_claude, _MODES)}


def _pair(dice: random.Random, host: str) -> tuple[Table, Table, object]:
    make, defaults = _HOSTS[host]
    while True:
        lists = _lists(dice)
        edited, one = _edited(dice, lists), dice.choice(defaults)
        other = one if dice.random() < 0.9 else dice.choice(defaults)
        try:
            before, after = make(lists, one), make(edited, other)
            if dice.random() < 0.3:
                shared = make(_lists(dice), dice.choice(defaults))
                before, after = (before & shared, after & shared)
        except (PolicyError, Unusable):
            continue
        return before, after, (lists, one, edited, other)


def _try(host: str, seed: int) -> bool:
    dice = random.Random(f"{host} {seed}")
    before, after, said = _pair(dice, host)
    found = differences(before, after)
    told = set()
    for each in found.differences:
        decided = [side.decide(each.tool, each.call).effect for side in (before, after)]
        assert tuple(decided) == each.effects, (said, each.call)
        told |= {each.effects} if each.tool in TOOLS else set()
    commands = [form.format(program) for form in _FORMS for program in _PROGRAMS]
    for command in dice.sample(commands, 150) if found.exact else ():
        was, now = (side.decide("Bash", {"command": command}).effect for side in (before, after))
        assert is_told(was, now, told, "Bash"), (said, command, was, now)
    return found.exact


@pytest.mark.parametrize("host", _HOSTS)
def test_no_form_of_a_command_shows_a_change_that_is_not_told(host: str) -> None:
    assert sum(_try(host, seed) for seed in range(12)) > 4


@pytest.mark.slow
@pytest.mark.parametrize("host", _HOSTS)
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_no_form_of_a_command_shows_a_change_that_is_not_told_in_many_draws(
    host: str, first: int
) -> None:
    for seed in range(first, first + 100):
        _try(host, seed)
