"""Settings of Claude Code in every mode: each verb against `check`, over all calls of a universe.

What `check` itself says is compared with the real program (`tests.live`). Agents come and go
between the two sides, and so do modes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from policy.core import values
from tests.law.test_every_call import check_diff
from tests.law.test_every_chain import check_query
from tests.law.test_every_gap import check_audit
from tests.universes.model import Model, Universe, calls_of, header, starting

MODES = ("default", "acceptEdits", "bypassPermissions", "plan", "dontAsk")
NAMES = ("ann", "bob")
BUILT_IN = ("Explore", "Plan", "claude", "fork", "general-purpose", "statusline-setup")
RULES = (
    *("Bash", "Bash(npm *)", "Bash(npm test)", "Bash(rm *)", "Bash(ls:*)", "Bash(cat *)"),
    *("Read", "Read(.env)", "Read(src/**)", "Read(//etc/**)", "Edit", "Edit(src/**)", "Edit(.env)"),
    *("Edit(.claude/**)", "Write", "Write(src/**)", "Grep", "Agent(ann)", "Agent(bob)"),
    *("Agent(zed)", "Agent", "WebFetch", "mcp__hub", "mcp__hub__get"),
)
LISTED = ("Bash", "Read", "Edit", "Write", "Grep", "Agent", "Agent(ann)", "mcp__hub__get")
COMMANDS = (
    *("npm test", "npm i", "npm test > src/a", "npm test > .env", "npm test >> /etc/x", "rm a"),
    *("npm test && rm a", "npm test; ls > src/a", "cat .env", "cat < .env", "ls src", "npm test &"),
    *("sudo rm a", "timeout 5 npm test", "cat src/a > b", "mkdir src/x", "rm -rf /", "git status"),
    *("sed -i s/a/b/ src/a", "npm test $(rm a)", "cp .env src/a", "> .env", "npm test 2> src/a"),
)
FILES = ("a", "src/a", ".env", ".claude/settings.json")


def files(model: Model) -> dict[str, str]:
    options, lists = model.options, model.lists
    permissions: dict[str, object] = {key: [*lists[key]] for key in ("allow", "ask", "deny")}
    permissions["deny"] = [*lists["deny"], *(f"Agent({name})" for name in BUILT_IN)]
    permissions["defaultMode"] = options["mode"]
    found = {".claude/settings.json": json.dumps({"permissions": permissions})}
    for name in NAMES:
        keys: dict[str, object] = {"name": name, "description": "works"}
        for key in ("tools", "disallowedTools"):
            if listed := lists[f"{name} {key}"]:
                keys[key] = ", ".join(listed)
        if options[f"{name} mode"]:
            keys["permissionMode"] = options[f"{name} mode"]
        if options[name]:
            found[f".claude/agents/{name}.md"] = header(keys)
    return found


PATHS = [f"/@project/{path}" for path in FILES] + ["/etc/x", "/data/x"]
UNIVERSE = Universe(
    host="claude-code",
    lists={
        **dict.fromkeys(("allow", "ask", "deny"), RULES),
        **{f"{name} {key}": LISTED for name in NAMES for key in ("tools", "disallowedTools")},
    },
    required=frozenset(),
    options={
        "mode": MODES,
        **dict.fromkeys(NAMES, (True, True, False)),
        **{f"{name} mode": ("", "", *MODES) for name in NAMES},
    },
    write=files,
    calls=(
        *calls_of("Bash", "command", [*COMMANDS]),
        *(
            call
            for tool in ("Read", "Edit", "Write")
            for call in calls_of(tool, "file_path", PATHS)
        ),
        *calls_of("Grep", "path", ["/@project/src", "/etc"]),
        *calls_of("WebFetch", "url", ["https://a.com/"]),
        ("mcp__hub__get", {"argument": "a"}),
        ("mcp__hub__put", {"argument": "a"}),
        *starting("Agent", "ann bob zed", ({},)),
    ),
    matchers={
        "WebFetch": r"WebFetch .*",
        "mcp__hub__*": r"mcp__hub__.*",
        "Agent(bob)": r"Agent bob( .*)?",
    },
    longest=3,
)


class Drawing:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def model(self) -> Model:
        lists = {}
        for name, items in UNIVERSE.lists.items():
            most = 3 if name in ("allow", "ask", "deny") else self.random.choice((0, 0, 3))
            lists[name] = tuple(self.random.sample(items, self.random.randint(0, most)))
        options = {name: self.random.choice(some) for name, some in UNIVERSE.options.items()}
        return Model(lists, options)

    def edited(self, model: Model) -> Model:
        for _ in range(self.random.randint(1, 3)):
            if self.random.random() < 0.5:
                name = self.random.choice(sorted(UNIVERSE.options))
                option = self.random.choice(UNIVERSE.options[name])
                model = values.evolve(model, options={**model.options, name: option})
                continue
            name = self.random.choice(sorted(UNIVERSE.lists))
            items = list(model.lists[name])
            new = self.random.choice(UNIVERSE.lists[name])
            if items and self.random.random() < 0.4:
                items.pop()
            elif new not in items:
                items.append(new)
            model = model.replaced(name, tuple(items))
        return model


def fails(old: Model, new: Model, asked: str) -> str:
    """Why some verb does not agree with `check`; "" where all do."""
    try:
        check_diff(UNIVERSE, old, new)
        check_audit(UNIVERSE, new)
        check_query(UNIVERSE, new, asked)
    except AssertionError as error:
        return str(error) or "assertion"
    return ""


def shrunk(old: Model, new: Model, asked: str) -> tuple[Model, Model]:
    pair, again = (old, new), True
    while again:
        again = False
        for smaller in _smaller(*pair):
            if fails(*smaller, asked):
                pair, again = smaller, True
                break
    return pair


def _smaller(old: Model, new: Model) -> Iterator[tuple[Model, Model]]:
    for name in UNIVERSE.lists:
        for item in {*old.lists[name], *new.lists[name]}:
            yield tuple(
                model.replaced(name, tuple(each for each in model.lists[name] if each != item))
                for model in (old, new)
            )
    for name, some in UNIVERSE.options.items():
        plain = next(value for value in (False, "", "default") if value in some)
        if (old.options[name], new.options[name]) != (plain, plain):
            yield tuple(
                values.evolve(model, options={**model.options, name: plain}) for model in (old, new)
            )


def confirm(seed: int) -> None:
    drawing = Drawing(seed)
    old = drawing.model()
    new = drawing.edited(old)
    asked = drawing.random.choice(sorted(UNIVERSE.matchers))
    if fails(old, new, asked):
        small = shrunk(old, new, asked)
        texts = "\n".join(f"--- {n}\n{t}" for model in small for n, t in files(model).items())
        pytest.fail(f"seed {seed}, {asked}: {fails(*small, asked)}\n{texts}", pytrace=False)


@pytest.mark.parametrize("seed", range(5))
def test_in_every_mode_each_verb_agrees_with_check(seed: int) -> None:
    confirm(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1300, 20))
def test_in_every_mode_each_verb_agrees_with_check_in_many_draws(first: int) -> None:
    for seed in range(first, first + 20):
        confirm(seed)
