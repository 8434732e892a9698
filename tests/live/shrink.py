"""Makes disagreements small: fewer settings and a shorter call that still are one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs

from tests.live.compare import Disagreement, kind
from tests.live.memory import Memory
from tests.live.ours import Ours
from tests.live.scenario import Call, Scenario

__all__ = ["Part", "parts", "shrink", "without"]

_MOST = 60  # candidates of one session
_ROUNDS = 6
_TOKENS = re.compile(r"\s+|[;&|<>(){}`$]+|[^\s;&|<>(){}`$]+")

# The way to what can be left out, e.g. ("settings", "user", "permissions", "deny", "Bash").
Part = tuple[str, ...]


def shrink(found: Sequence[Disagreement], memory: Memory, jobs: int) -> Iterable[Disagreement]:
    """Yield each of *found* as small as it gets; *jobs* sessions run at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda each: _shrink(each, memory), found)


def _shrink(found: Disagreement, memory: Memory) -> Disagreement:
    found = _shorter(found, memory)
    found = _fewer(found, memory)
    return _shorter(found, memory)


def _still(
    found: Disagreement, memory: Memory, scenario: Scenario, calls: Sequence[Call]
) -> list[Disagreement]:
    """Return those of *calls* that disagree in the same direction as *found*."""
    ours = Ours(scenario)
    words = [ours.decide(call) for call in calls]
    try:
        answers = memory.decide(scenario, calls)
    except RuntimeError:
        return []
    return [
        Disagreement(scenario, call, word, answer)
        for call, word, answer in zip(calls, words, answers, strict=True)
        if answer.word and kind(word, answer.word) == found.kind
    ]


def _shorter(found: Disagreement, memory: Memory) -> Disagreement:
    """Return *found* with parts of its call left out."""
    for _ in range(_ROUNDS):
        calls = list({str(call): call for call in _shorter_calls(found.call)}.values())[:_MOST]
        still = _still(found, memory, found.scenario, calls) if calls else []
        if not still:
            return found
        found = min(still, key=lambda each: (len(each.call.chain), len(str(each.call))))
    return found


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


def _fewer(found: Disagreement, memory: Memory) -> Disagreement:
    """Return *found* with as few settings as it takes: all go, then halves, then smaller parts."""
    left = list(parts(found.scenario))
    size = len(left)
    while left and size:
        for at in range(0, len(left), size):
            smaller = without(found.scenario, left[at : at + size])
            still = _still(found, memory, smaller, [found.call])
            if still:
                found, left = still[0], left[:at] + left[at + size :]
                break
        else:
            size //= 2
        size = min(size, len(left))
    return found


def parts(scenario: Scenario) -> Iterator[Part]:
    """Yield what can be left out of *scenario*, as the way to it."""
    for scope, settings in scenario.settings.items():
        for name, value in settings.items():
            if name != "permissions":
                yield ("settings", scope, name)
                continue
            for key, entries in value.items():
                if isinstance(entries, list):
                    yield from (("settings", scope, name, key, entry) for entry in entries)
                else:
                    yield ("settings", scope, name, key)
    for name, keys in scenario.agents.items():
        yield from (("agents", name, key) for key in keys if key != "description")
    for field in ("agents", "skills", "servers", "links"):
        yield from ((field, name) for name in getattr(scenario, field))
    for field in attrs.fields(Scenario):
        value = getattr(scenario, field.name)
        if not isinstance(value, Mapping) and value != field.default:
            yield (field.name,)


def without(scenario: Scenario, gone: Iterable[Part]) -> Scenario:
    """Return *scenario* without the parts *gone*, and without what they leave empty."""
    lost = set(gone)
    fields = {
        field.name: _default(field)
        if (field.name,) in lost
        else _pruned(getattr(scenario, field.name), (field.name,), lost)
        for field in attrs.fields(Scenario)
    }
    if fields["main_agent"] not in fields["agents"]:
        fields["main_agent"] = ""
    if fields["skill"] not in fields["skills"]:
        fields["skill"] = ""
    return Scenario(**fields)


def _default(field: attrs.Attribute[Any]) -> Any:
    return field.default.factory() if isinstance(field.default, attrs.Factory) else field.default


def _pruned(value: Any, way: Part, lost: set[Part]) -> Any:
    if isinstance(value, list) and way[0] == "settings":
        return [entry for entry in value if (*way, entry) not in lost]
    if not isinstance(value, Mapping) or len(way) > 3:
        return value
    kept = {k: _pruned(v, (*way, k), lost) for k, v in value.items() if (*way, k) not in lost}
    if way[0] != "settings":
        return kept
    return {key: each for key, each in kept.items() if each not in ([], {})}
