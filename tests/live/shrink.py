"""Makes disagreements small: fewer settings and a shorter call that still are one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs

from tests.live import theirs
from tests.live.compare import Disagreement, kind
from tests.live.ours import Ours
from tests.live.scenario import LISTS, Call, Scenario

__all__ = ["shrink"]

_MOST = 60  # candidates of one session
_ROUNDS = 6
_TOKENS = re.compile(r"\s+|[;&|<>(){}`$]+|[^\s;&|<>(){}`$]+")
_DEFAULTS: Mapping[str, Any] = {
    "mode": "default",
    "trusted": True,
    "background": True,
    "depth": None,
    "main_agent": "",
}


def shrink(found: Sequence[Disagreement], jobs: int) -> Iterable[Disagreement]:
    """Yield each of *found* as small as it gets; *jobs* sessions run at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(_shrink, found)


def _shrink(found: Disagreement) -> Disagreement:
    found = _shorter(found)
    found = _fewer(found)
    return _shorter(found)


def _still(found: Disagreement, scenario: Scenario, calls: Sequence[Call]) -> list[Disagreement]:
    """Return those of *calls* that disagree in the same direction as *found*."""
    ours = Ours(scenario)
    words = [ours.decide(call) for call in calls]
    try:
        answers = theirs.decide(scenario, calls)
    except RuntimeError:
        return []
    return [
        Disagreement(scenario, call, word, answer)
        for call, word, answer in zip(calls, words, answers, strict=True)
        if answer.word and kind(word, answer.word) == found.kind
    ]


def _shorter(found: Disagreement) -> Disagreement:
    """Return *found* with parts of its call left out."""
    for _ in range(_ROUNDS):
        calls = list(dict.fromkeys(map(_hashable, _shorter_calls(found.call))))[:_MOST]
        still = _still(found, found.scenario, [call.call for call in calls]) if calls else []
        if not still:
            return found
        found = min(still, key=lambda each: (len(each.call.chain), len(str(each.call))))
    return found


@attrs.frozen
class _hashable:  # noqa: N801: a key, used as a function
    call: Call = attrs.field(eq=str)


def _shorter_calls(call: Call) -> Iterator[Call]:
    for at in range(len(call.chain)):
        yield attrs.evolve(call, chain=(*call.chain[:at], *call.chain[at + 1 :]))
    for key in call.input:
        if key in ("timeout", "run_in_background"):
            yield attrs.evolve(call, input={k: v for k, v in call.input.items() if k != key})
    text = call.input.get("command")
    if isinstance(text, str):
        for shorter in _shorter_texts(text):
            yield attrs.evolve(call, input={**call.input, "command": shorter})


def _shorter_texts(text: str) -> Iterator[str]:
    """Yield *text* without one run of its tokens, the longest runs first."""
    tokens = _TOKENS.findall(text)
    for length in range(len(tokens) - 1, 0, -1):
        for at in range(len(tokens) - length + 1):
            left = "".join(tokens[:at] + tokens[at + length :]).strip()
            if left and left != text and (length <= 4 or at in (0, len(tokens) - length)):
                yield left


def _fewer(found: Disagreement) -> Disagreement:
    """Return *found* with as few settings as it takes: halves, then ever smaller parts, go."""
    atoms = list(_atoms(found.scenario))
    size = len(atoms)
    while atoms and size:
        for at in range(0, len(atoms), size):
            left = atoms[:at] + atoms[at + size :]
            smaller = _built(found.scenario, left)
            if found.call.tool == "Skill" and not smaller.skills:
                continue
            still = _still(found, smaller, [found.call])
            if still:
                found, atoms = still[0], left
                size = min(size, len(atoms))
                break
        else:
            size //= 2
    return found


def _atoms(scenario: Scenario) -> Iterator[tuple[Any, ...]]:
    """Yield the parts of a scenario that can be left out one by one."""
    for scope, settings in scenario.settings.items():
        permissions = settings.get("permissions", {})
        for name in (*LISTS, "additionalDirectories"):
            for entry in permissions.get(name, ()):
                yield ("settings", scope, name, entry)
        for name in set(permissions) - {*LISTS, "additionalDirectories"}:
            yield ("settings", scope, name, None)
        for name in set(settings) - {"permissions"}:
            yield ("settings", scope, "", name)
    for field in ("agents", "skills", "servers", "links"):
        for name in getattr(scenario, field):
            yield (field, name)
    for name, keys in scenario.agents.items():
        for key in set(keys) - {"description"}:
            yield ("key", name, key)
    for field, default in _DEFAULTS.items():
        if getattr(scenario, field) != default:
            yield ("plain", field)


def _built(scenario: Scenario, atoms: Sequence[tuple[Any, ...]]) -> Scenario:
    """Return *scenario* with only *atoms* of it left."""
    kept = set(atoms)
    settings: dict[str, Any] = {}
    for atom in atoms:
        if atom[0] != "settings":
            continue
        _, scope, name, entry = atom
        mine = settings.setdefault(scope, {"permissions": {}})
        if not name:
            mine[entry] = scenario.settings[scope][entry]
        elif entry is None:
            mine["permissions"][name] = scenario.settings[scope]["permissions"][name]
        else:
            mine["permissions"].setdefault(name, []).append(entry)
    fields = {
        field: {k: v for k, v in getattr(scenario, field).items() if (field, k) in kept}
        for field in ("agents", "skills", "servers", "links")
    }
    fields["agents"] = {
        name: {k: v for k, v in keys.items() if k == "description" or ("key", name, k) in kept}
        for name, keys in fields["agents"].items()
    }
    plain = {field: d for field, d in _DEFAULTS.items() if ("plain", field) not in kept}
    if plain.get("main_agent", scenario.main_agent) not in fields["agents"]:
        plain["main_agent"] = ""
    return attrs.evolve(scenario, settings=settings, **fields, **plain)
